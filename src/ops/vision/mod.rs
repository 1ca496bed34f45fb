//! Boxes, regions and sampled images.
mod non_max_suppression;

/// The rows of this family, by file.
pub(super) const FAMILY: &[&[super::OpDef]] = &[non_max_suppression::OPS];
