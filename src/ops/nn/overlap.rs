//! Windows that are added where they overlap: what ConvTranspose and Col2Im have in common.
use crate::device::{Array, Emit};
use crate::error::{Error, Result};

/// What one axis of the input becomes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Spread {
    pub(super) kernel: usize,
    pub(super) stride: usize,
    pub(super) dilation: usize,
    /// Elements that are cut off at the start.
    pub(super) low: usize,
    pub(super) out: usize,
}

/// Adds up the terms that fall on the same element: [N, O, full..], where a full axis may be longer than the sum needs.
pub(super) fn overlapped(cx: &Emit, terms: Array, axes: &[Spread]) -> Result<Array> {
    let rank = axes.len();
    if axes.iter().all(|a| a.kernel == a.stride && a.dilation == 1) {
        // Nothing overlaps: the taps of an element lie side by side.
        let order = [0, 1]
            .into_iter()
            .chain((0..rank).flat_map(|i| [rank + 2 + i, 2 + i]));
        let mut full = terms.dims()[..2].to_vec();
        full.extend(
            axes.iter()
                .enumerate()
                .map(|(i, a)| terms.dim(rank + 2 + i) * a.kernel),
        );
        return cx.reshape(&cx.transpose(&terms, &order.collect::<Vec<_>>())?, &full);
    }
    let mut terms = terms;
    for axis in axes {
        // Its taps are at axis 2, those of the axes before are gone.
        terms = along(cx, &terms, axis, rank + 1)?;
    }
    Ok(terms)
}

/// Removes the taps at axis 2 by adding each, moved by its offset, into the axis that lies at `place` without them.
fn along(cx: &Emit, terms: &Array, axis: &Spread, place: usize) -> Result<Array> {
    let taps: Vec<_> = if axis.kernel == 1 {
        vec![terms.clone()]
    } else {
        cx.split(terms, &(1..axis.kernel).collect::<Vec<_>>(), 2)?
    };
    let taps = taps
        .iter()
        .map(|t| cx.squeeze(t, &[2]))
        .collect::<Result<Vec<_>>>()?;
    // Element `i` of tap `t` falls on `(i + t * dilation / stride) * stride + t * dilation % stride`.
    let offset = |tap: usize| {
        (
            tap * axis.dilation / axis.stride,
            tap * axis.dilation % axis.stride,
        )
    };
    let most = offset(axis.kernel - 1).0;
    let zero = cx.scalar(0.0, terms.dtype())?;
    cx.fits("the phases of a stride", axis.stride, 128)?;
    let mut phases: Vec<Option<Array>> = vec![None; axis.stride];
    for (tap, values) in taps.iter().enumerate() {
        let (whole, phase) = offset(tap);
        let (mut low, mut high) = (vec![0; values.rank()], vec![0; values.rank()]);
        (low[place], high[place]) = (whole, most - whole);
        let moved = if most == 0 {
            values.clone()
        } else {
            cx.pad(values, &low, &high, &zero, c"constant")?
        };
        let sum = phases[phase]
            .take()
            .map(|sum| cx.add(&sum, &moved))
            .transpose()?;
        phases[phase] = Some(sum.unwrap_or(moved));
    }
    let mut dims = taps[0].dims();
    dims[place] += most;
    let phases = phases
        .into_iter()
        .map(|p| p.map_or_else(|| cx.full(&dims, &zero), Ok))
        .collect::<Result<Vec<_>>>()?;
    if let [only] = phases.as_slice() {
        return Ok(only.clone());
    }
    dims[place] *= axis.stride;
    cx.reshape(
        &cx.stack(&phases.iter().collect::<Vec<_>>(), place + 1)?,
        &dims,
    )
}

/// The wanted part of the full result; beyond it there is nothing.
pub(super) fn cut(cx: &Emit, full: &Array, axes: &[Spread]) -> Result<Array> {
    let mut high = vec![0; full.rank()];
    for (i, axis) in axes.iter().enumerate() {
        high[i + 2] = (axis.low + axis.out).saturating_sub(full.dim(i + 2));
    }
    let zero = cx.scalar(0.0, full.dtype())?;
    let full = if high.iter().all(|h| *h == 0) {
        full.clone()
    } else {
        cx.pad(full, &vec![0; high.len()], &high, &zero, c"constant")?
    };
    let (mut start, mut stop) = (vec![0; full.rank()], full.shape().to_vec());
    let int = |v: usize| i32::try_from(v).map_err(|_| Error::internal("an axis out of range"));
    for (i, axis) in axes.iter().enumerate() {
        start[i + 2] = int(axis.low)?;
        stop[i + 2] = int(axis.low + axis.out)?;
    }
    cx.slice(&full, &start, &stop, &vec![1; full.rank()])
}
