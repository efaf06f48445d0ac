use super::*;

fn every_kind() -> Vec<Activity> {
    let on = OnStream {
        device: 1,
        context: 2,
        stream: 3,
    };
    let works = [
        Work::Kernel {
            on,
            correlation: 4,
            graph: 5,
        },
        Work::Copy {
            on,
            correlation: 6,
            graph: 7,
            direction: Direction::HostToDevice,
            source: MemoryKind::Pageable,
            destination: MemoryKind::Device,
            bytes: 8,
        },
        Work::Fill {
            on,
            correlation: 9,
            graph: 10,
            memory: MemoryKind::Managed,
            bytes: 11,
        },
        Work::Graph {
            on,
            correlation: 12,
            graph: 13,
        },
        Work::Call {
            thread: 14,
            correlation: 15,
            interface: Interface::Runtime,
        },
        Work::Wait {
            on,
            correlation: 16,
            how: WaitKind::StreamForEvent,
            event: 17,
        },
        Work::Event {
            on,
            correlation: 18,
            event: 19,
        },
        Work::Range {
            thread: 20,
            domain: Some(0),
            payload: Some(-21),
        },
        Work::Range {
            thread: 20,
            domain: None,
            payload: None,
        },
        Work::Overhead { thread: 22 },
        Work::Slice {
            device: 23,
            process: 24,
        },
    ];
    let owned = Owner {
        tenant: Some(1),
        frame: Some(2),
        layer: Some(3),
    };
    let all = works.into_iter().enumerate().map(|(at, work)| Activity {
        from: Stamp(1_000 + at as i64),
        to: Stamp(5_000_000_000),
        name: (at % 2 == 0).then_some(at as u32),
        owner: if at % 3 == 0 { Owner::default() } else { owned },
        work,
    });
    all.collect()
}

#[test]
fn a_batch_comes_back_as_it_was() {
    for phase in [Phase::Together, Phase::Other(7)] {
        let batch = ActivityBatch {
            phase,
            process: 77,
            activities: every_kind(),
        };
        let mut bytes = Vec::new();
        encode_batch(&mut bytes, 5, Stamp(900), &batch);
        assert_eq!(decode_batch(&bytes), Ok(batch.clone()));
        for length in 0..bytes.len() {
            assert!(decode_batch(&bytes[..length]).is_err(), "{length}");
        }
    }
}

#[test]
fn a_kind_of_a_newer_version_is_passed_over_and_columns_are_equally_long() {
    let batch = ActivityBatch {
        phase: Phase::Together,
        process: 1,
        activities: every_kind(),
    };
    let mut bytes = Vec::new();
    encode_batch(&mut bytes, 0, Stamp(0), &batch);
    // Encapsulation, time, base, process, phase, number: then the length of the first column, and it.
    let kinds = 4 + 8 + 8 + 4 + 2 + 2;
    assert_eq!(bytes[kinds..kinds + 4], 11u32.to_le_bytes());
    let mut newer = bytes.clone();
    newer[kinds + 4] = 99;
    assert_eq!(
        decode_batch(&newer).unwrap().activities[..],
        batch.activities[1..]
    );
    let mut shorter = bytes;
    shorter[kinds + 4 + 12] = 10;
    let refused = decode_batch(&shorter);
    assert!(
        matches!(
            refused,
            Err(CdrError::UnknownValue {
                field: "length of a column",
                value: 10
            })
        ),
        "{refused:?}"
    );
}

#[test]
fn names_and_traces_come_back_as_they_were() {
    let launch = Launch {
        grid: [1, 2, 3],
        block: [4, 5, 6],
        cluster: [7, 8, 9],
        registers: 10,
        static_shared_bytes: 11,
        dynamic_shared_bytes: 12,
        local_bytes: 13,
    };
    for launch in [None, Some(launch)] {
        let definition = Definition {
            number: 3,
            text: "conv<float>".to_owned(),
            launch,
        };
        let mut bytes = Vec::new();
        encode_definition(&mut bytes, 0, &definition);
        assert_eq!(decode_definition(&bytes), Ok(definition));
    }
    for phase in [None, Some(Phase::Alone), Some(Phase::Other(4))] {
        let trace = TraceRecord {
            phase,
            process: 1,
            from: Stamp(2),
            to: Stamp(3),
            tracer: "CUPTI of CUDA 13.0.1".to_owned(),
            graph_nodes: true,
            calls: false,
            calls_left_out: 9,
            activities: 4,
            dropped: 5,
            lost_stamps: 6,
            not_kept: 7,
            clock_residual: Nanos(8),
            notes: vec!["one".to_owned(), "two".to_owned()],
            devices: vec![TracedDevice {
                device: 1,
                name: "Orin NX".to_owned(),
                capability: 87,
                multiprocessors: 8,
                most_warps: 48,
                most_blocks: 16,
                registers: 65_536,
                shared_bytes: 167_936,
                warp_threads: 32,
            }],
        };
        let mut bytes = Vec::new();
        encode_trace(&mut bytes, 0, &trace);
        assert_eq!(decode_trace(&bytes).as_ref(), Ok(&trace));
    }
}
