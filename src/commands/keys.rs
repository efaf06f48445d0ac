//! The keys that are pressed at a terminal in raw mode, read from standard input.
//!
//! crossterm can read them too, but its reader loops for ever at full load once the terminal is gone, which nothing but
//! SIGKILL ends. Here a terminal that is gone is an answer like others. Only what a dashboard uses is recognised.

use std::collections::VecDeque;
use std::io;
use std::os::fd::AsFd;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

/// How long the rest of an escape sequence may take after its first byte: over ssh it can come in two packets.
const REST: Duration = Duration::from_millis(30);

/// One key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Press {
    /// A printable ASCII character, Tab and Enter among them.
    Char(char),
    /// A letter with Ctrl.
    Ctrl(char),
    Escape,
    BackTab,
    Up,
    Down,
    Right,
    Left,
    PageUp,
    PageDown,
    Home,
    End,
}

/// What came from the terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Input {
    Press(Press),
    /// No key in the time given.
    Nothing,
    /// The terminal went away: there will be no key any more.
    Gone,
}

/// What was read and is not taken yet.
#[derive(Debug, Default)]
pub(super) struct Keys {
    presses: VecDeque<Press>,
}

impl Keys {
    /// The next key, waiting for it as long as this.
    pub(super) fn next(&mut self, wait: Duration) -> io::Result<Input> {
        if let Some(press) = self.presses.pop_front() {
            return Ok(Input::Press(press));
        }
        let stdin = io::stdin();
        let Read::Some(mut bytes) = read(&stdin, wait)? else {
            return Ok(Input::Nothing);
        };
        // An escape sequence is read to its end; Escape by itself has none.
        while begun_sequence(&bytes) {
            match read(&stdin, REST)? {
                Read::Some(more) if more.is_empty() => break,
                Read::Some(more) => bytes.extend(more),
                Read::Nothing => break,
            }
        }
        if bytes.is_empty() {
            return Ok(Input::Gone);
        }
        self.presses = presses(&bytes);
        Ok(self.presses.pop_front().map_or(Input::Nothing, Input::Press))
    }
}

/// What one look at the terminal brought.
enum Read {
    /// Bytes; no byte at the terminal's end.
    Some(Vec<u8>),
    Nothing,
}

fn read(terminal: &impl AsFd, wait: Duration) -> io::Result<Read> {
    let mut asked = [PollFd::new(terminal, PollFlags::IN)];
    let limit = Timespec {
        tv_sec: i64::try_from(wait.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: i64::from(wait.subsec_nanos()),
    };
    match poll(&mut asked, Some(&limit)) {
        Ok(0) | Err(Errno::INTR) => return Ok(Read::Nothing),
        Ok(_) => {}
        Err(error) => return Err(error.into()),
    }
    // What was typed before the terminal went away is still read.
    if !asked[0].revents().contains(PollFlags::IN) {
        return Ok(Read::Some(Vec::new()));
    }
    let mut buffer = [0; 256];
    match rustix::io::read(terminal, &mut buffer) {
        Ok(count) => Ok(Read::Some(buffer[..count].to_vec())),
        Err(Errno::INTR | Errno::AGAIN) => Ok(Read::Nothing),
        Err(Errno::IO) => Ok(Read::Some(Vec::new())),
        Err(error) => Err(error.into()),
    }
}

const ESCAPE: u8 = 0x1b;

/// Whether the last escape sequence lacks its end.
fn begun_sequence(bytes: &[u8]) -> bool {
    let Some(begin) = bytes.iter().rposition(|byte| *byte == ESCAPE) else {
        return false;
    };
    match &bytes[begin + 1..] {
        [] | [b'O'] => true,
        [b'[', rest @ ..] => !rest.iter().any(|byte| (0x40..=0x7e).contains(byte)),
        _ => false,
    }
}

/// The keys that bytes stand for; those of other keys are left out.
fn presses(bytes: &[u8]) -> VecDeque<Press> {
    let mut presses = VecDeque::new();
    let mut rest = bytes;
    while let [first, after @ ..] = rest {
        rest = after;
        let press = match first {
            &ESCAPE => match after {
                [b'[' | b'O', sequence @ ..] => {
                    let length = sequence.iter().position(|byte| (0x40..=0x7e).contains(byte));
                    let end = length.map_or(sequence.len(), |at| at + 1);
                    rest = &sequence[end..];
                    named(&sequence[..end])
                }
                // With Alt, which no key here has.
                [other, after @ ..] if *other != ESCAPE => {
                    rest = after;
                    None
                }
                _ => Some(Press::Escape),
            },
            b'\t' | b'\r' | b' '..=b'~' => Some(Press::Char(char::from(*first))),
            1..=26 => Some(Press::Ctrl(char::from(first - 1 + b'a'))),
            _ => None,
        };
        presses.extend(press);
    }
    presses
}

/// The key of an escape sequence, without its introducer.
fn named(sequence: &[u8]) -> Option<Press> {
    Some(match sequence {
        b"A" => Press::Up,
        b"B" => Press::Down,
        b"C" => Press::Right,
        b"D" => Press::Left,
        b"H" | b"1~" | b"7~" => Press::Home,
        b"F" | b"4~" | b"8~" => Press::End,
        b"5~" => Press::PageUp,
        b"6~" => Press::PageDown,
        b"Z" => Press::BackTab,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(bytes: &[u8]) -> Vec<Press> {
        presses(bytes).into_iter().collect()
    }

    #[test]
    fn keys_are_recognised_in_the_codes_that_terminals_send() {
        assert_eq!(of(b"q?"), [Press::Char('q'), Press::Char('?')]);
        assert_eq!(of(b"\x03\t"), [Press::Ctrl('c'), Press::Char('\t')]);
        assert_eq!(of(b"\x1b"), [Press::Escape]);
        assert_eq!(of(b"\x1b[Aq"), [Press::Up, Press::Char('q')]);
        assert_eq!(
            of(b"\x1bOB\x1b[6~\x1b[Z"),
            [Press::Down, Press::PageDown, Press::BackTab]
        );
        // Alt, a function key, a letter that is not ASCII, and a sequence without end.
        assert!(of("\x1bx\x1b[15~ü\x1b[1;5".as_bytes()).is_empty());
        assert_eq!(of(b"\x1b\x1b"), [Press::Escape, Press::Escape]);
    }

    #[test]
    fn only_a_sequence_without_its_end_is_waited_for() {
        for begun in [&b"\x1b"[..], b"q\x1b[", b"\x1b[1;5", b"\x1bO"] {
            assert!(begun_sequence(begun), "{begun:?}");
        }
        for whole in [&b""[..], b"q", b"\x1b[A", b"\x1b[5~", b"\x1bx", b"\x1bOA"] {
            assert!(!begun_sequence(whole), "{whole:?}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_can_come(bytes in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..64)) {
            let _ = begun_sequence(&bytes);
            proptest::prop_assert!(presses(&bytes).len() <= bytes.len());
        }
    }
}
