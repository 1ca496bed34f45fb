//! Comparisons and the logic of booleans.
use super::arith::{EmitBinary, legacy};
use super::broadcast;
use crate::device::{DType, Emit};
use crate::error::Result;
use crate::ops::{HostData, HostTensor, OpDef, Planned, lower, op};
use std::cmp::Ordering;

pub(in crate::ops) const OPS: &[OpDef] = &[
    op!("Equal", 7.., [ANY], |_| compare(Emit::equal, |o| {
        o == Some(Ordering::Equal)
    })),
    op!("Equal", 1..=6, [ANY], |node| legacy(node, Emit::equal)),
    op!("Greater", 7.., [NUMERIC], |_| compare(Emit::greater, |o| {
        o == Some(Ordering::Greater)
    })),
    op!("Greater", 1..=6, [FLOAT64], |node| legacy(
        node,
        Emit::greater
    )),
    op!("Less", 7.., [NUMERIC], |_| compare(Emit::less, |o| {
        o == Some(Ordering::Less)
    })),
    op!("Less", 1..=6, [FLOAT64], |node| legacy(node, Emit::less)),
    op!("GreaterOrEqual", 12.., [NUMERIC], |_| compare(
        Emit::greater_equal,
        |o| o.is_some_and(Ordering::is_ge)
    )),
    op!("LessOrEqual", 12.., [NUMERIC], |_| compare(
        Emit::less_equal,
        |o| o.is_some_and(Ordering::is_le)
    )),
    op!("And", 7.., [BOOL], |_| logic(Emit::logical_and, |a, b| a
        && b)),
    op!("And", 1..=6, [BOOL], |node| legacy(node, Emit::logical_and)),
    op!("Or", 7.., [BOOL], |_| logic(Emit::logical_or, |a, b| a
        || b)),
    op!("Or", 1..=6, [BOOL], |node| legacy(node, Emit::logical_or)),
    op!("Xor", 7.., [BOOL], |_| logic(Emit::not_equal, |a, b| a
        != b)),
    op!("Xor", 1..=6, [BOOL], |node| legacy(node, Emit::not_equal)),
    op!("Not", 1.., [BOOL], |_| not()),
];

/// `None` is the order of a NaN and anything.
fn compare(emit: EmitBinary, holds: fn(Option<Ordering>) -> bool) -> Planned {
    let plan = lower(move |cx, x| emit(cx, x.array(0)?, x.array(1)?))?;
    Ok(plan.or_host(move |h| {
        let Some((dims, a, b)) = broadcast::pair(h)? else {
            return Ok(None);
        };
        let orders = orders(&a, &b);
        Ok(orders.map(|orders| {
            let data = orders.into_iter().map(|o| i64::from(holds(o))).collect();
            vec![HostTensor::ints(DType::Bool, dims, data)]
        }))
    }))
}

/// The order of each element of `a` and the one of `b` at its place.
pub(super) fn orders(a: &HostTensor, b: &HostTensor) -> Option<Vec<Option<Ordering>>> {
    Some(match (a.data(), b.data()) {
        (HostData::Int(u), HostData::Int(v)) if a.dtype() == DType::U64 => {
            let pairs = u.iter().zip(v);
            pairs
                .map(|(p, q)| Some(p.cast_unsigned().cmp(&q.cast_unsigned())))
                .collect()
        }
        (HostData::Int(u), HostData::Int(v)) => {
            u.iter().zip(v).map(|(p, q)| Some(p.cmp(q))).collect()
        }
        (HostData::Float(u), HostData::Float(v)) => {
            u.iter().zip(v).map(|(p, q)| p.partial_cmp(q)).collect()
        }
        _ => return None,
    })
}

fn logic(emit: EmitBinary, holds: fn(bool, bool) -> bool) -> Planned {
    let plan = lower(move |cx, x| emit(cx, x.array(0)?, x.array(1)?))?;
    Ok(plan.or_host(move |h| {
        let Some((dims, a, b)) = broadcast::pair(h)? else {
            return Ok(None);
        };
        let (Some(u), Some(v)) = (a.as_ints(), b.as_ints()) else {
            return Ok(None);
        };
        let pairs = u.iter().zip(v);
        let data = pairs
            .map(|(p, q)| i64::from(holds(*p != 0, *q != 0)))
            .collect();
        Ok(Some(vec![HostTensor::ints(DType::Bool, dims, data)]))
    }))
}

fn not() -> Planned {
    let plan = lower(|cx, x| cx.logical_not(x.array(0)?))?;
    Ok(plan.or_host(|h| -> Result<_> {
        let Some(Some(t)) = h.first() else {
            return Ok(None);
        };
        let data = t.as_ints().map(|v| v.iter().map(|b| 1 - *b).collect());
        Ok(data.map(|data| vec![HostTensor::ints(DType::Bool, t.dims().to_vec(), data)]))
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::Reject;
    use crate::ops::testing::{Case, Data, f32s, floats, i64s, ints};

    const COMPARISONS: [&str; 5] = ["Equal", "Greater", "Less", "GreaterOrEqual", "LessOrEqual"];

    fn run(op: &str, host: bool, a: Data, b: Data) -> Vec<i64> {
        let case = Case::new(op, 16).given(host, a).given(host, b);
        case.output(DType::Bool).run()[0].ints()
    }

    #[test]
    fn every_type_compares_exactly_on_host_and_device() {
        let expected = [[0, 1, 0], [0, 0, 1], [1, 0, 0], [0, 1, 1], [1, 1, 0]];
        let big = 1 << 53;
        for host in [false, true] {
            for (op, expected) in COMPARISONS.iter().zip(expected) {
                for dtype in [DType::F32, DType::F16, DType::BF16, DType::F64] {
                    let (a, b) = (
                        floats(dtype, &[3], &[-1.0, 2.0, 3.0]),
                        floats(dtype, &[3], &[1.0, 2.0, -3.0]),
                    );
                    assert_eq!(run(op, host, a, b), expected, "{op} {dtype}");
                }
                let (a, b) = (
                    i64s(&[3], &[big, -5, big + 1]),
                    i64s(&[3], &[big + 1, -5, big]),
                );
                assert_eq!(run(op, host, a, b), expected, "{op} int64");
                // As signed numbers, the first and the last pair would compare the other way round.
                let a = ints(DType::U64, &[3], &[1, 7, -1]);
                let b = ints(DType::U64, &[3], &[-1, 7, 1]);
                assert_eq!(run(op, host, a, b), expected, "{op} uint64");
                let a = ints(DType::U8, &[3], &[1, 7, 255]);
                let b = ints(DType::U8, &[3], &[255, 7, 1]);
                assert_eq!(run(op, host, a, b), expected, "{op} uint8");
            }
        }
    }

    #[test]
    fn the_table_of_equal_less_and_greater_is_right() {
        // The expectations above are listed per operator; this ties each column to what it means.
        for (op, less, equal, greater) in [
            ("Equal", 0, 1, 0),
            ("Greater", 0, 0, 1),
            ("Less", 1, 0, 0),
            ("GreaterOrEqual", 0, 1, 1),
            ("LessOrEqual", 1, 1, 0),
        ] {
            let found = run(op, false, i64s(&[3], &[0, 1, 2]), i64s(&[], &[1]));
            assert_eq!(found, [less, equal, greater], "{op}");
        }
    }

    #[test]
    fn nan_compares_to_nothing() {
        for host in [false, true] {
            for op in COMPARISONS {
                let nan = f32s(&[2], &[f32::NAN, 1.0]);
                assert_eq!(run(op, host, nan, f32s(&[], &[f32::NAN])), [0, 0], "{op}");
            }
        }
    }

    #[test]
    fn booleans() {
        let (a, b) = ([0, 0, 1, 1], [0, 1, 0, 1]);
        for host in [false, true] {
            for (op, expected) in [
                ("And", [0, 0, 0, 1]),
                ("Or", [0, 1, 1, 1]),
                ("Xor", [0, 1, 1, 0]),
                ("Equal", [1, 0, 0, 1]),
            ] {
                let (a, b) = (ints(DType::Bool, &[4], &a), ints(DType::Bool, &[4], &b));
                assert_eq!(run(op, host, a, b), expected, "{op}");
            }
            let case = Case::new("Not", 1).given(host, ints(DType::Bool, &[2], &[0, 1]));
            assert_eq!(case.run()[0].ints(), [1, 0]);
        }
    }

    #[test]
    fn shapes_broadcast_and_may_be_empty() {
        let case = Case::new("And", 7)
            .input(ints(DType::Bool, &[], &[1]))
            .input(ints(DType::Bool, &[2, 1], &[1, 0]));
        let out = case.run();
        assert_eq!((out[0].dims(), out[0].ints()), (&[2, 1][..], vec![1, 0]));
        let case = Case::new("Less", 13)
            .input(f32s(&[0, 2], &[]))
            .input(f32s(&[2], &[1.0, 2.0]));
        assert_eq!(case.output(DType::Bool).run()[0].dims(), [0, 2]);
    }

    #[test]
    fn old_forms_align_at_an_axis() {
        let case = Case::new("Greater", 1)
            .int("broadcast", 1)
            .int("axis", 0)
            .input(f32s(&[2, 2], &[1.0, 2.0, 3.0, 4.0]))
            .input(f32s(&[2], &[1.5, 3.5]));
        assert_eq!(case.output(DType::Bool).run()[0].ints(), [0, 1, 0, 1]);
    }

    #[test]
    fn other_types_are_refused() {
        let t = || ints(DType::Bool, &[1], &[1]);
        let found = Some(DType::Bool);
        let reject = Case::new("Less", 13).input(t()).input(t()).reject();
        assert_eq!(reject, Reject::Type { input: 0, found });
        let found = Some(DType::F32);
        let reject = Case::new("And", 7)
            .input(t())
            .input(f32s(&[1], &[1.0]))
            .reject();
        assert_eq!(reject, Reject::Type { input: 1, found });
        let t = || f32s(&[1], &[1.0]);
        let reject = Case::new("LessOrEqual", 9).input(t()).input(t()).reject();
        assert_eq!(reject, Reject::Opset(9));
    }
}
