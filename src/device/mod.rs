//! MLX behind safe types: the loaded library, the MLX thread, arrays and the calls on them.
//!
//! Everything that touches an array happens in a job on the MLX thread ([`on_thread`]). Unsafe code of this folder
//! calls mlx-c through the declarations of `ffi::mlx`; nothing above it sees a handle.
mod array;
mod call;
mod dtype;
mod emit;
mod evaluate;
pub(crate) mod float;
mod owned;
mod platform;
mod thread;

pub(crate) use array::Array;
pub(crate) use dtype::{DType, Types};
pub(crate) use emit::{Conv, Emit, Scatter};
pub(crate) use evaluate::Evaluated;
pub(crate) use owned::{OnThread, Session};
pub(crate) use thread::{Thread, on_thread, panicked};

use crate::error::{Error, Result};
use crate::ffi::load;
use crate::ffi::mlx::types::{mlx_device, mlx_device_info, mlx_device_type};
use crate::ffi::mlx::{Features, Mlx};
use std::ffi::CStr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

/// Where a program runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub(crate) enum DeviceKind {
    Cpu = 1,
    Gpu = 2,
}

/// What the environment says of libmlxc.
#[derive(Debug, Clone, Default)]
pub(crate) struct Settings {
    /// A file to load instead of searching.
    pub(crate) libmlxc: Option<PathBuf>,
    /// Accept a libmlxc that this crate was not tested with.
    pub(crate) allow_untested: bool,
}

/// The GPU that MLX drives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct GpuInfo {
    /// "Metal" or "CUDA".
    pub(crate) backend: &'static str,
    pub(crate) name: String,
    /// 0 where MLX does not say.
    pub(crate) memory_bytes: u64,
}

/// The opened libmlxc. It stays for the life of the process.
pub(crate) struct Runtime {
    mlx: Mlx,
    gpu: Option<GpuInfo>,
    /// Bits of the [`DeviceKind`]s on which something was evaluated.
    evaluated: AtomicU8,
}

static RUNTIME: OnceLock<Runtime> = OnceLock::new();

/// Opens libmlxc, once per process. A failure is not kept: a later call searches again.
pub(crate) fn open(settings: &Settings) -> Result<&'static Runtime> {
    static OPENING: Mutex<()> = Mutex::new(());
    let _opening = OPENING.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(runtime) = RUNTIME.get() {
        return Ok(runtime);
    }
    let mlx = load::load(settings.libmlxc.as_deref(), settings.allow_untested)?;
    call::install_handler(&mlx);
    let gpu = find_gpu(&mlx);
    Ok(RUNTIME.get_or_init(|| Runtime {
        mlx,
        gpu,
        evaluated: AtomicU8::new(0),
    }))
}

/// The runtime that [`open`] made.
fn runtime() -> Result<&'static Runtime> {
    RUNTIME
        .get()
        .ok_or_else(|| Error::internal("libmlxc is not open"))
}

/// Keeps our own library in the process: ONNX Runtime calls into it after it unloads it.
pub(crate) fn pin_library() -> Result<()> {
    Ok(load::pin_self()?)
}

impl Runtime {
    /// The version of MLX itself; mlx-c has none of its own.
    pub(crate) fn mlx_version(&self) -> &str {
        &self.mlx.version
    }

    /// The libmlxc that was opened.
    pub(crate) fn path(&self) -> &Path {
        &self.mlx.path
    }

    pub(crate) fn gpu(&self) -> Option<&GpuInfo> {
        self.gpu.as_ref()
    }

    /// The device of a session that does not ask for one.
    pub(crate) fn preferred(&self) -> DeviceKind {
        if self.gpu.is_some() {
            DeviceKind::Gpu
        } else {
            DeviceKind::Cpu
        }
    }

    /// What a user should know of the library that was opened.
    pub(crate) fn warnings(&self) -> &[String] {
        &self.mlx.warnings
    }

    fn clear_streams(&self) {
        if self.evaluated.load(Ordering::Acquire) != 0
            && self.mlx.features.contains(Features::CLEAR_STREAMS)
        {
            // SAFETY: called on the MLX thread as its last use of MLX.
            let code = unsafe { self.mlx.mlx_clear_streams() };
            if code.is_some_and(|c| c != 0) {
                log::debug!("{}", call::failure("mlx_clear_streams"));
            }
        }
    }

    /// Gives the memory back that MLX keeps for reuse.
    fn clear_cache(&self) {
        // SAFETY: called on the MLX thread; the call has no other precondition.
        if unsafe { self.mlx.mlx_clear_cache() } != 0 {
            log::debug!("{}", call::failure("mlx_clear_cache"));
        }
    }

    /// Notes an evaluation, and registers the exit handler after the first on each device.
    fn note_evaluation(&self, kind: DeviceKind) {
        let bit = kind as u8;
        if self.evaluated.load(Ordering::Relaxed) & bit == 0 {
            self.evaluated.fetch_or(bit, Ordering::AcqRel);
            thread::first_evaluation();
        }
    }
}

fn find_gpu(mlx: &Mlx) -> Option<GpuInfo> {
    let mut metal = false;
    // SAFETY: the out parameter is a live bool.
    unsafe { mlx.mlx_metal_is_available(&raw mut metal) };
    let mut cuda = false;
    // SAFETY: the out parameter is a live bool.
    unsafe { mlx.mlx_cuda_is_available(&raw mut cuda) };
    let backend = match (metal, cuda) {
        (true, _) => "Metal",
        (_, true) => "CUDA",
        _ => return None,
    };
    // SAFETY: the constructor takes any type and index.
    let device = unsafe { mlx.mlx_device_new_type(mlx_device_type::MLX_GPU, 0) };
    let info = describe(mlx, device, backend);
    // SAFETY: `device` is live and not used again.
    unsafe { mlx.mlx_device_free(device) };
    Some(info)
}

fn describe(mlx: &Mlx, device: mlx_device, backend: &'static str) -> GpuInfo {
    // SAFETY: the constructor has no precondition.
    let mut info = unsafe { mlx.mlx_device_info_new() };
    // SAFETY: both handles are live.
    let code = unsafe { mlx.mlx_device_info_get(&raw mut info, device) };
    let (mut name, mut memory_bytes) = (None, 0);
    if code == 0 {
        name = info_string(mlx, info, c"device_name")
            .or_else(|| info_string(mlx, info, c"architecture"));
        memory_bytes = info_size(mlx, info, c"memory_size")
            .or_else(|| info_size(mlx, info, c"total_memory"))
            .unwrap_or(0);
    }
    // SAFETY: `info` is live and not used again.
    unsafe { mlx.mlx_device_info_free(info) };
    GpuInfo {
        backend,
        name: name.unwrap_or_else(|| backend.to_owned()),
        memory_bytes,
    }
}

fn has_key(mlx: &Mlx, info: mlx_device_info, key: &CStr) -> bool {
    let mut exists = false;
    // SAFETY: the handle is live, the key NUL-terminated.
    let code = unsafe { mlx.mlx_device_info_has_key(&raw mut exists, info, key.as_ptr()) };
    code == 0 && exists
}

fn info_string(mlx: &Mlx, info: mlx_device_info, key: &CStr) -> Option<String> {
    let mut value = std::ptr::null();
    if !has_key(mlx, info, key) {
        return None;
    }
    // SAFETY: the handle is live, the key NUL-terminated.
    let code = unsafe { mlx.mlx_device_info_get_string(&raw mut value, info, key.as_ptr()) };
    if code != 0 || value.is_null() {
        return None;
    }
    // SAFETY: mlx-c gave a NUL-terminated string that lives as long as `info`.
    let text = unsafe { CStr::from_ptr(value) };
    Some(text.to_string_lossy().into_owned())
}

fn info_size(mlx: &Mlx, info: mlx_device_info, key: &CStr) -> Option<u64> {
    let mut value = 0usize;
    if !has_key(mlx, info, key) {
        return None;
    }
    // SAFETY: the handle is live, the key NUL-terminated.
    let code = unsafe { mlx.mlx_device_info_get_size(&raw mut value, info, key.as_ptr()) };
    if code == 0 {
        u64::try_from(value).ok()
    } else {
        None
    }
}

#[cfg(test)]
pub(crate) mod testing {
    //! Tests that compute need a libmlxc; they fail without one.
    use super::{Runtime, Settings, open as open_runtime};

    #[expect(
        clippy::disallowed_methods,
        reason = "tests are told by the environment which libmlxc to use"
    )]
    pub(crate) fn open() -> &'static Runtime {
        let path = std::env::var_os("ONNXRUNTIME_EP_MLX_LIBMLXC");
        let path = path.expect(
            "run scripts/fetch-mlx-c.sh and set ONNXRUNTIME_EP_MLX_LIBMLXC to what it prints",
        );
        open_runtime(&Settings {
            libmlxc: Some(path.into()),
            allow_untested: false,
        })
        .expect("libmlxc opens")
    }
}
