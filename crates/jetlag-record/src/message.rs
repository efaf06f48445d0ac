//! Records as CDR messages, both ways, field by field in the order of the definitions under msg/.
//!
//! Encoding and decoding of one record stand next to each other, so that they cannot drift apart
//! unseen. Which channel a message goes to, and when, is the writer's affair.

use crate::activity_message;
use crate::cdr::{CdrError, Decoder, Encoder};
use crate::common_fields::{phase, put_number, read_number, skip_time, time, unknown};
use crate::detection::{Box2d, Box3d, Detection, Place};
use crate::schema::MessageKind;
use crate::units::{Nanos, Stamp};
use crate::{
    Averaging, BatchPart, Covariance, DetectionsRecord, EndReason, Event, Finding, FrameRecord, LogRecord,
    Measurand, NodeRecord, Outcome, Part, Phase, PhaseRecord, PhaseSpec, Quantity, RailRole, RangeRecord,
    SampleRecord, Sampled, SignalRecord, Stage, Submission, SweptRate, WindowRecord,
};
use crate::{output, work_message};

/// "Not measured" in a field of whole nanoseconds.
const NOT_MEASURED: i64 = -1;
/// A frame of one sensor, or of a camera that is not known.
const NO_CAMERA: u8 = u8::MAX;
/// No batch, or no count of items.
const NONE: i64 = -1;

fn optional(duration: Option<Nanos>) -> i64 {
    duration.map_or(NOT_MEASURED, |d| d.0)
}

fn read_optional(d: &mut Decoder<'_>) -> Result<Option<Nanos>, CdrError> {
    Ok(match d.i64()? {
        NOT_MEASURED => None,
        ns => Some(Nanos(ns)),
    })
}

pub(super) fn encode_frame(out: &mut Vec<u8>, unix_ns: u64, r: &FrameRecord) {
    let mut e = Encoder::new(out);
    time(&mut e, unix_ns);
    e.u64(r.sequence);
    e.u64(r.source_index);
    e.i64(r.released.0);
    e.i64(r.started.0);
    e.i64(r.finished.0);
    e.i64(r.finished.0.wrapping_sub(r.released.0));
    e.i64(r.lateness.0);
    // Synchronising came later, and stands at the end.
    let [synchronise, stages @ ..] = r.stages;
    for stage in stages {
        e.i64(optional(stage));
    }
    e.i64(optional(r.deadline));
    e.u32(r.detections);
    e.u32(r.input_size);
    e.u16(r.tenant);
    e.u8(r.phase.code());
    e.u8(r.outcome as u8);
    e.bool(r.warmup);
    put_number(&mut e, r.phase);
    e.i64(optional(r.submission.map(|submission| submission.took)));
    e.i64(optional(
        r.submission.and_then(|submission| submission.in_compute),
    ));
    e.i64(r.captured.map_or(NOT_MEASURED, |captured| captured.0));
    e.u64(r.batch.map_or(0, |batch| batch.first));
    e.u32(r.batch.map_or(0, |batch| batch.items));
    e.i64(optional(synchronise));
    e.i64(optional(r.skew));
    e.u8(r.camera.unwrap_or(NO_CAMERA));
}

#[inline]
fn decode_frame(data: &[u8]) -> Result<FrameRecord, CdrError> {
    let mut d = Decoder::new(data)?;
    skip_time(&mut d)?;
    let sequence = d.u64()?;
    let source_index = d.u64()?;
    let released = Stamp(d.i64()?);
    let started = Stamp(d.i64()?);
    let finished = Stamp(d.i64()?);
    let _response = d.i64()?;
    let lateness = Nanos(d.i64()?);
    let mut stages = [None; 9];
    for stage in stages.iter_mut().skip(1) {
        *stage = read_optional(&mut d)?;
    }
    let mut record = FrameRecord {
        sequence,
        source_index,
        released,
        started,
        finished,
        lateness,
        stages,
        deadline: read_optional(&mut d)?,
        detections: d.u32()?,
        input_size: d.u32()?,
        tenant: d.u16()?,
        phase: phase(d.u8()?)?,
        outcome: match d.u8()? {
            0 => Outcome::Completed,
            1 => Outcome::Dropped,
            2 => Outcome::Failed,
            3 => Outcome::Unfinished,
            other => return Err(unknown("outcome", other)),
        },
        warmup: d.bool()?,
        submission: None,
        captured: None,
        batch: None,
        skew: None,
        camera: None,
    };
    read_number(&mut d, &mut record.phase)?;
    let (took, in_compute) = (read_optional(&mut d)?, read_optional(&mut d)?);
    record.submission = took.map(|took| Submission { took, in_compute });
    record.captured = read_optional(&mut d)?.map(|since| Stamp(since.0));
    let (first, items) = (d.u64()?, d.u32()?);
    record.batch = (items > 0).then_some(BatchPart { first, items });
    record.stages[Stage::Synchronise as usize] = read_optional(&mut d)?;
    record.skew = read_optional(&mut d)?;
    record.camera = Some(d.u8()?).filter(|camera| *camera != NO_CAMERA);
    Ok(record)
}

pub(super) fn encode_detections(out: &mut Vec<u8>, unix_ns: u64, r: &DetectionsRecord) {
    let mut e = Encoder::new(out);
    time(&mut e, unix_ns);
    e.u64(r.sequence);
    e.u64(r.source_index);
    e.i64(r.at.0);
    e.u16(r.tenant);
    e.len(r.detections.len());
    for detection in &r.detections {
        e.u16(detection.class);
        e.f32(detection.score);
        match detection.place {
            Place::Image(b) => {
                e.len(1);
                [b.x1, b.y1, b.x2, b.y2].into_iter().for_each(|v| e.f32(v));
                e.len(0);
            }
            Place::Space(b) => {
                e.len(0);
                e.len(1);
                [b.x, b.y, b.z, b.l, b.w, b.h, b.yaw]
                    .into_iter()
                    .for_each(|v| e.f32(v));
            }
        }
    }
    // A detection cannot grow without a new major version: elements of a sequence have no end of their own.
    if r.detections.iter().any(|detection| detection.velocity.is_some()) {
        e.len(r.detections.len());
        for detection in &r.detections {
            let velocity = detection.velocity.unwrap_or([f32::NAN; 2]);
            velocity.into_iter().for_each(|v| e.f32(v));
        }
    } else {
        e.len(0);
    }
    match r.detections.iter().any(|detection| detection.camera != 0) {
        true => {
            e.len(r.detections.len());
            r.detections.iter().for_each(|detection| e.u8(detection.camera));
        }
        false => e.len(0),
    }
}

fn decode_detections(data: &[u8]) -> Result<DetectionsRecord, CdrError> {
    let mut d = Decoder::new(data)?;
    skip_time(&mut d)?;
    let sequence = d.u64()?;
    let source_index = d.u64()?;
    let at = Stamp(d.i64()?);
    let tenant = d.u16()?;
    let count = d.len()?;
    // A count is believed for as much memory as a plausible frame needs; a larger one has to prove itself.
    let mut detections = Vec::with_capacity(count.min(1024));
    for _ in 0..count {
        detections.push(decode_detection(&mut d)?);
    }
    let all = detections.len();
    let counted = |field, count: usize| match count == 0 || count == all {
        true => Ok(count),
        false => Err(CdrError::UnknownValue {
            field,
            value: count as u64,
        }),
    };
    let velocities = counted("velocities of a frame's detections", d.len()?)?;
    for detection in detections.iter_mut().take(velocities) {
        let velocity = [d.f32()?, d.f32()?];
        detection.velocity = velocity.iter().all(|v| !v.is_nan()).then_some(velocity);
    }
    let cameras = counted("cameras of a frame's detections", d.len()?)?;
    for detection in detections.iter_mut().take(cameras) {
        detection.camera = d.u8()?;
    }
    Ok(DetectionsRecord {
        tenant,
        sequence,
        source_index,
        at,
        detections,
    })
}

fn decode_detection(d: &mut Decoder<'_>) -> Result<Detection, CdrError> {
    let class = d.u16()?;
    let score = d.f32()?;
    let image = match d.len()? {
        0 => None,
        1 => Some(Box2d {
            x1: d.f32()?,
            y1: d.f32()?,
            x2: d.f32()?,
            y2: d.f32()?,
        }),
        n => return Err(boxes(n)),
    };
    let space = match d.len()? {
        0 => None,
        1 => Some(Box3d {
            x: d.f32()?,
            y: d.f32()?,
            z: d.f32()?,
            l: d.f32()?,
            w: d.f32()?,
            h: d.f32()?,
            yaw: d.f32()?,
        }),
        n => return Err(boxes(n)),
    };
    let place = match (image, space) {
        (Some(b), None) => Place::Image(b),
        (None, Some(b)) => Place::Space(b),
        (None, None) => return Err(boxes(0)),
        (Some(_), Some(_)) => return Err(boxes(2)),
    };
    Ok(Detection::still(class, score, place))
}

fn boxes(found: usize) -> CdrError {
    CdrError::UnknownValue {
        field: "boxes of one detection",
        value: found as u64,
    }
}

pub(super) fn encode_sample(out: &mut Vec<u8>, unix_ns: u64, r: &SampleRecord) {
    let mut e = Encoder::new(out);
    time(&mut e, unix_ns);
    e.i64(r.at.0);
    e.f64(r.value.unwrap_or(f64::NAN));
    e.str(&r.source);
    e.str(&r.signal);
    e.str(&r.unit);
}

fn decode_sample(data: &[u8]) -> Result<SampleRecord, CdrError> {
    let mut d = Decoder::new(data)?;
    skip_time(&mut d)?;
    let at = Stamp(d.i64()?);
    let value = d.f64()?;
    Ok(SampleRecord {
        at,
        value: (!value.is_nan()).then_some(value),
        source: d.str()?.to_owned(),
        signal: d.str()?.to_owned(),
        unit: d.str()?.to_owned(),
    })
}

pub(super) fn encode_phase(out: &mut Vec<u8>, unix_ns: u64, r: &PhaseRecord) {
    let mut e = Encoder::new(out);
    time(&mut e, unix_ns);
    e.i64(r.epoch.0);
    e.i64(r.measured_from.0);
    e.i64(r.measured_to.0);
    e.u64(r.lost_records);
    e.u16(r.tenant);
    e.u8(r.phase.code());
    e.u8(r.reason as u8);
    put_number(&mut e, r.phase);
    let count = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
    e.i64(r.sampled.map_or(NONE, |sampled| count(sampled.repeated)));
    e.i64(r.sampled.map_or(NONE, |sampled| count(sampled.skipped)));
    e.i64(r.process_peak.map_or(NONE, count));
}

fn decode_phase(data: &[u8]) -> Result<PhaseRecord, CdrError> {
    let mut d = Decoder::new(data)?;
    skip_time(&mut d)?;
    let mut record = PhaseRecord {
        epoch: Stamp(d.i64()?),
        measured_from: Stamp(d.i64()?),
        measured_to: Stamp(d.i64()?),
        lost_records: d.u64()?,
        tenant: d.u16()?,
        phase: phase(d.u8()?)?,
        reason: match d.u8()? {
            0 => EndReason::Duration,
            1 => EndReason::Count,
            2 => EndReason::EndOfSource,
            3 => EndReason::Interrupted,
            4 => EndReason::Failed,
            other => return Err(unknown("reason", other)),
        },
        sampled: None,
        process_peak: None,
    };
    read_number(&mut d, &mut record.phase)?;
    let (repeated, skipped) = (u64::try_from(d.i64()?), u64::try_from(d.i64()?));
    record.sampled = repeated
        .ok()
        .zip(skipped.ok())
        .map(|(repeated, skipped)| Sampled { repeated, skipped });
    record.process_peak = u64::try_from(d.i64()?).ok();
    Ok(record)
}

/// Stands for the tenant whose rate is swept where none is.
const NO_TENANT: u16 = u16::MAX;
/// Stands for the round of a phase that is no turn.
const NO_ROUND: u16 = u16::MAX;

pub(super) fn encode_phase_spec(out: &mut Vec<u8>, unix_ns: u64, r: &PhaseSpec) {
    let mut e = Encoder::new(out);
    time(&mut e, unix_ns);
    e.i64(r.at.0);
    e.f64(r.rate.and_then(|rate| rate.hz).unwrap_or(f64::NAN));
    e.u16(r.rate.map_or(NO_TENANT, |rate| rate.tenant));
    e.u16(match r.phase {
        Phase::Other(number) => number,
        _ => 0,
    });
    e.u8(r.phase.code());
    e.str(&r.label);
    e.str(&r.sharing);
    e.len(r.members.len());
    r.members.iter().for_each(|&member| e.u16(member));
    e.bool(r.traced);
    e.u16(r.round.unwrap_or(NO_ROUND));
}

fn decode_phase_spec(data: &[u8]) -> Result<PhaseSpec, CdrError> {
    let mut d = Decoder::new(data)?;
    skip_time(&mut d)?;
    let at = Stamp(d.i64()?);
    let hz = Some(d.f64()?).filter(|hz| !hz.is_nan());
    let rate = Some(d.u16()?)
        .filter(|&tenant| tenant != NO_TENANT)
        .map(|tenant| SweptRate { tenant, hz });
    let number = d.u16()?;
    let phase = match phase(d.u8()?)? {
        Phase::Other(_) => Phase::Other(number),
        named => named,
    };
    let (label, sharing) = (d.str()?.to_owned(), d.str()?.to_owned());
    let count = d.len()?;
    let mut members = Vec::with_capacity(count.min(1024));
    for _ in 0..count {
        members.push(d.u16()?);
    }
    let traced = d.bool()?;
    // Recordings from before the first release, which call themselves 1.17, end here.
    let round = match d.at_end() {
        true => None,
        false => Some(d.u16()?).filter(|&round| round != NO_ROUND),
    };
    Ok(PhaseSpec {
        at,
        phase,
        label,
        sharing,
        members,
        rate,
        traced,
        round,
    })
}

pub(super) fn encode_node(out: &mut Vec<u8>, unix_ns: u64, r: &NodeRecord) {
    let mut e = Encoder::new(out);
    time(&mut e, unix_ns);
    e.u64(r.count);
    e.i64(r.mean.0);
    e.i64(r.max.0);
    e.u16(r.tenant);
    e.u8(r.phase.code());
    e.str(&r.name);
    e.str(&r.operator);
    let with = r.with_response;
    e.f64(with.map_or(f64::NAN, |with| with.variance));
    e.f64(with.map_or(f64::NAN, |with| with.response_variance));
    e.f64(with.map_or(f64::NAN, |with| with.covariance));
}

fn decode_node(data: &[u8]) -> Result<NodeRecord, CdrError> {
    let mut d = Decoder::new(data)?;
    skip_time(&mut d)?;
    Ok(NodeRecord {
        count: d.u64()?,
        mean: Nanos(d.i64()?),
        max: Nanos(d.i64()?),
        tenant: d.u16()?,
        phase: phase(d.u8()?)?,
        name: d.str()?.to_owned(),
        operator: d.str()?.to_owned(),
        with_response: covariance(&mut d)?,
    })
}

fn covariance(d: &mut Decoder<'_>) -> Result<Option<Covariance>, CdrError> {
    let with = Covariance {
        variance: d.f64()?,
        response_variance: d.f64()?,
        covariance: d.f64()?,
    };
    let known = [with.variance, with.response_variance, with.covariance];
    Ok(known.iter().all(|value| value.is_finite()).then_some(with))
}

pub(super) fn encode_finding(out: &mut Vec<u8>, unix_ns: u64, r: &Finding) {
    let mut e = Encoder::new(out);
    time(&mut e, unix_ns);
    e.str(&r.code);
    e.str(r.tenant.as_deref().unwrap_or_default());
    e.str(&r.message);
    e.str(&r.advice);
}

fn decode_finding(data: &[u8]) -> Result<Finding, CdrError> {
    let mut d = Decoder::new(data)?;
    skip_time(&mut d)?;
    Ok(Finding {
        code: d.str()?.to_owned(),
        tenant: Some(d.str()?.to_owned()).filter(|name| !name.is_empty()),
        message: d.str()?.to_owned(),
        advice: d.str()?.to_owned(),
    })
}

pub(super) fn encode_log(out: &mut Vec<u8>, unix_ns: u64, r: &LogRecord) {
    let mut e = Encoder::new(out);
    time(&mut e, unix_ns);
    e.i64(r.at.0);
    e.str(&r.level);
    e.str(&r.message);
}

fn decode_log(data: &[u8]) -> Result<LogRecord, CdrError> {
    let mut d = Decoder::new(data)?;
    skip_time(&mut d)?;
    Ok(LogRecord {
        at: Stamp(d.i64()?),
        level: d.str()?.to_owned(),
        message: d.str()?.to_owned(),
    })
}

pub(super) fn encode_signal(out: &mut Vec<u8>, unix_ns: u64, r: &SignalRecord) {
    let mut e = Encoder::new(out);
    time(&mut e, unix_ns);
    e.i64(optional(r.period));
    e.i64(optional(r.refresh));
    e.i64(optional(r.window));
    e.f64(r.step.unwrap_or(f64::NAN));
    e.u8(r.averaging as u8);
    e.u8(r.role as u8);
    e.str(&r.source);
    e.str(&r.signal);
    e.str(&r.unit);
    e.str(r.within.as_deref().unwrap_or_default());
    e.str(&r.origin);
    let (part, number) = r.measurand.part.numbers();
    e.u8(r.measurand.quantity as u8);
    e.u8(part);
    e.u32(number);
}

fn decode_signal(data: &[u8]) -> Result<SignalRecord, CdrError> {
    let mut d = Decoder::new(data)?;
    skip_time(&mut d)?;
    Ok(SignalRecord {
        period: read_optional(&mut d)?,
        refresh: read_optional(&mut d)?,
        window: read_optional(&mut d)?,
        step: Some(d.f64()?).filter(|step| !step.is_nan()),
        averaging: match d.u8()? {
            1 => Averaging::Instant,
            2 => Averaging::Mean,
            3 => Averaging::Counter,
            4 => Averaging::Filter,
            // What a newer version may tell apart is not known here.
            _ => Averaging::Unknown,
        },
        role: match d.u8()? {
            0 => RailRole::None,
            1 => RailRole::Total,
            2 => RailRole::Summand,
            3 => RailRole::Part,
            4 => RailRole::Within,
            5 => RailRole::Input,
            _ => RailRole::Unknown,
        },
        source: d.str()?.to_owned(),
        signal: d.str()?.to_owned(),
        unit: d.str()?.to_owned(),
        within: Some(d.str()?.to_owned()).filter(|name| !name.is_empty()),
        origin: d.str()?.to_owned(),
        measurand: Measurand {
            quantity: Quantity::of_number(d.u8()?),
            part: Part::of_numbers(d.u8()?, d.u32()?),
        },
    })
}

pub(super) fn encode_window(out: &mut Vec<u8>, unix_ns: u64, r: &WindowRecord) {
    let mut e = Encoder::new(out);
    time(&mut e, unix_ns);
    e.i64(r.from.0);
    e.i64(r.to.0);
    e.str(&r.name);
}

fn decode_window(data: &[u8]) -> Result<WindowRecord, CdrError> {
    let mut d = Decoder::new(data)?;
    skip_time(&mut d)?;
    Ok(WindowRecord {
        from: Stamp(d.i64()?),
        to: Stamp(d.i64()?),
        name: d.str()?.to_owned(),
    })
}

pub(super) fn encode_range(out: &mut Vec<u8>, unix_ns: u64, r: &RangeRecord) {
    let or_none = |count: Option<u64>| count.map_or(NONE, |count| i64::try_from(count).unwrap_or(i64::MAX));
    let mut e = Encoder::new(out);
    time(&mut e, unix_ns);
    e.i64(r.from.0);
    e.i64(r.to.0);
    e.i64(or_none(r.batch));
    e.i64(or_none(r.items));
    e.str(&r.path);
    e.u16(r.tenant);
    e.u16(r.track);
}

fn decode_range(data: &[u8]) -> Result<RangeRecord, CdrError> {
    let mut d = Decoder::new(data)?;
    skip_time(&mut d)?;
    Ok(RangeRecord {
        from: Stamp(d.i64()?),
        to: Stamp(d.i64()?),
        batch: u64::try_from(d.i64()?).ok(),
        items: u64::try_from(d.i64()?).ok(),
        path: d.str()?.to_owned(),
        tenant: d.u16()?,
        track: d.u16()?,
    })
}

/// The record that a message of this kind holds.
#[inline]
pub(super) fn decode(kind: MessageKind, data: &[u8]) -> Result<Event, CdrError> {
    Ok(match kind {
        MessageKind::Frame | MessageKind::OtherFrame => Event::Frame(decode_frame(data)?),
        MessageKind::Detections => Event::Detections(decode_detections(data)?),
        MessageKind::Sample => Event::Sample(decode_sample(data)?),
        MessageKind::Phase | MessageKind::OtherPhase => Event::Phase(decode_phase(data)?),
        MessageKind::PhaseSpec => Event::PhaseSpec(decode_phase_spec(data)?),
        MessageKind::Node => Event::Node(decode_node(data)?),
        MessageKind::Finding => Event::Finding(decode_finding(data)?),
        MessageKind::Log => Event::Log(decode_log(data)?),
        MessageKind::Signal => Event::Signal(decode_signal(data)?),
        MessageKind::Window => Event::Window(decode_window(data)?),
        MessageKind::Range => Event::Range(decode_range(data)?),
        MessageKind::Activities => Event::Activities(activity_message::decode_batch(data)?),
        MessageKind::Name => Event::Definition(activity_message::decode_definition(data)?),
        MessageKind::Trace => Event::Trace(activity_message::decode_trace(data)?),
        MessageKind::Work => Event::Work(work_message::decode(data)?),
        MessageKind::Output => Event::Output(output::decode(data)?),
    })
}
