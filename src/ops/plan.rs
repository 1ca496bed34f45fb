//! A plan: the one function that is both the claim of a node and its lowering.
use super::node::{MakeLayout, NodeRef, Weight, WeightUse};
use super::program::{Body, BodyState};
use super::{BodyId, HostTensor, Reject, Tensor};
use crate::device::{Array, DType, Emit};
use crate::error::{Error, Result};
use std::borrow::Cow;

/// What planning a node yields: how to run it, or why not.
pub(crate) type Planned = Result<Plan, Reject>;

/// The outputs of a step, one per output of the node; an output that nobody wants may be `None` or left out.
pub(crate) type Outputs = Vec<Option<Tensor<'static>>>;

type LowerFn = Box<dyn Fn(&Emit, &Inputs<'_>) -> Result<Outputs> + Send + Sync>;
type HostFn = Box<dyn Fn(&[Option<&HostTensor>]) -> Result<Option<Vec<HostTensor>>> + Send + Sync>;

/// How to run a node. It captured all it needs: nothing of the graph is left in it.
pub(crate) struct Plan {
    pub(super) lower: LowerFn,
    pub(super) host: Option<HostFn>,
    /// Inputs that are needed as numbers.
    pub(super) needs_host: Vec<usize>,
    pub(super) weights: Vec<WeightUse>,
    pub(super) bodies: Vec<Body>,
    /// Gives other results in each Run: never folded.
    pub(super) stateful: bool,
}

/// A plan from a function over the inputs. Inside it MLX calls are made on `cx`.
pub(crate) fn lower<R: IntoOutputs>(
    f: impl Fn(&Emit, &Inputs<'_>) -> Result<R> + Send + Sync + 'static,
) -> Planned {
    Ok(Plan {
        lower: Box::new(move |cx, x| f(cx, x).map(IntoOutputs::into_outputs)),
        host: None,
        needs_host: Vec::new(),
        weights: Vec::new(),
        bodies: Vec::new(),
        stateful: false,
    })
}

impl Plan {
    /// Adds the computation on the host, used when all inputs are host-known. It may answer `None`: then
    /// the device runs the node.
    pub(crate) fn or_host(
        mut self,
        f: impl Fn(&[Option<&HostTensor>]) -> Result<Option<Vec<HostTensor>>> + Send + Sync + 'static,
    ) -> Self {
        self.host = Some(Box::new(f));
        self
    }

    /// Declares inputs that the lowering reads as numbers through [`Inputs::host`].
    pub(crate) fn reads(mut self, inputs: &[usize]) -> Self {
        self.needs_host.extend_from_slice(inputs);
        self
    }

    /// Other results in each Run.
    pub(crate) fn stateful(mut self) -> Self {
        self.stateful = true;
        self
    }

    pub(super) fn complete(mut self, node: NodeRef<'_>) -> Self {
        (self.weights, self.bodies) = node.into_parts();
        self.stateful |= self.bodies.iter().any(Body::is_stateful);
        self
    }
}

/// Where a step finds an input in the layout it asked for.
pub(super) enum WeightSource<'a> {
    Made(&'a Array),
    Make { input: usize, make: &'a MakeLayout },
}

/// The inputs of a step while it runs.
pub(crate) struct Inputs<'a> {
    cx: &'a Emit,
    tensors: Vec<Option<&'a Tensor<'a>>>,
    weights: Vec<WeightSource<'a>>,
    bodies: &'a [Body],
    states: &'a [BodyState],
}

impl<'a> Inputs<'a> {
    pub(super) fn new(
        cx: &'a Emit,
        tensors: Vec<Option<&'a Tensor<'a>>>,
        weights: Vec<WeightSource<'a>>,
    ) -> Self {
        Self {
            cx,
            tensors,
            weights,
            bodies: &[],
            states: &[],
        }
    }

    /// Adds the bodies of the step, each with its state.
    pub(super) fn with_bodies(mut self, bodies: &'a [Body], states: &'a [BodyState]) -> Self {
        (self.bodies, self.states) = (bodies, states);
        self
    }

    /// Runs a body of the node on values for its inputs; its captured values come from this step's.
    pub(crate) fn run(
        &self,
        body: BodyId,
        inputs: Vec<Tensor<'_>>,
    ) -> Result<Vec<Tensor<'static>>> {
        let found = self.bodies.get(body.0).zip(self.states.get(body.0));
        let (body, state) = found.ok_or_else(|| Error::internal("a body that was not planned"))?;
        body.run(self.cx, state, &self.tensors, inputs)
    }

    /// An input as a value of its own, to hand on.
    pub(crate) fn owned(&self, index: usize) -> Result<Tensor<'static>> {
        self.get(index)?.to_owned(self.cx)
    }

    pub(super) fn emit(&self) -> &'a Emit {
        self.cx
    }

    /// The inputs as numbers, where all that are given are host-known.
    pub(super) fn all_known(&self) -> Option<Vec<Option<&'a HostTensor>>> {
        self.tensors
            .iter()
            .map(|t| t.map_or(Some(None), |t| t.host().map(Some)))
            .collect()
    }

    /// Number of inputs as written, omitted ones included.
    pub(crate) fn len(&self) -> usize {
        self.tensors.len()
    }

    pub(crate) fn has(&self, index: usize) -> bool {
        self.tensors.get(index).is_some_and(Option::is_some)
    }

    fn get(&self, index: usize) -> Result<&'a Tensor<'a>> {
        let tensor = self.tensors.get(index).copied().flatten();
        tensor.ok_or_else(|| Error::internal(format!("input {index} is missing")))
    }

    /// An input as an array.
    pub(crate) fn array(&self, index: usize) -> Result<&'a Array> {
        self.get(index)?.array(self.cx)
    }

    /// An optional input as an array.
    pub(crate) fn optional(&self, index: usize) -> Result<Option<&'a Array>> {
        if self.has(index) {
            self.array(index).map(Some)
        } else {
            Ok(None)
        }
    }

    /// All inputs that are given, as arrays.
    pub(crate) fn arrays(&self) -> Result<Vec<&'a Array>> {
        self.tensors
            .iter()
            .flatten()
            .map(|t| t.array(self.cx))
            .collect()
    }

    /// An input as numbers; the plan declared it with [`Plan::reads`].
    pub(crate) fn host(&self, index: usize) -> Result<&'a HostTensor> {
        self.get(index)?.read(self.cx)
    }

    /// The bytes of an input of any size; the plan declared it with [`Plan::reads`].
    pub(crate) fn bytes(&self, index: usize) -> Result<Cow<'a, [u8]>> {
        self.get(index)?.bytes(self.cx)
    }

    /// The elements of an integer input; the plan declared it with [`Plan::reads`].
    pub(crate) fn ints(&self, index: usize) -> Result<&'a [i64]> {
        let host = self.host(index)?;
        host.as_ints()
            .ok_or_else(|| Error::internal(format!("input {index} holds no integers")))
    }

    /// An input as numbers where it is host-known without evaluating anything.
    pub(crate) fn known(&self, index: usize) -> Option<&'a HostTensor> {
        self.tensors.get(index).copied().flatten()?.host()
    }

    pub(crate) fn dims(&self, index: usize) -> Result<&'a [usize]> {
        Ok(self.get(index)?.dims())
    }

    pub(crate) fn rank(&self, index: usize) -> Result<usize> {
        Ok(self.get(index)?.rank())
    }

    pub(crate) fn dtype(&self, index: usize) -> Result<DType> {
        Ok(self.get(index)?.dtype())
    }

    /// See [`Tensor::host_range`].
    pub(crate) fn host_range(&self, index: usize) -> Result<Option<(i64, i64)>> {
        Ok(self.get(index)?.host_range())
    }

    /// See [`Tensor::host_ranges`].
    pub(crate) fn host_ranges(
        &self,
        index: usize,
        width: usize,
    ) -> Result<Option<Vec<(i64, i64)>>> {
        Ok(self.get(index)?.host_ranges(width))
    }

    /// An input in the layout that the plan asked for.
    pub(crate) fn weight(&self, weight: Weight) -> Result<Array> {
        match self.weights.get(weight.0) {
            Some(WeightSource::Made(array)) => Ok((*array).clone()),
            Some(WeightSource::Make { input, make }) => make(self.cx, self.array(*input)?),
            None => Err(Error::internal("a weight that was not planned")),
        }
    }
}

/// What a lowering may return.
pub(crate) trait IntoOutputs {
    fn into_outputs(self) -> Outputs;
}

impl IntoOutputs for Array {
    fn into_outputs(self) -> Outputs {
        vec![Some(Tensor::from_array(self))]
    }
}

impl IntoOutputs for HostTensor {
    fn into_outputs(self) -> Outputs {
        vec![Some(Tensor::from_host(self))]
    }
}

impl IntoOutputs for Vec<Array> {
    fn into_outputs(self) -> Outputs {
        self.into_iter()
            .map(|a| Some(Tensor::from_array(a)))
            .collect()
    }
}

impl IntoOutputs for Vec<Option<Array>> {
    fn into_outputs(self) -> Outputs {
        self.into_iter()
            .map(|a| a.map(Tensor::from_array))
            .collect()
    }
}

impl IntoOutputs for Outputs {
    fn into_outputs(self) -> Outputs {
        self
    }
}
