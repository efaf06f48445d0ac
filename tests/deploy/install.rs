//! jetson/install.sh, uninstall.sh and record.sh, below folders of the test's own.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;

use crate::common::output::stderr;

const JETLAG: &str = env!("CARGO_BIN_EXE_jetlag");

fn script(name: &str, arguments: &[&str]) -> Output {
    Command::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("jetson").join(name))
        .args(arguments)
        .output()
        .unwrap()
}

fn files(folder: &Path) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            match entry.path().is_dir() {
                true => open.push(entry.path()),
                false => drop(found.insert(entry.path())),
            }
        }
    }
    found
}

#[test]
fn a_user_s_install_runs_and_uninstalling_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let prefix = folder.path().join("local").display().to_string();
    for _ in 0..2 {
        let installed = script("install.sh", &["--prefix", &prefix, "--binary", JETLAG]);
        assert!(installed.status.success(), "{}", stderr(&installed));
    }
    let run = Command::new(format!("{prefix}/bin/jetlag"))
        .args([
            "run",
            &format!("{prefix}/share/jetlag/configs/demo.ron"),
            "--dry-run",
        ])
        .output()
        .unwrap();
    assert!(run.status.success(), "{}", stderr(&run));
    // Somebody's own file stays.
    let own = folder.path().join("local/share/jetlag/configs/mine.ron");
    fs::write(&own, "()").unwrap();
    let removed = script("uninstall.sh", &["--prefix", &prefix]);
    assert!(removed.status.success(), "{}", stderr(&removed));
    assert_eq!(files(folder.path()), BTreeSet::from([own]));
    let again = script("uninstall.sh", &["--prefix", &prefix]);
    assert!(
        stderr(&again).contains("nothing was installed"),
        "{}",
        stderr(&again)
    );
}

/// What `jetlag trace` has loaded into programs comes along, and is found where it is installed.
#[cfg(feature = "trace")]
#[test]
fn an_installed_jetlag_traces_programs() {
    let folder = tempfile::tempdir().unwrap();
    let unpacked = folder.path().join("unpacked");
    fs::create_dir(&unpacked).unwrap();
    let binary = unpacked.join("jetlag");
    // By another process: what this one has open to write cannot be run by a test that forks meanwhile.
    assert!(
        Command::new("cp")
            .arg(JETLAG)
            .arg(&binary)
            .status()
            .unwrap()
            .success()
    );
    let prefix = folder.path().join("local");
    let install = |prefix: &Path| {
        let arguments = [
            "--prefix",
            prefix.to_str().unwrap(),
            "--binary",
            binary.to_str().unwrap(),
        ];
        let installed = script("install.sh", &arguments);
        assert!(installed.status.success(), "{}", stderr(&installed));
        stderr(&installed)
    };
    let trace = || {
        let traced = Command::new(prefix.join("bin/jetlag"))
            .args(["trace", "-o", "app.mcap", "--", "sh", "-c"])
            .arg("echo $NVTX_INJECTION64_PATH; exit 7")
            .env_remove("JETLAG_INJECTION")
            .env_remove("CUDA_INJECTION64_PATH")
            .env_remove("NVTX_INJECTION64_PATH")
            .current_dir(folder.path())
            .output()
            .unwrap();
        let said = String::from_utf8(traced.stdout.clone()).unwrap();
        (traced.status.code(), said)
    };
    // A binary alone: it is said, and the command is not run.
    let said = install(&prefix);
    assert!(said.contains("no libjetlag_inject.so"), "{said}");
    assert_eq!(trace(), (Some(125), String::new()));
    // As the archive and cross.sh have it.
    let library = std::env::current_exe()
        .unwrap()
        .parent()
        .unwrap()
        .join("libjetlag_inject.so");
    fs::copy(&library, unpacked.join("libjetlag_inject.so")).unwrap();
    let said = install(&prefix);
    assert!(!said.contains("libjetlag_inject"), "{said}");
    let installed = prefix.join("lib/jetlag/libjetlag_inject.so");
    let installed = installed.canonicalize().unwrap();
    assert_eq!(trace(), (Some(7), format!("{}\n", installed.display())));
    let removed = script("uninstall.sh", &["--prefix", prefix.to_str().unwrap()]);
    assert!(removed.status.success(), "{}", stderr(&removed));
    assert!(!installed.exists());
}

/// A package without it is refused before anything is made.
#[test]
fn no_package_is_made_of_a_binary_alone() {
    let folder = tempfile::tempdir().unwrap();
    let binary = folder.path().join("jetlag");
    fs::copy(JETLAG, &binary).unwrap();
    let package = Command::new("bash")
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/package_deb.sh"))
        .arg(&binary)
        .arg("--out")
        .arg(folder.path().join("out"))
        .output()
        .unwrap();
    assert_eq!(package.status.code(), Some(1));
    assert!(
        stderr(&package).contains("no libjetlag_inject.so beside"),
        "{}",
        stderr(&package)
    );
    assert!(!folder.path().join("out").exists());
}

#[test]
fn a_system_install_has_units_that_name_what_was_installed() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().display().to_string();
    let installed = script("install.sh", &["--system", "--root", &root, "--binary", JETLAG]);
    assert!(installed.status.success(), "{}", stderr(&installed));
    let unit = fs::read_to_string(folder.path().join("etc/systemd/system/jetlag-monitor.service")).unwrap();
    assert!(!unit.contains("DIR@"), "{unit}");
    for line in unit.lines() {
        let program = line
            .strip_prefix("ExecStart=")
            .or(line.strip_prefix("Environment=JETLAG="));
        if let Some(program) = program {
            let path = program.split(' ').next().unwrap();
            assert!(
                folder.path().join(path.trim_start_matches('/')).is_file(),
                "{line}"
            );
        }
    }
    fs::write(
        folder.path().join("etc/default/jetlag"),
        "JETLAG_RECORD_EVERY=2h\n",
    )
    .unwrap();
    let shared = folder
        .path()
        .join("usr/local/share/jetlag/configs/sharing/edf.ron");
    assert!(shared.is_file(), "scenarios in folders of their own are missing");
    // What `systemctl enable` leaves; it leads to nothing here, as it would once the units are gone.
    let wants = folder.path().join("etc/systemd/system/multi-user.target.wants");
    fs::create_dir_all(&wants).unwrap();
    for unit in ["jetlag-scenario@demo.service", "jetlag-monitor.service"] {
        std::os::unix::fs::symlink(Path::new("/etc/systemd/system").join(unit), wants.join(unit)).unwrap();
    }
    let removed = script("uninstall.sh", &["--system", "--root", &root]);
    assert!(removed.status.success(), "{}", stderr(&removed));
    assert_eq!(
        files(folder.path()),
        BTreeSet::from([folder.path().join("etc/default/jetlag")])
    );
}

#[test]
fn a_binary_that_does_not_start_is_not_installed() {
    let folder = tempfile::tempdir().unwrap();
    let bad = folder.path().join("bad");
    nvidia_doubles::script(&bad, "echo no such processor >&2\nexit 1");
    let prefix = folder.path().join("local");
    let refused = script(
        "install.sh",
        &[
            "--prefix",
            prefix.to_str().unwrap(),
            "--binary",
            bad.to_str().unwrap(),
        ],
    );
    assert_eq!(refused.status.code(), Some(1));
    assert!(
        stderr(&refused).contains("does not start on this machine: no such processor"),
        "{}",
        stderr(&refused)
    );
    assert!(!prefix.exists());
}

#[test]
fn recordings_stay_within_their_bound_and_the_newest_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    // A jetlag whose recordings have 300 KiB, and names of whole seconds between them.
    let jetlag = folder.path().join("jetlag");
    nvidia_doubles::script(&jetlag, "head -c 307200 /dev/urandom >\"$3\"\nsleep 1.05");
    let records = folder.path().join("records");
    let mut recorder = Command::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("jetson/record.sh"))
        .arg(&records)
        .env("JETLAG", &jetlag)
        .env("JETLAG_RECORD_LIMIT_MIB", "1")
        .env("JETLAG_RECORD_KEEP_FREE_MIB", "1")
        .spawn()
        .unwrap();
    let mut seen = BTreeSet::new();
    let mut most = 0;
    while seen.len() < 6 {
        assert!(recorder.try_wait().unwrap().is_none(), "the recorder ended");
        let there = files(&records);
        most = most.max(
            there
                .iter()
                .map(|file| fs::metadata(file).map_or(0, |facts| facts.len()))
                .sum(),
        );
        seen.extend(there);
        std::thread::sleep(Duration::from_millis(20));
    }
    let _ = Command::new("kill").arg(recorder.id().to_string()).status();
    recorder.wait().unwrap();
    assert!(most <= 1024 * 1024, "{most} bytes at once");
    let left = files(&records);
    // One may have come since the last look.
    seen.extend(left.iter().cloned());
    let newest: BTreeSet<PathBuf> = seen.iter().rev().take(left.len()).cloned().collect();
    assert_eq!(left, newest);
}

#[test]
fn a_disk_without_room_is_said_and_not_filled() {
    let folder = tempfile::tempdir().unwrap();
    let full = Command::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("jetson/record.sh"))
        .arg(folder.path())
        .env("JETLAG", "/bin/false")
        .env("JETLAG_RECORD_KEEP_FREE_MIB", "999999999")
        .output()
        .unwrap();
    assert_eq!(full.status.code(), Some(1));
    assert!(stderr(&full).contains("no room"), "{}", stderr(&full));
}

#[test]
fn a_prefix_is_taken_from_where_the_script_is_called_or_refused_whole() {
    let folder = tempfile::tempdir().unwrap();
    let below = folder.path().join("a b/c");
    fs::create_dir_all(&below).unwrap();
    let call = |name: &str, arguments: &[&str]| {
        Command::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("jetson").join(name))
            .args(arguments)
            .current_dir(&below)
            .output()
            .unwrap()
    };
    // Blanks and what a shell or sed would read otherwise are letters of a user's own folder.
    for (prefix, place) in [
        ("local", "a b/c/local"),
        ("../x/./y/../z ", "a b/x/z "),
        ("it's $HOME & \\n|*", "a b/c/it's $HOME & \\n|*"),
    ] {
        let installed = call("install.sh", &["--prefix", prefix, "--binary", JETLAG]);
        assert!(installed.status.success(), "{prefix}: {}", stderr(&installed));
        let place = folder.path().join(place);
        assert!(
            place.join("bin/jetlag").is_file(),
            "{prefix}: {:?}",
            files(folder.path())
        );
        assert!(place.join("share/jetlag/configs/demo.ron").is_file(), "{prefix}");
        let removed = call("uninstall.sh", &["--prefix", prefix]);
        assert!(removed.status.success(), "{prefix}: {}", stderr(&removed));
        assert!(
            files(folder.path()).is_empty(),
            "{prefix}: {:?}",
            files(folder.path())
        );
    }
    let system = ["--system", "--root", "../root", "--binary", JETLAG];
    let installed = call("install.sh", &system);
    assert!(installed.status.success(), "{}", stderr(&installed));
    let root = folder.path().join("a b/root");
    assert!(
        root.join("usr/local/bin/jetlag").is_file(),
        "{:?}",
        files(folder.path())
    );
    assert!(root.join("etc/sysusers.d/jetlag.conf").is_file());
    assert!(
        call("uninstall.sh", &["--system", "--root", "../root"])
            .status
            .success()
    );
    fs::remove_dir_all(&root).unwrap();

    let there = || -> BTreeSet<PathBuf> {
        let entries = fs::read_dir(&below).unwrap().map(|entry| entry.unwrap().path());
        entries.collect()
    };
    let before = there();
    for arguments in [
        &["--prefix", ""][..],
        &["--prefix", "a\nb"],
        &["--prefix", "a\u{1b}b"],
        &["--prefix"],
        &["--root", ""],
        &["--system", "--root", "r", "--prefix", "/opt/a b"],
        &["--system", "--root", "r", "--prefix", "/opt/%n"],
        &["--system", "--root", "r", "--prefix", "/opt/a|b&c"],
        &["--system", "--root", "r", "--prefix", "/opt/\"$x\""],
    ] {
        let refused = call("install.sh", &[&["--binary", JETLAG], arguments].concat());
        assert_eq!(
            refused.status.code(),
            Some(2),
            "{arguments:?}: {}",
            stderr(&refused)
        );
        assert!(
            files(folder.path()).is_empty(),
            "{arguments:?}: {:?}",
            files(folder.path())
        );
        assert_eq!(there(), before, "{arguments:?}");
    }
}
