//! `jetlag roofline`: how far networks and layers of runs are from what their device could reach.
//!
//! The arithmetic is `analysis::roofline`'s; here runs are read, and their work is counted again where their files lack it.

use std::path::Path;

use anyhow::Context;

use super::held::Given;
use super::outcome::Outcome;
use super::output::{print, print_styled, say, style};
use super::recorded_work;
use super::report;
use super::run_path::spare_files;
use crate::analysis::Summary;
use crate::analysis::counters::Counters;
use crate::analysis::roofline::{Gathered, Gatherer, RunRoofline, against, of_runs};
use crate::cli::{Format, ReportArgs, ResultFormat, RooflineArgs};
use crate::report as reports;
use crate::units::Bytes;
use crate::whole;

/// Prints rooflines of runs, or writes them as a page.
///
/// # Errors
/// [`WrongUse`](super::outcome::WrongUse): a run or ceilings that cannot be read, a board or mode that is not known.
pub(super) fn run(args: &RooflineArgs) -> anyhow::Result<Outcome> {
    if let Some(page) = &args.html {
        spare_files(page, args.force)?;
    }
    let given = Given::of(&args.ceilings)?;
    let counters = args.counters.as_deref().map(super::counters::given).transpose()?;
    let mut runs = Vec::new();
    for path in &args.runs {
        let (gathered, summary) = read(path)?;
        let mut run = given.hold(&gathered, &summary)?;
        if let Some(counters) = &counters {
            beside(&mut run, &gathered, counters);
        }
        runs.push(run);
    }
    let roofline = of_runs(runs);
    let mut out = Vec::new();
    match (&args.html, args.format) {
        (Some(page), _) => {
            reports::html::roofline::write(&roofline, &mut out)?;
            whole::write(page, &out, args.force)
                .with_context(|| format!("cannot write {}", page.display()))?;
            let size = Bytes(out.len() as u64);
            say(&format!("{} ({size}): open it in a browser", page.display()));
        }
        (None, Format::Json) => print(&(serde_json::to_string_pretty(&roofline)? + "\n"))?,
        (None, Format::Text) => {
            reports::text::roofline::write(&roofline, &mut out, &style())?;
            print_styled(&String::from_utf8(out)?, style().colour)?;
        }
    }
    Ok(Outcome::Done)
}

/// `jetlag report --layers`: times, and below them the work of one run's layers where it is known.
///
/// # Errors
/// As of a report, and as [`run`].
pub(super) fn layers(args: &ReportArgs) -> anyhow::Result<Outcome> {
    let given = Given::of(&args.ceilings)?;
    let outcome = report::run(args)?;
    if let ([path], ResultFormat::Text) = (&args.runs[..], args.format) {
        let (gathered, summary) = read(path)?;
        let text = reports::text::roofline::layers(&given.hold(&gathered, &summary)?, &style());
        if !text.is_empty() {
            print_styled(&format!("\n{text}"), style().colour)?;
        }
    }
    Ok(outcome)
}

/// Sets what the hardware counted beside the work of a run's tenants.
fn beside(run: &mut RunRoofline, gathered: &Gathered, counters: &Counters) {
    for tenant in &mut run.tenants {
        let number = gathered
            .manifest
            .tenants
            .iter()
            .position(|own| own.name == tenant.name);
        let nodes = number.and_then(|number| gathered.work.get(number));
        let networks = number.and_then(|number| gathered.manifest.tenants.get(number));
        let networks = networks.map_or(&[][..], |own| own.networks.as_slice());
        match tenant
            .work
            .ok_or_else(|| "the work of its networks is not known".to_owned())
            .and_then(|work| {
                let nodes = nodes.map_or(&[][..], Vec::as_slice);
                against(counters, tenant, work, nodes, networks)
            }) {
            Ok(own) => tenant.counters = Some(own),
            Err(why) => tenant.no_counters = Some(why),
        }
    }
}

/// A run with what rooflines need of it.
fn read(path: &Path) -> anyhow::Result<(Gathered, Summary)> {
    let reader = report::open(path)?;
    let mut gatherer = Gatherer::new(reader.manifest());
    let summary = report::summarize(reader, path, |event| gatherer.push(event));
    let mut gathered = gatherer.finish();
    let (work, notes) = recorded_work::again(&mut gathered.manifest);
    gathered.add(work, notes);
    Ok((gathered, summary))
}
