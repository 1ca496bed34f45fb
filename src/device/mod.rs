//! MLX behind safe types: the loaded library, the MLX thread, arrays and the calls on them.
mod dtype;
pub(crate) use dtype::{DType, Types};
