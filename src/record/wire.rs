//! Records on their way from one process to another: the messages of the run file, each with its length and kind before it.
//!
//! Both ends are one program, so kinds need no names and there are no versions. What travels, and who listens, is the
//! affair of `commands::processes`; wall-clock stamps are left empty, since the writer of the file puts them in.

use std::io::{BufReader, Read, Write};

use super::cdr::CdrError;
use super::schema::Kind;
use super::{DetectionsRecord, Event, FrameRecord, message};

/// Stands where a record's kind stands, for text of the two ends' own.
const TEXT: u8 = u8::MAX;
/// Length and kind.
const HEAD: usize = 5;
/// More than the detections of any frame take.
const LONGEST: usize = 64 << 20;

/// What comes over the wire.
#[derive(Clone, Debug, PartialEq)]
#[allow(
    clippy::large_enum_variant,
    reason = "one at a time, and nearly all are records"
)]
pub enum Message {
    /// A record.
    Event(Event),
    /// Words of the two ends' own.
    Text(String),
}

/// Why nothing more can be read.
#[derive(Debug, thiserror::Error)]
pub enum WireError {
    /// The other end is gone in the middle of a message.
    #[error("the other process ended in the middle of a message")]
    Cut,
    /// The system refused.
    #[error("cannot read from the other process: {0}")]
    Read(#[from] std::io::Error),
    /// What came is no message.
    #[error("a message of the other process makes no sense: {0}")]
    Record(#[from] CdrError),
    /// No message has this kind or this length.
    #[error("a message of kind {kind} and {length} bytes is none of ours")]
    Strange {
        /// Its kind.
        kind: u8,
        /// Its length.
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

    /// A frame record.
    pub fn frame(&mut self, record: &FrameRecord) {
        message::encode_frame(&mut self.body, 0, record);
        self.put(Kind::Frame as u8);
    }

    /// What was found in a frame.
    pub fn detections(&mut self, found: &DetectionsRecord) {
        message::encode_detections(&mut self.body, 0, found);
        self.put(Kind::Detections as u8);
    }

    /// Any event.
    pub fn event(&mut self, event: &Event) {
        let body = &mut self.body;
        let kind = match event {
            Event::Frame(record) => return self.frame(record),
            Event::Detections(found) => return self.detections(found),
            Event::Sample(r) => {
                message::encode_sample(body, 0, r);
                Kind::Sample
            }
            Event::Phase(r) => {
                message::encode_phase(body, 0, r);
                Kind::Phase
            }
            Event::PhaseSpec(r) => {
                message::encode_phase_spec(body, 0, r);
                Kind::PhaseSpec
            }
            Event::Range(r) => {
                message::encode_range(body, 0, r);
                Kind::Range
            }
            Event::Node(r) => {
                message::encode_node(body, 0, r);
                Kind::Node
            }
            Event::Finding(r) => {
                message::encode_finding(body, 0, r);
                Kind::Finding
            }
            Event::Log(r) => {
                message::encode_log(body, 0, r);
                Kind::Log
            }
            Event::Signal(r) => {
                message::encode_signal(body, 0, r);
                Kind::Signal
            }
            Event::Window(r) => {
                message::encode_window(body, 0, r);
                Kind::Window
            }
        };
        self.put(kind as u8);
    }

    /// Words of the two ends' own.
    pub fn text(&mut self, text: &str) {
        self.body.clear();
        self.body.extend_from_slice(text.as_bytes());
        self.put(TEXT);
    }

    /// Sends everything gathered; it is forgotten even where that fails.
    ///
    /// # Errors
    /// The other end is gone.
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
    /// It was cut off, or is none of ours; nothing can be read after that.
    pub fn receive(&mut self) -> Result<Option<Message>, WireError> {
        let mut head = [0; HEAD];
        match self.fill(Part::Head(&mut head))? {
            0 => return Ok(None),
            HEAD => {}
            _ => return Err(WireError::Cut),
        }
        let [a, b, c, d, kind] = head;
        let length = u32::from_le_bytes([a, b, c, d]) as usize;
        let known = Kind::ALL.into_iter().find(|known| *known as u8 == kind);
        if length > LONGEST || (known.is_none() && kind != TEXT) {
            return Err(WireError::Strange { kind, length });
        }
        self.body.resize(length, 0);
        if self.fill(Part::Body)? < length {
            return Err(WireError::Cut);
        }
        Ok(Some(match known {
            Some(kind) => Message::Event(message::decode(kind, &self.body)?),
            None => Message::Text(String::from_utf8_lossy(&self.body).into_owned()),
        }))
    }

    /// Reads until it is full or the other end is gone; answers how much came.
    fn fill(&mut self, part: Part<'_>) -> Result<usize, WireError> {
        let into = match part {
            Part::Head(head) => head.as_mut_slice(),
            Part::Body => self.body.as_mut_slice(),
        };
        let mut filled = 0;
        while let Some(rest) = into.get_mut(filled..).filter(|rest| !rest.is_empty()) {
            match self.from.read(rest) {
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
}

enum Part<'a> {
    Head(&'a mut [u8; HEAD]),
    Body,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Finding, LogRecord};
    use crate::units::Stamp;

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
        let strange = Inbox::new(&[1, 0, 0, 0, 200, 0][..]).receive();
        assert!(
            matches!(strange, Err(WireError::Strange { kind: 200, .. })),
            "{strange:?}"
        );
    }
}
