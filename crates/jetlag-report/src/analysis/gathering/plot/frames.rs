//! Traced frames as they are drawn: what host and GPU did for one frame from its release to its result, lane by lane.
//!
//! Only data, and the rule by which what is too short to be seen is put together: a drawing has a bounded number of bars,
//! however many kernels a frame has. `crate::analysis::topics::traces::drawn` chooses the frames and fills the lanes.

/// Frames of one tenant of a traced phase.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TracedPlot {
    /// The phase's place among the traced ones.
    pub phase: usize,
    /// The tenant's place in the scenario.
    pub tenant: usize,
    /// Layers with a colour of their own, the longest first.
    pub layers: Vec<String>,
    /// Traced frames among which the drawn ones were chosen.
    pub of: u64,
    /// The median frame, and a slow one where there are enough.
    pub frames: Vec<FramePlot>,
}

/// One frame.
#[derive(Clone, Debug, PartialEq)]
pub struct FramePlot {
    /// Its sequence number.
    pub number: u64,
    /// Share of the tenant's traced frames that took at most as long.
    pub rank: f64,
    /// From release to result, in nanoseconds: the length of the time axis.
    pub response_ns: i64,
    /// From the host's stages to the critical path.
    pub lanes: Vec<Lane>,
}

/// What a lane shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LaneKind {
    /// The frame's stages, and its wait before them.
    Stages,
    /// Calls of CUDA made by one thread.
    Calls,
    /// The host waited for the GPU.
    Waits,
    /// The frame's kernels and fills on one stream.
    Stream,
    /// The frame's copies.
    Copies,
    /// What others had on the same GPU.
    Others,
    /// The critical path.
    Path,
}

/// Bars over the same time.
#[derive(Clone, Debug, PartialEq)]
pub struct Lane {
    /// What it shows.
    pub kind: LaneKind,
    /// Its name: `calls`, `stream 13`, a tenant's name.
    pub name: String,
    /// By their begin.
    pub bars: Vec<Bar>,
}

/// The colour of a bar.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Hue {
    /// One of the layers of [`TracedPlot::layers`].
    Layer(usize),
    /// Another layer.
    OtherLayer,
    /// A kernel of no known layer.
    NoLayer,
    /// A copy.
    Copy,
    /// The host.
    Host,
    /// The host's wait for the GPU.
    Wait,
    /// Work of others, or, on the critical path, time in which others had the GPU.
    Others,
    /// On the critical path: work of the frame on the GPU.
    Device,
}

/// A stretch of a lane.
#[derive(Clone, Debug, PartialEq)]
pub struct Bar {
    /// Nanoseconds after the release.
    pub from: i64,
    /// The same; not before `from`.
    pub to: i64,
    /// Its colour.
    pub hue: Hue,
    /// Whether it is on the critical path.
    pub on_path: bool,
    /// What it is, of the longest in it.
    pub text: String,
    /// How many it stands for.
    pub count: u64,
}

impl Bar {
    fn length(&self) -> i64 {
        self.to.saturating_sub(self.from)
    }
}

/// Bars of a lane, by their begin, put together so that at most about `2 × slots` remain: those shorter than a slot that begin in
/// the same slot become one, with the colour and the text of the longest. It is on the critical path if any of them is. Of bars
/// that overlap each other without end, as a damaged file may have them, the longest are kept.
pub fn merged(bars: &[Bar], slots: usize) -> Vec<Bar> {
    let slots = slots.max(1);
    let (Some(from), Some(to)) = (
        bars.iter().map(|bar| bar.from).min(),
        bars.iter().map(|bar| bar.to).max(),
    ) else {
        return Vec::new();
    };
    let width = (to.saturating_sub(from) / slots as i64).max(1);
    let slot = |bar: &Bar| bar.from.saturating_sub(from) / width;
    let mut out: Vec<Bar> = Vec::new();
    // The place of the open short bar in `out`, its slot, and the length of the longest in it.
    let mut open: Option<(usize, i64, i64)> = None;
    for bar in bars {
        if bar.length() >= width {
            out.push(bar.clone());
            continue;
        }
        match &mut open {
            Some((place, of, longest)) if *of == slot(bar) => {
                let known = &mut out[*place];
                known.to = known.to.max(bar.to);
                known.count += bar.count;
                known.on_path |= bar.on_path;
                if bar.length() > *longest {
                    *longest = bar.length();
                    (known.hue, known.text) = (bar.hue, bar.text.clone());
                }
            }
            _ => {
                open = Some((out.len(), slot(bar), bar.length()));
                out.push(bar.clone());
            }
        }
    }
    let most = 2 * slots + 2;
    if out.len() > most {
        out.sort_by_key(|bar| std::cmp::Reverse(bar.length()));
        out.truncate(most);
        out.sort_by_key(|bar| (bar.from, bar.to));
    }
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn bar(from: i64, took: i64, hue: Hue) -> Bar {
        Bar {
            from,
            to: from + took,
            hue,
            on_path: false,
            text: format!("{from}"),
            count: 1,
        }
    }

    #[test]
    fn what_is_shorter_than_a_slot_becomes_one_bar_with_the_look_of_the_longest() {
        let mut bars = vec![
            bar(0, 2, Hue::Copy),
            bar(3, 4, Hue::Layer(1)),
            bar(8, 1, Hue::Copy),
            bar(20, 60, Hue::NoLayer),
            bar(95, 5, Hue::Host),
        ];
        bars[2].on_path = true;
        let found = merged(&bars, 10);
        let seen: Vec<_> = found
            .iter()
            .map(|bar| {
                (
                    bar.from,
                    bar.to,
                    bar.hue,
                    bar.count,
                    bar.on_path,
                    bar.text.as_str(),
                )
            })
            .collect();
        assert_eq!(
            seen,
            [
                (0, 9, Hue::Layer(1), 3, true, "3"),
                (20, 80, Hue::NoLayer, 1, false, "20"),
                (95, 100, Hue::Host, 1, false, "95"),
            ]
        );
        assert!(merged(&[], 10).is_empty());
    }

    proptest! {
        #[test]
        fn there_are_few_bars_whatever_there_was_and_none_is_forgotten(
            mut drawn in prop::collection::vec((0i64..10_000, 0i64..300), 1..800),
            slots in 1usize..60,
        ) {
            drawn.sort_unstable();
            let bars: Vec<Bar> = drawn.iter().map(|&(from, took)| bar(from, took, Hue::Copy)).collect();
            let found = merged(&bars, slots);
            prop_assert!(found.len() <= 2 * slots + 2);
            prop_assert!(found.is_sorted_by_key(|bar| bar.from));
            if found.len() < 2 * slots + 2 {
                prop_assert_eq!(found.iter().map(|bar| bar.count).sum::<u64>(), bars.len() as u64);
            }
        }
    }
}
