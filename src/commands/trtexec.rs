//! `jetlag report --compat trtexec10 RUN` and `--from-trtexec times.json`: figures by trtexec's definitions.
//!
//! ```text
//! $ jetlag report runs/one.mcap --compat trtexec10
//! camera of runs/one.mcap: latency = sum of stages (trtexec); defaults of trtexec 10, 900 queries
//! [I] === Performance summary ===
//! [I] Throughput: 29.9963 qps
//! …
//! ```

use std::path::{Path, PathBuf};

use anyhow::Context;

use super::outcome::{Outcome, WrongUse};
use super::output::{print, say};
use super::report;
use crate::analysis::stamps::StampCheck;
use crate::analysis::trtexec::{self, Gatherer, Performance, Version};
use crate::cli::{Compat, Format, TrtexecArgs};
use crate::files;

/// Prints one summary for each tenant of the run, and one for the file of times.
pub(super) fn run(runs: &[PathBuf], args: &TrtexecArgs, format: Format) -> anyhow::Result<Outcome> {
    let version = match args.compat {
        Some(Compat::Trtexec11) => Version::Trtexec11,
        Some(Compat::Trtexec10) | None => Version::Trtexec10,
    };
    let (mut summaries, mut outcome) = (Vec::new(), Outcome::Done);
    for run in runs {
        let (of_run, ended) = of_run(run, args.tenant.as_deref(), version)?;
        summaries.extend(of_run);
        if ended != Outcome::Done {
            outcome = ended;
        }
    }
    if let Some(times) = &args.from_trtexec {
        let text = files::read_given_text(times, files::MEASUREMENTS)
            .map_err(|error| WrongUse(format!("cannot read {}: {error}", times.display())))?;
        let text = in_todays_words(text);
        let performance = trtexec::of_times(&text, version)
            .with_context(|| format!("cannot summarise {}", times.display()))?;
        summaries.push((times.display().to_string(), performance));
    }
    if format == Format::Json {
        let value: Vec<_> = summaries
            .iter()
            .map(|(of, performance)| serde_json::json!({ "of": of, "trtexec": performance }))
            .collect();
        print(&(serde_json::to_string_pretty(&value)? + "\n"))?;
        return Ok(outcome);
    }
    let mut out = Vec::new();
    for (i, (of, performance)) in summaries.iter().enumerate() {
        if i > 0 {
            out.push(b'\n');
        }
        crate::report::trtexec::write(of, performance, &mut out)?;
    }
    print(&String::from_utf8(out)?)?;
    Ok(outcome)
}

/// The keys of trtexec before TensorRT 8.5, which speaks of in and out where later ones speak of copies to and from the device, and
/// what they are since. It recorded no launches: its queries have neither `startEnqMs` nor `enqMs`.
const OLD_KEYS: [(&str, &str); 6] = [
    ("startInMs", "startH2dMs"),
    ("endInMs", "endH2dMs"),
    ("inMs", "h2dMs"),
    ("startOutMs", "startD2hMs"),
    ("endOutMs", "endD2hMs"),
    ("outMs", "d2hMs"),
];

/// A file of times with the keys that are read; others are left as they are.
fn in_todays_words(text: String) -> String {
    if !text.contains("\"startInMs\"") {
        return text;
    }
    OLD_KEYS.iter().fold(text, |text, (old, new)| {
        text.replace(&format!("\"{old}\""), &format!("\"{new}\""))
    })
}

fn of_run(
    path: &Path,
    only: Option<&str>,
    version: Version,
) -> anyhow::Result<(Vec<(String, Performance)>, Outcome)> {
    let mut reader = report::open(path)?;
    let tenants = reader.manifest().tenants.clone();
    let devices = reader.manifest().devices();
    let names: Vec<&str> = tenants.iter().map(|tenant| tenant.name.as_str()).collect();
    if let Some(only) = only
        && !names.contains(&only)
    {
        return Err(WrongUse(format!(
            "{} has no tenant `{only}`; its tenants are {}",
            path.display(),
            names.join(", ")
        ))
        .into());
    }
    let mut gathered: Vec<Gatherer> = names.iter().map(|_| Gatherer::default()).collect();
    let mut damage = None;
    let mut stamps = StampCheck::new(reader.manifest());
    for event in reader.by_ref() {
        match event {
            Ok(event) if !stamps.passes(&event) => {}
            Ok(event) => gathered
                .iter_mut()
                .zip(0..)
                .for_each(|(tenant, number)| tenant.push(&event, number)),
            Err(error) => damage = Some(error.to_string()),
        }
    }
    let mut outcome = Outcome::Done;
    if let Some(missing) = damage.or_else(|| report::cut_short(&reader.completeness())) {
        say(&format!("warning: {missing}"));
        outcome = Outcome::Gaps;
    }
    let (mut summaries, mut problems) = (Vec::new(), Vec::new());
    for ((tenant, device), gathered) in tenants.iter().zip(devices).zip(gathered) {
        let name = tenant.name.as_str();
        if only.is_some_and(|only| only != name) {
            continue;
        }
        match gathered.finish(version, &tenant.backend, device) {
            Ok(performance) => summaries.push((format!("{name} of {}", path.display()), performance)),
            Err(error) => problems.push((name, error)),
        }
    }
    // Where one tenant has an answer, that is given; where none has, there is nothing to print.
    if summaries.is_empty() {
        return match problems.into_iter().next() {
            Some((name, error)) => {
                Err(error).with_context(|| format!("cannot summarise {name} of {}", path.display()))
            }
            None => anyhow::bail!("{} has no tenants", path.display()),
        };
    }
    for (name, error) in problems {
        say(&format!("warning: {name}: {error}"));
    }
    Ok((summaries, outcome))
}
