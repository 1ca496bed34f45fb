//! Activation functions. 16-bit types are computed in float32 and rounded once.
use super::arith::align;
use crate::device::{Array, DType, Emit};
use crate::error::Result;
use crate::ops::{NodeRef, OpDef, Planned, lower, op};

pub(in crate::ops) const OPS: &[OpDef] = &[
    op!("Sigmoid", 1.., [FLOAT], |node| {
        node.ignore("consumed_inputs");
        wide(|cx, a| cx.sigmoid(a))
    }),
    op!("Relu", 1..=13, [FLOAT64], relu),
    op!("Relu", 14.., [NUMERIC], relu),
    op!("LeakyRelu", 1.., [FLOAT64], leaky_relu),
    op!("PRelu", 7.., [NUMERIC], |_| lower(|cx, x| prelu(
        cx,
        x.array(0)?,
        x.array(1)?
    ))),
    op!("PRelu", 1..=6, [FLOAT64], |node| {
        node.ignore("consumed_inputs");
        lower(|cx, x| {
            let (a, slope) = (x.array(0)?, x.array(1)?);
            if slope.size() == 1 {
                return prelu(cx, a, &cx.reshape(slope, &[])?);
            }
            // One slope per channel.
            prelu(cx, a, &align(cx, a, slope, 1)?)
        })
    }),
    op!("Elu", 1.., [FLOAT], |node| {
        node.ignore("consumed_inputs");
        let alpha = node.float_or("alpha", 1.0)?;
        wide(move |cx, a| exponential(cx, a, 1.0, alpha.into(), 1.0))
    }),
    op!("Selu", 1..=5, [FLOAT], |node| {
        node.ignore("consumed_inputs");
        selu(node, 1.6732, 1.0507)
    }),
    op!("Selu", 6.., [FLOAT], |node| {
        selu(node, 1.673_263_2, 1.050_701)
    }),
    op!("Celu", 12.., [FLOAT], |node| {
        let alpha = f64::from(node.float_or("alpha", 1.0)?);
        wide(move |cx, a| exponential(cx, a, 1.0, alpha, 1.0 / alpha))
    }),
    op!("Gelu", 20.., [FLOAT], gelu),
    op!("HardSigmoid", 1.., [FLOAT64], |node| {
        node.ignore("consumed_inputs");
        let (alpha, beta) = (node.float_or("alpha", 0.2)?, node.float_or("beta", 0.5)?);
        wide(move |cx, a| hard_sigmoid(cx, a, alpha.into(), beta.into()))
    }),
    op!("HardSwish", 14.., [FLOAT64], |_| wide(|cx, a| {
        cx.multiply(a, &hard_sigmoid(cx, a, 1.0 / 6.0, 0.5)?)
    })),
    op!("Softplus", 1.., [FLOAT], |_| wide(softplus)),
    op!("Softsign", 1.., [FLOAT64], |_| wide(softsign)),
    op!("Mish", 18.., [FLOAT], |_| wide(|cx, a| {
        cx.multiply(a, &cx.tanh(&softplus(cx, a)?)?)
    })),
    op!("Swish", 24.., [FLOAT], |node| {
        let alpha = node.float_or("alpha", 1.0)?;
        wide(move |cx, a| {
            let scaled = cx.multiply(a, &cx.scalar(alpha.into(), a.dtype())?)?;
            cx.multiply(a, &cx.sigmoid(&scaled)?)
        })
    }),
    op!("ThresholdedRelu", 10.., [FLOAT64], |node| {
        let alpha = node.float_or("alpha", 1.0)?;
        lower(move |cx, x| {
            let a = x.array(0)?;
            let threshold = cx.scalar(alpha.into(), a.dtype())?;
            cx.select(&cx.greater(a, &threshold)?, a, &cx.scalar(0.0, a.dtype())?)
        })
    }),
    op!("Shrink", 9.., [FLOAT64], shrink),
];

/// A function that is computed in float32 for 16-bit types.
fn wide(f: impl Fn(&Emit, &Array) -> Result<Array> + Send + Sync + 'static) -> Planned {
    lower(move |cx, x| in_float32(cx, x.array(0)?, &f))
}

/// Applies `f` in float32 if the array is of a 16-bit type.
pub(in crate::ops) fn in_float32(
    cx: &Emit,
    a: &Array,
    f: impl Fn(&Emit, &Array) -> Result<Array>,
) -> Result<Array> {
    match a.dtype() {
        DType::F16 | DType::BF16 => cx.astype(&f(cx, &cx.astype(a, DType::F32)?)?, a.dtype()),
        _ => f(cx, a),
    }
}

fn relu(node: &NodeRef<'_>) -> Planned {
    node.ignore("consumed_inputs");
    lower(|cx, x| {
        let a = x.array(0)?;
        cx.maximum(a, &cx.scalar(0.0, a.dtype())?)
    })
}

fn leaky_relu(node: &NodeRef<'_>) -> Planned {
    node.ignore("consumed_inputs");
    let alpha = node.float_or("alpha", 0.01)?;
    wide(move |cx, a| prelu(cx, a, &cx.scalar(alpha.into(), a.dtype())?))
}

pub(in crate::ops) fn prelu(cx: &Emit, a: &Array, slope: &Array) -> Result<Array> {
    let negative = cx.less(a, &cx.scalar(0.0, a.dtype())?)?;
    cx.select(&negative, &cx.multiply(a, slope)?, a)
}

fn selu(node: &NodeRef<'_>, alpha: f32, gamma: f32) -> Planned {
    let (alpha, gamma) = (
        node.float_or("alpha", alpha)?,
        node.float_or("gamma", gamma)?,
    );
    wide(move |cx, a| exponential(cx, a, gamma.into(), alpha.into(), 1.0))
}

/// `gamma * x` where x is positive, else `gamma * alpha * (exp(x * rate) - 1)`.
pub(in crate::ops) fn exponential(
    cx: &Emit,
    a: &Array,
    gamma: f64,
    alpha: f64,
    rate: f64,
) -> Result<Array> {
    let constant = |v| cx.scalar(v, a.dtype());
    let zero = constant(0.0)?;
    // Only what is not positive goes into the exponential: it must not overflow beside the branch that is taken.
    let low = cx.multiply(&cx.minimum(a, &zero)?, &constant(rate)?)?;
    let bent = cx.multiply(&cx.expm1(&low)?, &constant(gamma * alpha)?)?;
    let straight = cx.multiply(a, &constant(gamma)?)?;
    cx.select(&cx.greater(a, &zero)?, &straight, &bent)
}

pub(in crate::ops) fn hard_sigmoid(cx: &Emit, a: &Array, alpha: f64, beta: f64) -> Result<Array> {
    let constant = |v| cx.scalar(v, a.dtype());
    let line = cx.add(&cx.multiply(a, &constant(alpha)?)?, &constant(beta)?)?;
    cx.maximum(&cx.minimum(&line, &constant(1.0)?)?, &constant(0.0)?)
}

/// log(1 + exp(x)), without overflow.
pub(in crate::ops) fn softplus(cx: &Emit, a: &Array) -> Result<Array> {
    cx.logaddexp(a, &cx.scalar(0.0, a.dtype())?)
}

pub(in crate::ops) fn softsign(cx: &Emit, a: &Array) -> Result<Array> {
    let one = cx.scalar(1.0, a.dtype())?;
    cx.divide(a, &cx.add(&one, &cx.abs(a)?)?)
}

fn gelu(node: &NodeRef<'_>) -> Planned {
    match node.string_or("approximate", "none")? {
        "none" => wide(|cx, a| {
            let constant = |v| cx.scalar(v, a.dtype());
            let half = cx.multiply(a, &constant(0.5)?)?;
            let scaled = cx.multiply(a, &constant(0.5f64.sqrt())?)?;
            let erf = cx.erf(&scaled)?;
            cx.multiply(&half, &cx.add(&erf, &constant(1.0)?)?)
        }),
        "tanh" => wide(|cx, a| {
            let constant = |v| cx.scalar(v, a.dtype());
            let cube = cx.multiply(&cx.square(a)?, a)?;
            let inner = cx.add(a, &cx.multiply(&cube, &constant(0.044_715)?)?)?;
            let scaled = cx.multiply(&inner, &constant((2.0 / std::f64::consts::PI).sqrt())?)?;
            let half = cx.multiply(a, &constant(0.5)?)?;
            cx.multiply(&half, &cx.add(&cx.tanh(&scaled)?, &constant(1.0)?)?)
        }),
        _ => node.bad_attribute("approximate"),
    }
}

/// Moves values toward zero by `bias`, and those within `lambd` to zero.
fn shrink(node: &NodeRef<'_>) -> Planned {
    let (bias, limit) = (node.float_or("bias", 0.0)?, node.float_or("lambd", 0.5)?);
    lower(move |cx, x| {
        let a = x.array(0)?;
        let constant = |v: f32| cx.scalar(v.into(), a.dtype());
        let (bias, zero) = (constant(bias)?, constant(0.0)?);
        let low = cx.less(a, &constant(-limit)?)?;
        let high = cx.greater(a, &constant(limit)?)?;
        let upper = cx.select(&high, &cx.subtract(a, &bias)?, &zero)?;
        cx.select(&low, &cx.add(a, &bias)?, &upper)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::Reject;
    use crate::ops::testing::{Case, f32s, floats, ints};

    const X: [f32; 6] = [-3.0, -0.5, 0.0, 0.5, 3.0, 100.0];

    #[track_caller]
    fn check(case: Case, f: impl Fn(f64) -> f64) {
        let expected: Vec<f64> = X.iter().map(|v| f(f64::from(*v))).collect();
        case.input(f32s(&[6], &X)).run()[0].assert_close(&[6], &expected, 2e-6);
    }

    #[test]
    fn values_follow_the_definitions() {
        check(Case::new("Sigmoid", 13), |v| 1.0 / (1.0 + (-v).exp()));
        check(Case::new("Relu", 14), |v| v.max(0.0));
        check(Case::new("LeakyRelu", 16).float("alpha", 0.1), |v| {
            if v < 0.0 { 0.1 * v } else { v }
        });
        check(Case::new("Elu", 6).float("alpha", 2.0), |v| {
            if v > 0.0 { v } else { 2.0 * v.exp_m1() }
        });
        check(Case::new("Selu", 6), |v| {
            1.050_701 * if v > 0.0 { v } else { 1.673_263_2 * v.exp_m1() }
        });
        check(Case::new("Celu", 12).float("alpha", 2.0), |v| {
            v.max(0.0) + (2.0 * (v / 2.0).exp_m1()).min(0.0)
        });
        check(Case::new("HardSigmoid", 6), |v| {
            (0.2 * v + 0.5).clamp(0.0, 1.0)
        });
        check(Case::new("HardSwish", 14), |v| {
            v * (v / 6.0 + 0.5).clamp(0.0, 1.0)
        });
        check(Case::new("Softplus", 1), |v| {
            v.max(0.0) + (-v.abs()).exp().ln_1p()
        });
        check(Case::new("Softsign", 1), |v| v / (1.0 + v.abs()));
        check(Case::new("Mish", 18), |v| {
            v * (v.max(0.0) + (-v.abs()).exp().ln_1p()).tanh()
        });
        check(Case::new("ThresholdedRelu", 10).float("alpha", 0.5), |v| {
            if v > 0.5 { v } else { 0.0 }
        });
        check(Case::new("Shrink", 9).float("bias", 0.25), |v| {
            if v < -0.5 {
                v + 0.25
            } else if v > 0.5 {
                v - 0.25
            } else {
                0.0
            }
        });
        check(Case::new("Gelu", 20).string("approximate", "tanh"), |v| {
            0.5 * v
                * (1.0 + ((2.0 / std::f64::consts::PI).sqrt() * (v + 0.044_715 * v * v * v)).tanh())
        });
        check(Case::new("Swish", 24).float("alpha", 2.0), |v| {
            v / (1.0 + (-2.0 * v).exp())
        });
    }

    #[test]
    fn gelu_is_the_error_function_form() {
        let out = Case::new("Gelu", 20)
            .input(f32s(&[3], &[-1.0, 0.0, 1.0]))
            .run();
        out[0].assert_close(&[3], &[-0.158_655_253_9, 0.0, 0.841_344_746_1], 1e-6);
        let case = Case::new("Gelu", 20).string("approximate", "new");
        assert_eq!(
            case.input(f32s(&[1], &[0.0])).reject(),
            Reject::Attribute("approximate".into())
        );
    }

    #[test]
    fn half_types_are_rounded_once() {
        let x = floats(DType::F16, &[2], &[1.0, 6.0]);
        let out = Case::new("Gelu", 20).input(x).run();
        out[0].assert_close(&[2], &[0.841_344_7, 6.0], 5e-4);
    }

    #[test]
    fn relu_of_integers_and_nan() {
        let x = ints(DType::I32, &[2], &[-5, 7]);
        assert_eq!(Case::new("Relu", 14).input(x).run()[0].ints(), [0, 7]);
        let out = Case::new("Relu", 14).input(f32s(&[1], &[f32::NAN])).run();
        assert!(out[0].floats()[0].is_nan());
        let x = ints(DType::I32, &[1], &[1]);
        let found = Case::new("Relu", 13).input(x).reject();
        assert_eq!(
            found,
            Reject::Type {
                input: 0,
                found: Some(DType::I32)
            }
        );
    }

    #[test]
    fn slopes_broadcast() {
        let case = Case::new("PRelu", 16).input(f32s(&[2, 2], &[-1.0, 2.0, -3.0, -4.0]));
        let out = case.input(f32s(&[2], &[0.5, 0.25])).run();
        assert_eq!(out[0].floats(), [-0.5, 2.0, -1.5, -1.0]);
        for (slope, expected) in [
            (f32s(&[2], &[0.5, 0.25]), [-0.5, 2.0, -0.75, -1.0]),
            (f32s(&[1], &[0.5]), [-0.5, 2.0, -1.5, -2.0]),
        ] {
            let case = Case::new("PRelu", 6).input(f32s(&[1, 2, 2], &[-1.0, 2.0, -3.0, -4.0]));
            assert_eq!(case.input(slope).run()[0].floats(), expected);
        }
    }
}
