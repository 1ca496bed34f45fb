//! Quantised and dequantised values, by the definition.
use crate::device::DType::{
    self, BF16, F4E2M1, F8E4M3FN, F8E5M2, F8E8M0, F16, F32, I2, I4, I8, I16, I32, U2, U4, U8, U16,
};
use crate::error::Error;
use crate::ops::Reject;
use crate::ops::testing::{Case, Data, codes, f32s, floats, ints};

fn quantize(opset: u32, to: DType) -> Case {
    Case::new("QuantizeLinear", opset).output(to)
}

/// The stored integers of an output; packed types one per element.
fn numbers(case: Case, to: DType, count: usize) -> Vec<i64> {
    let out = case.run();
    assert_eq!(out[0].dtype(), to);
    if to.bits() >= 8 {
        return out[0].ints();
    }
    let (bits, signed) = (to.bits(), matches!(to, I4 | I2));
    let number = |i: usize| {
        let code = (out[0].bytes()[i * bits / 8] >> (i * bits % 8)) & ((1 << bits) - 1);
        let code = i64::from(code);
        if signed && code >= 1 << (bits - 1) {
            code - (1 << bits)
        } else {
            code
        }
    };
    (0..count).map(number).collect()
}

#[test]
fn halves_round_to_even_and_the_ends_saturate() {
    let x = [-300.0, -2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 300.0];
    let case = quantize(10, I8)
        .input(f32s(&[8], &x))
        .input(f32s(&[], &[1.0]))
        .input(ints(I8, &[], &[0]));
    assert_eq!(numbers(case, I8, 8), [-128, -2, -2, 0, 0, 2, 2, 127]);
    // The zero point is added after rounding, and before saturation.
    let case = quantize(13, U8)
        .input(f32s(&[8], &x))
        .input(f32s(&[1], &[1.0]))
        .input(ints(U8, &[1], &[3]));
    assert_eq!(numbers(case, U8, 8), [0, 1, 1, 3, 3, 5, 5, 255]);
}

#[test]
fn every_integer_type_has_its_bounds() {
    let x = [-1e9f32, -1.4, 0.6, 1e9];
    for (to, low, high) in [
        (I8, -128, 127),
        (U8, 0, 255),
        (I16, -32768, 32767),
        (U16, 0, 65535),
        (I4, -8, 7),
        (U4, 0, 15),
        (I2, -2, 1),
        (U2, 0, 3),
    ] {
        let case = quantize(25, to)
            .input(f32s(&[4], &x))
            .input(f32s(&[], &[1.0]))
            .int("output_dtype", to.onnx().into());
        assert_eq!(numbers(case, to, 4), [low, low.max(-1), 1, high], "{to}");
    }
    let case = quantize(21, U8)
        .input(f32s(&[4], &x))
        .input(f32s(&[], &[1.0]));
    assert_eq!(numbers(case, U8, 4), [0, 0, 1, 255], "without any hint");
}

#[test]
fn float_types_of_the_input_and_the_scale() {
    for (input, scale) in [
        (F32, F32),
        (F16, F16),
        (BF16, BF16),
        (F16, F32),
        (BF16, F16),
    ] {
        let case = quantize(23, I8)
            .input(floats(input, &[4], &[-5.0, 1.0, 3.0, 7.0]))
            .input(floats(scale, &[], &[2.0]))
            .input(ints(I8, &[], &[1]));
        assert_eq!(numbers(case, I8, 4), [-1, 1, 3, 5], "{input} by {scale}");
    }
    let case = quantize(13, U8)
        .input(ints(I32, &[3], &[-10, 5, 1_000_000]))
        .input(f32s(&[], &[2.0]))
        .input(ints(U8, &[], &[128]));
    assert_eq!(numbers(case, U8, 3), [123, 130, 255]);
    let case = quantize(24, I8)
        .input(f32s(&[2], &[3.0, 12.0]))
        .input(codes(F8E8M0, &[], &[129]))
        .input(ints(I8, &[], &[0]));
    assert_eq!(numbers(case, I8, 2), [1, 3], "a scale of 4");
}

#[test]
fn the_precision_of_the_division() {
    let x = floats(F16, &[1], &[1.0]);
    let of = |precision: Option<DType>| {
        let case = quantize(23, I16)
            .input(x.clone())
            .input(floats(F32, &[], &[1.0 / 3001.0]))
            .input(ints(I16, &[], &[0]));
        match precision {
            Some(precision) => case.int("precision", precision.onnx().into()),
            None => case,
        }
    };
    assert_eq!(numbers(of(None), I16, 1), [3001]);
    // float16 holds even numbers only there.
    assert_eq!(numbers(of(Some(F16)), I16, 1)[0] % 2, 0);
}

#[test]
fn small_floats() {
    let x = f32s(&[4], &[0.0, 1.1, -3.0, 1000.0]);
    let of = |to: DType, saturate: i64| {
        let case = quantize(23, to).input(x.clone()).input(f32s(&[], &[1.0]));
        case.int("output_dtype", to.onnx().into())
            .int("saturate", saturate)
            .run()
    };
    assert_eq!(of(F8E4M3FN, 1)[0].bytes(), [0, 0x39, 0xc4, 0x7e]);
    assert_eq!(of(F8E4M3FN, 0)[0].bytes(), [0, 0x39, 0xc4, 0x7f]);
    assert_eq!(of(F8E5M2, 1)[0].bytes(), [0, 0x3c, 0xc2, 0x64]);
    // 0, 1, -3, 6: codes 0, 2, 13, 7, the first in the low bits.
    assert_eq!(of(F4E2M1, 1)[0].bytes(), [0x20, 0x7d]);
}

fn scales_of_axis(axis: i64, dims: &[usize], scales: &[f32]) -> Case {
    quantize(13, I8)
        .input(f32s(dims, &[2.0, 4.0, 6.0, 8.0, 10.0, 12.0]))
        .input(f32s(&[scales.len()], scales))
        .int("axis", axis)
}

#[test]
fn scales_along_an_axis() {
    let case = |axis, scales: &[f32]| {
        scales_of_axis(axis, &[2, 3], scales).input(ints(
            I8,
            &[scales.len()],
            &vec![0; scales.len()],
        ))
    };
    assert_eq!(numbers(case(0, &[1.0, 2.0]), I8, 6), [2, 4, 6, 4, 5, 6]);
    assert_eq!(
        numbers(case(-1, &[1.0, 2.0, 4.0]), I8, 6),
        [2, 2, 2, 8, 5, 3]
    );
    // A vector has one axis, whatever the attribute says.
    let vector =
        scales_of_axis(1, &[6], &[1.0, 2.0, 1.0, 2.0, 1.0, 2.0]).input(ints(I8, &[6], &[0; 6]));
    assert_eq!(numbers(vector, I8, 6), [2, 2, 6, 4, 10, 6]);
    let error = case(0, &[1.0, 2.0, 4.0]).try_run().err().unwrap();
    assert!(matches!(error.root(), Error::InvalidArgument(_)), "{error}");
}

#[test]
fn blocks_with_a_partial_one_at_the_end() {
    // The table of the definition: 2x5, blocks of 2 along axis 1.
    let x: Vec<i64> = (0..10).map(|v| v * 10).collect();
    let case = Case::new("DequantizeLinear", 21)
        .input(ints(U8, &[2, 5], &x))
        .input(f32s(&[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]))
        .input(ints(U8, &[2, 3], &[0, 1, 2, 3, 4, 5]))
        .int("axis", 1)
        .int("block_size", 2)
        .output(F32);
    let expected = [
        0.0, 10.0, 38.0, 58.0, 114.0, 188.0, 228.0, 330.0, 380.0, 510.0,
    ];
    case.run()[0].assert_close(&[2, 5], &expected, 0.0);
    let case = quantize(21, U8)
        .input(f32s(&[3, 2], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]))
        .input(f32s(&[2, 2], &[1.0, 2.0, 5.0, 3.0]))
        .int("axis", -2)
        .int("block_size", 2);
    assert_eq!(numbers(case, U8, 6), [1, 1, 3, 2, 1, 2]);
    let wrong = quantize(21, U8)
        .input(f32s(&[3, 2], &[0.0; 6]))
        .input(f32s(&[1, 2], &[1.0; 2]))
        .int("axis", 0)
        .int("block_size", 2);
    let error = wrong.try_run().err().unwrap().to_string();
    assert!(
        error.contains("[2, 2] is needed by blocks of 2 along axis 0"),
        "{error}"
    );
}

fn dequantize(opset: u32, data: Data, scale: Data, to: DType) -> Case {
    Case::new("DequantizeLinear", opset)
        .input(data)
        .input(scale)
        .output(to)
}

#[test]
fn dequantized_values() {
    let half = || f32s(&[], &[0.5]);
    let case =
        dequantize(10, ints(I8, &[3], &[-128, 0, 127]), half(), F32).input(ints(I8, &[], &[-128]));
    case.run()[0].assert_close(&[3], &[0.0, 64.0, 127.5], 0.0);
    let case =
        dequantize(13, ints(U8, &[3], &[0, 128, 255]), half(), F32).input(ints(U8, &[], &[255]));
    case.run()[0].assert_close(&[3], &[-127.5, -63.5, 0.0], 0.0);
    let case = dequantize(10, ints(I32, &[2], &[-7, 1 << 24]), half(), F32);
    case.run()[0].assert_close(&[2], &[-3.5, 8_388_608.0], 0.0);
    let case =
        dequantize(21, ints(U16, &[2], &[0, 65535]), half(), F32).input(ints(U16, &[], &[65535]));
    case.run()[0].assert_close(&[2], &[-32767.5, 0.0], 0.0);
    for to in [F16, BF16] {
        let case = dequantize(19, ints(I8, &[2], &[3, -4]), floats(to, &[], &[0.25]), to);
        case.run()[0].assert_close(&[2], &[0.75, -1.0], 0.0);
    }
    let case = dequantize(23, ints(I8, &[2], &[3, -4]), half(), F16).int("output_dtype", 10);
    case.run()[0].assert_close(&[2], &[1.5, -2.0], 0.0);
}

#[test]
fn dequantized_small_types() {
    let two = || f32s(&[], &[2.0]);
    let case = dequantize(21, codes(U4, &[3], &[0, 7, 15]), two(), F32).input(codes(U4, &[], &[1]));
    case.run()[0].assert_close(&[3], &[-2.0, 12.0, 28.0], 0.0);
    let case = dequantize(21, codes(I4, &[3], &[0, 7, 15]), two(), F32);
    case.run()[0].assert_close(&[3], &[0.0, 14.0, -2.0], 0.0);
    let case = dequantize(25, codes(I2, &[3], &[0, 1, 2]), two(), F32);
    case.run()[0].assert_close(&[3], &[0.0, 2.0, -4.0], 0.0);
    let case = dequantize(19, codes(F8E4M3FN, &[2], &[0x39, 0xc4]), two(), F32);
    case.run()[0].assert_close(&[2], &[2.25, -6.0], 0.0);
    let case = dequantize(
        24,
        codes(F4E2M1, &[2], &[2, 13]),
        codes(F8E8M0, &[], &[128]),
        F32,
    );
    case.run()[0].assert_close(&[2], &[2.0, -6.0], 0.0);
}

#[test]
fn empty_tensors_and_forms_of_onnx_runtime() {
    let case = quantize(21, U8)
        .input(f32s(&[0, 3], &[]))
        .input(f32s(&[], &[1.0]));
    assert_eq!(case.run()[0].dims(), [0, 3]);
    let case = Case::new("QuantizeLinear", 1)
        .domain("com.microsoft")
        .input(f32s(&[2], &[1.0, -1.0]))
        .input(f32s(&[], &[0.5]))
        .input(ints(U16, &[], &[100]))
        .output(U16);
    assert_eq!(case.run()[0].ints(), [102, 98]);
}

#[test]
fn what_does_not_fit_is_refused() {
    let case = quantize(23, I8)
        .input(f32s(&[1], &[1.0]))
        .input(f32s(&[], &[1.0]))
        .input(ints(I8, &[], &[0]))
        .int("output_dtype", 2);
    assert_eq!(case.reject(), Reject::Attribute("output_dtype".into()));
    let case = quantize(10, I8)
        .input(floats(DType::F64, &[1], &[1.0]))
        .input(f32s(&[], &[1.0]));
    assert!(matches!(case.reject(), Reject::Type { input: 0, .. }));
}
