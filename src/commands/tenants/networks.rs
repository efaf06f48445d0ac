//! The networks of a tenant as the manifest has them.

use super::Obstacle;
use crate::backend::{NetworkSource, Program};
use crate::commands::recorded_work;
use crate::detector::Detector;
use crate::files;
use crate::record::NetworkManifest;
use crate::scenario::BackendChoice;
use crate::source::ContentKind;

/// Refuses what the backend cannot execute, before it is asked: a plan where that is not TensorRT, and a bare network that contradicts
/// itself or the shapes that it was given.
pub(super) fn checked(detector: &Detector, backend: &BackendChoice) -> Result<(), Obstacle> {
    let executes_plans = matches!(backend, BackendChoice::TensorRt { .. }) || !backend.executes();
    if let Some(plan) = detector.program.engines.iter().find(|engine| engine.is_plan())
        && !executes_plans
    {
        return Err(Obstacle::PlanElsewhere {
            plan: plan.to_string(),
            backend: backend.name(),
        });
    }
    if detector.input != ContentKind::Empty {
        return Ok(());
    }
    for network in &detector.program.engines {
        if let Some(problem) = recorded_work::contradiction(detector, network) {
            return Err(Obstacle::Contradiction(network.to_string(), problem));
        }
    }
    Ok(())
}

/// Whether a program is of plans, which need not be built.
pub(super) fn are_plans(program: &Program) -> bool {
    !program.engines.is_empty() && program.engines.iter().all(NetworkSource::is_plan)
}

/// Each network with the hash of its file.
pub(in crate::commands) fn hashed(program: &Program) -> Result<Vec<NetworkManifest>, Obstacle> {
    program
        .engines
        .iter()
        .map(|network| {
            let (hash, bytes) = match network {
                NetworkSource::File(path) => {
                    let content = files::read(path, files::NETWORK).map_err(|error| {
                        let path = path.clone();
                        Obstacle::Network { path, error }
                    })?;
                    (blake3::hash(&content), content.len())
                }
                NetworkSource::Embedded { bytes, .. } => (blake3::hash(bytes), bytes.len()),
            };
            Ok(NetworkManifest {
                name: network.to_string(),
                blake3: hash.to_hex().to_string(),
                bytes: bytes as u64,
                ..NetworkManifest::default()
            })
        })
        .collect()
}
