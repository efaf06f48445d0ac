//! A terminal taken over for a dashboard, and given back whatever happens.
//!
//! Keys are read here, because raw mode takes them from the shell; Ctrl-C is one of them.

use std::io::{IsTerminal, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::cursor::Show;
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use rustix::io::Errno;

use super::keys::{Input, Keys, Press};
use crate::analysis::live::LiveView;
use crate::show::dashboard::{self, Look, Page};

/// Time between two drawings of the dashboard.
const REDRAW: Duration = Duration::from_millis(250);

/// Which stream the dashboard is drawn on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stream {
    /// Results go elsewhere: `monitor`.
    Out,
    /// Results go to stdout: `run --live`.
    Err,
}

impl Stream {
    /// Whether there is a terminal to draw on and to read keys from.
    pub(super) fn is_terminal(self) -> bool {
        let shown = match self {
            Stream::Out => std::io::stdout().is_terminal(),
            Stream::Err => std::io::stderr().is_terminal(),
        };
        shown && std::io::stdin().is_terminal()
    }

    fn writer(self) -> Box<dyn Write + Send> {
        match self {
            Stream::Out => Box::new(std::io::stdout()),
            Stream::Err => Box::new(std::io::stderr()),
        }
    }
}

/// Writes to a terminal as long as it is there, and then nowhere. What draws never sees the error: ratatui would tell of it on
/// stderr when it is dropped, and where that is the same terminal, telling panics.
struct WhileThere {
    out: Box<dyn Write + Send>,
    gone: Arc<AtomicBool>,
}

impl WhileThere {
    fn or_nowhere<T>(&self, done: std::io::Result<T>, otherwise: T) -> std::io::Result<T> {
        match done {
            Err(error) if is_gone(&error) => {
                self.gone.store(true, Ordering::Relaxed);
                Ok(otherwise)
            }
            done => done,
        }
    }
}

impl Write for WhileThere {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let done = self.out.write(bytes);
        self.or_nowhere(done, bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        let done = self.out.flush();
        self.or_nowhere(done, ())
    }
}

/// Whether that is the error of a terminal that went away.
fn is_gone(error: &std::io::Error) -> bool {
    error.raw_os_error() == Some(Errno::IO.raw_os_error())
}

/// What a key asks of the command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Key {
    /// Leave the dashboard.
    Quit,
    /// Nothing: the terminal went away, and nobody sees the dashboard any more.
    Gone,
}

/// Rows that a page is turned by.
const SCREENFUL: isize = 10;

/// The terminal while it is ours.
pub(super) struct Screen {
    terminal: Terminal<CrosstermBackend<WhileThere>>,
    stream: Stream,
    keys: Keys,
    drawn: Option<Instant>,
    /// Whether the terminal went away.
    gone: Arc<AtomicBool>,
    look: Look,
    /// What is shown as long as the picture is held.
    held: Option<LiveView>,
}

impl Screen {
    /// Takes the terminal over.
    pub(super) fn open(stream: Stream) -> std::io::Result<Screen> {
        enable_raw_mode()?;
        let gone = Arc::new(AtomicBool::new(false));
        let mut out = WhileThere {
            out: stream.writer(),
            gone: gone.clone(),
        };
        let opened =
            execute!(out, EnterAlternateScreen).and_then(|()| Terminal::new(CrosstermBackend::new(out)));
        match opened {
            Ok(terminal) => Ok(Screen {
                terminal,
                stream,
                keys: Keys::default(),
                drawn: None,
                gone,
                look: Look::default(),
                held: None,
            }),
            Err(error) => {
                restore(stream);
                Err(error)
            }
        }
    }

    /// Whether somebody can still see it.
    pub(super) fn is_there(&self) -> bool {
        !self.gone.load(Ordering::Relaxed)
    }

    /// Whether the picture is held.
    pub(super) fn is_paused(&self) -> bool {
        self.held.is_some()
    }

    /// Draws, if it is time to; four times a second is as often as it tells something.
    pub(super) fn draw(&mut self, view: &LiveView, state: &str) -> std::io::Result<()> {
        if !self.is_there() || self.drawn.is_some_and(|then| then.elapsed() < REDRAW) {
            return Ok(());
        }
        self.drawn = Some(Instant::now());
        let (view, look) = (self.held.as_ref().unwrap_or(view), &mut self.look);
        let drawn = self
            .terminal
            .draw(|frame| dashboard::draw(frame, view, look, state));
        match drawn {
            // It is asked for its size, too.
            Err(error) if is_gone(&error) => {
                self.gone.store(true, Ordering::Relaxed);
                Ok(())
            }
            drawn => drawn.map(|_| ()),
        }
    }

    /// Waits for a key as long as this, and does what it asks of the picture; what it asks of the command is answered.
    pub(super) fn key(&mut self, wait: Duration, view: &mut LiveView) -> std::io::Result<Option<Key>> {
        if !self.is_there() {
            return Ok(Some(Key::Gone));
        }
        let press = match self.keys.next(wait)? {
            Input::Press(press) => press,
            Input::Nothing => return Ok(None),
            Input::Gone => {
                self.gone.store(true, Ordering::Relaxed);
                return Ok(Some(Key::Gone));
            }
        };
        // What it changes is seen at once.
        self.drawn = None;
        let has_tenants = !view.tenants.is_empty();
        match press {
            Press::Escape if self.look.help => self.look.help = false,
            Press::Ctrl('c') | Press::Char('q') | Press::Escape => return Ok(Some(Key::Quit)),
            Press::Char('p' | ' ') => {
                self.held = match self.held {
                    Some(_) => None,
                    None => Some(view.clone()),
                };
            }
            Press::Char('r') => {
                view.reset_peaks();
                self.held.iter_mut().for_each(LiveView::reset_peaks);
            }
            Press::Char('?' | 'h') => self.look.help = !self.look.help,
            Press::Char('1') => self.look.turn_to(Page::Tenants),
            Press::Char('2') => self.look.turn_to(Page::Power),
            Press::Char('3') => self.look.turn_to(Page::Programs),
            Press::Char('\t') | Press::Right => self.look.turn(false, has_tenants),
            Press::BackTab | Press::Left => self.look.turn(true, has_tenants),
            Press::Char('s') => self.look.sort(false, has_tenants),
            Press::Char('S') => self.look.sort(true, has_tenants),
            Press::Up | Press::Char('k') => self.look.scroll(-1),
            Press::Down | Press::Char('j') => self.look.scroll(1),
            Press::PageUp => self.look.scroll(-SCREENFUL),
            Press::PageDown => self.look.scroll(SCREENFUL),
            Press::Home => self.look.scroll(isize::MIN),
            Press::End => self.look.scroll(isize::MAX),
            Press::Char(_) | Press::Ctrl(_) => {}
        }
        Ok(None)
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        restore(self.stream);
    }
}

fn restore(stream: Stream) {
    // What cannot be given back now cannot be given back at all.
    let _ = disable_raw_mode();
    let _ = execute!(stream.writer(), LeaveAlternateScreen, Show);
}
