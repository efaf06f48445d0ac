use proptest::prelude::*;
use rand_distr::{Distribution as _, StandardNormal};
use rand_pcg::Pcg64;
use rand_pcg::rand_core::SeedableRng;

use super::*;

/// A drive past things: sizes around 30 000 that resemble those before them, and a service of 20 ms with noise.
struct Drive {
    frames: usize,
    inputs: usize,
    ms_per_1000: f64,
    noise_ms: f64,
}

const DRIVE: Drive = Drive {
    frames: 600,
    inputs: 600,
    ms_per_1000: 0.0,
    noise_ms: 1.0,
};

impl Drive {
    fn driven(&self, seed: u64) -> Vec<Fed> {
        let mut random = Pcg64::seed_from_u64(seed);
        let mut normal = || -> f64 { StandardNormal.sample(&mut random) };
        let mut x = normal();
        let sizes: Vec<f64> = (0..self.inputs)
            .map(|_| {
                x = 0.8 * x + 0.6 * normal();
                30_000.0 + 2_000.0 * x
            })
            .collect();
        (0..self.frames)
            .map(|n| {
                let input = n % self.inputs;
                let ms = (sizes[input] - 30_000.0) / 1e3 * self.ms_per_1000;
                let compute = ((15.0 + self.noise_ms * normal()) * 1e6) as i64;
                let postprocess = ((5.0 + ms) * 1e6) as i64;
                let mut stages = [None; 9];
                stages[Stage::Compute as usize] = Some(compute);
                stages[Stage::Postprocess as usize] = Some(postprocess);
                Fed {
                    size: sizes[input] as u32,
                    content: Some(input as i64),
                    response: compute + postprocess,
                    service: compute + postprocess,
                    stages,
                }
            })
            .collect()
    }
}

fn points() -> SourceSpec {
    SourceSpec::Synthetic {
        sensor: Sensor::Lidar,
        scenes: 1,
        seed: 1,
    }
}

fn found(frames: &[Fed]) -> InputEffect {
    of(frames, &points()).expect("sizes are known")
}

fn why(slope: Option<SizeSlope>) -> Option<WhyWithheld> {
    Some(slope?.withheld?.why)
}

#[test]
fn a_slope_is_found_and_laid_to_its_stage() {
    let effect = found(
        &Drive {
            ms_per_1000: 1.2,
            ..DRIVE
        }
        .driven(1),
    );
    let service = effect.service.unwrap();
    let [low, high] = service.ci95.unwrap();
    assert!(low < 1.2 && 1.2 < high && high - low < 0.2, "{service:?}");
    assert_eq!(
        (effect.of, effect.per, effect.most_in),
        (Some(Counted::Points), 1000, Some("postprocess"))
    );
    assert_eq!((effect.frames, effect.inputs), (600, 600));
    assert!(!effect.stages[0].1.is_clear(), "compute: {:?}", effect.stages[0]);
    let across = f64::from(effect.size.p90 - effect.size.p10) / 1e3 * service.slope_ms.unwrap();
    assert!((service.across_ms.unwrap() - across).abs() < 1e-5);
    assert!((service.variance_share.unwrap() - service.correlation.unwrap().powi(2)).abs() < 1e-5);
}

#[test]
fn where_size_does_not_matter_nothing_is_laid_to_it() {
    let clear = (0..300).filter(|&seed| found(&DRIVE.driven(seed)).service.unwrap().is_clear());
    let clear = clear.count();
    println!("{clear} of 300 runs without an effect show one");
    assert!(clear <= 24, "{clear} of 300");
}

#[test]
fn sizes_in_another_order_have_no_effect() {
    let mut clear = 0;
    for seed in 0..200 {
        let mut frames = Drive {
            ms_per_1000: 1.2,
            ..DRIVE
        }
        .driven(seed);
        let sizes: Vec<u32> = frames.iter().map(|frame| frame.size).collect();
        let n = frames.len();
        // Steps of a number that has no divisor in common with that of frames.
        for (place, frame) in frames.iter_mut().enumerate() {
            frame.size = sizes[(place * 239 + 7) % n];
        }
        clear += u32::from(found(&frames).service.unwrap().is_clear());
    }
    println!("{clear} of 200 runs with sizes in another order show an effect");
    assert!(clear <= 18, "{clear} of 200");
}

#[test]
fn what_the_same_inputs_cost_again_is_no_further_evidence() {
    // What each input costs beside its size comes again with it.
    let again = |laps: usize, seed: u64| {
        let first = Drive {
            noise_ms: 3.0,
            ..DRIVE
        }
        .driven(seed);
        found(&first.repeat(laps)).service.unwrap()
    };
    let width = |slope: SizeSlope| slope.ci95.map(|[low, high]| high - low).unwrap();
    let mut clear = 0;
    for seed in 0..100 {
        let (once, often) = (again(1, seed), again(5, seed));
        assert!(
            width(often) > 0.7 * width(once),
            "seed {seed}: {once:?} {often:?}"
        );
        clear += u32::from(often.is_clear());
    }
    println!("{clear} of 100 runs over the same inputs show an effect where there is none");
    assert!(clear <= 11, "{clear} of 100");
}

#[test]
fn what_cannot_be_known_is_withheld_with_what_it_takes() {
    let few = found(&Drive { inputs: 20, ..DRIVE }.driven(1));
    let withheld = few.service.unwrap().withheld.unwrap();
    assert_eq!((withheld.why, withheld.needs), (WhyWithheld::FewInputs, Some(40)));
    let mut alike = DRIVE.driven(1);
    alike
        .iter_mut()
        .for_each(|frame| frame.size = 30_000 + frame.size % 1000);
    let alike = found(&alike);
    assert_eq!(alike.withheld.unwrap().why, WhyWithheld::SizesAlike);
    assert_eq!((alike.service, alike.stages.len()), (None, 0));
    let mut slow = DRIVE.driven(1);
    for (frame, n) in slow.iter_mut().zip(0..) {
        frame.size = 20_000 + 10 * n;
    }
    assert_eq!(why(found(&slow).service), Some(WhyWithheld::SlowSizes));
    let mut tunnel = DRIVE.driven(1);
    for (frame, n) in tunnel.iter_mut().zip(0..) {
        let inside = (300..303).contains(&n) || (500..570).contains(&n);
        frame.size = if inside { 10_000 } else { 30_000 + frame.size % 100 };
    }
    assert_eq!(why(found(&tunnel).service), Some(WhyWithheld::FewStretches));
    let wide = found(
        &Drive {
            noise_ms: 80.0,
            frames: 100,
            inputs: 100,
            ..DRIVE
        }
        .driven(1),
    );
    let withheld = wide.service.unwrap().withheld.unwrap();
    assert_eq!(withheld.why, WhyWithheld::WideInterval);
    assert!(withheld.needs.unwrap() > 100, "{withheld:?}");
}

#[test]
fn no_sizes_no_effect() {
    assert_eq!(of(&[], &points()), None);
    let mut one = DRIVE.driven(1);
    one.truncate(1);
    assert_eq!(found(&one).withheld.unwrap().why, WhyWithheld::SizesAlike);
    let mut still = DRIVE.driven(1);
    still.iter_mut().for_each(|frame| frame.service = 5);
    let still = found(&still).service.unwrap();
    assert_eq!((still.slope_ms, still.correlation), (Some(0.0), None));
    assert!(!still.is_clear());
}

#[test]
fn a_stage_that_some_frames_lack_is_judged_by_the_others() {
    let mut frames = Drive {
        ms_per_1000: 1.2,
        ..DRIVE
    }
    .driven(1);
    for frame in frames.iter_mut().step_by(3) {
        frame.stages[Stage::Postprocess as usize] = None;
    }
    let effect = found(&frames);
    let (_, postprocess) = effect
        .stages
        .iter()
        .find(|(name, _)| *name == "postprocess")
        .unwrap();
    assert!(
        (postprocess.slope_ms.unwrap() - 1.2).abs() < 0.01,
        "{postprocess:?}"
    );
}

#[test]
fn frames_without_an_index_are_inputs_of_their_own() {
    let mut frames = DRIVE.driven(1);
    let known = found(&frames);
    frames.iter_mut().for_each(|frame| frame.content = None);
    assert_eq!(found(&frames), known);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn durations_scaled_and_moved_scale_the_slope(seed in 0u64..1_000, times in 2i64..50, more in 0i64..1_000_000_000) {
        let frames = Drive { ms_per_1000: 0.7, ..DRIVE }.driven(seed);
        let mut others = frames.clone();
        for frame in &mut others {
            frame.service = frame.service * times + more;
        }
        let of = |frames: &[Fed]| {
            let sized: Vec<Sized> = frames.iter().zip(0..).map(|(frame, input)| Sized {
                size: frame.size.into(),
                took: frame.service as f64,
                input,
            }).collect();
            slope::slope(&sized, sized.len()).unwrap()
        };
        let (one, other) = (of(&frames), of(&others));
        let near = |a: f64, b: f64| (a - b).abs() <= 1e-6 * a.abs().max(b.abs()).max(1.0);
        prop_assert!(near(one.slope * times as f64, other.slope), "{one:?} {other:?}");
        prop_assert!(near(one.ci95[0] * times as f64, other.ci95[0]) && near(one.ci95[1] * times as f64, other.ci95[1]));
        prop_assert!(near(one.correlation.unwrap(), other.correlation.unwrap()));
    }

    #[test]
    fn sizes_twice_as_large_halve_the_slope(seed in 0u64..1_000) {
        let frames = Drive { ms_per_1000: 0.7, ..DRIVE }.driven(seed);
        let mut others = frames.clone();
        others.iter_mut().for_each(|frame| frame.size *= 2);
        let (one, other) = (found(&frames).service.unwrap(), found(&others).service.unwrap());
        prop_assert!((one.slope_ms.unwrap() - 2.0 * other.slope_ms.unwrap()).abs() < 1e-5);
        prop_assert!((one.across_ms.unwrap() - other.across_ms.unwrap()).abs() < 1e-4);
        prop_assert!((one.correlation.unwrap() - other.correlation.unwrap()).abs() < 1e-5);
    }
}
