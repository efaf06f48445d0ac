//! What is done with a bare network's outputs when the run is over: they are kept, and compared with a reference.
//!
//! It is done after the last phase, with what the last frame left in each slot, so that no frame's time has any of it. All frames have
//! the same inputs; where a slot's outputs are further from the reference than another's, they are the ones that are told of.

use std::fs;
use std::path::{Path, PathBuf};

use crate::npy::{self, Array};
use crate::record::{Compared, OutputRecord};
use crate::scenario::RecordOutputs;
use crate::tensor::{ElementType, HostTensor, TensorSet};
use crate::whole;

/// What no reference may exceed, as no tensor of the host does.
const MOST: u64 = 4 << 30;

/// The outputs of a network, and what they are compared with.
pub struct Outputs {
    rules: RecordOutputs,
    names: Vec<String>,
    /// One for each name; empty where nothing is compared, and before the backend is open.
    references: Vec<Array>,
}

impl Outputs {
    /// Of outputs of these names.
    ///
    /// # Errors
    /// Two would have one file, in a sentence.
    pub fn new(rules: RecordOutputs, names: Vec<String>) -> Result<Self, String> {
        for (place, name) in names.iter().enumerate() {
            let file = file_name(name);
            if let Some(other) = names[..place].iter().find(|other| file_name(other) == file) {
                return Err(format!(
                    "`record_outputs` would have one file, {file}, for its outputs `{other}` and `{name}`; rename one in the network"
                ));
            }
        }
        Ok(Outputs {
            rules,
            names,
            references: Vec::new(),
        })
    }

    /// What is to be done.
    pub fn rules(&self) -> &RecordOutputs {
        &self.rules
    }

    /// The files of the reference.
    pub fn files(&self) -> Vec<PathBuf> {
        let folder = self.rules.reference.iter();
        folder
            .flat_map(|folder| self.names.iter().map(|name| folder.join(file_name(name))))
            .collect()
    }

    /// Reads the reference, and looks whether outputs can be kept, before the first frame: what does not fit the tensors that a backend
    /// has made is told now. Nothing is written: a dry run does this too.
    ///
    /// # Errors
    /// Sentences.
    pub fn prepare(&mut self, tensors: &TensorSet) -> Result<(), Vec<String>> {
        let mut problems = Vec::new();
        if let Some(folder) = &self.rules.keep {
            let there = folder.ancestors().find(|above| above.symlink_metadata().is_ok());
            if let Some(file) = there.filter(|there| !there.is_dir()) {
                problems.push(format!(
                    "`record_outputs`: cannot make {}: {} is no folder; name another folder in `keep`",
                    folder.display(),
                    file.display()
                ));
            }
            // A scenario may be somebody else's, so it replaces nothing, however it is run.
            let files = self.names.iter().map(|name| folder.join(file_name(name)));
            problems.extend(files.filter(|file| file.symlink_metadata().is_ok()).map(|file| {
                format!(
                    "`record_outputs`: {} exists, and kept outputs replace nothing; remove it, or name another folder in `keep`",
                    file.display()
                )
            }));
        }
        if let Some(folder) = &self.rules.reference {
            for name in &self.names {
                match reference(folder, name, tensors) {
                    Ok(array) => self.references.push(array),
                    Err(problem) => problems.push(problem),
                }
            }
        }
        match problems.is_empty() {
            true => Ok(()),
            false => Err(problems),
        }
    }

    /// What became of each output, of slots that have finished a frame; nothing where none has.
    pub fn finish(&self, tenant: u16, slots: &[&TensorSet]) -> Vec<OutputRecord> {
        let Some((first, rest)) = slots.split_first() else {
            return Vec::new();
        };
        let of_slot = |tensors: &TensorSet, place: usize, name: &String| {
            let record = OutputRecord {
                tenant,
                name: name.clone(),
                ..OutputRecord::default()
            };
            match tensors.get(name) {
                Ok(tensor) => self.told(record, tensor, place),
                Err(error) => OutputRecord {
                    problem: Some(format!("{error}.")),
                    ..record
                },
            }
        };
        let mut records = Vec::new();
        for (place, name) in self.names.iter().enumerate() {
            let mut worst = of_slot(first, place, name);
            for tensors in rest {
                let other = of_slot(tensors, place, name);
                if badness(&other) > badness(&worst) {
                    worst = other;
                }
            }
            if let Some(folder) = &self.rules.keep {
                let path = folder.join(file_name(name));
                match keep(&path, first, name) {
                    Ok(()) => worst.kept = Some(path.display().to_string()),
                    Err(problem) if worst.problem.is_none() => worst.problem = Some(problem),
                    Err(_) => {}
                }
            }
            records.push(worst);
        }
        records
    }

    fn told(&self, mut record: OutputRecord, tensor: &HostTensor, place: usize) -> OutputRecord {
        let (shape, element) = (tensor.shape(), tensor.element());
        let extents: Vec<String> = shape.dims().iter().map(usize::to_string).collect();
        record.shape = extents.join("x");
        record.element = element.name().to_owned();
        record.elements = shape.len() as u64;
        record.not_numbers = numbers(element, tensor.bytes())
            .filter(|number| number.is_nan())
            .count() as u64;
        if let Some(reference) = self.references.get(place) {
            match reference.shape == *shape {
                true => {
                    let found = numbers(element, tensor.bytes());
                    let wanted = numbers(reference.element, &reference.bytes);
                    record.compared = Some(compare(found.zip(wanted), &self.rules));
                }
                false => {
                    record.problem = Some(format!(
                        "Its shape is {shape}, and that of its reference {}.",
                        reference.shape
                    ));
                }
            }
        }
        record
    }
}

/// What is told of rather than a lower one.
fn badness(record: &OutputRecord) -> (bool, u64, u64) {
    let differing = record.compared.map_or(0, |compared| compared.differing);
    (record.problem.is_some(), differing, record.not_numbers)
}

/// The reference of an output, which has the kind and, as far as it is known, the shape of its tensor.
fn reference(folder: &Path, name: &str, tensors: &TensorSet) -> Result<Array, String> {
    let path = folder.join(file_name(name));
    let shown = path.display();
    if !path.exists() {
        return Err(format!(
            "`record_outputs`: there is no reference for output `{name}`: {shown} is missing; a run with `keep` writes one"
        ));
    }
    let tensor = tensors.get(name).map_err(|error| {
        format!("`record_outputs`: the backend does not give output `{name}` to the host: {error}")
    })?;
    let (element, _) =
        npy::stated(&path).map_err(|problem| format!("`record_outputs`: {shown} {problem}"))?;
    if element.has_fractions() != tensor.element().has_fractions() {
        return Err(format!(
            "`record_outputs`: {shown} holds {}, and output `{name}` is {}",
            element.name(),
            tensor.element().name()
        ));
    }
    // The tensor has its largest shape now, in elements that may be narrower than the reference's; none where the backend knows it
    // only after a frame.
    let most = match tensor.shape().len() {
        0 => MOST,
        elements => elements.saturating_mul(element.size()) as u64,
    };
    npy::read(&path, most).map_err(|problem| {
        format!(
            "`record_outputs`: {shown} {problem} (output `{name}` {})",
            tensor.shape()
        )
    })
}

fn keep(path: &Path, tensors: &TensorSet, name: &str) -> Result<(), String> {
    let tensor = tensors.get(name).map_err(|error| format!("{error}."))?;
    path.parent()
        .map_or(Ok(()), fs::create_dir_all)
        .and_then(|()| whole::create(path, false))
        .map(std::io::BufWriter::new)
        .and_then(|mut out| {
            npy::write(&mut out, tensor.element(), tensor.shape().dims(), tensor.bytes())?;
            std::io::Write::flush(&mut out)
        })
        .map_err(|error| format!("It could not be written to {}: {error}.", path.display()))
}

/// The file of an output: its name with what a file's name may not hold replaced.
fn file_name(output: &str) -> String {
    let plain = |c: char| match c.is_ascii_alphanumeric() || "_-.".contains(c) {
        true => c,
        false => '_',
    };
    // Names of files have at most 255 bytes.
    let name: String = output.chars().map(plain).take(200).collect();
    format!("{name}.npy")
}

/// How numbers compare with their references. Infinities of one sign are equal, and so are two NaN; anything else is infinitely far
/// from either.
fn compare(pairs: impl Iterator<Item = (f64, f64)>, rules: &RecordOutputs) -> Compared {
    let mut all = Compared::default();
    let larger = |so_far: Option<f64>, value: f64| Some(so_far.map_or(value, |so_far| so_far.max(value)));
    for (found, wanted) in pairs {
        let is_same = found == wanted || (found.is_nan() && wanted.is_nan());
        let distance = match (found - wanted).abs() {
            _ if is_same => 0.0,
            distance if distance.is_finite() => distance,
            _ => f64::INFINITY,
        };
        let is_within =
            is_same || (distance.is_finite() && distance <= rules.absolute + rules.relative * wanted.abs());
        all.differing += u64::from(!is_within);
        all.largest_absolute = larger(all.largest_absolute, distance);
        if wanted != 0.0 {
            let relative = if is_same || distance.is_infinite() {
                distance
            } else {
                distance / wanted.abs()
            };
            all.largest_relative = larger(all.largest_relative, relative);
        }
    }
    all
}

/// Elements as numbers. An `i64` beyond 2⁵³ is rounded.
fn numbers(element: ElementType, bytes: &[u8]) -> Box<dyn Iterator<Item = f64> + '_> {
    macro_rules! of {
        ($size:literal, $make:expr) => {
            Box::new(bytes.chunks_exact($size).map(|at| {
                let mut held = [0; $size];
                held.copy_from_slice(at);
                $make(held)
            }))
        };
    }
    match element {
        ElementType::F32 => of!(4, |at| f64::from(f32::from_ne_bytes(at))),
        ElementType::F16 => of!(2, |at| half::f16::from_ne_bytes(at).to_f64()),
        ElementType::I8 => of!(1, |at| f64::from(i8::from_ne_bytes(at))),
        ElementType::U8 | ElementType::Bool => of!(1, |at: [u8; 1]| f64::from(at[0])),
        ElementType::I32 => of!(4, |at| f64::from(i32::from_ne_bytes(at))),
        ElementType::I64 => of!(8, |at| i64::from_ne_bytes(at) as f64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tensor::Shape;

    fn rules(absolute: f64, relative: f64) -> RecordOutputs {
        RecordOutputs {
            keep: None,
            reference: None,
            absolute,
            relative,
        }
    }

    fn tensor(name: &str, values: &[f32]) -> HostTensor {
        let mut tensor = HostTensor::zeroed(name, ElementType::F32, Shape::new(&[1, values.len()]).unwrap());
        tensor.f32_mut().unwrap().copy_from_slice(values);
        tensor
    }

    #[test]
    fn tolerances_add_up_and_only_a_nan_equals_a_nan() {
        let (nan, inf) = (f64::NAN, f64::INFINITY);
        let pairs = [
            (1.0, 1.0),
            (1.05, 1.0),
            (0.1, 0.0),
            (-100.9, -100.0),
            (inf, inf),
            (inf, -inf),
            (1.0, inf),
            (nan, nan),
            (nan, 1.0),
        ];
        let found = compare(pairs.into_iter(), &rules(0.1, 0.01));
        assert_eq!(found.differing, 3);
        // What differs by an infinity or a NaN is not passed over.
        assert_eq!(
            (found.largest_absolute, found.largest_relative),
            (Some(inf), Some(inf))
        );
        let found = compare(pairs.into_iter().take(5), &rules(0.1, 0.01));
        assert_eq!(found.differing, 0);
        let largest = found.largest_absolute.unwrap();
        assert!((largest - 0.9).abs() < 1e-9, "{largest}");
        let largest = found.largest_relative.unwrap();
        assert!((largest - 0.05).abs() < 1e-9, "{largest}");
        assert_eq!(
            compare(std::iter::empty(), &rules(0.0, 0.0)).largest_absolute,
            None
        );
    }

    #[test]
    fn what_one_run_kept_another_is_compared_with() {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path().join("kept");
        let keeping = RecordOutputs {
            keep: Some(at.clone()),
            ..rules(0.0, 0.0)
        };
        let good = TensorSet::new(vec![tensor("a/b", &[1.0, 2.0, f32::NAN])]);
        let mut outputs = Outputs::new(keeping, vec!["a/b".to_owned()]).unwrap();
        outputs.prepare(&good).unwrap();
        let kept = outputs.finish(3, &[&good]);
        assert_eq!(
            (kept[0].tenant, kept[0].not_numbers, kept[0].compared),
            (3, 1, None)
        );
        assert!(kept[0].kept.as_ref().unwrap().ends_with("a_b.npy"));
        let told = outputs.prepare(&good).unwrap_err();
        assert!(told[0].contains("replace nothing"), "{told:?}");
        // Nor where one came meanwhile.
        assert!(outputs.finish(3, &[&good])[0].problem.is_some());

        let against = RecordOutputs {
            reference: Some(at.clone()),
            ..rules(0.0, 0.1)
        };
        let compared = |tensors: &[&TensorSet]| {
            let mut outputs = Outputs::new(against.clone(), vec!["a/b".to_owned()]).unwrap();
            outputs.prepare(tensors[0]).map(|()| outputs.finish(0, tensors))
        };
        let other = TensorSet::new(vec![tensor("a/b", &[1.0, 3.0, 4.0])]);
        // Of several slots, the one that differs more.
        let found = compared(&[&good, &other]).unwrap();
        assert_eq!(found[0].compared.unwrap().differing, 2);
        assert!(!found[0].is_within());
        assert_eq!(compared(&[&good]).unwrap()[0].compared.unwrap().differing, 0);

        let wider = TensorSet::new(vec![tensor("a/b", &[0.0; 4])]);
        let found = compared(&[&wider]).unwrap();
        assert_eq!(
            found[0].problem.as_deref(),
            Some("Its shape is [1, 4], and that of its reference [1, 3].")
        );
        let narrower = TensorSet::new(vec![tensor("a/b", &[0.0])]);
        let told = compared(&[&narrower]).unwrap_err();
        assert!(
            told[0].contains("holds 12 bytes of elements, more than the 4"),
            "{told:?}"
        );
        let whole = HostTensor::zeroed("a/b", ElementType::I32, Shape::new(&[1, 3]).unwrap());
        let told = compared(&[&TensorSet::new(vec![whole])]).unwrap_err();
        assert!(told[0].contains("holds f32, and output `a/b` is i32"), "{told:?}");
        fs::remove_dir_all(&at).unwrap();
        let told = compared(&[&good]).unwrap_err();
        assert!(told[0].contains("no reference for output `a/b`"), "{told:?}");
    }

    #[test]
    fn two_outputs_of_one_file_are_refused() {
        let names = vec!["a/b".to_owned(), "a:b".to_owned()];
        let told = Outputs::new(rules(0.0, 0.0), names).err().unwrap();
        assert!(
            told.contains("one file, a_b.npy, for its outputs `a/b` and `a:b`"),
            "{told}"
        );
    }
}
