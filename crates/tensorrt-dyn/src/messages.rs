//! What the library said: its log lines and recorded errors, kept so that a failing call can quote them.
//!
//! TensorRT reports *that* a call failed by `false` or a null pointer and *why* only to its logger or error
//! recorder, from whichever thread it likes. The last few lines of warning severity or worse are kept here with
//! the thread that said them; a failed call quotes what came since it began, its own thread's words first.

use std::collections::VecDeque;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};

use crate::sys::values::ErrorCode;

/// How grave a line is (`ILogger::Severity`, the same numbers in every release).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// An internal error of the library.
    InternalError,
    /// A call that failed.
    Error,
    /// The library went on, but not quite as asked.
    Warning,
    /// What goes on, without being a problem.
    Info,
    /// Detail for the library's developers.
    Verbose,
}

impl Severity {
    /// From the library's number; what it does not define is taken as verbose.
    #[must_use]
    pub const fn from_number(number: i32) -> Self {
        match number {
            i32::MIN..=0 => Self::InternalError,
            1 => Self::Error,
            2 => Self::Warning,
            3 => Self::Info,
            _ => Self::Verbose,
        }
    }

    /// The level under which it goes to [`log`].
    #[must_use]
    pub const fn level(self) -> log::Level {
        match self {
            Self::InternalError | Self::Error => log::Level::Error,
            Self::Warning => log::Level::Warn,
            Self::Info => log::Level::Info,
            Self::Verbose => log::Level::Trace,
        }
    }
}

/// One thing that the library said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// How serious the library says it is.
    pub severity: Severity,
    /// The code, where it came through the error recorder.
    pub code: Option<ErrorCode>,
    /// The library's own words.
    pub text: String,
}

/// The library's words on a failed call, oldest first; empty if it said nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Messages(pub Vec<Message>);

impl Messages {
    /// Whether memory was full. `kFAILED_ALLOCATION` says so. For memory that CUDA refused, releases report another code
    /// (`Error Code 1: Cuda Runtime (out of memory)`, `Error Code 2: OutOfMemory`), so the library's words count too: here, where
    /// they arrive, and nowhere else.
    pub(crate) fn tell_of_full_memory(&self) -> bool {
        let tells = |message: &Message| {
            let text = message.text.to_lowercase();
            message.code == Some(ErrorCode::FailedAllocation)
                || ["out of memory", "outofmemory", "out_of_memory"]
                    .iter()
                    .any(|words| text.contains(words))
        };
        self.0.iter().any(tells)
    }
}

impl fmt::Display for Messages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, message) in self.0.iter().enumerate() {
            let separator = if index == 0 { "" } else { "; " };
            write!(f, "{separator}{}", message.text.trim())?;
        }
        Ok(())
    }
}

/// Lines that are kept; older ones are forgotten.
const KEPT: usize = 48;
/// Lines that an error quotes.
const QUOTED: usize = 6;

/// Which way a line came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    Logger,
    Recorder,
}

#[derive(Debug)]
struct Line {
    number: u64,
    thread: ThreadId,
    message: Message,
    /// The way it came; `None` once it came both ways.
    source: Option<Source>,
}

/// The last grave lines of one library.
#[derive(Debug, Default)]
pub(crate) struct History {
    lines: Mutex<VecDeque<Line>>,
    /// The next line's number, readable without the lock: every enqueue reads it.
    next: AtomicU64,
}

impl History {
    fn lock(&self) -> MutexGuard<'_, VecDeque<Line>> {
        // A panic cannot leave the list half-changed: each change is one push or pop.
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The point from which a call's lines count.
    pub(crate) fn mark(&self) -> u64 {
        self.next.load(Ordering::Relaxed)
    }

    pub(crate) fn push(&self, message: Message, source: Source) {
        if message.text.trim().is_empty() {
            return;
        }
        let mut lines = self.lock();
        let thread = thread::current().id();
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        // What goes to the error recorder is often logged as well, with a few words around it. What comes the same way
        // again is another failure, whatever its words.
        if let Some(last) = lines.back_mut()
            && last.thread == thread
            && last.source.is_some_and(|known| known != source)
            && (last.message.text.contains(&message.text) || message.text.contains(&last.message.text))
        {
            last.message.code = last.message.code.or(message.code);
            last.source = None;
            last.number = number;
            return;
        }
        if lines.len() == KEPT {
            lines.pop_front();
        }
        lines.push_back(Line {
            number,
            thread,
            message,
            source: Some(source),
        });
    }

    /// Whether this thread's calls led to an error since `mark`.
    pub(crate) fn has_own_errors(&self, mark: u64) -> bool {
        let own = thread::current().id();
        let is_error = |line: &Line| {
            line.number >= mark && line.thread == own && line.message.severity <= Severity::Error
        };
        self.lock().iter().any(is_error)
    }

    /// What was said since `mark`, at most the last few lines of the first kind that there are any of: this thread's
    /// errors, any thread's errors, this thread's warnings, any warnings.
    pub(crate) fn since(&self, mark: u64) -> Messages {
        let lines = self.lock();
        let own = thread::current().id();
        let recent = || lines.iter().filter(|line| line.number >= mark);
        let is_error = |line: &&Line| line.message.severity <= Severity::Error;
        let kinds: [Vec<&Line>; 4] = [
            recent()
                .filter(is_error)
                .filter(|line| line.thread == own)
                .collect(),
            recent().filter(is_error).collect(),
            recent().filter(|line| line.thread == own).collect(),
            recent().collect(),
        ];
        let chosen = kinds
            .into_iter()
            .find(|lines| !lines.is_empty())
            .unwrap_or_default();
        let from = chosen.len().saturating_sub(QUOTED);
        Messages(chosen[from..].iter().map(|line| line.message.clone()).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(severity: Severity, text: &str) -> Message {
        Message {
            severity,
            code: None,
            text: text.into(),
        }
    }

    #[test]
    fn a_failed_call_quotes_the_errors_said_since_it_began() {
        let history = History::default();
        history.push(line(Severity::Error, "of an earlier call"), Source::Logger);
        let mark = history.mark();
        history.push(line(Severity::Warning, "odd"), Source::Logger);
        history.push(line(Severity::Error, "wrong"), Source::Logger);
        assert_eq!(history.since(mark).to_string(), "wrong");
    }

    #[test]
    fn full_memory_is_told_by_its_code_or_by_the_librarys_words() {
        let tell = |message| Messages(vec![line(Severity::Error, "first"), message]).tell_of_full_memory();
        for words in [
            "Error Code 1: Cuda Runtime (out of memory)",
            "Error Code 2: OutOfMemory (Requested size was 17391681024 bytes.)",
            "CUDA_ERROR_OUT_OF_MEMORY",
        ] {
            assert!(tell(line(Severity::Error, words)), "{words}");
        }
        let coded = |code| Message {
            code: Some(code),
            ..line(Severity::Error, "no workspace")
        };
        assert!(tell(coded(ErrorCode::FailedAllocation)));
        assert!(!tell(coded(ErrorCode::InternalError)));
        assert!(!tell(line(Severity::Error, "Serialization assertion failed")));
    }

    #[test]
    fn without_errors_the_warnings_are_quoted_and_without_those_nothing() {
        let history = History::default();
        let mark = history.mark();
        assert_eq!(history.since(mark).to_string(), "");
        history.push(line(Severity::Warning, "odd"), Source::Logger);
        assert_eq!(history.since(mark).to_string(), "odd");
    }

    #[test]
    fn words_that_are_both_recorded_and_logged_are_kept_once_with_their_code() {
        let history = History::default();
        let mark = history.mark();
        history.push(
            line(Severity::Error, "Error Code 4: bad shape (at x.cpp:1)"),
            Source::Logger,
        );
        history.push(
            Message {
                code: Some(ErrorCode::InvalidConfig),
                ..line(Severity::Error, "bad shape")
            },
            Source::Recorder,
        );
        let said = history.since(mark);
        assert_eq!(said.0.len(), 1);
        assert_eq!(said.0[0].code, Some(ErrorCode::InvalidConfig));
    }

    #[test]
    fn the_same_failure_twice_is_quoted_twice() {
        let history = History::default();
        for _ in 0..2 {
            let mark = history.mark();
            history.push(line(Severity::Error, "Magic tag does not match"), Source::Logger);
            history.push(
                line(Severity::Error, "Magic tag does not match"),
                Source::Recorder,
            );
            assert_eq!(history.since(mark).to_string(), "Magic tag does not match");
        }
    }

    #[test]
    fn another_threads_words_are_quoted_only_when_the_own_thread_said_nothing() {
        let history = History::default();
        let mark = history.mark();
        std::thread::scope(|scope| {
            scope.spawn(|| history.push(line(Severity::Error, "theirs"), Source::Logger));
        });
        assert_eq!(history.since(mark).to_string(), "theirs");
        history.push(line(Severity::Error, "ours"), Source::Logger);
        assert_eq!(history.since(mark).to_string(), "ours");
    }

    #[test]
    fn a_flood_keeps_the_latest() {
        let history = History::default();
        for number in 0..1000 {
            history.push(line(Severity::Error, &format!("<{number}>")), Source::Logger);
        }
        assert_eq!(
            history.since(0).0.last().map(|message| message.text.as_str()),
            Some("<999>")
        );
        assert!(history.lock().len() <= KEPT);
    }
}
