//! The physical half across power modes: what clocks do to time and power.
//!
//! - Time: work at the GPU's clock and traffic at the memory's overlap, or follow one another, or both overlap with the processors'
//!   part; which of these holds is not known, so each is a hypothesis ([`super::fitted`] drops those that fit worse).
//! - Power: a transistor that switches f times a second at V volts takes c · f · V². Voltages are not known; they grow with the clock in
//!   steps from a least one, so V² is taken for a + b · f², and both coefficients are fitted. What switches is work, traffic and
//!   launches over the time that they take, and clocks by themselves, whatever is done.

use super::{Column, Joined, Parts};
use crate::features::{Term, Terms, numbers};
use jetlag_record::ModeClocks;

/// How the voltage of a part moves.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Voltage {
    /// It does not.
    Least,
    /// Its square grows with that of the clock.
    Growing,
}

/// One cause of power.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Draw {
    /// Whatever the clocks are.
    Always,
    /// The GPU's clock, in all multiprocessors that are on.
    Gpu(Voltage),
    /// The memory's.
    Memory,
    /// That of all processors that are on.
    Processors(Voltage),
    /// Multiply-adds a second.
    Work(Voltage),
    /// Bytes a second.
    Traffic(Voltage),
    /// Launches a second.
    Launches(Voltage),
}

/// All of them; a coefficient that nothing speaks for becomes zero.
const DRAWS: [Draw; 12] = [
    Draw::Always,
    Draw::Gpu(Voltage::Least),
    Draw::Gpu(Voltage::Growing),
    Draw::Memory,
    Draw::Processors(Voltage::Least),
    Draw::Processors(Voltage::Growing),
    Draw::Work(Voltage::Least),
    Draw::Work(Voltage::Growing),
    Draw::Traffic(Voltage::Least),
    Draw::Traffic(Voltage::Growing),
    Draw::Launches(Voltage::Least),
    Draw::Launches(Voltage::Growing),
];

impl Draw {
    /// The rate of switching times the square of the voltage; clocks in GHz, so that coefficients are of one size.
    pub(super) fn rate(self, terms: &Terms, clocks: ModeClocks, time_ms: f64) -> f64 {
        let [gpu, memory, cpu, cores, sms] = numbers(clocks);
        let [gpu, memory, cpu] = [gpu, memory, cpu].map(|mhz| mhz / 1e3);
        let squared = |voltage: Voltage, ghz: f64| match voltage {
            Voltage::Least => 1.0,
            Voltage::Growing => ghz * ghz,
        };
        match self {
            Self::Always => 1.0,
            Self::Gpu(voltage) => sms * gpu * squared(voltage, gpu),
            Self::Memory => memory,
            Self::Processors(voltage) => cores * cpu * squared(voltage, cpu),
            Self::Work(voltage) => terms.work() / time_ms * squared(voltage, gpu),
            Self::Traffic(voltage) => {
                let bytes = terms.get(Term::Written) + terms.get(Term::Read) + terms.get(Term::Weights);
                bytes / time_ms * squared(voltage, memory)
            }
            Self::Launches(voltage) => {
                let launches = terms.get(Term::Layers) + terms.get(Term::OtherLayers);
                launches / time_ms * squared(voltage, cpu)
            }
        }
    }
}

pub(super) fn latency(joined: Joined) -> Parts {
    use Column::{Launches, One, Traffic, Work};
    let work = [Term::Pointwise4, Term::Spatial4].map(Work).to_vec();
    let traffic = [Term::Written, Term::WrittenOther, Term::Weights]
        .map(Traffic)
        .to_vec();
    let launches = [Term::Layers, Term::OtherLayers].map(Launches).to_vec();
    let both = |mut a: Vec<Column>, b: Vec<Column>| {
        a.extend(b);
        a
    };
    let (floor, line, rest) = match joined {
        Joined::Roofline => (work, traffic, both(launches, vec![One])),
        Joined::Overlapping => (launches, both(work, traffic), Vec::new()),
        Joined::Sum | Joined::Clipped => {
            let all = both(both(work, traffic), launches);
            (Vec::new(), both(all, vec![One]), Vec::new())
        }
    };
    Parts {
        joined,
        floor,
        line,
        rest,
    }
}

pub(super) fn drawn(column: fn(Draw) -> Column) -> Parts {
    Parts {
        joined: Joined::Sum,
        floor: Vec::new(),
        line: DRAWS.map(column).to_vec(),
        rest: Vec::new(),
    }
}
