//! The owned graph: what one callback of ONNX Runtime showed us, without a pointer into it.
use crate::device::DType;
use crate::ops::HostTensor;
use std::sync::Arc;

/// Index into [`Graph::values`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct ValueId(pub(crate) u32);

/// Index into [`Graph::nodes`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct NodeId(pub(crate) u32);

impl ValueId {
    pub(crate) const fn index(self) -> usize {
        self.0 as usize
    }
}

impl NodeId {
    pub(crate) const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A graph or a body of a control-flow node. Nodes are in topological order.
#[derive(Debug, Clone, Default)]
pub(crate) struct Graph {
    pub(crate) name: String,
    pub(crate) nodes: Vec<Node>,
    pub(crate) values: Vec<Value>,
    /// Graph inputs in their order; an initializer that can be overridden is one of them.
    pub(crate) inputs: Vec<ValueId>,
    pub(crate) outputs: Vec<ValueId>,
}

impl Graph {
    pub(crate) fn value(&self, id: ValueId) -> &Value {
        &self.values[id.index()]
    }

    pub(crate) fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.index()]
    }

    /// Adds a value and gives its id.
    pub(crate) fn add_value(&mut self, value: Value) -> ValueId {
        let id = ValueId(u32::try_from(self.values.len()).unwrap_or(u32::MAX));
        self.values.push(value);
        id
    }

    pub(crate) fn node_ids(&self) -> impl Iterator<Item = NodeId> + use<> {
        (0..u32::try_from(self.nodes.len()).unwrap_or(u32::MAX)).map(NodeId)
    }
}

/// One operator call.
#[derive(Debug, Clone, Default)]
pub(crate) struct Node {
    pub(crate) name: String,
    pub(crate) op_type: String,
    /// Empty for the ONNX domain ("ai.onnx" is normalised to it).
    pub(crate) domain: String,
    /// The opset version in which the form of this node was introduced.
    pub(crate) since_version: u32,
    /// An omitted optional input is `None`.
    pub(crate) inputs: Vec<Option<ValueId>>,
    pub(crate) outputs: Vec<Option<ValueId>>,
    /// Outer values that only the bodies of this node read.
    pub(crate) captures: Vec<ValueId>,
    pub(crate) attributes: Vec<(String, Attribute)>,
    /// The execution provider that holds this node already; such a node is a border.
    pub(crate) assigned: Option<String>,
}

impl Node {
    /// The bodies of a control-flow node.
    pub(crate) fn bodies(&self) -> impl Iterator<Item = &Graph> {
        self.attributes.iter().filter_map(|(_, value)| match value {
            Attribute::Graph(body) => Some(&**body),
            _ => None,
        })
    }
}

/// An attribute, of every kind that ONNX Runtime can hand out.
#[derive(Debug, Clone)]
pub(crate) enum Attribute {
    Int(i64),
    Ints(Vec<i64>),
    Float(f32),
    Floats(Vec<f32>),
    /// ONNX strings are bytes; nearly all are UTF-8.
    String(Vec<u8>),
    Strings(Vec<Vec<u8>>),
    Tensor(TensorData),
    Graph(Box<Graph>),
    /// A kind that this crate does not know, or that the host cannot read.
    Unknown,
}

/// A tensor as raw little-endian bytes, packed as ONNX Runtime packs them.
#[derive(Debug, Clone)]
pub(crate) struct TensorData {
    pub(crate) dtype: DType,
    pub(crate) dims: Vec<usize>,
    pub(crate) bytes: Arc<[u8]>,
}

/// A value of the graph: an input, an initializer or the output of a node.
#[derive(Debug, Clone)]
pub(crate) struct Value {
    pub(crate) name: String,
    pub(crate) kind: ValueKind,
    pub(crate) origin: Origin,
    /// Set for constant initializers only; one that can be overridden is not constant.
    pub(crate) constant: Option<Constant>,
}

/// The ONNX type of a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ValueKind {
    /// `shape` is `None` where not even the rank is known.
    Tensor {
        dtype: DType,
        shape: Option<Vec<Dim>>,
    },
    /// A tensor of an element type that this crate does not know (the ONNX code).
    UnknownTensor(i32),
    /// Sequence, map, optional, sparse tensor or opaque.
    Other,
}

/// One dimension as the model declares it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Dim {
    Known(usize),
    Symbol(Arc<str>),
    Unknown,
}

/// Where a value comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    /// A graph input.
    Input,
    /// An initializer, constant or overridable.
    Initializer,
    /// An output of the node.
    Node(NodeId),
    /// A value of an enclosing graph.
    Outer,
}

/// What planning may know of a constant. Bytes of large ones are read when a program is loaded.
#[derive(Debug, Clone)]
pub(crate) struct Constant {
    pub(crate) dims: Vec<usize>,
    /// The value itself, of tensors up to [`HostTensor::MAX_ELEMENTS`] elements that a host tensor can hold.
    pub(crate) host: Option<HostTensor>,
    /// Names the initializer within its session, so that clusters share what they load.
    pub(crate) key: u64,
}

impl Value {
    pub(crate) fn dtype(&self) -> Option<DType> {
        match self.kind {
            ValueKind::Tensor { dtype, .. } => Some(dtype),
            ValueKind::UnknownTensor(_) | ValueKind::Other => None,
        }
    }

    /// Declared dimensions; `None` where the rank is unknown.
    pub(crate) fn shape(&self) -> Option<&[Dim]> {
        match &self.kind {
            ValueKind::Tensor { shape, .. } => shape.as_deref(),
            ValueKind::UnknownTensor(_) | ValueKind::Other => None,
        }
    }
}
