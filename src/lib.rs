//! ONNX Runtime plugin execution provider that runs ONNX models on Apple's MLX.
#[allow(
    dead_code,
    reason = "the operations of MLX are declared whole, operators use a part"
)]
mod device;
mod ep;
mod error;
#[allow(
    dead_code,
    reason = "foreign declarations are written whole, callers use a part"
)]
mod ffi;
mod log_scope;
#[forbid(unsafe_code)]
#[allow(dead_code, reason = "what the execution provider does not call yet")]
mod ops;

use ffi::ort::api::OrtApiBase;
use ffi::ort::plugin::OrtEpFactory;
use ffi::ort::types::{OrtLogger, OrtStatus};
use std::ffi::c_char;

/// Called by ONNX Runtime when the library is registered.
///
/// # Safety
/// 1. The arguments are those that ONNX Runtime's header says of this function, in the host's own version of it.
#[unsafe(no_mangle)]
#[allow(
    non_snake_case,
    private_interfaces,
    reason = "the name and the types are ONNX Runtime's"
)]
pub unsafe extern "system" fn CreateEpFactories(
    _registration_name: *const c_char,
    ort_api_base: *const OrtApiBase,
    default_logger: *const OrtLogger,
    factories: *mut *mut OrtEpFactory,
    max_factories: usize,
    num_factories: *mut usize,
) -> *mut OrtStatus {
    // SAFETY: the arguments are the host's, as the caller says (1).
    unsafe {
        ep::create_factories(
            ort_api_base,
            default_logger,
            factories,
            max_factories,
            num_factories,
        )
    }
}

/// Called by ONNX Runtime when the library is unregistered.
///
/// # Safety
/// 1. `factory` is one that `CreateEpFactories` gave.
#[unsafe(no_mangle)]
#[allow(
    non_snake_case,
    private_interfaces,
    reason = "the name and the types are ONNX Runtime's"
)]
pub unsafe extern "system" fn ReleaseEpFactory(factory: *mut OrtEpFactory) -> *mut OrtStatus {
    // SAFETY: the factory is one of ours, as the caller says (1).
    unsafe { ep::release_factory(factory) }
}
