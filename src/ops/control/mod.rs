//! Control flow: operators whose attributes are graphs.
mod branch;
mod repeat;
mod scan;
mod stacked;

use super::{HostTensor, Tensor};
use crate::device::Emit;
use crate::error::{Error, Result};
use stacked::Stack;

/// The rows of this family, by file.
pub(super) const FAMILY: &[&[super::OpDef]] = &[branch::OPS, repeat::OPS, scan::OPS];

/// After so many iterations what they left is evaluated: else the graph of MLX calls would grow with them.
const EVALUATE_EVERY: usize = 16;

/// The element of an integer or boolean tensor that has one.
fn only(tensor: &HostTensor, what: &str) -> Result<i64> {
    match tensor.as_ints() {
        Some([value]) => Ok(*value),
        _ => Err(Error::invalid(format!(
            "{what} has {} elements instead of one",
            tensor.len()
        ))),
    }
}

/// Evaluates what is carried and stacked, now and then.
fn settle(cx: &Emit, trips: u64, state: &[Tensor<'_>], stacks: &[Stack]) -> Result<()> {
    if !trips.is_multiple_of(EVALUATE_EVERY as u64) {
        return Ok(());
    }
    let carried = state.iter().filter_map(Tensor::made_array);
    let stacked = stacks.iter().flat_map(|stack| stack.newest(EVALUATE_EVERY));
    cx.eval(&carried.chain(stacked).collect::<Vec<_>>())
}
