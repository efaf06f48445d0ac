//! Rooflines on a terminal: networks of all runs beside each other, layers by type and one by one, what energy costs.

use std::io::{self, Write};

use jetlag_figure::section::terminal::{self, heading, paragraph};

use crate::Style;
use crate::analysis::roofline::{Ceilings, Roofline, RunRoofline, TenantRoofline};
use crate::sections::roofline::{self as sections, Section, run_name};
use crate::sections::{Extent, counters};
use crate::table::Ink;

/// Writes all of it.
pub fn write(roofline: &Roofline, out: &mut dyn Write, style: &Style) -> io::Result<()> {
    let show = |section: &Section| shown(section, style);
    let mut texts: Vec<String> = sections::ceilings(roofline).iter().map(show).collect();
    texts.push(show(&sections::networks(roofline)));
    for tenant in roofline.runs.iter().flat_map(|run| &run.tenants) {
        texts.extend(sections::of_tenant(tenant, Extent::Most).iter().map(show));
        texts.extend(counted(tenant).iter().map(show));
    }
    texts.push(show(&sections::energy(&roofline.energy)));
    texts.push(findings(&roofline.runs, style));
    texts.retain(|text| !text.is_empty());
    out.write_all(texts.join("\n").as_bytes())
}

fn shown(section: &Section, style: &Style) -> String {
    terminal::section(section, |nothing| match *nothing {}, style)
}

/// The layers of a run's tenants, all of them, with their work: empty where no layer has any.
pub fn layers(run: &RunRoofline, style: &Style) -> String {
    let tenants = run.tenants.iter();
    let known = tenants.filter(|tenant| tenant.has_more_than_times());
    let told = known.filter_map(|tenant| sections::of_tenant(tenant, Extent::All));
    let mut texts: Vec<String> = told.map(|section| shown(&section, style)).collect();
    if !texts.is_empty() {
        texts.push(findings(std::slice::from_ref(run), style));
    }
    texts.retain(|text| !text.is_empty());
    texts.join("\n")
}

/// Ceilings as a table.
pub fn of_ceilings(own: &Ceilings, style: &Style) -> String {
    let section = Section::new("ceilings", "Ceilings", "what the device can reach");
    shown(&sections::of_ceilings(section, own), style)
}

/// What the hardware counted of a tenant, where counters were given.
fn counted(tenant: &TenantRoofline) -> Vec<Section> {
    match (&tenant.counters, &tenant.no_counters) {
        (Some(own), _) => counters::against(own),
        (None, Some(why)) => {
            vec![Section::new("counters", "Counters", tenant.name.clone()).texts([why.clone()])]
        }
        (None, None) => Vec::new(),
    }
}

fn findings(runs: &[RunRoofline], style: &Style) -> String {
    let mut text = String::new();
    for (number, run) in runs.iter().enumerate() {
        for finding in &run.findings {
            let of = match (&finding.tenant, runs.len() > 1) {
                (Some(tenant), true) => format!("{}, {tenant}", run_name(runs, number)),
                (None, true) => run_name(runs, number),
                (Some(tenant), false) => tenant.clone(),
                (None, false) => String::new(),
            };
            text += &format!("  {}  {of}\n", Ink::Warn.paint(&finding.code, style));
            text += &paragraph(&finding.message, Ink::Plain, style);
            text += &paragraph(&format!("→ {}", finding.advice), Ink::Plain, style);
        }
    }
    match text.is_empty() {
        true => text,
        false => heading("FINDINGS", "", style) + &text,
    }
}
