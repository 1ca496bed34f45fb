//! Foreign declarations: the subsets of mlx-c and of the ONNX Runtime EP ABI that this crate uses.
pub(crate) mod library;
pub(crate) mod load;
pub(crate) mod mlx;
pub(crate) mod ort;
