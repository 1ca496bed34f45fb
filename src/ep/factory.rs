//! `OrtEpFactory`: what ONNX Runtime registers; it names the device and makes execution providers.
use super::abi::{Interface, array, null_object, quiet};
use super::api::{Api, Pairs};
use super::log::Logger;
use super::options::{Environment, Options};
use super::process;
use super::provider::Provider;
use super::{C_NAME, C_VERSION};
use crate::device::{self, DeviceKind, Runtime};
use crate::error::{Error, Result};
use crate::ffi::ort::plugin::{OrtDataTransferImpl, OrtEp, OrtEpFactory, OrtSyncStreamImpl};
use crate::ffi::ort::types::{
    OrtEpDevice, OrtHardwareDevice, OrtHardwareDeviceType, OrtKeyValuePairs, OrtLogger,
    OrtMemoryDevice, OrtSessionOptions, OrtStatus,
};
use crate::log_scope;
use std::ffi::{CStr, c_char};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// MLX is Apple's, on every backend.
const VENDOR: &CStr = c"Apple";

/// PCI vendor ids.
const APPLE: u32 = 0x106B;
const NVIDIA: u32 = 0x10DE;

/// What one registration offers. It lives as long as the process: ONNX Runtime calls it after it released it, for
/// sessions that are still there.
struct Factory {
    api: Api,
    logger: Logger,
    runtime: &'static Runtime,
    /// What the environment says of sessions.
    defaults: Options,
    /// The vendor of the hardware device that was chosen.
    vendor_id: AtomicU32,
    released: AtomicBool,
}

/// Opens MLX and makes a factory.
///
/// # Safety
/// 1. `default_logger` is null or a logger of the host of `api` that lives until the factory is released.
pub(super) unsafe fn create(
    api: Api,
    default_logger: *const OrtLogger,
) -> Result<*mut OrtEpFactory> {
    log_scope::install();
    // SAFETY: the logger lives until the factory is released (1), and the factory does not use it afterwards.
    let logger = unsafe { Logger::new(api, default_logger) };
    logger.clone().scope(|| {
        let environment = Environment::read()?;
        for name in &environment.unknown {
            log::warn!("environment variable {name} is not known");
        }
        if api.version().minor == 23 && api.version().patch == 0 {
            log::warn!(
                "ONNX Runtime 1.23.0 cannot run a graph partly on a plugin: models that this execution provider does \
                 not take whole stay on CPU; install 1.23.1 or newer (1.24.4 or newer is recommended)"
            );
        }
        process::register(environment.options.tf32, environment.mlx_tf32)?;
        // Before MLX, which keeps a function of ours.
        device::pin_library()?;
        let runtime = device::open(&environment.settings)?;
        for warning in runtime.warnings() {
            log::warn!("{warning}");
        }
        log::debug!("MLX {} from {}", runtime.mlx_version(), runtime.path().display());
        let factory = Factory {
            api,
            logger,
            runtime,
            defaults: environment.options,
            vendor_id: AtomicU32::new(0),
            released: AtomicBool::new(false),
        };
        Ok(factory.hand_out())
    })
}

/// Notes that a factory is not registered any more. The object stays.
///
/// # Safety
/// 1. `this` is null or came from [`create`].
pub(super) unsafe fn release(this: *mut OrtEpFactory) {
    // SAFETY: null or a factory (1), which is never freed.
    if let Some(factory) = unsafe { factory(this) } {
        factory.released.store(true, Ordering::Release);
    }
}

/// A hardware device that ONNX Runtime offers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Hardware {
    raw: *const OrtHardwareDevice,
    kind: OrtHardwareDeviceType,
    vendor_id: u32,
}

/// The device to bind to: where MLX has a GPU the first one, if ONNX Runtime lists any, else the CPU.
fn choose(devices: &[Hardware], mlx_has_gpu: bool) -> Option<Hardware> {
    let first = |kind| devices.iter().copied().find(|device| device.kind == kind);
    let gpu = if mlx_has_gpu {
        first(OrtHardwareDeviceType::OrtHardwareDeviceType_GPU)
    } else {
        None
    };
    gpu.or_else(|| first(OrtHardwareDeviceType::OrtHardwareDeviceType_CPU))
}

/// Bytes of memory of this machine; 0 where the system does not say.
fn physical_memory() -> u64 {
    // SAFETY: asking for a system value has no precondition.
    let pages = unsafe { libc::sysconf(libc::_SC_PHYS_PAGES) };
    // SAFETY: asking for a system value has no precondition.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    u64::try_from(pages)
        .unwrap_or(0)
        .saturating_mul(u64::try_from(page).unwrap_or(0))
}

impl Factory {
    fn hand_out(self) -> *mut OrtEpFactory {
        let table = OrtEpFactory {
            GetName: Some(get_name),
            GetVendor: Some(get_vendor),
            GetSupportedDevices: Some(get_supported_devices),
            CreateEp: Some(create_ep),
            ReleaseEp: Some(release_ep),
            GetVendorId: Some(get_vendor_id),
            GetVersion: Some(get_version),
            CreateDataTransfer: Some(create_data_transfer),
            IsStreamAware: Some(is_stream_aware),
            CreateSyncStreamForDevice: Some(create_sync_stream_for_device),
            ..OrtEpFactory::EMPTY
        };
        Interface::hand_out(table, self)
    }

    fn hardware(&self, raw: *const OrtHardwareDevice) -> Option<Hardware> {
        if raw.is_null() {
            return None;
        }
        let table = self.api.table();
        // SAFETY: the device is one that the host passed to the current callback.
        let kind = unsafe { (table.HardwareDevice_Type)(raw) };
        // SAFETY: the device is one that the host passed to the current callback.
        let vendor_id = unsafe { (table.HardwareDevice_VendorId)(raw) };
        Some(Hardware {
            raw,
            kind,
            vendor_id,
        })
    }

    fn backend(&self) -> &'static str {
        self.runtime.gpu().map_or("CPU", |gpu| gpu.backend)
    }

    fn metadata(&self) -> Pairs {
        let mut metadata = Pairs::new(self.api);
        metadata.add(c"mlx_version", self.runtime.mlx_version());
        metadata.add(c"mlx_library", &self.runtime.path().to_string_lossy());
        metadata.add(c"mlx_backend", self.backend());
        let (device, memory) = match self.runtime.gpu() {
            Some(gpu) => (gpu.name.as_str(), gpu.memory_bytes),
            None => ("CPU", physical_memory()),
        };
        metadata.add(c"mlx_device", device);
        if memory > 0 {
            metadata.add(c"mlx_memory_bytes", &memory.to_string());
        }
        metadata
    }

    fn supported_device(
        &self,
        this: *mut OrtEpFactory,
        devices: &[Hardware],
    ) -> Result<Option<*mut OrtEpDevice>> {
        let Some(device) = choose(devices, self.runtime.gpu().is_some()) else {
            return Ok(None);
        };
        self.vendor_id.store(device.vendor_id, Ordering::Release);
        let metadata = self.metadata();
        let device = self.api.get(std::ptr::null_mut(), |out| {
            // SAFETY: `this` is the factory that the host called, `device` one of its devices; it copies the metadata.
            unsafe {
                (self.api.ep().CreateEpDevice)(
                    this,
                    device.raw,
                    metadata.raw(),
                    std::ptr::null(),
                    out,
                )
            }
        })?;
        Ok(Some(device))
    }

    fn vendor_id(&self) -> u32 {
        match self.backend() {
            "Metal" => APPLE,
            "CUDA" => NVIDIA,
            _ => self.vendor_id.load(Ordering::Acquire),
        }
    }

    fn create_ep(
        &self,
        session_options: *const OrtSessionOptions,
        logger: *const OrtLogger,
    ) -> Result<*mut OrtEp> {
        if self.released.load(Ordering::Acquire) {
            return Err(Error::invalid(
                "the library was unregistered; register it again before making sessions",
            ));
        }
        if session_options.is_null() {
            return Err(Error::invalid("CreateEp got no session options"));
        }
        let entries = self.api.get(std::ptr::null_mut(), |out| {
            // SAFETY: the options are those that the host passed to the current callback.
            unsafe { (self.api.table().GetSessionOptionsConfigEntries)(session_options, out) }
        })?;
        // SAFETY: the host made the pairs for us.
        let entries = unsafe { Pairs::from_raw(self.api, entries) }.to_vec();
        let entries = entries
            .iter()
            .map(|(key, value)| (key.as_str(), value.as_str()));
        let options = self.defaults.with_entries(entries)?;
        let kind = options.device_kind(self.runtime.gpu().is_some())?;
        process::create_session(options.tf32)?;
        // SAFETY: the host keeps a session's logger as long as its execution provider.
        let logger = unsafe { Logger::new(self.api, logger) };
        logger.scope(|| {
            let device = if kind == DeviceKind::Gpu {
                self.backend()
            } else {
                "CPU"
            };
            log::debug!("session on {device}, {options:?}");
        });
        Ok(Provider::new(self.api, logger, options, kind).hand_out())
    }
}

/// The factory behind the table that a callback got.
///
/// # Safety
/// 1. `this` is null or came from [`create`].
unsafe fn factory<'a>(this: *const OrtEpFactory) -> Option<&'a Factory> {
    // SAFETY: objects of this table are handed out with a `Factory` only (1), and never freed.
    unsafe { Interface::<OrtEpFactory, Factory>::body(this) }
}

/// # Safety
/// 1. ONNX Runtime calls it, with arguments as its header says.
unsafe extern "system" fn get_name(_this: *const OrtEpFactory) -> *const c_char {
    C_NAME.as_ptr()
}

/// # Safety
/// 1. ONNX Runtime calls it, with arguments as its header says.
unsafe extern "system" fn get_vendor(_this: *const OrtEpFactory) -> *const c_char {
    VENDOR.as_ptr()
}

/// # Safety
/// 1. ONNX Runtime calls it, with arguments as its header says.
unsafe extern "system" fn get_version(_this: *const OrtEpFactory) -> *const c_char {
    C_VERSION.as_ptr()
}

/// # Safety
/// 1. ONNX Runtime calls it, with arguments as its header says.
unsafe extern "system" fn get_vendor_id(this: *const OrtEpFactory) -> u32 {
    // SAFETY: ONNX Runtime calls back with a factory of ours (1).
    let factory = unsafe { factory(this) };
    quiet(0, || factory.map_or(0, Factory::vendor_id))
}

/// # Safety
/// 1. ONNX Runtime calls it, with arguments as its header says.
unsafe extern "system" fn get_supported_devices(
    this: *mut OrtEpFactory,
    devices: *const *const OrtHardwareDevice,
    num_devices: usize,
    ep_devices: *mut *mut OrtEpDevice,
    max_ep_devices: usize,
    num_ep_devices: *mut usize,
) -> *mut OrtStatus {
    // SAFETY: ONNX Runtime calls back with a factory of ours (1).
    let Some(factory) = (unsafe { factory(this) }) else {
        return null_object("OrtEpFactory");
    };
    factory.logger.scope(|| {
        factory.api.guard(|| {
            if num_ep_devices.is_null()
                || ep_devices.is_null()
                || (devices.is_null() && num_devices > 0)
            {
                return Err(Error::invalid(
                    "GetSupportedDevices got an array that is null",
                ));
            }
            // SAFETY: ONNX Runtime's variable for the count, not null.
            unsafe { num_ep_devices.write(0) };
            // SAFETY: ONNX Runtime passes `num_devices` devices for this call (1).
            let devices = unsafe { array(devices, num_devices) };
            let offered: Vec<_> = devices
                .iter()
                .filter_map(|raw| factory.hardware(*raw))
                .collect();
            if max_ep_devices == 0 {
                return Ok(());
            }
            let Some(device) = factory.supported_device(this, &offered)? else {
                log::warn!("ONNX Runtime lists neither a CPU nor a GPU that MLX could be bound to");
                return Ok(());
            };
            // SAFETY: ONNX Runtime has room for `max_ep_devices` devices, at least one.
            unsafe { ep_devices.write(device) };
            // SAFETY: ONNX Runtime's variable for the count, not null.
            unsafe { num_ep_devices.write(1) };
            Ok(())
        })
    })
}

/// # Safety
/// 1. ONNX Runtime calls it, with arguments as its header says.
unsafe extern "system" fn create_ep(
    this: *mut OrtEpFactory,
    _devices: *const *const OrtHardwareDevice,
    _ep_metadata_pairs: *const *const OrtKeyValuePairs,
    _num_devices: usize,
    session_options: *const OrtSessionOptions,
    logger: *const OrtLogger,
    ep: *mut *mut OrtEp,
) -> *mut OrtStatus {
    // SAFETY: ONNX Runtime calls back with a factory of ours (1).
    let Some(factory) = (unsafe { factory(this) }) else {
        return null_object("OrtEpFactory");
    };
    factory.api.guard(|| {
        if ep.is_null() {
            return Err(Error::invalid("CreateEp got no place for its answer"));
        }
        // SAFETY: ONNX Runtime's variable for the answer, not null.
        unsafe { ep.write(std::ptr::null_mut()) };
        let made = factory.create_ep(session_options, logger)?;
        // SAFETY: ONNX Runtime's variable for the answer, not null.
        unsafe { ep.write(made) };
        Ok(())
    })
}

/// # Safety
/// 1. ONNX Runtime calls it, with arguments as its header says.
unsafe extern "system" fn release_ep(_this: *mut OrtEpFactory, ep: *mut OrtEp) {
    quiet((), || {
        // SAFETY: `create_ep` handed it out, and ONNX Runtime gives it back once.
        unsafe { Provider::release(ep) };
    });
}

/// # Safety
/// 1. ONNX Runtime calls it, with arguments as its header says.
unsafe extern "system" fn create_data_transfer(
    this: *mut OrtEpFactory,
    transfer: *mut *mut OrtDataTransferImpl,
) -> *mut OrtStatus {
    // SAFETY: ONNX Runtime calls back with a factory of ours (1).
    let Some(factory) = (unsafe { factory(this) }) else {
        return null_object("OrtEpFactory");
    };
    factory.api.guard(|| {
        if !transfer.is_null() {
            // All inputs and outputs are in host memory: there is nothing to transfer.
            // SAFETY: ONNX Runtime's variable for the answer, not null.
            unsafe { transfer.write(std::ptr::null_mut()) };
        }
        Ok(())
    })
}

/// # Safety
/// 1. ONNX Runtime calls it, with arguments as its header says.
unsafe extern "system" fn is_stream_aware(_this: *const OrtEpFactory) -> bool {
    false
}

/// ONNX Runtime calls this without looking whether it is there.
///
/// # Safety
/// 1. ONNX Runtime calls it, with arguments as its header says.
unsafe extern "system" fn create_sync_stream_for_device(
    this: *mut OrtEpFactory,
    _memory_device: *const OrtMemoryDevice,
    _stream_options: *const OrtKeyValuePairs,
    stream: *mut *mut OrtSyncStreamImpl,
) -> *mut OrtStatus {
    // SAFETY: ONNX Runtime calls back with a factory of ours (1).
    let Some(factory) = (unsafe { factory(this) }) else {
        return null_object("OrtEpFactory");
    };
    factory.api.guard(|| {
        if !stream.is_null() {
            // SAFETY: ONNX Runtime's variable for the answer, not null.
            unsafe { stream.write(std::ptr::null_mut()) };
        }
        Err(Error::NotImplemented(
            "this execution provider has no streams; run without one".into(),
        ))
    })
}
