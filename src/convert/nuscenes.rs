//! nuScenes: `/cam_front/image_raw/compressed`, `/cam_front/camera_info`, `/lidar_top` and so on, the car as `base_link`.

use jetlag_datasets::DatasetError;
use jetlag_datasets::nuscenes::{NuScenes, Scenes, Selection};

use super::tape::{Capture, Channel, Fixed, Holds, Tape};
use super::{ConvertError, Options};
use crate::source::recordings::is_camera;

/// Every capture of cameras and LiDARs in these scenes.
pub(super) fn tape(dataset: &NuScenes, options: &Options) -> Result<Tape, ConvertError> {
    dataset.notes().iter().for_each(|note| log::info!("{note}"));
    let scenes = match options.scenes.is_empty() {
        true => Scenes::All,
        false => Scenes::Names(options.scenes.clone()),
    };
    let mut tape = Tape::of("base_link");
    let mut without_place = 0_u64;
    for name in dataset.channels() {
        let holds_points = name.starts_with("LIDAR");
        if !is_camera(name) && !holds_points {
            log::info!("{name} is left out: only images and sweeps of LiDARs become messages");
            continue;
        }
        let chosen = dataset.select(&Selection {
            scenes: scenes.clone(),
            ..Selection::of(name)
        });
        let chosen = match chosen {
            // A sensor that recorded nothing.
            Err(DatasetError::Nothing { .. }) => continue,
            chosen => chosen?,
        };
        // A bag of a part would look whole.
        if let Some(missing) = chosen.missing() {
            return Err(DatasetError::from(Box::new(missing.clone())).into());
        }
        let frame = name.to_lowercase();
        let Some(first) = chosen.frames().next() else {
            continue;
        };
        let sensor = &first.sensor;
        let channel = tape.channels.len();
        tape.channels.push(Channel {
            name: format!("/{frame}"),
            frame: frame.clone(),
            holds: match holds_points {
                true => Holds::NuScenes,
                false => Holds::Images(
                    sensor
                        .intrinsic
                        .map(|matrix| (matrix, first.size.unwrap_or_default())),
                ),
            },
        });
        tape.fixed.push(Fixed {
            parent: tape.vehicle.clone(),
            child: frame,
            place: sensor.place,
        });
        if chosen.frames().any(|frame| frame.sensor.place != sensor.place) {
            log::warn!(
                "{name} is not at the same place in all scenes: /tf_static has the first; name one --scene"
            );
        }
        for frame in chosen.frames() {
            tape.captures.push(Capture {
                time: frame.captured,
                channel,
                file: frame.file.clone(),
            });
            without_place += u64::from(frame.ego_pose.is_none());
            tape.places
                .extend(frame.ego_pose.map(|pose| (frame.captured, pose)));
        }
    }
    tape.missing.extend((without_place > 0).then(|| {
        format!(
            "{without_place} captures have no row in ego_pose, so that /tf does not say where the car was"
        )
    }));
    Ok(tape)
}
