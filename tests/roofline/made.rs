//! Rooflines of runs that never happened: their work, times and energy are known, and so is every figure.

use std::collections::BTreeMap;

use jetlag::analysis::Summarizer;
use jetlag::analysis::roofline::{
    Bandwidth, Bound, CEILINGS_SCHEMA, Ceilings, Gatherer, Limit, Peak, Processor, Roofline, RunRoofline,
    of_run, of_runs,
};
use jetlag::record::{
    Event, Manifest, MovedTensor, NetworkManifest, NetworkWork, NodeRecord, Phase, Sureness, WorkRecord,
};
use jetlag::report::{Style, html, text};
use jetlag::scenario::BackendChoice;
use jetlag::units::Nanos;
use serde_json::json;

use crate::common::planned::Planned as _;
use crate::summary::made_up::{end, frame, manifest, ms, periodic, tenant};

/// Ten GFLOP/s and one GB/s of one thread.
fn ceilings(processor: Processor) -> Ceilings {
    Ceilings {
        schema: CEILINGS_SCHEMA,
        name: "made".to_owned(),
        processor,
        source: "by hand".to_owned(),
        peaks: vec![Peak {
            precision: "fp32".to_owned(),
            threads: Some(1),
            flops_per_s: 1e10,
            how: String::new(),
        }],
        bandwidths: vec![Bandwidth {
            name: "memory".to_owned(),
            threads: None,
            bytes_per_s: 1e9,
            working_set: None,
            how: String::new(),
        }],
        copies: Vec::new(),
        notes: Vec::new(),
    }
}

fn run_of(batch: u64, work: Option<NetworkWork>) -> Manifest {
    let mut camera = tenant("camera", 1.0, 33.0);
    camera.backend = BackendChoice::Cpu {
        threads: 1,
        profile: true,
    };
    camera.arrival = periodic(1.0);
    let mut made = manifest(10, vec![camera]);
    made.plan().seed = batch;
    made.tenants[0].batch = Some(batch);
    made.tenants[0].networks = vec![NetworkManifest {
        name: "nets/camera.onnx".to_owned(),
        work,
        ..NetworkManifest::default()
    }];
    made
}

fn totals(flops: u64, bytes: u64) -> NetworkWork {
    NetworkWork {
        precision: "fp32".to_owned(),
        nodes: 3,
        flops,
        macs: flops / 2,
        fused_bytes: bytes,
        round_trip_bytes: bytes * 2,
        ..NetworkWork::default()
    }
}

fn node(place: u32, name: &str, operator: &str, flops: u64, reads: (u32, u64), writes: (u32, u64)) -> Event {
    let moved = |(tensor, bytes): (u32, u64), leaves| {
        vec![MovedTensor {
            tensor,
            bytes,
            leaves,
        }]
    };
    Event::Work(WorkRecord {
        node: place,
        name: name.to_owned(),
        operator: operator.to_owned(),
        element: "float".to_owned(),
        input_shape: Some("1x3x8x8".to_owned()),
        output_shape: Some("1x4x8x8".to_owned()),
        flops: Some(flops),
        macs: Some(0),
        bytes_read: Some(reads.1),
        bytes_written: Some(writes.1),
        times: 1,
        sureness: Sureness::Exact,
        reads: moved(reads, false),
        writes: moved(writes, place == 2),
        ..WorkRecord::default()
    })
}

fn layer(name: &str, operator: &str, mean_ms: f64) -> Event {
    Event::Node(NodeRecord {
        tenant: 0,
        phase: Phase::Together,
        name: name.to_owned(),
        operator: operator.to_owned(),
        count: 10,
        mean: ms(mean_ms),
        max: ms(mean_ms),
        with_response: None,
    })
}

/// Ten frames of this time in *compute*, and what comes before and after.
fn frames(compute_ms: f64, others_ms: f64) -> Vec<Event> {
    use jetlag::record::Stage;
    let mut events: Vec<Event> = (0..10)
        .map(|i| {
            let mut own = frame(
                i,
                Nanos::from_secs(i as i64),
                Nanos::ZERO,
                ms(compute_ms + others_ms),
            );
            for (stage, took) in [(Stage::Preprocess, others_ms), (Stage::Compute, compute_ms)] {
                let place = Stage::ALL.iter().position(|one| *one == stage).unwrap();
                own.stages[place] = Some(ms(took));
            }
            Event::Frame(own)
        })
        .collect();
    events.push(Event::Phase(end(0, Phase::Together, 10)));
    events
}

fn held(made: &Manifest, events: &[Event], ceilings: Result<&Ceilings, &str>) -> RunRoofline {
    let (mut summarizer, mut gatherer) = (Summarizer::new(made), Gatherer::new(made));
    for event in events {
        summarizer.push(event);
        gatherer.push(event);
    }
    of_run(
        &gatherer.finish(),
        &summarizer.finish(None),
        ceilings.ok(),
        ceilings.err(),
    )
}

/// Conv and Relu in one layer, then a sum in another.
fn layers() -> Vec<Event> {
    vec![
        node(0, "/Conv", "Conv", 40_000_000, (0, 1_000_000), (1, 2_000_000)),
        node(1, "/Relu", "Relu", 500_000, (1, 2_000_000), (2, 2_000_000)),
        node(2, "/Add", "Add", 500_000, (2, 2_000_000), (3, 2_000_000)),
        layer("/Relu", "Conv+Relu", 8.0),
        layer("/Add", "Add", 5.0),
    ]
}

#[test]
fn a_network_and_its_layers_lie_where_their_work_and_times_say() {
    let made = run_of(4, Some(totals(41_000_000, 5_000_000)));
    let mut events = frames(13.0, 1.0);
    events.extend(layers());
    let run = held(&made, &events, Ok(&ceilings(Processor::Cpu)));
    let tenant = &run.tenants[0];
    let point = tenant.network.as_ref().unwrap();
    // 8.2 FLOP/byte at 1 GB/s is below 10 GFLOP/s: memory's roof, 5 ms at least.
    assert_eq!((point.roof, point.bound), (Limit::Memory, Bound::Memory));
    assert!((point.intensity - 8.2).abs() < 1e-9 && (point.attainable_flops_per_s - 8.2e9).abs() < 1.0);
    assert!((point.share - 5.0 / 13.0).abs() < 1e-6, "{point:?}");
    assert_eq!((tenant.batch, tenant.throughput_items), (Some(4), Some(4.0)));
    // Conv's output stays with Relu: 1 MB in and 2 MB out, 40.5 MFLOP take 4.05 ms of 8.
    let [fused, sum] = &tenant.layers[..] else {
        panic!("{:?}", tenant.layers)
    };
    assert_eq!(
        (fused.nodes, fused.flops, fused.bytes),
        (2, Some(40_500_000), Some(3_000_000))
    );
    assert_eq!(
        (fused.bound, sum.bound),
        (Some(Bound::Compute), Some(Bound::Memory))
    );
    assert!(
        (fused.share.unwrap() - 4.05 / 8.0).abs() < 1e-9 && (sum.share.unwrap() - 4.0 / 5.0).abs() < 1e-9
    );
    let placed = tenant.placed.unwrap();
    assert_eq!((placed.work, placed.nodes, placed.time), (1.0, 1.0, 1.0));
    assert_eq!(tenant.operators[0].operator, "Conv+Relu");
    assert!(run.findings.is_empty(), "{:?}", run.findings);
}

#[test]
fn the_bound_is_the_host_s_where_its_stages_take_longer() {
    let made = run_of(1, Some(totals(41_000_000, 5_000_000)));
    let run = held(&made, &frames(13.0, 20.0), Ok(&ceilings(Processor::Cpu)));
    assert_eq!(run.tenants[0].network.as_ref().unwrap().bound, Bound::Host);
}

#[test]
fn what_is_above_the_roof_or_not_counted_is_a_finding() {
    let mut work = totals(41_000_000, 5_000_000);
    work.not_counted = BTreeMap::from([("custom.Thing".to_owned(), 1)]);
    let made = run_of(1, Some(work));
    let mut events = frames(2.0, 0.1);
    events.extend(layers());
    let run = held(&made, &events, Ok(&ceilings(Processor::Cpu)));
    let codes: Vec<&str> = run.findings.iter().map(|finding| finding.code.as_str()).collect();
    assert_eq!(codes, ["above-the-roof", "work-not-counted"]);
    assert_eq!(run.findings[0].facts["share"], 2.5);
    let facts = &run.findings[1].facts;
    assert_eq!(
        (&facts["share"], &facts["operators"]),
        (&json!(0.333333), &json!(["custom.Thing"]))
    );
    // Layers that lead to no node.
    let mut events = frames(13.0, 0.1);
    events.extend(layers());
    events.push(layer("__myl_fc", "kgen", 4.0));
    events.retain(|event| !matches!(event, Event::Node(node) if node.name == "/Relu"));
    let run = held(
        &run_of(1, Some(totals(41_000_000, 5_000_000))),
        &events,
        Ok(&ceilings(Processor::Cpu)),
    );
    assert_eq!(run.findings[0].code, "layers-not-placed");
    let unplaced = &run.tenants[0].layers[1];
    assert_eq!((unplaced.nodes, unplaced.flops, unplaced.share), (0, None, None));
}

#[test]
fn what_cannot_be_placed_says_why() {
    let why = |made: &Manifest, ceilings: Result<&Ceilings, &str>| {
        let run = held(made, &frames(13.0, 1.0), ceilings);
        assert_eq!(run.tenants[0].network, None);
        run.tenants[0].why_not.clone().unwrap()
    };
    let (cpu, gpu) = (ceilings(Processor::Cpu), ceilings(Processor::Gpu));
    let counted = run_of(1, Some(totals(1_000, 1_000)));
    assert!(why(&counted, Ok(&gpu)).contains("ran on the processor"));
    assert_eq!(why(&counted, Err("nobody knows")), "nobody knows");
    assert!(why(&run_of(1, None), Ok(&cpu)).contains("is not in the run file"));
    let mut refused = run_of(1, None);
    refused.tenants[0].networks[0].no_work = Some("the file holds no graph".to_owned());
    assert!(why(&refused, Ok(&cpu)).contains("the file holds no graph"));
    let mut half = totals(1_000, 1_000);
    half.precision = "fp16".to_owned();
    assert!(why(&run_of(1, Some(half)), Ok(&cpu)).contains("no peak of fp16"));
    assert!(why(&run_of(1, Some(totals(0, 0))), Ok(&cpu)).contains("compute nothing"));
}

#[test]
fn batches_stand_beside_each_other_in_text_and_on_the_page() {
    let cpu = ceilings(Processor::Cpu);
    let runs: Vec<RunRoofline> = [(32, 1.0), (1, 2.0), (8, 1.5)]
        .into_iter()
        .map(|(batch, slower)| {
            let made = run_of(batch, Some(totals(41_000_000 * batch, 5_000_000 * batch)));
            let mut events = frames(13.0 * batch as f64 * slower, 1.0);
            events.extend(layers());
            let mut run = held(&made, &events, Ok(&cpu));
            run.file = Some(format!("runs/b{batch}.mcap"));
            run
        })
        .collect();
    let roofline = of_runs(runs);
    let mut out = Vec::new();
    text::roofline::write(
        &roofline,
        &mut out,
        &Style {
            colour: false,
            width: 160,
        },
    )
    .unwrap();
    let said = String::from_utf8(out).unwrap();
    let places: Vec<usize> = ["b1.mcap", "b8.mcap", "b32.mcap"]
        .iter()
        .map(|name| said.find(name).unwrap())
        .collect();
    assert!(places.is_sorted(), "{said}");
    assert!(said.contains("items/s") && said.contains("by type"), "{said}");
    let mut page = Vec::new();
    html::roofline::write(&roofline, &mut page).unwrap();
    let page = String::from_utf8(page).unwrap();
    for wanted in [
        "<svg class=\"wide\"",
        "<svg class=\"narrow\"",
        "batch 32",
        "10.0 GFLOP/s",
        "1.00 GB/s",
        "Conv+Relu",
    ] {
        assert!(page.contains(wanted), "{wanted}");
    }
    let value = serde_json::to_value(&roofline).unwrap();
    assert_eq!(value["runs"][1]["tenants"][0]["batch"], 1);
    assert_eq!(value["runs"][0]["tenants"][0]["network"]["bound"], "memory");
    assert!(
        value["energy"]["missing"][0]
            .as_str()
            .unwrap()
            .contains("No run has the energy")
    );
}

fn page_of(roofline: &Roofline) -> String {
    let mut page = Vec::new();
    html::roofline::write(roofline, &mut page).unwrap();
    String::from_utf8(page).unwrap()
}

/// The run's own page: what was counted, and the layers with their work.
fn own_page(made: &Manifest, events: &[Event], ceilings: Result<&Ceilings, &str>) -> String {
    let mut summarizer = Summarizer::new(made);
    events.iter().for_each(|event| summarizer.push(event));
    let reported = html::Reported {
        manifest: made.clone(),
        summary: summarizer.finish(None),
        roofline: Some(held(made, events, ceilings)),
    };
    let mut page = Vec::new();
    html::write(&[reported], None, &mut page).unwrap();
    String::from_utf8(page).unwrap()
}

#[test]
fn the_page_of_a_run_has_the_work_of_networks_and_layers() {
    let mut work = totals(41_000_000, 5_000_000);
    (work.params, work.params_bytes) = (2_500_000, 10_000_000);
    let mut events = frames(13.0, 1.0);
    events.extend(layers());
    let page = own_page(&run_of(1, Some(work.clone())), &events, Err("nobody knows"));
    for said in [
        "Work of the networks",
        "41.0 M",
        ">8.20<",
        "2.50 M",
        "Work of camera",
        "Conv+Relu",
        "no shares: nobody knows",
        "only TensorRT tells",
    ] {
        assert!(page.contains(said), "{said}");
    }
    // What is missing is no number, and what is no exact sum has its sign.
    work.not_counted = BTreeMap::from([("custom.Thing".to_owned(), 1)]);
    let page = own_page(&run_of(1, Some(work)), &[], Err("nobody knows"));
    assert!(page.contains("≥ 41.0 M") && !page.contains(">8.20<"));
    let mut none = run_of(1, None);
    assert!(!own_page(&none, &[], Err("")).contains("Work of the networks"));
    none.tenants[0].networks[0].no_work = Some("the file holds no graph".to_owned());
    let page = own_page(&none, &[], Err(""));
    assert!(page.contains("The work of camera.onnx of camera is not known: the file holds no graph."));
}

#[test]
fn both_pages_have_one_head() {
    let made = run_of(1, Some(totals(41_000_000, 5_000_000)));
    let events = frames(13.0, 1.0);
    let cpu = ceilings(Processor::Cpu);
    let roofline = page_of(&of_runs(vec![held(&made, &events, Ok(&cpu))]));
    let own = own_page(&made, &events, Ok(&cpu));
    let head = |page: &str| {
        let from = page.find("<title>").unwrap();
        let to = page.find("</title>").unwrap();
        let end = page.find("<main>").unwrap();
        let contents = page.find("<ol>").unwrap();
        assert!(to < contents && contents < end);
        let styles = page[to..].split("</style>").next().unwrap().len();
        // The page of a run has the timeline's styles after the common ones.
        (
            page[..from].to_owned(),
            page[to..to + styles.min(2_000)].to_owned(),
            page[page.find("<body>").unwrap()..contents].to_owned(),
        )
    };
    assert_eq!(head(&roofline), head(&own));
}

#[test]
fn names_from_a_file_are_text_on_the_page() {
    let mut made = run_of(1, Some(totals(41_000_000, 5_000_000)));
    made.tenants[0].networks[0].name = "<script>alert(1)</script>".to_owned();
    let mut events = frames(13.0, 1.0);
    events.extend(layers());
    events.push(layer("<b>\"x\"</b>", "<i>", 1.0));
    let roofline = of_runs(vec![held(&made, &events, Ok(&ceilings(Processor::Cpu)))]);
    let mut page = Vec::new();
    html::roofline::write(&roofline, &mut page).unwrap();
    let page = String::from_utf8(page).unwrap();
    assert!(!page.contains("<script>alert") && !page.contains("<b>\"x\""));
}

#[test]
fn known_prices_of_energy_come_back_from_runs() {
    let cpu = ceilings(Processor::Cpu);
    let prices = (2e-9, 5e-9, 3.0);
    let sizes = [
        (40_000_000_u64, 1_000_000_u64, 0.02),
        (4_000_000, 6_000_000, 0.03),
        (90_000_000, 9_000_000, 0.05),
        (1_000_000, 9_000_000, 0.01),
        (60_000_000, 500_000, 0.04),
        (20_000_000, 2_000_000, 0.09),
    ];
    let runs: Vec<RunRoofline> = sizes
        .into_iter()
        .map(|(flops, bytes, seconds)| {
            let mut run = held(
                &run_of(1, Some(totals(flops, bytes))),
                &frames(13.0, 1.0),
                Ok(&cpu),
            );
            let joules = prices.0 * flops as f64 + prices.1 * bytes as f64 + prices.2 * seconds;
            run.tenants[0].energy = Some(jetlag::analysis::roofline::EnergyPoint {
                joules,
                seconds,
                flops_per_joule: flops as f64 / joules,
                idle_w: Some(1.0),
            });
            run
        })
        .collect();
    let fitted = of_runs(runs.clone()).energy;
    let fit = fitted.fit.as_ref().unwrap();
    assert!(
        (fit.e_flop.value.unwrap() / prices.0 - 1.0).abs() < 1e-6,
        "{fit:?}"
    );
    assert!((fit.e_byte.value.unwrap() / prices.1 - 1.0).abs() < 1e-6);
    assert!((fitted.balance.unwrap() - 2.5).abs() < 1e-6);
    let racing = fitted.racing.unwrap();
    assert!(racing.pays && (racing.saves_w - 2.0).abs() < 1e-6, "{racing:?}");
    // Energy is not under the roofs: without ceilings there is no point, and the prices are the same.
    let mut without = runs.clone();
    without.iter_mut().for_each(|run| run.tenants[0].network = None);
    without[0].tenants[0].name = "other".to_owned();
    let without = of_runs(without);
    assert_eq!(without.energy, fitted);
    // What holds for all of them is said once.
    let mut out = Vec::new();
    text::roofline::write(&without, &mut out, &Style::default()).unwrap();
    let said = String::from_utf8(out).unwrap();
    assert_eq!(said.matches("no point:").count(), 1, "{said}");
    // Fewer runs tell nothing, and say how many would.
    let few = of_runs(runs[..3].to_vec()).energy;
    assert!(
        few.fit.is_none() && few.missing[0].contains("at least 5"),
        "{few:?}"
    );
}

#[test]
fn several_networks_are_told_apart_by_their_layers() {
    let mut made = run_of(1, Some(totals(40_500_000, 3_000_000)));
    let second = NetworkManifest {
        name: "nets/head.onnx".to_owned(),
        work: Some(totals(500_000, 4_000_000)),
        ..NetworkManifest::default()
    };
    made.tenants[0].networks.push(second);
    let mut events = frames(13.0, 1.0);
    // Without times of layers nobody knows whose time it was.
    let together = held(&made, &events, Ok(&ceilings(Processor::Cpu)));
    assert!(together.tenants[0].apart.is_empty());
    assert!(
        together.tenants[0]
            .why_together
            .as_ref()
            .unwrap()
            .contains("profile: true")
    );
    events.extend(layers().into_iter().map(|event| match event {
        Event::Work(node) if node.name == "/Add" => Event::Work(WorkRecord { network: 1, ..node }),
        other => other,
    }));
    let run = held(&made, &events, Ok(&ceilings(Processor::Cpu)));
    let tenant = &run.tenants[0];
    let [first, head] = &tenant.apart[..] else {
        panic!("{:?}", tenant.why_together)
    };
    assert_eq!((first.point.ms, head.point.ms), (8.0, 5.0));
    assert_eq!(
        (first.point.roof, head.point.roof),
        (Limit::Compute, Limit::Memory)
    );
    assert!((head.point.share - 4.0 / 5.0).abs() < 1e-9, "{head:?}");
    let mut out = Vec::new();
    let roofline = of_runs(vec![run]);
    text::roofline::write(&roofline, &mut out, &Style::default()).unwrap();
    let said = String::from_utf8(out).unwrap();
    assert!(said.contains("of it head.onnx"), "{said}");
    // Each has a chart of its own on the page, with its layers alone below it.
    let page = page_of(&roofline);
    let section = |id: &str| {
        let from = page.find(&format!("<section id=\"{id}\"")).expect(id);
        let rest = &page[from..];
        &rest[..rest.find("</section>").unwrap()]
    };
    let (first, head) = (section("layers0-camera-0"), section("layers0-camera-1"));
    assert!(first.contains("<svg") && first.contains("/Relu") && !first.contains("/Add"));
    assert!(head.contains("head.onnx of camera") && head.contains("/Add") && !head.contains("/Relu"));
    assert!(!page.contains("Other layers of camera"));
    // One network has its point alone.
    let one = held(
        &run_of(1, Some(totals(1_000, 1_000))),
        &events,
        Ok(&ceilings(Processor::Cpu)),
    );
    assert!(one.tenants[0].apart.is_empty() && one.tenants[0].why_together.is_none());
}
