//! Clocks held by a run and given back: each as it was before. The run is a process of its own and names itself as their
//! owner, so that what is left of it if it is killed is given back at the next start.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::child::Why;
use super::session::{Session, Tools};
use crate::board::facts;
use crate::cli::{ClocksWhen, SelftestGroup as Group};
use crate::show::selftest::{Outcome, Verdict};
use crate::whole;

/// A few looks, and a run that ends when the clocks were seen.
const WITHIN: Duration = Duration::from_secs(40);
const LOOK: Duration = Duration::from_secs(10);
/// From its start, a run holds the clocks within this.
const HELD_WITHIN: Duration = Duration::from_secs(30);
/// From the first that is seen of it, all of them are.
const SET_WITHIN: Duration = Duration::from_secs(3);
/// Limits that differ by less are the same, in MHz.
const SAME_MHZ: f64 = 0.5;

/// One clock's limits, as `jetlag clocks show` tells them.
#[derive(Clone, Debug, PartialEq)]
struct Clock {
    of: String,
    min: Option<f64>,
    max: Option<f64>,
    held: bool,
}

/// All clocks at one moment, and whether jetlag holds them.
struct Clocks {
    all: Vec<Clock>,
    by_jetlag: bool,
}

/// The clocks while they were held; none where they were never seen so.
type Seen = Result<Option<Vec<Clock>>, Verdict>;

/// Holds the clocks and gives them back, where the user may and wants it.
pub(super) fn clocks(session: &mut Session<'_>, when: ClocksWhen) -> anyhow::Result<()> {
    let roots = &session.tools.roots;
    let root = rustix::process::geteuid().is_root() || !roots.is_this_machine();
    let jetson = facts::l4t(roots).is_some() || facts::module(roots).is_some();
    let why_not = match when {
        ClocksWhen::Never => Some("--clocks never"),
        _ if !root => Some("needs root: sudo jetlag doctor --selftest"),
        ClocksWhen::Auto if !jetson => {
            Some("not a Jetson, so its clocks are left alone: use --clocks always")
        }
        ClocksWhen::Auto | ClocksWhen::Always => None,
    };
    if let Some(why) = why_not {
        session.skip(Group::Clocks, "held", why)?;
        return session.skip(Group::Clocks, "given back", why);
    }
    let mut before = None;
    session.check(Group::Clocks, "held", WITHIN, |tools, limit| {
        let first = match show(tools) {
            Ok(clocks) => clocks,
            Err(verdict) => return verdict,
        };
        if first.by_jetlag {
            return Verdict::not_applicable(
                "jetlag has locked them already: restore them with jetlag clocks restore",
            );
        }
        let (during, ended) = hold(tools, &first.all, limit);
        before = Some(first.all.clone());
        match (during, ended) {
            (_, Err(verdict)) => verdict,
            (Err(verdict), _) => verdict,
            (Ok(None), Ok(())) => Verdict::fail("the clocks were never locked during the run"),
            (Ok(Some(during)), Ok(())) => held(&first.all, &during),
        }
    })?;
    match before {
        Some(before) => {
            session.check(Group::Clocks, "given back", WITHIN, |tools, _| {
                match show(tools) {
                    Ok(after) => given_back(&before, &after),
                    Err(verdict) => verdict,
                }
            })?;
            Ok(())
        }
        None => session.skip(Group::Clocks, "given back", "nothing was locked, see above"),
    }
}

/// A run that holds the clocks until they were seen so, however long a look takes; what was seen of them meanwhile, and how it ended.
fn hold(tools: &Tools<'_>, before: &[Clock], limit: Duration) -> (Seen, Result<(), Verdict>) {
    let text = "Scenario(name: \"clocks\", duration: \"1h\", warmup: \"0s\", clocks: Max, \
                telemetry: (interval: \"1s\", sources: [Host]), \
                tenants: [Tenant(name: \"none\", backend: Null, source: Empty, arrival: Periodic(hz: 1))])";
    let (path, file) = (tools.path("clocks.ron"), tools.path("clocks.mcap"));
    if let Err(error) = whole::write(&path, text, true) {
        return (
            Ok(None),
            Err(Verdict::fail(format!("its scenario cannot be written: {error}"))),
        );
    }
    let (path, out) = (path.display().to_string(), file.display().to_string());
    let arguments = [
        "run", &path, "--quiet", "--format", "json", "--out", &out, "--force",
    ];
    let (program, enough) = (&tools.program, AtomicBool::new(false));
    std::thread::scope(|scope| {
        // The run is tied to the thread that starts it, which waits for it.
        let run = scope.spawn(|| program.run_until(&arguments, limit, &enough));
        let begun = Instant::now();
        let (mut last, mut first) = (None, None::<Instant>);
        let seen = loop {
            let is_late = |since: Instant, within| since.elapsed() > tools.patience.allow(within);
            let over = run.is_finished()
                || is_late(begun, HELD_WITHIN)
                || first.is_some_and(|first| is_late(first, SET_WITHIN));
            match show(tools) {
                Ok(clocks) if clocks.by_jetlag => {
                    // They are set one after the other: what counts is how they stand once all are.
                    let done = held(before, &clocks.all).outcome != Outcome::Fail;
                    last = Some(clocks.all);
                    first.get_or_insert_with(Instant::now);
                    if done {
                        break Ok(last);
                    }
                }
                Ok(_) => {}
                Err(verdict) => break Err(verdict),
            }
            if over {
                break Ok(last);
            }
            std::thread::sleep(Duration::from_millis(50));
        };
        enough.store(true, Ordering::Relaxed);
        let ended = match run.join() {
            Ok(Ok(ended)) if ended.why == Why::Enough && ended.code().is_some() => Ok(()),
            Ok(Ok(ended)) if ended.said().contains("this machine's clocks cannot be set") => {
                Err(Verdict::not_applicable(ended.said()))
            }
            Ok(Ok(ended)) => Err(Verdict::fail(ended.words())),
            Ok(Err(error)) => Err(Verdict::fail(format!("jetlag cannot be started: {error}"))),
            Err(panic) => std::panic::resume_unwind(panic),
        };
        (seen, ended)
    })
}

fn show(tools: &Tools<'_>) -> Result<Clocks, Verdict> {
    let ended = tools.jetlag(
        &["clocks", "show", "--format", "json"],
        tools.patience.allow(LOOK),
    )?;
    let answer: Option<Value> = serde_json::from_str(&ended.out).ok();
    let Some(answer) = answer.filter(|_| ended.code() == Some(0)) else {
        return Err(Verdict::fail(ended.words()));
    };
    let clocks = answer["clocks"].as_array().into_iter().flatten();
    let clocks = clocks.filter_map(|clock| {
        Some(Clock {
            of: clock["of"].as_str()?.to_owned(),
            min: clock["min_mhz"].as_f64(),
            max: clock["max_mhz"].as_f64(),
            held: clock["held"] == true,
        })
    });
    Ok(Clocks {
        all: clocks.collect(),
        by_jetlag: answer["held_by_jetlag"] == true,
    })
}

/// Whether every clock with limits stood at the highest of them.
fn held(before: &[Clock], during: &[Clock]) -> Verdict {
    let (mut seen, mut loose) = (Vec::new(), Vec::new());
    for clock in during {
        let then = before.iter().find(|then| then.of == clock.of);
        match (then.and_then(|then| then.max), clock.held) {
            // The memory controller of some boards tells no limits.
            (None, _) => {}
            (Some(max), true) => seen.push(format!("{} {max:.0} MHz", clock.of)),
            (Some(max), false) => loose.push(format!("{} up to {max:.0} MHz", clock.of)),
        }
    }
    match (seen.is_empty(), loose.is_empty()) {
        (true, true) => Verdict::not_applicable("no clock has readable limits"),
        (_, true) => Verdict::pass(format!("held: {}", seen.join(", "))),
        (_, false) => Verdict::fail(format!(
            "not locked: {}; locked: {}",
            loose.join(", "),
            seen.join(", ")
        )),
    }
}

/// Whether every clock has the limits that it had.
fn given_back(before: &[Clock], after: &Clocks) -> Verdict {
    let differs = |a: Option<f64>, b: Option<f64>| match (a, b) {
        (Some(a), Some(b)) => (a - b).abs() > SAME_MHZ,
        (a, b) => a != b,
    };
    let mut wrong: Vec<String> = Vec::new();
    for then in before {
        match after.all.iter().find(|now| now.of == then.of) {
            Some(now) if differs(then.min, now.min) || differs(then.max, now.max) => {
                let mhz = |value: Option<f64>| value.map_or("–".to_owned(), |mhz| format!("{mhz:.0}"));
                wrong.push(format!(
                    "{} was {} to {} MHz and is {} to {} MHz",
                    then.of,
                    mhz(then.min),
                    mhz(then.max),
                    mhz(now.min),
                    mhz(now.max)
                ));
            }
            Some(_) => {}
            None => wrong.push(format!("{} is gone", then.of)),
        }
    }
    if after.by_jetlag {
        wrong.push("still locked by jetlag: sudo jetlag clocks restore".to_owned());
    }
    match wrong.is_empty() {
        true => Verdict::pass(format!("{} clocks have their earlier limits", before.len())),
        false => Verdict::fail(wrong.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clock(of: &str, min: f64, max: f64) -> Clock {
        Clock {
            of: of.to_owned(),
            min: Some(min),
            max: Some(max),
            held: min == max,
        }
    }

    #[test]
    fn a_clock_that_still_moves_or_is_not_as_it_was_fails() {
        let before = [clock("cpu0", 729.6, 1728.0), clock("gpu", 306.0, 612.0)];
        let all = [clock("cpu0", 1728.0, 1728.0), clock("gpu", 612.0, 612.0)];
        assert_eq!(held(&before, &all).outcome, Outcome::Pass);
        let one = [clock("cpu0", 1728.0, 1728.0), clock("gpu", 306.0, 612.0)];
        let verdict = held(&before, &one);
        assert_eq!(verdict.outcome, Outcome::Fail);
        assert!(verdict.seen.contains("not locked: gpu"), "{}", verdict.seen);
        let after = |all: &[Clock]| Clocks {
            all: all.to_vec(),
            by_jetlag: false,
        };
        assert_eq!(given_back(&before, &after(&before)).outcome, Outcome::Pass);
        let verdict = given_back(&before, &after(&all));
        assert!(
            verdict
                .seen
                .contains("cpu0 was 730 to 1728 MHz and is 1728 to 1728 MHz"),
            "{}",
            verdict.seen
        );
        assert_eq!(held(&[], &[]).outcome, Outcome::NotApplicable);
    }
}
