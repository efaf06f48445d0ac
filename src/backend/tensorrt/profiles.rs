//! Which profile of shapes each slot's context takes.
//!
//! Before 8.6.1 a profile serves one context at a time, and from there on to 9.x unless the plan was built to share them
//! (`jetlag build` does). So a plan for several slots of such a release has as many equal profiles, and each slot one of them.

use std::sync::atomic::{AtomicUsize, Ordering};

use tensorrt_dyn::{Engine, Error, ProfileSelector, Result, TensorInfo};

/// The profiles of a plan that are like its first, which is the one that frames are executed with.
#[derive(Debug)]
pub(super) struct Profiles {
    /// Their numbers; empty where all shapes are fixed.
    alike: Vec<i32>,
    /// Slots that have one.
    taken: AtomicUsize,
}

impl Profiles {
    /// The profiles that the plan has.
    pub(super) fn of(engine: &Engine, inputs: &[&TensorInfo]) -> Result<Self> {
        let is_dynamic =
            |input: &&&TensorInfo| input.is_shape || input.shape.iter().any(|extent| *extent < 0);
        let dynamic: Vec<&TensorInfo> = inputs.iter().filter(is_dynamic).copied().collect();
        let mut alike = Vec::new();
        if !dynamic.is_empty() {
            let first = ranges(engine, &dynamic, 0);
            alike.push(0);
            for number in 1..engine.optimization_profiles()? {
                if first.is_some() && ranges(engine, &dynamic, number) == first {
                    alike.push(number);
                }
            }
        }
        Ok(Profiles {
            alike,
            taken: AtomicUsize::new(0),
        })
    }

    /// The number of the next slot that asks.
    pub(super) fn next_slot(&self) -> usize {
        self.taken.fetch_add(1, Ordering::Relaxed)
    }

    /// The profile for a slot. Where there are fewer than slots, they go round: a release that shares them takes any.
    pub(super) fn of_slot(&self, slot: usize) -> Option<i32> {
        self.alike.get(slot % self.alike.len().max(1)).copied()
    }

    /// Why a slot got none, and what to do.
    pub(super) fn refused(&self, slot: usize, error: &Error) -> String {
        let (wanted, found) = (slot + 1, self.alike.len());
        if wanted <= found {
            return error.to_string();
        }
        format!(
            "it has {found} profile{} of these shapes, but this TensorRT release needs one for each frame in flight: build it with `--contexts {wanted}`, or set `depth: {found}` ({error})",
            if found == 1 { "" } else { "s" }
        )
    }
}

/// Smallest, usual and largest shape of each input; what cannot be told is like nothing else.
fn ranges(engine: &Engine, inputs: &[&TensorInfo], profile: i32) -> Option<Vec<Vec<i64>>> {
    const ALL: [ProfileSelector; 3] = [ProfileSelector::Min, ProfileSelector::Opt, ProfileSelector::Max];
    let mut all = Vec::new();
    for input in inputs {
        for selector in ALL {
            let shape = match input.is_shape {
                true => engine
                    .profile_shape_values(&input.name, profile, selector)
                    .ok()??,
                false => engine
                    .profile_shape(&input.name, profile, selector)
                    .ok()?
                    .to_vec(),
            };
            all.push(shape);
        }
    }
    Some(all)
}
