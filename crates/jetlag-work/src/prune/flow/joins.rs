//! Operators that leave channels where they are: element by element, normalisations, pools, sums over other axes.

use super::convolutions::beside;
use super::{Along, Flow, told};
use crate::call::Call;
use crate::infer::{is_binary, is_unary, is_variadic};
use crate::prune::channels::{Ids, Reason};

/// Tensors that stretch to each other.
pub(super) fn is_join(operator: &str) -> bool {
    is_binary(operator) || is_variadic(operator)
}

/// What treats every element by itself, or all channels alike; only the first input has channels.
pub(super) fn is_each(operator: &str) -> bool {
    const NEED_MORE: [&str; 12] = [
        "Affine",
        "CastLike",
        "DequantizeLinear",
        "GroupNormalization",
        "ImageScaler",
        "InstanceNormalization",
        "QuantizeLinear",
        "ReverseSequence",
        "RMSNormalization",
        "RotaryEmbedding",
        "Scale",
        "Trilu",
    ];
    is_unary(operator) && !NEED_MORE.contains(&operator)
}

impl<'a> Flow<'a> {
    pub(super) fn each(&mut self, call: &Call<'a>) -> Result<(), Reason> {
        let node = call.node;
        // The same weight under another name, as exporters share them.
        if node.operator == "Identity"
            && let (Some(view), Some(name)) = (self.view(call, 0), node.outputs.first())
        {
            self.params.name_view(name, view);
            return Ok(());
        }
        let Some(along) = self.along(call, 0) else {
            return Ok(());
        };
        for at in 0..node.outputs.len() {
            self.set(node, at, along.axis, along.ids.clone())?;
        }
        Ok(())
    }

    pub(super) fn join(&mut self, call: &Call<'a>) -> Result<(), Reason> {
        let node = call.node;
        if !self.takes_channels(node) {
            for at in 0..node.inputs.len() {
                self.along(call, at);
            }
            return Ok(());
        }
        let dims = self.out_dims(node).ok_or("makes a tensor of unknown shape")?;
        let mut joined: Option<Along> = None;
        for (at, name) in node.inputs.iter().enumerate() {
            let Some(along) = self.tensors.get(name).cloned() else {
                continue;
            };
            let axis = along.axis + dims.len().saturating_sub(self.in_dims(call, at)?.len());
            if dims.get(axis) != Some(&(along.ids.len() as u64)) {
                return Err("stretches channels along their own axis".into());
            }
            match &joined {
                None => joined = Some(Along { axis, ids: along.ids }),
                Some(first) if first.axis == axis => self.channels.tie_all(&first.ids, &along.ids)?,
                Some(_) => return Err("joins channels along different axes".into()),
            }
        }
        let Some(Along { axis, ids }) = joined else {
            return Ok(());
        };
        for (at, name) in node.inputs.iter().enumerate() {
            if name.is_empty() || self.tensors.contains_key(name) {
                continue;
            }
            let axes = beside(self.in_dims(call, at)?, dims.len(), axis, &ids);
            match self.params.view(name).is_some() {
                true => self.bind(call, at, &axes)?,
                // Nothing is known to make it smaller, and it has an element for each channel.
                false if axes.iter().any(Option::is_some) => {
                    let why: Reason =
                        format!("`{}` joins them with `{name}`, which stays", node.label()).into();
                    self.channels.pin(&ids, &why);
                }
                false => {}
            }
        }
        self.set(node, 0, axis, ids)
    }

    pub(super) fn normalization(&mut self, call: &Call<'a>) -> Result<(), Reason> {
        let node = call.node;
        let rank = self.in_dims(call, 0)?.len();
        let along = self.along(call, 0);
        // Layer norms have a factor for each element of the last axes, the others one for each channel.
        let is_last = matches!(call.operator(), "LayerNormalization" | "RMSNormalization");
        if let (Some(along), "GroupNormalization") = (&along, call.operator()) {
            self.groups(call, along)?;
        }
        for at in 1..node.inputs.len() {
            if !Self::has(call, at) {
                continue;
            }
            let dims = self.in_dims(call, at)?;
            let axes: Vec<Option<Ids>> = match &along {
                Some(along) if is_last => beside(dims, rank, along.axis, &along.ids),
                Some(along) if along.axis == 1 => dims
                    .iter()
                    .map(|size| (*size == along.ids.len() as u64).then(|| along.ids.clone()))
                    .collect(),
                _ => vec![None; dims.len()],
            };
            match axes.iter().any(Option::is_some) {
                true => self.bind(call, at, &axes)?,
                false => {
                    self.along(call, at);
                }
            }
        }
        let Some(along) = along else { return Ok(()) };
        let more = node.outputs.iter().skip(1).any(|name| !name.is_empty());
        if more {
            return Err("is made for training".into());
        }
        if call.operator() == "BatchNormalization" && along.axis != 1 {
            return Err("takes channels along another axis than its own".into());
        }
        self.set(node, 0, along.axis, along.ids)
    }

    /// Groups stay as many as they are, and each loses the same places.
    fn groups(&mut self, call: &Call, along: &Along) -> Result<(), Reason> {
        let groups = usize::try_from(call.int_or("num_groups", 0)).unwrap_or(0);
        let is_even = groups > 0 && along.ids.len().is_multiple_of(groups);
        if !is_even || along.axis != 1 {
            return Err("has groups that its channels do not fill".into());
        }
        // Where there is one channel a group, a factor for each group is one for each channel.
        if along.ids.len() == groups {
            return Err("has a group for each channel".into());
        }
        let each = along.ids.len() / groups;
        let (first, rest) = along.ids.split_at(each);
        for group in rest.chunks(each) {
            self.channels.tie_all(first, group)?;
        }
        Ok(())
    }

    pub(super) fn pool(&mut self, call: &Call<'a>) -> Result<(), Reason> {
        let Some(ids) = self.channels_on(call, 0, 1)? else {
            return Ok(());
        };
        if call.node.outputs.iter().skip(1).any(|name| !name.is_empty()) {
            return Err("tells places among all channels".into());
        }
        self.set(call.node, 0, 1, ids)
    }

    pub(super) fn quantize(&mut self, call: &Call<'a>) -> Result<(), Reason> {
        let along = self.along(call, 0);
        for at in 1..call.node.inputs.len() {
            if !Self::has(call, at) {
                continue;
            }
            let is_one = self.in_dims(call, at)?.iter().all(|size| *size == 1);
            if along.is_some() && !is_one {
                return Err("has a scale for each channel or block".into());
            }
            self.along(call, at);
        }
        match along {
            Some(along) => self.set(call.node, 0, along.axis, along.ids),
            None => Ok(()),
        }
    }

    pub(super) fn reduce(&mut self, call: &Call<'a>) -> Result<(), Reason> {
        let Some(along) = self.along(call, 0) else {
            return Ok(());
        };
        let rank = self.in_dims(call, 0)?.len();
        let axes = call.setting("axes", 1).map_err(told)?.unwrap_or_default();
        if axes.is_empty() && call.int_or("noop_with_empty_axes", 0) != 0 {
            return self.set(call.node, 0, along.axis, along.ids);
        }
        let axes: Vec<usize> = axes
            .iter()
            .map(|axis| call.axis(*axis, rank))
            .collect::<Result<_, _>>()
            .map_err(told)?;
        // Summed up, nothing is left that could tell how many channels there were.
        if axes.is_empty() || axes.contains(&along.axis) {
            return Ok(());
        }
        let gone = match call.int_or("keepdims", 1) {
            0 => axes.iter().filter(|axis| **axis < along.axis).count(),
            _ => 0,
        };
        self.set(call.node, 0, along.axis - gone, along.ids)
    }
}
