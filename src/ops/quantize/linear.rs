//! `QuantizeLinear` and `DequantizeLinear`, of ONNX and of ONNX Runtime.
use super::granularity::Granularity;
use super::{INTEGERS, quantized};
use crate::device::{Array, DType, Emit, Types};
use crate::error::{Error, Result};
use crate::ops::elementwise::cast::{Rule, convert};
use crate::ops::{Inputs, NodeRef, OpDef, Planned, Reject, lower, op};

pub(in crate::ops) const OPS: &[OpDef] = &[
    op!("QuantizeLinear", 10.., [NUMERIC, ALL, ALL], quantize),
    op!("DequantizeLinear", 10.., [ALL, ALL, ALL], dequantize),
    op!(MICROSOFT "QuantizeLinear", 1.., [FLOAT, FLOAT, ALL], quantize),
    op!(MICROSOFT "DequantizeLinear", 1.., [ALL, FLOAT, ALL], dequantize),
];

const SCALE: usize = 1;
const ZERO_POINT: usize = 2;

/// Types that scales may have.
const SCALES: Types =
    Types::from_bits_retain(Types::FLOAT.bits() | Types::I32.bits() | Types::F8E8M0.bits());
/// Types that quantised tensors may have; int32 can be dequantised only.
const QUANTIZED: Types =
    Types::from_bits_retain(INTEGERS.bits() | Types::FLOAT8.bits() | Types::F4E2M1.bits());

/// An attribute that names an element type; 0 says nothing.
fn optional_type(node: &NodeRef<'_>, name: &str, allowed: Types) -> Result<Option<DType>, Reject> {
    match node.int_or(name, 0)? {
        0 => Ok(None),
        _ => node.element_type(name, allowed),
    }
}

fn expect_type(node: &NodeRef<'_>, input: usize, allowed: Types) -> Result<DType, Reject> {
    let dtype = node.dtype(input)?;
    if allowed.contains(dtype.set()) {
        Ok(dtype)
    } else {
        Err(Reject::Type {
            input,
            found: Some(dtype),
        })
    }
}

/// `y = saturate(x / scale + zero_point)`; the division is made in the type of the scale, unless an attribute names another.
fn quantize(node: &NodeRef<'_>) -> Planned {
    let granularity = Granularity::of(node)?;
    let input = expect_type(node, 0, Types::FLOAT | Types::I32)?;
    let scale = expect_type(node, SCALE, SCALES)?;
    let saturate = node.flag("saturate", true)?;
    let named = optional_type(node, "output_dtype", QUANTIZED)?;
    let zero_point = if node.has_input(ZERO_POINT) {
        Some(expect_type(node, ZERO_POINT, QUANTIZED)?)
    } else {
        None
    };
    if named.is_some() && zero_point.is_some() && named != zero_point {
        return node.bad_attribute("output_dtype");
    }
    let to = zero_point.or(named).unwrap_or(DType::U8);
    let precision = match optional_type(node, "precision", Types::FLOAT)? {
        Some(precision) => precision,
        None if scale.is_float() => scale,
        None => DType::F32,
    };
    lower(move |cx, x| {
        let dims = x.dims(0)?;
        let scales = granularity.spread(cx, x.array(SCALE)?, "the scale", dims)?;
        let scales = convert(cx, &scales, scale, precision, Rule::default())?;
        let number = convert(cx, x.array(0)?, input, precision, Rule::default())?;
        let ratio = cx.divide(&number, &scales)?;
        let zero_point = spread_zero_point(cx, x, &granularity, to, DType::F32)?;
        quantized(cx, &ratio, zero_point.as_ref(), to, saturate)
    })
}

/// `y = (x - zero_point) * scale`, computed in float32 and rounded once to the type of the output.
fn dequantize(node: &NodeRef<'_>) -> Planned {
    let granularity = Granularity::of(node)?;
    let from = expect_type(node, 0, QUANTIZED | Types::I32)?;
    let scale = expect_type(node, SCALE, Types::FLOAT | Types::F8E8M0)?;
    if node.has_input(ZERO_POINT) {
        expect_type(node, ZERO_POINT, from.set())?;
    }
    let to = match optional_type(node, "output_dtype", Types::FLOAT)? {
        Some(to) => to,
        None if scale.is_float() => scale,
        None => node
            .output_dtype(0)
            .ok_or(Reject::Attribute("output_dtype".into()))?,
    };
    if !to.is_float() {
        return node.bad_attribute("output_dtype");
    }
    // Differences of integers are exact.
    let difference = if QUANTIZED.contains(from.set()) && !INTEGERS.contains(from.set()) {
        DType::F32
    } else {
        DType::I32
    };
    lower(move |cx, x| {
        let dims = x.dims(0)?;
        let scales = granularity.spread(cx, x.array(SCALE)?, "the scale", dims)?;
        let scales = convert(cx, &scales, scale, DType::F32, Rule::default())?;
        let mut number = convert(cx, x.array(0)?, from, difference, Rule::default())?;
        if let Some(zero_point) = spread_zero_point(cx, x, &granularity, from, difference)? {
            number = cx.subtract(&number, &zero_point)?;
        }
        let product = cx.multiply(&cx.astype(&number, DType::F32)?, &scales)?;
        cx.astype(&product, to)
    })
}

/// The zero points, of type `from`, as numbers of `to` that broadcast to the tensor.
fn spread_zero_point(
    cx: &Emit,
    x: &Inputs<'_>,
    granularity: &Granularity,
    from: DType,
    to: DType,
) -> Result<Option<Array>> {
    let Some(zero_point) = x.optional(ZERO_POINT)? else {
        return Ok(None);
    };
    if zero_point.dims() != x.dims(SCALE)? && zero_point.size() != 1 {
        return Err(Error::invalid(format!(
            "the zero point has shape {:?}, the scale {:?}",
            zero_point.dims(),
            x.dims(SCALE)?
        )));
    }
    let spread = if zero_point.size() == 1 {
        cx.reshape(zero_point, &[])?
    } else {
        granularity.spread(cx, zero_point, "the zero point", x.dims(0)?)?
    };
    convert(cx, &spread, from, to, Rule::default()).map(Some)
}

#[cfg(test)]
mod tests;
