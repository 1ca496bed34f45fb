//! Trilu and EyeLike.
use crate::device::{DType, Types};
use crate::error::{Error, Result};
use crate::ops::{NodeRef, OpDef, Planned, lower, op};

pub(in crate::ops) const OPS: &[OpDef] = &[
    op!("Trilu", 14.., [ANY, I64], trilu),
    op!(MICROSOFT "Trilu", 1.., [ANY, I64], trilu),
    op!("EyeLike", 9.., [ANY], eye_like),
];

fn trilu(node: &NodeRef<'_>) -> Planned {
    let upper = node.flag("upper", true)?;
    let reads: &[usize] = if node.has_input(1) { &[1] } else { &[] };
    let plan = lower(move |cx, x| {
        let a = x.array(0)?;
        let diagonal = if x.has(1) { diagonal(x.ints(1)?)? } else { 0 };
        let [.., rows, columns] = a.shape() else {
            return Err(Error::invalid(format!(
                "input 0 of rank {} is no matrix",
                a.rank()
            )));
        };
        if a.size() == 0 {
            return Ok(a.clone());
        }
        // Diagonals that far off lie outside the matrix, as all further ones do.
        let near = diagonal.clamp(-i64::from(*rows), i64::from(*columns));
        let near = i32::try_from(near).map_err(|_| Error::internal("a diagonal out of range"))?;
        cx.triangle(a, near, upper)
    })?;
    Ok(plan.reads(reads))
}

fn diagonal(values: &[i64]) -> Result<i64> {
    match values {
        [one] => Ok(*one),
        _ => Err(Error::invalid(format!(
            "k in input 1 is {values:?} instead of one number"
        ))),
    }
}

fn eye_like(node: &NodeRef<'_>) -> Planned {
    let offset = node.int_or("k", 0)?;
    let dtype = match node.element_type("dtype", Types::ANY)? {
        Some(dtype) => dtype,
        None => node.dtype(0)?,
    };
    lower(move |cx, x| {
        let [rows, columns] = x.dims(0)? else {
            return Err(Error::invalid(format!(
                "input 0 of rank {} is no matrix",
                x.rank(0)?
            )));
        };
        let row = cx.reshape(&cx.arange(*rows, DType::I64)?, &[*rows, 1])?;
        let diagonal = cx.add(&row, &cx.int(offset, DType::I64)?)?;
        let column = cx.reshape(&cx.arange(*columns, DType::I64)?, &[1, *columns])?;
        cx.astype(&cx.equal(&diagonal, &column)?, dtype)
    })
}

#[cfg(test)]
mod tests {
    use crate::device::{DType, Types};
    use crate::ops::Reject;
    use crate::ops::testing::{Case, f32s, floats, i64s, ints};

    #[test]
    fn triangles_of_every_diagonal() {
        let data = || ints(DType::I32, &[2, 3], &[1, 2, 3, 4, 5, 6]);
        for constant in [false, true] {
            let run = |upper: i64, k: i64| {
                let case = Case::new("Trilu", 14).int("upper", upper).input(data());
                case.given(constant, i64s(&[], &[k])).run()[0].ints()
            };
            assert_eq!(run(1, 0), [1, 2, 3, 0, 5, 6]);
            assert_eq!(run(1, 1), [0, 2, 3, 0, 0, 6]);
            assert_eq!(run(1, -1), [1, 2, 3, 4, 5, 6]);
            assert_eq!(run(0, 0), [1, 0, 0, 4, 5, 0]);
            assert_eq!(run(0, -1), [0, 0, 0, 4, 0, 0]);
            assert_eq!(run(0, 1), [1, 2, 0, 4, 5, 6]);
            for far in [100, i64::MAX] {
                assert_eq!(run(1, far), [0; 6]);
                assert_eq!(run(0, far), [1, 2, 3, 4, 5, 6]);
            }
            for far in [-100, i64::MIN] {
                assert_eq!(run(1, far), [1, 2, 3, 4, 5, 6]);
                assert_eq!(run(0, far), [0; 6]);
            }
        }
        let case = Case::new("Trilu", 1).domain("com.microsoft").input(data());
        assert_eq!(case.run()[0].ints(), [1, 2, 3, 0, 5, 6]);
    }

    #[test]
    fn batches_types_and_empty_matrices() {
        for dtype in Types::ANY.iter_types() {
            let [data, expected] =
                [[1i32, 1, 1, 1, 1, 1, 1, 1], [1, 0, 1, 1, 1, 0, 1, 1]].map(|v| {
                    if dtype.is_float() {
                        floats(dtype, &[2, 2, 2], &v.map(f64::from))
                    } else {
                        ints(dtype, &[2, 2, 2], &v.map(i64::from))
                    }
                });
            let out = Case::new("Trilu", 14).int("upper", 0).input(data).run();
            assert_eq!(out[0].bytes(), expected.bytes);
        }
        let out = Case::new("Trilu", 14).input(f32s(&[2, 0, 3], &[])).run();
        assert_eq!(out[0].dims(), [2, 0, 3]);
        // What is cut off does not multiply: NaN and infinity become 0.
        let data = f32s(&[2, 2], &[1.0, f32::NAN, f32::INFINITY, 2.0]);
        let case = Case::new("Trilu", 14).int("upper", 0).input(data);
        let out = case.input(i64s(&[], &[-1])).run();
        assert_eq!(out[0].floats(), [0.0, 0.0, f64::INFINITY, 0.0]);
        assert!(
            Case::new("Trilu", 14)
                .input(f32s(&[2], &[0.0; 2]))
                .try_run()
                .is_err()
        );
        let case = Case::new("Trilu", 14).input(f32s(&[1, 1], &[0.0]));
        assert!(case.input(i64s(&[2], &[0, 0])).try_run().is_err());
    }

    #[test]
    fn eyes_of_every_type_and_diagonal() {
        for dtype in Types::ANY.iter_types() {
            let case = Case::new("EyeLike", 9).int("dtype", dtype.onnx().into());
            let out = case.input(f32s(&[2, 2], &[0.0; 4])).output(dtype).run();
            let expected = if dtype.is_float() {
                floats(dtype, &[2, 2], &[1.0, 0.0, 0.0, 1.0])
            } else {
                ints(dtype, &[2, 2], &[1, 0, 0, 1])
            };
            assert_eq!(out[0].bytes(), expected.bytes);
        }
        let run = |k| {
            Case::new("EyeLike", 22)
                .int("k", k)
                .input(i64s(&[2, 3], &[7; 6]))
                .run()
        };
        assert_eq!(run(0)[0].ints(), [1, 0, 0, 0, 1, 0]);
        assert_eq!(run(1)[0].ints(), [0, 1, 0, 0, 0, 1]);
        assert_eq!(run(-1)[0].ints(), [0, 0, 0, 1, 0, 0]);
        assert_eq!(run(i64::MAX)[0].ints(), [0; 6]);
        assert_eq!(run(i64::MIN)[0].ints(), [0; 6]);
        let out = Case::new("EyeLike", 9).input(f32s(&[0, 3], &[])).run();
        assert_eq!(out[0].dims(), [0, 3]);
    }

    #[test]
    fn what_eye_like_does_not_take() {
        for code in [8, 14, 21, 99, i64::MAX] {
            let case = Case::new("EyeLike", 9).int("dtype", code);
            let reject = case.input(f32s(&[1, 1], &[0.0])).reject();
            assert_eq!(reject, Reject::Attribute("dtype".into()));
        }
        let case = Case::new("EyeLike", 9).input(f32s(&[1], &[0.0]));
        assert!(case.try_run().is_err());
    }
}
