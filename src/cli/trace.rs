//! What `jetlag trace` takes.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// Arguments of `jetlag trace`.
#[derive(Debug, Args)]
pub struct TraceArgs {
    /// Path of the run file [default: runs/PROGRAM-TIME.mcap]; with -np, -ng or -go, also of one copy, of a folder for the files of
    /// all copies [default: runs/PROGRAM-TIME].
    #[arg(short, long, value_name = "PATH")]
    pub out: Option<PathBuf>,
    /// Overwrite the run file that --out names, or the files of the earlier copies in its folder.
    #[arg(long, requires = "out")]
    pub force: bool,
    /// The name of the NVTX ranges that are batches: each becomes a frame. An index may follow: batch_7.
    #[arg(long, value_name = "NAME", default_value = "batch")]
    pub batch: String,
    /// What is recorded of CUDA graphs.
    #[arg(long, value_enum, default_value_t)]
    pub graphs: TracedGraphs,
    /// Take in NVTX ranges alone, and do not trace the GPU: response times without the tracer's cost.
    #[arg(long, conflicts_with = "graphs")]
    pub no_gpu: bool,
    /// Start so many copies on each GPU (also -np) [default: 1].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=64))]
    pub np: Option<u16>,
    /// Use so many GPUs, one for each copy (also -ng) [default: 1].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=64))]
    pub ng: Option<u16>,
    /// The first of these GPUs (also -go) [default: 0].
    #[arg(long, value_name = "GPU")]
    pub go: Option<u16>,
    /// Batches at the start of each process that are in no figure; CV-CUDA's files leave as many out at the end, too
    /// [default: 0; 1 with -np, -ng or -go].
    #[arg(short, long, value_name = "N")]
    pub warmup_batches: Option<u64>,
    /// Trace nothing: make the run files of traces that were killed, of what their processes wrote until then. Each trace does so before
    /// it starts its command.
    #[arg(long, exclusive = true)]
    pub recover: bool,
    /// Of jetlag's own use: once the trace that writes into this folder was killed, and standard input has ended with it, make its run
    /// file.
    #[arg(long, hide = true, exclusive = true, value_name = "FOLDER")]
    pub succeed: Option<PathBuf>,
    /// The command and its arguments.
    #[arg(last = true, required_unless_present_any = ["recover", "succeed"], value_name = "COMMAND")]
    pub command: Vec<OsString>,
}

impl TraceArgs {
    /// Whether copies are started, as CV-CUDA's launcher does, be it one: whoever says how many gets the launcher's files.
    pub fn is_launch(&self) -> bool {
        self.np.or(self.ng).or(self.go).is_some()
    }

    /// Batches of each process that are in no figure.
    pub fn warmup(&self) -> u64 {
        self.warmup_batches.unwrap_or(u64::from(self.is_launch()))
    }
}

/// What is recorded of CUDA graphs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum TracedGraphs {
    /// Each node, as work of its own.
    #[default]
    Nodes,
    /// Each launch as a whole; costs less.
    Whole,
}

/// The options that CV-CUDA's launcher has, as clap knows them: `-np 2` is `--np 2`. Only before the command.
pub(super) fn as_the_launcher(mut arguments: Vec<OsString>) -> Vec<OsString> {
    for argument in arguments.iter_mut().take_while(|argument| *argument != "--") {
        for (short, long) in [("-np", "--np"), ("-ng", "--ng"), ("-go", "--go")] {
            if argument == short {
                *argument = long.into();
            }
        }
    }
    arguments
}

#[cfg(test)]
mod tests {
    use super::super::spelled_out;
    use super::*;

    fn spelled(line: &str) -> String {
        let words = line.split(' ').map(OsString::from);
        let found: Vec<String> = spelled_out(words)
            .into_iter()
            .map(|word| word.to_string_lossy().into_owned())
            .collect();
        found.join(" ")
    }

    #[test]
    fn options_of_the_launcher_are_known_before_the_command_alone() {
        assert_eq!(
            spelled("jetlag -v trace -np 2 -ng 3 -o a -- app -np 4"),
            "jetlag -v trace --np 2 --ng 3 -o a -- app -np 4"
        );
        assert_eq!(spelled("jetlag report -np"), "jetlag report -np");
    }
}
