//! Col2Im: the sum of blocks that were cut out of an image.
use super::overlap::{Spread, cut, overlapped};
use super::window::Window;
use crate::error::{Error, Result};
use crate::ops::reduce::accumulator;
use crate::ops::{Inputs, NodeRef, OpDef, Planned, lower, op};

pub(in crate::ops) const OPS: &[OpDef] = &[op!("Col2Im", 18.., [NUMERIC, I64, I64], col2im)];

fn col2im(node: &NodeRef<'_>) -> Planned {
    let dtype = node.dtype(0)?;
    let window = Window::read(node)?;
    let plan = lower(move |cx, x| {
        let (image, block) = (sizes(x, 1)?, sizes(x, 2)?);
        let axes = window.over(&image, &block)?;
        let taps: usize = block.iter().product();
        let count: usize = axes.iter().map(|a| a.out).product();
        let (batch, channels) = match *x.dims(0)? {
            [n, c, l] if taps > 0 && c % taps == 0 && l == count => (n, c / taps),
            ref dims => {
                return Err(Error::invalid(format!(
                    "input 0 of shape {dims:?} does not hold {count} blocks of {block:?}"
                )));
            }
        };
        let mut out = vec![batch, channels];
        out.extend(&image);
        if out.contains(&0) || count == 0 {
            return cx.zeros(&out, dtype);
        }
        let mut terms = vec![batch, channels];
        terms.extend(&block);
        terms.extend(axes.iter().map(|a| a.out));
        let wide = cx.astype(x.array(0)?, accumulator(dtype))?;
        let spread: Vec<_> = axes
            .iter()
            .map(|a| Spread {
                kernel: a.kernel,
                stride: a.stride,
                dilation: a.dilation,
                low: a.low,
                out: a.size,
            })
            .collect();
        let full = overlapped(cx, cx.reshape(&wide, &terms)?, &spread)?;
        cx.astype(&cut(cx, &full, &spread)?, dtype)
    })?;
    Ok(plan.reads(&[1, 2]))
}

fn sizes(x: &Inputs<'_>, input: usize) -> Result<Vec<usize>> {
    let values = x.ints(input)?;
    let positive = |v: &i64| usize::try_from(*v).ok().filter(|v| *v > 0 || input == 1);
    let sizes = values.iter().map(positive).collect::<Option<Vec<_>>>();
    let sizes = sizes.filter(|sizes| !sizes.is_empty());
    sizes.ok_or_else(|| Error::invalid(format!("input {input} holds no sizes: {values:?}")))
}

#[cfg(test)]
mod tests {
    use crate::device::DType;
    use crate::ops::testing::{Case, Data, floats, i64s, ints};

    fn case(x: Data, image: &[i64], block: &[i64]) -> Case {
        Case::new("Col2Im", 18)
            .input(x)
            .input(i64s(&[image.len()], image))
            .constant(i64s(&[block.len()], block))
    }

    fn ramp(count: usize) -> Vec<i64> {
        (0..i64::try_from(count).unwrap())
            .map(|i| i * 7 % 11 - 3)
            .collect()
    }

    /// Each column element added where it came from: (output dims, output) for one image of one channel.
    fn definition(
        image: &[i64],
        block: &[i64],
        strides: &[i64],
        dilations: &[i64],
        pads: &[i64],
    ) -> (usize, usize, Vec<i64>) {
        let rank = image.len();
        let blocks: Vec<i64> = (0..rank)
            .map(|i| {
                let room = image[i] + pads[i] + pads[rank + i] - dilations[i] * (block[i] - 1) - 1;
                room / strides[i] + 1
            })
            .collect();
        let (taps, count): (i64, i64) = (block.iter().product(), blocks.iter().product());
        let split = |mut flat: i64, sizes: &[i64]| {
            let mut at = vec![0; rank];
            for i in (0..rank).rev() {
                at[i] = flat % sizes[i];
                flat /= sizes[i];
            }
            at
        };
        let size = usize::try_from(image.iter().product::<i64>()).unwrap();
        let mut out = vec![0; size];
        let values = ramp(usize::try_from(taps * count).unwrap());
        for (tap, start) in (0..taps).flat_map(|t| (0..count).map(move |c| (t, c))) {
            let (k, o) = (split(tap, block), split(start, &blocks));
            let place = |i: usize| o[i] * strides[i] - pads[i] + k[i] * dilations[i];
            if (0..rank).all(|i| (0..image[i]).contains(&place(i))) {
                let flat = (0..rank).fold(0, |flat, i| flat * image[i] + place(i));
                let from = usize::try_from(tap * count + start).unwrap();
                out[usize::try_from(flat).unwrap()] += values[from];
            }
        }
        (
            usize::try_from(taps).unwrap(),
            usize::try_from(count).unwrap(),
            out,
        )
    }

    #[test]
    fn blocks_are_added_where_they_came_from() {
        for (image, block, strides, dilations, pads) in [
            (
                &[5, 5][..],
                &[1, 5][..],
                &[1, 1][..],
                &[1, 1][..],
                &[0; 4][..],
            ),
            (&[5, 4], &[2, 3], &[2, 1], &[1, 1], &[0, 1, 1, 2]),
            (&[6, 6], &[2, 2], &[1, 3], &[3, 2], &[1, 0, 2, 0]),
            (&[4, 6], &[2, 3], &[2, 3], &[1, 1], &[0; 4]),
            (&[7], &[3], &[2], &[1], &[1, 1]),
            (
                &[3, 4, 3],
                &[2, 1, 2],
                &[1, 2, 1],
                &[1, 1, 1],
                &[0, 0, 1, 0, 0, 0],
            ),
        ] {
            let (taps, count, expected) = definition(image, block, strides, dilations, pads);
            let values = ramp(taps * count);
            let dims = [&[1, 1], image].concat();
            for dtype in [DType::I64, DType::I32, DType::F32, DType::F16, DType::F64] {
                let x = if dtype.is_float() {
                    let values = values.iter().map(|v| f64::from(i32::try_from(*v).unwrap()));
                    floats(dtype, &[1, taps, count], &values.collect::<Vec<_>>())
                } else {
                    ints(dtype, &[1, taps, count], &values)
                };
                let out = case(x, image, block)
                    .ints("strides", strides)
                    .ints("dilations", dilations)
                    .ints("pads", pads)
                    .run();
                let found: Vec<i64> = out[0]
                    .floats()
                    .iter()
                    .map(|v| format!("{v}").parse().unwrap())
                    .collect();
                assert_eq!((out[0].dims(), found), (dims.as_slice(), expected.clone()));
            }
        }
    }

    #[test]
    fn batches_and_channels_stay_apart() {
        let x = floats(
            DType::F32,
            &[2, 4, 1],
            &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0],
        );
        let out = case(x, &[2], &[2]).run();
        out[0].assert_close(&[2, 2, 2], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0], 0.0);
        let none = case(floats(DType::F32, &[0, 4, 1], &[]), &[2], &[2]).run();
        none[0].assert_close(&[0, 2, 2], &[], 0.0);
    }

    #[test]
    fn blocks_that_do_not_fit_are_errors() {
        let x = || floats(DType::F32, &[1, 4, 1], &[0.0; 4]);
        for (image, block) in [
            (&[3][..], &[2][..]),
            (&[3], &[3]),
            (&[2, 2], &[2]),
            (&[2], &[0]),
            (&[-2], &[2]),
        ] {
            assert!(case(x(), image, block).try_run().is_err());
        }
    }
}
