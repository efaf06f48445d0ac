//! `cargo +nightly fuzz run points`, from the crate's folder.
//!
//! A cloud that is decoded gives each of its points or counts it as dropped, and what it keeps is finite.
#![no_main]

use jetlag_bags::message::PointCloud;
use jetlag_bags::{Points, Want};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|message: &[u8]| {
    let mut points = Points::default();
    if points
        .decode(
            message,
            Want {
                ring: true,
                time: true,
            },
        )
        .is_err()
    {
        return;
    }
    if let Ok(cloud) = PointCloud::decode(message) {
        let all = u64::from(cloud.width) * u64::from(cloud.height);
        assert_eq!((points.xyzi.len() + points.dropped) as u64, all);
    }
    for other in [points.ring.len(), points.time.len()] {
        assert!(other == 0 || other == points.xyzi.len());
    }
    assert!(
        points
            .xyzi
            .iter()
            .flat_map(|point| &point[..3])
            .all(|value| value.is_finite())
    );
});
