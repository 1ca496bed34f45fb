//! The activation functions of recurrent layers.
use crate::device::{Array, Emit};
use crate::error::Result;
use crate::ops::elementwise::activation::{exponential, hard_sigmoid, prelu, softplus, softsign};
use crate::ops::{NodeRef, Reject};

/// A function with its parameters.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Activation {
    Relu,
    Tanh,
    Sigmoid,
    Affine { alpha: f64, beta: f64 },
    LeakyRelu { alpha: f64 },
    ThresholdedRelu { alpha: f64 },
    ScaledTanh { alpha: f64, beta: f64 },
    HardSigmoid { alpha: f64, beta: f64 },
    Elu { alpha: f64 },
    Softsign,
    Softplus,
}

/// The functions of each direction. Parameters are listed for those functions only that have them; what is not
/// listed is as the operator of the same name has it.
pub(super) fn read(
    node: &NodeRef<'_>,
    directions: usize,
    defaults: &[&str],
) -> Result<Vec<Vec<Activation>>, Reject> {
    const NAME: &str = "activations";
    let names = match node.strings(NAME)? {
        Some(names) if !names.is_empty() => names,
        _ => defaults.repeat(directions),
    };
    // One direction's worth serves both. More than needed is what the schema of RNN has as its default.
    let needed = defaults.len() * directions;
    let names = match names.len() {
        n if n >= needed => names[..needed].to_vec(),
        n if n == defaults.len() => names.repeat(directions),
        _ => return node.bad_attribute(NAME),
    };
    let mut alphas = node.floats("activation_alpha")?.unwrap_or_default().iter();
    let mut betas = node.floats("activation_beta")?.unwrap_or_default().iter();
    let mut alpha = |default| alphas.next().copied().map_or(default, f64::from);
    let mut beta = |default| betas.next().copied().map_or(default, f64::from);
    let mut all = Vec::with_capacity(names.len());
    for name in names {
        all.push(match name.to_ascii_lowercase().as_str() {
            "relu" => Activation::Relu,
            "tanh" => Activation::Tanh,
            "sigmoid" => Activation::Sigmoid,
            "affine" => Activation::Affine {
                alpha: alpha(1.0),
                beta: beta(0.0),
            },
            "leakyrelu" => Activation::LeakyRelu { alpha: alpha(0.01) },
            "thresholdedrelu" => Activation::ThresholdedRelu { alpha: alpha(1.0) },
            "scaledtanh" => Activation::ScaledTanh {
                alpha: alpha(1.0),
                beta: beta(1.0),
            },
            "hardsigmoid" => Activation::HardSigmoid {
                alpha: alpha(0.2),
                beta: beta(0.5),
            },
            "elu" => Activation::Elu { alpha: alpha(1.0) },
            "softsign" => Activation::Softsign,
            "softplus" => Activation::Softplus,
            _ => return node.bad_attribute(NAME),
        });
    }
    Ok(all.chunks(defaults.len()).map(<[_]>::to_vec).collect())
}

impl Activation {
    pub(super) fn apply(self, cx: &Emit, a: &Array) -> Result<Array> {
        let constant = |v| cx.scalar(v, a.dtype());
        match self {
            Self::Relu => cx.maximum(a, &constant(0.0)?),
            Self::Tanh => cx.tanh(a),
            Self::Sigmoid => cx.sigmoid(a),
            Self::Affine { alpha, beta } => {
                cx.add(&cx.multiply(a, &constant(alpha)?)?, &constant(beta)?)
            }
            Self::LeakyRelu { alpha } => prelu(cx, a, &constant(alpha)?),
            Self::ThresholdedRelu { alpha } => {
                let kept = cx.greater_equal(a, &constant(alpha)?)?;
                cx.select(&kept, a, &constant(0.0)?)
            }
            Self::ScaledTanh { alpha, beta } => {
                let inner = cx.tanh(&cx.multiply(a, &constant(beta)?)?)?;
                cx.multiply(&inner, &constant(alpha)?)
            }
            Self::HardSigmoid { alpha, beta } => hard_sigmoid(cx, a, alpha, beta),
            Self::Elu { alpha } => exponential(cx, a, 1.0, alpha, 1.0),
            Self::Softsign => softsign(cx, a),
            Self::Softplus => softplus(cx, a),
        }
    }
}
