//! `OrtNodeComputeInfo`: a fused node that runs.
use super::abi::{Interface, null_object};
use super::api::Api;
use super::bind::{Context, Declared};
use super::log::Logger;
use crate::device::Session;
use crate::error::{Error, Result};
use crate::ffi::ort::plugin::OrtNodeComputeInfo;
use crate::ffi::ort::types::{OrtKernelContext, OrtNodeComputeContext, OrtStatus};
use crate::ops::Loaded;
use crate::ops::ir::Graph;
use std::ffi::c_void;
use std::sync::Arc;

/// A compiled cluster.
pub(super) struct Kernel {
    api: Api,
    logger: Logger,
    inputs: Vec<Declared>,
    loaded: Loaded,
    /// Goes after the constants.
    _session: Arc<Session>,
}

impl Kernel {
    /// `graph` is the one that `loaded` was planned from.
    pub(super) fn new(
        api: Api,
        logger: Logger,
        session: Arc<Session>,
        graph: &Graph,
        loaded: Loaded,
    ) -> Result<Self> {
        let declared = graph.inputs.iter().map(|id| {
            let value = graph.value(*id);
            Declared::of(value)
                .ok_or_else(|| Error::internal(format!("input '{}' is no tensor", value.name)))
        });
        Ok(Self {
            api,
            logger,
            inputs: declared.collect::<Result<_>>()?,
            loaded,
            _session: session,
        })
    }

    pub(super) fn hand_out(self) -> *mut OrtNodeComputeInfo {
        let table = OrtNodeComputeInfo {
            CreateState: Some(create_state),
            Compute: Some(compute),
            ReleaseState: Some(release_state),
            ..OrtNodeComputeInfo::EMPTY
        };
        Interface::hand_out(table, self)
    }

    /// # Safety
    /// 1. `this` is null or came from [`Kernel::hand_out`].
    /// 2. Nobody uses it any more.
    pub(super) unsafe fn release(this: *mut OrtNodeComputeInfo) {
        // SAFETY: objects of this table are handed out with a `Kernel` only (1), and it is not used again (2).
        unsafe { Interface::<OrtNodeComputeInfo, Self>::release(this) };
    }

    fn run(&self, context: Context<'_>) -> Result<()> {
        let outputs = context.with_inputs(&self.inputs, |inputs| self.loaded.run(inputs))?;
        outputs
            .iter()
            .enumerate()
            .try_for_each(|(index, output)| context.write(index, output))
    }
}

/// The kernel behind the table that a callback got.
///
/// # Safety
/// 1. `this` is null or came from [`Kernel::hand_out`] and is not released within `'a`.
unsafe fn kernel<'a>(this: *mut OrtNodeComputeInfo) -> Option<&'a Kernel> {
    // SAFETY: objects of this table are handed out with a `Kernel` only, and this one lives for 'a (1).
    unsafe { Interface::<OrtNodeComputeInfo, Kernel>::body(this) }
}

/// # Safety
/// 1. ONNX Runtime calls it, with arguments as its header says.
unsafe extern "system" fn create_state(
    this: *mut OrtNodeComputeInfo,
    _context: *mut OrtNodeComputeContext,
    state: *mut *mut c_void,
) -> *mut OrtStatus {
    // SAFETY: ONNX Runtime calls back with an object of ours that it has not released (1).
    let Some(kernel) = (unsafe { kernel(this) }) else {
        return null_object("OrtNodeComputeInfo");
    };
    kernel.api.guard(|| {
        // SAFETY: null or ONNX Runtime's variable for the state.
        let state = unsafe { state.as_mut() }
            .ok_or_else(|| Error::internal("CreateState got no place for a state"))?;
        // All state is in the kernel, which may run concurrently.
        *state = this.cast();
        Ok(())
    })
}

/// # Safety
/// 1. ONNX Runtime calls it, with arguments as its header says.
unsafe extern "system" fn compute(
    this: *mut OrtNodeComputeInfo,
    _state: *mut c_void,
    context: *mut OrtKernelContext,
) -> *mut OrtStatus {
    // SAFETY: ONNX Runtime calls back with an object of ours that it has not released (1).
    let Some(kernel) = (unsafe { kernel(this) }) else {
        return null_object("OrtNodeComputeInfo");
    };
    kernel.logger.scope(|| {
        kernel.api.guard(|| {
            // SAFETY: the context is that of this call.
            let context = unsafe { Context::new(&kernel.api, context) }?;
            kernel.run(context)
        })
    })
}

/// # Safety
/// 1. ONNX Runtime calls it, with arguments as its header says.
unsafe extern "system" fn release_state(_this: *mut OrtNodeComputeInfo, _state: *mut c_void) {
    // The state is the kernel itself.
}
