//! A scenario of one tenant, for a network or a detector spec that was named in place of a scenario.

use std::path::Path;

use super::init::names::{plain, tenant_name};
use super::opening;
use super::outcome::WrongUse;
use super::words::there;
use crate::detector::network::stem;
use crate::detector::propose::propose;
use crate::engine::{network, plan};
use crate::scenario::Shapes;
use crate::shell;
use crate::written::root_name;

/// The scenario of a network, which runs on made inputs, or of a spec, which runs on made scenes, in a closed loop; none where the
/// file is a scenario.
///
/// # Errors
/// A file that is not there or is of another kind; shapes for something other than a network.
pub(super) fn scenario_of(path: &Path, shapes: Option<&Shapes>) -> Result<Option<String>, WrongUse> {
    there(
        path,
        "a scenario (.ron), a network (.onnx), a plan (.plan, .engine, .trt) or a detector spec (.ron)",
    )?;
    let ending = path
        .extension()
        .and_then(|ending| ending.to_str())
        .unwrap_or_default();
    if ending.eq_ignore_ascii_case("mcap") {
        return Err(WrongUse(format!(
            "{}: this is a run; its summary: jetlag report {}",
            path.display(),
            shell::path(path)
        )));
    }
    let text = || {
        path.to_str()
            .ok_or_else(|| WrongUse(format!("{} is not UTF-8; rename it", path.display())))
    };
    let (name, tenant) = (plain(&stem(path)), tenant_name(&stem(path)));
    let is_plan = plan::is_plan(path);
    if opening::is_network(path) || is_plan {
        // A plan runs on TensorRT alone.
        let backend = if is_plan { ", backend: TensorRt()" } else { "" };
        let shapes = shapes.map_or(String::new(), |shapes| {
            format!(", shapes: {:?}", shapes.to_string())
        });
        let network = text()?;
        return Ok(Some(format!(
            "Scenario(name: {name:?}, tenants: [Tenant(name: {tenant:?}, detector: Network(network: {network:?}{shapes}){backend})])"
        )));
    }
    if let Some(shapes) = shapes {
        return Err(WrongUse(format!(
            "--shapes {shapes}: only for a network (.onnx) or a plan; in a scenario, write detector: Network(network: \"…\", shapes: \"…\")"
        )));
    }
    let source = match root_name(path).as_deref() {
        Some("Camera") => ", source: Synthetic(Camera)",
        Some("Lidar") => ", source: Synthetic(Lidar)",
        Some("Network") => "",
        _ => return Ok(None),
    };
    let spec = text()?;
    Ok(Some(format!(
        "Scenario(name: {name:?}, tenants: [Tenant(name: {tenant:?}, detector: {spec:?}{source})])"
    )))
}

/// What is said beside the run of a network alone: what it is, and what it could be.
pub(super) fn hint(path: &Path) -> Option<String> {
    if !opening::is_network(path) {
        return None;
    }
    let facts = network::read(path).ok()?;
    let shown = path.display();
    let looks = match propose(&facts).into_iter().next() {
        Some(best) if best.has_spec() => {
            format!(
                "; it looks like {}, and `jetlag init {}` writes its spec",
                best.family,
                shell::path(path)
            )
        }
        _ => String::new(),
    };
    Some(format!("{shown}: made inputs, time only, no boxes{looks}"))
}
