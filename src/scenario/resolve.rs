//! From the scenario as typed to the scenario as meant: defaults filled in once, and every rule checked.
//!
//! This file has the entry points and the rules of a scenario as a whole; those of one tenant are in
//! `tenant.rs`. A rule that fails adds a problem and puts a harmless value in the result, which is then
//! never handed out: a scenario is returned only if there are no problems at all.

use std::path::Path;

use crate::files;
use crate::units::Nanos;
use crate::written::{Place, ProblemKind, Problems, Read, Reader, Spot, parse, shown};

use super::ResolveEnv;
use super::copies;
use super::file::{self, ScenarioFile};
use super::gpu;
use super::rules::{self, Context, Whole, require};
use super::shared;
use super::steps;
use super::tenant::resolve_tenant;
use super::trace;
use super::{
    BackendChoice, Baseline, ClockKind, Clocks, FORMAT, Mps, PowerMode, Release, Scenario, Sharing,
    Telemetry, Tenant, set,
};

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

/// Beyond this, adding durations to stamps could overflow, and nobody waits for the result.
const LONGEST_RUN: Nanos = Nanos::from_secs(366 * 24 * 3600);

/// In a shorter turn few tenants would have a frame.
const SHORTEST_TURN: Nanos = Nanos::from_millis(100);

fn resolve(typed: &ScenarioFile, shown_name: &str, context: &Context<'_>, r: &mut Reader) -> Scenario {
    let duration = typed.duration.or(Nanos::from_secs(10));
    let seed = typed.seed.or(0);
    let clock = typed.clock.or(ClockKind::Real);
    let warmup = warmup(typed, duration, r);
    for (field, read) in [("duration", &typed.duration), ("warmup", &typed.warmup)] {
        if let Some(spot) = read.given() {
            let zero_is_wrong = field == "duration" && spot.value == Nanos::ZERO;
            require(
                r,
                spot,
                !zero_is_wrong && spot.value <= LONGEST_RUN,
                field,
                "above zero and at most 366 days",
            );
        }
    }
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
            let resolved = spot.value.iter().enumerate();
            let resolved = resolved.map(|(index, tenant)| resolve_tenant(tenant, index, &whole, context, r));
            let resolved = resolved.collect();
            let all = copies::expand(&spot.value, resolved, typed.sharing.or_default(), r);
            if spot.value.len() <= MOST_TENANTS {
                number_of_tenants(all.len(), &spot.place, r);
            }
            all
        }
    };
    if let Some(spot) = typed.sharing.given() {
        rules::sharing(spot, clock, r);
    }
    processes(typed, r);
    if let Some(typed) = &typed.tenants {
        gpu::shares(typed.value.iter().map(|tenant| &tenant.gpu), r);
    }
    if let Some(spot) = typed.watchdog.given() {
        let ok = spot.value >= Nanos::from_millis(10) && spot.value <= LONGEST_RUN;
        require(r, spot, ok, "watchdog", "from 10ms, such as \"10s\"");
    }
    if let Some(spot) = typed.sim_contention.given() {
        // Beyond a hundredfold a model says nothing, and far beyond it no frame would end in simulated time.
        let ok = (0.0..=100.0).contains(&spot.value);
        require(r, spot, ok, "sim_contention", "from 0 to 100, such as 0.5");
    }
    if let Some(Spot { value, place }) = typed.sim_contention.given()
        && *value != 0.0
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
    let scenario = Scenario {
        name: name(typed, shown_name, r),
        duration,
        warmup,
        turn: turn(typed, duration, r),
        seed,
        clock,
        sharing: typed.sharing.or(Sharing::Streams),
        mps: typed.mps.or_default(),
        release: typed.release.or(Release::Sleep),
        baseline: baseline(typed, r),
        matrix: steps::matrix(
            &typed.matrix,
            typed.sharing.or(Sharing::Streams),
            clock,
            &tenants,
            r,
        ),
        duty_cycle: steps::duty_cycle(&typed.duty_cycle, clock, &tenants, r),
        trace: trace::resolve(&typed.trace, clock, r),
        telemetry: telemetry(typed, r),
        clocks: typed.clocks.or(Clocks::AsIs),
        power_mode: power_mode(typed, clock, r),
        sim_contention: typed.sim_contention.or(0.0),
        watchdog: typed.watchdog.or(super::default_watchdog()),
        expect: expectations(typed, &tenants, context.env, r),
        tenants,
        // No file says so.
        allow_commands: false,
    };
    let named = typed.tenants.iter().flat_map(|all| &all.value);
    let named: Vec<_> = named.filter_map(|tenant| tenant.shared.as_ref()).collect();
    let ways = scenario.ways_of_sharing();
    shared::rules(&typed.sources, &named, &scenario.tenants, &ways, r);
    scenario
}

fn power_mode(typed: &ScenarioFile, clock: ClockKind, r: &mut Reader) -> Option<PowerMode> {
    let Spot { value, place } = typed.power_mode.given()?;
    if clock == ClockKind::Virtual {
        r.report(
            place,
            ProblemKind::Contradiction {
                what: "`power_mode`".into(),
                why: "under `clock: Virtual` nothing runs on this machine".into(),
                advice: "leave it out, or use clock: Real".into(),
            },
        );
    }
    Some(value.clone())
}

fn warmup(typed: &ScenarioFile, duration: Nanos, r: &mut Reader) -> Nanos {
    let usual = Nanos::from_secs(1).min(duration);
    let Some(spot) = typed.warmup.given() else {
        return usual;
    };
    // Of a duration that is itself wrong, nothing follows for the warm-up.
    let comparable = duration > Nanos::ZERO && !matches!(typed.duration, Read::Wrong);
    if spot.value > duration && comparable {
        let wanted = format!("at most the duration, {duration}; shorten it or lengthen the duration");
        require(r, spot, false, "warmup", &wanted);
    }
    spot.value
}

/// The length of turns that was asked for. Where tenants take none it changes nothing: `--matrix` may ask for them later.
fn turn(typed: &ScenarioFile, duration: Nanos, r: &mut Reader) -> Option<Nanos> {
    let spot = typed.turn.given()?;
    if matches!(typed.duration, Read::Wrong) {
        return None;
    }
    let ok = spot.value >= SHORTEST_TURN && spot.value <= duration.max(SHORTEST_TURN);
    require(r, spot, ok, "turn", "from 100ms to the duration, such as \"2s\"");
    Some(spot.value)
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
fn name(typed: &ScenarioFile, shown_name: &str, r: &mut Reader) -> String {
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
fn tenant_names(tenants: &Spot<Vec<file::TenantFile>>, r: &mut Reader) {
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
fn processes(typed: &ScenarioFile, r: &mut Reader) {
    let sharing = typed.sharing.or_default();
    if let Some(spot) = typed.mps.given()
        && sharing != Sharing::Processes
        && spot.value != Mps::Auto
    {
        let kind = ProblemKind::Contradiction {
            what: "`mps`".into(),
            why: format!("MPS works between processes, but under {sharing:?} all tenants are in one process"),
            advice: "set sharing: Processes, or leave it out".into(),
        };
        r.report(&spot.place, kind);
    }
    if let Some(spot) = typed.sim_contention.given()
        && sharing == Sharing::Processes
        && spot.value != 0.0
    {
        let kind = ProblemKind::Contradiction {
            what: "`sim_contention`".into(),
            why: "under Processes each simulated tenant has its own device, so none slows another down"
                .into(),
            advice: "leave it out, or use another sharing mode".into(),
        };
        r.report(&spot.place, kind);
    }
}

fn baseline(typed: &ScenarioFile, r: &mut Reader) -> Baseline {
    let Some(spot) = typed.baseline.given() else {
        return Baseline::default();
    };
    if let Some(idle) = spot.value.idle.given() {
        let ok = idle.value > Nanos::ZERO && idle.value <= LONGEST_RUN;
        require(
            r,
            idle,
            ok,
            "`idle` of `baseline`",
            "above zero; leave it out to measure no idle power",
        );
    }
    Baseline {
        idle: spot.value.idle.given().map(|idle| idle.value),
        alone: spot.value.alone.or(false),
    }
}

fn telemetry(typed: &ScenarioFile, r: &mut Reader) -> Telemetry {
    let usual = Nanos::from_millis(100);
    let Some(typed) = typed.telemetry.given().map(|spot| &spot.value) else {
        return Telemetry {
            interval: usual,
            sources: None,
        };
    };
    let interval = &typed.interval;
    if let Some(spot) = interval.given() {
        let ok = spot.value >= Nanos::from_millis(1) && spot.value <= Nanos::from_secs(3600);
        require(r, spot, ok, "`interval` of `telemetry`", "from 1ms to 1h");
    }
    Telemetry {
        interval: interval.or(usual),
        sources: typed
            .sources
            .given()
            .map(|list| list.value.iter().map(|spot| spot.value).collect()),
    }
}

fn expectations(typed: &ScenarioFile, tenants: &[Tenant], env: &ResolveEnv, r: &mut Reader) -> Vec<String> {
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
