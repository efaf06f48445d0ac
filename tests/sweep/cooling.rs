//! What a sweep waits for before a run: the hottest sensor, be it a thermal zone or a GPU that only NVML knows.

use std::fs;
use std::process::Stdio;

use nvidia_doubles::nvml;

use super::folder;
use crate::common::output::{jetlag, stderr};
use crate::common::under_way::wait_until;

const SWEEP: &str = r#"Sweep(base: "base.ron", cool_down: (below_c: 50, at_most: "1h"), axes: [
    Axis(set: "tenants.camera.arrival.hz", values: [10, 20])])"#;

#[test]
fn a_hot_gpu_without_a_thermal_zone_is_waited_for_and_named() {
    let folder = folder(SWEEP);
    let state = folder.path().join("nvml/state");
    let Some(nvml) = nvml::library(
        &folder.path().join("nvml"),
        "count 2\n0/temperature 40\n1/temperature 71\n",
    ) else {
        return;
    };
    let zone = folder.path().join("root/sys/class/thermal/thermal_zone0");
    fs::create_dir_all(&zone).unwrap();
    fs::write(zone.join("type"), "acpitz\n").unwrap();
    fs::write(zone.join("temp"), "45000\n").unwrap();
    let sweep = || {
        let mut command = jetlag(&["sweep", "s.ron", "-o", "s"], folder.path());
        command
            .env("JETLAG_ROOT", folder.path().join("root"))
            .env("JETLAG_NVML", &nvml)
            .stdout(Stdio::null());
        command
    };
    let said = fs::File::create(folder.path().join("said")).unwrap();
    let mut waiting = sweep().stderr(said).spawn().unwrap();
    let text = || fs::read_to_string(folder.path().join("said")).unwrap();
    wait_until("the first run is announced", || text().contains("run 1 of 2"));
    // A look asks both cards; of a few looks the first ones are over.
    let asked = folder.path().join("nvml/state.temperatures");
    wait_until("it has looked a few times", || {
        fs::read_to_string(&asked).is_ok_and(|asked| asked.lines().count() >= 9)
    });
    assert!(!text().contains("run 2 of 2"), "it does not wait: {}", text());
    // As a whole: half of it would be another state.
    let cooled = folder.path().join("nvml/cooled");
    fs::write(&cooled, "count 2\n0/temperature 40\n1/temperature 49\n").unwrap();
    fs::rename(cooled, &state).unwrap();
    assert!(waiting.wait().unwrap().success(), "{}", text());
    assert!(
        text().contains("for GPU 1 (NVIDIA H100 PCIe) in NVML, which was at 71 °C; all are below 50 °C"),
        "{}",
        text()
    );

    // A zone is named too; and where the time is over, the run begins.
    fs::remove_dir_all(folder.path().join("s")).unwrap();
    fs::write(folder.path().join("s.ron"), SWEEP.replace("1h", "300ms")).unwrap();
    fs::write(zone.join("temp"), "80500\n").unwrap();
    let output = sweep().output().unwrap();
    assert!(output.status.success());
    let wanted = "the thermal zone acpitz is still at 80 °C after";
    assert_eq!(stderr(&output).matches(wanted).count(), 2, "{}", stderr(&output));

    // A machine that tells nothing is not waited for.
    fs::remove_dir_all(folder.path().join("s")).unwrap();
    fs::remove_dir_all(&zone).unwrap();
    fs::write(&state, "count 1\n").unwrap();
    let output = sweep().output().unwrap();
    assert!(output.status.success());
    assert!(
        stderr(&output).contains("neither a thermal zone nor NVML shows a temperature"),
        "{}",
        stderr(&output)
    );
}
