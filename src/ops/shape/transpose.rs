//! Transpose.
use super::grid;
use crate::error::{Error, Result};
use crate::ops::{HostTensor, NodeRef, OpDef, Planned, lower, op};

pub(in crate::ops) const OPS: &[OpDef] = &[op!("Transpose", 1.., [ALL], transpose)];

fn transpose(node: &NodeRef<'_>) -> Planned {
    let perm = match node.ints("perm")? {
        None => None,
        Some(perm) => match permutation(perm) {
            None => return node.bad_attribute("perm"),
            found => found,
        },
    };
    let on_host = perm.clone();
    let plan = lower(move |cx, x| {
        let a = x.array(0)?;
        let order = order(perm.as_deref(), a.rank())?;
        if order.is_sorted() {
            return Ok(a.clone());
        }
        cx.transpose(a, &order)
    })?;
    Ok(plan.or_host(move |h| {
        let Some(data) = grid::first(h) else {
            return Ok(None);
        };
        let order = order(on_host.as_deref(), data.rank())?;
        Ok(grid::fits(data.dims()).then(|| vec![permuted(data, &order)]))
    }))
}

/// The axes of `perm`, if it names each of them once.
fn permutation(perm: &[i64]) -> Option<Vec<usize>> {
    let axes = perm.iter().map(|axis| usize::try_from(*axis).ok());
    let axes = axes.collect::<Option<Vec<_>>>()?;
    let complete = (0..axes.len()).all(|axis| axes.contains(&axis));
    complete.then_some(axes)
}

/// The axes of the input in the order of the output; without a permutation they are reversed.
fn order(perm: Option<&[usize]>, rank: usize) -> Result<Vec<usize>> {
    match perm {
        None => Ok((0..rank).rev().collect()),
        Some(perm) if perm.len() == rank => Ok(perm.to_vec()),
        Some(perm) => Err(Error::invalid(format!(
            "perm {perm:?} does not fit a tensor of rank {rank}"
        ))),
    }
}

fn permuted(t: &HostTensor, order: &[usize]) -> HostTensor {
    let mut strides = vec![1; t.rank()];
    for axis in (1..t.rank()).rev() {
        strides[axis - 1] = strides[axis] * t.dims()[axis];
    }
    let dims: Vec<_> = order.iter().map(|axis| t.dims()[*axis]).collect();
    let mut positions = vec![0];
    for (dim, axis) in dims.iter().zip(order) {
        let stride = strides[*axis];
        positions = positions
            .iter()
            .flat_map(|p| (0..*dim).map(move |i| p + i * stride))
            .collect();
    }
    t.pick(dims, positions.into_iter())
}

#[cfg(test)]
mod tests {
    use crate::device::DType;
    use crate::ops::Reject;
    use crate::ops::testing::{Case, f32s, ints};

    #[test]
    fn axes_are_permuted() {
        let data: Vec<_> = (0..24).collect();
        for constant in [false, true] {
            let case =
                |dtype| Case::new("Transpose", 13).given(constant, ints(dtype, &[2, 3, 4], &data));
            let out = case(DType::I64).ints("perm", &[1, 2, 0]).run();
            assert_eq!(out[0].dims(), [3, 4, 2]);
            assert_eq!(out[0].ints()[..6], [0, 12, 1, 13, 2, 14]);
            let out = case(DType::U8).run();
            assert_eq!(out[0].dims(), [4, 3, 2]);
            assert_eq!(out[0].ints()[..6], [0, 12, 4, 16, 8, 20]);
            let out = case(DType::I16).ints("perm", &[0, 1, 2]).run();
            assert_eq!(out[0].ints(), data);
        }
    }

    #[test]
    fn scalars_and_empty_tensors() {
        for constant in [false, true] {
            let case = || Case::new("Transpose", 1);
            let out = case().given(constant, f32s(&[], &[1.5])).run();
            assert_eq!((out[0].dims(), out[0].floats()), (&[][..], vec![1.5]));
            let out = case().given(constant, f32s(&[2, 0, 3], &[])).run();
            assert_eq!(out[0].dims(), [3, 0, 2]);
        }
    }

    #[test]
    fn bad_permutations() {
        for perm in [&[0, 0][..], &[0, 2], &[-1, 0]] {
            let case = Case::new("Transpose", 13).ints("perm", perm);
            let reject = case.input(f32s(&[1, 1], &[1.0])).reject();
            assert_eq!(reject, Reject::Attribute("perm".into()));
        }
        let case = Case::new("Transpose", 13).ints("perm", &[0, 1]);
        let error = case.input(f32s(&[1], &[1.0])).try_run().err().unwrap();
        assert!(error.to_string().contains("perm [0, 1]"), "{error}");
    }
}
