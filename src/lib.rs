//! ONNX Runtime plugin execution provider that runs ONNX models on Apple's MLX.
#[allow(dead_code, reason = "foreign declarations are written whole, callers use a part")]
mod ffi;
mod error;
