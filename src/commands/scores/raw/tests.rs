//! Answers that are the truth, on a made drive: as they are, and late by a known time.

use jetlag_score::Counts;
use jetlag_world::Drive as World;
use jetlag_world::files::{DRIVE, kitti_raw};

use super::*;
use crate::scenario::{KittiLayout, Reading, RecordingSpec, SourceSpec};
use crate::units::Stamp;

const SECONDS: u32 = 1;
const PERIOD: Nanos = Nanos::from_millis(100);

fn spec(path: &Path) -> KittiSpec {
    KittiSpec {
        path: path.to_owned(),
        layout: KittiLayout::Raw,
        sequence: DRIVE.to_owned(),
        sensor: Sensor::Lidar,
        camera: 2,
        common: RecordingSpec {
            repeat: false,
            max_megapixels: 64,
            max_points: 4_000_000,
            reading: Reading::default(),
        },
    }
}

/// Everything that is there, each frame after so long; scores tell who is who.
fn truth_after(drive: &Drive, delay: Nanos) -> Answers {
    let frames = drive.recording.frames.iter().enumerate();
    let answer = |(number, frame): (usize, &KittiFrame)| {
        let released = Stamp(5_000_000_000) + Nanos(PERIOD.0 * number as i64);
        let found = drive.objects(frame).map(|(identity, object)| Detection {
            class: KINDS
                .iter()
                .position(|kind| *kind == object.kind)
                .unwrap_or_default() as u16,
            score: score(identity),
            place: Place::Space(object.place()),
            velocity: None,
            camera: 0,
        });
        Answer {
            sequence: number as u64,
            content: Some(number as u64),
            released,
            finished: Some(released + delay),
            captured: None,
            found: found.collect(),
        }
    };
    Answers {
        tenant: "lidar".to_owned(),
        classes: KINDS.map(|kind| kind.name().to_owned()).to_vec(),
        source: SourceSpec::Kitti(spec(&drive.path)),
        selection: None,
        uses_camera: false,
        deadline: None,
        frames: frames.map(answer).collect(),
        lost: 0,
    }
}

fn score(identity: usize) -> f32 {
    0.5 + identity as f32 / 1024.0
}

#[test]
fn without_delay_a_stream_is_still_and_a_delay_moves_each_answer_by_its_speed() {
    let folder = tempfile::tempdir().unwrap();
    let world = World::new(5, SECONDS);
    kitti_raw(&world, folder.path(), &mut |_, _| {}).unwrap();
    let drive = open(&spec(folder.path()), None).unwrap();
    assert_eq!(drive.recording.frames.len(), 10);
    let answers = truth_after(&drive, Nanos::ZERO);
    let taken: Vec<&Answer> = answers.frames.iter().collect();
    let still = drive.still(&answers, &taken).unwrap();
    let stream = drive.stream(&answers).unwrap();
    let figures = |matched: &Matched| matched.benchmark.scores(Counts::ONCE);
    assert_eq!(figures(&still), figures(&stream));
    let notes = |matched: &Matched| matched.notes.iter().any(|note| note.contains("nobody said"));
    assert!(!notes(&still), "{:?}", still.notes);

    let late = 3;
    let answers = truth_after(&drive, Nanos(PERIOD.0 * late as i64));
    let (frames, unknown) = drive.late(&answers).unwrap();
    assert_eq!((frames.len(), unknown), (10 - late, late));
    let (mut parked, mut moving) = (0, 0);
    for (number, frame) in frames.iter().enumerate() {
        let then = &drive.recording.frames[number];
        let now = &drive.recording.frames[number + late];
        let moment = world.at(Nanos(PERIOD.0 * number as i64));
        for (identity, object) in drive.objects(now) {
            let found = frame
                .found
                .iter()
                .find(|found| found.score == f64::from(score(identity)));
            let before = drive.objects(then).find(|(known, _)| *known == identity);
            let (Some(found), Some((_, before))) = (found.and_then(|found| found.space), before) else {
                continue;
            };
            let truth = drive.camera.place(&object.place());
            let apart = (0..3)
                .map(|k| (truth.place[k] - found.place[k]).powi(2))
                .sum::<f64>()
                .sqrt();
            let same = |place: &Box3d| {
                (f64::from(place.x) - before.centre[0]).hypot(f64::from(place.y) - before.centre[1]) < 1e-3
            };
            let actor = moment.actors().iter().find(|actor| same(&actor.place)).unwrap();
            let way = actor.velocity[0].hypot(actor.velocity[1]) * 0.1 * late as f64;
            assert!(
                (apart - way).abs() < 0.1,
                "{identity} is {apart} m off, and went {way} m"
            );
            match actor.is_moving() {
                true => moving += usize::from(way > 0.5),
                false => {
                    assert!(apart < 0.02, "{identity} stands, and is {apart} m off");
                    parked += 1;
                }
            }
        }
    }
    assert!(
        parked > 10 && moving > 5,
        "{parked} that stand, {moving} that move"
    );
}
