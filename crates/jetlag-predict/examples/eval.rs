//! `cargo run --release -p jetlag-predict --example eval -- DIR [--perf4sight] [--same|--pooled|--unseen] [--fit DIR2] [--seed N] [--json]`

#![allow(clippy::print_stdout, reason = "an example prints")]

use jetlag_predict::{EvalOptions, FeatureSet, Protocol, dataset, eval, text};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut options = EvalOptions::default();
    let (mut folder, mut fit, mut json) = (None, None, false);
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--perf4sight" => options.fit.features = FeatureSet::Perf4sight,
            "--same" => options.protocol = Protocol::SameNetwork,
            "--pooled" => options.protocol = Protocol::Pooled,
            "--unseen" => options.protocol = Protocol::LeaveOneNetworkOut,
            "--fit" => fit = arguments.next(),
            "--seed" => options.fit.seed = arguments.next().ok_or("a seed is missing")?.parse()?,
            "--json" => json = true,
            _ => folder = Some(argument),
        }
    }
    let data = dataset::open(folder.ok_or("a folder is missing")?.as_ref())?;
    let fit = fit.map(|fit| dataset::open(fit.as_ref())).transpose()?;
    let found = eval(&data, fit.as_ref(), &options)?;
    match json {
        true => println!("{}", serde_json::to_string_pretty(&found)?),
        false => print!("{}", text::evaluation(&found)),
    }
    Ok(())
}
