//! OneHot.
use crate::device::{Array, DType, Emit};
use crate::error::{Error, Result};
use crate::ops::{self, HostData, HostTensor, NodeRef, OpDef, Planned, lower, op};

pub(in crate::ops) const OPS: &[OpDef] = &[
    op!("OneHot", 9..=10, [NUMERIC, NUMERIC, ANY], |node| one_hot(
        node, false
    )),
    op!("OneHot", 11.., [NUMERIC, NUMERIC, ANY], |node| one_hot(
        node, true
    )),
];

/// From opset 11 on, negative indices count from the end.
fn one_hot(node: &NodeRef<'_>, wraps: bool) -> Planned {
    let axis = node.int_or("axis", -1)?;
    let wraps = wraps && !node.dtype(0)?.is_unsigned_int();
    let plan = lower(move |cx, x| {
        let (classes, values) = (classes(x.host(1)?)?, x.array(2)?);
        if values.dims() != [2] {
            return Err(Error::invalid(format!(
                "values in input 2 has shape {:?} instead of [2]",
                values.dims()
            )));
        }
        let hot = hot(cx, x.array(0)?, axis, classes, wraps)?;
        let value = |index| cx.slice_axis(values, 0, index, index + 1);
        cx.select(&hot, &value(1)?, &value(0)?)
    })?;
    Ok(plan.reads(&[1]))
}

/// Where each index meets its class, along a new axis.
fn hot(cx: &Emit, indices: &Array, axis: i64, classes: usize, wraps: bool) -> Result<Array> {
    let axis = ops::axis(axis, indices.rank() + 1)?;
    // Of unsigned indices the largest become negative here, which meets no class either.
    let mut indices = cx.astype(indices, DType::I64)?;
    if wraps {
        let count = i64::try_from(classes).map_err(|_| Error::internal("an axis out of range"))?;
        let (zero, count) = (cx.int(0, DType::I64)?, cx.int(count, DType::I64)?);
        let wrapped = cx.add(&indices, &count)?;
        indices = cx.select(&cx.less(&indices, &zero)?, &wrapped, &indices)?;
    }
    let mut dims = vec![1; indices.rank() + 1];
    dims[axis] = classes;
    let class = cx.reshape(&cx.arange(classes, DType::I64)?, &dims)?;
    cx.equal(&cx.expand_dims(&indices, &[axis])?, &class)
}

/// The number of classes; of a float its whole part.
fn classes(depth: &HostTensor) -> Result<usize> {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "ONNX casts a float depth to int64"
    )]
    let count = match depth.data() {
        HostData::Int(v) if v.len() == 1 => Some(v[0]),
        HostData::Float(v) if v.len() == 1 => Some(v[0] as i64),
        _ => None,
    };
    let count = count.and_then(|count| usize::try_from(i32::try_from(count).ok()?).ok());
    count.filter(|count| *count > 0).ok_or_else(|| {
        Error::invalid(format!(
            "depth in input 1 is {:?} instead of one positive number",
            depth.to_floats()
        ))
    })
}

#[cfg(test)]
mod tests {
    use crate::device::{DType, Types};
    use crate::ops::Reject;
    use crate::ops::testing::{Case, Data, f32s, floats, i64s, ints};

    fn case(opset: u32, indices: Data, depth: Data) -> Case {
        let case = Case::new("OneHot", opset).input(indices).input(depth);
        case.input(f32s(&[2], &[0.0, 1.0])).output(DType::F32)
    }

    #[test]
    fn negative_indices_wrap_from_opset_11_on() {
        let indices = || i64s(&[4], &[-1, 0, 3, -4]);
        let run = |opset| case(opset, indices(), i64s(&[], &[3])).run()[0].floats();
        assert_eq!(
            run(11),
            [0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]
        );
        assert_eq!(
            run(9),
            [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]
        );
        let far = i64s(&[3], &[i64::MIN, i64::MAX, 1 << 32]);
        assert_eq!(case(11, far, i64s(&[1], &[2])).run()[0].floats(), [0.0; 6]);
    }

    #[test]
    fn the_new_axis_is_anywhere() {
        let indices = || ints(DType::I32, &[1, 2], &[1, 0]);
        let run = |axis| {
            let out = case(11, indices(), i64s(&[1], &[2]))
                .int("axis", axis)
                .run();
            (out[0].dims().to_vec(), out[0].floats())
        };
        assert_eq!(run(-1), (vec![1, 2, 2], vec![0.0, 1.0, 1.0, 0.0]));
        assert_eq!(run(0), (vec![2, 1, 2], vec![0.0, 1.0, 1.0, 0.0]));
        assert_eq!(run(-2), run(1));
        assert!(
            case(11, indices(), i64s(&[], &[2]))
                .int("axis", 3)
                .try_run()
                .is_err()
        );
        let out = case(11, i64s(&[], &[1]), i64s(&[], &[3])).run();
        assert_eq!(
            (out[0].dims(), out[0].floats()),
            (&[3][..], vec![0.0, 1.0, 0.0])
        );
        let out = case(11, i64s(&[0], &[]), i64s(&[], &[3])).run();
        assert_eq!(out[0].dims(), [0, 3]);
    }

    #[test]
    fn every_type_of_index_depth_and_value() {
        for dtype in Types::NUMERIC.iter_types() {
            let number = |dims: &[usize], values: &[i32]| {
                if dtype.is_float() {
                    floats(
                        dtype,
                        dims,
                        &values.iter().map(|v| f64::from(*v)).collect::<Vec<_>>(),
                    )
                } else {
                    ints(
                        dtype,
                        dims,
                        &values.iter().map(|v| i64::from(*v)).collect::<Vec<_>>(),
                    )
                }
            };
            let out = case(11, number(&[2], &[2, 0]), number(&[1], &[3])).run();
            assert_eq!(out[0].floats(), [0.0, 0.0, 1.0, 1.0, 0.0, 0.0]);
            let out = Case::new("OneHot", 11)
                .input(i64s(&[1], &[1]))
                .constant(i64s(&[], &[2]))
                .input(number(&[2], &[5, 7]))
                .output(dtype)
                .run();
            assert_eq!(out[0].bytes(), number(&[2], &[5, 7]).bytes);
        }
        let largest = ints(DType::U64, &[1], &[-1]);
        assert_eq!(
            case(11, largest, i64s(&[], &[2])).run()[0].floats(),
            [0.0; 2]
        );
        let fractions = f32s(&[2], &[1.9, -0.5]);
        assert_eq!(
            case(11, fractions, f32s(&[], &[2.5])).run()[0].floats(),
            [0.0, 1.0, 1.0, 0.0]
        );
    }

    #[test]
    fn inputs_that_do_not_fit() {
        for depth in [
            i64s(&[], &[0]),
            i64s(&[], &[-1]),
            i64s(&[2], &[1, 2]),
            i64s(&[], &[1 << 40]),
        ] {
            assert!(case(11, i64s(&[1], &[0]), depth).try_run().is_err());
        }
        let case = Case::new("OneHot", 11)
            .input(i64s(&[1], &[0]))
            .input(i64s(&[], &[2]));
        let values = f32s(&[3], &[0.0; 3]);
        assert!(case.input(values).output(DType::F32).try_run().is_err());
        let case = Case::new("OneHot", 11).input(ints(DType::Bool, &[1], &[0]));
        let reject = case
            .input(i64s(&[], &[2]))
            .input(f32s(&[2], &[0.0; 2]))
            .reject();
        assert_eq!(
            reject,
            Reject::Type {
                input: 0,
                found: Some(DType::Bool)
            }
        );
    }
}
