//! After how many frames the releases of two tenants stand to each other as before: whatever repeats with the content (key frames,
//! every n-th heavy image) may then be in step with the other tenant.

/// What a rhythm may be off in each of its turns, in periods of the other tenant and times the number of frames: with more, no pattern
/// of the content stays in step over the run. Any two rates are nearly in step after many frames, so it is the same for long rhythms.
const SLIP: f64 = 8.0;

/// The shortest rhythm of two frames or more, up to `longest`, of a tenant with so many frames and of another; periods in any unit.
pub fn rhythm(frames: f64, own_period: f64, other_period: f64, longest: u32) -> Option<u32> {
    (2..=longest).find(|&length| {
        let periods = f64::from(length) * own_period / other_period;
        let off = (periods - periods.round()).abs();
        periods >= 0.5 && off * frames <= SLIP
    })
}
