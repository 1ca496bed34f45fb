//! CenterCropPad.
use crate::device::{Array, Emit};
use crate::error::{Error, Result};
use crate::ops::{self, NodeRef, OpDef, Planned, lower, op};

pub(in crate::ops) const OPS: &[OpDef] =
    &[op!("CenterCropPad", 18.., [ANY, INDEX], center_crop_pad)];

fn center_crop_pad(node: &NodeRef<'_>) -> Planned {
    let axes = node.ints("axes")?.map(<[i64]>::to_vec);
    let plan = lower(move |cx, x| {
        let (data, sizes) = (x.array(0)?, x.ints(1)?);
        let rank = data.rank();
        let axes = match &axes {
            Some(axes) => {
                ops::axes(axes, rank)?;
                let each = axes.iter().map(|axis| ops::axis(*axis, rank));
                each.collect::<Result<Vec<_>>>()?
            }
            None => (0..rank).collect(),
        };
        if sizes.len() != axes.len() {
            return Err(Error::invalid(format!(
                "{} sizes in input 1 for {} axes",
                sizes.len(),
                axes.len()
            )));
        }
        let mut wanted = data.dims();
        for (axis, size) in axes.into_iter().zip(sizes) {
            wanted[axis] = usize::try_from(*size)
                .map_err(|_| Error::invalid(format!("a size of {size} in input 1")))?;
        }
        fit(cx, data, &wanted)
    })?;
    Ok(plan.reads(&[1]))
}

/// Cuts or zero-pads every axis to the wanted size around its centre; odd differences leave more at the end.
fn fit(cx: &Emit, data: &Array, wanted: &[usize]) -> Result<Array> {
    let mut part = data.clone();
    let (mut low, mut high) = (vec![0; wanted.len()], vec![0; wanted.len()]);
    for (axis, (size, wanted)) in data.dims().into_iter().zip(wanted).enumerate() {
        if size > *wanted {
            let start = (size - wanted) / 2;
            part = cx.slice_axis(&part, axis, start, start + wanted)?;
        } else {
            low[axis] = (wanted - size) / 2;
            high[axis] = wanted - size - low[axis];
        }
    }
    if part.size() == 0 {
        return cx.zeros(wanted, data.dtype());
    }
    if low.iter().chain(&high).all(|pad| *pad == 0) {
        return Ok(part);
    }
    cx.pad(
        &part,
        &low,
        &high,
        &cx.scalar(0.0, data.dtype())?,
        c"constant",
    )
}

#[cfg(test)]
mod tests {
    use crate::device::{DType, Types};
    use crate::ops::testing::{Case, f32s, floats, i64s, ints};

    fn run(dims: &[usize], axes: Option<&[i64]>, sizes: &[i64]) -> (Vec<i64>, Vec<i64>) {
        let values: Vec<_> = (1..=dims.iter().product::<usize>() as i64).collect();
        let case = || {
            let case = Case::new("CenterCropPad", 18).input(i64s(dims, &values));
            match axes {
                Some(axes) => case.ints("axes", axes),
                None => case,
            }
        };
        let sizes = |dtype| ints(dtype, &[sizes.len()], sizes);
        let out = case().constant(sizes(DType::I64)).run();
        for case in [
            case().input(sizes(DType::I32)),
            case().computed(sizes(DType::I64)),
            case().computed(sizes(DType::I32)),
        ] {
            let other = case.run();
            assert_eq!(
                (other[0].dims(), other[0].ints()),
                (out[0].dims(), out[0].ints())
            );
        }
        (out[0].dims().to_vec(), out[0].ints())
    }

    #[test]
    fn odd_differences_leave_more_at_the_end() {
        assert_eq!(run(&[5], None, &[2]), (vec![2], vec![2, 3]));
        assert_eq!(run(&[5], None, &[3]), (vec![3], vec![2, 3, 4]));
        assert_eq!(run(&[2], None, &[5]), (vec![5], vec![0, 1, 2, 0, 0]));
        assert_eq!(run(&[2], None, &[4]), (vec![4], vec![0, 1, 2, 0]));
        assert_eq!(run(&[3], None, &[3]), (vec![3], vec![1, 2, 3]));
        assert_eq!(run(&[3], None, &[0]), (vec![0], vec![]));
        assert_eq!(run(&[0], None, &[2]), (vec![2], vec![0, 0]));
        assert_eq!(run(&[], None, &[]), (vec![], vec![1]));
    }

    #[test]
    fn axes_are_cut_and_padded_on_their_own() {
        assert_eq!(run(&[1, 3], None, &[2, 1]), (vec![2, 1], vec![2, 0]));
        assert_eq!(run(&[2, 3], Some(&[-1]), &[1]), (vec![2, 1], vec![2, 5]));
        assert_eq!(
            run(&[2, 1], Some(&[1, -2]), &[3, 1]),
            (vec![1, 3], vec![0, 1, 0])
        );
    }

    #[test]
    fn every_type_is_padded_with_zero() {
        for dtype in Types::ANY.iter_types() {
            let (data, padded) = if dtype.is_float() {
                (
                    floats(dtype, &[1], &[1.0]),
                    floats(dtype, &[3], &[0.0, 1.0, 0.0]),
                )
            } else {
                (ints(dtype, &[1], &[1]), ints(dtype, &[3], &[0, 1, 0]))
            };
            let out = Case::new("CenterCropPad", 18)
                .input(data)
                .input(i64s(&[1], &[3]))
                .run();
            assert_eq!(out[0].bytes(), padded.bytes);
        }
    }

    #[test]
    fn sizes_that_do_not_fit_are_errors() {
        for (axes, sizes) in [
            (vec![0], vec![1, 1]),
            (vec![0], vec![-1]),
            (vec![1], vec![1]),
            (vec![0, -1], vec![1, 1]),
        ] {
            let case = Case::new("CenterCropPad", 18)
                .ints("axes", &axes)
                .input(f32s(&[1], &[1.0]));
            assert!(case.input(i64s(&[sizes.len()], &sizes)).try_run().is_err());
        }
        let case = Case::new("CenterCropPad", 18).input(f32s(&[1], &[1.0]));
        assert!(case.input(i64s(&[1], &[1 << 40])).try_run().is_err());
    }
}
