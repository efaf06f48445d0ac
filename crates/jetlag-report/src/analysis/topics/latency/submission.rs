//! How long the host took to submit the work of a frame to a device, and whether that limits its *compute*.
//!
//! *Compute* lies between two timestamps of the device. If the host launches kernels more slowly than the device
//! executes them, the device is idle in between, and no timestamp shows it. What is known is when the host had
//! submitted everything. There are three cases:
//!
//! - the host is done early in *compute*: the device had its work queued, and *compute* is the device's own time;
//! - the host is still submitting almost until the end: *compute* cannot be shorter than the submission, and the time
//!   of the device alone is unknown. That is the finding `host-bound`;
//! - the same on a backend that may wait for the device while it submits: launches and waits cannot be told apart
//!   (`compute-unclear`).
//!
//! A full launch queue makes the host wait too, at any depth of the ring. Then the device still has a whole queue of
//! launches to execute when the host is done, which takes it far longer than half a millisecond.

use jetlag_stats::quantile::Quantile;

use crate::analysis::catalogue::{Limit, ServingLimit, Submitted};
use crate::analysis::gathering::dependence::Dependence;
use crate::analysis::gathering::idle::HostIdle;
use crate::analysis::gathering::series::Series;
use crate::analysis::stats::{ns_to_ms, six_decimals, stats};
use crate::analysis::summary::{Shares, Submitting};
use crate::analysis::summary::{Stats, TenantSummary};
use crate::record::{FrameRecord, Stage};
use crate::scenario::{BackendChoice, Tenant};
use crate::units::Nanos;

/// Share of *compute* from which a frame is host-bound. The rest is time for the last launches to start and the last
/// kernels to execute, and the error of mapping device time to host time.
const NEARLY_ALL: f64 = 0.9;
/// Work that may be left when the host is done. A full queue, of a few thousand launches, takes a millisecond and
/// more.
const LEFT: Nanos = Nanos::from_micros(500);
/// Shorter *compute* is not judged: the calls that copy results back are part of the submission and come after the
/// network, and mapping device time to host time has an error; both are some 10 µs.
const SHORTEST: Nanos = Nanos::from_micros(200);
/// Shares are collected in units of one over this.
const WHOLE: f64 = 1e9;

/// What is collected of one tenant's completed frames.
#[derive(Debug, Default)]
pub(in crate::analysis) struct SubmissionSeries {
    took: Series,
    compute: Series,
    in_compute: Series,
    share: Series,
    bound: u64,
}

impl SubmissionSeries {
    /// Adds a completed frame; returns how many durations were kept of it.
    pub(in crate::analysis) fn push(&mut self, frame: &FrameRecord, exact: bool) -> u64 {
        let Some(submission) = frame.submission else {
            return 0;
        };
        self.took.push(submission.took, exact);
        let compute = frame.stages[Stage::Compute as usize].filter(|took| took.0 > 0);
        let (Some(compute), Some(shared)) = (compute, submission.in_compute) else {
            return 1;
        };
        // Values of a damaged file may be absurd.
        let shared = shared.clamp(Nanos::ZERO, compute);
        let share = shared.0 as f64 / compute.0 as f64;
        self.compute.push(compute, exact);
        self.in_compute.push(shared, exact);
        self.share.push(Nanos((share * WHOLE) as i64), exact);
        self.bound += u64::from(share >= NEARLY_ALL && compute - shared <= LEFT);
        4
    }

    /// The statistics of submission, with its values `in_order` of time for autocorrelation, and its relation to
    /// *compute*; none for files and backends without this information.
    pub(in crate::analysis) fn finish(
        self,
        in_order: &[i64],
        may_wait: Option<bool>,
    ) -> (Option<Stats>, Option<Submitting>) {
        if self.took.count() == 0 {
            return (None, None);
        }
        let took = self.took.finish();
        let took = stats(&took, &took.dependence(in_order));
        let frames = self.compute.count();
        let [usual] = self
            .compute
            .finish()
            .quantiles([Quantile::P50], 0.95, &Dependence::NONE);
        // With too few frames to know how long *compute* usually is, nothing more is reported.
        if usual.ok().is_none_or(|usual| usual.value < SHORTEST) {
            return (Some(took), None);
        }
        let bound_frames = self.bound as f64 / frames as f64;
        let host_bound = match (2 * self.bound > frames, may_wait) {
            (false, _) => Some(false),
            (true, Some(false)) => Some(true),
            (true, _) => None,
        };
        let quantiles = [Quantile::P25, Quantile::P50, Quantile::P75];
        let [p25, p50, p75] = self
            .share
            .finish()
            .quantiles(quantiles, 0.95, &Dependence::NONE)
            .map(|estimate| {
                estimate
                    .ok()
                    .map(|estimate| six_decimals(estimate.value.0 as f64 / WHOLE))
            });
        let submitting = Submitting {
            mean_ms: ns_to_ms(self.in_compute.sum() as f64 / frames as f64),
            share: Shares { p25, p50, p75 },
            bound_frames: six_decimals(bound_frames),
            host_bound,
            may_wait,
        };
        (Some(took), Some(submitting))
    }
}

/// The finding that follows from it.
pub(in crate::analysis) fn limit(
    scenario: &Tenant,
    summary: &TenantSummary,
    host: Option<&HostIdle>,
) -> Option<Limit> {
    let submitting = summary
        .submitting
        .filter(|known| known.host_bound != Some(false))?;
    let mut stages = summary.stages_ms.iter();
    let compute = stages.find(|(stage, _)| *stage == Stage::Compute.name());
    let submitted = Submitted {
        bound_frames: submitting.bound_frames,
        // Means, because a median may be withheld for autocorrelation.
        compute_ms: compute?.1.mean.value?,
        submission_ms: summary.submission_ms.as_ref()?.mean.value?,
        host: host.cloned(),
    };
    let limit = match submitting.host_bound {
        None => ServingLimit::ComputeUnclear {
            submitted,
            backend: summary.backend.clone(),
        },
        Some(_) => ServingLimit::HostBound {
            submitted,
            graph: matches!(scenario.backend, BackendChoice::TensorRt { .. }).then_some(scenario.gpu.graph),
        },
    };
    Some(Limit::Serving {
        tenant: scenario.name.clone(),
        limit,
    })
}

#[cfg(test)]
mod tests {
    use rand_distr::{Distribution, Normal};
    use rand_pcg::Pcg64;
    use rand_pcg::rand_core::SeedableRng;

    use super::*;
    use crate::record::Submission;
    use crate::units::Stamp;

    fn frame(compute: i64, submission: Option<Submission>) -> FrameRecord {
        let mut stages = [None; 9];
        stages[Stage::Compute as usize] = Some(Nanos(compute));
        FrameRecord {
            stages,
            submission,
            ..FrameRecord::completed(Stamp(0), Stamp(compute))
        }
    }

    /// Device and host work side by side: `launches` of `launch` each by the host, `kernel` each on the device, which begins
    /// none before it is launched, and of which at most `queue` are in line. What the frame's record then says, in nanoseconds.
    fn executed(launches: usize, launch: i64, kernel: i64, queue: usize) -> FrameRecord {
        let (mut host, mut device) = (0, 0);
        let mut ends = Vec::with_capacity(launches);
        for n in 0..launches {
            host += launch;
            if let Some(room) = n.checked_sub(queue) {
                host = host.max(ends[room]);
            }
            device = device.max(host) + kernel;
            ends.push(device);
        }
        let submission = Submission {
            took: Nanos(host),
            in_compute: Some(Nanos(host.min(device))),
        };
        frame(device, Some(submission))
    }

    fn judged(frames: &[FrameRecord], may_wait: Option<bool>) -> Option<Submitting> {
        let mut gathered = SubmissionSeries::default();
        for frame in frames {
            gathered.push(frame, true);
        }
        gathered.finish(&[], may_wait).1
    }

    fn bound(frame: FrameRecord) -> Option<bool> {
        judged(&[frame; 20], Some(false)).unwrap().host_bound
    }

    const QUEUE: usize = 1024;

    #[test]
    fn launches_slower_than_kernels_are_the_host_s_limit_and_faster_ones_are_not() {
        assert_eq!(bound(executed(375, 9_000, 2_300, QUEUE)), Some(true));
        assert_eq!(bound(executed(375, 3_000, 20_000, QUEUE)), Some(false));
        // A graph: one call, and the device has all of it.
        assert_eq!(bound(executed(1, 8_000, 860_000, QUEUE)), Some(false));
        // Slow launches, and then a long kernel: most of it the device's own.
        let mut last = executed(300, 9_000, 2_000, QUEUE);
        last.stages[Stage::Compute as usize] = Some(Nanos(2_702_000 + 1_500_000));
        assert_eq!(bound(last), Some(false));
    }

    #[test]
    fn a_host_that_waits_for_room_in_a_full_queue_is_not_the_limit() {
        for launches in [2_000, 5_000, 20_000, 60_000] {
            assert_eq!(
                bound(executed(launches, 2_000, 5_000, QUEUE)),
                Some(false),
                "{launches}"
            );
        }
    }

    #[test]
    fn what_may_be_waits_is_not_called_launches() {
        let frames = [executed(375, 9_000, 2_300, QUEUE); 20];
        for may_wait in [Some(true), None] {
            assert_eq!(judged(&frames, may_wait).unwrap().host_bound, None);
        }
        let frames = [executed(375, 3_000, 20_000, QUEUE); 20];
        assert_eq!(judged(&frames, Some(true)).unwrap().host_bound, Some(false));
    }

    #[test]
    fn without_submission_or_with_too_little_of_it_nothing_is_said() {
        let mut gathered = SubmissionSeries::default();
        assert_eq!(gathered.push(&frame(5_000_000, None), true), 0);
        assert_eq!(gathered.finish(&[], None), (None, None), "nothing was submitted");
        assert_eq!(
            judged(&[executed(375, 9_000, 2_300, QUEUE); 10], Some(false)),
            None,
            "too few"
        );
        assert_eq!(
            judged(&[executed(12, 9_000, 2_300, QUEUE); 50], Some(false)),
            None,
            "too short"
        );
        let copies = Submission {
            took: Nanos(900_000),
            in_compute: None,
        };
        let (took, submitting) = {
            let mut gathered = SubmissionSeries::default();
            gathered.push(&frame(5_000_000, Some(copies)), true);
            gathered.finish(&[], Some(false))
        };
        assert_eq!((took.unwrap().max, submitting), (Some(0.9), None));
        let absurd = Submission {
            took: Nanos(i64::MAX),
            in_compute: Some(Nanos(i64::MIN)),
        };
        assert_eq!(bound(frame(5_000_000, Some(absurd))), Some(false));
    }

    /// Frames whose launches and kernels scatter from frame to frame, with an error of where device moments are placed.
    fn scattered(seed: u64, launch: f64, kernel: f64) -> Vec<FrameRecord> {
        let mut random = Pcg64::seed_from_u64(seed);
        let scatter = Normal::new(1.0, 0.15).unwrap();
        let placed = Normal::new(0.0, 15_000.0).unwrap();
        (0..60)
            .map(|_| {
                let mut draw = |ns: f64| (ns * f64::max(scatter.sample(&mut random), 0.2)) as i64;
                let (launch, kernel) = (draw(launch), draw(kernel));
                let mut frame = executed(200, launch, kernel, QUEUE);
                let error = placed.sample(&mut random) as i64;
                let compute = frame.stages[Stage::Compute as usize].unwrap();
                let submission = frame.submission.unwrap();
                frame.submission = Some(Submission {
                    in_compute: Some(Nanos((submission.took.0 + error).clamp(0, compute.0))),
                    ..submission
                });
                frame
            })
            .collect()
    }

    #[test]
    fn over_seeds_the_device_s_limit_is_never_called_the_host_s_and_the_host_s_always() {
        let says = |seed: u64, launch: f64, kernel: f64| {
            let found = judged(&scattered(seed, launch, kernel), Some(false)).unwrap();
            found.host_bound == Some(true)
        };
        let device =
            (0..300).filter(|&seed| says(seed, 4_000.0, [6_000.0, 10_000.0, 40_000.0][seed as usize % 3]));
        assert_eq!(device.count(), 0, "false alarms");
        let host =
            (0..300).filter(|&seed| says(seed, 9_000.0, [1_000.0, 2_300.0, 5_000.0][seed as usize % 3]));
        assert_eq!(host.count(), 300, "found");
    }

    #[test]
    fn the_part_of_compute_in_which_the_host_submitted_is_a_mean_over_frames() {
        let submission = Some(Submission {
            took: Nanos(3_000_000),
            in_compute: Some(Nanos(1_500_000)),
        });
        let found = judged(&[frame(6_000_000, submission); 20], Some(false)).unwrap();
        assert_eq!((found.mean_ms, found.share.p50), (1.5, Some(0.25)));
        // Frames whose compute took no time have no share.
        let mut frames = vec![frame(6_000_000, submission); 20];
        frames.extend([frame(0, submission); 15]);
        assert_eq!(judged(&frames, Some(false)), Some(found));
    }

    #[test]
    fn a_run_is_bound_where_more_than_half_of_its_frames_are() {
        let (launches, kernels) = (
            executed(375, 9_000, 2_300, QUEUE),
            executed(375, 3_000, 20_000, QUEUE),
        );
        for (bound, host_bound) in [(10, false), (11, true)] {
            let mut frames = vec![launches; bound];
            frames.resize(20, kernels);
            let found = judged(&frames, Some(false)).unwrap();
            assert_eq!(found.host_bound, Some(host_bound), "{bound} of 20");
        }
    }
}
