use crate::device::DType;
use crate::ops::Reject;
use crate::ops::testing::{Case, f32s, floats, ints};

const MODES: [&str; 3] = ["nearest", "linear", "cubic"];
const PADDINGS: [&str; 3] = ["zeros", "border", "reflection"];

fn reflected(x: f64, low: f64, high: f64) -> f64 {
    let length = high - low;
    if length == 0.0 {
        return low;
    }
    let folded = (x - low).rem_euclid(2.0 * length);
    low + folded.min(2.0 * length - folded)
}

/// The weights of the elements around a place, by their coordinates.
fn weights(mode: &str, x: f64) -> Vec<(f64, f64)> {
    let (floor, t) = (x.floor(), x - x.floor());
    let a = -0.75;
    let near = |d: f64| (a + 2.0) * d.powi(3) - (a + 3.0) * d.powi(2) + 1.0;
    let far = |d: f64| a * d.powi(3) - 5.0 * a * d.powi(2) + 8.0 * a * d - 4.0 * a;
    match mode {
        "nearest" => vec![(x, 1.0)],
        "linear" => vec![(floor, 1.0 - t), (floor + 1.0, t)],
        _ => vec![
            (floor - 1.0, far(1.0 + t)),
            (floor, near(t)),
            (floor + 1.0, near(1.0 - t)),
            (floor + 2.0, far(2.0 - t)),
        ],
    }
}

/// One place of one channel, as the definition has it.
fn sample(
    image: &[f64],
    sizes: &[usize],
    grid: &[f64],
    mode: &str,
    padding: &str,
    aligned: bool,
) -> f64 {
    let Some((size, rest)) = sizes.split_first() else {
        return image[0];
    };
    let (&n, outer) = grid.split_last().unwrap();
    let length = f64::from(u32::try_from(*size).unwrap());
    let (low, high) = if aligned {
        (0.0, length - 1.0)
    } else {
        (-0.5, length - 0.5)
    };
    let mut x = if aligned {
        (n + 1.0) / 2.0 * (length - 1.0)
    } else {
        ((n + 1.0) * length - 1.0) / 2.0
    };
    if mode == "nearest" {
        x = x.round_ties_even();
    }
    let inside = |x: f64| match padding {
        "border" if x < low || x > high => x.clamp(0.0, length - 1.0),
        "reflection" => reflected(x, low, high),
        _ => x,
    };
    let plane: usize = rest.iter().product();
    let mut sum = 0.0;
    for (place, weight) in weights(mode, inside(x)) {
        let place = inside(place).trunc();
        if (0.0..length).contains(&place) {
            let index = (0..*size).find(|i| f64::from(u32::try_from(*i).unwrap()) == place);
            let part = &image[index.unwrap() * plane..][..plane];
            sum += weight * sample(part, rest, outer, mode, padding, aligned);
        }
    }
    sum
}

fn numbers(count: usize, step: u32) -> Vec<f64> {
    (0..u32::try_from(count).unwrap())
        .map(|i| f64::from(i * step % 23) / 8.0 - 1.3)
        .collect()
}

#[test]
fn every_mode_agrees_with_the_definition() {
    for (sizes, to) in [
        (&[4, 3][..], &[2, 5][..]),
        (&[1, 5], &[3, 3]),
        (&[3, 2, 4], &[2, 1, 3]),
        (&[5], &[7]),
    ] {
        let rank = sizes.len();
        let (plane, places): (usize, usize) = (sizes.iter().product(), to.iter().product());
        let dims = [&[2, 3], sizes].concat();
        let grid_dims = [&[2], to, &[rank]].concat();
        let (image, grid) = (numbers(6 * plane, 7), numbers(2 * places * rank, 5));
        let out_dims: Vec<_> = [&[2, 3], to].concat();
        let out_dims: Vec<_> = out_dims
            .iter()
            .map(|d| i64::try_from(*d).unwrap())
            .collect();
        for (mode, padding) in MODES.iter().flat_map(|m| PADDINGS.map(|p| (*m, p))) {
            for aligned in [false, true] {
                let mut expected = vec![];
                for channel in 0..6 {
                    for place in 0..places {
                        let at = &grid[(channel / 3 * places + place) * rank..][..rank];
                        let part = &image[channel * plane..][..plane];
                        expected.push(sample(part, sizes, at, mode, padding, aligned));
                    }
                }
                let case = Case::new("GridSample", 22)
                    .input(floats(DType::F64, &dims, &image))
                    .input(floats(DType::F64, &grid_dims, &grid))
                    .string("mode", mode)
                    .string("padding_mode", padding)
                    .int("align_corners", i64::from(aligned));
                case.run()[0].assert_close(&out_dims, &expected, 1e-12);
            }
        }
    }
}

#[test]
fn types_and_names_of_the_first_version() {
    let grid = || f32s(&[1, 1, 2, 2], &[-1.0, -1.0, 0.0, 0.0]);
    for dtype in [DType::F32, DType::F16, DType::BF16] {
        let x = floats(dtype, &[1, 1, 2, 2], &[4.0, 2.0, 3.0, 1.0]);
        let case = Case::new("GridSample", 16).input(x).input(grid());
        let out = case.string("mode", "bilinear").run();
        out[0].assert_close(&[1, 1, 1, 2], &[1.0, 2.5], 0.0);
    }
    for dtype in [DType::I64, DType::U8, DType::Bool] {
        let x = || ints(dtype, &[1, 1, 2, 2], &[1, 0, 0, 1]);
        let case = || Case::new("GridSample", 20).input(x()).input(grid());
        assert_eq!(case().string("mode", "nearest").run()[0].ints(), [1, 1]);
        let reason = Reject::Form("interpolation of this element type");
        assert_eq!(case().reject(), reason);
    }
}

#[test]
fn no_coordinate_reads_outside() {
    let far = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 1e30, -1e30, 3e9];
    let grid: Vec<f32> = far.iter().flat_map(|v| [*v, 0.0]).collect();
    for (mode, padding) in MODES.iter().flat_map(|m| PADDINGS.map(|p| (*m, p))) {
        for aligned in [0, 1] {
            let case = Case::new("GridSample", 20)
                .input(f32s(&[1, 1, 3, 3], &[1.0; 9]))
                .input(f32s(&[1, 1, 6, 2], &grid))
                .string("mode", mode)
                .string("padding_mode", padding)
                .int("align_corners", aligned);
            let out = case.run()[0].floats();
            let other = if padding == "zeros" { 0.0 } else { 1.0 };
            let near = |v: &f64| v.is_nan() || (v - other).abs() < 1e-6;
            assert!(out.iter().all(near), "{mode} {padding}: {out:?}");
        }
    }
}

#[test]
fn empty_images_and_grids() {
    let case = |x: &[usize], grid: &[usize]| {
        let values = vec![0.0; grid.iter().product()];
        Case::new("GridSample", 20)
            .input(f32s(x, &[]))
            .input(f32s(grid, &values))
    };
    let empty = case(&[0, 1, 2, 2], &[0, 3, 3, 2]).run();
    empty[0].assert_close(&[0, 1, 3, 3], &[], 0.0);
    let zeros = case(&[1, 1, 0, 2], &[1, 1, 2, 2]).run();
    zeros[0].assert_close(&[1, 1, 1, 2], &[0.0; 2], 0.0);
    let border = case(&[1, 1, 0, 2], &[1, 1, 2, 2]).string("padding_mode", "border");
    assert!(border.try_run().is_err());
    assert!(case(&[0, 1, 2, 2], &[1, 3, 3, 2]).try_run().is_err());
    assert!(case(&[0, 1, 2, 2], &[0, 3, 3, 3]).try_run().is_err());
}
