//! A folder of images (`/camera/image_raw/compressed`), of sweeps (`/lidar/points`), or of both, as jetlag's own scenes are in
//! `image_2` and `velodyne`. Such files have no times: they come evenly.

use std::path::Path;

use super::kitti::at;
use super::tape::{Capture, Channel, Holds, Tape};
use super::{ConvertError, Options, entries};

/// Files of these endings, in whatever case, of these folders.
const KINDS: [(&[&str], [&str; 2]); 2] = [
    (&["jpg", "jpeg", "png"], ["", "image_2"]),
    (&["bin", "pcd"], ["", "velodyne"]),
];

/// Every file, in the order of their names.
pub(super) fn tape(folder: &Path, options: &Options) -> Result<Tape, ConvertError> {
    let mut tape = Tape::default();
    for (endings, places) in KINDS {
        let is_images = endings.contains(&"png");
        for place in places {
            let within = folder.join(place);
            if !within.is_dir() {
                continue;
            }
            let mut names = entries(&within)?;
            names.retain(|name| {
                let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
                endings.iter().any(|known| ending.eq_ignore_ascii_case(known)) && within.join(name).is_file()
            });
            let Some(first) = names.first() else { continue };
            let (name, frame, holds) = match is_images {
                true => ("/camera", "camera", Holds::Images(None)),
                // nuScenes's files are named so.
                false if first.ends_with(".pcd.bin") => ("/lidar/points", "lidar", Holds::NuScenes),
                false => ("/lidar/points", "lidar", Holds::Points),
            };
            let channel = tape.channels.len();
            tape.channels.push(Channel {
                name: name.to_owned(),
                frame: frame.to_owned(),
                holds,
            });
            tape.captures
                .extend(names.iter().enumerate().map(|(number, name)| Capture {
                    time: at(number, options.hz),
                    channel,
                    file: within.join(name),
                }));
            break;
        }
    }
    Ok(tape)
}
