//! 16-bit floats in 64-bit ones and back.

pub(crate) fn bf16_to_f64(bits: u16) -> f64 {
    f64::from(f32::from_bits(u32::from(bits) << 16))
}

pub(crate) fn f16_to_f64(bits: u16) -> f64 {
    let sign = if bits & 0x8000 == 0 { 1.0 } else { -1.0 };
    let exponent = i32::from((bits >> 10) & 0x1f);
    let fraction = f64::from(bits & 0x3ff);
    match exponent {
        0 => sign * fraction * (-24f64).exp2(),
        31 if fraction == 0.0 => sign * f64::INFINITY,
        31 => f64::NAN,
        _ => sign * (1.0 + fraction / 1024.0) * f64::from(exponent - 15).exp2(),
    }
}

pub(crate) fn f64_to_bf16(v: f64) -> u16 {
    narrow(v, 8, 7)
}

pub(crate) fn f64_to_f16(v: f64) -> u16 {
    narrow(v, 5, 10)
}

/// The bits of `v` in a 16-bit float format of the given field widths, rounded once, ties to even.
fn narrow(v: f64, exponent_bits: u32, fraction_bits: u32) -> u16 {
    let max_exponent = (1i64 << exponent_bits) - 1;
    let bias = max_exponent >> 1;
    let sign = if v.is_sign_negative() { 1i64 << 15 } else { 0 };
    let infinity = max_exponent << fraction_bits;
    let magnitude = v.abs();
    let bits = if v.is_nan() {
        infinity | (1 << (fraction_bits - 1))
    } else if magnitude.is_infinite() {
        infinity
    } else if magnitude == 0.0 {
        0
    } else {
        let unbiased = i64::from(u16::try_from(magnitude.to_bits() >> 52).unwrap_or(0)) - 1023;
        let exponent = unbiased.max(1 - bias);
        let scale = i32::try_from(i64::from(fraction_bits) - exponent).unwrap_or(0);
        // Exact: a power of two, and the product keeps all 53 bits of `magnitude`.
        let units = (magnitude * f64::from(scale).exp2()).round_ties_even();
        #[expect(clippy::cast_possible_truncation, reason = "a whole number below 2^12")]
        let units = units as i64;
        // A carry out of the fraction moves into the exponent by plain addition.
        (units + ((exponent + bias - 1) << fraction_bits)).min(infinity)
    };
    u16::try_from(sign | bits).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sixteen_bit_floats_round_trip() {
        for bits in 0..=u16::MAX {
            for (read, write) in [
                (f16_to_f64 as fn(u16) -> f64, f64_to_f16 as fn(f64) -> u16),
                (bf16_to_f64, f64_to_bf16),
            ] {
                let v = read(bits);
                if v.is_nan() {
                    assert!(read(write(v)).is_nan());
                } else {
                    assert_eq!(write(v), bits, "{v}");
                }
            }
        }
    }

    #[test]
    fn sixteen_bit_floats_round_half_to_even() {
        assert_eq!(f64_to_f16(1.0 + 1.0 / 2048.0), 0x3c00);
        assert_eq!(f64_to_f16(1.0 + 3.0 / 2048.0), 0x3c02);
        assert_eq!(f64_to_f16(65520.0), 0x7c00);
        assert_eq!(f64_to_f16(65519.0), 0x7bff);
        assert_eq!(f64_to_f16(1e-9), 0);
        assert_eq!(f64_to_bf16(f64::from(f32::MAX)), 0x7f80);
    }
}
