//! A release of ONNX Runtime, driven through its C API.
use crate::ffi::ort::api::{OrtApi, OrtApiBase};
use crate::ffi::ort::types::*;
use crate::model;
use std::ffi::{CStr, CString, c_char};
use std::path::{Path, PathBuf};
use std::ptr::{null, null_mut};

/// The name under which the library is registered.
const REGISTRATION: &CStr = c"mlx";
const EP: &CStr = c"MLXExecutionProvider";

/// An environment in which the execution provider is registered.
pub(crate) struct Host {
    api: &'static OrtApi,
    env: *mut OrtEnv,
    /// `1.N.PATCH`.
    pub(crate) version: String,
}

/// Where a session runs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Provider {
    Mlx,
    Cpu,
}

impl Host {
    /// `folder` holds the Python package of a release; `library` is the built execution provider.
    pub(crate) fn new(folder: &Path, library: &Path) -> Self {
        let runtime = runtime(&folder.join("onnxruntime/capi"));
        let opened = unsafe { libloading::Library::new(&runtime) }.unwrap();
        let opened = Box::leak(Box::new(opened));
        let base = unsafe {
            opened.get::<unsafe extern "system" fn() -> *const OrtApiBase>(c"OrtGetApiBase")
        };
        let base = unsafe { &*(base.unwrap())() };
        let version = unsafe { CStr::from_ptr((base.GetVersionString)()) };
        let api = unsafe { (base.GetApi)(crate::ffi::ort::FLOOR).as_ref() };
        let mut host = Self {
            api: api.expect("the release is old enough to lack the plugin interface"),
            env: null_mut(),
            version: version.to_str().unwrap().to_owned(),
        };
        let (api, library) = (host.api, path(library));
        let level = OrtLoggingLevel::ORT_LOGGING_LEVEL_WARNING;
        let mut env = null_mut();
        host.check(unsafe { (api.CreateEnv)(level, c"bench".as_ptr(), &raw mut env) });
        host.env = env;
        host.check(unsafe {
            (api.RegisterExecutionProviderLibrary)(env, REGISTRATION.as_ptr(), library.as_ptr())
        });
        host
    }

    fn check(&self, status: *mut OrtStatus) {
        if !status.is_null() {
            let text = unsafe { CStr::from_ptr((self.api.GetErrorMessage)(status)) };
            panic!("{}", text.to_string_lossy());
        }
    }

    fn append_mlx(&self, options: *mut OrtSessionOptions) {
        let api = self.api;
        let (mut first, mut count) = (null(), 0);
        self.check(unsafe { (api.GetEpDevices)(self.env, &raw mut first, &raw mut count) });
        let devices = unsafe { std::slice::from_raw_parts(first, count) };
        let ours = |device: &&*const OrtEpDevice| {
            (unsafe { CStr::from_ptr((api.EpDevice_EpName)(**device)) }) == EP
        };
        let device = devices.iter().find(ours).expect("the EP offers a device");
        let keys = [c"device".as_ptr()];
        let values = [c"cpu".as_ptr()];
        self.check(unsafe {
            (api.SessionOptionsAppendExecutionProvider_V2)(
                options,
                self.env,
                device,
                1,
                keys.as_ptr(),
                values.as_ptr(),
                1,
            )
        });
        // A node that is left to the CPU is an error then.
        let (key, value) = (c"session.disable_cpu_ep_fallback", c"1");
        self.check(unsafe { (api.AddSessionConfigEntry)(options, key.as_ptr(), value.as_ptr()) });
    }

    /// A session of one addition over vectors of `length`, with its inputs and its output in place.
    pub(crate) fn addition(&self, length: usize, provider: Provider) -> Addition<'_> {
        let api = self.api;
        let mut options = null_mut();
        self.check(unsafe { (api.CreateSessionOptions)(&raw mut options) });
        if provider == Provider::Mlx {
            self.append_mlx(options);
        }
        let bytes = model::addition(length as u64);
        let mut session = null_mut();
        self.check(unsafe {
            (api.CreateSessionFromArray)(
                self.env,
                bytes.as_ptr().cast(),
                bytes.len(),
                options,
                &raw mut session,
            )
        });
        unsafe { (api.ReleaseSessionOptions)(options) };
        let mut data = [1.0, 2.0, 0.0].map(|value| vec![value; length]);
        let values = data.each_mut().map(|vector| self.tensor(vector));
        Addition {
            host: self,
            session,
            values,
            data,
        }
    }

    /// A tensor over memory that outlives it.
    fn tensor(&self, data: &mut [f32]) -> *mut OrtValue {
        let api = self.api;
        let (mut info, mut value) = (null_mut(), null_mut());
        self.check(unsafe {
            (api.CreateCpuMemoryInfo)(
                OrtAllocatorType::OrtDeviceAllocator,
                OrtMemType::OrtMemTypeDefault,
                &raw mut info,
            )
        });
        let shape = [i64::try_from(data.len()).unwrap()];
        self.check(unsafe {
            (api.CreateTensorWithDataAsOrtValue)(
                info,
                data.as_mut_ptr().cast(),
                size_of_val(data),
                shape.as_ptr(),
                1,
                ONNXTensorElementDataType::ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT,
                &raw mut value,
            )
        });
        unsafe { (api.ReleaseMemoryInfo)(info) };
        value
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        let api = self.api;
        self.check(unsafe {
            (api.UnregisterExecutionProviderLibrary)(self.env, REGISTRATION.as_ptr())
        });
        unsafe { (api.ReleaseEnv)(self.env) };
    }
}

/// A session that adds, and its tensors.
pub(crate) struct Addition<'h> {
    host: &'h Host,
    session: *mut OrtSession,
    /// Two inputs and an output, over `data`.
    values: [*mut OrtValue; 3],
    data: [Vec<f32>; 3],
}

impl Addition<'_> {
    pub(crate) fn run(&mut self) {
        const INPUTS: [*const c_char; 2] = [c"a".as_ptr(), c"b".as_ptr()];
        const OUTPUTS: [*const c_char; 1] = [c"y".as_ptr()];
        let [a, b, mut y] = self.values;
        let inputs = [a.cast_const(), b.cast_const()];
        let status = unsafe {
            (self.host.api.Run)(
                self.session,
                null(),
                INPUTS.as_ptr(),
                inputs.as_ptr(),
                2,
                OUTPUTS.as_ptr(),
                1,
                &raw mut y,
            )
        };
        self.host.check(status);
        assert_eq!(std::hint::black_box(&self.data)[2][0], 3.0);
    }
}

impl Drop for Addition<'_> {
    fn drop(&mut self) {
        for value in self.values {
            unsafe { (self.host.api.ReleaseValue)(value) };
        }
        unsafe { (self.host.api.ReleaseSession)(self.session) };
    }
}

fn path(path: &Path) -> CString {
    CString::new(path.to_str().unwrap()).unwrap()
}

/// The shared library of ONNX Runtime in a folder.
fn runtime(folder: &Path) -> PathBuf {
    let is_runtime = |path: &PathBuf| {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        name.starts_with("libonnxruntime.")
    };
    let entries = std::fs::read_dir(folder)
        .unwrap_or_else(|error| panic!("ORT_FOLDER: {}: {error}", folder.display()));
    let mut files = entries.map(|entry| entry.unwrap().path());
    let found = files.find(is_runtime);
    found.unwrap_or_else(|| panic!("no libonnxruntime in {}", folder.display()))
}
