//! Operators that move axes, and sizes of images.

use super::regroup::regroup;
use super::{Along, Flow, told};
use crate::call::Call;
use crate::onnx::Node;
use crate::prune::channels::{Id, Ids, Reason};
use crate::prune::edits::{Count, Number};
use crate::prune::params::View;

impl<'a> Flow<'a> {
    pub(super) fn reshape(&mut self, call: &Call<'a>) -> Result<(), Reason> {
        let to = self.out_dims(call.node);
        if let Some(view) = self.view(call, 0) {
            return self.reshape_weight(call, &view, to);
        }
        let Some(along) = self.along(call, 0) else {
            return Ok(());
        };
        let from = self.in_dims(call, 0)?;
        let to = to.ok_or("makes a tensor of unknown shape")?;
        let channels = &mut self.channels;
        let is_affordable = |length: u64| {
            channels
                .charge(usize::try_from(length).unwrap_or(usize::MAX))
                .is_ok()
        };
        let found = regroup(from, along.axis, &along.ids, to, is_affordable)
            .ok_or("makes a tensor in which channels cannot be told apart")?;
        let ids = self.channels.list(found.ids)?;
        for (one, other) in &found.ties {
            self.channels.tie(*one, *other);
        }
        if call.operator() == "Reshape" {
            self.wanted_shape(call, &along, found.axis, &ids)?;
        }
        self.set(call.node, 0, found.axis, ids)
    }

    /// The size of the axis in the shape that a Reshape is given.
    fn wanted_shape(&mut self, call: &Call<'a>, along: &Along, axis: usize, ids: &Ids) -> Result<(), Reason> {
        // Reshape's first version has it as an attribute, and is older than all networks here.
        if !Self::has(call, 1) {
            return Err("has its shape as an attribute".into());
        }
        let wanted = call.require(1).map_err(told)?;
        let wanted = wanted
            .as_ints()
            .ok_or("takes a shape that is computed when the network runs")?;
        let keeps_zero = call.int_or("allowzero", 0) != 0;
        // A 0 stands for the size of the same axis before.
        let copies = |at: usize| wanted.get(at) == Some(&0) && !keeps_zero;
        let same = along.axis == axis && along.ids.len() == ids.len();
        if copies(axis) && !same || copies(along.axis) && along.axis != axis {
            return Err("copies a size that changes".into());
        }
        if wanted.get(axis).is_some_and(|size| *size > 0) {
            let number = Number {
                at: axis,
                count: Count::Of(ids.clone()),
                per: 1,
            };
            return self.count_in_input(call, 1, vec![number]);
        }
        Ok(())
    }

    /// A weight that gets dimensions of 1, or loses them.
    fn reshape_weight(&mut self, call: &Call<'a>, view: &View, to: Option<&[u64]>) -> Result<(), Reason> {
        let (from, to) = (
            self.in_dims(call, 0)?,
            to.ok_or("makes a tensor of unknown shape")?,
        );
        let sized = |dims: &[u64]| dims.iter().copied().filter(|size| *size != 1).collect::<Vec<_>>();
        if sized(from) != sized(to) {
            return Err("arranges a weight anew".into());
        }
        let mut owns = from.iter().zip(&view.axes).filter(|(size, _)| **size != 1);
        let axes: Vec<Option<usize>> = to
            .iter()
            .map(|size| match size {
                1 => None,
                _ => owns.next().and_then(|(_, own)| *own),
            })
            .collect();
        if call.operator() == "Reshape" {
            let wanted = call.require(1).map_err(told)?;
            let wanted = wanted.as_ints().ok_or("takes a shape that is computed")?;
            let each = axes.iter().enumerate();
            let numbers = each.filter_map(|(at, own)| {
                let is_said = wanted.get(at).is_some_and(|size| *size > 0);
                let axis = (*own).filter(|_| is_said)?;
                Some(Number {
                    at,
                    count: Count::OfAxis {
                        param: view.param,
                        axis,
                    },
                    per: 1,
                })
            });
            let numbers: Vec<Number> = numbers.collect();
            let copied = wanted.iter().enumerate().any(|(at, size)| {
                *size == 0 && axes.get(at) != view.axes.get(at) && axes.get(at).is_some_and(Option::is_some)
            });
            if copied {
                return Err("copies a size that changes".into());
            }
            if !numbers.is_empty() {
                self.count_in_input(call, 1, numbers)?;
            }
        }
        self.name_view(call.node, view.param, axes);
        Ok(())
    }

    fn name_view(&mut self, node: &Node, param: usize, axes: Vec<Option<usize>>) {
        if let Some(name) = node.outputs.first() {
            self.params.name_view(name, View { param, axes });
        }
    }

    /// Axes of 1 put in or taken out.
    pub(super) fn ones(&mut self, call: &Call<'a>) -> Result<(), Reason> {
        let node = call.node;
        let is_in = call.operator() == "Unsqueeze";
        let (from, to) = (
            self.in_dims(call, 0)?,
            self.out_dims(node).ok_or("makes a tensor of unknown shape")?,
        );
        let rank = from.len().max(to.len());
        let axes = call.setting("axes", 1).map_err(told)?;
        let has_axes = axes.is_some();
        let mut is_one = vec![false; rank];
        match axes {
            Some(axes) => {
                for axis in axes {
                    let at = call.axis(axis, rank).map_err(told)?;
                    if let Some(one) = is_one.get_mut(at) {
                        *one = true;
                    }
                }
            }
            // Without axes, every 1 is taken out; which ones that are must not depend on what is left.
            None => is_one = from.iter().map(|size| *size == 1).collect(),
        }
        if let Some(view) = self.view(call, 0) {
            let mut owns = view.axes.iter().copied();
            let axes = match is_in {
                true => is_one
                    .iter()
                    .map(|one| if *one { None } else { owns.next().flatten() })
                    .collect(),
                false => owns
                    .zip(&is_one)
                    .filter(|(_, one)| !**one)
                    .map(|(own, _)| own)
                    .collect(),
            };
            self.name_view(node, view.param, axes);
            return Ok(());
        }
        let Some(along) = self.along(call, 0) else {
            return Ok(());
        };
        let axis = match is_in {
            true => {
                let mut others = is_one.iter().enumerate().filter(|(_, one)| !**one);
                others.nth(along.axis).map(|(at, _)| at)
            }
            false if is_one.get(along.axis) == Some(&false) => {
                let gone = is_one.iter().take(along.axis).filter(|one| **one).count();
                Some(along.axis - gone)
            }
            false => None,
        };
        let axis = axis.ok_or("takes the axis of the channels out")?;
        if !is_in && Self::has(call, 1) && !self.is_in_file(call, 1) {
            self.computed()?;
        }
        if !is_in && !has_axes {
            let why: Reason = format!("`{}` (Squeeze) would take out an axis of one", node.label()).into();
            self.channels.pin(along.ids.get(..2).unwrap_or(&along.ids), &why);
        }
        self.set(node, 0, axis, along.ids)
    }

    fn is_in_file(&self, call: &Call, at: usize) -> bool {
        call.input(at).is_some_and(|value| value.constant)
    }

    pub(super) fn transpose(&mut self, call: &Call<'a>) -> Result<(), Reason> {
        let node = call.node;
        let rank = self.in_dims(call, 0)?.len();
        let order: Vec<usize> = match call.ints("perm") {
            Some(order) => order
                .iter()
                .map(|axis| call.axis(*axis, rank))
                .collect::<Result<_, _>>()
                .map_err(told)?,
            None => (0..rank).rev().collect(),
        };
        if let Some(view) = self.view(call, 0) {
            let axes = order.iter().map(|at| view.axes.get(*at).copied().flatten());
            let axes = axes.collect();
            self.name_view(node, view.param, axes);
            return Ok(());
        }
        let Some(along) = self.along(call, 0) else {
            return Ok(());
        };
        let axis = order.iter().position(|at| *at == along.axis);
        self.set(node, 0, axis.ok_or("loses the axis of the channels")?, along.ids)
    }

    pub(super) fn resize(&mut self, call: &Call<'a>) -> Result<(), Reason> {
        for at in 1..call.node.inputs.len() {
            self.along(call, at);
        }
        let Some(along) = self.along(call, 0) else {
            return Ok(());
        };
        let (from, to) = (
            self.in_dims(call, 0)?,
            self.out_dims(call.node)
                .ok_or("makes a tensor of unknown shape")?,
        );
        if from.get(along.axis) != to.get(along.axis) {
            return Err("resizes the channels".into());
        }
        if call.text("coordinate_transformation_mode") == Some("tf_crop_and_resize") {
            return Err("crops what it resizes".into());
        }
        let has_sizes = call.operator() == "Resize" && Self::has(call, 3);
        let is_there = call
            .input(3)
            .is_some_and(|value| !matches!(&value.shape, Ok(shape) if shape.dims == [0]));
        if has_sizes && is_there {
            let axes: Vec<usize> = match call.ints("axes") {
                Some(axes) => axes
                    .iter()
                    .map(|axis| call.axis(*axis, from.len()))
                    .collect::<Result<_, _>>()
                    .map_err(told)?,
                None => (0..from.len()).collect(),
            };
            if let Some(at) = axes.iter().position(|axis| *axis == along.axis) {
                let number = Number {
                    at,
                    count: Count::Of(along.ids.clone()),
                    per: 1,
                };
                self.count_in_input(call, 3, vec![number])?;
            }
        }
        self.set(call.node, 0, along.axis, along.ids)
    }

    /// Blocks of an image as channels, and channels as blocks of an image.
    pub(super) fn blocks(&mut self, call: &Call<'a>) -> Result<(), Reason> {
        let Some(ids) = self.channels_on(call, 0, 1)? else {
            return Ok(());
        };
        let size = usize::try_from(call.int_or("blocksize", 1)).unwrap_or(0);
        let places = size.checked_mul(size).filter(|places| *places > 0);
        let places = places.ok_or("has blocks of no size")?;
        if call.operator() == "SpaceToDepth" {
            let mut all: Vec<Id> = Vec::new();
            for _ in 0..places {
                all.extend(self.channels.list(ids.to_vec())?.iter());
            }
            let all = self.channels.list(all)?;
            return self.set(call.node, 0, 1, all);
        }
        if !ids.len().is_multiple_of(places) {
            return Err("has blocks that its channels do not fill".into());
        }
        let count = ids.len() / places;
        let is_by_column = call.text("mode") == Some("CRD");
        let mut made: Vec<Id> = Vec::with_capacity(count);
        for channel in 0..count {
            let place = |block: usize| match is_by_column {
                true => channel * places + block,
                false => block * count + channel,
            };
            let Some(first) = ids.get(place(0)).copied() else {
                continue;
            };
            for id in (1..places).filter_map(|block| ids.get(place(block))) {
                self.channels.tie(first, *id);
            }
            made.push(first);
        }
        let made = self.channels.list(made)?;
        self.set(call.node, 0, 1, made)
    }
}
