//! Convolutions, pools, normalisations and resizing.
pub(super) mod conv;
mod window;
