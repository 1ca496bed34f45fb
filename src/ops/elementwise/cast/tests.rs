//! Cast and `CastLike`.
use super::*;
use crate::device::float::{E8M0_NAN, e8m0_to_f64, nearest};
use crate::ops::testing::{Case, Data, codes, f32s, floats, i64s, ints};

fn run(host: bool, from: Data, to: DType) -> crate::ops::Output {
    let case = Case::new("Cast", 25).int("to", to.onnx().into());
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
        let [device, host] = [false, true].map(|host| run(host, f32s(&[7], &values), to).ints());
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
fn other_targets_are_refused() {
    let reject = |case: Case| case.input(f32s(&[1], &[1.0])).reject();
    for code in [
        DType::String.onnx().into(),
        DType::C64.onnx().into(),
        0,
        99,
        1 << 40,
    ] {
        let case = Case::new("Cast", 24).int("to", code);
        assert_eq!(reject(case), Reject::Attribute("to".into()));
    }
    assert_eq!(
        reject(Case::new("Cast", 13)),
        Reject::Attribute("to".into())
    );
    let case = Case::new("Cast", 24).int("to", DType::F8E8M0.onnx().into());
    let found = reject(case.string("round_mode", "odd"));
    assert_eq!(found, Reject::Attribute("round_mode".into()));
    let case = Case::new("Cast", 13).int("to", DType::F8E5M2.onnx().into());
    assert_eq!(
        reject(case.int("saturate", 0)),
        Reject::Attribute("saturate".into())
    );
}

/// The codes that a cast to a type that MLX lacks gives.
fn coded(x: Data, to: DType, saturate: bool, round_mode: &str) -> Vec<u8> {
    let case = Case::new("Cast", 25).int("to", to.onnx().into());
    let case = case
        .int("saturate", saturate.into())
        .string("round_mode", round_mode);
    case.input(x).output(to).run()[0].codes()
}

const MODES: [(Rounding, &str); 3] = [
    (Rounding::Up, "up"),
    (Rounding::Down, "down"),
    (Rounding::Nearest, "nearest"),
];

#[track_caller]
fn check_codes(x: &Data, values: &[f64]) {
    let (formats, e8m0): (Vec<_>, Vec<_>) = Types::STORED
        .difference(Types::SMALL_INT)
        .iter_types()
        .partition(|t| t.format().is_some());
    assert_eq!((formats.len(), e8m0.len()), (5, 1));
    for saturate in [false, true] {
        for to in formats.iter().filter(|to| **to != x.dtype) {
            let format = to.format().unwrap();
            let found = coded(x.clone(), *to, saturate, "up");
            for (v, found) in values.iter().zip(found) {
                let expected = format.write(*v, saturate);
                assert_eq!(
                    u16::from(found),
                    expected,
                    "{v:?} to {to}, saturate {saturate}"
                );
            }
        }
        for (rounding, mode) in MODES {
            let found = coded(x.clone(), DType::F8E8M0, saturate, mode);
            for (v, found) in values.iter().zip(found) {
                let expected = f64_to_e8m0(*v, rounding, saturate);
                assert_eq!(found, expected, "{v:?} {mode}, saturate {saturate}");
            }
        }
    }
}

#[test]
fn every_half_as_every_small_float() {
    for from in [DType::F16, DType::BF16] {
        let bytes = (0..=u16::MAX).flat_map(u16::to_le_bytes).collect();
        let x = Data {
            dtype: from,
            dims: vec![1 << 16],
            bytes,
        };
        let format = from.format().unwrap();
        let values: Vec<_> = (0..=u16::MAX).map(|code| format.read(code)).collect();
        check_codes(&x, &values);
    }
}

/// Around each number and each middle between two numbers, where rounding twice would go wrong.
#[test]
fn floats_are_rounded_once() {
    let mut doubles = vec![
        0.0,
        f64::MAX,
        1e-300,
        f64::INFINITY,
        f64::NAN,
        1.0 + 2f64.powi(-40),
    ];
    let all = DType::ALL.iter().filter_map(|t| t.format());
    for format in all.filter(|f| f.sign() <= 0x80) {
        for code in 0..=format.largest {
            let (low, high) = (format.read(code), format.read(code + 1));
            doubles.extend(
                [low, f64::midpoint(low, high)].map(|v| if v.is_finite() { v } else { 1e9 }),
            );
        }
    }
    doubles.extend((0..255).map(e8m0_to_f64).flat_map(|v| [v, 1.5 * v]));
    let ends = [f64::next_down, |v| v, f64::next_up, |v: f64| -v];
    let doubles: Vec<_> = ends
        .iter()
        .flat_map(|f| doubles.iter().map(|v| f(*v)))
        .collect();
    check_codes(&floats(DType::F64, &[doubles.len()], &doubles), &doubles);
    let singles: Vec<f32> = [f32::next_down, |v| v, f32::next_up]
        .iter()
        .flat_map(|f| doubles.iter().map(|v| f(nearest(*v))))
        .collect();
    let wide: Vec<f64> = singles.iter().copied().map(f64::from).collect();
    check_codes(&f32s(&[singles.len()], &singles), &wide);
    for to in [DType::F16, DType::BF16] {
        let format = to.format().unwrap();
        let mut values = doubles.clone();
        for code in (0..format.largest).step_by(7) {
            let middle = f64::midpoint(format.read(code), format.read(code + 1));
            values.extend([middle, middle.next_up(), -middle.next_down()]);
        }
        for host in [false, true] {
            for values in values.chunks(HostTensor::MAX_ELEMENTS) {
                let out = run(host, floats(DType::F64, &[values.len()], values), to);
                let expected: Vec<_> = values
                    .iter()
                    .map(|v| format.read(format.write(*v, false)))
                    .collect();
                out.assert_close(&[values.len() as i64], &expected, 0.0);
            }
        }
    }
}

#[test]
fn every_code_as_every_type() {
    for from in Types::STORED.iter_types() {
        let count = 1usize << from.bits();
        let all: Vec<_> = (0u8..=255).take(count).collect();
        let values: Vec<f64> = all
            .iter()
            .map(|code| match (from.format(), from) {
                (Some(format), _) => format.read((*code).into()),
                (None, DType::F8E8M0) => e8m0_to_f64(*code),
                (None, DType::I2 | DType::I4) if usize::from(*code) >= count / 2 => {
                    f64::from(*code) - count as f64
                }
                _ => f64::from(*code),
            })
            .collect();
        let x = codes(from, &[count], &all);
        check_codes(&x, &values);
        for to in Types::ANY.iter_types() {
            let out = run(false, x.clone(), to);
            assert_eq!(out.dtype(), to);
            if let Some(format) = to.format() {
                let expected: Vec<_> = values
                    .iter()
                    .map(|v| format.read(format.write(*v, false)))
                    .collect();
                out.assert_close(&[count as i64], &expected, 0.0);
            } else if to.is_float() {
                out.assert_close(&[count as i64], &values, 0.0);
            } else {
                for (found, v) in out.ints().into_iter().zip(&values) {
                    assert_eq!(
                        found,
                        crate::ops::host::wrap(to, float_to_int(*v, to)),
                        "{from} {v} {to}"
                    );
                }
            }
        }
    }
}

#[test]
fn small_integers() {
    for (to, low, high) in [
        (DType::I4, -8, 7),
        (DType::U4, 0, 15),
        (DType::I2, -2, 1),
        (DType::U2, 0, 3),
    ] {
        let mask = u8::MAX >> (8 - to.bits());
        let values: Vec<i64> = (-300..300).chain([i64::MAX, 1 << 40]).collect();
        let wrapped: Vec<_> = values.iter().map(|v| v.to_le_bytes()[0] & mask).collect();
        for from in [DType::I16, DType::I32, DType::I64] {
            let x = ints(from, &[600], &values[..600]);
            assert_eq!(coded(x, to, true, "up"), wrapped[..600]);
        }
        assert_eq!(coded(i64s(&[602], &values), to, true, "up"), wrapped);
        assert_eq!(
            coded(ints(DType::Bool, &[2], &[1, 0]), to, true, "up"),
            [1, 0]
        );
        for from in [DType::F32, DType::F16, DType::F64, DType::BF16] {
            let fractions: Vec<_> = values[270..330].iter().map(|v| *v as f64 * 0.5).collect();
            let expected: Vec<_> = fractions
                .iter()
                .map(|v| {
                    let v = float_to_int(*v, DType::I64);
                    let kept = if (low..=high).contains(&v) { v } else { 0 };
                    kept.to_le_bytes()[0] & mask
                })
                .collect();
            assert_eq!(
                coded(floats(from, &[60], &fractions), to, true, "up"),
                expected,
                "{from} {to}"
            );
            let x = floats(from, &[3], &[f64::NAN, f64::INFINITY, 1e4]);
            assert_eq!(coded(x, to, true, "up"), [0; 3]);
        }
        let x = codes(DType::I4, &[3], &[0xf, 0x8, 0x7]);
        let expected = [0xffu8, 0xf8, 0x07].map(|v| v & mask);
        assert_eq!(coded(x, to, true, "up"), expected);
    }
}

#[test]
fn types_like_another_value() {
    let case = Case::new("CastLike", 25)
        .input(f32s(&[2], &[1e9, -1e9]))
        .int("saturate", 0);
    let out = case
        .input(codes(DType::F8E5M2, &[0], &[]))
        .output(DType::F8E5M2)
        .run();
    assert_eq!(out[0].codes(), [0x7c, 0xfc]);
}

/// The float8e8m0 of the magnitude of `v`; what is out of range becomes the nearest end if `saturate`, else NaN.
fn f64_to_e8m0(v: f64, rounding: Rounding, saturate: bool) -> u8 {
    let magnitude = v.abs();
    let end = |end| if saturate { end } else { E8M0_NAN };
    if v.is_nan() {
        return E8M0_NAN;
    }
    if magnitude < (-127f64).exp2() {
        return end(0);
    }
    let exponent = i32::try_from(magnitude.to_bits() >> 52).unwrap() - 1023;
    let fraction = magnitude / f64::from(exponent).exp2();
    let up = match rounding {
        Rounding::Up => fraction > 1.0,
        Rounding::Down => false,
        Rounding::Nearest => fraction >= 1.5,
    };
    let code = u8::try_from(exponent + 127 + i32::from(up));
    code.ok()
        .filter(|code| *code != E8M0_NAN)
        .unwrap_or(end(E8M0_NAN - 1))
}

#[test]
fn powers_of_two() {
    use Rounding::{Down, Nearest, Up};
    let write = |v: f64, rounding| f64_to_e8m0(v, rounding, true);
    for (v, codes) in [
        (1.0, [127; 3]),
        (1.0 + f64::EPSILON, [128, 127, 127]),
        (1.5, [128, 127, 128]),
        (1.5 - f64::EPSILON, [128, 127, 127]),
        (0.0, [0; 3]),
        (1e-50, [0; 3]),
        (1.5 * (-127f64).exp2(), [1, 0, 1]),
        (1.5 * 127f64.exp2(), [254; 3]),
        (f64::INFINITY, [254; 3]),
        (f64::NAN, [255; 3]),
    ] {
        assert_eq!([Up, Down, Nearest].map(|r| write(v, r)), codes, "{v}");
    }
    let write = |v: f64| f64_to_e8m0(v, Nearest, false);
    assert_eq!([0.0, 1e-50, 1e39, f64::INFINITY].map(write), [255; 4]);
    assert_eq!(
        [1.25 * 127f64.exp2(), 1.5 * 127f64.exp2()].map(write),
        [254, 255]
    );
}
