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
mod tests {
    use super::super::window::Axis;
    use super::*;
    use crate::device::{DeviceKind, on_thread, testing};
    use crate::ops::testing::{Case, Data, f32s, floats, ints};

    /// Small whole numbers, so that every sum is exact.
    fn numbers(dims: &[usize]) -> Vec<f64> {
        let count = dims.iter().product::<usize>();
        (0..u32::try_from(count).unwrap())
            .map(|i| f64::from(i * 7 % 11) - 5.0)
            .collect()
    }

    fn data(dtype: DType, dims: &[usize]) -> Data {
        floats(dtype, dims, &numbers(dims))
    }

    /// All index tuples below `dims`, in row-major order.
    fn indices(dims: &[usize]) -> Vec<Vec<usize>> {
        dims.iter().fold(vec![vec![]], |all, d| {
            let grow = |i: &Vec<usize>| {
                (0..*d)
                    .map(|j| [i.as_slice(), &[j]].concat())
                    .collect::<Vec<_>>()
            };
            all.iter().flat_map(grow).collect()
        })
    }

    fn at(values: &[f64], dims: &[usize], index: &[usize]) -> f64 {
        values[row_major(dims)
            .iter()
            .zip(index)
            .map(|(s, i)| s * i)
            .sum::<usize>()]
    }

    /// The definition: (output dims, output).
    fn definition(x: &[usize], w: &[usize], groups: usize, axes: &[Axis]) -> (Vec<i64>, Vec<f64>) {
        let (values, weights) = (numbers(x), numbers(w));
        let mut out = vec![x[0], w[0]];
        out.extend(axes.iter().map(|a| a.out));
        let one = |o: &Vec<usize>| {
            let mut sum = 0.0;
            for tap in indices(&w[1..]) {
                let channel = o[1] / (w[0] / groups) * w[1] + tap[0];
                let place = axes.iter().zip(&o[2..]).zip(&tap[1..]);
                let place =
                    place.map(|((a, o), k)| (o * a.stride + k * a.dilation).checked_sub(a.low));
                let Some(place) = place.collect::<Option<Vec<_>>>() else {
                    continue;
                };
                if place.iter().zip(axes).all(|(p, a)| *p < a.size) {
                    let from = [&[o[0], channel], place.as_slice()].concat();
                    sum += at(&values, x, &from)
                        * at(&weights, w, &[&[o[1]], tap.as_slice()].concat());
                }
            }
            sum
        };
        let result = indices(&out).iter().map(one).collect();
        (
            out.iter().map(|d| i64::try_from(*d).unwrap()).collect(),
            result,
        )
    }

    struct Form {
        x: &'static [usize],
        w: &'static [usize],
        groups: usize,
        strides: usize,
        dilations: usize,
        /// Before and after the first axis, then the others.
        pads: [usize; 4],
    }

    const FORMS: &[Form] = &[
        Form {
            x: &[1, 2, 7, 6],
            w: &[4, 2, 3, 3],
            groups: 1,
            strides: 1,
            dilations: 1,
            pads: [1, 1, 1, 1],
        },
        Form {
            x: &[2, 3, 7, 8],
            w: &[2, 3, 3, 2],
            groups: 1,
            strides: 2,
            dilations: 1,
            pads: [0, 2, 1, 0],
        },
        Form {
            x: &[1, 2, 9, 9],
            w: &[2, 2, 3, 3],
            groups: 1,
            strides: 1,
            dilations: 2,
            pads: [2, 2, 2, 2],
        },
        Form {
            x: &[2, 3, 4, 5],
            w: &[4, 3, 1, 1],
            groups: 1,
            strides: 1,
            dilations: 1,
            pads: [0; 4],
        },
        Form {
            x: &[1, 3, 5, 5],
            w: &[2, 3, 1, 1],
            groups: 1,
            strides: 2,
            dilations: 1,
            pads: [0, 1, 1, 0],
        },
        Form {
            x: &[1, 3, 6, 6],
            w: &[3, 1, 3, 3],
            groups: 3,
            strides: 1,
            dilations: 1,
            pads: [1; 4],
        },
        Form {
            x: &[2, 2, 6, 7],
            w: &[4, 1, 3, 2],
            groups: 2,
            strides: 2,
            dilations: 2,
            pads: [1, 2, 0, 1],
        },
        Form {
            x: &[1, 4, 5, 5],
            w: &[6, 2, 3, 3],
            groups: 2,
            strides: 1,
            dilations: 1,
            pads: [1; 4],
        },
        Form {
            x: &[1, 2, 6, 3],
            w: &[2, 2, 5, 1],
            groups: 1,
            strides: 1,
            dilations: 1,
            pads: [0; 4],
        },
        Form {
            x: &[2, 2, 9],
            w: &[3, 2, 4],
            groups: 1,
            strides: 2,
            dilations: 1,
            pads: [2, 1, 0, 0],
        },
        Form {
            x: &[1, 2, 9],
            w: &[2, 1, 70],
            groups: 2,
            strides: 1,
            dilations: 1,
            pads: [40, 40, 0, 0],
        },
        Form {
            x: &[1, 2, 4, 5, 4],
            w: &[2, 2, 2, 3, 2],
            groups: 1,
            strides: 1,
            dilations: 1,
            pads: [1, 0, 0, 1],
        },
        Form {
            x: &[1, 4, 4, 4, 4],
            w: &[4, 2, 2, 2, 2],
            groups: 2,
            strides: 2,
            dilations: 1,
            pads: [0; 4],
        },
    ];

    impl Form {
        fn pads(&self) -> (Vec<usize>, Vec<usize>) {
            let rank = self.x.len() - 2;
            let side = |first, others| {
                (0..rank)
                    .map(|i| if i == 0 { first } else { others })
                    .collect::<Vec<usize>>()
            };
            (
                side(self.pads[0], self.pads[2]),
                side(self.pads[1], self.pads[3]),
            )
        }

        fn axes(&self) -> Vec<Axis> {
            let rank = self.x.len() - 2;
            let (low, high) = self.pads();
            let window = Window {
                kernel: None,
                strides: Some(vec![self.strides; rank]),
                dilations: Some(vec![self.dilations; rank]),
                padding: super::super::window::Padding::Explicit(Some([low, high].concat())),
                ceil: false,
            };
            window.over(&self.x[2..], &self.w[2..]).unwrap()
        }

        fn case(&self, dtype: DType, constant: bool) -> Case {
            let list = |v: usize| vec![i64::try_from(v).unwrap(); self.x.len() - 2];
            let (low, high) = self.pads();
            let pads: Vec<_> = low
                .iter()
                .chain(&high)
                .map(|p| i64::try_from(*p).unwrap())
                .collect();
            Case::new("Conv", 11)
                .input(data(dtype, self.x))
                .given(constant, data(dtype, self.w))
                .int("group", i64::try_from(self.groups).unwrap())
                .ints("strides", &list(self.strides))
                .ints("dilations", &list(self.dilations))
                .ints("pads", &pads)
        }
    }

    #[test]
    fn forms_agree_with_the_definition() {
        for form in FORMS {
            let (dims, expected) = definition(form.x, form.w, form.groups, &form.axes());
            for (dtype, constant) in [(DType::F32, true), (DType::F32, false), (DType::F64, true)] {
                form.case(dtype, constant).run()[0].assert_close(&dims, &expected, 0.0);
            }
            form.case(DType::F16, true).run()[0].assert_close(&dims, &expected, 1e-3);
            form.case(DType::BF16, true).run()[0].assert_close(&dims, &expected, 8e-3);
        }
    }

    #[test]
    fn kernels_of_mlx_agree_with_the_definition() {
        testing::open();
        for form in FORMS {
            let native = form.x.len() < 5 || form.groups == 1;
            if !native || form.w[2..].iter().all(|k| *k == 1) {
                continue;
            }
            let axes = form.axes();
            let (x, w) = (data(DType::F32, form.x), data(DType::F32, form.w));
            let (dims, bytes) = on_thread(|thread| {
                let cx = thread.emit(DeviceKind::Cpu)?;
                let x = cx.array_from_bytes(x.dtype, &x.dims, &x.bytes)?;
                let w = cx.array_from_bytes(w.dtype, &w.dims, &w.bytes)?;
                let w = cx.transpose(&w, &channel_last(w.rank()))?;
                let y = with_kernel(cx, &x, &w, &axes, form.groups)?;
                Ok((y.dims(), cx.read_bytes(&y)?))
            })
            .unwrap();
            let found = bytes
                .chunks_exact(4)
                .map(|c| f64::from(f32::from_le_bytes(c.try_into().unwrap())));
            let (expected_dims, expected) = definition(form.x, form.w, form.groups, &axes);
            assert!(
                dims.iter()
                    .zip(&expected_dims)
                    .all(|(a, b)| i64::try_from(*a).unwrap() == *b)
            );
            assert_eq!(found.collect::<Vec<_>>(), expected);
        }
    }

    #[test]
    fn large_inputs_are_unfolded_in_parts() {
        // 256 channels of 3 by 3 windows on 128 by 128 elements are 144 MiB.
        let x = f32s(&[1, 256, 128, 128], &vec![1.0; 256 * 128 * 128]);
        let w = f32s(&[1, 256, 3, 3], &[0.5; 256 * 9]);
        let out = Case::new("Conv", 11).input(x).constant(w).run();
        assert_eq!(out[0].dims(), [1, 1, 126, 126]);
        assert!(out[0].floats().iter().all(|v| *v == 1152.0));
    }

    #[test]
    fn bias_automatic_padding_and_empty_batches() {
        let x = || f32s(&[1, 1, 3], &[1.0, 2.0, 3.0]);
        let w = || f32s(&[2, 1, 2], &[1.0, 10.0, -1.0, 0.0]);
        let case = || Case::new("Conv", 11).input(x()).constant(w());
        let out = case().constant(f32s(&[2], &[0.5, 0.0])).run();
        out[0].assert_close(&[1, 2, 2], &[21.5, 32.5, -1.0, -2.0], 0.0);
        let out = case().string("auto_pad", "SAME_UPPER").run();
        out[0].assert_close(&[1, 2, 3], &[21.0, 32.0, 3.0, -1.0, -2.0, -3.0], 0.0);
        let out = case().string("auto_pad", "SAME_LOWER").run();
        out[0].assert_close(&[1, 2, 3], &[10.0, 21.0, 32.0, 0.0, -1.0, -2.0], 0.0);
        let out = case()
            .string("auto_pad", "VALID")
            .ints("strides", &[2])
            .run();
        out[0].assert_close(&[1, 2, 1], &[21.0, -1.0], 0.0);
        let empty = Case::new("Conv", 11)
            .input(f32s(&[0, 1, 3], &[]))
            .constant(w())
            .run();
        empty[0].assert_close(&[0, 2, 2], &[], 0.0);
    }

    #[test]
    fn what_cannot_work_is_refused() {
        let x = || f32s(&[1, 2, 3], &[0.0; 6]);
        let case = |w: Data| Case::new("Conv", 11).input(x()).input(w);
        let good = || f32s(&[1, 2, 2], &[0.0; 4]);
        let attribute = |name: &str| Reject::Attribute(name.into());
        assert_eq!(case(good()).int("group", 0).reject(), attribute("group"));
        assert_eq!(
            case(good()).ints("pads", &[-1, 0]).reject(),
            attribute("pads")
        );
        assert_eq!(
            case(good()).ints("strides", &[0]).reject(),
            attribute("strides")
        );
        assert_eq!(
            case(good()).string("auto_pad", "SAME").reject(),
            attribute("auto_pad")
        );
        let found = Some(DType::I32);
        let int = Case::new("Conv", 11).input(ints(DType::I32, &[1, 1, 1], &[1]));
        assert_eq!(int.reject(), Reject::Type { input: 0, found });
        let failure = |case: Case| case.try_run().err().expect("it fails").to_string();
        assert!(failure(case(f32s(&[1, 1, 2], &[0.0; 2]))).contains("do not fit 1 groups"));
        assert!(failure(case(f32s(&[1, 2, 4], &[0.0; 8]))).contains("does not fit an axis"));
        assert!(failure(case(good()).ints("kernel_shape", &[3])).contains("kernel_shape"));
        assert!(failure(case(good()).input(f32s(&[2], &[0.0; 2]))).contains("2 values"));
    }
}
