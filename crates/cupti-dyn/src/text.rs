//! The texts of records: C strings in this process, copied while the record is read and kept once each.
//!
//! A record holds the address of a name. It is good until the module that holds the name is unloaded, so a name is copied
//! at once, up to [`MOST_BYTES`]: longer ones are cut, and bytes that are no UTF-8 are replaced. What the rest of the crate
//! sees of this is [`Texts`], so that records can be read from bytes without following an address.

use std::collections::HashMap;
use std::ffi::c_char;
use std::sync::Arc;

/// How much of a name is kept, in bytes: more than kernels of deep templates have.
pub const MOST_BYTES: usize = 16 << 10;

/// Different names that are kept for being met again. NVTX ranges may have a new one each frame.
const MOST_NAMES: usize = 1 << 16;

/// What a cut name ends in.
const CUT: &str = "…";

/// Gives the text at an address that a record holds.
pub trait Texts {
    /// The text; none for a null address, or where addresses are not followed.
    fn text(&mut self, address: u64) -> Option<Arc<str>>;
}

/// Follows no address: for bytes of unknown origin.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoTexts;

impl Texts for NoTexts {
    fn text(&mut self, _: u64) -> Option<Arc<str>> {
        None
    }
}

/// Names that were met, each kept once.
#[derive(Debug, Default)]
pub struct Names {
    known: HashMap<Box<[u8]>, Arc<str>>,
    /// How often a name was longer than [`MOST_BYTES`].
    pub cut: u64,
    /// How often a name was not UTF-8.
    pub not_utf8: u64,
}

impl Names {
    /// The text of these bytes; `is_cut` says that there were more.
    pub fn of_bytes(&mut self, bytes: &[u8], is_cut: bool) -> Arc<str> {
        self.cut += u64::from(is_cut);
        if let Some(known) = self.known.get(bytes) {
            self.not_utf8 += u64::from(!is_cut && std::str::from_utf8(bytes).is_err());
            return Arc::clone(known);
        }
        let mut text = match std::str::from_utf8(bytes) {
            Ok(text) => text.to_owned(),
            // A cut may go through a character; that is not the name's fault.
            Err(error) if is_cut && error.error_len().is_none() => {
                String::from_utf8_lossy(&bytes[..error.valid_up_to()]).into_owned()
            }
            Err(_) => {
                self.not_utf8 += 1;
                String::from_utf8_lossy(bytes).into_owned()
            }
        };
        if is_cut {
            text.push_str(CUT);
        }
        if self.known.len() == MOST_NAMES {
            self.known.clear();
        }
        let text: Arc<str> = text.into();
        self.known.insert(bytes.into(), Arc::clone(&text));
        text
    }
}

/// Follows the addresses of records that a CUPTI in this process wrote.
#[derive(Debug)]
pub struct ProcessTexts<'a> {
    names: &'a mut Names,
}

impl<'a> ProcessTexts<'a> {
    /// Reads texts of this process into `names`.
    ///
    /// # Safety
    /// Every address that [`Texts::text`] is given is null, or that of a C string in this process that lives, and that
    /// nobody changes, during the call: CUPTI vouches for it in the records of a buffer that it has just handed back.
    pub unsafe fn new(names: &'a mut Names) -> Self {
        Self { names }
    }
}

// libc's, which Rust's library is linked to.
unsafe extern "C" {
    fn strnlen(text: *const c_char, most: usize) -> usize;
}

impl Texts for ProcessTexts<'_> {
    fn text(&mut self, address: u64) -> Option<Arc<str>> {
        // Pointers into the first page are a null pointer's members, whoever wrote them.
        let start = usize::try_from(address).ok().filter(|address| *address >= 4096)?;
        let start: *const u8 = std::ptr::with_exposed_provenance(start);
        // SAFETY: a C string, as who made this vouches; no byte behind its end is looked at.
        let length = unsafe { strnlen(start.cast(), MOST_BYTES + 1) };
        let is_cut = length > MOST_BYTES;
        // SAFETY: so many bytes of it were just looked at, and nobody changes them.
        let bytes = unsafe { std::slice::from_raw_parts(start, length.min(MOST_BYTES)) };
        Some(self.names.of_bytes(bytes, is_cut))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::CString;

    fn text_of(names: &mut Names, bytes: &[u8]) -> Arc<str> {
        let text = CString::new(bytes).expect("no NUL");
        // SAFETY: the string lives through the call.
        let mut texts = unsafe { ProcessTexts::new(names) };
        texts
            .text(text.as_ptr().expose_provenance() as u64)
            .expect("a text")
    }

    #[test]
    fn a_name_is_copied_and_kept_once() {
        let mut names = Names::default();
        let (first, second) = (text_of(&mut names, b"gemm"), text_of(&mut names, b"gemm"));
        assert_eq!(&*first, "gemm");
        assert!(Arc::ptr_eq(&first, &second));
    }

    #[test]
    fn a_name_of_100_kb_is_cut_and_one_that_is_no_utf8_is_read_all_the_same() {
        let mut names = Names::default();
        let long = text_of(&mut names, &vec![b'k'; 100_000]);
        assert_eq!(long.len(), MOST_BYTES + CUT.len());
        assert!(long.ends_with(CUT));
        assert_eq!(&*text_of(&mut names, b"caf\xe9 kernel"), "caf\u{fffd} kernel");
        assert_eq!((names.cut, names.not_utf8), (1, 1));
        // Two bytes a character, and the cut between them.
        let accents = "é".repeat(MOST_BYTES).into_bytes();
        let accents = text_of(&mut names, &[b"x", accents.as_slice()].concat());
        assert!(accents.ends_with("é…"), "{}", &accents[accents.len() - 8..]);
        assert_eq!(names.not_utf8, 1);
    }

    #[test]
    fn null_is_no_text() {
        let mut names = Names::default();
        // SAFETY: null is not followed.
        let mut texts = unsafe { ProcessTexts::new(&mut names) };
        assert_eq!(texts.text(0), None);
        assert_eq!(texts.text(8), None);
    }

    #[test]
    fn names_that_never_come_again_take_no_memory_without_end() {
        let mut names = Names::default();
        for number in 0..MOST_NAMES + 10 {
            names.of_bytes(format!("frame {number}").as_bytes(), false);
        }
        assert!(names.known.len() <= MOST_NAMES);
    }
}
