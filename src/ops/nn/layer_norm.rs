//! LayerNormalization and RMSNormalization.
use crate::device::{Array, DType, Emit};
use crate::error::Result;
use crate::ops::reduce::accumulator;
use crate::ops::{NodeRef, OpDef, Planned, Reject, lower, op};

pub(in crate::ops) const OPS: &[OpDef] = &[
    op!("LayerNormalization", 1.., [FLOAT64], layer_norm),
    op!("RMSNormalization", 23.., [FLOAT64], rms_norm),
];

/// The type of the computation: float, as `stash_type` says by default, or double for double.
fn stash(node: &NodeRef<'_>) -> Result<(), Reject> {
    if node.int_or("stash_type", 1)? == i64::from(DType::F32.onnx()) {
        Ok(())
    } else {
        Err(Reject::Attribute("stash_type".into()))
    }
}

fn layer_norm(node: &NodeRef<'_>) -> Planned {
    let dtype = node.dtype(0)?;
    let axis = node.int_or("axis", -1)?;
    let epsilon = node.float_or("epsilon", 1e-5)?;
    stash(node)?;
    let wanted = [1, 2].map(|i| {
        node.has_output(i)
            .then(|| node.output_dtype(i).unwrap_or(DType::F32))
    });
    lower(move |cx, x| {
        let input = x.array(0)?;
        let dims = input.dims();
        let axis = crate::ops::axis(axis, dims.len())?;
        let (scale, bias) = (x.optional(1)?, x.optional(2)?);
        let y = normalised(cx, input, axis, scale, bias, epsilon)?;
        let mut outputs = vec![Some(cx.astype(&y, dtype)?)];
        if wanted != [None, None] {
            let (mean, inverse) = statistics(cx, input, axis, epsilon)?;
            for (value, dtype) in [mean, inverse].iter().zip(wanted) {
                outputs.push(dtype.map(|d| cx.astype(value, d)).transpose()?);
            }
        }
        Ok(outputs)
    })
}

/// Mean and inverse deviation over the axes from `axis` on.
fn statistics(cx: &Emit, x: &Array, axis: usize, epsilon: f32) -> Result<(Array, Array)> {
    let wide = cx.astype(x, accumulator(x.dtype()))?;
    let axes: Vec<_> = (axis..x.rank()).collect();
    let mean = cx.mean(&wide, &axes, true)?;
    let variance = cx.mean(&cx.square(&cx.subtract(&wide, &mean)?)?, &axes, true)?;
    let epsilon = cx.float(f64::from(epsilon), wide.dtype())?;
    Ok((mean, cx.rsqrt(&cx.add(&variance, &epsilon)?)?))
}

/// Normalises over the axes from `axis` on; scale and bias are broadcast to the input. The result may be of a wider
/// type.
pub(super) fn normalised(
    cx: &Emit,
    x: &Array,
    axis: usize,
    scale: Option<&Array>,
    bias: Option<&Array>,
    epsilon: f32,
) -> Result<Array> {
    let dims = x.dims();
    let inner = &dims[axis..];
    if x.dtype() == DType::F64 || x.size() == 0 {
        // MLX's fused kernel computes in float.
        let (mean, inverse) = statistics(cx, x, axis, epsilon)?;
        let y = cx.multiply(&cx.subtract(x, &mean)?, &inverse)?;
        return affine(cx, &y, scale, bias);
    }
    // The kernel normalises one axis and takes one weight per element of it, of the same type.
    let fits = |p: Option<&Array>| p.is_none_or(|p| fits_inner(&p.dims(), inner));
    let fused = fits(scale) && fits(bias);
    let same = [scale, bias]
        .into_iter()
        .flatten()
        .all(|p| p.dtype() == x.dtype());
    let work = if same && !cx.runs_on_cpu(x.dtype()) {
        x.dtype()
    } else {
        DType::F32
    };
    let flat = |p: Option<&Array>| -> Result<Option<Array>> {
        let Some(p) = p.filter(|_| fused) else {
            return Ok(None);
        };
        let p = cx.astype(p, work)?;
        let extra: Vec<_> = (0..p.rank().saturating_sub(inner.len())).collect();
        let p = if extra.is_empty() {
            p
        } else {
            cx.squeeze(&p, &extra)?
        };
        Ok(Some(cx.reshape(
            &cx.broadcast_to(&p, inner)?,
            &[inner.iter().product()],
        )?))
    };
    let mut rows = dims[..axis].to_vec();
    rows.push(inner.iter().product());
    let rows = cx.reshape(&cx.astype(x, work)?, &rows)?;
    let y = cx.layer_norm(&rows, flat(scale)?.as_ref(), flat(bias)?.as_ref(), epsilon)?;
    let y = cx.reshape(&y, &dims)?;
    if fused {
        Ok(y)
    } else {
        affine(cx, &y, scale, bias)
    }
}

/// Whether dimensions broadcast to the inner ones alone.
fn fits_inner(dims: &[usize], inner: &[usize]) -> bool {
    let extra = dims.len().saturating_sub(inner.len());
    let tail = &inner[inner.len() - (dims.len() - extra)..];
    dims[..extra].iter().all(|d| *d == 1)
        && dims[extra..]
            .iter()
            .zip(tail)
            .all(|(a, b)| a == b || *a == 1)
}

/// `y * scale + bias`.
pub(super) fn affine(
    cx: &Emit,
    y: &Array,
    scale: Option<&Array>,
    bias: Option<&Array>,
) -> Result<Array> {
    let y = match scale {
        Some(scale) => cx.multiply(y, &cx.astype(scale, y.dtype())?)?,
        None => y.clone(),
    };
    match bias {
        Some(bias) => cx.add(&y, &cx.astype(bias, y.dtype())?),
        None => Ok(y),
    }
}

fn rms_norm(node: &NodeRef<'_>) -> Planned {
    let axis = node.int_or("axis", -1)?;
    let epsilon = node.float_or("epsilon", 1e-5)?;
    stash(node)?;
    // The output has the type of the scale.
    let dtype = node.dtype(1)?;
    lower(move |cx, x| {
        let input = x.array(0)?;
        let axis = crate::ops::axis(axis, input.rank())?;
        let wide = cx.astype(input, accumulator(input.dtype()))?;
        let axes: Vec<_> = (axis..input.rank()).collect();
        let square = cx.mean(&cx.square(&wide)?, &axes, true)?;
        let epsilon = cx.float(f64::from(epsilon), wide.dtype())?;
        let y = cx.multiply(&wide, &cx.rsqrt(&cx.add(&square, &epsilon)?)?)?;
        cx.astype(&affine(cx, &y, Some(x.array(1)?), None)?, dtype)
    })
}

#[cfg(test)]
mod tests {
    use crate::device::DType;
    use crate::ops::Reject;
    use crate::ops::testing::{Case, Data, f32s, floats};

    fn case(x: Data, scale: Data) -> Case {
        Case::new("LayerNormalization", 17).input(x).constant(scale)
    }

    /// The definition over rows of `width` elements.
    fn definition(x: &[f64], width: usize, epsilon: f64) -> Vec<f64> {
        let row = |row: &[f64]| {
            let count = f64::from(u32::try_from(width).unwrap());
            let mean = row.iter().sum::<f64>() / count;
            let variance = row.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / count;
            row.iter()
                .map(|v| (v - mean) / (variance + epsilon).sqrt())
                .collect::<Vec<_>>()
        };
        x.chunks(width).flat_map(row).collect()
    }

    #[test]
    fn any_axis_and_type() {
        let values: Vec<f64> = (0..12).map(|i| f64::from(i * 5 % 7)).collect();
        for (dtype, tolerance) in [
            (DType::F32, 1e-5),
            (DType::F64, 1e-12),
            (DType::F16, 2e-3),
            (DType::BF16, 1.6e-2),
        ] {
            for (axis, shape, width) in [(-1, &[3][..], 3), (1, &[2, 3], 6), (-3, &[2, 2, 3], 12)] {
                let ones = floats(dtype, shape, &vec![1.0; width]);
                let out = case(floats(dtype, &[2, 2, 3], &values), ones)
                    .int("axis", axis)
                    .run();
                out[0].assert_close(&[2, 2, 3], &definition(&values, width, 1e-5), tolerance);
            }
        }
    }

    #[test]
    fn scale_bias_and_epsilon() {
        let x = || f32s(&[2, 2], &[0.0, 2.0, 4.0, 4.0]);
        let out = case(x(), f32s(&[2], &[2.0, 3.0])).constant(f32s(&[2], &[1.0, -1.0]));
        let root = 2f64.sqrt();
        let expected = [1.0 - 2.0 / root, 3.0 / root - 1.0, 1.0, -1.0];
        out.float("epsilon", 1.0).run()[0].assert_close(&[2, 2], &expected, 1e-6);
        // One scale per row cannot go into the kernel.
        let out = case(x(), f32s(&[2, 1], &[2.0, 5.0]))
            .float("epsilon", 1.0)
            .run();
        out[0].assert_close(&[2, 2], &[-2.0 / root, 2.0 / root, 0.0, 0.0], 1e-6);
    }

    #[test]
    fn statistics_are_float() {
        let x = floats(DType::F16, &[1, 2, 2], &[1.0, 3.0, 5.0, 5.0]);
        let case = case(x, floats(DType::F16, &[2], &[1.0, 1.0])).float("epsilon", 0.25);
        let out = case
            .output(DType::F16)
            .output(DType::F32)
            .output(DType::F32)
            .run();
        out[1].assert_close(&[1, 2, 1], &[2.0, 5.0], 0.0);
        out[2].assert_close(&[1, 2, 1], &[1.25f64.sqrt().recip(), 2.0], 1e-6);
    }

    #[test]
    fn large_means_lose_nothing() {
        let x = f32s(&[1, 3], &[10000.0, 10001.0, 10002.0]);
        let out = case(x, f32s(&[3], &[1.0; 3])).run();
        out[0].assert_close(&[1, 3], &[-1.224_74, 0.0, 1.224_74], 1e-4);
    }

    #[test]
    fn empty_inputs_and_refusals() {
        case(f32s(&[0, 2], &[]), f32s(&[2], &[1.0; 2])).run()[0].assert_close(&[0, 2], &[], 0.0);
        let one = || f32s(&[1], &[1.0]);
        let reject = case(one(), one()).int("stash_type", 10).reject();
        assert_eq!(reject, Reject::Attribute("stash_type".into()));
        let error = case(f32s(&[], &[1.0]), one())
            .try_run()
            .err()
            .expect("it fails");
        assert!(error.to_string().contains("out of range"));
    }

    #[test]
    fn root_mean_squares() {
        let rms = |x: Data, scale: Data| Case::new("RMSNormalization", 23).input(x).constant(scale);
        let x = f32s(&[2, 2], &[3.0, 4.0, 1.0, 1.0]);
        let out = rms(x, f32s(&[2], &[1.0, 2.0])).float("epsilon", 0.0).run();
        let mean = 12.5f64.sqrt();
        out[0].assert_close(&[2, 2], &[3.0 / mean, 8.0 / mean, 1.0, 2.0], 1e-6);
        let x = floats(DType::F16, &[1, 2], &[300.0, 400.0]);
        let mixed = rms(x, f32s(&[1, 2], &[1.0, 1.0]))
            .int("axis", 0)
            .output(DType::F32)
            .run();
        mixed[0].assert_close(&[1, 2], &[3.0 / mean, 4.0 / mean], 1e-5);
    }
}
