//! Predictions: what changes would do to each tenant's median response and service, and what that assumes.

use std::io::{self, Write};

use super::{cut, dim, heading, paragraph, plain};
use crate::Style;
use crate::analysis::summary::what_if::{Predicted, WhatIf};
use crate::number::{self, TimeUnit, UNKNOWN, or_unknown};
use crate::table::{Align, Grid, Ink};

/// Writes a prediction.
pub fn write(found: &WhatIf, out: &mut dyn Write, style: &Style) -> io::Result<()> {
    let figures = || {
        found.tenants.iter().flat_map(|tenant| {
            [("response", &tenant.response), ("service", &tenant.service)].map(|figure| (tenant, figure))
        })
    };
    let unit = TimeUnit::for_millis(figures().filter_map(|(_, (_, figure))| figure.traced_ms));
    let of = match (&found.untraced, found.traces) {
        (Some(untraced), _) => format!("untraced frames of {untraced}"),
        (None, 0 | 1) => "one perturbed trace".to_owned(),
        (None, traces) => format!("{traces} perturbed traces"),
    };
    let note = format!("p50 in {}, of {}; change of {of}", unit.name(), found.phase);
    let mut text = heading("WHAT IF", &note, style);
    for change in &found.changes {
        text.push_str(&format!("  {}\n", Ink::Accent.paint(change, style)));
    }
    let has_untraced = figures().any(|(_, (_, figure))| figure.untraced_ms.is_some());
    let mut grid = Grid::headed()
        .column("tenant", Align::Left)
        .column("", Align::Left)
        .column("traced", Align::Right)
        .column("then", Align::Right);
    if has_untraced {
        grid = grid.column("untraced", Align::Right).column("then", Align::Right);
    }
    let mut grid = grid.column("change", Align::Right).column("95 %", Align::Left);
    let mut named = None;
    for (tenant, (measure, figure)) in figures() {
        let is_new = named != Some(&tenant.tenant);
        named = Some(&tenant.tenant);
        let shown = |ms: Option<f64>| plain(or_unknown(ms, |ms| unit.show(ms)));
        let mut row = vec![
            match is_new {
                true => (cut(&tenant.tenant, style), Ink::Bold),
                false => plain(""),
            },
            dim(measure),
            shown(figure.traced_ms),
            shown(figure.predicted_ms),
        ];
        if has_untraced {
            row.extend([shown(figure.untraced_ms), shown(figure.expected_ms)]);
        }
        row.extend([
            change(figure),
            dim(figure
                .change_ci95
                .map_or_else(|| UNKNOWN.to_owned(), number::change_range)),
        ]);
        grid.row(row);
    }
    text.push_str(&grid.render(style));
    for assumption in &found.assumptions {
        text.push_str(&paragraph(assumption, Ink::Dim, style));
    }
    out.write_all(text.as_bytes())
}

/// A relative change in percent, with its sign.
fn signed(change: f64, interval: Option<[f64; 2]>) -> String {
    if interval.is_none() && change.abs() < 0.000_5 {
        return "±0 %".to_owned();
    }
    number::change(change, interval)
}

fn change(figure: &Predicted) -> (String, Ink) {
    match figure.change {
        None => dim(UNKNOWN),
        Some(change) if change <= -0.000_5 => (signed(change, figure.change_ci95), Ink::Good),
        Some(change) if change >= 0.000_5 => (signed(change, figure.change_ci95), Ink::Bad),
        Some(change) => plain(signed(change, figure.change_ci95)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::summary::what_if::PredictedTenant;

    #[test]
    fn the_prediction_has_both_measures_their_intervals_and_what_it_assumes() {
        let figure = Predicted {
            traced_ms: Some(10.0),
            model_ms: Some(10.0),
            predicted_ms: Some(8.0),
            change: Some(-0.2),
            change_ci95: Some([-0.21, -0.19]),
            untraced_ms: Some(9.0),
            expected_ms: Some(7.2),
        };
        let found = WhatIf {
            phase: "camera + lidar".to_owned(),
            changes: vec!["camera: h2d × 0".to_owned()],
            tenants: vec![PredictedTenant {
                tenant: "camera".to_owned(),
                frames: 100,
                response: figure,
                service: Predicted::default(),
            }],
            traces: 1,
            untraced: Some("this run".to_owned()),
            assumptions: vec!["Frames that were dropped stay dropped, and no others are.".to_owned()],
        };
        let mut out = Vec::new();
        let style = Style {
            colour: false,
            width: 80,
        };
        write(&found, &mut out, &style).unwrap();
        let text = String::from_utf8(out).unwrap();
        println!("{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        for said in [
            "camera: h2d × 0",
            "−20 %",
            "−21 to −19 %",
            "7.20",
            "stay dropped",
            "–",
        ] {
            assert!(text.contains(said), "{said} is not in:\n{text}");
        }
        assert_eq!(
            [0.0, 0.3, -0.0001].map(|change| signed(change, None)),
            ["±0 %", "+30 %", "±0 %"]
        );
        assert_eq!(signed(0.3, Some([0.297, 0.303])), "+30.0 %");
    }
}
