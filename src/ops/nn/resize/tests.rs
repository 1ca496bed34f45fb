use crate::device::DType;
use crate::ops::Reject;
use crate::ops::testing::{Case, Data, f32s, floats, i64s, ints};

fn ramp(dims: &[usize]) -> Data {
    let count = dims.iter().product::<usize>();
    f32s(
        dims,
        &(0..u16::try_from(count).unwrap())
            .map(f32::from)
            .collect::<Vec<_>>(),
    )
}

fn by_scales(x: Data, scales: &[f32]) -> Case {
    let scales = f32s(&[scales.len()], scales);
    Case::new("Resize", 19).input(x).omitted().constant(scales)
}

fn by_sizes(x: Data, sizes: &[i64]) -> Case {
    let sizes = i64s(&[sizes.len()], sizes);
    Case::new("Resize", 19)
        .input(x)
        .omitted()
        .omitted()
        .input(sizes)
}

#[test]
fn nearest_repeats_and_picks() {
    let plain = |case: Case| {
        let case = case
            .string("mode", "nearest")
            .string("nearest_mode", "floor");
        case.string("coordinate_transformation_mode", "asymmetric")
            .run()
    };
    let expected = [
        0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 1.0, 1.0, 2.0, 2.0, 3.0, 3.0, 2.0, 2.0, 3.0, 3.0,
    ];
    plain(by_scales(ramp(&[1, 1, 2, 2]), &[1.0, 1.0, 2.0, 2.0]))[0].assert_close(
        &[1, 1, 4, 4],
        &expected,
        0.0,
    );
    plain(by_sizes(ramp(&[1, 1, 2, 2]), &[1, 1, 4, 4]))[0].assert_close(
        &[1, 1, 4, 4],
        &expected,
        0.0,
    );
    // An empty roi and empty scales count as left out.
    for constant in [false, true] {
        let case = Case::new("Resize", 11)
            .input(ramp(&[1, 1, 2, 2]))
            .given(constant, f32s(&[0], &[]));
        let case = case
            .given(constant, f32s(&[0], &[]))
            .given(constant, i64s(&[4], &[1, 1, 4, 4]));
        plain(case)[0].assert_close(&[1, 1, 4, 4], &expected, 0.0);
    }
    let out = plain(by_scales(ramp(&[1, 5]), &[2.0, 0.6]));
    out[0].assert_close(&[2, 3], &[0.0, 1.0, 3.0, 0.0, 1.0, 3.0], 0.0);
    for dtype in [DType::U8, DType::I64, DType::Bool] {
        let out = plain(by_scales(ints(dtype, &[1, 2], &[1, 0]), &[1.0, 1.5]));
        assert_eq!(out[0].ints(), [1, 1, 0]);
    }
}

#[test]
fn linear_under_each_mapping() {
    let of = |mapping: &str| {
        let case = by_scales(ramp(&[1, 1, 4]), &[1.0, 1.0, 0.8]).string("mode", "linear");
        case.string("coordinate_transformation_mode", mapping).run()[0].floats()
    };
    for (mapping, expected) in [
        ("half_pixel", [0.125, 1.375, 2.625]),
        ("pytorch_half_pixel", [0.125, 1.375, 2.625]),
        ("align_corners", [0.0, 1.5, 3.0]),
        ("asymmetric", [0.0, 1.25, 2.5]),
        ("half_pixel_symmetric", [0.25, 1.5, 2.75]),
    ] {
        for (found, expected) in of(mapping).iter().zip(expected) {
            assert!(
                (found - expected).abs() < 1e-6,
                "{mapping}: {found} for {expected}"
            );
        }
    }
    let half =
        by_scales(floats(DType::F16, &[1, 2], &[0.0, 1.0]), &[1.0, 2.0]).string("mode", "linear");
    half.run()[0].assert_close(&[1, 4], &[0.0, 0.25, 0.75, 1.0], 1e-3);
    let wide =
        by_scales(floats(DType::F64, &[1, 2], &[0.0, 1.0]), &[1.0, 2.0]).string("mode", "linear");
    wide.run()[0].assert_close(&[1, 4], &[0.0, 0.25, 0.75, 1.0], 1e-12);
}

#[test]
fn linear_integers_truncate() {
    let case = |dtype, values: &[i64]| {
        let case = by_scales(ints(dtype, &[1, 4], values), &[1.0, 2.0]);
        case.string("mode", "linear").run()[0].ints()
    };
    assert_eq!(
        case(DType::U8, &[0, 10, 25, 255]),
        [0, 2, 7, 13, 21, 82, 197, 255]
    );
    let signed = case(DType::I8, &[-128, -118, -103, 127]);
    assert_eq!(signed, [-128, -125, -120, -114, -106, -45, 69, 127]);
}

#[test]
fn cubic_and_antialiased() {
    let case =
        |mode: &str, scale: f32| by_scales(ramp(&[1, 8]), &[1.0, scale]).string("mode", mode);
    let close = |case: Case, expected: &[f64]| {
        let dims = [1, i64::try_from(expected.len()).unwrap()];
        case.run()[0].assert_close(&dims, expected, 1e-5);
    };
    let exclude = |case: Case| case.int("exclude_outside", 1);
    let antialias = |case: Case| case.int("antialias", 1);
    close(
        exclude(case("cubic", 0.5)),
        &[0.371_428_6, 2.5, 4.5, 6.628_571_5],
    );
    close(
        exclude(case("cubic", 0.6)),
        &[0.233_334_05, 2.0, 3.629_630_6, 5.370_37],
    );
    close(antialias(case("linear", 0.5)), &[0.625, 2.5, 4.5, 6.375]);
    close(antialias(case("linear", 0.6)), &[0.375, 2.0, 3.75, 5.25]);
    let cubic = [0.472_656_25, 2.482_421_9, 4.517_578, 6.527_343_8];
    close(antialias(case("cubic", 0.5)), &cubic);
    let cubic = [0.503_118_5, 2.439_539_4, 4.560_460_6, 6.496_881_5];
    close(exclude(antialias(case("cubic", 0.5))), &cubic);
    let linear = [0.714_285_73, 2.5, 4.5, 6.285_715];
    close(exclude(antialias(case("linear", 0.5))), &linear);
    let case =
        by_scales(f32s(&[1, 4], &[0.0, 10.0, 25.0, 255.0]), &[1.0, 2.0]).string("mode", "cubic");
    let expected = [
        -1.054_687_5,
        1.738_281_2,
        6.152_343_8,
        6.367_187_5,
        -2.304_687_5,
        78.691_41,
        203.417_97,
        279.257_8,
    ];
    case.run()[0].assert_close(&[1, 8], &expected, 1e-5);
}

#[test]
fn crops_are_resized_and_extrapolated() {
    let case = |sizes: &[i64]| {
        let roi = f32s(&[4], &[0.0, -0.25, 1.0, 1.25]);
        Case::new("Resize", 19)
            .input(ramp(&[1, 5]))
            .input(roi)
            .omitted()
            .input(i64s(&[2], sizes))
            .string("mode", "linear")
            .string("coordinate_transformation_mode", "tf_crop_and_resize")
            .float("extrapolation_value", 9.0)
            .run()
    };
    case(&[1, 4])[0].assert_close(&[1, 4], &[9.0, 1.0, 3.0, 9.0], 1e-6);
    case(&[1, 1])[0].assert_close(&[1, 1], &[2.0], 1e-6);
}

#[test]
fn axes_and_aspect_ratios() {
    let case = |policy: &str| {
        let case = by_sizes(ramp(&[1, 1, 2, 6]), &[4, 4]).ints("axes", &[2, -1]);
        case.string("keep_aspect_ratio_policy", policy).run()
    };
    case("not_larger")[0].assert_close(&[1, 1, 1, 4], &[0.0, 2.0, 3.0, 5.0], 0.0);
    assert_eq!(case("not_smaller")[0].dims(), [1, 1, 4, 12]);
    assert_eq!(case("stretch")[0].dims(), [1, 1, 4, 4]);
}

#[test]
fn old_forms() {
    let expected = [0.0, 0.0, 1.0, 1.0];
    let x = || ramp(&[1, 1, 1, 2]);
    let scales = || f32s(&[4], &[1.0, 1.0, 1.0, 2.0]);
    for case in [
        Case::new("Resize", 10).input(x()).constant(scales()),
        Case::new("Upsample", 9).input(x()).input(scales()),
        Case::new("Upsample", 7).input(x()).attr(
            "scales",
            crate::ops::ir::Attribute::Floats(vec![1.0, 1.0, 1.0, 2.0]),
        ),
        Case::new("Upsample", 1)
            .input(x())
            .float("height_scale", 1.0)
            .float("width_scale", 2.0),
    ] {
        case.run()[0].assert_close(&[1, 1, 1, 4], &expected, 0.0);
    }
    let linear = Case::new("Upsample", 9)
        .input(x())
        .input(scales())
        .string("mode", "linear");
    linear.run()[0].assert_close(&[1, 1, 1, 4], &[0.0, 0.5, 1.0, 1.0], 0.0);
}

#[test]
fn empty_results_and_identities() {
    by_sizes(ramp(&[1, 2]), &[1, 0]).run()[0].assert_close(&[1, 0], &[], 0.0);
    let same = by_scales(ramp(&[1, 8]), &[1.0, 1.1])
        .string("mode", "linear")
        .run();
    assert_eq!(same[0].floats()[7], 7.0);
}

#[test]
fn what_cannot_work_is_refused() {
    let case = || by_scales(ramp(&[1, 2]), &[1.0, 2.0]);
    let attribute = |name: &str| Reject::Attribute(name.into());
    assert_eq!(case().string("mode", "area").reject(), attribute("mode"));
    assert_eq!(
        case().string("nearest_mode", "up").reject(),
        attribute("nearest_mode")
    );
    let mapping = "coordinate_transformation_mode";
    assert_eq!(case().string(mapping, "none").reject(), attribute(mapping));
    let policy = "keep_aspect_ratio_policy";
    assert_eq!(case().string(policy, "none").reject(), attribute(policy));
    let int = by_scales(ints(DType::I64, &[1, 2], &[1, 2]), &[1.0, 2.0]).string("mode", "linear");
    assert_eq!(
        int.reject(),
        Reject::Form("interpolation of this element type")
    );
    let byte = by_scales(ints(DType::U8, &[1, 2], &[1, 2]), &[1.0, 2.0]).string("mode", "linear");
    let form = Reject::Form("interpolation of this element type");
    assert_eq!(byte.int("antialias", 1).reject(), form);
    let failure = |case: Case| case.try_run().err().expect("it fails").to_string();
    assert!(failure(by_scales(ramp(&[1, 2]), &[2.0])).contains("1 scales are given for 2 axes"));
    assert!(failure(by_scales(ramp(&[1, 2]), &[1.0, -1.0])).contains("not positive"));
    assert!(failure(by_sizes(ramp(&[1, 2]), &[1, -1])).contains("negative"));
    for huge in [[1 << 31, 1 << 31], [1, 1 << 33]] {
        assert!(failure(by_sizes(ramp(&[1, 2]), &huge)).contains("memory limit"));
    }
    assert!(failure(Case::new("Resize", 19).input(ramp(&[1, 2]))).contains("either scales"));
}
