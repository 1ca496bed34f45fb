//! Matrix products.
mod gemm;
mod integer;
mod matmul;

pub(in crate::ops) use matmul::check as check_matmul;

use crate::device::{Array, DType, Emit};
use crate::error::Result;
use crate::ops::{NodeRef, Weight};

/// The type in which a product is computed: 16-bit floats are widened on the CPU, where MLX has no fast kernel for them.
pub(in crate::ops) fn compute_type(cx: &Emit, dtype: DType) -> DType {
    if dtype.bits() == 16 && dtype.is_float() && cx.runs_on_cpu(dtype) {
        DType::F32
    } else {
        dtype
    }
}

/// An array in the type in which a product is computed.
pub(in crate::ops) fn widened(cx: &Emit, a: &Array) -> Result<Array> {
    cx.astype(a, compute_type(cx, a.dtype()))
}

/// An operand of a product; a constant is widened once.
fn operand(node: &NodeRef<'_>, input: usize) -> Weight {
    node.weight(input, "product", widened)
}

/// The rows of this family, by file.
pub(super) const FAMILY: &[&[super::OpDef]] = &[gemm::OPS, matmul::OPS];
