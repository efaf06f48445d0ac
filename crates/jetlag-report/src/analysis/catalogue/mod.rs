//! The facts behind each finding of the analysis, and the text that they become.
//!
//! Rules in other modules decide whether something limits a run and build a [`Limit`]. Its code, message and advice
//! are made only here, one file per theme.

mod absent;
mod fields;
mod frames;
mod machine;
mod phases;
mod power;
mod run;
mod serving;
mod steady;
mod trace;
mod words;

use std::borrow::Cow;

use serde::Serialize;

pub(in crate::analysis) use fields::Length;
pub(in crate::analysis) use frames::{FramesLimit, More};
pub(in crate::analysis) use machine::{ClockOf, Guard, MachineLimit, SlowedBy};
pub(in crate::analysis) use phases::{Ended, Failures, InPhase, Late, Lost, PhasesLimit};
pub(in crate::analysis) use power::{NoIdle, Pace, PowerLimit};
pub(in crate::analysis) use run::{BusyProgram, Lacking, RunLimit};
pub(in crate::analysis) use serving::{Overloaded, Pressure, Profiler, Promise, ServingLimit, Submitted};
pub(in crate::analysis) use steady::SteadyLimit;
pub(in crate::analysis) use trace::TraceLimit;

use crate::analysis::code::Code;
use crate::analysis::finding::{Facts, Finding};

/// Something that limits what a run's figures mean.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub(in crate::analysis) enum Limit {
    /// The run as a whole.
    Run(RunLimit),
    /// What became of a tenant's frames.
    Frames {
        #[serde(skip)]
        tenant: String,
        #[serde(flatten)]
        limit: FramesLimit,
    },
    /// How a tenant was served.
    Serving {
        #[serde(skip)]
        tenant: String,
        #[serde(flatten)]
        limit: ServingLimit,
    },
    /// Whether a tenant's response times lasted.
    Steady {
        #[serde(skip)]
        tenant: String,
        #[serde(flatten)]
        limit: SteadyLimit,
    },
    /// A tenant in the phases that the measurement is compared with.
    Phases {
        #[serde(skip)]
        tenant: String,
        #[serde(flatten)]
        limit: PhasesLimit,
    },
    /// The state of the machine.
    Machine(MachineLimit),
    /// The measurement of power and energy.
    Power(PowerLimit),
    /// The traced phases.
    Trace(TraceLimit),
}

impl Limit {
    /// What programs know it by.
    pub(in crate::analysis) fn code(&self) -> Code {
        match self {
            Limit::Run(limit) => limit.code(),
            Limit::Frames { limit, .. } => limit.code(),
            Limit::Serving { limit, .. } => limit.code(),
            Limit::Steady { limit, .. } => limit.code(),
            Limit::Phases { limit, .. } => limit.code(),
            Limit::Machine(limit) => limit.code(),
            Limit::Power(limit) => limit.code(),
            Limit::Trace(limit) => limit.code(),
        }
    }

    /// The tenant that it concerns, if one.
    fn tenant(&self) -> Option<&str> {
        match self {
            Limit::Run(limit) => limit.tenant(),
            Limit::Trace(limit) => limit.tenant(),
            Limit::Frames { tenant, .. }
            | Limit::Serving { tenant, .. }
            | Limit::Steady { tenant, .. }
            | Limit::Phases { tenant, .. } => Some(tenant),
            Limit::Machine(_) | Limit::Power(_) => None,
        }
    }

    /// What was noticed, with its figures.
    fn message(&self) -> String {
        match self {
            Limit::Run(limit) => limit.message(),
            Limit::Frames { tenant, limit } => limit.message(tenant),
            Limit::Serving { tenant, limit } => limit.message(tenant),
            Limit::Steady { tenant, limit } => limit.message(tenant),
            Limit::Phases { tenant, limit } => limit.message(tenant),
            Limit::Machine(limit) => limit.message(),
            Limit::Power(limit) => limit.message(),
            Limit::Trace(limit) => limit.message(),
        }
    }

    /// What to do about it.
    fn advice(&self) -> Cow<'static, str> {
        match self {
            Limit::Run(limit) => limit.advice(),
            Limit::Frames { limit, .. } => limit.advice(),
            Limit::Serving { limit, .. } => limit.advice(),
            Limit::Steady { limit, .. } => limit.advice(),
            Limit::Phases { limit, .. } => limit.advice().into(),
            Limit::Machine(limit) => limit.advice().into(),
            Limit::Power(limit) => limit.advice(),
            Limit::Trace(limit) => limit.advice().into(),
        }
    }
}

/// The one place where a finding of the analysis is made.
impl From<Limit> for Finding {
    fn from(limit: Limit) -> Finding {
        Finding {
            code: limit.code().word().to_owned(),
            tenant: limit.tenant().map(str::to_owned),
            message: limit.message(),
            advice: limit.advice().into_owned(),
            facts: Facts::of(&limit),
        }
    }
}
