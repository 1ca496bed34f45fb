//! Foreign declarations: the subsets of mlx-c and of the ONNX Runtime EP ABI that this crate uses.
//!
//! Every foreign name stands in one place. `library.rs` and `table.rs` hold the macros that expand it; tests hold the
//! declarations against mlx-c's headers and the facts of the ABI, which replaces a binding generator.
pub(crate) mod library;
pub(crate) mod load;
pub(crate) mod mlx;
pub(crate) mod ort;
pub(crate) mod table;
