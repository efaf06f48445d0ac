//! CUPTI's functions with their C types, and what crosses them beside records.

use std::ffi::{c_char, c_void};

/// A function of CUPTI's, as the crate uses it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FunctionRow {
    /// Its name.
    pub name: &'static str,
    /// The first release that has it, as `11.6`; none where all from 11.4 on do.
    pub since: Option<&'static str>,
}

/// `CUpti_SubscriberHandle`.
pub(crate) type Subscriber = *mut c_void;
/// `CUpti_CallbackFunc`.
pub(crate) type Callback = unsafe extern "C" fn(*mut c_void, u32, u32, *const c_void);
/// `CUpti_BuffersCallbackRequestFunc`.
pub(crate) type BufferRequested = unsafe extern "C" fn(*mut *mut u8, *mut usize, *mut usize);
/// `CUpti_BuffersCallbackCompleteFunc`.
pub(crate) type BufferCompleted = unsafe extern "C" fn(*mut c_void, u32, *mut u8, usize, usize);
/// `CUpti_TimestampCallbackFunc`.
pub(crate) type TimestampCallback = unsafe extern "C" fn() -> u64;

/// `CUpti_SubscriberParams` of 13.0 and 13.1, which is how 13.2's begins.
#[repr(C)]
pub(crate) struct SubscriberParams {
    pub(crate) size: usize,
    pub(crate) name: *const c_char,
    pub(crate) old_name: *mut c_char,
    pub(crate) old_size: usize,
    /// From 13.2 on; `size` says whether the library may read it.
    pub(crate) allow_multiple: u8,
    pub(crate) padding: [u8; 7],
}

/// `CUpti_ResourceData`.
#[repr(C)]
pub(crate) struct ResourceData {
    pub(crate) context: *mut c_void,
    pub(crate) handle: *mut c_void,
    pub(crate) descriptor: *mut c_void,
}

/// `CUpti_GraphData`.
#[repr(C)]
pub(crate) struct GraphData {
    pub(crate) graph: *mut c_void,
    pub(crate) original_graph: *mut c_void,
    pub(crate) node: *mut c_void,
    pub(crate) original_node: *mut c_void,
    pub(crate) node_type: u32,
    pub(crate) dependency: *mut c_void,
    pub(crate) executable: *mut c_void,
}

macro_rules! functions {
    (
        always { $($field:ident = $name:literal: $type:ty;)* }
        since { $($later:ident = $later_name:literal $since:literal: $later_type:ty;)* }
    ) => {
        /// The functions of one loaded library; what came after 11.4 may be missing.
        #[derive(Clone, Copy, Debug)]
        pub(crate) struct Functions {
            $(pub(crate) $field: $type,)*
            $(pub(crate) $later: Option<$later_type>,)*
        }

        impl Functions {
            /// Looks all of them up; the name of the first that has to be there and is not.
            ///
            /// # Safety
            /// The library is CUPTI: a symbol of such a name has the type that the table says.
            pub(crate) unsafe fn resolve(
                library: &libloading::os::unix::Library,
            ) -> Result<Self, &'static str> {
                Ok(Self {
                    $($field: {
                        // SAFETY: the caller vouches for the types.
                        let found = unsafe { library.get::<$type>($name.as_bytes()) };
                        *found.map_err(|_| $name)?
                    },)*
                    $($later: {
                        // SAFETY: as above.
                        let found = unsafe { library.get::<$later_type>($later_name.as_bytes()) };
                        found.ok().map(|symbol| *symbol)
                    },)*
                })
            }
        }

        static ROWS: &[FunctionRow] = &[
            $(FunctionRow { name: $name, since: None },)*
            $(FunctionRow { name: $later_name, since: Some($since) },)*
        ];
    };
}

functions! {
    always {
        get_version = "cuptiGetVersion": unsafe extern "C" fn(*mut u32) -> u32;
        get_timestamp = "cuptiGetTimestamp": unsafe extern "C" fn(*mut u64) -> u32;
        subscribe = "cuptiSubscribe": unsafe extern "C" fn(*mut Subscriber, Callback, *mut c_void) -> u32;
        unsubscribe = "cuptiUnsubscribe": unsafe extern "C" fn(Subscriber) -> u32;
        enable_callback = "cuptiEnableCallback": unsafe extern "C" fn(u32, Subscriber, u32, u32) -> u32;
        callback_name = "cuptiGetCallbackName": unsafe extern "C" fn(u32, u32, *mut *const c_char) -> u32;
        set_thread_id_type = "cuptiSetThreadIdType": unsafe extern "C" fn(u32) -> u32;
        set_attribute = "cuptiActivitySetAttribute": unsafe extern "C" fn(u32, *mut usize, *mut c_void) -> u32;
        latency_timestamps = "cuptiActivityEnableLatencyTimestamps": unsafe extern "C" fn(u8) -> u32;
        register_callbacks = "cuptiActivityRegisterCallbacks":
            unsafe extern "C" fn(BufferRequested, BufferCompleted) -> u32;
        enable = "cuptiActivityEnable": unsafe extern "C" fn(u32) -> u32;
        disable = "cuptiActivityDisable": unsafe extern "C" fn(u32) -> u32;
        flush_all = "cuptiActivityFlushAll": unsafe extern "C" fn(u32) -> u32;
        next_record = "cuptiActivityGetNextRecord": unsafe extern "C" fn(*mut u8, usize, *mut *mut u8) -> u32;
        dropped = "cuptiActivityGetNumDroppedRecords": unsafe extern "C" fn(*mut c_void, u32, *mut usize) -> u32;
        push_external = "cuptiActivityPushExternalCorrelationId": unsafe extern "C" fn(u32, u64) -> u32;
        pop_external = "cuptiActivityPopExternalCorrelationId": unsafe extern "C" fn(u32, *mut u64) -> u32;
        graph_node_id = "cuptiGetGraphNodeId": unsafe extern "C" fn(*mut c_void, *mut u64) -> u32;
        stream_id = "cuptiGetStreamIdEx": unsafe extern "C" fn(*mut c_void, *mut c_void, u8, *mut u32) -> u32;
        context_id = "cuptiGetContextId": unsafe extern "C" fn(*mut c_void, *mut u32) -> u32;
    }
    since {
        timestamp_callback = "cuptiActivityRegisterTimestampCallback" "11.6":
            unsafe extern "C" fn(TimestampCallback) -> u32;
        enable_and_dump = "cuptiActivityEnableAndDump" "11.7": unsafe extern "C" fn(u32) -> u32;
        enable_runtime_call = "cuptiActivityEnableRuntimeApi" "12.5": unsafe extern "C" fn(u32, u8) -> u32;
        enable_driver_call = "cuptiActivityEnableDriverApi" "12.5": unsafe extern "C" fn(u32, u8) -> u32;
        all_sync_records = "cuptiActivityEnableAllSyncRecords" "12.8": unsafe extern "C" fn(u8) -> u32;
        subscribe_v2 = "cuptiSubscribe_v2" "13.0":
            unsafe extern "C" fn(*mut Subscriber, Callback, *mut c_void, *mut SubscriberParams) -> u32;
        struct_size = "cuptiActivityGetStructSize" "13.2": unsafe extern "C" fn(u32, u32, *mut usize) -> u32;
    }
}

/// Every function that is looked up.
pub fn functions() -> impl Iterator<Item = FunctionRow> {
    ROWS.iter().copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::{offset_of, size_of};

    #[test]
    fn structs_are_laid_out_as_the_headers_have_them() {
        assert_eq!(size_of::<SubscriberParams>(), 40);
        assert_eq!(offset_of!(SubscriberParams, allow_multiple), 32);
        assert_eq!(size_of::<ResourceData>(), 24);
        assert_eq!(size_of::<GraphData>(), 56);
        assert_eq!(offset_of!(GraphData, original_node), 24);
    }
}
