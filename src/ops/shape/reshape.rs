//! Reshape and Flatten.
use super::grid;
use crate::error::{Error, Result};
use crate::ops::{NodeRef, OpDef, Planned, Reject, lower, op};

pub(in crate::ops) const OPS: &[OpDef] = &[
    op!("Reshape", 1..=4, [ALL], by_attribute),
    op!("Reshape", 5..=13, [ALL, I64], |_| by_input(false)),
    op!("Reshape", 14.., [ALL, I64], |node| by_input(
        node.flag("allowzero", false)?
    )),
    op!("Flatten", 1.., [ALL], flatten),
];

fn by_attribute(node: &NodeRef<'_>) -> Planned {
    node.ignore("consumed_inputs");
    let shape = node.ints("shape")?;
    let shape = shape
        .ok_or_else(|| Reject::Attribute("shape".into()))?
        .to_vec();
    lower(move |cx, x| cx.reshape(x.array(0)?, &target(x.dims(0)?, &shape, false)?))
}

fn by_input(allow_zero: bool) -> Planned {
    let plan = lower(move |cx, x| {
        let dims = target(x.dims(0)?, x.ints(1)?, allow_zero)?;
        cx.reshape(x.array(0)?, &dims)
    })?;
    Ok(plan.reads(&[1]).or_host(move |h| {
        let [Some(data), Some(shape)] = h else {
            return Ok(None);
        };
        let Some(shape) = shape.as_ints() else {
            return Ok(None);
        };
        let dims = target(data.dims(), shape, allow_zero)?;
        Ok(Some(vec![data.with_dims(dims)]))
    }))
}

/// The dimensions that a requested shape means: 0 copies the dimension of the input unless `allow_zero`, and one
/// -1 stands for what is left.
fn target(dims: &[usize], shape: &[i64], allow_zero: bool) -> Result<Vec<usize>> {
    let fail = |why: &str| {
        Err(Error::invalid(format!(
            "a tensor of shape {dims:?} cannot be reshaped to {shape:?}: {why}"
        )))
    };
    let mut out = Vec::with_capacity(shape.len());
    let mut inferred = None;
    for (axis, dim) in shape.iter().enumerate() {
        match (*dim, dims.get(axis)) {
            (-1, _) if inferred.is_none() => {
                inferred = Some(axis);
                out.push(1);
            }
            (-1, _) => return fail("more than one dimension is -1"),
            (0, Some(copied)) if !allow_zero => out.push(*copied),
            (0, None) if !allow_zero => return fail("a 0 copies a dimension that is not there"),
            (dim, _) => match usize::try_from(dim) {
                Ok(dim) => out.push(dim),
                Err(_) => return fail("a dimension is negative"),
            },
        }
    }
    let size: usize = dims.iter().product();
    let known = out
        .iter()
        .try_fold(1usize, |size, dim| size.checked_mul(*dim));
    let Some(known) = known else {
        return fail("it is too large");
    };
    if let Some(axis) = inferred {
        if known == 0 {
            return fail("-1 beside a dimension of 0 can be anything");
        }
        if !size.is_multiple_of(known) {
            return fail("the element counts differ");
        }
        out[axis] = size / known;
    } else if known != size {
        return fail("the element counts differ");
    }
    Ok(out)
}

fn flatten(node: &NodeRef<'_>) -> Planned {
    let axis = node.int_or("axis", 1)?;
    let plan = lower(move |cx, x| cx.reshape(x.array(0)?, &flat(x.dims(0)?, axis)?))?;
    Ok(plan.or_host(move |h| {
        let Some(data) = grid::first(h) else {
            return Ok(None);
        };
        Ok(Some(vec![data.with_dims(flat(data.dims(), axis)?)]))
    }))
}

/// The axes before `axis` as one, and those from it on as another.
fn flat(dims: &[usize], axis: i64) -> Result<Vec<usize>> {
    let rank = i64::try_from(dims.len()).unwrap_or(i64::MAX);
    let wrapped = if axis < 0 { axis + rank } else { axis };
    let (before, after) = usize::try_from(wrapped)
        .ok()
        .and_then(|at| dims.split_at_checked(at))
        .ok_or_else(|| {
            Error::invalid(format!(
                "axis {axis} is out of range for a tensor of rank {rank}: it must be in [{}, {rank}]",
                -rank
            ))
        })?;
    Ok(vec![before.iter().product(), after.iter().product()])
}

#[cfg(test)]
mod tests {
    use crate::device::DType;
    use crate::ops::Reject;
    use crate::ops::testing::{Case, f32s, floats, i64s, ints};

    fn reshape(opset: u32, dims: &[usize], shape: &[i64]) -> crate::error::Result<Vec<i64>> {
        let count = dims.iter().product::<usize>();
        let data: Vec<_> = (0..i64::try_from(count).unwrap()).collect();
        let mut results = vec![];
        for (data_known, shape_known) in [(false, false), (false, true), (true, true)] {
            let case = Case::new("Reshape", opset)
                .given(data_known, ints(DType::I32, dims, &data))
                .given(shape_known, i64s(&[shape.len()], shape));
            let case = if opset >= 14 && shape.contains(&0) && shape[0] == 0 && dims.contains(&0) {
                case.int("allowzero", 1)
            } else {
                case
            };
            results.push(case.try_run().map(|out| {
                assert_eq!(out[0].ints(), data);
                out[0].dims().to_vec()
            }));
        }
        let last = results.pop().unwrap();
        for other in results {
            assert_eq!(other.as_ref().ok(), last.as_ref().ok());
        }
        last
    }

    #[test]
    fn zero_copies_and_minus_one_infers() {
        assert_eq!(reshape(13, &[2, 3, 4], &[0, -1]).unwrap(), [2, 12]);
        assert_eq!(reshape(5, &[2, 3, 4], &[4, 0, -1]).unwrap(), [4, 3, 2]);
        assert_eq!(reshape(13, &[], &[1, -1]).unwrap(), [1, 1]);
        assert_eq!(reshape(21, &[1], &[]).unwrap(), [0i64; 0]);
        assert_eq!(reshape(13, &[0, 3], &[-1, 2]).unwrap(), [0, 2]);
        assert_eq!(reshape(13, &[0, 3], &[0, 5]).unwrap(), [0, 5]);
    }

    #[test]
    fn allowzero_takes_zero_as_it_is() {
        assert_eq!(reshape(14, &[3, 0], &[0, 7]).unwrap(), [0, 7]);
        let reject = Case::new("Reshape", 13)
            .int("allowzero", 1)
            .input(f32s(&[1], &[1.0]))
            .input(i64s(&[1], &[1]))
            .reject();
        assert_eq!(reject, Reject::Attribute("allowzero".into()));
    }

    #[test]
    fn impossible_shapes_are_errors() {
        for (dims, shape) in [
            (&[2, 3][..], &[4, -1][..]),
            (&[2, 3], &[-1, -1]),
            (&[2, 3], &[7]),
            (&[6], &[1, 0]),
            (&[6], &[-2, 3]),
            (&[0, 3], &[0, -1]),
            (&[6], &[i64::MAX, i64::MAX]),
        ] {
            let error = reshape(13, dims, shape).expect_err("no such shape");
            assert!(error.to_string().contains("cannot be reshaped"), "{error}");
        }
    }

    #[test]
    fn the_old_form_has_an_attribute() {
        let out = Case::new("Reshape", 1)
            .ints("shape", &[0, -1])
            .ints("consumed_inputs", &[0])
            .input(floats(DType::F16, &[2, 1, 2], &[1.0, 2.0, 3.0, 4.0]))
            .run();
        assert_eq!(out[0].dims(), [2, 2]);
        assert_eq!(out[0].floats(), [1.0, 2.0, 3.0, 4.0]);
        let reject = Case::new("Reshape", 1).input(f32s(&[1], &[1.0])).reject();
        assert_eq!(reject, Reject::Attribute("shape".into()));
    }

    #[test]
    fn flatten_at_every_axis() {
        for constant in [false, true] {
            let flatten = |dims: &[usize], axis: i64| {
                let count = dims.iter().product::<usize>();
                Case::new("Flatten", 13)
                    .int("axis", axis)
                    .given(constant, ints(DType::I64, dims, &vec![5; count]))
                    .try_run()
                    .map(|out| out[0].dims().to_vec())
            };
            assert_eq!(flatten(&[2, 3, 4], 0).unwrap(), [1, 24]);
            assert_eq!(flatten(&[2, 3, 4], 3).unwrap(), [24, 1]);
            assert_eq!(flatten(&[2, 3, 4], -1).unwrap(), [6, 4]);
            assert_eq!(flatten(&[2, 0, 4], 2).unwrap(), [0, 4]);
            assert_eq!(flatten(&[], 0).unwrap(), [1, 1]);
            assert!(flatten(&[2, 3], 3).is_err());
            assert!(flatten(&[2, 3], -3).is_err());
        }
        let out = Case::new("Flatten", 1)
            .input(f32s(&[2, 2, 1], &[1.0, 2.0, 3.0, 4.0]))
            .run();
        assert_eq!(out[0].dims(), [2, 2]);
    }
}
