//! Programs of several nodes: folding, keys, barriers, failures.
use super::{Loaded, Program, Weights};
use crate::device::{DType, DeviceKind, on_thread, testing};
use crate::error::{Error, Result};
use crate::ops::ir::{
    Attribute, Constant, Dim, Graph, Node, NodeId, Origin, Value, ValueId, ValueKind,
};
use crate::ops::testing::{Data, f32s, i64s};
use crate::ops::{HostTensor, Input, Output, Reject};
use std::borrow::Cow;
use std::sync::Arc;

/// A graph under construction; values go by name.
#[derive(Default)]
struct Builder {
    graph: Graph,
    constants: Vec<(ValueId, Data)>,
}

impl Builder {
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
        ValueId(u32::try_from(position.expect("a value of the graph")).unwrap())
    }

    fn input(mut self, name: &str, dtype: DType) -> Self {
        let id = self.value(name, dtype, None, Origin::Input);
        self.graph.inputs.push(id);
        self
    }

    fn constant(mut self, name: &str, data: Data) -> Self {
        let id = self.value(name, data.dtype, Some(&data.dims), Origin::Initializer);
        self.graph.values[id.index()].constant = Some(Constant {
            dims: data.dims.clone(),
            host: HostTensor::from_bytes(data.dtype, &data.dims, &data.bytes),
            key: id.index() as u64,
        });
        self.constants.push((id, data));
        self
    }

    fn node(self, op: &str, inputs: &[&str], output: &str, dtype: DType) -> Self {
        self.node_with(op, inputs, output, dtype, vec![])
    }

    fn node_with(
        mut self,
        op: &str,
        inputs: &[&str],
        output: &str,
        dtype: DType,
        attributes: Vec<(String, Attribute)>,
    ) -> Self {
        let id = NodeId(u32::try_from(self.graph.nodes.len()).unwrap());
        let inputs = inputs.iter().map(|name| Some(self.find(name))).collect();
        let out = self.value(output, dtype, None, Origin::Node(id));
        self.graph.nodes.push(Node {
            name: format!("make_{output}"),
            op_type: op.into(),
            since_version: 13,
            inputs,
            outputs: vec![Some(out)],
            attributes,
            ..Node::default()
        });
        self
    }

    fn outputs(mut self, names: &[&str]) -> Self {
        self.graph.outputs = names.iter().map(|n| self.find(n)).collect();
        self
    }

    fn program(&self) -> Program {
        Program::new(&self.graph)
            .map_err(|(_, reject)| reject)
            .expect("every node is planned")
    }

    fn load(&self) -> Loaded {
        self.load_with(&Weights::new()).expect("the program loads")
    }

    fn load_with(&self, weights: &Arc<Weights>) -> Result<Loaded> {
        testing::open();
        self.program().load(DeviceKind::Cpu, weights, &mut |id| {
            let (_, data) = self
                .constants
                .iter()
                .find(|(c, _)| u64::from(c.0) == id)
                .unwrap();
            Ok(Cow::Borrowed(data.bytes.as_slice()))
        })
    }
}

fn with_inputs<R>(data: &[Data], f: impl FnOnce(&[Input<'_>]) -> R) -> R {
    let dims: Vec<Vec<i64>> = data
        .iter()
        .map(|d| d.dims.iter().map(|d| i64::try_from(*d).unwrap()).collect())
        .collect();
    let inputs: Vec<_> = data
        .iter()
        .zip(&dims)
        .map(|(d, dims)| Input {
            dtype: d.dtype,
            dims,
            bytes: &d.bytes,
        })
        .collect();
    f(&inputs)
}

fn run(loaded: &Loaded, data: &[Data]) -> Result<Vec<Output>> {
    with_inputs(data, |inputs| loaded.run(inputs))
}

/// x is reshaped to a shape that comes from the caller, through a concatenation.
fn reshape_by_input() -> Builder {
    Builder::default()
        .input("x", DType::F32)
        .input("rows", DType::I64)
        .constant("rest", i64s(&[1], &[-1]))
        .node_with(
            "Concat",
            &["rows", "rest"],
            "shape",
            DType::I64,
            vec![("axis".into(), Attribute::Int(0))],
        )
        .node("Reshape", &["x", "shape"], "y", DType::F32)
        .outputs(&["y"])
}

#[test]
fn values_that_decide_shapes_are_part_of_the_key() {
    let builder = reshape_by_input();
    let program = builder.program();
    assert_eq!(program.key_inputs, [1]);
    let x = f32s(&[6], &[0.0; 6]);
    let key = |rows| {
        with_inputs(&[x.clone(), i64s(&[1], &[rows])], |inputs| {
            program.key(inputs)
        })
    };
    assert_eq!(key(2), key(2));
    assert_ne!(key(2), key(3));
    let longer = with_inputs(&[f32s(&[7], &[0.0; 7]), i64s(&[1], &[2])], |inputs| {
        program.key(inputs)
    });
    assert_ne!(key(2), longer);
    let too_long = i64s(&[65], &[1; 65]);
    assert!(with_inputs(&[x.clone(), too_long], |inputs| program.key(inputs)).is_none());

    let loaded = builder.load();
    for rows in [2, 3, 6] {
        let out = run(&loaded, &[x.clone(), i64s(&[1], &[rows])]).unwrap();
        assert_eq!(out[0].dims(), [rows, 6 / rows]);
    }
}

#[test]
fn computed_values_that_decide_shapes_are_evaluated_on_the_way() {
    // The shape is the sum of two float inputs, cast: no part of any key.
    let builder = Builder::default()
        .input("x", DType::F32)
        .input("a", DType::F32)
        .node("Add", &["a", "a"], "twice", DType::F32)
        .node_with(
            "Cast",
            &["twice"],
            "shape",
            DType::I64,
            vec![("to".into(), Attribute::Int(7))],
        )
        .node("Reshape", &["x", "shape"], "y", DType::F32)
        .outputs(&["y"]);
    assert!(builder.program().key_inputs.is_empty());
    let loaded = builder.load();
    for (half, dims) in [(1.5, [3, 2]), (0.5, [1, 6])] {
        let other = 6.0 / (2.0 * half) / 2.0;
        let inputs = [f32s(&[6], &[0.0; 6]), f32s(&[2], &[half, other])];
        assert_eq!(run(&loaded, &inputs).unwrap()[0].dims(), dims);
    }
}

#[test]
fn steps_of_constants_run_once() {
    let builder = Builder::default()
        .input("x", DType::F32)
        .constant("a", f32s(&[2], &[1.0, 2.0]))
        .constant("b", f32s(&[2], &[10.0, 20.0]))
        .node("Add", &["a", "b"], "ab", DType::F32)
        .node("Mul", &["x", "ab"], "y", DType::F32)
        .outputs(&["y", "ab"]);
    let loaded = builder.load();
    let live = on_thread(|thread| Ok(loaded.state.get(thread)?.live.clone()));
    assert_eq!(live.unwrap(), [1]);
    for _ in 0..2 {
        let out = run(&loaded, &[f32s(&[1], &[2.0])]).unwrap();
        assert_eq!(out[0].floats(), [22.0, 44.0]);
        assert_eq!(out[1].floats(), [11.0, 22.0]);
    }
}

#[test]
fn constants_are_read_once_per_session() {
    let values = vec![1.0; HostTensor::MAX_ELEMENTS + 1];
    let builder = Builder::default()
        .input("x", DType::F32)
        .constant("w", f32s(&[values.len()], &values))
        .node("Add", &["x", "w"], "y", DType::F32)
        .outputs(&["y"]);
    testing::open();
    let weights = Weights::new();
    let mut reads = 0;
    for _ in 0..2 {
        let loaded = builder.program().load(DeviceKind::Cpu, &weights, &mut |_| {
            reads += 1;
            Ok(Cow::Borrowed(builder.constants[0].1.bytes.as_slice()))
        });
        let out = run(&loaded.unwrap(), &[f32s(&[1], &[1.0])]).unwrap();
        assert!(out[0].floats().iter().all(|v| *v == 2.0));
    }
    assert_eq!(reads, 1);
}

#[test]
fn a_failed_run_names_the_node_and_leaves_the_program_usable() {
    let loaded = reshape_by_input().load();
    let x = f32s(&[6], &[0.0; 6]);
    let error = run(&loaded, &[x.clone(), i64s(&[1], &[4])]).err().unwrap();
    let text = error.to_string();
    assert!(text.starts_with("Reshape node 'make_y': "), "{text}");
    assert!(matches!(error.root(), Error::InvalidArgument(_)), "{text}");
    assert_eq!(
        run(&loaded, &[x, i64s(&[1], &[3])]).unwrap()[0].dims(),
        [3, 2]
    );
}

#[test]
fn a_failing_constant_step_names_its_node() {
    let builder = Builder::default()
        .constant("table", f32s(&[2], &[1.0, 2.0]))
        .constant("index", i64s(&[1], &[5]))
        .node("Gather", &["table", "index"], "y", DType::F32)
        .outputs(&["y"]);
    let error = builder.load_with(&Weights::new()).err().unwrap();
    assert!(
        error.to_string().contains("Gather node 'make_y': index 5"),
        "{error}"
    );
}

#[test]
fn boundary_values_pass_through_and_repeat() {
    let builder = Builder::default()
        .input("x", DType::F32)
        .constant("c", f32s(&[1], &[7.0]))
        .outputs(&["x", "c", "x"]);
    let out = run(&builder.load(), &[f32s(&[2], &[1.0, 2.0])]).unwrap();
    assert_eq!(out[0].floats(), [1.0, 2.0]);
    assert_eq!(out[1].floats(), [7.0]);
    assert_eq!(out[2].floats(), [1.0, 2.0]);
}

#[test]
fn an_unknown_operator_is_reported_with_its_node() {
    let builder = Builder::default()
        .input("x", DType::F32)
        .node("Add", &["x", "x"], "a", DType::F32)
        .node("NoSuchOperator", &["a"], "y", DType::F32)
        .outputs(&["y"]);
    assert_eq!(
        Program::new(&builder.graph).err(),
        Some((NodeId(1), Reject::Op))
    );
}

#[test]
fn more_memory_than_there_is_is_an_error() {
    let builder = Builder::default()
        .input("x", DType::F32)
        .input("shape", DType::I64)
        .node("Expand", &["x", "shape"], "wide", DType::F32)
        .node("Add", &["wide", "wide"], "y", DType::F32)
        .outputs(&["y"]);
    let loaded = builder.load();
    let x = f32s(&[1], &[1.0]);
    let huge = i64s(&[2], &[1 << 20, 1 << 20]);
    let error = run(&loaded, &[x.clone(), huge]).err().unwrap();
    assert!(error.to_string().contains("GiB"), "{error}");
    let out = run(&loaded, &[x, i64s(&[2], &[1, 2])]).unwrap();
    assert_eq!(out[0].floats(), [2.0, 2.0]);
}

/// Values of types that MLX lacks, from a boundary, a small and a large constant.
#[test]
fn types_that_mlx_lacks_keep_their_bits() {
    use crate::device::Types;
    use crate::ops::testing::{Case, codes};
    for dtype in Types::STORED.iter_types() {
        let mask = u8::MAX >> (8 - dtype.bits());
        for dims in [&[256][..], &[3, 5], &[1], &[], &[0, 2], &[4097]] {
            let count = dims.iter().product();
            let bits: Vec<_> = (0u8..=255).cycle().map(|c| c & mask).take(count).collect();
            for constant in [false, true] {
                let case = Case::new("Identity", 25).given(constant, codes(dtype, dims, &bits));
                let out = case.run().remove(0);
                assert_eq!((out.dtype(), out.dims().len()), (dtype, dims.len()));
                assert_eq!(out.codes(), bits, "{dtype} {dims:?}");
            }
        }
        let bits: Vec<_> = (1u8..7).map(|c| c & mask).collect();
        let case = Case::new("Transpose", 25).input(codes(dtype, &[2, 3], &bits));
        let out = case.run().remove(0);
        assert_eq!(out.dims(), [3, 2]);
        let order = [0, 3, 1, 4, 2, 5].map(|i| bits[i]);
        assert_eq!(out.codes(), order);
    }
}
