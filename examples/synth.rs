//! Writes synthetic scenes: `synth OUT COUNT SEED START`.
fn main() -> anyhow::Result<()> {
    let args: Vec<String> = std::env::args().collect();
    let number = |i: usize| args[i].parse::<u64>();
    jetlag::commands::data::synth(std::path::Path::new(&args[1]), number(2)?, number(3)?, number(4)?)
}
