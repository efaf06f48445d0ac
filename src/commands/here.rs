//! What scenarios are resolved against on this machine.

use super::expectation;
use crate::board;
use crate::scenario::ResolveEnv;

/// This machine, as far as a scenario depends on it.
pub(super) fn env() -> ResolveEnv {
    let mut facts = board::facts(&board::Roots::system());
    ResolveEnv {
        gpu: facts.remove("gpu").filter(|_| cfg!(feature = "gpu")),
        no_gpu: (!cfg!(feature = "gpu")).then_some("this jetlag was built without GPU support"),
        tensorrt: facts.remove("tensorrt"),
        check_expectation: Some(expectation::check),
        ..ResolveEnv::of_this_machine()
    }
}
