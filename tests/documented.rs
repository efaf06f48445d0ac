//! Every command that a page gives its reader is run here, or the page says why not (tests/common/guide.rs has the marks).

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use nvidia_doubles::machine;

use crate::common::guide::{self, Step, Treatment};

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// A page that is followed here: what its commands find there beside a clone's files, which a reader brings along.
struct Page {
    name: &'static str,
    brings: &'static str,
}

/// Pages whose commands other tests run.
const ELSEWHERE: [(&str, &str); 4] = [
    ("docs/cookbook/from-a-bag.md", "documented::from_a_bag"),
    ("docs/quickstart-desktop.md", "deploy::guides"),
    ("docs/quickstart-jetson.md", "deploy::guides"),
    ("docs/python.md", "the tests of that page"),
];

/// What keeps a command from being run; a mark begins with one of these.
const REASONS: [&str; 15] = [
    "changes a board's clocks",
    "gigabytes of wheels",
    "installs gigabytes on a board",
    "it is this test",
    "minutes of building",
    "needs NVIDIA's package repository",
    "needs PyPI",
    "needs a GPU",
    "needs a Jetson",
    "needs a board",
    "needs a network of KITTI's grid",
    "needs a recording of a robot",
    "needs a release",
    "needs a terminal",
    "needs ffmpeg",
];

/// What is run in place of part of a line, so that the tests take less time.
const SHORTER: [(&str, &str); 3] = [
    (
        "cargo run --release -- run configs/demo.ron",
        "jetlag run configs/demo.ron --duration 2s",
    ),
    (
        "jetlag run configs/demo.ron",
        "jetlag run configs/demo.ron --duration 2s",
    ),
    ("jetlag demo", "jetlag demo --duration 2s"),
];

fn shortened(line: &str) -> String {
    let has_its_own = line.contains("duration");
    let replaced = SHORTER
        .iter()
        .find(|(long, _)| line.contains(long) && !has_its_own);
    replaced.map_or_else(|| line.to_owned(), |(long, short)| line.replacen(long, short, 1))
}

fn follow(page: &Page, path: &str) {
    let folder = tempfile::tempdir().unwrap();
    guide::clone(folder.path());
    let brought = Command::new("bash")
        .args(["-ec", page.brings])
        .current_dir(folder.path())
        .env("PATH", path)
        .env("REPOSITORY", ROOT)
        .output()
        .unwrap();
    assert!(
        brought.status.success(),
        "{}: {}",
        page.name,
        String::from_utf8_lossy(&brought.stderr)
    );
    guide::follow(page.name, folder.path(), path, 1, shortened);
}

/// A test for each page, and the list of them.
macro_rules! pages {
    ($($test:ident: $name:literal $(, $brings:literal)?;)*) => {
        const PAGES: &[&str] = &[$($name),*];
        $(#[test]
        fn $test() {
            let bin = tempfile::tempdir().unwrap();
            follow(&Page { name: $name, brings: concat!($($brings)?) }, &guide::path(bin.path()));
        })*
    };
}

pages! {
    the_readme: "README.md";
    ci: "docs/ci.md", "mkdir ci; cp configs/sim.ron ci/before.ron; cp configs/sim.ron ci/after.ron";
    data: "docs/data.md";
    kernels: "docs/kernels.md", "mkdir -p tests/records; cp $REPOSITORY/tests/records/traced.mcap tests/records";
    sweeps: "docs/sweeps.md";
    the_page: "docs/report.md",
        "for run in before after runs/demo-20260101-120000; do jetlag run configs/sim.ron -q --out $run.mcap; done";
    two_detectors_on_an_orin: "docs/cookbook/two-detectors-on-an-orin.md",
        "mkdir nets; cp engines/camera.onnx nets/yolov8n.onnx; cp engines/lidar_encoder.onnx nets/pfe.onnx
         cp engines/lidar_backbone.onnx nets/rpn.onnx
         sed 's/lidar_encoder/pfe/; s/lidar_backbone/rpn/' engines/lidar.ron > nets/pfe.ron
         jetlag data synth --out scenes --count 3; mkdir frames; mv scenes/image_2 frames/images
         mv scenes/velodyne frames/sweeps";
    gate_in_ci: "docs/cookbook/gate-in-ci.md";
    which_sharing: "docs/cookbook/which-sharing.md";
    power_modes: "docs/cookbook/power-modes.md";
    slower_than_trtexec: "docs/cookbook/slower-than-trtexec.md",
        "entry='\"startEnqMs\":0,\"endEnqMs\":1,\"startH2dMs\":0,\"endH2dMs\":0,\"startComputeMs\":0,\"endComputeMs\":8'
         entry=$entry',\"startD2hMs\":8,\"endD2hMs\":8,\"h2dMs\":0,\"computeMs\":8,\"d2hMs\":0,\"latencyMs\":8'
         echo \"[{$entry},{$entry}]\" > times.json";
    reading_a_report: "docs/cookbook/reading-a-report.md";
}

/// The bag is made by one of the readers that the page's own script uses.
#[test]
fn from_a_bag() {
    let Some(python) = machine::python("numpy, mcap_ros2") else {
        return;
    };
    let bin = tempfile::tempdir().unwrap();
    let path = format!(
        "{}:{}",
        python.parent().unwrap().display(),
        guide::path(bin.path())
    );
    let brings = "jetlag data synth --out scenes --count 3; python3 $REPOSITORY/tests/python/make_bag.py scenes drive.mcap";
    follow(
        &Page {
            name: "docs/cookbook/from-a-bag.md",
            brings,
        },
        &path,
    );
}

/// The pages for people who use jetlag: those for its developers are left out.
fn pages_with_commands() -> Vec<String> {
    let in_folder = |folder: &str| {
        let entries = fs::read_dir(Path::new(ROOT).join(folder)).unwrap();
        let name = |entry: std::io::Result<fs::DirEntry>| entry.unwrap().file_name().into_string().unwrap();
        let mut names: Vec<String> = entries.map(name).filter(|name| name.ends_with(".md")).collect();
        names.sort();
        names
            .into_iter()
            .map(|name| format!("{folder}/{name}"))
            .collect::<Vec<_>>()
    };
    let mut pages = vec!["README.md".to_owned(), "jetson/README.md".to_owned()];
    pages.extend(in_folder("docs"));
    pages.extend(in_folder("docs/cookbook"));
    pages
}

fn is_not_run(treatment: &Treatment) -> bool {
    matches!(treatment, Treatment::NotRun(_))
}

#[test]
fn no_page_has_a_command_that_no_test_looks_at() {
    for page in pages_with_commands() {
        if guide::lines(&page).is_empty() {
            continue;
        }
        let is_marked =
            |step: &Step| !matches!(step, Step::Command { treatment, .. } if !is_not_run(treatment));
        let is_followed = ELSEWHERE.iter().any(|(name, _)| *name == page) || PAGES.contains(&page.as_str());
        assert!(
            is_followed || guide::steps(&page).iter().all(is_marked),
            "{page} has commands that no test runs: add it to the pages of tests/documented.rs, or mark them with \
             `<!-- not run: REASON -->`"
        );
    }
}

#[test]
fn a_command_that_is_not_run_has_one_of_a_few_reasons_and_parses() {
    let mut used = BTreeSet::new();
    for page in pages_with_commands() {
        for step in guide::steps(&page) {
            let Step::Command {
                line,
                treatment: Treatment::NotRun(why),
                ..
            } = step
            else {
                continue;
            };
            guide::check(&page, &line);
            let reason = REASONS.iter().find(|reason| why.starts_with(**reason));
            used.insert(
                *reason.unwrap_or_else(|| panic!("{page}: `{line}` is not run for no known reason: {why}")),
            );
        }
    }
    assert_eq!(used, BTreeSet::from(REASONS), "reasons that no page gives");
}

#[test]
fn examples_outside_a_shell_s_blocks_parse() {
    let pages = pages_with_commands();
    let examples = pages
        .iter()
        .flat_map(|page| guide::examples(page).into_iter().map(move |line| (page, line)));
    let mut count = 0;
    for (page, line) in examples {
        guide::check(page, &line);
        count += 1;
    }
    assert!(count > 20, "{count}");
}

/// What a page refers to: links and pictures within the repository.
fn references(page: &str) -> Vec<String> {
    let text = guide::text(page);
    let behind = |begin: &'static str, end: char| {
        let parts: Vec<&str> = text.split(begin).skip(1).collect();
        parts.into_iter().filter_map(move |part| part.split(end).next())
    };
    let all = behind("](", ')')
        .chain(behind("src=\"", '"'))
        .chain(behind("srcset=\"", '"'));
    let local = all.map(|to| to.split('#').next().unwrap_or_default());
    local
        .filter(|to| !to.is_empty() && !to.contains("://") && !to.contains(char::is_whitespace))
        .map(str::to_owned)
        .collect()
}

#[test]
fn what_a_page_refers_to_is_there_and_pictures_are_small() {
    for page in pages_with_commands() {
        let folder = Path::new(ROOT).join(&page).parent().unwrap().to_owned();
        for to in references(&page) {
            let file = folder.join(&to);
            assert!(file.exists(), "{page} refers to {to}, which is not there");
            let is_picture = file
                .extension()
                .is_some_and(|ending| ending == "png" || ending == "svg");
            let bytes = fs::metadata(&file).unwrap().len();
            assert!(
                !is_picture || (1_000..300_000).contains(&bytes),
                "{to}: {bytes} bytes"
            );
        }
    }
}
