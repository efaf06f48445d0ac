//! What differs between a sweep file and the one that a journal was begun with, told point by point.

use std::collections::HashMap;
use std::fmt;

use super::journal::Header;
use super::plan::Point;

/// Points of one kind that are named; of the rest the number is told.
const NAMED: usize = 10;

/// What differs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Difference {
    /// The base's text is another: no run of before goes with those to come.
    pub base: bool,
    /// Files of axes whose content is another.
    pub files: Vec<String>,
    /// Points that are new.
    pub added: Vec<String>,
    /// Points that are there no more.
    pub gone: Vec<String>,
    /// Points of both.
    pub kept: usize,
    /// Repeats before and now, where they differ.
    pub repeats: Option<(u32, u32)>,
    /// Whether the order is another.
    pub order: bool,
    /// Whether the time limit is another.
    pub limit: bool,
    /// Whether the search is another.
    pub search: bool,
}

impl Difference {
    /// Between what was begun and what is asked for now. `before` and `now` are their points.
    pub fn between(begun: &Header, before: &[Point], asked: &Header, now: &[Point]) -> Difference {
        let known: HashMap<String, &Point> = before.iter().map(|point| (point.id(), point)).collect();
        let wanted: HashMap<String, &Point> = now.iter().map(|point| (point.id(), point)).collect();
        let of = |points: &[Point], other: &HashMap<String, &Point>| {
            let missing = points.iter().filter(|point| !other.contains_key(&point.id()));
            missing.map(Point::shown).collect::<Vec<_>>()
        };
        let files = begun
            .files
            .iter()
            .filter(|(name, hash)| asked.files.get(*name).is_some_and(|now| now != *hash));
        Difference {
            base: begun.base_hash != asked.base_hash,
            files: files.map(|(name, _)| name.clone()).collect(),
            added: of(now, &known),
            gone: of(before, &wanted),
            kept: known.keys().filter(|id| wanted.contains_key(*id)).count(),
            repeats: (begun.plan.repeats != asked.plan.repeats)
                .then_some((begun.plan.repeats, asked.plan.repeats)),
            order: begun.plan.order != asked.plan.order,
            limit: begun.limit_s != asked.limit_s,
            search: begun.knee != asked.knee,
        }
    }

    /// Whether runs of before mean the same as before.
    pub fn keeps_runs(&self) -> bool {
        !self.base && self.files.is_empty() && !self.search
    }

    /// Whether nothing differs.
    pub fn is_none(&self) -> bool {
        *self
            == Difference {
                kept: self.kept,
                ..Difference::default()
            }
    }
}

fn counted(points: usize) -> String {
    format!("{points} point{}", if points == 1 { "" } else { "s" })
}

impl fmt::Display for Difference {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut lines = Vec::new();
        if self.base {
            lines.push("the base has changed".to_owned());
        }
        for file in &self.files {
            lines.push(format!("{file} has changed"));
        }
        if self.search {
            lines.push("the search is another".to_owned());
        }
        for (points, what) in [(&self.added, "new"), (&self.gone, "gone")] {
            lines.extend(points.iter().take(NAMED).map(|point| format!("{what}: {point}")));
            if points.len() > NAMED {
                lines.push(format!("{what}: {} more", counted(points.len() - NAMED)));
            }
        }
        if let Some((before, now)) = self.repeats {
            lines.push(format!("repeats: {before} before, {now} now"));
        }
        if self.order {
            lines.push("the order is another".to_owned());
        }
        if self.limit {
            lines.push("the time limit is another".to_owned());
        }
        lines.push(format!("as before: {}", counted(self.kept)));
        out.write_str(&lines.join("\n       "))
    }
}
