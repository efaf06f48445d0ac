//! Records come as they were made, field by field, in the order and with the stamps of the process.

use cupti_dyn::sys::{ChannelType, CopyKind, Domain, ExternalKind, MarkerFlags, MemoryKind, SyncKind};
use cupti_dyn::{Clock, Kind, Record, Session, Settings, monotonic_ns};

use crate::driver::Cuda;
use crate::scene::{ALL, OLDEST, activity, over, rest};

#[test]
fn a_kernel_has_every_field_that_the_release_has() {
    over(
        "recording::a_kernel_has_every_field_that_the_release_has",
        &ALL,
        |scene| {
            let session = scene.session(&[Kind::CONCURRENT_KERNEL]);
            let mut kernel = activity(Kind::CONCURRENT_KERNEL, 1000, 2500);
            (kernel.correlation, kernel.graph, kernel.graph_node) = (11, 3, 5);
            (kernel.device, kernel.context, kernel.stream) = (1, 2, 13);
            (kernel.grid, kernel.block) = ([4, 5, 6], [128, 2, 1]);
            kernel.bytes = 4096;
            (kernel.priority, kernel.source_graph, kernel.source_node) = (-5, 2, 1005);
            scene.control.emit(&kernel, b"_Z4gemmPf", None);
            let (records, ended) = rest(session);
            let [Record::Kernel(found)] = records.as_slice() else {
                panic!("{records:?}");
            };
            assert_eq!((found.start, found.end, found.correlation), (1000, 2500, 11));
            assert_eq!((found.device, found.context, found.stream), (1, 2, 13));
            assert_eq!((found.grid_x, found.grid_y, found.grid_z), (4, 5, 6));
            assert_eq!((found.block_x, found.block_y, found.block_z), (128, 2, 1));
            assert_eq!((found.registers, found.dynamic_shared_bytes), (32, 4096));
            assert_eq!((found.graph, found.graph_node), (3, 5));
            assert_eq!(found.name.as_deref(), Some("_Z4gemmPf"));
            assert_eq!(found.channel, Some(7));
            assert_eq!(found.channel_type, Some(ChannelType::COMPUTE));
            assert_eq!(found.cluster_x, scene.is_from(11, 8).then_some(1));
            assert_eq!(found.local_bytes, scene.is_from(11, 8).then_some(1 << 33));
            assert_eq!(found.priority, scene.is_from(13, 1).then_some(-5));
            assert_eq!(found.source_graph, scene.is_from(13, 4).then_some(2));
            assert_eq!(found.source_graph_node, scene.is_from(13, 4).then_some(1005));
            assert!(ended.loss.is_none(), "{:?}", ended.loss.sentences());
            assert!(
                ended.failed.is_empty() && ended.refused.is_empty(),
                "{:?}",
                ended.refused
            );
        },
    );
}

#[test]
fn every_kind_comes_as_its_type() {
    over("recording::every_kind_comes_as_its_type", &ALL, |scene| {
        let kinds = [
            Kind::MEMCPY,
            Kind::MEMCPY2,
            Kind::MEMSET,
            Kind::DRIVER,
            Kind::RUNTIME,
            Kind::SYNCHRONIZATION,
            Kind::OVERHEAD,
            Kind::MARKER,
            Kind::MARKER_DATA,
            Kind::GRAPH_TRACE,
            Kind::NAME,
            Kind::ENVIRONMENT,
        ];
        let session = scene.session(&kinds);
        for (number, kind) in (1u32..).zip(kinds) {
            let mut it = activity(kind, 100 * u64::from(number), 100 * u64::from(number) + 50);
            it.correlation = number;
            (it.what, it.source, it.destination) = (1, 1, 3);
            it.function = 2;
            it.bytes = 640;
            scene.control.emit(&it, b"named", Some("domain"));
        }
        let (records, ended) = rest(session);
        let found: Vec<Kind> = records.iter().map(Record::kind).collect();
        assert_eq!(found, kinds);
        assert!(ended.loss.is_none());
        let Record::Copy(copy) = &records[0] else {
            panic!("{records:?}")
        };
        assert_eq!(
            (copy.kind, copy.source, copy.destination),
            (CopyKind::HTOD, MemoryKind::PAGEABLE, MemoryKind::DEVICE)
        );
        assert_eq!(
            (copy.bytes, copy.start, copy.end, copy.stream),
            (640, 100, 150, 7)
        );
        let Record::Fill(fill) = &records[2] else {
            panic!("{records:?}")
        };
        assert_eq!(
            (fill.value, fill.bytes, fill.memory),
            (1, 640, MemoryKind::DEVICE)
        );
        let Record::DriverCall(call) = &records[3] else {
            panic!("{records:?}")
        };
        assert_eq!(
            (call.function, call.start, call.end, call.correlation),
            (2, 400, 450, 4)
        );
        assert_eq!(call.process, std::process::id());
        let Record::Synchronization(wait) = &records[5] else {
            panic!("{records:?}")
        };
        assert_eq!(wait.kind, SyncKind::EVENT_SYNCHRONIZE);
        let Record::Marker(marker) = &records[7] else {
            panic!("{records:?}")
        };
        assert_eq!(
            (marker.flags, marker.id, marker.timestamp),
            (MarkerFlags(2), 1, 800)
        );
        assert_eq!(
            (marker.name.as_deref(), marker.domain.as_deref()),
            (Some("named"), Some("domain"))
        );
        let Record::MarkerData(data) = &records[8] else {
            panic!("{records:?}")
        };
        assert_eq!((data.id, data.payload, data.category), (1, 640, 1));
        let Record::Environment(reading) = &records[11] else {
            panic!("{records:?}")
        };
        let wanted = cupti_dyn::record::Reading::Power {
            power_mw: 640,
            limit_mw: 700_000,
        };
        assert_eq!(reading.reading(), Some(wanted));
    });
}

#[test]
fn devices_contexts_and_streams_that_are_there_already_are_told() {
    let test = "recording::devices_contexts_and_streams_that_are_there_already_are_told";
    over(test, &ALL, |scene| {
        let cuda = Cuda::new();
        let stream = cuda.stream();
        // SAFETY: a live stream of a live context.
        let number = unsafe { scene.library.stream_id(cuda.context, stream.0) }.expect("a number");
        let session = scene.session(&[Kind::DEVICE, Kind::CONTEXT, Kind::STREAM]);
        let (records, _) = rest(session);
        let [
            Record::Device(device),
            Record::Context(context),
            Record::Stream(stream),
        ] = records.as_slice()
        else {
            panic!("{records:?}");
        };
        assert_eq!(
            (device.name.as_deref(), device.multiprocessors),
            (Some("CUDA double"), 16)
        );
        assert_eq!((stream.context, stream.stream), (context.context, number));
        assert_eq!(context.is_green, scene.is_from(12, 4).then_some(0));
    });
}

#[test]
fn a_callers_numbers_are_told_before_the_call_by_stack() {
    over(
        "recording::a_callers_numbers_are_told_before_the_call_by_stack",
        &ALL,
        |scene| {
            let session = scene.session(&[Kind::EXTERNAL_CORRELATION, Kind::RUNTIME]);
            let call = |correlation| {
                let mut call = activity(Kind::RUNTIME, 10, 20);
                (call.function, call.correlation) = (211, correlation);
                scene.control.emit(&call, b"", None);
            };
            {
                let _tenant = scene.library.tag(ExternalKind::CUSTOM1, 77).expect("pushed");
                {
                    let _frame = scene.library.tag(ExternalKind::CUSTOM0, 5).expect("pushed");
                    call(1);
                }
                call(2);
                // Another thread has stacks of its own.
                std::thread::scope(|scope| {
                    scope.spawn(|| call(3));
                });
            }
            assert_eq!(scene.control.ask("pushed"), 0);
            let (records, _) = rest(session);
            let told: Vec<(ExternalKind, u64, u32)> = records
                .iter()
                .filter_map(|record| match record {
                    Record::ExternalCorrelation(number) => Some((number.kind, number.id, number.correlation)),
                    _ => None,
                })
                .collect();
            let wanted = [
                (ExternalKind::CUSTOM0, 5, 1),
                (ExternalKind::CUSTOM1, 77, 1),
                (ExternalKind::CUSTOM1, 77, 2),
            ];
            assert_eq!(told, wanted);
            assert_eq!(
                scene.library.call_name(Domain::RUNTIME_API, 211).as_deref(),
                Some("cudaLaunchKernel_v7000")
            );
            assert_eq!(scene.library.call_name(Domain::RUNTIME_API, 9999), None);
        },
    );
}

#[test]
fn stamps_are_on_the_monotonic_clock_and_threads_have_linux_numbers() {
    let test = "recording::stamps_are_on_the_monotonic_clock_and_threads_have_linux_numbers";
    over(test, &ALL, |scene| {
        let before = monotonic_ns();
        let session = scene.session(&[Kind::RUNTIME]);
        assert_eq!(session.clock(), Clock::Monotonic);
        scene
            .control
            .emit(&activity(Kind::RUNTIME, before, monotonic_ns()), b"", None);
        let (records, ended) = rest(session);
        assert_eq!(ended.brackets.count(), 0);
        let [Record::RuntimeCall(call)] = records.as_slice() else {
            panic!("{records:?}");
        };
        let own = std::fs::read_link("/proc/thread-self").expect("a thread");
        assert_eq!(
            own.file_name().expect("a number").to_string_lossy(),
            call.thread.to_string()
        );
        assert!(before <= call.start && call.end <= monotonic_ns());
    });
}

#[test]
fn before_11_6_stamps_are_converted_and_a_clock_that_is_set_is_told() {
    let test = "recording::before_11_6_stamps_are_converted_and_a_clock_that_is_set_is_told";
    over(test, &[OLDEST], |scene| {
        assert_eq!(
            scene.library.version().to_string(),
            "CUPTI of CUDA 11.4 (version 14)"
        );
        let mut session = scene.session(&[Kind::CONCURRENT_KERNEL, Kind::GRAPH_TRACE]);
        assert_eq!(session.clock(), Clock::Cupti);
        assert_eq!(
            session.refused()[0].to_string(),
            "GRAPH_TRACE: this release has no such kind"
        );
        let real = || {
            std::time::SystemTime::now()
                .duration_since(std::time::UNIX_EPOCH)
                .expect("after 1970")
        };
        let ours = monotonic_ns();
        let theirs = u64::try_from(real().as_nanos()).expect("it fits");
        scene.kernel("old", theirs, theirs + 1000);
        session.flush(true).expect("flushed");
        let mut records = Vec::new();
        session.read(|record| records.push(record));
        let [Record::Kernel(kernel)] = records.as_slice() else {
            panic!("{records:?}");
        };
        assert_eq!((kernel.channel, kernel.cluster_x), (None, None));
        // Its moment was taken between two readings of our clock.
        let converted = session.brackets().to_monotonic(kernel.start);
        let residual = session.brackets().residual_ns();
        assert!(
            converted + residual + 1_000_000 >= ours,
            "{converted} {ours} {residual}"
        );
        assert!(converted <= monotonic_ns() + residual + 1_000_000);
        // Somebody sets the clock by an hour.
        scene.control.tell("step", 3_600_000_000_000);
        let (_, ended) = rest(session);
        let steps = ended.brackets.steps();
        assert_eq!(steps.len(), 1, "{steps:?}");
        assert!(
            steps[0].by_ns.abs_diff(3_600_000_000_000) < 1_000_000_000,
            "{steps:?}"
        );
    });
}

#[test]
fn latency_and_the_sizes_of_device_buffers_are_set_where_asked_for() {
    over(
        "recording::latency_and_the_sizes_of_device_buffers_are_set_where_asked_for",
        &ALL,
        |scene| {
            let settings = Settings {
                latency: true,
                per_thread: scene.is_from(12, 3),
                device_buffer_bytes: Some(8 << 20),
                most_device_buffers: Some(20),
                ..Settings::default()
            };
            let session = Session::open(scene.library, &settings).expect("a trace");
            assert_eq!(scene.control.ask("per_thread"), u64::from(scene.is_from(12, 3)));
            assert_eq!(scene.control.ask("latency"), 1);
            assert_eq!(scene.control.ask("device_buffer_size"), 8 << 20);
            assert_eq!(
                (scene.control.ask("zeroed"), scene.control.ask("thread_id_type")),
                (1, 1)
            );
            assert!(session.refused().is_empty(), "{:?}", session.refused());
        },
    );
}

#[test]
fn single_calls_are_switched_on_where_the_release_can() {
    over(
        "recording::single_calls_are_switched_on_where_the_release_can",
        &ALL,
        |scene| {
            let mut session = scene.session(&[]);
            let switched = session.enable_calls(Domain::RUNTIME_API, &[211]);
            if scene.is_from(12, 5) {
                switched.expect("switched on");
                assert_eq!(scene.control.ask("call:211"), 1);
                rest(session);
                assert_eq!(scene.control.ask("call:211"), 0);
            } else {
                let said = switched.expect_err("not there").to_string();
                assert!(
                    said.ends_with("has no cuptiActivityEnableRuntimeApi, which came with CUDA 12.5"),
                    "{said}"
                );
            }
        },
    );
}
