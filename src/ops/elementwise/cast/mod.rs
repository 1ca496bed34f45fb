//! Cast and `CastLike`.
//!
//! A float outside the range of an integer type has no defined result. MLX's devices differ there; the result here
//! is the same on each: what wraps is kept, what does not fit the widest conversion becomes its smallest value.
mod stored;
mod to_float;

use crate::device::{Array, DType, Emit, Types};
use crate::error::Result;
use crate::ops::{HostData, HostTensor, NodeRef, OpDef, Planned, Reject, lower, op};

pub(in crate::ops) const OPS: &[OpDef] = &[
    op!("Cast", 1..=5, [ANY], |node| {
        let name = node.string_or("to", "")?.to_ascii_lowercase();
        let to = DType::ALL.iter().copied().find(|t| t.name() == name);
        cast_to(node, to, Rule::default())
    }),
    op!("Cast", 6..=18, [ANY], |node| {
        cast_to(node, target(node)?, Rule::default())
    }),
    op!("Cast", 19.., [ALL], |node| {
        cast_to(node, target(node)?, Rule::of(node)?)
    }),
    op!("CastLike", 15.., [ALL, ALL], |node| {
        cast_to(node, node.dtype(1).ok(), Rule::of(node)?)
    }),
];

fn target(node: &NodeRef<'_>) -> Result<Option<DType>, Reject> {
    let code = node.int("to")?.and_then(|code| i32::try_from(code).ok());
    Ok(code.and_then(DType::from_onnx))
}

/// How a float8e8m0, which is a power of two, is chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::ops) enum Rounding {
    /// Away from zero.
    Up,
    /// Toward zero.
    Down,
    /// To the nearest one, ties away from zero.
    Nearest,
}

/// What becomes of numbers that a small float cannot hold.
#[derive(Debug, Clone, Copy)]
pub(in crate::ops) struct Rule {
    /// Whether a float8 beyond the largest number becomes that.
    pub(in crate::ops) saturate: bool,
    /// For float8e8m0.
    pub(in crate::ops) rounding: Rounding,
}

impl Default for Rule {
    fn default() -> Self {
        Self {
            saturate: true,
            rounding: Rounding::Up,
        }
    }
}

impl Rule {
    fn of(node: &NodeRef<'_>) -> Result<Self, Reject> {
        let rounding = match node.string_or("round_mode", "up")? {
            "up" => Rounding::Up,
            "down" => Rounding::Down,
            "nearest" => Rounding::Nearest,
            _ => return node.bad_attribute("round_mode"),
        };
        let saturate = node.flag("saturate", true)?;
        Ok(Self { saturate, rounding })
    }
}

fn cast_to(node: &NodeRef<'_>, target: Option<DType>, rule: Rule) -> Planned {
    let Some(to) = target.filter(|t| Types::ALL.contains(t.set())) else {
        return node.bad_attribute("to");
    };
    let from = node.dtype(0)?;
    let plan = lower(move |cx, x| convert(cx, x.array(0)?, from, to, rule))?;
    if to != to.storage() {
        return Ok(plan);
    }
    Ok(plan.or_host(move |h| Ok(h.first().copied().flatten().map(|t| vec![on_host(t, to)]))))
}

/// `a`, which holds elements of type `from`, as elements of type `to`; both are any types that a program can hold.
pub(in crate::ops) fn convert(
    cx: &Emit,
    a: &Array,
    from: DType,
    to: DType,
    rule: Rule,
) -> Result<Array> {
    if from == to {
        Ok(a.clone())
    } else if stored::is_coded(from) {
        stored::decode(cx, a, from, to, rule)
    } else if to == to.storage() {
        cast(cx, a, to)
    } else {
        stored::encode(cx, a, to, rule)
    }
}

/// `a` with elements of type `to`, both types of MLX.
pub(in crate::ops) fn cast(cx: &Emit, a: &Array, to: DType) -> Result<Array> {
    let from = a.dtype();
    if from == to {
        return Ok(a.clone());
    }
    if to == DType::Bool {
        // NaN is true.
        return cx.not_equal(a, &cx.scalar(0.0, from)?);
    }
    match (from, to) {
        // By way of float it would be rounded twice.
        (DType::F64, DType::F16 | DType::BF16) => cx.astype(&to_float::inexact(cx, a)?, to),
        _ if !from.is_float() || to.is_float() => cx.astype(a, to),
        (DType::F16 | DType::BF16, _) => to_int(cx, &cx.astype(a, DType::F32)?, to),
        _ => to_int(cx, a, to),
    }
}

/// 2^63.
const TWO_63: f64 = 9_223_372_036_854_775_808.0;
/// 2^31.
const TWO_31: f64 = 2_147_483_648.0;

/// The integer type that a float is converted to before it is wrapped to `to`, and the end of its range.
fn widest(to: DType) -> (DType, f64) {
    match to {
        DType::I64 | DType::U64 | DType::U32 => (DType::I64, TWO_63),
        _ => (DType::I32, TWO_31),
    }
}

fn to_int(cx: &Emit, a: &Array, to: DType) -> Result<Array> {
    let (wide, end) = widest(to);
    let constant = |v| cx.float(v, a.dtype());
    let low = constant(-end)?;
    let fits = |low: &Array, high: f64| {
        cx.logical_and(&cx.greater_equal(a, low)?, &cx.less(a, &constant(high)?)?)
    };
    // NaN fits nowhere.
    let inside = cx.select(&fits(&low, end)?, a, &low)?;
    let wrapped = cx.astype(&cx.astype(&inside, wide)?, to)?;
    if to != DType::U64 {
        return Ok(wrapped);
    }
    let upper = constant(TWO_63)?;
    let large = cx.select(&fits(&upper, 2.0 * TWO_63)?, a, &constant(0.0)?)?;
    let is_large = cx.greater_equal(a, &upper)?;
    cx.select(&is_large, &cx.astype(&large, to)?, &wrapped)
}

fn on_host(t: &HostTensor, to: DType) -> HostTensor {
    let dims = t.dims().to_vec();
    match t.data() {
        HostData::Float(v) if to.is_float() => HostTensor::floats(to, dims, v.clone()),
        HostData::Float(v) => {
            HostTensor::ints(to, dims, v.iter().map(|v| float_to_int(*v, to)).collect())
        }
        HostData::Int(v) if to.is_float() => {
            let unsigned = t.dtype() == DType::U64;
            let data = v.iter().map(|v| int_to_float(*v, unsigned, to)).collect();
            HostTensor::floats(to, dims, data)
        }
        HostData::Int(v) => HostTensor::ints(to, dims, v.clone()),
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "the float value of an integer is its nearest float"
)]
fn int_to_float(v: i64, unsigned: bool, to: DType) -> f64 {
    match (unsigned, to == DType::F64) {
        (true, true) => v.cast_unsigned() as f64,
        (true, false) => f64::from(v.cast_unsigned() as f32),
        (false, true) => v as f64,
        (false, false) => f64::from(v as f32),
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the ranges are checked, and fractions are to be cut off"
)]
fn float_to_int(v: f64, to: DType) -> i64 {
    let (wide, end) = widest(to);
    if to == DType::Bool {
        i64::from(v != 0.0)
    } else if to == DType::U64 && v >= TWO_63 {
        if v < 2.0 * TWO_63 {
            (v as u64).cast_signed()
        } else {
            0
        }
    } else if v >= -end && v < end {
        v as i64
    } else if wide == DType::I64 {
        i64::MIN
    } else {
        i32::MIN.into()
    }
}

#[cfg(test)]
mod tests;
