//! What the frames of traced phases waited for, what changes would do, and how long tenants took to start.

use super::Form;
use crate::analysis::Recorded;
use crate::analysis::summary::critical::CriticalPath;
use crate::analysis::summary::start_up::TenantStart;
use crate::analysis::summary::what_if::WhatIf;
use crate::sections::{critical, start_up, what_if};

/// What a run's trace tells, of what was asked for.
#[derive(Clone, Copy, Debug)]
pub struct Told<'a> {
    /// The run's name, and what it is a recording of.
    pub run: (&'a str, Recorded),
    /// Critical paths of its traced phases, and how its tenants started.
    pub paths: Option<(&'a [CriticalPath], &'a [TenantStart])>,
    /// A prediction; one that was asked for of a run without a trace is none.
    pub what_if: Option<Option<&'a WhatIf>>,
}

impl Told<'_> {
    /// As text.
    pub fn text(&self, form: Form<'_>) -> String {
        let (run, recorded) = self.run;
        let has_no_path = self.paths.is_some_and(|(paths, _)| paths.is_empty());
        let is_untraced = has_no_path || self.what_if.is_some_and(|of| of.is_none());
        let mut sections = Vec::new();
        if let Some((paths, starts)) = self.paths {
            sections.extend(critical::sections(paths));
            sections.extend(start_up::section(starts, recorded));
        }
        sections.extend(self.what_if.flatten().map(what_if::section));
        let untraced = is_untraced.then(|| critical::untraced(run, recorded) + "\n");
        let shown = Some(form.all(&sections)).filter(|text| !text.is_empty());
        let texts: Vec<String> = untraced.into_iter().chain(shown).collect();
        texts.join("\n")
    }
}
