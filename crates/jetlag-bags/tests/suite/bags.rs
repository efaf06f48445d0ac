//! Bags that tests make.

use std::path::{Path, PathBuf};

use jetlag_bags::message::{Encoding, Field, Header, Image, Number};
use jetlag_bags::write::{ChunkCompression, CloudMessage, Format, Message};
use jetlag_bags::{Bag, BagWriter, Limits, Time};

pub(crate) const FORMATS: [Format; 5] = [
    Format::Mcap(ChunkCompression::None),
    Format::Mcap(ChunkCompression::Zstd),
    Format::Mcap(ChunkCompression::Lz4),
    Format::Sqlite3,
    Format::Sqlite3Zstd,
];

pub(crate) const IMAGES: &str = "/camera/image_raw";
pub(crate) const CLOUDS: &str = "/lidar/points";
/// When the first message was logged.
pub(crate) const START: i64 = 1_700_000_000_000_000_000;

pub(crate) fn header(time: Time) -> Header<'static> {
    Header {
        stamp: time,
        frame_id: "sensor",
    }
}

/// Bytes that compress, but not to nothing.
pub(crate) fn content(length: usize, seed: usize) -> Vec<u8> {
    (0..length).map(|n| (n / 5 + n % 7 * seed) as u8).collect()
}

/// The `n`th image: 64×48, logged 4 ms after it was taken.
pub(crate) fn write_image(writer: &mut BagWriter, n: usize, log_time: Time) {
    let data = content(64 * 48 * 3, n);
    let image = Image {
        header: header(Time(log_time.0 - 4_000_000)),
        width: 64,
        height: 48,
        encoding: Encoding::Bgr8,
        is_big_endian: false,
        step: 64 * 3,
        data: &data,
    };
    writer.write(IMAGES, log_time, &Message::Image(image)).unwrap();
}

/// The `n`th sweep: 500 points, all at (n, 1, 2).
pub(crate) fn write_cloud(writer: &mut BagWriter, n: usize, log_time: Time) {
    let fields = [("x", 0), ("y", 4), ("z", 8), ("intensity", 16)].map(|(name, offset)| Field {
        name,
        offset,
        number: Number::Float32,
        count: 1,
    });
    let point: Vec<u8> = [n as f32, 1.0, 2.0, 0.0, 9.0, 0.0, 0.0, 0.0]
        .iter()
        .flat_map(|v| v.to_le_bytes())
        .collect();
    let data = point.repeat(500);
    let cloud = CloudMessage {
        stamp: log_time,
        frame_id: "lidar",
        height: 1,
        width: 500,
        fields: &fields,
        is_big_endian: false,
        point_step: 32,
        row_step: 32 * 500,
        data: &data,
        is_dense: true,
    };
    writer
        .write(CLOUDS, log_time, &Message::PointCloud(cloud))
        .unwrap();
}

/// `count` images each 33 ms and as many sweeps each 100 ms.
pub(crate) fn write(folder: &Path, format: Format, count: usize) -> PathBuf {
    let mut writer = BagWriter::create(folder, format).unwrap();
    for n in 0..count {
        write_image(&mut writer, n, Time(START + n as i64 * 33_000_000));
        write_cloud(&mut writer, n, Time(START + 1_000_000 + n as i64 * 100_000_000));
    }
    writer.finish().unwrap()
}

pub(crate) fn open(path: &Path) -> Bag {
    Bag::open(path, &Limits::default()).unwrap()
}

/// Every message of a bag that can be read, by topic and time; and how many cannot.
pub(crate) fn messages(bag: &Bag) -> (Vec<(String, Time, Vec<u8>)>, usize) {
    let (mut read, mut refused) = (Vec::new(), 0);
    let mut reader = bag.reader();
    let mut message = Vec::new();
    for topic in bag.topics() {
        for entry in topic.entries() {
            match reader.read(entry, &mut message) {
                Ok(()) => read.push((topic.name().to_owned(), entry.log_time(), message.clone())),
                Err(_) => refused += 1,
            }
        }
    }
    (read, refused)
}
