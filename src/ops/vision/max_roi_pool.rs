//! `MaxRoiPool`.
use super::regions::{Combine, Cut, Region, combined, floats, image};
use crate::error::{Error, Result};
use crate::ops::host::round_to;
use crate::ops::reduce::accumulator;
use crate::ops::{NodeRef, OpDef, Planned, Reject, lower, op};

pub(in crate::ops) const OPS: &[OpDef] = &[op!("MaxRoiPool", 1.., [FLOAT64], max_roi_pool)];

fn max_roi_pool(node: &NodeRef<'_>) -> Planned {
    let dtype = node.dtype(0)?;
    let bins = match node.ints("pooled_shape")? {
        Some([h, w]) => [*h, *w].map(|n| usize::try_from(n).unwrap_or(0)),
        _ => [0; 2],
    };
    if bins.contains(&0) {
        return Err(Reject::Attribute("pooled_shape".into()));
    }
    let scale = f64::from(node.float_or("spatial_scale", 1.0)?);
    let plan = lower(move |cx, x| {
        let (input, dims) = (x.array(0)?, x.dims(0)?);
        let (&[batch, channels, height, width], &[count, 5]) = (dims, x.dims(1)?) else {
            return Err(Error::invalid(format!(
                "inputs must have the shapes [N, C, H, W] and [regions, 5], found {dims:?} and {:?}",
                x.dims(1)?
            )));
        };
        let out = [count, channels, bins[0], bins[1]];
        let rois = floats(x, 1)?;
        let region = |&[index, x1, y1, x2, y2]: &[f64; 5]| {
            #[expect(clippy::cast_possible_truncation, reason = "it is checked")]
            let image = image(index as i64, batch)?;
            let round = |v: f64| round_to(accumulator(dtype), v);
            let place = |v: f64| round(v * scale).round();
            Ok(Region {
                image,
                rows: cut(place(y1), place(y2), bins[0], height, round),
                columns: cut(place(x1), place(x2), bins[1], width, round),
            })
        };
        let regions = rois.as_chunks().0.iter().map(region);
        let regions = regions.collect::<Result<Vec<_>>>()?;
        if out.contains(&0) || input.size() == 0 {
            return cx.zeros(&out, dtype);
        }
        combined(cx, input, &regions, Combine::Max)
    })?;
    Ok(plan.reads(&[1]))
}

/// The bins of a region from its first to its last element; what lies outside of the axis is left out.
#[expect(
    clippy::cast_precision_loss,
    reason = "axes have less than 2^31 elements"
)]
fn cut(first: f64, last: f64, bins: usize, size: usize, round: impl Fn(f64) -> f64) -> Cut {
    let length = (last - first + 1.0).max(1.0);
    let bin = round(length / bins as f64);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "clamped to the axis"
    )]
    let inside = |v: f64| (v + first).clamp(0.0, size as f64) as usize;
    let of = |b: usize| {
        let (from, to) = (
            round(b as f64 * bin).floor(),
            round((b as f64 + 1.0) * bin).ceil(),
        );
        (inside(from)..inside(to)).map(|i| (i, 1.0)).collect()
    };
    Cut {
        bins: (0..bins).map(of).collect(),
    }
}

#[cfg(test)]
mod tests {
    use crate::device::DType;
    use crate::ops::Reject;
    use crate::ops::testing::{Case, floats};

    fn case(dtype: DType, rois: &[f64]) -> Case {
        let image: Vec<f64> = (0..24).map(|i| f64::from(i * 7 % 24) - 12.0).collect();
        Case::new("MaxRoiPool", 22)
            .input(floats(dtype, &[1, 1, 4, 6], &image))
            .input(floats(dtype, &[rois.len() / 5, 5], rois))
            .ints("pooled_shape", &[2, 2])
    }

    // -12  -5   2   9  -8  -1
    //   6 -11  -4   3  10  -7
    //   0   7 -10  -3   4  11
    //  -6   1   8  -9  -2   5
    #[test]
    fn the_largest_of_each_bin() {
        for dtype in [DType::F32, DType::F64, DType::F16, DType::BF16] {
            // Bins of one and a half elements overlap; corners are rounded, and those outside left out.
            let rois = [0.0, 1.0, 0.0, 3.0, 2.0, 0.0, 3.6, 2.5, 9.0, 9.0];
            let out = case(dtype, &rois).run();
            let expected = [2.0, 9.0, 7.0, 3.0, 5.0, 0.0, 0.0, 0.0];
            out[0].assert_close(&[2, 1, 2, 2], &expected, 0.0);
        }
        let scaled = case(DType::F32, &[0.0, 2.0, 0.0, 6.0, 4.0]).float("spatial_scale", 0.5);
        scaled.run()[0].assert_close(&[1, 1, 2, 2], &[2.0, 9.0, 7.0, 3.0], 0.0);
    }

    #[test]
    fn no_regions_and_bad_ones() {
        case(DType::F32, &[]).run()[0].assert_close(&[0, 1, 2, 2], &[], 0.0);
        for image in [1.0, -1.0] {
            let error = case(DType::F32, &[image, 0.0, 0.0, 1.0, 1.0]).try_run();
            assert!(error.err().expect("it fails").to_string().contains("image"));
        }
        let bare = Case::new("MaxRoiPool", 1).input(floats(DType::F32, &[1, 1, 1, 1], &[0.0]));
        let reject = bare.input(floats(DType::F32, &[0, 5], &[])).reject();
        assert_eq!(reject, Reject::Attribute("pooled_shape".into()));
    }
}
