//! DeformConv: a convolution whose windows read at computed places.
use super::conv::per_channel;
use super::window::{Axis, Window};
use crate::device::{Array, DType, Emit};
use crate::error::{Error, Result};
use crate::ops::reduce::accumulator;
use crate::ops::vision::{Beyond, Images, Method};
use crate::ops::{NodeRef, OpDef, Planned, Reject, lower, op};

pub(in crate::ops) const OPS: &[OpDef] = &[op!("DeformConv", 19.., [FLOAT64], deform_conv)];

fn deform_conv(node: &NodeRef<'_>) -> Planned {
    let dtype = node.dtype(0)?;
    let window = Window::read(node)?;
    let count = |name: &str| {
        let count = usize::try_from(node.int_or(name, 1)?).ok();
        let count = count.filter(|c| *c > 0);
        count.ok_or_else(|| Reject::Attribute(name.into()))
    };
    let (groups, offset_groups) = (count("group")?, count("offset_group")?);
    let weight = node.weight(1, "accumulated", |cx, w| {
        cx.astype(w, accumulator(w.dtype()))
    });
    lower(move |cx, x| {
        let (input, weight) = (x.array(0)?, x.weight(weight)?);
        let (dims, weights) = (input.dims(), weight.dims());
        let rank = dims.len().saturating_sub(2);
        let fits = rank > 0
            && weights.len() == dims.len()
            && weights[1] * groups == dims[1]
            && weights[0].is_multiple_of(groups)
            && dims[1].is_multiple_of(offset_groups);
        if !fits {
            return Err(Error::invalid(format!(
                "weights of shape {weights:?} do not fit an input of shape {dims:?} with {groups} groups and {offset_groups} offset groups"
            )));
        }
        let axes = window.over(&dims[2..], &window.kernel_or(&weights[2..])?)?;
        let outs: Vec<_> = axes.iter().map(|a| a.out).collect();
        let taps: usize = weights[2..].iter().product();
        for (input, parts) in [(2, taps * rank), (4, taps)] {
            let expected = [&[dims[0], offset_groups * parts], outs.as_slice()].concat();
            if (input == 2 || x.has(input)) && x.dims(input)? != expected {
                return Err(Error::invalid(format!(
                    "input {input} must have the shape {expected:?}, found {:?}",
                    x.dims(input)?
                )));
            }
        }
        let out = [&[dims[0], weights[0]], outs.as_slice()].concat();
        let y = if out.contains(&0) || input.size() == 0 {
            cx.zeros(&out, weight.dtype())?
        } else {
            let form = Form {
                batch: dims[0],
                groups: offset_groups,
                taps,
                places: outs.iter().product(),
            };
            let wide = cx.astype(input, weight.dtype())?;
            let seen = form.seen(cx, &wide, &axes, x.array(2)?, x.optional(4)?)?;
            let inner = weights[1] * taps;
            let columns = cx.reshape(&seen, &[dims[0], groups, inner, form.places])?;
            let weight = cx.reshape(&weight, &[groups, weights[0] / groups, inner])?;
            cx.reshape(&cx.matmul(&weight, &columns)?, &out)?
        };
        let y = match x.optional(3)? {
            Some(bias) => cx.add(&y, &per_channel(cx, bias, &y)?)?,
            None => y,
        };
        cx.astype(&y, dtype)
    })
}

/// The sizes of what the windows see.
struct Form {
    batch: usize,
    /// Channels of one group are read at the same places.
    groups: usize,
    /// Elements of a window.
    taps: usize,
    /// Windows of an image.
    places: usize,
}

impl Form {
    /// What the windows see, [N, C, taps, places].
    fn seen(
        &self,
        cx: &Emit,
        x: &Array,
        axes: &[Axis],
        offset: &Array,
        mask: Option<&Array>,
    ) -> Result<Array> {
        let (dims, rank) = (x.dims(), axes.len());
        let (images, reads) = (self.batch * self.groups, self.taps * self.places);
        let offset = cx.astype(offset, accumulator(offset.dtype()))?;
        let offset = cx.reshape(&offset, &[images, self.taps, rank, self.places])?;
        let places = (0..rank).map(|i| {
            let moved = cx.slice_axis(&offset, 2, i, i + 1)?;
            let moved = cx.reshape(&moved, &[images, self.taps, self.places])?;
            let place = cx.add(&regular(cx, axes, i, offset.dtype())?, &moved)?;
            cx.reshape(&place, &[images, reads])
        });
        let places = places.collect::<Result<Vec<_>>>()?;
        let mut split = vec![images, dims[1] / self.groups];
        split.extend(&dims[2..]);
        let images_of = Images::new(cx, &cx.reshape(x, &split)?)?;
        let mut seen = images_of.at(cx, &places, Method::Linear, Beyond::Zeros)?;
        if let Some(mask) = mask {
            let mask = cx.reshape(&cx.astype(mask, seen.dtype())?, &[images, reads, 1])?;
            seen = cx.multiply(&seen, &mask)?;
        }
        let shape = [self.batch, dims[1], self.taps, self.places];
        cx.reshape(&cx.transpose(&seen, &[0, 2, 1])?, &shape)
    }
}

/// Where along axis `along` the windows lie that are not deformed, [taps, places].
#[expect(
    clippy::cast_precision_loss,
    reason = "axes have less than 2^31 elements"
)]
fn regular(cx: &Emit, axes: &[Axis], along: usize, dtype: DType) -> Result<Array> {
    // The position of each element of a grid along one of its axes.
    let positions = |sizes: Vec<usize>| {
        let inner: usize = sizes[along + 1..].iter().product();
        let count: usize = sizes.iter().product();
        (0..count).map(move |i| i / inner % sizes[along])
    };
    let axis = &axes[along];
    let numbers = |values: Vec<f64>, shape: [usize; 2]| {
        let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        cx.astype(&cx.array_from_bytes(DType::F64, &shape, &bytes)?, dtype)
    };
    let taps = positions(axes.iter().map(|a| a.kernel).collect());
    let taps: Vec<_> = taps.map(|k| (k * axis.dilation) as f64).collect();
    let starts = positions(axes.iter().map(|a| a.out).collect());
    let start = |o: usize| (o * axis.stride) as f64 - axis.low as f64;
    let starts: Vec<_> = starts.map(start).collect();
    let (down, across) = ([taps.len(), 1], [1, starts.len()]);
    cx.add(&numbers(taps, down)?, &numbers(starts, across)?)
}

#[cfg(test)]
mod tests {
    use crate::device::DType;
    use crate::ops::Reject;
    use crate::ops::testing::{Case, f32s, floats};

    fn real(i: usize) -> f64 {
        f64::from(u32::try_from(i).unwrap())
    }

    fn numbers(dims: &[usize], step: usize, scale: f64) -> Vec<f64> {
        let count = dims.iter().product::<usize>();
        (0..count)
            .map(|i| (real(i * step % 17) - 8.0) * scale)
            .collect()
    }

    /// The element of a plane at a place; zero around it.
    fn at(plane: &[f64], [h, w]: [usize; 2], y: f64, x: f64) -> f64 {
        let mut sum = 0.0;
        for (i, j) in (0..h).flat_map(|i| (0..w).map(move |j| (i, j))) {
            let weight = |v: f64, i: usize| (1.0 - (v - real(i)).abs()).max(0.0);
            sum += weight(y, i) * weight(x, j) * plane[i * w + j];
        }
        sum
    }

    struct Shape {
        x: [usize; 4],
        w: [usize; 4],
        groups: usize,
        offset_groups: usize,
        strides: [usize; 2],
        dilations: [usize; 2],
        pads: [usize; 4],
    }

    #[test]
    fn windows_agree_with_the_definition() {
        let plain = Shape {
            x: [2, 2, 4, 5],
            w: [3, 2, 2, 3],
            groups: 1,
            offset_groups: 1,
            strides: [1, 1],
            dilations: [1, 1],
            pads: [0; 4],
        };
        let grouped = Shape {
            x: [1, 4, 5, 4],
            w: [4, 2, 2, 2],
            groups: 2,
            offset_groups: 4,
            strides: [2, 1],
            dilations: [1, 2],
            pads: [1, 0, 0, 2],
        };
        for shape in [plain, grouped] {
            for masked in [false, true] {
                check(&shape, masked);
            }
        }
    }

    fn check(s: &Shape, masked: bool) {
        let ([n, c, h, width], [m, inner, kh, kw]) = (s.x, s.w);
        let out = |size: usize, i: usize, k: usize| {
            (size + s.pads[i] + s.pads[i + 2] - s.dilations[i] * (k - 1) - 1) / s.strides[i] + 1
        };
        let (oh, ow, taps) = (out(h, 0, kh), out(width, 1, kw), kh * kw);
        let offset_dims = [n, s.offset_groups * taps * 2, oh, ow];
        let mask_dims = [n, s.offset_groups * taps, oh, ow];
        let (image, weights) = (numbers(&s.x, 5, 0.5), numbers(&s.w, 3, 0.25));
        let (offset, mask) = (numbers(&offset_dims, 7, 0.3), numbers(&mask_dims, 4, 0.2));
        let bias = numbers(&[m], 1, 1.0);
        let mut expected = vec![];
        for (b, o) in (0..n).flat_map(|b| (0..m).map(move |o| (b, o))) {
            for (i, j) in (0..oh).flat_map(|i| (0..ow).map(move |j| (i, j))) {
                let mut sum = bias[o];
                for (k, t) in (0..inner).flat_map(|k| (0..taps).map(move |t| (k, t))) {
                    let channel = o / (m / s.groups) * inner + k;
                    let first = (b * s.offset_groups + channel / (c / s.offset_groups)) * taps + t;
                    let moved = |axis: usize| offset[((first * 2 + axis) * oh + i) * ow + j];
                    let y = real(i * s.strides[0] + t / kw * s.dilations[0]) - real(s.pads[0]);
                    let x = real(j * s.strides[1] + t % kw * s.dilations[1]) - real(s.pads[1]);
                    let plane = &image[(b * c + channel) * h * width..][..h * width];
                    let seen = at(plane, [h, width], y + moved(0), x + moved(1));
                    let scale = if masked {
                        mask[(first * oh + i) * ow + j]
                    } else {
                        1.0
                    };
                    sum += seen * scale * weights[(o * inner + k) * taps + t];
                }
                expected.push(sum);
            }
        }
        let dims = [n, m, oh, ow].map(|d| i64::try_from(d).unwrap());
        let list = |v: &[usize]| {
            v.iter()
                .map(|d| i64::try_from(*d).unwrap())
                .collect::<Vec<_>>()
        };
        for (dtype, tolerance) in [(DType::F64, 1e-12), (DType::F32, 1e-5)] {
            let case = Case::new("DeformConv", 19)
                .input(floats(dtype, &s.x, &image))
                .constant(floats(dtype, &s.w, &weights))
                .input(floats(dtype, &offset_dims, &offset))
                .input(floats(dtype, &[m], &bias));
            let case = if masked {
                case.input(floats(dtype, &mask_dims, &mask))
            } else {
                case
            };
            let case = case
                .ints("strides", &list(&s.strides))
                .ints("dilations", &list(&s.dilations))
                .ints("pads", &list(&s.pads))
                .int("group", i64::try_from(s.groups).unwrap())
                .int("offset_group", i64::try_from(s.offset_groups).unwrap());
            case.run()[0].assert_close(&dims, &expected, tolerance);
        }
    }

    fn line(dtype: DType, batch: usize, offset: &[f64]) -> Case {
        Case::new("DeformConv", 22)
            .input(floats(
                dtype,
                &[batch, 1, 3],
                &[1.0, 2.0, 4.0].repeat(batch),
            ))
            .input(floats(dtype, &[1, 1, 1], &[2.0]))
            .input(floats(dtype, &[batch, 1, 3], offset))
    }

    #[test]
    fn other_ranks_and_types() {
        for dtype in [DType::F16, DType::BF16, DType::F32, DType::F64] {
            let out = line(dtype, 1, &[0.5, -1.5, f64::INFINITY]).run();
            // An infinite offset has no place, and reads nothing.
            assert_eq!(out[0].floats()[..2], [3.0, 1.0]);
        }
        line(DType::F32, 0, &[]).run()[0].assert_close(&[0, 1, 3], &[], 0.0);
        let cube = Case::new("DeformConv", 22)
            .input(f32s(&[1, 1, 2, 1, 1], &[1.0, 3.0]))
            .input(f32s(&[1, 1, 2, 1, 1], &[1.0, 10.0]))
            .input(f32s(&[1, 6, 1, 1, 1], &[0.5, 0.0, 0.0, 0.0, 0.0, 0.5]));
        cube.run()[0].assert_close(&[1, 1, 1, 1, 1], &[17.0], 0.0);
    }

    #[test]
    fn what_does_not_fit() {
        let failure = |case: Case| case.try_run().err().expect("it fails").to_string();
        let offset = || line(DType::F32, 1, &[0.0; 3]);
        assert!(failure(offset().int("group", 2)).contains("2 groups"));
        assert!(failure(offset().int("offset_group", 2)).contains("2 offset groups"));
        assert!(failure(offset().ints("pads", &[1, 1])).contains("[1, 1, 5]"));
        for name in ["group", "offset_group"] {
            assert_eq!(
                offset().int(name, 0).reject(),
                Reject::Attribute(name.into())
            );
        }
    }
}
