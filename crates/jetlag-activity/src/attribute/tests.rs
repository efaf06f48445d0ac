use std::sync::Arc;

use super::*;
use jetlag_record::Launch;
use jetlag_record::activity::{Interface, Work};

fn on(stream: u32) -> OnStream {
    OnStream {
        device: 0,
        context: 1,
        stream,
    }
}

/// What is put together by hand.
#[derive(Default)]
struct Scene(Gathered);

impl Scene {
    fn push(&mut self, from: i64, to: i64, name: Option<u32>, work: Work, node: u64) {
        self.0.all.push(Raw {
            activity: Activity {
                from: Stamp(from),
                to: Stamp(to),
                name,
                owner: Owner::default(),
                work,
            },
            node,
        });
    }

    fn name(&mut self, text: &str, launch: Option<Launch>) -> Option<u32> {
        self.0.names.number(&Arc::from(text), launch)
    }

    fn call(&mut self, thread: u32, from: i64, correlation: u32, interface: Interface) {
        let work = Work::Call {
            thread,
            correlation,
            interface,
        };
        self.push(from, from + 2, None, work, 0);
    }

    fn kernel(&mut self, stream: u32, from: i64, correlation: u32, node: u64, name: &str) {
        let name = self.name(name, Some(Launch::default()));
        let work = Work::Kernel {
            on: on(stream),
            correlation,
            graph: u32::from(node != 0),
        };
        self.push(from, from + 5, name, work, node);
    }

    fn range(&mut self, thread: u32, from: i64, to: i64, name: &str, domain: &str) {
        let (name, domain) = (self.name(name, None), self.name(domain, None));
        let work = Work::Range {
            thread,
            domain,
            payload: None,
        };
        self.push(from, to, name, work, 0);
    }

    fn frame(&mut self, correlation: u32, tenant: u16, frame: u64) {
        self.0.frames.insert(correlation, number(tenant, frame));
    }

    fn attributed(mut self) -> Scene {
        attribute(&mut self.0, Vec::new());
        self
    }

    /// Owner of the kernel with this begin, with the layer by name.
    fn kernel_at(&self, from: i64) -> (Option<u16>, Option<u64>, Option<String>) {
        let raw =
            self.0.all.iter().find(|raw| {
                matches!(raw.activity.work, Work::Kernel { .. }) && raw.activity.from == Stamp(from)
            });
        let owner = raw.unwrap().activity.owner;
        let definitions = self.0.names.definitions();
        let layer = owner.layer.map(|layer| {
            let known = definitions.iter().find(|known| known.number == layer);
            known.unwrap().text.clone()
        });
        (owner.tenant, owner.frame, layer)
    }
}

#[test]
fn a_kernel_belongs_to_the_frame_and_the_layer_of_the_call_that_launched_it() {
    let mut scene = Scene::default();
    scene.range(7, 0, 100, "ExecutionContext::enqueue", TENSORRT);
    scene.range(7, 10, 20, "conv1", TENSORRT);
    scene.range(7, 30, 60, "outer", TENSORRT);
    scene.range(7, 35, 45, "inner", TENSORRT);
    // Another library's range within, and another thread at the same time.
    scene.range(7, 11, 19, "cudnn", "cuDNN");
    scene.range(8, 0, 100, "conv9", TENSORRT);
    for (correlation, at) in [(1, 12), (2, 25), (3, 40), (4, 50)] {
        scene.call(7, at, correlation, Interface::Runtime);
        scene.frame(correlation, 3, 41);
        scene.kernel(1, i64::from(correlation) * 1000, correlation, 0, "k");
    }
    let scene = scene.attributed();
    let layer = |name: &str| (Some(3), Some(41), Some(name.to_owned()));
    assert_eq!(scene.kernel_at(1000), layer("conv1"));
    assert_eq!(scene.kernel_at(2000), (Some(3), Some(41), None));
    assert_eq!(scene.kernel_at(3000), layer("inner"));
    assert_eq!(scene.kernel_at(4000), layer("outer"));
    let execution = scene.0.all.iter().find(|raw| {
        matches!(raw.activity.work, Work::Range { thread: 7, .. }) && raw.activity.to == Stamp(100)
    });
    assert_eq!(execution.unwrap().activity.owner.frame, Some(41));
}

#[test]
fn a_layer_around_many_short_ones_is_found_behind_them() {
    let mut scene = Scene::default();
    scene.range(7, 0, 10_000, "outer", TENSORRT);
    for n in 0..500 {
        scene.range(7, 10 + 10 * n, 15 + 10 * n, "inner", TENSORRT);
    }
    // One that begins within and ends behind: threads' ranges of several domains need not nest.
    scene.range(7, 9000, 20_000, "crossing", TENSORRT);
    for (correlation, at) in [(1, 8000), (2, 9500), (3, 15_000), (4, 30_000)] {
        scene.call(7, at, correlation, Interface::Driver);
        scene.kernel(1, 100_000 + i64::from(correlation), correlation, 0, "k");
    }
    let scene = scene.attributed();
    let layers = [1, 2, 3, 4].map(|n| scene.kernel_at(100_000 + n).2);
    let some = |name: &str| Some(name.to_owned());
    assert_eq!(layers, [some("outer"), some("crossing"), some("crossing"), None]);
}

#[test]
fn a_kernel_of_a_graph_has_the_layer_that_its_node_was_captured_for_and_the_frame_of_the_launch() {
    let mut scene = Scene::default();
    scene.range(7, 0, 20, "conv1", TENSORRT);
    scene.range(7, 21, 40, "conv2", TENSORRT);
    let created = |node, at_ns| NodeEvent::Created {
        node,
        tag: None,
        thread: 7,
        at_ns,
    };
    scene.0.nodes = vec![
        created(1, 10),
        created(2, 30),
        created(3, 50),
        NodeEvent::Cloned { node: 11, of: 1 },
        NodeEvent::Cloned { node: 12, of: 2 },
        NodeEvent::Cloned { node: 13, of: 3 },
    ];
    // The graph is launched later, within nobody's layer.
    scene.call(7, 500, 9, Interface::Driver);
    scene.frame(9, 0, 5);
    for node in [11, 12, 13, 99] {
        scene.kernel(1, 500 + node as i64, 9, node, "k");
    }
    let scene = scene.attributed();
    let layers: Vec<Option<String>> = [511, 512, 513, 599].map(|at| scene.kernel_at(at).2).into();
    assert_eq!(
        layers,
        [Some("conv1".to_owned()), Some("conv2".to_owned()), None, None]
    );
    assert_eq!(scene.kernel_at(513), (Some(0), Some(5), None));
}

#[test]
fn what_nobody_asked_for_is_a_tenants_only_on_a_stream_that_is_its_own() {
    let mut scene = Scene::default();
    for (correlation, tenant, stream) in [(1, 0, 1), (2, 1, 2), (3, 0, 3), (4, 1, 3)] {
        scene.call(7, i64::from(correlation), correlation, Interface::Driver);
        scene.frame(correlation, tenant, 1);
        scene.kernel(stream, 100 + i64::from(correlation), correlation, 0, "k");
    }
    for stream in [1, 2, 3, 4] {
        scene.kernel(stream, 200 + i64::from(stream), 1000 + stream, 0, "k");
    }
    let scene = scene.attributed();
    let owners = [201, 202, 203, 204].map(|at| scene.kernel_at(at).0);
    assert_eq!(owners, [Some(0), Some(1), None, None]);
    assert_eq!(scene.kernel_at(201).1, None, "no frame is made up");
}

#[test]
fn the_outer_of_two_calls_with_one_number_counts_and_our_kernels_have_names() {
    let mut scene = Scene::default();
    scene.range(7, 0, 15, "conv1", TENSORRT);
    scene.call(7, 10, 1, Interface::Runtime);
    scene.call(7, 16, 1, Interface::Driver);
    scene.frame(1, 2, 3);
    scene.kernel(1, 100, 1, 0, "gemm");
    scene.kernel(1, 200, 1, 0, "jetlag_pillars_count");
    let scene = scene.attributed();
    assert_eq!(scene.kernel_at(100).2, Some("conv1".to_owned()));
    assert_eq!(scene.kernel_at(200).2, Some("jetlag: pillars".to_owned()));
}

#[test]
fn an_event_has_the_time_of_its_call_and_one_without_a_call_is_left_out() {
    let mut scene = Scene::default();
    scene.call(7, 10, 1, Interface::Driver);
    for correlation in [1, 2] {
        let work = Work::Event {
            on: on(1),
            correlation,
            event: 5,
        };
        scene.push(0, 0, None, work, 0);
    }
    let scene = scene.attributed();
    let events: Vec<Stamp> = (scene.0.all.iter())
        .filter(|raw| matches!(raw.activity.work, Work::Event { .. }))
        .map(|raw| raw.activity.from)
        .collect();
    assert_eq!(events, [Stamp(10)]);
}

#[test]
fn frames_have_numbers_that_come_back() {
    for (tenant, frame) in [(0, 0), (3, 41), (u16::MAX, FRAME)] {
        let owner = owner(number(tenant, frame));
        assert_eq!((owner.tenant, owner.frame), (Some(tenant), Some(frame)));
    }
}
