//! An odometry sequence: `sequences/00/{velodyne,image_2,times.txt,calib.txt}` and, of the first eleven, `poses/00.txt`.

use std::path::Path;
use std::sync::Arc;

use jetlag_record::nearest::nearest;
use jetlag_record::units::Nanos;

use super::calibration::Calibration;
use super::listing;
use super::recording::{KittiFrame, KittiRecording, Sensor};
use super::text::{Text, affine};
use crate::error::{DatasetError, Named};
use crate::geometry::Matrix;
use crate::missing::Search;
use crate::timeline::{Span, TimeLine};

pub(super) fn open(root: &Path, sequence: &str, sensor: Sensor) -> Result<KittiRecording, DatasetError> {
    let sequences = root.join("sequences");
    let base = sequences.join(sequence);
    if !listing::is_name(sequence) || !base.is_dir() {
        let there = listing::folders(&sequences);
        return Err(DatasetError::Unknown {
            root: root.to_owned(),
            what: Named::Sequence,
            wanted: sequence.to_owned(),
            nearest: nearest(sequence, there.iter().map(String::as_str)).map(str::to_owned),
            there,
        });
    }
    let calibration = Arc::new(Calibration::odometry(&base.join("calib.txt"))?);
    let text = Text::read(base.join("times.txt"), "a list of times of an odometry sequence")?;
    let times = times(&text)?;
    let poses = poses(&root.join("poses").join(format!("{sequence}.txt")), times.len())?;
    let folder = match sensor {
        Sensor::Velodyne => "velodyne".to_owned(),
        Sensor::Camera(camera) => format!("image_{}", camera.number()),
    };
    let ending = listing::ending(&base.join(&folder), sensor);
    let span = Span {
        channel: 0,
        first: times.iter().copied().min().unwrap_or_default(),
        last: times.iter().copied().max().unwrap_or_default(),
        count: times.len() as u64,
    };
    let time_line = TimeLine::new([(0, vec![span])]);
    let mut search = Search::default();
    let mut frames = Vec::new();
    for (number, captured) in times.into_iter().enumerate() {
        let name = format!("{folder}/{number:06}.{ending}");
        let file = base.join(&name);
        search.look(&file, &name);
        frames.push(KittiFrame {
            file,
            number,
            captured: Some(captured),
            offset: time_line.as_ref().and_then(|line| line.offset(0, captured)),
            pose: poses.as_ref().map(|poses| poses[number]),
            calibration: Arc::clone(&calibration),
            labels: None,
        });
    }
    search.end(&folder, &base, text.path(), &[])?;
    frames.sort_by_key(|frame| frame.captured);
    Ok(KittiRecording {
        frames,
        time_line,
        gaps: Vec::new(),
        tracklets: None,
    })
}

fn times(text: &Text) -> Result<Vec<Nanos>, DatasetError> {
    let mut times = Vec::new();
    for (number, line) in text.lines().into_iter().enumerate() {
        let [seconds] = text.row(number, line)?;
        if !(0.0..1e9).contains(&seconds) {
            let problem = format!("must be seconds since the sequence's beginning; found {seconds}");
            return Err(text.wrong(number, problem));
        }
        times.push(Nanos((seconds * 1e9).round() as i64));
    }
    match times.is_empty() {
        true => Err(DatasetError::Lacks {
            path: text.path().to_owned(),
            wanted: "line with a time".to_owned(),
            kind: "a list of times of an odometry sequence",
        }),
        false => Ok(times),
    }
}

/// One pose a frame; `None` where there is no file, as of the test sequences.
fn poses(path: &Path, frames: usize) -> Result<Option<Vec<Matrix>>, DatasetError> {
    if !path.is_file() {
        return Ok(None);
    }
    let text = Text::read(path.to_owned(), "a list of poses of an odometry sequence")?;
    let lines = text.lines();
    if lines.len() != frames {
        let problem = format!(
            "the list ends after {} poses; times.txt has {frames} frames",
            lines.len()
        );
        return Err(text.wrong(lines.len().saturating_sub(1), problem));
    }
    let poses = lines.iter().enumerate();
    let poses = poses.map(|(number, line)| Ok::<_, DatasetError>(affine(text.row(number, line)?)));
    poses.collect::<Result<_, _>>().map(Some)
}
