//! Constants on their way to the device: read once, in the layout that the kernels want, and folded.
use super::body::Body;
use super::{Program, Step};
use crate::device::{Array, DeviceKind, Emit, OnThread, Thread, on_thread};
use crate::error::{Error, Result};
use crate::ops::Tensor;
use crate::ops::node::WeightUse;
use crate::ops::plan::{Inputs, WeightSource};
use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// A result of folding is kept when it is at most this large, or no larger than what it was made from.
const MAX_FOLDED_BYTES: usize = 1 << 20;

/// The layout of a constant as ONNX stores it.
const PLAIN: &str = "";

/// The constants of a session on its device, shared by all its clusters.
pub(crate) struct Weights {
    made: OnThread<RefCell<Made>>,
}

type Made = HashMap<(u64, String), Array>;

impl Weights {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self {
            made: OnThread::empty(),
        })
    }
}

/// A program with its constants on a device. Runs from any thread, also concurrently.
pub(crate) struct Loaded {
    pub(super) program: Program,
    pub(super) kind: DeviceKind,
    pub(super) state: OnThread<State>,
}

/// The arrays of a loaded program.
pub(crate) struct State {
    /// By slot: initializers and folded values.
    pub(super) constants: Vec<Option<Tensor<'static>>>,
    /// By step and weight; `None` where the input is no constant.
    weights: Vec<Vec<Option<Array>>>,
    /// By step and body.
    bodies: Vec<Vec<State>>,
    /// Steps that folding has not replaced.
    pub(super) live: Vec<usize>,
}

impl State {
    /// What a step sees while it runs.
    pub(super) fn inputs<'a>(
        &'a self,
        cx: &'a Emit,
        index: usize,
        step: &'a Step,
        tensors: Vec<Option<&'a Tensor<'a>>>,
    ) -> Inputs<'a> {
        let sources = self.sources(index, step);
        Inputs::new(cx, tensors, sources).with_bodies(&step.plan.bodies, &self.bodies[index])
    }

    fn sources<'a>(&'a self, index: usize, step: &'a Step) -> Vec<WeightSource<'a>> {
        let made = self.weights[index].iter().zip(&step.plan.weights);
        made.map(|(array, wanted)| match array {
            Some(array) => WeightSource::Made(array),
            None => WeightSource::Make {
                input: wanted.input,
                make: &wanted.make,
            },
        })
        .collect()
    }
}

impl Program {
    /// Brings the constants to the device. `read` gives the bytes of the initializer of a key; it is called on this
    /// thread, once per initializer, and each is made in a job of its own, so that other sessions go on.
    pub(crate) fn load<'r>(
        self,
        kind: DeviceKind,
        weights: &Arc<Weights>,
        read: &mut dyn FnMut(u64) -> Result<Cow<'r, [u8]>>,
    ) -> Result<Loaded> {
        self.load_constants(kind, weights, read)?;
        let state = on_thread(|thread| {
            let cx = thread.emit(kind)?;
            let state = self.bind(&weights.made.get_or_default(thread)?.borrow(), cx)?;
            Ok(OnThread::new(state, thread))
        })?;
        Ok(Loaded {
            program: self,
            kind,
            state,
        })
    }

    /// Makes the constants of this program and of all bodies in it, unless the session has them.
    fn load_constants<'r>(
        &self,
        kind: DeviceKind,
        weights: &Arc<Weights>,
        read: &mut dyn FnMut(u64) -> Result<Cow<'r, [u8]>>,
    ) -> Result<()> {
        for (slot, layouts) in &self.layouts() {
            self.load_constant(kind, weights, *slot, layouts, read)?;
        }
        let mut bodies = self.steps.iter().flat_map(|step| &step.plan.bodies);
        bodies.try_for_each(|body| body.program.load_constants(kind, weights, read))
    }

    /// By slot, the layouts that the steps want of each constant.
    fn layouts(&self) -> Vec<(u32, Vec<Option<&WeightUse>>)> {
        let mut by_slot: HashMap<u32, (bool, Vec<&WeightUse>)> = HashMap::new();
        for step in &self.steps {
            for (index, slot) in step.inputs.iter().enumerate() {
                let Some(slot) = slot.filter(|s| self.constant(*s).is_some()) else {
                    continue;
                };
                let wanted = step
                    .plan
                    .weights
                    .iter()
                    .filter(|w| w.input == index)
                    .collect::<Vec<_>>();
                let entry = by_slot.entry(slot).or_default();
                entry.0 |= wanted.is_empty();
                entry.1.extend(wanted);
            }
        }
        for slot in self.outputs.iter().filter(|s| self.constant(**s).is_some()) {
            by_slot.entry(*slot).or_default().0 = true;
        }
        let mut uses: Vec<_> = by_slot
            .into_iter()
            .map(|(slot, (plain, layouts))| {
                let mut seen = HashSet::new();
                let distinct = layouts
                    .into_iter()
                    .filter(|w| seen.insert(w.layout.as_str()))
                    .map(Some);
                (
                    slot,
                    plain.then_some(None).into_iter().chain(distinct).collect(),
                )
            })
            .collect();
        uses.sort_unstable_by_key(|(slot, _)| *slot);
        uses
    }

    /// Makes one constant in the given layouts (`None`: as it is), unless the session has them.
    fn load_constant<'r>(
        &self,
        kind: DeviceKind,
        weights: &Arc<Weights>,
        slot: u32,
        layouts: &[Option<&WeightUse>],
        read: &mut dyn FnMut(u64) -> Result<Cow<'r, [u8]>>,
    ) -> Result<()> {
        let Some(constant) = self.constant(slot) else {
            return Ok(());
        };
        // A small constant that is used as it is stays on the host until an array of it is asked for.
        let wanted: Vec<_> = layouts
            .iter()
            .filter(|l| l.is_some() || constant.host.is_none())
            .collect();
        let label = |l: &Option<&WeightUse>| l.map_or(PLAIN, |w| w.layout.as_str()).to_owned();
        let missing = on_thread(|thread| {
            let made = weights.made.get_or_default(thread)?.borrow();
            Ok(wanted
                .iter()
                .any(|l| !made.contains_key(&(constant.key, label(l)))))
        })?;
        if !missing {
            return Ok(());
        }
        let dtype = self.slots[slot as usize].dtype;
        let dtype = dtype.ok_or_else(|| Error::internal("a constant without an element type"))?;
        let bytes = match &constant.host {
            Some(host) => Cow::Owned(host.to_bytes()),
            None => read(constant.key)?,
        };
        on_thread(|thread| {
            let cx = thread.emit(kind)?;
            let plain = cx.array_from_bytes(dtype, &constant.dims, &bytes)?;
            let mut made = weights.made.get_or_default(thread)?.borrow_mut();
            for layout in &wanted {
                let array = match layout {
                    None => plain.clone(),
                    Some(wanted) => cx.contiguous(&(wanted.make)(cx, &plain)?)?,
                };
                cx.eval(&[&array])?;
                made.insert((constant.key, label(layout)), array);
            }
            Ok(())
        })
    }

    /// Hands the session's arrays to the slots and weights of this program and of its bodies, and folds them.
    fn bind(&self, made: &Made, cx: &Emit) -> Result<State> {
        let find = |key: u64, layout: &str| made.get(&(key, layout.to_owned())).cloned();
        let mut constants: Vec<Option<Tensor<'static>>> = Vec::with_capacity(self.slots.len());
        for slot in &self.slots {
            let Some((constant, dtype)) = slot.constant.as_ref().zip(slot.dtype) else {
                constants.push(None);
                continue;
            };
            constants.push(match (&constant.host, find(constant.key, PLAIN)) {
                (Some(host), _) => Some(Tensor::from_host(host.clone())),
                (None, array) => array.map(|array| Tensor::stored(dtype, array)),
            });
        }
        let mut weights = Vec::with_capacity(self.steps.len());
        for step in &self.steps {
            let array = |wanted: &WeightUse| {
                let slot = step.inputs.get(wanted.input).copied().flatten()?;
                find(self.constant(slot)?.key, &wanted.layout)
            };
            weights.push(step.plan.weights.iter().map(array).collect());
        }
        let mut bodies = Vec::with_capacity(self.steps.len());
        for step in &self.steps {
            let bind = |body: &Body| body.program.bind(made, cx);
            bodies.push(step.plan.bodies.iter().map(bind).collect::<Result<_>>()?);
        }
        let mut state = State {
            constants,
            weights,
            bodies,
            live: Vec::new(),
        };
        state.live = self.fold(&mut state, cx)?;
        Ok(state)
    }

    /// Runs the steps whose inputs are all constant, keeps what is small enough, and gives the steps that remain.
    fn fold(&self, state: &mut State, cx: &Emit) -> Result<Vec<usize>> {
        let mut live = Vec::new();
        for (index, step) in self.steps.iter().enumerate() {
            let constant = |slot: &u32| {
                state.constants[*slot as usize].is_some() || self.constant(*slot).is_some()
            };
            if step.plan.stateful || !step.inputs.iter().flatten().all(constant) {
                live.push(index);
                continue;
            }
            let outputs = {
                let tensor =
                    |slot: &Option<u32>| slot.and_then(|s| state.constants[s as usize].as_ref());
                let tensors = step.inputs.iter().map(tensor).collect();
                step.execute(state.inputs(cx, index, step, tensors))
                    .and_then(|outputs| self.checked(step, outputs))
                    .map_err(|e| e.at(&step.op_type, &step.name))?
            };
            let arrays: Vec<_> = outputs
                .iter()
                .flatten()
                .filter_map(Tensor::made_array)
                .collect();
            cx.eval(&arrays)
                .map_err(|e| e.at(&step.op_type, &step.name))?;
            let size = |t: &Tensor<'_>| t.dtype().byte_size(t.size());
            let made: usize = outputs.iter().flatten().map(size).sum();
            let from: usize = step
                .inputs
                .iter()
                .flatten()
                .map(|s| self.constant_bytes(state, *s))
                .sum();
            // A step without inputs holds what it makes.
            if made > MAX_FOLDED_BYTES.max(from) && !step.inputs.is_empty() {
                live.push(index);
                continue;
            }
            for (slot, output) in step.outputs.iter().zip(outputs) {
                if let Some(slot) = slot {
                    state.constants[*slot as usize] = output;
                }
            }
        }
        self.forget_unread(state, &live);
        Ok(live)
    }

    fn constant_bytes(&self, state: &State, slot: u32) -> usize {
        let folded = state.constants[slot as usize]
            .as_ref()
            .map(|t| t.dtype().byte_size(t.size()));
        let stored = || {
            let slot = &self.slots[slot as usize];
            let elements = slot
                .constant
                .as_ref()
                .map_or(0, |c| c.dims.iter().product());
            slot.dtype.map_or(0, |t| t.byte_size(elements))
        };
        folded.unwrap_or_else(stored)
    }

    /// Drops constants that only folded steps read.
    fn forget_unread(&self, state: &mut State, live: &[usize]) {
        let mut read = vec![false; self.slots.len()];
        for slot in live
            .iter()
            .flat_map(|i| self.steps[*i].inputs.iter().flatten())
            .chain(&self.outputs)
        {
            read[*slot as usize] = true;
        }
        for (constant, read) in state.constants.iter_mut().zip(read) {
            if !read {
                *constant = None;
            }
        }
    }
}

// `Loaded` and `Weights` are shared by the threads that call Run; the arrays in them never leave the MLX thread.
const _: fn() = || {
    fn shared<T: Send + Sync>() {}
    shared::<Loaded>();
    shared::<Weights>();
    let _ = Thread::emit;
};
