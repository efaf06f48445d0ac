//! Whose energy it is: cards, processors and the tenants that used them.

use super::*;

#[test]
fn a_card_that_no_tenant_used_is_charged_to_none() {
    let summary = powered(&[line("nvml", "gpu0_power_instant", RailRole::Total, module)], 70);
    assert!(summary.energy.is_some(), "its energy is reported");
    assert!(summary.tenants.iter().all(|t| t.energy_mj_per_frame.is_none()));
}

/// Two tenants of a made-up run, beside a card and a processor: `camera` on the one backend, `lidar` on the other.
fn on_devices(camera: (&str, Option<Device>), lidar: (&str, Option<Device>), lines: &[Line]) -> Summary {
    let (mut manifest, events) = with_power(lines, 70);
    for (tenant, (backend, device)) in manifest.tenants.iter_mut().zip([camera, lidar]) {
        (tenant.backend, tenant.device) = (backend.to_owned(), device);
    }
    made_up::summarize(&manifest, &events)
}

fn per_run(summary: &Summary, tenant: usize) -> Option<f64> {
    let tenant = &summary.tenants[tenant];
    let energy = tenant.energy_mj_per_frame?;
    Some((energy.total * tenant.frames.completed as f64).round())
}

#[test]
fn a_cards_energy_goes_to_the_tenants_that_used_it() {
    let card = || line("nvml", "gpu0_power_instant", RailRole::Total, module);
    let processor = || {
        line("rapl", "package-0", RailRole::Total, |t| {
            Some(if t < -0.5 { 1_000.0 } else { 5_000.0 })
        })
    };
    for host in [
        ("onnxruntime-cpu", None),
        ("cpu", None),
        ("application", None),
        // Its name alone does not say it.
        ("stress", Some(Device::Host)),
        ("of a later version", Some(Device::Host)),
    ] {
        let summary = on_devices(("tensorrt", None), host, &[card()]);
        assert_eq!(per_run(&summary, 0), Some(700_000.0), "{host:?}");
        assert_eq!(per_run(&summary, 1), None, "{host:?}");
        let camera = summary.tenants[0].energy_mj_per_frame.unwrap();
        assert_eq!(
            (camera.share, camera.attributed),
            (1.0, false),
            "nothing was divided"
        );
        assert_eq!(summary.energy.as_ref().unwrap().attribution, None);
        // A card that nobody used.
        let summary = on_devices(host, host, &[card()]);
        assert_eq!(
            (per_run(&summary, 0), per_run(&summary, 1)),
            (None, None),
            "{host:?}"
        );
        // What the processors took goes to both by their time on them, and the card's to the one.
        let summary = on_devices(("stress", Some(Device::Gpu(1))), host, &[card(), processor()]);
        let (camera, lidar) = (per_run(&summary, 0).unwrap(), per_run(&summary, 1).unwrap());
        assert!((camera + lidar - 1_050_000.0).abs() < 2.0, "{camera} + {lidar}");
        assert!(
            (5_000.0..50_000.0).contains(&(camera - 700_000.0)),
            "{camera}: its 1.4 ms of 42"
        );
        assert!(summary.tenants[1].energy_mj_per_frame.unwrap().attributed);
    }
}

#[test]
fn what_two_tenants_are_charged_with_adds_up_to_the_whole_with_its_interval() {
    let gpu = || ("tensorrt", Some(Device::Gpu(0)));
    let card = || line("nvml", "gpu0_power_instant", RailRole::Total, module);
    let processor = || line("rapl", "package-0", RailRole::Total, |_| Some(5_000.0));
    for (lidar, lines, by) in [
        (gpu(), vec![card()], "share of compute time"),
        (
            ("cpu", Some(Device::Host)),
            vec![card(), processor()],
            "share of time on the processors",
        ),
        (
            gpu(),
            vec![card(), processor()],
            "share of compute time on the GPUs, of time on the processors",
        ),
    ] {
        let summary = on_devices(gpu(), lidar, &lines);
        let energy = summary.energy.as_ref().unwrap();
        assert_eq!(energy.attribution, Some(by));
        let of_all = |of: &dyn Fn(&jetlag::analysis::summary::Energy) -> f64| -> f64 {
            let tenants = summary.tenants.iter();
            let charged = tenants.map(|tenant| {
                let energy = tenant.energy_mj_per_frame.unwrap();
                of(&energy) * tenant.frames.completed as f64
            });
            charged.sum()
        };
        let close = |found: f64, known: f64| assert!((found - known).abs() < 1.0, "{found}, {known}, {by}");
        close(of_all(&|energy| energy.total), energy.total_mj);
        close(
            of_all(&|energy| energy.above_idle.unwrap()),
            energy.above_idle_mj.unwrap(),
        );
        for end in [0, 1] {
            close(
                of_all(&|energy| energy.ci95.unwrap()[end]),
                energy.ci95_mj.unwrap()[end],
            );
        }
        // By energy, and not by line: the card takes twice as much as the processor.
        for tenant in &summary.tenants {
            let charged = tenant.energy_mj_per_frame.unwrap();
            let per_run = charged.total * tenant.frames.completed as f64;
            close(charged.share * energy.total_mj, per_run);
        }
    }
}

#[test]
fn clocks_count_where_a_tenant_executed() {
    let clock = |source: &str, name: &str| {
        let mut clock = line(source, name, RailRole::None, |t| {
            Some(if (t * 10.0) as i64 % 2 == 0 {
                306.0
            } else {
                1_300.0
            })
        });
        clock.signal.unit = "mhz".to_owned();
        clock.signal.measurand = Measurand::of_names(source, name, "mhz");
        clock
    };
    let moved = |tenants: (&str, Option<Device>)| {
        let clocks = [clock("gpu", "gpu_frequency"), clock("host", "cpu0_frequency")];
        let summary = on_devices(tenants, ("sim", None), &clocks);
        let moved = summary.run.findings.iter().filter(|f| f.code == "clocks-moved");
        moved.map(|f| f.facts["clock"].clone()).collect::<Vec<_>>()
    };
    let (gpu, processors) = ("gpu", "processors");
    assert_eq!(moved(("onnxruntime-cpu", None)), [processors]);
    assert_eq!(moved(("stress", Some(Device::Host))), [processors]);
    assert_eq!(moved(("stress", Some(Device::Gpu(0)))), [gpu]);
    assert_eq!(moved(("onnxruntime-cuda", None)), [gpu]);
    assert_eq!(moved(("null", None)), [""; 0]);
}

#[test]
fn two_cards_are_both_counted_and_said_to_be() {
    let summary = powered(
        &[
            line("nvml", "gpu0_power_instant", RailRole::Total, module),
            line("nvml", "gpu1_power_instant", RailRole::Total, |_| Some(5_000.0)),
        ],
        70,
    );
    let energy = summary.energy.unwrap();
    assert_eq!((energy.of, energy.total_mj), ("all GPUs", 1_050_000.0));
    assert_eq!(energy.rails.len(), 2);
}

#[test]
fn processors_alone_are_said_to_be() {
    let processor = |name: &str| line("rapl", name, RailRole::Total, module);
    for lines in [
        vec![processor("package-0")],
        vec![processor("package-0"), processor("package-1")],
    ] {
        let energy = powered(&lines, 70).energy.unwrap();
        assert_eq!((energy.of, energy.rails.len()), ("processor", lines.len()));
    }
}

#[test]
fn shares_of_no_energy_add_up_to_one_all_the_same() {
    let lines = [
        line("nvml", "gpu0_power_instant", RailRole::Total, |_| Some(0.0)),
        line("rapl", "package-0", RailRole::Total, |_| Some(0.0)),
    ];
    let summary = on_devices(
        ("tensorrt", Some(Device::Gpu(0))),
        ("cpu", Some(Device::Host)),
        &lines,
    );
    let shares: f64 = summary
        .tenants
        .iter()
        .map(|tenant| tenant.energy_mj_per_frame.unwrap().share)
        .sum();
    assert!((shares - 1.0).abs() < 1e-5, "{shares}");
}

#[test]
fn the_whole_of_a_desktop_is_named_by_what_was_measured() {
    let card = |name: &str| line("nvml", name, RailRole::Total, module);
    let processor = || line("rapl", "package-0", RailRole::Total, module);
    for (lines, of) in [
        (vec![card("gpu0_power_instant")], "GPU"),
        (vec![card("gpu0_power_instant"), processor()], "GPU and processor"),
        (
            vec![
                card("gpu0_power_instant"),
                card("gpu1_power_instant"),
                processor(),
            ],
            "all GPUs and processor",
        ),
    ] {
        assert_eq!(powered(&lines, 70).energy.unwrap().of, of);
    }
}
