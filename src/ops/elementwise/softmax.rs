//! Softmax, LogSoftmax and Hardmax. Before opset 13 they act on everything from an axis on, flattened.
use super::activation::in_float32;
use crate::device::{Array, DType, Emit};
use crate::error::{Error, Result};
use crate::ops::{NodeRef, OpDef, Planned, axis, lower, op};

pub(in crate::ops) const OPS: &[OpDef] = &[
    op!("Softmax", 13.., [FLOAT], |node| along(node, softmax)),
    op!("Softmax", 1..=12, [FLOAT], |node| flattened(node, softmax)),
    op!("LogSoftmax", 13.., [FLOAT], |node| along(node, log_softmax)),
    op!("LogSoftmax", 1..=12, [FLOAT], |node| flattened(
        node,
        log_softmax
    )),
    op!("Hardmax", 13.., [FLOAT64], |node| along(node, hardmax)),
    op!("Hardmax", 1..=12, [FLOAT64], |node| flattened(
        node, hardmax
    )),
];

type AlongAxis = fn(&Emit, &Array, usize) -> Result<Array>;

fn along(node: &NodeRef<'_>, f: AlongAxis) -> Planned {
    let at = node.int_or("axis", -1)?;
    lower(move |cx, x| {
        let a = x.array(0)?;
        // ONNX Runtime takes rank 0 for one element, on whose only axis every index fits.
        if a.rank() == 0 {
            let one = cx.reshape(a, &[1])?;
            return cx.reshape(&f(cx, &one, 0)?, &[]);
        }
        let at = axis(at, a.rank())?;
        if a.size() == 0 {
            return Ok(a.clone());
        }
        f(cx, a, at)
    })
}

fn flattened(node: &NodeRef<'_>, f: AlongAxis) -> Planned {
    let at = node.int_or("axis", 1)?;
    lower(move |cx, x| {
        let a = x.array(0)?;
        let dims = a.dims();
        if a.size() == 0 {
            return Ok(a.clone());
        }
        let at = if usize::try_from(at).is_ok_and(|at| at == dims.len()) {
            dims.len()
        } else {
            axis(at, dims.len())?
        };
        let rows: usize = dims[..at].iter().product();
        let matrix = cx.reshape(a, &[rows, a.size() / rows])?;
        cx.reshape(&f(cx, &matrix, 1)?, &dims)
    })
}

fn softmax(cx: &Emit, a: &Array, at: usize) -> Result<Array> {
    if a.dtype() == DType::F32 && cx.runs_on_cpu(DType::F32) && a.dim(at) > LONG_AXIS {
        let shifted = cx.subtract(a, &cx.max(a, &[at], true)?)?;
        let raised = cx.exp(&shifted)?;
        return cx.divide(&raised, &sum_in_parts(cx, &raised, at)?);
    }
    cx.softmax(a, at, true)
}

/// MLX's CPU device adds up an axis in a few float32 lanes: past this length their rounding shows.
const LONG_AXIS: usize = 1024;

/// The sum along an axis, kept as an axis of size 1, first over parts and then of the parts.
fn sum_in_parts(cx: &Emit, a: &Array, at: usize) -> Result<Array> {
    const PART: usize = 128;
    let dims = a.dims();
    let whole = dims[at] / PART * PART;
    let pieces = cx.split(a, &[whole], at)?;
    let [parts, rest] = pieces.as_slice() else {
        return Err(Error::internal("a split into two gave another number"));
    };
    let mut split = dims;
    split[at] = whole / PART;
    split.insert(at + 1, PART);
    let parts = cx.sum(&cx.reshape(parts, &split)?, &[at + 1], false)?;
    let sum = cx.sum(&parts, &[at], true)?;
    cx.add(&sum, &cx.sum(rest, &[at], true)?)
}

fn log_softmax(cx: &Emit, a: &Array, at: usize) -> Result<Array> {
    in_float32(cx, a, |cx, a| {
        // Taking the largest away first keeps the differences of large values.
        let shifted = cx.subtract(a, &cx.max(a, &[at], true)?)?;
        cx.subtract(&shifted, &cx.logsumexp(&shifted, &[at], true)?)
    })
}

/// 1 at the first largest element, 0 elsewhere.
fn hardmax(cx: &Emit, a: &Array, at: usize) -> Result<Array> {
    let first = cx.astype(&cx.argmax(a, at, true)?, DType::I32)?;
    let mut dims = vec![1; a.rank()];
    dims[at] = a.dim(at);
    let positions = cx.reshape(&cx.arange(a.dim(at), DType::I32)?, &dims)?;
    cx.astype(&cx.equal(&positions, &first)?, a.dtype())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::{Case, f32s, floats};

    fn reference(row: &[f64]) -> Vec<f64> {
        let top = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let sum: f64 = row.iter().map(|v| (v - top).exp()).sum();
        row.iter().map(|v| (v - top).exp() / sum).collect()
    }

    #[test]
    fn a_single_axis_from_13_on() {
        let x = f32s(&[2, 2], &[1.0, 2.0, 3.0, 5.0]);
        let rows = [reference(&[1.0, 2.0]), reference(&[3.0, 5.0])].concat();
        Case::new("Softmax", 13).input(x.clone()).run()[0].assert_close(&[2, 2], &rows, 1e-6);
        let logs: Vec<f64> = rows.iter().map(|v| v.ln()).collect();
        Case::new("LogSoftmax", 13).input(x.clone()).run()[0].assert_close(&[2, 2], &logs, 1e-6);
        let (a, b) = (reference(&[1.0, 3.0]), reference(&[2.0, 5.0]));
        let out = Case::new("Softmax", 13).int("axis", 0).input(x).run();
        out[0].assert_close(&[2, 2], &[a[0], b[0], a[1], b[1]], 1e-6);
    }

    #[test]
    fn everything_from_the_axis_on_before_13() {
        let x = f32s(&[1, 2, 2], &[1.0, 2.0, 3.0, 5.0]);
        let all = reference(&[1.0, 2.0, 3.0, 5.0]);
        Case::new("Softmax", 11).input(x.clone()).run()[0].assert_close(&[1, 2, 2], &all, 1e-6);
        let out = Case::new("Hardmax", 11).input(x).run();
        assert_eq!(out[0].floats(), [0.0, 0.0, 0.0, 1.0]);
    }

    #[test]
    fn hardmax_takes_the_first_of_equals() {
        let x = f32s(&[2, 3], &[2.0, 2.0, 1.0, 0.0, 3.0, 3.0]);
        let out = Case::new("Hardmax", 13).input(x).run();
        assert_eq!(out[0].floats(), [1.0, 0.0, 0.0, 0.0, 1.0, 0.0]);
    }

    #[test]
    fn half_rows_do_not_overflow() {
        let values: Vec<f64> = (0..5000)
            .map(|i| f64::from(i % 7) * 1000.0 - 3000.0)
            .collect();
        let out = Case::new("Softmax", 13)
            .input(floats(DType::F16, &[5000], &values))
            .run();
        out[0].assert_close(&[5000], &reference(&values), 2e-3);
        let masked = [f32::NEG_INFINITY, f32::NEG_INFINITY, 0.0, 0.0];
        let out = Case::new("Softmax", 13).input(f32s(&[4], &masked)).run();
        assert_eq!(out[0].floats(), [0.0, 0.0, 0.5, 0.5]);
    }

    #[test]
    fn long_axes_keep_their_accuracy() {
        // Ends in an axis that is no multiple of a part, with the long axis last and first.
        let values: Vec<f32> = (0..18_710i16).map(|i| f32::from(i % 911) / 70.0).collect();
        let wide: Vec<f64> = values.iter().map(|v| f64::from(*v)).collect();
        let expected = reference(&wide);
        for (dims, axis) in [([1, 18_710], 1), ([18_710, 1], 0)] {
            let x = f32s(&dims, &values);
            let out = Case::new("Softmax", 13).int("axis", axis).input(x).run();
            for (found, expected) in out[0].floats().iter().zip(&expected) {
                assert!((found / expected - 1.0).abs() < 5e-6, "{found} {expected}");
            }
        }
    }

    #[test]
    fn empty_and_scalar() {
        let out = Case::new("Softmax", 13).input(f32s(&[0, 3], &[])).run();
        assert_eq!(out[0].dims(), [0, 3]);
        let out = Case::new("Softmax", 13).input(f32s(&[], &[5.0])).run();
        assert_eq!(out[0].floats(), [1.0]);
        let found = Case::new("Softmax", 13).int("axis", 2);
        assert!(found.input(f32s(&[2], &[1.0, 2.0])).try_run().is_err());
    }
}
