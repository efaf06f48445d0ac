//! A stage that frames enter one at a time and in their order, whichever thread they are on.

use std::ops::{Deref, DerefMut};
use std::sync::{Condvar, Mutex, MutexGuard};

/// What a stage works on, lent to one frame after the other. Every number from 0 on has to come once.
pub(super) struct Turn<T> {
    state: Mutex<State<T>>,
    /// One for each frame that may be under way, so that a frame that leaves wakes the next and nobody else.
    come: Vec<Condvar>,
}

struct State<T> {
    /// Number of the frame whose turn it is.
    next: u64,
    /// Threads that sleep until it moves: without any there is nobody to wake, which would be a system call.
    sleeping: usize,
    stage: T,
}

impl<T> Turn<T> {
    /// `depth`: how many frames are under way at most.
    pub(super) fn new(stage: T, depth: usize) -> Self {
        Turn {
            state: Mutex::new(State {
                next: 0,
                sleeping: 0,
                stage,
            }),
            come: (0..depth.max(1)).map(|_| Condvar::new()).collect(),
        }
    }

    fn come(&self, number: u64) -> &Condvar {
        &self.come[(number % self.come.len() as u64) as usize]
    }

    /// Waits until all frames before this one have left. None if one panicked within: then its turn never comes.
    pub(super) fn enter(&self, number: u64) -> Option<Entered<'_, T>> {
        let mut state = self.state.lock().ok()?;
        while state.next != number {
            state.sleeping += 1;
            // A poisoned lock is dropped with its error, and nobody enters again: the count no longer matters.
            state = self.come(number).wait(state).ok()?;
            state.sleeping -= 1;
        }
        Some(Entered { state, turn: self })
    }

    /// What the stage worked on, at the end, also after a panic.
    pub(super) fn into_inner(self) -> T {
        let state = self.state.into_inner();
        state.unwrap_or_else(std::sync::PoisonError::into_inner).stage
    }
}

/// The stage, until this is dropped.
pub(super) struct Entered<'a, T> {
    state: MutexGuard<'a, State<T>>,
    turn: &'a Turn<T>,
}

impl<T> Deref for Entered<'_, T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.state.stage
    }
}

impl<T> DerefMut for Entered<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.state.stage
    }
}

impl<T> Drop for Entered<'_, T> {
    fn drop(&mut self) {
        self.state.next += 1;
        if std::thread::panicking() {
            // Those who wake find the lock poisoned, since the guard goes after this.
            self.turn.come.iter().for_each(Condvar::notify_all);
        } else if self.state.sleeping > 0 {
            self.turn.come(self.state.next).notify_one();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    #[test]
    fn frames_enter_in_their_order_whoever_comes_first() {
        let turn = Turn::new(Vec::new(), 4);
        std::thread::scope(|scope| {
            let (came, comes) = channel();
            for number in [3, 1, 2] {
                let (turn, came) = (&turn, came.clone());
                scope.spawn(move || {
                    came.send(()).unwrap();
                    turn.enter(number).unwrap().push(number);
                });
            }
            (0..3).for_each(|_| comes.recv().unwrap());
            turn.enter(0).unwrap().push(0);
        });
        assert_eq!(turn.into_inner(), [0, 1, 2, 3]);
    }

    #[test]
    fn after_a_panic_nobody_waits_for_a_turn_that_never_comes() {
        let turn = Turn::new((), 2);
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| turn.enter(1).is_some());
            while turn.state.lock().unwrap().sleeping == 0 {
                std::thread::yield_now();
            }
            let panicked = scope.spawn(|| {
                let _entered = turn.enter(0);
                panic!("as a library's code might");
            });
            assert!(panicked.join().is_err());
            assert!(!waits.join().unwrap());
            assert!(turn.enter(2).is_none());
        });
        turn.into_inner();
    }
}
