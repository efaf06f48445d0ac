//! Arrays in NumPy's file format (`.npy`), as far as tensors of networks are kept in it: little endian, in C order, of the types in
//! [`ElementType`]. The format is NEP 1: a magic number, a version, and a header that is a Python dictionary.

use std::io::{Error, Read, Write};
use std::path::Path;

use crate::files;
use crate::tensor::{ElementType, MAX_RANK, Shape};

const MAGIC: &[u8; 6] = b"\x93NUMPY";

/// Longest header that is read; those of plain arrays have 118 bytes.
const LONGEST_HEADER: usize = 64 << 10;

/// An array as its file has it.
#[derive(Clone, Debug, PartialEq)]
pub struct Array {
    /// Type of its elements.
    pub element: ElementType,
    /// Its extents.
    pub shape: Shape,
    /// Its elements one after another, the last extent fastest.
    pub bytes: Vec<u8>,
}

/// Why a file is no array that can be used; each begins after the file's name.
#[derive(Debug, thiserror::Error)]
pub enum NotAnArray {
    /// It cannot be read.
    #[error("cannot be read: {0}")]
    Io(#[from] Error),
    /// Not what NumPy writes.
    #[error("is no .npy file: {0}; write it with numpy.save")]
    Format(&'static str),
    /// An array of something else.
    #[error(
        "holds elements of type {0:?}, and jetlag takes <f4, <f2, |i1, |u1, <i4, <i8 and |b1; convert it with astype"
    )]
    Element(String),
    /// Columns first.
    #[error("is in Fortran order; save numpy.ascontiguousarray(…) of it")]
    Fortran,
    /// Too many dimensions.
    #[error("has {0} dimensions; jetlag supports at most {MAX_RANK}")]
    Rank(usize),
    /// Another number of bytes than its header states.
    #[error("states {stated} bytes of elements, and {found} follow; it is cut off or damaged")]
    Length {
        /// What the header makes.
        stated: u64,
        /// What follows it.
        found: u64,
    },
    /// More than there is use for.
    #[error("holds {stated} bytes of elements, more than the {most} that are wanted")]
    TooLarge {
        /// What the header makes.
        stated: u64,
        /// The most that is read.
        most: u64,
    },
}

/// Whether a file is one by its name.
pub fn is_named(path: &Path) -> bool {
    path.extension()
        .is_some_and(|ending| ending.eq_ignore_ascii_case("npy"))
}

/// Type and shape of an array, without its elements.
///
/// # Errors
/// What is wrong with its header.
pub fn stated(path: &Path) -> Result<(ElementType, Shape), NotAnArray> {
    let (element, shape, _) = header(&mut files::open(path)?)?;
    Ok((element, shape))
}

/// Reads an array of at most so many bytes.
///
/// # Errors
/// What is wrong with the file.
pub fn read(path: &Path, most: u64) -> Result<Array, NotAnArray> {
    let mut file = files::open(path)?;
    let length = file.metadata()?.len();
    let (element, shape, header) = header(&mut file)?;
    let elements = shape
        .dims()
        .iter()
        .try_fold(1_u64, |all, extent| all.checked_mul(*extent as u64));
    let stated = elements
        .and_then(|elements| elements.checked_mul(element.size() as u64))
        .ok_or(NotAnArray::Format(
            "its extents multiply to more than any memory holds",
        ))?;
    let found = length.saturating_sub(header);
    if stated != found {
        return Err(NotAnArray::Length { stated, found });
    }
    if stated > most {
        return Err(NotAnArray::TooLarge { stated, most });
    }
    let mut bytes = Vec::new();
    file.take(stated).read_to_end(&mut bytes)?;
    match bytes.len() as u64 == stated {
        true => Ok(Array {
            element,
            shape,
            bytes,
        }),
        // It was cut while it was read.
        false => Err(NotAnArray::Length {
            stated,
            found: bytes.len() as u64,
        }),
    }
}

/// Type and shape, and how many bytes came before the elements.
fn header(file: &mut impl Read) -> Result<(ElementType, Shape, u64), NotAnArray> {
    let mut start = [0; 8];
    file.read_exact(&mut start)
        .map_err(|_| NotAnArray::Format("it is shorter than any"))?;
    if !start.starts_with(MAGIC) {
        return Err(NotAnArray::Format("it begins otherwise"));
    }
    let cut = |_| NotAnArray::Format("its header is cut off");
    let (before, length) = match start[6] {
        1 => {
            let mut length = [0; 2];
            file.read_exact(&mut length).map_err(cut)?;
            (10, usize::from(u16::from_le_bytes(length)))
        }
        2 | 3 => {
            let mut length = [0; 4];
            file.read_exact(&mut length).map_err(cut)?;
            (12, u32::from_le_bytes(length) as usize)
        }
        _ => return Err(NotAnArray::Format("its version is not 1, 2 or 3")),
    };
    if length > LONGEST_HEADER {
        return Err(NotAnArray::Format("its header is longer than 64 KiB"));
    }
    let mut text = vec![0; length];
    file.read_exact(&mut text).map_err(cut)?;
    let text = String::from_utf8(text).map_err(|_| NotAnArray::Format("its header is no text"))?;
    let (element, shape) = dictionary(&text)?;
    Ok((element, shape, before + length as u64))
}

/// `{'descr': '<f4', 'fortran_order': False, 'shape': (1, 3), }`
fn dictionary(text: &str) -> Result<(ElementType, Shape), NotAnArray> {
    let value = |key: &str| {
        let (_, rest) = text.split_once(&format!("'{key}':"))?;
        Some(rest.trim_start())
    };
    let lacks = NotAnArray::Format("its header lacks descr, fortran_order or shape");
    let (Some(descr), Some(order), Some(shape)) = (value("descr"), value("fortran_order"), value("shape"))
    else {
        return Err(lacks);
    };
    let descr = descr
        .strip_prefix('\'')
        .and_then(|rest| rest.split_once('\''))
        .ok_or_else(|| NotAnArray::Element("several fields".to_owned()))?
        .0;
    let element = match descr {
        "<f4" => ElementType::F32,
        "<f2" => ElementType::F16,
        "|i1" => ElementType::I8,
        "|u1" => ElementType::U8,
        "<i4" => ElementType::I32,
        "<i8" => ElementType::I64,
        "|b1" => ElementType::Bool,
        other => return Err(NotAnArray::Element(other.chars().take(20).collect())),
    };
    let extents = shape
        .strip_prefix('(')
        .and_then(|rest| rest.split_once(')'))
        .ok_or(NotAnArray::Format("its shape is no tuple"))?
        .0;
    let extents: Vec<usize> = extents
        .split(',')
        .map(str::trim)
        .filter(|extent| !extent.is_empty())
        .map(str::parse)
        .collect::<Result<_, _>>()
        .map_err(|_| NotAnArray::Format("its shape is no tuple of whole numbers"))?;
    // Of one dimension, both orders are the same.
    if !order.starts_with("False") && extents.len() > 1 {
        return Err(NotAnArray::Fortran);
    }
    let shape = Shape::new(&extents).ok_or(NotAnArray::Rank(extents.len()))?;
    Ok((element, shape))
}

/// Writes an array, as numpy.save does.
///
/// # Errors
/// Those of the file.
pub fn write(out: &mut impl Write, element: ElementType, shape: &[usize], bytes: &[u8]) -> Result<(), Error> {
    let descr = match element {
        ElementType::F32 => "<f4",
        ElementType::F16 => "<f2",
        ElementType::I8 => "|i1",
        ElementType::U8 => "|u1",
        ElementType::I32 => "<i4",
        ElementType::I64 => "<i8",
        ElementType::Bool => "|b1",
    };
    let extents: Vec<String> = shape.iter().map(usize::to_string).collect();
    // Python's tuple of one has a comma.
    let comma = if extents.len() == 1 { "," } else { "" };
    let mut text = format!(
        "{{'descr': '{descr}', 'fortran_order': False, 'shape': ({}{comma}), }}",
        extents.join(", ")
    );
    // The elements begin at a multiple of 64; the header ends with a line feed.
    let padded = (10 + text.len() + 1).next_multiple_of(64);
    text.extend(std::iter::repeat_n(' ', padded - 11 - text.len()));
    text.push('\n');
    out.write_all(MAGIC)?;
    out.write_all(&[1, 0])?;
    // At most MAX_RANK extents of 20 digits: far below 64 KiB.
    out.write_all(&(text.len() as u16).to_le_bytes())?;
    out.write_all(text.as_bytes())?;
    out.write_all(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stored(bytes: &[u8]) -> Result<Array, NotAnArray> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), bytes).unwrap();
        read(file.path(), 1 << 20)
    }

    fn written(element: ElementType, shape: &[usize], bytes: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        write(&mut out, element, shape, bytes).unwrap();
        out
    }

    #[test]
    fn what_is_written_is_read_again_whatever_its_type_and_shape() {
        let all = [
            ElementType::F32,
            ElementType::F16,
            ElementType::I8,
            ElementType::U8,
            ElementType::I32,
            ElementType::I64,
            ElementType::Bool,
        ];
        for element in all {
            for shape in [&[][..], &[3], &[2, 3], &[0, 4], &[1, 1, 1, 1, 1, 1, 1, 2]] {
                let elements: usize = shape.iter().product();
                let bytes: Vec<u8> = (0..elements * element.size()).map(|at| at as u8).collect();
                let file = written(element, shape, &bytes);
                assert_eq!((file.len() - bytes.len()) % 64, 0);
                let found = stored(&file).unwrap();
                assert_eq!(
                    (found.element, found.shape.dims(), found.bytes),
                    (element, shape, bytes)
                );
            }
        }
    }

    #[test]
    fn what_cannot_be_used_is_told_with_the_reason() {
        let whole = written(ElementType::F32, &[2, 3], &[0; 24]);
        let with = |from: &str, to: &str| {
            let text = String::from_utf8_lossy(&whole[10..128]).replace(from, to);
            let mut file = whole[..10].to_vec();
            file.extend(text.bytes());
            file.extend(&whole[128..]);
            file[8..10].copy_from_slice(&(text.len() as u16).to_le_bytes());
            file
        };
        let cases = [
            (Vec::new(), "it is shorter than any"),
            (b"PK\x03\x04....".to_vec(), "it begins otherwise"),
            (whole[..40].to_vec(), "its header is cut off"),
            (whole[..140].to_vec(), "states 24 bytes of elements, and"),
            (with("<f4", ">f4"), "type \">f4\""),
            (with("<f4", "<f8"), "type \"<f8\""),
            (with("False", "True"), "Fortran order"),
            (with("(2, 3)", "(2, -3)"), "no tuple of whole numbers"),
            (with("(2, 3)", "(1,1,1,1,1,1,1,1,6)"), "has 9 dimensions"),
            (with("(2, 3)", "(4294967296, 4294967296)"), "multiply to more"),
            (with("shape", "shope"), "lacks descr, fortran_order or shape"),
        ];
        for (file, phrase) in cases {
            let told = stored(&file).unwrap_err().to_string();
            assert!(told.contains(phrase), "{phrase}: {told}");
        }
    }
}
