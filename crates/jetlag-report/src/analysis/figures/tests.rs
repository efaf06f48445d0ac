//! What is found of a machine by its names, and that all that a summary has is found by its key.

use super::key::{Better, Kind};

use super::*;
use crate::record::Part;

fn key(path: &str) -> Key {
    Key::parse(path, &["camera"]).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn sensor_of(source: &str, signal: &str, quantity: &'static str, part: Part, min: f64) -> SensorSummary {
    SensorSummary {
        source: source.to_owned(),
        signal: signal.to_owned(),
        quantity,
        unit: String::new(),
        min,
        mean: Some(min + 1.0),
        median: Some(min + 1.0),
        p95: None,
        max: min + 2.0,
        sampled: 1.0,
        readings: 10,
        part,
    }
}

fn run(sensors: &[SensorSummary]) -> Run<'_> {
    Run {
        tenants: Vec::new(),
        rails: &[],
        energy: None,
        sensors,
        host: None,
    }
}

#[test]
fn a_sensor_is_found_by_its_name_or_by_what_people_call_it() {
    let sensors = [
        sensor_of("thermal", "tj", "temperature", Part::Board, 60.0),
        sensor_of("thermal", "gpu", "temperature", Part::Gpu(None), 55.0),
        sensor_of("tegrastats", "tj_temperature", "temperature", Part::Board, 1.0),
        sensor_of("host", "cpu0_frequency", "clock", Part::Processor(0), 700.0),
        sensor_of("host", "cpu1_frequency", "clock", Part::Processor(1), 600.0),
        sensor_of("gpu", "gpu_frequency", "clock", Part::Gpu(None), 900.0),
        sensor_of("emc", "emc_frequency", "clock", Part::MemoryController, 2_133.0),
    ];
    let read = |path: &str| run(&sensors).read(&key(path));
    for (path, wanted) in [
        ("temperature.tj.min", 60.0),
        ("temperature.TJ.max", 62.0),
        ("temperature.tegrastats/tj_temperature.min", 1.0),
        ("temperature.gpu.mean", 56.0),
        ("clock.gpu.min", 900.0),
        ("clock.cpu1_frequency.mean", 601.0),
        ("clock.cpu1.mean", 601.0),
        ("clock.cpu.min", 600.0),
        ("clock.cpu.max", 702.0),
        ("clock.emc.min", 2_133.0),
    ] {
        assert_eq!(read(path).map(|found| found.value), Ok(wanted), "{path}");
    }
    assert!(matches!(read("clock.cpu.mean"), Err(Absent::Several { sensors, .. }) if sensors.len() == 2));
    assert!(matches!(
        read("temperature.tj.p95"),
        Err(Absent::Values { values: 10, .. })
    ));
    let Err(Absent::Sensor { known, .. }) = read("clock.npu.min") else {
        panic!("there is none")
    };
    assert_eq!(known.len(), 4, "{known:?}");
}

#[test]
fn without_a_sensor_nothing_is_known_and_the_machine_says_what_is_missing() {
    let read = |path: &str| run(&[]).read(&key(path));
    for path in [
        "power.total.mean",
        "power.VDD_IN.p95",
        "energy.total",
        "energy.camera.per_frame",
    ] {
        assert_eq!(read(path), Err(Absent::Power), "{path}");
    }
    assert!(matches!(read("temperature.tj.max"), Err(Absent::Sensor { .. })));
}

#[test]
fn a_sensor_that_saw_a_part_of_the_time_leaves_a_doubt() {
    let mut sensors = [sensor_of("thermal", "tj", "temperature", Part::Board, 60.0)];
    sensors[0].sampled = 0.4;
    let found = run(&sensors).read(&key("temperature.tj.max"));
    let doubt = found.unwrap().doubt;
    assert!(
        matches!(doubt, Some(Absent::Coverage { share: 0.4, .. })),
        "{doubt:?}"
    );
}

#[test]
fn what_is_listed_is_found_by_its_name() {
    let mut sensors = [
        sensor_of("thermal", "tj", "temperature", Part::Board, 60.0),
        sensor_of("tegrastats", "TJ", "temperature", Part::Board, 1.0),
        sensor_of("host", "cpu_load", "load", Part::Processors, 10.0),
    ];
    sensors[0].p95 = Some(61.5);
    let run = run(&sensors);
    let listed: Vec<Key> = machine::keys(&run).collect();
    let names: Vec<String> = listed.iter().map(Key::to_string).collect();
    assert_eq!(names.len(), 10, "the first of two that read alike: {names:?}");
    for name in ["temperature.tj.min", "load.cpu_load.mean"] {
        assert!(names.iter().any(|known| known == name), "{name}: {names:?}");
    }
    for listed in listed {
        assert_eq!(key(&listed.to_string()), listed);
    }
    assert_eq!(key("load.cpu_load.mean").better(), Better::Neither);
    assert!(matches!(key("load.cpu_load.mean"), Key::Sensor(Kind::Load, ..)));
}
