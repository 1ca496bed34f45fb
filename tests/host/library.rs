//! The built library, and the calls of a host in the host's order.
use crate::fake::{Context, Graph, Node, hardware};
use crate::ffi::ort::api::OrtApiBase;
use crate::ffi::ort::plugin::{OrtEp, OrtEpFactory, OrtNodeComputeInfo};
use crate::ffi::ort::types::*;
use crate::ledger::{Status, take};
use std::ffi::c_char;
use std::path::PathBuf;
use std::ptr::{dangling, dangling_mut, null, null_mut};
use std::sync::OnceLock;

type Create = unsafe extern "system" fn(
    *const c_char,
    *const OrtApiBase,
    *const OrtLogger,
    *mut *mut OrtEpFactory,
    usize,
    *mut usize,
) -> *mut OrtStatus;
type Release = unsafe extern "system" fn(*mut OrtEpFactory) -> *mut OrtStatus;

pub(crate) struct Exports {
    pub(crate) create: Create,
    release: Release,
}

/// The library that cargo built for this test: it lies beside it. The one a folder up is that of the last `cargo build`.
fn path() -> PathBuf {
    let extension = if cfg!(target_os = "macos") {
        "dylib"
    } else {
        "so"
    };
    std::env::current_exe()
        .unwrap()
        .with_file_name(format!("libonnxruntime_mlx_ep.{extension}"))
}

pub(crate) fn exports() -> &'static Exports {
    static EXPORTS: OnceLock<Exports> = OnceLock::new();
    EXPORTS.get_or_init(|| {
        let library = unsafe { libloading::Library::new(path()) }.expect("the built library opens");
        let library = Box::leak(Box::new(library));
        Exports {
            create: *unsafe { library.get(c"CreateEpFactories") }.unwrap(),
            release: *unsafe { library.get(c"ReleaseEpFactory") }.unwrap(),
        }
    })
}

/// What a status said.
#[derive(Debug)]
pub(crate) struct Told {
    pub(crate) code: i32,
    pub(crate) text: String,
}

/// Reads and frees a status, as a host does; null is success.
pub(crate) fn told(status: *mut OrtStatus) -> Option<Told> {
    if status.is_null() {
        return None;
    }
    crate::ledger::check_live("status", status);
    let said = unsafe { &*status.cast::<Status>() };
    let told = Told {
        code: said.code,
        text: said.message.to_str().unwrap().to_owned(),
    };
    assert!(told.text.starts_with("MLX EP: "), "{}", told.text);
    take::<Status, _>("status", status);
    Some(told)
}

fn outcome(status: *mut OrtStatus) -> Result<(), Told> {
    told(status).map_or(Ok(()), Err)
}

/// A logger is any address: the fake host does not look at it.
fn logger() -> *const OrtLogger {
    16 as *const OrtLogger
}

pub(crate) fn create_factories(base: &OrtApiBase) -> Result<*mut OrtEpFactory, Told> {
    let mut factories = [null_mut(); 4];
    let mut count = 99;
    let first = factories.as_mut_ptr();
    outcome(unsafe {
        (exports().create)(c"any".as_ptr(), base, logger(), first, 4, &raw mut count)
    })?;
    assert_eq!(count, 1);
    assert!(!factories[0].is_null() && factories[1].is_null());
    Ok(factories[0])
}

pub(crate) fn register(base: &OrtApiBase) -> *mut OrtEpFactory {
    create_factories(base).unwrap()
}

pub(crate) fn release_factory(factory: *mut OrtEpFactory) -> Option<Told> {
    told(unsafe { (exports().release)(factory) })
}

pub(crate) fn supported_device(factory: *mut OrtEpFactory) -> Result<(), Told> {
    let offered = [hardware(0, 0x1022)];
    let (mut device, mut count) = (null_mut(), 0);
    let get = unsafe { (*factory).GetSupportedDevices.unwrap() };
    outcome(unsafe {
        get(
            factory,
            offered.as_ptr(),
            1,
            &raw mut device,
            8,
            &raw mut count,
        )
    })
}

/// A session of the fake host.
pub(crate) struct Session {
    factory: *mut OrtEpFactory,
    pub(crate) ep: *mut OrtEp,
}

impl Session {
    pub(crate) fn new(factory: *mut OrtEpFactory) -> Self {
        Self::try_new(factory).unwrap()
    }

    pub(crate) fn try_new(factory: *mut OrtEpFactory) -> Result<Self, Told> {
        let mut ep = null_mut();
        let options = dangling::<OrtSessionOptions>();
        let create = unsafe { (*factory).CreateEp.unwrap() };
        let made =
            outcome(unsafe { create(factory, null(), null(), 1, options, logger(), &raw mut ep) });
        assert_eq!(made.is_err(), ep.is_null());
        made.map(|()| Self { factory, ep })
    }

    fn table(&self) -> &OrtEp {
        unsafe { &*self.ep }
    }

    pub(crate) fn capability(&self, graph: &Graph) -> Result<(), Told> {
        let support = dangling_mut::<OrtEpGraphSupportInfo>();
        let graph = std::ptr::from_ref(graph).cast();
        outcome(unsafe { self.table().GetCapability.unwrap()(self.ep, graph, support) })
    }

    pub(crate) fn compile(
        &self,
        graph: &Graph,
        fused: &Node,
    ) -> Result<*mut OrtNodeComputeInfo, Told> {
        let mut graphs = [std::ptr::from_ref(graph).cast::<OrtGraph>()];
        let mut nodes = [std::ptr::from_ref(fused).cast::<OrtNode>()];
        let mut infos = [null_mut()];
        let (g, n, i) = (graphs.as_mut_ptr(), nodes.as_mut_ptr(), infos.as_mut_ptr());
        let status = unsafe { self.table().Compile.unwrap()(self.ep, g, n, 1, i, null_mut()) };
        outcome(status)?;
        assert!(!infos[0].is_null());
        Ok(infos[0])
    }

    pub(crate) fn end_of_initialization(&self) {
        assert!(
            told(unsafe { self.table().OnSessionInitializationEnd.unwrap()(self.ep) }).is_none()
        );
    }

    /// Makes a state, computes, and releases the state.
    pub(crate) fn compute(
        &self,
        kernel: *mut OrtNodeComputeInfo,
        context: &Context,
    ) -> Result<(), Told> {
        let table = unsafe { &*kernel };
        let mut state = null_mut();
        outcome(unsafe { table.CreateState.unwrap()(kernel, null_mut(), &raw mut state) })?;
        let context = std::ptr::from_ref(context).cast_mut().cast();
        let ran = outcome(unsafe { table.Compute.unwrap()(kernel, state, context) });
        unsafe { table.ReleaseState.unwrap()(kernel, state) };
        ran
    }

    pub(crate) fn release_kernel(&self, kernel: *mut OrtNodeComputeInfo) {
        let mut infos = [kernel];
        unsafe { self.table().ReleaseNodeComputeInfos.unwrap()(self.ep, infos.as_mut_ptr(), 1) };
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        unsafe { (*self.factory).ReleaseEp.unwrap()(self.factory, self.ep) };
    }
}
