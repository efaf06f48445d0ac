//! A folder of LiDAR sweeps, in name order: `.bin` of KITTI or nuScenes, `.pcd` as text or binary.
//!
//! Coordinates that are not finite pass through (a detector skips them) and are counted in the log. How a `.pcd` is
//! read is in `pcd`.

mod pcd;

use std::io::Read as _;
use std::path::Path;

use super::folder::{FileKind, Folder, has_ending};
use super::wants::{Lack, Wants};
use super::{Content, ContentKind, SourceError};
use crate::files;
use crate::scenario::PointFormat;

/// Sweeps from a folder.
pub type PointFolder = Folder<PointFile>;

/// A `.bin` with these columns, or a `.pcd`, which names its own, of at most so many points.
#[derive(Clone, Copy, Debug)]
pub struct PointFile {
    format: PointFormat,
    max_points: u32,
    wants: Wants,
    /// Whether another format can be set, as in a folder's source.
    is_choice: bool,
}

/// Bytes of a point of a `.pcd` at most, as text or with fields that are passed over, and of its header.
const PCD_POINT_BYTES: u64 = 128;
const PCD_HEADER_BYTES: u64 = 64 << 10;
/// How the names of sweeps end, in whatever case.
pub(crate) const ENDINGS: [&str; 2] = ["bin", "pcd"];

/// Opens a folder of sweeps; `format` says what the columns of its `.bin` files are, and `repeat` whether it
/// begins again at its end. One of more than `max_points` is a frame that fails.
///
/// # Errors
/// A folder that cannot be listed, or that holds no `.bin` or `.pcd`.
pub fn open(
    path: &Path,
    repeat: bool,
    format: PointFormat,
    max_points: u32,
) -> Result<PointFolder, SourceError> {
    Folder::open(
        path,
        repeat,
        PointFile {
            is_choice: true,
            ..PointFile::of(format, max_points)
        },
        &ENDINGS,
        ".bin or .pcd file",
    )
}

impl PointFile {
    /// With these columns, if it is no `.pcd`, and of at most so many points.
    pub(super) fn of(format: PointFormat, max_points: u32) -> PointFile {
        PointFile {
            format,
            max_points,
            wants: Wants::default(),
            is_choice: false,
        }
    }

    /// What columns there are in general, and of a `.pcd`.
    fn words(&self) -> String {
        let (_, columns) = layout(self.format);
        format!("the files are {columns}")
    }
}

impl FileKind for PointFile {
    const CONTENT: ContentKind = ContentKind::Points;
    type Error = PointsError;
    const WORDS: [&str; 2] = ["sweep", "sweeps"];

    fn longest(&self, file: &Path) -> (u64, &'static str) {
        let most = u64::from(self.max_points);
        let bytes = match has_ending(file, &["pcd"]) {
            true => most * PCD_POINT_BYTES + PCD_HEADER_BYTES,
            false => most * layout(self.format).0 as u64,
        };
        (bytes, "max_points")
    }

    fn decode(&self, file: &Path, bytes: &[u8], content: &mut Content) -> Result<(), PointsError> {
        let cloud = content.sweep_mut();
        cloud.clear();
        let points = &mut cloud.points;
        if bytes.is_empty() {
            return Err(PointsError::Empty);
        }
        if has_ending(file, &["pcd"]) {
            let rings = self.wants.ring.then_some(&mut cloud.ring);
            let fields = pcd::parse(bytes, points, rings, self.max_points as usize)?;
            self.wants
                .check(fields.has_intensity, fields.has_ring, || fields.words)
                .map_err(PointsError::Lacks)?;
        } else {
            parse_bin(bytes, self.format, self.is_choice, points)?;
            if self.wants.ring && self.format == PointFormat::NuScenes {
                let (size, _) = layout(self.format);
                cloud
                    .ring
                    .extend(bytes.chunks_exact(size).map(|p| float(&p[16..])));
            }
        }
        if log::log_enabled!(log::Level::Debug) {
            let bad = points.iter().filter(|p| !p.iter().all(|v| v.is_finite())).count();
            log::debug!("{}: {} points, {bad} not finite", file.display(), points.len());
        }
        Ok(())
    }

    fn want(&mut self, wants: Wants, file: &Path) -> Option<Lack> {
        self.wants = wants;
        if !has_ending(file, &["pcd"]) {
            return wants.lack(true, self.format == PointFormat::NuScenes, || self.words());
        }
        let mut head = Vec::new();
        let opened = files::open(file).ok()?;
        opened.take(PCD_HEADER_BYTES).read_to_end(&mut head).ok()?;
        // One that cannot be read fails when it is its turn.
        let fields = pcd::fields(&head).ok()?;
        wants.lack(fields.has_intensity, fields.has_ring, || fields.words)
    }
}

/// Bytes of a point, and its columns in words.
fn layout(format: PointFormat) -> (usize, &'static str) {
    match format {
        PointFormat::Kitti => (16, "Kitti (x y z intensity)"),
        PointFormat::NuScenes => (20, "NuScenes (x y z intensity ring)"),
    }
}

/// Why bytes are no sweep.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PointsError {
    /// No whole number of points.
    #[error("{bytes} bytes is not a multiple of {size}, the size of a point as {columns}; {instead}")]
    NotWhole {
        /// How many there are.
        bytes: usize,
        /// Bytes of a point.
        size: usize,
        /// The format's columns, in words.
        columns: &'static str,
        /// Whether they are points of the other format.
        instead: String,
    },
    /// No bytes at all.
    #[error("it has 0 bytes: the copy or the download has failed; copy it again, or leave it out")]
    Empty,
    /// It has not what the detector takes.
    #[error("its detector takes {0}; `missing: Zero` gives it zeros")]
    Lacks(Lack),
    /// What is wrong with a PCD file.
    #[error("{0}")]
    Pcd(#[from] pcd::PcdError),
}

/// The points of a file: of a `.pcd`, or of a `.bin` of KITTI.
///
/// # Errors
/// Its bytes are no such points.
pub fn read_sweep(file: &Path, bytes: &[u8]) -> Result<Vec<[f32; 4]>, PointsError> {
    let mut points = Vec::new();
    match has_ending(file, &["pcd"]) {
        // Not more than its bytes can hold.
        true => {
            pcd::parse(bytes, &mut points, None, bytes.len())?;
        }
        false => parse_bin(bytes, PointFormat::Kitti, false, &mut points)?,
    }
    Ok(points)
}

/// `is_choice` says whether the source has a field for the format.
fn parse_bin(
    bytes: &[u8],
    format: PointFormat,
    is_choice: bool,
    points: &mut Vec<[f32; 4]>,
) -> Result<(), PointsError> {
    let (size, columns) = layout(format);
    if !bytes.len().is_multiple_of(size) {
        let other = match format {
            PointFormat::Kitti => PointFormat::NuScenes,
            PointFormat::NuScenes => PointFormat::Kitti,
        };
        let (other_size, other_columns) = layout(other);
        let instead = if bytes.len().is_multiple_of(other_size) {
            let count = bytes.len() / other_size;
            let advice = match is_choice {
                true => "set the source's `format`",
                false => "the file is truncated or was written otherwise; copy it again, or leave it out",
            };
            format!("as {other_columns} it would be {count} points of {other_size} bytes: {advice}")
        } else {
            format!("nor of {other_size}, the size as {other_columns}: the file is truncated or not a sweep")
        };
        return Err(PointsError::NotWhole {
            bytes: bytes.len(),
            size,
            columns,
            instead,
        });
    }
    points.extend(
        bytes
            .chunks_exact(size)
            .map(|p| [float(p), float(&p[4..]), float(&p[8..]), float(&p[12..])]),
    );
    Ok(())
}

fn float(bytes: &[u8]) -> f32 {
    f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::Reading;
    use crate::source::stored::Stored;
    use crate::source::wants::Quantity;
    use crate::source::{Frame, Source};

    fn open(path: &Path, repeat: bool, format: PointFormat, most: u32) -> Result<Stored, SourceError> {
        super::open(path, repeat, format, most)?.read(Reading::default())
    }

    fn folder(files: &[(&str, &[u8])]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        for (name, bytes) in files {
            std::fs::write(dir.path().join(name), bytes).unwrap();
        }
        dir
    }

    fn bytes(values: &[f32]) -> Vec<u8> {
        values.iter().flat_map(|v| v.to_le_bytes()).collect()
    }

    fn read(source: &mut Stored, frame: &mut Frame) -> Result<Option<Vec<[f32; 4]>>, SourceError> {
        if !source.acquire(frame)? {
            return Ok(None);
        }
        source.decode(frame)?;
        match &frame.content {
            Content::Points(cloud) => Ok(Some(cloud.points.clone())),
            other => panic!("points were expected: {other:?}"),
        }
    }

    #[test]
    fn sweeps_come_in_name_order_and_begin_again_if_asked() {
        let (a, b) = (bytes(&[1.0, 2.0, 3.0, 0.5]), bytes(&[9.0; 8]));
        let dir = folder(&[("b.bin", &b), ("a.bin", &a), ("notes.txt", b"no sweep")]);
        let mut frame = Frame::default();
        let mut once = open(dir.path(), false, PointFormat::Kitti, 4_000_000).unwrap();
        assert_eq!(once.info().frames, Some(2));
        assert_eq!(
            read(&mut once, &mut frame).unwrap(),
            Some(vec![[1.0, 2.0, 3.0, 0.5]])
        );
        assert_eq!(read(&mut once, &mut frame).unwrap(), Some(vec![[9.0; 4]; 2]));
        assert_eq!(frame.index, 1);
        assert_eq!(read(&mut once, &mut frame).unwrap(), None);
        let mut again = open(dir.path(), true, PointFormat::Kitti, 4_000_000).unwrap();
        let indices: Vec<u64> = (0..5)
            .map(|_| {
                read(&mut again, &mut frame).unwrap().unwrap();
                frame.index
            })
            .collect();
        assert_eq!(indices, [0, 1, 0, 1, 0]);
    }

    #[test]
    fn the_ring_is_read_where_it_is_wanted_and_known() {
        let values = [1.0, 2.0, 3.0, 40.0, 7.0, 4.0, 5.0, 6.0, 80.0, 8.0];
        let pcd = b"FIELDS x ring y z\nSIZE 4 2 4 4\nTYPE F U F F\nPOINTS 2\nDATA ascii\n1 9 2 3\n4 7 5 6\n";
        let without = b"FIELDS x y z\nSIZE 4 4 4\nTYPE F F F\nPOINTS 1\nDATA ascii\n1 2 3\n";
        let dir = folder(&[("a.bin", &bytes(&values)), ("b.pcd", pcd), ("c.pcd", without)]);
        let rings = |frame: &Frame| match &frame.content {
            Content::Points(cloud) => cloud.ring.clone(),
            other => panic!("points were expected: {other:?}"),
        };
        let mut frame = Frame::default();
        for is_wanted in [false, true] {
            let mut source = open(dir.path(), false, PointFormat::NuScenes, 4_000_000).unwrap();
            let wants = Wants {
                ring: is_wanted,
                zeros: true,
                ..Wants::default()
            };
            assert_eq!(source.want(wants), None);
            for (points, known) in [
                (vec![[1.0, 2.0, 3.0, 40.0], [4.0, 5.0, 6.0, 80.0]], vec![7.0, 8.0]),
                (vec![[1.0, 2.0, 3.0, 0.0], [4.0, 5.0, 6.0, 0.0]], vec![9.0, 7.0]),
                (vec![[1.0, 2.0, 3.0, 0.0]], vec![]),
            ] {
                assert_eq!(read(&mut source, &mut frame).unwrap(), Some(points));
                assert_eq!(rings(&frame), if is_wanted { known } else { vec![] });
            }
        }
        let kitti = folder(&[("a.bin", &bytes(&[0.0; 4]))]);
        let mut source = open(kitti.path(), false, PointFormat::Kitti, 10).unwrap();
        let rings = Wants {
            ring: true,
            ..Wants::default()
        };
        let lack = source.want(rings).unwrap();
        assert_eq!(lack.what, [Quantity::Ring], "KITTI has none");
    }

    #[test]
    fn a_quantity_that_a_file_lacks_is_no_zero_unless_that_is_wanted() {
        let with = b"FIELDS x y z Reflectivity\nSIZE 4 4 4 4\nTYPE F F F F\nPOINTS 1\nDATA ascii\n1 2 3 9\n";
        let without = b"FIELDS x y z rgb\nSIZE 4 4 4 4\nTYPE F F F F\nPOINTS 1\nDATA ascii\n1 2 3 4\n";
        let dir = folder(&[("a.pcd", with), ("b.pcd", without), ("c.bin", b"")]);
        let mut frame = Frame::default();
        for zeros in [false, true] {
            let mut source = open(dir.path(), false, PointFormat::Kitti, 10).unwrap();
            let intensity = true;
            assert_eq!(
                source.want(Wants {
                    intensity,
                    ring: false,
                    zeros
                }),
                None
            );
            assert_eq!(
                read(&mut source, &mut frame).unwrap(),
                Some(vec![[1.0, 2.0, 3.0, 9.0]])
            );
            match (zeros, read(&mut source, &mut frame)) {
                (true, points) => assert_eq!(points.unwrap(), Some(vec![[1.0, 2.0, 3.0, 0.0]])),
                (false, points) => {
                    let problem = points.unwrap_err().to_string();
                    assert!(
                        problem.contains("Intensity") && problem.contains("x, y, z, rgb"),
                        "{problem}"
                    );
                }
            }
            let problem = read(&mut source, &mut frame).unwrap_err().to_string();
            assert!(problem.contains("0 bytes"), "{problem}");
        }
    }

    #[test]
    fn a_length_that_does_not_fit_says_what_the_other_format_would_give() {
        let dir = folder(&[("a.bin", &bytes(&[0.0; 15])), ("b.bin", &[0; 33])]);
        let mut source = open(dir.path(), false, PointFormat::Kitti, 4_000_000).unwrap();
        let mut frame = Frame::default();
        let error = read(&mut source, &mut frame).unwrap_err().to_string();
        assert!(error.contains("60 bytes is not a multiple of 16"), "{error}");
        assert!(
            error.contains("NuScenes (x y z intensity ring) it would be 3 points"),
            "{error}"
        );
        let error = read(&mut source, &mut frame).unwrap_err().to_string();
        assert!(
            error.contains("33 bytes") && error.contains("nor of 20"),
            "{error}"
        );
        assert!(
            read(&mut source, &mut frame).unwrap().is_none(),
            "a bad file ends nothing else"
        );
    }

    #[test]
    fn a_sweep_of_more_points_than_it_may_have_is_not_read() {
        let three = bytes(&[1.0; 12]);
        let pcd = b"FIELDS x y z\nSIZE 4 4 4\nTYPE F F F\nPOINTS 3\nDATA ascii\n1 1 1\n1 1 1\n1 1 1\n";
        let dir = folder(&[("a.bin", &three), ("b.pcd", pcd), ("c.bin", &three[..32])]);
        let mut source = open(dir.path(), false, PointFormat::Kitti, 2).unwrap();
        let mut frame = Frame::default();
        let error = read(&mut source, &mut frame).unwrap_err().to_string();
        assert!(
            error.contains("48 bytes, but one sweep has at most 32"),
            "{error}"
        );
        assert!(frame.raw.is_empty() && error.contains("`max_points`"), "{error}");
        let error = read(&mut source, &mut frame).unwrap_err().to_string();
        assert!(error.contains("3 points, more than 2"), "{error}");
        assert_eq!(read(&mut source, &mut frame).unwrap().unwrap().len(), 2);
    }

    #[test]
    fn points_that_are_not_finite_pass_through() {
        let dir = folder(&[("a.bin", &bytes(&[f32::NAN, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0]))]);
        let mut source = open(dir.path(), false, PointFormat::Kitti, 4_000_000).unwrap();
        let points = read(&mut source, &mut Frame::default()).unwrap().unwrap();
        assert!(points[0][0].is_nan() && points[1] == [1.0; 4]);
    }

    #[test]
    fn a_folder_without_sweeps_and_no_folder_at_all_are_errors() {
        let dir = folder(&[("readme.txt", b"")]);
        let error = open(dir.path(), false, PointFormat::Kitti, 4_000_000)
            .unwrap_err()
            .to_string();
        assert!(error.contains("contains no .bin or .pcd file"), "{error}");
        let error = open(&dir.path().join("absent"), false, PointFormat::Kitti, 4_000_000)
            .unwrap_err()
            .to_string();
        assert!(error.starts_with("cannot read"), "{error}");
    }
}
