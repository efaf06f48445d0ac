//! Point clouds, whose points have the fields that the driver gave them.

use super::{Header, MessageError};
use crate::cdr::{CdrError, Decoder};

/// The type of a field of a point: `sensor_msgs/PointField`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names of PointField")]
pub enum Number {
    Int8,
    Uint8,
    Int16,
    Uint16,
    Int32,
    Uint32,
    Float32,
    Float64,
    /// A number that the format does not know.
    Unknown(u8),
}

impl Number {
    /// By the number in the message.
    pub fn of(datatype: u8) -> Number {
        match datatype {
            1 => Number::Int8,
            2 => Number::Uint8,
            3 => Number::Int16,
            4 => Number::Uint16,
            5 => Number::Int32,
            6 => Number::Uint32,
            7 => Number::Float32,
            8 => Number::Float64,
            other => Number::Unknown(other),
        }
    }

    /// The number in the message.
    pub fn datatype(self) -> u8 {
        match self {
            Number::Int8 => 1,
            Number::Uint8 => 2,
            Number::Int16 => 3,
            Number::Uint16 => 4,
            Number::Int32 => 5,
            Number::Uint32 => 6,
            Number::Float32 => 7,
            Number::Float64 => 8,
            Number::Unknown(other) => other,
        }
    }

    /// Bytes of one; none for a type that is not known.
    pub fn bytes(self) -> Option<u32> {
        match self {
            Number::Int8 | Number::Uint8 => Some(1),
            Number::Int16 | Number::Uint16 => Some(2),
            Number::Int32 | Number::Uint32 | Number::Float32 => Some(4),
            Number::Float64 => Some(8),
            Number::Unknown(_) => None,
        }
    }
}

/// A field of each point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field<'a> {
    /// Its name.
    pub name: &'a str,
    /// Where it begins within a point, in bytes.
    pub offset: u32,
    /// What it is.
    pub number: Number,
    /// How many of them there are.
    pub count: u32,
}

impl<'a> Field<'a> {
    fn decode(decoder: &mut Decoder<'a>) -> Result<Field<'a>, CdrError> {
        Ok(Field {
            name: decoder.str()?,
            offset: decoder.u32()?,
            number: Number::of(decoder.u8()?),
            count: decoder.u32()?,
        })
    }
}

/// Bytes of the smallest field: an empty name's length, offset, type, count.
const FIELD: usize = 13;

/// The fields of a point, which were read once without an error.
#[derive(Clone, Copy, Debug)]
pub struct Fields<'a> {
    first: Decoder<'a>,
    left: usize,
}

impl<'a> Iterator for Fields<'a> {
    type Item = Field<'a>;

    fn next(&mut self) -> Option<Field<'a>> {
        self.left = self.left.checked_sub(1)?;
        Field::decode(&mut self.first).ok()
    }
}

/// `sensor_msgs/PointCloud2`, whose points are all there.
#[derive(Clone, Copy, Debug)]
pub struct PointCloud<'a> {
    /// When and where it was measured.
    pub header: Header<'a>,
    /// Rows: 1 where the points have no order.
    pub height: u32,
    /// Points in a row.
    pub width: u32,
    /// What each point has.
    pub fields: Fields<'a>,
    /// Whether numbers have their high byte first.
    pub is_big_endian: bool,
    /// Bytes from one point to the next.
    pub point_step: u32,
    /// Bytes from one row to the next, with padding; of no meaning where there is one row.
    pub row_step: u32,
    /// The points: at least `row_step × (height − 1) + point_step × width` bytes.
    pub data: &'a [u8],
    /// Whether the driver says that all points are valid.
    pub is_dense: bool,
}

impl<'a> PointCloud<'a> {
    /// Of a message.
    ///
    /// # Errors
    /// The message is cut off, or holds fewer bytes than its size takes.
    pub fn decode(message: &'a [u8]) -> Result<PointCloud<'a>, MessageError> {
        let mut decoder = Decoder::new(message)?;
        let header = Header::decode(&mut decoder)?;
        let (height, width) = (decoder.u32()?, decoder.u32()?);
        let left = decoder.structures(FIELD)?;
        let fields = Fields { first: decoder, left };
        for _ in 0..left {
            Field::decode(&mut decoder)?;
        }
        let cloud = PointCloud {
            header,
            height,
            width,
            fields,
            is_big_endian: decoder.bool()?,
            point_step: decoder.u32()?,
            row_step: decoder.u32()?,
            data: decoder.bytes()?,
            is_dense: decoder.bool()?,
        };
        cloud.check()?;
        Ok(cloud)
    }

    fn check(&self) -> Result<(), MessageError> {
        let PointCloud {
            height,
            width,
            point_step,
            row_step,
            ..
        } = *self;
        let row = u64::from(width) * u64::from(point_step);
        if height > 1 && u64::from(row_step) < row {
            return Err(MessageError::ShortCloudRow {
                width,
                point_step,
                row_step,
            });
        }
        let wanted = match height {
            0 => 0,
            _ => (u64::from(row_step) * u64::from(height - 1)).saturating_add(row),
        };
        match wanted > self.data.len() as u64 {
            true => Err(MessageError::ShortCloud {
                width,
                height,
                point_step,
                row_step,
                wanted,
                found: self.data.len(),
            }),
            false => Ok(()),
        }
    }
}
