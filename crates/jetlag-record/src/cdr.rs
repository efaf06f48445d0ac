//! Plain CDR (XCDR1, little endian), as ROS 2 puts it into bags: the primitives that our messages use.
//!
//! Written by hand, because the frame record is encoded once per frame on a machine that is being
//! measured: it goes into one reused buffer, and is read again without building anything in between.
//! `cdr-encoding` (serde) needs a second set of structs with owned strings and sequences for that; it
//! checks this module in the tests instead.
//!
//! Alignment counts from the end of the four-byte encapsulation header.

/// Encapsulation header: plain CDR, little endian, no options.
const HEADER: [u8; 4] = [0, 1, 0, 0];

/// Encodes one message into a reused buffer.
pub(super) struct Encoder<'a> {
    out: &'a mut Vec<u8>,
}

impl<'a> Encoder<'a> {
    /// Starts a message; what `out` held is forgotten, its memory is used again.
    pub(super) fn new(out: &'a mut Vec<u8>) -> Self {
        out.clear();
        out.extend_from_slice(&HEADER);
        Encoder { out }
    }

    fn put<const N: usize>(&mut self, bytes: [u8; N]) {
        let used = self.out.len() - HEADER.len();
        self.out.resize(HEADER.len() + used.next_multiple_of(N), 0);
        self.out.extend_from_slice(&bytes);
    }
    pub(super) fn u8(&mut self, v: u8) {
        self.out.push(v);
    }
    pub(super) fn bool(&mut self, v: bool) {
        self.u8(u8::from(v));
    }
    pub(super) fn u16(&mut self, v: u16) {
        self.put(v.to_le_bytes());
    }
    pub(super) fn u32(&mut self, v: u32) {
        self.put(v.to_le_bytes());
    }
    pub(super) fn i32(&mut self, v: i32) {
        self.put(v.to_le_bytes());
    }
    pub(super) fn u64(&mut self, v: u64) {
        self.put(v.to_le_bytes());
    }
    pub(super) fn i64(&mut self, v: i64) {
        self.put(v.to_le_bytes());
    }
    pub(super) fn f32(&mut self, v: f32) {
        self.put(v.to_le_bytes());
    }
    pub(super) fn f64(&mut self, v: f64) {
        self.put(v.to_le_bytes());
    }
    /// Writes the length with the closing zero, then the bytes and the zero.
    pub(super) fn str(&mut self, v: &str) {
        self.len(v.len() + 1);
        self.out.extend_from_slice(v.as_bytes());
        self.out.push(0);
    }
    /// Writes the length of a sequence, whose elements follow.
    pub(super) fn len(&mut self, elements: usize) {
        self.u32(u32::try_from(elements).expect("a message stays below 4 GiB"));
    }
}

/// Why a message could not be decoded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CdrError {
    /// The encapsulation header is not the one that we write.
    #[error("expected plain little-endian CDR (00 01 00 00), found {found:02x?}")]
    Encapsulation {
        /// The message's first four bytes, which should name its encoding; fewer where it has fewer.
        found: Vec<u8>,
    },
    /// The message is shorter than its schema.
    #[error("expected {wanted} bytes at offset {at}, found {found}")]
    TooShort {
        /// Offset of the field after the encapsulation header.
        at: usize,
        /// Bytes that the field needs.
        wanted: usize,
        /// Bytes that are left.
        found: usize,
    },
    /// A string that is not UTF-8, or not closed by a zero.
    #[error("the text at offset {at} is not a zero-terminated UTF-8 string")]
    BadString {
        /// Offset after the encapsulation header.
        at: usize,
    },
    /// A number that is not a value of its field.
    #[error("{value} is not a value of `{field}`")]
    UnknownValue {
        /// Name of the field in the schema.
        field: &'static str,
        /// The number in the message.
        value: u64,
    },
}

/// Decodes one message. Bytes after the last requested field are ignored: a newer minor version appends fields.
pub(super) struct Decoder<'a> {
    data: &'a [u8],
    at: usize,
}

impl<'a> Decoder<'a> {
    pub(super) fn new(message: &'a [u8]) -> Result<Self, CdrError> {
        match message.split_first_chunk::<4>() {
            Some((&HEADER, data)) => Ok(Decoder { data, at: 0 }),
            _ => Err(CdrError::Encapsulation {
                found: message[..message.len().min(4)].to_vec(),
            }),
        }
    }

    #[inline]
    fn take<const N: usize>(&mut self) -> Result<[u8; N], CdrError> {
        let at = self.at.next_multiple_of(N);
        match self.data.get(at..).and_then(|rest| rest.first_chunk::<N>()) {
            Some(bytes) => {
                self.at = at + N;
                Ok(*bytes)
            }
            None => Err(self.too_short(at, N)),
        }
    }
    #[cold]
    fn too_short(&self, at: usize, wanted: usize) -> CdrError {
        let found = self.data.len().saturating_sub(at);
        CdrError::TooShort { at, wanted, found }
    }
    #[inline]
    pub(super) fn u8(&mut self) -> Result<u8, CdrError> {
        Ok(self.take::<1>()?[0])
    }
    #[inline]
    pub(super) fn bool(&mut self) -> Result<bool, CdrError> {
        Ok(self.u8()? != 0)
    }
    #[inline]
    pub(super) fn u16(&mut self) -> Result<u16, CdrError> {
        self.take().map(u16::from_le_bytes)
    }
    #[inline]
    pub(super) fn u32(&mut self) -> Result<u32, CdrError> {
        self.take().map(u32::from_le_bytes)
    }
    #[inline]
    pub(super) fn u64(&mut self) -> Result<u64, CdrError> {
        self.take().map(u64::from_le_bytes)
    }
    #[inline]
    pub(super) fn i64(&mut self) -> Result<i64, CdrError> {
        self.take().map(i64::from_le_bytes)
    }
    #[inline]
    pub(super) fn f32(&mut self) -> Result<f32, CdrError> {
        self.take().map(f32::from_le_bytes)
    }
    #[inline]
    pub(super) fn f64(&mut self) -> Result<f64, CdrError> {
        self.take().map(f64::from_le_bytes)
    }
    pub(super) fn str(&mut self) -> Result<&'a str, CdrError> {
        let length = self.u32()? as usize;
        let at = self.at;
        let bytes = self
            .data
            .get(at..)
            .and_then(|rest| rest.get(..length))
            .ok_or_else(|| self.too_short(at, length))?;
        self.at += length;
        match bytes.split_last() {
            Some((0, text)) => std::str::from_utf8(text).map_err(|_| CdrError::BadString { at }),
            _ => Err(CdrError::BadString { at }),
        }
    }
    /// Whether all bytes are read: an older minor version ended its message here.
    pub(super) fn at_end(&self) -> bool {
        self.at >= self.data.len()
    }
    /// Length of a sequence; at most as many as there are bytes left, so that a damaged length cannot
    /// ask for much memory. Every element of ours is at least one byte.
    pub(super) fn len(&mut self) -> Result<usize, CdrError> {
        let elements = self.u32()? as usize;
        let left = self.data.len() - self.at;
        if elements > left {
            return Err(CdrError::TooShort {
                at: self.at,
                wanted: elements,
                found: left,
            });
        }
        Ok(elements)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use byteorder::LittleEndian;

    /// Every alignment follows every other at least once.
    type Mixed = (u8, f64, u16, String, u32, bool, i64, f32, u64, u8, i32, Vec<u16>);

    fn encode(m: &Mixed) -> Vec<u8> {
        let mut out = vec![7; 3];
        let mut e = Encoder::new(&mut out);
        e.u8(m.0);
        e.f64(m.1);
        e.u16(m.2);
        e.str(&m.3);
        e.u32(m.4);
        e.bool(m.5);
        e.i64(m.6);
        e.f32(m.7);
        e.u64(m.8);
        e.u8(m.9);
        e.i32(m.10);
        e.len(m.11.len());
        for v in &m.11 {
            e.u16(*v);
        }
        out
    }

    proptest::proptest! {
        #[test]
        fn an_independent_encoder_lays_the_same_bytes(
            a in proptest::prelude::any::<(u8, f64, u16, String, u32, bool)>(),
            b in proptest::prelude::any::<(i64, f32, u64, u8, i32, Vec<u16>)>(),
        ) {
            let mixed: Mixed = (a.0, a.1, a.2, a.3, a.4, a.5, b.0, b.1, b.2, b.3, b.4, b.5);
            let ours = encode(&mixed);
            proptest::prop_assert_eq!(&ours[..4], &HEADER);
            proptest::prop_assert_eq!(
                &ours[4..],
                &cdr_encoding::to_vec::<Mixed, LittleEndian>(&mixed).unwrap()[..]
            );
            let mut d = Decoder::new(&ours).unwrap();
            proptest::prop_assert_eq!(d.u8().unwrap(), mixed.0);
            proptest::prop_assert_eq!(d.f64().unwrap().to_bits(), mixed.1.to_bits());
            proptest::prop_assert_eq!(d.u16().unwrap(), mixed.2);
            proptest::prop_assert_eq!(d.str().unwrap(), &mixed.3);
            proptest::prop_assert_eq!(d.u32().unwrap(), mixed.4);
            proptest::prop_assert_eq!(d.bool().unwrap(), mixed.5);
            proptest::prop_assert_eq!(d.i64().unwrap(), mixed.6);
        }
    }

    #[test]
    fn damaged_messages_are_errors_that_say_where() {
        let cut = Decoder::new(&[0, 1, 0, 0, 5, 0, 0]).unwrap().u32().unwrap_err();
        assert_eq!(cut.to_string(), "expected 4 bytes at offset 0, found 3");
        assert!(Decoder::new(&[0, 0, 0, 0]).is_err(), "big endian is not ours");
        assert!(Decoder::new(&[]).is_err());
        let mut long = Decoder::new(&[0, 1, 0, 0, 255, 255, 255, 255, 0]).unwrap();
        assert!(matches!(long.str(), Err(CdrError::TooShort { .. })));
        let mut open = Decoder::new(&[0, 1, 0, 0, 2, 0, 0, 0, b'a', b'b']).unwrap();
        assert_eq!(open.str(), Err(CdrError::BadString { at: 4 }));
        let mut many = Decoder::new(&[0, 1, 0, 0, 255, 255, 255, 255, 0]).unwrap();
        assert!(many.len().is_err());
    }

    #[test]
    fn a_sequence_longer_than_what_is_left_of_the_message_is_refused() {
        let mut out = Vec::new();
        let mut encoder = Encoder::new(&mut out);
        encoder.len(3);
        (0..2).for_each(|_| encoder.u8(1));
        let found = Decoder::new(&out).unwrap().len();
        assert!(
            matches!(
                found,
                Err(CdrError::TooShort {
                    wanted: 3,
                    found: 2,
                    ..
                })
            ),
            "{found:?}"
        );
    }
}
