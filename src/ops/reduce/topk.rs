//! TopK.
use crate::device::{Array, DType, Emit};
use crate::error::{Error, Result};
use crate::ops::{Inputs, NodeRef, OpDef, Planned, Reject, lower, op};

pub(in crate::ops) const OPS: &[OpDef] = &[
    op!("TopK", 1..=9, [FLOAT64], |node| {
        let k = node
            .int("k")?
            .ok_or_else(|| Reject::Attribute("k".into()))?;
        top(node, move |_| Ok(k))
    }),
    op!("TopK", 10..=10, [FLOAT64, I64], by_input),
    op!("TopK", 11.., [NUMERIC, I64], by_input),
];

fn by_input(node: &NodeRef<'_>) -> Planned {
    let plan = top(node, |x| match x.ints(1)? {
        [k] => Ok(*k),
        other => Err(Error::invalid(format!(
            "input 1 must hold one number, found {}",
            other.len()
        ))),
    })?;
    Ok(plan.reads(&[1]))
}

fn top(
    node: &NodeRef<'_>,
    k: impl Fn(&Inputs<'_>) -> Result<i64> + Send + Sync + 'static,
) -> Planned {
    let axis = node.int_or("axis", -1)?;
    let largest = node.flag("largest", true)?;
    // Any order will do where none is asked for.
    node.ignore("sorted");
    lower(move |cx, x| {
        let a = x.array(0)?;
        let axis = crate::ops::axis(axis, a.rank())?;
        let (size, k) = (a.dim(axis), k(x)?);
        let count = usize::try_from(k).ok().filter(|c| *c <= size);
        let count = count.ok_or_else(|| {
            Error::invalid(format!(
                "K is {k}: it must be in [0, {size}], the size of axis {axis}"
            ))
        })?;
        let mut dims = a.dims();
        dims[axis] = count;
        if dims.contains(&0) {
            return Ok(vec![
                cx.zeros(&dims, a.dtype())?,
                cx.zeros(&dims, DType::I64)?,
            ]);
        }
        let order = order(cx, a, axis, largest)?;
        let chosen = first(cx, &order, axis, count)?;
        let values = cx.take_along(a, &chosen, axis)?;
        Ok(vec![values, cx.astype(&chosen, DType::I64)?])
    })
}

/// The positions along an axis, best first, lower ones first among equals.
fn order(cx: &Emit, a: &Array, axis: usize, largest: bool) -> Result<Array> {
    if !largest {
        return cx.argsort(a, axis);
    }
    // A stable ascending sort of the reversed axis, read backwards.
    let reversed = cx.flip(&cx.argsort(&cx.flip(a, &[axis])?, axis)?, &[axis])?;
    let last = i64::try_from(a.dim(axis)).map_err(|_| Error::internal("an axis out of range"))? - 1;
    cx.subtract(&cx.int(last, reversed.dtype())?, &reversed)
}

/// The first `count` elements along an axis.
fn first(cx: &Emit, a: &Array, axis: usize, count: usize) -> Result<Array> {
    let mut stop = a.shape().to_vec();
    stop[axis] = i32::try_from(count).map_err(|_| Error::internal("an axis out of range"))?;
    cx.slice(a, &vec![0; stop.len()], &stop, &vec![1; stop.len()])
}

#[cfg(test)]
mod tests {
    use crate::device::DType;
    use crate::ops::Reject;
    use crate::ops::testing::{Case, Data, f32s, floats, i64s, ints};

    fn top(x: Data, k: i64, constant: bool) -> Case {
        let dtype = x.dtype;
        let case = Case::new("TopK", 11)
            .input(x)
            .given(constant, i64s(&[1], &[k]));
        case.output(dtype).output(DType::I64)
    }

    #[test]
    fn equals_come_in_order() {
        for constant in [false, true] {
            let out = top(f32s(&[5], &[5.0, 1.0, 5.0, 5.0, 2.0]), 3, constant).run();
            assert_eq!(out[0].floats(), [5.0, 5.0, 5.0]);
            assert_eq!(out[1].ints(), [0, 2, 3]);
        }
        let least = top(f32s(&[5], &[5.0, 1.0, 5.0, 1.0, 2.0]), 4, true)
            .int("largest", 0)
            .run();
        assert_eq!(least[0].floats(), [1.0, 1.0, 2.0, 5.0]);
        assert_eq!(least[1].ints(), [1, 3, 4, 0]);
    }

    #[test]
    fn axes_and_old_forms() {
        let m = || f32s(&[2, 3], &[1.0, 6.0, 3.0, 4.0, 5.0, 2.0]);
        let out = top(m(), 1, true).int("axis", 0).run();
        assert_eq!((out[0].dims(), out[1].ints()), (&[1, 3][..], vec![1, 0, 0]));
        let out = top(m(), 2, true).int("sorted", 0).run();
        assert_eq!(out[0].floats(), [6.0, 3.0, 5.0, 4.0]);
        let old = Case::new("TopK", 1)
            .input(m())
            .int("k", 1)
            .output(DType::F32)
            .output(DType::I64);
        assert_eq!(old.run()[1].ints(), [1, 1]);
        let missing = Case::new("TopK", 1).input(m()).reject();
        assert_eq!(missing, Reject::Attribute("k".into()));
    }

    #[test]
    fn extremes_of_every_type() {
        let of = |dtype, values: &[i64], largest| {
            let case = top(ints(dtype, &[values.len()], values), 2, true).int("largest", largest);
            case.run()[0].ints()
        };
        assert_eq!(of(DType::U8, &[0, 255, 3, 255], 1), [255, 255]);
        assert_eq!(of(DType::U8, &[7, 255, 3, 255], 0), [3, 7]);
        assert_eq!(of(DType::I64, &[i64::MIN, i64::MAX, 0], 1), [i64::MAX, 0]);
        assert_eq!(of(DType::I64, &[i64::MIN, i64::MAX, 0], 0), [i64::MIN, 0]);
        assert_eq!(of(DType::U64, &[-1, 1, 2], 1), [-1, 2]);
        assert_eq!(of(DType::I8, &[-128, 127, 0], 1), [127, 0]);
        for dtype in [DType::F16, DType::BF16, DType::F64] {
            let out = top(floats(dtype, &[3], &[-1.0, 2.0, 0.5]), 2, true).run();
            assert_eq!(out[0].floats(), [2.0, 0.5]);
        }
    }

    #[test]
    fn counts_out_of_range_fail() {
        let out = top(f32s(&[2], &[1.0, 2.0]), 0, false).run();
        assert_eq!((out[0].dims(), out[1].dims()), (&[0][..], &[0][..]));
        for k in [-1, 3] {
            let error = top(f32s(&[2], &[1.0, 2.0]), k, false)
                .try_run()
                .err()
                .expect("it fails");
            assert!(error.to_string().contains("must be in [0, 2]"));
        }
    }
}
