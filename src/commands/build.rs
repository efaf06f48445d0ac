//! `jetlag build NETWORK_OR_DETECTOR`: TensorRT plans, through the plan cache.
//!
//! ```text
//! $ jetlag build engines/camera.ron --compute-capability 89 -o camera.plan
//! camera.plan: built in 1.2 s by TensorRT-RTX 1.7.1.116 for compute capability 8.9
//! ```
//!
//! Everything that can be refused is refused before anything is built, all at once. A plan that the cache holds
//! already is taken from there. The first Ctrl-C stops a build cleanly, the second ends the program.

mod jobs;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::calibration::DetectorFrames;
use super::opening;
use super::outcome::{Outcome, WrongUse};
use super::output::{print, say};
use super::signals::stop_on_signals;
use crate::backend::tensorrt::build::{self, BuildError, Built, Request};
use crate::backend::tensorrt::calibrate::{FrameCalibrator, Problem};
use crate::backend::tensorrt::{self, BuildProgress, Library};
use crate::board;
use crate::cli::{BuildArgs, Format, PlanArgs};
use crate::engine::cache::{self, CacheError, CachedPlan, PlanCache, PlanKey};
use crate::engine::manifest::{PlanManifest, Target};
use crate::files;
use crate::gpu;
use crate::show::plan::{self as show, Finished};
use crate::shown::shown;
use crate::whole::write_whole;
use jobs::{Job, jobs, options, plan_name};

pub(super) use jobs::Input;

/// Between two steps of a spinner.
const SPINNING: std::time::Duration = std::time::Duration::from_millis(120);

/// Builds what the arguments ask for.
///
/// # Errors
/// [`WrongUse`] for options that cannot be, all at once; failures of the library in its own words.
pub fn run(args: &BuildArgs) -> anyhow::Result<Outcome> {
    let finished = match Input::read(&args.input)
        .map_err(Into::into)
        .and_then(|input| plans(&input, &args.plan))
    {
        Ok(finished) => finished,
        Err(error) if was_interrupted(&error) => {
            say(&error.to_string());
            return Ok(Outcome::Interrupted);
        }
        Err(error) => return Err(error),
    };
    match args.plan.format {
        Format::Text => print(&show::finished(&finished))?,
        Format::Json => print(&(serde_json::to_string_pretty(&show::finished_json(&finished))? + "\n"))?,
    }
    Ok(Outcome::Done)
}

/// The plans that the input and the arguments ask for, in the order of the detector's networks; built, or found in the cache.
///
/// # Errors
/// As [`run`]; an interrupted build is an error too.
pub(super) fn plans(input: &Input, args: &PlanArgs) -> anyhow::Result<Vec<Finished>> {
    let Prepared {
        library,
        jobs,
        device,
        target,
        cache,
    } = prepare(input, args)?;
    let stop = stop_where_it_is_clean(library)?;
    let ordinal = device.as_ref().ok().map(|device| device.ordinal);
    let session = Session {
        library,
        target,
        ordinal,
        missing_gpu: device.err(),
        cache: &cache,
        input,
        args,
        stop,
    };
    jobs.into_iter()
        .map(|job| session.build(job).map_err(wrong_use))
        .collect()
}

/// The networks of these whose plan the cache does not hold yet, by name; nothing is built.
///
/// # Errors
/// As [`plans`], as far as it can be told without building.
pub(super) fn unbuilt(input: &Input, args: &PlanArgs) -> anyhow::Result<Vec<String>> {
    let prepared = prepare(input, args)?;
    let builder = tensorrt::describe(prepared.library.version());
    let is_unbuilt = |job: &Job| {
        let key = PlanKey::new(&job.identity.blake3, &job.options, &builder, &prepared.target);
        args.no_cache || prepared.cache.find(&key).is_none()
    };
    let jobs = prepared.jobs.iter().filter(|job| is_unbuilt(job));
    Ok(jobs.map(|job| job.identity.name.clone()).collect())
}

/// Everything that is decided before anything is built.
struct Prepared {
    library: Library,
    jobs: Vec<Job>,
    device: Result<gpu::Device, gpu::GpuError>,
    target: Target,
    cache: PlanCache,
}

fn prepare(input: &Input, args: &PlanArgs) -> anyhow::Result<Prepared> {
    let options = options(input, args)?;
    let mut jobs = jobs(input, args, &options)?;
    let library = tensorrt::find(args.tensorrt.as_deref())?;
    // Without profiles, or where they are shared, one plan serves any number.
    let shares = !build::wants_a_profile_each(library);
    for job in jobs
        .iter_mut()
        .filter(|job| shares || job.options.profiles.is_empty())
    {
        job.options.contexts = 0;
    }
    for job in jobs.iter_mut().filter(|job| !job.options.version_compatible) {
        // As trtexec does; the plan's manifest then says that loading it needs them too.
        let own = build::nvidias_plugins(library, &job.facts);
        let given = &job.options.plugins;
        let own = own.filter(|own| !given.iter().any(|file| file.file_name() == own.file_name()));
        job.options.plugins.extend(own);
    }
    let device = gpu::numbered(args.gpu.unwrap_or(0));
    if let Err(error @ gpu::GpuError::NoSuchDevice { .. }) = &device {
        return Err(WrongUse(error.to_string()).into());
    }
    let mut problems = Vec::new();
    for job in &jobs {
        let of = if jobs.len() > 1 {
            format!("{}: ", job.identity.name)
        } else {
            String::new()
        };
        let found = build::refusals(library, &job.options, &job.facts, device.as_ref().ok());
        problems.extend(found.into_iter().map(|problem| format!("{of}{problem}")));
    }
    if args.timing_cache.is_some() && !build::keeps_timings(library) {
        problems.push(format!(
            "{} does not time kernels, so there is no timing cache",
            library.version()
        ));
    }
    problems.dedup();
    if !problems.is_empty() {
        return Err(WrongUse(format!("cannot build this:\n  - {}", problems.join("\n  - "))).into());
    }
    let target = match &device {
        _ if !options.compute_capabilities.is_empty() => {
            Target::ComputeCapabilities(options.compute_capabilities.clone())
        }
        Ok(device) => Target::Gpu {
            name: device.name.clone(),
            compute_capability: device.compute_capability,
            // All Orins have one name, and the power mode decides how much of one is on.
            multiprocessors: device.is_integrated.then_some(device.multiprocessors),
            off: match device.is_integrated {
                true => board::tpc_mask(&board::Roots::system()),
                false => None,
            },
        },
        // The library will say that it needs one, in its own words.
        Err(_) => Target::Gpu {
            name: "no GPU".to_owned(),
            compute_capability: 0,
            multiprocessors: None,
            off: None,
        },
    };
    let cache = PlanCache::new(args.cache.clone().unwrap_or_else(cache::default_folder));
    Ok(Prepared {
        library,
        jobs,
        device,
        target,
        cache,
    })
}

/// Options that only the parsed network showed to be impossible are wrong use as well.
fn wrong_use(error: anyhow::Error) -> anyhow::Error {
    match error.downcast_ref() {
        Some(BuildError::Refused { .. }) => WrongUse(error.to_string()).into(),
        _ => error,
    }
}

/// What all builds of one command share.
struct Session<'a> {
    library: Library,
    target: Target,
    /// The GPU that is built on; none where there is none.
    ordinal: Option<u16>,
    missing_gpu: Option<gpu::GpuError>,
    cache: &'a PlanCache,
    input: &'a Input,
    args: &'a PlanArgs,
    stop: Arc<AtomicBool>,
}

impl Session<'_> {
    fn build(&self, job: Job) -> anyhow::Result<Finished> {
        let builder = tensorrt::describe(self.library.version());
        let key = PlanKey::new(&job.identity.blake3, &job.options, &builder, &self.target);
        let (output, name) = (job.output.clone(), job.identity.name.clone());
        if self.args.no_cache {
            let path = output.unwrap_or_else(|| plan_name(&job.source));
            let built = self.make(job)?;
            write(&path, built.plan.bytes(), &built.manifest)?;
            return Ok(Finished {
                path,
                was_cached: false,
                manifest: built.manifest,
            });
        }
        // Held until the plan is stored: another process that wants the same waits, and finds it.
        let _lock = self.cache.lock(&key, || !self.stop.load(Ordering::Relaxed))?;
        let found = self.cache.find(&key);
        let was_cached = found.is_some();
        let CachedPlan { path, mut manifest } = match found {
            Some(plan) => plan,
            None => {
                let built = self.make(job)?;
                self.cache.store(&key, built.plan.bytes(), &built.manifest)?
            }
        };
        // The same content may have been built under another name.
        manifest.network.name = name;
        manifest.arguments = arguments();
        let Some(output) = output else {
            return Ok(Finished {
                path,
                was_cached,
                manifest,
            });
        };
        let plan =
            files::read(&path, files::NETWORK).with_context(|| format!("cannot read {}", path.display()))?;
        write(&output, &plan, &manifest)?;
        Ok(Finished {
            path: output,
            was_cached,
            manifest,
        })
    }

    fn make(&self, job: Job) -> anyhow::Result<Built> {
        let timings = self.timing_cache();
        let earlier = timings
            .as_ref()
            .map(|file| files::read(file, files::NETWORK).unwrap_or_default());
        let (calibrator, calibration) = self.calibrator(&job)?.unzip();
        let bar = progress_bar(&job.identity.name, self.args.quiet);
        if !build::can_be_stopped(self.library) {
            let last = self.cache.last_build_seconds(&job.identity.blake3);
            without_progress(&bar, &self.library.version().to_string(), last);
        }
        let shown = bar.clone();
        let request = Request {
            network: &job.source,
            identity: job.identity,
            facts: &job.facts,
            options: job.options,
            arguments: arguments(),
            target: self.target.clone(),
            gpu: self.ordinal,
            timing_cache: earlier,
            watch: Some(Box::new(move |progress| show_progress(&shown, progress))),
            stop: Arc::clone(&self.stop),
            calibrator,
        };
        let built = build::build(self.library, request);
        bar.finish_and_clear();
        // A plan of too few frames is no plan of what was asked for.
        if let Some(problem) = calibration.and_then(|problem| problem.lock().ok()?.take()) {
            anyhow::bail!("the calibration failed, so no plan was written: {problem}");
        }
        let built = built.map_err(|error| match (&error, &self.missing_gpu) {
            (BuildError::Library { .. }, Some(missing)) if self.args.compute_capabilities.is_empty() => {
                anyhow::anyhow!("{missing}; {error}")
            }
            _ => error.into(),
        })?;
        if let (Some(file), Some(bytes)) = (timings, &built.timing_cache) {
            let folder = file.parent().unwrap_or(Path::new("."));
            let kept = std::fs::create_dir_all(folder).and_then(|()| write_whole(&file, bytes));
            // Only time is lost without it.
            if let Err(error) = kept {
                log::warn!("the timing cache {} cannot be saved: {error}", file.display());
            }
        }
        Ok(built)
    }

    /// A calibrator, and where it tells its problems.
    fn calibrator(&self, job: &Job) -> anyhow::Result<Option<(FrameCalibrator, Problem)>> {
        let (Some(source), Some(description)) = (&self.args.calibrate, &job.options.calibration) else {
            return Ok(None);
        };
        let reference = self.input.detector().context("calibration needs a detector")?;
        let detector = opening::detector(reference).map_err(WrongUse::because)?;
        // What the host does not feed by itself comes out of engines.
        let is_first = detector
            .program
            .engines
            .first()
            .is_some_and(|first| first.to_string() == job.identity.name);
        let frames = DetectorFrames::open(source, self.args.calibration_frames, detector, !is_first)?;
        let uploads =
            gpu::Uploads::open(self.ordinal.unwrap_or(0)).context("calibration needs the GPU's memory")?;
        let key = serde_json::to_vec(&(&job.identity.blake3, description, &job.options.profiles))?;
        let file = self
            .cache
            .folder()
            .join(format!("{}.calibration", &blake3::hash(&key).to_hex()[..32]));
        let calibrator = FrameCalibrator::new(Box::new(frames), Box::new(uploads), file);
        let problem = calibrator.problem();
        Ok(Some((calibrator, problem)))
    }

    /// The file of kernel timings; none where none are measured, or where the cache is to be left alone.
    fn timing_cache(&self) -> Option<PathBuf> {
        let default = || build::timing_cache_file(self.cache.folder(), self.library, &self.target);
        let wanted = self
            .args
            .timing_cache
            .clone()
            .or_else(|| (!self.args.no_cache).then(default));
        wanted.filter(|_| build::keeps_timings(self.library) && !self.args.no_timing_cache)
    }
}

/// The command line as it was given, without the program's name.
fn arguments() -> Vec<String> {
    std::env::args_os()
        .skip(1)
        .map(|argument| argument.to_string_lossy().into_owned())
        .collect()
}

/// Whether the user stopped it: the build itself, or waiting for another's.
fn was_interrupted(error: &anyhow::Error) -> bool {
    matches!(error.downcast_ref(), Some(BuildError::Stopped { .. }))
        || error
            .downcast_ref::<CacheError>()
            .is_some_and(CacheError::is_interrupted)
}

fn write(path: &Path, plan: &[u8], manifest: &PlanManifest) -> anyhow::Result<()> {
    let folder = path.parent().map_or(Ok(()), std::fs::create_dir_all);
    folder
        .and_then(|()| cache::write_plan(path, plan, manifest))
        .with_context(|| {
            format!(
                "cannot write the plan {}; no partial file is left",
                path.display()
            )
        })
}

/// Releases without a progress monitor cannot stop a build: there, Ctrl-C ends the program as it always does, and
/// nothing is written before the end.
fn stop_where_it_is_clean(library: Library) -> anyhow::Result<Arc<AtomicBool>> {
    if build::can_be_stopped(library) {
        stop_on_signals()
    } else {
        Ok(Arc::default())
    }
}

fn progress_bar(name: &str, quiet: bool) -> ProgressBar {
    let target = if quiet {
        ProgressDrawTarget::hidden()
    } else {
        ProgressDrawTarget::stderr()
    };
    let bar = ProgressBar::with_draw_target(Some(1000), target);
    // A template that does not parse would be a mistake of ours; the default bar then serves.
    if let Ok(style) = ProgressStyle::with_template("{prefix} {elapsed:>4} {bar:24} {wide_msg}") {
        bar.set_style(style);
    }
    let short = Path::new(name)
        .file_name()
        .map_or_else(|| name.to_owned(), |name| name.to_string_lossy().into_owned());
    bar.set_prefix(shown(&short).into_owned());
    bar
}

/// For releases that do not say how far they are: that something goes on, and how long it took the last time.
fn without_progress(bar: &ProgressBar, version: &str, last_seconds: Option<f64>) {
    if let Ok(style) = ProgressStyle::with_template("{prefix} {elapsed:>4} {spinner} {wide_msg}") {
        bar.set_style(style);
    }
    bar.set_message(no_progress(version, last_seconds));
    bar.enable_steady_tick(SPINNING);
}

fn no_progress(version: &str, last_seconds: Option<f64>) -> String {
    match last_seconds {
        Some(seconds) => {
            let whole = seconds.round() as u64;
            let took = match (whole / 60, whole % 60) {
                (0, _) => format!("{seconds:.0} s"),
                (minutes, seconds) => format!("{minutes} min {seconds} s"),
            };
            format!("{version} reports no progress; the last build of this network took {took}")
        }
        None => format!("{version} reports no progress; a first build can take many minutes"),
    }
}

fn show_progress(bar: &ProgressBar, progress: &BuildProgress) {
    // A phase that was not announced makes the fraction fall; a bar that goes back tells nobody anything.
    let position = (progress.fraction * 1000.0) as u64;
    bar.set_position(bar.position().max(position));
    bar.set_message(shown(&progress.phase).into_owned());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_build_without_progress_says_how_long_the_last_one_took() {
        let said = |last| no_progress("TensorRT 8.5.2", last);
        assert_eq!(
            said(Some(200.4)),
            "TensorRT 8.5.2 reports no progress; the last build of this network took 3 min 20 s"
        );
        assert!(said(Some(41.6)).ends_with("took 42 s"));
        assert!(said(None).ends_with("a first build can take many minutes"));
    }
}
