//! What a run on a board shows, on this machine's screen. The board may be anybody's, so its bytes are not passed on as they
//! are: text is, and of the sequences that a terminal obeys those that a dashboard is drawn with. All others are shown.

use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};

use crate::shown::{is_obeyed, shown};

const ESCAPE: u8 = 0x1b;
/// No sequence of a dashboard is longer.
const LONGEST: usize = 64;

/// A screen that a run draws on. Dropped, it is as it was before: in no alternate screen, with a cursor, and silent.
pub struct Screen(Arc<Mutex<Drawing>>);

struct Drawing {
    out: Box<dyn Write + Send>,
    filter: Filter,
    closed: bool,
}

impl Screen {
    /// Draws on `out`; `terminal` tells whether that is one.
    pub fn new(out: Box<dyn Write + Send>, terminal: bool) -> Screen {
        Screen(Arc::new(Mutex::new(Drawing {
            out,
            filter: Filter::new(terminal),
            closed: false,
        })))
    }

    /// What draws on it, for another thread; nothing is drawn once the screen is dropped.
    pub(super) fn pen(&self) -> Pen {
        Pen(self.0.clone())
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        let mut drawing = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        drawing.closed = true;
        let leave = drawing.filter.leave();
        let _ = drawing.out.write_all(leave.as_bytes());
        let _ = drawing.out.flush();
    }
}

/// Draws on a [`Screen`].
pub(super) struct Pen(Arc<Mutex<Drawing>>);

impl Pen {
    /// Draws what a board sent; whether there is still a screen.
    pub(super) fn draw(&self, bytes: &[u8]) -> bool {
        let mut drawing = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if drawing.closed {
            return false;
        }
        let safe = drawing.filter.pass(bytes);
        // A terminal that went away is no reason to end the run.
        let _ = drawing.out.write_all(safe.as_bytes());
        let _ = drawing.out.flush();
        true
    }
}

/// A log of a board's run as text: what it drew with is left out, all else that a terminal obeys is shown.
pub fn as_text(log: &[u8]) -> String {
    let mut filter = Filter::new(false);
    let mut text = filter.pass(log);
    text += &filter.rest();
    text
}

/// Passes on what may be sent to a terminal.
struct Filter {
    /// Whether sequences are obeyed there; where not, those that would be passed on are left out.
    terminal: bool,
    /// An unfinished letter or sequence.
    pending: Vec<u8>,
    alternate: bool,
    without_cursor: bool,
    styled: bool,
}

impl Filter {
    fn new(terminal: bool) -> Filter {
        Filter {
            terminal,
            pending: Vec::new(),
            alternate: false,
            without_cursor: false,
            styled: false,
        }
    }

    /// What makes the terminal what it was before: no alternate screen, a cursor, plain letters.
    fn leave(&self) -> String {
        let held = [
            (self.alternate, "\x1b[?1049l"),
            (self.without_cursor, "\x1b[?25h"),
            (self.styled, "\x1b[0m"),
        ];
        let mut leave = String::new();
        for (_, sequence) in held.iter().filter(|(held, _)| self.terminal && *held) {
            leave += sequence;
        }
        leave
    }

    fn pass(&mut self, bytes: &[u8]) -> String {
        let mut all = std::mem::take(&mut self.pending);
        all.extend_from_slice(bytes);
        let mut out = String::new();
        let mut left = &all[..];
        while !left.is_empty() {
            let text = left.iter().position(|byte| *byte == ESCAPE).unwrap_or(left.len());
            if text > 0 {
                // A letter that goes on in the next piece waits for it.
                let whole = if text == left.len() {
                    text - unfinished(left)
                } else {
                    text
                };
                self.text(&left[..whole], &mut out);
                if whole < text {
                    self.pending = left[whole..].to_vec();
                    return out;
                }
                left = &left[text..];
                continue;
            }
            match sequence(left) {
                Sequence::Unfinished => {
                    self.pending = left.to_vec();
                    return out;
                }
                Sequence::Of(length) => {
                    self.sequence(&left[..length], &mut out);
                    left = &left[length..];
                }
            }
        }
        out
    }

    /// What was waited for and did not come.
    fn rest(&mut self) -> String {
        shown(&String::from_utf8_lossy(&std::mem::take(&mut self.pending))).into_owned()
    }

    fn text(&self, bytes: &[u8], out: &mut String) {
        for c in String::from_utf8_lossy(bytes).chars() {
            match c {
                // Lines end so on a terminal, and a line is drawn again; a file has no use for it.
                '\r' => {
                    if self.terminal {
                        out.push(c);
                    }
                }
                c if is_obeyed(c) => out.push_str(&shown(c.encode_utf8(&mut [0; 4]))),
                c => out.push(c),
            }
        }
    }

    fn sequence(&mut self, sequence: &[u8], out: &mut String) {
        let text = String::from_utf8_lossy(sequence);
        let drawn = match text.strip_prefix("\x1b[") {
            Some("?1049h") => {
                self.alternate = true;
                true
            }
            Some("?1049l") => {
                self.alternate = false;
                true
            }
            Some("?25l") => {
                self.without_cursor = true;
                true
            }
            Some("?25h") => {
                self.without_cursor = false;
                true
            }
            // Letters' looks, and clearing the line; what was said before is out of reach.
            Some(rest) if is_plain(rest, "m") => {
                self.styled = !matches!(rest, "m" | "0m");
                true
            }
            Some(rest) if is_plain(rest, "K") => true,
            // Where to draw: on a screen of its own alone.
            Some("J" | "0J" | "1J" | "2J") => self.alternate,
            Some(rest) => self.alternate && is_plain(rest, "ABCDEFGHXdf"),
            None => false,
        };
        if !drawn {
            out.push_str(&shown(&text));
        } else if self.terminal {
            out.push_str(&text);
        }
    }
}

/// Numbers, and one of these letters.
fn is_plain(rest: &str, finals: &str) -> bool {
    let mut chars = rest.chars();
    let last = chars.next_back();
    last.is_some_and(|last| finals.contains(last))
        && chars.all(|c| c.is_ascii_digit() || matches!(c, ';' | ':'))
}

enum Sequence {
    /// It goes on in the next piece.
    Unfinished,
    /// It has this many bytes.
    Of(usize),
}

/// How far the sequence goes that begins here. Of what is none of `ESC [ … letter`, the escape alone is taken: the rest is text.
fn sequence(bytes: &[u8]) -> Sequence {
    match bytes.get(1) {
        None => return Sequence::Unfinished,
        Some(b'[') => {}
        Some(_) => return Sequence::Of(1),
    }
    for (n, byte) in bytes.iter().enumerate().skip(2) {
        match byte {
            0x40..=0x7e => return Sequence::Of(n + 1),
            0x20..=0x3f if n < LONGEST => {}
            _ => return Sequence::Of(1),
        }
    }
    Sequence::Unfinished
}

/// How many bytes at the end may be the beginning of a letter.
fn unfinished(bytes: &[u8]) -> usize {
    match std::str::from_utf8(bytes) {
        Err(error) if error.error_len().is_none() => bytes.len() - error.valid_up_to(),
        // An error before it hides the end.
        Err(_) => (1..=3.min(bytes.len()))
            .find(|n| {
                let end = &bytes[bytes.len() - n..];
                std::str::from_utf8(end).is_err_and(|e| e.valid_up_to() == 0 && e.error_len().is_none())
            })
            .unwrap_or(0),
        Ok(_) => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DASHBOARD: &str =
        "\x1b[?1049h\x1b[?25l\x1b[2J\x1b[3;1H\x1b[38;5;2mcamera – 2 ms\x1b[0m\x1b[?1049l\x1b[?25h\r\n";

    /// However it is cut into pieces, the same comes out.
    fn passed(terminal: bool, bytes: &[u8]) -> String {
        let mut whole = Filter::new(terminal);
        let at_once = whole.pass(bytes) + &whole.rest();
        let mut piece_by_piece = Filter::new(terminal);
        let mut pieces: String = bytes.iter().map(|byte| piece_by_piece.pass(&[*byte])).collect();
        pieces += &piece_by_piece.rest();
        assert_eq!(at_once, pieces);
        at_once
    }

    #[test]
    fn a_dashboard_is_drawn_as_it_was_sent_and_left_out_of_a_file() {
        assert_eq!(passed(true, DASHBOARD.as_bytes()), DASHBOARD);
        assert_eq!(passed(false, DASHBOARD.as_bytes()), "camera – 2 ms\n");
    }

    #[test]
    fn what_is_no_drawing_is_shown() {
        for (sent, on_screen) in [
            // A title, the clipboard, an answer typed into the terminal, another set of letters, a reset.
            ("\x1b]0;owned\x07", "\\u001b]0;owned\\u0007"),
            ("\x1b]52;c;cm0gLXJm\x1b\\", "\\u001b]52;c;cm0gLXJm\\u001b\\"),
            ("\x1b[6n\x1b[c", "\\u001b[6n\\u001b[c"),
            ("\x1bc\x1b(0", "\\u001bc\\u001b(0"),
            ("\x1bP+q544e\x1b\\", "\\u001bP+q544e\\u001b\\"),
            ("\u{9b}2J\x07\x08", "\\u009b2J\\u0007\\u0008"),
            // Lines that stand there already are not written over; lines above stay also on a screen of its own.
            ("\x1b[5A\x1b[2J\x1b[1;1H", "\\u001b[5A\\u001b[2J\\u001b[1;1H"),
            ("\x1b[?1049h\x1b[3J", "\x1b[?1049h\\u001b[3J"),
            ("\x1b[?1000h\x1b[8;1;1t", "\\u001b[?1000h\\u001b[8;1;1t"),
            ("a\u{202e}b", "a\\u202eb"),
            ("\x1b[", "\\u001b["),
        ] {
            assert_eq!(passed(true, sent.as_bytes()), on_screen);
        }
        assert_eq!(passed(true, b"\xffa\x9b\xe2\x80"), "\u{fffd}a\u{fffd}\u{fffd}");
    }

    #[derive(Clone, Default)]
    struct Paper(Arc<Mutex<Vec<u8>>>);

    impl Write for Paper {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_screen_is_given_back_when_it_is_dropped_and_nothing_is_drawn_afterwards() {
        for (drawn, left) in [
            (
                "\x1b[?1049h\x1b[?25l\x1b[32mcamera",
                "\x1b[?1049l\x1b[?25h\x1b[0m",
            ),
            ("\x1b[33mwarning", "\x1b[0m"),
            (DASHBOARD, ""),
            ("a line\n", ""),
        ] {
            let paper = Paper::default();
            let screen = Screen::new(Box::new(paper.clone()), true);
            let pen = screen.pen();
            assert!(pen.draw(drawn.as_bytes()));
            drop(screen);
            assert!(!pen.draw(b"late"));
            let on_paper = paper.0.lock().unwrap().clone();
            assert_eq!(String::from_utf8(on_paper).unwrap(), format!("{drawn}{left}"));
        }
    }
}
