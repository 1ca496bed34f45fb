//! Concat.
use crate::error::{Error, Result};
use crate::ops::{self, HostData, HostTensor, NodeRef, OpDef, Planned, Reject, lower, op};

pub(in crate::ops) const OPS: &[OpDef] = &[
    op!("Concat", 1..=3, [ANY], |node| concat(
        node,
        node.int_or("axis", 1)?
    )),
    op!("Concat", 4.., [ANY], |node| {
        let axis = node.int("axis")?;
        concat(node, axis.ok_or_else(|| Reject::Attribute("axis".into()))?)
    }),
];

fn concat(node: &NodeRef<'_>, axis: i64) -> Planned {
    let count = node.input_count();
    if count == 0 || (0..count).any(|input| !node.has_input(input)) {
        return Err(Reject::Arity(count));
    }
    let plan = lower(move |cx, x| {
        let arrays = x.arrays()?;
        let dims: Vec<_> = arrays.iter().map(|a| a.dims()).collect();
        let (axis, joined) = joined(&dims, axis)?;
        if joined.contains(&0) {
            return cx.zeros(&joined, x.dtype(0)?);
        }
        // Where an empty tensor adds nothing, leaving it out changes nothing.
        let parts: Vec<_> = arrays.into_iter().filter(|a| a.size() > 0).collect();
        match parts.as_slice() {
            [single] => Ok((*single).clone()),
            parts => cx.concatenate(parts, axis),
        }
    })?;
    Ok(plan.or_host(move |h| {
        let Some(parts) = h.iter().copied().collect::<Option<Vec<_>>>() else {
            return Ok(None);
        };
        let dims: Vec<_> = parts.iter().map(|t| t.dims().to_vec()).collect();
        let (axis, joined) = joined(&dims, axis)?;
        Ok(on_host(&parts, axis, joined).map(|t| vec![t]))
    }))
}

/// The axis from the front, and the dimensions of the result.
fn joined(dims: &[Vec<usize>], axis: i64) -> Result<(usize, Vec<usize>)> {
    let mut joined = dims.first().cloned().unwrap_or_default();
    let axis = ops::axis(axis, joined.len())?;
    for (input, other) in dims.iter().enumerate().skip(1) {
        let fits = other.len() == joined.len()
            && (0..joined.len()).all(|i| i == axis || other[i] == joined[i]);
        if !fits {
            return Err(Error::invalid(format!(
                "input {input} of shape {other:?} cannot be joined along axis {axis} with input 0 of shape {:?}",
                dims[0]
            )));
        }
        joined[axis] += other[axis];
    }
    if i32::try_from(joined[axis]).is_err() {
        return Err(Error::invalid(format!(
            "axis {axis} of the result has {} elements, MLX holds at most {}",
            joined[axis],
            i32::MAX
        )));
    }
    Ok((axis, joined))
}

fn on_host(parts: &[&HostTensor], axis: usize, dims: Vec<usize>) -> Option<HostTensor> {
    let outer: usize = dims[..axis].iter().product();
    let dtype = parts.first()?.dtype();
    let widths: Vec<usize> = parts
        .iter()
        .map(|t| t.dims()[axis..].iter().product())
        .collect();
    let runs = |row: usize| {
        let run = move |(part, width): (usize, &usize)| (part, row * width..(row + 1) * width);
        widths.iter().enumerate().map(run)
    };
    let (mut ints, mut floats) = (vec![], vec![]);
    for (part, range) in (0..outer).flat_map(runs) {
        match parts[part].data() {
            HostData::Int(v) => ints.extend_from_slice(&v[range]),
            HostData::Float(v) => floats.extend_from_slice(&v[range]),
        }
    }
    match parts.first()?.data() {
        HostData::Int(_) if floats.is_empty() => Some(HostTensor::ints(dtype, dims, ints)),
        HostData::Float(_) if ints.is_empty() => Some(HostTensor::floats(dtype, dims, floats)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use crate::device::DType;
    use crate::ops::Reject;
    use crate::ops::testing::{Case, f32s, i64s, ints};

    #[test]
    fn tensors_are_joined_along_an_axis() {
        for constant in [false, true] {
            for axis in [1, -1] {
                let out = Case::new("Concat", 13)
                    .int("axis", axis)
                    .given(constant, i64s(&[2, 2], &[1, 2, 3, 4]))
                    .given(constant, i64s(&[2, 1], &[10, 20]))
                    .run();
                assert_eq!(out[0].dims(), [2, 3]);
                assert_eq!(out[0].ints(), [1, 2, 10, 3, 4, 20]);
            }
            let out = Case::new("Concat", 4)
                .int("axis", 0)
                .given(constant, f32s(&[1, 2], &[1.0, 2.0]))
                .given(constant, f32s(&[1, 2], &[3.0, 4.0]))
                .given(constant, f32s(&[1, 2], &[5.0, 6.0]))
                .run();
            assert_eq!(out[0].dims(), [3, 2]);
            assert_eq!(out[0].floats(), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        }
    }

    #[test]
    fn the_oldest_form_joins_along_axis_one() {
        let out = Case::new("Concat", 1)
            .input(f32s(&[1, 1], &[1.0]))
            .input(f32s(&[1, 2], &[2.0, 3.0]))
            .run();
        assert_eq!(
            (out[0].dims(), out[0].floats()),
            (&[1, 3][..], vec![1.0, 2.0, 3.0])
        );
    }

    #[test]
    fn empty_and_single_tensors() {
        for constant in [false, true] {
            let join = |parts: &[&[usize]]| {
                let mut case = Case::new("Concat", 13).int("axis", 0);
                for dims in parts {
                    let count = dims.iter().product::<usize>();
                    case = case.given(constant, ints(DType::Bool, dims, &vec![1; count]));
                }
                let out = case.run();
                (out[0].dims().to_vec(), out[0].ints().len())
            };
            assert_eq!(join(&[&[0], &[2]]), (vec![2], 2));
            assert_eq!(join(&[&[0], &[0]]), (vec![0], 0));
            assert_eq!(join(&[&[2, 0], &[1, 0]]), (vec![3, 0], 0));
            assert_eq!(join(&[&[3]]), (vec![3], 3));
            assert_eq!(join(&[&[0, 3], &[2, 3], &[0, 3]]), (vec![2, 3], 6));
        }
    }

    #[test]
    fn mismatches_are_errors() {
        for constant in [false, true] {
            let join = |a: &[usize], b: &[usize], axis| {
                let part = |dims: &[usize]| f32s(dims, &vec![1.0; dims.iter().product()]);
                let case = Case::new("Concat", 13).int("axis", axis);
                let case = case.given(constant, part(a)).given(constant, part(b));
                case.try_run().err().expect("they do not fit").to_string()
            };
            assert!(join(&[2, 3], &[2, 2], 0).contains("input 1 of shape [2, 2]"));
            assert!(join(&[2], &[2, 2], 0).contains("cannot be joined"));
            assert!(join(&[2], &[2], 1).contains("axis 1 is out of range"));
            assert!(join(&[], &[], 0).contains("rank 0"));
        }
        let reject = Case::new("Concat", 4).input(f32s(&[1], &[1.0])).reject();
        assert_eq!(reject, Reject::Attribute("axis".into()));
        let case = Case::new("Concat", 4).int("axis", 0);
        assert_eq!(case.reject(), Reject::Arity(0));
    }
}
