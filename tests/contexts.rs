//! What frames know of their sensor, its calibration and the vehicle: one drive, written in three formats and read back.

use std::path::Path;

use jetlag::commands::opening;
use jetlag::scenario::{
    BagSpec, KittiLayout, KittiSpec, NuScenesSpec, Reading, RecordingSpec, Sensor, SourceSpec, StampOf,
};
use jetlag::source::context::FrameContext;
use jetlag::source::recordings::Opened;
use jetlag::source::{Content, Frame};
use jetlag::units::Nanos;
use jetlag_bags::write::{BagWriter, Format};
use jetlag_world::files::{DRIVE, bag, kitti_raw, nuscenes};
use jetlag_world::{CAMERA_PLACE, Drive, LIDAR_PLACE};
use nvidia_doubles::machine;

const COMMON: RecordingSpec = RecordingSpec {
    repeat: false,
    max_megapixels: 10,
    max_points: 200_000,
    reading: Reading::Ahead { frames: 0 },
};

fn with_nuscenes(path: &Path, sensor: &str) -> SourceSpec {
    SourceSpec::NuScenes(NuScenesSpec {
        path: path.to_owned(),
        version: None,
        scenes: Vec::new(),
        sensor: sensor.to_owned(),
        sweeps: 1,
        keyframes: false,
        common: COMMON,
    })
}

fn with_kitti(path: &Path, layout: KittiLayout, sequence: &str, sensor: Sensor) -> SourceSpec {
    SourceSpec::Kitti(KittiSpec {
        path: path.to_owned(),
        layout,
        sequence: sequence.to_owned(),
        sensor,
        camera: 2,
        common: COMMON,
    })
}

fn with_bag(path: &Path, topic: &str) -> SourceSpec {
    SourceSpec::Bag(BagSpec {
        path: path.to_owned(),
        topic: topic.to_owned(),
        from: Nanos::ZERO,
        to: None,
        by: StampOf::Header,
        common: COMMON,
    })
}

/// The frames of a source, decoded, each with what it knows.
fn frames(spec: &SourceSpec) -> Vec<(Nanos, FrameContext, Content)> {
    let mut source = opening::source(spec, &mut Opened::default()).unwrap();
    let mut frame = Frame::default();
    let mut all = Vec::new();
    while source.acquire(&mut frame).unwrap() {
        source.decode(&mut frame).unwrap();
        let context = frame.context.as_deref().unwrap().clone();
        all.push((
            frame.captured.unwrap_or_default(),
            context,
            frame.content().clone(),
        ));
    }
    all
}

fn near(a: [f64; 3], b: [f64; 3], within: f64) -> bool {
    a.iter().zip(b).all(|(a, b)| (a - b).abs() < within)
}

/// Of a drive: both sensors see points of the world in the same place, whichever the format.
fn is_the_drive(drive: &Drive, camera: &SourceSpec, lidar: &SourceSpec) {
    let (images, sweeps) = (frames(camera), frames(lidar));
    assert!(images.len() > 5 && sweeps.len() > 5);
    let still = {
        let Content::Image(image) = &images[0].2 else {
            panic!()
        };
        [image.width, image.height]
    };
    let mut compared = 0;
    for (at, of_image, _) in images.iter().step_by(7) {
        let (then, of_sweep, _) = sweeps
            .iter()
            .min_by_key(|sweep| (sweep.0.0 - at.0).abs())
            .unwrap();
        let projection = of_image.projection.unwrap();
        assert!(!projection.is_distorted);
        assert!(
            projection
                .size
                .is_none_or(|size| size.map(|n| n as usize) == still)
        );
        let onto = of_sweep.onto(of_image).unwrap();
        for point in [[12.0, 3.0, -1.0], [40.0, -8.0, 0.5], [25.0, 0.0, -1.6]] {
            // Through the world, as the drive itself has it.
            let (ego, later) = (drive.ego(*then), drive.ego(*at));
            let lidar: [f64; 3] = std::array::from_fn(|i| LIDAR_PLACE[i] + point[i]);
            let placed = ego.place(lidar);
            let [x, y] = [0, 1].map(|i| placed[i] - later.position[i]);
            let (sin, cos) = later.yaw.sin_cos();
            let seen = [
                x * cos + y * sin,
                y * cos - x * sin,
                placed[2] - later.position[2],
            ];
            let camera: [f64; 3] = std::array::from_fn(|i| seen[i] - CAMERA_PLACE[i]);
            let camera = [-camera[1], -camera[2], camera[0]];
            assert!(
                near(onto.apply(point), camera, 0.02),
                "{:?} {camera:?}",
                onto.apply(point)
            );
            compared += 1;
        }
    }
    assert!(compared > 3);
}

#[test]
fn a_drive_s_sensors_lie_the_same_against_each_other_in_every_format() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let drive = Drive::new(5, 1);
    let mut quiet = |_, _| {};
    nuscenes(&drive, &folder.join("n"), &mut quiet).unwrap();
    kitti_raw(&drive, &folder.join("k"), &mut quiet).unwrap();
    let format = Format::Sqlite3;
    bag(
        &drive,
        BagWriter::create(&folder.join("b"), format).unwrap(),
        &mut quiet,
    )
    .unwrap();
    let n = folder.join("n");
    is_the_drive(
        &drive,
        &with_nuscenes(&n, "CAM_FRONT"),
        &with_nuscenes(&n, "LIDAR_TOP"),
    );
    let kitti = |sensor| with_kitti(&folder.join("k"), KittiLayout::Raw, DRIVE, sensor);
    is_the_drive(&drive, &kitti(Sensor::Camera), &kitti(Sensor::Lidar));
    let bag = |topic| with_bag(&folder.join("b"), topic);
    is_the_drive(
        &drive,
        &bag("/cam_front/image_raw/compressed"),
        &bag("/lidar_top"),
    );
}

#[test]
fn stills_have_the_calibration_that_they_are_made_with() {
    let open = |sensor| {
        let spec = SourceSpec::Synthetic {
            sensor,
            scenes: 2,
            seed: 1,
        };
        let mut source = opening::source(&spec, &mut Opened::default()).unwrap();
        let mut frame = Frame::default();
        assert!(source.acquire(&mut frame).unwrap());
        frame.context.as_deref().unwrap().clone()
    };
    let (camera, lidar) = (open(Sensor::Camera), open(Sensor::Lidar));
    let calibration = jetlag::source::synthetic::calibration();
    let onto = lidar.onto(&camera).unwrap();
    let point = [20.0, 3.0, -1.0];
    let [u, v, _] = camera.projection.unwrap().pixel(onto.apply(point)).unwrap();
    let theirs = calibration.project(point).unwrap();
    assert!((u - theirs[0]).abs() < 1e-6 && (v - theirs[1]).abs() < 1e-6);
}

/// The object layout against KITTI's own formula: P2 · R0_rect · Tr_velo_to_cam.
#[test]
fn kitti_s_object_layout_projects_as_its_formula_says() {
    let Some(root) = machine::shared("data/sensors/kitti") else {
        return;
    };
    let of = |sensor| frames(&with_kitti(&root, KittiLayout::Object, "training", sensor));
    let (images, sweeps) = (of(Sensor::Camera), of(Sensor::Lidar));
    let mut compared = 0;
    for (name, ((_, image, _), (_, sweep, content))) in
        ["000001", "000008"].iter().zip(images.iter().zip(&sweeps))
    {
        let Content::Points(cloud) = content else { panic!() };
        let onto = sweep.onto(image).unwrap();
        let calib = root.join(format!("training/calib/{name}.txt"));
        let theirs = jetlag::source::kitti::read_calibration(&calib).unwrap();
        for point in cloud.points.iter().step_by(997) {
            let point = [point[0], point[1], point[2]].map(f64::from);
            let theirs = theirs.project(point).filter(|seen| seen[2] > 2.0);
            let ours = image.projection.unwrap().pixel(onto.apply(point));
            if let (Some(ours), Some(theirs)) = (ours, theirs)
                && (0.0..1300.0).contains(&theirs[0])
                && (0.0..400.0).contains(&theirs[1])
            {
                assert!(near(ours, theirs, 0.02), "{ours:?} {theirs:?}");
                compared += 1;
            }
        }
    }
    assert!(compared > 10, "{compared}");
}

/// Bags of a real robot: what they say of their camera and of their frames.
#[test]
fn a_real_bag_without_transforms_says_nothing_of_places() {
    let Some(root) = machine::shared("data/sensors/bags/kitti_sqlite3") else {
        return;
    };
    let bag = jetlag_bags::Bag::open(&root, &jetlag_bags::Limits::default()).unwrap();
    let clouds = bag
        .topics()
        .iter()
        .find(|topic| topic.kind().ends_with("PointCloud2"));
    let Some(topic) = clouds else { return };
    let mut source = opening::source(&with_bag(&root, topic.name()), &mut Opened::default()).unwrap();
    let mut frame = Frame::default();
    assert!(source.acquire(&mut frame).unwrap());
    let context = frame.context.as_deref().unwrap();
    assert_eq!(&*context.sensor, topic.name());
    assert_eq!(context.projection, None);
}
