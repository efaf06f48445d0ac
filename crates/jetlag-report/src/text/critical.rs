//! The critical path of each tenant's traced frames, with waiting times, and its calls of CUDA.

use std::io::{self, Write};

use super::{cut, dim, heading, paragraph, plain};
use crate::Style;
use crate::analysis::Recorded;
use crate::analysis::summary::critical::{CallRow, CriticalPath, Part, TenantPath};
use crate::number::{TimeUnit, or_unknown, percent, short};
use crate::table::{Align, Grid, Ink};

/// Rows of a table; JSON has all.
const SHOWN: usize = 14;
/// Calls shown of the time outside of frames.
const FEW: usize = 4;

/// The sentence for a run without a trace.
pub fn untraced(run: &str, recorded: Recorded) -> String {
    format!(
        "{run}: {}, so nothing is known of what its frames waited for. {}",
        recorded.untraced(),
        recorded.to_trace()
    )
}

/// Writes the critical paths of a run's traced phases, or how to get one.
pub fn write(
    (run, recorded): (&str, Recorded),
    paths: &[CriticalPath],
    out: &mut dyn Write,
    style: &Style,
) -> io::Result<()> {
    if paths.is_empty() {
        return writeln!(out, "{}", untraced(run, recorded));
    }
    let mut sections = Vec::new();
    for path in paths {
        for tenant in &path.tenants {
            let parts = [("", &tenant.steady), ("start-up of ", &tenant.start_up)];
            for (prefix, part) in parts {
                if let Some(part) = part {
                    sections.push(way(path, tenant, prefix, part, style));
                }
            }
            sections.push(calls(tenant, style));
        }
        for note in &path.notes {
            sections.push(paragraph(note, Ink::Dim, style));
        }
    }
    sections.retain(|section| !section.is_empty());
    out.write_all(sections.join("\n").as_bytes())
}

/// The beginning of a name, since the rest is mostly template arguments.
fn beginning(name: &str, room: usize) -> String {
    if name.chars().count() <= room {
        return name.to_owned();
    }
    let cut: String = name.chars().take(room.saturating_sub(1)).collect();
    format!("{cut}…")
}

/// What a kind is called for people.
fn kind_word(kind: &str) -> &str {
    match kind {
        "busy" => "device busy",
        other => other,
    }
}

fn way(path: &CriticalPath, tenant: &TenantPath, prefix: &str, part: &Part, style: &Style) -> String {
    let unit = TimeUnit::for_millis(std::iter::once(part.response_ms));
    let note = format!(
        "{prefix}{} in {}; {} per frame, mean of {} {}",
        cut(&tenant.tenant, style),
        beginning(&path.phase, 24),
        unit.name(),
        part.frames,
        if part.frames == 1 { "frame" } else { "frames" },
    );
    let mut grid = Grid::headed()
        .column("share", Align::Right)
        .column("on path", Align::Right)
        .column("waiting", Align::Right)
        .column("kind", Align::Left)
        .column("name", Align::Left)
        .optional("per frame", Align::Right);
    let room = usize::from(style.width.max(60)) - 54;
    let (shown, rest) = part.rows.split_at(SHOWN.min(part.rows.len()));
    for row in shown {
        grid.row(vec![
            plain(percent(row.share)),
            plain(unit.show(row.path_ms)),
            if row.waiting_ms > 0.0 {
                plain(unit.show(row.waiting_ms))
            } else {
                plain("")
            },
            dim(kind_word(row.kind)),
            plain(beginning(&row.name, room)),
            dim(short(row.per_frame)),
        ]);
    }
    if !rest.is_empty() {
        let sum =
            |of: fn(&crate::analysis::summary::critical::PathRow) -> f64| rest.iter().map(of).sum::<f64>();
        grid.row(vec![
            dim(percent(sum(|row| row.share))),
            dim(unit.show(sum(|row| row.path_ms))),
            dim(unit.show(sum(|row| row.waiting_ms))),
            plain(""),
            dim(format!("{} more", rest.len())),
        ]);
    }
    grid.row(vec![
        dim("100 %"),
        dim(unit.show(part.response_ms)),
        plain(""),
        plain(""),
        dim("= response"),
    ]);
    let mut text = heading("CRITICAL PATH", &note, style) + &grid.render(style);
    let mut remark = |count: u64, what: &str| {
        if count > 0 {
            let said = format!("{count} of {} frames have no {what}.", part.frames);
            text.push_str(&paragraph(&said, Ink::Dim, style));
        }
    };
    remark(part.without_work, "work on the device in the trace");
    remark(part.without_calls, "call in the trace");
    if tenant.skipped > 0 {
        let skipped = format!(
            "{} frames whose stamps contradict each other are left out.",
            tenant.skipped
        );
        text.push_str(&paragraph(&skipped, Ink::Dim, style));
    }
    text
}

fn calls(tenant: &TenantPath, style: &Style) -> String {
    let rows = tenant.steady.as_ref().map_or(&[][..], |part| &part.calls);
    let mut text = String::new();
    if !rows.is_empty() {
        let unit = TimeUnit::for_millis(rows.iter().map(|row| row.mean_ms));
        let note = format!(
            "of {}, in its frames; {}",
            cut(&tenant.tenant, style),
            unit.name()
        );
        let mut grid = Grid::headed()
            .column("name", Align::Left)
            .column("calls", Align::Right)
            .column("per frame", Align::Right)
            .column("mean", Align::Right)
            .column("max", Align::Right)
            .column("time/frame", Align::Right)
            .optional("waiting", Align::Right);
        let room = usize::from(style.width.max(60)) - 56;
        for row in rows.iter().take(SHOWN) {
            let share = if row.total_ms > 0.0 {
                row.waiting_ms / row.total_ms
            } else {
                0.0
            };
            grid.row(vec![
                plain(beginning(&row.name, room)),
                plain(row.calls.to_string()),
                plain(or_unknown(row.calls_per_frame, short)),
                plain(unit.show(row.mean_ms)),
                plain(unit.show(row.max_ms)),
                plain(or_unknown(row.ms_per_frame, |ms| unit.show(ms))),
                plain(percent(share)),
            ]);
        }
        text = heading("CUDA CALLS", &note, style) + &grid.render(style);
    }
    for (when, rows) in [
        ("before the first frame", &tenant.calls_before),
        ("between frames", &tenant.calls_between),
        ("after the last frame", &tenant.calls_after),
    ] {
        if !rows.is_empty() {
            text.push_str(&paragraph(&outside(&tenant.tenant, when, rows), Ink::Dim, style));
        }
    }
    text
}

/// Calls outside of frames in a sentence, the longest first.
fn outside(tenant: &str, when: &str, rows: &[CallRow]) -> String {
    let total: f64 = rows.iter().map(|row| row.total_ms).sum();
    let unit = TimeUnit::for_millis(std::iter::once(total));
    let said: Vec<String> = rows
        .iter()
        .take(FEW)
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
        said.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::summary::critical::PathRow;

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

    fn written(paths: &[CriticalPath], width: u16) -> String {
        written_of(Recorded::Scenario, paths, width)
    }

    fn written_of(recorded: Recorded, paths: &[CriticalPath], width: u16) -> String {
        let mut out = Vec::new();
        let style = Style { colour: false, width };
        write(("demo", recorded), paths, &mut out, &style).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn the_table_has_shares_waiting_times_and_fits_eighty_columns() {
        let text = written(&[made_up()], 80);
        println!("{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        for said in [
            "CRITICAL PATH  camera in camera + lidar; ms per frame, mean of 120 frames",
            "60 %",
            "device busy  lidar",
            "6 more",
            "= response",
            "2 of 120 frames have no work on the device",
            "CUDA CALLS",
            "cuLaunchKernel",
            "camera, calls before the first frame: 120.00 ms in all (120.00 cuModuleLoadData × 3).",
            "Graphs were traced as a whole",
        ] {
            // Lines may break anywhere.
            let flowing = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(
                flowing(&text).contains(&flowing(said)),
                "{said} is not in:\n{text}"
            );
        }
    }

    #[test]
    fn a_run_without_a_trace_says_how_to_get_one() {
        assert!(written(&[], 80).contains("`jetlag run SCENARIO --trace`"));
        let program = written_of(Recorded::Program, &[], 80);
        assert!(
            program.contains("`jetlag trace`") && !program.contains("SCENARIO"),
            "{program}"
        );
    }
}
