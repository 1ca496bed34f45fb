//! Convolutions, pools, normalisations and resizing.
pub(super) mod batch_norm;
pub(super) mod conv;
pub(super) mod conv_transpose;
pub(super) mod global_pool;
pub(super) mod group_norm;
pub(super) mod layer_norm;
pub(super) mod lp_norm;
pub(super) mod pool;
pub(super) mod resize;
mod window;
