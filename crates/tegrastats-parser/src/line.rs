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

use crate::begin::Begin;
use crate::cursor::{is_blank, Cursor, Name};
use crate::error::{LineError, LineErrorKind};
use crate::fields;
use crate::sample::{Activity, Engine, Sample, Token};

/// Fields without which text that has no `RAM` is not taken for tegrastats output.
const ENOUGH_EVIDENCE: usize = 2;

/// Reads one line of tegrastats.
///
/// Text before the stamp or the first field is given as [`Sample::prefix`]; tokens of no known field as
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
    match quoted(line) {
        Some(within) => parse(within),
        None => parse(line),
    }
}

/// A line as programs write it that log texts in quotes, as JSON and CSV have them.
fn quoted(line: &str) -> Option<&str> {
    let line = line.trim().trim_end_matches(',');
    ['"', '\'']
        .into_iter()
        .find_map(|quote| line.strip_prefix(quote)?.strip_suffix(quote))
}

fn parse(line: &str) -> Result<Sample<'_>, LineError> {
    let mut begin = Begin::find(line);
    if let Some(at) = begin
        .ram_behind_text(line)
        .and_then(|ram| field_before(line, ram))
    {
        begin = Begin {
            ram: begin.ram,
            ..Begin::at(line, at)
        };
    }
    let mut parser = Parser::new(line, begin.at);
    parser.sample.prefix = begin.prefix;
    parser.sample.timestamp = begin.timestamp;
    parser.open = begin.is_open();
    parser.odd = begin.ram != Some(begin.at);
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

/// First field before `ram`. Fields come in any order, so `RAM` need not be the first.
///
/// A malformed field is none: here it is a word of a user's prefix.
#[cold]
fn field_before(line: &str, ram: usize) -> Option<usize> {
    let mut cur = Cursor::new(line, 0);
    loop {
        let mut parser = Parser::new(line, cur.at());
        (parser.odd, parser.probing) = (true, true);
        let stop = parser.run().err().filter(|stop| stop.head < ram)?;
        if parser.begins_a_line() {
            return Some(stop.head);
        }
        cur.go_to(stop.head);
        cur.skip_token();
    }
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
    /// The line does not begin with its memory field: `doubted` looks at each field.
    odd: bool,
    /// Stop at the first field: only its place is wanted.
    probing: bool,
    /// The line may begin in the middle of a name.
    open: bool,
    /// How many zones and rails stand before `RAM`.
    before_ram: (usize, usize),
}

impl<'a> Parser<'a> {
    fn new(line: &'a str, at: usize) -> Self {
        Self {
            line,
            cur: Cursor::new(line, at),
            sample: Sample::default(),
            evidence: 0,
            odd: false,
            probing: false,
            open: false,
            before_ram: (0, 0),
        }
    }

    fn run(&mut self) -> Result<(), Refused> {
        loop {
            self.cur.skip_blanks();
            if self.cur.peek().is_none() {
                return Ok(());
            }
            let head = self.cur.at();
            let mut known = self.field()?;
            if self.odd {
                known = self.doubted(head, known)?;
            }
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

    /// The checks of lines that do not begin as they should, on the field just read.
    #[cold]
    fn doubted(&mut self, head: usize, known: bool) -> Result<bool, Refused> {
        let stop = |kind| Err(Refused { head, at: head, kind });
        if self.probing && self.begins_a_line() {
            // Nobody sees the kind.
            return stop(LineErrorKind::NotTegrastats);
        }
        if let Some(field) = self.again_behind_ram() {
            return stop(LineErrorKind::Repeated { field });
        }
        let sample = &mut self.sample;
        let named_freely =
            !(sample.engines.is_empty() && sample.temperatures.is_empty() && sample.rails.is_empty());
        if head == 0 && self.open && named_freely {
            // `C_FREQ` may be the rest of `EMC_FREQ`: the values are there, whose they are is not.
            sample.engines.clear();
            sample.temperatures.clear();
            sample.rails.clear();
            return Ok(false);
        }
        Ok(known)
    }

    /// Whether a field was read that no prefix holds. `JOB 3/4` and `FAN off` have the shape of a rail
    /// and an engine, and are words of a user's logger all the same.
    fn begins_a_line(&self) -> bool {
        let rail_name = |name: &str| name.contains('_') && !name.bytes().any(|b| b.is_ascii_lowercase());
        self.evidence > 0
            || self
                .sample
                .engines
                .iter()
                .any(|engine| printed_bare(engine.label))
            || self.sample.rails.iter().any(|rail| rail_name(rail.name))
    }

    /// Whether the zone or rail read last stands before `RAM` too: then that was the end of another line, which
    /// holds no field that comes once.
    fn again_behind_ram(&self) -> Option<&'static str> {
        self.sample.ram?;
        let (zones, rails) = self.before_ram;
        if let Some((before, [.., last])) = self.sample.temperatures.split_at_checked(zones) {
            if before.iter().any(|zone| zone.name == last.name) {
                return Some("zone");
            }
        }
        if let Some((before, [.., last])) = self.sample.rails.split_at_checked(rails) {
            if before.iter().any(|rail| rail.name == last.name) {
                return Some("rail");
            }
        }
        None
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
                self.before_ram = (self.sample.temperatures.len(), self.sample.rails.len());
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
                let value = self.activity(head, "EMC", self.sample.emc.is_none())?;
                let Some(value) = value else { return Ok(false) };
                self.sample.emc = Some(value);
            }
            b"GR3D_FREQ" | b"GR3D" => {
                let value = self.activity(head, "GR3D", self.sample.gr3d.is_none())?;
                let Some(value) = value else { return Ok(false) };
                self.sample.gr3d = Some(value);
            }
            b"GR3D2_FREQ" | b"GR3D2" => {
                let value = self.activity(head, "GR3D2", self.sample.gr3d2.is_none())?;
                let Some(value) = value else { return Ok(false) };
                self.sample.gr3d2 = Some(value);
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

    /// `None` where the list of clocks is whole and empty: nothing is cut there, and nothing said.
    fn activity(
        &mut self,
        head: usize,
        field: &'static str,
        first: bool,
    ) -> Result<Option<Activity>, Refused> {
        let form = "`N%@MHz`, `N%`, `N%@[MHz,..]`, `@[MHz,..]` or `off`";
        self.once(head, field, form, first, |cur| {
            let start = cur.at();
            let Some((activity, bare)) = fields::activity(cur) else {
                let end = cur.at();
                cur.go_to(start);
                if fields::no_clocks(cur).is_some() {
                    return Some(None);
                }
                cur.go_to(end);
                return None;
            };
            // A bare number at the end of the line is a load whose `%` was cut off.
            (!(bare && cur.line_ends())).then_some(Some(activity))
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
            let named = if unit {
                name.has_letter()
            } else {
                name.is_upper() || name.is_joined()
            };
            if named {
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
