//! The sizes that a Resize node asks for.
use super::coordinates::Axis;
use crate::error::{Error, Result};

/// What `keep_aspect_ratio_policy` makes of sizes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Policy {
    #[default]
    Stretch,
    NotLarger,
    NotSmaller,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Target {
    /// The axes that scales, sizes and the crop are given for; all by default.
    pub(super) axes: Option<Vec<i64>>,
    pub(super) policy: Policy,
    /// Whether the input is cropped first.
    pub(super) crops: bool,
}

/// What the node is given.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Given {
    Scales(Vec<f32>),
    Sizes(Vec<i64>),
}

impl Target {
    /// One entry per axis of the input. `crop` holds the starts, then the ends, of the axes that are given.
    pub(super) fn axes(&self, dims: &[usize], given: &Given, crop: &[f64]) -> Result<Vec<Axis>> {
        let rank = dims.len();
        let named = match &self.axes {
            Some(axes) => axes
                .iter()
                .map(|a| crate::ops::axis(*a, rank))
                .collect::<Result<Vec<_>>>()?,
            None => (0..rank).collect(),
        };
        let (count, what) = match given {
            Given::Scales(s) => (s.len(), "scales"),
            Given::Sizes(s) => (s.len(), "sizes"),
        };
        if count != named.len() {
            return Err(Error::invalid(format!(
                "{count} {what} are given for {} axes",
                named.len()
            )));
        }
        if self.crops && crop.len() != 2 * count {
            return Err(Error::invalid(format!(
                "the crop has {} bounds for {count} axes",
                crop.len()
            )));
        }
        let whole = |size: &usize| Axis {
            size: *size,
            out: *size,
            scale: 1.0,
            crop: (0.0, 1.0),
        };
        let mut axes: Vec<_> = dims.iter().map(whole).collect();
        for (position, axis) in named.iter().enumerate() {
            #[expect(
                clippy::cast_possible_truncation,
                reason = "ONNX Runtime computes places in float"
            )]
            if self.crops {
                axes[*axis].crop = (crop[position] as f32, crop[position + count] as f32);
            }
        }
        match given {
            Given::Scales(scales) => {
                for (axis, scale) in named.iter().zip(scales) {
                    by_scale(&mut axes[*axis], *scale)?;
                }
            }
            Given::Sizes(sizes) => {
                let sizes = self.sizes(dims, &named, sizes)?;
                for (axis, (out, scale)) in named.iter().zip(sizes) {
                    let axis = &mut axes[*axis];
                    (axis.out, axis.scale) = (out, scale);
                }
            }
        }
        Ok(axes)
    }

    /// The size and scale of each named axis.
    #[expect(
        clippy::cast_precision_loss,
        reason = "ONNX Runtime computes scales in float"
    )]
    fn sizes(&self, dims: &[usize], named: &[usize], sizes: &[i64]) -> Result<Vec<(usize, f32)>> {
        let positive = |s: &i64| {
            let size = usize::try_from(*s).ok();
            size.ok_or_else(|| Error::invalid(format!("size {s} is negative")))
        };
        let sizes = sizes.iter().map(positive).collect::<Result<Vec<_>>>()?;
        let ratio = |(axis, size): (&usize, &usize)| *size as f32 / dims[*axis] as f32;
        let ratios: Vec<f32> = named.iter().zip(&sizes).map(ratio).collect();
        let common = match self.policy {
            Policy::Stretch => return Ok(sizes.into_iter().zip(ratios).collect()),
            Policy::NotLarger => ratios.iter().copied().fold(f32::INFINITY, f32::min),
            Policy::NotSmaller => ratios.iter().copied().fold(0.0, f32::max),
        };
        let scaled = |axis: &usize| Ok((count((common * dims[*axis] as f32).round())?, common));
        named.iter().map(scaled).collect()
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "ONNX Runtime computes sizes in float"
)]
fn by_scale(axis: &mut Axis, scale: f32) -> Result<()> {
    if scale.is_nan() || scale <= 0.0 {
        return Err(Error::invalid(format!("scale {scale} is not positive")));
    }
    let (start, end) = axis.crop;
    axis.scale = scale;
    axis.out = count((axis.size as f32 * (end - start) * scale).floor())?;
    Ok(())
}

fn count(value: f32) -> Result<usize> {
    let limit = 2f32.powi(31);
    if !(0.0..limit).contains(&value) {
        return Err(Error::invalid(format!(
            "an axis cannot have {value} elements"
        )));
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a whole number from 0 to 2^31, checked above"
    )]
    Ok(value as usize)
}
