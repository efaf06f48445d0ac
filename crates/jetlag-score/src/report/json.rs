//! Figures as JSON. What is not known is null, with the reason beside it.

use serde_json::{Map, Value, json};

use super::{Comparison, Drawn, Scores};
use crate::bootstrap::{Interval, NoInterval};

fn interval(into: &mut Map<String, Value>, interval: &Result<Interval, NoInterval>) {
    match interval {
        Ok(interval) => {
            into.insert("interval".to_owned(), json!([interval.low, interval.high]));
        }
        Err(why) => {
            into.insert("interval".to_owned(), Value::Null);
            into.insert("no_interval".to_owned(), json!(why.to_string()));
        }
    }
}

fn drawn(drawn: &Drawn) -> Value {
    json!({
        "units": drawn.units, "of": drawn.what, "resamples": drawn.settings.resamples, "level": drawn.settings.level,
        "seed": drawn.settings.seed,
    })
}

pub(super) fn scores(scores: &Scores) -> Value {
    let figures = scores.figures.iter().map(|scored| {
        let mut figure = Map::new();
        figure.insert("value".to_owned(), json!(scored.figure.value));
        if let Some(why) = scored.figure.why {
            figure.insert("why".to_owned(), json!(why));
        }
        if let Some(of) = &scored.interval {
            interval(&mut figure, of);
        }
        (scored.figure.name.clone(), Value::Object(figure))
    });
    json!({
        "benchmark": scores.benchmark, "mode": scores.mode.name(), "frames": scores.frames,
        "figures": figures.collect::<Map<_, _>>(), "bootstrap": scores.drawn.as_ref().map(drawn), "notes": scores.notes,
    })
}

pub(super) fn comparison(comparison: &Comparison) -> Value {
    let figures = comparison.differences.iter().map(|difference| {
        let mut figure = Map::new();
        figure.insert("first".to_owned(), json!(difference.first.value));
        figure.insert("second".to_owned(), json!(difference.second.value));
        figure.insert("difference".to_owned(), json!(difference.difference));
        if let Some(why) = difference.first.why.or(difference.second.why) {
            figure.insert("why".to_owned(), json!(why));
        }
        interval(&mut figure, &difference.interval);
        (difference.first.name.clone(), Value::Object(figure))
    });
    json!({
        "benchmark": comparison.benchmark, "mode": comparison.mode.name(), "frames": comparison.frames,
        "runs": comparison.names, "figures": figures.collect::<Map<_, _>>(), "bootstrap": drawn(&comparison.drawn),
        "notes": comparison.notes,
    })
}
