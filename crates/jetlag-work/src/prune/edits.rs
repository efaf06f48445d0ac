//! Numbers in a network's file that say how many channels there are: groups, shapes, sizes of parts.

use std::sync::Arc;

use super::channels::{Id, Ids};
use super::params::{Axis, Params};
use crate::element::Element;

/// Where a node has the numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Place {
    /// A tensor that it takes.
    Input(usize),
    /// An attribute with one number.
    Int(&'static str),
    /// An attribute with a list.
    Ints(&'static str),
}

/// A count of channels that stay.
#[derive(Clone, Debug)]
pub(super) enum Count {
    /// Of these.
    Of(Ids),
    /// Of those on a weight's axis, which may be known only later.
    OfAxis { param: usize, axis: usize },
}

impl Count {
    /// How many stay; none where nothing goes for certain.
    pub(super) fn kept(&self, params: &Params, stays: &impl Fn(Id) -> bool) -> Option<usize> {
        let count = |ids: &[Id]| ids.iter().filter(|id| stays(**id)).count();
        match self {
            Count::Of(ids) => Some(count(ids)),
            Count::OfAxis { param, axis } => match params.get(*param)?.axes.get(*axis)? {
                Axis::Channels(ids) => Some(count(ids)),
                _ => None,
            },
        }
    }
}

/// One of the numbers.
#[derive(Clone, Debug)]
pub(super) struct Number {
    /// Its place in the list.
    pub(super) at: usize,
    pub(super) count: Count,
    /// So many channels are one.
    pub(super) per: usize,
}

/// Numbers of a node that change with the channels.
#[derive(Clone, Debug)]
pub(super) struct Edit {
    /// The node's first output.
    pub(super) node: String,
    pub(super) place: Place,
    /// The numbers as they are.
    pub(super) values: Vec<i64>,
    /// Of an input: its type and dimensions.
    pub(super) element: Element,
    pub(super) dims: Vec<u64>,
    pub(super) numbers: Vec<Number>,
}

impl Edit {
    /// The numbers with fewer channels; none where none of them changes.
    pub(super) fn changed(&self, params: &Params, stays: &impl Fn(Id) -> bool) -> Option<Vec<i64>> {
        let mut values = self.values.clone();
        for number in &self.numbers {
            if let (Some(kept), Some(value)) = (number.count.kept(params, stays), values.get_mut(number.at)) {
                *value = (kept / number.per.max(1)) as i64;
            }
        }
        (values != self.values).then_some(values)
    }
}

/// The first so many of a list, as a list.
pub(super) fn part(ids: &Ids, begin: usize, end: usize) -> Option<Ids> {
    ids.get(begin..end).map(Arc::from)
}
