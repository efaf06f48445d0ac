//! Time per node of a network: each node's share of the total, and its contribution to the variance of the response
//! time.

use jetlag_stats::normal::normal_quantile;

use crate::analysis::stats::six_decimals;
use crate::analysis::summary::{NodeResponse, NodeSummary, NodeTime, OperatorSummary};
use crate::record::NodeRecord;
use crate::scenario::{BackendChoice, Provider};

/// Share of the response time's variance from which a node may stand out …
const STANDS_OUT: f64 = 0.25;
/// … if it exceeds its share of the time by this much with confidence: a slowdown of all nodes alike gives each node
/// its share of the time as its share of the variance, and the largest node the largest.
const BEYOND_ITS_TIME: f64 = 1.1;
/// Effective sample size below which a correlation has no interval.
const FEWEST: f64 = 10.0;

/// What a backend's time per node is the time of.
pub(in crate::analysis) fn time_of(backend: &BackendChoice) -> NodeTime {
    match backend {
        BackendChoice::OnnxRuntime {
            provider: Provider::Cuda,
            ..
        } => NodeTime::Submission,
        _ => NodeTime::Execution,
    }
}

/// The nodes of one tenant in one phase, largest mean first; those of equal mean in the order of execution.
///
/// Shares are of the total time of all nodes and add up to one. They are not shares of the compute stage, which also
/// includes the time between nodes. `effective` is the effective sample size of the response times. What a node's
/// submission has to do with the response time is not told: the device's time, which may depend on it, is in no node.
pub(in crate::analysis) fn summarize(
    mut nodes: Vec<NodeRecord>,
    of: NodeTime,
    effective: Option<u64>,
) -> Vec<NodeSummary> {
    let among = nodes.len();
    let time = |node: &NodeRecord| node.mean.0 as f64 * node.count as f64;
    let all: f64 = nodes.iter().map(time).sum();
    nodes.sort_by_key(|node| std::cmp::Reverse(node.mean));
    let share = |node: &NodeRecord| if all > 0.0 { time(node) / all } else { 0.0 };
    let summary = |node: NodeRecord| NodeSummary {
        share: six_decimals(share(&node)),
        response: match of {
            NodeTime::Execution => with_response(&node, share(&node), among, effective),
            NodeTime::Submission => None,
        },
        count: node.count,
        mean_ms: node.mean.as_millis_f64(),
        max_ms: node.max.as_millis_f64(),
        name: node.name,
        operator: node.operator,
    };
    nodes.into_iter().map(summary).collect()
}

/// How one of several nodes, with a given share of their time, relates to the response time.
///
/// The response time is the sum of the nodes and everything else, so its variance is the sum of their covariances with
/// it: that is a node's share of the variance. The interval of the correlation is Fisher's, atanh r ± z ÷ √(n − 3),
/// with n the effective sample size of the response times. A node stands out if its share of the variance is a quarter
/// or more, and also exceeds its share of the time in a joint interval for all nodes (Bonferroni).
fn with_response(
    node: &NodeRecord,
    time_share: f64,
    among: usize,
    effective: Option<u64>,
) -> Option<NodeResponse> {
    let with = node.with_response?;
    let correlation = (with.covariance / (with.variance * with.response_variance).sqrt()).clamp(-1.0, 1.0);
    if !correlation.is_finite() {
        return None;
    }
    let frames = effective.unwrap_or(node.count).min(node.count) as f64;
    let interval = |miss: f64| {
        let half = normal_quantile(1.0 - miss / 2.0) / (frames - 3.0).sqrt();
        [-half, half].map(|off| (correlation.atanh() + off).tanh())
    };
    let enough = frames >= FEWEST;
    let share = with.covariance / with.response_variance;
    // A share is the correlation times the ratio of standard deviations.
    let ratio = (with.variance / with.response_variance).sqrt();
    let least_share = || interval(0.05 / among.max(1) as f64)[0] * ratio;
    Some(NodeResponse {
        correlation: six_decimals(correlation),
        ci95: enough.then(|| interval(0.05).map(six_decimals)),
        variance_share: six_decimals(share),
        stands_out: enough && share >= STANDS_OUT && least_share() > time_share * BEYOND_ITS_TIME,
    })
}

/// The nodes of each operator together, largest first.
pub(in crate::analysis) fn by_operator(nodes: &[NodeSummary]) -> Vec<OperatorSummary> {
    let mut operators: Vec<OperatorSummary> = Vec::new();
    for node in nodes {
        let known = operators
            .iter()
            .position(|operator| operator.operator == node.operator);
        let place = known.unwrap_or_else(|| {
            operators.push(OperatorSummary {
                operator: node.operator.clone(),
                layers: 0,
                mean_ms: 0.0,
                share: 0.0,
            });
            operators.len() - 1
        });
        let operator = &mut operators[place];
        operator.layers += 1;
        operator.mean_ms += node.mean_ms;
        operator.share += node.share;
    }
    for operator in &mut operators {
        (operator.mean_ms, operator.share) = (six_decimals(operator.mean_ms), six_decimals(operator.share));
    }
    operators.sort_by(|a, b| b.mean_ms.total_cmp(&a.mean_ms));
    operators
}

/// A layer of two runs, side by side.
#[derive(Clone, Debug, PartialEq)]
pub struct LayerPair {
    /// Name of the layer, of the run that has it.
    pub name: String,
    /// Its operator: `Conv`, or `Conv+Relu` where the runtime fused the two.
    pub operator: String,
    /// Mean time in the first run and in the second; `None` where it has no layer of that name.
    pub mean_ms: [Option<f64>; 2],
    /// Relative change: second over first, less one.
    pub change: Option<f64>,
}

/// The layers of two runs by name: those whose time differs most come first, then those that only one run has.
///
/// Fused layers are named after everything in them, so engines with different fusions share few names; then the time
/// by operator, from [`operators_beside`], shows more.
pub fn layers_beside(first: &[NodeSummary], second: &[NodeSummary]) -> Vec<LayerPair> {
    let keys = |nodes: &[NodeSummary]| -> Vec<(String, String, f64)> {
        let all = nodes.iter().filter(|node| !node.name.is_empty());
        all.map(|node| (node.name.clone(), node.operator.clone(), node.mean_ms))
            .collect()
    };
    beside(keys(first), keys(second))
}

/// The operators of two runs.
pub fn operators_beside(first: &[OperatorSummary], second: &[OperatorSummary]) -> Vec<LayerPair> {
    let keys = |operators: &[OperatorSummary]| -> Vec<(String, String, f64)> {
        let all = operators.iter();
        all.map(|of| (of.operator.clone(), of.operator.clone(), of.mean_ms))
            .collect()
    };
    beside(keys(first), keys(second))
}

fn beside(first: Vec<(String, String, f64)>, second: Vec<(String, String, f64)>) -> Vec<LayerPair> {
    let mut rest: Vec<Option<(String, String, f64)>> = second.into_iter().map(Some).collect();
    let mut pairs: Vec<LayerPair> = first
        .into_iter()
        .map(|(name, operator, mean_ms)| {
            let other = rest
                .iter_mut()
                .find(|other| other.as_ref().is_some_and(|(known, ..)| *known == name))
                .and_then(Option::take)
                .map(|(_, _, ms)| ms);
            LayerPair {
                change: other
                    .filter(|_| mean_ms > 0.0)
                    .map(|ms| six_decimals(ms / mean_ms - 1.0)),
                mean_ms: [Some(mean_ms), other],
                name,
                operator,
            }
        })
        .collect();
    pairs.extend(rest.into_iter().flatten().map(|(name, operator, ms)| LayerPair {
        name,
        operator,
        mean_ms: [None, Some(ms)],
        change: None,
    }));
    let difference = |pair: &LayerPair| match pair.mean_ms {
        [Some(a), Some(b)] => (0, -(a - b).abs()),
        [a, b] => (1, -a.or(b).unwrap_or_default()),
    };
    pairs.sort_by(|a, b| {
        let (a, b) = (difference(a), difference(b));
        a.0.cmp(&b.0).then(a.1.total_cmp(&b.1))
    });
    pairs
}

#[cfg(test)]
mod tests {
    use rand_distr::{Distribution, StandardNormal};
    use rand_pcg::Pcg64;
    use rand_pcg::rand_core::SeedableRng;

    use super::*;
    use crate::record::{Covariance, Phase};
    use crate::units::Nanos;

    fn node(name: &str, operator: &str, mean_ms: f64) -> NodeSummary {
        NodeSummary {
            name: name.to_owned(),
            operator: operator.to_owned(),
            count: 10,
            mean_ms,
            max_ms: mean_ms * 2.0,
            share: mean_ms / 10.0,
            response: None,
        }
    }

    /// The times of a frame's layers, and its response time, in milliseconds.
    struct Profiled {
        layers: Vec<f64>,
        response: f64,
    }

    fn records(frames: &[Profiled]) -> Vec<NodeRecord> {
        let n = frames.len() as f64;
        let mean = |values: &dyn Fn(&Profiled) -> f64| frames.iter().map(values).sum::<f64>() / n;
        let response = mean(&|frame| frame.response);
        (0..frames[0].layers.len())
            .map(|node| {
                let own = mean(&|frame| frame.layers[node]);
                let about = |a: &dyn Fn(&Profiled) -> f64| mean(a) * n / (n - 1.0) * 1e12;
                NodeRecord {
                    tenant: 0,
                    phase: Phase::Together,
                    name: format!("layer {node}"),
                    operator: "Conv".to_owned(),
                    count: frames.len() as u64,
                    mean: Nanos((own * 1e6) as i64),
                    max: Nanos((own * 2e6) as i64),
                    with_response: Some(Covariance {
                        variance: about(&|frame| (frame.layers[node] - own).powi(2)),
                        response_variance: about(&|frame| (frame.response - response).powi(2)),
                        covariance: about(&|frame| (frame.layers[node] - own) * (frame.response - response)),
                    }),
                }
            })
            .collect()
    }

    /// Layers of 1 ms ± 0.05 ms; the response time is what they add up to and what `more` makes of a frame's layers.
    fn run(seed: u64, layers: usize, mut more: impl FnMut(&mut Vec<f64>, f64) -> f64) -> Vec<NodeSummary> {
        let mut random = Pcg64::seed_from_u64(seed);
        let frames: Vec<Profiled> = (0..400)
            .map(|_| {
                let mut layers: Vec<f64> = (0..layers)
                    .map(|_| {
                        let noise: f64 = StandardNormal.sample(&mut random);
                        1.0 + 0.05 * noise
                    })
                    .collect();
                let noise: f64 = StandardNormal.sample(&mut random);
                let response = more(&mut layers, noise);
                Profiled { layers, response }
            })
            .collect();
        summarize(records(&frames), NodeTime::Execution, None)
    }

    #[test]
    fn a_layer_that_drives_the_response_time_is_found_and_named_in_every_run() {
        for seed in 0..50 {
            let nodes = run(seed, 30, |times, noise| {
                times[17] += 0.5 * noise.abs();
                times.iter().sum::<f64>() + 3.0
            });
            let found: Vec<&str> = nodes
                .iter()
                .filter(|node| node.response.is_some_and(|with| with.stands_out))
                .map(|node| node.name.as_str())
                .collect();
            assert_eq!(found, ["layer 17"], "seed {seed}");
            // The layers are all that varies: their shares add up to it.
            let shares: f64 = nodes
                .iter()
                .filter_map(|node| Some(node.response?.variance_share))
                .sum();
            assert!((shares - 1.0).abs() < 1e-4, "{shares}");
        }
    }

    #[test]
    fn layers_that_the_response_time_does_not_depend_on_are_not_named_and_intervals_hold_zero() {
        let (mut intervals, mut beside, mut named) = (0, 0, 0);
        for seed in 0..200 {
            let nodes = run(1000 + seed, 20, |_, noise| 40.0 + 4.0 * noise);
            for with in nodes.iter().filter_map(|node| node.response) {
                let [low, high] = with.ci95.expect("400 frames");
                intervals += 1;
                beside += usize::from(low > 0.0 || high < 0.0);
                named += usize::from(with.stands_out);
            }
        }
        assert_eq!(named, 0);
        let rate = f64::from(beside as u32) / f64::from(intervals);
        assert!((0.035..0.065).contains(&rate), "{rate}");
    }

    #[test]
    fn what_stretches_all_layers_alike_makes_none_of_them_stand_out() {
        // A clock, heat or a co-runner, and layers of very different size.
        let mut named = [0; 3];
        for seed in 0..100 {
            for (kind, named) in named.iter_mut().enumerate() {
                let mut frame = 0;
                let nodes = run(2000 + seed, 12, |times, noise| {
                    frame += 1;
                    let all = match kind {
                        0 => (0.3 * noise).exp(),
                        1 => 1.0 + if frame % 50 == 0 { 5.0 * noise.abs() } else { 0.0 },
                        _ => 1.0 + if frame > 280 { 0.3 } else { 0.0 },
                    };
                    for (time, size) in times.iter_mut().zip([8.0, 5.0, 3.0, 1.0].into_iter().cycle()) {
                        *time *= size * all;
                    }
                    times.iter().sum::<f64>() + 3.0
                });
                *named += u32::from(
                    nodes
                        .iter()
                        .any(|node| node.response.is_some_and(|with| with.stands_out)),
                );
            }
        }
        println!("of 100 runs each, a layer stands out in {named:?}");
        assert!(named.iter().all(|&runs| runs <= 5), "{named:?}");
    }

    #[test]
    fn what_cannot_be_told_of_a_layer_is_not_told() {
        let still = run(1, 2, |times, noise| {
            times[0] = 1.0;
            10.0 + noise
        });
        let of = |name: &str| {
            still
                .iter()
                .find(|node| node.name == name)
                .expect("a layer")
                .response
        };
        assert!(of("layer 0").is_none() && of("layer 1").is_some());
        let mut few = records(
            &[(1.0, 5.0), (2.0, 6.0), (3.0, 7.5)].map(|(layer, response)| Profiled {
                layers: vec![layer],
                response,
            }),
        );
        let with = summarize(few.clone(), NodeTime::Execution, None)[0]
            .response
            .expect("it varies");
        assert!(with.correlation > 0.9 && with.ci95.is_none() && !with.stands_out);
        few[0].with_response = None;
        assert!(summarize(few, NodeTime::Execution, None)[0].response.is_none());
    }

    #[test]
    fn operators_are_the_sums_of_their_nodes() {
        let nodes = [
            node("a", "Conv", 3.0),
            node("b", "Resize", 5.0),
            node("c", "Conv", 2.5),
        ];
        let operators = by_operator(&nodes);
        let shown: Vec<(&str, u64, f64, f64)> = operators
            .iter()
            .map(|o| (o.operator.as_str(), o.layers, o.mean_ms, o.share))
            .collect();
        assert_eq!(shown, [("Conv", 2, 5.5, 0.55), ("Resize", 1, 5.0, 0.5)]);
    }

    #[test]
    fn layers_of_two_runs_are_matched_by_name_and_the_most_changed_comes_first() {
        let first = [
            node("a", "Conv", 3.0),
            node("b", "Conv", 5.0),
            node("only a", "Add", 1.0),
            node("", "X", 1.0),
        ];
        let second = [
            node("b", "Conv", 2.5),
            node("a", "Conv", 3.3),
            node("only b", "Mul", 2.0),
        ];
        let pairs = layers_beside(&first, &second);
        let names: Vec<&str> = pairs.iter().map(|pair| pair.name.as_str()).collect();
        assert_eq!(names, ["b", "a", "only b", "only a"]);
        assert_eq!((pairs[0].change, pairs[1].change), (Some(-0.5), Some(0.1)));
        assert_eq!(pairs[2].mean_ms, [None, Some(2.0)]);
    }

    #[test]
    fn operators_are_set_beside_each_other_those_that_differ_most_first() {
        let of = |operator: &str, mean_ms: f64| OperatorSummary {
            operator: operator.to_owned(),
            layers: 1,
            mean_ms,
            share: 0.0,
        };
        let first = [
            of("Conv", 10.0),
            of("Relu", 0.5),
            of("Add", 1.0),
            of("Resize", 0.25),
        ];
        let second = [
            of("Relu", 0.125),
            of("Conv", 11.0),
            of("Add", 1.0),
            of("Concat", 3.0),
        ];
        let pairs: Vec<_> = operators_beside(&first, &second)
            .into_iter()
            .map(|pair| (pair.name, pair.mean_ms, pair.change))
            .collect();
        assert_eq!(
            pairs,
            [
                ("Conv".to_owned(), [Some(10.0), Some(11.0)], Some(0.1)),
                ("Relu".to_owned(), [Some(0.5), Some(0.125)], Some(-0.75)),
                ("Add".to_owned(), [Some(1.0), Some(1.0)], Some(0.0)),
                ("Concat".to_owned(), [None, Some(3.0)], None),
                ("Resize".to_owned(), [Some(0.25), None], None),
            ]
        );
    }

    #[test]
    fn a_layers_correlation_has_fishers_interval_and_stands_out_beyond_its_share_of_the_time() {
        let node = NodeRecord {
            tenant: 0,
            phase: Phase::Together,
            name: "conv1".to_owned(),
            operator: "Conv".to_owned(),
            count: 103,
            mean: Nanos::from_millis(1),
            max: Nanos::from_millis(2),
            with_response: Some(Covariance {
                variance: 4.0,
                response_variance: 16.0,
                covariance: 6.0,
            }),
        };
        let of = |time_share, effective| with_response(&node, time_share, 1, effective).unwrap();
        let found = of(0.25, None);
        assert_eq!((found.correlation, found.variance_share), (0.75, 0.375));
        // tanh(atanh 0.75 ± 1.96 ÷ 10)
        assert_eq!(found.ci95, Some([0.650958, 0.823936]));
        // The lower end of its share of the variance is 0.3254: 1.1 times 0.2959.
        for (time_share, stands_out) in [(0.25, true), (0.29, true), (0.30, false), (0.5, false)] {
            assert_eq!(of(time_share, None).stands_out, stands_out, "{time_share}");
        }
        // Autocorrelated frames widen the interval, and few frames have none.
        let [low, high] = of(0.25, Some(28)).ci95.unwrap();
        assert!(low < 0.650958 && 0.823936 < high, "{low} {high}");
        assert_eq!(
            (of(0.25, Some(9)).ci95, of(0.25, Some(9)).stands_out),
            (None, false)
        );
        let still = NodeRecord {
            mean: Nanos::ZERO,
            ..node
        };
        assert!(
            summarize(vec![still], NodeTime::Execution, None)
                .iter()
                .all(|node| node.share == 0.0)
        );
    }

    #[test]
    fn a_node_that_ran_more_often_has_more_of_the_time() {
        let record = |name: &str, mean_ms: i64, count: u64| NodeRecord {
            name: name.to_owned(),
            mean: Nanos::from_millis(mean_ms),
            count,
            ..records(&[Profiled {
                layers: vec![1.0],
                response: 1.0,
            }])
            .remove(0)
        };
        let found = summarize(
            vec![record("a", 2, 30), record("b", 5, 8)],
            NodeTime::Execution,
            None,
        );
        let shares: Vec<(&str, f64)> = found
            .iter()
            .map(|node| (node.name.as_str(), node.share))
            .collect();
        // 40 and 60 ms of 100.
        assert_eq!(shares, [("b", 0.4), ("a", 0.6)]);
    }

    #[test]
    fn a_layer_that_took_no_time_has_no_relative_change() {
        let pairs = layers_beside(&[node("a", "Conv", 0.0)], &[node("a", "Conv", 0.5)]);
        assert_eq!(pairs[0].mean_ms, [Some(0.0), Some(0.5)]);
        assert_eq!(pairs[0].change, None);
    }
}
