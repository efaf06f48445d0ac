//! Prints a file of tegrastats lines as a JSON list: one entry a line, `null` for a line that gives no sample.
//! Why it gives none goes to standard error.
//!
//! `cargo run -p tegrastats-parser --example to_json -- tegrastats.log` (`-` reads standard input)

mod json;

use std::io::{self, BufWriter, Read, Write};
use std::process::ExitCode;

fn main() -> ExitCode {
    let Some(path) = std::env::args().nth(1) else {
        let _ = writeln!(io::stderr(), "usage: to_json FILE (- for standard input)");
        return ExitCode::from(2);
    };
    match print(&path) {
        Ok(()) => ExitCode::SUCCESS,
        // Who reads us has seen enough (`| head`).
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(io::stderr(), "{path}: {error}");
            ExitCode::FAILURE
        }
    }
}

fn print(path: &str) -> io::Result<()> {
    let mut bytes = Vec::new();
    if path == "-" {
        io::stdin().read_to_end(&mut bytes)?;
    } else {
        bytes = std::fs::read(path)?;
    }
    let text = String::from_utf8_lossy(&bytes);
    let mut out = BufWriter::new(io::stdout().lock());
    write!(out, "[")?;
    let mut separator = "\n ";
    for (index, line) in text.lines().enumerate() {
        let entry = match tegrastats_parser::parse_line(line) {
            Ok(sample) => json::object(&sample),
            Err(error) => {
                writeln!(io::stderr(), "{path}:{}: {error}", index + 1)?;
                "null".to_owned()
            }
        };
        write!(out, "{separator}{entry}")?;
        separator = ",\n ";
    }
    writeln!(out, "\n]")?;
    out.flush()
}
