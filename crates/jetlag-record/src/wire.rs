//! Records on their way from one process to another: the messages of the run file, each with its length and kind before it.
//!
//! Both ends are one program, so kinds need no names and there are no versions. What travels, and who listens, is the
//! affair of `commands::processes`; wall-clock stamps are left empty, since the writer of the file puts them in.

use std::io::{BufReader, Read, Write};

use crate::activity_message;
use crate::cdr::CdrError;
use crate::schema::MessageKind;
use crate::{DetectionsRecord, Event, FrameRecord, message, output, work_message};

/// Stands in place of a record's kind for text between the two ends.
const TEXT: u8 = u8::MAX;
/// Bytes before a message's body: its length (4) and its kind (1).
pub const HEAD: usize = 5;
/// Limit of a message's length: more than the detections of any frame need.
const LONGEST: usize = 64 << 20;
/// Memory that is allocated at once for a message that is still to come.
const STEP: usize = 1 << 20;

/// A message on the wire.
#[derive(Clone, Debug, PartialEq)]
#[allow(
    clippy::large_enum_variant,
    reason = "one at a time, and nearly all are records"
)]
pub enum Message {
    /// An event of the run, as the run file has it.
    Event(Event),
    /// Text between the two ends.
    Text(String),
}

/// Why nothing more can be read.
#[derive(Debug, thiserror::Error)]
pub enum WireError {
    /// The other end is gone in the middle of a message.
    #[error("the other process ended in the middle of a message")]
    Cut,
    /// The system refused to read from the socket.
    #[error("cannot read from the other process: {0}")]
    Read(#[from] std::io::Error),
    /// A message that cannot be parsed.
    #[error("a message of the other process cannot be parsed: {0}")]
    Record(#[from] CdrError),
    /// No message has this kind or this length.
    #[error("unknown message of kind {kind} and {length} bytes")]
    Strange {
        /// The number of the kind, as it came.
        kind: u8,
        /// The length of the body, as it came.
        length: usize,
    },
}

/// Gathers messages, so that many go out in one piece. Memory is used again.
#[derive(Debug, Default)]
pub struct Outbox {
    bytes: Vec<u8>,
    body: Vec<u8>,
}

impl Outbox {
    fn put(&mut self, kind: u8) {
        let length = u32::try_from(self.body.len()).unwrap_or(u32::MAX);
        self.bytes.extend_from_slice(&length.to_le_bytes());
        self.bytes.push(kind);
        self.bytes.extend_from_slice(&self.body);
    }

    /// Adds a frame record.
    pub fn frame(&mut self, record: &FrameRecord) {
        message::encode_frame(&mut self.body, 0, record);
        self.put(MessageKind::Frame as u8);
    }

    /// Adds the detections of a frame.
    pub fn detections(&mut self, found: &DetectionsRecord) {
        message::encode_detections(&mut self.body, 0, found);
        self.put(MessageKind::Detections as u8);
    }

    /// Adds an event of any kind.
    pub fn event(&mut self, event: &Event) {
        let body = &mut self.body;
        let kind = match event {
            Event::Frame(record) => return self.frame(record),
            Event::Detections(found) => return self.detections(found),
            Event::Sample(r) => {
                message::encode_sample(body, 0, r);
                MessageKind::Sample
            }
            Event::Phase(r) => {
                message::encode_phase(body, 0, r);
                MessageKind::Phase
            }
            Event::PhaseSpec(r) => {
                message::encode_phase_spec(body, 0, r);
                MessageKind::PhaseSpec
            }
            Event::Range(r) => {
                message::encode_range(body, 0, r);
                MessageKind::Range
            }
            Event::Activities(r) => {
                activity_message::encode_batch(body, 0, r.base(), r);
                MessageKind::Activities
            }
            Event::Definition(r) => {
                activity_message::encode_definition(body, 0, r);
                MessageKind::Name
            }
            Event::Trace(r) => {
                activity_message::encode_trace(body, 0, r);
                MessageKind::Trace
            }
            Event::Work(r) => {
                work_message::encode(body, 0, r);
                MessageKind::Work
            }
            Event::Output(r) => {
                output::encode(body, 0, r);
                MessageKind::Output
            }
            Event::Node(r) => {
                message::encode_node(body, 0, r);
                MessageKind::Node
            }
            Event::Finding(r) => {
                message::encode_finding(body, 0, r);
                MessageKind::Finding
            }
            Event::Log(r) => {
                message::encode_log(body, 0, r);
                MessageKind::Log
            }
            Event::Signal(r) => {
                message::encode_signal(body, 0, r);
                MessageKind::Signal
            }
            Event::Window(r) => {
                message::encode_window(body, 0, r);
                MessageKind::Window
            }
        };
        self.put(kind as u8);
    }

    /// Adds text between the two ends.
    pub fn text(&mut self, text: &str) {
        self.body.clear();
        self.body.extend_from_slice(text.as_bytes());
        self.put(TEXT);
    }

    /// Sends everything that was collected; it is discarded even if sending fails.
    ///
    /// # Errors
    /// The other end has closed.
    pub fn send(&mut self, to: &mut impl Write) -> std::io::Result<()> {
        let sent = to.write_all(&self.bytes);
        self.bytes.clear();
        sent
    }
}

/// Reads messages one by one.
#[derive(Debug)]
pub struct Inbox<R: Read> {
    from: BufReader<R>,
    body: Vec<u8>,
}

impl<R: Read> Inbox<R> {
    /// From the other end.
    pub fn new(from: R) -> Self {
        Inbox {
            from: BufReader::with_capacity(64 << 10, from),
            body: Vec::new(),
        }
    }

    /// The next message; none where the other end closed after its last.
    ///
    /// # Errors
    /// The message was cut off, or is not one of ours; nothing can be read after it.
    pub fn receive(&mut self) -> Result<Option<Message>, WireError> {
        let mut head = [0; HEAD];
        match fill(&mut self.from, &mut head)? {
            0 => return Ok(None),
            HEAD => {}
            _ => return Err(WireError::Cut),
        }
        let [a, b, c, d, kind] = head;
        let length = u32::from_le_bytes([a, b, c, d]) as usize;
        let known = MessageKind::ALL.into_iter().find(|known| *known as u8 == kind);
        if length > LONGEST || (known.is_none() && kind != TEXT) {
            return Err(WireError::Strange { kind, length });
        }
        if !self.fill_body(length)? {
            return Err(WireError::Cut);
        }
        Ok(Some(match known {
            Some(kind) => Message::Event(message::decode(kind, &self.body)?),
            None => Message::Text(String::from_utf8_lossy(&self.body).into_owned()),
        }))
    }

    /// Reads a body of this length; false where the other end is gone before. Memory grows with what comes.
    fn fill_body(&mut self, length: usize) -> Result<bool, WireError> {
        self.body.clear();
        while self.body.len() < length {
            let had = self.body.len();
            self.body.resize(length.min(had + STEP), 0);
            let came = fill(&mut self.from, &mut self.body[had..])?;
            if had + came < self.body.len() {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// Reads until it is full or the other end is gone; answers how much came.
fn fill(from: &mut impl Read, into: &mut [u8]) -> Result<usize, WireError> {
    let mut filled = 0;
    while let Some(rest) = into.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match from.read(rest) {
            Ok(0) => break,
            Ok(more) => filled += more,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            // A process that was killed with unread orders closes in this way.
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => break,
            Err(error) => return Err(error.into()),
        }
    }
    Ok(filled)
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::io::ErrorKind;

    use super::*;
    use crate::detection::{Box2d, Box3d, Detection, Place};
    use crate::units::{Nanos, Stamp};
    use crate::{
        Averaging, BatchPart, Covariance, EndReason, Finding, LogRecord, Measurand, NodeRecord, Outcome,
        Part, Phase, PhaseRecord, PhaseSpec, Quantity, RailRole, RangeRecord, SampleRecord, SignalRecord,
        Submission, SweptRate, WindowRecord,
    };

    fn log() -> Event {
        Event::Log(LogRecord {
            at: Stamp(7),
            level: "warn".to_owned(),
            message: "slow".to_owned(),
        })
    }

    fn finding() -> Event {
        Event::Finding(Finding {
            code: "c".to_owned(),
            tenant: None,
            message: "m".to_owned(),
            advice: String::new(),
        })
    }

    #[test]
    fn what_is_sent_arrives_in_order() {
        let mut outbox = Outbox::default();
        outbox.event(&log());
        outbox.text("ready");
        outbox.event(&finding());
        let mut bytes = Vec::new();
        outbox.send(&mut bytes).unwrap();
        let mut inbox = Inbox::new(bytes.as_slice());
        assert_eq!(inbox.receive().unwrap(), Some(Message::Event(log())));
        assert_eq!(inbox.receive().unwrap(), Some(Message::Text("ready".to_owned())));
        assert_eq!(inbox.receive().unwrap(), Some(Message::Event(finding())));
        assert_eq!(inbox.receive().unwrap(), None);
    }

    #[test]
    fn wherever_it_is_cut_off_that_is_told_from_an_end() {
        let mut outbox = Outbox::default();
        outbox.event(&log());
        let mut bytes = Vec::new();
        outbox.send(&mut bytes).unwrap();
        for length in 1..bytes.len() {
            let cut = Inbox::new(&bytes[..length]).receive();
            assert!(matches!(cut, Err(WireError::Cut)), "{length}: {cut:?}");
        }
        // What was claimed is not set aside before it comes.
        let mut claims = Inbox::new(&[0, 0, 0, 4, TEXT, b'a'][..]);
        assert!(matches!(claims.receive(), Err(WireError::Cut)));
        assert!(claims.body.capacity() <= STEP);
        let strange = Inbox::new(&[1, 0, 0, 0, 200, 0][..]).receive();
        assert!(
            matches!(strange, Err(WireError::Strange { kind: 200, .. })),
            "{strange:?}"
        );
    }

    fn frame(phase: Phase, submission: Option<Submission>) -> Event {
        let mut stages = [None; 9];
        (stages[0], stages[1], stages[6]) = (Some(Nanos(15)), Some(Nanos(8)), Some(Nanos(9)));
        Event::Frame(FrameRecord {
            tenant: 1,
            phase,
            warmup: true,
            outcome: Outcome::Failed,
            sequence: 2,
            source_index: 3,
            released: Stamp(4),
            started: Stamp(5),
            finished: Stamp(6),
            lateness: Nanos(7),
            stages,
            deadline: Some(Nanos(10)),
            detections: 11,
            input_size: 12,
            submission,
            captured: submission.map(|_| Stamp(13)),
            batch: submission.map(|_| BatchPart { first: 1, items: 2 }),
            skew: submission.map(|_| Nanos(16)),
            camera: submission.map(|_| 3),
        })
    }

    fn signal(averaging: Averaging, role: RailRole) -> Event {
        Event::Signal(SignalRecord {
            source: "ina3221".to_owned(),
            signal: "VDD_IN".to_owned(),
            unit: "W".to_owned(),
            measurand: Measurand::new(Quantity::Power, Part::Guard(3)),
            origin: "in1_input".to_owned(),
            period: Some(Nanos(1)),
            refresh: None,
            averaging,
            window: Some(Nanos(2)),
            step: Some(0.5),
            role,
            within: (role == RailRole::Within).then(|| "VIN".to_owned()),
        })
    }

    /// One of each kind, and of those that say one of few things, each of these.
    fn events() -> Vec<Event> {
        let both = Submission {
            took: Nanos(13),
            in_compute: Some(Nanos(14)),
        };
        let mut events = vec![
            log(),
            finding(),
            frame(Phase::Together, None),
            frame(Phase::Alone, Some(both)),
            frame(
                Phase::Other(7),
                Some(Submission {
                    in_compute: None,
                    ..both
                }),
            ),
            Event::Detections(DetectionsRecord {
                tenant: 1,
                sequence: 2,
                source_index: 3,
                at: Stamp(4),
                detections: vec![
                    Detection {
                        class: 5,
                        score: 0.5,
                        velocity: None,
                        camera: 3,
                        place: Place::Image(Box2d {
                            x1: 1.0,
                            y1: 2.0,
                            x2: 3.0,
                            y2: 4.0,
                        }),
                    },
                    Detection {
                        class: 6,
                        score: 0.25,
                        velocity: Some([1.5, -2.0]),
                        camera: 0,
                        place: Place::Space(Box3d {
                            x: 1.0,
                            y: 2.0,
                            z: 3.0,
                            l: 4.0,
                            w: 5.0,
                            h: 6.0,
                            yaw: 0.5,
                        }),
                    },
                ],
            }),
            Event::Sample(SampleRecord {
                at: Stamp(1),
                source: "host".to_owned(),
                signal: "cpu_load".to_owned(),
                value: Some(12.5),
                unit: "percent".to_owned(),
            }),
            Event::PhaseSpec(PhaseSpec {
                at: Stamp(1),
                phase: Phase::Other(2),
                label: "step".to_owned(),
                sharing: "Streams".to_owned(),
                members: vec![0, 3],
                rate: Some(SweptRate { tenant: 3, hz: None }),
                traced: true,
                round: Some(7),
            }),
            Event::Node(NodeRecord {
                tenant: 1,
                phase: Phase::Alone,
                name: "first".to_owned(),
                operator: "Conv".to_owned(),
                count: 2,
                mean: Nanos(3),
                max: Nanos(4),
                with_response: Some(Covariance {
                    variance: 5.0,
                    response_variance: 6.0,
                    covariance: -7.0,
                }),
            }),
            Event::Range(RangeRecord {
                tenant: 1,
                track: 2,
                from: Stamp(3),
                to: Stamp(4),
                path: "batch/infer".to_owned(),
                batch: Some(5),
                items: None,
            }),
            Event::Window(WindowRecord {
                name: "idle".to_owned(),
                from: Stamp(1),
                to: Stamp(2),
            }),
        ];
        let reasons = [
            EndReason::Duration,
            EndReason::Count,
            EndReason::EndOfSource,
            EndReason::Interrupted,
            EndReason::Failed,
        ];
        events.extend(reasons.map(|reason| {
            Event::Phase(PhaseRecord {
                tenant: 1,
                phase: Phase::Other(2),
                epoch: Stamp(3),
                measured_from: Stamp(4),
                measured_to: Stamp(5),
                reason,
                lost_records: 6,
                sampled: Some(crate::Sampled {
                    repeated: 7,
                    skipped: 8,
                }),
                process_peak: Some(9),
            })
        }));
        let averagings = [
            Averaging::Unknown,
            Averaging::Instant,
            Averaging::Mean,
            Averaging::Counter,
            Averaging::Filter,
        ];
        events.extend(averagings.map(|averaging| signal(averaging, RailRole::None)));
        let roles = [
            RailRole::Total,
            RailRole::Summand,
            RailRole::Part,
            RailRole::Within,
            RailRole::Input,
            RailRole::Unknown,
        ];
        events.extend(roles.map(|role| signal(Averaging::Mean, role)));
        events
    }

    #[test]
    fn every_event_arrives_as_it_was_sent() {
        let mut outbox = Outbox::default();
        events().iter().for_each(|event| outbox.event(event));
        let mut bytes = Vec::new();
        outbox.send(&mut bytes).unwrap();
        let mut inbox = Inbox::new(bytes.as_slice());
        for event in events() {
            assert_eq!(inbox.receive().unwrap(), Some(Message::Event(event)));
        }
        assert_eq!(inbox.receive().unwrap(), None);
    }

    /// Gives what is left of it, one piece a call, and then nothing.
    struct Pieces(VecDeque<std::io::Result<Vec<u8>>>);

    impl Read for Pieces {
        fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
            let piece = self.0.pop_front().unwrap_or_else(|| Ok(Vec::new()))?;
            into[..piece.len()].copy_from_slice(&piece);
            Ok(piece.len())
        }
    }

    #[test]
    fn a_signal_is_waited_out_and_a_connection_that_was_reset_is_an_end() {
        let mut outbox = Outbox::default();
        outbox.text("ready");
        let mut bytes = Vec::new();
        outbox.send(&mut bytes).unwrap();
        let (head, rest) = bytes.split_at(7);
        let receive = |pieces: Vec<std::io::Result<Vec<u8>>>| {
            let mut inbox = Inbox::new(Pieces(pieces.into()));
            (inbox.receive(), inbox.receive())
        };
        let failed = |kind: ErrorKind| -> std::io::Result<Vec<u8>> { Err(kind.into()) };
        let (first, second) = receive(vec![
            failed(ErrorKind::Interrupted),
            Ok(head.to_vec()),
            failed(ErrorKind::Interrupted),
            Ok(rest.to_vec()),
            failed(ErrorKind::ConnectionReset),
        ]);
        assert_eq!(first.unwrap(), Some(Message::Text("ready".to_owned())));
        assert_eq!(second.unwrap(), None);
        let (cut, _) = receive(vec![Ok(head.to_vec()), failed(ErrorKind::ConnectionReset)]);
        assert!(matches!(cut, Err(WireError::Cut)), "{cut:?}");
        let (refused, _) = receive(vec![Ok(head.to_vec()), failed(ErrorKind::PermissionDenied)]);
        assert!(matches!(refused, Err(WireError::Read(_))), "{refused:?}");
    }

    #[test]
    fn a_length_that_no_message_has_is_refused_before_memory_is_taken() {
        let strange = Inbox::new(&[0xff, 0xff, 0xff, 0xff, TEXT][..]).receive();
        assert!(
            matches!(
                strange,
                Err(WireError::Strange {
                    kind: TEXT,
                    length: 0xffff_ffff
                })
            ),
            "{strange:?}"
        );
    }
}
