//! What iterations leave: one element each, stacked along an axis at the end.
use crate::device::{Array, DType, Emit};
use crate::error::{Error, Result};
use crate::ops::Reject;
use crate::ops::ir::{Dim, Graph};

/// What a body declares of one of its outputs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Declared {
    /// Of the array.
    dtype: DType,
    /// Dimensions that are not known count as 0, as ONNX Runtime has it; they matter only where no iteration ran.
    dims: Vec<usize>,
}

/// Reads the declaration of output `index` of a body.
pub(super) fn declared(body: &Graph, index: usize) -> Result<Declared, Reject> {
    let value = body.outputs.get(index).map(|id| body.value(*id));
    let value = value.ok_or(Reject::Form(
        "its body has fewer outputs than the node needs",
    ))?;
    let dtype = value.dtype().ok_or(Reject::NotTensor)?.storage();
    let known = |dim: &Dim| match dim {
        Dim::Known(n) => *n,
        Dim::Symbol(_) | Dim::Unknown => 0,
    };
    let dims = value
        .shape()
        .unwrap_or_default()
        .iter()
        .map(known)
        .collect();
    Ok(Declared { dtype, dims })
}

/// The elements of one output so far.
pub(super) struct Stack {
    declared: Declared,
    elements: Vec<Array>,
}

impl Stack {
    pub(super) fn new(declared: &Declared) -> Self {
        Self {
            declared: declared.clone(),
            elements: Vec::new(),
        }
    }

    pub(super) fn push(&mut self, element: Array) -> Result<()> {
        if let Some(first) = self.elements.first()
            && first.shape() != element.shape()
        {
            return Err(Error::invalid(format!(
                "a scan output has shape {:?} after iterations with {:?}",
                element.dims(),
                first.dims()
            )));
        }
        self.elements.push(element);
        Ok(())
    }

    /// The newest elements.
    pub(super) fn newest(&self, count: usize) -> &[Array] {
        &self.elements[self.elements.len().saturating_sub(count)..]
    }

    /// Puts the last element first.
    pub(super) fn reverse(&mut self) {
        self.elements.reverse();
    }

    /// The elements stacked along `axis` of the result; negative axes count from the end.
    pub(super) fn finish(self, cx: &Emit, axis: i64) -> Result<Array> {
        let dims = match self.elements.first() {
            Some(first) => first.dims(),
            None => self.declared.dims,
        };
        let axis = crate::ops::axis(axis, dims.len() + 1)?;
        if self.elements.is_empty() {
            let mut dims = dims;
            dims.insert(axis, 0);
            return cx.zeros(&dims, self.declared.dtype);
        }
        cx.stack(&self.elements.iter().collect::<Vec<_>>(), axis)
    }

    /// The elements stacked along a new first axis of size `count`; elements that are missing are zero.
    pub(super) fn finish_padded(mut self, cx: &Emit, count: usize) -> Result<Array> {
        if let Some(first) = self.elements.first() {
            let zero = cx.zeros(&first.dims(), first.dtype())?;
            self.elements.resize(count.max(self.elements.len()), zero);
            return self.finish(cx, 0);
        }
        let mut dims = self.declared.dims;
        dims.insert(0, count);
        cx.zeros(&dims, self.declared.dtype)
    }
}
