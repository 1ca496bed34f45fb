//! Shape, Size and Identity.
use super::grid;
use crate::device::DType;
use crate::ops::{HostTensor, NodeRef, OpDef, Planned, lower, op};

pub(in crate::ops) const OPS: &[OpDef] = &[
    op!("Shape", 1..=14, [ALL], |_| shape(0, None)),
    op!("Shape", 15.., [ALL], |node| shape(
        node.int_or("start", 0)?,
        node.int("end")?
    )),
    op!("Size", 1.., [ALL], |_| size()),
    op!("Identity", 1.., [ALL], identity),
];

/// Only the dimensions are looked at: the input may be lazy.
fn shape(start: i64, end: Option<i64>) -> Planned {
    lower(move |_, x| {
        let dims = x.dims(0)?;
        let (start, end) = (
            clamp(start, dims.len()),
            end.map_or(dims.len(), |end| clamp(end, dims.len())),
        );
        Ok(HostTensor::shape(dims.get(start..end).unwrap_or_default()))
    })
}

/// A bound of the range of axes: negative ones count from the end, those outside are moved to the nearest end.
fn clamp(bound: i64, rank: usize) -> usize {
    let size = i64::try_from(rank).unwrap_or(i64::MAX);
    let wrapped = if bound < 0 {
        bound.saturating_add(size)
    } else {
        bound
    };
    usize::try_from(wrapped.clamp(0, size)).unwrap_or(0)
}

fn size() -> Planned {
    lower(|_, x| {
        let count = x.dims(0)?.iter().product::<usize>();
        let count = i64::try_from(count).unwrap_or(i64::MAX);
        Ok(HostTensor::ints(DType::I64, vec![], vec![count]))
    })
}

fn identity(_: &NodeRef<'_>) -> Planned {
    let plan = lower(|_, x| Ok(x.array(0)?.clone()))?;
    Ok(plan.or_host(|h| Ok(grid::first(h).map(|t| vec![t.clone()]))))
}

#[cfg(test)]
mod tests {
    use crate::device::{DType, Types};
    use crate::ops::Reject;
    use crate::ops::testing::{Case, f32s, i64s, ints};

    #[test]
    fn shape_of_every_rank() {
        for opset in [1, 13, 15, 25] {
            let shape = |data| {
                Case::new("Shape", opset)
                    .input(data)
                    .output(DType::I64)
                    .run()
            };
            let out = shape(f32s(&[2, 0, 3], &[]));
            assert_eq!((out[0].dims(), out[0].ints()), (&[3][..], vec![2, 0, 3]));
            let out = shape(f32s(&[], &[1.0]));
            assert_eq!((out[0].dims(), out[0].ints()), (&[0][..], vec![]));
        }
    }

    #[test]
    fn start_and_end_wrap_and_clamp() {
        let shape = |start: Option<i64>, end: Option<i64>| {
            let mut case = Case::new("Shape", 15).output(DType::I64);
            for (name, value) in [("start", start), ("end", end)] {
                if let Some(value) = value {
                    case = case.int(name, value);
                }
            }
            case.input(i64s(&[1, 2, 3], &[0; 6])).run()[0].ints()
        };
        assert_eq!(shape(Some(1), None), [2, 3]);
        assert_eq!(shape(Some(-1), None), [3]);
        assert_eq!(shape(None, Some(-1)), [1, 2]);
        assert_eq!(shape(Some(1), Some(2)), [2]);
        assert_eq!(shape(Some(-9), Some(9)), [1, 2, 3]);
        assert_eq!(shape(Some(2), Some(1)), [0i64; 0]);
        assert_eq!(shape(Some(i64::MIN), Some(i64::MAX)), [1, 2, 3]);
        let reject = Case::new("Shape", 13)
            .int("start", 1)
            .input(f32s(&[1], &[1.0]))
            .reject();
        assert_eq!(reject, Reject::Attribute("start".into()));
    }

    #[test]
    fn size_counts_elements() {
        for (dims, count) in [(&[2, 3][..], 6usize), (&[], 1), (&[4, 0], 0)] {
            let out = Case::new("Size", 13)
                .input(ints(DType::Bool, dims, &vec![1; count]))
                .output(DType::I64)
                .run();
            assert_eq!(
                (out[0].dims(), out[0].ints()),
                (&[][..], vec![i64::try_from(count).unwrap()])
            );
        }
    }

    #[test]
    fn identity_of_every_type() {
        for constant in [false, true] {
            for dtype in Types::ANY.iter_types() {
                let data = if dtype.is_float() {
                    crate::ops::testing::floats(dtype, &[2], &[0.0, 1.0])
                } else {
                    ints(dtype, &[2], &[0, 1])
                };
                let bytes = data.bytes.clone();
                let out = Case::new("Identity", 14).given(constant, data).run();
                assert_eq!((out[0].dtype(), out[0].bytes()), (dtype, &bytes[..]));
            }
        }
        let reject = Case::new("Identity", 14)
            .input(ints(DType::Bool, &[0], &[]))
            .int("x", 1)
            .reject();
        assert_eq!(reject, Reject::Attribute("x".into()));
    }
}
