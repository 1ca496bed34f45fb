//! AffineGrid.
use crate::device::{Array, DType, Emit};
use crate::error::{Error, Result};
use crate::ops::reduce::accumulator;
use crate::ops::{NodeRef, OpDef, Planned, lower, op};

pub(in crate::ops) const OPS: &[OpDef] = &[op!("AffineGrid", 20.., [FLOAT64, I64], affine_grid)];

fn affine_grid(node: &NodeRef<'_>) -> Planned {
    let dtype = node.dtype(0)?;
    let aligned = node.flag("align_corners", false)?;
    let plan = lower(move |cx, x| {
        let (dims, size) = (x.dims(0)?, x.ints(1)?);
        let out = size.iter().map(|d| usize::try_from(*d).ok());
        let out = out.collect::<Option<Vec<_>>>();
        let fits = |out: &Vec<usize>| {
            let rank = out.len().saturating_sub(2);
            matches!(rank, 2 | 3) && *dims == [out[0], rank, rank + 1]
        };
        let Some(out) = out.filter(fits) else {
            return Err(Error::invalid(format!(
                "transforms of shape {dims:?} do not fit an output of size {size:?}"
            )));
        };
        let (sizes, rank) = (&out[2..], out.len() - 2);
        let theta = cx.astype(x.array(0)?, accumulator(dtype))?;
        let column = |at: usize| {
            let mut shape = vec![1; rank + 2];
            (shape[0], shape[rank + 1]) = (out[0], rank);
            cx.reshape(&cx.slice_axis(&theta, 2, at, at + 1)?, &shape)
        };
        // The first coordinate of a place is that along the last axis.
        let mut sum = column(rank)?;
        for (axis, size) in sizes.iter().enumerate() {
            let mut shape = vec![1; rank + 2];
            shape[axis + 1] = *size;
            let places = cx.reshape(&places(cx, *size, aligned, theta.dtype())?, &shape)?;
            sum = cx.add(&sum, &cx.multiply(&column(rank - 1 - axis)?, &places)?)?;
        }
        cx.astype(&sum, dtype)
    })?;
    Ok(plan.reads(&[1]))
}

/// The elements of an axis from -1 to 1: the middle of the first and the last, or the borders of the axis.
fn places(cx: &Emit, size: usize, aligned: bool, dtype: DType) -> Result<Array> {
    #[expect(
        clippy::cast_precision_loss,
        reason = "axes have less than 2^31 elements"
    )]
    let of = |i: usize| {
        let (i, size) = (i as f64, size as f64);
        if !aligned {
            (2.0 * i + 1.0) / size - 1.0
        } else if size > 1.0 {
            2.0 * i / (size - 1.0) - 1.0
        } else {
            1.0
        }
    };
    cx.fits("the places of an axis", size, 16)?;
    let bytes: Vec<u8> = (0..size).flat_map(|i| of(i).to_le_bytes()).collect();
    cx.astype(&cx.array_from_bytes(DType::F64, &[size], &bytes)?, dtype)
}

#[cfg(test)]
mod tests {
    use crate::device::DType;
    use crate::ops::testing::{Case, floats, i64s};

    fn case(dtype: DType, size: &[i64], theta: &[f64]) -> Case {
        let (n, rank) = (usize::try_from(size[0]).unwrap(), size.len() - 2);
        Case::new("AffineGrid", 20)
            .input(floats(dtype, &[n, rank, rank + 1], theta))
            .input(i64s(&[size.len()], size))
    }

    #[test]
    fn planes_are_moved() {
        let theta = [1.0, 0.5, 0.25, -1.0, 2.0, 0.0];
        // x + y / 2 + 1/4 and 2 y - x.
        let at = |x: f64, y: f64| [x + 0.5 * y + 0.25, 2.0 * y - x];
        for dtype in [DType::F32, DType::F64, DType::F16, DType::BF16] {
            let out = case(dtype, &[1, 3, 2, 2], &theta).run();
            let places = [(-0.5, -0.5), (0.5, -0.5), (-0.5, 0.5), (0.5, 0.5)];
            let expected = places.map(|(x, y)| at(x, y)).concat();
            out[0].assert_close(&[1, 2, 2, 2], &expected, 0.0);
            let out = case(dtype, &[1, 3, 2, 3], &theta).int("align_corners", 1);
            let places = [-1.0, 1.0].map(|y| [-1.0, 0.0, 1.0].map(|x| at(x, y)));
            out.run()[0].assert_close(&[1, 2, 3, 2], &places.concat().concat(), 0.0);
        }
    }

    #[test]
    fn volumes_are_moved_and_batches_apart() {
        let first = [1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0];
        let second = [0.0, 0.0, 1.0, 7.0, 2.0, 0.0, 0.0, 0.0, 0.0, 3.0, 0.0, 0.0];
        let theta = [first, second].concat();
        let out = case(DType::F32, &[2, 1, 1, 2, 1], &theta).int("align_corners", 1);
        // (x, y, z) is (1, -1, 1), then (1, 1, 1): an axis of one element lies at its end.
        let expected = [1.0, -1.0, 1.0, 1.0, 1.0, 1.0, 8.0, 2.0, -3.0, 8.0, 2.0, 3.0];
        out.run()[0].assert_close(&[2, 1, 2, 1, 3], &expected, 0.0);
        let none = case(DType::F32, &[0, 1, 1, 2, 1], &[]).run();
        none[0].assert_close(&[0, 1, 2, 1, 3], &[], 0.0);
    }

    #[test]
    fn sizes_that_do_not_fit_are_errors() {
        let theta = || floats(DType::F32, &[1, 2, 3], &[0.0; 6]);
        for size in [
            &[2, 1, 2, 2][..],
            &[1, 1, 2],
            &[1, 1, 2, 2, 2],
            &[1, 1, -2, 2],
        ] {
            let case = Case::new("AffineGrid", 20).input(theta());
            let case = case.input(i64s(&[size.len()], size));
            let error = case.try_run().err().expect("it fails");
            assert!(error.to_string().contains("do not fit"));
        }
    }
}
