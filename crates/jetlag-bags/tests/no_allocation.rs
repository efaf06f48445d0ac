//! Reading a message and making points or pixels of it allocates nothing, once the buffers are as large as they need to be.
//!
//! A program by itself, since it counts what the whole program allocates: the thread of a test harness allocates too, when it comes
//! to it.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::alloc::System;

use jetlag_bags::message::{Encoding, Field, Header, Image, Number};
use jetlag_bags::pixels::to_rgb;
use jetlag_bags::write::{ChunkCompression, CloudMessage, Format, Message};
use jetlag_bags::{Bag, BagWriter, Limits, Points, Select, Time, Want};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

fn write(writer: &mut BagWriter, n: usize) {
    let time = Time(n as i64 * 1_000_000);
    let data = vec![n as u8; 64 * 48 * 3];
    let image = Image {
        header: Header {
            stamp: time,
            frame_id: "camera",
        },
        width: 64,
        height: 48,
        encoding: Encoding::Bgr8,
        is_big_endian: false,
        step: 64 * 3,
        data: &data,
    };
    writer.write("/image", time, &Message::Image(image)).unwrap();
    let fields = [("x", 0), ("y", 4), ("z", 8), ("ring", 12)].map(|(name, offset)| Field {
        name,
        offset,
        number: if name == "ring" {
            Number::Uint16
        } else {
            Number::Float32
        },
        count: 1,
    });
    let cloud = CloudMessage {
        stamp: time,
        frame_id: "lidar",
        height: 1,
        width: 500,
        fields: &fields,
        is_big_endian: false,
        point_step: 16,
        row_step: 8000,
        data: &[0; 8000],
        is_dense: true,
    };
    writer
        .write("/points", time, &Message::PointCloud(cloud))
        .unwrap();
}

fn main() {
    for format in [
        Format::Mcap(ChunkCompression::None),
        Format::Mcap(ChunkCompression::Zstd),
        Format::Mcap(ChunkCompression::Lz4),
        Format::Sqlite3,
    ] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("bag");
        let mut writer = BagWriter::create(&path, format).unwrap();
        (0..300).for_each(|n| write(&mut writer, n));
        writer.finish().unwrap();
        let bag = Bag::open(&path, &Limits::default()).unwrap();
        let [images, clouds] =
            ["/image", "/points"].map(|topic| bag.index(topic, Select::default()).unwrap());
        let mut reader = bag.reader();
        let (mut message, mut rgb, mut points) = (Vec::new(), Vec::new(), Points::default());
        let mut once = || {
            for (image, cloud) in images.entries().iter().zip(clouds.entries()) {
                reader.read(image, &mut message).unwrap();
                to_rgb(&Image::decode(&message).unwrap(), &mut rgb).unwrap();
                reader.read(cloud, &mut message).unwrap();
                points
                    .decode(
                        &message,
                        Want {
                            ring: true,
                            time: true,
                        },
                    )
                    .unwrap();
            }
        };
        once();
        let region = Region::new(ALLOCATOR);
        once();
        let change = region.change();
        // The cache of statements makes an entry for each message.
        let most = if format == Format::Sqlite3 { 600 } else { 0 };
        let is_quiet = change.allocations <= most && change.reallocations == 0;
        assert!(is_quiet, "{format:?}: {change:?}");
    }
}
