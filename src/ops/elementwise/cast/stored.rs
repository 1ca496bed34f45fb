//! Casts from and to the types that MLX lacks.
//!
//! Codes are looked up in a table of all 256. Numbers are brought to float first, which changes nothing: what is not
//! exact there is rounded to odd, and integers that are not are beyond every type here but float8e8m0, for which ONNX
//! starts from float.
use super::{Rounding, Rule, on_host, to_float};
use crate::device::float::{E8M0_NAN, Format, e8m0_to_f64};
use crate::device::{Array, DType, Emit, Types};
use crate::error::Result;
use crate::ops::HostTensor;

/// Whether arrays hold the codes of this type, not its values.
pub(super) fn is_coded(dtype: DType) -> bool {
    Types::STORED.contains(dtype.set()) && !Types::SMALL_INT.contains(dtype.set())
}

/// Values of a type that [`is_coded`], as elements of `to`.
pub(super) fn decode(
    cx: &Emit,
    codes: &Array,
    from: DType,
    to: DType,
    rule: Rule,
) -> Result<Array> {
    let value = |code: u8| match from.format() {
        Some(format) => format.read(code.into()),
        None => e8m0_to_f64(code),
    };
    let values = (0..=u8::MAX).map(value).collect();
    let values = HostTensor::floats(DType::F64, vec![256], values);
    // Float holds each value exactly.
    let held = if to == to.storage() { to } else { DType::F32 };
    let table = cx.array_from_bytes(held, &[256], &on_host(&values, held).to_bytes())?;
    let table = if held == to {
        table
    } else {
        encode(cx, &table, to, rule)?
    };
    cx.take(&table, codes, 0)
}

/// Numbers of a type of MLX as elements of `to`, which MLX lacks.
pub(super) fn encode(cx: &Emit, a: &Array, to: DType, rule: Rule) -> Result<Array> {
    if Types::SMALL_INT.contains(to.set()) {
        return small_int(cx, a, to);
    }
    let float = match a.dtype() {
        DType::F64 => to_float::inexact(cx, a)?,
        _ => cx.astype(a, DType::F32)?,
    };
    let bits = Bits::of(cx, &float)?;
    match to.format() {
        Some(format) => bits.to_format(&float, format, rule.saturate),
        None => bits.to_e8m0(rule),
    }
}

/// Integers keep their lowest bits. Of a float, what is out of range has no defined result; it becomes 0, as in ONNX's
/// reference.
fn small_int(cx: &Emit, a: &Array, to: DType) -> Result<Array> {
    if !a.dtype().is_float() {
        return cx.low_bits(a, to);
    }
    let constant = |v: i32| cx.float(v.into(), a.dtype());
    let below = if to.storage() == DType::I8 {
        -(1 << (to.bits() - 1)) - 1
    } else {
        -1
    };
    let above = below + 1 + (1 << to.bits());
    let low = cx.greater(a, &constant(below)?)?;
    let inside = cx.logical_and(&low, &cx.less(a, &constant(above)?)?)?;
    let kept = cx.select(&inside, a, &constant(0)?)?;
    cx.low_bits(&cx.astype(&kept, DType::I8)?, to)
}

/// The bits of floats: their magnitudes and signs.
struct Bits<'a> {
    cx: &'a Emit,
    magnitude: Array,
    sign: Array,
}

const INFINITY: i64 = 0x7f80_0000;
const FRACTION_BITS: u32 = 23;
const BIAS: i32 = 127;

impl<'a> Bits<'a> {
    fn of(cx: &'a Emit, a: &Array) -> Result<Self> {
        let bits = cx.view(a, DType::U32)?;
        let magnitude = cx.bitwise_and(&bits, &cx.int(0x7fff_ffff, DType::U32)?)?;
        let sign = cx.right_shift(&bits, &cx.int(31, DType::U32)?)?;
        Ok(Self {
            cx,
            magnitude,
            sign,
        })
    }

    fn int(&self, v: impl Into<i64>) -> Result<Array> {
        self.cx.int(v.into(), DType::U32)
    }

    /// `code`, but `otherwise` where `condition` holds.
    fn unless(&self, condition: &Array, code: &Array, otherwise: impl Into<i64>) -> Result<Array> {
        self.cx.select(condition, &self.int(otherwise)?, code)
    }

    fn is_nan(&self) -> Result<Array> {
        self.cx.greater(&self.magnitude, &self.int(INFINITY)?)
    }

    /// Codes of a format, rounded to the nearest, ties to even.
    fn to_format(&self, a: &Array, format: &Format, saturate: bool) -> Result<Array> {
        let cx = self.cx;
        let cut = FRACTION_BITS - format.fraction_bits;
        let last = cx.bitwise_and(
            &cx.right_shift(&self.magnitude, &self.int(cut)?)?,
            &self.int(1)?,
        )?;
        let half = self.int((1i64 << (cut - 1)) - 1)?;
        let rounded = cx.add(&self.magnitude, &cx.add(&half, &last)?)?;
        let offset = i64::from(BIAS - format.bias) << format.fraction_bits;
        let normal = cx.subtract(
            &cx.right_shift(&rounded, &self.int(cut)?)?,
            &self.int(offset)?,
        )?;
        // Below the smallest normal number codes count its fractions.
        let smallest = f64::from(1 - format.bias).exp2();
        let float = |v| cx.float(v, DType::F32);
        let low = cx.minimum(&cx.abs(a)?, &float(smallest)?)?;
        let units = f64::from(1u16 << format.fraction_bits) / smallest;
        let fractions = cx.round(&cx.multiply(&low, &float(units)?)?)?;
        let limit = self.int(i64::from(BIAS + 1 - format.bias) << FRACTION_BITS)?;
        let is_low = cx.less(&self.magnitude, &limit)?;
        let code = cx.select(&is_low, &cx.astype(&fractions, DType::U32)?, &normal)?;

        let end = if saturate {
            format.largest
        } else {
            format.overflow
        };
        let beyond = cx.greater(&code, &self.int(format.largest)?)?;
        let code = self.unless(&beyond, &code, end)?;
        let code = self.unless(&self.is_nan()?, &code, format.nan)?;
        let signed = cx.bitwise_or(&code, &cx.multiply(&self.sign, &self.int(format.sign())?)?)?;
        let signed = if format.negative_zero {
            signed
        } else {
            self.unless(&cx.equal(&code, &self.int(0)?)?, &signed, 0)?
        };
        cx.astype(&signed, DType::U8)
    }

    /// Exponents of magnitudes, as float8e8m0.
    fn to_e8m0(&self, rule: Rule) -> Result<Array> {
        let cx = self.cx;
        // What is added to the fraction carries into the exponent where it is to be rounded up.
        let carry: i64 = match rule.rounding {
            Rounding::Up => 0x7f_ffff,
            Rounding::Down => 0,
            Rounding::Nearest => 0x40_0000,
        };
        // Code 0 stands for the power of two that is the upper half of float's subnormal numbers.
        let subnormal = cx.less(&self.magnitude, &self.int(0x80_0000)?)?;
        let carry = self.unless(&subnormal, &self.int(carry)?, carry >> 1)?;
        let sum = cx.add(&self.magnitude, &carry)?;
        let code = cx.right_shift(&sum, &self.int(FRACTION_BITS)?)?;
        let (lowest, highest) = if rule.saturate {
            (0, E8M0_NAN - 1)
        } else {
            (E8M0_NAN, E8M0_NAN)
        };
        let beyond = cx.greater_equal(&code, &self.int(E8M0_NAN)?)?;
        let code = self.unless(&beyond, &code, highest)?;
        let below = cx.less(&self.magnitude, &self.int(0x40_0000)?)?;
        let code = self.unless(&below, &code, lowest)?;
        let code = self.unless(&self.is_nan()?, &code, E8M0_NAN)?;
        cx.astype(&code, DType::U8)
    }
}
