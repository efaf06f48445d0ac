//! Prints the response time of each frame of a run file, in milliseconds.

use jetlag_record::{Event, Outcome, RunReader};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args_os().nth(1).ok_or("usage: frames RUN.mcap")?;
    let mut run = RunReader::open(path.as_ref())?;
    let names: Vec<String> = run.manifest().tenants.iter().map(|tenant| tenant.name.clone()).collect();
    for event in &mut run {
        let Event::Frame(frame) = event? else { continue };
        // Frames of jetlag's own null tenant have no name.
        if let (Outcome::Completed, Some(name)) = (frame.outcome, names.get(usize::from(frame.tenant))) {
            println!("{name} {} {:.3}", frame.sequence, frame.response().as_millis_f64());
        }
    }
    Ok(())
}
