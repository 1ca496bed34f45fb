//! Boxes, regions and sampled images.
mod affine_grid;
mod grid_sample;
mod max_roi_pool;
mod non_max_suppression;
mod regions;
mod roi_align;
mod sample;

pub(in crate::ops) use sample::{Beyond, Images, Method};

/// The rows of this family, by file.
pub(super) const FAMILY: &[&[super::OpDef]] = &[
    affine_grid::OPS,
    grid_sample::OPS,
    max_roi_pool::OPS,
    non_max_suppression::OPS,
    roi_align::OPS,
];
