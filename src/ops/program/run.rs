//! One Run: steps in order, one evaluation at the end.
use super::load::{Loaded, State};
use super::{Output, Program, Step};
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
            self.program.run(cx, self.state.get(thread)?, inputs)
        })
    }
}

/// A value in a slot while a program runs.
pub(super) enum Held<'a> {
    Own(Tensor<'a>),
    /// A value of the enclosing program.
    Lent(&'a Tensor<'a>),
}

impl<'a> Held<'a> {
    fn tensor(&self) -> &Tensor<'a> {
        match self {
            Self::Own(tensor) => tensor,
            Self::Lent(tensor) => tensor,
        }
    }
}

impl Program {
    fn run(&self, cx: &Emit, state: &State, inputs: &[Input<'_>]) -> Result<Vec<Output>> {
        let mut slots = self.slots();
        for (position, (slot, input)) in self.inputs.iter().zip(inputs).enumerate() {
            let tensor = Tensor::from_input(input).map_err(|e| self.input_error(*slot, &e))?;
            if self.in_key(position, tensor.size()) {
                tensor.read(cx)?;
            }
            slots[*slot as usize] = Some(Held::Own(tensor));
        }
        self.execute(cx, state, &mut slots)?;
        let array = |slot: &u32| {
            let tensor = self.output(state, &slots, *slot)?;
            Ok((tensor.dtype(), tensor.array(cx)?.clone()))
        };
        let arrays = self.outputs.iter().map(array).collect::<Result<_>>()?;
        // Intermediate handles go first: MLX may then reuse their buffers while it evaluates.
        drop(slots);
        cx.evaluate(arrays)
    }

    /// Empty slots of a run.
    pub(super) fn slots<'a>(&self) -> Vec<Option<Held<'a>>> {
        let mut slots = Vec::new();
        slots.resize_with(self.slots.len(), || None);
        slots
    }

    /// Runs the steps that folding has left, over slots that hold the inputs.
    pub(super) fn execute<'a>(
        &self,
        cx: &Emit,
        state: &State,
        slots: &mut [Option<Held<'a>>],
    ) -> Result<()> {
        for index in &state.live {
            let step = &self.steps[*index];
            let find = |slot: u32| {
                let held = slots[slot as usize].as_ref().map(Held::tensor);
                held.or(state.constants[slot as usize].as_ref())
            };
            let tensors = step.inputs.iter().map(|slot| slot.and_then(find)).collect();
            let outputs = step
                .execute(state.inputs(cx, *index, step, tensors))
                .and_then(|outputs| self.checked(step, outputs))
                .map_err(|e| e.at(&step.op_type, &step.name))?;
            for (slot, output) in step.outputs.iter().zip(outputs) {
                if let (Some(slot), Some(tensor)) = (slot, output) {
                    slots[*slot as usize] = Some(Held::Own(tensor));
                }
            }
            for slot in &step.release {
                slots[*slot as usize] = None;
            }
        }
        Ok(())
    }

    /// The value of an output after the steps.
    pub(super) fn output<'s>(
        &self,
        state: &'s State,
        slots: &'s [Option<Held<'_>>],
        slot: u32,
    ) -> Result<&'s Tensor<'s>> {
        let held = slots[slot as usize].as_ref().map(Held::tensor);
        let found = held.or(state.constants[slot as usize].as_ref());
        let name = &self.slots[slot as usize].name;
        found.ok_or_else(|| Error::internal(format!("output '{name}' was not produced")))
    }

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
