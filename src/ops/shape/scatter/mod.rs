//! Scatter, ScatterElements and ScatterND.
#[cfg(test)]
mod tests;

use crate::device::{Array, DType, Emit, Scatter};
use crate::error::{Error, Result};
use crate::ops::{self, NodeRef, OpDef, Planned, Reject, index, lower, op};

pub(in crate::ops) const OPS: &[OpDef] = &[
    op!("Scatter", 9.., [ANY, INDEX, ANY], |node| elements(
        node,
        Scatter::Set
    )),
    op!("ScatterElements", 11..=15, [ANY, INDEX, ANY], |node| {
        elements(node, Scatter::Set)
    }),
    op!(
        "ScatterElements",
        16..,
        [ANY, INDEX, ANY],
        |node: &NodeRef<'_>| { elements(node, reduction(node)?) }
    ),
    op!("ScatterND", 11..=15, [ANY, I64, ANY], |_| tuples(
        Scatter::Set
    )),
    op!("ScatterND", 16.., [ANY, I64, ANY], |node: &NodeRef<'_>| {
        tuples(reduction(node)?)
    }),
];

fn reduction(node: &NodeRef<'_>) -> Result<Scatter, Reject> {
    match node.string_or("reduction", "none")? {
        "none" => Ok(Scatter::Set),
        "add" => Ok(Scatter::Add),
        "mul" => Ok(Scatter::Multiply),
        "max" if node.opset() >= 18 => Ok(Scatter::Max),
        "min" if node.opset() >= 18 => Ok(Scatter::Min),
        _ => node.bad_attribute("reduction"),
    }
}

fn elements(node: &NodeRef<'_>, how: Scatter) -> Planned {
    let axis = node.int_or("axis", 0)?;
    lower(move |cx, x| {
        let (data, updates) = (x.array(0)?, x.array(2)?);
        let (dims, places) = (data.dims(), x.dims(1)?);
        let axis = ops::axis(axis, dims.len())?;
        let fits = places.len() == dims.len()
            && (0..dims.len()).all(|i| i == axis || places[i] <= dims[i])
            && updates.dims() == places;
        if !fits {
            return Err(misfit(places, &updates.dims(), &dims));
        }
        if updates.size() == 0 {
            return Ok(data.clone());
        }
        let positions = index::elements(cx, x, 1, axis, &dims)?;
        let flat = |a: &Array| cx.reshape(a, &[a.size()]);
        let made = scatter(cx, &flat(data)?, &flat(&positions)?, &flat(updates)?, how)?;
        cx.reshape(&made, &dims)
    })
}

fn tuples(how: Scatter) -> Planned {
    lower(move |cx, x| {
        let (data, updates) = (x.array(0)?, x.array(2)?);
        let (dims, found) = (data.dims(), x.dims(1)?);
        let parts = found.split_last().and_then(|(width, tuples)| {
            let (indexed, row) = dims.split_at_checked(*width)?;
            (updates.dims() == [tuples, row].concat()).then_some((indexed, row))
        });
        let Some((indexed, row)) = parts else {
            return Err(misfit(found, &updates.dims(), &dims));
        };
        if updates.size() == 0 {
            return Ok(data.clone());
        }
        let positions = index::tuples(cx, x, 1, indexed)?;
        let (rows, width) = (indexed.iter().product(), row.iter().product());
        let count = positions.size();
        let positions = cx.reshape(&positions, &[count])?;
        let (data, updates) = (
            cx.reshape(data, &[rows, width])?,
            cx.reshape(updates, &[count, width])?,
        );
        cx.reshape(&scatter(cx, &data, &positions, &updates, how)?, &dims)
    })
}

fn misfit(indices: &[usize], updates: &[usize], data: &[usize]) -> Error {
    Error::invalid(format!(
        "indices of shape {indices:?} in input 1 and updates of shape {updates:?} in input 2 do not fit \
         data of shape {data:?} in input 0"
    ))
}

/// Combines rows of `data` with updates, in a type in which the combination is exact and that MLX scatters.
fn scatter(
    cx: &Emit,
    data: &Array,
    positions: &Array,
    updates: &Array,
    how: Scatter,
) -> Result<Array> {
    let dtype = data.dtype();
    if how == Scatter::Set {
        return cx.scatter(data, positions, updates, how);
    }
    // Small integers wrap at the end as they would at each step. Halves are rounded once.
    let wide = match dtype {
        DType::F16 | DType::BF16 => DType::F32,
        small if small.bits() < 32 => DType::I32,
        wide => wide,
    };
    let how = match (dtype, how) {
        (DType::Bool, Scatter::Add) => Scatter::Max,
        (_, how) => how,
    };
    let (data, updates) = (cx.astype(data, wide)?, cx.astype(updates, wide)?);
    let made = if wide.is_float() && matches!(how, Scatter::Max | Scatter::Min) {
        let key = |a| to_order(cx, a, how);
        of_order(
            cx,
            &cx.scatter(&key(&data)?, positions, &key(&updates)?, how)?,
            wide,
        )?
    } else {
        cx.scatter(&data, positions, &updates, how)?
    };
    cx.astype(&made, dtype)
}

/// Integers that are ordered like these floats, and where NaN wins: MLX's atomic maximum may lose it.
fn to_order(cx: &Emit, a: &Array, how: Scatter) -> Result<Array> {
    let (dtype, low, high) = order_of(a.dtype());
    let key = mirror(cx, &cx.view(a, dtype)?, high)?;
    let nan = cx.int(if how == Scatter::Max { high } else { low }, dtype)?;
    cx.select(&cx.isnan(a)?, &nan, &key)
}

/// The floats of type `dtype` that [`to_order`] made integers of.
fn of_order(cx: &Emit, keys: &Array, dtype: DType) -> Result<Array> {
    let (_, _, high) = order_of(dtype);
    cx.view(&mirror(cx, keys, high)?, dtype)
}

/// The integer type of a float type's width, its smallest and its largest value.
fn order_of(dtype: DType) -> (DType, i64, i64) {
    if dtype == DType::F64 {
        (DType::I64, i64::MIN, i64::MAX)
    } else {
        (DType::I32, i32::MIN.into(), i32::MAX.into())
    }
}

/// Reverses the order of negative integers, which as the bits of floats grow away from zero.
fn mirror(cx: &Emit, bits: &Array, high: i64) -> Result<Array> {
    let number = |v| cx.int(v, bits.dtype());
    let mirrored = cx.bitwise_xor(bits, &number(high)?)?;
    cx.select(&cx.less(bits, &number(0)?)?, &mirrored, bits)
}
