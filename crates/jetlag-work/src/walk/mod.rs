//! Walks a graph once with sizes for its inputs: what each node makes and costs, branches, loops and functions written out.

mod branch;
mod control;
mod function;
mod loops;

use std::collections::HashMap;
use std::sync::Arc;

use crate::call::{Call, Stop};
use crate::cost::{self, Cost, Kind};
use crate::element::Element;
use crate::error::WorkError;
use crate::given::Resolved;
use crate::graph::{self, Graph};
use crate::infer;
use crate::onnx::{Attribute, Dimension, Function, GraphDef, Node, Tensor, ValueInfo};
use crate::value::{Shape, Value};
use function::with_attributes;

/// As many nodes as are walked.
const MOST_STEPS: usize = 1_000_000;

/// A tensor of the walk.
pub(crate) type Id = usize;

/// One node at work, and how often.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    /// With the names of the nodes around it: `loop/add`.
    pub(crate) name: String,
    pub(crate) operator: String,
    pub(crate) domain: String,
    pub(crate) kind: Kind,
    pub(crate) inputs: Vec<Option<Id>>,
    pub(crate) outputs: Vec<Id>,
    /// Of one execution, or why it is not known.
    pub(crate) cost: Result<Cost, Arc<str>>,
    /// What it is asked to do has no rule: it is not even known what it reads.
    pub(crate) has_rule: bool,
    /// How often it is executed.
    pub(crate) times: u64,
    /// It may be executed less often than that, or not at all.
    pub(crate) may_rest: bool,
    /// It takes constants alone: an engine computes it once, when it loads the network.
    pub(crate) at_load: bool,
    /// Nodes with equal numbers are of the same body of a loop or branch.
    pub(crate) region: usize,
}

/// All that a walk found.
#[derive(Debug, Default)]
pub(crate) struct Walk {
    pub(crate) values: Vec<Value>,
    /// Which tensor's memory a tensor lies in: its own, or that of the one it is a view of.
    pub(crate) roots: Vec<Id>,
    pub(crate) steps: Vec<Step>,
    pub(crate) inputs: Vec<Id>,
    pub(crate) outputs: Vec<Id>,
    /// The tensors of the outermost graph.
    pub(crate) names: HashMap<String, Id>,
}

/// Walks a network.
///
/// # Errors
/// Nodes contradict their inputs, or there are too many of them.
pub(crate) fn walk(graph: &Graph, resolved: &Resolved) -> Result<Walk, WorkError> {
    let mut walker = Walker {
        dims: &resolved.dims,
        functions: graph
            .model
            .functions
            .iter()
            .map(|function| ((&*function.domain, &*function.name), function))
            .collect(),
        walk: Walk::default(),
        regions: 1,
    };
    let mut scope = Scope::default();
    for (name, value) in &resolved.inputs {
        let id = walker.add(value.clone());
        walker.walk.inputs.push(id);
        scope.names.insert(name.clone(), id);
    }
    let place = Place {
        opsets: &graph.model.opsets,
        function: None,
        path: String::new(),
        times: 1,
        may_rest: false,
        region: 0,
        calls: 0,
    };
    walker.walk.outputs = walker.graph(&graph.main, &place, &mut scope)?;
    walker.walk.names = scope.names;
    Ok(walker.walk)
}

/// Names that are visible, and the names around them.
#[derive(Default)]
struct Scope<'a> {
    names: HashMap<String, Id>,
    around: Option<&'a Scope<'a>>,
}

impl Scope<'_> {
    fn find(&self, name: &str) -> Option<Id> {
        match self.names.get(name) {
            Some(id) => Some(*id),
            None => self.around?.find(name),
        }
    }
}

/// Where in the network a node is.
#[derive(Clone)]
struct Place<'a> {
    opsets: &'a [(String, i64)],
    /// Within a function: its definition and the calling node's attributes.
    function: Option<(&'a Function, &'a [Attribute])>,
    path: String,
    times: u64,
    may_rest: bool,
    region: usize,
    calls: usize,
}

struct Walker<'a> {
    dims: &'a HashMap<String, u64>,
    functions: HashMap<(&'a str, &'a str), &'a Function>,
    walk: Walk,
    regions: usize,
}

impl Walker<'_> {
    fn add(&mut self, value: Value) -> Id {
        self.walk.values.push(value);
        self.walk.roots.push(self.walk.values.len() - 1);
        self.walk.values.len() - 1
    }

    /// A tensor that lies where another one lies.
    fn add_view(&mut self, value: Value, of: Id) -> Id {
        let id = self.add(value);
        let root = self.walk.roots.get(of).copied().unwrap_or(of);
        if let Some(own) = self.walk.roots.last_mut() {
            *own = root;
        }
        id
    }

    fn value(&self, id: Id) -> Option<&Value> {
        self.walk.values.get(id)
    }

    fn region(&mut self) -> usize {
        self.regions += 1;
        self.regions
    }

    fn push(&mut self, step: Step) -> Result<(), WorkError> {
        if self.walk.steps.len() >= MOST_STEPS {
            return Err(WorkError::TooMany { most: MOST_STEPS });
        }
        self.walk.steps.push(step);
        Ok(())
    }

    /// Walks the nodes of a graph whose inputs are in the scope; its outputs.
    fn graph(&mut self, graph: &GraphDef, place: &Place, scope: &mut Scope) -> Result<Vec<Id>, WorkError> {
        for tensor in &graph.initializers {
            let id = self.add(constant(tensor));
            scope.names.insert(tensor.name.clone(), id);
        }
        let declared: HashMap<&str, &ValueInfo> = graph
            .values
            .iter()
            .chain(&graph.outputs)
            .map(|value| (&*value.name, value))
            .collect();
        for node in &graph.nodes {
            self.node(node, place, scope, &declared)?;
        }
        let outputs = graph.outputs.iter().map(|output| {
            scope.find(&output.name).ok_or_else(|| WorkError::Undefined {
                node: "the graph's outputs".to_owned(),
                tensor: output.name.clone(),
            })
        });
        outputs.collect()
    }

    fn node(
        &mut self,
        node: &Node,
        place: &Place,
        scope: &mut Scope,
        declared: &HashMap<&str, &ValueInfo>,
    ) -> Result<(), WorkError> {
        let referring = node
            .attributes
            .iter()
            .any(|attribute| attribute.reference.is_some());
        let replaced;
        let node = match (referring, place.function) {
            (true, Some((function, given))) => {
                replaced = with_attributes(node, function, given);
                &replaced
            }
            _ => node,
        };
        let inputs: Vec<Option<Id>> = node
            .inputs
            .iter()
            .map(|name| match name.is_empty() {
                true => Ok(None),
                false => scope.find(name).map(Some).ok_or_else(|| WorkError::Undefined {
                    node: node.label().to_owned(),
                    tensor: name.clone(),
                }),
            })
            .collect::<Result<_, _>>()?;
        if let Some(function) = self.functions.get(&(&*node.domain, &*node.operator)).copied() {
            return self.function(node, function, &inputs, place, scope);
        }
        match (&*node.domain, &*node.operator) {
            ("", "If") => self.branch(node, &inputs, place, scope),
            ("", "Loop") => self.repeat(node, &inputs, place, scope),
            ("", "Scan") => self.scan(node, &inputs, place, scope),
            _ => self.plain(node, &inputs, place, scope, declared),
        }
    }

    /// A node without others within.
    fn plain(
        &mut self,
        node: &Node,
        inputs: &[Option<Id>],
        place: &Place,
        scope: &mut Scope,
        declared: &HashMap<&str, &ValueInfo>,
    ) -> Result<(), WorkError> {
        let call = Call {
            node,
            opset: graph::version(place.opsets, &node.domain),
            inputs: inputs
                .iter()
                .map(|id| id.and_then(|id| self.walk.values.get(id)))
                .collect(),
        };
        let inferred = infer::infer(&call);
        let (mut values, stopped) = match inferred {
            Ok(values) => (values, None),
            Err(Stop::Overflow) => return Err(overflow(node)),
            Err(Stop::Contradiction(problem)) => return Err(contradiction(node, problem)),
            Err(Stop::Unknown(why)) => (Vec::new(), Some((why, true))),
            Err(Stop::Operator(why)) => (Vec::new(), Some((why, false))),
        };
        let reason = |name: &str| -> Arc<str> {
            match &stopped {
                Some((why, _)) => why.clone(),
                None => format!("nothing is known of `{name}`").into(),
            }
        };
        for (at, name) in node.outputs.iter().enumerate() {
            if at >= values.len() {
                values.push(Value::unknown(reason(name), Element::Unknown));
            }
            if let (Some(value), Some(info)) = (values.get_mut(at), declared.get(&**name)) {
                self.complete(value, info);
            }
        }
        values.truncate(node.outputs.len());
        let is_random =
            node.operator.starts_with("Random") || matches!(&*node.operator, "Bernoulli" | "Multinomial");
        let is_constant = !is_random
            && (node.operator == "Constant" || !inputs.is_empty())
            && call.inputs.iter().flatten().all(|value| value.constant);
        let has_rule = !matches!(stopped, Some((_, false)));
        let cost = match &stopped {
            Some((why, false)) => Err(why.clone()),
            _ => match cost::cost(&call, &values) {
                Ok(cost) => Ok(cost),
                Err(Stop::Overflow) => return Err(overflow(node)),
                Err(Stop::Contradiction(problem)) => Err(problem.into()),
                Err(Stop::Unknown(why) | Stop::Operator(why)) => Err(why),
            },
        };
        let kind = cost::kind(&node.domain, &node.operator);
        let mut outputs = Vec::with_capacity(values.len());
        for (at, (name, mut value)) in node.outputs.iter().zip(values).enumerate() {
            value.constant |= is_constant;
            let id = match (kind, at, inputs.first()) {
                (Kind::View, 0, Some(Some(of))) => self.add_view(value, *of),
                _ => self.add(value),
            };
            outputs.push(id);
            if !name.is_empty() {
                scope.names.insert(name.clone(), id);
            }
        }
        self.push(Step {
            name: format!("{}{}", place.path, node.label()),
            operator: node.operator.clone(),
            domain: node.domain.clone(),
            kind,
            inputs: inputs.to_vec(),
            outputs,
            cost,
            has_rule,
            times: place.times,
            may_rest: place.may_rest,
            // Quantised weights are kept as they are, and taken out where they are used.
            at_load: is_constant && node.operator != "DequantizeLinear",
            region: place.region,
        })
    }

    /// Fills in from what the graph declares of a tensor what does not follow from the node.
    fn complete(&self, value: &mut Value, info: &ValueInfo) {
        if value.element == Element::Unknown
            && let Some(element) = info.element
        {
            value.element = element;
        }
        let Some(shape) = &info.shape else { return };
        let sizes = shape.iter().map(|dim| match dim {
            Dimension::Fixed(size) => Some(*size),
            Dimension::Named(name) => self.dims.get(name).copied(),
            Dimension::Open => None,
        });
        let Some(sizes) = sizes.collect::<Option<Vec<u64>>>() else {
            return;
        };
        let takes = match &value.shape {
            Err(_) => true,
            // What depends on data may be declared; then its author knows more than the largest size that can occur.
            Ok(shape) => {
                shape.bound
                    && shape.rank() == sizes.len()
                    && shape.dims.iter().zip(&sizes).all(|(most, size)| size <= most)
            }
        };
        if takes {
            value.shape = Ok(Shape::exact(sizes));
        }
    }
}

fn constant(tensor: &Tensor) -> Value {
    Value {
        shape: Ok(Shape::exact(tensor.dims.clone())),
        element: tensor.element,
        data: tensor.data.clone(),
        constant: true,
    }
}

fn overflow(node: &Node) -> WorkError {
    WorkError::Overflow {
        what: format!(
            "the work or the size of node `{}` ({})",
            node.label(),
            node.operator
        ),
    }
}

fn contradiction(node: &Node, problem: String) -> WorkError {
    WorkError::Contradiction {
        node: node.label().to_owned(),
        operator: node.operator.clone(),
        problem,
    }
}
