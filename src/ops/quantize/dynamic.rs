//! `DynamicQuantizeLinear`.
use super::quantized;
use crate::device::{Array, DType, Emit};
use crate::error::Result;
use crate::ops::{OpDef, lower, op};

pub(in crate::ops) const OPS: &[OpDef] = &[op!("DynamicQuantizeLinear", 11.., [F32], |_| lower(
    |cx, x| {
        let a = x.array(0)?;
        let (scale, zero_point) = range(cx, a)?;
        let y = quantized(
            cx,
            &cx.divide(a, &scale)?,
            Some(&zero_point),
            DType::U8,
            true,
        )?;
        Ok(vec![y, scale, cx.astype(&zero_point, DType::U8)?])
    }
))];

/// The scale and the zero point (as a float) that map the range of `a`, widened to hold zero, to uint8.
pub(super) fn range(cx: &Emit, a: &Array) -> Result<(Array, Array)> {
    let constant = |v| cx.scalar(v, DType::F32);
    let zero = constant(0.0)?;
    let (low, high) = if a.size() == 0 {
        (zero.clone(), zero.clone())
    } else {
        let axes: Vec<_> = (0..a.rank()).collect();
        (
            cx.minimum(&cx.min(a, &axes, false)?, &zero)?,
            cx.maximum(&cx.max(a, &axes, false)?, &zero)?,
        )
    };
    let steps = constant(255.0)?;
    let width = cx.divide(&cx.subtract(&high, &low)?, &steps)?;
    // Where all elements are zero, any scale maps them to zero.
    let scale = cx.select(&cx.equal(&width, &zero)?, &constant(1.0)?, &width)?;
    let place = cx.divide(&cx.subtract(&zero, &low)?, &scale)?;
    let inside = cx.minimum(&cx.maximum(&place, &zero)?, &steps)?;
    Ok((scale, cx.round(&inside)?))
}

#[cfg(test)]
mod tests {
    use crate::device::DType::{F32, U8};
    use crate::ops::Output;
    use crate::ops::testing::{Case, f32s};

    fn run(dims: &[usize], values: &[f32]) -> Vec<Output> {
        Case::new("DynamicQuantizeLinear", 11)
            .input(f32s(dims, values))
            .output(U8)
            .output(F32)
            .output(U8)
            .run()
    }

    #[test]
    fn values_of_the_definition() {
        let out = run(&[6], &[0.0, 2.0, -3.0, -2.5, 1.34, 0.5]);
        assert_eq!(out[0].ints(), [153, 255, 0, 26, 221, 179]);
        out[1].assert_close(&[], &[5.0 / 255.0], 1e-7);
        assert_eq!(out[2].ints(), [153]);
        let out = run(&[6], &[-1.0, -2.1, -1.3, -2.5, -3.34, -4.0]);
        assert_eq!(out[0].ints(), [191, 121, 172, 96, 42, 0]);
        assert_eq!(out[2].ints(), [255]);
        let out = run(
            &[3, 4],
            &[
                1.0, 2.1, 1.3, 2.5, 3.34, 4.0, 1.5, 2.6, 3.9, 4.0, 3.0, 2.345,
            ],
        );
        assert_eq!(
            out[0].ints(),
            [64, 134, 83, 159, 213, 255, 96, 166, 249, 255, 191, 149]
        );
        assert_eq!(out[2].ints(), [0]);
    }

    #[test]
    fn zeros_and_nothing() {
        for dims in [&[2, 2][..], &[0, 3][..]] {
            let out = run(dims, &vec![0.0; dims.iter().product()]);
            assert!(out[0].ints().iter().all(|v| *v == 0));
            assert_eq!(out[2].ints(), [0]);
            out[1].assert_close(&[], &[1.0], 0.0);
        }
    }
}
