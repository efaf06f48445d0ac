//! What tracing changed, and what a trace lacks.

use rand_distr::{Distribution, StandardNormal};
use rand_pcg::Pcg64;
use rand_pcg::rand_core::SeedableRng;
use serde_json::json;

use super::made::Made;
use super::phase;
use crate::analysis::Summary;
use crate::analysis::summary::observer::{Observed, ObservedTenant};

/// Frames of about 10 ms with 5 % of noise, traced ones longer by a factor.
fn run(seed: u64, frames: u64, factor: f64) -> Summary {
    let mut random = Pcg64::seed_from_u64(seed);
    let mut draw = |ms: f64| {
        let noise: f64 = StandardNormal.sample(&mut random);
        (ms * 1000.0 * (0.05 * noise).exp()) as i64
    };
    let mut made = Made::new(&["camera"], frames as i64 * 20_000);
    for number in 0..frames {
        let at = number as i64 * 20_000;
        made.untraced(0, number, at, at + draw(10.0));
        made.frame(0, number, at, at + draw(10.0 * factor));
        let owner = made.owner(0, number, "all");
        made.kernel(owner, "conv", at + 100, 200);
    }
    made.summary()
}

fn camera(summary: &Summary) -> &ObservedTenant {
    &summary.observer.as_ref().unwrap().phases[0].tenants[0]
}

fn is_found(summary: &Summary) -> bool {
    summary
        .run
        .findings
        .iter()
        .any(|finding| finding.code == "perturbed")
}

#[test]
fn what_tracing_lengthened_is_perturbed_and_the_kernels_are_marked() {
    let summary = run(1, 300, 1.15);
    let camera = camera(&summary);
    assert_eq!(camera.verdict, Observed::Perturbed);
    let names: Vec<&str> = camera.figures.iter().map(|figure| figure.figure).collect();
    assert_eq!(
        names,
        ["response.p50", "response.p99", "throughput", "submission.p50"]
    );
    let p50 = &camera.figures[0];
    let [low, high] = p50.ci95.unwrap();
    assert!(low < 0.15 && 0.15 < high && low > 0.1, "{low} {high}");
    // 300 frames say nothing of p99, and both phases serve 50 frames a second.
    assert!(camera.figures[1].change.is_none() && camera.figures[1].reason.as_ref().unwrap().contains("662"));
    assert_eq!(
        (camera.figures[2].untraced, camera.figures[2].change),
        (Some(50.0), Some(0.0))
    );
    assert_eq!(camera.figures[3].change, Some(0.0));
    assert_eq!(phase(&summary).perturbed, Some(true));
    let finding = summary
        .run
        .findings
        .iter()
        .find(|finding| finding.code == "perturbed")
        .unwrap();
    assert_eq!(finding.tenant.as_deref(), Some("camera"));
    assert_eq!(finding.facts["phase"], "camera");
}

#[test]
fn of_equal_phases_few_are_called_perturbed_and_none_with_many_frames() {
    let verdicts = |frames: u64| -> Vec<Observed> {
        (0..100)
            .map(|seed| camera(&run(100 + seed, frames, 1.0)).verdict)
            .collect()
    };
    let many = verdicts(300);
    let count = |verdicts: &[Observed], which| verdicts.iter().filter(|verdict| **verdict == which).count();
    let [wrong, right] = [Observed::Perturbed, Observed::Unperturbed].map(|which| count(&many, which));
    println!("of 100 pairs of 300 equal frames {wrong} are called perturbed, {right} unperturbed");
    assert!(wrong == 0 && right >= 90);
    let few = verdicts(40);
    let wrong = few
        .iter()
        .filter(|verdict| **verdict == Observed::Perturbed)
        .count();
    println!("of 100 pairs of 40 equal frames {wrong} are called perturbed");
    assert!(wrong <= 5);
}

#[test]
fn too_few_frames_and_no_counterpart_are_undecided_and_raise_nothing() {
    let few = run(3, 8, 1.5);
    assert_eq!(camera(&few).verdict, Observed::Undecided);
    assert!(!is_found(&few) && phase(&few).perturbed.is_none());
    let mut made = Made::new(&["camera"], 20_000);
    super::frames(&mut made, 0, 20);
    let mut summarizer = crate::analysis::Summarizer::new(&made.manifest);
    for mut event in made.events() {
        if let crate::record::Event::PhaseSpec(spec) = &mut event
            && spec.traced
        {
            spec.sharing = "Exclusive".to_owned();
        }
        summarizer.push(&event);
    }
    let summary = summarizer.finish(None);
    assert!(summary.observer.as_ref().unwrap().phases[0].untraced.is_none());
    assert!(camera(&summary).figures[0].reason.is_some());
}

#[test]
fn what_a_trace_lacks_is_a_finding() {
    let found = |change: fn(&mut Made)| {
        let mut made = Made::new(&["camera"], 20_000);
        super::frames(&mut made, 0, 20);
        change(&mut made);
        let summary = made.summary();
        let mut findings = summary.run.findings.into_iter();
        findings
            .find(|finding| finding.code == "trace-incomplete")
            .map(|finding| finding.facts)
    };
    assert_eq!(found(|_| {}), None);
    let lost = found(|made| (made.trace.dropped, made.trace.not_kept) = (12, 3)).unwrap();
    assert_eq!((&lost["dropped"], &lost["not_kept"]), (&json!(12), &json!(3)));
    assert!(found(|made| made.trace.lost_stamps = 1).is_some());
    let noted = found(|made| made.trace.notes.push("Graphs were traced as a whole.".to_owned())).unwrap();
    assert_eq!(noted["notes"], json!(["Graphs were traced as a whole."]));
    let untold = found(|made| made.trace.phase = None).unwrap();
    assert_eq!(untold["untold"], true);
}
