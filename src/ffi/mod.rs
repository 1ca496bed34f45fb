//! Foreign declarations: the subsets of mlx-c and of the ONNX Runtime EP ABI that this crate uses.
pub(crate) mod mlx;
pub(crate) mod ort;
