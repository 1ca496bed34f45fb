//! Conv.
use super::window::{Axis, Window, padded, spatial, taps_of};
use crate::device::{Array, Conv, DType, Emit};
use crate::error::{Error, Result};
use crate::ops::linalg::widened;
use crate::ops::{NodeRef, OpDef, Planned, Reject, lower, op};

pub(in crate::ops) const OPS: &[OpDef] = &[op!("Conv", 1.., [FLOAT64], conv)];

/// With at most this many taps a depthwise convolution is a sum over its taps.
const MAX_SUMMED_TAPS: usize = 64;

/// Unfolded windows are made in parts of at most this many bytes.
const MAX_UNFOLDED_BYTES: usize = 64 << 20;

fn conv(node: &NodeRef<'_>) -> Planned {
    let dtype = node.dtype(0)?;
    let window = Window::read(node)?;
    let groups = node.int_or("group", 1)?;
    let groups = usize::try_from(groups).ok().filter(|g| *g > 0);
    let groups = groups.ok_or_else(|| Reject::Attribute("group".into()))?;
    // Each device wants its own layout; a session has one device.
    let weight = node.weight(1, format!("conv/{groups}"), move |cx, w| {
        let dims = w.dims();
        if dims.len() > 2 && is_channel_last(cx, w.dtype(), &dims[2..], groups) {
            cx.contiguous(&cx.transpose(w, &channel_last(dims.len()))?)
        } else {
            // One more axis tells this layout from the other.
            cx.expand_dims(&widened(cx, w)?, &[0])
        }
    });
    lower(move |cx, x| {
        let input = x.array(0)?;
        let sizes = spatial(input)?;
        let weight = x.weight(weight)?;
        let native = weight.rank() == sizes.len() + 2;
        let mut dims = weight.dims();
        if native {
            let channels = dims.remove(dims.len() - 1);
            dims.insert(1, channels);
        } else {
            dims.remove(0);
        }
        check_weights(input.dim(1), &sizes, &dims, groups)?;
        let axes = window.over(&sizes, &window.kernel_or(&dims[2..])?)?;
        if let Some(axis) = axes.iter().find(|a| a.out == 0 && a.size > 0) {
            return Err(Error::invalid(format!(
                "a kernel of {} elements does not fit an axis of {}, padding included",
                axis.extent(),
                axis.low + axis.size + axis.high
            )));
        }
        let outs = axes.iter().map(|a| a.out);
        let out: Vec<_> = [input.dim(0), dims[0]].into_iter().chain(outs).collect();
        let y = if out.contains(&0) || input.size() == 0 {
            cx.zeros(&out, dtype)?
        } else if native {
            with_kernel(cx, input, &weight, &axes, groups)?
        } else {
            let wide = cx.astype(input, weight.dtype())?;
            let taps = dims[2..].iter().product::<usize>();
            if dims[1] == 1 && groups > 1 && taps <= MAX_SUMMED_TAPS {
                depthwise(cx, &wide, &weight, &axes)?
            } else {
                unfolded(cx, &wide, &weight, &axes, groups)?
            }
        };
        let y = match x.optional(2)? {
            Some(bias) => cx.add(&y, &per_channel(cx, bias, &y)?)?,
            None => y,
        };
        cx.astype(&y, dtype)
    })
}

/// Whether MLX's convolution kernels run it, which want channels last. On the CPU a product with unfolded windows is
/// as fast, needs no transposes, and takes groups and dilations, for which MLX has only a slow loop there; windows of
/// one element are a plain product everywhere.
fn is_channel_last(cx: &Emit, dtype: DType, kernel: &[usize], groups: usize) -> bool {
    !cx.runs_on_cpu(dtype)
        && kernel.iter().any(|k| *k != 1)
        && (kernel.len() <= 2 || (kernel.len() == 3 && groups == 1))
}

/// One value per channel, to be broadcast to `y`.
pub(super) fn per_channel(cx: &Emit, values: &Array, y: &Array) -> Result<Array> {
    if y.rank() < 2 || values.size() != y.dim(1) {
        return Err(Error::invalid(format!(
            "{} values are given for {} channels",
            values.size(),
            y.dim(1)
        )));
    }
    let mut dims = vec![1; y.rank()];
    dims[1] = values.size();
    cx.reshape(&cx.astype(values, y.dtype())?, &dims)
}

fn channel_last(rank: usize) -> Vec<usize> {
    [0].into_iter().chain(2..rank).chain([1]).collect()
}

fn channel_first(rank: usize) -> Vec<usize> {
    [0, rank - 1].into_iter().chain(1..rank - 1).collect()
}

fn check_weights(channels: usize, sizes: &[usize], weights: &[usize], groups: usize) -> Result<()> {
    if weights.len() == sizes.len() + 2
        && weights[1] * groups == channels
        && weights[0].is_multiple_of(groups)
    {
        return Ok(());
    }
    Err(Error::invalid(format!(
        "weights of shape {weights:?} do not fit {groups} groups of {channels} channels with {} spatial axes",
        sizes.len()
    )))
}

/// With MLX's kernels.
fn with_kernel(
    cx: &Emit,
    x: &Array,
    weight: &Array,
    axes: &[Axis],
    groups: usize,
) -> Result<Array> {
    let conv = Conv {
        stride: axes.iter().map(|a| a.stride).collect(),
        pad_low: axes.iter().map(|a| a.low).collect(),
        pad_high: axes.iter().map(Axis::missing).collect(),
        dilation: axes.iter().map(|a| a.dilation).collect(),
        input_dilation: vec![1; axes.len()],
        groups,
        flip: false,
    };
    let y = cx.conv(&cx.transpose(x, &channel_last(x.rank()))?, weight, &conv)?;
    cx.transpose(&y, &channel_first(x.rank()))
}

/// As a product of the weights and the windows, each laid out as a column. `weight` is [1, O, C / groups, kernel..].
fn unfolded(cx: &Emit, x: &Array, weight: &Array, axes: &[Axis], groups: usize) -> Result<Array> {
    let (batch, channels, outputs) = (x.dim(0), x.dim(1), weight.dim(1));
    let inner = weight.size() / outputs;
    let weight = cx.reshape(weight, &[groups, outputs / groups, inner])?;
    let zero = cx.float(0.0, x.dtype())?;
    let x = cx.contiguous(&padded(cx, x, axes, &zero)?)?;
    let outs: Vec<_> = axes.iter().map(|a| a.out).collect();
    let product = |columns: &Array, rows: usize| {
        let count = rows * outs[1..].iter().product::<usize>();
        let columns = cx.reshape(columns, &[batch, groups, inner, count])?;
        let mut dims = vec![batch, outputs, rows];
        dims.extend(&outs[1..]);
        cx.reshape(&cx.matmul(&weight, &columns)?, &dims)
    };
    if axes.iter().all(Axis::is_point) {
        return product(&x, outs[0]);
    }
    let row_bytes =
        batch * groups * inner * outs[1..].iter().product::<usize>() * x.dtype().bits() / 8;
    let rows = (MAX_UNFOLDED_BYTES / row_bytes.max(1)).clamp(1, outs[0]);
    let strides = row_major(&x.dims());
    let kernel = axes.iter().map(|a| a.kernel);
    let mut dims: Vec<_> = [batch, channels]
        .into_iter()
        .chain(kernel)
        .chain(outs.iter().copied())
        .collect();
    let along = |f: fn(&Axis) -> usize| axes.iter().map(f).zip(&strides[2..]).map(|(by, s)| by * s);
    let steps = [strides[0], strides[1]]
        .into_iter()
        .chain(along(|a| a.dilation))
        .chain(along(|a| a.stride));
    let steps: Vec<_> = steps.collect();
    let split = axes.len() + 2;
    let mut parts = Vec::with_capacity(outs[0].div_ceil(rows));
    for first in (0..outs[0]).step_by(rows) {
        dims[split] = rows.min(outs[0] - first);
        let windows = cx.as_strided(&x, &dims, &steps, first * steps[split])?;
        parts.push(product(&windows, dims[split])?);
    }
    match parts.len() {
        1 => Ok(parts.remove(0)),
        _ => cx.concatenate(&parts.iter().collect::<Vec<_>>(), 2),
    }
}

/// One group per channel: the sum over the taps of the input they see times their weights.
fn depthwise(cx: &Emit, x: &Array, weight: &Array, axes: &[Axis]) -> Result<Array> {
    let (channels, outputs) = (x.dim(1), weight.dim(1));
    let zero = cx.float(0.0, x.dtype())?;
    let mut x = padded(cx, x, axes, &zero)?;
    if outputs != channels {
        x = cx.repeat(&x, outputs / channels, 1)?;
    }
    let taps = axes.iter().map(|a| a.kernel).product::<usize>();
    let weight = cx.reshape(weight, &[outputs, taps])?;
    let cuts: Vec<_> = (1..taps).collect();
    let weights = if taps == 1 {
        vec![weight]
    } else {
        cx.split(&weight, &cuts, 1)?
    };
    let mut sum: Option<Array> = None;
    for (tap, weight) in weights.iter().enumerate() {
        let (mut rest, mut taps) = (tap, vec![None; axes.len()]);
        for (i, axis) in axes.iter().enumerate().rev() {
            taps[i] = Some((axis, rest % axis.kernel));
            rest /= axis.kernel;
        }
        let seen = taps_of(cx, &x, &taps)?;
        let term = cx.multiply(&seen, &per_channel(cx, weight, &seen)?)?;
        sum = Some(match sum {
            Some(sum) => cx.add(&sum, &term)?,
            None => term,
        });
    }
    sum.ok_or_else(|| Error::internal("a kernel without taps"))
}

/// The strides of a row-major array, in elements.
pub(super) fn row_major(dims: &[usize]) -> Vec<usize> {
    let mut strides = vec![1; dims.len()];
    for i in (1..dims.len()).rev() {
        strides[i - 1] = strides[i] * dims[i];
    }
    strides
}

#[cfg(test)]
mod tests;
