//! Names are read back as what they are names of, and others are answered with what was meant.

use super::*;

const TENANTS: [&str; 4] = ["camera", "cam.front", "clock", "energy"];

fn of_machine() -> Vec<Key> {
    let rail = |name: &str| Line::Rail(name.to_owned());
    let lines = [Line::Total, rail("VDD_IN"), rail("ina3221/VDD.IN")];
    let power = lines
        .iter()
        .flat_map(|line| Power::ALL.iter().map(|of| Key::Power(line.clone(), *of)));
    let rails = OfRail::ALL.iter().map(|of| Key::Rail("VDD_IN".to_owned(), *of));
    let sensors = Kind::ALL.iter().flat_map(|kind| {
        Level::ALL
            .iter()
            .map(|level| Key::Sensor(*kind, "tj.0".to_owned(), *level))
    });
    let whole = Whole::ALL.iter().map(|whole| Key::Energy(*whole));
    let host = Host::ALL.iter().map(|host| Key::Host(*host));
    power
        .chain(rails)
        .chain(sensors)
        .chain(whole)
        .chain(host)
        .collect()
}

fn all() -> Vec<Key> {
    let tenants = TENANTS.iter().flat_map(|tenant| Key::all_of_tenant(tenant));
    tenants.chain(of_machine()).collect()
}

#[test]
fn every_name_is_read_as_its_key() {
    for key in all() {
        let name = key.to_string();
        assert_eq!(Key::parse(&name, &TENANTS), Ok(key.clone()), "{name}");
        if let Some(tenant) = key.tenant() {
            assert_eq!(Key::of_tenant(tenant, &key.within()), Some(key.clone()), "{name}");
        }
        let symbol = key.unit().symbol();
        if !symbol.is_empty() {
            assert_eq!(
                Key::parse(&format!("{name}_{symbol}"), &TENANTS),
                Ok(key),
                "{name}"
            );
        }
    }
}

#[test]
fn every_name_is_guessed_where_no_tenant_is_known() {
    let keys = Key::all_of_tenant("camera").chain(Key::all_of_tenant("cam.front"));
    for key in keys.chain(of_machine()) {
        assert_eq!(Key::guess(&key.to_string()), Some(key.clone()), "{key}");
    }
    assert_eq!(Key::guess("accuracy"), None);
}

#[test]
fn other_names_of_a_figure_are_understood() {
    for (written, name) in [
        ("camera.response.p99.9", "camera.response.p99_9"),
        ("camera.frames.dropped", "camera.dropped"),
        ("camera.throughput_fps", "camera.throughput"),
        ("camera.energy", "energy.camera.per_frame"),
        ("camera.energy.per_frame", "energy.camera.per_frame"),
        ("energy.camera.per_frame", "energy.camera.per_frame"),
        (
            "cam.front.energy.frames_per_joule",
            "energy.cam.front.frames_per_joule",
        ),
        ("power.total.max", "power.total.peak"),
        ("power.VDD_IN.p50", "power.VDD_IN.median"),
        ("clock.response.min", "clock.response.min"),
    ] {
        assert_eq!(
            Key::parse(written, &TENANTS).map(|key| key.to_string()),
            Ok(name.to_owned()),
            "{written}"
        );
    }
    assert_eq!(
        Key::parse("clock.response.min", &TENANTS).unwrap().tenant(),
        Some("clock")
    );
    assert_eq!(
        Key::parse("clock.response.min", &["camera"]).unwrap().tenant(),
        None
    );
}

#[test]
fn what_is_no_figure_is_answered_with_the_nearest() {
    let error = |path: &str| {
        Key::parse(path, &["camera", "cam.front"])
            .unwrap_err()
            .to_string()
    };
    for (path, said) in [
        (
            "power.total.peek",
            "there is no figure `peek` (did you mean `peak`?)",
        ),
        ("clock.gpu.mim", "did you mean `min`?"),
        ("energy.lidar.per_frame", "no tenant is named `lidar`"),
        ("camra.response.p99", "did you mean `camera`?"),
        ("camera.response.p98", "there is no metric `response.p98`"),
        ("camera.latency", "did you mean `response.p99`?"),
        ("camera.fps", "did you mean `throughput`?"),
        ("camera.energy.total", "did you mean `energy.camera.per_frame`?"),
        ("response.p99", "it names no tenant: write `camera.response.p99`"),
        ("camera", "`camera` is not complete: write `camera.response.p99`"),
    ] {
        assert!(error(path).contains(said), "{path}: {}", error(path));
    }
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
        assert!(
            error(path).ends_with(&format!("is not complete: write {examples}")),
            "{path}: {}",
            error(path)
        );
    }
}

#[test]
fn the_documents_have_every_figure_as_the_table_has_it() {
    let docs = include_str!("../../../../../../docs/json.md");
    assert!(
        docs.contains(&documented()),
        "docs/json.md should have:\n{}",
        documented()
    );
}

proptest::proptest! {
    #[test]
    fn whatever_is_written_is_a_name_or_refused(text in ".{0,40}") {
        let _ = Key::parse(&text, &TENANTS);
        let _ = Key::guess(&text);
    }
}
