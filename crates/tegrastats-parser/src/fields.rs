//! The form of each field's value. Every function here starts behind the field's name and blanks and leaves the
//! cursor where the text stopped fitting, so that the caller can name the offending token.

use alloc::vec::Vec;

use crate::cursor::Cursor;
use crate::sample::{Activity, Clocks, Core, FreeBlocks, Iram, Mts, Rail, Ram, Swap, Temperature, Timestamp};

/// `used/totalMB`, then maybe `(lfb NxZMB)`.
pub(crate) fn ram(cur: &mut Cursor<'_>) -> Option<Ram> {
    let (used_mb, total_mb) = used_of_total(cur, "MB")?;
    let largest_free = match open_note(cur, "(lfb ") {
        Open::No => None,
        Open::Yes => {
            cur.skip_blanks();
            let count = cur.number()?;
            cur.eat(b'x')?;
            let size = cur.number()?;
            let block_kb = if cur.eat_text("kB").is_some() {
                size
            } else {
                cur.eat_text("MB")?;
                size.checked_mul(1024)?
            };
            close_note(cur)?;
            Some(FreeBlocks { count, block_kb })
        }
    };
    Some(Ram {
        used_mb,
        total_mb,
        largest_free,
    })
}

/// `used/totalMB`, then maybe `(cached cMB)`.
pub(crate) fn swap(cur: &mut Cursor<'_>) -> Option<Swap> {
    let (used_mb, total_mb) = used_of_total(cur, "MB")?;
    let cached_mb = note_of_one(cur, "(cached ", "MB")?;
    Some(Swap {
        used_mb,
        total_mb,
        cached_mb,
    })
}

/// `used/totalkB`, then maybe `(lfb ZkB)`, with or without a blank before it.
pub(crate) fn iram(cur: &mut Cursor<'_>) -> Option<Iram> {
    let (used_kb, total_kb) = used_of_total(cur, "kB")?;
    let largest_free_kb = note_of_one(cur, "(lfb ", "kB")?;
    Some(Iram {
        used_kb,
        total_kb,
        largest_free_kb,
    })
}

fn used_of_total(cur: &mut Cursor<'_>, unit: &str) -> Option<(u32, u32)> {
    let used = cur.number()?;
    cur.eat(b'/')?;
    let total = cur.number()?;
    cur.eat_text(unit)?;
    (cur.token_ends() || cur.peek() == Some(b'(')).then_some((used, total))
}

/// A note of one number: `None` where it is malformed, `Some(None)` where there is none.
fn note_of_one(cur: &mut Cursor<'_>, head: &str, unit: &str) -> Option<Option<u32>> {
    match open_note(cur, head) {
        Open::No => Some(None),
        Open::Yes => {
            cur.skip_blanks();
            let value = cur.number()?;
            cur.eat_text(unit)?;
            close_note(cur)?;
            Some(Some(value))
        }
    }
}

enum Open {
    Yes,
    No,
}

/// Enters a note in parentheses. Another note than the wanted one is left for the caller to keep as unknown.
fn open_note(cur: &mut Cursor<'_>, head: &str) -> Open {
    let start = cur.at();
    cur.skip_blanks();
    if cur.eat_text(head).is_none() {
        cur.go_to(start);
        return Open::No;
    }
    Open::Yes
}

fn close_note(cur: &mut Cursor<'_>) -> Option<()> {
    cur.eat(b')')?;
    cur.token_ends().then_some(())
}

/// `[e,e,...]` with `e` one of `N%@MHz`, `N%`, `off`; then maybe one `@MHz` for all cores (before R28.2).
pub(crate) fn cpus(cur: &mut Cursor<'_>) -> Option<Vec<Core>> {
    cur.eat(b'[')?;
    let mut cores = Vec::with_capacity(16);
    loop {
        cur.skip_blanks();
        cores.push(core(cur)?);
        cur.skip_blanks();
        if cur.eat(b',').is_none() {
            break;
        }
    }
    cur.eat(b']')?;
    if cur.eat(b'@').is_some() {
        let shared = cur.number()?;
        for core in &mut cores {
            if let Core::Online {
                freq_mhz: freq_mhz @ None,
                ..
            } = core
            {
                *freq_mhz = Some(shared);
            }
        }
    }
    cur.token_ends().then_some(cores)
}

#[inline]
fn core(cur: &mut Cursor<'_>) -> Option<Core> {
    if cur.peek() == Some(b'o') {
        cur.eat_text("off")?;
        return Some(Core::Offline);
    }
    let load_percent = percent(cur)?;
    let freq_mhz = match cur.eat(b'@') {
        Some(()) => Some(cur.number()?),
        None => None,
    };
    Some(Core::Online {
        load_percent,
        freq_mhz,
    })
}

#[inline]
fn percent(cur: &mut Cursor<'_>) -> Option<u16> {
    let load = u16::try_from(cur.number()?).ok()?;
    cur.eat(b'%')?;
    Some(load)
}

/// `off | MHz | @MHz | N% | N%@MHz | N%@[MHz,..] | @[MHz,..]`; the flag says whether it was the bare `MHz`.
pub(crate) fn activity(cur: &mut Cursor<'_>) -> Option<(Activity, bool)> {
    let mut load_percent = None;
    match cur.peek()? {
        b'o' => {
            cur.eat_text("off")?;
            return cur.token_ends().then_some((Activity::Off, false));
        }
        b'@' => {}
        _ => {
            let number = cur.number()?;
            if cur.token_ends() {
                return Some((
                    Activity::On {
                        load_percent,
                        freq_mhz: Clocks::One(number),
                    },
                    true,
                ));
            }
            cur.eat(b'%')?;
            load_percent = Some(u16::try_from(number).ok()?);
            if cur.token_ends() {
                return Some((
                    Activity::On {
                        load_percent,
                        freq_mhz: Clocks::NotShown,
                    },
                    false,
                ));
            }
        }
    }
    cur.eat(b'@')?;
    let freq_mhz = clocks(cur)?;
    cur.token_ends().then_some((
        Activity::On {
            load_percent,
            freq_mhz,
        },
        false,
    ))
}

fn clocks(cur: &mut Cursor<'_>) -> Option<Clocks> {
    if cur.eat(b'[').is_none() {
        return cur.number().map(Clocks::One);
    }
    let mut each = Vec::with_capacity(4);
    loop {
        cur.skip_blanks();
        each.push(cur.number()?);
        cur.skip_blanks();
        if cur.eat(b',').is_none() {
            break;
        }
    }
    cur.eat(b']')?;
    Some(Clocks::Each(each))
}

/// `@[]` or `N%@[]`: whole, and of no clock.
pub(crate) fn no_clocks(cur: &mut Cursor<'_>) -> Option<()> {
    if cur.peek() != Some(b'@') {
        percent(cur)?;
    }
    cur.eat_text("@[")?;
    cur.skip_blanks();
    cur.eat(b']')?;
    cur.token_ends().then_some(())
}

/// `fg N% bg N%`.
pub(crate) fn mts(cur: &mut Cursor<'_>) -> Option<Mts> {
    cur.eat_text("fg")?;
    cur.skip_blanks();
    let foreground_percent = percent(cur)?;
    cur.skip_blanks();
    cur.eat_text("bg")?;
    cur.skip_blanks();
    let background_percent = percent(cur)?;
    cur.token_ends().then_some(Mts {
        foreground_percent,
        background_percent,
    })
}

/// The limit of `limit N`, if that is next.
pub(crate) fn edp_limit(cur: &mut Cursor<'_>) -> Option<u32> {
    cur.eat_text("limit")?;
    cur.skip_blanks();
    let limit = cur.number()?;
    cur.token_ends().then_some(limit)
}

/// `@T C` or `@T C/peak C`, written without blanks, right behind the zone's name.
#[inline]
pub(crate) fn temperature<'a>(cur: &mut Cursor<'a>, name: &'a str) -> Option<Temperature<'a>> {
    cur.eat(b'@')?;
    let c = celsius(cur)?;
    let peak_c = match cur.eat(b'/') {
        Some(()) => celsius(cur)?,
        None => None,
    };
    cur.token_ends().then_some(Temperature { name, c, peak_c })
}

/// `Some(None)` for the value that stands for "cannot be read".
#[inline]
fn celsius(cur: &mut Cursor<'_>) -> Option<Option<f64>> {
    let c = cur.decimal()?;
    cur.eat(b'C')?;
    Some((c != Temperature::UNREADABLE_C).then_some(c))
}

/// `cur/avg`, `curmW/avgmW` or `curmW/avgmW/peakmW`; the flag says whether the unit is written.
#[inline]
pub(crate) fn rail<'a>(cur: &mut Cursor<'a>, name: &'a str) -> Option<(Rail<'a>, bool)> {
    let instant_mw = cur.signed()?;
    let unit = cur.eat_text("mW").is_some();
    cur.eat(b'/')?;
    let average_mw = cur.signed()?;
    let mut peak_mw = None;
    if unit {
        cur.eat_text("mW")?;
        if cur.eat(b'/').is_some() {
            peak_mw = Some(cur.signed()?);
            cur.eat_text("mW")?;
        }
    }
    cur.token_ends().then_some((
        Rail {
            name,
            instant_mw,
            average_mw,
            peak_mw,
        },
        unit,
    ))
}

/// `MM-DD-YYYY HH:MM:SS`, the whole of `text`.
pub(crate) fn timestamp(text: &str) -> Option<Timestamp> {
    let bytes: &[u8; 19] = text.as_bytes().try_into().ok()?;
    let shape = bytes.iter().zip(b"00-00-0000 00:00:00");
    if !shape
        .into_iter()
        .all(|(b, s)| if *s == b'0' { b.is_ascii_digit() } else { b == s })
    {
        return None;
    }
    let two = |at: usize| (bytes[at] - b'0') * 10 + (bytes[at + 1] - b'0');
    let stamp = Timestamp {
        month: two(0),
        day: two(3),
        year: u16::from(two(6)) * 100 + u16::from(two(8)),
        hour: two(11),
        minute: two(14),
        second: two(17),
    };
    let real = (1..=12).contains(&stamp.month)
        && (1..=31).contains(&stamp.day)
        && stamp.hour < 24
        && stamp.minute < 60
        && stamp.second <= 60;
    real.then_some(stamp)
}
