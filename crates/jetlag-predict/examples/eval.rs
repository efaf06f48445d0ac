//! `cargo run --release -p jetlag-predict --example eval -- DIR [--perf4sight] [--same|--pooled|--unseen] [--fit DIR2] [--seed N] [--json] [--save FILE]`; the last
//! fits all rows of DIR, and writes the model.

#![allow(clippy::print_stdout, reason = "an example prints")]

use jetlag_figure::section::markdown;
use jetlag_predict::{EvalOptions, FeatureSet, Protocol, dataset, eval, sections};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut options = EvalOptions::default();
    let (mut folder, mut fit, mut json) = (None, None, false);
    let mut save: Option<String> = None;
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--perf4sight" => options.fit.features = Some(FeatureSet::Perf4sight),
            "--jetlag" => options.fit.features = Some(FeatureSet::Jetlag),
            "--both" => options.fit.features = Some(FeatureSet::Both),
            "--same" => options.protocol = Protocol::SameNetwork,
            "--pooled" => options.protocol = Protocol::Pooled,
            "--unseen" => options.protocol = Protocol::LeaveOneNetworkOut,
            "--fit" => fit = arguments.next(),
            "--seed" => options.fit.seed = arguments.next().ok_or("a seed is missing")?.parse()?,
            "--json" => json = true,
            "--save" => save = arguments.next(),
            _ => folder = Some(argument),
        }
    }
    let data = dataset::open(folder.ok_or("a folder is missing")?.as_ref())?;
    if let Some(path) = save {
        let begin = std::time::Instant::now();
        let model = jetlag_predict::fit(&data, &options.fit)?;
        let took = begin.elapsed();
        model.save(path.as_ref())?;
        let begin = std::time::Instant::now();
        jetlag_predict::Model::load(path.as_ref())?;
        let bytes = std::fs::metadata(&path)?.len();
        print!("{}", markdown::section(&sections::model(&model)));
        println!(
            "fitted in {took:.1?}, {bytes} bytes, read in {:.1?}",
            begin.elapsed()
        );
        return Ok(());
    }
    let fit = fit.map(|fit| dataset::open(fit.as_ref())).transpose()?;
    let found = eval(&data, fit.as_ref(), &options)?;
    match json {
        true => println!("{}", serde_json::to_string_pretty(&found)?),
        false => print!("{}", markdown::section(&sections::evaluation(&found))),
    }
    Ok(())
}
