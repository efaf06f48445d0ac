//! Where work runs and how it is asked for: several devices, parts of one, priorities, memory, questions, single calls.

use cupti_dyn::record::Kernel;
use cupti_dyn::sys::{CopyKind, Domain, ExternalKind, MemoryKind, StreamFlag, SyncKind};
use cupti_dyn::{CaptureTag, Kind, NodeEvent, Record, Settings};
use nvidia_doubles::cuda;

use crate::driver::Cuda;
use crate::scene::{ALL, Scene, over, over_machine, rest};

fn kernels(records: &[Record]) -> Vec<&Kernel> {
    let kernels = records.iter().filter_map(|record| match record {
        Record::Kernel(kernel) => Some(kernel),
        _ => None,
    });
    kernels.collect()
}

fn context_of(scene: &Scene, handle: *mut std::ffi::c_void) -> u32 {
    // SAFETY: a live context.
    unsafe { scene.library.context_id(handle) }.expect("a number")
}

#[test]
fn each_device_has_its_own_kernels_and_is_told() {
    let two = cuda::Control::default().mixed(&[("first", 87), ("second", 90)]);
    over_machine(
        "parts::each_device_has_its_own_kernels_and_is_told",
        &ALL,
        &two,
        |scene| {
            let first = Cuda::on(0);
            let session =
                scene.session(&[Kind::CONCURRENT_KERNEL, Kind::MEMCPY, Kind::DEVICE, Kind::CONTEXT]);
            let contexts = [&first, &Cuda::on(1)].map(|cuda| {
                cuda.enter();
                let stream = cuda.stream();
                cuda.busy(stream, 1000, 1);
                cuda.copy_to(stream, cuda.memory(64), &[1; 64]);
                context_of(scene, cuda.context)
            });
            let (records, _) = rest(session);
            let found = kernels(&records);
            let places: Vec<_> = found
                .iter()
                .map(|kernel| (kernel.device, kernel.context))
                .collect();
            assert_eq!(places, [(0, contexts[0]), (1, contexts[1])]);
            let devices: Vec<_> = records
                .iter()
                .filter_map(|record| match record {
                    Record::Device(device) => {
                        let capability = device.capability_major * 10 + device.capability_minor;
                        Some((
                            device.device,
                            device.name.as_deref(),
                            capability,
                            device.memory_bytes,
                        ))
                    }
                    _ => None,
                })
                .collect();
            let bytes = 8 << 30;
            assert_eq!(
                devices,
                [(0, Some("first"), 87, bytes), (1, Some("second"), 90, bytes)]
            );
            // The first was there, the second was made while the trace ran.
            let of_devices: Vec<_> = records
                .iter()
                .filter_map(|record| match record {
                    Record::Context(context) => Some((context.device, context.context)),
                    _ => None,
                })
                .collect();
            assert_eq!(of_devices, [(0, contexts[0]), (1, contexts[1])]);
            let copies = records.iter().filter_map(|record| match record {
                Record::Copy(copy) => Some(copy.device),
                _ => None,
            });
            assert_eq!(copies.collect::<Vec<_>>(), [0, 1]);
        },
    );
}

#[test]
fn kernels_of_a_part_have_its_context_and_those_of_a_priority_that() {
    let test = "parts::kernels_of_a_part_have_its_context_and_those_of_a_priority_that";
    over(test, &ALL, |scene| {
        let session = scene.session(&[
            Kind::CONCURRENT_KERNEL,
            Kind::CONTEXT,
            Kind::STREAM,
            Kind::SYNCHRONIZATION,
        ]);
        let cuda = Cuda::new();
        let (green, part) = cuda.green(8);
        let urgent = cuda.stream_of_priority(-3);
        cuda.busy(part, 1000, 1);
        cuda.synchronize(part);
        cuda.busy(urgent, 1000, 2);
        cuda.synchronize(urgent);
        let [whole, part] = [cuda.context, green].map(|context| context_of(scene, context));
        let (records, _) = rest(session);
        let found = kernels(&records);
        assert_eq!([found[0].context, found[1].context], [part, whole]);
        let from = scene.is_from(13, 1);
        assert_eq!(
            [found[0].priority, found[1].priority],
            [from.then_some(0), from.then_some(-3)]
        );
        let told = records.iter().find_map(|record| match record {
            Record::Context(context) if context.context == part => Some(context),
            _ => None,
        });
        let told = told.expect("the part is told");
        let from = scene.is_from(12, 4);
        assert_eq!(
            (told.is_green, told.parent),
            (from.then_some(1), from.then_some(whole))
        );
        assert_eq!(told.multiprocessors, scene.is_from(12, 5).then_some(8));
        let streams: Vec<_> = records
            .iter()
            .filter_map(|record| match record {
                Record::Stream(stream) => Some((stream.context, stream.priority.cast_signed(), stream.flag)),
                _ => None,
            })
            .collect();
        assert_eq!(
            streams,
            [
                (part, 0, StreamFlag::FLAG_NON_BLOCKING),
                (whole, -3, StreamFlag::FLAG_NON_BLOCKING)
            ]
        );
        let waits = records.iter().filter_map(|record| match record {
            Record::Synchronization(wait) => Some(wait.context),
            _ => None,
        });
        assert_eq!(
            waits.collect::<Vec<_>>(),
            [part, whole],
            "a wait has the context of its stream"
        );
    });
}

#[test]
fn copies_tell_their_memory_and_whether_anybody_waited() {
    let test = "parts::copies_tell_their_memory_and_whether_anybody_waited";
    over(test, &ALL, |scene| {
        let session = scene.session(&[Kind::MEMCPY, Kind::MEMSET]);
        let cuda = Cuda::new();
        let stream = cuda.stream();
        let (first, second, pinned) = (cuda.memory(512), cuda.memory(512), cuda.pinned(256));
        cuda.copy_from_pinned(stream, first, &pinned);
        cuda.copy_to(stream, first, &[1; 512]);
        cuda.copy_within(second, first);
        cuda.copy_from(stream, second, &mut [0; 128]);
        cuda.fill(stream, second);
        cuda.synchronize_all();
        let (records, _) = rest(session);
        let copies: Vec<_> = records
            .iter()
            .filter_map(|record| match record {
                Record::Copy(copy) => {
                    Some((copy.kind, copy.source, copy.destination, copy.bytes, copy.flags))
                }
                _ => None,
            })
            .collect();
        let (pageable, device) = (MemoryKind::PAGEABLE, MemoryKind::DEVICE);
        let wanted = [
            (CopyKind::HTOD, MemoryKind::PINNED, device, 256, 1),
            (CopyKind::HTOD, pageable, device, 512, 1),
            (CopyKind::DTOD, device, device, 512, 0),
            (CopyKind::DTOH, device, pageable, 128, 1),
        ];
        assert_eq!(copies, wanted);
        let fill = records.iter().find_map(|record| match record {
            Record::Fill(fill) => Some((fill.value, fill.bytes, fill.memory, fill.flags)),
            _ => None,
        });
        assert_eq!(fill, Some((7, 512, device, 1)));
    });
}

#[test]
fn questions_that_were_answered_with_no_are_left_out_where_the_release_can() {
    let test = "parts::questions_that_were_answered_with_no_are_left_out_where_the_release_can";
    over(test, &ALL, |scene| {
        for unfinished_queries in [false, true] {
            let settings = Settings {
                unfinished_queries,
                ..Settings::default()
            };
            let session = scene.session_with(&settings, &[Kind::SYNCHRONIZATION]);
            let cuda = Cuda::new();
            let stream = cuda.stream();
            cuda.busy(stream, 20_000_000, 1);
            let mut no = 0;
            while !cuda.is_done(stream) {
                no += 1;
            }
            let (records, _) = rest(session);
            let answers: Vec<_> = records
                .iter()
                .filter_map(|record| match record {
                    Record::Synchronization(wait) if wait.kind == SyncKind::STREAM_SYNCHRONIZE => {
                        Some(wait.answer)
                    }
                    _ => None,
                })
                .collect();
            let all = !scene.is_from(12, 8) || unfinished_queries;
            assert_eq!(answers.len(), if all { no + 1 } else { 1 });
            assert_eq!(
                answers.last().copied().flatten(),
                scene.is_from(12, 8).then_some(0)
            );
        }
    });
}

#[test]
fn a_wait_for_an_event_tells_which_recording_it_waited_for() {
    let test = "parts::a_wait_for_an_event_tells_which_recording_it_waited_for";
    over(test, &ALL, |scene| {
        let session = scene.session(&[Kind::SYNCHRONIZATION, Kind::CUDA_EVENT]);
        let cuda = Cuda::new();
        let (stream, event) = (cuda.stream(), cuda.event());
        for _ in 0..2 {
            cuda.busy(stream, 1000, 1);
            cuda.record(event, stream);
            cuda.synchronize_event(event);
        }
        let (records, _) = rest(session);
        let from = scene.is_from(12, 8);
        let [
            Record::EventRecord(first),
            Record::Synchronization(wait),
            Record::EventRecord(second),
            Record::Synchronization(last),
        ] = records.as_slice()
        else {
            panic!("{records:?}");
        };
        assert_eq!(
            (wait.kind, wait.event, wait.stream),
            (SyncKind::EVENT_SYNCHRONIZE, first.event, u32::MAX)
        );
        assert_eq!(first.event, second.event);
        assert_eq!(
            (wait.event_sync, last.event_sync),
            (first.event_sync, second.event_sync)
        );
        assert_eq!(first.event_sync.is_some(), from);
        assert!(!from || first.event_sync != second.event_sync);
    });
}

#[test]
fn single_calls_are_left_out_until_their_kind_is_switched_on_again() {
    let test = "parts::single_calls_are_left_out_until_their_kind_is_switched_on_again";
    over(test, &["13.0", "13.5"], |scene| {
        let launches = |scene: &Scene| -> Vec<u32> {
            let known = scene.library.calls(Domain::DRIVER_API);
            known
                .filter(|(_, name)| name == "cuLaunchKernel")
                .map(|(function, _)| function)
                .collect()
        };
        assert_eq!(launches(scene), [307]);
        let mut session = scene.session(&[Kind::DRIVER, Kind::CONCURRENT_KERNEL]);
        session
            .leave_out_calls(Domain::DRIVER_API, &launches(scene))
            .expect("left out");
        let cuda = Cuda::new();
        let stream = cuda.stream();
        cuda.busy(stream, 1000, 1);
        cuda.synchronize(stream);
        let (records, _) = rest(session);
        assert_eq!(kernels(&records).len(), 1);
        let called = |records: &[Record]| {
            let calls = records.iter().filter_map(|record| match record {
                Record::DriverCall(call) => Some(call.function),
                _ => None,
            });
            calls.collect::<Vec<u32>>()
        };
        assert!(!called(&records).is_empty() && !called(&records).contains(&307));
        let session = scene.session(&[Kind::DRIVER]);
        cuda.busy(stream, 1000, 1);
        cuda.synchronize(stream);
        let (records, _) = rest(session);
        assert!(called(&records).contains(&307));
    });
}

#[test]
fn single_calls_are_recorded_alone_with_the_callers_numbers() {
    let test = "parts::single_calls_are_recorded_alone_with_the_callers_numbers";
    // cuLaunchKernel, in every release.
    const LAUNCH: u32 = 307;
    over(test, &["13.0", "13.5"], |scene| {
        let mut session = scene.session(&[Kind::CONCURRENT_KERNEL, Kind::EXTERNAL_CORRELATION]);
        session
            .enable_calls(Domain::DRIVER_API, &[LAUNCH])
            .expect("switched on");
        let cuda = Cuda::new();
        let stream = cuda.stream();
        {
            let _frame = scene.library.tag(ExternalKind::CUSTOM0, 9).expect("pushed");
            cuda.busy(stream, 1000, 1);
            cuda.synchronize(stream);
        }
        let (records, _) = rest(session);
        let correlation = kernels(&records)[0].correlation;
        let told: Vec<_> = records
            .iter()
            .filter_map(|record| match record {
                Record::DriverCall(call) => Some((call.function, call.correlation)),
                Record::ExternalCorrelation(number) => {
                    Some((u32::try_from(number.id).expect("9"), number.correlation))
                }
                _ => None,
            })
            .collect();
        assert_eq!(told, [(9, correlation), (LAUNCH, correlation)]);
        // All of the kind comes again where it is switched on.
        let session = scene.session(&[Kind::DRIVER]);
        cuda.busy(stream, 1000, 1);
        cuda.synchronize(stream);
        let (records, _) = rest(session);
        assert_eq!(records.len(), 2);
    });
}

#[test]
fn a_graphs_kernels_tell_the_node_and_the_graph_that_they_were_made_of() {
    let test = "parts::a_graphs_kernels_tell_the_node_and_the_graph_that_they_were_made_of";
    over(test, &ALL, |scene| {
        let settings = Settings {
            graph_nodes: true,
            ..Settings::default()
        };
        let mut session = scene.session_with(&settings, &[Kind::CONCURRENT_KERNEL]);
        let cuda = Cuda::new();
        let stream = cuda.stream();
        let captured = cuda.capture(stream, || {
            let _layer = CaptureTag::set(5);
            cuda.busy(stream, 1000, 1);
        });
        cuda.launch(captured, stream);
        cuda.synchronize(stream);
        let events = session.graph_nodes();
        let [
            NodeEvent::Created { node, tag, .. },
            NodeEvent::Cloned { node: clone, of },
        ] = events.as_slice()
        else {
            panic!("{events:?}");
        };
        assert_eq!((*tag, of), (Some(5), node));
        let (records, _) = rest(session);
        let kernel = kernels(&records)[0];
        assert_eq!(kernel.graph_node, *clone);
        let from = scene.is_from(13, 4);
        assert_eq!(kernel.source_graph_node, from.then_some(*node));
        assert!(
            kernel
                .source_graph
                .is_none_or(|graph| graph != 0 && graph != kernel.graph)
        );
    });
}
