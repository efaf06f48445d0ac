//! How each tenant's times go with the size of its input: a sentence, a drawing, and the slope of each part.

use jetlag_figure::section::{Cell, Table, Tone};

use super::{Drawing, Section};
use crate::analysis::Summary;
use crate::analysis::summary::InputEffect;
use crate::analysis::summary::input_effect::{Counted, SizeSlope, WhyWithheld, Withheld};
use crate::digits::Digits;
use crate::number::{TimeUnit, percent};

/// The section; none where sizes are not known or hardly differ.
pub(super) fn section(summary: &Summary) -> Option<Section> {
    let note = "what larger inputs cost, beside slow changes of the machine; 95 % interval";
    let section = Section::new("sizes", "Input size", note).explained(
        "The line is the slope through the mean, between those of its 95 % interval. It compares inputs: what else larger ones have \
         in common is in it too.",
    );
    let told = summary.tenants.iter().enumerate().filter_map(|(number, tenant)| {
        let effect = tenant.input_effect.as_ref()?;
        Some((number, &tenant.name, effect, in_words(effect)?))
    });
    let all = told.fold(section, |section, (number, name, effect, said)| {
        let section = section.texts([format!("{name}: {said}")]);
        let is_drawn = summary
            .plots
            .tenants
            .get(number)
            .is_some_and(|plot| plot.sizes.is_some());
        match is_drawn {
            true => section
                .drawing(Drawing::Sizes(number))
                .table(slopes(name, effect)),
            false => section,
        }
    });
    all.unless_empty()
}

/// The slope of each part of a frame's time.
fn slopes(name: &str, effect: &InputEffect) -> Table {
    let durations = [("service", effect.service), ("response", effect.response)];
    let durations = durations
        .into_iter()
        .filter_map(|(name, slope)| Some((name, slope?)));
    let rows: Vec<(&str, SizeSlope)> = durations.chain(effect.stages.iter().copied()).collect();
    let size = |slope: &SizeSlope| slope.slope_ms.unwrap_or(0.0).abs();
    let largest = rows
        .iter()
        .map(|(_, slope)| slope)
        .max_by(|a, b| size(a).total_cmp(&size(b)));
    let unit = largest.map_or(TimeUnit::Millis, unit_of);
    let caption = format!(
        "{name}, {} {}, over {} inputs",
        unit.name(),
        per(effect),
        effect.inputs
    );
    let mut table = Table::new(caption)
        .words("part")
        .number("slope")
        .number(format!("p10 to p90, {}", unit.name()))
        .numbers(["correlation", "share of variance"]);
    for (name, slope) in rows {
        table.detail(row(name, &slope, effect, unit));
    }
    table
}

fn row(name: &str, slope: &SizeSlope, effect: &InputEffect, unit: TimeUnit) -> Vec<Cell> {
    let (Some(value), Some(ci95)) = (slope.slope_ms, slope.ci95) else {
        let why = slope.withheld.map(|withheld| reason(withheld, effect));
        let mut row = vec![Cell::new(name).note(why.unwrap_or_default())];
        row.extend(std::iter::repeat_with(Cell::unknown).take(4));
        return row;
    };
    let tone = if slope.is_clear() { Tone::Strong } else { Tone::Dim };
    vec![
        Cell::new(name),
        Cell::new(signed(value, ci95, unit))
            .note(ends(ci95, unit))
            .tone(tone),
        Cell::of(slope.across_ms, |ms| signed(ms, [ms; 2], unit)),
        Cell::of(slope.correlation, |r| format!("{r:+.2}").replace('-', "−")),
        Cell::of(slope.variance_share, percent),
    ]
}

/// What is known of a tenant, in a sentence; `None` where sizes hardly differ.
fn in_words(effect: &InputEffect) -> Option<String> {
    if effect.withheld.is_some() {
        return None;
    }
    let service = effect.service?;
    let (Some(slope), Some(ci95)) = (service.slope_ms, service.ci95) else {
        let why = service.withheld.map(|withheld| reason(withheld, effect))?;
        return Some(format!("withheld: {why}."));
    };
    let (unit, over) = (unit_of(&service), span(effect));
    let (per, name) = (per(effect), unit.name());
    if !service.is_clear() {
        let ends = ends(ci95, unit);
        return Some(format!(
            "no effect found on service: {ends} {name} {per}, over {over}."
        ));
    }
    let mut said = format!(
        "service {} {name} {per} ({}), over {over}",
        signed(slope, ci95, unit),
        ends(ci95, unit)
    );
    if let Some(stage) = effect.most_in {
        said += &format!(", most of it in {stage}");
    }
    if let Some(response) = effect.response.filter(|response| differs(response, slope)) {
        let told = response.slope_ms.zip(response.ci95);
        said += &told.map_or(String::new(), |(slope, ci95)| {
            format!(
                "; response {} {name} ({}), with the wait for earlier frames",
                signed(slope, ci95, unit),
                ends(ci95, unit)
            )
        });
    }
    Some(said + ".")
}

/// Whether the response time's slope is another than that of the service time.
fn differs(response: &SizeSlope, service: f64) -> bool {
    response
        .ci95
        .is_some_and(|[low, high]| service < low || high < service)
}

/// A unit in which slope and interval have few digits: microseconds where both are below a tenth of a millisecond.
fn unit_of(slope: &SizeSlope) -> TimeUnit {
    let ends = slope.ci95.unwrap_or_default();
    TimeUnit::for_millis(ends.into_iter().chain(slope.slope_ms).map(|ms| 10.0 * ms.abs()))
}

fn in_unit(ms: f64, unit: TimeUnit) -> f64 {
    match unit {
        TimeUnit::Millis => ms,
        TimeUnit::Micros => ms * 1e3,
    }
}

/// A slope with its sign, and the digits of its interval.
fn signed(slope: f64, ci95: [f64; 2], unit: TimeUnit) -> String {
    let ends = ci95.map(|end| in_unit(end, unit));
    Digits::of_interval(ends, Digits::of).signed(in_unit(slope, unit))
}

/// Both ends of its interval, with their signs.
fn ends(ci95: [f64; 2], unit: TimeUnit) -> String {
    let ends = ci95.map(|end| in_unit(end, unit));
    let digits = Digits::of_interval(ends, Digits::of);
    ends.map(|end| digits.signed(end)).join(" to ")
}

/// What a slope is per.
fn per(effect: &InputEffect) -> &'static str {
    match effect.of {
        Some(Counted::Points) => "per 1000 points",
        Some(Counted::Pixels) => "per megapixel",
        None => "per 1000 points or pixels",
    }
}

/// From p10 to p90 of the sizes.
fn span(effect: &InputEffect) -> String {
    let ends = [effect.size.p10, effect.size.p90].map(f64::from);
    let (by, what) = match effect.of {
        Some(Counted::Points) => (1e3, "k points"),
        Some(Counted::Pixels) => (1e6, "megapixels"),
        None => (1e3, "k points or pixels"),
    };
    let ends = ends.map(|end| end / by);
    let digits = Digits::of_interval(ends, |end| {
        if end < 10.0 {
            Digits::of(end)
        } else {
            Digits::of_percent(end * 0.05)
        }
    });
    format!("{} {what}", ends.map(|end| digits.show(end)).join(" to "))
}

/// Why nothing is told, and what it takes.
fn reason(withheld: Withheld, effect: &InputEffect) -> String {
    let needs = withheld.needs.unwrap_or(0);
    match withheld.why {
        WhyWithheld::SizesAlike => "sizes hardly differ".to_owned(),
        WhyWithheld::FewInputs => format!("it needs about {needs} distinct inputs, and there are {}", effect.inputs),
        WhyWithheld::SlowSizes => {
            "sizes change only slowly, together with everything else that does; it needs sizes that change from frame to \
             frame"
                .to_owned()
        }
        WhyWithheld::FewStretches => {
            "a few stretches with unusual sizes decide; it needs more of them".to_owned()
        }
        WhyWithheld::WideInterval => match withheld.needs {
            Some(needs) => format!("the interval is too wide; it needs about {needs} distinct inputs"),
            None => "the interval is too wide".to_owned(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::summary::input_effect::Sizes;

    fn effect() -> InputEffect {
        InputEffect {
            of: Some(Counted::Points),
            per: 1000,
            frames: 600,
            inputs: 600,
            size: Sizes {
                p10: 28_140,
                p50: 31_000,
                p90: 34_960,
            },
            withheld: None,
            service: Some(told(1.2, [1.1, 1.3])),
            response: Some(told(1.25, [1.1, 1.4])),
            stages: vec![],
            most_in: Some("postprocess"),
        }
    }

    fn told(slope: f64, ci95: [f64; 2]) -> SizeSlope {
        SizeSlope {
            slope_ms: Some(slope),
            ci95: Some(ci95),
            ..SizeSlope::default()
        }
    }

    fn untold(why: WhyWithheld, needs: Option<u64>) -> Option<SizeSlope> {
        Some(SizeSlope {
            withheld: Some(Withheld { why, needs }),
            ..SizeSlope::default()
        })
    }

    #[test]
    fn a_slope_is_told_with_its_interval_its_range_and_its_stage() {
        let said = |effect: &InputEffect| in_words(effect).unwrap();
        assert_eq!(
            said(&effect()),
            "service +1.20 ms per 1000 points (+1.10 to +1.30), over 28.1 to 35.0 k points, most of it in postprocess."
        );
        let queued = InputEffect {
            response: Some(told(3.0, [2.0, 4.0])),
            most_in: None,
            ..effect()
        };
        assert_eq!(
            said(&queued),
            "service +1.20 ms per 1000 points (+1.10 to +1.30), over 28.1 to 35.0 k points; response +3.00 ms (+2.00 to \
             +4.00), with the wait for earlier frames."
        );
        let nothing = InputEffect {
            service: Some(told(0.003, [-0.01, 0.016])),
            ..effect()
        };
        assert_eq!(
            said(&nothing),
            "no effect found on service: −10.00 to +16.00 µs per 1000 points, over 28.1 to 35.0 k points."
        );
    }

    #[test]
    fn what_is_withheld_says_what_it_takes_and_sizes_that_are_alike_say_nothing() {
        let with = |service| InputEffect { service, ..effect() };
        assert_eq!(
            in_words(&with(untold(WhyWithheld::FewInputs, Some(40)))).unwrap(),
            "withheld: it needs about 40 distinct inputs, and there are 600."
        );
        let alike = InputEffect {
            withheld: Some(Withheld {
                why: WhyWithheld::SizesAlike,
                needs: None,
            }),
            service: None,
            ..effect()
        };
        assert_eq!(in_words(&alike), None);
    }

    #[test]
    fn pixels_are_told_in_megapixels() {
        let images = InputEffect {
            of: Some(Counted::Pixels),
            per: 1_000_000,
            size: Sizes {
                p10: 307_200,
                p50: 921_600,
                p90: 2_073_600,
            },
            ..effect()
        };
        assert_eq!(
            (per(&images), span(&images).as_str()),
            ("per megapixel", "0.31 to 2.07 megapixels")
        );
    }
}
