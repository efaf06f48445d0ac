//! A stressor: what may be written of it, and its rules.

use super::rules::require;
use super::{Resource, Stress};
use crate::units::Nanos;
use crate::written::{Fields, Place, ProblemKind, Read, Reader, Spot, one_of};

/// A stressor's fields, as written in the file.
#[derive(Debug)]
pub(super) struct StressFile {
    resource: Spot<Resource>,
    level: Spot<f64>,
    burst: Read<Nanos>,
}

pub(super) fn read(r: &mut Reader, fields: &Fields<'_>) -> Option<StressFile> {
    let resource = r.required(fields, "resource", "resource: Dram", one_of("resource"));
    let level = r.required(fields, "level", "level: 0.5", Reader::number);
    let burst = r.optional(fields, "burst", Reader::duration);
    Some(StressFile {
        resource: resource?,
        level: level?,
        burst,
    })
}

/// `label` is "tenant `dram`".
pub(super) fn resolve(typed: &StressFile, label: &str, r: &mut Reader) -> Stress {
    let of = |field: &str| format!("`{field}` of {label}");
    let level = typed.level.value;
    let is_level = (0.001..=1.0).contains(&level);
    let wanted = "from 0.001 to 1: a share of the resource's full load";
    require(r, &typed.level, is_level, of("level"), wanted);
    if let Some(spot) = typed.burst.given() {
        let ok = (Nanos::from_micros(100)..=Nanos::from_millis(100)).contains(&spot.value);
        let wanted =
            "from 100us to 100ms: shorter bursts cannot start in time, longer ones are not a steady load";
        require(r, spot, ok, of("burst"), wanted);
    }
    Stress {
        resource: typed.resource.value,
        level: if is_level { level } else { 1.0 },
        burst: typed.burst.or(Nanos::from_millis(1)),
    }
}

/// Fields of a tenant that a stressor has no use for, or whose value follows from its level.
pub(super) fn contradictions<'a>(
    given: impl Iterator<Item = (&'static str, &'a Place)>,
    label: &str,
    r: &mut Reader,
) {
    for (field, place) in given {
        let (why, advice) = match field {
            "arrival" => (
                "a stressor's `level` and `burst` define when its bursts are due",
                "leave `arrival` out, or change `level` or `burst`",
            ),
            _ => (
                "a stressor generates its own load and processes no frames",
                "leave it out, or choose a backend that runs detectors",
            ),
        };
        let kind = ProblemKind::Contradiction {
            what: format!("`{field}` of {label}"),
            why: why.to_owned(),
            advice: advice.to_owned(),
        };
        r.report(place, kind);
    }
}
