//! Writes the journal of a sweep of 10 000 points with 200 figures each, to see how long a table takes:
//!
//! ```text
//! cargo run --release -p jetlag-sweep --example thousands -- big && time jetlag sweep big > big.txt
//! ```

use std::collections::BTreeMap;
use std::error::Error;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::PathBuf;

use jetlag_figure::Unit;
use jetlag_sweep::journal::{Entry, FORMAT, Header, RunEntry, encode};
use jetlag_sweep::{Axis, Column, Estimate, Plan};

const FIGURES: u32 = 200;

fn main() -> Result<(), Box<dyn Error>> {
    let folder = PathBuf::from(std::env::args().nth(1).ok_or("name the folder")?);
    std::fs::create_dir_all(&folder)?;
    let axis = |set: &str, count: u32| Axis {
        set: set.to_owned(),
        values: (1..=count).map(|n| n.to_string()).collect(),
        till_first_fail: false,
    };
    let plan = Plan {
        axes: vec![axis("tenants.camera.arrival.hz", 100), axis("seed", 100)],
        ..Plan::default()
    };
    let mut out = BufWriter::new(File::create(folder.join("journal.jsonl"))?);
    let mut put =
        |entry: Entry| -> Result<(), Box<dyn Error>> { Ok(out.write_all(encode(&entry)?.as_bytes())?) };
    put(Entry::Sweep(Header {
        format: FORMAT,
        jetlag: env!("CARGO_PKG_VERSION").to_owned(),
        base: "made.ron".to_owned(),
        base_hash: String::new(),
        plan: plan.clone(),
        files: BTreeMap::new(),
        limit_s: None,
        knee: None,
    }))?;
    let names = (0..FIGURES).map(|n| match n {
        0 => Column::new("camera.response.p50", Unit::Ms),
        1 => Column::new("camera.response.p99", Unit::Ms),
        2 => Column::new("camera.throughput", Unit::Fps),
        n => Column::new(format!("camera.stages.stage{n}.p90"), Unit::Ms),
    });
    put(Entry::Columns {
        id: 0,
        columns: names.collect(),
    })?;
    for (number, point) in plan.points()?.into_iter().enumerate() {
        // Six decimals, as summaries have them.
        let six = |value: f64| (value * 1e6).round() / 1e6;
        let value = |figure: u32| six(5.0 + f64::from(figure) / 7.0 + (number as f64 * 0.618).fract());
        put(Entry::Run(RunEntry {
            point: point.id(),
            settings: point.settings,
            repeat: 0,
            seed: Some(7),
            began_unix_s: 1.8e9,
            took_s: 0.25,
            file: Some(format!("runs/{number}.mcap")),
            failed: None,
            findings: Vec::new(),
            networks: BTreeMap::new(),
            columns: Some(0),
            figures: (0..FIGURES)
                .map(|figure| {
                    Estimate::with(
                        value(figure),
                        six(value(figure) * 0.97),
                        six(value(figure) * 1.04),
                    )
                })
                .collect(),
        }))?;
    }
    out.flush()?;
    Ok(())
}
