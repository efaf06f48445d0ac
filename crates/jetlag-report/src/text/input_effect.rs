//! How each tenant's times go with the size of its input, in a line each.

use super::{heading, name_of, wrapped};
use crate::Style;
use crate::analysis::Summary;
use crate::analysis::summary::InputEffect;
use crate::analysis::summary::input_effect::{Counted, SizeSlope, WhyWithheld, Withheld};
use crate::digits::Digits;
use crate::number::TimeUnit;
use crate::table::Ink;

/// The section; empty where sizes are not known or hardly differ.
pub(super) fn section(summary: &Summary, style: &Style) -> String {
    let lines: Vec<String> = summary
        .tenants
        .iter()
        .filter_map(|tenant| {
            let said = in_words(tenant.input_effect.as_ref()?)?;
            Some(format!("{}: {said}", name_of(tenant, style)))
        })
        .flat_map(|line| wrapped(&line, usize::from(style.width.max(60)) - 2))
        .collect();
    if lines.is_empty() {
        return String::new();
    }
    let note = "what larger inputs go with, beside slow changes; 95 % interval";
    lines
        .iter()
        .fold(heading("INPUT SIZE", note, style), |text, line| {
            text + &format!("  {}\n", Ink::Plain.paint(line, style))
        })
}

/// What is known of a tenant, in a sentence; `None` where sizes hardly differ.
pub(crate) fn in_words(effect: &InputEffect) -> Option<String> {
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
pub(crate) fn unit_of(slope: &SizeSlope) -> TimeUnit {
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
pub(crate) fn signed(slope: f64, ci95: [f64; 2], unit: TimeUnit) -> String {
    let ends = ci95.map(|end| in_unit(end, unit));
    Digits::of_interval(ends, Digits::of).signed(in_unit(slope, unit))
}

/// Both ends of its interval, with their signs.
pub(crate) fn ends(ci95: [f64; 2], unit: TimeUnit) -> String {
    let ends = ci95.map(|end| in_unit(end, unit));
    let digits = Digits::of_interval(ends, Digits::of);
    ends.map(|end| digits.signed(end)).join(" to ")
}

/// What a slope is per.
pub(crate) fn per(effect: &InputEffect) -> &'static str {
    match effect.of {
        Some(Counted::Points) => "per 1000 points",
        Some(Counted::Pixels) => "per megapixel",
        None => "per 1000 points or pixels",
    }
}

/// From p10 to p90 of the sizes.
pub(crate) fn span(effect: &InputEffect) -> String {
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
pub(crate) fn reason(withheld: Withheld, effect: &InputEffect) -> String {
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
        for why in [
            WhyWithheld::SlowSizes,
            WhyWithheld::FewStretches,
            WhyWithheld::WideInterval,
        ] {
            let said = in_words(&with(untold(why, None))).unwrap();
            assert!(said.starts_with("withheld: ") && said.ends_with('.'), "{said}");
        }
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
