//! Floats of 16 bits and less, as codes, in 64-bit ones and back.
use super::DType;

/// A format with a sign bit. Above `largest` lie infinity and NaN, where it has them.
#[derive(Debug)]
pub(crate) struct Format {
    pub(crate) exponent_bits: u32,
    pub(crate) fraction_bits: u32,
    pub(crate) bias: i32,
    /// The code of the largest number.
    pub(crate) largest: u16,
    /// What becomes of a magnitude that rounds to more: infinity, or what the format has instead.
    pub(crate) overflow: u16,
    /// What becomes of NaN; where -0 is missing, its code.
    pub(crate) nan: u16,
    /// Whether codes have a sign even if they are zero or NaN.
    pub(crate) negative_zero: bool,
}

const fn format(exponent_bits: u32, fraction_bits: u32, bias: i32, largest: u16) -> Format {
    Format {
        exponent_bits,
        fraction_bits,
        bias,
        largest,
        overflow: largest + 1,
        nan: largest + 1 + (1 << fraction_bits >> 1),
        negative_zero: true,
    }
}

const fn without_negative_zero(format: Format) -> Format {
    Format {
        overflow: 0x80,
        nan: 0x80,
        negative_zero: false,
        ..format
    }
}

static F16: Format = format(5, 10, 15, 0x7bff);
static BF16: Format = format(8, 7, 127, 0x7f7f);
static E5M2: Format = format(5, 2, 15, 0x7b);
static E4M3FN: Format = Format {
    nan: 0x7f,
    ..format(4, 3, 7, 0x7e)
};
static E4M3FNUZ: Format = without_negative_zero(format(4, 3, 8, 0x7f));
static E5M2FNUZ: Format = without_negative_zero(format(5, 2, 16, 0x7f));
/// It has neither infinity nor NaN: the one becomes the largest number, the other -0, as in ONNX's reference.
static E2M1: Format = Format {
    overflow: 0x7,
    nan: 0x8,
    ..format(2, 1, 1, 0x7)
};

impl DType {
    /// The format of a float of 16 bits or less that has a sign.
    pub(crate) fn format(self) -> Option<&'static Format> {
        Some(match self {
            Self::F16 => &F16,
            Self::BF16 => &BF16,
            Self::F8E4M3FN => &E4M3FN,
            Self::F8E4M3FNUZ => &E4M3FNUZ,
            Self::F8E5M2 => &E5M2,
            Self::F8E5M2FNUZ => &E5M2FNUZ,
            Self::F4E2M1 => &E2M1,
            _ => return None,
        })
    }
}

/// The nearest float, ties to even.
#[expect(
    clippy::cast_possible_truncation,
    reason = "rounds to the nearest float, as IEEE 754 says"
)]
pub(crate) fn nearest(v: f64) -> f32 {
    v as f32
}

/// Appends the little-endian bytes of `v` as a float of a type that fills bytes, rounded once.
pub(crate) fn append(bytes: &mut Vec<u8>, v: f64, dtype: DType) {
    match dtype.format() {
        Some(format) => {
            let code = format.write(v, false).to_le_bytes();
            bytes.extend_from_slice(&code[..dtype.byte_size(1)]);
        }
        None if dtype == DType::F64 => bytes.extend_from_slice(&v.to_le_bytes()),
        None => bytes.extend_from_slice(&nearest(v).to_le_bytes()),
    }
}

impl Format {
    /// The code that is only a sign.
    pub(crate) const fn sign(&self) -> u16 {
        1 << (self.exponent_bits + self.fraction_bits)
    }

    /// The value of a code.
    pub(crate) fn read(&self, code: u16) -> f64 {
        let magnitude = code & (self.sign() - 1);
        let sign = if code & self.sign() == 0 { 1.0 } else { -1.0 };
        if !self.negative_zero && code == self.nan {
            return f64::NAN;
        }
        if magnitude > self.largest {
            let infinite = magnitude == self.overflow && self.overflow != self.nan;
            let special = if infinite { f64::INFINITY } else { f64::NAN };
            return special.copysign(sign);
        }
        let exponent = i32::from(magnitude >> self.fraction_bits);
        let fraction = f64::from(magnitude & ((1 << self.fraction_bits) - 1));
        let one = f64::from(1u16 << self.fraction_bits);
        let units = if exponent == 0 {
            fraction
        } else {
            one + fraction
        };
        sign * units / one * f64::from(exponent.max(1) - self.bias).exp2()
    }

    /// The code of `v`, rounded once, ties to even; magnitudes beyond the largest number become that if `saturate`.
    pub(crate) fn write(&self, v: f64, saturate: bool) -> u16 {
        let sign = if v.is_sign_negative() { self.sign() } else { 0 };
        let magnitude = v.abs();
        let code = if v.is_nan() {
            self.nan
        } else if magnitude == 0.0 {
            0
        } else {
            self.round(magnitude).unwrap_or(if saturate {
                self.largest
            } else {
                self.overflow
            })
        };
        if code == 0 && !self.negative_zero {
            0
        } else {
            code | sign
        }
    }

    /// The code of a positive magnitude; `None` beyond the largest number.
    fn round(&self, magnitude: f64) -> Option<u16> {
        let fraction_bits = self.fraction_bits.cast_signed();
        let exponent = exponent(magnitude).max(1 - self.bias);
        // Exact: a power of two, and the product keeps all 53 bits of `magnitude`.
        let units = magnitude * f64::from(fraction_bits - exponent).exp2();
        // A carry out of the fraction moves into the exponent by plain addition.
        let offset = (exponent + self.bias - 1) << fraction_bits;
        let code = units.round_ties_even() + f64::from(offset);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a whole number in range"
        )]
        (code <= f64::from(self.largest)).then_some(code as u16)
    }
}

/// The exponent of the power of two at or below a positive number; of infinity one that is out of range everywhere.
fn exponent(v: f64) -> i32 {
    i32::try_from(v.to_bits() >> 52).unwrap_or(0) - 1023
}

/// The code of NaN as float8e8m0.
pub(crate) const E8M0_NAN: u8 = 255;
/// The value of a float8e8m0.
pub(crate) fn e8m0_to_f64(code: u8) -> f64 {
    if code == E8M0_NAN {
        f64::NAN
    } else {
        f64::from(i32::from(code) - 127).exp2()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::Types;

    fn formats() -> impl Iterator<Item = (DType, &'static Format)> {
        let all = DType::ALL.iter().copied();
        all.filter_map(|t| Some((t, t.format()?)))
    }

    #[test]
    fn codes_round_trip() {
        let mut count = 0;
        for (dtype, format) in formats() {
            for code in 0..=u16::MAX >> (16 - dtype.bits()) {
                let v = format.read(code);
                for saturate in [false, true] {
                    let written = format.write(v, saturate);
                    if v.is_nan() {
                        assert!(format.read(written).is_nan(), "{dtype} {code:#x}");
                    } else if !(saturate && v.is_infinite()) {
                        assert_eq!(written, code, "{dtype} {v}");
                    }
                }
            }
            count += 1;
        }
        assert_eq!(count, 7);
    }

    /// Between two neighbours the middle goes to the even code, and what is off the middle to the nearer.
    #[test]
    fn ties_go_to_even() {
        for (dtype, format) in formats() {
            for code in 0..format.largest {
                let (low, high) = (format.read(code), format.read(code + 1));
                let middle = f64::midpoint(low, high);
                assert_eq!(
                    format.write(middle, true),
                    code + code % 2,
                    "{dtype} {code}"
                );
                assert_eq!(format.write(middle.next_down(), true), code);
                assert_eq!(format.write(middle.next_up(), true), code + 1);
                let sign = if code == 0 && !format.negative_zero {
                    0
                } else {
                    format.sign()
                };
                assert_eq!(format.write(-middle.next_down(), true), code | sign);
            }
        }
    }

    /// The tables of ONNX's Cast.
    #[test]
    fn what_is_out_of_range() {
        let values = [1e9, -1e9, f64::INFINITY, f64::NEG_INFINITY];
        let write = |dtype: DType, saturate| {
            let format = dtype.format().unwrap();
            values.map(|v| format.read(format.write(v, saturate)))
        };
        for (dtype, largest) in [
            (DType::F8E4M3FN, 448.0),
            (DType::F8E4M3FNUZ, 240.0),
            (DType::F8E5M2, 57344.0),
            (DType::F8E5M2FNUZ, 57344.0),
            (DType::F4E2M1, 6.0),
        ] {
            assert_eq!(
                write(dtype, true),
                [1.0, -1.0, 1.0, -1.0].map(|v| v * largest)
            );
            let found = write(dtype, false);
            match dtype {
                DType::F8E5M2 => assert_eq!(found, values.map(|v| v.signum() * f64::INFINITY)),
                DType::F4E2M1 => assert_eq!(found, write(dtype, true)),
                _ => assert!(found.iter().all(|v| v.is_nan())),
            }
            let zero = dtype.format().unwrap().write(-0.0, true);
            let signed = !matches!(dtype, DType::F8E4M3FNUZ | DType::F8E5M2FNUZ);
            assert_eq!(zero != 0, signed);
        }
        assert!(Types::FLOAT8.iter_types().all(|t| t.format().is_some()));
        assert_eq!(F16.write(65520.0, false), 0x7c00);
        assert_eq!(F16.write(65519.0, false), 0x7bff);
        assert_eq!(BF16.write(f64::from(f32::MAX), false), 0x7f80);
        assert_eq!(F16.write(1e-9, false), 0);
    }
}
