//! GridSample.
use super::sample::{Beyond, Edge, Images, Method};
use crate::device::{Array, DType, Emit};
use crate::error::{Error, Result};
use crate::ops::reduce::accumulator;
use crate::ops::{NodeRef, OpDef, Planned, Reject, lower, op};

pub(in crate::ops) const OPS: &[OpDef] = &[op!("GridSample", 16.., [ANY, FLOAT64], grid_sample)];

fn grid_sample(node: &NodeRef<'_>) -> Planned {
    let dtype = node.dtype(0)?;
    let method = match node.string_or("mode", "linear")? {
        "nearest" => Method::Nearest,
        "linear" | "bilinear" => Method::Linear,
        "cubic" | "bicubic" => Method::Cubic,
        _ => return node.bad_attribute("mode"),
    };
    if method != Method::Nearest && !dtype.is_float() {
        return Err(Reject::Form("interpolation of this element type"));
    }
    let edge = if node.flag("align_corners", false)? {
        Edge::Middle
    } else {
        Edge::Border
    };
    let beyond = match node.string_or("padding_mode", "zeros")? {
        "zeros" => Beyond::Zeros,
        "border" => Beyond::Nearest(edge),
        "reflection" => Beyond::Mirrored(edge),
        _ => return node.bad_attribute("padding_mode"),
    };
    lower(move |cx, x| {
        let (input, grid) = (x.array(0)?, x.array(1)?);
        let (dims, to) = (input.dims(), grid.dims());
        let rank = dims.len().saturating_sub(2);
        let fits = rank > 0 && to.len() == rank + 2 && to[0] == dims[0] && to[rank + 1] == rank;
        if !fits {
            return Err(Error::invalid(format!(
                "a grid of shape {to:?} does not fit an input of shape {dims:?}"
            )));
        }
        let mut out = dims[..2].to_vec();
        out.extend(&to[1..=rank]);
        if out.contains(&0) || (input.size() == 0 && beyond == Beyond::Zeros) {
            return cx.zeros(&out, dtype);
        }
        if input.size() == 0 {
            return Err(Error::invalid(format!(
                "input 0 of shape {dims:?} has no elements to take"
            )));
        }
        let places = places(cx, grid, &dims[2..], edge)?;
        let wide = match method {
            Method::Nearest => input.clone(),
            _ => cx.astype(input, accumulator(dtype))?,
        };
        let y = Images::new(cx, &wide)?.at(cx, &places, method, beyond)?;
        cx.astype(&cx.reshape(&cx.transpose(&y, &[0, 2, 1])?, &out)?, dtype)
    })
}

/// The coordinates [N, K] of each spatial axis. The grid has those of the last axis first, from -1 to 1.
fn places(cx: &Emit, grid: &Array, sizes: &[usize], edge: Edge) -> Result<Vec<Array>> {
    let (rank, dims) = (sizes.len(), grid.dims());
    let dtype = if grid.dtype() == DType::F64 {
        DType::F64
    } else {
        DType::F32
    };
    let grid = cx.astype(grid, dtype)?;
    let flat = [dims[0], dims[1..=rank].iter().product()];
    let number = |v: f64| cx.float(v, dtype);
    (0..rank)
        .map(|axis| {
            let at = rank - 1 - axis;
            let given = cx.reshape(&cx.slice_axis(&grid, rank + 1, at, at + 1)?, &flat)?;
            let from_zero = cx.add(&given, &number(1.0)?)?;
            #[expect(
                clippy::cast_precision_loss,
                reason = "axes have less than 2^31 elements"
            )]
            let size = sizes[axis] as f64;
            match edge {
                Edge::Middle => cx.multiply(
                    &cx.multiply(&from_zero, &number(0.5)?)?,
                    &number(size - 1.0)?,
                ),
                Edge::Border => {
                    let end = cx.multiply(&from_zero, &number(size)?)?;
                    cx.multiply(&cx.subtract(&end, &number(1.0)?)?, &number(0.5)?)
                }
            }
        })
        .collect()
}

#[cfg(test)]
mod tests;
