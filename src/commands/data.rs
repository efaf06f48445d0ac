//! `jetlag data`: makes data sets. `synth` writes synthetic scenes as KITTI-format folders.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::Context as _;

use crate::source::SourceError;
use crate::source::kitti::write_scene;
use crate::source::synthetic::World;

/// Writes scenes `start..start + count` of `seed` under `out`, on all cores; the file names are the
/// scenes' numbers in six digits.
///
/// # Errors
/// The first file that cannot be written; the scenes written until then stay.
pub fn synth(out: &Path, count: u64, seed: u64, start: u64) -> anyhow::Result<()> {
    let end = start.saturating_add(count);
    let next = AtomicU64::new(start);
    let work = || -> Result<(), SourceError> {
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            if index >= end {
                return Ok(());
            }
            let scene = World::scene(seed, index);
            let written = write_scene(
                out,
                &format!("{index:06}"),
                &scene.observe(),
                &scene.calibration(),
            );
            if written.is_err() {
                // The others need not go on.
                next.store(end, Ordering::Relaxed);
                return written;
            }
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get());
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        workers.into_iter().try_for_each(|worker| match worker.join() {
            Ok(outcome) => outcome,
            Err(panic) => std::panic::resume_unwind(panic),
        })
    })
    .with_context(|| format!("writing synthetic scenes to {}", out.display()))
}
