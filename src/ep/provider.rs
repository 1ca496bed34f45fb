//! `OrtEp`: the execution provider of one session.
use super::abi::{Interface, array, null_object, quiet};
use super::api::{Api, Version};
use super::claim::{self, Rules};
use super::compute::Kernel;
use super::import::{GraphView, Imported, Keys, NodeView, read_constant};
use super::log::Logger;
use super::options::{Claim, Options};
use super::placement::Placement;
use super::process;
use super::{C_NAME, NAME};
use crate::device::{DeviceKind, Session};
use crate::error::{Error, Result};
use crate::ffi::ort::API_VERSION;
use crate::ffi::ort::plugin::{OrtEp, OrtNodeComputeInfo, OrtNodeFusionOptions};
use crate::ffi::ort::types::{OrtEpGraphSupportInfo, OrtGraph, OrtNode, OrtStatus};
use crate::ops::ir::NodeId;
use crate::ops::{self, Program, Weights};
use std::ffi::c_char;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// The first release in which nodes of more than one graph can be claimed, and in more than one pass.
const CLAIMS_ADD_UP: Version = Version::new(24, 4);

/// The first release in which a fused node gets the values that only bodies in it read.
const PASSES_CAPTURES: Version = Version::new(27, 0);

/// The first release that can put nodes of one graph on different execution providers of this kind.
const MIXES: Version = Version::new(23, 1);

/// The first release that calls `OnSessionInitializationEnd`.
const TELLS_THE_END: u32 = 27;

/// The execution provider of one session.
pub(super) struct Provider {
    api: Api,
    logger: Logger,
    options: Options,
    kind: DeviceKind,
    weights: Arc<Weights>,
    keys: Keys,
    placement: Mutex<Placement>,
    compiled: AtomicBool,
    /// Goes after the weights.
    session: Arc<Session>,
}

impl Provider {
    pub(super) fn new(api: Api, logger: Logger, options: Options, kind: DeviceKind) -> Self {
        Self {
            api,
            logger,
            options,
            kind,
            weights: Weights::new(),
            keys: Keys::default(),
            placement: Mutex::default(),
            compiled: AtomicBool::new(false),
            session: Arc::new(Session::new()),
        }
    }

    pub(super) fn hand_out(self) -> *mut OrtEp {
        let table = OrtEp {
            GetName: Some(get_name),
            GetCapability: Some(get_capability),
            Compile: Some(compile),
            ReleaseNodeComputeInfos: Some(release_node_compute_infos),
            IsConcurrentRunSupported: Some(is_concurrent_run_supported),
            OnSessionInitializationEnd: Some(on_session_initialization_end),
            ..OrtEp::EMPTY
        };
        Interface::hand_out(table, self)
    }

    /// # Safety
    /// 1. `this` is null or came from [`Provider::hand_out`].
    /// 2. Nobody uses it any more.
    pub(super) unsafe fn release(this: *mut OrtEp) {
        // SAFETY: objects of this table are handed out with a `Provider` only (1), and it is not used again (2).
        unsafe { Interface::<OrtEp, Self>::release(this) };
    }

    fn placement(&self) -> MutexGuard<'_, Placement> {
        self.placement
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs the body of a callback with this session's logger.
    fn guard(&self, body: impl FnOnce() -> Result<()>) -> *mut OrtStatus {
        self.logger.scope(|| self.api.guard(body))
    }

    fn rules(&self) -> Rules {
        let version = self.api.version();
        let late = version < CLAIMS_ADD_UP && self.compiled.load(Ordering::Acquire);
        Rules {
            nothing: late.then_some("ONNX Runtime before 1.24.4 accepts claims only once"),
            whole: (version < MIXES)
                .then_some("ONNX Runtime 1.23.0 runs a graph whole or not at all"),
            captures: (version < PASSES_CAPTURES).then_some(
                "ONNX Runtime before 1.27 does not pass on values that only its body reads",
            ),
            float_work_only: self.kind == DeviceKind::Gpu && self.options.claim == Claim::Auto,
        }
    }

    fn get_capability(
        &self,
        view: GraphView<'_>,
        support: *mut OrtEpGraphSupportInfo,
    ) -> Result<()> {
        let nested = view.is_nested()?;
        if nested && (self.api.version() < CLAIMS_ADD_UP || view.is_in_function()?) {
            return Ok(());
        }
        let parent = match view.parent()? {
            Some(parent) if nested => Some(Imported::read_node(view, parent)?.graph),
            _ => None,
        };
        if let Some(parent) = &parent {
            // Bodies come before the graph of their node, and what is claimed in them is opaque afterwards. So the
            // node is planned now: if it can be claimed, its bodies are left whole for it.
            match ops::plan(parent, NodeId(0)) {
                Ok(_) => return Ok(()),
                Err(reject) => self
                    .placement()
                    .refuse(parent, parent.node(NodeId(0)), &reject),
            }
        }
        let start = Instant::now();
        let imported = Imported::read(view, None)?;
        let read = start.elapsed();
        let refused = claim::unplannable(&imported.graph);
        let planned = start.elapsed();
        let decision = claim::decide(&imported.graph, self.rules(), refused);
        log::debug!(
            "{} nodes: read in {} us, planned in {} us, partitioned in {} us",
            imported.nodes.len(),
            read.as_micros(),
            (planned - read).as_micros(),
            (start.elapsed() - planned).as_micros()
        );
        for cluster in &decision.clusters {
            let nodes: Vec<_> = cluster
                .iter()
                .map(|id| imported.nodes[id.index()].raw())
                .collect();
            let fusion = OrtNodeFusionOptions {
                ort_version_supported: API_VERSION,
                drop_constant_initializers: true,
            };
            // SAFETY: `support` belongs to this callback; the nodes are those of its graph, as many as said.
            let status = unsafe {
                (self.api.ep().EpGraphSupportInfo_AddNodesToFuse)(
                    support,
                    nodes.as_ptr(),
                    nodes.len(),
                    &raw const fusion,
                )
            };
            self.api.check(status)?;
        }
        let mut placement = self.placement();
        placement.note(&imported.graph, parent.as_ref(), &decision, NAME);
        if self.api.version().minor < TELLS_THE_END {
            placement.say();
        }
        Ok(())
    }

    /// Compiles one cluster, which `fused` replaces.
    fn compile(&self, view: GraphView<'_>, fused: NodeView<'_>) -> Result<Kernel> {
        let start = Instant::now();
        let mut imported = Imported::read(view, Some(&self.keys))?;
        imported.order_boundary(fused)?;
        let read = start.elapsed();
        let program = Program::new(&imported.graph).map_err(|(id, reject)| {
            let node = imported.graph.node(id);
            Error::internal(format!("was claimed and cannot be compiled: {reject}"))
                .at(&node.op_type, &node.name)
        })?;
        let planned = start.elapsed();
        let loaded = program.load(self.kind, &self.weights, &mut |key| {
            read_constant(&imported, key)
        })?;
        log::debug!(
            "{} nodes: read in {} us, planned in {} us, loaded in {} us",
            imported.nodes.len(),
            read.as_micros(),
            (planned - read).as_micros(),
            (start.elapsed() - planned).as_micros()
        );
        self.placement()
            .fused(fused.name()?, imported.graph.nodes.len());
        let (logger, session) = (self.logger.clone(), self.session.clone());
        Kernel::new(self.api, logger, session, &imported.graph, loaded)
    }
}

/// The provider behind the table that a callback got.
///
/// # Safety
/// 1. `this` is null or came from [`Provider::hand_out`] and is not released within `'a`.
unsafe fn provider<'a>(this: *const OrtEp) -> Option<&'a Provider> {
    // SAFETY: objects of this table are handed out with a `Provider` only, and this one lives for 'a (1).
    unsafe { Interface::<OrtEp, Provider>::body(this) }
}

/// # Safety
/// 1. ONNX Runtime calls it, with arguments as its header says.
unsafe extern "system" fn get_name(_this: *const OrtEp) -> *const c_char {
    C_NAME.as_ptr()
}

/// # Safety
/// 1. ONNX Runtime calls it, with arguments as its header says.
unsafe extern "system" fn get_capability(
    this: *mut OrtEp,
    graph: *const OrtGraph,
    support: *mut OrtEpGraphSupportInfo,
) -> *mut OrtStatus {
    // SAFETY: ONNX Runtime calls back with an object of ours that it has not released (1).
    let Some(provider) = (unsafe { provider(this) }) else {
        return null_object("OrtEp");
    };
    provider.guard(|| {
        // SAFETY: the graph lives as long as this callback.
        let view = unsafe { GraphView::new(&provider.api, graph) };
        match view {
            Some(view) if !support.is_null() => provider.get_capability(view, support),
            _ => Err(Error::invalid(
                "GetCapability got no graph or no place for its answer",
            )),
        }
    })
}

/// # Safety
/// 1. ONNX Runtime calls it, with arguments as its header says.
unsafe extern "system" fn compile(
    this: *mut OrtEp,
    graphs: *mut *const OrtGraph,
    fused_nodes: *mut *const OrtNode,
    count: usize,
    infos: *mut *mut OrtNodeComputeInfo,
    _ep_context_nodes: *mut *mut OrtNode,
) -> *mut OrtStatus {
    // SAFETY: ONNX Runtime calls back with an object of ours that it has not released (1).
    let Some(provider) = (unsafe { provider(this) }) else {
        return null_object("OrtEp");
    };
    provider.guard(|| {
        if count > 0 && (graphs.is_null() || fused_nodes.is_null() || infos.is_null()) {
            return Err(Error::invalid("Compile got an array that is null"));
        }
        provider.compiled.store(true, Ordering::Release);
        process::start();
        // SAFETY: ONNX Runtime passes `count` graphs for this call (1).
        let graphs = unsafe { array(graphs, count) };
        // SAFETY: ONNX Runtime passes `count` nodes for this call (1).
        let nodes = unsafe { array(fused_nodes, count) };
        let compile = |(graph, node): (&*const OrtGraph, &*const OrtNode)| {
            // SAFETY: the graph lives as long as this callback.
            let view = unsafe { GraphView::new(&provider.api, *graph) };
            // SAFETY: the node lives as long as this callback.
            let fused = unsafe { NodeView::new(&provider.api, *node) };
            match (view, fused) {
                (Some(view), Some(fused)) => provider.compile(view, fused),
                _ => Err(Error::invalid("Compile got a null graph or node")),
            }
        };
        let kernels = graphs
            .iter()
            .zip(nodes)
            .map(compile)
            .collect::<Result<Vec<_>>>()?;
        for (index, kernel) in kernels.into_iter().enumerate() {
            // SAFETY: ONNX Runtime has room for `count` answers (1), as many as there are kernels.
            let place = unsafe { infos.add(index) };
            // SAFETY: the place is ONNX Runtime's (1) and holds nothing yet.
            unsafe { place.write(kernel.hand_out()) };
        }
        Ok(())
    })
}

/// # Safety
/// 1. ONNX Runtime calls it, with arguments as its header says.
unsafe extern "system" fn release_node_compute_infos(
    _this: *mut OrtEp,
    infos: *mut *mut OrtNodeComputeInfo,
    count: usize,
) {
    quiet((), || {
        // SAFETY: ONNX Runtime passes `count` objects for this call (1).
        for info in unsafe { array(infos, count) } {
            // SAFETY: `compile` handed it out, and ONNX Runtime gives it back once (1).
            unsafe { Kernel::release(*info) };
        }
    });
}

/// # Safety
/// 1. ONNX Runtime calls it, with arguments as its header says.
unsafe extern "system" fn is_concurrent_run_supported(
    this: *mut OrtEp,
    supported: *mut bool,
) -> *mut OrtStatus {
    // SAFETY: ONNX Runtime calls back with an object of ours that it has not released (1).
    let Some(provider) = (unsafe { provider(this) }) else {
        return null_object("OrtEp");
    };
    provider.guard(|| {
        if supported.is_null() {
            return Err(Error::invalid(
                "IsConcurrentRunSupported got no place for its answer",
            ));
        }
        // SAFETY: ONNX Runtime's variable for the answer, not null.
        unsafe { supported.write(true) };
        Ok(())
    })
}

/// # Safety
/// 1. ONNX Runtime calls it, with arguments as its header says.
unsafe extern "system" fn on_session_initialization_end(this: *mut OrtEp) -> *mut OrtStatus {
    // SAFETY: ONNX Runtime calls back with an object of ours that it has not released (1).
    let Some(provider) = (unsafe { provider(this) }) else {
        return null_object("OrtEp");
    };
    provider.guard(|| {
        provider.placement().say();
        Ok(())
    })
}
