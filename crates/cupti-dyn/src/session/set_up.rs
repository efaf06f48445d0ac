//! Sets what has to be set before CUDA is initialised and before a kind is switched on.

use std::ffi::c_void;

use super::{Session, Settings};
use crate::clock::{Clock, stamp};
use crate::error::Result;
use crate::graph;
use crate::loss::{Refusal, Why};
use crate::pool::{buffer_completed, buffer_requested};
use crate::sys::{Attribute, Domain, ResourceCallback, Status, ThreadIdType};

/// CUPTI's number in CUDA 12.3.
const FIRST_PER_THREAD: u32 = 21;

impl Session {
    pub(super) fn set_up(&mut self, settings: &Settings) -> Result<()> {
        let functions = self.library.functions();
        // SAFETY: it takes a number.
        let status = unsafe { (functions.set_thread_id_type)(ThreadIdType::SYSTEM.0) };
        self.note("thread numbers as Linux has them", status);
        self.set_attribute(Attribute::ZEROED_OUT_ACTIVITY_BUFFER, 1u8);
        // Before 12.3 there was one buffer for all, and no such setting.
        if settings.per_thread || self.library.version().number >= FIRST_PER_THREAD {
            self.set_attribute(
                Attribute::PER_THREAD_ACTIVITY_BUFFER,
                u8::from(settings.per_thread),
            );
        }
        if let Some(bytes) = settings.device_buffer_bytes {
            self.set_attribute(Attribute::DEVICE_BUFFER_SIZE, bytes);
        }
        if let Some(most) = settings.most_device_buffers {
            self.set_attribute(Attribute::DEVICE_BUFFER_POOL_LIMIT, most);
        }
        if settings.latency {
            // SAFETY: it takes a number.
            let status = unsafe { (functions.latency_timestamps)(1) };
            self.note("when kernels were queued and submitted", status);
        }
        if let Some(all_sync_records) = functions.all_sync_records {
            // SAFETY: it takes a number.
            let status = unsafe { all_sync_records(settings.unfinished_queries.into()) };
            self.note("leaving out waits that only asked", status);
        }
        if let Some(register) = functions.timestamp_callback {
            // SAFETY: the function lives as long as the program and may be called from any thread.
            let status = unsafe { register(stamp) };
            self.note("stamps on CLOCK_MONOTONIC", status);
            if Status(status).is_success() {
                self.clock = Clock::Monotonic;
            }
        }
        if settings.graph_nodes {
            graph::take();
            for callback in [
                ResourceCallback::GRAPHNODE_CREATED,
                ResourceCallback::GRAPHNODE_CLONED,
            ] {
                // SAFETY: the subscriber is ours and open.
                let status = unsafe {
                    (functions.enable_callback)(1, self.subscriber, Domain::RESOURCE.0, callback.0)
                };
                self.note("tags of graphs' nodes", status);
            }
        }
        // SAFETY: both functions live as long as the program, and do what CUPTI asks of them.
        let status = unsafe { (functions.register_callbacks)(buffer_requested, buffer_completed) };
        self.library.check("cuptiActivityRegisterCallbacks", status)?;
        self.bracket();
        Ok(())
    }

    fn note(&mut self, what: &str, status: u32) {
        if !Status(status).is_success() {
            self.refuse(Refusal {
                what: what.to_owned(),
                why: Why::Status(Status(status)),
            });
        }
    }

    fn set_attribute<T: Copy>(&mut self, attribute: Attribute, mut value: T) {
        let mut bytes = size_of::<T>();
        let value: *mut T = &mut value;
        // SAFETY: size and value live through the call, and the size is the value's.
        let status = unsafe {
            (self.library.functions().set_attribute)(attribute.0, &mut bytes, value.cast::<c_void>())
        };
        self.note(&attribute.to_string(), status);
    }
}
