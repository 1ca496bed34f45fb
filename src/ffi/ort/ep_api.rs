//! `OrtEpApi`: the floor's slots in one table, those that later releases append in tails.
#![allow(non_snake_case, reason = "these are the names of the C header")]
use super::plugin::*;
use super::types::*;
use crate::ffi::table::c_table;
use std::ffi::{c_char, c_int, c_void};

c_table! {
    /// The functions of API 23 for execution providers.
    pub(crate) struct OrtEpApi {
        CreateEpDevice(
            ep_factory: *mut OrtEpFactory, hardware_device: *const OrtHardwareDevice,
            ep_metadata: *const OrtKeyValuePairs, ep_options: *const OrtKeyValuePairs,
            ep_device: *mut *mut OrtEpDevice
        ) -> *mut OrtStatus;
        ReleaseEpDevice(input: *mut OrtEpDevice);
        EpGraphSupportInfo_AddNodesToFuse(
            graph_support_info: *mut OrtEpGraphSupportInfo, nodes: *const *const OrtNode, num_nodes: usize,
            node_fusion_options: *const OrtNodeFusionOptions
        ) -> *mut OrtStatus;
        EpGraphSupportInfo_AddSingleNode(
            graph_support_info: *mut OrtEpGraphSupportInfo, node: *const OrtNode
        ) -> *mut OrtStatus;
        NodeComputeContext_NodeName(context: *const OrtNodeComputeContext) -> *const c_char;
        EpDevice_AddAllocatorInfo(
            ep_device: *mut OrtEpDevice, allocator_memory_info: *const OrtMemoryInfo
        ) -> *mut OrtStatus;
        MemoryInfo_GetMemoryDevice(memory_info: *const OrtMemoryInfo) -> *const OrtMemoryDevice;
        Value_GetMemoryDevice(value: *const OrtValue) -> *const OrtMemoryDevice;
        MemoryDevice_AreEqual(a: *const OrtMemoryDevice, b: *const OrtMemoryDevice) -> bool;
        MemoryDevice_GetDeviceType(memory_device: *const OrtMemoryDevice) -> OrtMemoryInfoDeviceType;
        MemoryDevice_GetMemoryType(memory_device: *const OrtMemoryDevice) -> OrtDeviceMemoryType;
        MemoryDevice_GetVendorId(memory_device: *const OrtMemoryDevice) -> u32;
        MemoryDevice_GetDeviceId(memory_device: *const OrtMemoryDevice) -> u32;
        SyncStream_GetImpl(stream: *const OrtSyncStream) -> *const OrtSyncStreamImpl;
        SyncStream_GetSyncId(stream: *const OrtSyncStream) -> u64;
        GetSyncIdForLastWaitOnSyncStream(
            producer_stream: *const OrtSyncStream, consumer_stream: *const OrtSyncStream
        ) -> u64;
    }
}

c_table! {
    /// What API 24 appends.
    pub(crate) struct OrtEpApiV24 {
        CreateHardwareDevice(
            kind: OrtHardwareDeviceType, vendor_id: u32, device_id: u32, vendor_name: *const c_char,
            metadata: *const OrtKeyValuePairs, hardware_device: *mut *mut OrtHardwareDevice
        ) -> *mut OrtStatus;
        ReleaseHardwareDevice(input: *mut OrtHardwareDevice);
        CreateKernelRegistry(kernel_registry: *mut *mut OrtKernelRegistry) -> *mut OrtStatus;
        ReleaseKernelRegistry(input: *mut OrtKernelRegistry);
        KernelRegistry_AddKernel;
        CreateKernelDefBuilder(kernel_def_builder_out: *mut *mut OrtKernelDefBuilder) -> *mut OrtStatus;
        ReleaseKernelDefBuilder(input: *mut OrtKernelDefBuilder);
        KernelDefBuilder_SetOperatorType(
            kernel_def_builder: *mut OrtKernelDefBuilder, op_type: *const c_char
        ) -> *mut OrtStatus;
        KernelDefBuilder_SetDomain(
            kernel_def_builder: *mut OrtKernelDefBuilder, domain: *const c_char
        ) -> *mut OrtStatus;
        KernelDefBuilder_SetSinceVersion(
            kernel_def_builder: *mut OrtKernelDefBuilder, since_version_start: c_int, since_version_end: c_int
        ) -> *mut OrtStatus;
        KernelDefBuilder_SetExecutionProvider(
            kernel_def_builder: *mut OrtKernelDefBuilder, ep_name: *const c_char
        ) -> *mut OrtStatus;
        KernelDefBuilder_SetInputMemType(
            kernel_def_builder: *mut OrtKernelDefBuilder, input_index: usize, mem_type: OrtMemType
        ) -> *mut OrtStatus;
        KernelDefBuilder_SetOutputMemType(
            kernel_def_builder: *mut OrtKernelDefBuilder, output_index: usize, mem_type: OrtMemType
        ) -> *mut OrtStatus;
        KernelDefBuilder_AddTypeConstraint(
            kernel_def_builder: *mut OrtKernelDefBuilder, arg_name: *const c_char, types: *const *const OrtDataType,
            num_types: usize
        ) -> *mut OrtStatus;
        KernelDefBuilder_AddInputOutputAliases(
            kernel_def_builder: *mut OrtKernelDefBuilder, input_indices: *const c_int, output_indices: *const c_int,
            num_io_indices: usize
        ) -> *mut OrtStatus;
        KernelDefBuilder_AddInputOutputMutableAliases(
            kernel_def_builder: *mut OrtKernelDefBuilder, input_indices: *const c_int, output_indices: *const c_int,
            num_io_indices: usize
        ) -> *mut OrtStatus;
        KernelDefBuilder_Build(
            kernel_def_builder: *mut OrtKernelDefBuilder, kernel_def_out: *mut *mut OrtKernelDef
        ) -> *mut OrtStatus;
        ReleaseKernelDef(input: *mut OrtKernelDef);
        KernelDef_GetOperatorType(kernel_def: *const OrtKernelDef) -> *const c_char;
        KernelDef_GetDomain(kernel_def: *const OrtKernelDef) -> *const c_char;
        KernelDef_GetSinceVersion(
            kernel_def: *const OrtKernelDef, start_version: *mut c_int, end_version: *mut c_int
        ) -> *mut OrtStatus;
        KernelDef_GetExecutionProvider(kernel_def: *const OrtKernelDef) -> *const c_char;
        KernelDef_GetInputMemType(
            kernel_def: *const OrtKernelDef, input_index: usize, mem_type: *mut OrtMemType
        ) -> *mut OrtStatus;
        KernelDef_GetOutputMemType(
            kernel_def: *const OrtKernelDef, output_index: usize, mem_type: *mut OrtMemType
        ) -> *mut OrtStatus;
        GetTensorDataType(elem_type: ONNXTensorElementDataType, out: *mut *const OrtDataType) -> *mut OrtStatus;
        EpGraphSupportInfo_LookUpKernel(
            graph_support_info: *mut OrtEpGraphSupportInfo, node: *const OrtNode,
            out_kernel_def: *mut *const OrtKernelDef
        ) -> *mut OrtStatus;
        SharedPrePackedWeightCache_StoreWeightData(
            prepacked_weight_cache: *mut OrtSharedPrePackedWeightCache, buffer_data_ptrs: *mut *mut c_void,
            buffer_data_sizes: *mut usize, num_buffers: usize
        ) -> *mut OrtStatus;
        KernelInfo_GetEp(info: *const OrtKernelInfo, ep: *mut *const OrtEp) -> *mut OrtStatus;
        DeviceEpIncompatibilityDetails_SetDetails(
            details: *mut OrtDeviceEpIncompatibilityDetails, reasons_bitmask: u32, error_code: i32,
            notes: *const c_char
        ) -> *mut OrtStatus;
        CreateIfKernel(kernel_info: *const OrtKernelInfo, kernel_out: *mut *mut OrtKernelImpl) -> *mut OrtStatus;
        CreateLoopKernel(
            kernel_info: *const OrtKernelInfo, helper: *mut OrtLoopKernelHelper, kernel_out: *mut *mut OrtKernelImpl
        ) -> *mut OrtStatus;
        CreateScanKernel(
            kernel_info: *const OrtKernelInfo, helper: *mut OrtScanKernelHelper, kernel_out: *mut *mut OrtKernelImpl
        ) -> *mut OrtStatus;
        ReleaseKernelImpl(input: *mut OrtKernelImpl);
        GetEnvConfigEntries(config_entries: *mut *mut OrtKeyValuePairs) -> *mut OrtStatus;
    }
}

c_table! {
    /// What API 25 appends.
    pub(crate) struct OrtEpApiV25 {
        GetOpSchema(
            name: *const c_char, max_inclusive_version: c_int, domain: *const c_char,
            out_schema: *mut *mut OrtOpSchema
        ) -> *mut OrtStatus;
        ReleaseOpSchema(input: *mut OrtOpSchema);
        OpSchema_GetSinceVersion(schema: *const OrtOpSchema, out: *mut c_int) -> *mut OrtStatus;
        OpSchema_GetNumInputs(schema: *const OrtOpSchema, out: *mut usize) -> *mut OrtStatus;
        OpSchema_GetInputName(schema: *const OrtOpSchema, index: usize, out: *mut *const c_char) -> *mut OrtStatus;
        OpSchema_GetInputTypeConstraint(
            schema: *const OrtOpSchema, index: usize, out: *mut *const OrtOpSchemaTypeConstraint
        ) -> *mut OrtStatus;
        OpSchema_GetNumOutputs(schema: *const OrtOpSchema, out: *mut usize) -> *mut OrtStatus;
        OpSchema_GetOutputName(schema: *const OrtOpSchema, index: usize, out: *mut *const c_char) -> *mut OrtStatus;
        OpSchema_GetOutputTypeConstraint(
            schema: *const OrtOpSchema, index: usize, out: *mut *const OrtOpSchemaTypeConstraint
        ) -> *mut OrtStatus;
        OpSchema_GetTypeConstraintCount(schema: *const OrtOpSchema, out: *mut usize) -> *mut OrtStatus;
        OpSchema_GetTypeConstraint(
            schema: *const OrtOpSchema, index: usize, out: *mut *const OrtOpSchemaTypeConstraint
        ) -> *mut OrtStatus;
        OpSchemaTypeConstraint_GetTypeParamName(
            type_constraint: *const OrtOpSchemaTypeConstraint, out: *mut *const c_char
        ) -> *mut OrtStatus;
        OpSchemaTypeConstraint_GetAllowedTypes(
            type_constraint: *const OrtOpSchemaTypeConstraint, out_types: *mut *const *const c_char,
            num_types: *mut usize
        ) -> *mut OrtStatus;
        OpSchemaTypeConstraint_GetInputIndices(
            type_constraint: *const OrtOpSchemaTypeConstraint, out_indices: *mut *const usize, count: *mut usize
        ) -> *mut OrtStatus;
        OpSchemaTypeConstraint_GetOutputIndices(
            type_constraint: *const OrtOpSchemaTypeConstraint, out_indices: *mut *const usize, count: *mut usize
        ) -> *mut OrtStatus;
        CreateProfilingEvent(
            category: OrtProfilingEventCategory, process_id: i32, thread_id: i32, event_name: *const c_char,
            timestamp_us: i64, duration_us: i64, arg_keys: *const *const c_char, arg_values: *const *const c_char,
            num_args: usize, out: *mut *mut OrtProfilingEvent
        ) -> *mut OrtStatus;
        ReleaseProfilingEvent(input: *mut OrtProfilingEvent);
        ProfilingEvent_GetCategory(
            event: *const OrtProfilingEvent, out: *mut OrtProfilingEventCategory
        ) -> *mut OrtStatus;
        ProfilingEvent_GetName(event: *const OrtProfilingEvent, out: *mut *const c_char) -> *mut OrtStatus;
        ProfilingEvent_GetTimestampUs(event: *const OrtProfilingEvent, out: *mut i64) -> *mut OrtStatus;
        ProfilingEvent_GetDurationUs(event: *const OrtProfilingEvent, out: *mut i64) -> *mut OrtStatus;
        ProfilingEvent_GetArgValue(
            event: *const OrtProfilingEvent, key: *const c_char, out: *mut *const c_char
        ) -> *mut OrtStatus;
        ProfilingEventsContainer_AddEvents(
            events_container: *mut OrtProfilingEventsContainer, events: *const *const OrtProfilingEvent,
            num_events: usize
        ) -> *mut OrtStatus;
    }
}

c_table! {
    /// What API 29 appends.
    pub(crate) struct OrtEpApiV29 {
        SessionOptionsGetWeightlessSourceModelBuffer(
            session_options: *const OrtSessionOptions, source_model_data: *mut *const c_void,
            source_model_data_length: *mut usize
        ) -> *mut OrtStatus;
    }
}

c_table! {
    /// What API 31 appends.
    pub(crate) struct OrtEpApiV31 {
        SessionOptionsGetEpContextConfig(
            session_options: *const OrtSessionOptions, config: *mut *mut OrtEpContextConfig
        ) -> *mut OrtStatus;
        ReleaseEpContextConfig(input: *mut OrtEpContextConfig);
        EpContextConfigGetEpContextDataReadFunc;
        EpContextConfigGetEpContextDataWriteFunc;
    }
}
