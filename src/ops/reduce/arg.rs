//! ArgMax and ArgMin.
use crate::device::{Array, DType, Emit};
use crate::error::{Error, Result};
use crate::ops::{NodeRef, OpDef, Planned, lower, op};

pub(in crate::ops) const OPS: &[OpDef] = &[
    op!("ArgMax", 1.., [NUMERIC], |node| arg(node, Emit::argmax)),
    op!("ArgMin", 1.., [NUMERIC], |node| arg(node, Emit::argmin)),
];

type EmitArg = fn(&Emit, &Array, usize, bool) -> Result<Array>;

fn arg(node: &NodeRef<'_>, emit: EmitArg) -> Planned {
    let axis = node.int_or("axis", 0)?;
    let keep = node.flag("keepdims", true)?;
    let last = node.flag("select_last_index", false)?;
    lower(move |cx, x| {
        let a = x.array(0)?;
        let axis = crate::ops::axis(axis, a.rank())?;
        let size = a.dim(axis);
        let mut dims = a.dims();
        if keep {
            dims[axis] = 1;
        } else {
            dims.remove(axis);
        }
        // MLX refuses every empty array, also where there is no position to find.
        if dims.contains(&0) {
            return cx.zeros(&dims, DType::I64);
        }
        if size == 0 {
            return Err(Error::invalid(format!("axis {axis} has no elements")));
        }
        if !last {
            return cx.astype(&emit(cx, a, axis, keep)?, DType::I64);
        }
        let reversed = emit(cx, &cx.flip(a, &[axis])?, axis, keep)?;
        let end = i64::try_from(size).map_err(|_| Error::internal("an axis out of range"))? - 1;
        cx.subtract(
            &cx.int(end, DType::I64)?,
            &cx.astype(&reversed, DType::I64)?,
        )
    })
}

#[cfg(test)]
mod tests {
    use crate::device::DType;
    use crate::ops::Reject;
    use crate::ops::testing::{Case, Data, f32s, floats, ints};

    fn case(op: &str, data: Data) -> Case {
        Case::new(op, 13).input(data).output(DType::I64)
    }

    #[test]
    fn first_or_last_of_equals() {
        let data = || f32s(&[2, 3], &[2.0, 2.0, 1.0, 3.0, 10.0, 10.0]);
        let out = case("ArgMax", data()).int("axis", 1).run();
        assert_eq!((out[0].dims(), out[0].ints()), (&[2, 1][..], vec![0, 1]));
        let last = case("ArgMax", data())
            .int("axis", -1)
            .int("select_last_index", 1)
            .int("keepdims", 0);
        let out = last.run();
        assert_eq!((out[0].dims(), out[0].ints()), (&[2][..], vec![1, 2]));
        let out = case("ArgMin", data()).int("keepdims", 0).run();
        assert_eq!(out[0].ints(), [0, 0, 0]);
    }

    #[test]
    fn every_type_finds_its_extreme() {
        for dtype in [
            DType::U8,
            DType::I8,
            DType::U16,
            DType::I16,
            DType::U32,
            DType::I32,
            DType::I64,
            DType::U64,
        ] {
            let out = case("ArgMax", ints(dtype, &[3], &[1, 100, 7])).run();
            assert_eq!(out[0].ints(), [1]);
        }
        let top_bit = ints(DType::U64, &[2], &[1, -1]);
        assert_eq!(case("ArgMax", top_bit).run()[0].ints(), [1]);
        let close = ints(DType::I64, &[2], &[1 << 53, (1 << 53) + 1]);
        assert_eq!(case("ArgMax", close).run()[0].ints(), [1]);
        for dtype in [DType::F16, DType::BF16, DType::F64] {
            let out = case("ArgMin", floats(dtype, &[3], &[1.0, -2.0, 7.0])).run();
            assert_eq!(out[0].ints(), [1]);
        }
    }

    #[test]
    fn nothing_to_find_is_an_empty_result() {
        for (dims, keep, expected) in [
            (vec![4, 1, 0, 3], 0, vec![4, 0, 3]),
            (vec![0, 5], 1, vec![0, 1]),
            (vec![0, 0], 1, vec![0, 1]),
        ] {
            let data = f32s(&dims, &[]);
            let out = case("ArgMin", data)
                .int("axis", 1)
                .int("keepdims", keep)
                .run();
            assert_eq!(out[0].dims(), expected);
        }
    }

    #[test]
    fn empty_axes_fail_and_bools_are_refused() {
        let error = case("ArgMax", f32s(&[0], &[]))
            .try_run()
            .err()
            .expect("it fails");
        assert!(error.to_string().contains("no elements"));
        let found = Some(DType::Bool);
        let reject = case("ArgMax", ints(DType::Bool, &[1], &[1])).reject();
        assert_eq!(reject, Reject::Type { input: 0, found });
    }
}
