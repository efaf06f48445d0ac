//! NVTX 3, as a tool sees it: a module hands over its tables of functions, and ours are put into them.
//!
//! Numbers and layouts are of NVTX's headers (`nvtxTypes.h`, `nvToolsExt.h`), which have not changed since version 3.0. Modules of the
//! default domain and of domains (CORE and CORE2) are served; names of threads and categories are passed over. Handles that we give
//! out are numbers and never followed.

use std::ffi::{c_char, c_int, c_void};

use crate::for_c;
use crate::ranges::{self, Name};

/// Gives a table by its number.
pub(crate) type TableOf = unsafe extern "C" fn(u32) -> *const c_void;
/// Any function; each is called with the types that its number stands for.
type Function = unsafe extern "C" fn();
/// A pointer for each function, through which the module calls it.
type Functions = *mut *mut Option<Function>;

/// `NvtxExportTableCallbacks`.
#[repr(C)]
struct Callbacks {
    size: usize,
    functions: Option<unsafe extern "C" fn(u32, *mut Functions, *mut u32) -> c_int>,
}

/// `NVTX_ETID_CALLBACKS`.
const CALLBACKS: u32 = 1;
/// `NVTX_CB_MODULE_CORE` and `NVTX_CB_MODULE_CORE2`.
const CORE: u32 = 1;
const CORE2: u32 = 5;

/// Puts our functions into a module's tables; whether it has any.
///
/// # Safety
/// `table_of` is what NVTX's headers say.
pub(crate) unsafe fn attach(table_of: TableOf) -> bool {
    // SAFETY: the caller vouches for it.
    let callbacks = unsafe { table_of(CALLBACKS) }.cast::<Callbacks>();
    // SAFETY: null, or a table that begins with its size and lives as long as the module.
    let Some(callbacks) = (unsafe { callbacks.as_ref() }) else {
        return false;
    };
    let Some(functions) = callbacks
        .functions
        .filter(|_| callbacks.size >= size_of::<Callbacks>())
    else {
        return false;
    };
    let mut any = false;
    for (module, ours) in [(CORE, core()), (CORE2, core2())] {
        let (mut table, mut length): (Functions, u32) = (std::ptr::null_mut(), 0);
        // SAFETY: both places live through the call.
        let given = unsafe { functions(module, &mut table, &mut length) };
        if given == 0 || table.is_null() {
            continue;
        }
        for (number, function) in ours.into_iter().filter(|(number, _)| *number < length) {
            // SAFETY: the table has so many entries, each null or the place of a function's pointer in the module.
            unsafe {
                let place = *table.add(number as usize);
                if !place.is_null() {
                    *place = Some(function);
                    any = true;
                }
            }
        }
    }
    any
}

/// `nvtxEventAttributes_t` of version 2, as long as it is since NVTX 3.0.
#[repr(C)]
#[derive(Clone, Copy)]
struct Attributes {
    version: u16,
    size: u16,
    category: u32,
    colour_type: i32,
    colour: u32,
    payload_type: i32,
    reserved: i32,
    payload: u64,
    message_type: i32,
    message: *const c_void,
}

/// What an event says of itself.
struct Event<'a> {
    name: Name<'a>,
    payload: Option<i64>,
    /// What a wide text was made of.
    narrow: Option<String>,
}

impl Event<'_> {
    fn name(&self) -> Name<'_> {
        match &self.narrow {
            Some(narrow) => Name::Text(narrow.as_bytes()),
            None => self.name,
        }
    }
}

/// A C string, as far as names are kept.
///
/// # Safety
/// Null, or a C string that lives while the result is used.
pub(crate) unsafe fn bytes<'a>(text: *const c_char) -> Option<&'a [u8]> {
    unsafe extern "C" {
        fn strnlen(text: *const c_char, most: usize) -> usize;
    }
    if text.is_null() {
        return None;
    }
    // SAFETY: a C string, as the caller vouches; no byte behind its end is looked at.
    let length = unsafe { strnlen(text, cupti_dyn::text::MOST_BYTES + 1) };
    // SAFETY: so many bytes were looked at.
    Some(unsafe { std::slice::from_raw_parts(text.cast(), length) })
}

/// A string of wide characters, which have 32 bits on Linux.
///
/// # Safety
/// Null, or a string that ends with a 0.
unsafe fn wide(mut text: *const u32) -> Option<String> {
    if text.is_null() {
        return None;
    }
    let mut narrow = String::new();
    loop {
        // SAFETY: not behind the 0 that ends it. `wchar_t` may lie unaligned in nobody's program.
        let character = unsafe { text.read_unaligned() };
        if character == 0 || narrow.len() > cupti_dyn::text::MOST_BYTES {
            return Some(narrow);
        }
        narrow.push(char::from_u32(character).unwrap_or(char::REPLACEMENT_CHARACTER));
        // SAFETY: the string goes on, up to its 0.
        text = unsafe { text.add(1) };
    }
}

/// A handle that we gave out.
fn numbered(handle: *const c_void) -> Option<u32> {
    u32::try_from(handle.addr().checked_sub(1)?).ok()
}

/// A handle for a number; what has no number is known as such.
fn handle(number: Option<u32>) -> *const c_void {
    std::ptr::without_provenance(number.map_or(usize::MAX, |number| number as usize + 1))
}

/// # Safety
/// Null, or attributes whose size says how long they are, with texts that live while the result is used.
unsafe fn event<'a>(given: *const Attributes) -> Event<'a> {
    let mut event = Event {
        name: Name::None,
        payload: None,
        narrow: None,
    };
    if given.is_null() {
        return event;
    }
    // SAFETY: all zeros are a value of each field.
    let mut attributes: Attributes = unsafe { std::mem::zeroed() };
    // SAFETY: version and size come first in every version.
    let size = usize::from(unsafe { (*given).size }).min(size_of::<Attributes>());
    // SAFETY: so many bytes there are, and so many fit.
    unsafe { std::ptr::copy_nonoverlapping(given.cast::<u8>(), (&raw mut attributes).cast::<u8>(), size) };
    event.payload = payload(attributes.payload_type, attributes.payload);
    match attributes.message_type {
        1 => {
            // SAFETY: NVTX_MESSAGE_TYPE_ASCII says that it is a C string.
            event.name = unsafe { bytes(attributes.message.cast()) }.map_or(Name::None, Name::Text);
        }
        // SAFETY: NVTX_MESSAGE_TYPE_UNICODE says that it is a wide string.
        2 => event.narrow = unsafe { wide(attributes.message.cast()) },
        3 => event.name = numbered(attributes.message).map_or(Name::None, Name::Registered),
        _ => {}
    }
    event
}

/// `nvtxPayloadType_t`: a number, where it is a whole one.
fn payload(kind: i32, bits: u64) -> Option<i64> {
    let low = bits as u32;
    let whole = |value: f64| (value.fract() == 0.0 && value.abs() < 2f64.powi(53)).then_some(value as i64);
    match kind {
        1 => Some(i64::try_from(bits).unwrap_or(i64::MAX)),
        2 => Some(bits as i64),
        3 => whole(f64::from_bits(bits)),
        4 => Some(low.into()),
        5 => Some((low as i32).into()),
        6 => whole(f32::from_bits(low).into()),
        _ => None,
    }
}

type Domain = *const c_void;

/// # Safety
/// As [`event`].
unsafe fn push(domain: Domain, given: *const Attributes) -> c_int {
    for_c(-2, || {
        // SAFETY: the caller vouches for it.
        let event = unsafe { event(given) };
        ranges::push(numbered(domain), event.name(), event.payload)
    })
}

/// # Safety
/// As [`event`].
unsafe fn start(domain: Domain, given: *const Attributes) -> u64 {
    for_c(0, || {
        // SAFETY: the caller vouches for it.
        let event = unsafe { event(given) };
        ranges::start(numbered(domain), event.name(), event.payload)
    })
}

/// # Safety
/// As [`event`].
unsafe fn mark(given: *const Attributes) {
    for_c((), || {
        // SAFETY: the caller vouches for it.
        let event = unsafe { event(given) };
        ranges::mark(event.name(), event.payload);
    });
}

/// The handle of a text.
///
/// # Safety
/// As [`bytes`].
unsafe fn registered(text: *const c_char) -> *const c_void {
    for_c(handle(None), || {
        // SAFETY: the caller vouches for it.
        let text = unsafe { bytes(text) };
        handle(ranges::register(text.unwrap_or_default()))
    })
}

/// The same of wide characters.
///
/// # Safety
/// As [`wide`].
unsafe fn registered_wide(text: *const u32) -> *const c_void {
    for_c(handle(None), || {
        // SAFETY: the caller vouches for it.
        let text = unsafe { wide(text) };
        handle(ranges::register(text.unwrap_or_default().as_bytes()))
    })
}

/// A text as a name.
pub(crate) fn named(bytes: Option<&[u8]>) -> Name<'_> {
    bytes.map_or(Name::None, Name::Text)
}

/// The functions for the module CORE: those of the default domain. NVTX's headers vouch for what the functions are given.
fn core() -> [(u32, Function); 9] {
    const NONE: Domain = std::ptr::null();
    unsafe extern "C" fn mark_ex(given: *const Attributes) {
        // SAFETY: NVTX's headers vouch for it.
        unsafe { mark(given) };
    }
    unsafe extern "C" fn start_ex(given: *const Attributes) -> u64 {
        // SAFETY: NVTX's headers vouch for it.
        unsafe { start(NONE, given) }
    }
    unsafe extern "C" fn start_a(text: *const c_char) -> u64 {
        // SAFETY: NVTX's headers vouch for it.
        for_c(0, || ranges::start(None, named(unsafe { bytes(text) }), None))
    }
    unsafe extern "C" fn start_w(text: *const u32) -> u64 {
        for_c(0, || {
            // SAFETY: NVTX's headers vouch for it.
            let text = unsafe { wide(text) };
            ranges::start(None, named(text.as_ref().map(String::as_bytes)), None)
        })
    }
    unsafe extern "C" fn end(number: u64) {
        for_c((), || ranges::end(number));
    }
    unsafe extern "C" fn push_ex(given: *const Attributes) -> c_int {
        // SAFETY: NVTX's headers vouch for it.
        unsafe { push(NONE, given) }
    }
    unsafe extern "C" fn push_a(text: *const c_char) -> c_int {
        // SAFETY: NVTX's headers vouch for it.
        for_c(-2, || ranges::push(None, named(unsafe { bytes(text) }), None))
    }
    unsafe extern "C" fn push_w(text: *const u32) -> c_int {
        for_c(-2, || {
            // SAFETY: NVTX's headers vouch for it.
            let text = unsafe { wide(text) };
            ranges::push(None, named(text.as_ref().map(String::as_bytes)), None)
        })
    }
    unsafe extern "C" fn pop() -> c_int {
        for_c(-2, || ranges::pop(None))
    }
    // SAFETY: a module calls each through the type that its number stands for, which is ours.
    unsafe {
        [
            (1, erased(mark_ex as *const ())),
            (4, erased(start_ex as *const ())),
            (5, erased(start_a as *const ())),
            (6, erased(start_w as *const ())),
            (7, erased(end as *const ())),
            (8, erased(push_ex as *const ())),
            (9, erased(push_a as *const ())),
            (10, erased(push_w as *const ())),
            (11, erased(pop as *const ())),
        ]
    }
}

/// The functions for the module CORE2: those of domains.
fn core2() -> [(u32, Function); 9] {
    unsafe extern "C" fn mark_ex(_: Domain, given: *const Attributes) {
        // SAFETY: NVTX's headers vouch for it.
        unsafe { mark(given) };
    }
    unsafe extern "C" fn start_ex(domain: Domain, given: *const Attributes) -> u64 {
        // SAFETY: NVTX's headers vouch for it.
        unsafe { start(domain, given) }
    }
    unsafe extern "C" fn end(_: Domain, number: u64) {
        for_c((), || ranges::end(number));
    }
    unsafe extern "C" fn push_ex(domain: Domain, given: *const Attributes) -> c_int {
        // SAFETY: NVTX's headers vouch for it.
        unsafe { push(domain, given) }
    }
    unsafe extern "C" fn pop(domain: Domain) -> c_int {
        for_c(-2, || ranges::pop(numbered(domain)))
    }
    unsafe extern "C" fn register_a(_: Domain, text: *const c_char) -> *const c_void {
        // SAFETY: NVTX's headers vouch for it.
        unsafe { registered(text) }
    }
    unsafe extern "C" fn register_w(_: Domain, text: *const u32) -> *const c_void {
        // SAFETY: NVTX's headers vouch for it.
        unsafe { registered_wide(text) }
    }
    unsafe extern "C" fn domain_a(text: *const c_char) -> *const c_void {
        // SAFETY: NVTX's headers vouch for it.
        unsafe { registered(text) }
    }
    unsafe extern "C" fn domain_w(text: *const u32) -> *const c_void {
        // SAFETY: NVTX's headers vouch for it.
        unsafe { registered_wide(text) }
    }
    // SAFETY: a module calls each through the type that its number stands for, which is ours.
    unsafe {
        [
            (1, erased(mark_ex as *const ())),
            (2, erased(start_ex as *const ())),
            (3, erased(end as *const ())),
            (4, erased(push_ex as *const ())),
            (5, erased(pop as *const ())),
            (10, erased(register_a as *const ())),
            (11, erased(register_w as *const ())),
            (12, erased(domain_a as *const ())),
            (13, erased(domain_w as *const ())),
        ]
    }
}

/// A function without its type.
///
/// # Safety
/// It is the address of a function, and whoever calls the result gives it its type back before.
unsafe fn erased(function: *const ()) -> Function {
    // SAFETY: the caller vouches for it.
    unsafe { std::mem::transmute::<*const (), Function>(function) }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_laid_out_as_nvtx_has_them() {
        assert_eq!(size_of::<Attributes>(), 48);
        assert_eq!(std::mem::offset_of!(Attributes, payload), 24);
        assert_eq!(std::mem::offset_of!(Attributes, message), 40);
    }

    #[test]
    fn payloads_that_are_whole_numbers_are_kept() {
        assert_eq!(payload(1, 4), Some(4));
        assert_eq!(payload(1, u64::MAX), Some(i64::MAX));
        assert_eq!(payload(2, -4i64 as u64), Some(-4));
        assert_eq!(payload(3, 4f64.to_bits()), Some(4));
        assert_eq!(payload(3, 4.5f64.to_bits()), None);
        assert_eq!(payload(3, f64::NAN.to_bits()), None);
        assert_eq!(payload(4, 0xffff_ffff_0000_0004), Some(4));
        assert_eq!(payload(5, 0xffff_fffc), Some(-4));
        assert_eq!(payload(6, u64::from(8f32.to_bits())), Some(8));
        assert_eq!(payload(0, 4), None);
    }

    #[test]
    fn an_older_or_broken_size_reads_no_further() {
        let text = c"name";
        let mut attributes = Attributes {
            version: 2,
            size: 48,
            category: 0,
            colour_type: 0,
            colour: 0,
            payload_type: 4,
            reserved: 0,
            payload: 7,
            message_type: 1,
            message: text.as_ptr().cast(),
        };
        // SAFETY: the attributes and the text live through the call.
        let whole = unsafe { event(&attributes) };
        assert!(matches!(whole.name(), Name::Text(b"name")));
        assert_eq!(whole.payload, Some(7));
        attributes.size = 32;
        // SAFETY: as above.
        let older = unsafe { event(&attributes) };
        assert!(matches!(older.name(), Name::None));
        assert_eq!(older.payload, Some(7));
        attributes.size = 0;
        // SAFETY: as above.
        assert_eq!(unsafe { event(&attributes) }.payload, None);
    }

    #[test]
    fn wide_characters_become_text_and_what_is_none_is_replaced() {
        let text = [0x48, 0xfc, 0x1f600, 0xd800, 0];
        // SAFETY: it ends with a 0.
        assert_eq!(unsafe { wide(text.as_ptr()) }.unwrap(), "Hü😀\u{fffd}");
    }

    #[test]
    fn handles_are_numbers_and_never_null() {
        assert_eq!(numbered(handle(Some(0))), Some(0));
        assert_eq!(numbered(handle(Some(7))), Some(7));
        assert_eq!(numbered(handle(None)), None);
        assert_eq!(numbered(std::ptr::null()), None);
        assert!(!handle(Some(0)).is_null());
    }
}
