//! INT8 calibration from a detector's frames (TensorRT 8 to 10): what the library asks for, batch by batch.
//!
//! Where frames come from and how they become tensors is the caller's affair ([`Frames`]), as is how host bytes
//! come to the device ([`Upload`]).

use std::collections::BTreeMap;
use std::ffi::c_void;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tensorrt_dyn::Calibrator;

use crate::files;
use crate::gpu::{GpuError, Uploads};
use crate::whole::write_whole;

/// Why there is no further frame, or none on the device.
pub type FrameError = Box<dyn std::error::Error + Send + Sync>;

/// Representative frames as a network's input tensors.
pub trait Frames: Send {
    /// Prepares the next frame; `false` when there is no more.
    ///
    /// # Errors
    /// A frame that cannot be read or prepared.
    fn advance(&mut self) -> Result<bool, FrameError>;
    /// The bytes of an input of the current frame.
    fn tensor(&self, name: &str) -> Option<&[u8]>;
}

/// A way to bring bytes to the device.
///
/// # Safety
/// What [`Upload::upload`] answers is the address of device memory that holds as many bytes as were given, until the next call of
/// the same name or until this is dropped: a library reads from there.
pub unsafe trait Upload: Send {
    /// Copies the bytes and answers their address there.
    ///
    /// # Errors
    /// The device has no memory left, or fails.
    fn upload(&mut self, name: &str, bytes: &[u8]) -> Result<u64, GpuError>;
}

// SAFETY: it answers the address of a block of its own that is as long as the bytes, or longer, and that it keeps until other bytes
// come under the name.
unsafe impl Upload for Uploads {
    fn upload(&mut self, name: &str, bytes: &[u8]) -> Result<u64, GpuError> {
        Uploads::upload(self, name, bytes)
    }
}

/// Why a calibration ended early, for whoever asked for it: the library cannot be told.
pub type Problem = Arc<Mutex<Option<String>>>;

/// Feeds frames to the library and keeps what it makes of them in a file.
pub struct FrameCalibrator {
    frames: Box<dyn Frames>,
    uploads: Box<dyn Upload>,
    /// What the library reads of each input: the bytes of the shape that it calibrates with.
    lengths: BTreeMap<String, usize>,
    cache: PathBuf,
    problem: Problem,
    padded: Vec<u8>,
}

impl FrameCalibrator {
    /// A calibrator that begins with `cache` if that is there, and else with `frames`.
    pub fn new(frames: Box<dyn Frames>, uploads: Box<dyn Upload>, cache: PathBuf) -> Self {
        Self {
            frames,
            uploads,
            lengths: BTreeMap::new(),
            cache,
            problem: Problem::default(),
            padded: Vec::new(),
        }
    }

    /// The same with the bytes that the library will read of each input: shorter tensors are filled up with zeros, longer ones
    /// cut.
    #[must_use]
    pub(super) fn reading(mut self, lengths: BTreeMap<String, usize>) -> Self {
        self.lengths = lengths;
        self
    }

    /// Where a problem is told; look there before a plan is trusted.
    pub fn problem(&self) -> Problem {
        Arc::clone(&self.problem)
    }

    fn batch(&mut self, names: &[&str], addresses: &mut [*mut c_void]) -> Result<bool, FrameError> {
        if !self.frames.advance()? {
            return Ok(false);
        }
        for (name, address) in names.iter().zip(addresses) {
            let bytes = self
                .frames
                .tensor(name)
                .ok_or_else(|| format!("no frame has a tensor `{name}`"))?;
            let length = *self
                .lengths
                .get(*name)
                .ok_or_else(|| format!("the size of input `{name}` is not known"))?;
            self.padded.clear();
            self.padded.extend(bytes.iter().take(length));
            self.padded.resize(length, 0);
            let copied = self.uploads.upload(name, &self.padded)?;
            *address = std::ptr::with_exposed_provenance_mut(usize::try_from(copied).unwrap_or(0));
        }
        Ok(true)
    }

    fn failed(&self) -> MutexGuard<'_, Option<String>> {
        self.problem.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Calibrator for FrameCalibrator {
    fn next_batch(&mut self, names: &[&str], addresses: &mut [*mut c_void]) -> bool {
        self.batch(names, addresses).unwrap_or_else(|problem| {
            self.failed().get_or_insert(problem.to_string());
            false
        })
    }

    fn read_cache(&mut self) -> Option<Vec<u8>> {
        files::read(&self.cache, files::NETWORK).ok()
    }

    fn write_cache(&mut self, cache: &[u8]) {
        if self.failed().is_some() {
            return;
        }
        let folder = self.cache.parent().map_or(Ok(()), std::fs::create_dir_all);
        if let Err(error) = folder.and_then(|()| write_whole(&self.cache, cache)) {
            log::warn!(
                "the calibration {} cannot be saved: {error}",
                self.cache.display()
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three frames of one tensor, whose bytes are the frame's number.
    struct Three(u8, [u8; 4]);

    impl Frames for Three {
        fn advance(&mut self) -> Result<bool, FrameError> {
            self.0 += 1;
            self.1 = [self.0; 4];
            Ok(self.0 <= 3)
        }

        fn tensor(&self, name: &str) -> Option<&[u8]> {
            (name == "images").then_some(&self.1)
        }
    }

    /// Keeps what came in place of a device; the address is made of the length and the first byte.
    struct Host;

    // SAFETY: nobody reads from these addresses.
    unsafe impl Upload for Host {
        fn upload(&mut self, _name: &str, bytes: &[u8]) -> Result<u64, GpuError> {
            assert!(bytes[4..].iter().all(|byte| *byte == 0), "filled up with zeros");
            Ok(100 * bytes.len() as u64 + u64::from(bytes[0]))
        }
    }

    fn calibrator(cache: PathBuf) -> FrameCalibrator {
        let lengths = BTreeMap::from([("images".to_owned(), 6)]);
        FrameCalibrator::new(Box::new(Three(0, [0; 4])), Box::new(Host), cache).reading(lengths)
    }

    #[test]
    fn every_frame_is_a_batch_of_the_length_that_is_read_and_then_there_is_none() {
        let mut calibrator = calibrator(PathBuf::from("/nowhere"));
        let mut addresses = [std::ptr::null_mut()];
        for frame in 1..=3 {
            assert!(calibrator.next_batch(&["images"], &mut addresses));
            assert_eq!(addresses[0].addr(), 600 + frame);
        }
        assert!(!calibrator.next_batch(&["images"], &mut addresses));
        assert_eq!(*calibrator.failed(), None);
    }

    #[test]
    fn a_calibration_that_ends_early_is_told_and_not_kept() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("a.calibration");
        let mut calibrator = calibrator(file.clone());
        let problem = calibrator.problem();
        assert!(!calibrator.next_batch(&["points"], &mut [std::ptr::null_mut()]));
        assert_eq!(
            problem.lock().expect("whole").as_deref(),
            Some("no frame has a tensor `points`")
        );
        calibrator.write_cache(b"scales of too few frames");
        assert!(!file.exists());
    }

    #[test]
    fn the_librarys_result_is_kept_for_the_next_build() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("deeper/a.calibration");
        assert_eq!(calibrator(file.clone()).read_cache(), None);
        calibrator(file.clone()).write_cache(b"scales");
        assert_eq!(calibrator(file).read_cache().as_deref(), Some(&b"scales"[..]));
    }
}
