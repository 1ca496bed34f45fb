//! Bodies of control-flow nodes: programs that a step runs, as often as its operator says.
use super::load::State;
use super::{Held, Program};
use crate::device::Emit;
use crate::error::{Error, Result};
use crate::ops::ir::{Graph, Origin};
use crate::ops::{Reject, Tensor};
use std::collections::HashMap;

/// The arrays of a loaded body.
pub(crate) type BodyState = State;

/// A planned body.
pub(crate) struct Body {
    pub(super) program: Program,
    /// The slots of outer values that the body reads, each with the value's position among the inputs of the step.
    captures: Vec<(u32, usize)>,
}

impl Body {
    /// `outer` are the positions of the captured values, by name.
    pub(crate) fn new(
        graph: &Graph,
        program: Program,
        outer: &HashMap<&str, usize>,
    ) -> Result<Self, Reject> {
        let mut captures = Vec::new();
        for slot in program.reads() {
            let value = &graph.values[slot as usize];
            if value.origin != Origin::Outer || value.constant.is_some() {
                continue;
            }
            let position = outer.get(value.name.as_str()).copied();
            let position = position.ok_or(Reject::Host(
                "a body reads a value that is not passed to it",
            ))?;
            captures.push((slot, position));
        }
        Ok(Self { program, captures })
    }

    /// Whether a run of it gives other results each time.
    pub(crate) fn is_stateful(&self) -> bool {
        self.program.steps.iter().any(|step| step.plan.stateful)
    }

    /// Runs the body. `outer` are the inputs of the step, `inputs` the values for the body's own.
    pub(crate) fn run(
        &self,
        cx: &Emit,
        state: &State,
        outer: &[Option<&Tensor<'_>>],
        inputs: Vec<Tensor<'_>>,
    ) -> Result<Vec<Tensor<'static>>> {
        let program = &self.program;
        if inputs.len() != program.inputs.len() {
            return Err(Error::invalid(format!(
                "the body takes {} inputs, the node passes {}",
                program.inputs.len(),
                inputs.len()
            )));
        }
        let mut slots = program.slots();
        for (slot, input) in program.inputs.iter().zip(inputs) {
            let input = match program.slots[*slot as usize].dtype {
                Some(dtype) => input.declared(dtype).map_err(|found| {
                    let name = &program.slots[*slot as usize].name;
                    Error::invalid(format!(
                        "input '{name}' of the body is {found}, it declares {dtype}"
                    ))
                })?,
                None => input,
            };
            slots[*slot as usize] = Some(Held::Own(input));
        }
        for (slot, position) in &self.captures {
            slots[*slot as usize] = outer.get(*position).copied().flatten().map(Held::Lent);
        }
        program.execute(cx, state, &mut slots)?;
        let output = |slot: &u32| program.output(state, &slots, *slot)?.to_owned(cx);
        program.outputs.iter().map(output).collect()
    }
}
