//! The self-test while it goes on: its time, its checks, its file.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use anyhow::Context;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::child::{Ended, Patience, Program};
use super::redact::Redact;
use crate::board::Roots;
use crate::cli::SelftestGroup;
use crate::commands::outcome::WrongUse;
use crate::commands::output::{print, say};
use crate::files;
use crate::record::Utc;
use crate::show::selftest::{self, Check, Outcome, Selftest, Verdict};
use crate::shown::shown;
use crate::whole;

/// Less time than this is too little for any check.
const LEAST: Duration = Duration::from_secs(2);
/// A question to a library is answered within this.
const PROBE: Duration = Duration::from_secs(30);

/// What checks work with.
pub(super) struct Tools<'a> {
    pub(super) program: Program<'a>,
    pub(super) roots: Roots,
    pub(super) patience: Patience,
    /// Answers of libraries, so that each is asked once.
    answers: RefCell<BTreeMap<String, Verdict>>,
}

impl<'a> Tools<'a> {
    pub(super) fn new(program: Program<'a>, roots: Roots) -> Tools<'a> {
        Tools {
            patience: program.patience,
            program,
            roots,
            answers: RefCell::default(),
        }
    }

    /// jetlag with these arguments; a process that cannot be started is a reason.
    pub(super) fn jetlag<S: AsRef<str>>(&self, arguments: &[S], limit: Duration) -> Result<Ended, Verdict> {
        let started = self.program.run(arguments, limit);
        started.map_err(|error| Verdict::fail(format!("jetlag cannot be started: {error}")))
    }

    /// What a process of its own says of a library or a sensor.
    pub(super) fn probe(&self, what: &str) -> Verdict {
        if let Some(known) = self.answers.borrow().get(what) {
            return known.clone();
        }
        let answer = match self.jetlag(&["selftest-probe", what], self.patience.allow(PROBE)) {
            Ok(ended) if ended.code() == Some(0) => serde_json::from_str(&ended.out)
                .unwrap_or_else(|error| Verdict::fail(format!("the answer cannot be read: {error}"))),
            Ok(ended) => Verdict::fail(ended.words()),
            Err(verdict) => verdict,
        };
        self.answers.borrow_mut().insert(what.to_owned(), answer.clone());
        answer
    }

    /// A path in the self-test's own folder.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.program.folder.join(name)
    }

    fn is_stopped(&self) -> bool {
        self.program.stop.load(Ordering::Relaxed)
    }
}

/// The checks so far, and where they go.
pub(super) struct Session<'a> {
    pub(super) tools: Tools<'a>,
    groups: Vec<SelftestGroup>,
    redact: Redact,
    file: File,
    begun: Instant,
    limit: Duration,
    /// Whether lines go to stdout as they come.
    lines: bool,
    bar: ProgressBar,
    report: Selftest,
}

impl<'a> Session<'a> {
    pub(super) fn new(
        tools: Tools<'a>,
        groups: &[SelftestGroup],
        file: File,
        limit: Duration,
        lines: bool,
    ) -> Session<'a> {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        // A template that does not parse would be a mistake of ours; the default bar then serves.
        if let Ok(style) = ProgressStyle::with_template("{spinner} {elapsed} {wide_msg}") {
            bar.set_style(style);
        }
        bar.enable_steady_tick(Duration::from_millis(200));
        Session {
            redact: Redact::of(&tools.roots, tools.program.folder),
            tools,
            groups: groups.to_vec(),
            file,
            begun: Instant::now(),
            limit,
            lines,
            bar,
            report: Selftest {
                schema: 1,
                machine: Vec::new(),
                checks: Vec::new(),
                interrupted: false,
                took_s: 0.0,
            },
        }
    }

    /// The facts of the machine, before any check.
    pub(super) fn head(&mut self, facts: Vec<selftest::Fact>) -> anyhow::Result<()> {
        self.report.machine = facts
            .into_iter()
            .map(|fact| selftest::Fact {
                value: self.redact.text(&fact.value),
                ..fact
            })
            .collect();
        let head = self.report.head();
        self.put(&head)
    }

    /// Whether anybody asked for this group.
    pub(super) fn wants(&self, group: SelftestGroup) -> bool {
        self.groups.is_empty() || self.groups.contains(&group)
    }

    /// Makes a check, which has to come to its end within `usual` (times the patience asked for), and records what came of it.
    pub(super) fn check(
        &mut self,
        group: SelftestGroup,
        name: &str,
        usual: Duration,
        look: impl FnOnce(&Tools<'a>, Duration) -> Verdict,
    ) -> anyhow::Result<Outcome> {
        if !self.wants(group) {
            return Ok(Outcome::NotApplicable);
        }
        let left = self.limit.saturating_sub(self.begun.elapsed());
        let begun = Instant::now();
        let verdict = if self.tools.is_stopped() {
            Verdict::not_applicable("interrupted before this check")
        } else if left < LEAST {
            Verdict::not_applicable(
                "no time left; allow more with --within, or run only this group with --only",
            )
        } else {
            self.bar.set_message(format!("{}/{name}", word(group)));
            let verdict = look(&self.tools, self.tools.patience.allow(usual).min(left));
            match self.tools.is_stopped() && verdict.outcome == Outcome::Fail {
                // What failed because it was stopped says nothing.
                true => Verdict::not_applicable("interrupted during this check"),
                false => verdict,
            }
        };
        let outcome = verdict.outcome;
        self.record(group, name, verdict, begun.elapsed())?;
        Ok(outcome)
    }

    /// Records that a check cannot be made here.
    pub(super) fn skip(&mut self, group: SelftestGroup, name: &str, why: &str) -> anyhow::Result<()> {
        match self.wants(group) {
            true => self.record(group, name, Verdict::not_applicable(why), Duration::ZERO),
            false => Ok(()),
        }
    }

    fn record(
        &mut self,
        group: SelftestGroup,
        name: &str,
        verdict: Verdict,
        took: Duration,
    ) -> anyhow::Result<()> {
        let check = Check {
            group: word(group),
            name: name.to_owned(),
            outcome: verdict.outcome,
            seen: shown(&self.redact.text(&verdict.seen)).into_owned(),
            took_s: (took.as_secs_f64() * 10.0).round() / 10.0,
        };
        let line = selftest::line(&check);
        self.report.checks.push(check);
        self.put(&line)
    }

    /// The last line; the whole report.
    pub(super) fn end(mut self) -> anyhow::Result<Selftest> {
        self.report.interrupted = self.tools.is_stopped();
        self.report.took_s = self.begun.elapsed().as_secs_f64().round();
        let end = self.report.end();
        self.put(&end)?;
        self.bar.finish_and_clear();
        Ok(self.report.clone())
    }

    /// To the file at once, so that nothing is lost whatever comes, and to whoever watches.
    fn put(&mut self, text: &str) -> anyhow::Result<()> {
        let kept = self.file.write_all(text.as_bytes());
        kept.context("the report cannot be written; earlier lines are in its file")?;
        match self.lines {
            true => self.bar.suspend(|| print(text)),
            false => Ok(()),
        }
    }
}

impl Drop for Session<'_> {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// The group as it is written everywhere.
pub(super) fn word(group: SelftestGroup) -> String {
    use clap::ValueEnum;
    let value = group.to_possible_value();
    value.map_or_else(String::new, |value| value.get_name().to_owned())
}

/// The file for the report: the one asked for, or one named after board and time. Nothing that is there is replaced unasked,
/// and what is no report of a self-test never is.
pub(super) fn report_file(
    asked: Option<&Path>,
    force: bool,
    board: &str,
    unix_seconds: u64,
) -> anyhow::Result<(PathBuf, File)> {
    let named = PathBuf::from(format!(
        "jetlag-selftest-{}-{}.txt",
        file_word(board),
        Utc::of(unix_seconds).compact()
    ));
    let path = asked.map_or(named, Path::to_owned);
    let wrong = |problem: String| WrongUse(format!("{} {problem}", path.display()));
    let there = std::fs::metadata(&path);
    match &there {
        Ok(is) if !is.is_file() && !path.starts_with("/dev") => {
            return Err(wrong("is not a file; name another with --out".to_owned()).into());
        }
        Ok(is) if is.is_file() && is.len() > 0 => {
            let mut magic = vec![0; selftest::MAGIC.len()];
            let read = files::open(&path).and_then(|mut file| file.read_exact(&mut magic));
            if read.is_err() || magic != selftest::MAGIC.as_bytes() {
                let problem = "already exists and is not a self-test report; name another path with --out";
                return Err(wrong(problem.to_owned()).into());
            }
            if !force {
                let problem =
                    "is an existing report; name another file with --out, or overwrite it with --force";
                return Err(wrong(problem.to_owned()).into());
            }
        }
        _ => {}
    }
    // An empty file and a device hold nothing that could be lost.
    let opened = whole::create(&path, there.is_ok());
    let file = opened.map_err(|error| {
        wrong(format!(
            "cannot be written: {error}; name another path with --out"
        ))
    })?;
    Ok((path, file))
}

/// Letters, digits and hyphens of a board's name.
fn file_word(board: &str) -> String {
    let words = board.split(|c: char| !c.is_ascii_alphanumeric());
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).take(6).collect();
    match words.is_empty() {
        true => "machine".to_owned(),
        false => words.join("-").to_lowercase(),
    }
}

/// Tells where the report is.
pub(super) fn tell(path: &Path) {
    say(&format!("the report is in {}", path.display()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_named_after_board_and_time_and_replaces_nothing_unasked() {
        assert_eq!(
            file_word("NVIDIA Jetson AGX Orin (64GB)/x"),
            "nvidia-jetson-agx-orin-64gb-x"
        );
        assert_eq!(file_word("../"), "machine");
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("report.txt");
        let (_, mut file) = report_file(Some(&path), false, "", 0).unwrap();
        file.write_all(selftest::MAGIC.as_bytes()).unwrap();
        let refused = report_file(Some(&path), false, "", 0).unwrap_err().to_string();
        assert!(refused.contains("--force"), "{refused}");
        report_file(Some(&path), true, "", 0).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"");
        std::fs::write(&path, "a letter to my aunt").unwrap();
        for force in [false, true] {
            let refused = report_file(Some(&path), force, "", 0).unwrap_err().to_string();
            assert!(refused.contains("not a self-test report"), "{refused}");
        }
        assert!(report_file(Some(folder.path()), true, "", 0).is_err());
    }
}
