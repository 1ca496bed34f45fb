//! Structs that this crate fills and ONNX Runtime reads.
#![allow(non_snake_case, reason = "these are the names of the C header")]
use super::types::*;
use crate::ffi::table::c_callbacks;
use std::ffi::{c_char, c_int, c_void};

/// How nodes are fused; see `EpGraphSupportInfo_AddNodesToFuse`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(crate) struct OrtNodeFusionOptions {
    pub(crate) ort_version_supported: u32,
    /// Constant initializers are no inputs of the fused node; the plugin copied them while compiling.
    pub(crate) drop_constant_initializers: bool,
}

static_assertions::const_assert_eq!(size_of::<OrtNodeFusionOptions>(), 8);
static_assertions::const_assert_eq!(
    std::mem::offset_of!(OrtNodeFusionOptions, drop_constant_initializers),
    4
);

c_callbacks! {
    /// A factory of execution providers.
    pub(crate) struct OrtEpFactory {
        ort_version_supported: u32;
        GetName(this_ptr: *const OrtEpFactory) -> *const c_char;
        GetVendor(this_ptr: *const OrtEpFactory) -> *const c_char;
        GetSupportedDevices(
            this_ptr: *mut OrtEpFactory, devices: *const *const OrtHardwareDevice, num_devices: usize,
            ep_devices: *mut *mut OrtEpDevice, max_ep_devices: usize, num_ep_devices: *mut usize
        ) -> *mut OrtStatus;
        CreateEp(
            this_ptr: *mut OrtEpFactory, devices: *const *const OrtHardwareDevice,
            ep_metadata_pairs: *const *const OrtKeyValuePairs, num_devices: usize,
            session_options: *const OrtSessionOptions, logger: *const OrtLogger, ep: *mut *mut OrtEp
        ) -> *mut OrtStatus;
        ReleaseEp(this_ptr: *mut OrtEpFactory, ep: *mut OrtEp);
        GetVendorId(this_ptr: *const OrtEpFactory) -> u32;
        GetVersion(this_ptr: *const OrtEpFactory) -> *const c_char;
        ValidateCompiledModelCompatibilityInfo(
            this_ptr: *mut OrtEpFactory, devices: *const *const OrtHardwareDevice, num_devices: usize,
            compatibility_info: *const c_char, model_compatibility: *mut OrtCompiledModelCompatibility
        ) -> *mut OrtStatus;
        CreateAllocator(
            this_ptr: *mut OrtEpFactory, memory_info: *const OrtMemoryInfo,
            allocator_options: *const OrtKeyValuePairs, allocator: *mut *mut OrtAllocator
        ) -> *mut OrtStatus;
        ReleaseAllocator(this_ptr: *mut OrtEpFactory, allocator: *mut OrtAllocator);
        CreateDataTransfer(
            this_ptr: *mut OrtEpFactory, data_transfer: *mut *mut OrtDataTransferImpl
        ) -> *mut OrtStatus;
        IsStreamAware(this_ptr: *const OrtEpFactory) -> bool;
        CreateSyncStreamForDevice(
            this_ptr: *mut OrtEpFactory, memory_device: *const OrtMemoryDevice,
            stream_options: *const OrtKeyValuePairs, stream: *mut *mut OrtSyncStreamImpl
        ) -> *mut OrtStatus;
        GetHardwareDeviceIncompatibilityDetails(
            this_ptr: *mut OrtEpFactory, hw: *const OrtHardwareDevice, details: *mut OrtDeviceEpIncompatibilityDetails
        ) -> *mut OrtStatus;
        CreateExternalResourceImporterForDevice(
            this_ptr: *mut OrtEpFactory, ep_device: *const OrtEpDevice,
            out_importer: *mut *mut OrtExternalResourceImporterImpl
        ) -> *mut OrtStatus;
        GetNumCustomOpDomains(this_ptr: *mut OrtEpFactory, num_domains: *mut usize) -> *mut OrtStatus;
        GetCustomOpDomains(
            this_ptr: *mut OrtEpFactory, domains: *mut *mut OrtCustomOpDomain, num_domains: usize
        ) -> *mut OrtStatus;
        InitGraphicsInterop(
            this_ptr: *mut OrtEpFactory, ep_device: *const OrtEpDevice, config: *const OrtGraphicsInteropConfig
        ) -> *mut OrtStatus;
        DeinitGraphicsInterop(this_ptr: *mut OrtEpFactory, ep_device: *const OrtEpDevice) -> *mut OrtStatus;
        SelectBestModelCandidate(
            this_ptr: *mut OrtEpFactory, device: *const OrtHardwareDevice, candidates: *const *const OrtKeyValuePairs,
            num_candidates: usize, session_options: *const OrtSessionOptions, selected_index: *mut usize
        ) -> *mut OrtStatus;
        GetDeviceMemoryCapacity;
    }
}

c_callbacks! {
    /// The execution provider of one session.
    pub(crate) struct OrtEp {
        ort_version_supported: u32;
        GetName(this_ptr: *const OrtEp) -> *const c_char;
        GetCapability(
            this_ptr: *mut OrtEp, graph: *const OrtGraph, graph_support_info: *mut OrtEpGraphSupportInfo
        ) -> *mut OrtStatus;
        Compile(
            this_ptr: *mut OrtEp, graphs: *mut *const OrtGraph, fused_nodes: *mut *const OrtNode, count: usize,
            node_compute_infos: *mut *mut OrtNodeComputeInfo, ep_context_nodes: *mut *mut OrtNode
        ) -> *mut OrtStatus;
        ReleaseNodeComputeInfos(
            this_ptr: *mut OrtEp, node_compute_infos: *mut *mut OrtNodeComputeInfo, num_node_compute_infos: usize
        );
        GetPreferredDataLayout(this_ptr: *mut OrtEp, preferred_data_layout: *mut OrtEpDataLayout) -> *mut OrtStatus;
        ShouldConvertDataLayoutForOp(
            this_ptr: *mut OrtEp, domain: *const c_char, op_type: *const c_char, target_data_layout: OrtEpDataLayout,
            should_convert: *mut c_int
        ) -> *mut OrtStatus;
        SetDynamicOptions(
            this_ptr: *mut OrtEp, option_keys: *const *const c_char, option_values: *const *const c_char,
            num_options: usize
        ) -> *mut OrtStatus;
        OnRunStart(this_ptr: *mut OrtEp, run_options: *const OrtRunOptions) -> *mut OrtStatus;
        OnRunEnd(this_ptr: *mut OrtEp, run_options: *const OrtRunOptions, sync_stream: bool) -> *mut OrtStatus;
        CreateAllocator(
            this_ptr: *mut OrtEp, memory_info: *const OrtMemoryInfo, allocator: *mut *mut OrtAllocator
        ) -> *mut OrtStatus;
        CreateSyncStreamForDevice(
            this_ptr: *mut OrtEp, memory_device: *const OrtMemoryDevice, stream: *mut *mut OrtSyncStreamImpl
        ) -> *mut OrtStatus;
        GetCompiledModelCompatibilityInfo(this_ptr: *mut OrtEp, graph: *const OrtGraph) -> *const c_char;
        GetKernelRegistry(this_ptr: *mut OrtEp, kernel_registry: *mut *const OrtKernelRegistry) -> *mut OrtStatus;
        IsConcurrentRunSupported(this_ptr: *mut OrtEp, is_supported: *mut bool) -> *mut OrtStatus;
        Sync(this_ptr: *mut OrtEp) -> *mut OrtStatus;
        CreateProfiler(this_ptr: *mut OrtEp, profiler: *mut *mut OrtEpProfilerImpl) -> *mut OrtStatus;
        IsGraphCaptureEnabled(this_ptr: *const OrtEp) -> bool;
        IsGraphCaptured(this_ptr: *const OrtEp, graph_annotation_id: c_int) -> bool;
        ReplayGraph(this_ptr: *mut OrtEp, graph_annotation_id: c_int) -> *mut OrtStatus;
        GetGraphCaptureNodeAssignmentPolicy(this_ptr: *const OrtEp) -> OrtGraphCaptureNodeAssignmentPolicy;
        GetAvailableResource(this_ptr: *const OrtEp, available: *mut OrtResourceCount) -> *mut OrtStatus;
        OnSessionInitializationEnd(this_ptr: *mut OrtEp) -> *mut OrtStatus;
        GetDefaultMemoryDevice(this_ptr: *const OrtEp, device: *mut *const OrtMemoryDevice) -> *mut OrtStatus;
        ReleaseCapturedGraph(this_ptr: *mut OrtEp, graph_annotation_id: c_int) -> *mut OrtStatus;
        GetWeightlessSupport(this_ptr: *const OrtEp, support: *mut OrtWeightlessSupport) -> *mut OrtStatus;
        GetEpContextDataSupport(this_ptr: *const OrtEp, support_flags: *mut u32) -> *mut OrtStatus;
    }
}

c_callbacks! {
    /// How a fused node runs.
    pub(crate) struct OrtNodeComputeInfo {
        ort_version_supported: u32;
        CreateState(
            this_ptr: *mut OrtNodeComputeInfo, compute_context: *mut OrtNodeComputeContext,
            compute_state: *mut *mut c_void
        ) -> *mut OrtStatus;
        Compute(
            this_ptr: *mut OrtNodeComputeInfo, compute_state: *mut c_void, kernel_context: *mut OrtKernelContext
        ) -> *mut OrtStatus;
        ReleaseState(this_ptr: *mut OrtNodeComputeInfo, compute_state: *mut c_void);
    }
}

c_callbacks! {
    /// Copies between memory of ours and of the host.
    pub(crate) struct OrtDataTransferImpl {
        ort_version_supported: u32;
        Release(this_ptr: *mut OrtDataTransferImpl);
        CanCopy(
            this_ptr: *const OrtDataTransferImpl, src_memory_device: *const OrtMemoryDevice,
            dst_memory_device: *const OrtMemoryDevice
        ) -> bool;
        CopyTensors(
            this_ptr: *mut OrtDataTransferImpl, src_tensors: *mut *const OrtValue, dst_tensors: *mut *mut OrtValue,
            streams: *mut *mut OrtSyncStream, num_tensors: usize
        ) -> *mut OrtStatus;
    }
}

c_callbacks! {
    /// A stream of ours.
    pub(crate) struct OrtSyncStreamImpl {
        ort_version_supported: u32;
        Release(this_ptr: *mut OrtSyncStreamImpl);
        GetHandle(this_ptr: *mut OrtSyncStreamImpl) -> *mut c_void;
        CreateNotification(
            this_ptr: *mut OrtSyncStreamImpl, notification: *mut *mut OrtSyncNotificationImpl
        ) -> *mut OrtStatus;
        Flush(this_ptr: *mut OrtSyncStreamImpl) -> *mut OrtStatus;
        OnSessionRunEnd(this_ptr: *mut OrtSyncStreamImpl) -> *mut OrtStatus;
    }
}

c_callbacks! {
    /// An event on a stream of ours.
    pub(crate) struct OrtSyncNotificationImpl {
        ort_version_supported: u32;
        Release(this_ptr: *mut OrtSyncNotificationImpl);
        Activate(this_ptr: *mut OrtSyncNotificationImpl) -> *mut OrtStatus;
        WaitOnDevice(this_ptr: *mut OrtSyncNotificationImpl, consumer_stream: *mut OrtSyncStream) -> *mut OrtStatus;
        WaitOnHost(this_ptr: *mut OrtSyncNotificationImpl) -> *mut OrtStatus;
    }
}

c_callbacks! {
    /// An allocator. One that a host made may end before the members that its release lacks, and has no spare ones: read
    /// its members through the pointer, and make no reference to it or copy of it.
    pub(crate) struct OrtAllocator {
        version: u32;
        Alloc(this_: *mut OrtAllocator, size: usize) -> *mut c_void;
        Free(this_: *mut OrtAllocator, p: *mut c_void);
        Info(this_: *const OrtAllocator) -> *const OrtMemoryInfo;
        Reserve(this_: *mut OrtAllocator, size: usize) -> *mut c_void;
        GetStats(this_: *const OrtAllocator, out: *mut *mut OrtKeyValuePairs) -> *mut OrtStatus;
        AllocOnStream(this_: *mut OrtAllocator, size: usize, stream: *mut OrtSyncStream) -> *mut c_void;
        Shrink(this_: *mut OrtAllocator) -> *mut OrtStatus;
    }
}

c_callbacks! {
    /// Events for the profile of a session.
    pub(crate) struct OrtEpProfilerImpl {
        ort_version_supported: u32;
        Release(this_ptr: *mut OrtEpProfilerImpl);
        StartProfiling(this_ptr: *mut OrtEpProfilerImpl, ep_profiling_start_offset_ns: i64) -> *mut OrtStatus;
        StartEvent(this_ptr: *mut OrtEpProfilerImpl, ort_event_correlation_id: u64) -> *mut OrtStatus;
        StopEvent(
            this_ptr: *mut OrtEpProfilerImpl, ort_event_correlation_id: u64, ort_event: *const OrtProfilingEvent
        ) -> *mut OrtStatus;
        EndProfiling(
            this_ptr: *mut OrtEpProfilerImpl, events_container: *mut OrtProfilingEventsContainer
        ) -> *mut OrtStatus;
    }
}

/// Pins the structs to the words that ONNX Runtime reads at [`crate::ffi::ort::API_VERSION`].
macro_rules! words {
    ($( $Table:ident: $words:literal; )*) => {
        $( static_assertions::const_assert_eq!(
            std::mem::offset_of!($Table, spare),
            $words * size_of::<usize>()
        ); )*
    };
}

words! {
    OrtEpFactory: 22;
    OrtEp: 27;
    OrtNodeComputeInfo: 4;
    OrtDataTransferImpl: 4;
    OrtSyncStreamImpl: 6;
    OrtSyncNotificationImpl: 5;
    OrtAllocator: 8;
    OrtEpProfilerImpl: 6;
}
