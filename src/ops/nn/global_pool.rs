//! GlobalAveragePool, GlobalMaxPool and GlobalLpPool.
use super::pool::{norm_order, powers, root};
use crate::device::{Array, Emit};
use crate::error::{Error, Result};
use crate::ops::reduce::accumulator;
use crate::ops::{NodeRef, OpDef, Planned, lower, op};

pub(in crate::ops) const OPS: &[OpDef] = &[
    op!("GlobalAveragePool", 1.., [FLOAT64], average),
    op!("GlobalMaxPool", 1.., [FLOAT64], |_| lower(|cx, x| {
        let x = x.array(0)?;
        spatial(cx, x, Emit::max)
    })),
    op!("GlobalLpPool", 1.., [FLOAT64], norm),
];

fn average(node: &NodeRef<'_>) -> Planned {
    let dtype = node.dtype(0)?;
    lower(move |cx, x| {
        let wide = cx.astype(x.array(0)?, accumulator(dtype))?;
        cx.astype(&spatial(cx, &wide, Emit::mean)?, dtype)
    })
}

fn norm(node: &NodeRef<'_>) -> Planned {
    let dtype = node.dtype(0)?;
    let p = norm_order(node)?;
    lower(move |cx, x| {
        let wide = cx.astype(x.array(0)?, accumulator(dtype))?;
        let sum = spatial(cx, &powers(cx, &wide, p)?, Emit::sum)?;
        cx.astype(&root(cx, &sum, p)?, dtype)
    })
}

type Reduce = fn(&Emit, &Array, &[usize], bool) -> Result<Array>;

fn spatial(cx: &Emit, x: &Array, reduce: Reduce) -> Result<Array> {
    let dims = x.dims();
    if dims.len() < 2 || dims[2..].contains(&0) {
        return Err(Error::invalid(format!(
            "input 0 must have the shape [N, C, spatial..] with elements along each spatial axis, found {dims:?}"
        )));
    }
    let axes: Vec<_> = (2..dims.len()).collect();
    if axes.is_empty() {
        Ok(x.clone())
    } else {
        reduce(cx, x, &axes, true)
    }
}

#[cfg(test)]
mod tests {
    use crate::device::DType;
    use crate::ops::testing::{Case, f32s, floats};

    #[test]
    fn whole_planes_are_pooled() {
        let x = || f32s(&[1, 2, 2, 2], &[1.0, 2.0, 3.0, 4.0, -1.0, 0.0, 0.0, -3.0]);
        let run = |op| Case::new(op, 1).input(x()).run();
        run("GlobalAveragePool")[0].assert_close(&[1, 2, 1, 1], &[2.5, -1.0], 0.0);
        run("GlobalMaxPool")[0].assert_close(&[1, 2, 1, 1], &[4.0, 0.0], 0.0);
        run("GlobalLpPool")[0].assert_close(&[1, 2, 1, 1], &[30f64.sqrt(), 10f64.sqrt()], 1e-6);
        let cubes = Case::new("GlobalLpPool", 22)
            .input(f32s(&[1, 1, 2], &[1.0, -2.0]))
            .int("p", 3);
        cubes.run()[0].assert_close(&[1, 1, 1], &[9f64.cbrt()], 1e-6);
        let deep = Case::new("GlobalMaxPool", 1).input(f32s(&[1, 1, 1, 2, 1], &[1.0, 2.0]));
        deep.run()[0].assert_close(&[1, 1, 1, 1, 1], &[2.0], 0.0);
    }

    #[test]
    fn halves_sum_in_float_and_doubles_stay() {
        let ones = floats(DType::F16, &[1, 1, 70000], &[1.0; 70000]);
        let out = Case::new("GlobalAveragePool", 1).input(ones).run();
        assert_eq!(out[0].floats(), [1.0]);
        let wide = floats(DType::F64, &[1, 1, 2], &[1.0, 1.0 + 2f64.powi(-40)]);
        let out = Case::new("GlobalAveragePool", 1).input(wide).run();
        assert_eq!(out[0].floats(), [1.0 + 2f64.powi(-41)]);
    }

    #[test]
    fn empty_planes_fail_and_empty_batches_do_not() {
        let case = |dims: &[usize]| Case::new("GlobalMaxPool", 1).input(f32s(dims, &[]));
        let error = case(&[1, 1, 0]).try_run().err().expect("it fails");
        assert!(error.to_string().contains("spatial"));
        case(&[0, 1, 3]).run()[0].assert_close(&[0, 1, 1], &[], 0.0);
    }
}
