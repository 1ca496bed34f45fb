//! `RoiAlign`. The regions are read on the host: how many samples a bin takes may depend on them.
use super::regions::{Combine, Cut, Region, Tap, combined, floats, image};
use crate::device::{DType, Emit};
use crate::error::{Error, Result};
use crate::ops::host::round_to;
use crate::ops::reduce::accumulator;
use crate::ops::{Inputs, NodeRef, OpDef, Planned, lower, op};

pub(in crate::ops) const OPS: &[OpDef] = &[
    op!("RoiAlign", 10..=15, [FLOAT64, FLOAT64, I64], |node| {
        roi_align(node, false)
    }),
    op!("RoiAlign", 16.., [FLOAT64, FLOAT64, I64], |node| {
        let mode = node.string_or("coordinate_transformation_mode", "half_pixel")?;
        match mode {
            "half_pixel" => roi_align(node, true),
            "output_half_pixel" => roi_align(node, false),
            _ => node.bad_attribute("coordinate_transformation_mode"),
        }
    }),
];

/// How regions are cut.
#[derive(Debug, Clone, Copy)]
struct Form {
    combine: Combine,
    half_pixel: bool,
    /// Bins along an axis: rows, then columns.
    bins: [usize; 2],
    /// Samples of a bin along an axis; 0 takes as many as there are elements.
    samples: usize,
    scale: f64,
}

fn roi_align(node: &NodeRef<'_>, half_pixel: bool) -> Planned {
    let dtype = node.dtype(0)?;
    let combine = match node.string_or("mode", "avg")? {
        "avg" => Combine::Sum,
        "max" => Combine::Max,
        _ => return node.bad_attribute("mode"),
    };
    let count =
        |name: &str, default: i64, least: usize| match usize::try_from(node.int_or(name, default)?)
        {
            Ok(count) if count >= least => Ok(count),
            _ => node.bad_attribute(name),
        };
    let form = Form {
        combine,
        half_pixel,
        bins: [count("output_height", 1, 1)?, count("output_width", 1, 1)?],
        samples: count("sampling_ratio", 0, 0)?,
        scale: f64::from(node.float_or("spatial_scale", 1.0)?),
    };
    let plan = lower(move |cx, x| {
        let (input, dims) = (x.array(0)?, x.dims(0)?);
        let (&[batch, channels, height, width], &[count, 4]) = (dims, x.dims(1)?) else {
            return Err(shapes(x)?);
        };
        if *x.dims(2)? != [count] {
            return Err(shapes(x)?);
        }
        let out = [count, channels, form.bins[0], form.bins[1]];
        let indices = x.bytes(2)?;
        let indices = indices.as_chunks().0.iter().map(|b| i64::from_le_bytes(*b));
        let images = indices
            .map(|i| image(i, batch))
            .collect::<Result<Vec<_>>>()?;
        if out.contains(&0) {
            return cx.zeros(&out, dtype);
        }
        if input.size() == 0 {
            return Err(Error::invalid(format!(
                "input 0 of shape {dims:?} has no elements to take"
            )));
        }
        let rois = floats(x, 1)?;
        let rois = rois.as_chunks().0.iter().zip(images);
        let regions = rois.map(|(roi, image)| form.region(cx, roi, image, [height, width], dtype));
        let regions = regions.collect::<Result<Vec<_>>>()?;
        let wide = cx.astype(input, accumulator(dtype))?;
        cx.astype(&combined(cx, &wide, &regions, form.combine)?, dtype)
    })?;
    Ok(plan.reads(&[1, 2]))
}

fn shapes(x: &Inputs<'_>) -> Result<Error> {
    Ok(Error::invalid(format!(
        "inputs must have the shapes [N, C, H, W], [regions, 4] and [regions], found {:?}, {:?} and {:?}",
        x.dims(0)?,
        x.dims(1)?,
        x.dims(2)?
    )))
}

#[expect(
    clippy::cast_precision_loss,
    reason = "axes have less than 2^31 elements"
)]
impl Form {
    /// A region by its corners x1, y1, x2, y2.
    fn region(
        &self,
        cx: &Emit,
        &[x1, y1, x2, y2]: &[f64; 4],
        image: usize,
        sizes: [usize; 2],
        dtype: DType,
    ) -> Result<Region> {
        // Where a bin's samples end is decided in the type of the regions, 16-bit ones in float.
        let round = |v: f64| round_to(accumulator(dtype), v);
        let offset = if self.half_pixel { 0.5 } else { 0.0 };
        let scaled = |v: f64| round(round(v * self.scale) - offset);
        let cut = |axis: usize, start: f64, end: f64| {
            let (start, bins) = (scaled(start), self.bins[axis] as f64);
            let mut length = round(scaled(end) - start);
            if !self.half_pixel {
                length = length.max(1.0);
            }
            let bin = round(length / bins);
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "a count that saturates, and none where there is no length"
            )]
            let samples = match self.samples {
                0 => bin.ceil() as usize,
                samples => samples,
            };
            let all = samples.saturating_mul(self.bins[axis]);
            cx.fits("the samples of a region", all, 64)?;
            let sample = |b: usize, i: usize| {
                let within = round(round((i as f64 + 0.5) * bin) / samples as f64);
                let place = round(round(start + round(b as f64 * bin)) + within);
                self.around(place, sizes[axis], samples)
            };
            let of = |b: usize| (0..samples).flat_map(|i| sample(b, i)).collect();
            let bins = (0..self.bins[axis]).map(of).collect();
            Ok::<_, Error>(Cut { bins })
        };
        Ok(Region {
            image,
            rows: cut(0, y1, y2)?,
            columns: cut(1, x1, x2)?,
        })
    }

    /// The two elements around a sample; nothing of them further than one element outside.
    fn around(&self, place: f64, size: usize, samples: usize) -> [Tap; 2] {
        if place < -1.0 || place > size as f64 {
            return [(0, 0.0); 2];
        }
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "neither negative nor beyond the axis"
        )]
        let low = (place.max(0.0) as usize).min(size - 1);
        let high = (low + 1).min(size - 1);
        let after = if low == high {
            0.0
        } else {
            place.max(0.0) - low as f64
        };
        let share = match self.combine {
            Combine::Sum => samples as f64,
            Combine::Max => 1.0,
        };
        [(low, (1.0 - after) / share), (high, after / share)]
    }
}

#[cfg(test)]
mod tests;
