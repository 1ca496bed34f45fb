//! Double to float on the way to a narrower type.
use crate::device::{Array, DType, Emit};
use crate::error::Result;

/// Doubles as floats, rounded to odd: one that is not exact becomes the neighbour with an odd last bit, and one beyond
/// every float infinity. What is rounded from there to a format of at most 22 bits is what the double itself is.
pub(super) fn inexact(cx: &Emit, a: &Array) -> Result<Array> {
    let near = cx.astype(a, DType::F32)?;
    let bits = cx.view(&near, DType::I32)?;
    let is_even = cx.equal(
        &cx.bitwise_and(&bits, &cx.int(1, DType::I32)?)?,
        &cx.int(0, DType::I32)?,
    )?;
    let step = |wrong: &Array| cx.astype(&cx.logical_and(wrong, &is_even)?, DType::I32);
    // Bits grow with the magnitude.
    let (exact, near) = (cx.abs(a)?, cx.abs(&cx.astype(&near, DType::F64)?)?);
    let end = cx.float(128f64.exp2(), DType::F64)?;
    let up = step(&cx.greater(&exact, &near)?)?;
    let down = step(&cx.less(&exact, &cx.minimum(&near, &end)?)?)?;
    cx.view(&cx.subtract(&cx.add(&bits, &up)?, &down)?, DType::F32)
}
