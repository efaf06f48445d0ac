//! Layers with filters: convolutions, with groups and depthwise, and products with a matrix of weights.

use super::{Flow, Layer, told};
use crate::call::Call;
use crate::prune::channels::{Id, Ids, Reason};
use crate::prune::edits::{Count, Number, Place};
use crate::prune::params::View;

impl<'a> Flow<'a> {
    pub(super) fn conv(&mut self, call: &Call<'a>) -> Result<(), Reason> {
        let sizes = self.in_dims(call, 1)?;
        let (Some(filters), Some(each)) = (sizes.first(), sizes.get(1)) else {
            return Err("has weights without channels".into());
        };
        let taken = self.channels_on(call, 0, 1)?;
        let view = self.weight(call, 1)?;
        let groups = groups(call)?;
        let mut axes: Vec<Option<Ids>> = vec![None; sizes.len()];
        let (made, own) = match groups {
            1 => {
                let made = self.filters(call, &view, 0, *filters)?;
                (Some(made), taken)
            }
            groups if is_by_group(groups, *each, *filters / groups.max(1)) => {
                (self.by_group(call, taken, groups, *each, *filters)?, None)
            }
            groups => {
                let made = self.filters(call, &view, 0, *filters)?;
                self.columns(&made, groups);
                let own = taken.map(|taken| self.columns(&taken, groups));
                (Some(made), own)
            }
        };
        put(&mut axes, 0, made.clone());
        put(&mut axes, 1, own);
        self.bind(call, 1, &axes)?;
        self.finish(call, &view, 0, *filters, made, 1)
    }

    pub(super) fn conv_transpose(&mut self, call: &Call<'a>) -> Result<(), Reason> {
        let sizes = self.in_dims(call, 1)?;
        let (Some(channels), Some(each)) = (sizes.first(), sizes.get(1)) else {
            return Err("has weights without channels".into());
        };
        let taken = self.channels_on(call, 0, 1)?;
        let view = self.weight(call, 1)?;
        let groups = groups(call)?;
        let filters = each.checked_mul(groups).ok_or("has sizes beyond 64 bits")?;
        let mut axes: Vec<Option<Ids>> = vec![None; sizes.len()];
        let (made, own) = match groups {
            1 => (Some(self.filters(call, &view, 1, *each)?), None),
            groups if is_by_group(groups, *channels / groups.max(1), *each) => {
                let per = *channels / groups.max(1);
                (self.by_group(call, taken.clone(), groups, per, filters)?, None)
            }
            groups => {
                // Each group has the filters at the same places, so the weight has one list for all of them.
                let own = self.filters(call, &view, 1, *each)?;
                let all = (0..groups).flat_map(|_| own.iter().copied()).collect();
                if let Some(taken) = &taken {
                    self.columns(taken, groups);
                }
                (Some(self.channels.list(all)?), Some(own))
            }
        };
        put(&mut axes, 0, taken);
        put(&mut axes, 1, if groups == 1 { made.clone() } else { own });
        self.bind(call, 1, &axes)?;
        self.finish(call, &view, 1, filters, made, 1)
    }

    pub(super) fn gemm(&mut self, call: &Call<'a>) -> Result<(), Reason> {
        let sizes = self.in_dims(call, 1)?;
        let [rows, columns] = sizes else {
            return Err("takes no matrix".into());
        };
        let is_turned = |name: &str| call.int_or(name, 0) != 0;
        let taken = self.channels_on(call, 0, if is_turned("transA") { 0 } else { 1 })?;
        let view = self.weight(call, 1)?;
        let (makes, filters) = if is_turned("transB") {
            (0, *rows)
        } else {
            (1, *columns)
        };
        let made = self.filters(call, &view, makes, filters)?;
        let mut axes = vec![taken; 2];
        put(&mut axes, makes, Some(made.clone()));
        self.bind(call, 1, &axes)?;
        if Self::has(call, 2) {
            let bias = self.in_dims(call, 2)?;
            let axes = beside(bias, 2, 1, &made);
            self.bind(call, 2, &axes)?;
        }
        self.made(call, &view, makes, filters, Some(made), 1)
    }

    pub(super) fn matmul(&mut self, call: &Call<'a>) -> Result<(), Reason> {
        let (from, sizes) = (self.in_dims(call, 0)?, self.in_dims(call, 1)?);
        let last = from.len().checked_sub(1).ok_or("takes a scalar")?;
        let along = self.along(call, 0);
        let view = match (self.view(call, 1), sizes) {
            (Some(view), [_, _]) if last > 0 => view,
            _ if !self.takes_channels(call.node) && !self.takes_weights(call.node) => return Ok(()),
            _ => return Err("multiplies by what is no matrix of weights".into()),
        };
        let filters = sizes.last().copied().unwrap_or(0);
        match along {
            // Another axis than that which is summed over is left as it is.
            Some(along) if along.axis != last => {
                self.bind(call, 1, &[None, None])?;
                let why: Reason = "it sums over another axis than its channels".into();
                self.layer(call, &view, 1, filters, Err(why));
                self.set(call.node, 0, along.axis, along.ids)
            }
            along => {
                let made = self.filters(call, &view, 1, filters)?;
                self.bind(call, 1, &[along.map(|along| along.ids), Some(made.clone())])?;
                self.made(call, &view, 1, filters, Some(made), last)
            }
        }
    }

    /// The channels that a layer makes: those of its weight, if another layer has it too.
    fn filters(&mut self, call: &Call, view: &View, axis: usize, count: u64) -> Result<Ids, Reason> {
        if let Some(ids) = self.params.channels(view, axis) {
            return Ok(ids);
        }
        let layer = u32::try_from(self.layers.len()).map_err(|_| Reason::from("is one too many"))?;
        let ids = self.channels.fresh(count, Some(layer))?;
        if view.axes.get(axis).copied().flatten().is_none() {
            let why: Reason = format!("`{}` has its filters along no axis", call.node.label()).into();
            self.channels.pin(&ids, &why);
        }
        Ok(ids)
    }

    /// Whole groups stay or go: the channels that a group takes go with those that it makes.
    fn by_group(
        &mut self,
        call: &Call,
        taken: Option<Ids>,
        groups: u64,
        each: u64,
        filters: u64,
    ) -> Result<Option<Ids>, Reason> {
        let Some(taken) = taken else { return Ok(None) };
        let (each, makes) = (each.max(1) as usize, (filters / groups.max(1)) as usize);
        if (taken.len() / each) as u64 != groups || makes == 0 || !taken.len().is_multiple_of(each) {
            return Err("has groups that its channels do not fill".into());
        }
        let mut made: Vec<Id> = Vec::new();
        for group in taken.chunks(each) {
            let Some(first) = group.first() else { continue };
            for id in group {
                self.channels.tie(*first, *id);
            }
            made.extend((0..makes).map(|_| *first));
        }
        let number = Number {
            at: 0,
            count: Count::Of(taken),
            per: each,
        };
        self.count_in_attribute(call, Place::Int("group"), vec![groups as i64], vec![number]);
        Ok(Some(self.channels.list(made)?))
    }

    /// The same places of all groups stay or go together; those of the first group.
    fn columns(&mut self, ids: &Ids, groups: u64) -> Ids {
        let each = (ids.len() as u64 / groups.max(1)).max(1) as usize;
        let (first, rest) = ids.split_at(each.min(ids.len()));
        for group in rest.chunks(each) {
            for (one, other) in first.iter().zip(group) {
                self.channels.tie(*one, *other);
            }
        }
        first.into()
    }

    /// As [`Flow::made`], of a layer with its bias as third input.
    fn finish(
        &mut self,
        call: &Call,
        view: &View,
        axis: usize,
        filters: u64,
        made: Option<Ids>,
        along: usize,
    ) -> Result<(), Reason> {
        self.bind_vector(call, 2, made.as_ref())?;
        self.made(call, view, axis, filters, made, along)
    }

    fn made(
        &mut self,
        call: &Call,
        view: &View,
        axis: usize,
        filters: u64,
        made: Option<Ids>,
        along: usize,
    ) -> Result<(), Reason> {
        if let Some(made) = &made {
            self.set(call.node, 0, along, made.clone())?;
        }
        let made = made.ok_or_else(|| "its filters go with what it takes, which stays".into());
        self.layer(call, view, axis, filters, made);
        Ok(())
    }

    fn layer(&mut self, call: &Call, view: &View, axis: usize, filters: u64, channels: Result<Ids, Reason>) {
        let weight = view.axes.get(axis).copied().flatten();
        self.layers.push(Layer {
            name: call.node.label().to_owned(),
            operator: call.operator().to_owned(),
            filters,
            channels,
            weight: weight.map(|axis| (view.param, axis)),
        });
    }
}

fn groups(call: &Call) -> Result<u64, Reason> {
    match u64::try_from(call.int_or("group", 1)) {
        Ok(groups) if groups > 0 => Ok(groups),
        _ => Err(told(crate::call::Stop::contradiction("its group is not above 0"))),
    }
}

/// Whether whole groups are the finer choice: of depthwise convolutions, and of many small groups.
fn is_by_group(groups: u64, takes: u64, makes: u64) -> bool {
    groups > takes.min(makes)
}

fn put(axes: &mut [Option<Ids>], at: usize, ids: Option<Ids>) {
    if let Some(axis) = axes.get_mut(at) {
        *axis = ids;
    }
}

/// A tensor of these dimensions beside one of `rank`, whose axis `axis` holds the channels: where it holds them too.
pub(super) fn beside(dims: &[u64], rank: usize, axis: usize, ids: &Ids) -> Vec<Option<Ids>> {
    let lacks = rank.saturating_sub(dims.len());
    let each = dims.iter().enumerate();
    each.map(|(at, size)| {
        let is_theirs = at + lacks == axis && (*size != 1 || ids.len() == 1);
        is_theirs.then(|| ids.clone())
    })
    .collect()
}
