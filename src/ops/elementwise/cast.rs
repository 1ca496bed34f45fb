//! Cast and `CastLike`.
//!
//! A float outside the range of an integer type has no defined result. MLX's devices differ there; the result here
//! is the same on each: what wraps is kept, what does not fit the widest conversion becomes its smallest value.
use crate::device::{Array, DType, Emit, Types};
use crate::error::Result;
use crate::ops::{HostData, HostTensor, NodeRef, OpDef, Planned, Reject, lower, op};

pub(in crate::ops) const OPS: &[OpDef] = &[
    op!("Cast", 1..=5, [ANY], |node| {
        let name = node.string_or("to", "")?.to_ascii_lowercase();
        cast_to(DType::ALL.iter().copied().find(|t| t.name() == name))
    }),
    op!("Cast", 6.., [ANY], |node| {
        ignore_rounding(node);
        let code = node.int("to")?.and_then(|code| i32::try_from(code).ok());
        cast_to(code.and_then(DType::from_onnx))
    }),
    op!("CastLike", 15.., [ANY, ANY], |node| {
        ignore_rounding(node);
        cast_to(node.dtype(1).ok())
    }),
];

/// Both attributes are about targets of 8 bits and less.
fn ignore_rounding(node: &NodeRef<'_>) {
    node.ignore("saturate");
    node.ignore("round_mode");
}

fn cast_to(target: Option<DType>) -> Planned {
    let Some(to) = target.filter(|t| Types::ANY.contains(t.set())) else {
        return Err(Reject::Attribute("to".into()));
    };
    let plan = lower(move |cx, x| cast(cx, x.array(0)?, to))?;
    Ok(plan.or_host(move |h| Ok(h.first().copied().flatten().map(|t| vec![on_host(t, to)]))))
}

/// `a` with elements of type `to`.
pub(in crate::ops) fn cast(cx: &Emit, a: &Array, to: DType) -> Result<Array> {
    let from = a.dtype();
    if from == to {
        return Ok(a.clone());
    }
    if to == DType::Bool {
        // NaN is true.
        return cx.not_equal(a, &cx.scalar(0.0, from)?);
    }
    if !from.is_float() || to.is_float() {
        return cx.astype(a, to);
    }
    match a.dtype() {
        DType::F16 | DType::BF16 => to_int(cx, &cx.astype(a, DType::F32)?, to),
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
        HostData::Float(v) if to.is_float() => {
            // 16-bit types are reached through float, as on the device.
            let data = v.iter().map(|v| rounded(*v, to)).collect();
            HostTensor::floats(to, dims, data)
        }
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
    clippy::cast_possible_truncation,
    reason = "rounds to the nearest float, as IEEE 754 says"
)]
fn rounded(v: f64, to: DType) -> f64 {
    if to == DType::F64 {
        v
    } else {
        f64::from(v as f32)
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
mod tests {
    use super::*;
    use crate::ops::testing::{Case, Data, f32s, floats, i64s, ints};

    fn run(host: bool, from: Data, to: DType) -> crate::ops::Output {
        let case = Case::new("Cast", 13).int("to", to.onnx().into());
        case.given(host, from).output(to).run().remove(0)
    }

    #[test]
    fn every_pair_of_types_keeps_small_values() {
        for from in Types::ANY.iter_types() {
            for to in Types::ANY.iter_types() {
                for host in [false, true] {
                    let values = if from == DType::Bool {
                        [1, 0, 1]
                    } else {
                        [1, 0, 3]
                    };
                    let floating: Vec<f64> = values.iter().map(|v| *v as f64).collect();
                    let data = if from.is_float() {
                        floats(from, &[3], &floating)
                    } else {
                        ints(from, &[3], &values)
                    };
                    let out = run(host, data, to);
                    let expected = if to == DType::Bool {
                        [1.0, 0.0, 1.0].to_vec()
                    } else {
                        floating
                    };
                    out.assert_close(&[3], &expected, 0.0);
                }
            }
        }
    }

    #[test]
    fn floats_out_of_range_wrap_as_on_the_cpu_provider() {
        let values = [300.0, 50.0, -50.0, -129.0, -1.0, 256.75, -1.9];
        for host in [false, true] {
            for dtype in [DType::F32, DType::F16, DType::F64] {
                let cast = |to| run(host, floats(dtype, &[7], &values), to).ints();
                assert_eq!(cast(DType::I8), [44, 50, -50, 127, -1, 0, -1]);
                assert_eq!(cast(DType::U8), [44, 50, 206, 127, 255, 0, 255]);
                assert_eq!(cast(DType::U16), [300, 50, 65486, 65407, 65535, 256, 65535]);
                assert_eq!(cast(DType::U32)[2], 4_294_967_246);
                assert_eq!(cast(DType::U64)[2], -50);
            }
        }
    }

    #[test]
    fn what_fits_no_integer_is_the_same_on_host_and_device() {
        let values = [
            3e9,
            -3e9,
            1e19,
            3e19,
            f32::NAN,
            f32::INFINITY,
            f32::NEG_INFINITY,
        ];
        for to in Types::INT.iter_types() {
            let [device, host] =
                [false, true].map(|host| run(host, f32s(&[7], &values), to).ints());
            assert_eq!(device, host, "{to}");
        }
        let cast = |to| run(false, f32s(&[7], &values), to).ints();
        assert_eq!(cast(DType::I32), [i64::from(i32::MIN); 7]);
        let min = i64::MIN;
        assert_eq!(
            cast(DType::I64),
            [3_000_000_000, -3_000_000_000, min, min, min, min, min]
        );
        assert_eq!(cast(DType::U32)[0], 3_000_000_000);
        assert_eq!(
            cast(DType::U64)[2].cast_unsigned(),
            9_999_999_980_506_447_872
        );
    }

    #[test]
    fn integers_wrap_and_large_ones_stay_exact() {
        for host in [false, true] {
            let big = (1 << 53) + 1;
            let cast = |t: Data, to| run(host, t, to).ints();
            assert_eq!(cast(i64s(&[2], &[big, -1]), DType::U64), [big, -1]);
            assert_eq!(cast(i64s(&[2], &[(1 << 40) + 5, -1]), DType::I32), [5, -1]);
            assert_eq!(cast(i64s(&[2], &[256, 0]), DType::Bool), [1, 0]);
            assert_eq!(
                cast(f32s(&[3], &[f32::NAN, -0.0, 0.25]), DType::Bool),
                [1, 0, 1]
            );
            let t = ints(DType::U64, &[1], &[-1]);
            assert_eq!(
                run(host, t, DType::F64).floats(),
                [1.844_674_407_370_955_2e19]
            );
            // Rounded once: by way of double it would be 2^60.
            let t = i64s(&[1], &[(1 << 60) + (1 << 36) + 1]);
            let expected = f64::from(2f32.powi(60) + 2f32.powi(37));
            assert_eq!(run(host, t, DType::F32).floats(), [expected]);
        }
    }

    #[test]
    fn halves_round_to_even() {
        for host in [false, true] {
            let t = || f32s(&[3], &[2049.0, 2051.0, 1e6]);
            assert_eq!(
                run(host, t(), DType::F16).floats(),
                [2048.0, 2052.0, f64::INFINITY]
            );
            let t = f32s(&[2], &[257.0, 259.0]);
            assert_eq!(run(host, t, DType::BF16).floats(), [256.0, 260.0]);
        }
    }

    #[test]
    fn other_forms_name_the_type_otherwise() {
        let case = Case::new("Cast", 1)
            .string("to", "INT32")
            .output(DType::I32);
        assert_eq!(case.input(f32s(&[], &[2.5])).run()[0].ints(), [2]);
        let case = Case::new("CastLike", 15)
            .int("saturate", 0)
            .input(f32s(&[1], &[2.5]))
            .input(i64s(&[0], &[]));
        assert_eq!(case.output(DType::I64).run()[0].ints(), [2]);
        let out = run(false, f32s(&[0, 2], &[]), DType::I32);
        assert_eq!(out.dims(), [0, 2]);
    }

    #[test]
    fn targets_that_mlx_cannot_hold_are_refused() {
        let targets = [
            DType::F8E4M3FN,
            DType::I4,
            DType::String,
            DType::F4E2M1,
            DType::C64,
        ];
        for code in targets
            .map(|t| i64::from(t.onnx()))
            .into_iter()
            .chain([0, 99, 1 << 40])
        {
            let case = Case::new("Cast", 24)
                .int("to", code)
                .input(f32s(&[1], &[1.0]));
            assert_eq!(case.reject(), Reject::Attribute("to".into()));
        }
        let reject = Case::new("Cast", 13).input(f32s(&[1], &[1.0])).reject();
        assert_eq!(reject, Reject::Attribute("to".into()));
    }
}
