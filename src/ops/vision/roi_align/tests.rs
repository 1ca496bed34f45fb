use crate::device::DType;
use crate::ops::Reject;
use crate::ops::testing::{Case, f32s, floats, i64s};

const SIZES: (usize, usize) = (7, 9);

fn image(n: usize) -> Vec<f64> {
    let count = n * SIZES.0 * SIZES.1;
    (0..u32::try_from(count).unwrap())
        .map(|i| f64::from(i * 11 % 31) / 4.0 - 3.0)
        .collect()
}

fn real(i: usize) -> f64 {
    f64::from(u32::try_from(i).unwrap())
}

/// The weighted elements of one sample.
fn corners(plane: &[f64], y: f64, x: f64) -> [f64; 4] {
    let (height, width) = (real(SIZES.0), real(SIZES.1));
    if y < -1.0 || y > height || x < -1.0 || x > width {
        return [0.0; 4];
    }
    let axis = |v: f64, size: f64| {
        let low = v.max(0.0).floor().min(size - 1.0);
        let after = if low >= size - 1.0 {
            0.0
        } else {
            v.max(0.0) - low
        };
        [(low, 1.0 - after), ((low + 1.0).min(size - 1.0), after)]
    };
    let (rows, columns) = (axis(y, height), axis(x, width));
    let at = |(r, rw): (f64, f64), (c, cw): (f64, f64)| {
        let index = (0..plane.len())
            .find(|i| real(*i) == r * width + c)
            .unwrap();
        rw * cw * plane[index]
    };
    [(0, 0), (0, 1), (1, 0), (1, 1)].map(|(i, j)| at(rows[i], columns[j]))
}

/// The definition, for one plane and one region.
fn aligned(
    plane: &[f64],
    roi: &[f64],
    bins: (usize, usize),
    ratio: usize,
    half: bool,
    max: bool,
    scale: f64,
) -> Vec<f64> {
    let offset = if half { 0.5 } else { 0.0 };
    let at = |i: usize| roi[i] * scale - offset;
    let length = |from: usize, to: usize| {
        let length = at(to) - at(from);
        if half { length } else { length.max(1.0) }
    };
    let (bin_h, bin_w) = (length(1, 3) / real(bins.0), length(0, 2) / real(bins.1));
    let grid = |bin: f64| {
        if ratio > 0 {
            ratio
        } else {
            (0..1000).find(|i| real(*i) >= bin).unwrap()
        }
    };
    let (down, across) = (grid(bin_h), grid(bin_w));
    let mut out = vec![];
    for (p, q) in (0..bins.0).flat_map(|p| (0..bins.1).map(move |q| (p, q))) {
        let mut samples = vec![];
        for (i, j) in (0..down).flat_map(|i| (0..across).map(move |j| (i, j))) {
            let y = at(1) + real(p) * bin_h + (real(i) + 0.5) * bin_h / real(down);
            let x = at(0) + real(q) * bin_w + (real(j) + 0.5) * bin_w / real(across);
            samples.extend(corners(plane, y, x));
        }
        let largest = samples.iter().copied().reduce(f64::max).unwrap_or(0.0);
        let mean = samples.iter().sum::<f64>() / real((down * across).max(1));
        out.push(if max { largest } else { mean });
    }
    out
}

#[test]
fn regions_agree_with_the_definition() {
    let rois = [
        1.0, 0.5, 5.25, 4.0, -3.0, -2.0, 2.0, 1.5, 6.0, 3.0, 30.0, 29.0, 2.0, 2.0, 2.25, 2.25, 4.0,
        4.0, 1.0, 1.0, 0.0, 0.0, 9.0, 1.0,
    ];
    let (images, planes) = ([1, 0, 1, 0, 1, 0], image(4));
    let plane = SIZES.0 * SIZES.1;
    for (bins, ratio) in [((2, 3), 2), ((3, 1), 0), ((1, 1), 1), ((5, 4), 0)] {
        for (half, max) in [(false, false), (true, false), (false, true), (true, true)] {
            for scale in [1.0, 0.5] {
                let mut expected = vec![];
                for (image, roi) in images.iter().zip(rois.chunks(4)) {
                    for channel in 0..2 {
                        let part = &planes[(image * 2 + channel) * plane..][..plane];
                        expected.extend(aligned(part, roi, bins, ratio, half, max, scale));
                    }
                }
                let int = |v: usize| i64::try_from(v).unwrap();
                for (dtype, tolerance) in [(DType::F64, 1e-12), (DType::F32, 1e-5)] {
                    let case = Case::new("RoiAlign", 22)
                        .input(floats(dtype, &[2, 2, SIZES.0, SIZES.1], &planes))
                        .input(floats(dtype, &[6, 4], &rois))
                        .input(i64s(&[6], &images.map(int)))
                        .int("output_height", int(bins.0))
                        .int("output_width", int(bins.1))
                        .int("sampling_ratio", int(ratio))
                        .float("spatial_scale", if scale < 1.0 { 0.5 } else { 1.0 })
                        .string("mode", if max { "max" } else { "avg" });
                    let mode = if half {
                        "half_pixel"
                    } else {
                        "output_half_pixel"
                    };
                    let out = case.string("coordinate_transformation_mode", mode).run();
                    let dims = [6, 2, int(bins.0), int(bins.1)];
                    out[0].assert_close(&dims, &expected, tolerance);
                }
            }
        }
    }
}

fn small(dtype: DType, opset: u32) -> Case {
    Case::new("RoiAlign", opset)
        .input(floats(dtype, &[1, 1, 2, 2], &[1.0, 2.0, 3.0, 4.0]))
        .input(floats(dtype, &[1, 4], &[0.0, 0.0, 2.0, 2.0]))
}

#[test]
fn types_and_the_first_version() {
    for dtype in [DType::F16, DType::BF16, DType::F32, DType::F64] {
        // One sample in the middle of the region: half a pixel apart.
        let first = small(dtype, 10)
            .input(i64s(&[1], &[0]))
            .int("sampling_ratio", 1);
        first.run()[0].assert_close(&[1, 1, 1, 1], &[4.0], 0.0);
        let later = small(dtype, 16)
            .input(i64s(&[1], &[0]))
            .int("sampling_ratio", 1);
        later.run()[0].assert_close(&[1, 1, 1, 1], &[2.5], 0.0);
    }
}

#[test]
fn many_regions_are_taken_in_parts() {
    let (count, channels) = (40, 256);
    let rois: Vec<f32> = (0u8..40)
        .flat_map(|i| [0.0, 0.0, 8.0, f32::from(i % 7)])
        .collect();
    let x = vec![2.0; channels * 63];
    let case = Case::new("RoiAlign", 16)
        .input(f32s(&[1, channels, 7, 9], &x))
        .input(f32s(&[count, 4], &rois))
        .input(i64s(&[count], &vec![0; count]))
        .int("sampling_ratio", 7)
        .int("output_height", 7)
        .string("coordinate_transformation_mode", "output_half_pixel");
    let out = case.run();
    assert_eq!(out[0].dims(), [40, 256, 7, 1]);
    assert!(out[0].floats().iter().all(|v| (v - 2.0).abs() < 1e-5));
}

#[test]
fn no_regions_and_bad_ones() {
    let none = Case::new("RoiAlign", 16)
        .input(f32s(&[1, 2, 2, 2], &[0.0; 8]))
        .input(f32s(&[0, 4], &[]))
        .input(i64s(&[0], &[]));
    none.run()[0].assert_close(&[0, 2, 1, 1], &[], 0.0);
    let failure = |case: Case| case.try_run().err().expect("it fails").to_string();
    for image in [1, -1] {
        let case = small(DType::F32, 16).input(i64s(&[1], &[image]));
        assert!(failure(case).contains("1 images are given"));
    }
    let other = small(DType::F32, 16).input(i64s(&[2], &[0, 0]));
    assert!(failure(other).contains("[regions]"));
    let huge = Case::new("RoiAlign", 16)
        .input(f32s(&[1, 1, 2, 2], &[0.0; 4]))
        .input(f32s(&[1, 4], &[0.0, 0.0, 1e20, 1.0]))
        .input(i64s(&[1], &[0]));
    assert!(failure(huge).contains("samples of a region"));
    let case = || small(DType::F32, 16).input(i64s(&[1], &[0]));
    for (name, value) in [("output_height", 0), ("sampling_ratio", -1)] {
        assert_eq!(
            case().int(name, value).reject(),
            Reject::Attribute(name.into())
        );
    }
    for name in ["mode", "coordinate_transformation_mode"] {
        assert_eq!(
            case().string(name, "x").reject(),
            Reject::Attribute(name.into())
        );
    }
    let name = "coordinate_transformation_mode";
    let early = small(DType::F32, 10)
        .input(i64s(&[1], &[0]))
        .string(name, "half_pixel");
    assert_eq!(early.reject(), Reject::Attribute(name.into()));
}
