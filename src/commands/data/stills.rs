//! `jetlag data synth` of stills: synthetic scenes as KITTI's object layout.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::commands::outcome::WrongUse;
use crate::commands::output::print;
use crate::shell;
use crate::source::SourceError;
use crate::source::kitti::write_scene;
use crate::source::synthetic::World;

/// Writes scenes `start..start + count` of `seed` under `out`, on all cores, and says so; the file names are
/// the scenes' numbers in at least six digits.
///
/// # Errors
/// No scene asked for, or numbers beyond what a scene can have: [`WrongUse`]. Otherwise the first file that
/// cannot be written; the scenes written until then stay.
pub fn synth(out: &Path, count: u64, seed: u64, start: u64) -> anyhow::Result<()> {
    if count == 0 {
        return Err(WrongUse("--count must be at least 1".to_owned()).into());
    }
    let end = start.checked_add(count).ok_or_else(|| {
        WrongUse(format!(
            "--start {start} with --count {count} exceeds the highest scene number, {}",
            u64::MAX - 1
        ))
    })?;
    let next = AtomicU64::new(start);
    // Never counts beyond the end, where it could wrap.
    let take = || {
        next.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |index| {
            (index < end).then(|| index + 1)
        })
    };
    let work = || -> Result<(), SourceError> {
        while let Ok(index) = take() {
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
        Ok(())
    };
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get());
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        workers.into_iter().try_for_each(|worker| match worker.join() {
            Ok(outcome) => outcome,
            Err(panic) => std::panic::resume_unwind(panic),
        })
    })?;
    let scenes = if count == 1 { "scene" } else { "scenes" };
    print(&format!(
        "{count} {scenes} written to {}; next: jetlag eval builtin:camera --data {}\n",
        out.display(),
        shell::path(out)
    ))?;
    Ok(())
}
