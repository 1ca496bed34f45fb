//! Functions of one element.
use crate::device::{Array, DType, Emit};
use crate::error::Result;
use crate::ops::{HostData, HostTensor, NodeRef, OpDef, Planned, Reject, lower, op};

pub(in crate::ops) const OPS: &[OpDef] = &[
    op!("Abs", 1.., [NUMERIC], |node| {
        exact(node, Emit::abs, i64::wrapping_abs, f64::abs)
    }),
    op!("Neg", 1.., [NUMERIC], |node| {
        exact(node, Emit::negative, i64::wrapping_neg, |v| -v)
    }),
    op!("Floor", 1.., [FLOAT64], |node| {
        exact(node, Emit::floor, |v| v, f64::floor)
    }),
    op!("Ceil", 1.., [FLOAT64], |node| {
        exact(node, Emit::ceil, |v| v, f64::ceil)
    }),
    op!("Round", 11.., [FLOAT64], |node| {
        exact(node, Emit::round, |v| v, f64::round_ties_even)
    }),
    op!("Sqrt", 1.., [FLOAT64], |node| {
        exact(node, Emit::sqrt, |v| v, f64::sqrt)
    }),
    op!("Reciprocal", 1.., [FLOAT64], |node| {
        exact(node, Emit::reciprocal, |v| v, f64::recip)
    }),
    op!("Sign", 9.., [NUMERIC], |_| lower(|cx, x| sign(
        cx,
        x.array(0)?
    ))),
    // Of these MLX's CPU device has only float32 accuracy in double.
    op!("Exp", 1.., [FLOAT], |node| function(node, Emit::exp)),
    op!("Erf", 9.., [FLOAT], |node| function(node, Emit::erf)),
    op!("Sin", 7.., [FLOAT], |node| function(node, Emit::sin)),
    op!("Cos", 7.., [FLOAT], |node| function(node, Emit::cos)),
    op!("Tan", 7.., [FLOAT], |node| function(node, Emit::tan)),
    op!("Asin", 7.., [FLOAT], |node| function(node, Emit::arcsin)),
    op!("Acos", 7.., [FLOAT], |node| function(node, Emit::arccos)),
    op!("Atan", 7.., [FLOAT], |node| function(node, Emit::arctan)),
    op!("Sinh", 9.., [FLOAT], |node| function(node, Emit::sinh)),
    op!("Cosh", 9.., [FLOAT], |node| function(node, Emit::cosh)),
    op!("Asinh", 9.., [FLOAT], |node| function(node, Emit::arcsinh)),
    op!("Acosh", 9.., [FLOAT], |node| function(node, Emit::arccosh)),
    op!("Atanh", 9.., [FLOAT], |node| function(node, Emit::arctanh)),
    op!("Log", 1.., [FLOAT64], |node| function(node, Emit::log)),
    op!("Tanh", 1.., [FLOAT64], |node| function(node, Emit::tanh)),
    op!("IsNaN", 9.., [FLOAT64], |_| lower(
        |cx, x| cx.isnan(x.array(0)?)
    )),
    op!("IsInf", 10.., [FLOAT64], is_inf),
];

/// A function that the host computes to the same bits.
fn exact(
    node: &NodeRef<'_>,
    emit: fn(&Emit, &Array) -> Result<Array>,
    ints: fn(i64) -> i64,
    floats: fn(f64) -> f64,
) -> Planned {
    node.ignore("consumed_inputs");
    let plan = lower(move |cx, x| emit(cx, x.array(0)?))?;
    Ok(plan.or_host(move |h| {
        let Some(Some(t)) = h.first() else {
            return Ok(None);
        };
        let dims = t.dims().to_vec();
        Ok(Some(vec![match t.data() {
            // uint64 is held in signed bits, for which only the identity is right.
            HostData::Int(_) if t.dtype() == DType::U64 => return Ok(None),
            HostData::Int(v) => {
                HostTensor::ints(t.dtype(), dims, v.iter().map(|v| ints(*v)).collect())
            }
            HostData::Float(v) => {
                HostTensor::floats(t.dtype(), dims, v.iter().map(|v| floats(*v)).collect())
            }
        }]))
    }))
}

/// A transcendental function.
fn function(node: &NodeRef<'_>, emit: fn(&Emit, &Array) -> Result<Array>) -> Planned {
    node.ignore("consumed_inputs");
    lower(move |cx, x| emit(cx, x.array(0)?))
}

/// MLX gives 0 for NaN; ONNX keeps it.
fn sign(cx: &Emit, a: &Array) -> Result<Array> {
    let sign = cx.sign(a)?;
    if a.dtype().is_float() {
        cx.select(&cx.isnan(a)?, a, &sign)
    } else {
        Ok(sign)
    }
}

fn is_inf(node: &NodeRef<'_>) -> Planned {
    let positive = node.flag("detect_positive", true)?;
    let negative = node.flag("detect_negative", true)?;
    let emit: fn(&Emit, &Array) -> Result<Array> = match (positive, negative) {
        (true, true) => Emit::isinf,
        (true, false) => Emit::isposinf,
        (false, true) => Emit::isneginf,
        (false, false) => return Err(Reject::Attribute("detect_positive".into())),
    };
    lower(move |cx, x| emit(cx, x.array(0)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::{Case, f32s, floats, ints};

    fn run(op: &str, opset: u32, values: &[f32]) -> Vec<f64> {
        Case::new(op, opset)
            .input(f32s(&[values.len()], values))
            .run()[0]
            .floats()
    }

    #[test]
    fn rounding_is_half_to_even() {
        assert_eq!(
            run("Round", 11, &[0.5, 1.5, -0.5, -2.5]),
            [0.0, 2.0, -0.0, -2.0]
        );
        assert_eq!(run("Floor", 13, &[-1.5, 1.5]), [-2.0, 1.0]);
        assert_eq!(run("Ceil", 13, &[-1.5, 1.5]), [-1.0, 2.0]);
    }

    #[test]
    fn sign_keeps_nan() {
        let found = run("Sign", 13, &[-2.0, 0.0, 3.0, f32::NAN]);
        assert_eq!(found[..3], [-1.0, 0.0, 1.0]);
        assert!(found[3].is_nan());
    }

    #[test]
    fn integers_stay_exact_on_host_and_device() {
        for constant in [false, true] {
            let t = ints(DType::I64, &[2], &[i64::MIN + 1, -(1 << 53) - 1]);
            let out = Case::new("Abs", 13).given(constant, t).run();
            assert_eq!(out[0].ints(), [i64::MAX, (1 << 53) + 1]);
            let t = ints(DType::I8, &[1], &[-128]);
            assert_eq!(
                Case::new("Neg", 13).given(constant, t).run()[0].ints(),
                [-128]
            );
        }
    }

    #[test]
    fn functions_agree_with_float64() {
        let values: Vec<f32> = (-40i16..=40).map(|i| f32::from(i) / 10.0).collect();
        type Function = fn(f64) -> f64;
        let cases: [(&str, u32, Function); 8] = [
            ("Exp", 13, f64::exp),
            ("Sin", 7, f64::sin),
            ("Cos", 7, f64::cos),
            ("Atan", 7, f64::atan),
            ("Sinh", 9, f64::sinh),
            ("Cosh", 9, f64::cosh),
            ("Asinh", 9, f64::asinh),
            ("Tanh", 13, f64::tanh),
        ];
        for (op, opset, f) in cases {
            let expected: Vec<f64> = values.iter().map(|v| f(f64::from(*v))).collect();
            let out = Case::new(op, opset)
                .input(f32s(&[values.len()], &values))
                .run();
            out[0].assert_close(&[81], &expected, 2e-6);
        }
    }

    #[test]
    fn infinities_by_sign() {
        let values = [f32::INFINITY, f32::NEG_INFINITY, 1.0, f32::NAN];
        let run = |positive, negative| {
            let case = Case::new("IsInf", 20)
                .int("detect_positive", positive)
                .int("detect_negative", negative);
            case.input(f32s(&[4], &values)).output(DType::Bool).run()[0].ints()
        };
        assert_eq!(run(1, 1), [1, 1, 0, 0]);
        assert_eq!(run(1, 0), [1, 0, 0, 0]);
        assert_eq!(run(0, 1), [0, 1, 0, 0]);
    }

    #[test]
    fn double_is_taken_only_where_it_is_exact() {
        let t = || floats(DType::F64, &[1], &[2.0]);
        let out = Case::new("Sqrt", 13).input(t()).run();
        assert_eq!(out[0].floats(), [2f64.sqrt()]);
        let found = Case::new("Exp", 13).input(t()).reject();
        assert_eq!(
            found,
            Reject::Type {
                input: 0,
                found: Some(DType::F64)
            }
        );
    }

    #[test]
    fn old_forms_and_empty_tensors() {
        let case = Case::new("Abs", 1).ints("consumed_inputs", &[0]);
        assert_eq!(case.input(f32s(&[], &[-3.0])).run()[0].floats(), [3.0]);
        let out = Case::new("Tanh", 13).input(f32s(&[0, 2], &[])).run();
        assert_eq!(out[0].dims(), [0, 2]);
    }
}
