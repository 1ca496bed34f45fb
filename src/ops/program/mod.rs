//! A planned graph as ordered steps. [`Program`] is what planning made; [`Loaded`] has its constants on a device.
mod body;
mod key;
mod load;
mod run;
#[cfg(test)]
mod tests;

pub(crate) use body::{Body, BodyState};
pub(crate) use load::{Loaded, Weights};

use super::ir::{Graph, NodeId, ValueId};
use super::{HostTensor, Plan, Reject, plan};
use crate::device::{DType, Evaluated};
use run::Held;
use std::collections::BTreeSet;

/// An evaluated boundary output, readable from any thread.
pub(crate) type Output = Evaluated;

/// The steps of one graph in order, over slots numbered like the graph's values.
pub(crate) struct Program {
    steps: Vec<Step>,
    inputs: Vec<u32>,
    outputs: Vec<u32>,
    slots: Vec<Slot>,
    /// Boundary inputs (positions in `inputs`) whose values are read on the host and may decide shapes.
    key_inputs: Vec<usize>,
}

struct Step {
    op_type: String,
    name: String,
    plan: Plan,
    /// Of the node, then what its bodies capture.
    inputs: Vec<Option<u32>>,
    outputs: Vec<Option<u32>>,
    /// Slots that no later step or output reads.
    release: Vec<u32>,
}

/// What is known of a slot before any Run.
struct Slot {
    name: String,
    dtype: Option<DType>,
    constant: Option<SlotConstant>,
}

struct SlotConstant {
    dims: Vec<usize>,
    host: Option<HostTensor>,
    key: u64,
}

impl Program {
    /// Plans every node. The graph's inputs and outputs are the boundary, in their order.
    pub(crate) fn new(graph: &Graph) -> Result<Self, (NodeId, Reject)> {
        let mut steps = Vec::with_capacity(graph.nodes.len());
        for id in graph.node_ids() {
            let node = graph.node(id);
            let slot = |value: Option<ValueId>| value.map(|v| v.0);
            let captures = node.captures.iter().copied().map(Some);
            let read = node.inputs.iter().copied().chain(captures);
            steps.push(Step {
                op_type: node.op_type.clone(),
                name: node.name.clone(),
                plan: plan(graph, id).map_err(|reject| (id, reject))?,
                inputs: read.map(slot).collect(),
                outputs: node.outputs.iter().copied().map(slot).collect(),
                release: Vec::new(),
            });
        }
        let slots = graph.values.iter().map(|value| Slot {
            name: value.name.clone(),
            dtype: value.dtype(),
            constant: value.constant.as_ref().map(|c| SlotConstant {
                dims: c.dims.clone(),
                host: c.host.clone(),
                key: c.key,
            }),
        });
        let mut program = Self {
            steps,
            inputs: graph.inputs.iter().map(|v| v.0).collect(),
            outputs: graph.outputs.iter().map(|v| v.0).collect(),
            slots: slots.collect(),
            key_inputs: Vec::new(),
        };
        program.mark_releases();
        program.key_inputs = key::inputs(&program, graph);
        Ok(program)
    }

    /// The slots that a step or the boundary reads, each once.
    fn reads(&self) -> BTreeSet<u32> {
        let steps = self.steps.iter().flat_map(|s| s.inputs.iter().flatten());
        steps.chain(&self.outputs).copied().collect()
    }

    fn constant(&self, slot: u32) -> Option<&SlotConstant> {
        self.slots[slot as usize].constant.as_ref()
    }

    fn mark_releases(&mut self) {
        const NEVER: usize = usize::MAX;
        let mut last = vec![None; self.slots.len()];
        for (i, step) in self.steps.iter().enumerate() {
            for slot in step.inputs.iter().chain(&step.outputs).flatten() {
                last[*slot as usize] = Some(i);
            }
        }
        for slot in &self.outputs {
            last[*slot as usize] = Some(NEVER);
        }
        for (slot, step) in last.iter().enumerate() {
            if let Some(step) = step.and_then(|i| self.steps.get_mut(i)) {
                step.release.push(u32::try_from(slot).unwrap_or(u32::MAX));
            }
        }
    }
}
