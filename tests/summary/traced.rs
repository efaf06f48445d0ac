//! A traced phase: what is written of it, for people, programs and tables.

use std::fs;

use jetlag::analysis::Summary;
use jetlag::record::activity::{
    Direction, Interface, MemoryKind, OnStream, Owner, TracedDevice, WaitKind, Work,
};
use jetlag::record::{
    Activity, ActivityBatch, Definition, Event, Launch, Manifest, Phase, PhaseSpec, TraceRecord,
};
use jetlag::report::Style;
use jetlag::report::details::{Form, kernels};
use jetlag::units::{Nanos, Stamp};

use crate::common::output::run;
use crate::common::planned::Planned as _;
use crate::summary::export::{ended, write_run};
use crate::summary::made_up::{self, START, ms};

const TRACED: Phase = Phase::Other(1);
const KERNEL: &str = "void cutlass::Kernel2<cutlass_80_tensorop_f16_s16816fprop_optimized_f16_128x64_32x6_nhwc_align8>(cutlass_80_tensorop_f16::Params)";
const SECONDS: u64 = 25;

/// A camera at 30 Hz and a lidar at 10 Hz, untraced and traced, with kernels, copies, calls and waits in every frame.
pub(crate) fn traced() -> (Manifest, Vec<Event>) {
    let (mut manifest, mut events) = made_up::demo(SECONDS as i64);
    manifest.plan().expect.clear();
    let spec = |phase, label: &str, traced| {
        Event::PhaseSpec(PhaseSpec {
            at: START,
            phase,
            label: label.to_owned(),
            sharing: "Streams".to_owned(),
            members: vec![0, 1],
            traced,
            ..PhaseSpec::default()
        })
    };
    events.insert(0, spec(Phase::Together, "camera + lidar", false));
    events.push(spec(TRACED, "camera + lidar, traced", true));
    let launch = Launch {
        grid: [128, 2, 1],
        block: [128, 1, 1],
        registers: 96,
        static_shared_bytes: 1024,
        dynamic_shared_bytes: 48 << 10,
        ..Launch::default()
    };
    for (text, number) in [
        ("backbone", 1),
        (KERNEL, 2),
        ("cudaLaunchKernel", 3),
        ("head, \"two\"", 4),
    ] {
        events.push(Event::Definition(Definition {
            number,
            text: text.to_owned(),
            launch: (number == 2).then_some(launch),
        }));
    }
    let mut activities = Vec::new();
    for (tenant, hz) in [(0u16, 30), (1, 10)] {
        for number in 0..SECONDS * hz {
            let at = ms(1000.0 / hz as f64 * number as f64);
            let more = ms((number % 17) as f64 / 4.0);
            let mut frame = made_up::frame(number, at, Nanos::ZERO, ms(12.0) + more);
            (frame.tenant, frame.phase) = (tenant, TRACED);
            let began = frame.started;
            events.push(Event::Frame(frame));
            activities.extend(one(tenant, number, began, more));
        }
        events.push(Event::Phase(made_up::end(tenant, TRACED, SECONDS as i64)));
    }
    activities.push(kernel(Owner::default(), START + ms(20.0), ms(1.0), 0));
    events.push(Event::Activities(ActivityBatch {
        phase: TRACED,
        process: 77,
        activities,
    }));
    events.push(Event::Trace(TraceRecord {
        phase: Some(TRACED),
        process: 77,
        tracer: "CUPTI of CUDA 13.0.1".to_owned(),
        graph_nodes: true,
        calls: true,
        calls_left_out: 54,
        activities: 9000,
        dropped: 3,
        notes: vec!["Copies of the driver's own are not traced.".to_owned()],
        clock_residual: Nanos(1500),
        devices: vec![TracedDevice {
            name: "Orin".to_owned(),
            capability: 87,
            multiprocessors: 8,
            ..TracedDevice::default()
        }],
        ..TraceRecord::default()
    }));
    (manifest, events)
}

fn kernel(owner: Owner, from: Stamp, took: Nanos, correlation: u32) -> Activity {
    Activity {
        from,
        to: from + took,
        name: Some(2),
        owner,
        work: Work::Kernel {
            on: OnStream::default(),
            correlation,
            graph: u32::from(correlation % 2 == 1) * 5,
        },
    }
}

/// A copy in, a call, two kernels with a gap of `more`, and a wait of the host.
fn one(tenant: u16, number: u64, began: Stamp, more: Nanos) -> [Activity; 5] {
    let owner = |layer| Owner {
        tenant: Some(tenant),
        frame: Some(number),
        layer: Some(layer),
    };
    let correlation = number as u32 * 2 + u32::from(tenant);
    let of = |name, from: Nanos, took: Nanos, work| Activity {
        from: began + from,
        to: began + from + took,
        name,
        owner: owner(1),
        work,
    };
    [
        of(
            None,
            ms(1.0),
            ms(0.5),
            Work::Copy {
                on: OnStream::default(),
                correlation: 1 << 20,
                graph: 0,
                direction: Direction::HostToDevice,
                source: MemoryKind::Pageable,
                destination: MemoryKind::Device,
                bytes: 1_228_800,
            },
        ),
        of(
            Some(3),
            ms(1.2),
            ms(0.1),
            Work::Call {
                thread: 5,
                correlation,
                interface: Interface::Runtime,
            },
        ),
        kernel(owner(1), began + ms(2.0), ms(3.0), correlation),
        kernel(owner(4), began + ms(6.0) + more, ms(2.0), correlation),
        of(
            None,
            ms(2.0),
            ms(6.0) + more,
            Work::Wait {
                on: OnStream::default(),
                correlation: 1 << 21,
                how: WaitKind::Stream,
                event: 0,
            },
        ),
    ]
}

/// With every part that a summary of traced phases has.
pub(crate) fn summary() -> Summary {
    let (manifest, events) = traced();
    made_up::summarize(&manifest, &events)
}

#[test]
fn kernels_fit_the_terminal() {
    for width in [80, 100, 120] {
        let style = Style { colour: false, width };
        let text = kernels::text(&[summary()], Form::Terminal(&style));
        let longest = text.lines().map(|line| line.chars().count()).max();
        assert!(longest <= Some(usize::from(width)), "{text}");
    }
}

#[test]
fn report_and_export_of_a_traced_run_as_a_process() {
    let folder = tempfile::tempdir().expect("a folder");
    let (manifest, events) = traced();
    write_run(&folder.path().join("run.mcap"), &manifest, &events);
    let report = run(&["report", "run.mcap", "--kernels"], folder.path());
    ended(&report, 0);
    let both = run(&["report", "run.mcap", "--kernels", "--layers"], folder.path());
    ended(&both, 2);
    ended(
        &run(
            &["export", "run.mcap", "--format", "csv", "-o", "tables"],
            folder.path(),
        ),
        0,
    );
    let table = fs::read_to_string(folder.path().join("tables/kernels.csv")).expect("a table");
    let lines: Vec<&str> = table.split("\r\n").collect();
    let began = START.0 + 2_000_000;
    let first = format!(
        "camera,phase-1,77,0,backbone,kernel,{KERNEL},{began},3000000,0,0,0,,0,,,,,,128x2x1,128x1x1,96,1024,49152"
    );
    assert!(
        lines.contains(&first.as_str()),
        "{first}\n{}",
        lines[..8].join("\n")
    );
    assert!(
        lines
            .iter()
            .any(|line| line.contains(",\"head, \"\"two\"\"\",kernel,"))
    );
    assert!(lines.iter().any(
        |line| line.contains(",copy,,") && line.ends_with(",1228800,host to device,pageable,device,,,,,")
    ));
    assert!(
        lines
            .iter()
            .any(|line| line.contains(",call,cudaLaunchKernel,") && line.contains(",100000,,,,5,"))
    );
    assert!(
        lines.iter().any(|line| line.starts_with(",phase-1,77,,,kernel,")),
        "of no tenant"
    );
    // The heading, five a frame, and one of nobody.
    assert_eq!(lines.len() as u64, 1 + SECONDS * 40 * 5 + 1 + 1);
    ended(
        &run(&["report", "run.mcap", "--format", "json"], folder.path()),
        0,
    );
}
