//! One-node graphs for the tests beside the operators. They compute on MLX's CPU device.
use super::ir::{Attribute, Constant, Dim, Graph, Node, NodeId, Origin, Value, ValueId, ValueKind};
use super::{HostTensor, Input, Output, Program, Reject, Weights, plan};
use crate::device::{DType, DeviceKind, testing};
use crate::error::Result;
use std::borrow::Cow;

/// A tensor of a test.
#[derive(Debug, Clone)]
pub(crate) struct Data {
    pub(crate) dtype: DType,
    pub(crate) dims: Vec<usize>,
    pub(crate) bytes: Vec<u8>,
}

pub(crate) fn f32s(dims: &[usize], values: &[f32]) -> Data {
    floats(
        DType::F32,
        dims,
        &values.iter().map(|v| f64::from(*v)).collect::<Vec<_>>(),
    )
}

pub(crate) fn i64s(dims: &[usize], values: &[i64]) -> Data {
    ints(DType::I64, dims, values)
}

/// Floats of any float type.
pub(crate) fn floats(dtype: DType, dims: &[usize], values: &[f64]) -> Data {
    let chunks = values.chunks(HostTensor::MAX_ELEMENTS);
    let bytes = chunks
        .flat_map(|c| HostTensor::floats(dtype, vec![c.len()], c.to_vec()).to_bytes())
        .collect();
    Data {
        dtype,
        dims: dims.to_vec(),
        bytes,
    }
}

/// Integers or booleans of any width.
pub(crate) fn ints(dtype: DType, dims: &[usize], values: &[i64]) -> Data {
    let chunks = values.chunks(HostTensor::MAX_ELEMENTS);
    let bytes = chunks
        .flat_map(|c| HostTensor::ints(dtype, vec![c.len()], c.to_vec()).to_bytes())
        .collect();
    Data {
        dtype,
        dims: dims.to_vec(),
        bytes,
    }
}

/// Elements of a type that MLX lacks, by their bits.
pub(crate) fn codes(dtype: DType, dims: &[usize], codes: &[u8]) -> Data {
    assert_eq!(dims.iter().product::<usize>(), codes.len());
    let bits = dtype.bits();
    let mut bytes = vec![0; dtype.byte_size(codes.len())];
    for (i, code) in codes.iter().enumerate() {
        bytes[i * bits / 8] |= code << (i * bits % 8);
    }
    let dims = dims.to_vec();
    Data { dtype, dims, bytes }
}

/// The body of a control-flow node; values go by name.
#[derive(Clone)]
pub(crate) struct Body {
    graph: Graph,
    constants: Vec<Data>,
}

impl Body {
    pub(crate) fn new() -> Self {
        Self {
            graph: Graph::default(),
            constants: vec![],
        }
    }

    fn value(
        &mut self,
        name: &str,
        dtype: DType,
        dims: Option<&[usize]>,
        origin: Origin,
    ) -> ValueId {
        let shape = dims.map(|d| d.iter().map(|d| Dim::Known(*d)).collect());
        self.graph.add_value(Value {
            name: name.into(),
            kind: ValueKind::Tensor { dtype, shape },
            origin,
            constant: None,
        })
    }

    fn find(&self, name: &str) -> ValueId {
        let position = self.graph.values.iter().position(|v| v.name == name);
        ValueId(u32::try_from(position.expect("a value of the body")).unwrap())
    }

    pub(crate) fn input(mut self, name: &str, dtype: DType, dims: Option<&[usize]>) -> Self {
        let id = self.value(name, dtype, dims, Origin::Input);
        self.graph.inputs.push(id);
        self
    }

    /// A value of the enclosing graph.
    pub(crate) fn outer(mut self, name: &str, dtype: DType) -> Self {
        self.value(name, dtype, None, Origin::Outer);
        self
    }

    pub(crate) fn constant(mut self, name: &str, data: Data) -> Self {
        let id = self.value(name, data.dtype, Some(&data.dims), Origin::Initializer);
        self.graph.values[id.index()].constant = Some(Constant {
            dims: data.dims.clone(),
            host: HostTensor::from_bytes(data.dtype, &data.dims, &data.bytes),
            key: 0,
        });
        self.constants.push(data);
        self
    }

    pub(crate) fn node(self, op: &str, inputs: &[&str], output: &str, dtype: DType) -> Self {
        self.node_with(op, inputs, output, dtype, &[])
    }

    /// A node with integer attributes.
    pub(crate) fn node_with(
        mut self,
        op: &str,
        inputs: &[&str],
        output: &str,
        dtype: DType,
        attributes: &[(&str, i64)],
    ) -> Self {
        let id = NodeId(u32::try_from(self.graph.nodes.len()).unwrap());
        let inputs = inputs.iter().map(|name| Some(self.find(name))).collect();
        let output = self.value(output, dtype, None, Origin::Node(id));
        self.graph.nodes.push(Node {
            name: format!("{op}_{}", id.index()),
            op_type: op.into(),
            since_version: 13,
            inputs,
            outputs: vec![Some(output)],
            attributes: attributes
                .iter()
                .map(|(name, v)| ((*name).into(), Attribute::Int(*v)))
                .collect(),
            ..Node::default()
        });
        self
    }

    pub(crate) fn outputs(mut self, names: &[&str]) -> Self {
        self.graph.outputs = names.iter().map(|n| self.find(n)).collect();
        self
    }
}

/// A node with its inputs; run it or see why it is refused.
pub(crate) struct Case {
    graph: Graph,
    node: Node,
    inputs: Vec<Data>,
    /// By key.
    constants: Vec<(u64, Data)>,
    output_types: Vec<DType>,
    outputs: usize,
    hide_shapes: bool,
}

impl Case {
    pub(crate) fn new(op_type: &str, opset: u32) -> Self {
        let node = Node {
            op_type: op_type.into(),
            name: "n".into(),
            since_version: opset,
            ..Node::default()
        };
        Self {
            graph: Graph::default(),
            node,
            inputs: vec![],
            constants: vec![],
            output_types: vec![],
            outputs: 1,
            hide_shapes: false,
        }
    }

    pub(crate) fn domain(mut self, domain: &str) -> Self {
        self.node.domain = domain.into();
        self
    }

    pub(crate) fn attr(mut self, name: &str, value: Attribute) -> Self {
        self.node.attributes.push((name.into(), value));
        self
    }

    pub(crate) fn int(self, name: &str, value: i64) -> Self {
        self.attr(name, Attribute::Int(value))
    }

    pub(crate) fn ints(self, name: &str, value: &[i64]) -> Self {
        self.attr(name, Attribute::Ints(value.to_vec()))
    }

    pub(crate) fn float(self, name: &str, value: f32) -> Self {
        self.attr(name, Attribute::Float(value))
    }

    pub(crate) fn string(self, name: &str, value: &str) -> Self {
        self.attr(name, Attribute::String(value.as_bytes().to_vec()))
    }

    /// A boundary input: its value is passed at Run.
    pub(crate) fn input(mut self, data: Data) -> Self {
        let id = self.value(&data, Origin::Input, None);
        self.node.inputs.push(Some(id));
        self.graph.inputs.push(id);
        self.inputs.push(data);
        self
    }

    /// A constant initializer.
    pub(crate) fn constant(mut self, data: Data) -> Self {
        let host = HostTensor::from_bytes(data.dtype, &data.dims, &data.bytes);
        let key = self.graph.values.len() as u64;
        let constant = Constant {
            dims: data.dims.clone(),
            host,
            key,
        };
        let id = self.value(&data, Origin::Initializer, Some(constant));
        self.node.inputs.push(Some(id));
        self.constants.push((key, data));
        self
    }

    /// An input that the program computes with an operator that has no host form: only the device knows its value.
    /// Integers and booleans.
    pub(crate) fn computed(mut self, data: Data) -> Self {
        let (op_type, operand) = if data.dtype == DType::Bool {
            let flags = data.bytes.iter();
            let values: Vec<_> = flags
                .map(|b| if *b == 0 { 0.0 } else { f64::NAN })
                .collect();
            ("IsNaN", floats(DType::F32, &data.dims, &values))
        } else {
            let bytes = data.bytes.iter().map(|b| !b).collect();
            (
                "BitwiseNot",
                Data {
                    bytes,
                    ..data.clone()
                },
            )
        };
        let from = self.value(&operand, Origin::Input, None);
        self.graph.inputs.push(from);
        self.inputs.push(operand);
        let producer = NodeId(u32::try_from(self.graph.nodes.len()).unwrap());
        let to = self.value(&data, Origin::Node(producer), None);
        self.node.inputs.push(Some(to));
        self.graph.nodes.push(Node {
            op_type: op_type.into(),
            name: "producer".into(),
            since_version: 20,
            inputs: vec![Some(from)],
            outputs: vec![Some(to)],
            ..Node::default()
        });
        self
    }

    /// A boundary input that only bodies read, under this name.
    pub(crate) fn capture(mut self, name: &str, data: Data) -> Self {
        let id = self.value(&data, Origin::Input, None);
        self.graph.values[id.index()].name = name.into();
        self.graph.inputs.push(id);
        self.node.captures.push(id);
        self.inputs.push(data);
        self
    }

    /// A body.
    pub(crate) fn body(mut self, name: &str, body: Body) -> Self {
        let Body {
            mut graph,
            constants,
        } = body;
        let mut constants = constants.into_iter();
        for constant in graph.values.iter_mut().filter_map(|v| v.constant.as_mut()) {
            // Keys of the node's own constants are small.
            constant.key = 1000 + self.constants.len() as u64;
            self.constants
                .extend(constants.next().map(|data| (constant.key, data)));
        }
        self.attr(name, Attribute::Graph(Box::new(graph)))
    }

    /// A constant initializer or a boundary input.
    pub(crate) fn given(self, constant: bool, data: Data) -> Self {
        if constant {
            self.constant(data)
        } else {
            self.input(data)
        }
    }

    /// An omitted optional input.
    pub(crate) fn omitted(mut self) -> Self {
        self.node.inputs.push(None);
        self
    }

    /// The declared type of the next output; outputs without one have the type of input 0.
    pub(crate) fn output(mut self, dtype: DType) -> Self {
        self.output_types.push(dtype);
        self.outputs = self.outputs.max(self.output_types.len());
        self
    }

    /// The number of outputs that are wanted.
    pub(crate) fn outputs(mut self, count: usize) -> Self {
        self.outputs = count;
        self
    }

    /// Declares inputs without a shape, as models with unknown ranks do.
    pub(crate) fn unknown_ranks(mut self) -> Self {
        self.hide_shapes = true;
        for value in &mut self.graph.values {
            if let ValueKind::Tensor { shape, .. } = &mut value.kind {
                *shape = None;
            }
        }
        self
    }

    fn value(&mut self, data: &Data, origin: Origin, constant: Option<Constant>) -> ValueId {
        let shape = (!self.hide_shapes).then(|| data.dims.iter().map(|d| Dim::Known(*d)).collect());
        let name = format!("v{}", self.graph.values.len());
        let kind = ValueKind::Tensor {
            dtype: data.dtype,
            shape,
        };
        self.graph.add_value(Value {
            name,
            kind,
            origin,
            constant,
        })
    }

    /// The graph, the inputs and the constants by key; the tested node is the last one.
    fn finish(mut self) -> (Graph, Vec<Data>, Vec<(u64, Data)>) {
        let first = self
            .node
            .inputs
            .iter()
            .flatten()
            .next()
            .and_then(|id| self.graph.value(*id).dtype());
        let last = NodeId(u32::try_from(self.graph.nodes.len()).unwrap());
        for index in 0..self.outputs {
            let dtype = self
                .output_types
                .get(index)
                .copied()
                .or(first)
                .unwrap_or(DType::F32);
            let kind = ValueKind::Tensor { dtype, shape: None };
            let origin = Origin::Node(last);
            let id = self.graph.add_value(Value {
                name: format!("out{index}"),
                kind,
                origin,
                constant: None,
            });
            self.node.outputs.push(Some(id));
            self.graph.outputs.push(id);
        }
        self.graph.nodes.push(self.node);
        (self.graph, self.inputs, self.constants)
    }

    /// The refusal of the node.
    pub(crate) fn reject(self) -> Reject {
        let (graph, ..) = self.finish();
        let last = graph.node_ids().last().expect("the tested node");
        plan(&graph, last).err().expect("the node is refused")
    }

    /// The outputs, or the failure.
    pub(crate) fn try_run(self) -> Result<Vec<Output>> {
        Ok(self.try_run_times(1)?.remove(0))
    }

    fn try_run_times(self, count: usize) -> Result<Vec<Vec<Output>>> {
        testing::open();
        let (graph, inputs, constants) = self.finish();
        let program = Program::new(&graph)
            .map_err(|(_, r)| r)
            .expect("the node is planned");
        let loaded = program.load(DeviceKind::Cpu, &Weights::new(), &mut |wanted| {
            let found = constants
                .iter()
                .find(|(key, _)| *key == wanted)
                .expect("a constant of the graph");
            Ok(Cow::Borrowed(found.1.bytes.as_slice()))
        })?;
        let dims: Vec<Vec<i64>> = inputs
            .iter()
            .map(|d| d.dims.iter().map(|d| i64::try_from(*d).unwrap()).collect())
            .collect();
        let inputs: Vec<_> = inputs
            .iter()
            .zip(&dims)
            .map(|(d, dims)| Input {
                dtype: d.dtype,
                dims,
                bytes: &d.bytes,
            })
            .collect();
        (0..count).map(|_| loaded.run(&inputs)).collect()
    }

    /// The outputs of several Runs of one session.
    pub(crate) fn run_times(self, count: usize) -> Vec<Vec<Output>> {
        self.try_run_times(count).expect("the node runs")
    }

    /// The outputs.
    pub(crate) fn run(self) -> Vec<Output> {
        self.try_run().expect("the node runs")
    }
}

/// Elements of an output, for comparisons.
impl Output {
    fn elements(&self) -> impl Iterator<Item = HostTensor> + '_ {
        let step = HostTensor::MAX_ELEMENTS * self.dtype().bits() / 8;
        self.bytes().chunks(step).map(|c| {
            let count = c.len() * 8 / self.dtype().bits();
            HostTensor::from_bytes(self.dtype(), &[count], c).expect("a type that tests read")
        })
    }

    pub(crate) fn floats(&self) -> Vec<f64> {
        self.elements().flat_map(|t| t.to_floats()).collect()
    }

    pub(crate) fn ints(&self) -> Vec<i64> {
        self.elements()
            .flat_map(|t| t.as_ints().expect("integers").to_vec())
            .collect()
    }

    /// The bits of elements of a type that MLX lacks.
    pub(crate) fn codes(&self) -> Vec<u8> {
        let count = self.dims().iter().product::<i64>();
        let (bits, mask) = (self.dtype().bits(), u8::MAX >> (8 - self.dtype().bits()));
        assert_eq!(
            self.bytes().len(),
            self.dtype().byte_size(usize::try_from(count).unwrap())
        );
        (0..usize::try_from(count).unwrap())
            .map(|i| self.bytes()[i * bits / 8] >> (i * bits % 8) & mask)
            .collect()
    }

    /// Asserts dimensions and that every element lies within `tolerance` of the expected one (NaN equals NaN).
    #[track_caller]
    pub(crate) fn assert_close(&self, dims: &[i64], expected: &[f64], tolerance: f64) {
        assert_eq!(self.dims(), dims);
        let found = self.floats();
        assert_eq!(found.len(), expected.len());
        for (i, (f, e)) in found.iter().zip(expected).enumerate() {
            let same = f == e
                || (f.is_nan() && e.is_nan())
                || (f - e).abs() <= tolerance * e.abs().max(1.0);
            assert!(
                same,
                "element {i}: {f} instead of {e}\n{found:?}\n{expected:?}"
            );
        }
    }
}
