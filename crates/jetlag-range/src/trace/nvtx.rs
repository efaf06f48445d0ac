//! NVTX through NVIDIA's own headers, as `nvtx-sys` binds them; building that takes libclang.
//!
//! The headers find the tool by themselves at the first call: a tool (Nsight Systems, say) names its library in
//! `NVTX_INJECTION64_PATH`. Without a tool a range costs one atomic load. The crate `nvtx` above `nvtx-sys` is not for us: it
//! keeps every text that a range was ever named by, and each of our ranges has another.
#![allow(
    unsafe_code,
    reason = "calls of NVTX's functions; each block states the fact that it relies on"
)]

use std::ffi::CStr;
use std::io::Write;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use nvtx_sys::{EventAttributes, MessageType, MessageValue, PayloadType, PayloadValue, ffi};

use super::Traced;
use super::name::Name;

/// The environment variable that names the tool's library.
const TOOL: &str = "NVTX_INJECTION64_PATH";

/// The tool that listens.
struct Tool {
    /// Address of our domain, which only the tool looks into.
    domain: usize,
    /// Tenants whose category was named, a bit each; those beyond 64 have a category without a name.
    named: AtomicU64,
}

/// The tool, if there is one; found at the first range.
fn tool() -> Option<&'static Tool> {
    static FOUND: OnceLock<Option<Tool>> = OnceLock::new();
    FOUND.get_or_init(attach).as_ref()
}

fn attach() -> Option<Tool> {
    // SAFETY: a text that ends with a zero.
    let domain = unsafe { ffi::nvtxDomainCreateA(c"jetlag".as_ptr()) };
    if !domain.is_null() {
        return Some(Tool {
            domain: domain as usize,
            named: AtomicU64::new(0),
        });
    }
    if let Some(path) = std::env::var_os(TOOL).filter(|path| !path.is_empty()) {
        let shown = std::path::Path::new(&path).display();
        log::warn!("{TOOL} names {shown}, which cannot be loaded or is not an NVTX tool: nothing is traced");
    }
    None
}

impl Tool {
    fn domain(&self) -> ffi::nvtxDomainHandle_t {
        self.domain as ffi::nvtxDomainHandle_t
    }

    fn begin(&self, name: &CStr, category: u32, frame: Option<u64>) {
        let payload_type = frame.map_or(0, |_| PayloadType::NVTX_PAYLOAD_TYPE_UNSIGNED_INT64.into());
        let attributes = EventAttributes {
            version: nvtx_sys::NVTX_VERSION as u16,
            size: nvtx_sys::NVTX_EVENT_ATTRIBUTES_SIZE as u16,
            category,
            colorType: 0,
            color: 0,
            payloadType: payload_type,
            reserved0: 0,
            payload: PayloadValue {
                ullValue: frame.unwrap_or(0),
            },
            messageType: MessageType::NVTX_MESSAGE_TYPE_ASCII.into(),
            message: MessageValue { ascii: name.as_ptr() },
        };
        // SAFETY: the tool reads what it is given before it returns; the domain is its own.
        unsafe { ffi::nvtxDomainRangePushEx(self.domain(), &raw const attributes) };
    }

    /// The tenant's category: 1 for the first, as 0 is none.
    fn category(&self, traced: Traced<'_>) -> u32 {
        let (number, bit) = (
            u32::from(traced.tenant) + 1,
            1_u64.checked_shl(traced.tenant.into()),
        );
        if let Some(bit) = bit
            && self.named.load(Ordering::Relaxed) & bit == 0
            && self.named.fetch_or(bit, Ordering::Relaxed) & bit == 0
        {
            let mut name = Name::default();
            let _ = write!(name, "{}", traced.name);
            // SAFETY: a text that ends with a zero; the domain is the tool's own.
            unsafe { ffi::nvtxDomainNameCategoryA(self.domain(), number, name.as_c_str().as_ptr()) };
        }
        number
    }
}

pub(super) fn push_stage(traced: Traced<'_>, stage: &str) {
    let Some(tool) = tool() else { return };
    let mut name = Name::default();
    let _ = write!(name, "{} {} {stage}", traced.name, traced.frame);
    tool.begin(name.as_c_str(), tool.category(traced), Some(traced.frame));
}

pub(super) fn push(name: &str) {
    let Some(tool) = tool() else { return };
    let mut on_stack = Name::default();
    let _ = write!(on_stack, "{name}");
    tool.begin(on_stack.as_c_str(), 0, None);
}

pub(super) fn pop() {
    let Some(tool) = tool() else { return };
    // SAFETY: the domain is the tool's own.
    unsafe { ffi::nvtxDomainRangePop(tool.domain()) };
}
