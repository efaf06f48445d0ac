//! Reads the files of CV-CUDA's scripts: placeholders with times, `benchmark.json` in the newer and the older layout,
//! and several processes of one launch.

use indexmap::IndexMap;
use serde::Deserialize;

use super::aggregate::Process;
use super::{Figure, Meta, Recording, Tree, parent};

/// Why a file could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// Not JSON, or JSON that is cut off.
    #[error("it is not JSON: {0}. Copy the file again if you have the original")]
    NotJson(serde_json::Error),
    /// JSON of something else.
    #[error(
        "it is not a file of CV-CUDA's benchmark; it has neither `data` (a benchmark.json), nor `placeholder`, nor \
         `processes`"
    )]
    NotABenchmark,
    /// One of the blocks is not as it should be.
    #[error("its `{block}` is not as CV-CUDA writes it: {error}")]
    Block {
        /// Name of the block, such as `data`.
        block: &'static str,
        /// Where the JSON differs from what is expected.
        error: serde_json::Error,
    },
    /// A batch without its times.
    #[error("its `batch_info` names the batch {path}, for which `data` has no times")]
    BatchWithoutTimes {
        /// Path of the batch, such as `pipeline/batch_0`.
        path: String,
    },
    /// A time that no clock shows.
    #[error("its `data` says that {path} took {ms} ms")]
    NotATime {
        /// Path of the range.
        path: String,
        /// The value in the file, ms.
        ms: f64,
    },
}

/// What a file holds.
#[derive(Debug)]
pub enum Input {
    /// One process, to be expanded.
    One {
        /// The ranges and batches of the process.
        recording: Box<Recording>,
        /// As the file says.
        warmup: Option<u64>,
    },
    /// Several processes, to be put together.
    Several {
        /// The figures of each process, already expanded.
        processes: Vec<Process>,
        /// Samples of all GPUs by metric.
        gpu_metrics: IndexMap<String, Vec<f64>>,
        /// As the file says.
        warmup: Option<u64>,
        /// GPUs × processes on each.
        multiplier: u64,
    },
}

/// Any object of these files: which it is shows in its names.
#[derive(Deserialize)]
struct File {
    warmup_batches: Option<u64>,
    placeholder: Option<Box<Benchmark>>,
    processes: Option<Vec<Benchmark>>,
    num_gpus: Option<u64>,
    num_processes: Option<u64>,
    #[serde(default)]
    gpu_metrics: IndexMap<String, Samples>,
}

#[derive(Deserialize)]
struct Benchmark {
    data: Branch,
    #[serde(default)]
    batch_info: IndexMap<String, (i64, u64)>,
    #[serde(default)]
    gpu_metrics: serde_json::Map<String, serde_json::Value>,
    #[serde(default)]
    meta: Meta,
}

/// `data`, flat or nested: a path or a name to two times, to a figure, or to what is beneath.
#[derive(Deserialize)]
#[serde(untagged)]
enum Branch {
    Figure(Figure),
    Times([f64; 2]),
    Beneath(IndexMap<String, Branch>),
}

/// Samples of all GPUs together, or by GPU.
#[derive(Deserialize)]
#[serde(untagged)]
enum Samples {
    Together(Vec<f64>),
    ByGpu(IndexMap<String, Vec<f64>>),
}

/// Reads one file: JSON of one process or of several.
pub fn read(text: &str) -> Result<Input, ReadError> {
    // Whether it is JSON at all is another mistake than what it holds.
    let value: serde_json::Value = serde_json::from_str(text).map_err(ReadError::NotJson)?;
    let has = |name: &str| value.get(name).is_some();
    let block = |block| move |error| ReadError::Block { block, error };
    if has("placeholder") || has("processes") {
        let which = if has("processes") {
            "processes"
        } else {
            "placeholder"
        };
        let file: File = serde_json::from_str(text).map_err(block(which))?;
        if let Some(all) = file.processes {
            let processes = all
                .into_iter()
                .map(process)
                .collect::<Result<Vec<_>, ReadError>>()?;
            let multiplier = match (file.num_gpus, file.num_processes) {
                (Some(gpus), Some(on_each)) => gpus.saturating_mul(on_each),
                _ => processes.len() as u64,
            };
            return Ok(Input::Several {
                processes,
                gpu_metrics: file.gpu_metrics.into_iter().map(all_gpus).collect(),
                warmup: file.warmup_batches,
                multiplier,
            });
        }
        let placeholder = *file.placeholder.ok_or(ReadError::NotABenchmark)?;
        return Ok(Input::One {
            recording: Box::new(recording(placeholder)?),
            warmup: file.warmup_batches,
        });
    }
    if !has("data") {
        return Err(ReadError::NotABenchmark);
    }
    let benchmark: Benchmark = serde_json::from_str(text).map_err(block("data"))?;
    Ok(Input::One {
        recording: Box::new(recording(benchmark)?),
        warmup: None,
    })
}

fn all_gpus((metric, samples): (String, Samples)) -> (String, Vec<f64>) {
    let samples = match samples {
        Samples::Together(samples) => samples,
        Samples::ByGpu(by_gpu) => by_gpu.into_values().flatten().collect(),
    };
    (metric, samples)
}

/// The flat recording behind a file, whatever its layout: what was made of the times is made again.
fn recording(file: Benchmark) -> Result<Recording, ReadError> {
    if !matches!(file.data, Branch::Beneath(_)) {
        return Err(ReadError::NotABenchmark);
    }
    let mut recording = Recording {
        data: IndexMap::new(),
        batch_info: file.batch_info,
        gpu_metrics: file.gpu_metrics,
        meta: file.meta,
    };
    // The older layout says what is a batch only by what it carries.
    let older = recording.batch_info.is_empty();
    flatten("", file.data, &mut recording, older)?;
    match recording
        .batch_info
        .keys()
        .find(|path| !recording.data.contains_key(*path))
    {
        Some(path) => Err(ReadError::BatchWithoutTimes { path: path.clone() }),
        None => Ok(recording),
    }
}

fn flatten(path: &str, branch: Branch, into: &mut Recording, older: bool) -> Result<(), ReadError> {
    let time = |ms: f64| {
        let path = path.to_owned();
        (ms.is_finite() && ms >= 0.0)
            .then_some(ms)
            .ok_or(ReadError::NotATime { path, ms })
    };
    match branch {
        Branch::Figure(_) => {}
        Branch::Times([cpu, gpu]) => {
            into.data.insert(path.to_owned(), [time(cpu)?, time(gpu)?]);
        }
        Branch::Beneath(beneath) => {
            let figure = |name: &str| match beneath.get(name) {
                Some(Branch::Figure(figure)) => Some(figure.value()),
                _ => None,
            };
            let times = figure("cpu_time").zip(figure("gpu_time"));
            let items = figure("total_items");
            for (name, child) in beneath {
                let below = match path {
                    "" => name,
                    _ => format!("{path}/{name}"),
                };
                flatten(&below, child, into, older)?;
            }
            if let Some((cpu, gpu)) = times {
                into.data.insert(path.to_owned(), [time(cpu)?, time(gpu)?]);
            }
            let above = parent(path).unwrap_or_default();
            let index = path
                .rsplit_once('_')
                .and_then(|(_, index)| index.parse::<i64>().ok());
            if let (true, Some(items), Some(index)) = (older, items, index)
                && into.meta.total_batches.contains_key(above)
            {
                into.batch_info
                    .insert(path.to_owned(), (index, items.max(0.0) as u64));
            }
        }
    }
    Ok(())
}

fn process(file: Benchmark) -> Result<Process, ReadError> {
    Ok(Process {
        data: tree(file.data),
        batch_info: file.batch_info,
        meta: file.meta,
    })
}

fn tree(branch: Branch) -> Tree<Figure> {
    let mut tree = Tree::default();
    if let Branch::Beneath(beneath) = branch {
        for (name, branch) in beneath {
            match branch {
                Branch::Figure(figure) => drop(tree.leaves.insert(name, figure)),
                Branch::Times(_) => {}
                beneath => drop(tree.children.insert(name, self::tree(beneath))),
            }
        }
    }
    tree
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_several_processes_the_file_says_how_many_there_were_or_they_are_counted() {
        let multiplier = |more: &str| {
            let process = r#"{"data": {"a": {"cpu_time": 1.0, "gpu_time": 0.5}}}"#;
            let text = format!(r#"{{"processes": [{process}, {process}]{more}}}"#);
            match read(&text) {
                Ok(Input::Several { multiplier, .. }) => multiplier,
                Ok(_) => panic!("several processes"),
                Err(error) => panic!("{error}"),
            }
        };
        assert_eq!(multiplier(r#", "num_gpus": 2, "num_processes": 3"#), 6);
        assert_eq!(multiplier(r#", "num_gpus": 4"#), 2);
        assert_eq!(multiplier(""), 2);
    }
}
