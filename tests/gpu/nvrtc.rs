//! The real NVRTC, which needs no GPU: every kernel of ours compiles for every device that is named here.

use std::path::{Path, PathBuf};

use jetlag::gpu::{KernelSource, Nvrtc, NvrtcError, SOURCES};
use nvidia_doubles::{machine, tensorrt};

/// The folder with NVRTC of a release.
fn folder(release: &str) -> Option<PathBuf> {
    let venv = machine::environment(&format!("nvrtc-{release}"), "JETLAG_REQUIRE_TENSORRT")?;
    let python = std::fs::read_dir(venv.join("lib"))
        .ok()
        .and_then(|mut folders| folders.next()?.ok());
    let below = ["nvidia/cuda_nvrtc/lib", "nvidia/cu13/lib"];
    let found = python.and_then(|python| {
        let packages = python.path().join("site-packages");
        below
            .iter()
            .map(|below| packages.join(below))
            .find(|folder| folder.is_dir())
    });
    if found.is_none() {
        let why = format!(
            "{} holds no NVRTC (scripts/setup.sh --test brings it)",
            venv.display()
        );
        machine::missing(&["JETLAG_VENVS", "JETLAG_REQUIRE_TENSORRT"], &why);
    }
    found
}

fn compiles(folder: &Path, driver: i32, capabilities: &[u16]) {
    let nvrtc = Nvrtc::find(driver, Some(folder)).unwrap();
    for source in SOURCES {
        for &capability in capabilities {
            let code = nvrtc
                .compile(source.name, source.text, capability)
                .unwrap_or_else(|error| panic!("{error}"));
            assert!(code.starts_with(b"\x7fELF"), "{} for {capability}", source.name);
        }
    }
}

#[test]
fn every_kernel_compiles_for_xavier_orin_and_hopper() {
    let Some(folder) = folder("12.9") else { return };
    compiles(&folder, 12_090, &[72, 87, 90]);
}

#[test]
fn every_kernel_compiles_for_thor_and_xavier_is_too_old_for_cuda_13() {
    let Some(folder) = folder("13") else { return };
    compiles(&folder, 13_000, &[87, 90, 110]);
    let nvrtc = Nvrtc::find(13_000, Some(&folder)).unwrap();
    assert!(matches!(
        nvrtc.compile("load.cu", SOURCES[0].text, 72),
        Err(NvrtcError::TooNew { capability: 72, .. })
    ));
}

#[test]
fn a_device_that_it_does_not_know_yet_gets_ptx_of_the_newest_that_it_knows() {
    let Some(folder) = folder("12.9") else { return };
    let nvrtc = Nvrtc::find(12_090, Some(&folder)).unwrap();
    let KernelSource { name, text } = SOURCES[0];
    let code = nvrtc.compile(name, text, 999).unwrap();
    let text = String::from_utf8(code).unwrap();
    assert!(
        text.contains(".target sm_12") && text.ends_with('\0'),
        "{}",
        &text[..200]
    );
}

#[test]
fn a_mistake_in_a_source_is_told_in_the_compilers_words() {
    let Some(folder) = folder("12.9") else { return };
    let nvrtc = Nvrtc::find(12_090, Some(&folder)).unwrap();
    let error = nvrtc
        .compile("wrong.cu", "__global__ void k() { missing(); }", 87)
        .unwrap_err()
        .to_string();
    for part in [
        "NVRTC 12.9 cannot compile wrong.cu for sm_87",
        "wrong.cu(1)",
        "missing",
    ] {
        assert!(error.contains(part), "{part}: {error}");
    }
}

#[test]
fn a_library_that_is_not_nvrtc_is_told() {
    let Some(double) = tensorrt::era('C') else {
        return;
    };
    let other = std::fs::read_dir(&double.folder)
        .unwrap()
        .flatten()
        .next()
        .unwrap()
        .path();
    let error = Nvrtc::find(12_090, Some(&other)).unwrap_err().to_string();
    assert!(error.contains("has no function nvrtcVersion"), "{error}");
}
