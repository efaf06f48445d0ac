//! CDR, the serialisation of ROS 2, read as far as the messages here need it: either byte order, and both ways of alignment.
//!
//! A message begins with four bytes that name its encoding. In the classic one (XCDR1), a number is aligned to its size; in the
//! newer one (XCDR2, plain), to four bytes at most, and a sequence of structures is preceded by its length in bytes. Alignment
//! counts from the end of those four bytes.

use crate::time::Time;

/// Why a message could not be decoded. Offsets count from the beginning of the message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CdrError {
    /// The first four bytes name no encoding that is supported.
    #[error(
        "the message begins with {found:02x?}, which is no plain CDR (00 00 or 00 01, or 00 06 or 00 07): it is another \
        serialisation, or damaged"
    )]
    Encapsulation {
        /// Its first bytes.
        found: Vec<u8>,
    },
    /// A field goes beyond the end of the message.
    #[error("the message ends too early: {wanted} bytes are wanted at byte {at}, and {found} are there")]
    TooShort {
        /// Where the field begins.
        at: usize,
        /// How many bytes it has.
        wanted: u64,
        /// How many are left.
        found: usize,
    },
    /// A text that is not UTF-8 or not closed by a zero.
    #[error("the text at byte {at} is not UTF-8 closed by a zero")]
    BadText {
        /// Where it begins.
        at: usize,
    },
}

/// Bytes of a message before its content.
const ENCAPSULATION: usize = 4;

/// Reads the fields of a message in turn. Cheap to copy, to read a part again.
#[derive(Clone, Copy, Debug)]
pub struct Decoder<'a> {
    message: &'a [u8],
    /// From the beginning of the message.
    at: usize,
    is_big_endian: bool,
    is_second: bool,
}

/// Reads a number: see [`Decoder`].
macro_rules! number {
    ($name:ident, $kind:ty, $size:literal) => {
        #[doc = concat!("A number, `", stringify!($kind), "`.")]
        ///
        /// # Errors
        /// The message ends before it.
        #[inline]
        pub fn $name(&mut self) -> Result<$kind, CdrError> {
            let bytes = self.aligned::<$size>()?;
            Ok(match self.is_big_endian {
                true => <$kind>::from_be_bytes(bytes),
                false => <$kind>::from_le_bytes(bytes),
            })
        }
    };
}

impl<'a> Decoder<'a> {
    /// Begins with a message as bags hold it.
    ///
    /// # Errors
    /// It has no four bytes, or they name another encoding than plain CDR.
    pub fn new(message: &'a [u8]) -> Result<Self, CdrError> {
        let (is_big_endian, is_second) = match message.first_chunk::<ENCAPSULATION>() {
            Some([0, 0, ..]) => (true, false),
            Some([0, 1, ..]) => (false, false),
            Some([0, 6, ..]) => (true, true),
            Some([0, 7, ..]) => (false, true),
            _ => {
                let found = message[..message.len().min(ENCAPSULATION)].to_vec();
                return Err(CdrError::Encapsulation { found });
            }
        };
        Ok(Decoder {
            message,
            at: ENCAPSULATION,
            is_big_endian,
            is_second,
        })
    }

    #[inline]
    fn aligned<const N: usize>(&mut self) -> Result<[u8; N], CdrError> {
        let alignment = if self.is_second { N.min(4) } else { N };
        let at = ENCAPSULATION + (self.at - ENCAPSULATION).next_multiple_of(alignment);
        match self.message.get(at..).and_then(|rest| rest.first_chunk::<N>()) {
            Some(bytes) => {
                self.at = at + N;
                Ok(*bytes)
            }
            None => Err(self.too_short(at, N as u64)),
        }
    }

    #[cold]
    fn too_short(&self, at: usize, wanted: u64) -> CdrError {
        CdrError::TooShort {
            at,
            wanted,
            found: self.message.len().saturating_sub(at),
        }
    }

    number!(u8, u8, 1);
    number!(u16, u16, 2);
    number!(u32, u32, 4);
    number!(i32, i32, 4);
    number!(f64, f64, 8);

    /// A truth value; any number but 0 is true.
    ///
    /// # Errors
    /// The message ends before it.
    pub fn bool(&mut self) -> Result<bool, CdrError> {
        Ok(self.u8()? != 0)
    }

    /// So many numbers `f64`.
    ///
    /// # Errors
    /// The message ends before them.
    pub fn f64s<const N: usize>(&mut self) -> Result<[f64; N], CdrError> {
        let mut numbers = [0.0; N];
        for number in &mut numbers {
            *number = self.f64()?;
        }
        Ok(numbers)
    }

    /// `builtin_interfaces/Time`.
    ///
    /// # Errors
    /// The message ends before it.
    pub fn time(&mut self) -> Result<Time, CdrError> {
        Ok(Time::of(self.i32()?, self.u32()?))
    }

    /// Bytes after their number, `uint8[]`.
    ///
    /// # Errors
    /// The message ends before them.
    pub fn bytes(&mut self) -> Result<&'a [u8], CdrError> {
        let length = self.u32()?;
        let rest = &self.message[self.at..];
        match usize::try_from(length).ok().and_then(|length| rest.get(..length)) {
            Some(bytes) => {
                self.at += bytes.len();
                Ok(bytes)
            }
            None => Err(self.too_short(self.at, u64::from(length))),
        }
    }

    /// A text. One of length 0, without the closing zero, is taken for an empty one.
    ///
    /// # Errors
    /// The message ends before it, it is not UTF-8, or is not closed.
    pub fn str(&mut self) -> Result<&'a str, CdrError> {
        let bytes = self.bytes()?;
        let at = self.at - bytes.len();
        match bytes {
            [] => Ok(""),
            [text @ .., 0] => std::str::from_utf8(text).map_err(|_| CdrError::BadText { at }),
            _ => Err(CdrError::BadText { at }),
        }
    }

    /// The length of a sequence of numbers that have at least `smallest` bytes each: never more than the message can hold.
    ///
    /// # Errors
    /// The message ends before the sequence does.
    pub fn length(&mut self, smallest: usize) -> Result<usize, CdrError> {
        let length = self.u32()?;
        let wanted = u64::from(length) * smallest as u64;
        match wanted > (self.message.len() - self.at) as u64 {
            true => Err(self.too_short(self.at, wanted)),
            false => Ok(length as usize),
        }
    }

    /// The same, of a sequence of structures.
    ///
    /// # Errors
    /// Those of [`Decoder::length`].
    pub fn structures(&mut self, smallest: usize) -> Result<usize, CdrError> {
        if self.is_second {
            self.u32()?; // Its length in bytes.
        }
        self.length(smallest)
    }
}

#[cfg(test)]
mod tests {
    use byteorder::{BigEndian, ByteOrder, LittleEndian};

    use super::*;

    /// Every alignment follows every other at least once.
    type Mixed = (u8, f64, u16, String, u32, bool, f64, i32, Vec<u8>, u8, u16, f64);

    fn check<E: ByteOrder>(mixed: &Mixed, encapsulation: [u8; 4]) {
        let mut message = encapsulation.to_vec();
        message.extend(cdr_encoding::to_vec::<Mixed, E>(mixed).unwrap());
        let mut d = Decoder::new(&message).unwrap();
        assert_eq!(d.u8().unwrap(), mixed.0);
        assert_eq!(d.f64().unwrap().to_bits(), mixed.1.to_bits());
        assert_eq!(d.u16().unwrap(), mixed.2);
        assert_eq!(d.str().unwrap(), mixed.3);
        assert_eq!(d.u32().unwrap(), mixed.4);
        assert_eq!(d.bool().unwrap(), mixed.5);
        assert_eq!(d.f64s::<1>().unwrap()[0].to_bits(), mixed.6.to_bits());
        assert_eq!(d.i32().unwrap(), mixed.7);
        assert_eq!(d.bytes().unwrap(), mixed.8);
        assert_eq!(d.u8().unwrap(), mixed.9);
        assert_eq!(d.u16().unwrap(), mixed.10);
        assert_eq!(d.f64().unwrap().to_bits(), mixed.11.to_bits());
        assert!(d.u8().is_err());
    }

    proptest::proptest! {
        #[test]
        fn what_an_independent_encoder_wrote_is_read_in_both_byte_orders(
            a in proptest::prelude::any::<(u8, f64, u16, String, u32, bool)>(),
            b in proptest::prelude::any::<(f64, i32, Vec<u8>, u8, u16, f64)>(),
        ) {
            // A zero within a text ends it for the encoder, too.
            let mixed: Mixed = (a.0, a.1, a.2, a.3.replace('\0', ""), a.4, a.5, b.0, b.1, b.2, b.3, b.4, b.5);
            check::<LittleEndian>(&mixed, [0, 1, 0, 0]);
            check::<BigEndian>(&mixed, [0, 0, 0, 0]);
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes: Vec<u8>, kinds: Vec<u8>) {
            for head in [[0, 0], [0, 1], [0, 6], [0, 7]] {
                let message = [&head, &[0, 0], &bytes[..]].concat();
                let mut d = Decoder::new(&message).unwrap();
                for kind in &kinds {
                    let _ = match kind % 7 {
                        0 => d.u8().map(|_| ()),
                        1 => d.f64().map(|_| ()),
                        2 => d.str().map(|_| ()),
                        3 => d.bytes().map(|_| ()),
                        4 => d.length(3).map(|length| assert!(length * 3 <= bytes.len())),
                        5 => d.structures(16).map(|_| ()),
                        _ => d.u16().map(|_| ()),
                    };
                }
            }
        }
    }

    #[test]
    fn the_second_version_aligns_to_four_bytes() {
        let mut message = vec![0, 7, 0, 0, 1, 0, 0, 0];
        message.extend(2.5f64.to_le_bytes());
        let mut d = Decoder::new(&message).unwrap();
        assert_eq!((d.u8(), d.f64()), (Ok(1), Ok(2.5)));
        message[1] = 1;
        let mut d = Decoder::new(&message).unwrap();
        assert!(
            d.u8().is_ok() && d.f64().is_err(),
            "aligned to eight, four bytes are missing"
        );
    }

    #[test]
    fn what_is_wrong_with_a_message_is_a_sentence() {
        let refused = Decoder::new(&[0x28, 0xb5]).unwrap_err().to_string();
        assert!(refused.contains("begins with [28, b5]"), "{refused}");
        let long = [0, 1, 0, 0, 255, 255, 255, 255, 1];
        let refused = Decoder::new(&long).unwrap().bytes().unwrap_err().to_string();
        assert_eq!(
            refused,
            "the message ends too early: 4294967295 bytes are wanted at byte 8, and 1 are there"
        );
        let open = [0, 1, 0, 0, 2, 0, 0, 0, b'a', b'b'];
        assert_eq!(
            Decoder::new(&open).unwrap().str(),
            Err(CdrError::BadText { at: 8 })
        );
        let empty = [0, 1, 0, 0, 0, 0, 0, 0];
        assert_eq!(Decoder::new(&empty).unwrap().str(), Ok(""));
    }
}
