//! A file per mistake and a test on the phrase that the user will read; scenarios that are right, with what
//! they must mean; every scenario that is shipped; and texts that nobody would write.
//!
//! Files say in their first comments what is expected of them: `expect:` a phrase of one problem (there
//! must be as many as problems), `resolved:` a JSON pointer into the resolved scenario and its value, and
//! `set:` an override to apply. Paths are relative to the package's root, where cargo runs tests.

use std::path::Path;

use crate::common::mistakes::{comments, files, wrongly_told};
use jetlag::scenario::{BackendChoice, ProblemKind, Problems, ResolveEnv, Scenario, from_str, load, ron};
use proptest::prelude::*;

fn env() -> ResolveEnv {
    ResolveEnv {
        cpus: vec![0, 1],
        gpu: None,
        no_gpu: None,
        tensorrt: None,
        check_expectation: Some(|text, tenants| {
            let tenant = text.split('.').next().unwrap_or_default();
            match tenants.contains(&tenant) || !text.contains('.') {
                true => Ok(()),
                false => Err(format!("there is no tenant called `{tenant}`").into()),
            }
        }),
    }
}

fn load_with_its_sets(path: &Path) -> Result<Scenario, Problems> {
    load(path, &comments(path, "set"), &env())
}

#[test]
fn every_mistake_is_reported_with_its_place_and_the_phrase_that_helps() {
    let wrong = wrongly_told("tests/scenarios/invalid", 25, |path| {
        load_with_its_sets(path).err()
    });
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn scenarios_that_are_right_mean_what_they_say() {
    for path in files("tests/scenarios/valid") {
        let scenario = load_with_its_sets(&path).unwrap_or_else(|problems| panic!("{problems}"));
        let json = serde_json::to_value(&scenario).unwrap();
        let facts = comments(&path, "resolved");
        assert!(
            !facts.is_empty(),
            "{} says nothing of what it means",
            path.display()
        );
        for fact in facts {
            let (pointer, value) = fact.split_once(" = ").unwrap();
            let wanted: serde_json::Value = serde_json::from_str(value).unwrap();
            assert_eq!(
                json.pointer(pointer),
                Some(&wanted),
                "{}: {pointer}",
                path.display()
            );
        }
    }
}

#[test]
fn a_resolved_scenario_survives_being_stored_in_a_run() {
    for path in files("tests/scenarios/valid") {
        let scenario = load_with_its_sets(&path).unwrap();
        let stored = serde_json::to_string(&scenario).unwrap();
        assert_eq!(serde_json::from_str::<Scenario>(&stored).unwrap(), scenario);
    }
}

#[test]
fn a_resolved_scenario_is_written_as_ron_that_means_the_same() {
    let shipped = ["configs", "configs/gpu", "configs/sharing", "jetson/scenarios"]
        .map(files)
        .concat();
    let mut written = 0;
    for path in [files("tests/scenarios/valid"), shipped].concat() {
        let Ok(scenario) = load_with_its_sets(&path) else {
            continue;
        };
        let text = ron(&scenario, "a comment\nof two lines");
        let again = from_str(&text, "again.ron", Path::new(""), &[], &env());
        let mut again = again.unwrap_or_else(|problems| panic!("{}: {problems}\n{text}", path.display()));
        // Why `Auto` became what it is belongs to the machine that decided it, and stands in a comment.
        for (tenant, first) in again.tenants.iter_mut().zip(&scenario.tenants) {
            tenant.backend_reason.clone_from(&first.backend_reason);
        }
        assert_eq!(again, scenario, "{}\n{text}", path.display());
        written += 1;
    }
    assert!(written > 25, "{written}");
}

#[test]
fn every_scenario_that_is_shipped_resolves_and_says_what_it_shows() {
    let shipped = ["configs", "configs/gpu", "configs/sharing", "jetson/scenarios"].map(files);
    assert!(shipped.concat().len() > 20);
    for path in shipped.concat() {
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(
            text.starts_with("// "),
            "{} does not open with what it shows",
            path.display()
        );
        if text.contains("\nSweep(") {
            let sweep = jetlag::sweep::load(&path).unwrap_or_else(|problems| panic!("{problems}"));
            assert!(!sweep.plan.points().unwrap().is_empty());
            continue;
        }
        if let Err(problems) = load(&path, &[], &env()) {
            // Detector specs may be absent where only the scenarios are at hand, and recordings are the reader's; nothing else may be.
            const ABSENT: [&str; 4] = ["detector spec", "video file", "ROS 2 bag", "nuScenes dataset"];
            let only_absent = problems.list().iter().all(|problem| {
                matches!(&problem.kind, ProblemKind::NotFound { wanted, .. } if ABSENT.contains(wanted))
            });
            assert!(only_absent, "{problems}");
        }
    }
}

#[test]
fn auto_says_what_it_chose_and_why() {
    let text = r#"(tenants: [(name: "a", detector: "builtin:camera", source: Synthetic(Camera))])"#;
    let reason = |gpu: Option<&str>, tensorrt: Option<&str>| {
        let env = ResolveEnv {
            gpu: gpu.map(Into::into),
            tensorrt: tensorrt.map(Into::into),
            ..env()
        };
        let scenario = from_str(text, "x.ron", Path::new(""), &[], &env).unwrap();
        scenario.tenants[0].backend_reason.clone().unwrap()
    };
    assert!(reason(None, None).contains("no GPU was found"));
    assert!(reason(Some("Orin"), None).contains("Orin was found but not TensorRT"));
    assert!(reason(Some("Orin"), Some("10.3")).contains("Orin and TensorRT 10.3 were found"));
    let env = ResolveEnv {
        gpu: Some("Orin".into()),
        tensorrt: Some("10.3".into()),
        ..env()
    };
    let scenario = from_str(text, "x.ron", Path::new(""), &[], &env).unwrap();
    assert!(matches!(
        scenario.tenants[0].backend,
        BackendChoice::TensorRt { .. }
    ));
}

#[test]
fn a_file_that_cannot_be_read_is_a_problem_of_the_file() {
    let missing = load(Path::new("configs/nowhere.ron"), &[], &env()).unwrap_err();
    assert!(
        missing
            .to_string()
            .starts_with("configs/nowhere.ron: cannot read the scenario: ")
    );

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("binary.ron");
    std::fs::write(&path, b"(name: \"\xff\")").unwrap();
    let binary = load(&path, &[], &env()).unwrap_err().to_string();
    assert!(binary.contains("not UTF-8 text at byte 8"), "{binary}");

    std::fs::write(&path, vec![b' '; 2 << 20]).unwrap();
    let large = load(&path, &[], &env()).unwrap_err().to_string();
    assert!(large.contains("larger than 1.0 MiB"), "{large}");
    assert!(load(folder.path(), &[], &env()).is_err());
}

#[test]
fn the_processors_of_this_machine_are_found() {
    assert!(!ResolveEnv::of_this_machine().cpus.is_empty());
}

const SAMPLE: &str = include_str!("scenarios/valid/every_field.ron");

/// Reads a text and shows what is wrong with it; neither may panic.
fn survives(text: &str, sets: &[String]) {
    if let Err(problems) = from_str(text, "any.ron", Path::new("configs"), sets, &env()) {
        assert!(!problems.list().is_empty());
        assert!(!problems.to_string().is_empty());
    }
}

#[test]
fn nesting_without_end_neither_crashes_nor_passes() {
    for (open, close) in [
        ("(", ")"),
        ("[", "]"),
        ("Some(", ")"),
        ("A(b:", ")"),
        ("{1:", "}"),
    ] {
        let text = format!("{}{}", open.repeat(50_000), close.repeat(50_000));
        assert!(from_str(&text, "deep.ron", Path::new(""), &[], &env()).is_err());
        survives(
            SAMPLE,
            &[format!("tenants.camera.source={}", open.repeat(20_000))],
        );
    }
    survives(
        SAMPLE,
        &[
            format!("{}=1", "a.".repeat(50_000)),
            format!("{}a=1", "a.".repeat(50_000)),
        ],
    );
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_text_makes_the_reader_panic(text in any::<String>(), path in any::<String>(), value in any::<String>()) {
        survives(&text, &[format!("{path}={value}")]);
    }

    #[test]
    fn no_heap_of_ron_tokens_makes_the_reader_panic(tokens in prop::collection::vec(token(), 0..60)) {
        survives(&tokens.concat(), &[]);
    }

    #[test]
    fn no_slip_in_a_good_file_makes_the_reader_panic(
        slips in prop::collection::vec((any::<prop::sample::Index>(), 0usize..8, token()), 1..6),
    ) {
        let mut characters: Vec<char> = SAMPLE.chars().collect();
        for (at, cut, put) in slips {
            let at = at.index(characters.len() + 1);
            let end = (at + cut).min(characters.len());
            characters.splice(at..end, put.chars());
        }
        survives(&characters.into_iter().collect::<String>(), &["tenants.camera.arrival.hz=60".into()]);
    }

    #[test]
    fn no_override_of_a_good_file_makes_the_reader_panic(
        path in prop::collection::vec(segment(), 1..6), value in prop::collection::vec(token(), 0..6),
    ) {
        survives(SAMPLE, &[format!("{}={}", path.join("."), value.concat())]);
    }
}

pub(crate) fn token() -> impl Strategy<Value = String> {
    let fixed = [
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        ":",
        ",",
        "\"",
        "'",
        "//",
        "/*",
        "*/",
        "\n",
        " ",
        "\\",
        "#",
        "r#\"",
        "b\"",
        "Scenario",
        "Tenant",
        "tenants",
        "name",
        "arrival",
        "Periodic",
        "hz",
        "Sim",
        "Fixed",
        "Some",
        "None",
        "true",
        "NaN",
        "-inf",
        "1e999",
        "0x",
        "-",
        "\"5ms\"",
        "30",
        "99999999999999999999999999999999999999999",
        "\u{feff}",
        "é",
        "\u{2028}",
        "\0",
    ];
    prop_oneof![
        4 => prop::sample::select(fixed.map(str::to_owned).to_vec()),
        1 => any::<char>().prop_map(String::from),
    ]
}

fn segment() -> impl Strategy<Value = String> {
    let known = [
        "tenants",
        "camera",
        "0",
        "99999999999999999999",
        "arrival",
        "hz",
        "backend",
        "model",
        "cpus",
        "baseline",
        "idle",
    ];
    prop_oneof![
        4 => prop::sample::select(known.map(str::to_owned).to_vec()),
        1 => any::<String>(),
    ]
}

const DOCS: &str = include_str!("../docs/scenarios.md");

#[test]
fn every_scenario_in_the_documentation_is_right() {
    let examples: Vec<&str> = DOCS
        .split("```ron\n")
        .skip(1)
        .map(|rest| rest.split("```").next().unwrap())
        .collect();
    assert!(!examples.is_empty());
    for example in examples {
        if let Err(problems) = from_str(example, "docs/scenarios.md", Path::new(""), &[], &env()) {
            panic!("{problems}\nin\n{example}");
        }
    }
}

#[test]
fn every_field_and_choice_that_exists_is_documented() {
    let asking = "(x: 1, clock: x, sharing: x, release: x, baseline: (x: 1), telemetry: (x: 1, sources: [x]), clocks: x, tenants: [
        (name: \"a\", x: 1, backend: x, source: x, arrival: x, overload: x),
        (name: \"b\", backend: Sim(x), source: Points(path: \"\", format: x, x: 1), arrival: Periodic(x: 1)),
        (name: \"c\", backend: Cpu(x: 1), source: Synthetic(sensor: x, x: 1), transfer: x, graph: x, sync: x, context_memory: x),
        (name: \"d\", backend: TensorRt(x: 1)), (name: \"e\", backend: OnnxRuntime(provider: x, x: 1)),
    ])";
    let problems = from_str(asking, "x.ron", Path::new(""), &[], &env()).unwrap_err();
    let known: Vec<&str> = problems
        .list()
        .iter()
        .flat_map(|problem| match &problem.kind {
            ProblemKind::UnknownField { known, .. } | ProblemKind::UnknownChoice { known, .. } => {
                known.clone()
            }
            _ => Vec::new(),
        })
        .collect();
    assert!(known.len() > 60, "{problems}");
    for name in known {
        let mentions = DOCS.match_indices(name).any(|(at, _)| {
            let boundary = |c: Option<char>| !c.is_some_and(|c| c.is_alphanumeric() || c == '_');
            boundary(DOCS[..at].chars().next_back()) && boundary(DOCS[at + name.len()..].chars().next())
        });
        assert!(mentions, "{name} is not in docs/scenarios.md");
    }
}

#[test]
fn every_metric_of_expectations_is_documented_where_scenarios_are_described() {
    let (_, after) = DOCS.split_once("### Expectations\n").unwrap();
    let (section, _) = after.split_once("\n### ").unwrap();
    for (line, least) in [("camera.nonsense < 1", 40), ("power.total.nonsense < 1W", 20)] {
        let error = jetlag::analysis::parse_expectation(line, &["camera"])
            .unwrap_err()
            .to_string();
        let (_, listed) = error.split_once("the metrics are ").unwrap();
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let words = listed.split(|c: char| !is_word(c)).filter(|word| word.len() > 1);
        let missing: Vec<&str> = words.clone().filter(|word| !section.contains(word)).collect();
        // What the list says of itself.
        let own = ["scenarios", "docs", "md", "without", "of"];
        let missing: Vec<&&str> = missing.iter().filter(|word| !own.contains(word)).collect();
        assert!(words.count() > least, "{listed}");
        assert!(missing.is_empty(), "{missing:?}");
    }
}

#[test]
fn what_is_declared_of_a_field_is_what_the_documentation_says_of_it() {
    use jetlag::scenario::{Arrival, GpuUse, LatencyModel, Overload, Scenario, Tenant};
    let fields = [Scenario::doc_rows(), Tenant::doc_rows(), GpuUse::doc_rows()];
    let choices = [
        Arrival::doc_rows(),
        Overload::doc_rows(),
        LatencyModel::doc_rows(),
    ];
    let fields = fields.iter().flatten().map(ToString::to_string);
    let rows: Vec<String> = fields
        .chain(choices.iter().flatten().map(ToString::to_string))
        .collect();
    assert!(rows.len() > 30, "{rows:?}");
    let missing: Vec<String> = rows
        .into_iter()
        .filter(|row| !DOCS.lines().any(|line| line == row))
        .collect();
    assert!(
        missing.is_empty(),
        "docs/scenarios.md has other lines than these, which follow from the declarations:\n{}",
        missing.join("\n")
    );
}
