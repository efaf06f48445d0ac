//! The point cloud files of PCL: a header of lines, then points as text or binary.
//!
//! Format: <https://pointclouds.org/documentation/tutorials/pcd_file_format.html>. Fields are found by name:
//! `x`, `y`, `z`, an intensity, which is 0 where there is none, and the laser where it is wanted: [`point_fields`].

use crate::record::point_fields;

/// What is wrong with a file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum PcdError {
    #[error(
        "the header says {points} points, more than {most}: if it is one sweep, raise the source's `max_points`"
    )]
    TooManyPoints { points: usize, most: usize },
    #[error("the header has no DATA line: not a PCD file, or truncated")]
    NoData,
    #[error("the header is not text at byte {0}: not a PCD file")]
    NotText(usize),
    #[error("{key} is `{found}`: a whole number is expected")]
    NotANumber { key: String, found: String },
    #[error("the header has `{0}`, which is not a PCD field")]
    UnknownKey(String),
    #[error(
        "DATA binary_compressed is not supported: convert it with `pcl_convert_pcd_ascii_binary IN OUT 1`"
    )]
    Compressed,
    #[error("DATA is `{0}`: ascii or binary is expected")]
    UnknownData(String),
    #[error("the header has neither POINTS nor WIDTH and HEIGHT")]
    NoPoints,
    #[error("COUNT of field `{field}` is {count}")]
    BadCount { field: String, count: String },
    #[error("field `{0}` has no usable SIZE and TYPE: F4, F8, U1 to U8, I1 to I8")]
    BadType(String),
    #[error("field `{axis}` is missing; FIELDS are: {names}")]
    NoField { axis: &'static str, names: String },
    #[error("the points are not text: {0}")]
    PointsNotText(std::str::Utf8Error),
    #[error("point {row}: `{word}` is not a number")]
    BadValue { row: usize, word: String },
    #[error("point {row} has {found} of {wanted} values: the file is truncated")]
    ShortPoint { row: usize, found: usize, wanted: usize },
    #[error("contains {found} points, but the header says {wanted}: the file is truncated")]
    FewerPoints { found: usize, wanted: usize },
}

/// Where in a point a value lies, and what it is.
#[derive(Clone, Copy)]
struct Field {
    /// Bytes from the start of a binary point.
    offset: usize,
    /// Words from the start of a line.
    word: usize,
    size: usize,
    kind: u8,
}

enum Data {
    Ascii,
    Binary,
}

struct Header {
    /// The line FIELDS.
    names: String,
    /// x, y, z, and intensity if there is one.
    fields: [Option<Field>; 4],
    ring: Option<Field>,
    /// Bytes of a binary point.
    stride: usize,
    words: usize,
    points: usize,
    data: Data,
    /// Bytes of the header itself.
    len: usize,
}

/// What the points of a file have beside places.
pub(super) struct Fields {
    pub(super) has_intensity: bool,
    pub(super) has_ring: bool,
    /// Their names, in words.
    pub(super) words: String,
}

/// What the points of a file have, of which at least the header is there.
pub(super) fn fields(bytes: &[u8]) -> Result<Fields, PcdError> {
    Header::parse(bytes).map(|header| header.words())
}

/// Appends the points of a file, which may have so many, and if they are wanted and there, their rings.
pub(super) fn parse(
    bytes: &[u8],
    points: &mut Vec<[f32; 4]>,
    rings: Option<&mut Vec<f32>>,
    most: usize,
) -> Result<Fields, PcdError> {
    let header = Header::parse(bytes)?;
    let rings = rings.zip(header.ring);
    if header.points > most {
        let points = header.points;
        return Err(PcdError::TooManyPoints { points, most });
    }
    let body = &bytes[header.len..];
    match header.data {
        Data::Ascii => header.ascii(body, points, rings)?,
        Data::Binary => header.binary(body, points, rings)?,
    }
    Ok(header.words())
}

impl Header {
    fn parse(bytes: &[u8]) -> Result<Self, PcdError> {
        let (mut names, mut sizes, mut kinds, mut counts) = ("", "", "", "");
        let (mut width, mut height, mut total) = (None, None, None);
        let mut len = 0;
        let data = loop {
            let end = bytes[len..].iter().position(|b| *b == b'\n').map(|n| len + n);
            let Some(end) = end else {
                return Err(PcdError::NoData);
            };
            let Ok(line) = std::str::from_utf8(&bytes[len..end]) else {
                return Err(PcdError::NotText(len));
            };
            len = end + 1;
            let (key, rest) = line
                .trim()
                .split_once(char::is_whitespace)
                .unwrap_or((line.trim(), ""));
            let rest = rest.trim();
            let number = || {
                rest.parse().map(Some).map_err(|_| PcdError::NotANumber {
                    key: key.to_owned(),
                    found: rest.to_owned(),
                })
            };
            match key {
                "FIELDS" => names = rest,
                "SIZE" => sizes = rest,
                "TYPE" => kinds = rest,
                "COUNT" => counts = rest,
                "WIDTH" => width = number()?,
                "HEIGHT" => height = number()?,
                "POINTS" => total = number()?,
                "DATA" => break rest,
                "VERSION" | "VIEWPOINT" | "" => {}
                _ if key.starts_with('#') => {}
                _ => return Err(PcdError::UnknownKey(key.to_owned())),
            }
        };
        let data = match data {
            "ascii" => Data::Ascii,
            "binary" => Data::Binary,
            "binary_compressed" => return Err(PcdError::Compressed),
            other => return Err(PcdError::UnknownData(other.to_owned())),
        };
        let area = width
            .zip(height)
            .and_then(|(w, h): (usize, usize)| w.checked_mul(h));
        let points = total.or(area).ok_or(PcdError::NoPoints)?;
        let mut header = Header {
            names: names.to_owned(),
            fields: [None; 4],
            ring: None,
            stride: 0,
            words: 0,
            points,
            data,
            len,
        };
        header.find_fields(names, sizes, kinds, counts)?;
        Ok(header)
    }

    fn find_fields(&mut self, names: &str, sizes: &str, kinds: &str, counts: &str) -> Result<(), PcdError> {
        let (mut sizes, mut kinds) = (sizes.split_whitespace(), kinds.split_whitespace());
        let mut counts = counts.split_whitespace();
        let find = |names_of: &[&str]| point_fields::find(names.split_whitespace(), names_of);
        let places = [
            find(&["x"]),
            find(&["y"]),
            find(&["z"]),
            find(point_fields::INTENSITY),
        ];
        let ring = find(point_fields::RING);
        for (number, name) in names.split_whitespace().enumerate() {
            let (size, kind) = (sizes.next().and_then(|s| s.parse().ok()), kinds.next());
            let count: usize = match counts.next() {
                None => 1,
                // Padding of no bytes, as PCL once wrote it.
                Some("0") if name == "_" => 0,
                Some(zero) if zero.bytes().all(|b| b == b'0') => {
                    return Err(bad_count(name, "0"));
                }
                Some(text) => text.parse().map_err(|_| bad_count(name, &format!("`{text}`")))?,
            };
            let (size, kind) = match (size, kind) {
                (Some(size @ (4 | 8)), Some("F")) => (size, b'F'),
                (Some(size @ (1 | 2 | 4 | 8)), Some("U")) => (size, b'U'),
                (Some(size @ (1 | 2 | 4 | 8)), Some("I")) => (size, b'I'),
                _ => {
                    return Err(PcdError::BadType(name.to_owned()));
                }
            };
            let field = Field {
                offset: self.stride,
                word: self.words,
                size,
                kind,
            };
            if let Some(place) = places.iter().position(|place| *place == Some(number)) {
                self.fields[place] = Some(field);
            }
            if ring == Some(number) {
                self.ring = Some(field);
            }
            let wide = count
                .checked_mul(size)
                .and_then(|bytes| self.stride.checked_add(bytes));
            self.stride = wide.ok_or_else(|| bad_count(name, &count.to_string()))?;
            self.words = self.words.saturating_add(count);
        }
        match self.fields[..3].iter().position(Option::is_none) {
            Some(axis) => Err(PcdError::NoField {
                axis: ["x", "y", "z"][axis],
                names: names.to_owned(),
            }),
            None => Ok(()),
        }
    }

    fn words(&self) -> Fields {
        Fields {
            has_intensity: self.fields[3].is_some(),
            has_ring: self.ring.is_some(),
            words: format!(
                "its FIELDS are {}",
                self.names.split_whitespace().collect::<Vec<_>>().join(", ")
            ),
        }
    }

    fn ascii(
        &self,
        body: &[u8],
        points: &mut Vec<[f32; 4]>,
        mut rings: Option<(&mut Vec<f32>, Field)>,
    ) -> Result<(), PcdError> {
        let text = std::str::from_utf8(body).map_err(PcdError::PointsNotText)?;
        let lines = text.lines().filter(|line| !line.trim().is_empty());
        let before = points.len();
        for (row, line) in lines.take(self.points).enumerate() {
            let mut point = [0.0; 4];
            let number = |word: &str| {
                word.parse().map_err(|_| PcdError::BadValue {
                    row,
                    word: word.to_owned(),
                })
            };
            for (index, word) in line.split_whitespace().enumerate() {
                for (value, field) in point.iter_mut().zip(&self.fields) {
                    if field.is_some_and(|f| f.word == index) {
                        *value = number(word)?;
                    }
                }
                if let Some((rings, ring)) = &mut rings
                    && ring.word == index
                {
                    rings.push(number(word)?);
                }
            }
            let words = line.split_whitespace().count();
            if words < self.words {
                return Err(PcdError::ShortPoint {
                    row,
                    found: words,
                    wanted: self.words,
                });
            }
            points.push(point);
        }
        self.complete(points.len() - before)
    }

    fn binary(
        &self,
        body: &[u8],
        points: &mut Vec<[f32; 4]>,
        rings: Option<(&mut Vec<f32>, Field)>,
    ) -> Result<(), PcdError> {
        let whole = body.len() / self.stride;
        self.complete(whole.min(self.points))?;
        for bytes in body.chunks_exact(self.stride).take(self.points) {
            points.push(self.fields.map(|field| field.map_or(0.0, |f| f.read(bytes))));
        }
        if let Some((rings, ring)) = rings {
            let of_each = body.chunks_exact(self.stride).take(self.points);
            rings.extend(of_each.map(|bytes| ring.read(bytes)));
        }
        Ok(())
    }

    fn complete(&self, found: usize) -> Result<(), PcdError> {
        if found == self.points {
            return Ok(());
        }
        Err(PcdError::FewerPoints {
            found,
            wanted: self.points,
        })
    }
}

fn bad_count(field: &str, count: &str) -> PcdError {
    PcdError::BadCount {
        field: field.to_owned(),
        count: count.to_owned(),
    }
}

impl Field {
    /// The value of a binary point, as near as single precision comes.
    fn read(&self, point: &[u8]) -> f32 {
        let mut raw = [0; 8];
        raw[..self.size].copy_from_slice(&point[self.offset..self.offset + self.size]);
        let bits = u64::from_le_bytes(raw);
        match (self.kind, self.size) {
            (b'F', 4) => f32::from_bits(bits as u32),
            (b'F', _) => f64::from_bits(bits) as f32,
            (b'U', _) => bits as f32,
            (_, size) => {
                let unused = 64 - 8 * size as u32;
                (((bits << unused) as i64) >> unused) as f32
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(bytes: &[u8]) -> Result<Vec<[f32; 4]>, PcdError> {
        let mut points = Vec::new();
        parse(bytes, &mut points, None, 1000).map(|_| points)
    }

    #[test]
    fn padding_of_no_bytes_is_none() {
        let mut file = b"FIELDS x y z _ intensity\nSIZE 4 4 4 1 4\nTYPE F F F U F\nCOUNT 1 1 1 0 1\nPOINTS 1\nDATA binary\n".to_vec();
        for value in [1.0_f32, 2.0, 3.0, 0.5] {
            file.extend(value.to_le_bytes());
        }
        assert_eq!(read(&file).unwrap(), [[1.0, 2.0, 3.0, 0.5]]);
    }

    fn with_header(
        fields: &str,
        sizes: &str,
        kinds: &str,
        points: usize,
        data: &str,
        body: &[u8],
    ) -> Vec<u8> {
        let mut file = format!(
            "# .PCD v0.7 - Point Cloud Data file format\nVERSION 0.7\nFIELDS {fields}\nSIZE {sizes}\n\
             TYPE {kinds}\nCOUNT {}\nWIDTH {points}\nHEIGHT 1\nVIEWPOINT 0 0 0 1 0 0 0\nPOINTS {points}\nDATA {data}\n",
            fields.split(' ').map(|_| "1").collect::<Vec<_>>().join(" "),
        )
        .into_bytes();
        file.extend_from_slice(body);
        file
    }

    #[test]
    fn text_is_read_by_the_names_of_its_fields() {
        let file = with_header("z x y", "4 4 4", "F F F", 2, "ascii", b"3 1 2\nnan 4.5 -1e1\n");
        let points = read(&file).unwrap();
        assert_eq!(points[0], [1.0, 2.0, 3.0, 0.0]);
        assert_eq!(points[1][..2], [4.5, -10.0]);
        assert!(points[1][2].is_nan());
    }

    #[test]
    fn binary_is_read_by_type_size_and_place() {
        let mut body = Vec::new();
        for (ring, x, y, z, i) in [(7u16, 1.0f32, 2.0f64, -3i8, 200u8), (8, -1.5, 2.25, 5, 0)] {
            body.extend_from_slice(&ring.to_le_bytes());
            body.extend_from_slice(&x.to_le_bytes());
            body.extend_from_slice(&y.to_le_bytes());
            body.extend_from_slice(&z.to_le_bytes());
            body.push(i);
        }
        let file = with_header(
            "ring x y z intensity",
            "2 4 8 1 1",
            "U F F I U",
            2,
            "binary",
            &body,
        );
        assert_eq!(
            read(&file).unwrap(),
            [[1.0, 2.0, -3.0, 200.0], [-1.5, 2.25, 5.0, 0.0]]
        );
    }

    #[test]
    fn what_is_wrong_is_said() {
        let body = [0; 24];
        for (file, wanted) in [
            (
                with_header("x y z", "4 4 4", "F F F", 3, "binary", &body),
                "contains 2 points, but the header says 3",
            ),
            (
                with_header("x y z", "4 4 4", "F F F", 3, "ascii", b"1 2 3\n"),
                "contains 1 points, but the header says 3",
            ),
            (
                with_header("x y z", "4 4 4", "F F F", 1, "ascii", b"1 2\n"),
                "point 0 has 2 of 3 values",
            ),
            (
                with_header("x y z", "4 4 4", "F F F", 1, "ascii", b"1 2 three\n"),
                "`three` is not a number",
            ),
            (
                with_header("x y z", "4 4 4", "F F F", 1, "binary_compressed", &body),
                "pcl_convert_pcd_ascii_binary",
            ),
            (
                with_header("x y w", "4 4 4", "F F F", 1, "binary", &body),
                "field `z` is missing; FIELDS are: x y w",
            ),
            (
                with_header("x y z", "4 4", "F F F", 1, "binary", &body),
                "field `z` has no usable SIZE",
            ),
            (
                b"FIELDS x y z\nSIZE 4 4 4\nTYPE F F F\nCOUNT 0 0 0\nPOINTS 1\nDATA binary\n".to_vec(),
                "`x` is 0",
            ),
            (b"VERSION 0.7\nFIELDS x y z\n".to_vec(), "no DATA line"),
            (b"\xff\xfe\n".to_vec(), "not a PCD file"),
            (b"hello there\n".to_vec(), "has `hello`, which is not a PCD field"),
        ] {
            let error = read(&file).unwrap_err().to_string();
            assert!(error.contains(wanted), "{error}");
        }
    }

    proptest! {
        #[test]
        fn no_bytes_at_all_make_it_panic(body in prop::collection::vec(any::<u8>(), 0..200), cut in 0usize..400,
                                         points in prop_oneof![0usize..20, Just(usize::MAX)], text in any::<bool>()) {
            let data = if text { "ascii" } else { "binary" };
            let mut file = with_header("x y z intensity", "4 4 4 4", "F F F F", points, data, &body);
            file.truncate(cut);
            let _ = read(&file);
        }
    }
}
