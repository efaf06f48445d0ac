//! The examination of a machine, as `jetlag doctor` shows it.

use std::io::{self, Write};

use serde::Serialize;

use crate::board::{Check, Status};

/// Columns that text may take.
const WIDTH: usize = 100;
/// Column at which findings and sentences begin.
const INDENT: usize = 18;

/// For people: a paragraph a check, at most 100 columns wide.
pub fn text(checks: &[Check], out: &mut dyn Write) -> io::Result<()> {
    for check in checks {
        let mark = match check.status {
            Status::Good => "ok",
            Status::Note => "--",
            Status::Gap => "!!",
        };
        let head = format!("{mark}  {:<width$}", check.subject, width = INDENT - 4);
        let sentence = match &check.found {
            Some(found) => format!("{found}: {}", check.meaning),
            None => format!("{} ({})", check.meaning, check.from),
        };
        paragraph(&head, &sentence, out)?;
        if let Some(fix) = check.fix {
            let fix = format!("→ {fix}");
            paragraph(&" ".repeat(INDENT), &fix, out)?;
        }
    }
    let gaps = checks.iter().filter(|check| check.status == Status::Gap).count();
    let conclusion = match gaps {
        0 => "No gaps. Lines marked -- are notes.".to_owned(),
        1 => "One gap, marked !!, with what it limits and what to do.".to_owned(),
        n => format!("{n} gaps, marked !!, with what they limit and what to do."),
    };
    writeln!(out, "\n{conclusion}")
}

#[derive(Serialize)]
struct Document<'a> {
    schema: u32,
    checks: &'a [Check],
}

/// For programs: `{ "schema": 1, "checks": [{ subject, status, found, from, meaning, fix }] }`.
pub fn json(checks: &[Check], out: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, &Document { schema: 1, checks })?;
    writeln!(out)
}

/// `words` after `head`, wrapped under themselves. A word that is too long stands on a line of its own.
fn paragraph(head: &str, words: &str, out: &mut dyn Write) -> io::Result<()> {
    let mut line = head.to_owned();
    let mut empty = true;
    for word in words.split_whitespace() {
        if !empty && line.chars().count() + 1 + word.chars().count() > WIDTH {
            writeln!(out, "{line}")?;
            line = " ".repeat(INDENT);
            empty = true;
        }
        if !empty {
            line.push(' ');
        }
        line.push_str(word);
        empty = false;
    }
    writeln!(out, "{line}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checks() -> Vec<Check> {
        vec![
            Check {
                subject: "CPU",
                status: Status::Good,
                found: Some("AMD Ryzen 9 7950X".into()),
                from: "/proc/cpuinfo".into(),
                meaning: "32 cores for tenants, samplers and recorder".into(),
                fix: None,
            },
            Check {
                subject: "TensorRT",
                status: Status::Gap,
                found: None,
                from: "libnvinfer.so in the loader's folders".into(),
                meaning: "not found".into(),
                fix: Some(
                    "Install TensorRT 8.5 or later (on Jetson: the nvidia-jetpack package), if there is a GPU to use.",
                ),
            },
        ]
    }

    #[test]
    fn text_is_aligned_and_wrapped_at_100_columns() {
        let mut out = Vec::new();
        text(&checks(), &mut out).unwrap();
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "\
ok  CPU           AMD Ryzen 9 7950X: 32 cores for tenants, samplers and recorder
!!  TensorRT      not found (libnvinfer.so in the loader's folders)
                  → Install TensorRT 8.5 or later (on Jetson: the nvidia-jetpack package), if there
                  is a GPU to use.

One gap, marked !!, with what it limits and what to do.
"
        );
    }

    #[test]
    fn json_tells_not_found_from_found_nothing() {
        let mut out = Vec::new();
        json(&checks(), &mut out).unwrap();
        let value: serde_json::Value = serde_json::from_slice(&out).unwrap();
        assert_eq!(value["schema"], 1);
        assert_eq!(value["checks"][0]["status"], "good");
        assert_eq!(value["checks"][1]["status"], "gap");
        assert!(value["checks"][1]["found"].is_null());
        assert!(value["checks"][0]["fix"].is_null());
    }

    #[test]
    fn no_line_of_this_machines_examination_is_wider_than_100_columns() {
        let mut out = Vec::new();
        text(
            &crate::board::examine(&crate::board::Roots::system(), true),
            &mut out,
        )
        .unwrap();
        for line in String::from_utf8(out).unwrap().lines() {
            assert!(line.chars().count() <= 100, "{line}");
        }
    }
}
