//! A raw drive: `2011_09_26/2011_09_26_drive_0001_sync/{image_02,velodyne_points,oxts}`, each with a folder `data` and a list of
//! times, and the day's calibration above it.

use std::path::Path;
use std::sync::Arc;

use jetlag_record::nearest::nearest;
use jetlag_record::units::Nanos;

use super::calibration::Calibration;
use super::listing;
use super::oxts::Packets;
use super::recording::{KittiFrame, KittiRecording, Sensor};
use super::text::Text;
use crate::error::{DatasetError, Named};
use crate::missing::Search;
use crate::timeline::{Span, TimeLine};

/// The sensors whose captures make up the time line.
const SENSORS: [&str; 5] = ["image_00", "image_01", "image_02", "image_03", "velodyne_points"];

const TIMES: &str = "a list of times of a raw drive";

pub(super) fn open(root: &Path, drive: &str, sensor: Sensor) -> Result<KittiRecording, DatasetError> {
    // The day is how the name begins.
    let day = root.join(drive.get(..10).unwrap_or(drive));
    let base = day.join(drive);
    if !listing::is_name(drive) || !base.is_dir() {
        return Err(unknown(root, drive));
    }
    let calibration = Arc::new(Calibration::raw(&day)?);
    let folder = match sensor {
        Sensor::Velodyne => "velodyne_points".to_owned(),
        Sensor::Camera(camera) => format!("image_{:02}", camera.number()),
    };
    let times = Text::read(base.join(&folder).join("timestamps.txt"), TIMES)?;
    let lines = times.lines();
    let time_line = time_line(&base)?;
    let packets = Packets::open(&base)?;
    let ending = listing::ending(&base.join(&folder).join("data"), sensor);
    let (mut search, mut packet_search) = (Search::default(), Search::default());
    let (mut frames, mut gaps) = (Vec::new(), Vec::new());
    for (number, line) in lines.iter().enumerate() {
        let name = format!("{folder}/data/{number:010}.{ending}");
        let file = base.join(&name);
        search.look(&file, &name);
        if !file.is_file() {
            gaps.push(number);
            continue;
        }
        let captured = times.stamp(number, line)?;
        let pose = match &packets {
            Some(packets) => {
                let packet = packets.file(number);
                packet_search.look(&packet, &format!("oxts/data/{number:010}.txt"));
                packet.is_file().then(|| packets.pose(number)).transpose()?
            }
            None => None,
        };
        frames.push(KittiFrame {
            file,
            number,
            captured: Some(captured),
            offset: time_line.as_ref().and_then(|line| line.offset(0, captured)),
            pose,
            calibration: Arc::clone(&calibration),
            labels: None,
        });
    }
    // Sweeps were lost when KITTI was recorded, images were not; and no sweep at all is no recording.
    if frames.is_empty() || !matches!(sensor, Sensor::Velodyne) {
        search.end(&folder, &base, times.path(), &[])?;
    }
    packet_search.end("oxts", &base, times.path(), &[])?;
    if frames.is_empty() {
        return Err(DatasetError::Lacks {
            path: times.path().to_owned(),
            wanted: "line with a time".to_owned(),
            kind: TIMES,
        });
    }
    frames.sort_by_key(|frame| frame.captured);
    let tracklets = base.join("tracklet_labels.xml");
    Ok(KittiRecording {
        frames,
        time_line,
        gaps,
        tracklets: tracklets.is_file().then_some(tracklets),
    })
}

/// Over all sensors that have times, whether or not their files are there.
fn time_line(drive: &Path) -> Result<Option<TimeLine>, DatasetError> {
    let mut spans = Vec::new();
    for (channel, sensor) in SENSORS.iter().enumerate() {
        let path = drive.join(sensor).join("timestamps.txt");
        if !path.is_file() {
            continue;
        }
        let text = Text::read(path, TIMES)?;
        let mut times: Vec<Nanos> = Vec::new();
        for (number, line) in text.lines().into_iter().enumerate() {
            if !line.is_empty() {
                times.push(text.stamp(number, line)?);
            }
        }
        if let (Some(first), Some(last)) = (times.iter().min(), times.iter().max()) {
            spans.push(Span {
                channel,
                first: *first,
                last: *last,
                count: times.len() as u64,
            });
        }
    }
    Ok(TimeLine::new([(0, spans)]))
}

fn unknown(root: &Path, drive: &str) -> DatasetError {
    let days = listing::folders(root).into_iter();
    let there: Vec<String> = days
        .flat_map(|day| listing::folders(&root.join(day)))
        .filter(|name| name.contains("_drive_"))
        .collect();
    DatasetError::Unknown {
        root: root.to_owned(),
        what: Named::Drive,
        wanted: drive.to_owned(),
        nearest: nearest(drive, there.iter().map(String::as_str)).map(str::to_owned),
        there,
    }
}
