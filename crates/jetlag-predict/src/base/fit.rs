//! Coefficients of a base, from rows.

use jetlag_stats::nonnegative::nnls;

use super::{Base, Column, Form, Joined, hypotheses, norm, parts, step_ms};
use crate::dataset::Target;
use crate::features::{Device, Terms};

/// One row to fit: its terms, its board, its value.
pub(crate) type Point<'a> = (&'a Terms, &'a Device, f64);

/// How much worse than the best a hypothesis across modes, or of inference, may fit.
const WORSE: f64 = 1.25;

/// How much a byte that is known to be held counts as one, beside all rows together.
const HELD: f64 = 0.3;

/// Fits all hypotheses of a target; `time` is the base of what a step takes, for energy and power across modes.
///
/// Of training steps, energy and power all are kept: which is best differs from network to network. Across modes of the same network it does
/// not, nor what a runtime does in inference, and those that fit the rows worse are dropped; the best comes first.
pub(crate) fn fitted(
    target: Target,
    form: Form,
    points: &[Point<'_>],
    ceiling: Option<f64>,
    time: Option<&Base>,
) -> Vec<Base> {
    let each = hypotheses(target, form).map(|hypothesis| fit(target, hypothesis, points, ceiling, time));
    let mut all: Vec<Base> = each.collect();
    if hypotheses(target, form).start == 0 || all.len() == 1 || points.is_empty() {
        return all;
    }
    let error = |base: &Base| -> f64 {
        let of = |(terms, device, value): &Point<'_>| (base.say(terms, device).value - value).abs() / value;
        points.iter().map(of).sum()
    };
    all.sort_by(|a, b| error(a).total_cmp(&error(b)));
    let best = all.first().map_or(f64::INFINITY, error);
    // The first stays also where nothing could be learnt.
    let kept = all
        .iter()
        .skip(1)
        .take_while(|base| error(base) <= WORSE * best)
        .count()
        + 1;
    all.truncate(kept);
    all
}

/// Fits a hypothesis to rows; `ceiling` is the most that the board has, where rows have shown it.
fn fit(
    target: Target,
    hypothesis: usize,
    points: &[Point<'_>],
    ceiling: Option<f64>,
    time: Option<&Base>,
) -> Base {
    let parts = parts(target, hypothesis);
    let columns = |columns: &[Column]| -> Vec<Vec<f64>> {
        let row = |(terms, device, value): &Point<'_>| {
            let time_ms = step_ms(time, terms, device);
            columns
                .iter()
                .map(|column| column.value(terms, device, time_ms) / value)
                .collect()
        };
        points.iter().map(row).collect()
    };
    let (floor_rows, line_rows) = (columns(&parts.floor), columns(&parts.line));
    let rest_rows = columns(&parts.rest);
    let mut base = Base {
        target,
        hypothesis,
        floor: Vec::new(),
        line: Vec::new(),
        rest: Vec::new(),
        time: time.cloned().map(Box::new),
        floor_value: None,
        ceiling: None,
    };
    match parts.joined {
        Joined::Sum => base.line = nnls(&line_rows, &vec![1.0; points.len()]),
        Joined::Overlapping | Joined::Roofline => {
            [base.floor, base.line, base.rest] = overlapping(&floor_rows, &line_rows, &rest_rows);
        }
        Joined::Clipped => {
            let values: Vec<f64> = points.iter().map(|point| point.2).collect();
            let held = |column: &Column| matches!(column, Column::Held(_));
            let held: Vec<bool> = parts.line.iter().map(held).collect();
            (base.line, base.floor_value) = clipped(&line_rows, &held, &values, ceiling);
            base.ceiling = ceiling;
        }
    }
    base
}

/// The norm is of degree one, so it is the sum of its parts, each weighted by (part / whole)³: solved again with the weights of
/// the last solution until they settle. A rest is added to it, and so keeps its weight.
fn overlapping(floor: &[Vec<f64>], line: &[Vec<f64>], rest: &[Vec<f64>]) -> [Vec<f64>; 3] {
    let ones = vec![1.0; floor.len()];
    let mut weights = vec![[1.0_f64; 2]; floor.len()];
    let of_floor = floor.first().map_or(0, Vec::len);
    let of_line = line.first().map_or(0, Vec::len);
    let mut solution = Vec::new();
    for _ in 0..20 {
        let rows: Vec<Vec<f64>> = floor
            .iter()
            .zip(line)
            .zip(rest)
            .zip(&weights)
            .map(|(((floor, line), rest), [a, b])| {
                floor
                    .iter()
                    .map(|x| x * a)
                    .chain(line.iter().map(|x| x * b))
                    .chain(rest.iter().copied())
                    .collect()
            })
            .collect();
        solution = nnls(&rows, &ones);
        let (floor_x, others) = solution.split_at(of_floor);
        let line_x = &others[..of_line];
        let product = |row: &[f64], x: &[f64]| row.iter().zip(x).map(|(a, x)| a * x).sum::<f64>();
        for ((floor, line), weight) in floor.iter().zip(line).zip(&mut weights) {
            let (u, v) = (product(floor, floor_x), product(line, line_x));
            if u.max(v) <= 0.0 {
                continue;
            }
            let whole = norm(u, v);
            let cube = |x: f64| x * x * x;
            // Half of the way, so that rows do not jump between the parts.
            weight[0] = 0.5 * weight[0] + 0.5 * cube(u / whole);
            weight[1] = 0.5 * weight[1] + 0.5 * cube(v / whole);
        }
    }
    let rest = solution.split_off(of_floor + of_line);
    let line = solution.split_off(of_floor);
    [solution, line, rest]
}

/// Rows on the floor and at the ceiling tell nothing of the line, so they are left aside when it is fitted. Which lie on the floor
/// depends on the line and the floor: floors at several quantiles are tried, and the one with the least relative error stays.
fn clipped(
    line: &[Vec<f64>],
    held: &[bool],
    values: &[f64],
    ceiling: Option<f64>,
) -> (Vec<f64>, Option<f64>) {
    let below_ceiling = |value: f64| ceiling.is_none_or(|ceiling| value < 0.97 * ceiling);
    let solve = |free: &[bool]| {
        let mut rows: Vec<Vec<f64>> = line
            .iter()
            .zip(free)
            .filter(|(_, free)| **free)
            .map(|(row, _)| row.clone())
            .collect();
        let mut wanted = vec![1.0; rows.len()];
        let bytes = towards_one(&rows, held);
        wanted.extend(bytes.iter().map(|row| row.iter().sum::<f64>()));
        rows.extend(bytes);
        nnls(&rows, &wanted)
    };
    let said = |x: &[f64]| -> Vec<f64> {
        let product =
            |(row, value): (&Vec<f64>, &f64)| row.iter().zip(x).map(|(a, x)| a * x).sum::<f64>() * value;
        line.iter().zip(values).map(product).collect()
    };
    let loss = |said: &[f64], floor: f64| -> f64 {
        let clip = |said: f64| ceiling.map_or(said.max(floor), |ceiling| said.max(floor).min(ceiling));
        said.iter()
            .zip(values)
            .map(|(said, value)| (clip(*said) - value).abs() / value)
            .sum()
    };
    let free: Vec<bool> = values.iter().map(|value| below_ceiling(*value)).collect();
    let plain = solve(if free.contains(&true) { &free } else { &[] });
    // A floor has to be worth its while: one that hardly helps is a line's error.
    let mut best = (0.95 * loss(&said(&plain), 0.0), plain, None);
    let columns = line.first().map_or(0, Vec::len);
    for step in 1..=12 {
        let mut floor = quantile(values, 0.05 * f64::from(step));
        let mut free: Vec<bool> = values
            .iter()
            .map(|y| *y > 1.05 * floor && below_ceiling(*y))
            .collect();
        for _ in 0..8 {
            if free.iter().filter(|free| **free).count() < columns + 4 {
                break;
            }
            let x = solve(&free);
            let raw = said(&x);
            let under: Vec<f64> = raw
                .iter()
                .zip(values)
                .filter(|(raw, _)| **raw < floor)
                .map(|(_, y)| *y)
                .collect();
            if under.len() >= (values.len() / 20).max(4) {
                floor = quantile(&under, 0.5);
                let loss = loss(&raw, floor);
                if loss < best.0 {
                    best = (loss, x, Some(floor));
                }
            }
            let now: Vec<bool> = raw
                .iter()
                .zip(values)
                .map(|(raw, y)| *raw >= floor && below_ceiling(*y))
                .collect();
            if now == free {
                break;
            }
            free = now;
        }
    }
    (best.1, best.2)
}

/// Rows that say that columns of held bytes have the coefficient 1, each as heavily as the column is in all rows.
fn towards_one(rows: &[Vec<f64>], held: &[bool]) -> Vec<Vec<f64>> {
    let row = |at: usize| {
        let length: f64 = rows.iter().map(|row| row[at] * row[at]).sum();
        let mut own = vec![0.0; held.len()];
        own[at] = libm::sqrt(HELD * length);
        own
    };
    let columns = held.iter().enumerate().filter(|(_, held)| **held);
    columns.map(|(at, _)| row(at)).collect()
}

fn quantile(values: &[f64], part: f64) -> f64 {
    crate::score::quantile(values, part).unwrap_or(f64::NAN)
}
