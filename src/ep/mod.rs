//! The execution provider as ONNX Runtime sees it.
//!
//! ONNX Runtime calls in this order; each row names the file that answers.
//!
//! | call | file |
//! |---|---|
//! | `CreateEpFactories`, `ReleaseEpFactory` | this one, then `factory` |
//! | `OrtEpFactory`: `GetSupportedDevices`, `CreateEp`, `ReleaseEp` | `factory`, `options` |
//! | `OrtEp::GetCapability` (innermost graph first, may repeat) | `provider`, `import`, `claim`, `partition` |
//! | `OrtEp::Compile` (right after it, per graph) | `provider`, `import`, then `ops::Program` |
//! | `OrtEp::OnSessionInitializationEnd` (1.27 and newer) | `provider`, `placement` |
//! | `OrtNodeComputeInfo::Compute` (any thread, concurrently) | `compute`, `bind`, then `ops::Loaded` |
//! | `OrtEp::ReleaseNodeComputeInfos` | `provider`, `compute` |
//!
//! `abi` holds the boundary itself: statuses, panics and the objects behind C tables. `api` is the host's side of it.
mod abi;
mod api;
mod bind;
mod claim;
mod compute;
mod factory;
mod import;
mod log;
mod options;
mod partition;
mod placement;
mod process;
mod provider;

use crate::error::Error;
use crate::ffi::ort::api::OrtApiBase;
use crate::ffi::ort::plugin::OrtEpFactory;
use crate::ffi::ort::types::{OrtLogger, OrtStatus};
use api::Api;
use std::ffi::CStr;

/// The name of this execution provider, whatever it is registered as.
const C_NAME: &CStr = c"MLXExecutionProvider";
const NAME: &str = "MLXExecutionProvider";

/// The version, in strict SemVer: ONNX Runtime refuses other spellings.
const C_VERSION: &CStr =
    match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
        Ok(version) => version,
        Err(_) => c"0.0.0",
    };

/// The body of the exported `CreateEpFactories`.
///
/// # Safety
/// 1. `base` is null or the `OrtApiBase` of a host that is not unloaded while this process uses the plugin.
/// 2. If the host is 1.23 or newer, the other arguments are as its header says.
pub(crate) unsafe fn create_factories(
    base: *const OrtApiBase,
    default_logger: *const OrtLogger,
    factories: *mut *mut OrtEpFactory,
    max_factories: usize,
    num_factories: *mut usize,
) -> *mut OrtStatus {
    // SAFETY: the caller's promise (1).
    let api = match abi::quiet(Err(std::ptr::null_mut()), || unsafe { Api::of_host(base) }) {
        Ok(api) => api,
        Err(status) => return status,
    };
    api.guard(|| {
        if factories.is_null() || num_factories.is_null() || max_factories == 0 {
            return Err(Error::invalid(
                "CreateEpFactories got no place for a factory",
            ));
        }
        // SAFETY: the host's variable for the count (2), not null.
        unsafe { num_factories.write(0) };
        // SAFETY: the host keeps its default logger as long as the factory is registered (2).
        let factory = unsafe { factory::create(api, default_logger) }?;
        // SAFETY: the host has room for `max_factories` factories (2), at least one.
        unsafe { factories.write(factory) };
        // SAFETY: the host's variable for the count (2), not null.
        unsafe { num_factories.write(1) };
        Ok(())
    })
}

/// The body of the exported `ReleaseEpFactory`.
///
/// # Safety
/// 1. `factory` is null or came from [`create_factories`].
pub(crate) unsafe fn release_factory(factory: *mut OrtEpFactory) -> *mut OrtStatus {
    abi::quiet((), || {
        // SAFETY: the caller's promise (1).
        unsafe { factory::release(factory) };
    });
    std::ptr::null_mut()
}
