//! Typed reading of a node while it is planned. Every miss is a [`Reject`].
use super::ir::{Attribute, Constant, Dim, Graph, Node, TensorData, Value, ValueKind};
use super::program::Body;
use super::{HostTensor, Program, Reject};
use crate::device::{Array, DType, Emit, Types};
use crate::error;
use std::cell::{Cell, RefCell};
use std::sync::Arc;

/// Makes the layout of a constant that a kernel wants, from the array as ONNX lays it out.
pub(crate) type MakeLayout = Arc<dyn Fn(&Emit, &Array) -> error::Result<Array> + Send + Sync>;

/// An input that a lowering wants in a layout of its own; see [`NodeRef::weight`].
#[derive(Clone)]
pub(crate) struct WeightUse {
    pub(crate) input: usize,
    /// Names the layout: equal names mean equal layouts.
    pub(crate) layout: String,
    pub(crate) make: MakeLayout,
}

/// Handle of a [`WeightUse`] within its node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Weight(pub(crate) usize);

/// Handle of a body within its node; see [`NodeRef::body`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BodyId(pub(crate) usize);

/// A node being planned. It records which attributes were read: one that nobody read refuses the node.
pub(crate) struct NodeRef<'a> {
    graph: &'a Graph,
    node: &'a Node,
    read: Cell<u64>,
    weights: RefCell<Vec<WeightUse>>,
    bodies: RefCell<Vec<Body>>,
}

impl<'a> NodeRef<'a> {
    pub(crate) fn new(graph: &'a Graph, node: &'a Node) -> Self {
        Self {
            graph,
            node,
            read: Cell::new(0),
            weights: RefCell::new(Vec::new()),
            bodies: RefCell::new(Vec::new()),
        }
    }

    pub(crate) fn opset(&self) -> u32 {
        self.node.since_version
    }

    pub(crate) fn op_type(&self) -> &'a str {
        &self.node.op_type
    }

    // Inputs and outputs.

    /// Number of inputs as written, trailing omitted ones included.
    pub(crate) fn input_count(&self) -> usize {
        self.node.inputs.len()
    }

    /// Number of outputs as written, omitted ones included.
    pub(crate) fn output_count(&self) -> usize {
        self.node.outputs.len()
    }

    /// Whether output `index` is wanted.
    pub(crate) fn has_output(&self, index: usize) -> bool {
        self.node.outputs.get(index).is_some_and(Option::is_some)
    }

    /// Whether input `index` is given.
    pub(crate) fn has_input(&self, index: usize) -> bool {
        self.input(index).is_some()
    }

    fn input(&self, index: usize) -> Option<&'a Value> {
        self.node
            .inputs
            .get(index)
            .copied()
            .flatten()
            .map(|id| self.graph.value(id))
    }

    /// The element type of a given input.
    pub(crate) fn dtype(&self, index: usize) -> Result<DType, Reject> {
        self.input(index)
            .and_then(Value::dtype)
            .ok_or(Reject::Type {
                input: index,
                found: None,
            })
    }

    /// The declared element type of an output.
    pub(crate) fn output_dtype(&self, index: usize) -> Option<DType> {
        self.node
            .outputs
            .get(index)
            .copied()
            .flatten()
            .and_then(|id| self.graph.value(id).dtype())
    }

    /// The declared rank of an input, where it is known.
    pub(crate) fn rank(&self, index: usize) -> Option<usize> {
        self.shape(index).map(<[Dim]>::len)
    }

    /// The declared rank of an input that must be known.
    pub(crate) fn known_rank(&self, index: usize) -> Result<usize, Reject> {
        self.rank(index).ok_or(Reject::Rank { input: index })
    }

    /// The declared shape of an input, where its rank is known.
    pub(crate) fn shape(&self, index: usize) -> Option<&'a [Dim]> {
        let value = self.input(index)?;
        value.shape()
    }

    /// The declared shape of an output, where its rank is known.
    pub(crate) fn output_shape(&self, index: usize) -> Option<&'a [Dim]> {
        self.node
            .outputs
            .get(index)
            .copied()
            .flatten()
            .and_then(|id| self.graph.value(id).shape())
    }

    /// One declared dimension, where it is a number.
    pub(crate) fn dim(&self, index: usize, axis: usize) -> Option<usize> {
        match self.shape(index)?.get(axis)? {
            Dim::Known(n) => Some(*n),
            Dim::Symbol(_) | Dim::Unknown => None,
        }
    }

    /// What is known of an input that is a constant initializer.
    pub(crate) fn constant(&self, index: usize) -> Option<&'a Constant> {
        self.input(index)?.constant.as_ref()
    }

    /// The value of an input that is a small constant initializer.
    pub(crate) fn constant_value(&self, index: usize) -> Option<&'a HostTensor> {
        self.constant(index)?.host.as_ref()
    }

    /// The elements of an input that is a small constant integer tensor.
    pub(crate) fn constant_ints(&self, index: usize) -> Option<&'a [i64]> {
        self.constant_value(index)?.as_ints()
    }

    /// Asks for an input in a layout that `make` produces. Of a constant it is made once per session, of any
    /// other value in each Run. `layout` names it: equal names must mean equal layouts.
    pub(crate) fn weight(
        &self,
        input: usize,
        layout: impl Into<String>,
        make: impl Fn(&Emit, &Array) -> error::Result<Array> + Send + Sync + 'static,
    ) -> Weight {
        let mut weights = self.weights.borrow_mut();
        weights.push(WeightUse {
            input,
            layout: layout.into(),
            make: Arc::new(make),
        });
        Weight(weights.len() - 1)
    }

    pub(super) fn into_parts(self) -> (Vec<WeightUse>, Vec<Body>) {
        (self.weights.into_inner(), self.bodies.into_inner())
    }

    // Bodies.

    /// The graph of a body.
    pub(crate) fn body_graph(&self, name: &str) -> Result<&'a Graph, Reject> {
        match self.attribute(name) {
            Some(Attribute::Graph(graph)) => Ok(graph),
            _ => Err(Reject::Attribute(name.into())),
        }
    }

    /// Plans a body of the node; a node of it that cannot be planned refuses this one.
    pub(crate) fn body(&self, name: &str) -> Result<BodyId, Reject> {
        let graph = self.body_graph(name)?;
        let program = Program::new(graph).map_err(|(id, reject)| {
            Reject::Body(graph.node(id).op_type.clone(), Box::new(reject))
        })?;
        let captured = self.node.captures.iter().zip(self.node.inputs.len()..);
        let outer = captured.map(|(id, position)| (self.graph.value(*id).name.as_str(), position));
        let mut bodies = self.bodies.borrow_mut();
        bodies.push(Body::new(graph, program, &outer.collect())?);
        Ok(BodyId(bodies.len() - 1))
    }

    // Attributes.

    /// The attribute, marked as read.
    fn attribute(&self, name: &str) -> Option<&'a Attribute> {
        let position = self.node.attributes.iter().position(|(n, _)| n == name)?;
        self.read.set(
            self.read.get()
                | 1u64
                    .checked_shl(u32::try_from(position).unwrap_or(64))
                    .unwrap_or(0),
        );
        Some(&self.node.attributes[position].1)
    }

    /// An attribute that changes no result here.
    pub(crate) fn ignore(&self, name: &str) {
        self.attribute(name);
    }

    /// Refuses the node if an attribute was never read: it may change the result.
    pub(super) fn all_read(&self) -> Result<(), Reject> {
        let read = self.read.get();
        let unread = |p: &usize| *p >= 64 || read & (1 << p) == 0;
        match (0..self.node.attributes.len()).find(unread) {
            Some(p) => Err(Reject::Attribute(self.node.attributes[p].0.clone())),
            None => Ok(()),
        }
    }

    pub(crate) fn int(&self, name: &str) -> Result<Option<i64>, Reject> {
        match self.attribute(name) {
            None => Ok(None),
            Some(Attribute::Int(v)) => Ok(Some(*v)),
            Some(_) => Err(Reject::Attribute(name.into())),
        }
    }

    pub(crate) fn int_or(&self, name: &str, default: i64) -> Result<i64, Reject> {
        Ok(self.int(name)?.unwrap_or(default))
    }

    /// An int attribute that ONNX uses as a boolean.
    pub(crate) fn flag(&self, name: &str, default: bool) -> Result<bool, Reject> {
        Ok(self.int_or(name, i64::from(default))? != 0)
    }

    /// An attribute that names an element type, one of `allowed`.
    pub(crate) fn element_type(&self, name: &str, allowed: Types) -> Result<Option<DType>, Reject> {
        let Some(code) = self.int(name)? else {
            return Ok(None);
        };
        let found = i32::try_from(code).ok().and_then(DType::from_onnx);
        match found.filter(|dtype| allowed.contains(dtype.set())) {
            Some(dtype) => Ok(Some(dtype)),
            None => self.bad_attribute(name),
        }
    }

    pub(crate) fn float_or(&self, name: &str, default: f32) -> Result<f32, Reject> {
        Ok(self.float(name)?.unwrap_or(default))
    }

    pub(crate) fn float(&self, name: &str) -> Result<Option<f32>, Reject> {
        match self.attribute(name) {
            None => Ok(None),
            Some(Attribute::Float(v)) => Ok(Some(*v)),
            Some(_) => Err(Reject::Attribute(name.into())),
        }
    }

    pub(crate) fn ints(&self, name: &str) -> Result<Option<&'a [i64]>, Reject> {
        match self.attribute(name) {
            None => Ok(None),
            Some(Attribute::Ints(v)) => Ok(Some(v)),
            Some(_) => Err(Reject::Attribute(name.into())),
        }
    }

    pub(crate) fn floats(&self, name: &str) -> Result<Option<&'a [f32]>, Reject> {
        match self.attribute(name) {
            None => Ok(None),
            Some(Attribute::Floats(v)) => Ok(Some(v)),
            Some(_) => Err(Reject::Attribute(name.into())),
        }
    }

    pub(crate) fn string_or(&self, name: &str, default: &'static str) -> Result<&'a str, Reject> {
        match self.attribute(name) {
            None => Ok(default),
            Some(Attribute::String(v)) => {
                std::str::from_utf8(v).map_err(|_| Reject::Attribute(name.into()))
            }
            Some(_) => Err(Reject::Attribute(name.into())),
        }
    }

    pub(crate) fn strings(&self, name: &str) -> Result<Option<Vec<&'a str>>, Reject> {
        match self.attribute(name) {
            None => Ok(None),
            Some(Attribute::Strings(v)) => {
                let texts = v.iter().map(|s| std::str::from_utf8(s));
                let texts = texts.collect::<Result<_, _>>();
                texts.map(Some).map_err(|_| Reject::Attribute(name.into()))
            }
            Some(_) => Err(Reject::Attribute(name.into())),
        }
    }

    pub(crate) fn tensor(&self, name: &str) -> Result<Option<&'a TensorData>, Reject> {
        match self.attribute(name) {
            None => Ok(None),
            Some(Attribute::Tensor(v)) => Ok(Some(v)),
            Some(_) => Err(Reject::Attribute(name.into())),
        }
    }

    /// A refusal for an attribute whose value is not supported.
    pub(crate) fn bad_attribute<T>(&self, name: &str) -> Result<T, Reject> {
        Err(Reject::Attribute(name.into()))
    }

    /// Every input and output that is given must be a tensor of a known element type.
    pub(super) fn all_tensors(&self) -> Result<(), Reject> {
        let ids = self.node.inputs.iter().chain(&self.node.outputs).flatten();
        for value in ids.map(|id| self.graph.value(*id)) {
            match value.kind {
                ValueKind::Tensor {
                    dtype: DType::String,
                    ..
                } => {
                    return Err(Reject::Host("strings stay with the CPU"));
                }
                ValueKind::Tensor { .. } => {}
                ValueKind::UnknownTensor(_) | ValueKind::Other => return Err(Reject::NotTensor),
            }
        }
        Ok(())
    }
}
