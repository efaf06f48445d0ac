//! Channels of all tensors, and which of them go together: a channel that one operator joins with another stays or goes with it.

use std::sync::Arc;

/// A channel, by number.
pub(super) type Id = u32;
/// The channels along an axis of a tensor, in order; one may be there more than once.
pub(super) type Ids = Arc<[Id]>;
/// Why channels stay, as the end of a sentence.
pub(super) type Reason = Arc<str>;

/// As many channels as all axes together may list: 64 MiB of them. Large networks have a few hundred thousand.
const MOST_LISTED: usize = 1 << 24;

/// Sets of channels that go together.
#[derive(Debug)]
pub(super) struct Channels {
    parents: Vec<Id>,
    /// Of a set, under its root: why it stays.
    pins: Vec<Option<u32>>,
    reasons: Vec<Reason>,
    /// The layer that makes the channel.
    layers: Vec<Option<u32>>,
    /// Channels that a node sets apart from others of the same layer, under a number for each such part.
    parts: Vec<(Id, u32)>,
    next_part: u32,
    listed: usize,
}

impl Channels {
    pub(super) fn new() -> Channels {
        Channels {
            parents: Vec::new(),
            pins: Vec::new(),
            reasons: Vec::new(),
            layers: Vec::new(),
            parts: Vec::new(),
            next_part: 0,
            listed: 0,
        }
    }

    /// How many channels there are.
    pub(super) fn count(&self) -> usize {
        self.parents.len()
    }

    /// A list of channels.
    ///
    /// # Errors
    /// The network has more than are kept.
    pub(super) fn list(&mut self, ids: Vec<Id>) -> Result<Ids, Reason> {
        self.charge(ids.len())?;
        Ok(ids.into())
    }

    /// Sets so many aside, before they are followed one by one.
    ///
    /// # Errors
    /// The network has more than are kept.
    pub(super) fn charge(&mut self, count: usize) -> Result<(), Reason> {
        if count > MOST_LISTED - self.listed.min(MOST_LISTED) {
            return Err(format!("is where the network has listed more than {MOST_LISTED} channels").into());
        }
        self.listed += count;
        Ok(())
    }

    /// New channels, of a layer or of none.
    ///
    /// # Errors
    /// The network has more than are kept.
    pub(super) fn fresh(&mut self, count: u64, layer: Option<u32>) -> Result<Ids, Reason> {
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        self.charge(count)?;
        let first = self.parents.len() as Id;
        let ids: Vec<Id> = (first..).take(count).collect();
        self.parents.extend(&ids);
        self.pins.extend(ids.iter().map(|_| None));
        self.layers.extend(ids.iter().map(|_| layer));
        Ok(ids.into())
    }

    /// The channel that stands for all that go with this one.
    pub(super) fn root(&self, mut id: Id) -> Id {
        while let Some(parent) = self.parents.get(id as usize)
            && *parent != id
        {
            id = *parent;
        }
        id
    }

    fn root_mut(&mut self, id: Id) -> Id {
        let root = self.root(id);
        let mut at = id;
        while at != root {
            match self.parents.get_mut(at as usize) {
                Some(parent) => at = std::mem::replace(parent, root),
                None => break,
            }
        }
        root
    }

    /// From now on the two go together.
    pub(super) fn tie(&mut self, one: Id, other: Id) {
        let (one, other) = (self.root_mut(one), self.root_mut(other));
        let (first, second) = (one.min(other), one.max(other));
        if first == second {
            return;
        }
        if let Some(parent) = self.parents.get_mut(second as usize) {
            *parent = first;
        }
        let pin = self.pins.get(second as usize).copied().flatten();
        if let Some(own) = self.pins.get_mut(first as usize) {
            *own = own.or(pin);
        }
    }

    /// Ties two lists, place by place.
    ///
    /// # Errors
    /// They differ in length.
    pub(super) fn tie_all(&mut self, one: &[Id], other: &[Id]) -> Result<(), Reason> {
        if one.len() != other.len() {
            return Err(format!("{} channels meet {}", one.len(), other.len()).into());
        }
        for (one, other) in one.iter().zip(other) {
            self.tie(*one, *other);
        }
        Ok(())
    }

    /// From now on these stay.
    pub(super) fn pin(&mut self, ids: &[Id], why: &Reason) {
        if ids.is_empty() {
            return;
        }
        let known = self.reasons.last().is_some_and(|last| last == why);
        if !known {
            self.reasons.push(why.clone());
        }
        let reason = (self.reasons.len() - 1) as u32;
        for id in ids {
            let root = self.root_mut(*id);
            if let Some(pin) = self.pins.get_mut(root as usize) {
                pin.get_or_insert(reason);
            }
        }
    }

    /// Why a channel stays; none if it may go.
    pub(super) fn pinned(&self, id: Id) -> Option<&Reason> {
        let reason = self.pins.get(self.root(id) as usize).copied().flatten()?;
        self.reasons.get(reason as usize)
    }

    /// Sets these channels apart: of each such part the same share goes.
    pub(super) fn set_apart(&mut self, ids: &[Id]) -> Result<(), Reason> {
        self.charge(ids.len())?;
        let part = self.next_part;
        self.next_part += 1;
        self.parts.extend(ids.iter().map(|id| (*id, part)));
        Ok(())
    }

    /// Of each channel: the layer that makes it.
    pub(super) fn layers(&self) -> &[Option<u32>] {
        &self.layers
    }

    /// Channels with the part that each is of.
    pub(super) fn parts(&self) -> &[(Id, u32)] {
        &self.parts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_tied_to_a_channel_that_stays_stays_for_the_same_reason() {
        let mut channels = Channels::new();
        let ids = channels.fresh(4, Some(0)).unwrap();
        channels.tie(ids[3], ids[1]);
        channels.pin(&ids[3..], &"of a test".into());
        channels.tie(ids[2], ids[1]);
        assert_eq!(channels.pinned(ids[0]), None);
        for id in &ids[1..] {
            assert_eq!(channels.pinned(*id).map(|why| &**why), Some("of a test"));
        }
    }

    #[test]
    fn more_channels_than_any_network_has_are_refused() {
        let mut channels = Channels::new();
        assert!(channels.fresh(u64::MAX, None).is_err());
        assert!(channels.fresh(1 << 20, None).is_ok());
    }
}
