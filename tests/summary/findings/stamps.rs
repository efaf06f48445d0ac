//! Frames whose stamps cannot be true are in no figure, and are told.

use super::*;
use jetlag::record::PhaseSpec;

const SET_BACK: i64 = 10;

/// Frames of the camera from this one on are stamped so many seconds later.
fn moved(from: u64, seconds: i64) -> impl Fn(&mut FrameRecord) {
    move |frame| {
        if frame.sequence >= from {
            for stamp in [&mut frame.released, &mut frame.started, &mut frame.finished] {
                *stamp = *stamp + Nanos::from_secs(seconds);
            }
        }
    }
}

fn told(summary: &Summary, count: u64, kind: &str) {
    let finding = found(summary, "impossible-stamps");
    assert_eq!(finding.tenant.as_deref(), Some("camera"));
    for each in ["reversed", "set_back", "ahead"] {
        let expected = if each == kind { count } else { 0 };
        assert_eq!(finding.facts[each], expected, "{each}: {finding:?}");
    }
    assert_eq!(summary.run.verdict, Verdict::Limited);
    assert!(summary.has_gaps());
}

#[test]
fn a_frame_that_ends_or_starts_before_it_is_due_is_in_no_figure() {
    let sound = changed(|_| {}, |_| {}, |_| {});
    let every = |n: u64, change: fn(&mut FrameRecord)| {
        move |frame: &mut FrameRecord| {
            if frame.sequence.is_multiple_of(n) {
                change(frame);
            }
        }
    };
    let changes: [fn(&mut FrameRecord); 4] = [
        |frame| frame.finished = frame.released - Nanos::from_millis(3),
        |frame| frame.finished = frame.started - Nanos(1),
        |frame| frame.started = frame.released - Nanos(1),
        |frame| frame.lateness = Nanos(-1),
    ];
    for change in changes {
        let summary = changed(|_| {}, every(100, change), |_| {});
        told(&summary, 21, "reversed");
        let (found, before) = (&summary.tenants[0], &sound.tenants[0]);
        assert_eq!(found.frames.completed, before.frames.completed - 21);
        assert_eq!(found.response_ms.count, before.response_ms.count - 21);
        assert_eq!(found.service_ms.count, before.service_ms.count - 21);
        assert!(found.response_ms.min >= before.response_ms.min);
        assert!(found.response_ms.max <= before.response_ms.max);
        assert_eq!(summary.tenants[1], sound.tenants[1]);
    }
}

#[test]
fn frames_after_a_clock_that_was_moved_are_in_no_figure() {
    let sound = changed(|_| {}, |_| {}, |_| {});
    // The clock needs 10 s to come by where it was; the last of them is within the order of a recording.
    let back = changed(|_| {}, moved(900, -SET_BACK), |_| {});
    told(&back, 270, "set_back");
    assert_eq!(back.tenants[0].frames.completed, 2_100 - 270);
    let ahead = changed(|_| {}, moved(900, 3_600), |_| {});
    told(&ahead, 1_200, "ahead");
    assert_eq!(ahead.tenants[0].frames.completed, 900);
    assert!(ahead.tenants[0].response_ms.max <= sound.tenants[0].response_ms.max);
    // One result that came after the clock had been moved.
    let one = |frame: &mut FrameRecord| {
        if frame.sequence == 900 {
            frame.finished = frame.finished + Nanos::from_secs(3_600);
        }
    };
    let one = changed(|_| {}, one, |_| {});
    told(&one, 1, "ahead");
    assert!(one.tenants[0].response_ms.max <= sound.tenants[0].response_ms.max);
    assert_eq!(one.tenants[0].frames.missed, sound.tenants[0].frames.missed);
}

#[test]
fn a_comparison_leaves_them_out_too() {
    let (manifest, mut events) = made_up::demo(70);
    let sound = made_up::sample(&manifest, &events);
    for event in &mut events {
        if let Event::Frame(frame) = event
            && frame.phase == Phase::Together
            && frame.sequence.is_multiple_of(10)
        {
            frame.finished = frame.released - Nanos::from_secs(1);
        }
    }
    let wrong = made_up::sample(&manifest, &events);
    let side = |name: &str, run| jetlag::analysis::compare::Side {
        name: name.to_owned(),
        files: Vec::new(),
        runs: vec![run],
        in_turns: false,
        repeated: Vec::new(),
    };
    let found =
        jetlag::analysis::compare::compare(&[side("sound", sound), side("wrong", wrong)], &[]).unwrap();
    assert!(!found.candidates[0].differs(), "{found:#?}");
}

#[test]
fn frames_that_ended_in_another_order_and_phases_after_each_other_are_sound() {
    let (mut manifest, mut events) = made_up::demo(70);
    manifest.plan().expect.clear();
    // Neighbours change their places in the file, as they do at depth 2.
    let frames: Vec<usize> = (0..events.len())
        .filter(|&place| matches!(&events[place], Event::Frame(frame) if frame.phase == Phase::Together))
        .collect();
    frames
        .chunks_exact(2)
        .for_each(|pair| events.swap(pair[0], pair[1]));
    let spec = |phase, at, members: Vec<u16>| {
        Event::PhaseSpec(PhaseSpec {
            at,
            phase,
            sharing: "Streams".to_owned(),
            members,
            ..PhaseSpec::default()
        })
    };
    events.insert(0, spec(Phase::Alone, made_up::START, vec![0]));
    events.insert(1, spec(Phase::Alone, made_up::START, vec![1]));
    events.insert(2, spec(Phase::Together, made_up::START, vec![0, 1]));
    let summary = made_up::summarize(&manifest, &events);
    assert_eq!(summary.run.findings, []);
}
