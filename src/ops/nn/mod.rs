//! Convolutions, pools, normalisations and resizing.
pub(super) mod conv;
pub(super) mod conv_transpose;
pub(super) mod global_pool;
pub(super) mod pool;
mod window;
