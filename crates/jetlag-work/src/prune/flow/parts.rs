//! Operators that put tensors together, take parts of them, or repeat them.

use super::{Along, Flow, told};
use crate::call::Call;
use crate::infer::slices;
use crate::prune::channels::{Id, Ids, Reason};
use crate::prune::edits::{Count, Number, Place, part};

impl<'a> Flow<'a> {
    pub(super) fn concat(&mut self, call: &Call<'a>) -> Result<(), Reason> {
        let node = call.node;
        let found: Vec<Option<Along>> = (0..node.inputs.len()).map(|at| self.along(call, at)).collect();
        let Some(first) = found.iter().flatten().next().cloned() else {
            return Ok(());
        };
        if found.iter().flatten().any(|along| along.axis != first.axis) {
            return Err("joins channels along different axes".into());
        }
        let rank = self.in_dims(call, 0)?.len();
        let axis = call.axis(call.int_or("axis", 1), rank).map_err(told)?;
        if axis != first.axis {
            for (at, along) in found.iter().enumerate() {
                match along {
                    Some(along) => self.channels.tie_all(&first.ids, &along.ids)?,
                    None => {
                        let name = node.inputs.get(at).map_or("", |name| name);
                        let why: Reason =
                            format!("`{}` joins them with `{name}`, which stays", node.label()).into();
                        self.channels.pin(&first.ids, &why);
                    }
                }
            }
            return self.set(node, 0, first.axis, first.ids);
        }
        let mut all: Vec<Id> = Vec::new();
        for (at, along) in found.into_iter().enumerate() {
            match along {
                Some(along) => {
                    // Charged before they are put together: each list may be as long as all of them.
                    all.extend(self.channels.list(along.ids.to_vec())?.iter());
                }
                None => {
                    let size = self.in_dims(call, at)?.get(axis).copied().unwrap_or(0);
                    all.extend(self.standing(size)?.iter());
                }
            }
        }
        let all = self.channels.list(all)?;
        self.set(node, 0, axis, all)
    }

    /// Channels that no layer here makes, and that stay.
    fn standing(&mut self, count: u64) -> Result<Ids, Reason> {
        let ids = self.channels.fresh(count, None)?;
        self.channels.pin(&ids, &"they are made by no layer".into());
        Ok(ids)
    }

    pub(super) fn split(&mut self, call: &Call<'a>) -> Result<(), Reason> {
        let node = call.node;
        let Some(along) = self.along(call, 0) else {
            return Ok(());
        };
        let rank = self.in_dims(call, 0)?.len();
        let axis = call.axis(call.int_or("axis", 0), rank).map_err(told)?;
        let is_other = axis != along.axis;
        let mut begin = 0;
        let mut parts: Vec<Ids> = Vec::new();
        for (at, name) in node.outputs.iter().enumerate() {
            if is_other {
                self.set(node, at, along.axis, along.ids.clone())?;
                continue;
            }
            let size = self.dims(name).and_then(|dims| dims.get(axis)).copied();
            let size = size.ok_or("makes parts of unknown size")? as usize;
            let ids =
                part(&along.ids, begin, begin.saturating_add(size)).ok_or("makes parts of other sizes")?;
            begin += size;
            self.channels.set_apart(&ids)?;
            self.set(node, at, axis, ids.clone())?;
            parts.push(ids);
        }
        if is_other {
            return Ok(());
        }
        if begin != along.ids.len() {
            return Err("makes parts of other sizes".into());
        }
        let numbers = || {
            let each = parts.iter().enumerate();
            let number = |(at, ids): (usize, &Ids)| Number {
                at,
                count: Count::Of(ids.clone()),
                per: 1,
            };
            each.map(number).collect::<Vec<_>>()
        };
        if let Some(sizes) = call.ints("split") {
            self.count_in_attribute(call, Place::Ints("split"), sizes.to_vec(), numbers());
            return Ok(());
        }
        if Self::has(call, 1) {
            return self.count_in_input(call, 1, numbers());
        }
        // Parts of one size stay parts of one size if each loses the same places.
        if let Some((first, rest)) = parts.split_first() {
            for other in rest {
                self.channels.tie_all(first, other)?;
            }
        }
        Ok(())
    }

    pub(super) fn slice(&mut self, call: &Call<'a>) -> Result<(), Reason> {
        let Some(along) = self.along(call, 0) else {
            return Ok(());
        };
        let parts = slices(call).map_err(told)?;
        let mut ids = along.ids.clone();
        for (at, (axis, start, end, step)) in parts.into_iter().enumerate() {
            if axis != along.axis {
                continue;
            }
            let (Ok(start), Ok(end), 1) = (usize::try_from(start), usize::try_from(end), step) else {
                return Err("takes every so many of the channels".into());
            };
            ids = part(&along.ids, start, end.max(start)).ok_or("takes channels that are not there")?;
            self.channels.set_apart(&ids)?;
            for (input, name, place) in [(1, "starts", start), (2, "ends", end)] {
                let before = part(&along.ids, 0, place).ok_or("takes channels that are not there")?;
                let written = call.setting(name, input).map_err(told)?.unwrap_or_default();
                // What lies beyond the end stays the end.
                let is_open = written
                    .get(at)
                    .is_some_and(|written| *written >= along.ids.len() as i64);
                if is_open || place == 0 && written.get(at) == Some(&0) {
                    continue;
                }
                self.channels.list(before.to_vec())?;
                let number = Number {
                    at,
                    count: Count::Of(before),
                    per: 1,
                };
                match call.ints(name) {
                    Some(values) => {
                        let place = if input == 1 {
                            Place::Ints("starts")
                        } else {
                            Place::Ints("ends")
                        };
                        self.count_in_attribute(call, place, values.to_vec(), vec![number]);
                    }
                    None => self.count_in_input(call, input, vec![number])?,
                }
            }
        }
        self.set(call.node, 0, along.axis, ids)
    }

    pub(super) fn gather(&mut self, call: &Call<'a>) -> Result<(), Reason> {
        self.along(call, 1);
        let Some(along) = self.along(call, 0) else {
            return Ok(());
        };
        let (from, which) = (self.in_dims(call, 0)?.len(), self.in_dims(call, 1)?.len());
        let axis = call.axis(call.int_or("axis", 0), from).map_err(told)?;
        match axis {
            axis if axis == along.axis => Err("picks channels by number".into()),
            axis if axis < along.axis => {
                let moved = (along.axis + which)
                    .checked_sub(1)
                    .ok_or("has no axis to pick from")?;
                self.set(call.node, 0, moved, along.ids)
            }
            _ => self.set(call.node, 0, along.axis, along.ids),
        }
    }

    pub(super) fn pad(&mut self, call: &Call<'a>) -> Result<(), Reason> {
        let Some(along) = self.along(call, 0) else {
            return Ok(());
        };
        let dims = self.in_dims(call, 0)?;
        let pads = call.setting("pads", 1).map_err(told)?.unwrap_or_default();
        let axes: Vec<usize> = match call.setting("axes", 3).map_err(told)? {
            Some(axes) => axes
                .iter()
                .map(|axis| call.axis(*axis, dims.len()))
                .collect::<Result<_, _>>()
                .map_err(told)?,
            None => (0..dims.len()).collect(),
        };
        let Some(at) = axes.iter().position(|axis| *axis == along.axis) else {
            return self.set(call.node, 0, along.axis, along.ids);
        };
        let pad = |at: usize| pads.get(at).and_then(|pad| u64::try_from(*pad).ok());
        let (Some(before), Some(after)) = (pad(at), pad(at + axes.len())) else {
            return Err("cuts channels off".into());
        };
        if before == 0 && after == 0 {
            return self.set(call.node, 0, along.axis, along.ids);
        }
        if call.text("mode").is_some_and(|mode| mode != "constant") {
            return Err("mirrors channels".into());
        }
        let mut all = self.standing(before)?.to_vec();
        all.extend(along.ids.iter());
        all.extend(self.standing(after)?.iter());
        let all = self.channels.list(all)?;
        self.set(call.node, 0, along.axis, all)
    }

    pub(super) fn tile(&mut self, call: &Call<'a>) -> Result<(), Reason> {
        let Some(along) = self.along(call, 0) else {
            return Ok(());
        };
        let dims = self
            .out_dims(call.node)
            .ok_or("makes a tensor of unknown shape")?;
        let size = dims.get(along.axis).copied().unwrap_or(0) as usize;
        if along.ids.is_empty() || !size.is_multiple_of(along.ids.len()) {
            return Err("does not repeat whole tensors".into());
        }
        let times = size / along.ids.len();
        if times == 1 {
            return self.set(call.node, 0, along.axis, along.ids);
        }
        let mut all = Vec::new();
        for _ in 0..times {
            all.extend(self.channels.list(along.ids.to_vec())?.iter());
        }
        let all = self.channels.list(all)?;
        self.set(call.node, 0, along.axis, all)
    }

    pub(super) fn expand(&mut self, call: &Call<'a>) -> Result<(), Reason> {
        let Some(along) = self.along(call, 0) else {
            return Ok(());
        };
        let (from, to) = (
            self.in_dims(call, 0)?,
            self.out_dims(call.node)
                .ok_or("makes a tensor of unknown shape")?,
        );
        let axis = along.axis + to.len().saturating_sub(from.len());
        if to.get(axis) != Some(&(along.ids.len() as u64)) {
            return Err("stretches channels along their own axis".into());
        }
        let wanted = call.require(1).map_err(told)?;
        let wanted = wanted.as_ints().ok_or("takes a shape that is not in the file")?;
        if let Some(at) = (axis + wanted.len()).checked_sub(to.len())
            && wanted.get(at).is_some_and(|size| *size != 1)
        {
            let number = Number {
                at,
                count: Count::Of(along.ids.clone()),
                per: 1,
            };
            self.count_in_input(call, 1, vec![number])?;
        }
        self.set(call.node, 0, axis, along.ids)
    }
}
