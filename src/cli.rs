//! Argument types; no behaviour. Here are the commands; each group of them has its arguments in a file of its own.

mod annotate;
mod build;
mod counters;
mod data;
mod detectors;
mod init;
mod machine;
mod predict;
mod results;
mod roofline;
mod run;
mod sweep;
mod trace;
mod words;

use clap::{Parser, Subcommand, ValueEnum};

use crate::built;

pub use annotate::AnnotateArgs;
pub use build::{BuildArgs, CacheCommand, PlanArgs};
pub use counters::CountersArgs;
pub use data::{
    BagCompression, ConvertArgs, DataCommand, Levels, PruneMode, Storage, SynthArgs, SynthFormat,
    VariantsArgs,
};
pub use detectors::{CountedAs, EvalArgs, EvalMode, InspectArgs, OptimiserArg, ViewArgs, WorkRules};
pub use init::InitArgs;
pub use machine::{ClocksCommand, ClocksWhen, DoctorArgs, MonitorArgs, SelftestArgs, SelftestGroup};
pub use predict::{
    Features, PairsApply, PairsCommand, PairsEval, PairsFit, PredictApply, PredictCommand, PredictEval,
    PredictFit, PredictProtocol, PredictStage,
};
pub use results::{CompareArgs, Compat, ExportArgs, ExportFormat, ReportArgs, TrtexecArgs};
pub use roofline::{CeilingsArgs, CeilingsBackend, CeilingsOf, RooflineArgs};
pub use run::{DeployArgs, RunArgs, RunOptions, TenantProcessArgs, TracedPhasesArgs, WithParentArgs};
pub use sweep::{SweepArgs, SweepFormat};
pub use trace::{TraceArgs, TracedGraphs};
pub use words::{spelled_out, way};

/// Measure how late detectors run when they share this machine, why, and how much power they use.
#[derive(Debug, Parser)]
#[command(name = "jetlag", version, long_version = built::version(), max_term_width = 100, arg_required_else_help = true)]
#[command(
    after_help = "Start here:  jetlag demo          run two detectors on this machine for half a minute
             jetlag doctor        show what jetlag found on this machine and what it means"
)]
pub struct Cli {
    /// The subcommand.
    #[command(subcommand)]
    pub command: Command,
    /// Log more to stderr (-v info, -vv debug); RUST_LOG overrides it.
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub verbose: u8,
    /// When output is coloured [default: on a terminal, unless NO_COLOR is set].
    #[arg(
        long,
        global = true,
        value_enum,
        value_name = "WHEN",
        default_value_t,
        hide_default_value = true
    )]
    pub color: Colours,
}

/// When output is coloured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Colours {
    /// On a terminal, unless NO_COLOR is set.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// The subcommands of `jetlag`.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run a scenario, write a run file and print its summary; a network or a detector spec runs as one tenant.
    #[command(
        after_help = "Examples:  jetlag run configs/demo.ron --set duration=5s --set tenants.camera.arrival.hz=60
           jetlag run yolov8n.onnx                     one network on made inputs, in a closed loop
           jetlag run configs/matrix.ron --matrix      each tenant alone, every pair, and all together
           jetlag run configs/sim.ron --format github --junit results.xml   in a CI: docs/ci.md
Exit codes: 0 done; 1 failed, or a tenant failed or completed no frame; 2 wrong use or config;
            3 an expectation failed; 4 records were lost; 130 interrupted, results saved"
    )]
    Run(RunArgs),
    /// Run the built-in demo scenario; needs no file.
    #[command(after_help = "Example:  jetlag demo --set duration=5s")]
    Demo(RunOptions),
    /// Run any program and write a run file of it: its NVTX ranges, and its kernels, copies and CUDA calls.
    #[command(
        after_help = "Examples:  jetlag trace -o app.mcap -- python3 detect.py && jetlag report app.mcap --kernels
           jetlag trace --batch iteration --no-gpu -- ./app     ranges alone, without the tracer's cost
           jetlag trace -np 2 -ng 2 -w 1 -o out -- ./app        copies over processes and GPUs, CV-CUDA's files
Exit codes: the command's own; 128 + N if signal N ended it; 2 wrong use; 125 a failure of jetlag's own, or its
            library is missing; 126 the command cannot be started; 127 it was not found"
    )]
    Trace(Box<TraceArgs>),
    /// Print the summary of a run file, or write it as an HTML page.
    #[command(
        after_help = "Examples:  jetlag report runs/demo-20260101-120000.mcap --html demo.html
           jetlag report before.mcap after.mcap --html both.html    comparison, then each run
           jetlag report fp32.mcap fp16.mcap --layers               time per layer, side by side
           jetlag report runs/demo.mcap --budget 15W                when the module drew more than that
           jetlag report runs/demo.mcap --compat trtexec10 --tenant camera
           jetlag report --from-trtexec times.json                  from trtexec --exportTimes"
    )]
    Report(ReportArgs),
    /// Compare two runs, with confidence intervals; or run two scenarios in turns and compare them.
    #[command(after_help = "Examples:  jetlag compare runs/before.mcap runs/after.mcap
           jetlag compare --ab fp32.ron fp16.ron --rounds 5 --fail-if \"camera.response.p99 +5%\"
           jetlag compare 1-A.mcap,2-A.mcap 1-B.mcap,2-B.mcap          several runs per side
           jetlag compare fp32.mcap fp16.mcap --layers                 layer by layer, of traced runs
Exit codes: 0 done; 1 failed; 2 wrong use, or runs of which nothing that was asked for can be compared;
            3 a --fail-if applies, or cannot be decided; 130 interrupted; the finished runs were compared")]
    Compare(CompareArgs),
    /// Show how far networks and layers of runs are from what their device could reach, and what work costs in energy.
    #[command(
        after_help = "Examples:  jetlag roofline run.mcap                                  on a Jetson: its table of peaks
           jetlag ceilings -o host.json && jetlag roofline run.mcap --ceilings host.json --html roof.html
           jetlag roofline b1.mcap b8.mcap b32.mcap --board 'Jetson AGX Orin 64GB' --mode MAXN
What each figure means is in docs/models.md."
    )]
    Roofline(RooflineArgs),
    /// Measure what this machine reaches at most: arithmetic, memory, caches, copies.
    #[command(
        after_help = "Example:  jetlag ceilings -o host.json && jetlag roofline run.mcap --ceilings host.json"
    )]
    Ceilings(CeilingsArgs),
    /// Count what a GPU's hardware executes for a network: operations by pipe and bytes of memory, per kernel and layer.
    #[command(
        after_help = "Examples:  jetlag counters yolov8n.onnx -o yolo.json && jetlag roofline run.mcap --counters yolo.json
           jetlag counters net.onnx --shapes images:1x3x224x224 --shapes images:8x3x224x224 -o net.json
           jetlag counters --from ncu.csv                      a table that Nsight Compute wrote
           jetlag counters --list                              metrics, and what nvprof called them
It runs Nsight Compute (ncu). What each figure means is in docs/models.md."
    )]
    Counters(Box<CountersArgs>),
    /// Run a scenario with many values of its fields, interruptible at any moment; find knees and Pareto fronts.
    #[command(
        after_help = "Examples:  jetlag sweep configs/sweep.ron -o s              run all points; the same line goes on after a kill -9
           jetlag sweep s --pareto response.p99,miss_rate   points that no other beats, of a finished sweep
           jetlag sweep configs/sim.ron --knee 'tenants.camera.arrival.hz in 5..200' --while 'camera.response.p99 < 33ms' -o k
Exit codes: 0 done, also where points failed: they are rows; 1 failed; 2 wrong use, or nothing runs without --yes;
            130 interrupted; the same line goes on"
    )]
    Sweep(SweepArgs),
    /// Export a run as JSON, CSV, Parquet, Perfetto trace, Markdown or CV-CUDA benchmark.
    #[command(
        after_help = "Examples:  jetlag export runs/demo.mcap --format perfetto -o demo.perfetto-trace
           jetlag export runs/demo.mcap --format csv -o tables          frames, telemetry, layers
           jetlag export runs/demo.mcap --format cvcuda -o benchmark    one folder per tenant
           jetlag export --cvcuda-expand benchmark.json
Exit codes: 0 done; 1 failed; 2 wrong use; 4 done, but records were lost"
    )]
    Export(ExportArgs),
    /// Build TensorRT plans from a network or a detector's networks, using the plan cache.
    #[command(after_help = "Examples:  jetlag build engines/camera.ron --precision fp16
           jetlag build net.onnx --min-shapes images:1x3x640x640 --max-shapes images:8x3x640x640
           jetlag build engines/camera.ron --compute-capability 89 -o camera.plan   (TensorRT-RTX: no GPU needed)")]
    Build(Box<BuildArgs>),
    /// List or clean the plan cache.
    #[command(subcommand)]
    Cache(CacheCommand),
    /// Describe a file: a run, an ONNX network, a TensorRT plan or a detector spec.
    #[command(after_help = "Examples:  jetlag inspect engines/camera.onnx --profile 20
           jetlag inspect --work net.onnx --shape images:4x3x640x640 --as fp16")]
    Inspect(InspectArgs),
    /// Write a detector spec and a scenario for a network, from what its file tells.
    #[command(
        after_help = "Example:  jetlag init camera.onnx --images scenes/image_2 -o mine && jetlag run mine/camera-scenario.ron
A network that no head reads becomes a bare network: made inputs, time only."
    )]
    Init(InitArgs),
    /// Score what a detector or a run finds on labelled data: precision and recall; AP by KITTI's, nuScenes' or COCO's rules.
    #[command(
        after_help = "Examples:  jetlag data synth --out scenes --count 200 --seed 9001
           jetlag eval engines/camera.ron --data scenes
           jetlag eval engines/camera.ron --data scenes --backend 'TensorRt(build: \"--precision fp16\")'
           jetlag eval drive.mcap --mode stream --fail-if 'lidar.nds < 0.3'   answers as late as they came
           jetlag eval old.mcap --against new.mcap                            with the interval of the difference
Exit codes: 0 done; 1 failed; 2 wrong use; 3 a --fail-if applies, or its score is not known"
    )]
    Eval(EvalArgs),
    /// Draw a frame of a run as a picture: what was found, and the truth where it is known.
    #[command(after_help = "Example:  jetlag view drive.mcap --tenant lidar --frame 30 -o frame.png")]
    View(ViewArgs),
    /// Draw what a detector finds onto a video, and say how fast that is, part by part.
    #[command(
        after_help = "Examples:  jetlag annotate street.mp4 -o boxes.mp4 --detector builtin:camera
           jetlag annotate street.mp4 -o boxes.mp4 --detector builtin:camera --baseline 'Cpu(threads: 2)'
Exit codes: 0 done; 1 failed, or frames could not be read; 2 wrong use; 130 interrupted, the video has what was done"
    )]
    Annotate(AnnotateArgs),
    /// Predict latency, memory and energy of networks that were not run, from measurements of others.
    #[command(subcommand)]
    Predict(PredictCommand),
    /// Generate data for detectors, and make bags of recordings.
    #[command(subcommand)]
    Data(DataCommand),
    /// Run a scenario or a sweep on a board over ssh, and fetch the run file or the results.
    #[command(
        after_help = "Examples:  scripts/cross.sh && jetlag deploy nvidia@orin configs/demo.ron
           jetlag deploy nvidia@orin --fetch          fetch the last run, also after the connection was lost
           jetlag deploy nvidia@orin --sweep configs/sweep.ron   the same line goes on after an interruption
           jetlag deploy localhost configs/demo.ron --ssh-option Port=2222
Exit codes: as for run; 1 also if the board was not reached"
    )]
    Deploy(DeployArgs),
    /// Lock the machine's clocks at their maximum, and restore them.
    #[command(subcommand)]
    #[command(
        after_help = "Example:  sudo jetlag clocks max; jetlag run …; sudo jetlag clocks restore
A scenario with `clocks: Max` does this itself."
    )]
    Clocks(ClocksCommand),
    /// Watch power, clocks, load and temperatures: a dashboard on a terminal, else lines.
    #[command(after_help = "Example:  jetlag monitor
          jetlag monitor --record board.mcap --duration 60s
          jetlag monitor --from-tegrastats tegrastats.log --format json")]
    Monitor(MonitorArgs),
    /// Print a script that completes jetlag's words in a shell.
    #[command(
        after_help = "Examples:  jetlag completions bash      for ~/.local/share/bash-completion/completions/jetlag
           jetlag completions zsh       for a folder of $fpath, as _jetlag
           jetlag completions fish      for ~/.config/fish/completions/jetlag.fish"
    )]
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
    /// Replace this process by another program, which the kernel kills when the parent ends.
    #[command(hide = true)]
    WithParent(WithParentArgs),
    /// Run one tenant of a scenario for its parent process (`sharing: Processes`).
    #[command(hide = true)]
    TenantProcess(TenantProcessArgs),
    /// Run the traced phases of a scenario for its parent process (`trace: (…)`).
    #[command(hide = true)]
    TracedPhases(TracedPhasesArgs),
    /// Answer one question of `doctor --selftest` about a library or a sensor.
    #[command(hide = true)]
    SelftestProbe {
        /// The question.
        what: String,
    },
    /// Check CPU, GPU, CUDA, TensorRT and power sensors, and say what is missing; or test all of it.
    #[command(after_help = "Examples:  jetlag doctor --format json
           sudo jetlag doctor --selftest               test everything that can run here, in ten minutes
           jetlag doctor --selftest --only tensorrt
           jetlag doctor --measure                     compare copies, zero copy and managed memory
Exit codes: 0 nothing is missing; 1 something is missing that limits what can be measured;
            with --selftest: 0 no check failed; 3 a check failed; 130 interrupted, report written so far")]
    Doctor(DoctorArgs),
}

/// How results of runs are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ResultFormat {
    /// Tables for people.
    #[default]
    Text,
    /// JSON for programs.
    Json,
    /// Annotations for GitHub Actions: errors, warnings, and a notice for each tenant.
    Github,
    /// The tables in GitHub's Markdown, for a pull request or a wiki.
    Markdown,
}

impl From<Format> for ResultFormat {
    fn from(format: Format) -> Self {
        match format {
            Format::Text => ResultFormat::Text,
            Format::Json => ResultFormat::Json,
        }
    }
}

/// How results are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Tables for people.
    #[default]
    Text,
    /// JSON for programs.
    Json,
}

/// How results are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum TableFormat {
    /// Tables for people.
    #[default]
    Text,
    /// The same as Markdown, for a pull request.
    Markdown,
    /// JSON for programs.
    Json,
}
