//! Releases that come late, rates that are too high, and what else ran on the machine.

use super::*;

#[test]
fn late_releases_are_found_by_the_budget_of_the_way_of_waiting() {
    let late = |us| {
        move |frame: &mut FrameRecord| frame.lateness = Nanos::from_micros(us + frame.sequence as i64 % 2)
    };
    let summary = changed(|_| {}, late(200), |_| {});
    let finding = only(&summary);
    assert_eq!(finding.code, "late-releases");
    let facts = &finding.facts;
    assert_eq!((&facts["late"], &facts["releases"]), (&json!(1050), &json!(2100)));
    assert_eq!(
        (&facts["release"], &facts["pinned"]),
        (&json!("Sleep"), &json!(false))
    );

    let spins = |manifest: &mut Manifest| {
        manifest.plan().release = Release::Spin;
        manifest
            .plan()
            .tenants
            .iter_mut()
            .for_each(|tenant| tenant.cpus = vec![1]);
        manifest.machine.insert("hypervisor".to_owned(), "kvm".to_owned());
    };
    let summary = changed(spins, late(50), |_| {});
    let finding = summary
        .run
        .findings
        .iter()
        .find(|f| f.tenant.as_deref() == Some("camera"))
        .unwrap();
    let facts = &finding.facts;
    assert_eq!(
        (&facts["release"], &facts["pinned"]),
        (&json!("Spin"), &json!(true))
    );
    assert_eq!(facts["virtual_machine"], true);
}

#[test]
fn lateness_means_nothing_in_a_closed_loop_or_in_simulated_time() {
    let late = |frame: &mut FrameRecord| frame.lateness = Nanos::from_millis(5);
    let closed = |manifest: &mut Manifest| manifest.plan().tenants[0].arrival = Arrival::Closed;
    assert_eq!(changed(closed, late, |_| {}).run.findings, []);
    let simulated = |manifest: &mut Manifest| manifest.plan().clock = ClockKind::Virtual;
    assert_eq!(changed(simulated, late, |_| {}).run.findings, []);
}

/// Of its time that serving all frames would take.
fn demand_in_percent(overload: &Finding) -> i64 {
    (overload.facts["demand"].as_f64().expect("a demand") * 100.0).round() as i64
}

#[test]
fn overload_tells_a_rate_that_is_too_high_from_stalls() {
    let drop_every = |n| {
        move |frame: &mut FrameRecord| {
            if frame.sequence.is_multiple_of(n) {
                frame.outcome = Outcome::Dropped;
            }
        }
    };
    let summary = changed(|_| {}, drop_every(4), |_| {});
    let finding = only(&summary);
    assert_eq!(finding.code, "overload");
    let facts = &finding.facts;
    assert_eq!(
        (&facts["dropped"], &facts["offered"]),
        (&json!(525), &json!(2100))
    );
    assert_eq!(facts["cause"], "stalls");

    let slow = |frame: &mut FrameRecord| {
        drop_every(4)(frame);
        frame.finished = frame.started + Nanos::from_millis(44);
    };
    let summary = changed(|_| {}, slow, |_| {});
    let finding = only(&summary);
    assert_eq!(demand_in_percent(finding), 132);
    assert_eq!(finding.facts["cause"], "service");

    let deep = |manifest: &mut Manifest| {
        manifest.plan().tenants[0].depth = 2;
        manifest.plan().tenants[0].overload = Overload::Queue { capacity: 64 };
    };
    let summary = changed(deep, drop_every(4), |_| {});
    assert_eq!(only(&summary).facts["cause"], "unknown");
    assert_eq!(
        only(&summary).facts["overload"],
        json!({ "Queue": { "capacity": 64 } })
    );
    // A drop in a hundred leaves the quantiles up to p99 what they are.
    assert_eq!(changed(|_| {}, drop_every(150), |_| {}).run.findings, []);
}

#[test]
fn a_line_of_frames_at_the_end_is_overload_too() {
    let cut = |frame: &mut FrameRecord| {
        if frame.sequence >= 2000 {
            frame.outcome = Outcome::Unfinished;
        }
    };
    let summary = changed(|_| {}, cut, |_| {});
    let facts = &only(&summary).facts;
    assert_eq!(
        (&facts["shown_by"], &facts["waiting"]),
        (&json!("line"), &json!(100))
    );
}

#[test]
fn other_programs_and_jetlags_own_cost_are_held_against_the_run() {
    let (mut manifest, mut events) = made_up::demo(70);
    manifest.plan().expect.clear();
    for event in &mut events {
        match event {
            Event::Sample(sample) if sample.signal == "own_cpu_load" => sample.value = Some(30.0),
            Event::Frame(frame) if frame.tenant == OVERHEAD_TENANT => {
                frame.finished = frame.released + Nanos::from_micros(740);
            }
            _ => {}
        }
    }
    let summary = made_up::summarize(&manifest, &events);
    let [busy, own] = summary.run.findings.as_slice() else {
        panic!("{:#?}", summary.run.findings);
    };
    assert_eq!((busy.code.as_str(), own.code.as_str()), ("host-busy", "own-cost"));
    assert_eq!(busy.facts["others_percent"].as_f64().unwrap().round(), 34.0);
    assert_eq!(
        (&own.facts["own_us"], &own.facts["tenant"]),
        (&json!(740.0), &json!("camera"))
    );
    let share = 740.0 / own.facts["median_us"].as_f64().unwrap();
    assert!((share - 0.05).abs() < 5e-4, "{share}");
}

#[test]
fn a_replayed_tenants_demand_is_by_the_rate_at_which_its_frames_came() {
    let replayed = |manifest: &mut Manifest| {
        manifest.plan().tenants[0].arrival = Arrival::Replay { speed: 1.0 };
    };
    let slow = |frame: &mut FrameRecord| {
        frame.finished = frame.started + Nanos::from_millis(44);
        if frame.sequence >= 2090 {
            (frame.outcome, frame.deadline) = (Outcome::Unfinished, None);
        } else if frame.sequence.is_multiple_of(4) {
            frame.outcome = Outcome::Dropped;
        }
    };
    let summary = changed(replayed, slow, |_| {});
    let finding = only(&summary);
    assert_eq!(finding.code, "overload");
    // 2 100 frames in 70 s, of 44 ms each.
    assert_eq!(demand_in_percent(finding), 132);
}

#[test]
fn a_fifth_of_the_processors_and_a_hundredth_of_the_response_time_are_not_too_much_yet() {
    let of = |own_load: f64, own_cost: i64| {
        let (mut manifest, mut events) = made_up::demo(70);
        manifest.plan().expect.clear();
        for event in &mut events {
            match event {
                Event::Sample(sample) if sample.signal == "own_cpu_load" => sample.value = Some(own_load),
                Event::Frame(frame) if frame.tenant == OVERHEAD_TENANT => {
                    frame.finished = frame.released + Nanos(own_cost);
                }
                Event::Frame(frame) if frame.tenant == 0 => {
                    frame.finished = frame.released + Nanos::from_millis(20);
                }
                _ => {}
            }
        }
        let summary = made_up::summarize(&manifest, &events);
        codes(&summary)
            .into_iter()
            .map(str::to_owned)
            .collect::<Vec<String>>()
    };
    assert_eq!(of(44.0, 200_000), Vec::<String>::new());
    assert_eq!(of(43.9, 200_000), ["host-busy"]);
    assert_eq!(of(44.0, 200_001), ["own-cost"]);
}

/// A camera at 100 Hz for ten seconds whose frames take so many milliseconds, changed.
fn at_100_hz(ms: f64, change: impl Fn(&mut FrameRecord)) -> Summary {
    let frames = (0..1_000).map(|i| {
        let at = Nanos::from_millis(10 * i as i64);
        let mut frame = made_up::frame(i, at, Nanos::ZERO, made_up::ms(ms));
        change(&mut frame);
        Event::Frame(frame)
    });
    let mut events: Vec<Event> = frames.collect();
    events.push(Event::Phase(made_up::end(0, Phase::Together, 10)));
    made_up::summarize(
        &made_up::manifest(10, vec![made_up::tenant("camera", 100.0, 33.0)]),
        &events,
    )
}

#[test]
fn a_demand_of_four_fifths_is_a_rate_that_is_too_high_and_one_of_all_the_time_is_kept_up_with() {
    let drops = |frame: &mut FrameRecord| {
        if frame.sequence.is_multiple_of(4) {
            frame.outcome = Outcome::Dropped;
        }
    };
    let cause = |ms| found(&at_100_hz(ms, drops), "overload").facts["cause"].clone();
    assert_eq!((cause(8.0), cause(7.9)), (json!("service"), json!("stalls")));
    assert!(!codes(&at_100_hz(10.0, |_| {})).contains(&"overload"));
    assert!(codes(&at_100_hz(10.1, |_| {})).contains(&"overload"));
}

/// A camera at 30 Hz for 60 s whose frames are inferred four at a time, in 20 ms.
fn in_batches() -> Summary {
    const SIZE: u64 = 4;
    let mut events: Vec<Event> = (0..1_800)
        .map(|i: u64| {
            let due = |i: u64| Nanos(i as i64 * 33_333_333);
            let (first, last) = (i / SIZE * SIZE, i / SIZE * SIZE + SIZE - 1);
            let (waited, compute) = (
                due(last) - due(i),
                Nanos::from_millis(20) + Nanos((last % 7) as i64 * 100_000),
            );
            let mut frame = made_up::frame(i, due(i), Nanos::ZERO, waited + compute);
            frame.batch = Some(jetlag::record::BatchPart {
                first,
                items: SIZE as u32,
            });
            frame.stages[jetlag::record::Stage::Queue as usize] = Some(waited);
            frame.stages[jetlag::record::Stage::Compute as usize] = Some(compute);
            Event::Frame(frame)
        })
        .collect();
    events.push(Event::Phase(made_up::end(0, Phase::Together, 60)));
    let mut tenant = made_up::tenant("camera", 30.0, 300.0);
    tenant.batch.size = SIZE as usize;
    made_up::summarize(&made_up::manifest(60, vec![tenant]), &events)
}

#[test]
fn frames_that_wait_for_their_batch_are_no_demand_and_do_not_follow_each_other() {
    let summary = in_batches();
    assert_eq!(summary.run.findings, []);
    let response = &summary.tenants[0].response_ms;
    assert!(
        response.p50.lack.is_none() && response.p90.lack.is_none(),
        "{response:#?}"
    );
}

#[test]
fn on_a_busy_host_compute_is_not_only_compute_and_nobody_is_sent_for_a_faster_detector() {
    let slow = |frame: &mut FrameRecord| {
        frame.finished = frame.started + Nanos::from_millis(44);
        if frame.sequence.is_multiple_of(4) {
            frame.outcome = Outcome::Dropped;
        }
    };
    let of = |own_load: f64| {
        let (mut manifest, mut events) = made_up::demo(20);
        manifest.plan().expect.clear();
        for event in &mut events {
            match event {
                Event::Sample(sample) if sample.signal == "own_cpu_load" => sample.value = Some(own_load),
                Event::Frame(frame) if frame.tenant == 0 && frame.phase == Phase::Together => slow(frame),
                _ => {}
            }
        }
        made_up::summarize(&manifest, &events)
    };
    let (quiet, busy) = (of(57.0), of(30.0));
    assert_eq!(found(&quiet, "overload").facts["cause"], "service");
    assert!(codes(&busy).contains(&"host-busy"), "{:?}", codes(&busy));
    // What follows from it is not told besides.
    assert!(!codes(&busy).contains(&"overload"), "{:?}", codes(&busy));
    let explained = busy.run.explained.iter();
    let overload = explained
        .clone()
        .find(|of| of.finding.code == "overload")
        .unwrap();
    assert_eq!(overload.explained_by, "host-busy");
    assert_eq!(overload.finding.facts["cause"], "other-programs");
    assert!(quiet.run.explained.is_empty());
    let waits = |of: &Summary| of.tenants[0].waterfall.waits_for_processors;
    assert_eq!((waits(&quiet), waits(&busy)), (false, true));
}

#[test]
fn a_tenant_that_is_overloaded_is_not_told_to_run_for_hours() {
    let mut tenant = made_up::tenant("camera", 100.0, 33.0);
    tenant.overload = Overload::DropOldest { queue: 1 };
    let mut manifest = made_up::manifest(60, vec![tenant]);
    manifest.plan().expect = vec!["camera.response.p99 < 33ms".to_owned()];
    let mut events: Vec<Event> = (0..6_000)
        .map(|i| {
            let mut frame = made_up::frame(
                i,
                Nanos::from_millis(10 * i as i64),
                Nanos::ZERO,
                made_up::ms(9.0),
            );
            if !i.is_multiple_of(500) {
                frame.outcome = Outcome::Dropped;
            }
            Event::Frame(frame)
        })
        .collect();
    events.push(Event::Phase(made_up::end(0, Phase::Together, 60)));
    let summary = made_up::summarize(&manifest, &events);
    assert_eq!(
        found(&summary, "too-few-samples").facts["more"]["kind"],
        "less-load"
    );
}
