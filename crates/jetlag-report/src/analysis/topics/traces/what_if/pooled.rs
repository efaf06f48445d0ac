//! Several traces of one program: their predictions differ by more than the frames of each can tell, and by how much is seen.

use jetlag_stats::moments::mean;
use jetlag_stats::student::t_quantile;

use crate::analysis::stats::six_decimals;
use crate::analysis::summary::what_if::{Predicted, PredictedTenant, WhatIf};

/// Puts the predictions of several traces together: the change is their mean, with Student's interval of how far they differ. Of
/// tenants that only one of them predicts, nothing changes, and a trace that is given twice is one.
pub fn pool(found: &mut [&mut WhatIf]) {
    let mut names: Vec<String> = found
        .iter()
        .flat_map(|one| one.tenants.iter().map(|tenant| tenant.tenant.clone()))
        .collect();
    names.sort();
    names.dedup();
    let measures: [fn(&mut PredictedTenant) -> &mut Predicted; 2] =
        [|tenant| &mut tenant.response, |tenant| &mut tenant.service];
    let mut most = 0;
    for (name, measure) in names
        .iter()
        .flat_map(|name| measures.map(|measure| (name, measure)))
    {
        let mut figures: Vec<&mut Predicted> = found
            .iter_mut()
            .filter_map(|one| one.tenants.iter_mut().find(|tenant| tenant.tenant == *name))
            .map(measure)
            .filter(|figure| figure.change.is_some())
            .collect();
        most = most.max(together(&mut figures));
    }
    if most < 2 {
        return;
    }
    for one in found {
        one.traces = most as u64;
        one.assumptions.push(format!(
            "The change is the mean of {most} traces, and its interval is of how far they differ; what tracing does to all of them alike \
             is in it only where untraced frames are known."
        ));
    }
}

/// Answers how many different traces there are.
fn together(figures: &mut [&mut Predicted]) -> usize {
    let mut different: Vec<Predicted> = Vec::new();
    for figure in figures.iter() {
        if !different.contains(figure) {
            different.push(**figure);
        }
    }
    let count = different.len() as f64;
    if count < 2.0 {
        return different.len();
    }
    let mean_of = |values: &dyn Fn(&Predicted) -> Option<f64>| {
        mean(&different.iter().filter_map(values).collect::<Vec<f64>>())
    };
    let mean = mean_of(&|figure| figure.change).unwrap_or(0.0);
    let off = |figure: &Predicted| Some((figure.change? - mean).powi(2));
    let variance = mean_of(&off).unwrap_or(0.0) * count / (count - 1.0);
    let half = t_quantile(0.975, count - 1.0) * (variance / count).sqrt();
    // What all of them have in common does not show in how far they differ.
    let own = |end: usize| mean_of(&|figure| figure.common_ci95.map(|ends| ends[end]));
    let low = (mean - half).min(own(0).unwrap_or(mean));
    let high = (mean + half).max(own(1).unwrap_or(mean));
    let scaled = |ms: Option<f64>| ms.map(|ms| six_decimals(ms * (1.0 + mean)));
    for figure in figures {
        figure.change = Some(six_decimals(mean));
        figure.change_ci95 = Some([six_decimals(low.max(-1.0)), six_decimals(high)]);
        figure.predicted_ms = scaled(figure.traced_ms);
        figure.expected_ms = scaled(figure.untraced_ms);
    }
    different.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trace(change: f64, traced_ms: f64) -> WhatIf {
        let figure = Predicted {
            traced_ms: Some(traced_ms),
            change: Some(change),
            change_ci95: Some([change - 0.001, change + 0.001]),
            ..Predicted::default()
        };
        WhatIf {
            tenants: vec![PredictedTenant {
                tenant: "app".to_owned(),
                frames: 100,
                response: figure,
                service: figure,
            }],
            ..WhatIf::default()
        }
    }

    /// A PyTorch program on an H200 (12 convolutions and 6 products a batch), whose products were really left out: −39.3 %.
    #[test]
    fn four_traces_of_one_program_hold_what_the_change_did() {
        let mut traces = [(-0.388, 2.92), (-0.385, 2.95), (-0.34, 3.02), (-0.28, 3.49)]
            .map(|(change, traced_ms)| trace(change, traced_ms));
        let [a, b, c, d] = &mut traces;
        pool(&mut [a, b, c, d]);
        for found in &traces {
            let response = found.tenants[0].response;
            let [low, high] = response.change_ci95.unwrap();
            assert!((low..=high).contains(&-0.393) && high < -0.2, "{low} {high}");
            assert_eq!((response.change, found.traces), (Some(-0.348_25), 4));
        }
    }

    #[test]
    fn one_trace_stays_what_it_is() {
        let mut one = trace(-0.3, 3.0);
        let before = one.clone();
        pool(&mut [&mut one]);
        assert_eq!(one, before);
        let mut again = before.clone();
        pool(&mut [&mut one, &mut again]);
        assert_eq!((&one, &again), (&before, &before), "the same file twice");
    }
}
