//! Squeeze and Unsqueeze.
use super::grid;
use crate::error::{Error, Result};
use crate::ops::{self, HostTensor, Inputs, NodeRef, OpDef, Planned, Reject, lower, op};

pub(in crate::ops) const OPS: &[OpDef] = &[
    op!("Squeeze", 1..=12, [ALL], |node| {
        let axes = node.ints("axes")?.unwrap_or_default();
        squeeze(Axes::Attribute(axes.to_vec()))
    }),
    op!("Squeeze", 13.., [ALL, I64], |node| squeeze(
        if node.has_input(1) {
            Axes::Input
        } else {
            Axes::Attribute(vec![])
        }
    )),
    op!("Unsqueeze", 1..=12, [ALL], |node| {
        let axes = node.ints("axes")?;
        let axes = axes.ok_or_else(|| Reject::Attribute("axes".into()))?;
        unsqueeze(Axes::Attribute(axes.to_vec()))
    }),
    op!("Unsqueeze", 13.., [ALL, I64], |node: &NodeRef<'_>| {
        if node.has_input(1) {
            unsqueeze(Axes::Input)
        } else {
            Err(Reject::Arity(node.input_count()))
        }
    }),
    op!(MICROSOFT "ExpandDims", 1.., [ANY, I32], |node: &NodeRef<'_>| {
        if node.has_input(1) {
            unsqueeze(Axes::Input)
        } else {
            Err(Reject::Arity(node.input_count()))
        }
    }),
];

/// Where the axes come from.
enum Axes {
    Attribute(Vec<i64>),
    Input,
}

impl Axes {
    fn reads(&self) -> &'static [usize] {
        match self {
            Self::Attribute(_) => &[],
            Self::Input => &[1],
        }
    }

    fn of<'a>(&'a self, x: &Inputs<'a>) -> Result<&'a [i64]> {
        match self {
            Self::Attribute(axes) => Ok(axes),
            Self::Input => x.ints(1),
        }
    }

    fn on_host<'a>(&'a self, h: &[Option<&'a HostTensor>]) -> Option<&'a [i64]> {
        match self {
            Self::Attribute(axes) => Some(axes),
            Self::Input => h.get(1).copied().flatten()?.as_ints(),
        }
    }
}

fn squeeze(axes: Axes) -> Planned {
    let axes = std::sync::Arc::new(axes);
    let host_axes = axes.clone();
    let reads = axes.reads();
    let plan = lower(move |cx, x| {
        let a = x.array(0)?;
        match dropped(&a.dims(), axes.of(x)?)? {
            drop if drop.is_empty() => Ok(a.clone()),
            drop => cx.squeeze(a, &drop),
        }
    })?;
    Ok(plan.reads(reads).or_host(move |h| {
        let (Some(data), Some(axes)) = (grid::first(h), host_axes.on_host(h)) else {
            return Ok(None);
        };
        let drop = dropped(data.dims(), axes)?;
        let keep = |(axis, dim): (usize, &usize)| (!drop.contains(&axis)).then_some(*dim);
        let dims = data.dims().iter().enumerate().filter_map(keep).collect();
        Ok(Some(vec![data.with_dims(dims)]))
    }))
}

/// The axes that are dropped: those that are named, or if none is, all of size 1.
fn dropped(dims: &[usize], axes: &[i64]) -> Result<Vec<usize>> {
    if axes.is_empty() {
        return Ok((0..dims.len()).filter(|axis| dims[*axis] == 1).collect());
    }
    let axes = ops::axes(axes, dims.len())?;
    match axes.iter().find(|axis| dims[**axis] != 1) {
        Some(axis) => Err(Error::invalid(format!(
            "axis {axis} of a tensor of shape {dims:?} cannot be dropped: its size is not 1"
        ))),
        None => Ok(axes),
    }
}

fn unsqueeze(axes: Axes) -> Planned {
    let axes = std::sync::Arc::new(axes);
    let host_axes = axes.clone();
    let reads = axes.reads();
    let plan = lower(move |cx, x| {
        let (a, axes) = (x.array(0)?, axes.of(x)?);
        if axes.is_empty() {
            return Ok(a.clone());
        }
        cx.expand_dims(a, &ops::axes(axes, a.rank() + axes.len())?)
    })?;
    Ok(plan.reads(reads).or_host(move |h| {
        let (Some(data), Some(axes)) = (grid::first(h), host_axes.on_host(h)) else {
            return Ok(None);
        };
        let mut dims = data.dims().to_vec();
        for axis in ops::axes(axes, dims.len() + axes.len())? {
            dims.insert(axis, 1);
        }
        Ok(Some(vec![data.with_dims(dims)]))
    }))
}

#[cfg(test)]
mod tests {
    use crate::device::DType;
    use crate::error::Result;
    use crate::ops::Reject;
    use crate::ops::testing::{Case, f32s, i64s, ints};

    /// Dimensions of the result in each form of the operator, which must agree.
    fn run(op: &str, dims: &[usize], axes: Option<&[i64]>) -> Result<Vec<i64>> {
        let data = || ints(DType::I32, dims, &vec![3; dims.iter().product::<usize>()]);
        let mut cases = vec![];
        for constant in [false, true] {
            let old = Case::new(op, 11).given(constant, data());
            let new = Case::new(op, 13).given(constant, data());
            match axes {
                Some(axes) => {
                    cases.push(old.ints("axes", axes));
                    cases.push(new.given(constant, i64s(&[axes.len()], axes)));
                    let runtime = Case::new(op, 21).constant(data()).unknown_ranks();
                    cases.push(runtime.input(i64s(&[axes.len()], axes)));
                }
                None => cases.extend([old, new.omitted()]),
            }
        }
        let mut results = cases.into_iter().map(|case| {
            let out = case.try_run()?;
            assert_eq!(out[0].ints(), data_values(dims));
            Ok(out[0].dims().to_vec())
        });
        let first: Result<Vec<i64>> = results.next().unwrap();
        for other in results {
            assert_eq!(first.as_ref().ok(), other.as_ref().ok());
        }
        first
    }

    fn data_values(dims: &[usize]) -> Vec<i64> {
        vec![3; dims.iter().product()]
    }

    #[test]
    fn squeeze_drops_axes_of_size_one() {
        assert_eq!(
            run("Squeeze", &[1, 3, 1, 2], Some(&[0, 2])).unwrap(),
            [3, 2]
        );
        assert_eq!(run("Squeeze", &[1, 3, 1], Some(&[-1])).unwrap(), [1, 3]);
        assert_eq!(run("Squeeze", &[1, 0, 1], None).unwrap(), [0]);
        assert_eq!(run("Squeeze", &[1], None).unwrap(), [0i64; 0]);
        assert_eq!(run("Squeeze", &[], None).unwrap(), [0i64; 0]);
        assert!(run("Squeeze", &[1, 3], Some(&[1])).is_err());
        assert!(run("Squeeze", &[1, 3], Some(&[2])).is_err());
        assert!(run("Squeeze", &[1, 3], Some(&[0, -2])).is_err());
    }

    #[test]
    fn unsqueeze_counts_axes_in_the_result() {
        assert_eq!(run("Unsqueeze", &[3], Some(&[0, 2])).unwrap(), [1, 3, 1]);
        assert_eq!(run("Unsqueeze", &[3, 2], Some(&[-1])).unwrap(), [3, 2, 1]);
        assert_eq!(
            run("Unsqueeze", &[3, 2], Some(&[3, 0])).unwrap(),
            [1, 3, 2, 1]
        );
        assert_eq!(run("Unsqueeze", &[], Some(&[0])).unwrap(), [1]);
        assert_eq!(run("Unsqueeze", &[0], Some(&[-2])).unwrap(), [1, 0]);
        assert_eq!(run("Unsqueeze", &[4], Some(&[])).unwrap(), [4]);
        assert!(run("Unsqueeze", &[3], Some(&[2])).is_err());
        assert!(run("Unsqueeze", &[3], Some(&[0, -3])).is_err());
    }

    #[test]
    fn the_contrib_form_inserts_one_axis() {
        for constant in [false, true] {
            let case = Case::new("ExpandDims", 1).domain("com.microsoft");
            let case = case.given(constant, f32s(&[2, 3], &[0.0; 6]));
            let out = case.given(constant, ints(DType::I32, &[], &[-1])).run();
            assert_eq!(out[0].dims(), [2, 3, 1]);
        }
    }

    #[test]
    fn unsqueeze_without_axes_is_refused() {
        let case = || Case::new("Unsqueeze", 11).input(f32s(&[1], &[1.0]));
        assert_eq!(case().reject(), Reject::Attribute("axes".into()));
        let case = Case::new("Unsqueeze", 13).input(f32s(&[1], &[1.0]));
        assert_eq!(case.reject(), Reject::Arity(1));
    }
}
