//! LpNormalization and LRN.
use super::pool::{powers, root};
use crate::device::{Array, Emit};
use crate::error::{Error, Result};
use crate::ops::reduce::accumulator;
use crate::ops::{NodeRef, OpDef, Planned, Reject, lower, op};

pub(in crate::ops) const OPS: &[OpDef] = &[
    op!("LpNormalization", 1.., [FLOAT64], lp_norm),
    op!("LRN", 1.., [FLOAT64], lrn),
];

fn lp_norm(node: &NodeRef<'_>) -> Planned {
    let dtype = node.dtype(0)?;
    let axis = node.int_or("axis", -1)?;
    let p = match node.int_or("p", 2)? {
        1 => 1.0,
        2 => 2.0,
        _ => return Err(Reject::Attribute("p".into())),
    };
    lower(move |cx, x| {
        let input = x.array(0)?;
        let axis = crate::ops::axis(axis, input.rank())?;
        if input.size() == 0 {
            return Ok(input.clone());
        }
        let wide = cx.astype(input, accumulator(dtype))?;
        let norm = root(cx, &cx.sum(&powers(cx, &wide, p)?, &[axis], true)?, p)?;
        // Zeros stay zeros.
        let zero = cx.float(0.0, wide.dtype())?;
        let divisor = cx.select(
            &cx.equal(&norm, &zero)?,
            &cx.float(1.0, wide.dtype())?,
            &norm,
        )?;
        cx.astype(&cx.divide(&wide, &divisor)?, dtype)
    })
}

fn lrn(node: &NodeRef<'_>) -> Planned {
    let dtype = node.dtype(0)?;
    let size = node
        .int("size")?
        .and_then(|s| usize::try_from(s).ok())
        .filter(|s| *s > 0);
    let size = size.ok_or_else(|| Reject::Attribute("size".into()))?;
    let alpha = f64::from(node.float_or("alpha", 1e-4)?);
    let beta = f64::from(node.float_or("beta", 0.75)?);
    let bias = f64::from(node.float_or("bias", 1.0)?);
    #[expect(clippy::cast_precision_loss, reason = "windows of channels are small")]
    let factor = alpha / size as f64;
    lower(move |cx, x| {
        let input = x.array(0)?;
        if input.rank() < 2 {
            let dims = input.dims();
            return Err(Error::invalid(format!(
                "input 0 must have the shape [N, C, ..], found {dims:?}"
            )));
        }
        if input.size() == 0 {
            return Ok(input.clone());
        }
        let wide = cx.astype(input, accumulator(dtype))?;
        let float = |v: f64| cx.float(v, wide.dtype());
        let sums = channel_sums(cx, &cx.square(&wide)?, size)?;
        let base = cx.add(&cx.multiply(&sums, &float(factor)?)?, &float(bias)?)?;
        cx.astype(&cx.divide(&wide, &cx.power(&base, &float(beta)?)?)?, dtype)
    })
}

/// Sums over `size` channels around each; an even window has one more after than before.
fn channel_sums(cx: &Emit, x: &Array, size: usize) -> Result<Array> {
    let (mut low, mut high) = (vec![0; x.rank()], vec![0; x.rank()]);
    low[1] = (size - 1) / 2;
    high[1] = size - 1 - low[1];
    let padded = cx.pad(x, &low, &high, &cx.float(0.0, x.dtype())?, c"constant")?;
    let int = |v: usize| i32::try_from(v).map_err(|_| Error::internal("an axis out of range"));
    let window = |first: usize| {
        let (mut start, mut stop) = (vec![0; x.rank()], x.shape().to_vec());
        start[1] = int(first)?;
        stop[1] = int(first + x.dim(1))?;
        cx.slice(&padded, &start, &stop, &vec![1; x.rank()])
    };
    let mut sum = window(0)?;
    for first in 1..size {
        sum = cx.add(&sum, &window(first)?)?;
    }
    Ok(sum)
}

#[cfg(test)]
mod tests {
    use crate::device::DType;
    use crate::ops::Reject;
    use crate::ops::testing::{Case, f32s, floats};

    #[test]
    fn vectors_get_length_one() {
        let case = || {
            let x = f32s(&[2, 2], &[3.0, -4.0, 0.0, 0.0]);
            Case::new("LpNormalization", 1).input(x)
        };
        case().run()[0].assert_close(&[2, 2], &[0.6, -0.8, 0.0, 0.0], 1e-6);
        let sevenths = [3.0 / 7.0, -4.0 / 7.0, 0.0, 0.0];
        case().int("p", 1).run()[0].assert_close(&[2, 2], &sevenths, 1e-6);
        case().int("axis", 0).run()[0].assert_close(&[2, 2], &[1.0, -1.0, 0.0, 0.0], 1e-6);
        assert_eq!(case().int("p", 3).reject(), Reject::Attribute("p".into()));
        let large = floats(DType::F16, &[1, 2], &[300.0, 400.0]);
        let out = Case::new("LpNormalization", 22).input(large).run();
        out[0].assert_close(&[1, 2], &[0.6, 0.8], 1e-3);
        let empty = Case::new("LpNormalization", 1).input(f32s(&[0, 2], &[]));
        empty.run()[0].assert_close(&[0, 2], &[], 0.0);
    }

    #[test]
    fn neighbouring_channels_are_summed() {
        let case = |size: i64| {
            let x = f32s(&[1, 3, 1], &[1.0, 2.0, 3.0]);
            Case::new("LRN", 13)
                .input(x)
                .int("size", size)
                .float("beta", 1.0)
        };
        let out = case(3).float("alpha", 3.0).float("bias", 1.0).run();
        out[0].assert_close(&[1, 3, 1], &[1.0 / 6.0, 2.0 / 15.0, 3.0 / 14.0], 1e-6);
        let out = case(2).float("alpha", 2.0).float("bias", 0.0).run();
        out[0].assert_close(&[1, 3, 1], &[1.0 / 5.0, 2.0 / 13.0, 3.0 / 9.0], 1e-6);
        assert_eq!(case(0).reject(), Reject::Attribute("size".into()));
        let error = Case::new("LRN", 13)
            .input(f32s(&[2], &[1.0; 2]))
            .int("size", 1)
            .try_run();
        assert!(
            error
                .err()
                .expect("it fails")
                .to_string()
                .contains("[N, C, ..]")
        );
    }
}
