//! Pow and Mod.
use super::arith::{align, safe_divisor};
use crate::device::{Array, DType, Emit};
use crate::error::Result;
use crate::ops::{NodeRef, OpDef, Planned, Reject, lower, op};

pub(in crate::ops) const OPS: &[OpDef] = &[
    op!("Pow", 7.., [NUMERIC], pow),
    op!("Pow", 1..=6, [FLOAT64], pow_legacy),
    op!("Mod", 10.., [NUMERIC], modulo),
];

/// The result has the type of the base.
fn pow(node: &NodeRef<'_>) -> Planned {
    // A constant exponent of one element takes the base's shape as long as it has no larger rank.
    let scalar = |node: &NodeRef<'_>| {
        let value = node.constant_value(1).filter(|t| t.len() == 1)?;
        let fits = value.rank() == 0 || node.rank(0).is_some_and(|r| r >= value.rank());
        fits.then(|| value.to_floats()[0])
    };
    if node.dtype(0)?.is_float()
        && let Some(exponent) = scalar(node)
    {
        if exponent == 2.0 {
            return lower(|cx, x| cx.square(x.array(0)?));
        }
        if exponent == 1.0 {
            return lower(|_, x| Ok(x.array(0)?.clone()));
        }
    }
    lower(|cx, x| power(cx, x.array(0)?, x.array(1)?))
}

fn pow_legacy(node: &NodeRef<'_>) -> Planned {
    let broadcast = node.flag("broadcast", false)?;
    let at = node.int("axis")?;
    lower(move |cx, x| {
        let (a, b) = (x.array(0)?, x.array(1)?);
        match at {
            Some(at) if broadcast => power(cx, a, &align(cx, a, b, at)?),
            _ => power(cx, a, b),
        }
    })
}

fn power(cx: &Emit, base: &Array, exponent: &Array) -> Result<Array> {
    let dtype = base.dtype();
    if dtype.is_float() && exponent.dtype() != DType::F64 {
        return cx.power(base, &cx.astype(exponent, dtype)?);
    }
    if dtype.is_float() || exponent.dtype().is_float() {
        let wide = cx.power(
            &cx.astype(base, DType::F64)?,
            &cx.astype(exponent, DType::F64)?,
        )?;
        return cx.astype(&wide, dtype);
    }
    integer_power(cx, base, exponent)
}

/// MLX multiplies integers exactly, but never ends for a negative exponent.
fn integer_power(cx: &Emit, base: &Array, exponent: &Array) -> Result<Array> {
    let dtype = base.dtype();
    let (zero, one) = (cx.int(0, dtype)?, cx.int(1, dtype)?);
    let exponent_zero = cx.int(0, exponent.dtype())?;
    let clamped = cx.maximum(exponent, &exponent_zero)?;
    let wide = if dtype.is_unsigned_int() {
        DType::U64
    } else {
        DType::I64
    };
    let raised = cx.power(&cx.astype(base, wide)?, &cx.astype(&clamped, wide)?)?;
    let raised = cx.astype(&raised, dtype)?;
    if exponent.dtype().is_unsigned_int() {
        return Ok(raised);
    }
    // Of the reciprocals only those of 1 and -1 are integers; the others truncate to 0.
    let odd = cx.bitwise_and(exponent, &cx.int(1, exponent.dtype())?)?;
    let odd = cx.not_equal(&odd, &exponent_zero)?;
    let mut inverse = cx.select(&cx.equal(base, &one)?, &one, &zero)?;
    if !dtype.is_unsigned_int() {
        let minus = cx.int(-1, dtype)?;
        let turned = cx.select(&odd, &minus, &one)?;
        inverse = cx.select(&cx.equal(base, &minus)?, &turned, &inverse)?;
    }
    cx.select(&cx.less(exponent, &exponent_zero)?, &inverse, &raised)
}

/// `fmod` gives the sign of the dividend, else the sign of the divisor.
fn modulo(node: &NodeRef<'_>) -> Planned {
    let fmod = node.flag("fmod", false)?;
    let float = node.dtype(0)?.is_float();
    if float && !fmod {
        return Err(Reject::Form("Mod of floats needs fmod=1"));
    }
    lower(move |cx, x| {
        let (a, b) = (x.array(0)?, x.array(1)?);
        if float {
            let (size, divisor) = (cx.abs(a)?, cx.abs(b)?);
            let rest = cx.remainder(&size, &divisor)?;
            // A GPU that computes the remainder by way of the quotient has NaN here.
            let unchanged = cx.logical_and(&cx.isinf(b)?, &cx.isfinite(a)?)?;
            let magnitude = cx.select(&unchanged, &size, &rest)?;
            let negative = cx.less(a, &cx.scalar(0.0, a.dtype())?)?;
            return cx.select(&negative, &cx.negative(&magnitude)?, &magnitude);
        }
        let b = safe_divisor(cx, b)?;
        if fmod {
            cx.subtract(a, &cx.multiply(&b, &cx.floor_divide(a, &b)?)?)
        } else {
            cx.remainder(a, &b)
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::{Case, f32s, floats, i64s, ints};

    #[test]
    fn float_powers() {
        for constant in [false, true] {
            for (exponent, expected) in [
                (2.0, [9.0, 0.25]),
                (1.0, [-3.0, 0.5]),
                (3.0, [-27.0, 0.125]),
            ] {
                let case = Case::new("Pow", 15).input(f32s(&[2], &[-3.0, 0.5]));
                let out = case.given(constant, f32s(&[], &[exponent])).run();
                out[0].assert_close(&[2], &expected, 1e-6);
            }
        }
        let case = Case::new("Pow", 15).input(f32s(&[], &[2.0]));
        let out = case.constant(f32s(&[1, 1], &[2.0])).run();
        out[0].assert_close(&[1, 1], &[4.0], 0.0);
    }

    #[test]
    fn mixed_types_take_the_type_of_the_base() {
        let case = Case::new("Pow", 15).input(f32s(&[2], &[2.0, 9.0]));
        case.input(i64s(&[], &[2])).run()[0].assert_close(&[2], &[4.0, 81.0], 1e-6);
        let case = Case::new("Pow", 15).input(ints(DType::I32, &[2], &[4, 9]));
        let out = case.input(f32s(&[], &[0.5])).run();
        assert_eq!(out[0].ints(), [2, 3]);
        let case = Case::new("Pow", 15).input(f32s(&[1], &[2.0]));
        let out = case.input(floats(DType::F64, &[1], &[0.5])).run();
        out[0].assert_close(&[1], &[2f64.sqrt()], 1e-6);
    }

    #[test]
    fn integer_powers_are_exact() {
        let case = Case::new("Pow", 15).input(i64s(&[5], &[3, -1, -1, 2, 0]));
        let out = case.input(i64s(&[5], &[39, 3, -3, -1, 0])).run();
        assert_eq!(out[0].ints(), [4_052_555_153_018_976_267, -1, -1, 0, 1]);
    }

    #[test]
    fn remainders_by_sign() {
        let run = |fmod| {
            let case = Case::new("Mod", 13).int("fmod", fmod);
            let case = case.input(i64s(&[4], &[8, -8, 7, -7]));
            case.input(i64s(&[4], &[-3, 3, -2, 2])).run()[0].ints()
        };
        assert_eq!(run(0), [-1, 1, -1, 1]);
        assert_eq!(run(1), [2, -2, 1, -1]);
        let case = Case::new("Mod", 13).int("fmod", 1);
        let case = case.input(f32s(&[3], &[-5.5, 5.5, 1.0]));
        let out = case.input(f32s(&[3], &[2.0, -2.0, f32::INFINITY])).run();
        out[0].assert_close(&[3], &[-1.5, 1.5, 1.0], 0.0);
        let case = Case::new("Mod", 13).input(f32s(&[1], &[1.0]));
        assert!(matches!(
            case.input(f32s(&[1], &[1.0])).reject(),
            Reject::Form(_)
        ));
    }

    #[test]
    fn divisors_that_trap_do_no_harm() {
        let case = Case::new("Mod", 13).input(i64s(&[1], &[5]));
        assert_eq!(case.input(i64s(&[1], &[0])).run()[0].dims(), [1]);
        // The quotient is no int64, on which CPUs trap; the remainder is.
        for fmod in [0, 1] {
            let case = Case::new("Mod", 13).int("fmod", fmod);
            let case = case.input(i64s(&[2], &[i64::MIN, 7]));
            assert_eq!(case.input(i64s(&[], &[-1])).run()[0].ints(), [0, 0]);
        }
    }
}
