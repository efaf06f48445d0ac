//! A sweep's folder in which links lead elsewhere: somebody else made it, and nothing is written through them.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use super::{done, folder};
use crate::common::output::{assert_refused, run};

const SWEEP: &str =
    "Sweep(base: \"base.ron\", axes: [Axis(set: \"tenants.camera.arrival.hz\", values: [10, 20])])";
const KNEE: [&str; 9] = [
    "sweep",
    "base.ron",
    "--knee",
    "tenants.camera.arrival.hz in 10..20",
    "--step",
    "10",
    "--while",
    "camera.miss_rate < 1%",
    "-o",
];

/// All that is in a folder, with the content of its files and the targets of its links.
fn all(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let content = match (path.is_symlink(), path.is_dir()) {
            (true, _) => fs::read_link(&path).unwrap().to_str().unwrap().into(),
            (false, true) => format!("{:?}", all(&path)).into(),
            (false, false) => fs::read(&path).unwrap(),
        };
        found.insert(path.file_name().unwrap().to_str().unwrap().to_owned(), content);
    }
    found
}

#[test]
fn showing_writes_nothing() {
    let folder = folder(SWEEP);
    let at = folder.path();
    done(&["sweep", "s.ron", "-o", "s", "--quiet"], at);
    fs::write(at.join("theirs"), "dear").unwrap();
    fs::remove_file(at.join("s/table.csv")).unwrap();
    for name in ["table.part", "index.part", "table.csv", "lock.part"] {
        symlink(at.join("theirs"), at.join("s").join(name)).unwrap();
    }
    fs::remove_file(at.join("s/lock")).unwrap();
    symlink(at.join("theirs"), at.join("s/lock")).unwrap();
    let before = all(at);
    for show in [
        vec!["sweep", "s"],
        vec!["sweep", "s", "--format", "csv"],
        vec![
            "sweep",
            "s",
            "--knee",
            "tenants.camera.arrival.hz",
            "--while",
            "camera.miss_rate < 1%",
        ],
        vec!["sweep", "s", "--pareto", "response.p99,miss_rate"],
    ] {
        done(&show, at);
    }
    assert_eq!(all(at), before);
}

#[test]
fn nothing_is_written_through_a_link() {
    for linked in ["lock", "journal.jsonl", "runs"] {
        for knee in [false, true] {
            let folder = folder(SWEEP);
            let at = folder.path();
            fs::write(at.join("theirs"), "dear\n").unwrap();
            fs::create_dir(at.join("elsewhere")).unwrap();
            fs::create_dir(at.join("s")).unwrap();
            let to = if linked == "runs" { "elsewhere" } else { "theirs" };
            symlink(at.join(to), at.join("s").join(linked)).unwrap();
            let line: Vec<&str> = match knee {
                true => KNEE.iter().copied().chain(["s"]).collect(),
                false => vec!["sweep", "s.ron", "-o", "s"],
            };
            let output = run(&line, at);
            let code = output.status.code().unwrap();
            assert!([1, 2].contains(&code), "{linked} {code}");
            let said = match linked {
                "lock" => "no sweep's lock",
                "runs" => "is a link",
                _ => "no journal of a sweep",
            };
            assert_refused(&output, code, &[said, linked]);
            assert_eq!(fs::read(at.join("theirs")).unwrap(), b"dear\n", "{linked}");
            assert_eq!(fs::read_dir(at.join("elsewhere")).unwrap().count(), 0);
        }
    }
}

#[test]
fn what_a_sweep_writes_takes_the_place_of_a_link() {
    for line in [
        vec!["sweep", "s.ron", "-o", "s"],
        KNEE.iter().copied().chain(["s"]).collect(),
    ] {
        let folder = folder(SWEEP);
        let at = folder.path();
        done(&line, at);
        fs::write(at.join("theirs"), "dear").unwrap();
        for name in ["table.csv", "index.html", "table.parquet"] {
            let path = at.join("s").join(name);
            let _ = fs::remove_file(&path);
            symlink(at.join("theirs"), &path).unwrap();
        }
        symlink(at.join("theirs"), at.join("s/table.part")).unwrap();
        done(&line, at);
        assert_eq!(fs::read(at.join("theirs")).unwrap(), b"dear");
        assert!(!at.join("s/table.csv").is_symlink());
        assert!(
            fs::read_to_string(at.join("s/table.csv"))
                .unwrap()
                .starts_with("point,")
        );
    }
}
