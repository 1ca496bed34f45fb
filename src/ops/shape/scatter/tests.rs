use crate::device::{DType, Types};
use crate::ops::Reject;
use crate::ops::testing::{Case, Data, f32s, floats, i64s, ints};

fn number(dtype: DType, dims: &[usize], values: &[i64]) -> Data {
    if dtype.is_float() {
        #[expect(clippy::cast_precision_loss, reason = "small numbers")]
        let values: Vec<_> = values.iter().map(|v| *v as f64).collect();
        floats(dtype, dims, &values)
    } else {
        ints(dtype, dims, values)
    }
}

#[derive(Debug, Clone, Copy)]
enum From {
    Constant,
    Caller,
    Device,
}

fn given(case: Case, from: From, data: Data) -> Case {
    match from {
        From::Constant => case.constant(data),
        From::Caller => case.input(data),
        From::Device => case.computed(data),
    }
}

const SOURCES: [From; 3] = [From::Constant, From::Caller, From::Device];

#[test]
fn elements_along_every_axis() {
    for from in SOURCES {
        for (name, opset) in [
            ("Scatter", 9),
            ("ScatterElements", 11),
            ("ScatterElements", 18),
        ] {
            for index in [DType::I32, DType::I64] {
                let run = |axis, dims: &[usize], indices: &[i64], updates: &[i64]| {
                    let case = Case::new(name, opset).int("axis", axis).input(ints(
                        DType::I16,
                        &[2, 3],
                        &[1, 2, 3, 4, 5, 6],
                    ));
                    let out = given(case, from, ints(index, dims, indices))
                        .input(ints(DType::I16, dims, updates))
                        .run();
                    assert_eq!(out[0].dims(), [2, 3]);
                    out[0].ints()
                };
                assert_eq!(run(0, &[1, 3], &[1, 0, -1], &[7, 8, 9]), [1, 8, 3, 7, 5, 9]);
                assert_eq!(run(1, &[2, 1], &[-3, 2], &[7, 8]), [7, 2, 3, 4, 5, 8]);
                assert_eq!(run(-1, &[1, 2], &[2, 0], &[7, 8]), [8, 2, 7, 4, 5, 6]);
                assert_eq!(
                    run(-2, &[2, 2], &[0, 1, 1, 0], &[7, 8, 9, 0]),
                    [7, 0, 3, 9, 8, 6]
                );
                assert_eq!(run(0, &[0, 3], &[], &[]), [1, 2, 3, 4, 5, 6]);
                // More indices than the axis has places, and fewer along the others.
                assert_eq!(run(0, &[3, 1], &[1, 0, 1], &[7, 8, 9]), [8, 2, 3, 9, 5, 6]);
            }
        }
    }
    let cube: Vec<_> = (0..24).collect();
    let out = Case::new("ScatterElements", 18)
        .int("axis", 1)
        .input(i64s(&[2, 3, 4], &cube))
        .input(i64s(&[2, 1, 2], &[2, 0, 1, -1]))
        .input(i64s(&[2, 1, 2], &[-1, -2, -3, -4]))
        .run();
    let mut expected = cube;
    for (place, value) in [(8, -1), (1, -2), (16, -3), (21, -4)] {
        expected[place] = value;
    }
    assert_eq!(out[0].ints(), expected);
}

#[test]
fn tuples_of_every_width() {
    for from in SOURCES {
        let run = |dims: &[usize], indices: &[i64], updates: Data| {
            let case = Case::new("ScatterND", 11).input(f32s(&[2, 2, 2], &[0.0; 8]));
            let out = given(case, from, i64s(dims, indices)).input(updates).run();
            assert_eq!(out[0].dims(), [2, 2, 2]);
            out[0].floats()
        };
        assert_eq!(
            run(&[2, 3], &[0, 1, 0, -1, -1, -1], f32s(&[2], &[1.0, 2.0])),
            [0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 2.0]
        );
        assert_eq!(
            run(&[1, 1, 2], &[1, 0], f32s(&[1, 1, 2], &[1.0, 2.0])),
            [0.0, 0.0, 0.0, 0.0, 1.0, 2.0, 0.0, 0.0]
        );
        assert_eq!(
            run(&[1], &[-1], f32s(&[2, 2], &[1.0, 2.0, 3.0, 4.0])),
            [0.0, 0.0, 0.0, 0.0, 1.0, 2.0, 3.0, 4.0]
        );
        assert_eq!(run(&[0, 2], &[], f32s(&[0, 2], &[])), [0.0; 8]);
        // A tuple without indices is the whole tensor.
        let all = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0];
        assert_eq!(
            run(&[1, 0], &[], f32s(&[1, 2, 2, 2], &all)),
            all.map(f64::from)
        );
        assert_eq!(run(&[0], &[], f32s(&[2, 2, 2], &all)), all.map(f64::from));
    }
}

/// Indices 1, 3, 1, 1 with updates 5, 2, 3, 1 on 0, 2, 1, 7.
fn reduced(op: &str, reduction: &str, dtype: DType) -> Data {
    let nd = op == "ScatterND";
    let dims: &[usize] = if nd { &[4, 1] } else { &[4] };
    let out = Case::new(op, 18)
        .string("reduction", reduction)
        .input(number(dtype, &[4], &[0, 2, 1, 7]))
        .input(i64s(dims, &[1, 3, -3, 1]))
        .input(number(dtype, &[4], &[5, 2, 3, 1]))
        .run();
    let bytes = out[0].bytes().to_vec();
    Data {
        dtype,
        dims: vec![4],
        bytes,
    }
}

#[test]
fn reductions_of_every_type_take_duplicates() {
    for op in ["ScatterElements", "ScatterND"] {
        for dtype in Types::NUMERIC.iter_types() {
            for (reduction, expected) in [
                ("none", [0, 1, 1, 2]),
                ("add", [0, 11, 1, 9]),
                ("mul", [0, 30, 1, 14]),
                ("max", [0, 5, 1, 7]),
                ("min", [0, 1, 1, 2]),
            ] {
                let found = reduced(op, reduction, dtype);
                let expected = number(dtype, &[4], &expected);
                assert_eq!(found.bytes, expected.bytes, "{op} {reduction} {dtype}");
            }
        }
    }
}

#[test]
fn booleans_add_as_or_and_multiply_as_and() {
    for (reduction, expected) in [
        ("none", [0, 1, 1, 0]),
        ("add", [0, 1, 1, 1]),
        ("mul", [0, 0, 1, 0]),
        ("max", [0, 1, 1, 1]),
        ("min", [0, 0, 1, 0]),
    ] {
        let out = Case::new("ScatterElements", 18)
            .string("reduction", reduction)
            .input(ints(DType::Bool, &[4], &[0, 1, 1, 1]))
            .input(i64s(&[3], &[1, 3, 1]))
            .input(ints(DType::Bool, &[3], &[0, 0, 1]))
            .run();
        assert_eq!(out[0].bytes(), expected, "{reduction}");
    }
}

#[test]
fn integers_wrap_and_keep_every_bit() {
    let run = |dtype, reduction, data: i64, updates: [i64; 2]| {
        let out = Case::new("ScatterND", 18)
            .string("reduction", reduction)
            .input(ints(dtype, &[1], &[data]))
            .input(i64s(&[2, 1], &[0, 0]))
            .input(ints(dtype, &[2], &updates))
            .run();
        out[0].ints()[0]
    };
    assert_eq!(run(DType::I8, "add", 100, [100, 100]), 44);
    assert_eq!(run(DType::U8, "mul", 16, [16, 3]), 0);
    assert_eq!(
        run(DType::I32, "add", i64::from(i32::MAX), [1, 1]),
        i64::from(i32::MIN) + 1
    );
    assert_eq!(run(DType::U32, "max", 1, [0xffff_fffe, 7]), 0xffff_fffe);
    assert_eq!(run(DType::U64, "max", 1, [-2, 7]), -2);
    assert_eq!(run(DType::U64, "min", -1, [-2, -1]), -2);
    let big = (1 << 53) + 1;
    assert_eq!(run(DType::I64, "add", big, [1, 1]), big + 2);
    assert_eq!(run(DType::I64, "max", big, [big + 1, 0]), big + 1);
}

#[test]
fn halves_accumulate_in_float32() {
    for (dtype, expected) in [(DType::F16, 2050.0), (DType::BF16, 2048.0)] {
        let out = Case::new("ScatterElements", 18)
            .string("reduction", "add")
            .input(floats(dtype, &[1], &[2048.0]))
            .input(i64s(&[2], &[0, 0]))
            .input(floats(dtype, &[2], &[1.0, 1.0]))
            .run();
        assert_eq!(out[0].floats(), [expected]);
    }
}

#[test]
fn extremes_keep_nan_infinities_and_zeros() {
    let (inf, nan) = (f64::INFINITY, f64::NAN);
    for dtype in Types::FLOAT64.iter_types() {
        let run = |reduction, updates: &[f64]| {
            let out = Case::new("ScatterElements", 18)
                .string("reduction", reduction)
                .input(floats(dtype, &[5], &[-1.0, -inf, nan, 0.0, -2.0]))
                .input(i64s(&[6], &[0, 1, 2, 3, 4, 4]))
                .input(floats(dtype, &[6], updates))
                .run();
            out[0].floats()
        };
        let updates = [-3.0, inf, 1.0, -0.0, nan, 5.0];
        let max = run("max", &updates);
        assert_eq!(max[..2], [-1.0, inf]);
        assert!(max[2].is_nan() && max[4].is_nan());
        assert!(max[3] == 0.0 && max[3].is_sign_positive());
        let min = run("min", &updates);
        assert_eq!(min[..2], [-3.0, -inf]);
        assert!(min[2].is_nan() && min[4].is_nan());
        assert!(min[3] == 0.0 && min[3].is_sign_negative());
    }
}

#[test]
fn indices_out_of_range_are_errors_or_clamped() {
    for (op, dims) in [("ScatterElements", &[1][..]), ("ScatterND", &[1, 1])] {
        for bad in [3, -4, i64::MAX, i64::MIN] {
            let run = |from| {
                let case = Case::new(op, 18).input(f32s(&[3], &[1.0, 2.0, 3.0]));
                given(case, from, i64s(dims, &[bad]))
                    .input(f32s(&[1], &[9.0]))
                    .try_run()
            };
            for from in [From::Constant, From::Caller] {
                let text = run(from).err().expect("out of range").to_string();
                assert!(text.contains(&format!("index {bad} in input 1")), "{text}");
                assert!(
                    text.contains("[-3, 2]") && text.contains(&format!("{op} node 'n'")),
                    "{text}"
                );
            }
            let expected = if bad > 0 {
                [1.0, 2.0, 9.0]
            } else {
                [9.0, 2.0, 3.0]
            };
            assert_eq!(run(From::Device).unwrap()[0].floats(), expected);
        }
        let case = Case::new(op, 18).input(f32s(&[0], &[]));
        let case = case.input(i64s(dims, &[0])).input(f32s(&[1], &[9.0]));
        assert!(case.try_run().is_err());
    }
}

#[test]
fn shapes_that_do_not_fit_are_errors() {
    let fails = |op: &str, indices: Data, updates: Data| {
        let case = Case::new(op, 18).input(f32s(&[2, 3], &[0.0; 6]));
        let error = case.input(indices).input(updates).try_run().err();
        let text = error.expect("it does not fit").to_string();
        assert!(text.contains("do not fit"), "{text}");
    };
    fails(
        "ScatterElements",
        i64s(&[1, 4], &[0; 4]),
        f32s(&[1, 4], &[0.0; 4]),
    );
    fails(
        "ScatterElements",
        i64s(&[1, 3], &[0; 3]),
        f32s(&[3], &[0.0; 3]),
    );
    fails(
        "ScatterElements",
        i64s(&[3], &[0; 3]),
        f32s(&[3], &[0.0; 3]),
    );
    fails("ScatterND", i64s(&[1, 3], &[0; 3]), f32s(&[1], &[0.0]));
    fails(
        "ScatterND",
        i64s(&[2, 1], &[0; 2]),
        f32s(&[1, 3], &[0.0; 3]),
    );
    fails("ScatterND", i64s(&[], &[0]), f32s(&[2, 3], &[0.0; 6]));
}

#[test]
fn reductions_belong_to_opsets() {
    let case = |op, opset, reduction: &str| {
        let case = Case::new(op, opset).string("reduction", reduction);
        let case = case.input(f32s(&[1], &[0.0]));
        case.input(i64s(&[1, 1], &[0])).input(f32s(&[1], &[0.0]))
    };
    let refused = Reject::Attribute("reduction".into());
    for op in ["ScatterElements", "ScatterND"] {
        assert_eq!(case(op, 13, "none").reject(), refused);
        assert_eq!(case(op, 16, "max").reject(), refused);
        assert_eq!(case(op, 18, "mean").reject(), refused);
    }
}
