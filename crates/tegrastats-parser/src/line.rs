//! One line: where it begins, which field each token opens, what is kept as unknown, what is refused.
//!
//! Order differs by board and release, so fields are told apart by shape. Two kinds:
//!
//! - Fields under a fixed name (`RAM`, `SWAP`, `IRAM`, `CPU [`, `EMC`, `GR3D`, `GR3D2`, `MTS`, `EDP`) must be well
//!   formed and come once: anything else means a line that was cut, garbled or mixed with another, and its other
//!   values cannot be trusted either.
//! - Fields under any name (engines, zones, rails) are taken where name and value fit, and kept as unknown tokens
//!   where they do not: a new board or release must not make a line unreadable.

use alloc::vec::Vec;

use crate::cursor::{is_blank, Cursor, Name};
use crate::error::{LineError, LineErrorKind};
use crate::fields;
use crate::sample::{Activity, Engine, Sample, Timestamp, Token};

/// Fields without which text that has no `RAM` is not taken for tegrastats output.
const ENOUGH_EVIDENCE: usize = 2;

/// Reads one line of tegrastats.
///
/// Text before the stamp or `RAM` is given as [`Sample::prefix`]; tokens of no known field as
/// [`Sample::unknown`]. A line that lost its left part, `RAM` included, still gives what is left of it.
///
/// # Errors
///
/// [`LineError`] where the line is empty or other text, where a field of a fixed name is malformed (the line was
/// cut or garbled), or where such a field comes twice (two lines run into each other).
///
/// # Examples
///
/// ```
/// let line = "RAM 2130/7774MB (lfb 1004x4MB) CPU [11%@1190,off] EMC_FREQ 0% GR3D_FREQ 7% CPU@33C VDD_IN 3528/3569";
/// let sample = tegrastats_parser::parse_line(line)?;
/// assert_eq!(sample.ram.map(|ram| ram.used_mb), Some(2130));
/// assert_eq!(sample.rails[0].instant_mw, 3528);
/// assert_eq!(sample.emc_load_percent(), None); // not measured without root, though it prints 0%
/// assert_eq!(sample.swap, None);               // no swap configured
///
/// let error = tegrastats_parser::parse_line("RAM 2130/7774MB (lfb 1004x4MB) CPU [11%@1190,2%@11").unwrap_err();
/// assert_eq!((error.token(), error.column()), ("2%@11", 46));
/// # Ok::<(), tegrastats_parser::LineError>(())
/// ```
pub fn parse_line(line: &str) -> Result<Sample<'_>, LineError> {
    let begin = Begin::find(line);
    let sample = Sample {
        prefix: begin.prefix,
        timestamp: begin.timestamp,
        ..Sample::default()
    };
    let mut parser = Parser {
        line,
        cur: Cursor::new(line, begin.at),
        sample,
        evidence: 0,
    };
    let outcome = parser.run();
    // Other text may hold a word such as `SWAP`: only a field that stands first, or one beside real fields, is a
    // malformed field. All else is other text.
    let other_text = match outcome {
        Ok(()) => parser.sample.ram.is_none() && parser.evidence < ENOUGH_EVIDENCE,
        Err(Refused { head, .. }) => parser.evidence == 0 && head != begin.at,
    };
    if other_text {
        return Err(parser.not_tegrastats());
    }
    match outcome {
        Ok(()) => Ok(parser.sample),
        Err(refused) => Err(parser.error(&refused)),
    }
}

/// Where tegrastats's own text begins, and what stands before it.
struct Begin<'a> {
    prefix: Option<&'a str>,
    timestamp: Option<Timestamp>,
    /// First byte behind the stamp, if there is one, and behind blanks.
    at: usize,
}

impl<'a> Begin<'a> {
    fn find(line: &'a str) -> Self {
        if let Some(at) = find_ram(line) {
            let before = line.get(..at).unwrap_or_default();
            let (prefix, timestamp) = split_stamp(before);
            let prefix = (!prefix.bytes().all(is_blank)).then_some(prefix);
            return Self {
                prefix,
                timestamp,
                at,
            };
        }
        // No memory field. The stamp still counts where it stands first.
        let mut cur = Cursor::new(line, 0);
        cur.skip_blanks();
        let start = cur.at();
        let timestamp = line.get(start..start + STAMP_LEN).and_then(fields::timestamp);
        if timestamp.is_some() {
            cur = Cursor::new(line, start + STAMP_LEN);
            cur.skip_blanks();
        }
        Self {
            prefix: None,
            timestamp,
            at: cur.at(),
        }
    }
}

const STAMP_LEN: usize = "MM-DD-YYYY HH:MM:SS".len();

/// Splits off a stamp at the end of `before`.
fn split_stamp(before: &str) -> (&str, Option<Timestamp>) {
    let text = before.trim_end_matches(|c: char| u8::try_from(c).is_ok_and(is_blank));
    let stamp = text
        .len()
        .checked_sub(STAMP_LEN)
        .and_then(|at| Some((at, fields::timestamp(text.get(at..)?)?)));
    match stamp {
        // A digit in front would make it the tail of something else.
        Some((at, stamp))
            if !text.as_bytes()[..at]
                .last()
                .is_some_and(u8::is_ascii_alphanumeric) =>
        {
            (text.get(..at).unwrap_or_default(), Some(stamp))
        }
        _ => (before, None),
    }
}

/// First `RAM` as a word of its own with `used/` behind it. The word alone may stand in a user's prefix.
fn find_ram(line: &str) -> Option<usize> {
    // Where tegrastats puts it: first, or behind the stamp.
    let usual = [0, STAMP_LEN + 1].into_iter().find(|at| ram_at(line, *at));
    usual.or_else(|| {
        line.match_indices('R')
            .map(|(at, _)| at)
            .find(|at| ram_at(line, *at))
    })
}

#[inline]
fn ram_at(line: &str, at: usize) -> bool {
    let mut cur = Cursor::new(line, at);
    if cur.eat_text("RAM").is_none() || !cur.token_ends() {
        return false;
    }
    let in_word = at > 0
        && line
            .as_bytes()
            .get(at - 1)
            .is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'_');
    cur.skip_blanks();
    !in_word && cur.number().is_some() && cur.eat(b'/').is_some()
}

/// A field of a fixed name that does not fit.
#[derive(Clone, Copy)]
struct Refused {
    /// Byte where the field's name starts.
    head: usize,
    /// Byte where the text stopped fitting.
    at: usize,
    kind: LineErrorKind,
}

struct Parser<'a> {
    line: &'a str,
    cur: Cursor<'a>,
    sample: Sample<'a>,
    /// Fields seen that other text would hardly hold.
    evidence: usize,
}

impl<'a> Parser<'a> {
    fn run(&mut self) -> Result<(), Refused> {
        loop {
            self.cur.skip_blanks();
            if self.cur.peek().is_none() {
                return Ok(());
            }
            let head = self.cur.at();
            let known = self.field()?;
            self.sample.ends_cleanly = known;
            if !known {
                // Only the first token goes: what follows it may be a field of its own.
                self.cur.go_to(head);
                self.cur.skip_token();
                let text = self.cur.since(head);
                self.sample.unknown.push(Token {
                    text,
                    column: head + 1,
                });
            }
        }
    }

    /// Takes the field that starts here; `false` where the token opens none.
    fn field(&mut self) -> Result<bool, Refused> {
        let head = self.cur.at();
        let name = self.cur.name();
        if self.cur.peek() == Some(b'@') {
            return Ok(self.temperature(name));
        }
        if !self.cur.token_ends() && self.cur.peek() != Some(b'[') {
            return Ok(false);
        }
        self.cur.skip_blanks();
        match name.text.as_bytes() {
            b"RAM" => {
                let form = "`used/totalMB (lfb NxZMB)`";
                let value = self.once(head, "RAM", form, self.sample.ram.is_none(), fields::ram)?;
                self.sample.ram = Some(value);
            }
            b"SWAP" => {
                let form = "`used/totalMB (cached NMB)`";
                let value = self.once(head, "SWAP", form, self.sample.swap.is_none(), fields::swap)?;
                self.sample.swap = Some(value);
            }
            b"IRAM" => {
                let form = "`used/totalkB(lfb NkB)`";
                let value = self.once(head, "IRAM", form, self.sample.iram.is_none(), fields::iram)?;
                self.sample.iram = Some(value);
            }
            b"CPU" | b"cpu" if self.cur.peek() == Some(b'[') => {
                let form = "a list `[N%@MHz,off,..]`";
                self.sample.cpus = self.once(head, "CPU", form, self.sample.cpus.is_empty(), fields::cpus)?;
            }
            b"EMC_FREQ" | b"EMC" => {
                self.sample.emc = Some(self.activity(head, "EMC", self.sample.emc.is_none())?);
            }
            b"GR3D_FREQ" | b"GR3D" => {
                self.sample.gr3d = Some(self.activity(head, "GR3D", self.sample.gr3d.is_none())?);
            }
            b"GR3D2_FREQ" | b"GR3D2" => {
                self.sample.gr3d2 = Some(self.activity(head, "GR3D2", self.sample.gr3d2.is_none())?);
            }
            b"MTS" => {
                let value = self.once(
                    head,
                    "MTS",
                    "`fg N% bg N%`",
                    self.sample.mts.is_none(),
                    fields::mts,
                )?;
                self.sample.mts = Some(value);
            }
            b"EDP" => {
                let first = self.sample.edp_limit.is_none();
                self.sample.edp_limit =
                    Some(self.once(head, "EDP", "`limit N`", first, fields::edp_limit)?);
            }
            _ => return Ok(self.rail(name) || self.engine(name)),
        }
        self.evidence += 1;
        Ok(true)
    }

    /// Reads the value of a field that must be well formed and may come once.
    fn once<T>(
        &mut self,
        head: usize,
        field: &'static str,
        expected: &'static str,
        first: bool,
        read: impl FnOnce(&mut Cursor<'a>) -> Option<T>,
    ) -> Result<T, Refused> {
        if !first {
            return Err(Refused {
                head,
                at: head,
                kind: LineErrorKind::Repeated { field },
            });
        }
        let value = read(&mut self.cur);
        let kind = LineErrorKind::Malformed { field, expected };
        value.ok_or(Refused {
            head,
            at: self.cur.at(),
            kind,
        })
    }

    fn activity(&mut self, head: usize, field: &'static str, first: bool) -> Result<Activity, Refused> {
        let form = "`N%@MHz`, `N%`, `N%@[MHz,..]`, `@[MHz,..]` or `off`";
        self.once(head, field, form, first, |cur| {
            let (activity, bare) = fields::activity(cur)?;
            // A bare number at the end of the line is a load whose `%` was cut off.
            (!(bare && cur.line_ends())).then_some(activity)
        })
    }

    fn temperature(&mut self, name: Name<'a>) -> bool {
        if !name.has_letter() {
            return false;
        }
        let Some(temperature) = fields::temperature(&mut self.cur, name.text) else {
            return false;
        };
        push(&mut self.sample.temperatures, temperature);
        self.evidence += 1;
        true
    }

    /// On `false` the cursor is back behind the name.
    fn rail(&mut self, name: Name<'a>) -> bool {
        let start = self.cur.at();
        if let Some((rail, unit)) = fields::rail(&mut self.cur, name.text) {
            // Without the unit, `3/4` behind a word of other text would do.
            if if unit { name.has_letter() } else { name.is_upper() } {
                push(&mut self.sample.rails, rail);
                self.evidence += usize::from(unit);
                return true;
            }
        }
        self.cur.go_to(start);
        false
    }

    fn engine(&mut self, name: Name<'a>) -> bool {
        if !name.is_upper() {
            return false;
        }
        let Some((activity, bare)) = fields::activity(&mut self.cur) else {
            return false;
        };
        let label = name.text;
        if bare && !printed_bare(label) {
            return false;
        }
        push(&mut self.sample.engines, Engine { label, activity });
        true
    }

    fn not_tegrastats(&self) -> LineError {
        let mut cur = Cursor::new(self.line, 0);
        cur.skip_blanks();
        let start = cur.at();
        cur.skip_token();
        let token = cur.since(start);
        let kind = if token.is_empty() {
            LineErrorKind::Empty
        } else {
            LineErrorKind::NotTegrastats
        };
        LineError::new(kind, token, if token.is_empty() { 0 } else { start })
    }

    fn error(&self, refused: &Refused) -> LineError {
        let in_list = matches!(refused.kind, LineErrorKind::Malformed { field: "CPU", .. });
        let (start, end) = token_around(self.line, refused.at, in_list);
        LineError::new(refused.kind, self.line.get(start..end).unwrap_or_default(), start)
    }
}

/// The token that holds byte `at`, or the last one before it; in a list, the element.
fn token_around(line: &str, at: usize, in_list: bool) -> (usize, usize) {
    let bytes = line.as_bytes();
    let splits = |b: &u8| is_blank(*b) || (in_list && matches!(*b, b',' | b'[' | b']'));
    let before = bytes.get(..at).unwrap_or_default();
    let inside = bytes.get(at).is_some_and(|b| !splits(b));
    let end_before = if inside {
        at
    } else {
        before.iter().rposition(|b| !splits(b)).map_or(0, |last| last + 1)
    };
    let start = before
        .get(..end_before)
        .and_then(|b| b.iter().rposition(splits))
        .map_or(0, |gap| gap + 1);
    let rest = bytes.get(start..).unwrap_or_default();
    (start, start + rest.iter().position(splits).unwrap_or(rest.len()))
}

/// Reserves once: a line holds about a dozen of each, and growing step by step costs more than the parsing.
fn push<T>(list: &mut Vec<T>, item: T) {
    if list.capacity() == 0 {
        list.reserve(12);
    }
    list.push(item);
}

/// Whether `label` may be followed by a clock and nothing else.
///
/// Only releases through R35 print engines so, and their engines are known. Any other name with a bare number is
/// kept as unknown: it may be a rail cut before its `/`.
fn printed_bare(label: &str) -> bool {
    if label.ends_with("_FREQ") {
        return true;
    }
    let stem = label.trim_end_matches(|c: char| c.is_ascii_digit());
    matches!(
        stem,
        "APE"
            | "AVP"
            | "VDE"
            | "VIC"
            | "MSENC"
            | "NVENC"
            | "NVDEC"
            | "NVJPG"
            | "NVDLA"
            | "DLA"
            | "PVA"
            | "OFA"
            | "SE"
            | "ISP"
            | "VI"
            | "NVCSI"
            | "TSEC"
    )
}
