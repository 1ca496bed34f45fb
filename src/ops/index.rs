//! The one way from index values to an array that MLX may index with. MLX does not check indices: one that is
//! out of range reads or writes outside its tensor, and on CUDA ends the process's GPU context.
use super::{HostTensor, Inputs};
use crate::device::{Array, DType, Emit};
use crate::error::{Error, Result};
use std::ops::RangeInclusive;

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
    if let Some(range) = x.host_range(input)? {
        check("index", input, range, -size..=size - 1)?;
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

/// The index tuples along the last axis of input `input`, as positions in the flattened axes of sizes `bounds`.
/// Each column is checked, wrapped and clamped as [`within`] does it.
pub(crate) fn tuples(cx: &Emit, x: &Inputs<'_>, input: usize, bounds: &[usize]) -> Result<Array> {
    let tuples = cx.astype(x.array(input)?, DType::I64)?;
    let (columns, rest) = match x.dims(input)?.split_last() {
        Some((columns, rest)) if *columns == bounds.len() => (*columns, rest),
        _ => return Err(Error::internal("index tuples of another width")),
    };
    if tuples.size() == 0 {
        return cx.zeros(rest, DType::I64);
    }
    if bounds.contains(&0) {
        return Err(Error::invalid(format!(
            "input {input} indexes an axis of size 0"
        )));
    }
    let sizes = bounds.iter().map(|bound| i64::try_from(*bound));
    let sizes = sizes.collect::<Result<Vec<_>, _>>();
    let sizes = sizes.map_err(|_| Error::internal("an axis out of range"))?;
    if let Some(ranges) = x.host_ranges(input, columns)? {
        for (range, size) in ranges.into_iter().zip(&sizes) {
            check("index", input, range, -size..=size - 1)?;
        }
    }
    let mut steps = vec![1; columns];
    for column in (1..columns).rev() {
        steps[column - 1] = steps[column] * sizes[column];
    }
    let row = |values: &[i64]| cx.int64s(&[columns], values);
    let last: Vec<_> = sizes.iter().map(|size| size - 1).collect();
    let inside = wrap(cx, &tuples, &row(&sizes)?, &row(&last)?)?;
    let positions = cx.multiply(&inside, &row(&steps)?)?;
    cx.sum(&positions, &[rest.len()], false)
}

/// One position in a flattened tensor of sizes `bounds` for each element of input `input`: the element is the index
/// along `axis`, and its own place gives those along the other axes, where there are no more places than `bounds`.
pub(crate) fn elements(
    cx: &Emit,
    x: &Inputs<'_>,
    input: usize,
    axis: usize,
    bounds: &[usize],
) -> Result<Array> {
    let mut steps = vec![1; bounds.len()];
    for i in (1..bounds.len()).rev() {
        steps[i - 1] = steps[i] * bounds[i];
    }
    // The sizes of MLX's axes are 32-bit, and so are the positions along them.
    let times = |a: &Array, step: usize| {
        let step =
            i32::try_from(step).map_err(|_| Error::invalid("a tensor of too many elements"))?;
        cx.multiply(a, &cx.int(step.into(), DType::I32)?)
    };
    let along = cx.astype(&within(cx, x, input, bounds[axis])?, DType::I32)?;
    let mut out = times(&along, steps[axis])?;
    for (i, places) in x.dims(input)?.iter().enumerate() {
        if i != axis && *places > 1 {
            let mut dims = vec![1; bounds.len()];
            dims[i] = *places;
            let place = times(&cx.arange(*places, DType::I32)?, steps[i])?;
            out = cx.add(&out, &cx.reshape(&place, &dims)?)?;
        }
    }
    Ok(out)
}

/// The numbers of input `input`, all in `0..=last`. One that is out of range is an error or clamped, as [`within`] says.
pub(crate) fn at_most(cx: &Emit, x: &Inputs<'_>, input: usize, last: usize) -> Result<Array> {
    let bound = i64::try_from(last).map_err(|_| Error::internal("an axis out of range"))?;
    if let Some(range) = x.host_range(input)? {
        check("value", input, range, 0..=bound)?;
    }
    let values = x.array(input)?;
    let number = |v| cx.int(v, values.dtype());
    cx.minimum(&cx.maximum(values, &number(0)?)?, &number(bound)?)
}

fn check(
    what: &str,
    input: usize,
    (low, high): (i64, i64),
    allowed: RangeInclusive<i64>,
) -> Result<()> {
    match [low, high].iter().find(|value| !allowed.contains(value)) {
        None => Ok(()),
        Some(value) => Err(Error::invalid(format!(
            "{what} {value} in input {input} is out of range: it must be in [{}, {}]",
            allowed.start(),
            allowed.end()
        ))),
    }
}

/// Wraps negative indices of a computed array and clamps all to `0..size`.
pub(crate) fn clamp(cx: &Emit, indices: &Array, size: i64) -> Result<Array> {
    let dtype = indices.dtype();
    wrap(
        cx,
        indices,
        &cx.int(size, dtype)?,
        &cx.int(size - 1, dtype)?,
    )
}

fn wrap(cx: &Emit, indices: &Array, length: &Array, last: &Array) -> Result<Array> {
    let zero = cx.int(0, indices.dtype())?;
    let wrapped = cx.select(
        &cx.less(indices, &zero)?,
        &cx.add(indices, length)?,
        indices,
    )?;
    cx.minimum(&cx.maximum(&wrapped, &zero)?, last)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::{DeviceKind, on_thread, testing};
    use crate::ops::Tensor;

    /// What becomes of indices that only the device knows.
    fn computed(
        dims: &'static [usize],
        values: &'static [i64],
        bounds: &'static [usize],
    ) -> Vec<i64> {
        testing::open();
        let made = on_thread(|thread| {
            let cx = thread.emit(DeviceKind::Cpu)?;
            let tensor = Tensor::from_array(cx.int64s(dims, values)?);
            let x = Inputs::new(cx, vec![Some(&tensor)], vec![]);
            let indices = match bounds {
                [bound] => within(cx, &x, 0, *bound)?,
                bounds => tuples(cx, &x, 0, bounds)?,
            };
            cx.read_bytes(&indices)
        });
        let bytes = made.unwrap();
        let value = |c: &[u8]| i64::from_le_bytes(c.try_into().unwrap());
        bytes.chunks_exact(8).map(value).collect()
    }

    #[test]
    fn computed_indices_are_clamped() {
        let values = &[0, -1, 2, -3, 3, -4, i64::MAX, i64::MIN];
        assert_eq!(computed(&[8], values, &[3]), [0, 2, 2, 0, 2, 0, 2, 0]);
        assert_eq!(computed(&[2, 0], &[], &[3]), [0i64; 0]);
    }

    #[test]
    fn computed_tuples_are_clamped_by_column() {
        let values = &[0, 4, 1, -5, -1, 9, 7, -9, i64::MIN, i64::MAX];
        assert_eq!(computed(&[5, 2], values, &[2, 5]), [4, 5, 9, 5, 4]);
        assert_eq!(computed(&[0, 2], &[], &[2, 5]), [0i64; 0]);
    }
}
