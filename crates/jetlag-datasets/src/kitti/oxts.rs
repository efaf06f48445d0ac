//! Where the car was, from the packets of its inertial and satellite unit (`oxts/data`): as pykitti computes it.

use std::path::{Path, PathBuf};

use super::text::{Text, rigid};
use crate::error::DatasetError;
use crate::geometry::Matrix;

/// The Earth's radius of the projection, metres.
const EARTH: f64 = 6_378_137.0;

/// The packets of a drive.
pub(super) struct Packets {
    folder: PathBuf,
    /// The scale of the projection and the origin of all places, from the first packet.
    scale: f64,
    origin: [f64; 3],
}

/// The numbers of a packet that say where the car was.
struct Packet {
    /// Degrees north and east, metres up.
    latitude: f64,
    longitude: f64,
    altitude: f64,
    /// Roll, pitch, yaw: radians.
    angles: [f64; 3],
}

impl Packets {
    /// The packets of a drive's folder; `None` where there are none.
    pub(super) fn open(drive: &Path) -> Result<Option<Self>, DatasetError> {
        let folder = drive.join("oxts").join("data");
        if !folder.is_dir() {
            return Ok(None);
        }
        let unreadable = |error| DatasetError::Io {
            path: folder.clone(),
            error,
        };
        let mut first: Option<PathBuf> = None;
        for entry in std::fs::read_dir(&folder).map_err(unreadable)? {
            let path = entry.map_err(unreadable)?.path();
            let is_packet = path.extension().is_some_and(|ending| ending == "txt");
            if is_packet && first.as_ref().is_none_or(|first| path < *first) {
                first = Some(path);
            }
        }
        let Some(first) = first else { return Ok(None) };
        let packet = read(first)?;
        let mut packets = Packets {
            folder,
            scale: packet.latitude.to_radians().cos(),
            origin: [0.0; 3],
        };
        packets.origin = packets.place(&packet);
        Ok(Some(packets))
    }

    pub(super) fn file(&self, number: usize) -> PathBuf {
        self.folder.join(format!("{number:010}.txt"))
    }

    /// Maps the inertial unit's frame of this number into the drive's: east, north and up from the first packet's place.
    pub(super) fn pose(&self, number: usize) -> Result<Matrix, DatasetError> {
        let packet = read(self.file(number))?;
        let place = self.place(&packet);
        let shift = std::array::from_fn(|i| place[i] - self.origin[i]);
        let [(sr, cr), (sp, cp), (sy, cy)] = packet.angles.map(f64::sin_cos);
        // Roll about x, then pitch about y, then yaw about z.
        let turn = [
            cy * cp,
            cy * sp * sr - sy * cr,
            cy * sp * cr + sy * sr,
            sy * cp,
            sy * sp * sr + cy * cr,
            sy * sp * cr - cy * sr,
            -sp,
            cp * sr,
            cp * cr,
        ];
        Ok(rigid(turn, shift))
    }

    /// By a Mercator projection.
    fn place(&self, packet: &Packet) -> [f64; 3] {
        let north = (90.0 + packet.latitude).to_radians() / 2.0;
        [
            self.scale * packet.longitude.to_radians() * EARTH,
            self.scale * EARTH * north.tan().ln(),
            packet.altitude,
        ]
    }
}

fn read(path: PathBuf) -> Result<Packet, DatasetError> {
    let text = Text::read(path, "a packet of raw drives")?;
    let lines = text.lines();
    let line = lines.first().copied().unwrap_or_default();
    let v: [f64; 30] = text.row(0, line)?;
    let (latitude, longitude) = (v[0], v[1]);
    // At the poles the projection ends.
    if latitude.abs() > 89.0 || longitude.abs() > 360.0 {
        let problem =
            format!("the first two numbers must be degrees north and east; found {latitude} and {longitude}");
        return Err(text.wrong(0, problem));
    }
    Ok(Packet {
        latitude,
        longitude,
        altitude: v[2],
        angles: [v[3], v[4], v[5]],
    })
}
