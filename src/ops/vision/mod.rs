//! Boxes, regions and sampled images.
mod affine_grid;
mod grid_sample;
mod non_max_suppression;
mod sample;

/// The rows of this family, by file.
pub(super) const FAMILY: &[&[super::OpDef]] =
    &[affine_grid::OPS, grid_sample::OPS, non_max_suppression::OPS];
