//! A drive as a bag, read by `jetlag-bags`.

use jetlag_bags::message::{CameraInfo, CompressedImage, PointCloud, transforms};
use jetlag_bags::{Bag, By, Limits, Points, Select, Want};
use jetlag_record::units::Nanos;
use jetlag_world::Drive;
use jetlag_world::files::{BEGIN, BagWriter, ChunkCompression, Format, bag};

#[test]
fn a_bag_tells_what_was_seen_and_when_and_from_where() {
    let folder = tempfile::tempdir().unwrap();
    let drive = Drive::new(4, 1);
    let path = folder.path().join("drive.mcap");
    let writer = BagWriter::create_file(&path, Format::Mcap(ChunkCompression::Zstd)).unwrap();
    let written = bag(&drive, writer, &mut |_, _| ()).unwrap();
    assert_eq!((written.images, written.sweeps), (12, 20));
    let found = Bag::open(&path, &Limits::default()).unwrap();
    assert!(found.completeness().is_whole());
    let counts: Vec<(String, usize)> = found
        .topics()
        .iter()
        .map(|topic| (topic.name().to_owned(), topic.entries().len()))
        .collect();
    let wanted = [
        ("/cam_front/camera_info", 12),
        ("/cam_front/image_raw/compressed", 12),
        ("/lidar_top", 20),
        ("/tf", 50),
        ("/tf_static", 1),
    ];
    assert_eq!(counts, wanted.map(|(name, count)| (name.to_owned(), count)));
    assert!(
        found
            .topics()
            .iter()
            .all(|topic| topic.definition().is_some_and(|known| !known.text.is_empty()))
    );
    let (mut reader, mut message, mut points) = (found.reader(), Vec::new(), Points::default());
    let by = Select {
        by: By::Header,
        ..Select::default()
    };
    let index = found.index("/lidar_top", by).unwrap();
    for (n, entry) in index.entries().iter().enumerate() {
        let stamp = index.time(n).unwrap();
        let late = entry.log_time().since(stamp);
        assert!(
            late > Nanos::from_millis(3) && late < Nanos::from_millis(20),
            "{late}"
        );
        reader.read(entry, &mut message).unwrap();
        let sweep = drive.at(Nanos(stamp.0) - BEGIN).sweep();
        points.decode(&message, Want::default()).unwrap();
        assert_eq!(points.xyzi, sweep.cloud.points);
        let cloud = PointCloud::decode(&message).unwrap();
        let rings: Vec<u8> = cloud.data.chunks(20).map(|point| point[16]).collect();
        assert_eq!(rings, sweep.rings);
    }
    let index = found.index("/cam_front/image_raw/compressed", by).unwrap();
    let infos = found.index("/cam_front/camera_info", by).unwrap();
    for (n, entry) in index.entries().iter().enumerate() {
        assert_eq!(infos.time(n), index.time(n));
        reader.read(entry, &mut message).unwrap();
        let image = CompressedImage::decode(&message).unwrap();
        assert_eq!((image.format, &image.data[..2]), ("jpeg", &[0xff, 0xd8][..]));
        reader.read(&infos.entries()[n], &mut message).unwrap();
        let info = CameraInfo::decode(&message).unwrap();
        assert_eq!((info.width, info.height, info.k[0]), (640, 384, 350.0));
    }
    for entry in found.index("/tf", Select::default()).unwrap().entries() {
        reader.read(entry, &mut message).unwrap();
        let place = transforms(&message).unwrap()[0];
        let ego = drive.ego(Nanos(place.header.stamp.0) - BEGIN);
        assert_eq!(place.translation, ego.position);
        assert!((2.0 * place.rotation[2].atan2(place.rotation[3]) - ego.yaw).abs() < 1e-12);
    }
}
