//! Where, and Max, Min, Sum and Mean of any number of inputs.
use super::arith::EmitBinary;
use super::broadcast;
use super::compare::orders;
use crate::device::{Array, DType, Emit};
use crate::error::{Error, Result};
use crate::ops::{HostData, HostTensor, Inputs, NodeRef, OpDef, Planned, Reject, lower, op};
use std::cmp::Ordering;

pub(in crate::ops) const OPS: &[OpDef] = &[
    op!("Where", 9.., [BOOL, ANY], |_| choose()),
    op!("Max", 12.., [NUMERIC], |node| extreme(
        node,
        Emit::maximum,
        Ordering::Greater
    )),
    op!("Max", 1..=11, [FLOAT64], |node| extreme(
        node,
        Emit::maximum,
        Ordering::Greater
    )),
    op!("Min", 12.., [NUMERIC], |node| extreme(
        node,
        Emit::minimum,
        Ordering::Less
    )),
    op!("Min", 1..=11, [FLOAT64], |node| extreme(
        node,
        Emit::minimum,
        Ordering::Less
    )),
    op!("Sum", 1.., [FLOAT64], |node| {
        any_number(node)?;
        lower(|cx, x| sum(cx, x, false))
    }),
    op!("Mean", 1.., [FLOAT64], |node| {
        any_number(node)?;
        lower(|cx, x| sum(cx, x, true))
    }),
];

fn choose() -> Planned {
    let plan = lower(|cx, x| cx.select(x.array(0)?, x.array(1)?, x.array(2)?))?;
    Ok(plan.or_host(|h| {
        let (Some(condition), Some((dims, ..))) = (h[0], broadcast::pair(&h[1..])?) else {
            return Ok(None);
        };
        let dims = broadcast::dims(condition.dims(), &dims)?;
        let wide = h.iter().flatten().map(|t| broadcast::to(t, &dims));
        let [condition, a, b] = &wide.collect::<Vec<_>>()[..] else {
            return Ok(None);
        };
        let Some(condition) = condition.as_ints() else {
            return Ok(None);
        };
        let first: Vec<bool> = condition.iter().map(|c| *c != 0).collect();
        Ok(mix(&first, a, b).map(|t| vec![t]))
    }))
}

/// Elements of `a` where `first` says so, else of `b`; all have the same dimensions.
fn mix(first: &[bool], a: &HostTensor, b: &HostTensor) -> Option<HostTensor> {
    fn pick<T: Copy>(first: &[bool], a: &[T], b: &[T]) -> Vec<T> {
        let pairs = first.iter().zip(a.iter().zip(b));
        pairs.map(|(f, (p, q))| if *f { *p } else { *q }).collect()
    }
    let dims = a.dims().to_vec();
    match (a.data(), b.data()) {
        (HostData::Int(u), HostData::Int(v)) => {
            Some(HostTensor::ints(a.dtype(), dims, pick(first, u, v)))
        }
        (HostData::Float(u), HostData::Float(v)) => {
            Some(HostTensor::floats(a.dtype(), dims, pick(first, u, v)))
        }
        _ => None,
    }
}

/// At least one input, and none left out.
fn any_number(node: &NodeRef<'_>) -> Result<(), Reject> {
    node.ignore("consumed_inputs");
    let count = node.input_count();
    if count == 0 || (0..count).any(|i| !node.has_input(i)) {
        return Err(Reject::Arity(count));
    }
    Ok(())
}

/// The inputs combined from left to right.
fn fold(cx: &Emit, arrays: &[&Array], emit: EmitBinary) -> Result<Array> {
    let (first, rest) = arrays
        .split_first()
        .ok_or_else(|| Error::internal("no input"))?;
    rest.iter()
        .try_fold((*first).clone(), |so_far, next| emit(cx, &so_far, next))
}

/// The element that is `wins` than all others; NaN wins over everything.
fn extreme(node: &NodeRef<'_>, emit: EmitBinary, wins: Ordering) -> Planned {
    any_number(node)?;
    let plan = lower(move |cx, x| fold(cx, &x.arrays()?, emit))?;
    Ok(plan.or_host(move |h| {
        let mut inputs = h.iter().copied().flatten();
        let mut so_far = inputs.next().cloned();
        for next in inputs {
            let Some(best) = &so_far else { break };
            let Some((_, a, b)) = broadcast::pair(&[Some(best), Some(next)])? else {
                return Ok(None);
            };
            let Some(orders) = orders(&a, &b) else {
                return Ok(None);
            };
            let nan: Vec<bool> = match a.data() {
                HostData::Float(v) => v.iter().map(|v| v.is_nan()).collect(),
                HostData::Int(v) => vec![false; v.len()],
            };
            let first = orders
                .iter()
                .zip(nan)
                .map(|(o, nan)| nan || *o == Some(wins));
            so_far = mix(&first.collect::<Vec<_>>(), &a, &b);
        }
        Ok(so_far.map(|t| vec![t]))
    }))
}

fn sum(cx: &Emit, x: &Inputs<'_>, mean: bool) -> Result<Array> {
    let arrays = x.arrays()?;
    let dtype = x.dtype(0)?;
    // 16-bit types are rounded once, at the end.
    let wide = match dtype {
        DType::F16 | DType::BF16 => DType::F32,
        _ => dtype,
    };
    let arrays = arrays
        .iter()
        .map(|a| cx.astype(a, wide))
        .collect::<Result<Vec<_>>>()?;
    let sum = fold(cx, &arrays.iter().collect::<Vec<_>>(), Emit::add)?;
    if !mean {
        return cx.astype(&sum, dtype);
    }
    #[expect(
        clippy::cast_precision_loss,
        reason = "a node has fewer than 2^53 inputs"
    )]
    let count = cx.float(arrays.len() as f64, wide)?;
    cx.astype(&cx.divide(&sum, &count)?, dtype)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::{Case, Data, f32s, floats, i64s, ints};

    const NAN: f32 = f32::NAN;

    fn of(op: &str, host: bool, inputs: &[Data]) -> crate::ops::Output {
        let case = inputs
            .iter()
            .fold(Case::new(op, 13), |case, t| case.given(host, t.clone()));
        case.run().remove(0)
    }

    #[test]
    fn where_broadcasts_three_ways() {
        for host in [false, true] {
            let case = Case::new("Where", 16)
                .given(host, ints(DType::Bool, &[2, 1], &[1, 0]))
                .given(host, i64s(&[2], &[(1 << 53) + 1, 2]))
                .given(host, i64s(&[], &[-1]));
            let out = case.output(DType::I64).run();
            assert_eq!(out[0].dims(), [2, 2]);
            assert_eq!(out[0].ints(), [(1 << 53) + 1, 2, -1, -1]);
            let case = Case::new("Where", 9)
                .given(host, ints(DType::Bool, &[3], &[1, 0, 1]))
                .given(host, f32s(&[], &[0.0]))
                .given(host, f32s(&[], &[f32::MIN]));
            let expected = [0.0, f64::from(f32::MIN), 0.0];
            assert_eq!(case.output(DType::F32).run()[0].floats(), expected);
        }
        let found = Some(DType::F32);
        let case = Case::new("Where", 9).input(f32s(&[], &[1.0]));
        let case = case.input(f32s(&[], &[1.0])).input(f32s(&[], &[1.0]));
        assert_eq!(case.reject(), Reject::Type { input: 0, found });
    }

    #[test]
    fn where_takes_all_types_and_no_elements() {
        for dtype in [DType::F64, DType::BF16, DType::U64, DType::I8, DType::Bool] {
            let t = |v: i64| match dtype.is_float() {
                true => floats(dtype, &[], &[v as f64]),
                false => ints(dtype, &[], &[v]),
            };
            let case = Case::new("Where", 16).input(ints(DType::Bool, &[2], &[0, 1]));
            let out = case.input(t(0)).input(t(1)).output(dtype).run();
            out[0].assert_close(&[2], &[1.0, 0.0], 0.0);
        }
        let case = Case::new("Where", 16).input(ints(DType::Bool, &[0], &[]));
        let case = case
            .input(f32s(&[1], &[1.0]))
            .input(f32s(&[2, 1], &[1.0, 2.0]));
        assert_eq!(case.output(DType::F32).run()[0].dims(), [2, 0]);
    }

    #[test]
    fn extremes_keep_nan_and_large_integers() {
        for host in [false, true] {
            let t = [
                f32s(&[3], &[NAN, 1.0, 2.0]),
                f32s(&[3], &[1.0, NAN, 3.0]),
                f32s(&[], &[2.5]),
            ];
            let max = of("Max", host, &t).floats();
            assert!(max[0].is_nan() && max[1].is_nan() && max[2] == 3.0);
            let min = of("Min", host, &t).floats();
            assert!(min[0].is_nan() && min[1].is_nan() && min[2] == 2.0);
            let big = (1 << 53) + 1;
            let t = [i64s(&[2, 1], &[big, -big]), i64s(&[1], &[1 << 53])];
            let out = of("Max", host, &t);
            assert_eq!((out.dims(), out.ints()), (&[2, 1][..], vec![big, 1 << 53]));
            assert_eq!(of("Min", host, &t).ints(), [1 << 53, -big]);
            let t = [ints(DType::U64, &[1], &[-1]), ints(DType::U64, &[1], &[1])];
            assert_eq!(of("Max", host, &t).ints(), [-1]);
            assert_eq!(of("Min", host, &t).ints(), [1]);
            let t = [ints(DType::U8, &[2], &[200, 1])];
            assert_eq!(of("Max", host, &t).ints(), [200, 1]);
        }
    }

    #[test]
    fn sums_and_means() {
        let t = [
            f32s(&[2], &[1.0, 2.0]),
            f32s(&[2], &[2.0, 4.0]),
            f32s(&[1], &[3.0]),
        ];
        assert_eq!(of("Sum", false, &t).floats(), [6.0, 9.0]);
        assert_eq!(of("Mean", false, &t).floats(), [2.0, 3.0]);
        // 2048 + 1 is no float16: rounding after each step would lose both ones.
        let t = [2048.0, 1.0, 1.0].map(|v| floats(DType::F16, &[], &[v]));
        assert_eq!(of("Sum", false, &t).floats(), [2050.0]);
        // The sum is no float16, the mean is.
        let t = [60000.0, 60000.0].map(|v| floats(DType::F16, &[], &[v]));
        assert_eq!(of("Mean", false, &t).floats(), [60000.0]);
        let t = [f32s(&[0, 2], &[]), f32s(&[2], &[1.0, 2.0])];
        assert_eq!(of("Sum", false, &t).dims(), [0, 2]);
    }

    #[test]
    fn other_forms_are_refused() {
        assert_eq!(Case::new("Sum", 13).reject(), Reject::Arity(0));
        let reject = Case::new("Max", 13)
            .input(f32s(&[1], &[1.0]))
            .omitted()
            .reject();
        assert_eq!(reject, Reject::Arity(2));
        let found = Some(DType::I64);
        let reject = Case::new("Max", 8).input(i64s(&[1], &[1])).reject();
        assert_eq!(reject, Reject::Type { input: 0, found });
    }
}
