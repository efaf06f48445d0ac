//! Weights, which axes of them hold channels, and the views of a weight that nodes make before they use it.

use std::collections::HashMap;

use super::channels::{Channels, Ids, Reason};
use super::numbers::width;
use crate::element::Element;
use crate::onnx::{GraphDef, Node};
use crate::value::{Value, product};

/// Where a weight's numbers are.
#[derive(Clone, Debug)]
pub(super) enum Stored {
    /// An initializer, or the tensor of a Constant.
    File,
    /// One number everywhere, made by a node (ConstantOfShape) that takes this shape.
    Filled { number: f64 },
}

/// What is known of an axis of a weight.
#[derive(Clone, Debug)]
pub(super) enum Axis {
    /// Nothing has used it yet.
    Free,
    /// It holds these channels.
    Channels(Ids),
    /// It stays as it is, for this reason.
    Stays(Reason),
}

/// A weight.
#[derive(Clone, Debug)]
pub(super) struct Param {
    pub(super) name: String,
    pub(super) element: Element,
    pub(super) dims: Vec<u64>,
    pub(super) axes: Vec<Axis>,
    pub(super) stored: Stored,
}

/// A weight as a node gets it.
#[derive(Clone, Debug)]
pub(super) struct View {
    pub(super) param: usize,
    /// Of each dimension: the weight's axis; none where a node put a 1 in.
    pub(super) axes: Vec<Option<usize>>,
}

/// All weights of a network.
#[derive(Debug, Default)]
pub(super) struct Params {
    all: Vec<Param>,
    views: HashMap<String, View>,
}

impl Params {
    /// The initializers that `is_stored` finds in the file; sparse ones, for one, are none.
    pub(super) fn of(graph: &GraphDef, is_stored: impl Fn(&str) -> bool) -> Params {
        let mut params = Params::default();
        for tensor in graph.initializers.iter().filter(|tensor| is_stored(&tensor.name)) {
            params.add(&tensor.name, tensor.element, &tensor.dims, Stored::File);
        }
        params
    }

    fn add(&mut self, name: &str, element: Element, dims: &[u64], stored: Stored) {
        let axis = match width(element) {
            Some(_) => Axis::Free,
            None => Axis::Stays(format!("the elements of `{name}` are not whole bytes").into()),
        };
        let param = Param {
            name: name.to_owned(),
            element,
            dims: dims.to_vec(),
            axes: vec![axis; dims.len()],
            stored,
        };
        let view = View {
            param: self.all.len(),
            axes: (0..dims.len()).map(Some).collect(),
        };
        self.all.push(param);
        self.views.insert(name.to_owned(), view);
    }

    /// The tensor of a Constant, or what a ConstantOfShape makes, where it is a weight that can be made smaller.
    pub(super) fn made_by(&mut self, node: &Node, value: &Value) {
        let (Some(name), Ok(shape)) = (node.outputs.first(), &value.shape) else {
            return;
        };
        match &*node.operator {
            "Constant" => {
                if let Some(tensor) = node.attribute("value").and_then(|value| value.tensor.as_ref()) {
                    self.add(name, tensor.element, &tensor.dims, Stored::File);
                }
            }
            "ConstantOfShape" if value.constant && product(&shape.dims).is_some() => {
                let number = node
                    .attribute("value")
                    .and_then(|value| value.tensor.as_ref()?.data.as_ref());
                let number = match number {
                    Some(crate::onnx::Data::Floats(numbers)) => numbers.first().copied(),
                    Some(crate::onnx::Data::Ints(numbers)) => numbers.first().map(|number| *number as f64),
                    None => None,
                };
                let number = number.unwrap_or(0.0);
                self.add(name, value.element, &shape.dims, Stored::Filled { number });
            }
            _ => {}
        }
    }

    pub(super) fn all(&self) -> &[Param] {
        &self.all
    }

    pub(super) fn get(&self, at: usize) -> Option<&Param> {
        self.all.get(at)
    }

    pub(super) fn view(&self, name: &str) -> Option<&View> {
        self.views.get(name)
    }

    pub(super) fn views(&self) -> impl Iterator<Item = (&String, &View)> {
        self.views.iter()
    }

    pub(super) fn name_view(&mut self, name: &str, view: View) {
        self.views.insert(name.to_owned(), view);
    }

    /// The channels that an axis of a view has got.
    pub(super) fn channels(&self, view: &View, axis: usize) -> Option<Ids> {
        match self.axis(view, axis)? {
            Axis::Channels(ids) => Some(ids.clone()),
            _ => None,
        }
    }

    fn axis(&self, view: &View, axis: usize) -> Option<&Axis> {
        let at = (*view.axes.get(axis)?)?;
        self.all.get(view.param)?.axes.get(at)
    }

    /// Uses a weight: each dimension holds these channels, or stays as it is.
    ///
    /// # Errors
    /// A dimension has another number of channels.
    pub(super) fn bind(
        &mut self,
        channels: &mut Channels,
        view: &View,
        axes: &[Option<Ids>],
        why: &Reason,
    ) -> Result<(), Reason> {
        for (own, ids) in view.axes.iter().zip(axes) {
            let Some(param) = self.all.get_mut(view.param) else {
                continue;
            };
            let name = &param.name;
            let state = own.and_then(|own| Some((param.axes.get_mut(own)?, param.dims.get(own).copied()?)));
            match (state, ids) {
                (None, None) => {}
                (None, Some(ids)) => channels.pin(ids, why),
                (Some((state, _)), None) => {
                    if let Axis::Channels(ids) = state {
                        channels.pin(ids, why);
                    }
                    if !matches!(state, Axis::Stays(_)) {
                        *state = Axis::Stays(why.clone());
                    }
                }
                (Some((state, size)), Some(ids)) => {
                    if size != ids.len() as u64 {
                        return Err(
                            format!("the weight `{name}` has {size} channels for {}", ids.len()).into(),
                        );
                    }
                    match state {
                        Axis::Free => *state = Axis::Channels(ids.clone()),
                        Axis::Channels(own) => channels.tie_all(own, ids)?,
                        Axis::Stays(why) => channels.pin(ids, why),
                    }
                }
            }
        }
        Ok(())
    }

    /// A weight that is used as it is.
    pub(super) fn stay(&mut self, channels: &mut Channels, view: &View, why: &Reason) {
        let none: Vec<Option<Ids>> = view.axes.iter().map(|_| None).collect();
        // Nothing that stays can fail.
        let _ = self.bind(channels, view, &none, why);
        // Also the axes that the view leaves out.
        if let Some(param) = self.all.get_mut(view.param) {
            for axis in &mut param.axes {
                if let Axis::Free = axis {
                    *axis = Axis::Stays(why.clone());
                }
            }
        }
    }
}
