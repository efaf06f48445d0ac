//! Inputs that files hold: `fill: Files([…])`. Each file is a NumPy array of the input's type and shape, or exactly the input's bytes.

use std::path::Path;

use crate::backend::TensorSpec;
use crate::engine::network::Port;
use crate::files;
use crate::npy;
use crate::scenario::{InputFile, Shapes};
use crate::tensor::{ElementType, HostTensor};
use crate::units::Bytes;

/// What no input's file may exceed, as no tensor that the host fills does.
const MOST: u64 = 4 << 30;

/// Which file is for which input, by position in `inputs`; problems with the list itself.
fn assigned<'f>(
    files: &'f [InputFile],
    inputs: &[&str],
    problems: &mut Vec<String>,
) -> Vec<Option<&'f InputFile>> {
    let mut found: Vec<Option<&InputFile>> = vec![None; inputs.len()];
    let names = inputs.join(", ");
    for (place, file) in files.iter().enumerate() {
        let input = match &file.input {
            Some(name) => inputs.iter().position(|input| input == name),
            None => (place < inputs.len()).then_some(place),
        };
        let shown = file.file.display();
        match input.and_then(|input| found.get_mut(input).map(|at| (inputs[input], at))) {
            None => problems.push(match &file.input {
                Some(name) => {
                    format!(
                        "`fill` has {shown} for input `{name}`, which the network lacks; its inputs: {names}"
                    )
                }
                None => format!(
                    "`fill` has {shown} as file {}, and the network has {} inputs: {names}",
                    place + 1,
                    inputs.len()
                ),
            }),
            Some((name, Some(first))) => problems.push(format!(
                "`fill` has two files for input `{name}`: {} and {shown}; leave one out",
                first.file.display()
            )),
            Some((_, at)) => *at = Some(file),
        }
    }
    found
}

/// The shapes that arrays state for inputs whose extents the network leaves open and nobody gave.
pub(super) fn shapes(files: &[InputFile], ports: &[Port], given: &Shapes) -> Shapes {
    let inputs: Vec<&str> = ports.iter().map(|port| port.name.as_str()).collect();
    // Told when the contents are read.
    let assigned = assigned(files, &inputs, &mut Vec::new());
    let mut shapes = given.clone();
    for (port, file) in ports.iter().zip(assigned) {
        let is_open = !port.is_shaped || port.shape.iter().any(|extent| extent.parse::<usize>().is_err());
        if let Some(file) = file.filter(|file| is_open && npy::is_named(&file.file))
            && let Ok((_, shape)) = npy::stated(&file.file)
        {
            let extents = || shape.dims().to_vec();
            shapes.0.entry(port.name.clone()).or_insert_with(extents);
        }
    }
    shapes
}

/// What a file holds for an input.
#[derive(Debug)]
pub(super) struct Given {
    /// The network's own type of it.
    element: ElementType,
    bytes: Vec<u8>,
}

impl Given {
    /// Copies it into a tensor, which the embedded backend keeps in 32 bits where the network has 64, or flags.
    pub(super) fn put(&self, tensor: &mut HostTensor) -> Result<(), String> {
        let (element, name) = (tensor.element(), self.element.name());
        let to = tensor.host_bytes_mut().map_err(|error| error.to_string())?;
        match (self.element, element) {
            (ElementType::I64, ElementType::I32) if to.len() * 2 == self.bytes.len() => {
                let numbers = self.bytes.as_chunks::<8>().0;
                in_32_bits(to, numbers.iter().map(|at| i64::from_ne_bytes(*at)))
            }
            (ElementType::Bool, ElementType::I32) if to.len() == self.bytes.len() * 4 => {
                in_32_bits(to, self.bytes.iter().map(|flag| i64::from(*flag != 0)))
            }
            _ if to.len() == self.bytes.len() => {
                to.copy_from_slice(&self.bytes);
                Ok(())
            }
            _ => Err(format!(
                "has {} bytes of {name}, and the input takes {} of {}",
                self.bytes.len(),
                to.len(),
                element.name()
            )),
        }
    }
}

fn in_32_bits(to: &mut [u8], numbers: impl Iterator<Item = i64>) -> Result<(), String> {
    for (to, number) in to.chunks_exact_mut(size_of::<i32>()).zip(numbers) {
        let number = i32::try_from(number)
            .map_err(|_| format!("has {number}, and the embedded backend keeps whole numbers in 32 bits"))?;
        to.copy_from_slice(&number.to_ne_bytes());
    }
    Ok(())
}

/// The content of each input, in their order, or everything that is in the way.
pub(super) fn read(files: &[InputFile], inputs: &[TensorSpec]) -> Result<Vec<Given>, Vec<String>> {
    let mut problems = Vec::new();
    let names: Vec<&str> = inputs.iter().map(|input| input.name.as_str()).collect();
    let assigned = assigned(files, &names, &mut problems);
    let mut contents = Vec::new();
    for (input, file) in inputs.iter().zip(assigned) {
        match file.map(|file| content(&file.file, input)) {
            Some(Ok(bytes)) => contents.push(Given {
                element: input.element,
                bytes,
            }),
            Some(Err(problem)) => problems.push(problem),
            None => problems.push(format!("`fill` has no file for input `{}`", input.name)),
        }
    }
    match problems.is_empty() {
        true => Ok(contents),
        false => Err(problems),
    }
}

fn content(path: &Path, input: &TensorSpec) -> Result<Vec<u8>, String> {
    let (name, shape, element) = (&input.name, input.max_shape, input.element);
    let elements = shape
        .dims()
        .iter()
        .try_fold(1_u64, |all, extent| all.checked_mul(*extent as u64));
    let wanted = elements
        .and_then(|elements| elements.checked_mul(element.size() as u64))
        .filter(|wanted| *wanted <= MOST)
        .ok_or_else(|| format!("input `{name}` {shape} has more than 4 GiB"))?;
    let shown = path.display();
    if npy::is_named(path) {
        // One of another shape is told of as such, whatever its size.
        let found = npy::stated(path).map_err(|problem| format!("{shown} {problem}"))?;
        if found != (element, shape) {
            return Err(format!(
                "{shown} is {} {}, and input `{name}` takes {} {shape}",
                found.0.name(),
                found.1,
                element.name()
            ));
        }
        let array = npy::read(path, wanted).map_err(|problem| format!("{shown} {problem}"))?;
        return Ok(array.bytes);
    }
    let unreadable = |error| format!("{shown} cannot be read: {error}");
    let found = files::open(path)
        .and_then(|file| file.metadata())
        .map_err(unreadable)?
        .len();
    if found != wanted {
        return Err(format!(
            "{shown} has {found} bytes, and input `{name}` ({} {shape}) takes {wanted}",
            element.name()
        ));
    }
    let bytes = files::read(path, Bytes(wanted)).map_err(unreadable)?;
    match bytes.len() as u64 == wanted {
        true => Ok(bytes),
        false => Err(format!("{shown} changed while it was read")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tensor::Shape;

    fn input(name: &str, dims: &[usize]) -> TensorSpec {
        TensorSpec {
            name: name.to_owned(),
            element: ElementType::F32,
            max_shape: Shape::new(dims).unwrap(),
        }
    }

    #[test]
    fn each_input_gets_the_file_of_its_name_or_place() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at("raw.bin"), [7; 8]).unwrap();
        let mut array = Vec::new();
        npy::write(&mut array, ElementType::F32, &[1, 3], &[9; 12]).unwrap();
        std::fs::write(at("array.npy"), array).unwrap();
        let file = |input: Option<&str>, name: &str| InputFile {
            input: input.map(str::to_owned),
            file: at(name),
        };
        let inputs = [input("a", &[2]), input("b", &[1, 3])];
        for files in [
            [file(None, "raw.bin"), file(None, "array.npy")],
            [file(Some("b"), "array.npy"), file(Some("a"), "raw.bin")],
        ] {
            let contents = read(&files, &inputs).unwrap();
            let bytes: Vec<&[u8]> = contents.iter().map(|given| &given.bytes[..]).collect();
            assert_eq!(bytes, [&[7; 8][..], &[9; 12][..]]);
        }
        let wrong = [
            file(None, "array.npy"),
            file(Some("b"), "raw.bin"),
            file(Some("c"), "raw.bin"),
            file(None, "raw.bin"),
            file(Some("b"), "array.npy"),
        ];
        let told = read(&wrong, &inputs).unwrap_err().join("\n");
        for phrase in [
            "array.npy is f32 [1, 3], and input `a` takes f32 [2]",
            "raw.bin has 8 bytes, and input `b` (f32 [1, 3]) takes 12",
            "for input `c`, which the network lacks; its inputs: a, b",
            "as file 4, and the network has 2 inputs: a, b",
            "two files for input `b`",
        ] {
            assert!(told.contains(phrase), "{phrase}: {told}");
        }
        let told = read(&[file(Some("b"), "array.npy")], &inputs).unwrap_err();
        assert_eq!(told, ["`fill` has no file for input `a`"]);
    }
}
