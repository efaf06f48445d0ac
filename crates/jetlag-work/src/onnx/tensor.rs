//! Tensors of the file: their shape, and their content where it is small, since it may say a shape.

use crate::element::Element;

/// As many elements as are kept: enough for shapes, axes, pads and the tables they are made of.
pub(crate) const MOST_KEPT: u64 = 8192;

/// Numbers of a small tensor, row by row.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Data {
    Ints(Vec<i64>),
    Floats(Vec<f64>),
}

impl Data {
    pub(crate) fn len(&self) -> usize {
        match self {
            Data::Ints(values) => values.len(),
            Data::Floats(values) => values.len(),
        }
    }
}

/// An initializer, or the tensor of an attribute.
#[derive(Clone, Debug)]
pub(crate) struct Tensor {
    pub(crate) name: String,
    pub(crate) dims: Vec<u64>,
    pub(crate) element: Element,
    /// None where it is large, text, or in another file.
    pub(crate) data: Option<Data>,
}

/// What a tensor message says, before it is put together.
#[derive(Default)]
pub(super) struct Parts {
    pub(super) name: String,
    pub(super) dims: Vec<i64>,
    pub(super) number: i64,
    /// The bytes in the file, kept or not.
    pub(super) raw_bytes: Option<u64>,
    pub(super) raw: Option<Vec<u8>>,
    pub(super) ints: Vec<i64>,
    pub(super) floats: Vec<f64>,
    pub(super) is_external: bool,
}

impl Parts {
    /// The tensor, or what is wrong with it.
    pub(super) fn finish(self) -> Result<Tensor, String> {
        let dims: Option<Vec<u64>> = self.dims.iter().map(|dim| u64::try_from(*dim).ok()).collect();
        let elements = dims
            .as_ref()
            .and_then(|dims| dims.iter().try_fold(1_u64, |all, dim| all.checked_mul(*dim)));
        let (Some(dims), Some(elements)) = (dims, elements) else {
            return Err(format!(
                "the tensor `{}` has invalid dimensions",
                shown(&self.name)
            ));
        };
        let element = Element::of(self.number);
        let stored = element
            .bits()
            .and_then(|bits| elements.checked_mul(bits))
            .map(|bits| bits.div_ceil(8));
        if let (Some(found), Some(wanted), false) = (self.raw_bytes, stored, self.is_external)
            && found != wanted
            && found > 0
        {
            return Err(format!(
                "the tensor `{}` has {elements} elements, or {wanted} bytes, but its data has {found}",
                shown(&self.name)
            ));
        }
        let data = match self.is_external || elements > MOST_KEPT {
            true => None,
            false => self.data(element, elements as usize),
        };
        Ok(Tensor {
            name: self.name,
            dims,
            element,
            data,
        })
    }

    fn data(&self, element: Element, elements: usize) -> Option<Data> {
        let data = match &self.raw {
            Some(raw) => from_raw(element, raw)?,
            None if element.is_integer() => Data::Ints(self.ints.clone()),
            None if matches!(element, Element::Float16 | Element::Bfloat16) => {
                let halves = self.ints.iter().map(|bits| half(element, *bits as u16));
                Data::Floats(halves.collect())
            }
            None if element.is_float() => Data::Floats(self.floats.clone()),
            None => return None,
        };
        (data.len() == elements).then_some(data)
    }
}

/// Numbers as a file's raw data has them; none of types that are no plain numbers.
pub(crate) fn from_raw(element: Element, raw: &[u8]) -> Option<Data> {
    fn each<const N: usize, T>(raw: &[u8], make: impl Fn([u8; N]) -> T) -> Vec<T> {
        let (whole, _) = raw.as_chunks::<N>();
        whole.iter().map(|bytes| make(*bytes)).collect()
    }
    Some(match element {
        Element::Int64 => Data::Ints(each(raw, i64::from_le_bytes)),
        Element::Uint64 => Data::Ints(each(raw, |b| u64::from_le_bytes(b).min(i64::MAX as u64) as i64)),
        Element::Int32 => Data::Ints(each(raw, |b| i32::from_le_bytes(b).into())),
        Element::Uint32 => Data::Ints(each(raw, |b| u32::from_le_bytes(b).into())),
        Element::Int16 => Data::Ints(each(raw, |b| i16::from_le_bytes(b).into())),
        Element::Uint16 => Data::Ints(each(raw, |b| u16::from_le_bytes(b).into())),
        Element::Int8 => Data::Ints(each(raw, |[b]| b.cast_signed().into())),
        Element::Uint8 | Element::Bool => Data::Ints(each(raw, |[b]| b.into())),
        Element::Float => Data::Floats(each(raw, |b| f32::from_le_bytes(b).into())),
        Element::Double => Data::Floats(each(raw, f64::from_le_bytes)),
        Element::Float16 | Element::Bfloat16 => {
            Data::Floats(each(raw, |b| half(element, u16::from_le_bytes(b))))
        }
        _ => return None,
    })
}

/// A number of 16 bits: sign, 5 bits of exponent, 10 of fraction, or the upper half of a single.
fn half(element: Element, bits: u16) -> f64 {
    if element == Element::Bfloat16 {
        return f32::from_bits(u32::from(bits) << 16).into();
    }
    let sign = if bits >> 15 == 0 { 1.0 } else { -1.0 };
    let exponent = i32::from(bits >> 10 & 0x1f);
    let fraction = f64::from(bits & 0x3ff);
    sign * match exponent {
        0 => fraction * 2.0_f64.powi(-24),
        0x1f if fraction == 0.0 => f64::INFINITY,
        0x1f => f64::NAN,
        _ => (1024.0 + fraction) * 2.0_f64.powi(exponent - 25),
    }
}

/// A name as it may be written to a terminal.
pub(super) fn shown(name: &str) -> String {
    name.chars().take(80).flat_map(char::escape_debug).collect()
}
