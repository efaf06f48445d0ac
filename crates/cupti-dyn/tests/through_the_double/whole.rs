//! A program's own launches, copies, waits and graphs on the driver's double, as CUPTI's double records them.

use cupti_dyn::record::Kernel;
use cupti_dyn::sys::{CopyKind, Domain, ExternalKind, MemoryKind, SyncKind};
use cupti_dyn::{CaptureTag, Kind, NodeTags, Record, Settings, monotonic_ns};

use crate::driver::{Cuda, KERNEL};
use crate::scene::{ALL, OLDEST, over, rest};

const KINDS: [Kind; 9] = [
    Kind::CONCURRENT_KERNEL,
    Kind::MEMCPY,
    Kind::MEMSET,
    Kind::DRIVER,
    Kind::SYNCHRONIZATION,
    Kind::CUDA_EVENT,
    Kind::EXTERNAL_CORRELATION,
    Kind::CONTEXT,
    Kind::STREAM,
];

fn kernels(records: &[Record]) -> Vec<&Kernel> {
    let kernels = records.iter().filter_map(|record| match record {
        Record::Kernel(kernel) => Some(kernel),
        _ => None,
    });
    kernels.collect()
}

/// The call that a record's work was asked for by: its name.
fn asked_by(records: &[Record], library: cupti_dyn::Library, correlation: u32) -> String {
    let call = records.iter().find_map(|record| match record {
        Record::DriverCall(call) if call.correlation == correlation => Some(call.function),
        _ => None,
    });
    library
        .call_name(Domain::DRIVER_API, call.expect("a call"))
        .expect("a name")
}

#[test]
fn kernels_copies_and_fills_lie_within_the_run_in_their_streams_behind_their_calls() {
    let test = "whole::kernels_copies_and_fills_lie_within_the_run_in_their_streams_behind_their_calls";
    over(test, &ALL, |scene| {
        let session = scene.session(&KINDS);
        let cuda = Cuda::new();
        let (first, second) = (cuda.stream(), cuda.stream());
        let before = monotonic_ns();
        let memory = cuda.memory(4096);
        cuda.copy_to(first, memory, &[3; 4096]);
        cuda.fill(first, memory);
        cuda.busy(first, 200_000, 4);
        cuda.busy(second, 300_000, 2);
        cuda.copy_from(second, memory, &mut [0; 1024]);
        cuda.synchronize_all();
        let after = monotonic_ns();
        // SAFETY: live streams of a live context.
        let numbers =
            [first, second].map(|stream| unsafe { scene.library.stream_id(cuda.context, stream.0) });
        let [first, second] = numbers.map(|number| number.expect("a number"));
        let (records, ended) = rest(session);
        assert!(ended.loss.is_none(), "{:?}", ended.loss.sentences());
        // They come in the order in which they end.
        let mut found = kernels(&records);
        found.sort_by_key(|kernel| kernel.stream);
        let lengths: Vec<(u64, u32, i32)> = found
            .iter()
            .map(|kernel| (kernel.end - kernel.start, kernel.stream, kernel.grid_x))
            .collect();
        // Together they take longer than each alone, never less.
        assert!(lengths[0].0 >= 200_000 && lengths[1].0 >= 300_000, "{lengths:?}");
        assert_eq!(
            [(lengths[0].1, lengths[0].2), (lengths[1].1, lengths[1].2)],
            [(first, 4), (second, 2)]
        );
        for kernel in &found {
            assert_eq!(
                (kernel.name.as_deref(), kernel.block_x, kernel.graph),
                (Some(KERNEL), 64, 0)
            );
            assert!(before <= kernel.start && kernel.end <= after);
            assert_eq!(
                asked_by(&records, scene.library, kernel.correlation),
                "cuLaunchKernel"
            );
        }
        let copies: Vec<_> = records
            .iter()
            .filter_map(|record| match record {
                Record::Copy(copy) => {
                    Some((copy.kind, copy.source, copy.destination, copy.bytes, copy.stream))
                }
                _ => None,
            })
            .collect();
        let (host, device) = (MemoryKind::PAGEABLE, MemoryKind::DEVICE);
        let wanted = [
            (CopyKind::HTOD, host, device, 4096, first),
            (CopyKind::DTOH, device, host, 1024, second),
        ];
        assert_eq!(copies, wanted);
        let fills = records
            .iter()
            .filter(|record| matches!(record, Record::Fill(fill) if fill.bytes == 4096));
        assert_eq!(fills.count(), 1);
        let streams = records
            .iter()
            .filter(|record| matches!(record, Record::Stream(_)));
        assert!(streams.count() >= 2);
    });
}

#[test]
fn waits_and_events_name_the_streams_that_they_join() {
    over(
        "whole::waits_and_events_name_the_streams_that_they_join",
        &ALL,
        |scene| {
            let session = scene.session(&KINDS);
            let cuda = Cuda::new();
            let (first, second, event) = (cuda.stream(), cuda.stream(), cuda.event());
            cuda.busy(first, 100_000, 1);
            cuda.record(event, first);
            cuda.wait_for(second, event);
            cuda.busy(second, 100_000, 1);
            cuda.synchronize(second);
            // SAFETY: live streams of a live context.
            let numbers =
                [first, second].map(|stream| unsafe { scene.library.stream_id(cuda.context, stream.0) });
            let [first, second] = numbers.map(|number| number.expect("a number"));
            let (records, _) = rest(session);
            let recorded = records.iter().find_map(|record| match record {
                Record::EventRecord(event) => Some((event.event, event.stream)),
                _ => None,
            });
            let (event, stream) = recorded.expect("an event was recorded");
            assert_eq!(stream, first);
            let waits: Vec<_> = records
                .iter()
                .filter_map(|record| match record {
                    Record::Synchronization(wait) => Some((wait.kind, wait.stream, wait.event)),
                    _ => None,
                })
                .collect();
            let wanted = [
                (SyncKind::STREAM_WAIT_EVENT, second, event),
                (SyncKind::STREAM_SYNCHRONIZE, second, u32::MAX),
            ];
            assert_eq!(waits, wanted);
            let found = kernels(&records);
            assert!(found[0].end <= found[1].start, "the second waits for the first");
        },
    );
}

#[test]
fn kernels_of_a_graph_have_its_launches_correlation_and_their_nodes_tags() {
    let test = "whole::kernels_of_a_graph_have_its_launches_correlation_and_their_nodes_tags";
    over(test, &ALL, |scene| {
        let settings = Settings {
            graph_nodes: true,
            ..Settings::default()
        };
        let mut session = scene.session_with(&settings, &KINDS);
        let cuda = Cuda::new();
        let stream = cuda.stream();
        let graph = cuda.capture(stream, || {
            for layer in [7, 8] {
                let _layer = CaptureTag::set(layer);
                cuda.busy(stream, 10_000, 1);
            }
            cuda.busy(stream, 10_000, 1);
        });
        let launches = [1, 2].map(|frame| {
            let _frame = scene.library.tag(ExternalKind::CUSTOM0, frame).expect("pushed");
            cuda.launch(graph, stream);
            frame
        });
        cuda.synchronize_all();
        let mut tags = NodeTags::default();
        session
            .graph_nodes()
            .into_iter()
            .for_each(|event| tags.push(event));
        let (records, _) = rest(session);
        let found = kernels(&records);
        let layers: Vec<Option<u64>> = found.iter().map(|kernel| tags.tag(kernel.graph_node)).collect();
        assert_eq!(layers, [Some(7), Some(8), None, Some(7), Some(8), None]);
        assert!(
            found
                .iter()
                .all(|kernel| kernel.graph != 0 && kernel.graph == found[0].graph)
        );
        for (kernels, frame) in found.chunks(3).zip(launches) {
            assert!(
                kernels
                    .iter()
                    .all(|kernel| kernel.correlation == kernels[0].correlation)
            );
            assert_eq!(
                asked_by(&records, scene.library, kernels[0].correlation),
                "cuGraphLaunch"
            );
            let told = records.iter().find_map(|record| match record {
                Record::ExternalCorrelation(number) if number.correlation == kernels[0].correlation => {
                    Some(number.id)
                }
                _ => None,
            });
            assert_eq!(told, Some(frame));
        }
    });
}

#[test]
fn a_graph_as_a_whole_is_one_record_and_its_nodes_are_none() {
    over(
        "whole::a_graph_as_a_whole_is_one_record_and_its_nodes_are_none",
        &ALL,
        |scene| {
            let session = scene.session(&[Kind::CONCURRENT_KERNEL, Kind::GRAPH_TRACE]);
            let cuda = Cuda::new();
            let stream = cuda.stream();
            let graph = cuda.capture(stream, || {
                for _ in 0..3 {
                    cuda.busy(stream, 10_000, 1);
                }
            });
            cuda.launch(graph, stream);
            cuda.busy(stream, 10_000, 1);
            cuda.synchronize_all();
            let (records, _) = rest(session);
            let [Record::GraphLaunch(launch), Record::Kernel(_)] = records.as_slice() else {
                panic!("{records:?}");
            };
            assert!(launch.end - launch.start >= 30_000);
            assert_ne!(launch.graph, 0);
        },
    );
}

#[test]
fn several_threads_have_their_own_numbers_on_their_own_kernels() {
    over(
        "whole::several_threads_have_their_own_numbers_on_their_own_kernels",
        &ALL,
        |scene| {
            let mut session = scene.session(&KINDS);
            let cuda = Cuda::new();
            session
                .self_test(Kind::CONCURRENT_KERNEL, || {
                    let stream = cuda.stream();
                    cuda.busy(stream, 1000, 1);
                    cuda.synchronize(stream);
                })
                .expect("it traces");
            let cuda = &cuda;
            std::thread::scope(|scope| {
                for tenant in 1..=3u64 {
                    scope.spawn(move || {
                        cuda.enter();
                        let stream = cuda.stream();
                        for _ in 0..20 {
                            let _tenant = scene.library.tag(ExternalKind::CUSTOM1, tenant).expect("pushed");
                            cuda.busy(stream, 1000, u32::try_from(tenant).expect("few"));
                        }
                        cuda.synchronize(stream);
                    });
                }
            });
            let (records, ended) = rest(session);
            assert!(ended.loss.is_none());
            let found = kernels(&records);
            assert_eq!(found.len(), 60);
            for kernel in found {
                let tenant = records.iter().find_map(|record| match record {
                    Record::ExternalCorrelation(number) if number.correlation == kernel.correlation => {
                        Some(number.id)
                    }
                    _ => None,
                });
                // As many blocks as the tenant's number.
                assert_eq!(tenant.map(|tenant| tenant as i32), Some(kernel.grid_x));
            }
        },
    );
}

#[test]
fn before_11_6_the_moments_come_right_when_they_are_converted() {
    over(
        "whole::before_11_6_the_moments_come_right_when_they_are_converted",
        &[OLDEST],
        |scene| {
            let session = scene.session(&[Kind::CONCURRENT_KERNEL]);
            let cuda = Cuda::new();
            let stream = cuda.stream();
            let before = monotonic_ns();
            cuda.busy(stream, 100_000, 1);
            cuda.synchronize(stream);
            let after = monotonic_ns();
            let (records, ended) = rest(session);
            let kernel = kernels(&records)[0];
            let [start, end] = [kernel.start, kernel.end].map(|stamp| ended.brackets.to_monotonic(stamp));
            // The double converts with readings of its own.
            let off = ended.brackets.residual_ns() + 1_000_000;
            assert!(
                before <= start + off && end <= after + off,
                "{before} {start} {end} {after}"
            );
            assert!(ended.brackets.count() >= 2 && ended.brackets.steps().is_empty());
        },
    );
}
