//! NVTX without its headers: the way in which an application and a tool find each other.
//!
//! A tool (Nsight Systems, say) names its library in `NVTX_INJECTION64_PATH`. The application loads it and calls its
//! `InitializeInjectionNvtx2` with a function that answers tables of places for functions; the tool puts its own there. NVTX
//! 3's headers do that in C, and binding them needs libclang to build; the protocol is small and has been stable since
//! 2017, so it is spoken here. Layouts are those of `nvToolsExt.h` and `nvtxTypes.h` of NVTX 3.
//!
//! The tool's library is never unloaded. Without a tool a range costs one atomic load.
#![allow(
    unsafe_code,
    reason = "calls of a tool's functions; each block states the fact that it relies on"
)]

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::io::Write;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

use super::Traced;

/// The environment variable that names the tool's library.
const TOOL: &str = "NVTX_INJECTION64_PATH";
/// Longest name of a range, with the zero at its end; longer ones are cut.
const NAME_BYTES: usize = 128;
/// `NVTX_VERSION`.
const VERSION: u16 = 3;

/// Modules of functions, by `NvtxCallbackModule`, with how many each has (the first place of each stays empty).
const MODULE_SIZES: [usize; 7] = [0, 16, 9, 15, 7, 16, 7];
/// `NVTX_CB_MODULE_CORE2`: functions of domains.
const CORE2: usize = 5;
const RANGE_PUSH: usize = 4;
const RANGE_POP: usize = 5;
const NAME_CATEGORY: usize = 8;
const DOMAIN_CREATE: usize = 12;

/// `nvtxEventAttributes_t`.
#[repr(C)]
struct Attributes {
    version: u16,
    size: u16,
    category: u32,
    color_type: i32,
    color: u32,
    payload_type: i32,
    reserved: i32,
    payload: u64,
    message_type: i32,
    message: *const c_char,
}

/// `NVTX_PAYLOAD_TYPE_UNSIGNED_INT64`.
const PAYLOAD_U64: i32 = 1;
/// `NVTX_MESSAGE_TYPE_ASCII`.
const MESSAGE_ASCII: i32 = 1;

type Domain = *mut c_void;
type Push = unsafe extern "C" fn(Domain, *const Attributes) -> c_int;
type Pop = unsafe extern "C" fn(Domain) -> c_int;
type NameCategory = unsafe extern "C" fn(Domain, u32, *const c_char);
type CreateDomain = unsafe extern "C" fn(*const c_char) -> Domain;
type GetTable = extern "C" fn(u32) -> *const c_void;
type Initialize = unsafe extern "C" fn(GetTable) -> c_int;

/// A place where a tool puts a function.
type Place = AtomicPtr<c_void>;

/// All places, and the table of each module's.
struct Tables {
    places: [[Place; 16]; 7],
    tables: OnceLock<[[usize; 17]; 7]>,
}

static TABLES: Tables = Tables {
    places: [const { [const { Place::new(std::ptr::null_mut()) }; 16] }; 7],
    tables: OnceLock::new(),
};

impl Tables {
    /// Addresses of a module's places, by the functions' numbers, ended by a zero.
    fn of(&'static self, module: usize) -> &'static [usize; 17] {
        let all = self.tables.get_or_init(|| {
            let mut tables = [[0; 17]; 7];
            for ((table, places), size) in tables.iter_mut().zip(&self.places).zip(MODULE_SIZES) {
                for (address, place) in table.iter_mut().zip(places).take(size).skip(1) {
                    *address = std::ptr::from_ref(place) as usize;
                }
            }
            tables
        });
        &all[module]
    }
}

/// `NvtxExportTableCallbacks`.
#[repr(C)]
struct Callbacks {
    size: usize,
    functions: extern "C" fn(c_int, *mut *const usize, *mut c_uint) -> c_int,
}

/// `NvtxExportTableVersionInfo`.
#[repr(C)]
struct VersionInfo {
    size: usize,
    version: u32,
    reserved: u32,
    set_tool_version: extern "C" fn(u32),
}

static CALLBACKS: Callbacks = Callbacks {
    size: size_of::<Callbacks>(),
    functions: module_functions,
};

static VERSION_INFO: VersionInfo = VersionInfo {
    size: size_of::<VersionInfo>(),
    version: VERSION as u32,
    reserved: 0,
    set_tool_version,
};

extern "C" fn set_tool_version(_: u32) {}

extern "C" fn export_table(which: u32) -> *const c_void {
    match which {
        1 => std::ptr::from_ref(&CALLBACKS).cast(),
        3 => std::ptr::from_ref(&VERSION_INFO).cast(),
        _ => std::ptr::null(),
    }
}

extern "C" fn module_functions(module: c_int, table: *mut *const usize, size: *mut c_uint) -> c_int {
    let module = usize::try_from(module).unwrap_or(0);
    if module == 0 || module >= MODULE_SIZES.len() {
        return 0;
    }
    // SAFETY: the tool gives places for both answers, or none.
    unsafe {
        if let Some(table) = table.as_mut() {
            *table = TABLES.of(module).as_ptr();
        }
        if let Some(size) = size.as_mut() {
            *size = MODULE_SIZES[module] as c_uint;
        }
    }
    1
}

/// The functions of the tool that listens.
struct Tool {
    domain: usize,
    push: Push,
    pop: Pop,
    name_category: Option<NameCategory>,
    /// Tenants whose category was named, a bit each; those beyond 64 have a category without a name.
    named: AtomicU64,
}

/// The tool, if there is one; found at the first range.
fn tool() -> Option<&'static Tool> {
    static FOUND: OnceLock<Option<Tool>> = OnceLock::new();
    FOUND.get_or_init(attach).as_ref()
}

fn attach() -> Option<Tool> {
    let path = std::env::var_os(TOOL).filter(|path| !path.is_empty())?;
    let shown = std::path::Path::new(&path).display();
    // SAFETY: the user names the library in order to have it loaded.
    let library = match unsafe { libloading::Library::new(&path) } {
        Ok(library) => library,
        Err(error) => {
            log::warn!("{TOOL} names {shown}, which cannot be loaded: {error}");
            return None;
        }
    };
    // SAFETY: the type is that of nvtxTypes.h.
    let initialize = match unsafe { library.get::<Initialize>(b"InitializeInjectionNvtx2\0") } {
        Ok(found) => *found,
        Err(_) => {
            log::warn!(
                "{TOOL} names {shown}, which is not an NVTX tool (it has no InitializeInjectionNvtx2)"
            );
            return None;
        }
    };
    // Its functions are called until the process ends.
    std::mem::forget(library);
    // SAFETY: the function answers tables that live as long as the process.
    if unsafe { initialize(export_table) } == 0 {
        log::warn!("the NVTX tool {shown} did not start");
        return None;
    }
    // SAFETY: the tool put a function of this type at this number, or left the place empty.
    let (create, push, pop, name_category) = unsafe {
        (
            function::<CreateDomain>(DOMAIN_CREATE),
            function::<Push>(RANGE_PUSH)?,
            function::<Pop>(RANGE_POP)?,
            function::<NameCategory>(NAME_CATEGORY),
        )
    };
    // SAFETY: a text that ends with a zero. A tool without domains takes null, the default one.
    let domain = create.map_or(0, |create| unsafe { create(c"jetlag".as_ptr()) } as usize);
    Some(Tool {
        domain,
        push,
        pop,
        name_category,
        named: AtomicU64::new(0),
    })
}

/// # Safety
/// `T` is the type of the function with this number.
unsafe fn function<T: Copy>(number: usize) -> Option<T> {
    const { assert!(size_of::<T>() == size_of::<*mut c_void>()) };
    let address = TABLES.places[CORE2][number].load(Ordering::Acquire);
    // SAFETY: not null, and of the type that the caller vouches for.
    (!address.is_null()).then(|| unsafe { std::mem::transmute_copy(&address) })
}

impl Tool {
    fn begin(&self, name: &CStr, category: u32, frame: Option<u64>) {
        let attributes = Attributes {
            version: VERSION,
            size: size_of::<Attributes>() as u16,
            category,
            color_type: 0,
            color: 0,
            payload_type: if frame.is_some() { PAYLOAD_U64 } else { 0 },
            reserved: 0,
            payload: frame.unwrap_or(0),
            message_type: MESSAGE_ASCII,
            message: name.as_ptr(),
        };
        // SAFETY: the tool reads what it is given before it returns.
        unsafe { (self.push)(self.domain as Domain, &raw const attributes) };
    }

    /// The tenant's category: 1 for the first, as 0 is none.
    fn category(&self, traced: Traced<'_>) -> u32 {
        let (number, bit) = (
            u32::from(traced.tenant) + 1,
            1_u64.checked_shl(traced.tenant.into()),
        );
        if let (Some(bit), Some(name_category)) = (bit, self.name_category)
            && self.named.load(Ordering::Relaxed) & bit == 0
            && self.named.fetch_or(bit, Ordering::Relaxed) & bit == 0
        {
            let mut name = Name::default();
            let _ = write!(name, "{}", traced.name);
            // SAFETY: a text that ends with a zero.
            unsafe { name_category(self.domain as Domain, number, name.as_c_str().as_ptr()) };
        }
        number
    }
}

/// A name on the stack: a frame's name is made for each, and allocates nothing.
struct Name {
    bytes: [u8; NAME_BYTES],
    length: usize,
}

impl Default for Name {
    fn default() -> Self {
        Name {
            bytes: [0; NAME_BYTES],
            length: 0,
        }
    }
}

impl Name {
    fn as_c_str(&self) -> &CStr {
        CStr::from_bytes_until_nul(&self.bytes).unwrap_or(c"")
    }
}

impl Write for Name {
    fn write(&mut self, text: &[u8]) -> std::io::Result<usize> {
        // The last byte stays zero.
        let room = NAME_BYTES - 1 - self.length;
        let taken = text.len().min(room);
        self.bytes[self.length..self.length + taken].copy_from_slice(&text[..taken]);
        self.length += taken;
        Ok(text.len())
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
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
    unsafe { (tool.pop)(tool.domain as Domain) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_have_the_layout_of_the_headers() {
        assert_eq!(size_of::<Attributes>(), 48);
        assert_eq!(std::mem::offset_of!(Attributes, payload), 24);
        assert_eq!(std::mem::offset_of!(Attributes, message), 40);
    }

    #[test]
    fn tables_end_where_their_module_does() {
        for (module, size) in MODULE_SIZES.iter().enumerate().skip(1) {
            let table = TABLES.of(module);
            assert_eq!(table[0], 0);
            assert!(table[1..*size].iter().all(|address| *address != 0));
            assert!(table[*size..].iter().all(|address| *address == 0));
        }
        let mut size = 0;
        assert_eq!(module_functions(0, std::ptr::null_mut(), &raw mut size), 0);
        assert_eq!(module_functions(7, std::ptr::null_mut(), &raw mut size), 0);
        assert_eq!(module_functions(5, std::ptr::null_mut(), &raw mut size), 1);
        assert_eq!(size, 16);
    }

    #[test]
    fn long_names_are_cut_and_end() {
        let mut name = Name::default();
        let _ = write!(name, "{} {}", "x".repeat(200), 1);
        assert_eq!(name.as_c_str().to_bytes().len(), NAME_BYTES - 1);
    }
}
