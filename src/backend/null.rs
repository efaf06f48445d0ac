//! The backend that returns at once: what remains is jetlag's own cost per frame.

use super::{Backend, BackendError, Opened, Program, Slot, StageTimes, TensorSpec};
use crate::record::Device;
use crate::tensor::{HostTensor, TensorError, TensorSet};
use crate::units::Nanos;

/// Executes nothing. Inputs may be filled; outputs of engines do not exist.
pub struct NullBackend;

struct NullSlot(TensorSet);

impl Backend for NullBackend {
    fn name(&self) -> &'static str {
        "null"
    }

    fn device(&self) -> Device {
        Device::None
    }
    fn open(&self, program: &Program, slots: usize) -> Result<Opened, BackendError> {
        let slot = |_| Ok(Box::new(NullSlot(host_tensors(&program.host_tensors)?)) as Box<dyn Slot>);
        let slots = (0..slots).map(slot).collect::<Result<_, BackendError>>()?;
        Ok(Opened::on_host(slots, None))
    }
}

/// The tensors that the host fills, on the heap: what a backend without engines has.
pub(super) fn host_tensors(all: &[TensorSpec]) -> Result<TensorSet, TensorError> {
    let zeroed = |t: &TensorSpec| HostTensor::try_zeroed(t.name.clone(), t.element, t.max_shape);
    let tensors = all.iter().map(zeroed).collect::<Result<_, _>>()?;
    Ok(TensorSet::new(tensors))
}

impl Slot for NullSlot {
    fn tensors(&self) -> &TensorSet {
        &self.0
    }
    fn tensors_mut(&mut self) -> &mut TensorSet {
        &mut self.0
    }
    fn submit(&mut self) -> Result<(), BackendError> {
        Ok(())
    }
    fn wait(&mut self) -> Result<StageTimes, BackendError> {
        Ok(StageTimes {
            compute: Some(Nanos::ZERO),
            ..StageTimes::default()
        })
    }
}
