//! Prints the work of networks: `cargo run --example work -- NET.onnx [NAME=SIZE] [tensor:1x3x224x224] [--json] [--as fp16]
//! [--training] [--pagoda]`.

use std::io::Write as _;

use jetlag_work::{As, Given, Graph, Optimiser, Options, WorkError, pagoda, text, work};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut given = Given::default();
    let mut options = Options::default();
    let (mut files, mut as_json, mut as_pagoda) = (Vec::new(), false, false);
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match &*argument {
            "--json" => as_json = true,
            "--pagoda" => as_pagoda = true,
            "--training" => options.training = Some(Optimiser::Adam),
            "--as" => {
                options.element = match arguments.next().as_deref() {
                    Some("fp16") => As::Fp16,
                    Some("int8") => As::Int8,
                    _ => As::Stored,
                }
            }
            _ if std::path::Path::new(&argument).exists() => files.push(argument),
            _ if argument.contains(':') => given.shape(&argument)?,
            _ => given.dim(&argument)?,
        }
    }
    let mut out = std::io::stdout().lock();
    for file in files {
        let result = Graph::open(&file).and_then(|graph| {
            if as_pagoda {
                let made = pagoda(&graph, &given, 1, false)?;
                return Ok(serde_json::to_string(&made).unwrap_or_default());
            }
            let made = work(&graph, &given, &options)?;
            Ok(match as_json {
                true => serde_json::to_string(&made).unwrap_or_default(),
                false => text(&made, 100),
            })
        });
        match (result, as_json) {
            (Ok(text), _) => writeln!(out, "{text}")?,
            (Err(error), true) => writeln!(
                out,
                "{}",
                serde_json::json!({ "error": error.to_string(), "kind": kind(&error) })
            )?,
            (Err(error), false) => writeln!(out, "{file}: {error}")?,
        }
    }
    Ok(())
}

fn kind(error: &WorkError) -> String {
    format!("{error:?}")
        .chars()
        .take_while(|letter| letter.is_alphanumeric())
        .collect()
}
