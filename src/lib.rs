//! ONNX Runtime plugin execution provider that runs ONNX models on Apple's MLX.
#[allow(
    dead_code,
    reason = "the operations of MLX are declared whole, operators use a part"
)]
mod device;
mod error;
#[allow(
    dead_code,
    reason = "foreign declarations are written whole, callers use a part"
)]
mod ffi;
#[forbid(unsafe_code)]
#[allow(dead_code, reason = "what the execution provider does not call yet")]
mod ops;
