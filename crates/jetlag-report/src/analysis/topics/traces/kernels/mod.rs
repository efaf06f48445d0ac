//! What the GPU did in the traced phases: per layer and kernel, per copy, per frame, per GPU.
//!
//! Everything is of the traced phases alone, and counts what the tracer saw. [`crate::analysis::topics::traces::observer`] tells what tracing changed;
//! the definitions are in docs/measurement.md.

mod busy;
mod copies;
mod frames;
mod gather;
mod layers;
mod occupancy;
mod slow;
mod spans;
#[cfg(test)]
pub(in crate::analysis) mod tests;
mod waits;

use crate::analysis::gathering::traced::{Traced, TracedPhase};
use crate::analysis::stats::six_decimals;
use crate::analysis::summary::kernels::{KernelPhase, Kernels, TenantKernels, TraceSummary};
use crate::record::TraceRecord;
use crate::scenario::Scenario;
use gather::{Gathered, NOBODY, gather};

/// The kernels of all traced phases; none without such a phase.
pub(in crate::analysis) fn summarize(traced: &Traced, scenario: &Scenario) -> Option<Kernels> {
    let one = |phase: &TracedPhase| of_phase(traced, phase, scenario);
    (!traced.phases.is_empty()).then(|| Kernels {
        phases: traced.phases.iter().map(one).collect(),
        left_out: traced.left_out,
    })
}

fn of_phase(traced: &Traced, phase: &TracedPhase, scenario: &Scenario) -> KernelPhase {
    let name = |tenant: u16| {
        let tenant = scenario.tenants.get(usize::from(tenant))?;
        Some(tenant.name.clone())
    };
    let gathered = gather(traced, phase);
    let tenants = phase.spec.members.iter();
    KernelPhase {
        label: label(phase, scenario),
        sharing: (!phase.spec.sharing.is_empty()).then(|| phase.spec.sharing.clone()),
        measured_s: gathered
            .window
            .map(|(from, to)| six_decimals((to - from).as_secs_f64())),
        perturbed: None,
        traces: phase.traces.iter().map(trace).collect(),
        gpus: busy::gpus(&gathered, phase, name),
        tenants: tenants
            .filter_map(|&tenant| of_tenant(traced, phase, &gathered, tenant, name))
            .collect(),
        unowned: gathered
            .loose
            .get(&NOBODY)
            .map_or_else(Vec::new, |loose| copies::by_kind(loose)),
        phase: phase.spec.phase,
    }
}

/// The phase in words.
pub(in crate::analysis) fn label(phase: &TracedPhase, scenario: &Scenario) -> String {
    if !phase.spec.label.is_empty() {
        return phase.spec.label.clone();
    }
    let members = phase.spec.members.iter();
    let names = members.filter_map(|&member| scenario.tenants.get(usize::from(member)));
    names
        .map(|tenant| tenant.name.as_str())
        .collect::<Vec<_>>()
        .join(" + ")
}

fn of_tenant(
    traced: &Traced,
    phase: &TracedPhase,
    gathered: &Gathered<'_>,
    tenant: u16,
    name: impl Fn(u16) -> Option<String> + Copy,
) -> Option<TenantKernels> {
    let own = gathered.frames.get(&tenant).map_or(&[][..], Vec::as_slice);
    let loose = gathered.loose.get(&tenant);
    let times = frames::times(gathered, tenant, frames::has_calls(own));
    if times.is_empty() && loose.is_none() {
        return None;
    }
    // Without frames the figures are of all that the tenant did in the measured time.
    let all = loose.filter(|_| own.is_empty()).map_or(&[][..], Vec::as_slice);
    let work = || {
        let of_frames = own.iter().flat_map(|frame| &frame.activities);
        of_frames.chain(all).copied()
    };
    let devices = || phase.traces.iter().flat_map(|trace| &trace.devices);
    let of_loose = || all.iter().find_map(|activity| gather::gpu_of(&activity.work));
    let gpu = times.first().map(|time| time.gpu).or_else(of_loose);
    let fits = gpu.map(|gpu| occupancy::of_device(devices(), gpu));
    let fits = fits.unwrap_or_else(|| Err("needs frames with work on a GPU".to_owned()));
    let of_layers = layers::times(work(), own.len(), traced, fits.as_ref().ok());
    let (slow, slow_needs) = match slow::slow(&times, gathered, tenant, name) {
        Ok(slow) => (Some(slow), None),
        Err(needs) => (None, Some(needs)),
    };
    Some(TenantKernels {
        tenant: name(tenant)?,
        frames: own.len() as u64,
        frames_with_work: times.len() as u64,
        device_ms: crate::analysis::stats::ns_to_ms(of_layers.device_ns as f64 / own.len().max(1) as f64),
        copies: copies::copies(work(), own.len(), of_layers.device_ns),
        layers: of_layers.layers,
        kernels: of_layers.kernels,
        outside_frames: loose.and_then(|loose| copies::together(loose)),
        per_frame: frames::summarize(&times),
        waits: waits::waits(&times, gathered, tenant, name),
        slow,
        slow_needs,
        occupancy_needs: fits.err(),
    })
}

fn trace(trace: &TraceRecord) -> TraceSummary {
    TraceSummary {
        process: trace.process,
        tracer: trace.tracer.clone(),
        graph_nodes: trace.graph_nodes,
        calls: trace.calls,
        calls_left_out: trace.calls_left_out,
        activities: trace.activities,
        dropped: trace.dropped,
        lost_stamps: trace.lost_stamps,
        not_kept: trace.not_kept,
        clock_residual_us: trace.clock_residual.as_micros_f64(),
        notes: trace.notes.clone(),
    }
}
