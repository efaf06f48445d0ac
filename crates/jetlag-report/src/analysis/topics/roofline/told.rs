//! What the inspector of a tenant's engines tells of the layers that were timed: they have its names.

use std::collections::{HashMap, VecDeque};

use crate::record::{EngineLayers, LayerFacts, NetworkManifest, NodeRecord};

/// For each timed layer the position of the network whose engine has it, and what is told of it; none where no engine has a layer of
/// that name. Equal names are told apart by their order.
pub(super) fn told<'a>(
    networks: &'a [NetworkManifest],
    layers: &[NodeRecord],
) -> Vec<Option<(usize, &'a LayerFacts)>> {
    let mut by_name: HashMap<&str, VecDeque<(usize, &LayerFacts)>> = HashMap::new();
    for (number, network) in networks.iter().enumerate() {
        for layer in network.layers.iter().flat_map(EngineLayers::told) {
            by_name.entry(&layer.name).or_default().push_back((number, layer));
        }
    }
    let each = layers.iter();
    each.map(|layer| by_name.get_mut(layer.name.as_str())?.pop_front())
        .collect()
}

/// Why tactics and memory of layers are not known; none where they are, and the sentence has no full stop.
pub(super) fn why_not_told(networks: &[NetworkManifest], backend: &str) -> Option<String> {
    if backend != "tensorrt" {
        return Some("only TensorRT tells what computes a layer and how much memory it has".to_owned());
    }
    let names_alone = |told: &EngineLayers| !told.told().iter().any(LayerFacts::is_detailed);
    for network in networks {
        let name = &network.name;
        match &network.layers {
            None => {
                return Some(format!(
                    "what TensorRT's engine inspector tells of {name} is not in the run file"
                ));
            }
            Some(EngineLayers::Unknown(why)) => return Some(format!("{name}: {why}")),
            Some(told) if names_alone(told) => {
                return Some(format!(
                    "the plan of {name} keeps the names of its layers alone; build it with --profiling-verbosity detailed"
                ));
            }
            Some(told) => {
                let all = told.told();
                let without = all.iter().filter(|layer| layer.tensors_bytes.is_none()).count();
                if without > 0 {
                    return Some(format!(
                        "{without} of {} layers of {name} have no memory: the inspector does not tell all sizes of their tensors, or they depend on the input",
                        all.len()
                    ));
                }
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Phase;
    use crate::units::Nanos;

    fn plan(name: &str, layers: Option<EngineLayers>) -> NetworkManifest {
        NetworkManifest {
            name: name.to_owned(),
            layers,
            ..NetworkManifest::default()
        }
    }

    fn facts(name: &str, tactic: Option<&str>) -> LayerFacts {
        LayerFacts {
            name: name.to_owned(),
            tactic: tactic.map(str::to_owned),
            ..LayerFacts::default()
        }
    }

    fn timed(name: &str) -> NodeRecord {
        NodeRecord {
            tenant: 0,
            phase: Phase::Together,
            name: name.to_owned(),
            operator: String::new(),
            count: 1,
            mean: Nanos(1),
            max: Nanos(1),
            with_response: None,
        }
    }

    #[test]
    fn equal_names_of_two_engines_are_told_apart_by_their_order() {
        let of = |tactic: &str| Some(EngineLayers::Told(vec![facts("conv", Some(tactic))]));
        let networks = [plan("a", of("first")), plan("b", of("second"))];
        let layers = ["conv", "other", "conv", "conv"].map(timed);
        let found = told(&networks, &layers);
        let tactics: Vec<_> = found
            .iter()
            .map(|own| own.map(|(network, facts)| (network, facts.tactic.as_deref())))
            .collect();
        let expected = [Some((0, Some("first"))), None, Some((1, Some("second"))), None];
        assert_eq!(tactics, expected);
    }

    #[test]
    fn why_nothing_is_told_is_said() {
        let names = Some(EngineLayers::Told(vec![facts("conv", None)]));
        let why = |layers: Option<EngineLayers>| why_not_told(&[plan("a.plan", layers)], "tensorrt");
        let mut conv = facts("conv", Some("sm80"));
        let sizeless = Some(EngineLayers::Told(vec![conv.clone()]));
        let unknown = Some(EngineLayers::Unknown("no JSON".to_owned()));
        for layers in [None, names, unknown, sizeless] {
            assert!(why(layers.clone()).is_some(), "{layers:?}");
        }
        conv.tensors_bytes = Some(64);
        assert_eq!(why(Some(EngineLayers::Told(vec![conv]))), None);
        assert!(why_not_told(&[], "cpu").is_some());
    }
}
