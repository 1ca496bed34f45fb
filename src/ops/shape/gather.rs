//! Gather and GatherElements.
use super::grid;
use crate::device::{Array, Emit};
use crate::error::{Error, Result};
use crate::ops::{self, HostTensor, Inputs, NodeRef, OpDef, Planned, index, lower, op};

pub(in crate::ops) const OPS: &[OpDef] = &[
    op!("Gather", 1.., [ANY, INDEX], gather),
    op!("GatherElements", 11.., [ANY, INDEX], elements),
];

fn gather(node: &NodeRef<'_>) -> Planned {
    let axis = node.int_or("axis", 0)?;
    let plan = lower(move |cx, x| {
        let data = x.array(0)?;
        take(cx, x, data, ops::axis(axis, data.rank())?)
    })?;
    Ok(plan.or_host(move |h| {
        let [Some(data), Some(indices)] = h else {
            return Ok(None);
        };
        let axis = ops::axis(axis, data.rank())?;
        let indices_of_axis = wrapped(indices, data.dims()[axis])?;
        let Some(mut all) = grid::whole(data.dims()) else {
            return Ok(None);
        };
        all[axis] = indices_of_axis;
        let dims = around(data.dims(), axis, indices.dims());
        Ok(grid::pick(data, &all).map(|t| vec![t.with_dims(dims)]))
    }))
}

/// The dimensions of the data with those of the indices in the place of the axis.
fn around(data: &[usize], axis: usize, indices: &[usize]) -> Vec<usize> {
    [&data[..axis], indices, &data[axis + 1..]].concat()
}

fn take(cx: &Emit, x: &Inputs<'_>, data: &Array, axis: usize) -> Result<Array> {
    let size = data.dim(axis);
    let dims = around(&data.dims(), axis, x.dims(1)?);
    // One known index is a view.
    if let Some(known) = x.known(1)
        && let [at] = wrapped(known, size)?[..]
    {
        let part = cx.slice_axis(data, axis, at, at + 1)?;
        return match known.rank() {
            0 => cx.squeeze(&part, &[axis]),
            1 => Ok(part),
            _ => cx.reshape(&part, &dims),
        };
    }
    let indices = index::within(cx, x, 1, size)?;
    if dims.contains(&0) {
        return cx.zeros(&dims, data.dtype());
    }
    cx.take(data, &indices, axis)
}

/// Known indices, negative ones counted from the end.
fn wrapped(indices: &HostTensor, size: usize) -> Result<Vec<usize>> {
    let values = indices
        .as_ints()
        .ok_or_else(|| Error::internal("indices that are no integers"))?;
    let bound = i64::try_from(size).unwrap_or(i64::MAX);
    let wrap = |v: &i64| {
        let wrapped = if *v < 0 { v.saturating_add(bound) } else { *v };
        let found = usize::try_from(wrapped).ok().filter(|i| *i < size);
        found.ok_or_else(|| {
            Error::invalid(format!(
                "index {v} in input 1 is out of range: it must be in [{}, {}]",
                -bound,
                bound - 1
            ))
        })
    };
    values.iter().map(wrap).collect()
}

fn elements(node: &NodeRef<'_>) -> Planned {
    let axis = node.int_or("axis", 0)?;
    lower(move |cx, x| {
        let data = x.array(0)?;
        let axis = ops::axis(axis, data.rank())?;
        let (from, to) = (data.dims(), x.dims(1)?.to_vec());
        let fits = to.len() == from.len() && (0..to.len()).all(|i| i == axis || to[i] <= from[i]);
        if !fits {
            return Err(Error::invalid(format!(
                "indices of shape {to:?} in input 1 do not fit data of shape {from:?} in input 0"
            )));
        }
        let indices = index::within(cx, x, 1, from[axis])?;
        if to.contains(&0) {
            return cx.zeros(&to, data.dtype());
        }
        // MLX wants the other dimensions to be equal.
        let mut part = data.clone();
        for i in (0..to.len()).filter(|i| *i != axis && to[*i] < from[*i]) {
            part = cx.slice_axis(&part, i, 0, to[i])?;
        }
        cx.take_along(&part, &indices, axis)
    })
}

#[cfg(test)]
mod tests {
    use crate::device::DType;
    use crate::ops::Reject;
    use crate::ops::testing::{Case, Data, f32s, floats, i64s, ints};

    fn grid(dtype: DType) -> Data {
        ints(dtype, &[3, 4], &(0..12).collect::<Vec<_>>())
    }

    #[test]
    fn indices_of_every_rank() {
        for (data_known, indices_known) in [(false, false), (false, true), (true, true)] {
            for dtype in [DType::I32, DType::I64] {
                let gather = |axis, dims: &[usize], indices: &[i64]| {
                    let case = Case::new("Gather", 13).int("axis", axis);
                    let case = case
                        .given(data_known, grid(DType::I16))
                        .given(indices_known, ints(dtype, dims, indices));
                    let out = case.run();
                    (out[0].dims().to_vec(), out[0].ints())
                };
                assert_eq!(gather(0, &[], &[1]), (vec![4], vec![4, 5, 6, 7]));
                assert_eq!(gather(1, &[], &[-1]), (vec![3], vec![3, 7, 11]));
                assert_eq!(gather(0, &[1], &[-3]), (vec![1, 4], vec![0, 1, 2, 3]));
                assert_eq!(gather(1, &[1, 1], &[2]), (vec![3, 1, 1], vec![2, 6, 10]));
                assert_eq!(
                    gather(-1, &[2], &[3, 0]),
                    (vec![3, 2], vec![3, 0, 7, 4, 11, 8])
                );
                assert_eq!(
                    gather(0, &[2, 1], &[2, -3]),
                    (vec![2, 1, 4], vec![8, 9, 10, 11, 0, 1, 2, 3])
                );
                assert_eq!(gather(0, &[0], &[]), (vec![0, 4], vec![]));
            }
        }
    }

    #[test]
    fn every_class_of_element_type() {
        let gather = |data| {
            Case::new("Gather", 1)
                .input(data)
                .input(i64s(&[2], &[1, 0]))
                .run()
        };
        assert_eq!(gather(ints(DType::Bool, &[2], &[0, 1]))[0].ints(), [1, 0]);
        assert_eq!(gather(ints(DType::U64, &[2], &[-1, 3]))[0].ints(), [3, -1]);
        for dtype in [DType::F16, DType::BF16, DType::F32, DType::F64] {
            assert_eq!(
                gather(floats(dtype, &[2], &[0.5, -2.0]))[0].floats(),
                [-2.0, 0.5]
            );
        }
    }

    #[test]
    fn indices_out_of_range_are_errors() {
        for op in ["Gather", "GatherElements"] {
            for constant in [false, true] {
                for bad in [3, -4, i64::MAX, i64::MIN] {
                    let case = Case::new(op, 13).given(constant, f32s(&[3], &[0.0; 3]));
                    let error = case.given(constant, i64s(&[1], &[bad])).try_run().err();
                    let text = error.expect("out of range").to_string();
                    assert!(text.contains(&format!("index {bad} in input 1")), "{text}");
                }
            }
            let case = Case::new(op, 13).input(f32s(&[0], &[]));
            assert!(case.input(i64s(&[1], &[0])).try_run().is_err());
        }
        let case = Case::new("Gather", 13).input(f32s(&[0, 2], &[]));
        let out = case.input(i64s(&[0], &[])).run();
        assert_eq!(out[0].dims(), [0, 2]);
        let case = Case::new("Gather", 13)
            .int("axis", 1)
            .input(f32s(&[0, 2], &[]));
        let out = case.input(i64s(&[3], &[0, 1, 1])).run();
        assert_eq!(out[0].dims(), [0, 3]);
        let case = Case::new("Gather", 13).input(f32s(&[], &[1.0]));
        assert!(case.input(i64s(&[], &[0])).try_run().is_err());
    }

    #[test]
    fn float_indices_are_refused() {
        let case = Case::new("Gather", 13).input(f32s(&[1], &[1.0]));
        assert_eq!(
            case.input(f32s(&[1], &[0.0])).reject(),
            Reject::Type {
                input: 1,
                found: Some(DType::F32)
            }
        );
    }

    #[test]
    fn elements_along_an_axis() {
        for dtype in [DType::Bool, DType::I64, DType::F64, DType::U8] {
            let case = Case::new("GatherElements", 11).int("axis", 1);
            let case = if dtype == DType::F64 {
                case.input(floats(dtype, &[2, 2], &[1.0, 0.0, 0.0, 1.0]))
            } else {
                case.input(ints(dtype, &[2, 2], &[1, 0, 0, 1]))
            };
            let out = case.input(i64s(&[2, 2], &[0, 0, 1, -2])).run();
            let expected = if dtype == DType::F64 {
                floats(dtype, &[2, 2], &[1.0, 1.0, 1.0, 0.0])
            } else {
                ints(dtype, &[2, 2], &[1, 1, 1, 0])
            };
            assert_eq!(out[0].bytes(), expected.bytes);
        }
        let case = || Case::new("GatherElements", 13).input(grid(DType::I32));
        let out = case().input(i64s(&[2, 3], &[1, 2, 0, 2, 0, -1])).run();
        assert_eq!(
            (out[0].dims(), out[0].ints()),
            (&[2, 3][..], vec![4, 9, 2, 8, 1, 10])
        );
        let out = case()
            .int("axis", -1)
            .input(i64s(&[1, 6], &[3, 3, 0, 1, -4, 2]))
            .run();
        assert_eq!(
            (out[0].dims(), out[0].ints()),
            (&[1, 6][..], vec![3, 3, 0, 1, 0, 2])
        );
        let out = case().input(i64s(&[0, 4], &[])).run();
        assert_eq!(out[0].dims(), [0, 4]);
        assert!(case().input(i64s(&[1, 5], &[0; 5])).try_run().is_err());
        assert!(case().input(i64s(&[4], &[0; 4])).try_run().is_err());
    }
}
