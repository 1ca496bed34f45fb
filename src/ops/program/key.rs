//! The key of a trace: what a lowering may depend on besides the graph.
use super::super::ir::{Dim, Graph, Origin, ValueId};
use super::Program;
use crate::device::DType;
use crate::ops::{HostTensor, Input};

/// Element types and dimensions of all boundary inputs, and the values of those that are read on the host.
/// Two Runs with equal keys build the same graph of MLX calls.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    shapes: Vec<(DType, Vec<i64>)>,
    values: Vec<Vec<i64>>,
}

/// Values longer than this are no part of a key: a step that reads them is a barrier.
const MAX_VALUE: usize = 64;

/// The boundary inputs that some step reads on the host, followed back through host-computable steps.
pub(super) fn inputs(program: &Program, graph: &Graph) -> Vec<usize> {
    let mut needed = vec![false; graph.values.len()];
    let mut pending: Vec<u32> = Vec::new();
    for step in &program.steps {
        let read = step
            .plan
            .needs_host
            .iter()
            .filter_map(|i| step.inputs.get(*i).copied().flatten());
        pending.extend(read);
    }
    while let Some(slot) = pending.pop() {
        if std::mem::replace(&mut needed[slot as usize], true) {
            continue;
        }
        if let Origin::Node(producer) = graph.value(ValueId(slot)).origin
            && let Some(step) = program.steps.get(producer.index())
            && step.plan.host.is_some()
        {
            pending.extend(step.inputs.iter().flatten());
        }
    }
    let fits = |slot: u32| {
        let value = graph.value(ValueId(slot));
        let known = value.shape().is_none_or(|shape| {
            let elements = shape
                .iter()
                .map(|d| if let Dim::Known(n) = d { *n } else { 1 })
                .product::<usize>();
            elements <= MAX_VALUE
        });
        known
            && value
                .dtype()
                .is_some_and(|t| t.is_int() || t == DType::Bool)
    };
    let boundary = program.inputs.iter().enumerate();
    boundary
        .filter(|(_, slot)| needed[**slot as usize] && fits(**slot))
        .map(|(position, _)| position)
        .collect()
}

impl Program {
    /// The key of a Run; `None` where an input that belongs in it is too long, and where control flow decides what runs.
    pub(crate) fn key(&self, inputs: &[Input<'_>]) -> Option<Key> {
        if self.steps.iter().any(|step| !step.plan.bodies.is_empty()) {
            return None;
        }
        let shapes = inputs
            .iter()
            .map(|input| (input.dtype, input.dims.to_vec()))
            .collect();
        let value = |position: &usize| {
            let input = inputs.get(*position)?;
            let dims = input
                .dims
                .iter()
                .map(|d| usize::try_from(*d).ok())
                .collect::<Option<Vec<_>>>()?;
            if dims.iter().product::<usize>() > MAX_VALUE {
                return None;
            }
            Some(
                HostTensor::from_bytes(input.dtype, &dims, input.bytes)?
                    .as_ints()?
                    .to_vec(),
            )
        };
        let values = self.key_inputs.iter().map(value).collect::<Option<_>>()?;
        Some(Key { shapes, values })
    }

    /// Whether the value of this boundary input is part of the key.
    pub(super) fn in_key(&self, position: usize, elements: usize) -> bool {
        elements <= MAX_VALUE && self.key_inputs.contains(&position)
    }
}
