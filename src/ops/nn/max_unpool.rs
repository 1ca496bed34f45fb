//! MaxUnpool.
use super::window::{Padding, Window};
use crate::error::{Error, Result};
use crate::ops::{NodeRef, OpDef, Planned, Reject, index, lower, op};

pub(in crate::ops) const OPS: &[OpDef] = &[op!("MaxUnpool", 9.., [FLOAT64, I64, I64], max_unpool)];

fn max_unpool(node: &NodeRef<'_>) -> Planned {
    let dtype = node.dtype(0)?;
    let window = Window::read(node)?;
    let kernel = window
        .kernel
        .clone()
        .ok_or_else(|| Reject::Attribute("kernel_shape".into()))?;
    let plan = lower(move |cx, x| {
        let (input, dims) = (x.array(0)?, x.dims(0)?);
        if x.dims(1)? != dims {
            return Err(Error::invalid(format!(
                "indices of shape {:?} do not fit values of shape {dims:?}",
                x.dims(1)?
            )));
        }
        // What the indices count: the input of the pool that the attributes describe.
        let pooled = pooled(&window, &kernel, dims)?;
        let out = if x.has(2) {
            larger(&pooled, x.ints(2)?)?
        } else {
            pooled.clone()
        };
        if input.size() == 0 || out.contains(&0) {
            return cx.zeros(&out, dtype);
        }
        let elements = pooled.iter().try_fold(1usize, |n, d| n.checked_mul(*d));
        let elements = elements.unwrap_or(usize::MAX);
        cx.fits("what is unpooled", elements, dtype.byte_size(1))?;
        let places = cx.reshape(&index::within(cx, x, 1, elements)?, &[input.size()])?;
        let values = cx.reshape(input, &[input.size()])?;
        let flat = cx.put_along(&cx.zeros(&[elements], dtype)?, &places, &values, 0)?;
        let whole = cx.reshape(&flat, &pooled)?;
        if out == pooled {
            return Ok(whole);
        }
        let high: Vec<_> = out.iter().zip(&pooled).map(|(o, p)| o - p).collect();
        let zero = cx.float(0.0, dtype)?;
        cx.pad(&whole, &vec![0; high.len()], &high, &zero, c"constant")
    })?;
    let reads: &[usize] = if node.has_input(2) { &[2] } else { &[] };
    Ok(plan.reads(reads))
}

/// The shape that a pool made `dims` of.
fn pooled(window: &Window, kernel: &[usize], dims: &[usize]) -> Result<Vec<usize>> {
    let rank = dims.len().saturating_sub(2);
    if rank == 0 || kernel.len() != rank {
        return Err(Error::invalid(format!(
            "a kernel of {kernel:?} does not fit values of shape {dims:?}"
        )));
    }
    let strides = Window::list(window.strides.as_ref(), rank, 1)?;
    let pads = match &window.padding {
        Padding::Explicit(pads) => Window::list(pads.as_ref(), 2 * rank, 0)?,
        _ => vec![0; 2 * rank],
    };
    let mut out = dims[..2].to_vec();
    for i in 0..rank {
        let full = dims[i + 2]
            .checked_sub(1)
            .map(|n| n * strides[i] + kernel[i]);
        let left = full.map(|full| full.checked_sub(pads[i] + pads[rank + i]));
        let left = left.unwrap_or(Some(0));
        out.push(left.ok_or_else(|| Error::invalid("pads cut off more than the whole output"))?);
    }
    Ok(out)
}

/// The output shape that is asked for, which holds all of `pooled`.
fn larger(pooled: &[usize], wanted: &[i64]) -> Result<Vec<usize>> {
    let dims = wanted.iter().map(|d| usize::try_from(*d).ok());
    let dims = dims.collect::<Option<Vec<_>>>();
    let holds = |dims: &Vec<usize>| {
        dims.len() == pooled.len() && dims.iter().zip(pooled).all(|(d, p)| d >= p)
    };
    dims.filter(holds).ok_or_else(|| {
        Error::invalid(format!(
            "output_shape {wanted:?} does not hold what is unpooled, {pooled:?}"
        ))
    })
}

#[cfg(test)]
mod tests {
    use crate::device::DType;
    use crate::ops::Reject;
    use crate::ops::testing::{Case, Data, f32s, floats, i64s};

    fn case(x: Data, indices: Data) -> Case {
        Case::new("MaxUnpool", 11).input(x).input(indices)
    }

    fn four() -> Case {
        let x = f32s(&[1, 1, 2, 2], &[1.0, 2.0, 3.0, 4.0]);
        case(x, i64s(&[1, 1, 2, 2], &[5, 7, 13, -1]))
            .ints("kernel_shape", &[2, 2])
            .ints("strides", &[2, 2])
    }

    fn expected(rows: usize, columns: usize, at: &[(usize, f64)]) -> Vec<f64> {
        let mut all = vec![0.0; rows * columns];
        at.iter().for_each(|(i, v)| all[*i] = *v);
        all
    }

    #[test]
    fn values_return_to_their_places() {
        let places = [(5, 1.0), (7, 2.0), (13, 3.0), (15, 4.0)];
        four().run()[0].assert_close(&[1, 1, 4, 4], &expected(4, 4, &places), 0.0);
        // Indices count what the attributes describe, whatever the output shape is.
        let places = [(6, 1.0), (8, 2.0), (16, 3.0), (18, 4.0)];
        let out = four().input(i64s(&[4], &[1, 1, 5, 5])).run();
        out[0].assert_close(&[1, 1, 5, 5], &expected(5, 5, &places), 0.0);
        for dtype in [DType::F16, DType::BF16, DType::F64] {
            let x = floats(dtype, &[2, 1, 1], &[3.0, 4.0]);
            let case = case(x, i64s(&[2, 1, 1], &[1, 2])).ints("kernel_shape", &[4]);
            let out = case.ints("pads", &[1, 1]).run();
            out[0].assert_close(&[2, 1, 2], &[0.0, 3.0, 4.0, 0.0], 0.0);
        }
        let x = f32s(&[1, 1, 1, 1, 1], &[7.0]);
        let deep = case(x, i64s(&[1, 1, 1, 1, 1], &[3])).ints("kernel_shape", &[1, 2, 2]);
        deep.run()[0].assert_close(&[1, 1, 1, 2, 2], &[0.0, 0.0, 0.0, 7.0], 0.0);
    }

    #[test]
    fn empty_batches() {
        let case = case(f32s(&[0, 1, 2], &[]), i64s(&[0, 1, 2], &[]));
        case.ints("kernel_shape", &[2]).run()[0].assert_close(&[0, 1, 3], &[], 0.0);
    }

    #[test]
    fn what_does_not_fit_is_an_error() {
        let failure = |case: Case| case.try_run().err().expect("it fails").to_string();
        let small = four().input(i64s(&[4], &[1, 1, 3, 5]));
        assert!(failure(small).contains("does not hold"));
        let x = || f32s(&[1, 1, 2], &[1.0, 2.0]);
        let far = case(x(), i64s(&[1, 1, 2], &[0, 4])).ints("kernel_shape", &[3]);
        assert!(failure(far).contains("out of range"));
        let other = case(x(), i64s(&[1, 2], &[0, 1])).ints("kernel_shape", &[2]);
        assert!(failure(other).contains("do not fit values"));
        let flat = case(x(), i64s(&[1, 1, 2], &[0, 1])).ints("kernel_shape", &[2, 2]);
        assert!(failure(flat).contains("does not fit values"));
        let cut = case(x(), i64s(&[1, 1, 2], &[0, 1])).ints("kernel_shape", &[2]);
        assert!(failure(cut.ints("pads", &[2, 2])).contains("cut off more"));
        let bare = case(x(), i64s(&[1, 1, 2], &[0, 1])).reject();
        assert_eq!(bare, Reject::Attribute("kernel_shape".into()));
    }
}
