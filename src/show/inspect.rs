//! What a file holds, as text: networks, detectors, time per node. Renders; the facts come from elsewhere.

use std::fmt::Write;
use std::path::Path;

use crate::backend::NodeTime;
use crate::detector::Detector;
use crate::detector::propose::{Confidence, Draft, Proposal};
use crate::engine::network::{NetworkFacts, Port};
use crate::shell;
use crate::source::ContentKind;
use crate::units::{Bytes, Nanos};

/// A network's inputs, outputs and operators, as text.
pub fn network(name: &str, facts: &NetworkFacts) -> String {
    let mut out = format!("{name}: ONNX network, {}\n\n", Bytes(facts.file_bytes));
    let opset = facts
        .opset
        .iter()
        .map(|(d, v)| format!("{d} {v}"))
        .collect::<Vec<_>>()
        .join(", ");
    let producer = facts.producer.as_deref().unwrap_or("unknown");
    let _ = writeln!(out, "  opset       {opset}   made by {producer}");
    let _ = writeln!(
        out,
        "  parameters  {} stored in the file",
        grouped(facts.parameters)
    );
    let _ = writeln!(
        out,
        "  blake3      {}",
        &facts.blake3[..16.min(facts.blake3.len())]
    );
    for file in &facts.external_data {
        let _ = writeln!(out, "  weights in  {file}");
    }
    ports(&mut out, "inputs", &facts.inputs);
    ports(&mut out, "outputs", &facts.outputs);
    let nodes: usize = facts.operators.values().sum();
    let mut operators: Vec<_> = facts.operators.iter().collect();
    operators.sort_by(|a, b| b.1.cmp(a.1).then(a.0.cmp(b.0)));
    let _ = writeln!(out, "\n  {nodes} nodes");
    for line in operators.chunks(4) {
        let cells: String = line
            .iter()
            .map(|(name, count)| format!("{count:>6} {name:<16}"))
            .collect();
        let _ = writeln!(out, "  {}", cells.trim_end());
    }
    out
}

/// What a network may be, best first, as text.
pub fn looks_like(file: &Path, proposals: &[Proposal]) -> String {
    let mut out = String::new();
    let name = shell::path(file);
    for (number, proposal) in proposals.iter().enumerate() {
        let begin = if number == 0 { "looks like" } else { "or like" };
        let _ = writeln!(out, "\n  {begin} {}", proposal.sentence());
    }
    if let Some(sure) = Confidence::of(proposals) {
        let _ = writeln!(out, "\n  {}", sure.sentence(&[]));
    }
    let does = match proposals.first() {
        None => "\n  looks like no detector that is known here".to_owned(),
        Some(best) if best.has_spec() => format!("\n  jetlag init {name} writes its spec and a scenario"),
        Some(Proposal {
            draft: Draft::Part(_),
            ..
        }) => {
            format!("\n  jetlag init {name} looks for its other half, and writes a spec of both")
        }
        Some(_) => String::new(),
    };
    if !does.is_empty() {
        let _ = writeln!(out, "{does}");
    }
    out
}

fn ports(out: &mut String, title: &str, ports: &[Port]) {
    let _ = writeln!(out, "\n  {title}");
    let width = ports.iter().map(|p| p.name.chars().count()).max().unwrap_or(0);
    for port in ports {
        let _ = writeln!(
            out,
            "    {:width$}  {} [{}]",
            port.name,
            port.element,
            port.shape.join(", ")
        );
    }
}

/// `1234567` as `1 234 567`.
fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(' ');
        }
        out.push(c);
    }
    out
}

/// A detector spec with what its network is asked for, as text.
pub fn detector(name: &str, detector: &Detector) -> String {
    let mut out = match detector.input {
        ContentKind::Empty => format!(
            "{name}: bare network {}, made inputs, time only\n\n",
            detector.name
        ),
        input => format!("{name}: detector {}, takes {input:?} frames\n\n", detector.name),
    };
    if !detector.classes.is_empty() {
        let _ = writeln!(out, "  classes   {}", shortened(&detector.classes));
    }
    for (i, engine) in detector.program.engines.iter().enumerate() {
        let _ = writeln!(out, "  engine {i}  {engine}");
    }
    let _ = writeln!(out, "  steps     {}", steps(detector));
    let _ = writeln!(out, "\n  tensors on the host");
    let width = detector
        .program
        .host_tensors
        .iter()
        .map(|t| t.name.len())
        .max()
        .unwrap_or(0);
    for tensor in &detector.program.host_tensors {
        let _ = writeln!(
            out,
            "    {:width$}  {} up to {}",
            tensor.name,
            tensor.element.name(),
            tensor.max_shape
        );
    }
    out
}

/// What a check of a detector against its networks found.
pub fn checked(problems: &[String], notes: &[String]) -> String {
    let mut out = String::new();
    for problem in problems {
        let _ = writeln!(out, "\n  problem: {problem}");
    }
    for note in notes {
        let _ = writeln!(out, "\n  note: {note}");
    }
    if problems.is_empty() {
        out += "\n  inputs, outputs and head go together, as far as the networks' files tell\n";
    }
    out
}

/// The steps of a detector's program, in words.
pub fn steps(detector: &Detector) -> String {
    use crate::backend::Step;
    let words: Vec<String> = detector
        .program
        .steps
        .iter()
        .map(|step| match step {
            Step::Engine(i) => format!("engine {i}"),
            Step::OfCamera { engine, camera } => format!("engine {engine} on camera {camera}"),
            Step::Host(step) => step.name().to_owned(),
        })
        .collect();
    words.join(" → ")
}

fn shortened(names: &[String]) -> String {
    match names {
        [] => "none".to_owned(),
        _ if names.len() <= 8 => names.join(", "),
        _ => format!("{}, … ({} in total)", names[..6].join(", "), names.len()),
    }
}

/// Median time per node over several executions, slowest first; at most `most` rows.
pub fn node_times(times: &[NodeTime], executions: u32, most: usize) -> String {
    let total: i64 = times.iter().map(|t| t.took.0).sum();
    let mut sorted: Vec<&NodeTime> = times.iter().collect();
    sorted.sort_by_key(|t| -t.took.0);
    let mut out = format!(
        "\n  time per node on the cpu backend, median of {executions}, one thread, one node at a time: {} in total\n",
        Nanos(total)
    );
    for time in sorted.iter().take(most) {
        let share = 100.0 * time.took.0 as f64 / total.max(1) as f64;
        let _ = writeln!(
            out,
            "  {:>10}  {share:5.1} %  {:<24} {}",
            time.took.to_string(),
            time.operator,
            time.name
        );
    }
    if sorted.len() > most {
        let rest: i64 = sorted[most..].iter().map(|t| t.took.0).sum();
        let _ = writeln!(
            out,
            "  {:>10}           {} more nodes",
            Nanos(rest).to_string(),
            sorted.len() - most
        );
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_counts_are_grouped_by_thousands() {
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(999), "999");
        assert_eq!(grouped(1_234_567), "1 234 567");
    }

    #[test]
    fn slow_nodes_come_first_and_the_rest_is_summed_up() {
        let time = |name: &str, us| NodeTime {
            name: name.to_owned(),
            operator: "Conv".to_owned(),
            took: Nanos::from_micros(us),
        };
        let text = node_times(&[time("a", 1), time("b", 97), time("c", 2)], 5, 1);
        assert!(
            text.contains("97.0 %") && text.contains(" b\n") && text.contains("2 more nodes"),
            "{text}"
        );
    }
}
