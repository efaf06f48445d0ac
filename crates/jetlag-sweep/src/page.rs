//! The table as a page: one chart for each axis and tenant, self-contained, without a script.
//!
//! A chart has the axis from left to right, the tenant's 99th percentile (the median, where too few frames support that) upwards, and a
//! line for each combination of the other axes; bars are 95 % intervals over the repeats of a point.

use jetlag_record::shown::shown;
use std::fmt::Write as _;
use std::io::{self, Write};

use super::pooled::Pooled;
use super::table::{PointFigures, Table};

/// Lines of one chart; more are not told apart.
const MOST_LINES: usize = 12;
/// Charts of one page.
const MOST_CHARTS: usize = 60;
const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 300.0;
const LEFT: f64 = 64.0;
const BOTTOM: f64 = 36.0;
const TOP: f64 = 14.0;
const RIGHT: f64 = 12.0;

/// Writes the page.
///
/// # Errors
/// It cannot be written.
pub fn write_page(table: &Table, mut out: impl Write) -> io::Result<()> {
    let [done, failed, skipped, left] = table.counts();
    write!(out, "{HEAD}<h1>{}</h1><p>{done} runs done", escaped(&table.base))?;
    for (count, what) in [
        (failed, "failed"),
        (skipped, "left out after a failure"),
        (left, "not made yet"),
    ] {
        if count > 0 {
            write!(out, ", {count} {what}")?;
        }
    }
    writeln!(out, ". Bars are 95 % intervals. All figures: table.csv.</p>")?;
    let points = table.points();
    let mut charts = 0;
    for axis in &table.axes {
        for figure in figures(table, &points) {
            if charts < MOST_CHARTS
                && let Some(chart) = chart(axis, &figure, &points)
            {
                charts += 1;
                out.write_all(chart.as_bytes())?;
            }
        }
    }
    if charts == 0 {
        writeln!(out, "<p>No run has a figure to draw.</p>")?;
    }
    writeln!(out, "</body></html>")
}

/// The figure of each tenant that is drawn.
fn figures(table: &Table, points: &[PointFigures<'_>]) -> Vec<String> {
    let has = |name: &str| points.iter().any(|point| point.pooled(name).is_some());
    let mut tenants: Vec<&str> = Vec::new();
    for column in &table.columns {
        if let Some((tenant, "response.p50")) = column.name.split_once('.') {
            tenants.push(tenant);
        }
    }
    tenants
        .into_iter()
        .filter_map(|tenant| {
            let names = ["response.p99", "response.p50"].map(|word| format!("{tenant}.{word}"));
            names.into_iter().find(|name| has(name))
        })
        .collect()
}

struct Line {
    label: String,
    dots: Vec<(f64, Pooled)>,
}

/// The places of an axis' values: numbers where all are, else one after another.
fn places(values: &[&str]) -> Vec<f64> {
    let numbers: Option<Vec<f64>> = values
        .iter()
        .map(|value| value.parse::<f64>().ok().filter(|x| x.is_finite()))
        .collect();
    numbers.unwrap_or_else(|| (0..values.len()).map(|place| place as f64).collect())
}

fn chart(axis: &str, figure: &str, points: &[PointFigures<'_>]) -> Option<String> {
    let mut values: Vec<&str> = Vec::new();
    for value in points.iter().filter_map(|point| value_of(point, axis)) {
        if !values.contains(&value) {
            values.push(value);
        }
    }
    let places = places(&values);
    let mut lines: Vec<Line> = Vec::new();
    for point in points {
        let Some(pooled) = point.pooled(figure) else {
            continue;
        };
        let place = value_of(point, axis).and_then(|value| values.iter().position(|known| *known == value));
        let Some(x) = place.and_then(|place| places.get(place)) else {
            continue;
        };
        let others = point.settings().iter().filter(|setting| setting.path != axis);
        let label = others.map(ToString::to_string).collect::<Vec<_>>().join(" ");
        match lines.iter_mut().find(|line| line.label == label) {
            Some(line) => line.dots.push((*x, pooled)),
            None => lines.push(Line {
                label,
                dots: vec![(*x, pooled)],
            }),
        }
    }
    if lines.iter().all(|line| line.dots.is_empty()) {
        return None;
    }
    let hidden = lines.len().saturating_sub(MOST_LINES);
    lines.truncate(MOST_LINES);
    for line in &mut lines {
        line.dots.sort_by(|a, b| a.0.total_cmp(&b.0));
    }
    Some(drawn(axis, figure, &lines, (&values, &places), hidden))
}

fn value_of<'t>(point: &'t PointFigures<'_>, axis: &str) -> Option<&'t str> {
    let found = point.settings().iter().find(|setting| setting.path == axis);
    found.map(|setting| setting.value.as_str())
}

fn drawn(
    axis: &str,
    figure: &str,
    lines: &[Line],
    (values, places): (&[&str], &[f64]),
    hidden: usize,
) -> String {
    let dots = || lines.iter().flat_map(|line| &line.dots);
    let high = |pooled: &Pooled| pooled.ci95.map_or(pooled.value, |[_, high]| high);
    let top = dots()
        .map(|(_, pooled)| high(pooled))
        .fold(0.0_f64, f64::max)
        .max(1e-9)
        * 1.05;
    let from = places.iter().copied().fold(f64::INFINITY, f64::min);
    let to = places.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let span = if to > from { to - from } else { 1.0 };
    let x = |value: f64| LEFT + (value - from) / span * (WIDTH - LEFT - RIGHT);
    let y = |value: f64| HEIGHT - BOTTOM - value.clamp(0.0, top) / top * (HEIGHT - BOTTOM - TOP);
    let mut svg = format!(
        "<figure><figcaption>{} over {}</figcaption><svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\">",
        escaped(figure),
        escaped(axis)
    );
    for step in 0..=4 {
        let value = top * f64::from(step) / 4.0;
        let _ = write!(
            svg,
            "<line class=\"grid\" x1=\"{LEFT}\" x2=\"{}\" y1=\"{1:.1}\" y2=\"{1:.1}\"/><text x=\"{2}\" y=\"{3:.1}\" text-anchor=\"end\">{4}</text>",
            WIDTH - RIGHT,
            y(value),
            LEFT - 6.0,
            y(value) + 4.0,
            short(value)
        );
    }
    let every = places.len().div_ceil(10).max(1);
    for (value, place) in values.iter().zip(places).step_by(every) {
        let _ = write!(
            svg,
            "<text x=\"{:.1}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
            x(*place),
            HEIGHT - 14.0,
            escaped(&value.chars().take(16).collect::<String>())
        );
    }
    for (number, line) in lines.iter().enumerate() {
        let hue = number * 360 / MOST_LINES;
        let _ = write!(
            svg,
            "<g style=\"--hue:{hue}\"><title>{}</title>",
            escaped(&line.label)
        );
        let path: Vec<String> = line
            .dots
            .iter()
            .map(|(at, pooled)| format!("{:.1},{:.1}", x(*at), y(pooled.value)))
            .collect();
        let _ = write!(svg, "<polyline points=\"{}\"/>", path.join(" "));
        for (at, pooled) in &line.dots {
            let _ = write!(
                svg,
                "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"3\"/>",
                x(*at),
                y(pooled.value)
            );
            if let Some([low, high]) = pooled.ci95 {
                let _ = write!(
                    svg,
                    "<line x1=\"{0:.1}\" x2=\"{0:.1}\" y1=\"{1:.1}\" y2=\"{2:.1}\"/>",
                    x(*at),
                    y(low),
                    y(high)
                );
            }
        }
        svg += "</g>";
    }
    svg += "</svg><ul>";
    for (number, line) in lines
        .iter()
        .enumerate()
        .filter(|(_, line)| !line.label.is_empty())
    {
        let _ = write!(
            svg,
            "<li style=\"--hue:{}\">{}</li>",
            number * 360 / MOST_LINES,
            escaped(&line.label)
        );
    }
    if hidden > 0 {
        let _ = write!(svg, "<li>{hidden} more combinations are in the table</li>");
    }
    svg + "</ul></figure>\n"
}

/// Three digits.
fn short(value: f64) -> String {
    match value {
        0.0 => "0".to_owned(),
        size if size >= 100.0 => format!("{size:.0}"),
        size if size >= 10.0 => format!("{size:.1}"),
        size if size >= 0.1 => format!("{size:.2}"),
        size => format!("{size:.1e}"),
    }
}

/// Text as HTML has it; what would act instead of being shown is shown.
fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in shown(text).chars() {
        match c {
            '&' => safe += "&amp;",
            '<' => safe += "&lt;",
            '>' => safe += "&gt;",
            '"' => safe += "&quot;",
            '\'' => safe += "&#39;",
            c => safe.push(c),
        }
    }
    safe
}

const HEAD: &str = "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>jetlag sweep</title><meta name=\"viewport\" \
content=\"width=device-width\"><meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'\">\
<style>:root{color-scheme:light dark}body{font:15px system-ui,sans-serif;max-width:44rem;margin:2rem auto;padding:0 1rem}\
figure{margin:2rem 0}figcaption{font-weight:600}svg{width:100%;height:auto}text{font-size:12px;fill:currentColor}\
.grid{stroke:currentColor;opacity:.15}g polyline{fill:none;stroke:hsl(var(--hue) 60% 45%);stroke-width:1.5}\
g circle{fill:hsl(var(--hue) 60% 45%)}g line{stroke:hsl(var(--hue) 60% 45%)}ul{list-style:none;padding:0;font-size:13px}\
li::before{content:\"●\";color:hsl(var(--hue) 60% 45%);margin-right:.5em}</style></head><body>";
