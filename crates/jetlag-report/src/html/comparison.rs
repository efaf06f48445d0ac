//! The comparison of several runs with the first: the result of each, and the figures behind it.

use super::view::{Block, Section, Table, cell, words};
use super::{Compared, Reported, overlay};
use crate::analysis::compare::{Candidate, FigureComparison, Verdict};
use crate::compare::{sentence, shown_figure};

/// The comparison, or why there is none.
pub(super) fn section(compared: &Compared, runs: &[Reported]) -> Section {
    let (note, blocks) = match compared {
        Err(reason) => (
            String::new(),
            vec![Block::Text(words(&format!("Not compared: {reason}")))],
        ),
        Ok(comparison) => {
            let percent = comparison.confidence * 100.0;
            let note = format!(
                "Each run against A, {}. Intervals have joint {percent:.0} % confidence. On the CDFs, the bar at 50 % and at 99 % \
                 is the interval of the difference, laid off from A's figure: one that leaves out A's curve shows a difference.",
                comparison.baseline.name
            );
            let tables = comparison.candidates.iter().flat_map(blocks);
            (note, tables.chain(overlay::blocks(comparison, runs)).collect())
        }
    };
    Section {
        id: "comparison".to_owned(),
        title: "Comparison".into(),
        note,
        blocks,
    }
}

fn blocks(candidate: &Candidate) -> Vec<Block> {
    let label = &candidate.side.label;
    let title = match (candidate.differs(), candidate.is_judged()) {
        (true, _) => format!("{label} differs from A"),
        (false, true) => format!("No difference found between A and {label}"),
        (false, false) => format!("No comparison possible between A and {label}"),
    };
    let mut table = Table::new(title, &["tenant", "", "result", "#A", "#candidate"]);
    for tenant in &candidate.tenants {
        if let Some(reason) = &tenant.not_compared {
            let text = format!("not compared: {reason}");
            table.row(vec![
                cell(&tenant.name),
                cell("?"),
                cell(text),
                cell(""),
                cell(""),
            ]);
        }
        for figure in &tenant.figures {
            let (mark, class) = mark(figure);
            table.row(vec![
                cell(&tenant.name),
                cell(mark).class(class),
                cell(sentence(figure, label)),
                cell(shown_figure(figure.baseline, figure)),
                cell(shown_figure(figure.candidate, figure)),
            ]);
        }
    }
    let notes = candidate.notes.iter().map(|note| Block::Text(words(note)));
    std::iter::once(Block::Table(table)).chain(notes).collect()
}

fn mark(figure: &FigureComparison) -> (&'static str, &'static str) {
    match figure.verdict {
        Verdict::Higher => ("▲", "bad"),
        Verdict::Lower => ("▼", "good"),
        Verdict::Same => ("=", "dim"),
        Verdict::Unknown => ("?", "warn"),
    }
}
