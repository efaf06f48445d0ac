//! Who may use the device next, where tenants take turns: `Exclusive`, `RoundRobin` and `Edf`.
//!
//! A frame passes the gate after it was prepared and before it is submitted, and leaves it when its result is there, so
//! one frame at a time is on the device, copies included. The time before the gate counts as its *queue* stage. The gate
//! knows no device: it stands before any backend, and [`Order::next`] decides under the virtual clock too.
//!
//! This is the one lock that tenants share, and only under these ways of sharing.

use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use crate::scenario::Sharing;
use crate::units::Stamp;

/// In which order waiting frames pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// First come, first served.
    Arrival,
    /// One frame of each tenant that has one, in the order of the scenario.
    Turns,
    /// The earliest deadline first; frames without one come last, and equals in order of arrival.
    Deadline,
}

impl Order {
    /// The order that a way of sharing prescribes; none where tenants take no turns.
    pub fn of(sharing: Sharing) -> Option<Self> {
        match sharing {
            Sharing::Exclusive => Some(Order::Arrival),
            Sharing::RoundRobin => Some(Order::Turns),
            Sharing::Edf => Some(Order::Deadline),
            Sharing::Streams
            | Sharing::SingleStream
            | Sharing::Priority
            | Sharing::Partition
            | Sharing::Processes => None,
        }
    }

    /// Which of the waiting frames passes next; `last` is the tenant that passed before.
    pub fn next(self, waiting: &[Waiting], last: Option<u16>) -> Option<usize> {
        let frames = waiting.iter().enumerate();
        let first = match self {
            Order::Arrival => frames.min_by_key(|(_, frame)| frame.ticket),
            // After the last tenant, counting round: its own next frame comes last of all.
            Order::Turns => frames.min_by_key(|(_, frame)| {
                let after = last.map_or(0, |last| u32::from(last) + 1);
                let place = u32::from(frame.tenant);
                let round = if place >= after { place } else { place + (1 << 16) };
                (round, frame.ticket)
            }),
            Order::Deadline => {
                frames.min_by_key(|(_, frame)| (frame.due.unwrap_or(Stamp(i64::MAX)), frame.ticket))
            }
        };
        first.map(|(place, _)| place)
    }
}

/// A frame before the gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// The number of the tenant that asks.
    pub tenant: u16,
    /// Counts arrivals at the gate.
    pub ticket: u64,
    /// When its frame is due: its release and its deadline; `None` without a deadline.
    pub due: Option<Stamp>,
}

/// Lets one frame at a time pass.
#[derive(Debug)]
pub struct Gate {
    order: Order,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug)]
struct State {
    waiting: Vec<Waiting>,
    inside: Option<Waiting>,
    last: Option<u16>,
    tickets: u64,
}

impl Gate {
    /// An open gate for so many tenants.
    pub fn new(order: Order, tenants: usize) -> Self {
        Gate {
            order,
            state: Mutex::new(State {
                // A tenant has one frame before the gate at a time: nothing is allocated later.
                waiting: Vec::with_capacity(tenants),
                inside: None,
                last: None,
                tickets: 0,
            }),
            changed: Condvar::new(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until this frame may use the device.
    pub fn enter(&self, tenant: u16, due: Option<Stamp>) {
        let mut state = self.lock();
        let ticket = state.tickets;
        state.tickets += 1;
        state.waiting.push(Waiting { tenant, ticket, due });
        loop {
            if state.inside.is_none()
                && let Some(next) = self.order.next(&state.waiting, state.last)
                && state.waiting[next].ticket == ticket
            {
                let frame = state.waiting.swap_remove(next);
                state.last = Some(frame.tenant);
                state.inside = Some(frame);
                return;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// The tenant's frame is done with the device. Also said for a tenant that was given up, so that it blocks nobody;
    /// nothing happens if no frame of it is inside.
    pub fn leave(&self, tenant: u16) {
        let mut state = self.lock();
        if state.inside.is_some_and(|frame| frame.tenant == tenant) {
            state.inside = None;
            self.changed.notify_all();
        }
    }
}

/// A gate for each device, by its number; `devices` are those of the tenants.
pub fn by_device(order: Order, devices: &[u16]) -> BTreeMap<u16, Arc<Gate>> {
    let gate = || Arc::new(Gate::new(order, devices.len()));
    devices.iter().map(|&device| (device, gate())).collect()
}

/// Leaves the gate for a tenant when it goes, also where what happens meanwhile panics: others would wait for ever.
#[derive(Debug)]
pub struct Leaving<'a> {
    gate: &'a Gate,
    tenant: u16,
}

impl Gate {
    /// What leaves for this tenant when it is dropped.
    pub fn leaving(&self, tenant: u16) -> Leaving<'_> {
        Leaving { gate: self, tenant }
    }
}

impl Drop for Leaving<'_> {
    fn drop(&mut self) {
        self.gate.leave(self.tenant);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc::channel;
    use std::time::Duration;

    fn frame(tenant: u16, ticket: u64, due: Option<i64>) -> Waiting {
        Waiting {
            tenant,
            ticket,
            due: due.map(Stamp),
        }
    }

    #[test]
    fn a_frame_on_one_device_holds_up_nobody_on_another() {
        let gates = by_device(super::Order::Arrival, &[0, 1, 0]);
        assert_eq!(gates.len(), 2);
        gates[&0].enter(0, None);
        gates[&1].enter(1, None);
        let inside = |device: u16| gates[&device].lock().inside.map(|frame| frame.tenant);
        assert_eq!((inside(0), inside(1)), (Some(0), Some(1)));
    }

    #[test]
    fn each_order_chooses_as_it_says() {
        let waiting = [
            frame(2, 5, Some(30)),
            frame(0, 6, Some(10)),
            frame(1, 4, None),
            frame(3, 7, Some(10)),
        ];
        assert_eq!(Order::Arrival.next(&waiting, None), Some(2));
        assert_eq!(Order::Deadline.next(&waiting, None), Some(1), "equals by arrival");
        assert_eq!(Order::Turns.next(&waiting, None), Some(1));
        assert_eq!(Order::Turns.next(&waiting, Some(0)), Some(2));
        assert_eq!(Order::Turns.next(&waiting, Some(1)), Some(0));
        assert_eq!(Order::Turns.next(&waiting, Some(3)), Some(1), "round again");
        assert_eq!(Order::Arrival.next(&[], None), None);
        let own = [frame(1, 1, None), frame(2, 2, None)];
        assert_eq!(
            Order::Turns.next(&own, Some(1)),
            Some(1),
            "its own next frame waits for the others"
        );
    }

    #[test]
    fn one_frame_is_inside_at_a_time_and_the_earliest_deadline_goes_first() {
        let gate = Arc::new(Gate::new(Order::Deadline, 3));
        let inside = Arc::new(AtomicUsize::new(0));
        gate.enter(9, None);
        let (passed, order) = channel();
        let threads: Vec<_> = [(0, 30), (1, 10), (2, 20)]
            .into_iter()
            .map(|(tenant, due)| {
                let (gate, inside, passed) = (Arc::clone(&gate), Arc::clone(&inside), passed.clone());
                std::thread::spawn(move || {
                    gate.enter(tenant, Some(Stamp(due)));
                    assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0);
                    passed.send(tenant).unwrap();
                    inside.fetch_sub(1, Ordering::SeqCst);
                    gate.leave(tenant);
                })
            })
            .collect();
        while gate.lock().waiting.len() < 3 {
            std::thread::sleep(Duration::from_millis(1));
        }
        gate.leave(1); // Not the one inside: nothing happens.
        assert!(order.try_recv().is_err());
        gate.leave(9);
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!(order.try_iter().collect::<Vec<_>>(), [1, 2, 0]);
    }

    #[test]
    fn a_tenant_that_panics_inside_blocks_nobody() {
        let gate = Gate::new(Order::Arrival, 2);
        gate.enter(0, None);
        let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let _leaving = gate.leaving(0);
            panic!("as a library's code might");
        }));
        assert!(panicked.is_err());
        gate.enter(1, None); // Comes back, since nobody is inside.
    }

    #[test]
    fn frames_pass_in_the_order_in_which_they_came() {
        let gate = Arc::new(Gate::new(Order::Arrival, 5));
        gate.enter(9, None);
        let (passed, order) = channel();
        let threads: Vec<_> = [3, 0, 2, 1]
            .into_iter()
            .enumerate()
            .map(|(before, tenant)| {
                let (waiter, passed) = (Arc::clone(&gate), passed.clone());
                let thread = std::thread::spawn(move || {
                    waiter.enter(tenant, None);
                    passed.send(tenant).unwrap();
                    waiter.leave(tenant);
                });
                while gate.lock().waiting.len() == before {
                    std::thread::sleep(Duration::from_millis(1));
                }
                thread
            })
            .collect();
        // Which of several threads wakes first is the system's affair, so the order must be in what they wait with.
        assert!(gate.lock().waiting.is_sorted_by(|a, b| a.ticket < b.ticket));
        gate.leave(9);
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!(order.try_iter().collect::<Vec<_>>(), [3, 0, 2, 1]);
    }
}
