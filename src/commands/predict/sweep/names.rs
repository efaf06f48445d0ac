//! Which networks are variants of one: what `jetlag data variants` writes is called `NETWORK_MODE_LEVEL.onnx`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// A network and its variant, as its file's name has them.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Named {
    pub(super) network: String,
    /// The level of pruning, as perf4sight's data have it: `0` for the network itself, `30`; `l1-30` of the mode `l1`.
    pub(super) variant: String,
}

impl Named {
    pub(super) fn of(file: &str) -> Named {
        let path = Path::new(file);
        let stem = path
            .file_stem()
            .map(|stem| stem.to_string_lossy().into_owned())
            .filter(|stem| !stem.is_empty())
            .unwrap_or_else(|| file.to_owned());
        variant(&stem).unwrap_or(Named {
            network: stem,
            variant: "0".to_owned(),
        })
    }
}

fn variant(stem: &str) -> Option<Named> {
    let (rest, level) = stem.rsplit_once('_')?;
    let (network, mode) = rest.rsplit_once('_')?;
    let digits = level.len() == 2 && level.bytes().all(|byte| byte.is_ascii_digit());
    let level = level.parse::<u8>().ok().filter(|level| digits && *level > 0)?;
    let variant = match mode {
        "random" => level.to_string(),
        "l1" => format!("l1-{level}"),
        _ => return None,
    };
    (!network.is_empty()).then(|| Named {
        network: network.to_owned(),
        variant,
    })
}

/// Shapes and hashes of what has one name.
#[derive(Default)]
struct Different {
    shapes: BTreeSet<String>,
    hashes: BTreeSet<String>,
}

/// Names of variants that no two different networks share.
pub(super) struct Variants(BTreeMap<Named, Different>);

impl Variants {
    /// Of all networks: name, shape of an item, hash.
    pub(super) fn of(all: &[(Named, String, String)]) -> Variants {
        let mut found: BTreeMap<Named, Different> = BTreeMap::new();
        for (name, shape, hash) in all {
            let different = found.entry(name.clone()).or_default();
            different.shapes.insert(shape.clone());
            different.hashes.insert(hash.clone());
        }
        Variants(found)
    }

    /// The variant's name: with the shape where one network was run at several, with the hash where files of one name differ.
    pub(super) fn name(&self, name: &Named, shape: &str, hash: &str) -> String {
        let mut said = name.variant.clone();
        let Some(different) = self.0.get(name) else {
            return said;
        };
        if different.shapes.len() > 1 {
            said += &format!(" {shape}");
        }
        if different.hashes.len() > 1 {
            said += &format!(" {}", hash.get(..8).unwrap_or(hash));
        }
        said
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(file: &str) -> (String, String) {
        let Named { network, variant } = Named::of(file);
        (network, variant)
    }

    #[test]
    fn a_pruned_copy_is_a_variant_of_its_network_and_nothing_else_is() {
        let of = |network: &str, variant: &str| (network.to_owned(), variant.to_owned());
        assert_eq!(named("variants/net_a_random_05.onnx"), of("net_a", "5"));
        assert_eq!(named("net_l1_90.onnx"), of("net", "l1-90"));
        for whole in [
            "net",
            "net_random_5",
            "net_random_00",
            "net_l2_30",
            "_random_30",
            "net_random_+5",
            "random_30",
        ] {
            assert_eq!(named(&format!("{whole}.onnx")), of(whole, "0"));
        }
        assert_eq!(named("camera"), of("camera", "0"));
    }

    #[test]
    fn different_networks_of_one_name_are_told_apart() {
        let one = |shape: &str, hash: &str| (Named::of("net.onnx"), shape.to_owned(), hash.to_owned());
        let name = |all: &[(Named, String, String)]| {
            let (name, shape, hash) = &all[0];
            Variants::of(all).name(name, shape, hash)
        };
        let (small, large) = (one("3x8x8", "0123456789"), one("3x9x9", "0123456789"));
        assert_eq!(name(&[small.clone(), small.clone()]), "0");
        assert_eq!(name(&[small.clone(), large]), "0 3x8x8");
        assert_eq!(name(&[small, one("3x8x8", "ab")]), "0 01234567");
    }
}
