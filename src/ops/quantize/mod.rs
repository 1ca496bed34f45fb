//! Quantisation: numbers as small ones with a scale and a zero point.
mod dynamic;
mod granularity;
mod linear;
mod matmul;

use super::elementwise::cast::{Rule, convert};
use crate::device::{Array, DType, Emit, Types};
use crate::error::Result;

/// The rows of this family, by file.
pub(super) const FAMILY: &[&[super::OpDef]] = &[dynamic::OPS, linear::OPS, matmul::OPS];

/// The types of quantised integers.
const INTEGERS: Types = Types::from_bits_retain(
    Types::U8.bits()
        | Types::I8.bits()
        | Types::U16.bits()
        | Types::I16.bits()
        | Types::SMALL_INT.bits(),
);

/// `ratio` rounded half to even, moved by the zero point, as the nearest number of `to`. `ratio` is a float of MLX;
/// `zero_point` is float32 and broadcasts to it.
fn quantized(
    cx: &Emit,
    ratio: &Array,
    zero_point: Option<&Array>,
    to: DType,
    saturate: bool,
) -> Result<Array> {
    let ratio = cx.astype(ratio, DType::F32)?;
    let moved = |a: &Array| zero_point.map_or_else(|| Ok(a.clone()), |z| cx.add(a, z));
    if !INTEGERS.contains(to.set()) {
        let rule = Rule {
            saturate,
            ..Rule::default()
        };
        return convert(cx, &moved(&ratio)?, DType::F32, to, rule);
    }
    let (low, high) = bounds(to);
    let bound = |v| cx.scalar(v, DType::F32);
    let number = moved(&cx.round(&ratio)?)?;
    let inside = cx.minimum(&cx.maximum(&number, &bound(low)?)?, &bound(high)?)?;
    cx.astype(&inside, to.storage())
}

/// Smallest and largest value of an integer type.
fn bounds(dtype: DType) -> (f64, f64) {
    let bits = i32::try_from(dtype.bits()).unwrap_or(0);
    if dtype.is_signed_int() || matches!(dtype, DType::I4 | DType::I2) {
        (-(2f64.powi(bits - 1)), 2f64.powi(bits - 1) - 1.0)
    } else {
        (0.0, 2f64.powi(bits) - 1.0)
    }
}
