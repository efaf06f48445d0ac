//! From the scenario as typed to the scenario as meant: defaults filled in once, and every rule checked.
//!
//! This file has the entry points and the rules of a scenario as a whole; those of one tenant are in
//! `tenant.rs`. A rule that fails adds a problem and puts a harmless value in the result, which is then
//! never handed out: a scenario is returned only if there are no problems at all.

use std::path::Path;

use crate::files;
use crate::units::Nanos;
use crate::written::{Place, ProblemKind, Problems, Reader, Spot, parse, shown};

use super::ResolveEnv;
use super::copies;
use super::file::{self, ScenarioFile};
use super::rules::{self, Context, Whole, require};
use super::shared;
use super::steps;
use super::tenant::resolve_tenant;
use super::{BackendChoice, ClockKind, FORMAT, Mps, Scenario, Sharing, Tenant, set};

/// Reads a scenario file, applies the `--set` overrides (`path=value` each) and resolves it. Paths in it
/// are relative to its folder, or else to the current one.
pub fn load(path: &Path, sets: &[String], env: &ResolveEnv) -> Result<Scenario, Problems> {
    let name = path.display().to_string();
    let text = files::read_given_text(path, FORMAT.longest)
        .map_err(|error| Problems::unreadable(&name, &FORMAT, error.to_string()))?;
    from_str(&text, &name, path.parent().unwrap_or(Path::new("")), sets, env)
}

/// As [`load`], for text at hand: `shown_name` stands in messages and names the scenario where it does not
/// name itself; paths in it are relative to `base_dir`, or else to the current folder.
pub fn from_str(
    text: &str,
    shown_name: &str,
    base_dir: &Path,
    sets: &[String],
    env: &ResolveEnv,
) -> Result<Scenario, Problems> {
    let (root, mut problems) = parse(text, &FORMAT);
    let has_gaps = !problems.is_empty();
    let mut reader = Reader::default();
    let mut scenario = None;
    if let Some(mut root) = root {
        let overrides = set::apply(&mut root, sets);
        let typed = file::read(&mut reader, &root);
        if has_gaps {
            reader.forget_doubtful(&problems);
        } else {
            problems.extend(overrides);
            let context = Context { env, base_dir };
            scenario = typed.map(|typed| resolve(&typed, shown_name, &context, &mut reader));
        }
    }
    problems.append(&mut reader.problems);
    match scenario {
        Some(scenario) if problems.is_empty() => Ok(scenario),
        _ => Err(Problems::new(shown_name, problems)),
    }
}

/// In a shorter turn few tenants would have a frame.
const SHORTEST_TURN: Nanos = Nanos::from_millis(100);

fn resolve(typed: &ScenarioFile<'_>, shown_name: &str, context: &Context<'_>, r: &mut Reader) -> Scenario {
    let Scenario {
        duration,
        seed,
        clock,
        sharing,
        ..
    } = typed.plain;
    let warmup = warmup(typed, r);
    let tenants: Vec<_> = match &typed.tenants {
        None => Vec::new(),
        Some(spot) => {
            if spot.value.is_empty() {
                let kind = ProblemKind::Missing {
                    field: "tenants",
                    owner: "a scenario".into(),
                    example: "at least one, such as Tenant(name: \"camera\", backend: Null)".into(),
                };
                r.report(&spot.place, kind);
            }
            number_of_tenants(spot.value.len(), &spot.place, r);
            tenant_names(spot, r);
            let whole = Whole {
                seed,
                clock,
                end: warmup + duration,
            };
            let resolved = spot.value.iter();
            let resolved = resolved.map(|tenant| resolve_tenant(tenant, &whole, context, r));
            let resolved = resolved.collect();
            let all = copies::expand(&spot.value, resolved, sharing, r);
            if spot.value.len() <= MOST_TENANTS {
                number_of_tenants(all.len(), &spot.place, r);
            }
            all
        }
    };
    if let Some(place) = typed.place_of("sharing") {
        rules::sharing(sharing, place, clock, r);
    }
    processes(typed, r);
    if let Some(typed) = &typed.tenants {
        copies::shares(typed.value.iter(), r);
    }
    for (field, why) in [
        ("trace", "under the virtual clock no GPU runs"),
        (
            "power_mode",
            "under `clock: Virtual` nothing runs on this machine",
        ),
    ] {
        if let Some(place) = typed.place_of(field).filter(|_| clock == ClockKind::Virtual) {
            r.report(
                place,
                ProblemKind::Contradiction {
                    what: format!("`{field}`"),
                    why: why.into(),
                    advice: "leave it out, or use `clock: Real`".into(),
                },
            );
        }
    }
    if let Some(place) = typed.place_of("sim_contention")
        && typed.plain.sim_contention != 0.0
        && tenants
            .iter()
            .all(|tenant| !matches!(tenant.backend, BackendChoice::Sim(_)))
        && r.problems.is_empty()
    {
        r.report(
            place,
            ProblemKind::Contradiction {
                what: "`sim_contention`".into(),
                why: "no tenant has the Sim backend, the only one that it affects".into(),
                advice: "leave it out, or set a tenant's backend: Sim(…)".into(),
            },
        );
    }
    turn(typed, r);
    let scenario = Scenario {
        name: name(typed, shown_name, r),
        warmup,
        matrix: steps::matrix(&typed.matrix, sharing, clock, &tenants, r),
        duty_cycle: steps::duty_cycle(&typed.duty_cycle, clock, &tenants, r),
        expect: expectations(typed, &tenants, context.env, r),
        tenants,
        ..typed.plain.clone()
    };
    let named = typed.tenants.iter().flat_map(|all| &all.value);
    let named: Vec<_> = named.filter_map(|tenant| tenant.shared.as_ref()).collect();
    let ways = scenario.ways_of_sharing();
    shared::rules(&typed.sources, &named, &scenario.tenants, &ways, r);
    scenario
}

/// At most the duration: the usual warm-up is as short, and a longer one is refused.
fn warmup(typed: &ScenarioFile<'_>, r: &mut Reader) -> Nanos {
    let Scenario { duration, warmup, .. } = typed.plain;
    let Some(place) = typed.place_of("warmup") else {
        return warmup.min(duration);
    };
    // Of a duration that is itself wrong, nothing follows for the warm-up.
    if warmup > duration && !is_wrong(typed, "duration", r) {
        let wanted = format!("at most the duration, {duration}; shorten it or lengthen the duration");
        rules::out_of_range(r, place, "warmup", warmup.to_string(), &wanted);
    }
    warmup
}

/// The length of turns that was asked for. Where tenants take none it changes nothing: `--matrix` may ask for them later.
fn turn(typed: &ScenarioFile<'_>, r: &mut Reader) {
    let (Some(turn), Some(place)) = (typed.plain.turn, typed.place_of("turn")) else {
        return;
    };
    let longest = typed.plain.duration.max(SHORTEST_TURN);
    if !(SHORTEST_TURN..=longest).contains(&turn) && !is_wrong(typed, "duration", r) {
        let wanted = "from 100ms to the duration, such as \"2s\"";
        rules::out_of_range(r, place, "turn", turn.to_string(), wanted);
    }
}

/// Whether what is written for a field has been reported as wrong: all fields are read before a rule is asked.
fn is_wrong(typed: &ScenarioFile<'_>, field: &str, r: &Reader) -> bool {
    let place = typed.place_of(field);
    r.problems.iter().any(|problem| Some(&problem.place) == place)
}

fn is_legal(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.')
}

/// Whether a text does as a part of a file's name, on every system and in every shell: as a scenario's name, or a run's, which
/// has its time after it.
pub fn is_name(text: &str) -> bool {
    (1..=96).contains(&text.len()) && text.chars().all(is_legal) && !text.starts_with(['.', '-'])
}

/// The run file is called after it, so it must do as a part of a file's name.
fn name(typed: &ScenarioFile<'_>, shown_name: &str, r: &mut Reader) -> String {
    let Some(spot) = typed.name.given() else {
        let stem = Path::new(shown_name)
            .file_stem()
            .unwrap_or_default()
            .to_string_lossy();
        let name: String = stem
            .chars()
            .take(64)
            .map(|c| if is_legal(c) { c } else { '-' })
            .collect();
        let bare = name.trim_start_matches(['.', '-']);
        return if bare.is_empty() {
            "scenario".into()
        } else {
            bare.to_owned()
        };
    };
    let name = &spot.value;
    let ok = name.len() <= 64 && is_name(name);
    require(
        r,
        spot,
        ok,
        "name",
        "1 to 64 letters, digits, `-`, `_` or `.`, not starting with `-` or `.`: it names the run file",
    );
    name.clone()
}

/// First parts of channels that are not tenants'.
const RESERVED: &[&str] = &["overhead", "telemetry", "finding", "log", "gpu", "phases"];

/// As many tenants as a run has. Each takes threads, queues for its records and the tensors of its slots.
const MOST_TENANTS: usize = 256;

/// Refuses more than can be run, copies counted.
fn number_of_tenants(found: usize, place: &Place, r: &mut Reader) {
    if found > MOST_TENANTS {
        let kind = ProblemKind::OutOfRange {
            what: "the number of `tenants`, with their copies,".into(),
            found: found.to_string(),
            wanted: format!("at most {MOST_TENANTS}: each needs its own threads and memory"),
        };
        r.report(place, kind);
    }
}

/// Names become channels of the run file and paths of `--set`.
fn tenant_names(tenants: &Spot<Vec<file::TenantFile<'_>>>, r: &mut Reader) {
    let names: Vec<&Spot<String>> = tenants
        .value
        .iter()
        .filter_map(|tenant| tenant.name.as_ref())
        .collect();
    for (index, spot) in names.iter().enumerate() {
        let name = spot.value.as_str();
        let legal = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '_');
        let begins = name.starts_with(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit());
        let ok = begins && name.len() <= 64 && name.chars().all(legal);
        require(
            r,
            spot,
            ok,
            "the tenant's `name`",
            "1 to 64 of a-z, 0-9, `-` and `_`, starting with a letter or digit: it names channels in the run file",
        );
        let wanted = format!(
            "another word: {} are other channels in the run file",
            RESERVED.join(", ")
        );
        require(r, spot, !RESERVED.contains(&name), "the tenant's `name`", &wanted);
        if let Some(first) = names[..index].iter().find(|earlier| earlier.value == spot.value) {
            let kind = ProblemKind::Twice {
                what: format!("tenant name `{}`", shown(name)),
                first: first.place.clone(),
            };
            r.report(&spot.place, kind);
        }
    }
}

/// What only processes of their own have, and what they cannot have.
fn processes(typed: &ScenarioFile<'_>, r: &mut Reader) {
    let Scenario {
        sharing,
        mps,
        sim_contention,
        ..
    } = typed.plain;
    if let Some(place) = typed.place_of("mps")
        && sharing != Sharing::Processes
        && mps != Mps::Auto
    {
        let kind = ProblemKind::Contradiction {
            what: "`mps`".into(),
            why: format!("MPS works between processes, but under {sharing:?} all tenants are in one process"),
            advice: "set sharing: Processes, or leave it out".into(),
        };
        r.report(place, kind);
    }
    if let Some(place) = typed.place_of("sim_contention")
        && sharing == Sharing::Processes
        && sim_contention != 0.0
    {
        let kind = ProblemKind::Contradiction {
            what: "`sim_contention`".into(),
            why: "under Processes each simulated tenant has its own device, so none slows another down"
                .into(),
            advice: "leave it out, or use another sharing mode".into(),
        };
        r.report(place, kind);
    }
}

fn expectations(
    typed: &ScenarioFile<'_>,
    tenants: &[Tenant],
    env: &ResolveEnv,
    r: &mut Reader,
) -> Vec<String> {
    let list = typed.expect.given().map_or(&[][..], |spot| &spot.value);
    // Without the tenants' names every expectation would look wrong.
    if let (Some(check), Some(_)) = (env.check_expectation, &typed.tenants) {
        let names = tenants.iter().map(|tenant| tenant.name.as_str());
        let names: Vec<&str> = names.filter(|name| !name.is_empty()).collect();
        for spot in list {
            if let Err(error) = check(&spot.value, &names) {
                let (text, problem) = (shown(&spot.value), error.to_string());
                r.report(&spot.place, ProblemKind::Expectation { text, problem });
            }
        }
    }
    list.iter().map(|spot| spot.value.clone()).collect()
}
