//! Clip.
use crate::device::{Array, DType, Emit};
use crate::error::{Error, Result};
use crate::ops::{HostData, HostTensor, Inputs, NodeRef, OpDef, Planned, lower, op};

pub(in crate::ops) const OPS: &[OpDef] = &[
    op!("Clip", 12.., [NUMERIC], clip),
    op!("Clip", 11..=11, [FLOAT64], clip),
    op!("Clip", 1..=10, [FLOAT64], clip_to_attributes),
];

/// The smallest and largest finite value of a float type: what an omitted bound stands for.
fn finite(dtype: DType) -> (f64, f64) {
    let largest = match dtype {
        DType::F16 => 65504.0,
        DType::BF16 => 255.0 * 2f64.powi(120),
        DType::F64 => f64::MAX,
        _ => f64::from(f32::MAX),
    };
    (-largest, largest)
}

/// Bounds that are inputs; an omitted one changes no integer, but brings infinities to finite values.
fn clip(_: &NodeRef<'_>) -> Planned {
    let plan = lower(|cx, x| {
        let a = x.array(0)?;
        let (lowest, highest) = finite(a.dtype());
        let low = bound(cx, x, 1, lowest)?;
        let high = bound(cx, x, 2, highest)?;
        between(cx, a, low.as_ref(), high.as_ref())
    })?;
    Ok(plan.or_host(|h| Ok(on_host(h).map(|t| vec![t]))))
}

fn bound(cx: &Emit, x: &Inputs<'_>, input: usize, otherwise: f64) -> Result<Option<Array>> {
    match x.optional(input)? {
        Some(bound) if bound.size() == 1 => cx.reshape(bound, &[]).map(Some),
        Some(bound) => Err(Error::invalid(format!(
            "input {input} must be one number, found the shape {:?}",
            bound.dims()
        ))),
        None if x.dtype(0)?.is_float() => cx.float(otherwise, x.dtype(0)?).map(Some),
        None => Ok(None),
    }
}

/// Where the bounds cross, the upper one wins. NaN stays.
fn between(cx: &Emit, a: &Array, low: Option<&Array>, high: Option<&Array>) -> Result<Array> {
    let raised = match low {
        Some(low) => cx.maximum(a, low)?,
        None => a.clone(),
    };
    match high {
        Some(high) => cx.minimum(&raised, high),
        None => Ok(raised),
    }
}

fn clip_to_attributes(node: &NodeRef<'_>) -> Planned {
    node.ignore("consumed_inputs");
    let (lowest, highest) = finite(node.dtype(0)?);
    let low = node.float("min")?.map_or(lowest, f64::from);
    let high = node.float("max")?.map_or(highest, f64::from);
    lower(move |cx, x| {
        let a = x.array(0)?;
        let low = cx.float(low, a.dtype())?;
        between(cx, a, Some(&low), Some(&cx.float(high, a.dtype())?))
    })
}

/// Integers, but not uint64, which is held in signed bits.
fn on_host(inputs: &[Option<&HostTensor>]) -> Option<HostTensor> {
    let at = |i: usize| inputs.get(i).copied().flatten();
    let a = at(0).filter(|t| t.dtype() != DType::U64)?;
    let HostData::Int(values) = a.data() else {
        return None;
    };
    let bound = |i, otherwise| match at(i) {
        None => Some(otherwise),
        Some(t) => match t.as_ints()? {
            [v] => Some(*v),
            _ => None,
        },
    };
    let (low, high) = (bound(1, i64::MIN)?, bound(2, i64::MAX)?);
    let data = values.iter().map(|v| (*v).max(low).min(high)).collect();
    Some(HostTensor::ints(a.dtype(), a.dims().to_vec(), data))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::Reject;
    use crate::ops::testing::{Case, f32s, floats, i64s, ints};

    const INF: f32 = f32::INFINITY;

    #[test]
    fn bounds_may_be_omitted() {
        let x = || f32s(&[3], &[-2.0, 0.5, 7.0]);
        let run = |case: Case| case.run()[0].floats();
        let one = || f32s(&[], &[1.0]);
        assert_eq!(run(Case::new("Clip", 13).input(x())), [-2.0, 0.5, 7.0]);
        assert_eq!(
            run(Case::new("Clip", 11).input(x()).input(one())),
            [1.0, 1.0, 7.0]
        );
        let case = Case::new("Clip", 12).input(x()).omitted().input(one());
        assert_eq!(run(case), [-2.0, 0.5, 1.0]);
        let case = Case::new("Clip", 13)
            .input(x())
            .input(f32s(&[1], &[0.0]))
            .input(one());
        assert_eq!(run(case), [0.0, 0.5, 1.0]);
    }

    #[test]
    fn omitted_bounds_are_the_limits_of_the_type() {
        let x = f32s(&[3], &[INF, -INF, f32::NAN]);
        let found = Case::new("Clip", 13).input(x).run()[0].floats();
        assert_eq!(found[..2], [f64::from(f32::MAX), f64::from(f32::MIN)]);
        assert!(found[2].is_nan());
        for (dtype, largest) in [
            (DType::F16, 65504.0),
            (DType::BF16, 3.389_531_389_251_535_5e38),
            (DType::F64, f64::MAX),
        ] {
            let x = floats(dtype, &[1], &[f64::INFINITY]);
            assert_eq!(Case::new("Clip", 13).input(x).run()[0].floats(), [largest]);
        }
        let x = f32s(&[2], &[INF, -INF]);
        let out = Case::new("Clip", 6).float("min", 0.0).input(x).run();
        assert_eq!(out[0].floats(), [f64::from(f32::MAX), 0.0]);
    }

    #[test]
    fn the_upper_bound_wins() {
        for host in [false, true] {
            let case = Case::new("Clip", 13).given(host, i64s(&[2], &[0, (1 << 53) + 1]));
            let out = case
                .given(host, i64s(&[], &[5]))
                .given(host, i64s(&[], &[3]))
                .run();
            assert_eq!(out[0].ints(), [3, 3]);
            let case = Case::new("Clip", 13).given(host, i64s(&[2], &[0, (1 << 53) + 1]));
            assert_eq!(
                case.given(host, i64s(&[], &[1])).run()[0].ints(),
                [1, (1 << 53) + 1]
            );
            let case = Case::new("Clip", 13).given(host, ints(DType::U64, &[2], &[1, -1]));
            let out = case.given(host, ints(DType::U64, &[], &[2])).run();
            assert_eq!(out[0].ints(), [2, -1]);
        }
    }

    #[test]
    fn attributes_before_opset_11() {
        let x = f32s(&[3], &[-2.0, 0.5, 7.0]);
        let case = Case::new("Clip", 6).float("min", 0.0).float("max", 6.0);
        assert_eq!(case.input(x.clone()).run()[0].floats(), [0.0, 0.5, 6.0]);
        let reject = Case::new("Clip", 11).float("min", 0.0).input(x).reject();
        assert_eq!(reject, Reject::Attribute("min".into()));
        let found = Some(DType::I64);
        let reject = Case::new("Clip", 11).input(i64s(&[1], &[1])).reject();
        assert_eq!(reject, Reject::Type { input: 0, found });
    }

    #[test]
    fn scalars_empty_tensors_and_wrong_bounds() {
        let case = Case::new("Clip", 13)
            .input(f32s(&[], &[4.0]))
            .input(f32s(&[1], &[5.0]));
        let out = case.run();
        assert_eq!((out[0].dims(), out[0].floats()), (&[][..], vec![5.0]));
        let case = Case::new("Clip", 13)
            .input(f32s(&[0], &[]))
            .input(f32s(&[], &[5.0]));
        assert_eq!(case.run()[0].dims(), [0]);
        let case = Case::new("Clip", 13)
            .input(f32s(&[1], &[4.0]))
            .input(f32s(&[2], &[5.0, 6.0]));
        assert!(case.try_run().is_err());
    }
}
