//! One source for several tenants: each frame is read and decoded once, by the tenant that asks first; the others are handed
//! the same pixels or points.
//!
//! Tenants go on at their own pace, so a decoded frame is kept until all have had it, and at most eight are. A tenant that
//! is further behind has its frames decoded again, which is counted.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::timeline::Timeline;
use super::wants::{Lack, Wants};
use super::{Content, Frame, Source, SourceError, SourceInfo, Waits};

/// Most frames that are kept for those who have not had them.
const MOST_HELD: usize = 8;

/// A source that several tenants have.
pub struct Feed {
    name: String,
    info: SourceInfo,
    timeline: Option<Timeline>,
    state: Mutex<State>,
}

/// What reading and decoding for several tenants took.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedCost {
    /// The source's name in the scenario.
    pub name: String,
    /// How many tenants it has.
    pub tenants: usize,
    /// Frames that were read and decoded.
    pub frames: u64,
    /// Of these, frames that had been decoded before and were no longer there.
    pub again: u64,
    /// What all of them took.
    pub took: Duration,
}

struct State {
    source: Box<dyn Source>,
    /// The frame that the source yields next, counted through all repetitions.
    next: u64,
    held: VecDeque<Held>,
    /// Memory of frames that all have taken, and that some may still work on.
    spare: Vec<Held>,
    tenants: usize,
    /// What the next tenant is called.
    next_id: usize,
    frames: u64,
    /// Where frames begin that were not decoded in this phase.
    new_from: u64,
    again: u64,
    took: Duration,
    is_told: bool,
    /// What the tenants want of points.
    wants: Wants,
}

/// A frame that some tenants have yet to take.
#[derive(Default)]
struct Held {
    number: u64,
    frame: Frame,
    /// The decoded content, once it is made.
    room: Arc<Content>,
    /// Whether it was made, or why it could not be; `None` until the first tenant decodes it.
    made: Option<Result<(), Arc<str>>>,
    /// Who has had it.
    taken: Vec<usize>,
}

/// One tenant's way to a [`Feed`].
pub struct Subscriber {
    feed: Arc<Feed>,
    /// Among the feed's.
    id: usize,
    /// The frame that comes next, counted through all repetitions.
    next: u64,
    /// Until it asks for its first frame: how many frames the feed had read when it was rewound.
    rewound_at: Option<u64>,
}

impl Feed {
    /// A feed of this name in the scenario, over a source that nobody has read from.
    pub fn new(name: &str, source: Box<dyn Source>) -> Arc<Feed> {
        let mut info = source.info();
        info.description = format!("{}, shared as `{name}`", info.description);
        Arc::new(Feed {
            name: name.to_owned(),
            info,
            timeline: source.timeline().cloned(),
            state: Mutex::new(State {
                source,
                next: 0,
                held: VecDeque::with_capacity(MOST_HELD + 1),
                spare: Vec::new(),
                tenants: 0,
                next_id: 0,
                frames: 0,
                new_from: 0,
                again: 0,
                took: Duration::ZERO,
                is_told: false,
                wants: Wants::default(),
            }),
        })
    }

    /// One more tenant of it. All subscribe before the first frame is read.
    pub fn subscribe(self: &Arc<Feed>) -> Subscriber {
        let mut state = self.lock();
        let id = state.next_id;
        state.next_id += 1;
        state.tenants += 1;
        Subscriber {
            feed: Arc::clone(self),
            id,
            next: 0,
            rewound_at: Some(state.frames),
        }
    }

    /// A tenant that panicked while it read leaves nothing half done that others could not go on from.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Where frame `number` is kept for a tenant.
    fn find(&self, number: u64, tenant: usize) -> Option<usize> {
        let is_it = |held: &Held| held.number == number && !held.taken.contains(&tenant);
        self.held.iter().position(is_it)
    }

    /// Reads frame `number` into a place of its own; `None` at the end of the source. `begins` says that nobody has read since the
    /// tenant was rewound: a phase begins, and with it everything that is measured.
    fn read(&mut self, number: u64, begins: bool) -> Result<Option<usize>, SourceError> {
        let began = Instant::now();
        let is_behind = number < self.next || self.held.iter().any(|held| held.number == number);
        if begins {
            while let Some(held) = self.held.pop_front() {
                self.recycle(held);
            }
            self.new_from = 0;
        }
        if is_behind {
            self.source.rewind()?;
            self.next = 0;
        }
        if number > self.next {
            self.source.skip(number - self.next)?;
            self.next = number;
        }
        if self.held.len() >= MOST_HELD
            && let Some(oldest) = self.held.pop_front()
        {
            self.recycle(oldest);
        }
        let mut held = self.room();
        held.number = number;
        match self.source.acquire(&mut held.frame) {
            Ok(true) => {}
            Ok(false) => {
                self.recycle(held);
                return Ok(None);
            }
            // The next call goes on after it, for all tenants.
            Err(error) => held.made = Some(Err(error.to_string().into())),
        }
        self.next = number + 1;
        self.frames += 1;
        self.again += u64::from(number < self.new_from);
        self.new_from = self.new_from.max(number + 1);
        self.took += began.elapsed();
        self.held.push_back(held);
        Ok(Some(self.held.len() - 1))
    }

    /// The content of the frame in this place, which is decoded if it is not yet.
    fn content(&mut self, at: usize) -> Result<Arc<Content>, Arc<str>> {
        let held = &mut self.held[at];
        let (source, frame) = (&mut self.source, &mut held.frame);
        let made = held.made.get_or_insert_with(|| {
            let began = Instant::now();
            let made = source.decode(frame);
            self.took += began.elapsed();
            made.map_err(|error| Arc::from(error.to_string()))?;
            // Nobody else has it: see `room`.
            if let Some(place) = Arc::get_mut(&mut held.room) {
                std::mem::swap(place, &mut frame.content);
            }
            Ok(())
        });
        made.clone().map(|()| Arc::clone(&held.room))
    }

    /// A place for a frame: memory that nobody works on, if there is any.
    fn room(&mut self) -> Held {
        let free = self
            .spare
            .iter_mut()
            .position(|held| Arc::get_mut(&mut held.room).is_some());
        let mut held = free.map_or_else(Held::default, |at| self.spare.swap_remove(at));
        // The source decodes into the buffer that was handed out.
        if let Some(buffer) = Arc::get_mut(&mut held.room) {
            std::mem::swap(buffer, &mut held.frame.content);
        }
        held
    }

    /// Notes that a tenant has had the frame in this place, which goes once all have.
    fn taken(&mut self, at: usize, tenant: usize) {
        let held = &mut self.held[at];
        held.taken.push(tenant);
        if held.taken.len() >= self.tenants
            && let Some(held) = self.held.remove(at)
        {
            self.recycle(held);
        }
    }

    /// Keeps the memory of a frame for another one.
    fn recycle(&mut self, mut held: Held) {
        held.taken.clear();
        held.made = None;
        // Each tenant may still work on one.
        if self.spare.len() < MOST_HELD + self.tenants {
            self.spare.push(held);
        }
    }
}

/// A tenant that could not be started is waited for by nobody.
impl Drop for Subscriber {
    fn drop(&mut self) {
        self.feed.lock().tenants -= 1;
    }
}

impl Source for Subscriber {
    fn info(&self) -> SourceInfo {
        self.feed.info.clone()
    }

    fn acquire(&mut self, frame: &mut Frame) -> Result<bool, SourceError> {
        frame.shared = None; // Its memory may serve the next one.
        let number = self.next;
        self.next += 1;
        let rewound_at = self.rewound_at.take();
        let mut state = self.feed.lock();
        let begins = rewound_at == Some(state.frames);
        let found = match state.find(number, self.id).filter(|_| !begins) {
            Some(at) => Some(at),
            None => state.read(number, begins)?,
        };
        let Some(at) = found else {
            self.next = number;
            return Ok(false);
        };
        let held = &state.held[at];
        frame.index = held.frame.index;
        frame.camera = held.frame.camera;
        frame.captured = held.frame.captured;
        frame.context.clone_from(&held.frame.context);
        if let Some(Err(why)) = &held.made {
            let why = Arc::clone(why);
            state.taken(at, self.id);
            return Err(SourceError::Unread(why));
        }
        Ok(true)
    }

    fn decode(&mut self, frame: &mut Frame) -> Result<(), SourceError> {
        let number = self.next.saturating_sub(1);
        let mut state = self.feed.lock();
        let at = match state.find(number, self.id) {
            Some(at) => at,
            // Others were so much faster that it is gone again.
            None => match state.read(number, false)? {
                Some(at) => at,
                None => return Err(SourceError::Unread("the shared source has ended".into())),
            },
        };
        let content = state.content(at);
        state.taken(at, self.id);
        frame.shared = Some(content.map_err(SourceError::Unread)?);
        Ok(())
    }

    fn skip(&mut self, frames: u64) -> Result<(), SourceError> {
        self.next = self.next.saturating_add(frames);
        Ok(())
    }

    fn rewind(&mut self) -> Result<(), SourceError> {
        self.next = 0;
        self.rewound_at = Some(self.feed.lock().frames);
        Ok(())
    }

    fn want(&mut self, wants: Wants) -> Option<Lack> {
        let mut state = self.feed.lock();
        // Of each tenant's own wants the others' answer is no part.
        let own = state.source.want(wants);
        state.wants = state.wants.and(wants);
        let all = state.wants;
        state.source.want(all);
        own
    }

    fn take_waits(&mut self) -> Waits {
        self.feed.lock().source.take_waits()
    }

    fn timeline(&self) -> Option<&Timeline> {
        self.feed.timeline.as_ref()
    }

    fn take_shared_cost(&mut self) -> Option<SharedCost> {
        let mut state = self.feed.lock();
        if std::mem::replace(&mut state.is_told, true) || state.frames == 0 {
            return None;
        }
        Some(SharedCost {
            name: self.feed.name.clone(),
            tenants: state.tenants,
            frames: state.frames,
            again: state.again,
            took: state.took,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use proptest::prelude::*;

    use super::*;
    use crate::source::{ContentKind, Image};

    /// Frames that hold their number; every seventh cannot be read, every eleventh not decoded.
    struct Numbers {
        length: u64,
        next: u64,
        repeats: bool,
        decoded: Arc<AtomicU64>,
    }

    impl Source for Numbers {
        fn info(&self) -> SourceInfo {
            SourceInfo {
                kind: ContentKind::Image,
                frames: (!self.repeats).then_some(self.length),
                description: "numbers".to_owned(),
                selection: None,
            }
        }
        fn acquire(&mut self, frame: &mut Frame) -> Result<bool, SourceError> {
            if self.next >= self.length {
                if !self.repeats {
                    return Ok(false);
                }
                self.next = 0;
            }
            frame.index = self.next;
            self.next += 1;
            match frame.index % 7 {
                6 => Err(SourceError::Unread("unread".into())),
                _ => Ok(true),
            }
        }
        fn decode(&mut self, frame: &mut Frame) -> Result<(), SourceError> {
            self.decoded.fetch_add(1, Ordering::Relaxed);
            if frame.index % 11 == 10 {
                return Err(SourceError::Unread("undecoded".into()));
            }
            frame.content = Content::Image(Image {
                width: frame.index as usize,
                ..Image::default()
            });
            Ok(())
        }
        fn skip(&mut self, frames: u64) -> Result<(), SourceError> {
            self.next = match self.repeats {
                true => (self.next + frames) % self.length,
                false => (self.next + frames).min(self.length),
            };
            Ok(())
        }
        fn rewind(&mut self) -> Result<(), SourceError> {
            self.next = 0;
            Ok(())
        }
    }

    fn numbers(length: u64, repeats: bool) -> (Numbers, Arc<AtomicU64>) {
        let decoded = Arc::new(AtomicU64::new(0));
        let source = Numbers {
            length,
            next: 0,
            repeats,
            decoded: Arc::clone(&decoded),
        };
        (source, decoded)
    }

    /// What a source gives next: the number, `None` at its end, or an error's text.
    fn next(source: &mut dyn Source, frame: &mut Frame) -> Result<Option<u64>, String> {
        if !source.acquire(frame).map_err(|error| error.to_string())? {
            return Ok(None);
        }
        source.decode(frame).map_err(|error| error.to_string())?;
        match frame.content() {
            Content::Image(image) => Ok(Some(image.width as u64)),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn each_frame_is_decoded_once_for_all_tenants_in_step() {
        let (source, decoded) = numbers(5, true);
        let feed = Feed::new("front", Box::new(source));
        let mut all: Vec<(Subscriber, Frame)> =
            (0..3).map(|_| (feed.subscribe(), Frame::default())).collect();
        for number in 0..20u64 {
            for (subscriber, frame) in &mut all {
                assert_eq!(next(subscriber, frame), Ok(Some(number % 5)));
            }
        }
        assert_eq!(decoded.load(Ordering::Relaxed), 20);
        let costs: Vec<SharedCost> = all
            .iter_mut()
            .filter_map(|(subscriber, _)| subscriber.take_shared_cost())
            .collect();
        let [cost] = costs.as_slice() else {
            panic!("told once: {costs:?}")
        };
        assert_eq!((cost.tenants, cost.frames, cost.again), (3, 20, 0));
    }

    #[test]
    fn who_is_far_behind_has_frames_decoded_again_and_that_is_counted() {
        let (source, decoded) = numbers(5, true);
        let feed = Feed::new("front", Box::new(source));
        let (mut fast, mut slow) = (feed.subscribe(), feed.subscribe());
        let mut frame = Frame::default();
        let ahead = MOST_HELD as u64 + 3;
        (0..ahead).for_each(|n| assert_eq!(next(&mut fast, &mut frame), Ok(Some(n % 5))));
        (0..ahead).for_each(|n| assert_eq!(next(&mut slow, &mut frame), Ok(Some(n % 5))));
        assert!(decoded.load(Ordering::Relaxed) > ahead);
        let cost = slow.take_shared_cost().unwrap();
        assert!(
            cost.again > 0 && cost.frames == decoded.load(Ordering::Relaxed),
            "{cost:?}"
        );
    }

    #[test]
    fn frames_are_handed_out_in_memory_that_is_used_again() {
        let (source, _) = numbers(5, true);
        let feed = Feed::new("front", Box::new(source));
        let mut all: Vec<(Subscriber, Frame)> =
            (0..2).map(|_| (feed.subscribe(), Frame::default())).collect();
        let mut places = std::collections::BTreeSet::new();
        for _ in 0..50 {
            for (subscriber, frame) in &mut all {
                next(subscriber, frame).unwrap();
                places.insert(std::ptr::from_ref(frame.content()) as usize);
            }
        }
        assert!(places.len() <= 4, "{} places for 50 frames", places.len());
    }

    #[test]
    fn a_phase_decodes_its_frames_anew_and_none_of_the_phase_before_is_left() {
        let (source, decoded) = numbers(5, true);
        let feed = Feed::new("front", Box::new(source));
        let (mut one, mut other) = (feed.subscribe(), feed.subscribe());
        let mut frame = Frame::default();
        for phase in 1..=3 {
            one.rewind().unwrap();
            other.rewind().unwrap();
            for n in 0..2 {
                assert_eq!(next(&mut one, &mut frame), Ok(Some(n)));
                // The second phase is the first tenant's alone.
                if phase != 2 {
                    assert_eq!(next(&mut other, &mut frame), Ok(Some(n)));
                }
            }
        }
        assert_eq!(decoded.load(Ordering::Relaxed), 6);
        assert_eq!(one.take_shared_cost().unwrap().again, 0);
    }

    proptest! {
        /// Whatever the pace of each, a tenant of a shared source sees what it would see of one of its own.
        #[test]
        fn a_tenant_sees_what_a_source_of_its_own_would_show(
            length in 1u64..30,
            repeats in any::<bool>(),
            steps in prop::collection::vec((0usize..3, 0u8..12), 1..120),
        ) {
            let (source, _) = numbers(length, repeats);
            let feed = Feed::new("front", Box::new(source));
            let mut all: Vec<(Subscriber, Frame, Numbers, Frame)> = (0..3)
                .map(|_| (feed.subscribe(), Frame::default(), numbers(length, repeats).0, Frame::default()))
                .collect();
            for (tenant, step) in steps {
                let (subscriber, frame, own, own_frame) = &mut all[tenant];
                match step {
                    0 => {
                        subscriber.rewind().unwrap();
                        own.rewind().unwrap();
                    }
                    1..=3 => {
                        subscriber.skip(u64::from(step) * 4).unwrap();
                        own.skip(u64::from(step) * 4).unwrap();
                    }
                    _ => prop_assert_eq!(next(subscriber, frame), next(own, own_frame)),
                }
                let state = feed.lock();
                prop_assert!(state.held.len() <= MOST_HELD && state.spare.len() <= MOST_HELD + 3);
            }
        }
    }
}
