//! MaxPool, AveragePool and LpPool.
use super::conv::row_major;
use super::window::{Axis, Window, padded, spatial, tap};
use crate::device::{Array, DType, Emit};
use crate::error::{Error, Result};
use crate::ops::reduce::{accumulator, lowest};
use crate::ops::{NodeRef, OpDef, Planned, Reject, lower, op};

pub(in crate::ops) const OPS: &[OpDef] = &[
    op!("MaxPool", 1..=11, [FLOAT64], max_pool),
    op!("MaxPool", 12.., [NUMERIC], max_pool),
    op!("AveragePool", 1.., [FLOAT64], average_pool),
    op!("LpPool", 1.., [FLOAT64], lp_pool),
];

type Combine = fn(&Emit, &Array, &Array) -> Result<Array>;

fn read(node: &NodeRef<'_>) -> Result<(Window, Vec<usize>), Reject> {
    let window = Window::read(node)?;
    let kernel = window
        .kernel
        .clone()
        .ok_or_else(|| Reject::Attribute("kernel_shape".into()))?;
    Ok((window, kernel))
}

/// What the windows hold taken together, one axis after the other. `x` is padded.
fn combined(cx: &Emit, x: &Array, axes: &[Axis], combine: Combine) -> Result<Array> {
    let mut x = x.clone();
    for (spatial, axis) in axes.iter().enumerate() {
        let mut all = tap(cx, &x, spatial, axis, 0)?;
        for index in 1..axis.kernel {
            all = combine(cx, &all, &tap(cx, &x, spatial, axis, index)?)?;
        }
        x = all;
    }
    Ok(x)
}

fn output_dims(x: &Array, axes: &[Axis]) -> Vec<usize> {
    [x.dim(0), x.dim(1)]
        .into_iter()
        .chain(axes.iter().map(|a| a.out))
        .collect()
}

fn max_pool(node: &NodeRef<'_>) -> Planned {
    let (window, kernel) = read(node)?;
    let column_major = node.flag("storage_order", false)?;
    let wants_indices = node.has_output(1);
    lower(move |cx, x| {
        let input = x.array(0)?;
        let axes = window.over(&spatial(input)?, &kernel)?;
        let out = output_dims(input, &axes);
        if out.contains(&0) || input.size() == 0 {
            let indices = wants_indices
                .then(|| cx.zeros(&out, DType::I64))
                .transpose()?;
            return Ok(vec![Some(cx.zeros(&out, input.dtype())?), indices]);
        }
        let around = padded(cx, input, &axes, &lowest(cx, input.dtype())?)?;
        let largest = combined(cx, &around, &axes, Emit::maximum)?;
        let indices = wants_indices
            .then(|| positions(cx, input, &around, &axes, column_major))
            .transpose()?;
        Ok(vec![Some(largest), indices])
    })
}

/// All elements of each window along one last axis. `x` is padded.
fn windows(cx: &Emit, x: &Array, axes: &[Axis]) -> Result<Array> {
    let x = cx.contiguous(x)?;
    let strides = row_major(&x.dims());
    let (mut dims, mut steps) = (output_dims(&x, axes), strides[..2].to_vec());
    steps.extend(axes.iter().zip(&strides[2..]).map(|(a, s)| a.stride * s));
    let mut flat = dims.clone();
    flat.push(axes.iter().map(|a| a.kernel).product());
    dims.extend(axes.iter().map(|a| a.kernel));
    steps.extend(axes.iter().zip(&strides[2..]).map(|(a, s)| a.dilation * s));
    cx.reshape(&cx.as_strided(&x, &dims, &steps, 0)?, &flat)
}

/// Where in the input the largest element of each window is, as an index into all of its elements.
fn positions(
    cx: &Emit,
    input: &Array,
    around: &Array,
    axes: &[Axis],
    column_major: bool,
) -> Result<Array> {
    let (dims, rank) = (input.dims(), axes.len());
    let seen = windows(cx, around, axes)?;
    let mut chosen = cx.argmax(&seen, rank + 2, false)?;
    if axes.iter().any(|a| a.low > 0 || a.missing() > 0) {
        // Where all elements are the smallest there is, one of the padding must not be taken for the first.
        let truth = cx.full(&dims, &cx.int(1, DType::Bool)?)?;
        let inside = windows(
            cx,
            &padded(cx, &truth, axes, &cx.int(0, DType::Bool)?)?,
            axes,
        )?;
        let first = cx.argmax(&inside, rank + 2, false)?;
        let largest = cx.max(&seen, &[rank + 2], false)?;
        let none = cx.equal(&largest, &lowest(cx, input.dtype())?)?;
        chosen = cx.select(&none, &first, &chosen)?;
    }
    let chosen = cx.astype(&chosen, DType::I64)?;
    let mut steps = row_major(&dims[2..]);
    if column_major {
        let reversed: Vec<_> = dims[2..].iter().rev().copied().collect();
        steps = row_major(&reversed);
        steps.reverse();
    }
    let (mut rest, mut index) = (chosen, plane_starts(cx, &dims)?);
    for (spatial, axis) in axes.iter().enumerate().rev() {
        let kernel = number(cx, axis.kernel)?;
        let along = cx.multiply(&cx.remainder(&rest, &kernel)?, &number(cx, axis.dilation)?)?;
        rest = cx.floor_divide(&rest, &kernel)?;
        let mut shape = vec![1; rank + 2];
        shape[spatial + 2] = axis.out;
        let starts = cx.multiply(&cx.arange(axis.out, DType::I64)?, &number(cx, axis.stride)?)?;
        let starts = cx.subtract(&starts, &number(cx, axis.low)?)?;
        let place = cx.add(&along, &cx.reshape(&starts, &shape)?)?;
        index = cx.add(&index, &cx.multiply(&place, &number(cx, steps[spatial])?)?)?;
    }
    Ok(index)
}

/// The index of the first element of each batch and channel.
fn plane_starts(cx: &Emit, dims: &[usize]) -> Result<Array> {
    let plane: usize = dims[2..].iter().product();
    let starts = cx.multiply(
        &cx.arange(dims[0] * dims[1], DType::I64)?,
        &number(cx, plane)?,
    )?;
    let mut shape = vec![1; dims.len()];
    shape[..2].copy_from_slice(&dims[..2]);
    cx.reshape(&starts, &shape)
}

fn number(cx: &Emit, value: usize) -> Result<Array> {
    let value = i64::try_from(value).map_err(|_| Error::internal("an index out of range"))?;
    cx.int(value, DType::I64)
}

fn average_pool(node: &NodeRef<'_>) -> Planned {
    let dtype = node.dtype(0)?;
    let (window, kernel) = read(node)?;
    let include_pad = node.flag("count_include_pad", false)?;
    lower(move |cx, x| {
        let input = x.array(0)?;
        let axes = window.over(&spatial(input)?, &kernel)?;
        let out = output_dims(input, &axes);
        if out.contains(&0) || input.size() == 0 {
            return cx.zeros(&out, dtype);
        }
        let sum = summed(cx, &cx.astype(input, accumulator(dtype))?, &axes)?;
        let mean = cx.divide(&sum, &counts(cx, &axes, include_pad, sum.dtype())?)?;
        cx.astype(&mean, dtype)
    })
}

fn summed(cx: &Emit, x: &Array, axes: &[Axis]) -> Result<Array> {
    let zero = cx.float(0.0, x.dtype())?;
    combined(cx, &padded(cx, x, axes, &zero)?, axes, Emit::add)
}

/// How many elements each window averages. What lies beyond the padding that was asked for never counts.
fn counts(cx: &Emit, axes: &[Axis], include_pad: bool, dtype: DType) -> Result<Array> {
    let per_axis = axes.iter().map(|axis| {
        let (from, to) = if include_pad {
            (0, axis.low + axis.size + axis.high)
        } else {
            (axis.low, axis.low + axis.size)
        };
        let taps = |start: usize| (0..axis.kernel).map(move |k| start + k * axis.dilation);
        let inside = |start: usize| taps(start).filter(|p| (from..to).contains(p)).count();
        (0..axis.out)
            .map(|o| inside(o * axis.stride))
            .collect::<Vec<_>>()
    });
    let mut total = cx.float(1.0, dtype)?;
    for (spatial, counts) in per_axis.enumerate() {
        let uniform = counts.iter().all(|c| *c == counts[0]);
        let values = if uniform { &counts[..1] } else { &counts[..] };
        #[expect(
            clippy::cast_precision_loss,
            reason = "windows have fewer than 2^53 elements"
        )]
        let bytes: Vec<u8> = values
            .iter()
            .flat_map(|c| (*c as f64).to_le_bytes())
            .collect();
        let mut shape = vec![1; axes.len() + 2];
        shape[spatial + 2] = values.len();
        let values = cx.astype(&cx.array_from_bytes(DType::F64, &shape, &bytes)?, dtype)?;
        total = cx.multiply(&total, &values)?;
    }
    // A window that lies in the padding averages nothing: its sum, zero, stays.
    cx.maximum(&total, &cx.float(1.0, dtype)?)
}

fn lp_pool(node: &NodeRef<'_>) -> Planned {
    let dtype = node.dtype(0)?;
    let (window, kernel) = read(node)?;
    let p = norm_order(node)?;
    lower(move |cx, x| {
        let input = x.array(0)?;
        let axes = window.over(&spatial(input)?, &kernel)?;
        let out = output_dims(input, &axes);
        if out.contains(&0) || input.size() == 0 {
            return cx.zeros(&out, dtype);
        }
        let wide = cx.astype(input, accumulator(dtype))?;
        let sum = summed(cx, &powers(cx, &wide, p)?, &axes)?;
        cx.astype(&root(cx, &sum, p)?, dtype)
    })
}

/// The order of a norm: a float in opset 1.
pub(super) fn norm_order(node: &NodeRef<'_>) -> Result<f64, Reject> {
    #[expect(clippy::cast_precision_loss, reason = "orders of norms are small")]
    let p = if node.opset() == 1 {
        f64::from(node.float_or("p", 2.0)?)
    } else {
        node.int_or("p", 2)? as f64
    };
    if p > 0.0 {
        Ok(p)
    } else {
        Err(Reject::Attribute("p".into()))
    }
}

/// `|x|^p`.
#[expect(
    clippy::float_cmp,
    reason = "the orders that have forms of their own are whole"
)]
pub(super) fn powers(cx: &Emit, x: &Array, p: f64) -> Result<Array> {
    if p == 2.0 {
        return cx.square(x);
    }
    let magnitudes = cx.abs(x)?;
    if p == 1.0 {
        return Ok(magnitudes);
    }
    cx.power(&magnitudes, &cx.float(p, x.dtype())?)
}

/// `x^(1/p)`.
#[expect(
    clippy::float_cmp,
    reason = "the orders that have forms of their own are whole"
)]
pub(super) fn root(cx: &Emit, x: &Array, p: f64) -> Result<Array> {
    if p == 2.0 {
        cx.sqrt(x)
    } else if p == 1.0 {
        Ok(x.clone())
    } else {
        cx.power(x, &cx.float(1.0 / p, x.dtype())?)
    }
}

#[cfg(test)]
mod tests {
    use crate::device::DType;
    use crate::ops::Reject;
    use crate::ops::testing::{Case, Data, f32s, floats, ints};

    fn ramp(dims: &[usize]) -> Data {
        let count = dims.iter().product::<usize>();
        f32s(
            dims,
            &(1..=u16::try_from(count).unwrap())
                .map(f32::from)
                .collect::<Vec<_>>(),
        )
    }

    fn max(x: Data) -> Case {
        Case::new("MaxPool", 12).input(x)
    }

    fn average(x: Data) -> Case {
        Case::new("AveragePool", 19).input(x)
    }

    #[test]
    fn windows_that_do_not_fit() {
        let out = max(ramp(&[1, 1, 2])).ints("kernel_shape", &[3]).run();
        assert_eq!(out[0].dims(), [1, 1, 0]);
        let case = max(ramp(&[1, 1, 4]))
            .ints("kernel_shape", &[3])
            .ints("dilations", &[2])
            .ints("strides", &[3]);
        case.int("ceil_mode", 1).run()[0].assert_close(&[1, 1, 1], &[3.0], 0.0);
        let case = average(ramp(&[1, 1, 4]))
            .ints("kernel_shape", &[5])
            .ints("strides", &[3]);
        case.int("ceil_mode", 1).run()[0].assert_close(&[1, 1, 1], &[2.5], 1e-6);
    }

    #[test]
    fn largest_of_padded_and_dilated_windows() {
        let out = max(ramp(&[1, 1, 4, 4]))
            .ints("kernel_shape", &[3, 3])
            .ints("pads", &[1; 4]);
        let out = out.ints("strides", &[2, 2]).run();
        out[0].assert_close(&[1, 1, 2, 2], &[6.0, 8.0, 14.0, 16.0], 0.0);
        let negative = f32s(&[1, 1, 3], &[-3.0, -1.0, -2.0]);
        let out = max(negative)
            .ints("kernel_shape", &[2])
            .ints("pads", &[1, 1])
            .run();
        out[0].assert_close(&[1, 1, 4], &[-3.0, -1.0, -1.0, -2.0], 0.0);
        let out = max(ramp(&[1, 1, 5]))
            .ints("kernel_shape", &[2])
            .ints("dilations", &[3])
            .run();
        out[0].assert_close(&[1, 1, 2], &[4.0, 5.0], 0.0);
        let out = max(ramp(&[1, 1, 2, 2, 2]))
            .ints("kernel_shape", &[2, 1, 2])
            .run();
        out[0].assert_close(&[1, 1, 1, 2, 1], &[6.0, 8.0], 0.0);
        let same = max(ramp(&[1, 1, 3, 3]))
            .ints("kernel_shape", &[2, 2])
            .string("auto_pad", "SAME_UPPER");
        let out = same.run();
        let expected = [5.0, 6.0, 6.0, 8.0, 9.0, 9.0, 8.0, 9.0, 9.0];
        out[0].assert_close(&[1, 1, 3, 3], &expected, 0.0);
    }

    #[test]
    fn indices_of_the_largest() {
        let out = max(ramp(&[1, 1, 5, 5]))
            .ints("kernel_shape", &[2, 2])
            .ints("strides", &[3, 3]);
        let out = out
            .int("ceil_mode", 1)
            .output(DType::F32)
            .output(DType::I64)
            .run();
        out[0].assert_close(&[1, 1, 2, 2], &[7.0, 10.0, 22.0, 25.0], 0.0);
        assert_eq!(out[1].ints(), [6, 9, 21, 24]);
        let column = |dims: &[usize], kernel: &[i64]| {
            let case = max(ramp(dims))
                .ints("kernel_shape", kernel)
                .int("storage_order", 1);
            case.output(DType::F32).output(DType::I64).run()[1].ints()
        };
        assert_eq!(
            column(&[1, 1, 4, 4], &[2, 2]),
            [5, 9, 13, 6, 10, 14, 7, 11, 15]
        );
        assert_eq!(
            column(&[1, 2, 2, 2, 2], &[2, 1, 1]),
            [1, 5, 3, 7, 9, 13, 11, 15]
        );
        let low = f32::NEG_INFINITY;
        let padded =
            max(f32s(&[2, 1, 3], &[low, low, low, 1.0, 3.0, 3.0])).ints("kernel_shape", &[3]);
        let out = padded
            .ints("pads", &[1, 1])
            .output(DType::F32)
            .output(DType::I64)
            .run();
        assert_eq!(out[1].ints(), [0, 0, 1, 4, 4, 4]);
    }

    #[test]
    fn averages_count_what_they_should() {
        // The same for every opset, whatever releases of ONNX Runtime once computed.
        for opset in [10, 11, 19, 22] {
            let case = Case::new("AveragePool", opset).input(ramp(&[1, 1, 4, 4]));
            let case = case
                .ints("kernel_shape", &[3, 3])
                .ints("strides", &[2, 2])
                .ints("pads", &[1; 4]);
            let out = case.int("ceil_mode", 1).int("count_include_pad", 1).run();
            let third = 1.0 / 3.0;
            let expected = [
                14.0 / 9.0,
                3.0 + third,
                2.0,
                6.0 + third,
                11.0,
                6.0,
                4.5,
                7.5,
                4.0,
            ];
            out[0].assert_close(&[1, 1, 3, 3], &expected, 1e-6);
        }
        let out = average(ramp(&[1, 1, 3]))
            .ints("kernel_shape", &[2])
            .ints("pads", &[1, 1])
            .run();
        out[0].assert_close(&[1, 1, 4], &[1.0, 1.5, 2.5, 3.0], 0.0);
        let case = average(ramp(&[1, 1, 3]))
            .ints("kernel_shape", &[2])
            .ints("pads", &[1, 1]);
        let out = case.int("count_include_pad", 1).run();
        out[0].assert_close(&[1, 1, 4], &[0.5, 1.5, 2.5, 1.5], 0.0);
        let out = average(ramp(&[1, 1, 6, 4]))
            .ints("kernel_shape", &[3, 2])
            .ints("strides", &[3, 2])
            .run();
        out[0].assert_close(&[1, 1, 2, 2], &[5.5, 7.5, 17.5, 19.5], 0.0);
        let case = average(ramp(&[1, 1, 5]))
            .ints("kernel_shape", &[2])
            .ints("strides", &[2]);
        let out = case.string("auto_pad", "SAME_UPPER").run();
        out[0].assert_close(&[1, 1, 3], &[1.5, 3.5, 5.0], 0.0);
    }

    #[test]
    fn norms_of_windows() {
        let case = |p: i64| {
            let case = Case::new("LpPool", 18).input(f32s(&[1, 1, 4], &[3.0, -4.0, 1.0, 0.0]));
            case.ints("kernel_shape", &[2])
                .ints("strides", &[2])
                .int("p", p)
                .run()
        };
        case(2)[0].assert_close(&[1, 1, 2], &[5.0, 1.0], 1e-6);
        case(1)[0].assert_close(&[1, 1, 2], &[7.0, 1.0], 0.0);
        case(3)[0].assert_close(&[1, 1, 2], &[91f64.cbrt(), 1.0], 1e-6);
        let first = Case::new("LpPool", 1)
            .input(f32s(&[1, 1, 2], &[1.0, 4.0]))
            .float("p", 0.5);
        first.ints("kernel_shape", &[2]).run()[0].assert_close(&[1, 1, 1], &[9.0], 1e-6);
    }

    #[test]
    fn types_and_empty_batches() {
        for dtype in [DType::U8, DType::I8] {
            let case = max(ints(dtype, &[1, 1, 2], &[3, 100])).ints("kernel_shape", &[2]);
            assert_eq!(case.ints("pads", &[1, 0]).run()[0].ints(), [3, 100]);
        }
        for dtype in [DType::F16, DType::BF16, DType::F64] {
            let x = || floats(dtype, &[1, 1, 2], &[1.0, 4.0]);
            let out = max(x()).ints("kernel_shape", &[2]).run();
            out[0].assert_close(&[1, 1, 1], &[4.0], 0.0);
            let out = average(x()).ints("kernel_shape", &[2]).run();
            out[0].assert_close(&[1, 1, 1], &[2.5], 0.0);
        }
        let ones = floats(DType::F16, &[1, 1, 4096], &[1.0; 4096]);
        let out = average(ones).ints("kernel_shape", &[4096]).run();
        assert_eq!(out[0].floats(), [1.0]);
        let out = max(f32s(&[0, 1, 3], &[]))
            .ints("kernel_shape", &[2])
            .output(DType::F32)
            .output(DType::I64);
        assert_eq!(out.run()[1].dims(), [0, 1, 2]);
    }

    #[test]
    fn what_cannot_work_is_refused() {
        let attribute = |name: &str| Reject::Attribute(name.into());
        assert_eq!(max(ramp(&[1, 1, 2])).reject(), attribute("kernel_shape"));
        let case = || max(ramp(&[1, 1, 2])).ints("kernel_shape", &[2]);
        assert_eq!(
            case().ints("dilations", &[0]).reject(),
            attribute("dilations")
        );
        let lp = Case::new("LpPool", 18)
            .input(ramp(&[1, 1, 2]))
            .ints("kernel_shape", &[2]);
        assert_eq!(lp.int("p", 0).reject(), attribute("p"));
        let old = Case::new("MaxPool", 11)
            .input(ints(DType::U8, &[1, 1, 1], &[1]))
            .ints("kernel_shape", &[1]);
        let found = Some(DType::U8);
        assert_eq!(old.reject(), Reject::Type { input: 0, found });
        let error = max(ramp(&[1, 2]))
            .ints("kernel_shape", &[1])
            .try_run()
            .err()
            .expect("it fails");
        assert!(error.to_string().contains("[N, C, spatial..]"));
    }
}
