//! What the three benchmarks have in common: frames that are matched once, and figures that any multiset of them gives.

/// How often each frame counts.
///
/// Matching goes frame by frame, so a bootstrap needs no new matching: it counts frames anew.
#[derive(Clone, Copy, Debug)]
pub struct Counts<'a>(Option<&'a [u32]>);

impl<'a> Counts<'a> {
    /// Every frame counts once.
    pub const ONCE: Counts<'static> = Counts(None);

    /// Each frame as often as it is told here, by its index; one beyond the end does not count.
    pub fn new(counts: &'a [u32]) -> Self {
        Counts(Some(counts))
    }

    /// How often this frame counts.
    pub fn of(&self, frame: u32) -> u32 {
        self.0
            .map_or(1, |counts| counts.get(frame as usize).copied().unwrap_or(0))
    }
}

const TOO_LARGE: &str = "it is larger than a number can be: check sizes, places and velocities";

/// A figure of a benchmark.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// Its name, for people and for conditions: `ap`, `car.ap50`, `nds`.
    pub name: String,
    /// What it is; `None` where it cannot be known.
    pub value: Option<f64>,
    /// Why it is not known.
    pub why: Option<&'static str>,
}

impl Figure {
    pub(crate) fn new(name: impl Into<String>, value: Option<f64>, why_not: &'static str) -> Self {
        let too_large = value.is_some_and(|value| !value.is_finite());
        let value = value.filter(|value| value.is_finite());
        let why = if too_large { TOO_LARGE } else { why_not };
        Figure {
            name: name.into(),
            value,
            why: value.is_none().then_some(why),
        }
    }
}

/// Frames with truth and detections, matched, of which figures can be made.
pub trait Benchmark {
    /// Whose rules these are: `COCO`, `KITTI`, `nuScenes`.
    fn name(&self) -> &'static str;

    /// How many frames were handed over.
    fn frames(&self) -> usize;

    /// The figures of these frames. Names and order depend on the classes alone, not on the counts.
    fn figures(&self, counts: Counts<'_>) -> Vec<Figure>;

    /// What a reader must know about the figures.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }
}

/// The mean of what is known; `None` where nothing is.
pub(crate) fn mean(values: impl IntoIterator<Item = Option<f64>>) -> Option<f64> {
    let (mut sum, mut count) = (0.0, 0u32);
    for value in values.into_iter().flatten() {
        sum += value;
        count += 1;
    }
    (count > 0).then(|| sum / f64::from(count))
}
