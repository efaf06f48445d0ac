//! What a stressor cannot have.

use crate::written::{Place, ProblemKind, Reader};

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
