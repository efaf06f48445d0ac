//! What holds of any trace: sums agree, shares are a whole, and who runs independently is accounted for and not accused.

use proptest::prelude::*;
use rand_pcg::Pcg64;
use rand_pcg::rand_core::{Rng, SeedableRng};

use super::made::Made;
use super::{phase, tenant};
use crate::record::activity::{Direction, Owner};

/// Work of two tenants and of nobody, anywhere: kernels, copies of each direction, with and without layers.
fn any_trace(seed: u64, work: usize) -> Made {
    let mut random = Pcg64::seed_from_u64(seed);
    let mut made = Made::new(&["camera", "load"], 20_000);
    for tenant in 0..2 {
        for number in 0..15u64 {
            let at = number as i64 * 1000;
            made.frame(tenant, number, at, at + 1200);
        }
    }
    let mut draw = move |most: u64| (random.next_u64() % most) as i64;
    for _ in 0..work {
        let (tenant, frame) = (draw(3) as u16, draw(16) as u64);
        let layer = ["backbone", "head"].get(draw(3) as usize).copied();
        let owner = match layer {
            _ if tenant == 2 => Owner::default(),
            Some(layer) => made.owner(tenant, frame, layer),
            None => Owner {
                layer: None,
                ..made.owner(tenant, frame, "")
            },
        };
        let (from, took) = (frame as i64 * 1000 + draw(1000), draw(120));
        match draw(6) {
            0 => made.copy(owner, Direction::HostToDevice, draw(5000) as u64, (from, took)),
            1 => made.copy(owner, Direction::DeviceToDevice, draw(5000) as u64, (from, took)),
            2 => made.copy(owner, Direction::HostToHost, draw(5000) as u64, (from, took)),
            kind => drop(made.kernel(owner, &format!("kernel{kind}"), from, took)),
        }
    }
    made
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn sums_and_shares_agree(seed in any::<u64>(), work in 0usize..400) {
        let summary = any_trace(seed, work).summary();
        let phase = phase(&summary);
        for tenant in &phase.tenants {
            let near = |a: f64, b: f64| (a - b).abs() < 1e-4;
            let layers: f64 = tenant.layers.iter().map(|layer| layer.ms).sum();
            let kernels: f64 = tenant.kernels.iter().map(|kernel| kernel.ms).sum();
            let on_gpu = || tenant.copies.iter().filter(|copy| copy.share.is_some());
            let copies: f64 = on_gpu().map(|copy| copy.ms).sum();
            prop_assert!(near(layers, tenant.device_ms) && near(kernels + copies, tenant.device_ms));
            if tenant.device_ms > 0.0 {
                let of_layers: f64 = tenant.layers.iter().map(|layer| layer.share).sum();
                let of_kernels: f64 = tenant.kernels.iter().map(|kernel| kernel.share).sum();
                let of_copies: f64 = on_gpu().filter_map(|copy| copy.share).sum();
                prop_assert!(near(of_layers, 1.0) && near(of_kernels + of_copies, 1.0));
            }
            if let Some(frames) = &tenant.per_frame {
                let mean = |stats: &crate::analysis::summary::Stats| stats.mean.value.unwrap();
                prop_assert!(near(mean(&frames.computation_ms) + mean(&frames.wait_ms), mean(&frames.turnaround_ms)));
                prop_assert!(frames.wait_ms.min.unwrap() >= 0.0);
                let (computation, turnaround) = (frames.computation_ms.max, frames.turnaround_ms.max);
                prop_assert!(computation <= turnaround);
                // A union is no longer than the sum.
                prop_assert!(mean(&frames.computation_ms) * tenant.frames_with_work as f64 <= tenant.device_ms * tenant.frames as f64 + 1e-4);
            }
            if let Some(waits) = &tenant.waits {
                for half in [waits.longer, waits.shorter] {
                    prop_assert!(near(half.co_runners_ms + half.other_ms + half.idle_ms, half.wait_ms));
                    prop_assert!(half.co_runners_ms >= 0.0 && half.other_ms >= -1e-9 && half.idle_ms >= 0.0);
                }
            }
        }
        for gpu in &phase.gpus {
            let sum: f64 = gpu.tenants.iter().map(|tenant| tenant.busy_ms).sum();
            prop_assert!((gpu.busy_ms + gpu.idle_ms - 20.0).abs() < 1e-6);
            prop_assert!(gpu.busy_ms <= sum + 1e-6 && sum <= gpu.busy_ms + 2.0 * gpu.overlap_ms + 1e-6);
        }
    }
}

#[test]
fn the_same_trace_gives_the_same_report_in_whatever_order_it_is_read() {
    use crate::analysis::Summarizer;
    use crate::record::Event;
    let made = any_trace(5, 300);
    let text = |turned: bool| {
        let mut events = made.events();
        if turned {
            for event in &mut events {
                if let Event::Activities(batch) = event {
                    batch.activities.reverse();
                }
            }
        }
        let mut summarizer = Summarizer::new(&made.manifest);
        events.iter().for_each(|event| summarizer.push(event));
        serde_json::to_string(&summarizer.finish(None)).unwrap()
    };
    assert_eq!(text(false), text(true));
}

#[test]
fn absurd_stamps_of_a_damaged_file_break_nothing() {
    use crate::record::activity::{OnStream, Work};
    let mut made = any_trace(9, 200);
    let owner = made.owner(0, 3, "backbone");
    let far = i64::MAX / 1000 - super::made::FROM;
    for (from, took) in [(far, 0), (-far, 2 * far), (-far, 0), (500, -900), (0, far)] {
        made.kernel(owner, "kernel", from, took);
        made.kernel(Owner::default(), "kernel", from, took);
        let work = Work::Graph {
            on: OnStream::default(),
            correlation: 1,
            graph: 1,
        };
        made.activity(owner, None, from, took, work);
    }
    made.frame(0, 99, -far, far);
    let summary = made.summary();
    assert_eq!(phase(&summary).tenants.len(), 2);
}

/// A co-runner that knows nothing of the camera: its kernels run at random times, and the camera's gaps have random lengths.
fn independent(seed: u64) -> Made {
    let mut random = Pcg64::seed_from_u64(seed);
    let mut draw = move |most: u64| (random.next_u64() % most) as i64;
    let mut made = Made::new(&["camera", "load"], 400_000);
    for number in 0..400u64 {
        let at = number as i64 * 1000;
        made.frame(0, number, at, at + 900);
        let owner = made.owner(0, number, "all");
        let gap = 50 + draw(400);
        made.kernel(owner, "conv", at + 100, 200);
        made.kernel(owner, "topk", at + 300 + gap, 50);
    }
    let mut at = 0;
    let mut number = 0;
    while at < 399_000 {
        made.frame(1, number, at, at + 150);
        let owner = made.owner(1, number, "all");
        made.kernel(owner, "load_conv", at, 150);
        at += 151 + draw(300);
        number += 1;
    }
    made
}

#[test]
fn an_independent_co_runner_has_as_much_of_the_gaps_as_of_the_time() {
    let (mut of_wait, mut of_time) = (0.0, 0.0);
    for seed in 0..20 {
        let summary = independent(seed).summary();
        let waits = tenant(&summary, "camera").waits.clone().unwrap();
        let ran = &waits.while_ran[0];
        of_wait += ran.share_of_wait / 20.0;
        of_time += ran.share_of_time / 20.0;
        // Longer gaps hold more of it: an accounting, and no finding.
        assert!(ran.more_ms > 0.0);
        let accused = summary
            .run
            .findings
            .iter()
            .any(|finding| finding.message.contains("load_conv"));
        assert!(!accused, "{:?}", summary.run.findings);
    }
    println!("{of_wait:.4} of the wait, {of_time:.4} of the time");
    assert!((of_wait - of_time).abs() < 0.02, "{of_wait} {of_time}");
}

/// Prints what a million activities cost: `cargo test --release -p jetlag-report --lib a_million -- --ignored --nocapture`.
#[test]
#[ignore = "a measurement: it prints and judges nothing"]
fn a_million_activities() {
    let mut made = Made::new(&["camera", "load"], 10_000_000);
    for number in 0..1000u64 {
        for tenant in 0..2 {
            let at = number as i64 * 10_000;
            made.frame(tenant, number, at, at + 9_500);
            for layer in 0..25 {
                let owner = made.owner(tenant, number, &format!("layer {layer}"));
                for kernel in 0..10 {
                    let from = at + layer * 370 + kernel * 36 + i64::from(tenant) * 11;
                    let correlation = made.kernel(owner, &format!("kernel{layer}_{kernel}"), from, 20);
                    made.call(owner, correlation, from - 15, 4);
                }
            }
        }
    }
    let events = made.events();
    let manifest = made.manifest.clone();
    drop(made);
    let resident = |what: &str| {
        let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let line = text
            .lines()
            .find(|line| line.starts_with(what))
            .map(str::to_owned);
        line.and_then(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok())
            .unwrap_or(0)
            / 1024
    };
    // Forgets the peak of making the events up.
    let _ = std::fs::write("/proc/self/clear_refs", "5");
    let (before, start) = (resident("VmRSS"), std::time::Instant::now());
    let mut summarizer = crate::analysis::Summarizer::new(&manifest);
    events.iter().for_each(|event| summarizer.push(event));
    let gathered = start.elapsed();
    let summary = summarizer.finish(None);
    println!(
        "{} kernels rows; gathered in {gathered:.2?}, all in {:.2?}; peak {} MiB above the {before} MiB of the events",
        tenant(&summary, "camera").kernels.len(),
        start.elapsed(),
        resident("VmHWM") - before
    );
}
