//! Convolutions, pools, normalisations and resizing.
mod batch_norm;
mod col2im;
mod conv;
mod conv_transpose;
mod deform_conv;
mod global_pool;
mod group_norm;
mod layer_norm;
mod lp_norm;
mod max_unpool;
mod overlap;
mod pool;
mod resize;
mod window;

/// The rows of this family, by file.
pub(super) const FAMILY: &[&[super::OpDef]] = &[
    batch_norm::OPS,
    col2im::OPS,
    conv::OPS,
    conv_transpose::OPS,
    deform_conv::OPS,
    global_pool::OPS,
    group_norm::OPS,
    layer_norm::OPS,
    lp_norm::OPS,
    max_unpool::OPS,
    pool::OPS,
    resize::OPS,
];
