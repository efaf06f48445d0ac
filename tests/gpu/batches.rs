//! Several frames in one inference on a GPU: one copy in, one execution and one copy out for all of them.

use super::scene::{Scene, camera, number};
use jetlag::record::{Event, FrameRecord, Outcome, Phase, RunReader, Stage};
use nvidia_doubles::cuda::Control;

#[test]
fn the_frames_of_a_batch_have_one_execution() {
    let Some(scene) = Scene::new() else { return };
    scene.plan("camera.plan", &camera(2_000).replace("f32 1x", "f32 4x"));
    for depth in [1, 2] {
        let fields = format!("arrival: Closed, batch: 4, depth: {depth}");
        let scenario = scene.by_frames(scene.scenario("", &fields, ""), 40);
        let Some(summary) = scene.run(&Control::default(), &scenario) else {
            return;
        };
        assert_eq!(number(&summary, "camera", "/frames/failed"), 0.0);
        let run = RunReader::open(&scene.path("run.mcap")).unwrap();
        let frames: Vec<FrameRecord> = run
            .map(Result::unwrap)
            .filter_map(|event| match event {
                Event::Frame(frame) if frame.tenant == 0 && frame.phase == Phase::Together => Some(frame),
                _ => None,
            })
            .filter(|frame| frame.outcome == Outcome::Completed)
            .collect();
        assert!(frames.len() >= 40, "{}", frames.len());
        for batch in frames.chunk_by(|one, other| one.batch == other.batch) {
            let items = batch[0].batch.unwrap().items as usize;
            assert_eq!(batch.len(), items);
            let of_inference = [Stage::H2d, Stage::Compute, Stage::D2h];
            for stage in of_inference {
                let first = batch[0].stages[stage as usize];
                assert!(first.is_some(), "{stage:?}");
                assert!(
                    batch.iter().all(|frame| frame.stages[stage as usize] == first),
                    "{stage:?}"
                );
            }
        }
        let full = frames
            .iter()
            .filter(|frame| frame.batch.is_some_and(|batch| batch.items == 4));
        assert!(full.count() >= 36);
    }
}
