//! `jetlag cache list|clean`: what the plan cache holds, and making room.

use super::outcome::Outcome;
use super::output::print;
use crate::cli::{CacheCommand, Format};
use crate::engine::cache::{self, PlanCache};
use crate::show::plan as show;

/// Lists or cleans.
///
/// # Errors
/// The folder cannot be read, or an entry cannot be removed.
pub fn run(command: &CacheCommand) -> anyhow::Result<Outcome> {
    match command {
        CacheCommand::List { cache, format } => {
            let cache = open(cache.as_deref());
            let entries = cache.list()?;
            match format {
                Format::Text => print(&show::cache(cache.folder(), &entries))?,
                Format::Json => print(
                    &(serde_json::to_string_pretty(&show::cache_json(cache.folder(), &entries))? + "\n"),
                )?,
            }
        }
        CacheCommand::Clean {
            cache,
            network,
            unreadable,
        } => {
            let cache = open(cache.as_deref());
            let (count, bytes) = cache.clean(|entry| match (&entry.manifest, network) {
                (Ok(manifest), Some(wanted)) => manifest.network.name.contains(wanted.as_str()),
                (Err(_), Some(_)) => false,
                (manifest, None) => manifest.is_err() || !*unreadable,
            })?;
            let everything = network.is_none() && !*unreadable;
            let measurements = if everything {
                cache.forget_measurements()?
            } else {
                0
            };
            print(&show::cleaned(cache.folder(), count, bytes + measurements))?;
        }
    }
    Ok(Outcome::Done)
}

fn open(folder: Option<&std::path::Path>) -> PlanCache {
    PlanCache::new(folder.map_or_else(cache::default_folder, std::path::Path::to_owned))
}
