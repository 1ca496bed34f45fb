//! One Run: steps in order, one evaluation at the end.
use super::load::{Loaded, State};
use super::{Output, Step};
use crate::device::{Emit, on_thread};
use crate::error::{Error, Result};
use crate::ops::plan::Inputs;
use crate::ops::{HostTensor, Input, Outputs, Tensor};

impl Loaded {
    /// Runs the program; the outputs are evaluated. May be called from any thread.
    pub(crate) fn run(&self, inputs: &[Input<'_>]) -> Result<Vec<Output>> {
        if inputs.len() != self.program.inputs.len() {
            let expected = self.program.inputs.len();
            return Err(Error::internal(format!(
                "{} inputs given, {expected} expected",
                inputs.len()
            )));
        }
        on_thread(|thread| {
            let cx = thread.emit(self.kind)?;
            self.run_here(cx, self.state.get(thread)?, inputs)
        })
    }

    fn run_here(&self, cx: &Emit, state: &State, inputs: &[Input<'_>]) -> Result<Vec<Output>> {
        let program = &self.program;
        let mut slots: Vec<Option<Tensor<'_>>> = Vec::new();
        slots.resize_with(program.slots.len(), || None);
        for (position, (slot, input)) in program.inputs.iter().zip(inputs).enumerate() {
            let tensor = Tensor::from_input(input).map_err(|e| program.input_error(*slot, &e))?;
            if program.in_key(position, tensor.size()) {
                tensor.read(cx)?;
            }
            slots[*slot as usize] = Some(tensor);
        }
        for index in &self.live {
            let step = &program.steps[*index];
            let find = |slot: u32| {
                slots[slot as usize]
                    .as_ref()
                    .or(state.constants[slot as usize].as_ref())
            };
            let tensors = step.inputs.iter().map(|slot| slot.and_then(find)).collect();
            let outputs = step
                .execute(Inputs::new(cx, tensors, state.sources(*index, step)))
                .and_then(|outputs| program.checked(step, outputs))
                .map_err(|e| e.at(&step.op_type, &step.name))?;
            for (slot, output) in step.outputs.iter().zip(outputs) {
                if let (Some(slot), Some(tensor)) = (slot, output) {
                    slots[*slot as usize] = Some(tensor);
                }
            }
            for slot in &step.release {
                slots[*slot as usize] = None;
            }
        }
        let mut arrays = Vec::with_capacity(program.outputs.len());
        for slot in &program.outputs {
            let found = slots[*slot as usize]
                .as_ref()
                .or(state.constants[*slot as usize].as_ref());
            let name = &program.slots[*slot as usize].name;
            let tensor = found
                .ok_or_else(|| Error::internal(format!("output '{name}' was not produced")))?;
            arrays.push((tensor.dtype(), tensor.array(cx)?.clone()));
        }
        // Intermediate handles go first: MLX may then reuse their buffers while it evaluates.
        drop(slots);
        cx.evaluate(arrays)
    }
}

impl super::Program {
    fn input_error(&self, slot: u32, error: &Error) -> Error {
        Error::invalid(format!(
            "input '{}': {error}",
            self.slots[slot as usize].name
        ))
    }

    /// The outputs of a step, unless one is missing or of another type than the model declares.
    pub(super) fn checked(&self, step: &Step, mut outputs: Outputs) -> Result<Outputs> {
        for (index, slot) in step.outputs.iter().enumerate() {
            let Some(slot) = slot else { continue };
            let Some(tensor) = outputs.get_mut(index).and_then(Option::take) else {
                return Err(Error::internal(format!("output {index} was not produced")));
            };
            outputs[index] = Some(match self.slots[*slot as usize].dtype {
                None => tensor,
                Some(declared) => tensor.declared(declared).map_err(|made| {
                    Error::internal(format!(
                        "output {index} is {made}, the model declares {declared}"
                    ))
                })?,
            });
        }
        Ok(outputs)
    }
}

impl Step {
    /// Runs on the host where all inputs are known there and it can, else on the device.
    pub(super) fn execute(&self, inputs: Inputs<'_>) -> Result<Outputs> {
        if let Some(host) = &self.plan.host
            && let Some(known) = inputs.all_known()
            && let Some(outputs) = host(&known)?
            && outputs.iter().all(|t| t.len() <= HostTensor::MAX_ELEMENTS)
        {
            return Ok(outputs
                .into_iter()
                .map(|t| Some(Tensor::from_host(t)))
                .collect());
        }
        (self.plan.lower)(inputs.emit(), &inputs)
    }
}
