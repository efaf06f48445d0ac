//! What a run measures besides all tenants together: the matrix of pairs, and the duty cycle, which is several rates of one tenant; as typed and as
//! meant.
//!
//! Which phases come of them, and in which order, is `commands/phases.rs`'s affair.

use super::rules::{self, require};
use super::{BackendChoice, ClockKind, DutyCycle, Matrix, RATES, Sharing, Tenant};
use crate::nearest::nearest;
use crate::written::{Node, Place, ProblemKind, Read, Reader, Spot, one_of, shown};

/// `matrix: (sharing: [Streams, Exclusive], inputs: [["camera-clear", "camera-rain"], ["lidar-clear", "lidar-rain"]])`.
#[derive(Debug, Clone, Default)]
pub(super) struct MatrixFile {
    sharing: Read<Vec<Spot<Sharing>>>,
    inputs: Read<Vec<Spot<Vec<Spot<String>>>>>,
}

/// `duty_cycle: (tenant: "camera", hz: [1, 5, 10], closed: true)`.
#[derive(Debug, Clone, Default)]
pub(super) struct DutyCycleFile {
    tenant: Option<Spot<String>>,
    hz: Read<Vec<Spot<f64>>>,
    closed: Read<bool>,
}

/// What to do about a matrix of too many turns.
pub(crate) const FEWER: &str = "leave tenants or ways of sharing out, or make several scenarios";

/// More steps than anybody waits for.
const MOST_STEPS: usize = 100;

pub(super) fn read_matrix(r: &mut Reader, node: &Node, field: &str) -> Option<MatrixFile> {
    let example = "fields in parentheses, such as (sharing: [Streams]), or ()";
    let fields = r.record(node, field, "Matrix", example, &["sharing", "inputs"])?;
    Some(MatrixFile {
        sharing: r.optional(&fields, "sharing", |r, node, field| {
            let expected = "a list of sharing modes, such as [Streams, Exclusive]";
            r.list(node, field, expected, one_of("sharing"))
        }),
        inputs: r.optional(&fields, "inputs", |r, node, field| {
            let expected =
                "a list of lists of tenants, such as [[\"camera-clear\", \"camera-rain\"], [\"lidar\"]]";
            r.list(node, field, expected, |r, node, field| {
                r.list(node, field, "a list of tenants' names", Reader::text)
            })
        }),
    })
}

pub(super) fn read_duty_cycle(r: &mut Reader, node: &Node, field: &str) -> Option<DutyCycleFile> {
    let example = "fields in parentheses, such as (tenant: \"camera\", hz: [1, 10, 30], closed: true)";
    let fields = r.record(node, field, "DutyCycle", example, &["tenant", "hz", "closed"])?;
    Some(DutyCycleFile {
        tenant: r.required(&fields, "tenant", "tenant: \"camera\"", Reader::text),
        hz: r.optional(&fields, "hz", |r, node, field| {
            r.list(node, field, "a list of rates, such as [1, 10, 30]", Reader::rate)
        }),
        closed: r.optional(&fields, "closed", Reader::flag),
    })
}

/// The matrix as meant: the scenario's own way of sharing is always among the ways, and first.
pub(super) fn matrix(
    typed: &Read<MatrixFile>,
    own: Sharing,
    clock: ClockKind,
    tenants: &[Tenant],
    r: &mut Reader,
) -> Option<Matrix> {
    let Spot { value: typed, place } = typed.given()?;
    if tenants.len() < 2 {
        let why = "a matrix needs pairs, but there are fewer than two tenants";
        contradiction(r, place, "matrix", why, "leave it out, or add a tenant");
    }
    let mut ways = vec![own];
    for spot in typed.sharing.given().map_or(&[][..], |list| &list.value) {
        rules::sharing(spot.value, &spot.place, clock, r);
        if !ways.contains(&spot.value) {
            ways.push(spot.value);
        }
    }
    if ways.len() > 1 && ways.contains(&Sharing::Processes) {
        let why = "Processes cannot be mixed with other sharing modes in one run: its tenants are separate processes from the start";
        let advice = "make two scenarios, and compare them with jetlag compare";
        let place = typed.sharing.given().map_or(place, |list| &list.place);
        contradiction(r, place, "matrix", why, advice);
    }
    let groups = typed.inputs.given().map_or(&[][..], |list| &list.value);
    if let Some(spot) = typed.inputs.given()
        && spot.value.len() < 2
    {
        let why = "the effect of a co-runner's input needs a co-runner";
        let advice = "give at least two lists, one for each detector";
        contradiction(r, &spot.place, "inputs", why, advice);
    }
    let mut seen: Vec<&Spot<String>> = Vec::new();
    for spot in groups.iter().flat_map(|group| &group.value) {
        known_tenant(spot, "`inputs` of `matrix`", tenants, r);
        if let Some(first) = seen.iter().find(|earlier| earlier.value == spot.value) {
            let kind = ProblemKind::Twice {
                what: format!("tenant `{}` in `inputs`", shown(&spot.value)),
                first: first.place.clone(),
            };
            r.report(&spot.place, kind);
        }
        seen.push(spot);
    }
    let names = |group: &Spot<Vec<Spot<String>>>| group.value.iter().map(|name| name.value.clone()).collect();
    let matrix = Matrix {
        sharing: ways,
        inputs: groups.iter().map(names).collect(),
    };
    if let Some(why) = matrix.too_large(tenants) {
        contradiction(r, place, "matrix", &why, FEWER);
    }
    Some(matrix)
}

/// The duty cycle as meant.
pub(super) fn duty_cycle(
    typed: &Read<DutyCycleFile>,
    clock: ClockKind,
    tenants: &[Tenant],
    r: &mut Reader,
) -> Option<DutyCycle> {
    let Spot { value: typed, place } = typed.given()?;
    let name = typed.tenant.as_ref()?;
    known_tenant(name, "`tenant` of `duty_cycle`", tenants, r);
    let rates = typed.hz.given().map_or(&[][..], |list| &list.value);
    for spot in rates {
        require(
            r,
            spot,
            RATES.contains(&spot.value),
            "`hz` of `duty_cycle`",
            "from 0.001 to 100000",
        );
    }
    let closed = typed.closed.or(false);
    if rates.is_empty() && !closed && !matches!(typed.hz, Read::Wrong) {
        let kind = ProblemKind::Missing {
            field: "hz",
            owner: "`duty_cycle`".into(),
            example: "hz: [1, 5, 10, 30], or closed: true".into(),
        };
        r.report(place, kind);
    }
    if rates.len() > MOST_STEPS {
        let wanted = format!("at most {MOST_STEPS} rates");
        let kind = ProblemKind::OutOfRange {
            what: "`hz` of `duty_cycle`".into(),
            found: format!("{} rates", rates.len()),
            wanted,
        };
        r.report(place, kind);
    }
    let tenant = tenants.iter().find(|tenant| tenant.name == name.value);
    if tenant.is_some_and(|tenant| tenant.stress().is_some()) {
        let why = "a stressor's `level` and `burst` define when its bursts are due";
        let advice = "name a detector, or give several stressors of different levels and run --matrix";
        let kind = ProblemKind::Contradiction {
            what: "`tenant` of `duty_cycle`".to_owned(),
            why: why.to_owned(),
            advice: advice.to_owned(),
        };
        r.report(&name.place, kind);
    }
    if tenant.is_some_and(|tenant| tenant.source.is_live()) {
        let why = "a camera gives its frames when it has them, at no other rate";
        let kind = ProblemKind::Contradiction {
            what: "`tenant` of `duty_cycle`".to_owned(),
            why: why.to_owned(),
            advice: "name a tenant with a recorded source".to_owned(),
        };
        r.report(&name.place, kind);
    }
    let endless = |tenant: &Tenant| tenant.backend == BackendChoice::Null && tenant.frames.is_none();
    if closed && clock == ClockKind::Virtual && tenant.is_some_and(endless) {
        let why = "Null takes no time and a closed loop has no gaps, so virtual time would stand still";
        contradiction(
            r,
            place,
            "closed",
            why,
            "leave it out, or set the tenant's backend: Sim(…)",
        );
    }
    let mut hz: Vec<f64> = Vec::new();
    for spot in rates {
        if !hz.contains(&spot.value) {
            hz.push(spot.value);
        }
    }
    Some(DutyCycle {
        tenant: name.value.clone(),
        hz,
        closed,
    })
}

fn known_tenant(spot: &Spot<String>, what: &str, tenants: &[Tenant], r: &mut Reader) {
    let names = || tenants.iter().map(|tenant| tenant.name.as_str());
    let known = names().any(|name| name == spot.value);
    let meant =
        nearest(&spot.value, names()).map_or(String::new(), |name| format!("; did you mean `{name}`?"));
    let wanted = format!(
        "a tenant's name{meant} tenants here: {}",
        names().collect::<Vec<_>>().join(", ")
    );
    require(r, spot, known, what, &wanted);
}

fn contradiction(r: &mut Reader, place: &Place, what: &str, why: &str, advice: &str) {
    let kind = ProblemKind::Contradiction {
        what: format!("`{what}`"),
        why: why.to_owned(),
        advice: advice.to_owned(),
    };
    r.report(place, kind);
}
