//! How scales and zero points belong to the elements of a tensor.
use crate::device::{Array, Emit};
use crate::error::{Error, Result};
use crate::ops::{self, NodeRef, Reject};

/// What the attributes of a node say: scales are one number, one per element of an axis, or one per block of it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Granularity {
    axis: i64,
    /// 0 where scales are not blocked.
    block: usize,
}

impl Granularity {
    pub(super) fn of(node: &NodeRef<'_>) -> Result<Self, Reject> {
        let block = usize::try_from(node.int_or("block_size", 0)?);
        Ok(Self {
            axis: node.int_or("axis", 1)?,
            block: block.map_err(|_| Reject::Attribute("block_size".into()))?,
        })
    }

    /// Scales or zero points in a shape that broadcasts to `dims`, the dimensions of the tensor.
    pub(super) fn spread(&self, cx: &Emit, a: &Array, what: &str, dims: &[usize]) -> Result<Array> {
        let found = a.dims();
        let bad = |needed: &str| {
            Err(Error::invalid(format!(
                "{what} has shape {found:?}, for a tensor of shape {dims:?} {needed}"
            )))
        };
        if self.block == 0 {
            if a.rank() <= 1 && a.size() == 1 {
                return cx.reshape(a, &[]);
            }
            // A vector has one axis only, whatever the attribute says.
            let axis = if dims.len() == 1 {
                0
            } else {
                ops::axis(self.axis, dims.len())?
            };
            if a.rank() != 1 || Some(&a.size()) != dims.get(axis) {
                return bad(&format!(
                    "one number or one per element of axis {axis} is needed"
                ));
            }
            let mut shape = vec![1; dims.len()];
            shape[axis] = a.size();
            return cx.reshape(a, &shape);
        }
        let axis = ops::axis(self.axis, dims.len())?;
        let mut needed = dims.to_vec();
        needed[axis] = dims[axis].div_ceil(self.block);
        if found != needed {
            return bad(&format!(
                "{needed:?} is needed by blocks of {} along axis {axis}",
                self.block
            ));
        }
        let repeated = cx.repeat(a, self.block, axis)?;
        cx.slice_axis(&repeated, axis, 0, dims[axis])
    }
}
