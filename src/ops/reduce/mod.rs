//! Reductions, positions of extremes, running sums and the largest elements.
mod arg;
mod cumulative;
mod fold;
mod topk;

use crate::device::{Array, DType, Emit};
use crate::error::Result;

/// The type in which many elements are summed: 16-bit floats would lose them.
pub(in crate::ops) fn accumulator(dtype: DType) -> DType {
    if dtype.is_float() && dtype.bits() == 16 {
        DType::F32
    } else {
        dtype
    }
}

/// The smallest value of a type, which any other replaces in a maximum: minus infinity for floats.
pub(in crate::ops) fn lowest(cx: &Emit, dtype: DType) -> Result<Array> {
    if dtype.is_float() {
        return cx.float(f64::NEG_INFINITY, dtype);
    }
    let signed = 1i64
        .checked_shl(bits(dtype) - 1)
        .unwrap_or(0)
        .wrapping_neg();
    cx.int(if dtype.is_signed_int() { signed } else { 0 }, dtype)
}

/// The largest value of a type: infinity for floats.
pub(in crate::ops) fn highest(cx: &Emit, dtype: DType) -> Result<Array> {
    if dtype.is_float() {
        return cx.float(f64::INFINITY, dtype);
    }
    let value = match dtype {
        DType::Bool => 1,
        _ if dtype.is_signed_int() => i64::MAX >> (64 - bits(dtype)),
        // All bits: the low bytes of -1.
        _ => -1,
    };
    cx.int(value, dtype)
}

fn bits(dtype: DType) -> u32 {
    u32::try_from(dtype.bits()).unwrap_or(64)
}

/// The rows of this family, by file.
pub(super) const FAMILY: &[&[super::OpDef]] = &[arg::OPS, cumulative::OPS, fold::OPS, topk::OPS];
