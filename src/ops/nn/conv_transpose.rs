//! ConvTranspose.
use super::conv::per_channel;
use super::overlap::{Spread, cut, overlapped};
use super::window::{Padding, Window, spatial};
use crate::device::{Array, Emit};
use crate::error::{Error, Result};
use crate::ops::linalg::widened;
use crate::ops::{NodeRef, OpDef, Planned, Reject, lower, op};

pub(in crate::ops) const OPS: &[OpDef] = &[op!("ConvTranspose", 1.., [FLOAT64], conv_transpose)];

fn conv_transpose(node: &NodeRef<'_>) -> Planned {
    let dtype = node.dtype(0)?;
    let window = Window::read(node)?;
    let counts = |name: &str, least: i64| {
        let list = node.ints(name)?;
        let convert = |v: &i64| usize::try_from(*v).ok().filter(|_| *v >= least);
        let list = list.map(|l| l.iter().map(convert).collect::<Option<Vec<_>>>());
        match list {
            Some(None) => Err(Reject::Attribute(name.into())),
            other => Ok(other.flatten()),
        }
    };
    let extra = counts("output_padding", 0)?;
    let wanted = counts("output_shape", 1)?;
    let groups = usize::try_from(node.int_or("group", 1)?)
        .ok()
        .filter(|g| *g > 0);
    let groups = groups.ok_or_else(|| Reject::Attribute("group".into()))?;
    let weight = node.weight(1, "product", widened);
    lower(move |cx, x| {
        let (input, weight) = (x.array(0)?, x.weight(weight)?);
        let (sizes, dims) = (spatial(input)?, weight.dims());
        if dims.len() != sizes.len() + 2
            || dims[0] != input.dim(1)
            || !dims[0].is_multiple_of(groups)
        {
            return Err(Error::invalid(format!(
                "weights of shape {dims:?} do not fit {groups} groups of {} channels with {} spatial axes",
                input.dim(1),
                sizes.len()
            )));
        }
        let kernel = window.kernel_or(&dims[2..])?;
        let axes = spread(&window, &sizes, &kernel, extra.as_ref(), wanted.as_deref())?;
        let outputs = dims[1] * groups;
        let mut out = vec![input.dim(0), outputs];
        out.extend(axes.iter().map(|a| a.out));
        let y = if out.contains(&0) || input.size() == 0 {
            cx.zeros(&out, weight.dtype())?
        } else {
            let wide = cx.astype(input, weight.dtype())?;
            let terms = products(cx, &wide, &weight, groups)?;
            cut(cx, &overlapped(cx, terms, &axes)?, &axes)?
        };
        let y = match x.optional(2)? {
            Some(bias) => cx.add(&y, &per_channel(cx, bias, &y)?)?,
            None => y,
        };
        cx.astype(&y, dtype)
    })
}

/// Each input element times the weights: [N, O, kernel.., spatial..].
fn products(cx: &Emit, x: &Array, weight: &Array, groups: usize) -> Result<Array> {
    let (dims, kernel) = (x.dims(), weight.dims());
    let (inner, taps) = (dims[1] / groups, kernel[1..].iter().product::<usize>());
    let weight = cx.reshape(weight, &[groups, inner, taps])?;
    let places = dims[2..].iter().product();
    let x = cx.reshape(x, &[dims[0], groups, inner, places])?;
    let terms = cx.matmul(&cx.transpose(&weight, &[0, 2, 1])?, &x)?;
    let shape: Vec<_> = [dims[0], groups * kernel[1]]
        .iter()
        .chain(&kernel[2..])
        .chain(&dims[2..])
        .copied()
        .collect();
    cx.reshape(&terms, &shape)
}

fn spread(
    window: &Window,
    sizes: &[usize],
    kernel: &[usize],
    extra: Option<&Vec<usize>>,
    wanted: Option<&[usize]>,
) -> Result<Vec<Spread>> {
    let rank = sizes.len();
    let strides = Window::list(window.strides.as_ref(), rank, 1)?;
    let dilations = Window::list(window.dilations.as_ref(), rank, 1)?;
    let extra = Window::list(extra, rank, 0)?;
    let pads = match &window.padding {
        Padding::Explicit(pads) => Window::list(pads.as_ref(), 2 * rank, 0)?,
        _ => vec![0; 2 * rank],
    };
    // Some models give the whole shape, batch and channels included.
    let wanted = match wanted {
        Some(w) if w.len() == rank || w.len() == rank + 2 => Some(&w[w.len() - rank..]),
        Some(w) => {
            return Err(Error::invalid(format!(
                "output_shape {w:?} does not fit {rank} spatial axes"
            )));
        }
        None => None,
    };
    (0..rank)
        .map(|i| {
            let (kernel, stride, dilation) = (kernel[i], strides[i], dilations[i]);
            let full = sizes[i].saturating_sub(1) * stride + extra[i] + (kernel - 1) * dilation + 1;
            let same = matches!(window.padding, Padding::SameUpper | Padding::SameLower);
            let target = wanted
                .map(|w| w[i])
                .or(same.then_some((sizes[i] * stride).min(full)));
            let (low, out) = match target {
                Some(out) => {
                    let total = full.saturating_sub(out);
                    let upper = window.padding == Padding::SameUpper;
                    (if upper { total / 2 } else { total.div_ceil(2) }, out)
                }
                None => {
                    let cut = full.checked_sub(pads[i] + pads[rank + i]);
                    let cut = cut
                        .ok_or_else(|| Error::invalid("pads cut off more than the whole output"))?;
                    (pads[i], if sizes[i] == 0 { 0 } else { cut })
                }
            };
            Ok(Spread {
                kernel,
                stride,
                dilation,
                low,
                out,
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use crate::device::DType;
    use crate::ops::Reject;
    use crate::ops::testing::{Case, Data, f32s, floats};

    fn case(x: Data, w: Data) -> Case {
        Case::new("ConvTranspose", 11).input(x).constant(w)
    }

    fn ramp(dims: &[usize]) -> Vec<f64> {
        let count = dims.iter().product::<usize>();
        (0..u32::try_from(count).unwrap())
            .map(|i| f64::from(i * 5 % 7) - 3.0)
            .collect()
    }

    /// The definition on two spatial axes, before anything is cut off.
    fn full(
        x: [usize; 4],
        w: [usize; 4],
        groups: usize,
        strides: [usize; 2],
        dilations: [usize; 2],
    ) -> (Vec<i64>, Vec<f64>) {
        let (values, weights) = (ramp(&x), ramp(&w));
        let size = |i: usize| (x[i + 2] - 1) * strides[i] + (w[i + 2] - 1) * dilations[i] + 1;
        let out = [x[0], w[1] * groups, size(0), size(1)];
        let mut y = vec![0.0; out.iter().product()];
        for n in 0..x[0] {
            for c in 0..x[1] {
                for o in 0..w[1] {
                    for (i, j) in (0..x[2]).flat_map(|i| (0..x[3]).map(move |j| (i, j))) {
                        for (p, q) in (0..w[2]).flat_map(|p| (0..w[3]).map(move |q| (p, q))) {
                            let channel = c / (x[1] / groups) * w[1] + o;
                            let row = i * strides[0] + p * dilations[0];
                            let column = j * strides[1] + q * dilations[1];
                            y[((n * out[1] + channel) * out[2] + row) * out[3] + column] += values
                                [((n * x[1] + c) * x[2] + i) * x[3] + j]
                                * weights[((c * w[1] + o) * w[2] + p) * w[3] + q];
                        }
                    }
                }
            }
        }
        (out.iter().map(|d| i64::try_from(*d).unwrap()).collect(), y)
    }

    #[test]
    fn forms_agree_with_the_definition() {
        for (x, w, groups, strides, dilations) in [
            ([1, 2, 3, 4], [2, 3, 2, 2], 1, [2, 2], [1, 1]),
            ([2, 2, 3, 3], [2, 2, 3, 3], 1, [1, 1], [1, 1]),
            ([1, 2, 3, 4], [2, 1, 3, 4], 1, [2, 3], [1, 1]),
            ([1, 4, 3, 3], [4, 2, 3, 2], 2, [2, 1], [1, 2]),
            ([1, 3, 3, 2], [3, 1, 2, 2], 3, [3, 4], [1, 1]),
            ([1, 1, 4, 4], [1, 1, 3, 3], 1, [2, 3], [2, 3]),
        ] {
            let (dims, expected) = full(x, w, groups, strides, dilations);
            let list = |v: [usize; 2]| v.map(|n| i64::try_from(n).unwrap());
            for (dtype, tolerance) in [(DType::F32, 0.0), (DType::F64, 0.0), (DType::F16, 1e-3)] {
                let case = case(floats(dtype, &x, &ramp(&x)), floats(dtype, &w, &ramp(&w)));
                let case = case
                    .ints("strides", &list(strides))
                    .ints("dilations", &list(dilations));
                let out = case.int("group", i64::try_from(groups).unwrap()).run();
                out[0].assert_close(&dims, &expected, tolerance);
            }
        }
    }

    #[test]
    fn output_padding_and_pads() {
        let x = f32s(
            &[1, 1, 3, 3],
            &[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0],
        );
        let case = case(x, f32s(&[1, 1, 3, 3], &[1.0; 9]));
        let out = case
            .ints("strides", &[2, 2])
            .ints("pads", &[1, 1, 1, 1])
            .ints("output_padding", &[1, 1])
            .run();
        assert_eq!(out[0].dims(), [1, 1, 6, 6]);
        let start = [0.0, 1.0, 1.0, 3.0, 2.0, 2.0, 3.0, 8.0, 5.0, 12.0, 7.0, 7.0];
        assert_eq!(out[0].floats()[..12], start);
    }

    #[test]
    fn output_shapes_and_automatic_padding() {
        // Uncut: 1, 10, 102, 20, 203, 30, 300.
        let case = || {
            let x = f32s(&[1, 1, 3], &[1.0, 2.0, 3.0]);
            case(x, f32s(&[1, 1, 3], &[1.0, 10.0, 100.0])).ints("strides", &[2])
        };
        let run = |case: Case| case.run()[0].floats();
        let tail = [10.0, 102.0, 20.0, 203.0, 30.0, 300.0];
        let head = [1.0, 10.0, 102.0, 20.0, 203.0, 30.0];
        assert_eq!(run(case().ints("output_shape", &[6])), tail);
        assert_eq!(run(case().string("auto_pad", "SAME_LOWER")), tail);
        assert_eq!(run(case().string("auto_pad", "SAME_UPPER")), head);
        let upper = case()
            .string("auto_pad", "SAME_UPPER")
            .ints("output_shape", &[4]);
        assert_eq!(run(upper), tail[..4]);
        // A stride beyond the kernel leaves nothing to cut.
        let x = f32s(&[1, 1, 3], &[1.0, 2.0, 3.0]);
        let point = Case::new("ConvTranspose", 11)
            .input(x)
            .constant(f32s(&[1, 1, 1], &[1.0]));
        let apart = run(point.string("auto_pad", "SAME_UPPER").ints("strides", &[2]));
        assert_eq!(apart, [1.0, 0.0, 2.0, 0.0, 3.0]);
        let valid = case()
            .string("auto_pad", "VALID")
            .constant(f32s(&[1], &[0.5]));
        assert_eq!(run(valid)[..3], [1.5, 10.5, 102.5]);
        let longer = case()
            .ints("output_shape", &[8])
            .ints("output_padding", &[1]);
        assert_eq!(run(longer)[5..], [30.0, 300.0, 0.0]);
    }

    #[test]
    fn three_axes_and_empty_batches() {
        let w = || f32s(&[1, 1, 2, 1, 1], &[1.0, 2.0]);
        let x = f32s(&[1, 1, 2, 1, 2], &[1.0, 2.0, 3.0, 4.0]);
        let out = case(x, w()).run();
        out[0].assert_close(&[1, 1, 3, 1, 2], &[1.0, 2.0, 5.0, 8.0, 6.0, 8.0], 0.0);
        let out = case(f32s(&[0, 1, 2, 1, 2], &[]), w()).run();
        out[0].assert_close(&[0, 1, 3, 1, 2], &[], 0.0);
    }

    #[test]
    fn what_cannot_work_is_refused() {
        let case = || case(f32s(&[1, 2, 3], &[0.0; 6]), f32s(&[2, 1, 2], &[0.0; 4]));
        let attribute = |name: &str| Reject::Attribute(name.into());
        assert_eq!(
            case().ints("output_padding", &[-1]).reject(),
            attribute("output_padding")
        );
        assert_eq!(case().int("group", 0).reject(), attribute("group"));
        let failure = |case: Case| case.try_run().err().expect("it fails").to_string();
        assert!(failure(case().int("group", 3)).contains("do not fit 3 groups"));
        assert!(failure(case().ints("pads", &[9, 9])).contains("cut off more"));
        assert!(failure(case().ints("output_shape", &[4, 4])).contains("output_shape"));
    }
}
