//! Words that other programs have, and that people type: what is plainly meant is done, and of others the way is named.

use std::ffi::OsString;

use super::trace;

/// Verbs that write results as text or JSON, and have no other output of that name.
const WITH_FORMAT: [&str; 9] = [
    "run", "demo", "report", "compare", "inspect", "eval", "monitor", "doctor", "deploy",
];

/// Number formats as trtexec spells them, and as `--precision` does.
const PRECISIONS: [(&str, &str); 6] = [
    ("--fp16", "fp16"),
    ("--bf16", "bf16"),
    ("--int8", "int8"),
    ("--fp8", "fp8"),
    ("--best", "best"),
    ("--stronglyTyped", "strongly-typed"),
];

/// Options of other programs, and where that is said here.
const WAYS: [(&[&str], &str); 9] = [
    (
        &["--fp16", "--bf16", "--int8", "--fp8", "--best", "--precision"],
        "precision belongs to a plan: --set 'tenants.NAME.backend=TensorRt(build: \"--precision fp16\")', or jetlag build SPEC --precision fp16",
    ),
    (
        &["--iterations", "--frames", "--count"],
        "frames belong to a tenant: --set tenants.NAME.frames=100",
    ),
    (&["--warmup", "--warmUp"], "--set warmup=2s"),
    (
        &["--hz", "--rate", "--fps"],
        "rates belong to a tenant: --set 'tenants.NAME.arrival=Periodic(hz: 30)'",
    ),
    (&["--seed"], "--set seed=7"),
    (
        &["--backend", "--device"],
        "backends belong to a tenant: --set 'tenants.NAME.backend=TensorRt()'",
    ),
    (
        &["--useCudaGraph", "--graph"],
        "graphs belong to a tenant: --set tenants.NAME.graph=On",
    ),
    (
        &["--loadEngine", "--plan"],
        "plans belong to a tenant: --set 'tenants.NAME.backend=TensorRt(plans: [\"net.plan\"])'",
    ),
    (
        &["--onnx", "--model"],
        "name the network itself: jetlag run NET.onnx",
    ),
];

/// The command line as clap knows it: options of CV-CUDA's launcher and of trtexec, `--output json`.
pub fn spelled_out(arguments: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    match verb(&arguments).as_deref() {
        Some("trace") => trace::as_the_launcher(arguments),
        Some("build") => precisions(arguments),
        Some(verb) if WITH_FORMAT.contains(&verb) => {
            let arguments = formats(arguments);
            match verb {
                "run" => of_a_network(arguments),
                _ => arguments,
            }
        }
        _ => arguments,
    }
}

/// Where something that `verb` does not take is said here, in a sentence.
pub fn way(arguments: &[OsString], unknown: &str) -> Option<&'static str> {
    let verb = verb(arguments)?;
    if !matches!(verb.as_str(), "run" | "demo" | "compare" | "deploy") {
        return None;
    }
    let name = unknown.split('=').next().unwrap_or(unknown);
    WAYS.iter()
        .find(|(names, _)| names.contains(&name))
        .map(|(_, way)| *way)
}

fn verb(arguments: &[OsString]) -> Option<String> {
    let mut words = arguments
        .iter()
        .skip(1)
        .map(|argument| argument.to_string_lossy());
    words
        .find(|word| !word.starts_with('-'))
        .map(|word| word.into_owned())
}

/// `--output json`, and `--json`: how results are written.
fn formats(arguments: Vec<OsString>) -> Vec<OsString> {
    let mut out: Vec<OsString> = Vec::with_capacity(arguments.len());
    let mut rest = arguments.into_iter().peekable();
    while let Some(argument) = rest.next() {
        let is_format = |word: &OsString| word == "json" || word == "text";
        match argument.to_str() {
            Some("--") => {
                out.push(argument);
                out.extend(rest);
                break;
            }
            Some("--output") if rest.peek().is_some_and(is_format) => out.push("--format".into()),
            Some("--output=json" | "--json") => out.extend(["--format", "json"].map(OsString::from)),
            Some("--output=text") => out.extend(["--format", "text"].map(OsString::from)),
            _ => out.push(argument),
        }
    }
    out
}

/// `--fp16` is `--precision fp16`.
fn precisions(arguments: Vec<OsString>) -> Vec<OsString> {
    let spelled = |argument: OsString| match PRECISIONS.iter().find(|(theirs, _)| argument == *theirs) {
        Some((_, ours)) => vec!["--precision".into(), (*ours).into()],
        None => vec![argument],
    };
    arguments.into_iter().flat_map(spelled).collect()
}

/// Of a network alone there is one tenant, so `--fp16` is meant for its plan.
fn of_a_network(arguments: Vec<OsString>) -> Vec<OsString> {
    let is_network = |argument: &OsString| argument.to_string_lossy().to_ascii_lowercase().ends_with(".onnx");
    if !arguments.iter().skip(1).any(is_network) {
        return arguments;
    }
    let spelled = |argument: OsString| match PRECISIONS.iter().find(|(theirs, _)| argument == *theirs) {
        Some((_, ours)) => {
            let set = format!("tenants.0.backend=TensorRt(build: \"--precision {ours}\")");
            vec!["--set".into(), set.into()]
        }
        None => vec![argument],
    };
    arguments.into_iter().flat_map(spelled).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spelled(line: &str) -> String {
        let found: Vec<String> = spelled_out(line.split(' ').map(OsString::from))
            .into_iter()
            .map(|word| word.to_string_lossy().into_owned())
            .collect();
        found.join(" ")
    }

    #[test]
    fn words_of_other_programs_are_taken_where_they_are_plain() {
        for (typed, meant) in [
            ("jetlag run s.ron --output json", "jetlag run s.ron --format json"),
            (
                "jetlag report --json a.mcap",
                "jetlag report --format json a.mcap",
            ),
            (
                "jetlag export a.mcap --output json",
                "jetlag export a.mcap --output json",
            ),
            ("jetlag run s.ron --output x", "jetlag run s.ron --output x"),
            (
                "jetlag build net.onnx --fp16",
                "jetlag build net.onnx --precision fp16",
            ),
            (
                "jetlag run net.onnx --best",
                "jetlag run net.onnx --set tenants.0.backend=TensorRt(build: \"--precision best\")",
            ),
            ("jetlag run s.ron --fp16", "jetlag run s.ron --fp16"),
            (
                "jetlag -v trace -np 2 -- app --json",
                "jetlag -v trace --np 2 -- app --json",
            ),
            (
                "jetlag with-parent 1 app --json",
                "jetlag with-parent 1 app --json",
            ),
        ] {
            assert_eq!(spelled(typed), meant);
        }
    }

    #[test]
    fn of_other_words_the_way_is_named() {
        let way = |line: &str, unknown| {
            super::way(&line.split(' ').map(OsString::from).collect::<Vec<_>>(), unknown)
        };
        assert!(way("jetlag run s.ron --fp16", "--fp16").is_some_and(|way| way.contains("--precision fp16")));
        assert!(
            way("jetlag run s.ron --iterations=10", "--iterations=10")
                .is_some_and(|way| way.contains("frames=100"))
        );
        assert_eq!(way("jetlag run s.ron --nonsense", "--nonsense"), None);
        assert_eq!(way("jetlag doctor --fp16", "--fp16"), None);
    }
}
