//! InstanceNormalization and GroupNormalization.
use super::conv::per_channel;
use super::layer_norm::{affine, normalised};
use crate::device::{Array, DType, Emit};
use crate::error::{Error, Result};
use crate::ops::reduce::accumulator;
use crate::ops::{NodeRef, OpDef, Planned, Reject, lower, op};

pub(in crate::ops) const OPS: &[OpDef] = &[
    op!("InstanceNormalization", 1.., [FLOAT64], instance_norm),
    op!("GroupNormalization", 18.., [FLOAT64], group_norm),
];

fn instance_norm(node: &NodeRef<'_>) -> Planned {
    let dtype = node.dtype(0)?;
    let epsilon = node.float_or("epsilon", 1e-5)?;
    node.ignore("consumed_inputs");
    lower(move |cx, x| {
        let input = cx.astype(x.array(0)?, accumulator(dtype))?;
        let groups = input.dim(1);
        let y = grouped(cx, &input, groups, epsilon)?;
        let (scale, bias) = (
            per_channel(cx, x.array(1)?, &y)?,
            per_channel(cx, x.array(2)?, &y)?,
        );
        cx.astype(&affine(cx, &y, Some(&scale), Some(&bias))?, dtype)
    })
}

fn group_norm(node: &NodeRef<'_>) -> Planned {
    let dtype = node.dtype(0)?;
    let epsilon = node.float_or("epsilon", 1e-5)?;
    if node.int_or("stash_type", 1)? != i64::from(DType::F32.onnx()) {
        return Err(Reject::Attribute("stash_type".into()));
    }
    let groups = node
        .int("num_groups")?
        .and_then(|g| usize::try_from(g).ok())
        .filter(|g| *g > 0);
    let groups = groups.ok_or_else(|| Reject::Attribute("num_groups".into()))?;
    // Opset 18 has one scale and bias per group, later ones have one per channel.
    let per_group = node.opset() < 21;
    lower(move |cx, x| {
        let input = cx.astype(x.array(0)?, accumulator(dtype))?;
        let y = grouped(cx, &input, groups, epsilon)?;
        let values = |index: usize| {
            let values = x.array(index)?;
            if !per_group {
                return per_channel(cx, values, &y);
            }
            if values.size() != groups {
                return Err(Error::invalid(format!(
                    "input {index} must have one value for each of {groups} groups, found {}",
                    values.size()
                )));
            }
            per_channel(cx, &cx.repeat(values, y.dim(1) / groups, 0)?, &y)
        };
        cx.astype(
            &affine(cx, &y, Some(&values(1)?), Some(&values(2)?))?,
            dtype,
        )
    })
}

/// Normalises each group of channels of each batch entry.
fn grouped(cx: &Emit, x: &Array, groups: usize, epsilon: f32) -> Result<Array> {
    let dims = x.dims();
    if dims.len() < 2 || (groups > 0 && !dims[1].is_multiple_of(groups)) {
        return Err(Error::invalid(format!(
            "input 0 of shape {dims:?} must be [N, C, ..] with channels for {groups} groups"
        )));
    }
    if x.size() == 0 {
        return Ok(x.clone());
    }
    let rows = cx.reshape(x, &[dims[0], groups, x.size() / dims[0] / groups])?;
    cx.reshape(&normalised(cx, &rows, 2, None, None, epsilon)?, &dims)
}

#[cfg(test)]
mod tests {
    use crate::device::DType;
    use crate::ops::Reject;
    use crate::ops::testing::{Case, f32s, floats};

    fn instance(dtype: DType) -> Case {
        Case::new("InstanceNormalization", 6)
            .input(floats(dtype, &[1, 2, 2], &[1.0, 3.0, -2.0, 6.0]))
            .input(floats(dtype, &[2], &[1.0, 2.0]))
            .input(floats(dtype, &[2], &[0.0, 0.5]))
            .float("epsilon", 0.0)
    }

    #[test]
    fn instances_are_normalised() {
        for (dtype, tolerance) in [(DType::F32, 1e-5), (DType::F64, 1e-12), (DType::F16, 1e-3)] {
            instance(dtype).run()[0].assert_close(&[1, 2, 2], &[-1.0, 1.0, -1.5, 2.5], tolerance);
        }
    }

    #[test]
    fn groups_are_normalised() {
        let x = || f32s(&[1, 4, 1], &[1.0, 3.0, -2.0, 6.0]);
        let case = |opset| {
            let case = Case::new("GroupNormalization", opset)
                .input(x())
                .int("num_groups", 2);
            case.float("epsilon", 0.0)
        };
        let values = |v: &[f32]| f32s(&[v.len()], v);
        let out = case(18)
            .input(values(&[1.0, 2.0]))
            .input(values(&[0.0, 0.5]))
            .run();
        out[0].assert_close(&[1, 4, 1], &[-1.0, 1.0, -1.5, 2.5], 1e-5);
        let scale = values(&[1.0, 2.0, 3.0, 4.0]);
        let out = case(21)
            .input(scale)
            .input(values(&[0.0, 0.0, 1.0, 1.0]))
            .run();
        out[0].assert_close(&[1, 4, 1], &[-1.0, 2.0, -2.0, 5.0], 1e-5);
        let short = case(21)
            .input(values(&[1.0, 2.0]))
            .input(values(&[0.0, 0.5]));
        let error = short.try_run().err().expect("it fails");
        assert!(
            error
                .to_string()
                .contains("2 values are given for 4 channels")
        );
        let missing = Case::new("GroupNormalization", 21).input(x());
        assert_eq!(missing.reject(), Reject::Attribute("num_groups".into()));
        let stash = case(21)
            .int("stash_type", 10)
            .input(values(&[1.0; 4]))
            .input(values(&[0.0; 4]));
        assert_eq!(stash.reject(), Reject::Attribute("stash_type".into()));
    }

    #[test]
    fn uneven_groups_fail_and_empty_batches_do_not() {
        let one = || f32s(&[3], &[1.0; 3]);
        let case = |n: usize| {
            let x = f32s(&[n, 3, 1], &vec![0.0; 3 * n]);
            let case = Case::new("GroupNormalization", 21)
                .input(x)
                .input(one())
                .input(one());
            case.int("num_groups", if n == 0 { 3 } else { 2 })
        };
        assert!(
            case(1)
                .try_run()
                .err()
                .expect("it fails")
                .to_string()
                .contains("2 groups")
        );
        case(0).run()[0].assert_close(&[0, 3, 1], &[], 0.0);
    }
}
