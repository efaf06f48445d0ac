//! The critical path of each tenant's traced frames, with waiting times, and its calls of CUDA.

use jetlag_figure::section::{Cell, Table, Tone};

use super::Section;
use super::traced::names::shortened;
use crate::analysis::Recorded;
use crate::analysis::summary::critical::{CallRow, CriticalPath, Part, PathRow, TenantPath};
use crate::number::{TimeUnit, percent, short};

/// Rows of a table; JSON has all.
const SHOWN: usize = 14;
/// Calls shown of the time outside of frames.
const FEW: usize = 4;
/// Letters of a name.
const NAME: usize = 40;

/// The sentence for a run without a trace.
pub(crate) fn untraced(run: &str, recorded: Recorded) -> String {
    format!(
        "{run}: {}, so nothing is known of what its frames waited for. {}",
        recorded.untraced(),
        recorded.to_trace()
    )
}

/// The critical paths of a run's traced phases.
pub(crate) fn sections(paths: &[CriticalPath]) -> Vec<Section> {
    let mut all = Vec::new();
    for path in paths {
        for tenant in &path.tenants {
            let parts = [("", &tenant.steady), ("start-up of ", &tenant.start_up)];
            let known = parts
                .iter()
                .filter_map(|(prefix, part)| Some((prefix, part.as_ref()?)));
            all.extend(known.map(|(prefix, part)| way(path, tenant, prefix, part)));
            all.extend(calls(tenant));
        }
        if let Some(last) = all.pop() {
            all.push(last.remarks(path.notes.iter().cloned()));
        }
    }
    all
}

fn way(path: &CriticalPath, tenant: &TenantPath, prefix: &str, part: &Part) -> Section {
    let unit = TimeUnit::for_millis(std::iter::once(part.response_ms));
    let note = format!(
        "{prefix}{} in {}; {} per frame, mean of {} {}",
        tenant.tenant,
        path.phase,
        unit.name(),
        part.frames,
        if part.frames == 1 { "frame" } else { "frames" },
    );
    let mut table = Table::new("")
        .numbers(["share", "on path", "waiting"])
        .words("kind")
        .words("name")
        .optional_number("per frame");
    let (shown, rest) = part.rows.split_at(SHOWN.min(part.rows.len()));
    for row in shown {
        table.row([
            Cell::new(percent(row.share)),
            Cell::new(unit.show(row.path_ms)),
            match row.waiting_ms > 0.0 {
                true => Cell::new(unit.show(row.waiting_ms)),
                false => Cell::default(),
            },
            Cell::new(kind_word(row.kind)).tone(Tone::Dim),
            Cell::new(shortened(&row.name, NAME)),
            Cell::new(short(row.per_frame)).tone(Tone::Dim),
        ]);
    }
    let dim = |text: String| Cell::new(text).tone(Tone::Dim);
    if !rest.is_empty() {
        let sum = |of: fn(&PathRow) -> f64| rest.iter().map(of).sum::<f64>();
        table.row([
            dim(percent(sum(|row| row.share))),
            dim(unit.show(sum(|row| row.path_ms))),
            dim(unit.show(sum(|row| row.waiting_ms))),
            Cell::default(),
            dim(format!("{} more", rest.len())),
        ]);
    }
    table.row([
        dim("100 %".to_owned()),
        dim(unit.show(part.response_ms)),
        Cell::default(),
        Cell::default(),
        dim("= response".to_owned()),
    ]);
    let lacking = |count: u64, what: &str| format!("{count} of {} frames have no {what}.", part.frames);
    let remarks = [
        (
            part.without_work,
            lacking(part.without_work, "work on the device in the trace"),
        ),
        (
            part.without_calls,
            lacking(part.without_calls, "call in the trace"),
        ),
        (
            tenant.skipped,
            format!(
                "{} frames whose stamps contradict each other are left out.",
                tenant.skipped
            ),
        ),
    ];
    let remarks = remarks.into_iter().filter(|(count, _)| *count > 0);
    Section::new("critical-path", "Critical path", note)
        .table(table)
        .remarks(remarks.map(|(_, remark)| remark))
}

/// What a kind is called for people.
fn kind_word(kind: &str) -> &str {
    match kind {
        "busy" => "device busy",
        other => other,
    }
}

fn calls(tenant: &TenantPath) -> Option<Section> {
    let rows = tenant.steady.as_ref().map_or(&[][..], |part| &part.calls);
    let unit = TimeUnit::for_millis(rows.iter().map(|row| row.mean_ms));
    let mut table = Table::new("")
        .words("name")
        .numbers(["calls", "per frame", "mean", "max", "time/frame"])
        .optional_number("waiting");
    for row in rows.iter().take(SHOWN) {
        let waiting = match row.total_ms > 0.0 {
            true => row.waiting_ms / row.total_ms,
            false => 0.0,
        };
        table.row([
            Cell::new(shortened(&row.name, NAME)),
            Cell::new(row.calls.to_string()),
            Cell::of(row.calls_per_frame, short),
            Cell::new(unit.show(row.mean_ms)),
            Cell::new(unit.show(row.max_ms)),
            Cell::of(row.ms_per_frame, |ms| unit.show(ms)),
            Cell::new(percent(waiting)),
        ]);
    }
    let outside = [
        ("before the first frame", &tenant.calls_before),
        ("between frames", &tenant.calls_between),
        ("after the last frame", &tenant.calls_after),
    ];
    let outside = outside.into_iter().filter(|(_, rows)| !rows.is_empty());
    let note = format!("of {}, in its frames; {}", tenant.tenant, unit.name());
    Section::new("cuda-calls", "CUDA calls", note)
        .table(table)
        .remarks(outside.map(|(when, rows)| said(&tenant.tenant, when, rows)))
        .unless_empty()
}

/// Calls outside of frames in a sentence, the longest first.
fn said(tenant: &str, when: &str, rows: &[CallRow]) -> String {
    let total: f64 = rows.iter().map(|row| row.total_ms).sum();
    let unit = TimeUnit::for_millis(std::iter::once(total));
    let first = rows.iter().take(FEW);
    let first: Vec<String> = first
        .map(|row| format!("{} {} × {}", unit.show(row.total_ms), row.name, row.calls))
        .collect();
    let more = match rows.len().saturating_sub(FEW) {
        0 => String::new(),
        more => format!(", {more} more"),
    };
    format!(
        "{tenant}, calls {when}: {} {} in all ({}{more}).",
        unit.show(total),
        unit.name(),
        first.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use jetlag_figure::section::Block;

    use super::*;

    fn call(name: &str, calls: u64, total_ms: f64) -> CallRow {
        CallRow {
            name: name.to_owned(),
            calls,
            total_ms,
            waiting_ms: 0.0,
            mean_ms: total_ms / calls as f64,
            max_ms: total_ms,
            calls_per_frame: Some(1.0),
            ms_per_frame: Some(0.5),
        }
    }

    fn made_up() -> CriticalPath {
        let row = |kind, name: &str, share: f64, waiting_ms| PathRow {
            kind,
            name: name.to_owned(),
            share,
            path_ms: share * 10.0,
            waiting_ms,
            per_frame: 2.0,
        };
        let long = "void cutlass::Kernel2<cutlass_80_tensorop_s1688gemm_128x128_16x5_nn_align4>(Params)";
        let mut rows = vec![row("kernel", long, 0.6, 0.0), row("busy", "lidar", 0.2, 0.0)];
        rows.extend((0..18).map(|n| row("call", &format!("cuCall{n}"), 0.01, f64::from(n))));
        CriticalPath {
            phase: "camera + lidar".to_owned(),
            tenants: vec![TenantPath {
                tenant: "camera".to_owned(),
                steady: Some(Part {
                    frames: 120,
                    response_ms: 10.0,
                    rows,
                    calls: vec![
                        call("cuLaunchKernel", 4000, 60.0),
                        call("cuEventRecord", 240, 1.0),
                    ],
                    without_work: 2,
                    without_calls: 0,
                }),
                start_up: None,
                calls_before: vec![call("cuModuleLoadData", 3, 120.0)],
                calls_between: Vec::new(),
                calls_after: Vec::new(),
                skipped: 0,
            }],
            notes: vec!["Graphs were traced as a whole: their kernels are not on the paths.".to_owned()],
        }
    }

    fn cells(section: &Section) -> Vec<Vec<&str>> {
        let tables = section.blocks.iter().filter_map(|block| match block {
            Block::Table(table) => Some(&table.rows),
            _ => None,
        });
        let rows = tables.flatten();
        rows.map(|row| row.cells.iter().map(|cell| cell.text.as_str()).collect())
            .collect()
    }

    fn remarks(section: &Section) -> Vec<&str> {
        let all = section.blocks.iter();
        all.filter_map(|block| match block {
            Block::Remark(text) => Some(text.as_str()),
            _ => None,
        })
        .collect()
    }

    #[test]
    fn rows_that_are_not_shown_are_summed_and_calls_outside_of_frames_are_told() {
        let [way, calls] = &sections(&[made_up()])[..] else {
            panic!("two sections")
        };
        let rows = cells(way);
        assert_eq!(rows.len(), SHOWN + 2);
        assert_eq!(rows[1], ["20 %", "2.00", "", "device busy", "lidar", "2.00"]);
        // cuCall12 to cuCall17, which waited 12 to 17 ms.
        assert_eq!(rows[SHOWN], ["6.0 %", "0.600", "87.00", "", "6 more", ""]);
        assert_eq!(rows[SHOWN + 1][1], "10.00");
        assert_eq!(remarks(way).len(), 1, "{:?}", remarks(way));
        assert_eq!(cells(calls).len(), 2);
        // The calls before the first frame, and the note of the path.
        assert_eq!(remarks(calls).len(), 2);
        assert!(remarks(calls)[0].contains("120.00 cuModuleLoadData × 3"));
    }
}
