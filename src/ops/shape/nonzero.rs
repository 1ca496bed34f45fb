//! NonZero and Compress: what is kept decides the shape, so flags are read on the way.
use super::grid;
use crate::device::DType;
use crate::error::Error;
use crate::ops::{self, HostData, HostTensor, NodeRef, OpDef, Planned, Tensor, lower, op};

pub(in crate::ops) const OPS: &[OpDef] = &[
    op!("NonZero", 9.., [ANY], |_| nonzero()),
    op!("Compress", 9.., [ANY, BOOL], compress),
];

fn nonzero() -> Planned {
    let plan = lower(|cx, x| {
        let a = x.array(0)?;
        let flags = if a.dtype() == DType::Bool {
            cx.read_bytes(a)?
        } else {
            cx.read_bytes(&cx.not_equal(a, &cx.scalar(0.0, a.dtype())?)?)?
        };
        let (dims, values) = coordinates(&a.dims(), &set(&flags));
        Ok(vec![Some(Tensor::from_ints(cx, dims, values)?)])
    })?;
    Ok(plan.reads(&[0]).or_host(|h| {
        let Some(t) = grid::first(h) else {
            return Ok(None);
        };
        let flags: Vec<_> = match t.data() {
            HostData::Int(v) => v.iter().map(|v| u8::from(*v != 0)).collect(),
            HostData::Float(v) => v.iter().map(|v| u8::from(*v != 0.0)).collect(),
        };
        let (dims, values) = coordinates(t.dims(), &set(&flags));
        Ok((values.len() <= HostTensor::MAX_ELEMENTS)
            .then(|| vec![HostTensor::ints(DType::I64, dims, values)]))
    }))
}

/// Where flags are set.
fn set(flags: &[u8]) -> Vec<usize> {
    let set = flags.iter().enumerate().filter(|(_, flag)| **flag != 0);
    set.map(|(position, _)| position).collect()
}

fn position(p: usize) -> i64 {
    i64::try_from(p).unwrap_or(i64::MAX)
}

/// Row-major positions as indices, a row for each axis: the shape of the rows and their elements.
fn coordinates(dims: &[usize], positions: &[usize]) -> (Vec<usize>, Vec<i64>) {
    let mut out = Vec::with_capacity(dims.len() * positions.len());
    let mut step: usize = dims.iter().product();
    for dim in dims {
        step = step.checked_div(*dim).unwrap_or(0);
        let index = |p: &usize| position(p / step % dim);
        out.extend(positions.iter().map(index));
    }
    (vec![dims.len(), positions.len()], out)
}

fn compress(node: &NodeRef<'_>) -> Planned {
    let axis = node.int("axis")?;
    let plan = lower(move |cx, x| {
        let data = x.array(0)?;
        let (data, axis) = match axis {
            Some(axis) => (data.clone(), ops::axis(axis, data.rank())?),
            None => (cx.reshape(data, &[data.size()])?, 0),
        };
        if x.rank(1)? != 1 {
            return Err(Error::invalid(format!(
                "the condition in input 1 has rank {} instead of 1",
                x.rank(1)?
            )));
        }
        let size = data.dim(axis);
        let kept = set(&x.bytes(1)?);
        if let Some(beyond) = kept.last().filter(|p| **p >= size) {
            return Err(Error::invalid(format!(
                "the condition in input 1 selects {beyond} of an axis of size {size}"
            )));
        }
        let mut dims = data.dims();
        dims[axis] = kept.len();
        if dims.contains(&0) {
            return cx.zeros(&dims, data.dtype());
        }
        let kept: Vec<_> = kept.iter().map(|p| position(*p)).collect();
        cx.take(&data, &cx.int64s(&[kept.len()], &kept)?, axis)
    })?;
    Ok(plan.reads(&[1]))
}

#[cfg(test)]
mod tests {
    use crate::device::{DType, Types};
    use crate::ops::Reject;
    use crate::ops::testing::{Case, Data, f32s, floats, i64s, ints};

    fn bools(values: &[i64]) -> Data {
        ints(DType::Bool, &[values.len()], values)
    }

    fn found(case: Case) -> (Vec<i64>, Vec<i64>) {
        let out = case.output(DType::I64).run();
        (out[0].dims().to_vec(), out[0].ints())
    }

    #[test]
    fn nonzero_lists_indices_by_axis() {
        let case = || Case::new("NonZero", 13);
        let data = || ints(DType::I32, &[2, 3], &[0, 1, 0, -1, 0, 2]);
        let expected = (vec![2, 3], vec![0, 1, 1, 1, 0, 2]);
        assert_eq!(found(case().constant(data())), expected);
        assert_eq!(found(case().input(data())), expected);
        assert_eq!(found(case().computed(data())), expected);
        for dims in [&[0][..], &[2, 0, 3]] {
            let none = (vec![dims.len() as i64, 0], vec![]);
            assert_eq!(found(case().input(f32s(dims, &[]))), none);
            assert_eq!(found(case().computed(ints(DType::I8, dims, &[]))), none);
        }
        let none = (vec![1, 0], vec![]);
        assert_eq!(found(case().input(f32s(&[3], &[0.0; 3]))), none);
    }

    #[test]
    fn a_number_that_is_not_zero_has_no_index() {
        for (value, count) in [(0, 0), (7, 1)] {
            let case = || Case::new("NonZero", 9);
            let data = || i64s(&[], &[value]);
            let expected = (vec![0, count], vec![]);
            assert_eq!(found(case().input(data())), expected);
            assert_eq!(found(case().computed(data())), expected);
        }
    }

    #[test]
    fn nonzero_of_every_type() {
        for size in [4, 5000] {
            let mut expected = vec![1];
            for dtype in Types::ANY.iter_types() {
                let mut values = vec![0.0; size];
                values[1] = 1.0;
                if dtype.is_float() {
                    (values[2], values[3]) = (-0.0, f64::NAN);
                }
                let data = if dtype.is_float() {
                    expected = vec![1, 3];
                    floats(dtype, &[size], &values)
                } else {
                    expected = vec![1];
                    let values: Vec<_> = values.iter().map(|v| i64::from(*v != 0.0)).collect();
                    ints(dtype, &[size], &values)
                };
                assert_eq!(found(Case::new("NonZero", 13).input(data)).1, expected);
            }
            assert!(!expected.is_empty());
        }
        let many = ints(DType::U8, &[100, 50], &[255; 5000]);
        let (dims, values) = found(Case::new("NonZero", 13).input(many));
        assert_eq!(dims, [2, 5000]);
        assert_eq!((values[4999], values[5000 + 51]), (99, 1));
    }

    #[test]
    fn compress_keeps_slices_or_elements() {
        let data = || ints(DType::I16, &[3, 2], &[1, 2, 3, 4, 5, 6]);
        let run = |axis: Option<i64>, condition: &[i64]| {
            let case = || {
                let case = Case::new("Compress", 11).input(data());
                match axis {
                    Some(axis) => case.int("axis", axis),
                    None => case,
                }
            };
            let out = case().constant(bools(condition)).run();
            for case in [
                case().input(bools(condition)),
                case().computed(bools(condition)),
            ] {
                let other = case.run();
                assert_eq!(
                    (out[0].dims(), out[0].ints()),
                    (other[0].dims(), other[0].ints())
                );
            }
            (out[0].dims().to_vec(), out[0].ints())
        };
        assert_eq!(run(Some(0), &[0, 1, 1]), (vec![2, 2], vec![3, 4, 5, 6]));
        assert_eq!(run(Some(-1), &[0, 1]), (vec![3, 1], vec![2, 4, 6]));
        assert_eq!(run(Some(0), &[1]), (vec![1, 2], vec![1, 2]));
        assert_eq!(run(Some(0), &[0, 1, 0, 0, 0]), (vec![1, 2], vec![3, 4]));
        assert_eq!(run(None, &[0, 1, 0, 0, 1]), (vec![2], vec![2, 5]));
        assert_eq!(run(None, &[0, 0]), (vec![0], vec![]));
        assert_eq!(run(Some(1), &[]), (vec![3, 0], vec![]));
        let number = Case::new("Compress", 9).input(f32s(&[], &[3.0]));
        assert_eq!(number.input(bools(&[1])).run()[0].floats(), [3.0]);
    }

    #[test]
    fn compress_of_every_type_and_long_conditions() {
        for dtype in Types::ANY.iter_types() {
            let number = |dims: &[usize], values: &[i64]| {
                if dtype.is_float() {
                    let values: Vec<_> = values.iter().map(|v| f64::from(*v != 0)).collect();
                    floats(dtype, dims, &values)
                } else {
                    ints(dtype, dims, values)
                }
            };
            let case = Case::new("Compress", 11).input(number(&[3], &[0, 1, 1]));
            let out = case.input(bools(&[1, 1, 0])).run();
            assert_eq!(out[0].bytes(), number(&[2], &[0, 1]).bytes);
        }
        let values: Vec<_> = (0..5000).collect();
        let odd: Vec<_> = values.iter().map(|v| v % 2).collect();
        let case = Case::new("Compress", 11).input(i64s(&[50, 100], &values));
        let out = case.input(bools(&odd)).run();
        assert_eq!(
            out[0].ints(),
            (0..2500).map(|v| 2 * v + 1).collect::<Vec<_>>()
        );
    }

    #[test]
    fn conditions_that_do_not_fit() {
        let case = || {
            Case::new("Compress", 11)
                .int("axis", 0)
                .input(f32s(&[2], &[1.0; 2]))
        };
        let error = case().computed(bools(&[0, 0, 1])).try_run().err();
        let text = error.expect("it selects nothing").to_string();
        assert!(text.contains("selects 2 of an axis of size 2"), "{text}");
        let flat = ints(DType::Bool, &[1, 1], &[1]);
        assert!(case().input(flat).try_run().is_err());
        let found = Some(DType::I64);
        let reject = case().input(i64s(&[1], &[1])).reject();
        assert_eq!(reject, Reject::Type { input: 1, found });
    }
}
