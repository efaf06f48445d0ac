//! The ways in which a GPU's tenants are run.

use super::networks::{On, Way};
use crate::scenario;

/// Frames in flight that are tried.
const DEPTHS: std::ops::RangeInclusive<u32> = 1..=4;

/// The ways in which a GPU's tenants are run: first everything that differs from the plainest way in one thing, then what
/// differs in several, so that little is lost where time is short.
pub(super) fn ways_on_gpu(on: &On) -> (Vec<Way>, Vec<Way>) {
    let matrix = |depth: u32, transfer: &str, graph: &str| {
        Way::new(
            format!("depth={depth} transfer={transfer} graph={graph}"),
            on.clone(),
        )
        .each(format!("depth={depth}"))
        .each(format!("transfer={transfer}"))
        .each(format!("graph={graph}"))
    };
    let transfers: Vec<&str> = scenario::transfers().filter(|way| *way != "Auto").collect();
    let graphs: Vec<&str> = scenario::graphs().filter(|way| *way != "Auto").collect();
    let (mut single, mut combined) = (Vec::new(), Vec::new());
    for depth in DEPTHS {
        for transfer in &transfers {
            for graph in &graphs {
                let differs =
                    usize::from(depth != 1) + usize::from(*transfer != "Copy") + usize::from(*graph != "Off");
                match differs {
                    0 => single.insert(0, matrix(depth, transfer, graph)),
                    1 => single.push(matrix(depth, transfer, graph)),
                    _ => combined.push(matrix(depth, transfer, graph)),
                }
            }
        }
    }
    for depth in DEPTHS.filter(|depth| *depth > 1) {
        single.push(
            Way::new(format!("context_memory=Shared depth={depth}"), on.clone())
                .each("context_memory=Shared")
                .each(format!("depth={depth}")),
        );
    }
    for field in ["sync=Spin", "sync=Yield", "preprocess=Gpu"] {
        single.push(Way::new(field, on.clone()).each(field).each("depth=2"));
    }
    for sharing in scenario::sharings() {
        let way = Way::new(format!("sharing={sharing}"), on.clone());
        single.push(way.with(format!("sharing={sharing}")).each("depth=2"));
    }
    (single, combined)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_depth_transfer_and_graph_is_tried_once_and_the_plainest_first() {
        let (single, combined) = ways_on_gpu(&On::OnnxRuntimeCuda);
        assert_eq!(single[0].name, "depth=1 transfer=Copy graph=Off");
        let mut names: Vec<&str> = single
            .iter()
            .chain(&combined)
            .map(|way| way.name.as_str())
            .collect();
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all);
        let transfers = scenario::transfers().count() - 1;
        let matrix = names.iter().filter(|name| name.starts_with("depth=")).count();
        assert_eq!(matrix, 4 * 2 * transfers);
        for sharing in scenario::sharings() {
            assert!(names.contains(&format!("sharing={sharing}").as_str()));
        }
    }
}
