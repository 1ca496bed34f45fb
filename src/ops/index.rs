//! The one way from index values to an array that MLX may index with. MLX does not check indices: one that is
//! out of range reads or writes outside its tensor, and on CUDA ends the process's GPU context.
use super::{HostTensor, Inputs};
use crate::device::{Array, Emit};
use crate::error::{Error, Result};

/// The indices of input `input`, negative ones wrapped, all in `0..bound`.
///
/// An index out of range is an error where the caller can be told: the values are host-known or come from the
/// caller. One that the model computes is clamped.
pub(crate) fn within(cx: &Emit, x: &Inputs<'_>, input: usize, bound: usize) -> Result<Array> {
    let size = i64::try_from(bound).map_err(|_| Error::internal("an axis out of range"))?;
    let indices = x.array(input)?;
    if indices.size() == 0 {
        return Ok(indices.clone());
    }
    if bound == 0 {
        return Err(Error::invalid(format!(
            "input {input} indexes an axis of size 0"
        )));
    }
    if let Some((low, high)) = x.host_range(input)? {
        for value in [low, high] {
            if value < -size || value >= size {
                return Err(Error::invalid(format!(
                    "index {value} in input {input} is out of range: it must be in [{}, {}]",
                    -size,
                    size - 1
                )));
            }
        }
    }
    let plain = |host: &HostTensor| {
        host.as_ints()
            .is_some_and(|v| v.iter().all(|i| (0..size).contains(i)))
    };
    if x.known(input).is_some_and(plain) {
        return Ok(indices.clone());
    }
    clamp(cx, indices, size)
}

/// Wraps negative indices of a computed array and clamps all to `0..size`.
pub(crate) fn clamp(cx: &Emit, indices: &Array, size: i64) -> Result<Array> {
    let dtype = indices.dtype();
    let (zero, length, last) = (
        cx.int(0, dtype)?,
        cx.int(size, dtype)?,
        cx.int(size - 1, dtype)?,
    );
    let wrapped = cx.select(
        &cx.less(indices, &zero)?,
        &cx.add(indices, &length)?,
        indices,
    )?;
    cx.minimum(&cx.maximum(&wrapped, &zero)?, &last)
}
