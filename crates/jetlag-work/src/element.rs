//! Element types of tensors and how many bits one takes.

use serde::Serialize;

/// The element type of a tensor, as ONNX numbers them (`TensorProto.DataType`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs)] // The names are ONNX's own.
pub enum Element {
    Float,
    Uint8,
    Int8,
    Uint16,
    Int16,
    Int32,
    Int64,
    String,
    Bool,
    Float16,
    Double,
    Uint32,
    Uint64,
    Complex64,
    Complex128,
    Bfloat16,
    /// One of the four types of 8 bits with an exponent, and the exponent alone.
    Float8,
    Uint4,
    Int4,
    Float4,
    Uint2,
    Int2,
    /// The graph does not say.
    Unknown,
}

/// In which element sizes the traffic is counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum As {
    /// As the graph has them.
    #[default]
    Stored,
    /// Every floating-point tensor as 16 bits.
    Fp16,
    /// Every floating-point tensor as 8 bits.
    Int8,
}

impl Element {
    /// The type that ONNX has under this number.
    pub fn of(number: i64) -> Element {
        use Element::*;
        match number {
            1 => Float,
            2 => Uint8,
            3 => Int8,
            4 => Uint16,
            5 => Int16,
            6 => Int32,
            7 => Int64,
            8 => String,
            9 => Bool,
            10 => Float16,
            11 => Double,
            12 => Uint32,
            13 => Uint64,
            14 => Complex64,
            15 => Complex128,
            16 => Bfloat16,
            17..=20 | 24 => Float8,
            21 => Uint4,
            22 => Int4,
            23 => Float4,
            25 => Uint2,
            26 => Int2,
            _ => Unknown,
        }
    }

    /// Bits of one element; none of text and of what is unknown.
    pub fn bits(self) -> Option<u64> {
        use Element::*;
        Some(match self {
            Complex128 => 128,
            Int64 | Double | Uint64 | Complex64 => 64,
            Float | Int32 | Uint32 => 32,
            Uint16 | Int16 | Float16 | Bfloat16 => 16,
            Uint8 | Int8 | Bool | Float8 => 8,
            Uint4 | Int4 | Float4 => 4,
            Uint2 | Int2 => 2,
            String | Unknown => return None,
        })
    }

    /// Bits of one element where floating point is taken as something else.
    pub fn bits_as(self, wanted: As) -> Option<u64> {
        use Element::*;
        match (self, wanted) {
            (Float | Double | Float16 | Bfloat16, As::Fp16) => Some(16),
            (Float | Double | Float16 | Bfloat16, As::Int8) => Some(8),
            _ => self.bits(),
        }
    }

    /// Real numbers with a fraction.
    pub fn is_float(self) -> bool {
        use Element::*;
        matches!(self, Float | Double | Float16 | Bfloat16 | Float8 | Float4)
    }

    /// Whole numbers and truth values.
    pub fn is_integer(self) -> bool {
        use Element::*;
        matches!(
            self,
            Uint8
                | Int8
                | Uint16
                | Int16
                | Int32
                | Int64
                | Bool
                | Uint32
                | Uint64
                | Uint4
                | Int4
                | Uint2
                | Int2
        )
    }
}
