//! The driver's library where the loader does not look for it.

use nvidia_doubles::cuda::{self, Control};
use nvidia_doubles::machine;

use super::scene::Scene;

/// JetPack 7.2 has its drivers below /opt/nvidia/l4t-gpu-libs, and links the one of the chip into the loader's folders when the board
/// starts; in a container there may be an empty file instead.
#[test]
fn a_driver_that_the_loader_does_not_find_is_taken_from_jetpacks_folders() {
    let Some(scene) = Scene::new() else { return };
    let Some(driver) = cuda::driver(&Control::default()) else {
        return;
    };
    scene.demo(500, 500);
    let scenario = scene.by_frames(scene.scenario("", "arrival: Periodic(20)", ""), 10);
    let root = scene.path("root");
    let run = || {
        let arguments = ["run", scenario.to_str().unwrap(), "--out", "run.mcap", "--force"];
        let control = Control::default().variable("JETLAG_ROOT", &root);
        let mut command = scene.command(&control, &arguments).unwrap();
        // What the doubles' own folder is in.
        command.env_remove("LD_LIBRARY_PATH");
        let output = command.output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        (matches!(output.status.code(), Some(0 | 3)), said)
    };
    let place = |folder: &str, name: &str| {
        let folder = root.join("opt/nvidia/l4t-gpu-libs").join(folder);
        std::fs::create_dir_all(&folder).unwrap();
        folder.join(name)
    };
    std::fs::write(place("nvgpu", "libcuda.so.1"), "").unwrap();
    let (runs, said) = run();
    if runs {
        machine::skip("the loader of this machine finds a CUDA driver by itself");
        return;
    }
    assert!(said.contains("no CUDA driver"), "{said}");
    std::fs::copy(driver.join("libcuda.so.1"), place("nvgpu", "libcuda.so.1.1")).unwrap();
    let (runs, said) = run();
    assert!(runs, "{said}");
}
