//! Reading from the page cache, and making points and pixels: `cargo bench -p jetlag-bags`.

use std::path::PathBuf;

use divan::counter::{BytesCount, ItemsCount};
use divan::{Bencher, black_box};
use jetlag_bags::message::{Encoding, Field, Header, Image, Number};
use jetlag_bags::pixels::to_rgb;
use jetlag_bags::write::{ChunkCompression, CloudMessage, Format, Message, encode};
use jetlag_bags::{Bag, BagWriter, Index, Limits, Points, Select, Time, Want};
use tempfile::TempDir;

fn main() {
    divan::main();
}

/// Points of a spinning LiDAR's sweep.
const POINTS: u32 = 120_000;

/// Small messages in one bag.
const SMALL: i64 = 100_000;

const FORMATS: [(&str, Format); 4] = [
    ("mcap", Format::Mcap(ChunkCompression::None)),
    ("mcap, zstd", Format::Mcap(ChunkCompression::Zstd)),
    ("mcap, lz4", Format::Mcap(ChunkCompression::Lz4)),
    ("sqlite3", Format::Sqlite3),
];

fn picture<'a>(encoding: Encoding<'a>, step: u32, data: &'a [u8]) -> Image<'a> {
    Image {
        header: Header {
            stamp: Time(0),
            frame_id: "camera",
        },
        width: 1920,
        height: 1080,
        encoding,
        is_big_endian: false,
        step,
        data,
    }
}

/// A bag of one image, `count` times, a nanosecond apart, on the topic `/image`.
fn bag_of(format: &str, count: i64, image: Image<'_>) -> (TempDir, PathBuf) {
    let (_, format) = FORMATS
        .into_iter()
        .find(|(known, _)| *known == format)
        .unwrap_or(FORMATS[0]);
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("bag");
    let mut writer = BagWriter::create(&path, format).expect("a bag");
    for n in 0..count {
        writer
            .write("/image", Time(n), &Message::Image(image))
            .expect("a message");
    }
    writer.finish().expect("a bag");
    (folder, path)
}

fn read_all(bag: &Bag, index: &Index) {
    let (mut reader, mut message) = (bag.reader(), Vec::new());
    for entry in index.entries() {
        reader.read(entry, &mut message).expect("a message");
        black_box(&message);
    }
}

#[divan::bench(args = FORMATS.map(|(name, _)| name))]
fn read_images(bencher: Bencher<'_, '_>, format: &str) {
    let data: Vec<u8> = (0..1920 * 1080 * 3u32).map(|n| (n / 9 + n % 5) as u8).collect();
    let (_folder, path) = bag_of(format, 50, picture(Encoding::Rgb8, 1920 * 3, &data));
    let bag = Bag::open(&path, &Limits::default()).expect("a bag");
    let index = bag.index("/image", Select::default()).expect("a topic");
    bencher
        .counter(BytesCount::new(data.len() * 50))
        .bench_local(|| read_all(&bag, &index));
}

/// Messages as small as an IMU's: how much each costs, opening and the index included.
#[divan::bench(args = FORMATS.map(|(name, _)| name))]
fn read_small(bencher: Bencher<'_, '_>, format: &str) {
    let data: Vec<u8> = (0..192).collect();
    let image = Image {
        width: 16,
        height: 12,
        ..picture(Encoding::Mono8, 16, &data)
    };
    let (_folder, path) = bag_of(format, SMALL, image);
    bencher.counter(ItemsCount::new(SMALL as u64)).bench_local(|| {
        let bag = Bag::open(&path, &Limits::default()).expect("a bag");
        let index = bag.index("/image", Select::default()).expect("a topic");
        read_all(&bag, &index);
    });
}

/// Offsets of x, y, z and intensity, and bytes of a point; `ring` and `t` come behind the intensity.
#[divan::bench(args = [(12, 16, false), (16, 32, false), (16, 48, false), (16, 32, true)])]
fn points(bencher: Bencher<'_, '_>, (intensity, step, all): (u32, u32, bool)) {
    let mut fields = vec![
        ("x", 0, Number::Float32),
        ("y", 4, Number::Float32),
        ("z", 8, Number::Float32),
    ];
    fields.push(("intensity", intensity, Number::Float32));
    if all {
        fields.extend([("ring", 20, Number::Uint16), ("t", 24, Number::Uint32)]);
    }
    let fields: Vec<Field<'_>> = fields
        .into_iter()
        .map(|(name, offset, number)| Field {
            name,
            offset,
            number,
            count: 1,
        })
        .collect();
    let data: Vec<u8> = (0..step * POINTS / 4)
        .flat_map(|n| (n as f32).to_le_bytes())
        .collect();
    let cloud = CloudMessage {
        stamp: Time(0),
        frame_id: "lidar",
        height: 1,
        width: POINTS,
        fields: &fields,
        is_big_endian: false,
        point_step: step,
        row_step: step * POINTS,
        data: &data,
        is_dense: true,
    };
    let (mut message, mut points) = (Vec::new(), Points::default());
    encode(&Message::PointCloud(cloud), &mut message);
    let want = Want { ring: all, time: all };
    bencher.counter(ItemsCount::new(POINTS)).bench_local(|| {
        points.decode(black_box(&message), want).expect("points");
        black_box(&points);
    });
}

#[divan::bench(args = ["rgb8", "bgr8", "bgra8", "mono8", "bayer_rggb8", "yuv422"])]
fn pixels_of_1080p(bencher: Bencher<'_, '_>, name: &str) {
    let encoding = Encoding::of(name);
    let step = encoding.row_bytes(1920).unwrap_or_default() as u32;
    let data: Vec<u8> = (0..step * 1080).map(|n| (n / 3) as u8).collect();
    let image = picture(encoding, step, &data);
    let mut rgb = Vec::new();
    bencher.counter(BytesCount::new(data.len())).bench_local(|| {
        to_rgb(black_box(&image), &mut rgb).expect("pixels");
        black_box(&rgb);
    });
}
