//! Our own kernels on a device: compiled by NVRTC once, kept beside the plans, and loaded.
//!
//! Code is kept by what it was made from: the source, the architecture and NVRTC's release. A file that is damaged, or that
//! the driver does not take, is made again.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::engine::cache;
use crate::files;
use crate::gpu::{Gpu, GpuError, KernelSource, Module, Nvrtc, NvrtcError};
use crate::whole::write_whole;

/// Length of the hash before the code.
const HASH_BYTES: usize = 32;

/// Why there are no kernels.
#[derive(Debug, thiserror::Error)]
pub enum KernelError {
    /// They cannot be compiled.
    #[error(transparent)]
    Nvrtc(#[from] NvrtcError),
    /// The driver does not take them.
    #[error(transparent)]
    Gpu(#[from] GpuError),
}

/// The module of a source on a device.
///
/// # Errors
/// There is no NVRTC, it does not know the device, or the driver fails.
pub fn kernels(gpu: &Arc<Gpu>, source: KernelSource) -> Result<Arc<Module>, KernelError> {
    let nvrtc = Nvrtc::find(gpu.device().driver_cuda, None)?;
    let capability = gpu.device().compute_capability;
    let folder = cache::default_folder().join("kernels");
    let path = folder.join(file_name(&nvrtc, source, capability)?);
    if let Some(code) = kept(&path) {
        // SAFETY: the file was written below, for this source, architecture and release of NVRTC (its name), and is whole (its
        // hash).
        match unsafe { Module::load(gpu, source, &code) } {
            Ok(module) => return Ok(module),
            Err(error) => log::warn!("{} is unusable ({error}) and is compiled again", path.display()),
        }
    }
    let code = nvrtc.compile(source.name, source.text, capability)?;
    log::info!("{} compiled by {nvrtc:?}", source.name);
    // SAFETY: what NVRTC just made of the source.
    let module = unsafe { Module::load(gpu, source, &code) }?;
    // Without the file it is compiled again next time.
    if let Err(error) = std::fs::create_dir_all(&folder).and_then(|()| keep(&path, &code)) {
        log::warn!("{} cannot be cached: {error}", path.display());
    }
    Ok(module)
}

fn file_name(nvrtc: &Nvrtc, source: KernelSource, capability: u16) -> Result<PathBuf, NvrtcError> {
    let architecture = nvrtc.architecture(capability)?;
    let mut hasher = blake3::Hasher::new();
    for part in [source.text, &architecture, &nvrtc.version()] {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part.as_bytes());
    }
    let key = hasher.finalize().to_hex();
    Ok(PathBuf::from(format!("{}-{architecture}.kernels", &key[..32])))
}

fn keep(path: &Path, code: &[u8]) -> std::io::Result<()> {
    let mut content = blake3::hash(code).as_bytes().to_vec();
    content.extend_from_slice(code);
    write_whole(path, &content)
}

/// The code in a file, if it is there and whole.
fn kept(path: &Path) -> Option<Vec<u8>> {
    let content = files::read(path, files::NETWORK).ok()?;
    let (hash, code) = content.split_at_checked(HASH_BYTES)?;
    if blake3::hash(code).as_bytes() != hash {
        log::warn!("{} is damaged and is compiled again", path.display());
        return None;
    }
    Some(code.to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_that_was_kept_is_found_whole_or_not_at_all() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("load.kernels");
        assert_eq!(kept(&path), None);
        keep(&path, b"code").expect("written");
        assert_eq!(kept(&path).as_deref(), Some(&b"code"[..]));
        let mut content = std::fs::read(&path).expect("read");
        content.pop();
        std::fs::write(&path, &content).expect("written");
        assert_eq!(kept(&path), None, "cut off");
        std::fs::write(&path, b"short").expect("written");
        assert_eq!(kept(&path), None, "shorter than a hash");
    }
}
