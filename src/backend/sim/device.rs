//! The simulated device: processor sharing between the tenants that are busy.
//!
//! With `k` tenants busy each proceeds at the rate `1 / (1 + contention × (k − 1))`: 0 is a device with
//! room for all, 1 one that is divided evenly. A pure function of the times it is told.

use crate::units::{Nanos, Stamp};

/// Work in progress, one job for each busy tenant.
pub struct Device {
    contention: f64,
    now: Stamp,
    jobs: Vec<Job>,
}

struct Job {
    tenant: usize,
    /// Time that it would still need if it were alone, in nanoseconds.
    remaining: f64,
}

/// Work below this is rounding left over from dividing whole nanoseconds.
const DONE_NS: f64 = 1e-6;

impl Device {
    /// An idle device at time zero.
    pub fn new(contention: f64) -> Self {
        Device {
            contention,
            now: Stamp(0),
            jobs: Vec::new(),
        }
    }
    /// How many times slower than alone each job runs now.
    fn slowdown(&self) -> f64 {
        1.0 + self.contention * self.jobs.len().saturating_sub(1) as f64
    }
    /// Lets all jobs proceed to `to`; the caller stops at every completion, so the rate is constant between.
    pub fn advance_to(&mut self, to: Stamp) {
        let mut left = (to - self.now).0 as f64;
        self.now = self.now.max(to);
        // A late caller may have passed completions: share the time out piece by piece.
        while left > 0.0 && self.jobs.iter().any(|j| j.remaining > DONE_NS) {
            let busy = self.jobs.iter().filter(|j| j.remaining > DONE_NS).count();
            let slowdown = 1.0 + self.contention * (busy - 1) as f64;
            let first = self
                .jobs
                .iter()
                .map(|j| j.remaining)
                .filter(|r| *r > DONE_NS)
                .fold(f64::MAX, f64::min);
            let step = (first * slowdown).min(left);
            for job in self.jobs.iter_mut().filter(|j| j.remaining > DONE_NS) {
                job.remaining -= step / slowdown;
            }
            left -= step;
        }
    }
    /// Starts a job that would take `work` alone; a tenant has one job at a time.
    pub fn start(&mut self, tenant: usize, work: Nanos) {
        self.jobs.push(Job {
            tenant,
            remaining: work.0 as f64,
        });
    }
    /// Whether the tenant's job has been done.
    pub fn is_done(&self, tenant: usize) -> bool {
        self.jobs
            .iter()
            .any(|j| j.tenant == tenant && j.remaining <= DONE_NS)
    }
    /// Takes the tenant's job off the device.
    pub fn finish(&mut self, tenant: usize) {
        self.jobs.retain(|j| j.tenant != tenant);
    }
    /// Time until the tenant's job is done if nobody comes or goes, rounded up to a whole nanosecond.
    pub fn time_to_finish(&self, tenant: usize) -> Nanos {
        let remaining = self
            .jobs
            .iter()
            .find(|j| j.tenant == tenant)
            .map_or(0.0, |j| j.remaining.max(0.0));
        Nanos((remaining * self.slowdown()).ceil() as i64)
    }
    /// When the first job will be done and whose it is, if nobody comes; ties go to the lower tenant.
    pub fn next_completion(&self) -> Option<(Stamp, usize)> {
        self.jobs
            .iter()
            .map(|j| (self.now + self.time_to_finish(j.tenant), j.tenant))
            .min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alone_a_job_takes_its_own_time() {
        let mut device = Device::new(1.0);
        device.start(0, Nanos(1_000));
        assert_eq!(device.next_completion(), Some((Stamp(1_000), 0)));
        device.advance_to(Stamp(999));
        assert!(!device.is_done(0));
        device.advance_to(Stamp(1_000));
        assert!(device.is_done(0));
    }

    #[test]
    fn two_jobs_on_an_evenly_divided_device_take_twice_as_long_while_both_run() {
        let mut device = Device::new(1.0);
        device.start(0, Nanos(1_000));
        device.start(1, Nanos(400));
        assert_eq!(device.next_completion(), Some((Stamp(800), 1)));
        device.advance_to(Stamp(800));
        assert!(device.is_done(1));
        device.finish(1);
        assert_eq!(
            device.next_completion(),
            Some((Stamp(1_400), 0)),
            "400 done in 800, then 600 alone"
        );
    }

    #[test]
    fn without_contention_tenants_do_not_touch_each_other() {
        let mut device = Device::new(0.0);
        device.start(0, Nanos(1_000));
        device.start(1, Nanos(1_000));
        assert_eq!(device.next_completion(), Some((Stamp(1_000), 0)));
    }

    #[test]
    fn a_caller_that_comes_late_finds_the_same_work_done() {
        let (mut punctual, mut late) = (Device::new(0.5), Device::new(0.5));
        for d in [&mut punctual, &mut late] {
            d.start(0, Nanos(1_000));
            d.start(1, Nanos(300));
        }
        punctual.advance_to(Stamp(450));
        punctual.advance_to(Stamp(900));
        late.advance_to(Stamp(900));
        let (a, b) = (punctual.time_to_finish(0), late.time_to_finish(0));
        assert!((a - b).0.abs() <= 1, "{a} {b}");
    }
}
