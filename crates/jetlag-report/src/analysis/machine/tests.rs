//! Names of figures of the machine, and what is found by them.

use super::*;

const TENANTS: [&str; 2] = ["camera", "cam.front"];

fn metric(path: &str) -> Result<MachineMetric, Unnamed> {
    named(path, &TENANTS).unwrap_or_else(|| panic!("{path} begins like none"))
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

fn machine(sensors: &[SensorSummary]) -> Machine<'_> {
    Machine {
        rails: &[],
        energy: None,
        sensors,
    }
}

fn value(found: Result<Found, Absent>) -> Option<f64> {
    found.ok().and_then(|found| found.reading.value)
}

#[test]
fn names_are_read_with_dots_and_slashes_in_them() {
    assert_eq!(
        metric("power.total.mean"),
        Ok(MachineMetric::Power(Line::Total, Level::Mean))
    );
    let rail = Line::Rail("ina3221/VDD_IN".to_owned());
    assert_eq!(
        metric("power.ina3221/VDD_IN.peak"),
        Ok(MachineMetric::Power(rail, Level::Max))
    );
    let frames = MachineMetric::Frames("cam.front".to_owned(), PerFrame::FramesPerJoule);
    assert_eq!(metric("energy.cam.front.frames_per_joule"), Ok(frames));
    assert_eq!(metric("energy.total"), Ok(MachineMetric::Energy(Whole::Total)));
    let tj = MachineMetric::Sensor(Kind::Temperature, "tj".to_owned(), Level::Max);
    assert_eq!(metric("temperature.tj.max"), Ok(tj));
    assert_eq!(named("camera.response.p99", &TENANTS), None);
}

#[test]
fn what_is_no_figure_is_answered_with_the_nearest() {
    let unnamed = |path: &str| metric(path).unwrap_err();
    let figure = |written: &str, nearest: Option<&str>| Unnamed::Figure {
        written: written.to_owned(),
        nearest: nearest.map(str::to_owned),
    };
    assert_eq!(unnamed("power.total.peek"), figure("peek", Some("peak")));
    assert_eq!(unnamed("clock.gpu.mim"), figure("mim", Some("min")));
    for (path, examples) in [
        ("power", "`power.total.mean` or `power.RAIL.mean`"),
        ("power.mean", "`power.total.mean` or `power.RAIL.mean`"),
        ("power.peek", "`power.total.peak` or `power.RAIL.peak`"),
        ("power.total", "`power.total.mean`"),
        ("power.VDD_IN", "`power.VDD_IN.mean`"),
        ("clock.min", "`clock.CLOCK.min`"),
        ("temperature.tj", "`temperature.tj.mean`"),
        ("energy.per_frame", "`energy.TENANT.per_frame`"),
        ("energy.camera", "`energy.camera.per_frame`"),
        ("energy", "`energy.TENANT.per_frame`"),
    ] {
        assert_eq!(unnamed(path), Unnamed::Incomplete(examples.to_owned()), "{path}");
    }
    assert_eq!(
        unnamed("energy.lidar.per_frame"),
        Unnamed::Tenant("lidar".to_owned())
    );
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
    let read = |path: &str| metric(path).unwrap().read(&machine(&sensors), &[]);
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
        assert_eq!(value(read(path)), Some(wanted), "{path}");
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
    let read = |path: &str| metric(path).unwrap().read(&machine(&[]), &[]);
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
    let found = metric("temperature.tj.max")
        .unwrap()
        .read(&machine(&sensors), &[]);
    let doubt = found.unwrap().doubt;
    assert!(
        matches!(doubt, Some(Absent::Coverage { share: 0.4, .. })),
        "{doubt:?}"
    );
}

#[test]
fn the_list_names_every_figure() {
    let words = POWER
        .iter()
        .chain(&SENSOR)
        .map(|(name, _)| *name)
        .filter(|name| !["p50"].contains(name));
    let others = WHOLE
        .iter()
        .map(|(name, _)| *name)
        .chain(PER_FRAME.iter().map(|(name, _)| *name));
    for word in words.chain(others).chain(FAMILIES) {
        assert!(list().contains(word), "{word}");
    }
}
