//! Findings about how a tenant was served: overloaded, late, unprotected, or bound by the host.

use std::borrow::Cow;

use jetlag_stats::quantile::Quantile;
use serde::Serialize;

use super::fields;
use super::words::{frames, name_of, percent};
use crate::analysis::code::Code;
use crate::analysis::gathering::idle::HostIdle;
use crate::analysis::summary::{NodeTime, Stage};
use crate::scenario::{Graph, Overload, Release};
use crate::units::Nanos;

/// Something that limits what a tenant's response times say of another run.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub(in super::super) enum ServingLimit {
    /// Frames come faster than they are served.
    Overload {
        #[serde(flatten)]
        shown_by: Overloaded,
        /// What happens to frames that wait.
        overload: Overload,
        /// Share of its time that serving all would take; known of a serial tenant.
        demand: Option<f64>,
        #[serde(flatten)]
        cause: Pressure,
    },
    /// Releases were behind schedule.
    LateReleases {
        late: u64,
        releases: u64,
        /// From when on they count as late.
        #[serde(rename = "budget_ms", serialize_with = "fields::milliseconds")]
        budget: Nanos,
        worst_ms: f64,
        release: Release,
        /// Whether it has processors of its own.
        pinned: bool,
        virtual_machine: bool,
    },
    /// The way of sharing promises it what it did not get.
    NotProtected {
        promise: Promise,
        #[serde(rename = "quantile", serialize_with = "fields::quantile")]
        statistic: Quantile,
        slowdown: f64,
        #[serde(rename = "ci95")]
        interval: [f64; 2],
    },
    /// Time per node was recorded; `beside_others` where other tenants ran.
    Profiled { by: Profiler, beside_others: bool },
    /// The host submits more slowly than the device executes.
    HostBound {
        #[serde(flatten)]
        submitted: Submitted,
        /// How frames are submitted to TensorRT; none on other backends.
        graph: Option<Graph>,
    },
    /// The host submits for as long as the device executes, and may wait for it meanwhile.
    ComputeUnclear {
        #[serde(flatten)]
        submitted: Submitted,
        /// Name of the backend.
        backend: String,
    },
}

/// How nodes were timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(in super::super) enum Profiler {
    /// The backend executed one node, waited, and went on to the next.
    OneAtATime,
    /// ONNX Runtime stamped each node in passing: its execution, or its launch.
    Stamps(NodeTime),
}

/// How an overload shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "shown_by", rename_all = "kebab-case")]
pub(in super::super) enum Overloaded {
    /// Frames were given up.
    Dropped { dropped: u64, offered: u64 },
    /// So many still waited at the end.
    Line { waiting: u64 },
    /// The demand is above one, and neither has happened yet.
    Demand,
}

/// Why frames come faster than they are served.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "cause", rename_all = "kebab-case")]
pub(in super::super) enum Pressure {
    /// Something stalls the tenant: its rate is one that it can keep.
    Stalls,
    /// These stages, which one thread or stream does one after another, would alone take this share of its time.
    Stages {
        stages: Vec<Stage>,
        #[serde(rename = "stages_share")]
        share: f64,
    },
    /// Its stages together take too long.
    Service,
    /// Other programs used the processors that execute it: how long its work takes without them is not known.
    OtherPrograms,
    /// Where stages overlap, or no rate is set, the demand is not known.
    Unknown,
}

/// What a way of sharing promises a tenant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(in super::super) enum Promise {
    /// It is the most urgent under `Priority`.
    MostUrgent,
    /// Multiprocessors of its own under `Partition`.
    OwnMultiprocessors,
}

/// How submission by the host lies to *compute*.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(in super::super) struct Submitted {
    /// Share of frames in which the host submitted until the end of *compute*.
    pub(in super::super) bound_frames: f64,
    /// Mean duration of *compute*.
    pub(in super::super) compute_ms: f64,
    /// Mean of the submission.
    pub(in super::super) submission_ms: f64,
    /// How awake the processors were, where that is known.
    pub(in super::super) host: Option<HostIdle>,
}

impl ServingLimit {
    pub(super) fn code(&self) -> Code {
        match self {
            ServingLimit::Overload { .. } => Code::Overload,
            ServingLimit::LateReleases { .. } => Code::LateReleases,
            ServingLimit::NotProtected { .. } => Code::NotProtected,
            ServingLimit::Profiled { .. } => Code::Profiled,
            ServingLimit::HostBound { .. } => Code::HostBound,
            ServingLimit::ComputeUnclear { .. } => Code::ComputeUnclear,
        }
    }

    pub(super) fn message(&self, name: &str) -> String {
        match self {
            ServingLimit::Overload {
                shown_by,
                overload,
                demand,
                ..
            } => {
                let needs_time = demand.map_or(String::new(), |share| {
                    format!("; all of them need {} of the time that there is", percent(share))
                });
                match (shown_by, overload) {
                    (&Overloaded::Dropped { dropped, offered }, _) => format!(
                        "{name}: {} of {offered} ({}) {} dropped; its quantiles describe only those that were served{needs_time}.",
                        frames(dropped),
                        percent(dropped as f64 / offered as f64),
                        if dropped == 1 { "was" } else { "were" }
                    ),
                    (&Overloaded::Line { waiting }, _) if demand.is_some_and(|share| share < 1.0) => format!(
                        "{name}: {} were still waiting at the end, although serving all takes {} of its time: something held them up.",
                        frames(waiting),
                        percent(demand.unwrap_or_default()),
                    ),
                    (&Overloaded::Line { waiting }, _) => format!(
                        "{name}: {} were still waiting at the end; response times grew with the length of the \
                         run{needs_time}.",
                        frames(waiting),
                    ),
                    (Overloaded::Demand, Overload::Queue { .. }) => format!(
                        "{name} falls behind: response times grow with the length of the run{needs_time}."
                    ),
                    (Overloaded::Demand, _) => {
                        format!("{name} falls behind: frames will be dropped sooner or later{needs_time}.")
                    }
                }
            }
            ServingLimit::LateReleases {
                late,
                releases,
                budget,
                worst_ms,
                ..
            } => format!(
                "{name}: {} of its releases ({late} of {releases}) were more than {budget} late, the worst \
                 {worst_ms:.2} ms; response times include this delay.",
                percent(*late as f64 / *releases as f64)
            ),
            ServingLimit::NotProtected {
                promise,
                statistic,
                slowdown,
                interval: [low, high],
            } => format!(
                "{name}: its {} is {slowdown:.2} ({low:.2}–{high:.2}) times its value alone, {}.",
                name_of(*statistic),
                match promise {
                    Promise::MostUrgent => "although it has the highest priority under `sharing: Priority`",
                    Promise::OwnMultiprocessors => {
                        "although it has its own multiprocessors under `sharing: Partition`"
                    }
                }
            ),
            ServingLimit::Profiled { by, beside_others } => {
                let others = match beside_others {
                    true => ", and may slow down the other tenants more",
                    false => "",
                };
                match by {
                    Profiler::OneAtATime => format!(
                        "{name} was profiled: its nodes ran one at a time, so compute is slower than without \
                         profiling{others}."
                    ),
                    Profiler::Stamps(NodeTime::Execution) => format!(
                        "{name} was profiled: ONNX Runtime recorded each of its nodes, so compute is slower than \
                         without profiling{others}."
                    ),
                    Profiler::Stamps(NodeTime::Submission) => format!(
                        "{name} was profiled: ONNX Runtime recorded the launch of each of its nodes, so submission is \
                         slower than without profiling{others}. Its time per node is the host's, not the device's."
                    ),
                }
            }
            ServingLimit::HostBound { submitted, .. } => format!(
                "{name} is host-bound: {}. These figures do not show how long the device alone would take.{}",
                submitted.frames(),
                submitted.host()
            ),
            ServingLimit::ComputeUnclear { submitted, backend } => format!(
                "{name}: {}. {backend} may also wait for the device while it submits, so it is unknown whether the \
                 host or the device limits compute.{}",
                submitted.frames(),
                submitted.host()
            ),
        }
    }

    pub(super) fn advice(&self) -> Cow<'static, str> {
        Cow::Borrowed(match self {
            ServingLimit::Overload { overload, cause, .. } => return against_overload(*overload, cause),
            ServingLimit::LateReleases {
                release,
                pinned,
                virtual_machine,
                ..
            } => return on_time(*release, *pinned, *virtual_machine).into(),
            ServingLimit::NotProtected { promise, .. } => match promise {
                Promise::MostUrgent => {
                    "Work that already runs is not preempted: give the other tenants less work at a time, or use \
                     `Partition`."
                }
                Promise::OwnMultiprocessors => {
                    "Memory, caches and copy engines are still shared: configs/sharing/stressors.ron shows which of \
                     them it is sensitive to. Lower the other tenants' rates, or use `Exclusive` or `Edf`."
                }
            },
            ServingLimit::Profiled { .. } => {
                "Profile in a run of its own; take response times from a run with `profile: false`."
            }
            ServingLimit::HostBound { graph, .. } => {
                let fewer = match graph {
                    Some(Graph::Off) => "Submit each frame as one CUDA graph (`graph: On`)",
                    Some(_) => "Build an engine of fewer layers, or one that a CUDA graph can hold",
                    None => "Run the network on TensorRT with `graph: On`, which submits a frame in one call",
                };
                return format!(
                    "{fewer}; or use batches of several images. Hold the processors' clocks (`sudo jetlag clocks max`) and \
                     keep them out of deep idle states, which slow down each launch after a pause."
                )
                .into();
            }
            ServingLimit::ComputeUnclear { .. } => {
                "Use `-vv` to find nodes that the library runs on the CPU, and remove them from the network; or run \
                 it on TensorRT, whose submission does not wait."
            }
        })
    }
}

impl Submitted {
    fn frames(&self) -> String {
        format!(
            "in {:.0} % of its frames the host was still submitting until the end of compute (means: compute {:.2} ms, \
             submission {:.2} ms)",
            self.bound_frames * 100.0,
            self.compute_ms,
            self.submission_ms
        )
    }

    fn host(&self) -> String {
        self.host
            .as_ref()
            .map_or_else(String::new, |host| format!(" {host}"))
    }
}

fn against_overload(overload: Overload, cause: &Pressure) -> Cow<'static, str> {
    Cow::Borrowed(match (cause, overload) {
        (Pressure::OtherPrograms, _) => {
            "See `host-busy` first: its frames may have waited for a processor in every stage, so this run does not show whether the \
             rate is too high for it."
        }
        (Pressure::Stalls, _) => {
            "The rate is not too high: find out what stalls it (see its largest stage), or let more frames queue."
        }
        (Pressure::Stages { stages, share }, _) => {
            let names: Vec<&str> = stages.iter().map(|stage| stage.name()).collect();
            return format!(
                "Lower the rate, or run a faster detector: {} alone would take {} of its time, so overlapping \
                 stages (`depth: 2`) cannot help.",
                names.join(" + "),
                percent(*share)
            )
            .into();
        }
        (Pressure::Service, _) => "Lower the rate, overlap stages (`depth: 2`), or run a faster detector.",
        (Pressure::Unknown, Overload::Queue { .. }) => {
            "Lower the rate, run a faster detector, or keep results fresh with `overload: DropOldest(queue: 1)`."
        }
        (Pressure::Unknown, _) => "Lower the rate, or run a faster detector.",
    })
}

fn on_time(release: Release, pinned: bool, virtual_machine: bool) -> String {
    let first = match (release, pinned) {
        (Release::Sleep, false) => "Set `release: Spin`, or give the tenant processors of its own (`cpus`)",
        (Release::Sleep, true) => "Set `release: Spin`",
        (Release::Spin, false) => "Give the tenant processors of its own (`cpus`)",
        (Release::Spin, true) => {
            "Keep other work off the tenant's `cpus`, or isolate them from the scheduler"
        }
    };
    let then = match virtual_machine {
        true => "; on a virtual machine the hypervisor schedules the processors, so prefer bare metal",
        false => "",
    };
    format!("{first}{then}.")
}
