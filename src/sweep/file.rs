//! The sweep as typed, and what it means. Rules that concern points are the crate's, and told as one problem of the file.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use jetlag_sweep::{Axis, Choice, Order, Plan, Setting};

use super::files::Pattern;
use super::{CoolDown, FORMAT, Sweep};
use crate::files;
use crate::units::Nanos;
use crate::written::{
    Choices, Kind, Node, Place, Problem, ProblemKind, Problems, Reader, choice, parse, plain, shown,
};

const FIELDS: &[&str] = &[
    "base",
    "axes",
    "points",
    "sample",
    "without",
    "repeats",
    "order",
    "cool_down",
    "limit",
];

/// Reads a sweep file. Paths in it are relative to its folder, or else to the current one.
///
/// # Errors
/// Everything that is wrong with it.
pub fn load(path: &Path) -> Result<Sweep, Problems> {
    let name = path.display().to_string();
    let text = files::read_given_text(path, FORMAT.longest)
        .map_err(|error| Problems::unreadable(&name, &FORMAT, error.to_string()))?;
    from_str(&text, &name, path.parent().unwrap_or(Path::new("")))
}

fn from_str(text: &str, shown_name: &str, folder: &Path) -> Result<Sweep, Problems> {
    let (root, mut problems) = parse(text, &FORMAT);
    let mut reader = Reader::default();
    let sweep = root.and_then(|root| read(&mut reader, &root, folder));
    if !problems.is_empty() {
        reader.forget_doubtful(&problems);
    }
    problems.append(&mut reader.problems);
    let sweep = sweep.filter(|_| problems.is_empty());
    if let Some(sweep) = sweep {
        match sweep.plan.points() {
            Ok(_) => return Ok(sweep),
            Err(error) => problems.push(Problem {
                place: Place::File,
                kind: ProblemKind::Syntax {
                    problem: error.to_string(),
                },
            }),
        }
    }
    Err(Problems::new(shown_name, problems))
}

fn read(r: &mut Reader, root: &Node, folder: &Path) -> Option<Sweep> {
    let fields = r.record(root, "a sweep", "Sweep", "Sweep(…) with named fields", FIELDS)?;
    let base = r.required(&fields, "base", "base: \"camera.ron\"", Reader::text);
    let base = base.and_then(|base| {
        let found = beside(folder, &base.value);
        if found.is_none() {
            let kind = ProblemKind::NotFound {
                what: "`base`".to_owned(),
                wanted: "scenario",
                tried: vec![folder.join(&base.value).display().to_string(), shown(&base.value)],
            };
            r.report(&base.place, kind);
        }
        found
    });
    let scenario_folder = base
        .as_deref()
        .and_then(Path::parent)
        .unwrap_or(folder)
        .to_owned();
    let (mut named, mut patterns) = (BTreeMap::new(), BTreeSet::new());
    let axes = r.optional(&fields, "axes", |r, node, field| {
        let expected = "a list of axes, [Axis(set: \"tenants.camera.arrival.hz\", values: [10, 30])]";
        r.list(node, field, expected, |r, node, _| {
            axis(r, node, folder, &scenario_folder, &mut named, &mut patterns)
        })
    });
    let settings = |r: &mut Reader, node: &Node, field: &str| {
        r.list(
            node,
            field,
            "a list of settings, such as [\"tenants.camera.arrival.hz=60\"]",
            setting,
        )
    };
    let points = r.optional(&fields, "points", |r, node, field| {
        r.list(node, field, "a list of points, each a list of settings", settings)
    });
    let sample = r.optional(&fields, "sample", sample);
    let without = r.optional(&fields, "without", |r, node, field| {
        r.list(
            node,
            field,
            "a list of combinations, each a list of settings",
            settings,
        )
    });
    let repeats = r.optional(&fields, "repeats", Reader::whole::<u32>);
    let order = r.optional(&fields, "order", order);
    let cool_down = r.optional(&fields, "cool_down", cool_down);
    let limit = r.optional(&fields, "limit", Reader::duration);
    if let Some(limit) = limit.given()
        && limit.value <= Nanos::ZERO
    {
        out_of_range(r, &limit.place, "`limit`", limit.value.to_string(), "above zero");
    }
    let axes_given = axes.given().is_some();
    if let Some(points) = points.given()
        && (axes_given || sample.given().is_some())
    {
        let kind = ProblemKind::Contradiction {
            what: "`points`".to_owned(),
            why: "the points are named one by one, and `axes` or `sample` make others".to_owned(),
            advice: "leave one of them out".to_owned(),
        };
        r.report(&points.place, kind);
    }
    if !axes_given && points.given().is_none() && r.problems.is_empty() {
        let kind = ProblemKind::Missing {
            field: "axes",
            owner: "a sweep".to_owned(),
            example: "axes: [Axis(set: \"tenants.camera.arrival.hz\", values: [10, 30, 60])]".to_owned(),
        };
        r.report(&root.place, kind);
    }
    let lists = |given: Option<&Spotted>| -> Vec<Vec<Setting>> {
        given
            .map(|list| {
                let inner = |one: &crate::written::Spot<Vec<crate::written::Spot<Setting>>>| {
                    one.value.iter().map(|setting| setting.value.clone()).collect()
                };
                list.value.iter().map(inner).collect()
            })
            .unwrap_or_default()
    };
    let choice = match (points.given(), sample.given()) {
        (Some(points), _) => Choice::Points(lists(Some(points))),
        (None, Some(sample)) => sample.value.clone(),
        (None, None) => Choice::Grid,
    };
    Some(Sweep {
        base: base?,
        plan: Plan {
            axes: axes
                .given()
                .map(|axes| axes.value.iter().map(|axis| axis.value.clone()).collect())
                .unwrap_or_default(),
            choice,
            without: lists(without.given()),
            order: order.or(Order::AsWritten),
            repeats: repeats.or(1),
        },
        files: named,
        patterns,
        cool_down: cool_down.or(CoolDown::default()),
        limit: limit.given().map(|limit| limit.value),
    })
}

type Spotted = crate::written::Spot<Vec<crate::written::Spot<Vec<crate::written::Spot<Setting>>>>>;

/// A file in the sweep's folder, or else in the current one.
fn beside(folder: &Path, name: &str) -> Option<PathBuf> {
    [folder.join(name), PathBuf::from(name)]
        .into_iter()
        .find(|path| path.is_file())
}

fn out_of_range(r: &mut Reader, place: &Place, what: &str, found: String, wanted: &str) {
    let kind = ProblemKind::OutOfRange {
        what: what.to_owned(),
        found,
        wanted: wanted.to_owned(),
    };
    r.report(place, kind);
}

fn axis(
    r: &mut Reader,
    node: &Node,
    folder: &Path,
    scenario_folder: &Path,
    named: &mut BTreeMap<String, PathBuf>,
    patterns: &mut BTreeSet<Pattern>,
) -> Option<Axis> {
    let example = "Axis(set: \"tenants.camera.arrival.hz\", values: [10, 30, 60])";
    let known = &["set", "values", "files", "till_first_fail"];
    let fields = r.record(node, "an axis", "Axis", example, known)?;
    let set = r.required(&fields, "set", "set: \"tenants.camera.arrival.hz\"", Reader::text);
    if let Some(set) = &set
        && set.value.contains('=')
    {
        let wanted = "a path without a value, such as tenants.camera.arrival.hz; `values` has the values";
        out_of_range(r, &set.place, "`set`", shown(&set.value), wanted);
    }
    let values = r.optional(&fields, "values", |r, node, field| {
        let expected = "a list of values, such as [10, 30] or [\"TensorRt()\", \"Cpu()\"]";
        r.list(node, field, expected, value)
    });
    let found = r.optional(&fields, "files", |r, node, field| {
        let pattern = r.text(node, field)?;
        let found = Pattern::read(&pattern, folder).and_then(|pattern| Ok((pattern.matching()?, pattern)));
        match found {
            Ok((files, pattern)) => {
                patterns.insert(pattern);
                Some(files)
            }
            Err(error) => {
                let problem = format!("`files`: {error}");
                r.report(&node.place, ProblemKind::Syntax { problem });
                None
            }
        }
    });
    let till_first_fail = r.optional(&fields, "till_first_fail", Reader::flag);
    let mut all: Vec<String> = Vec::new();
    match (values.given(), found.given()) {
        (Some(_), Some(files)) => {
            let kind = ProblemKind::Contradiction {
                what: "`files`".to_owned(),
                why: "an axis has either `values` or `files`".to_owned(),
                advice: "leave one of them out, or write the files as values".to_owned(),
            };
            r.report(&files.place, kind);
        }
        (Some(values), None) => all.extend(values.value.iter().map(|value| value.value.clone())),
        (None, Some(files)) => {
            for file in &files.value {
                let value = as_value(file, scenario_folder);
                named.insert(value.clone(), file.clone());
                all.push(value);
            }
        }
        (None, None) if r.problems.is_empty() => {
            let kind = ProblemKind::Missing {
                field: "values",
                owner: "an axis".to_owned(),
                example: "values: [10, 30, 60], or files: \"variants/*.onnx\"".to_owned(),
            };
            r.report(&node.place, kind);
        }
        (None, None) => {}
    }
    Some(Axis {
        set: set?.value,
        values: all,
        till_first_fail: till_first_fail.or(false),
    })
}

/// A file as `--set` takes it: relative to the scenario's folder where it is below that. What would read as RON stands in quotes.
fn as_value(file: &Path, scenario_folder: &Path) -> String {
    let below = file.strip_prefix(scenario_folder).unwrap_or(file);
    let text = below.display().to_string();
    let plain = |c: char| c.is_alphanumeric() || "/._-+@ ".contains(c);
    match text.chars().all(plain) && text.contains(['.', '/']) {
        true => text,
        false => serde_json::to_string(&text).unwrap_or(text),
    }
}

/// A value as `--set` takes it.
fn value(r: &mut Reader, node: &Node, field: &str) -> Option<String> {
    match &node.kind {
        Kind::Text(text) => Some(text.clone()),
        Kind::Number(raw) => Some(raw.clone()),
        Kind::Bool(flag) => Some(flag.to_string()),
        Kind::Nothing => Some("None".to_owned()),
        Kind::Call(call) if call.items.is_empty() && call.fields.is_empty() && call.name.is_some() => {
            call.name.clone()
        }
        _ => r.wrong_type(
            node,
            field,
            "numbers, words, and texts; what has brackets is written as a text, such as \"TensorRt(build: \\\"--precision fp16\\\")\"",
        ),
    }
}

fn setting(r: &mut Reader, node: &Node, field: &str) -> Option<Setting> {
    let text = r.text(node, field)?;
    let read = Setting::parse(&text).filter(|setting| !setting.path.is_empty());
    if read.is_none() {
        out_of_range(
            r,
            &node.place,
            "a setting",
            shown(&text),
            "path=value, such as tenants.camera.arrival.hz=60",
        );
    }
    read
}

fn sample(r: &mut Reader, node: &Node, field: &str) -> Option<Choice> {
    let example = "fields in parentheses, such as (count: 50, seed: 7)";
    let fields = r.record(node, field, "Sample", example, &["count", "seed"])?;
    let count = r.required(&fields, "count", "count: 50", Reader::whole::<u64>);
    let seed = r.optional(&fields, "seed", Reader::whole::<u64>);
    let count = count?;
    if count.value == 0 {
        out_of_range(
            r,
            &count.place,
            "`count` of `sample`",
            "0".to_owned(),
            "at least 1",
        );
        return None;
    }
    Some(Choice::Sample {
        count: count.value,
        seed: seed.or(0),
    })
}

fn order(r: &mut Reader, node: &Node, _: &str) -> Option<Order> {
    let choices = Choices {
        what: "order",
        default: "AsWritten",
        all: &[
            plain("AsWritten"),
            choice("Random", &["seed"], 1, "Random(seed: 7)"),
        ],
    };
    let (name, fields) = r.choice(node, &choices)?;
    Some(match name {
        "Random" => {
            let seed = r.optional(&fields, "seed", Reader::whole::<u64>);
            Order::Random { seed: seed.or(0) }
        }
        _ => Order::AsWritten,
    })
}

fn cool_down(r: &mut Reader, node: &Node, field: &str) -> Option<CoolDown> {
    let example = "fields in parentheses, such as (below_c: 55, at_most: \"60s\") or (pause: \"5s\")";
    let fields = r.record(node, field, "CoolDown", example, &["below_c", "at_most", "pause"])?;
    let below_c = r.optional(&fields, "below_c", Reader::number::<f64>);
    let at_most = r.optional(&fields, "at_most", Reader::duration);
    let pause = r.optional(&fields, "pause", Reader::duration);
    if let Some(below) = below_c.given() {
        let ok = (-40.0..=150.0).contains(&below.value);
        if !ok {
            out_of_range(
                r,
                &below.place,
                "`below_c`",
                below.value.to_string(),
                "from -40 to 150 °C",
            );
        }
        if at_most.given().is_none() {
            let kind = ProblemKind::Missing {
                field: "at_most",
                owner: "`cool_down` with `below_c`".to_owned(),
                example: "at_most: \"60s\": a room may be too warm".to_owned(),
            };
            r.report(&below.place, kind);
        }
    }
    Some(CoolDown {
        below_c: below_c.given().map(|below| below.value),
        at_most: at_most.given().map(|time| time.value),
        pause: pause.given().map(|time| time.value),
    })
}

#[cfg(test)]
mod tests;
