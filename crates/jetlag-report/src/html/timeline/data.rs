//! A course in short form for the page's script: JSON around numbers in base64.
//!
//! Numbers are LEB128: seven bits a byte, least first. Those that may be negative are zigzag-coded (0, −1, 1, −2, …). Times are in
//! ticks of 100 ns. A frame is: its release after the one before, its number after the one before less one, its flags (two bits
//! outcome, one bit missed, then its lane), its wait, its service, a number with a bit for each stage that it has, and those stages'
//! times. A reading is the time after the one before in microseconds, and the change of its value in tenths.

use serde::Serialize;

use crate::analysis::plot::Course;
use crate::analysis::summary::TenantSummary;
use crate::analysis::trace::{Lanes, Span};
use crate::record::{FrameRecord, Stage};
use crate::units::{Nanos, Stamp};

/// Nanoseconds of a tick.
const TICK: i64 = 100;
/// Lanes of a tenant; whatever overlaps more goes into the last.
const MOST_LANES: usize = 8;

#[derive(Serialize)]
struct Written<'a> {
    /// Length of the time axis in seconds.
    length: f64,
    stages: Vec<&'static str>,
    tenants: Vec<Tenant<'a>>,
    signals: Vec<Signal<'a>>,
    /// Where frames are, in seconds; `null` where all are.
    windows: Option<Vec<[f64; 2]>>,
    moments: Vec<Slow>,
}

#[derive(Serialize)]
struct Tenant<'a> {
    name: &'a str,
    lanes: usize,
    frames: String,
    /// From, to, share and misses.
    busy: Vec<(f64, f64, f64, u64)>,
}

#[derive(Serialize)]
struct Signal<'a> {
    name: &'a str,
    unit: &'a str,
    readings: String,
}

#[derive(Serialize)]
struct Slow {
    tenant: usize,
    number: usize,
    sequence: u64,
    from: f64,
    to: f64,
}

/// The course as it stands in the page.
pub(super) fn written(course: &Course, tenants: &[TenantSummary]) -> String {
    let seconds = |at: Stamp| micros((at - course.zero).as_secs_f64());
    let windows = course.windows.iter();
    let written = Written {
        length: course.length.as_secs_f64(),
        stages: Stage::ALL.map(Stage::name).into(),
        tenants: tenants
            .iter()
            .enumerate()
            .map(|(number, tenant)| {
                let (lanes, frames) = frames(course, number);
                let busy = course.busy.get(number).map_or(&[][..], Vec::as_slice);
                Tenant {
                    name: &tenant.name,
                    lanes,
                    frames,
                    busy: busy
                        .iter()
                        .map(|part| {
                            let share = (part.share * 1e3).round() / 1e3;
                            (micros(part.from_s), micros(part.to_s), share, part.missed)
                        })
                        .collect(),
                }
            })
            .collect(),
        signals: course
            .signals
            .iter()
            .map(|signal| Signal {
                name: &signal.signal,
                unit: &signal.unit,
                readings: readings(&signal.readings),
            })
            .collect(),
        windows: course.is_partial().then(|| {
            windows
                .map(|window| [seconds(window.from), seconds(window.to)])
                .collect()
        }),
        moments: course
            .moments
            .iter()
            .map(|moment| Slow {
                tenant: moment.tenant,
                number: moment.number,
                sequence: moment.sequence,
                from: seconds(moment.from),
                to: seconds(moment.to),
            })
            .collect(),
    };
    // Within a script element nothing may look like its end.
    serde_json::to_string(&written)
        .unwrap_or_else(|_| "null".to_owned())
        .replace('<', "\\u003c")
}

fn micros(seconds: f64) -> f64 {
    (seconds * 1e6).round() / 1e6
}

/// A tenant's frames, and how many lanes they need.
fn frames(course: &Course, tenant: usize) -> (usize, String) {
    let own: Vec<&FrameRecord> = course
        .frames
        .iter()
        .filter(|frame| usize::from(frame.tenant) == tenant)
        .collect();
    let places = lanes(&own);
    let mut bytes = Vec::with_capacity(own.len() * 20);
    let (mut at, mut number) = (0i64, -1i64);
    for (frame, lane) in own.iter().zip(&places) {
        let released = (frame.released - course.zero).0 / TICK;
        signed(&mut bytes, released - at);
        at = released;
        let sequence = i64::try_from(frame.sequence).unwrap_or(i64::MAX);
        signed(&mut bytes, sequence.saturating_sub(number).saturating_sub(1));
        number = sequence;
        bytes.push(frame.outcome as u8 | u8::from(frame.missed()) << 2 | (*lane as u8) << 3);
        unsigned(&mut bytes, ticks(frame.queueing()));
        unsigned(&mut bytes, ticks(frame.service()));
        let has = frame.stages.iter().enumerate();
        unsigned(
            &mut bytes,
            has.fold(0, |bits, (place, stage)| {
                bits | u64::from(stage.is_some()) << place
            }),
        );
        for took in frame.stages.iter().flatten() {
            unsigned(&mut bytes, ticks(*took));
        }
    }
    let count = places.iter().max().map_or(1, |most| most + 1);
    (count, base64(&bytes))
}

/// The lane of each frame: what is in service at the same time lies side by side.
fn lanes(frames: &[&FrameRecord]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..frames.len()).collect();
    order.sort_by_key(|&place| (frames[place].finished, frames[place].started));
    let mut lanes = Lanes::default();
    let mut places = vec![0; frames.len()];
    for place in order {
        let frame = frames[place];
        let span = Span {
            from: frame.started,
            to: frame.finished.max(frame.started),
        };
        places[place] = lanes.place(span).min(MOST_LANES - 1);
    }
    places
}

fn readings(readings: &[(i64, f64)]) -> String {
    let mut bytes = Vec::with_capacity(readings.len() * 4);
    let (mut at, mut value) = (0, 0);
    for &(ns, reading) in readings {
        let (next_at, next) = (ns / 1_000, (reading * 10.0).round() as i64);
        signed(&mut bytes, next_at - at);
        signed(&mut bytes, next.saturating_sub(value));
        (at, value) = (next_at, next);
    }
    base64(&bytes)
}

fn ticks(time: Nanos) -> u64 {
    u64::try_from((time.0 + TICK / 2) / TICK).unwrap_or_default()
}

fn signed(bytes: &mut Vec<u8>, value: i64) {
    unsigned(bytes, (value << 1 ^ value >> 63) as u64);
}

fn unsigned(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

/// Base64 as RFC 4648 has it, which is what a browser's `atob` reads.
fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let of = |place: usize| u32::from(three.get(place).copied().unwrap_or_default());
        let bits = of(0) << 16 | of(1) << 8 | of(2);
        for place in 0..4 {
            let letter = LETTERS[(bits >> (18 - 6 * place) & 63) as usize];
            text.push(if place > three.len() {
                '='
            } else {
                char::from(letter)
            });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_that_of_the_standard() {
        let known = [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ];
        for (plain, coded) in known {
            assert_eq!(base64(plain.as_bytes()), coded);
        }
    }

    #[test]
    fn numbers_take_seven_bits_a_byte_and_small_negative_ones_stay_small() {
        let coded = |value: i64| {
            let mut bytes = Vec::new();
            signed(&mut bytes, value);
            bytes
        };
        assert_eq!(coded(0), [0]);
        assert_eq!(coded(-1), [1]);
        assert_eq!(coded(1), [2]);
        assert_eq!(coded(64), [0x80, 1]);
        assert_eq!(coded(i64::MIN).len(), 10);
        assert_eq!(
            (ticks(Nanos(149)), ticks(Nanos(150)), ticks(Nanos(-900))),
            (1, 2, 0)
        );
    }
}
