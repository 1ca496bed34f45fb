//! `OrtApi`: the floor's slots in one table, those that later releases append in tails.
#![allow(non_snake_case, reason = "these are the names of the C header")]
use super::ep_api::OrtEpApi;
use super::plugin::*;
use super::types::*;
use crate::ffi::table::c_table;
use std::ffi::{c_char, c_int, c_void};

c_table! {
    /// What a plugin is handed first.
    pub(crate) struct OrtApiBase {
        GetApi(version: u32) -> *const OrtApi;
        GetVersionString() -> *const c_char;
    }
}

c_table! {
    /// The functions of API 23.
    pub(crate) struct OrtApi {
        CreateStatus(code: OrtErrorCode, msg: *const c_char) -> *mut OrtStatus;
        GetErrorCode(status: *const OrtStatus) -> OrtErrorCode;
        GetErrorMessage(status: *const OrtStatus) -> *const c_char;
        CreateEnv(log_severity_level: OrtLoggingLevel, logid: *const c_char, out: *mut *mut OrtEnv) -> *mut OrtStatus;
        CreateEnvWithCustomLogger;
        EnableTelemetryEvents;
        DisableTelemetryEvents;
        CreateSession(
            env: *const OrtEnv, model_path: *const OrtChar, options: *const OrtSessionOptions,
            out: *mut *mut OrtSession
        ) -> *mut OrtStatus;
        CreateSessionFromArray(
            env: *const OrtEnv, model_data: *const c_void, model_data_length: usize,
            options: *const OrtSessionOptions, out: *mut *mut OrtSession
        ) -> *mut OrtStatus;
        Run(
            session: *mut OrtSession, run_options: *const OrtRunOptions, input_names: *const *const c_char,
            inputs: *const *const OrtValue, input_len: usize, output_names: *const *const c_char,
            output_names_len: usize, outputs: *mut *mut OrtValue
        ) -> *mut OrtStatus;
        CreateSessionOptions(options: *mut *mut OrtSessionOptions) -> *mut OrtStatus;
        SetOptimizedModelFilePath;
        CloneSessionOptions;
        SetSessionExecutionMode;
        EnableProfiling(options: *mut OrtSessionOptions, profile_file_prefix: *const OrtChar) -> *mut OrtStatus;
        DisableProfiling;
        EnableMemPattern;
        DisableMemPattern;
        EnableCpuMemArena;
        DisableCpuMemArena;
        SetSessionLogId;
        SetSessionLogVerbosityLevel;
        SetSessionLogSeverityLevel;
        SetSessionGraphOptimizationLevel(
            options: *mut OrtSessionOptions, graph_optimization_level: GraphOptimizationLevel
        ) -> *mut OrtStatus;
        SetIntraOpNumThreads;
        SetInterOpNumThreads;
        CreateCustomOpDomain;
        CustomOpDomain_Add;
        AddCustomOpDomain;
        RegisterCustomOpsLibrary;
        SessionGetInputCount(session: *const OrtSession, out: *mut usize) -> *mut OrtStatus;
        SessionGetOutputCount(session: *const OrtSession, out: *mut usize) -> *mut OrtStatus;
        SessionGetOverridableInitializerCount;
        SessionGetInputTypeInfo;
        SessionGetOutputTypeInfo;
        SessionGetOverridableInitializerTypeInfo;
        SessionGetInputName;
        SessionGetOutputName;
        SessionGetOverridableInitializerName;
        CreateRunOptions(out: *mut *mut OrtRunOptions) -> *mut OrtStatus;
        RunOptionsSetRunLogVerbosityLevel;
        RunOptionsSetRunLogSeverityLevel;
        RunOptionsSetRunTag(options: *mut OrtRunOptions, run_tag: *const c_char) -> *mut OrtStatus;
        RunOptionsGetRunLogVerbosityLevel;
        RunOptionsGetRunLogSeverityLevel(
            options: *const OrtRunOptions, log_severity_level: *mut c_int
        ) -> *mut OrtStatus;
        RunOptionsGetRunTag(options: *const OrtRunOptions, run_tag: *mut *const c_char) -> *mut OrtStatus;
        RunOptionsSetTerminate;
        RunOptionsUnsetTerminate;
        CreateTensorAsOrtValue(
            allocator: *mut OrtAllocator, shape: *const i64, shape_len: usize, kind: ONNXTensorElementDataType,
            out: *mut *mut OrtValue
        ) -> *mut OrtStatus;
        CreateTensorWithDataAsOrtValue(
            info: *const OrtMemoryInfo, p_data: *mut c_void, p_data_len: usize, shape: *const i64, shape_len: usize,
            kind: ONNXTensorElementDataType, out: *mut *mut OrtValue
        ) -> *mut OrtStatus;
        IsTensor(value: *const OrtValue, out: *mut c_int) -> *mut OrtStatus;
        GetTensorMutableData(value: *mut OrtValue, out: *mut *mut c_void) -> *mut OrtStatus;
        FillStringTensor(value: *mut OrtValue, s: *const *const c_char, s_len: usize) -> *mut OrtStatus;
        GetStringTensorDataLength(value: *const OrtValue, len: *mut usize) -> *mut OrtStatus;
        GetStringTensorContent(
            value: *const OrtValue, s: *mut c_void, s_len: usize, offsets: *mut usize, offsets_len: usize
        ) -> *mut OrtStatus;
        CastTypeInfoToTensorInfo(
            type_info: *const OrtTypeInfo, out: *mut *const OrtTensorTypeAndShapeInfo
        ) -> *mut OrtStatus;
        GetOnnxTypeFromTypeInfo(type_info: *const OrtTypeInfo, out: *mut ONNXType) -> *mut OrtStatus;
        CreateTensorTypeAndShapeInfo;
        SetTensorElementType;
        SetDimensions;
        GetTensorElementType(
            info: *const OrtTensorTypeAndShapeInfo, out: *mut ONNXTensorElementDataType
        ) -> *mut OrtStatus;
        GetDimensionsCount(info: *const OrtTensorTypeAndShapeInfo, out: *mut usize) -> *mut OrtStatus;
        GetDimensions(
            info: *const OrtTensorTypeAndShapeInfo, dim_values: *mut i64, dim_values_length: usize
        ) -> *mut OrtStatus;
        GetSymbolicDimensions(
            info: *const OrtTensorTypeAndShapeInfo, dim_params: *mut *const c_char, dim_params_length: usize
        ) -> *mut OrtStatus;
        GetTensorShapeElementCount(info: *const OrtTensorTypeAndShapeInfo, out: *mut usize) -> *mut OrtStatus;
        GetTensorTypeAndShape(value: *const OrtValue, out: *mut *mut OrtTensorTypeAndShapeInfo) -> *mut OrtStatus;
        GetTypeInfo(value: *const OrtValue, out: *mut *mut OrtTypeInfo) -> *mut OrtStatus;
        GetValueType(value: *const OrtValue, out: *mut ONNXType) -> *mut OrtStatus;
        CreateMemoryInfo(
            name: *const c_char, kind: OrtAllocatorType, id: c_int, mem_type: OrtMemType, out: *mut *mut OrtMemoryInfo
        ) -> *mut OrtStatus;
        CreateCpuMemoryInfo(
            kind: OrtAllocatorType, mem_type: OrtMemType, out: *mut *mut OrtMemoryInfo
        ) -> *mut OrtStatus;
        CompareMemoryInfo(
            info1: *const OrtMemoryInfo, info2: *const OrtMemoryInfo, out: *mut c_int
        ) -> *mut OrtStatus;
        MemoryInfoGetName(ptr: *const OrtMemoryInfo, out: *mut *const c_char) -> *mut OrtStatus;
        MemoryInfoGetId(ptr: *const OrtMemoryInfo, out: *mut c_int) -> *mut OrtStatus;
        MemoryInfoGetMemType(ptr: *const OrtMemoryInfo, out: *mut OrtMemType) -> *mut OrtStatus;
        MemoryInfoGetType(ptr: *const OrtMemoryInfo, out: *mut OrtAllocatorType) -> *mut OrtStatus;
        AllocatorAlloc(ort_allocator: *mut OrtAllocator, size: usize, out: *mut *mut c_void) -> *mut OrtStatus;
        AllocatorFree(ort_allocator: *mut OrtAllocator, p: *mut c_void) -> *mut OrtStatus;
        AllocatorGetInfo(ort_allocator: *const OrtAllocator, out: *mut *const OrtMemoryInfo) -> *mut OrtStatus;
        GetAllocatorWithDefaultOptions(out: *mut *mut OrtAllocator) -> *mut OrtStatus;
        AddFreeDimensionOverride;
        GetValue(
            value: *const OrtValue, index: c_int, allocator: *mut OrtAllocator, out: *mut *mut OrtValue
        ) -> *mut OrtStatus;
        GetValueCount(value: *const OrtValue, out: *mut usize) -> *mut OrtStatus;
        CreateValue(
            values: *const *const OrtValue, num_values: usize, value_type: ONNXType, out: *mut *mut OrtValue
        ) -> *mut OrtStatus;
        CreateOpaqueValue;
        GetOpaqueValue;
        KernelInfoGetAttribute_float;
        KernelInfoGetAttribute_int64;
        KernelInfoGetAttribute_string;
        KernelContext_GetInputCount(context: *const OrtKernelContext, out: *mut usize) -> *mut OrtStatus;
        KernelContext_GetOutputCount(context: *const OrtKernelContext, out: *mut usize) -> *mut OrtStatus;
        KernelContext_GetInput(
            context: *const OrtKernelContext, index: usize, out: *mut *const OrtValue
        ) -> *mut OrtStatus;
        KernelContext_GetOutput(
            context: *mut OrtKernelContext, index: usize, dim_values: *const i64, dim_count: usize,
            out: *mut *mut OrtValue
        ) -> *mut OrtStatus;
        ReleaseEnv(input: *mut OrtEnv);
        ReleaseStatus(input: *mut OrtStatus);
        ReleaseMemoryInfo(input: *mut OrtMemoryInfo);
        ReleaseSession(input: *mut OrtSession);
        ReleaseValue(input: *mut OrtValue);
        ReleaseRunOptions(input: *mut OrtRunOptions);
        ReleaseTypeInfo(input: *mut OrtTypeInfo);
        ReleaseTensorTypeAndShapeInfo(input: *mut OrtTensorTypeAndShapeInfo);
        ReleaseSessionOptions(input: *mut OrtSessionOptions);
        ReleaseCustomOpDomain;
        GetDenotationFromTypeInfo;
        CastTypeInfoToMapTypeInfo(type_info: *const OrtTypeInfo, out: *mut *const OrtMapTypeInfo) -> *mut OrtStatus;
        CastTypeInfoToSequenceTypeInfo(
            type_info: *const OrtTypeInfo, out: *mut *const OrtSequenceTypeInfo
        ) -> *mut OrtStatus;
        GetMapKeyType;
        GetMapValueType;
        GetSequenceElementType(
            sequence_type_info: *const OrtSequenceTypeInfo, type_info: *mut *mut OrtTypeInfo
        ) -> *mut OrtStatus;
        ReleaseMapTypeInfo;
        ReleaseSequenceTypeInfo;
        SessionEndProfiling(
            session: *mut OrtSession, allocator: *mut OrtAllocator, out: *mut *mut c_char
        ) -> *mut OrtStatus;
        SessionGetModelMetadata;
        ModelMetadataGetProducerName;
        ModelMetadataGetGraphName(
            model_metadata: *const OrtModelMetadata, allocator: *mut OrtAllocator, value: *mut *mut c_char
        ) -> *mut OrtStatus;
        ModelMetadataGetDomain;
        ModelMetadataGetDescription;
        ModelMetadataLookupCustomMetadataMap(
            model_metadata: *const OrtModelMetadata, allocator: *mut OrtAllocator, key: *const c_char,
            value: *mut *mut c_char
        ) -> *mut OrtStatus;
        ModelMetadataGetVersion;
        ReleaseModelMetadata(input: *mut OrtModelMetadata);
        CreateEnvWithGlobalThreadPools;
        DisablePerSessionThreads;
        CreateThreadingOptions;
        ReleaseThreadingOptions;
        ModelMetadataGetCustomMetadataMapKeys(
            model_metadata: *const OrtModelMetadata, allocator: *mut OrtAllocator, keys: *mut *mut *mut c_char,
            num_keys: *mut i64
        ) -> *mut OrtStatus;
        AddFreeDimensionOverrideByName;
        GetAvailableProviders;
        ReleaseAvailableProviders;
        GetStringTensorElementLength(value: *const OrtValue, index: usize, out: *mut usize) -> *mut OrtStatus;
        GetStringTensorElement(value: *const OrtValue, s_len: usize, index: usize, s: *mut c_void) -> *mut OrtStatus;
        FillStringTensorElement(value: *mut OrtValue, s: *const c_char, index: usize) -> *mut OrtStatus;
        AddSessionConfigEntry(
            options: *mut OrtSessionOptions, config_key: *const c_char, config_value: *const c_char
        ) -> *mut OrtStatus;
        CreateAllocator(
            session: *const OrtSession, mem_info: *const OrtMemoryInfo, out: *mut *mut OrtAllocator
        ) -> *mut OrtStatus;
        ReleaseAllocator(input: *mut OrtAllocator);
        RunWithBinding;
        CreateIoBinding;
        ReleaseIoBinding;
        BindInput;
        BindOutput;
        BindOutputToDevice;
        GetBoundOutputNames;
        GetBoundOutputValues;
        ClearBoundInputs;
        ClearBoundOutputs;
        TensorAt;
        CreateAndRegisterAllocator;
        SetLanguageProjection;
        SessionGetProfilingStartTimeNs;
        SetGlobalIntraOpNumThreads;
        SetGlobalInterOpNumThreads;
        SetGlobalSpinControl;
        AddInitializer;
        CreateEnvWithCustomLoggerAndGlobalThreadPools;
        SessionOptionsAppendExecutionProvider_CUDA;
        SessionOptionsAppendExecutionProvider_ROCM;
        SessionOptionsAppendExecutionProvider_OpenVINO;
        SetGlobalDenormalAsZero;
        CreateArenaCfg;
        ReleaseArenaCfg;
        ModelMetadataGetGraphDescription;
        SessionOptionsAppendExecutionProvider_TensorRT;
        SetCurrentGpuDeviceId;
        GetCurrentGpuDeviceId;
        KernelInfoGetAttributeArray_float;
        KernelInfoGetAttributeArray_int64;
        CreateArenaCfgV2;
        AddRunConfigEntry;
        CreatePrepackedWeightsContainer;
        ReleasePrepackedWeightsContainer;
        CreateSessionWithPrepackedWeightsContainer;
        CreateSessionFromArrayWithPrepackedWeightsContainer;
        SessionOptionsAppendExecutionProvider_TensorRT_V2;
        CreateTensorRTProviderOptions;
        UpdateTensorRTProviderOptions;
        GetTensorRTProviderOptionsAsString;
        ReleaseTensorRTProviderOptions;
        EnableOrtCustomOps;
        RegisterAllocator;
        UnregisterAllocator;
        IsSparseTensor;
        CreateSparseTensorAsOrtValue;
        FillSparseTensorCoo;
        FillSparseTensorCsr;
        FillSparseTensorBlockSparse;
        CreateSparseTensorWithValuesAsOrtValue;
        UseCooIndices;
        UseCsrIndices;
        UseBlockSparseIndices;
        GetSparseTensorFormat;
        GetSparseTensorValuesTypeAndShape;
        GetSparseTensorValues;
        GetSparseTensorIndicesTypeShape;
        GetSparseTensorIndices;
        HasValue(value: *const OrtValue, out: *mut c_int) -> *mut OrtStatus;
        KernelContext_GetGPUComputeStream(context: *const OrtKernelContext, out: *mut *mut c_void) -> *mut OrtStatus;
        GetTensorMemoryInfo(value: *const OrtValue, mem_info: *mut *const OrtMemoryInfo) -> *mut OrtStatus;
        GetExecutionProviderApi;
        SessionOptionsSetCustomCreateThreadFn;
        SessionOptionsSetCustomThreadCreationOptions;
        SessionOptionsSetCustomJoinThreadFn;
        SetGlobalCustomCreateThreadFn;
        SetGlobalCustomThreadCreationOptions;
        SetGlobalCustomJoinThreadFn;
        SynchronizeBoundInputs;
        SynchronizeBoundOutputs;
        SessionOptionsAppendExecutionProvider_CUDA_V2;
        CreateCUDAProviderOptions;
        UpdateCUDAProviderOptions;
        GetCUDAProviderOptionsAsString;
        ReleaseCUDAProviderOptions;
        SessionOptionsAppendExecutionProvider_MIGraphX;
        AddExternalInitializers;
        CreateOpAttr(
            name: *const c_char, data: *const c_void, len: c_int, kind: OrtOpAttrType, op_attr: *mut *mut OrtOpAttr
        ) -> *mut OrtStatus;
        ReleaseOpAttr(input: *mut OrtOpAttr);
        CreateOp;
        InvokeOp;
        ReleaseOp;
        SessionOptionsAppendExecutionProvider;
        CopyKernelInfo;
        ReleaseKernelInfo;
        GetTrainingApi;
        SessionOptionsAppendExecutionProvider_CANN;
        CreateCANNProviderOptions;
        UpdateCANNProviderOptions;
        GetCANNProviderOptionsAsString;
        ReleaseCANNProviderOptions;
        MemoryInfoGetDeviceType(ptr: *const OrtMemoryInfo, out: *mut OrtMemoryInfoDeviceType);
        UpdateEnvWithCustomLogLevel;
        SetGlobalIntraOpThreadAffinity;
        RegisterCustomOpsLibrary_V2;
        RegisterCustomOpsUsingFunction;
        KernelInfo_GetInputCount;
        KernelInfo_GetOutputCount;
        KernelInfo_GetInputName;
        KernelInfo_GetOutputName;
        KernelInfo_GetInputTypeInfo;
        KernelInfo_GetOutputTypeInfo;
        KernelInfoGetAttribute_tensor;
        HasSessionConfigEntry(
            options: *const OrtSessionOptions, config_key: *const c_char, out: *mut c_int
        ) -> *mut OrtStatus;
        GetSessionConfigEntry(
            options: *const OrtSessionOptions, config_key: *const c_char, config_value: *mut c_char, size: *mut usize
        ) -> *mut OrtStatus;
        SessionOptionsAppendExecutionProvider_Dnnl;
        CreateDnnlProviderOptions;
        UpdateDnnlProviderOptions;
        GetDnnlProviderOptionsAsString;
        ReleaseDnnlProviderOptions;
        KernelInfo_GetNodeName;
        KernelInfo_GetLogger;
        KernelContext_GetLogger(context: *const OrtKernelContext, logger: *mut *const OrtLogger) -> *mut OrtStatus;
        Logger_LogMessage(
            logger: *const OrtLogger, log_severity_level: OrtLoggingLevel, message: *const c_char,
            file_path: *const OrtChar, line_number: c_int, func_name: *const c_char
        ) -> *mut OrtStatus;
        Logger_GetLoggingSeverityLevel(logger: *const OrtLogger, out: *mut OrtLoggingLevel) -> *mut OrtStatus;
        KernelInfoGetConstantInput_tensor;
        CastTypeInfoToOptionalTypeInfo(
            type_info: *const OrtTypeInfo, out: *mut *const OrtOptionalTypeInfo
        ) -> *mut OrtStatus;
        GetOptionalContainedTypeInfo(
            optional_type_info: *const OrtOptionalTypeInfo, out: *mut *mut OrtTypeInfo
        ) -> *mut OrtStatus;
        GetResizedStringTensorElementBuffer(
            value: *mut OrtValue, index: usize, length_in_bytes: usize, buffer: *mut *mut c_char
        ) -> *mut OrtStatus;
        KernelContext_GetAllocator(
            context: *const OrtKernelContext, mem_info: *const OrtMemoryInfo, out: *mut *mut OrtAllocator
        ) -> *mut OrtStatus;
        GetBuildInfoString() -> *const c_char;
        CreateROCMProviderOptions;
        UpdateROCMProviderOptions;
        GetROCMProviderOptionsAsString;
        ReleaseROCMProviderOptions;
        CreateAndRegisterAllocatorV2;
        RunAsync;
        UpdateTensorRTProviderOptionsWithValue;
        GetTensorRTProviderOptionsByName;
        UpdateCUDAProviderOptionsWithValue;
        GetCUDAProviderOptionsByName;
        KernelContext_GetResource(
            context: *const OrtKernelContext, resource_version: c_int, resource_id: c_int, resource: *mut *mut c_void
        ) -> *mut OrtStatus;
        SetUserLoggingFunction;
        ShapeInferContext_GetInputCount;
        ShapeInferContext_GetInputTypeShape;
        ShapeInferContext_GetAttribute;
        ShapeInferContext_SetOutputTypeShape;
        SetSymbolicDimensions;
        ReadOpAttr(
            op_attr: *const OrtOpAttr, kind: OrtOpAttrType, data: *mut c_void, len: usize, out: *mut usize
        ) -> *mut OrtStatus;
        SetDeterministicCompute;
        KernelContext_ParallelFor;
        SessionOptionsAppendExecutionProvider_OpenVINO_V2;
        SessionOptionsAppendExecutionProvider_VitisAI;
        KernelContext_GetScratchBuffer(
            context: *const OrtKernelContext, mem_info: *const OrtMemoryInfo, count_or_bytes: usize,
            out: *mut *mut c_void
        ) -> *mut OrtStatus;
        KernelInfoGetAllocator;
        AddExternalInitializersFromFilesInMemory;
        CreateLoraAdapter;
        CreateLoraAdapterFromArray;
        ReleaseLoraAdapter;
        RunOptionsAddActiveLoraAdapter;
        SetEpDynamicOptions(
            sess: *mut OrtSession, keys: *const *const c_char, values: *const *const c_char, kv_len: usize
        ) -> *mut OrtStatus;
        ReleaseValueInfo(input: *mut OrtValueInfo);
        ReleaseNode(input: *mut OrtNode);
        ReleaseGraph(input: *mut OrtGraph);
        ReleaseModel;
        GetValueInfoName(value_info: *const OrtValueInfo, name: *mut *const c_char) -> *mut OrtStatus;
        GetValueInfoTypeInfo(value_info: *const OrtValueInfo, type_info: *mut *const OrtTypeInfo) -> *mut OrtStatus;
        GetModelEditorApi() -> *const OrtModelEditorApi;
        CreateTensorWithDataAndDeleterAsOrtValue(
            deleter: *mut OrtAllocator, p_data: *mut c_void, p_data_len: usize, shape: *const i64, shape_len: usize,
            kind: ONNXTensorElementDataType, out: *mut *mut OrtValue
        ) -> *mut OrtStatus;
        SessionOptionsSetLoadCancellationFlag;
        GetCompileApi() -> *const OrtCompileApi;
        CreateKeyValuePairs(out: *mut *mut OrtKeyValuePairs);
        AddKeyValuePair(kvps: *mut OrtKeyValuePairs, key: *const c_char, value: *const c_char);
        GetKeyValue(kvps: *const OrtKeyValuePairs, key: *const c_char) -> *const c_char;
        GetKeyValuePairs(
            kvps: *const OrtKeyValuePairs, keys: *mut *const *const c_char, values: *mut *const *const c_char,
            num_entries: *mut usize
        );
        RemoveKeyValuePair(kvps: *mut OrtKeyValuePairs, key: *const c_char);
        ReleaseKeyValuePairs(input: *mut OrtKeyValuePairs);
        RegisterExecutionProviderLibrary(
            env: *mut OrtEnv, registration_name: *const c_char, path: *const OrtChar
        ) -> *mut OrtStatus;
        UnregisterExecutionProviderLibrary(env: *mut OrtEnv, registration_name: *const c_char) -> *mut OrtStatus;
        GetEpDevices(
            env: *const OrtEnv, ep_devices: *mut *const *const OrtEpDevice, num_ep_devices: *mut usize
        ) -> *mut OrtStatus;
        SessionOptionsAppendExecutionProvider_V2(
            session_options: *mut OrtSessionOptions, env: *mut OrtEnv, ep_devices: *const *const OrtEpDevice,
            num_ep_devices: usize, ep_option_keys: *const *const c_char, ep_option_vals: *const *const c_char,
            num_ep_options: usize
        ) -> *mut OrtStatus;
        SessionOptionsSetEpSelectionPolicy(
            session_options: *mut OrtSessionOptions, policy: OrtExecutionProviderDevicePolicy
        ) -> *mut OrtStatus;
        SessionOptionsSetEpSelectionPolicyDelegate;
        HardwareDevice_Type(device: *const OrtHardwareDevice) -> OrtHardwareDeviceType;
        HardwareDevice_VendorId(device: *const OrtHardwareDevice) -> u32;
        HardwareDevice_Vendor(device: *const OrtHardwareDevice) -> *const c_char;
        HardwareDevice_DeviceId(device: *const OrtHardwareDevice) -> u32;
        HardwareDevice_Metadata(device: *const OrtHardwareDevice) -> *const OrtKeyValuePairs;
        EpDevice_EpName(ep_device: *const OrtEpDevice) -> *const c_char;
        EpDevice_EpVendor(ep_device: *const OrtEpDevice) -> *const c_char;
        EpDevice_EpMetadata(ep_device: *const OrtEpDevice) -> *const OrtKeyValuePairs;
        EpDevice_EpOptions(ep_device: *const OrtEpDevice) -> *const OrtKeyValuePairs;
        EpDevice_Device(ep_device: *const OrtEpDevice) -> *const OrtHardwareDevice;
        GetEpApi() -> *const OrtEpApi;
        GetTensorSizeInBytes(ort_value: *const OrtValue, size: *mut usize) -> *mut OrtStatus;
        AllocatorGetStats(ort_allocator: *const OrtAllocator, out: *mut *mut OrtKeyValuePairs) -> *mut OrtStatus;
        CreateMemoryInfo_V2(
            name: *const c_char, device_type: OrtMemoryInfoDeviceType, vendor_id: u32, device_id: i32,
            mem_type: OrtDeviceMemoryType, alignment: usize, allocator_type: OrtAllocatorType,
            out: *mut *mut OrtMemoryInfo
        ) -> *mut OrtStatus;
        MemoryInfoGetDeviceMemType(ptr: *const OrtMemoryInfo) -> OrtDeviceMemoryType;
        MemoryInfoGetVendorId(ptr: *const OrtMemoryInfo) -> u32;
        ValueInfo_GetValueProducer(
            value_info: *const OrtValueInfo, producer_node: *mut *const OrtNode, producer_output_index: *mut usize
        ) -> *mut OrtStatus;
        ValueInfo_GetValueNumConsumers(value_info: *const OrtValueInfo, num_consumers: *mut usize) -> *mut OrtStatus;
        ValueInfo_GetValueConsumers(
            value_info: *const OrtValueInfo, nodes: *mut *const OrtNode, input_indices: *mut i64, num_consumers: usize
        ) -> *mut OrtStatus;
        ValueInfo_GetInitializerValue(
            value_info: *const OrtValueInfo, initializer_value: *mut *const OrtValue
        ) -> *mut OrtStatus;
        ValueInfo_GetExternalInitializerInfo(
            value_info: *const OrtValueInfo, info: *mut *mut OrtExternalInitializerInfo
        ) -> *mut OrtStatus;
        ValueInfo_IsRequiredGraphInput(
            value_info: *const OrtValueInfo, is_required_graph_input: *mut bool
        ) -> *mut OrtStatus;
        ValueInfo_IsOptionalGraphInput(
            value_info: *const OrtValueInfo, is_optional_graph_input: *mut bool
        ) -> *mut OrtStatus;
        ValueInfo_IsGraphOutput(value_info: *const OrtValueInfo, is_graph_output: *mut bool) -> *mut OrtStatus;
        ValueInfo_IsConstantInitializer(
            value_info: *const OrtValueInfo, is_constant_initializer: *mut bool
        ) -> *mut OrtStatus;
        ValueInfo_IsFromOuterScope(value_info: *const OrtValueInfo, is_from_outer_scope: *mut bool) -> *mut OrtStatus;
        Graph_GetName(graph: *const OrtGraph, graph_name: *mut *const c_char) -> *mut OrtStatus;
        Graph_GetModelPath(graph: *const OrtGraph, model_path: *mut *const OrtChar) -> *mut OrtStatus;
        Graph_GetOnnxIRVersion(graph: *const OrtGraph, onnx_ir_version: *mut i64) -> *mut OrtStatus;
        Graph_GetNumOperatorSets(graph: *const OrtGraph, num_operator_sets: *mut usize) -> *mut OrtStatus;
        Graph_GetOperatorSets(
            graph: *const OrtGraph, domains: *mut *const c_char, opset_versions: *mut i64, num_operator_sets: usize
        ) -> *mut OrtStatus;
        Graph_GetNumInputs(graph: *const OrtGraph, num_inputs: *mut usize) -> *mut OrtStatus;
        Graph_GetInputs(
            graph: *const OrtGraph, inputs: *mut *const OrtValueInfo, num_inputs: usize
        ) -> *mut OrtStatus;
        Graph_GetNumOutputs(graph: *const OrtGraph, num_outputs: *mut usize) -> *mut OrtStatus;
        Graph_GetOutputs(
            graph: *const OrtGraph, outputs: *mut *const OrtValueInfo, num_outputs: usize
        ) -> *mut OrtStatus;
        Graph_GetNumInitializers(graph: *const OrtGraph, num_initializers: *mut usize) -> *mut OrtStatus;
        Graph_GetInitializers(
            graph: *const OrtGraph, initializers: *mut *const OrtValueInfo, num_initializers: usize
        ) -> *mut OrtStatus;
        Graph_GetNumNodes(graph: *const OrtGraph, num_nodes: *mut usize) -> *mut OrtStatus;
        Graph_GetNodes(graph: *const OrtGraph, nodes: *mut *const OrtNode, num_nodes: usize) -> *mut OrtStatus;
        Graph_GetParentNode(graph: *const OrtGraph, node: *mut *const OrtNode) -> *mut OrtStatus;
        Graph_GetGraphView(
            src_graph: *const OrtGraph, nodes: *mut *const OrtNode, num_nodes: usize, dst_graph: *mut *mut OrtGraph
        ) -> *mut OrtStatus;
        Node_GetId(node: *const OrtNode, node_id: *mut usize) -> *mut OrtStatus;
        Node_GetName(node: *const OrtNode, node_name: *mut *const c_char) -> *mut OrtStatus;
        Node_GetOperatorType(node: *const OrtNode, operator_type: *mut *const c_char) -> *mut OrtStatus;
        Node_GetDomain(node: *const OrtNode, domain_name: *mut *const c_char) -> *mut OrtStatus;
        Node_GetSinceVersion(node: *const OrtNode, since_version: *mut c_int) -> *mut OrtStatus;
        Node_GetNumInputs(node: *const OrtNode, num_inputs: *mut usize) -> *mut OrtStatus;
        Node_GetInputs(node: *const OrtNode, inputs: *mut *const OrtValueInfo, num_inputs: usize) -> *mut OrtStatus;
        Node_GetNumOutputs(node: *const OrtNode, num_outputs: *mut usize) -> *mut OrtStatus;
        Node_GetOutputs(
            node: *const OrtNode, outputs: *mut *const OrtValueInfo, num_outputs: usize
        ) -> *mut OrtStatus;
        Node_GetNumImplicitInputs(node: *const OrtNode, num_implicit_inputs: *mut usize) -> *mut OrtStatus;
        Node_GetImplicitInputs(
            node: *const OrtNode, implicit_inputs: *mut *const OrtValueInfo, num_implicit_inputs: usize
        ) -> *mut OrtStatus;
        Node_GetNumAttributes(node: *const OrtNode, num_attributes: *mut usize) -> *mut OrtStatus;
        Node_GetAttributes(
            node: *const OrtNode, attributes: *mut *const OrtOpAttr, num_attributes: usize
        ) -> *mut OrtStatus;
        Node_GetAttributeByName(
            node: *const OrtNode, attribute_name: *const c_char, attribute: *mut *const OrtOpAttr
        ) -> *mut OrtStatus;
        OpAttr_GetTensorAttributeAsOrtValue(
            attribute: *const OrtOpAttr, attr_tensor: *mut *mut OrtValue
        ) -> *mut OrtStatus;
        OpAttr_GetType(attribute: *const OrtOpAttr, kind: *mut OrtOpAttrType) -> *mut OrtStatus;
        OpAttr_GetName(attribute: *const OrtOpAttr, name: *mut *const c_char) -> *mut OrtStatus;
        Node_GetNumSubgraphs(node: *const OrtNode, num_subgraphs: *mut usize) -> *mut OrtStatus;
        Node_GetSubgraphs(
            node: *const OrtNode, subgraphs: *mut *const OrtGraph, num_subgraphs: usize,
            attribute_names: *mut *const c_char
        ) -> *mut OrtStatus;
        Node_GetGraph(node: *const OrtNode, graph: *mut *const OrtGraph) -> *mut OrtStatus;
        Node_GetEpName(node: *const OrtNode, out: *mut *const c_char) -> *mut OrtStatus;
        ReleaseExternalInitializerInfo(input: *mut OrtExternalInitializerInfo);
        ExternalInitializerInfo_GetFilePath(info: *const OrtExternalInitializerInfo) -> *const OrtChar;
        ExternalInitializerInfo_GetFileOffset(info: *const OrtExternalInitializerInfo) -> i64;
        ExternalInitializerInfo_GetByteSize(info: *const OrtExternalInitializerInfo) -> usize;
        GetRunConfigEntry(options: *const OrtRunOptions, config_key: *const c_char) -> *const c_char;
        EpDevice_MemoryInfo(ep_device: *const OrtEpDevice, memory_type: OrtDeviceMemoryType) -> *const OrtMemoryInfo;
        CreateSharedAllocator(
            env: *mut OrtEnv, ep_device: *const OrtEpDevice, mem_type: OrtDeviceMemoryType,
            allocator_type: OrtAllocatorType, allocator_options: *const OrtKeyValuePairs,
            allocator: *mut *mut OrtAllocator
        ) -> *mut OrtStatus;
        GetSharedAllocator(
            env: *mut OrtEnv, mem_info: *const OrtMemoryInfo, allocator: *mut *mut OrtAllocator
        ) -> *mut OrtStatus;
        ReleaseSharedAllocator(
            env: *mut OrtEnv, ep_device: *const OrtEpDevice, mem_type: OrtDeviceMemoryType
        ) -> *mut OrtStatus;
        GetTensorData(value: *const OrtValue, out: *mut *const c_void) -> *mut OrtStatus;
        GetSessionOptionsConfigEntries(
            options: *const OrtSessionOptions, out: *mut *mut OrtKeyValuePairs
        ) -> *mut OrtStatus;
        SessionGetMemoryInfoForInputs(
            session: *const OrtSession, inputs_memory_info: *mut *const OrtMemoryInfo, num_inputs: usize
        ) -> *mut OrtStatus;
        SessionGetMemoryInfoForOutputs(
            session: *const OrtSession, outputs_memory_info: *mut *const OrtMemoryInfo, num_outputs: usize
        ) -> *mut OrtStatus;
        SessionGetEpDeviceForInputs(
            session: *const OrtSession, inputs_ep_devices: *mut *const OrtEpDevice, num_inputs: usize
        ) -> *mut OrtStatus;
        CreateSyncStreamForEpDevice(
            ep_device: *const OrtEpDevice, stream_options: *const OrtKeyValuePairs, stream: *mut *mut OrtSyncStream
        ) -> *mut OrtStatus;
        SyncStream_GetHandle(stream: *mut OrtSyncStream) -> *mut c_void;
        ReleaseSyncStream(input: *mut OrtSyncStream);
        CopyTensors(
            env: *const OrtEnv, src_tensors: *const *const OrtValue, dst_tensors: *const *mut OrtValue,
            stream: *mut OrtSyncStream, num_tensors: usize
        ) -> *mut OrtStatus;
        Graph_GetModelMetadata(graph: *const OrtGraph, out: *mut *mut OrtModelMetadata) -> *mut OrtStatus;
        GetModelCompatibilityForEpDevices(
            ep_devices: *const *const OrtEpDevice, num_ep_devices: usize, compatibility_info: *const c_char,
            out_status: *mut OrtCompiledModelCompatibility
        ) -> *mut OrtStatus;
        CreateExternalInitializerInfo(
            filepath: *const OrtChar, file_offset: i64, byte_size: usize, out: *mut *mut OrtExternalInitializerInfo
        ) -> *mut OrtStatus;
    }
}

c_table! {
    /// What API 24 appends.
    pub(crate) struct OrtApiV24 {
        TensorTypeAndShape_HasShape(info: *const OrtTensorTypeAndShapeInfo) -> bool;
        KernelInfo_GetConfigEntries;
        KernelInfo_GetOperatorDomain;
        KernelInfo_GetOperatorType;
        KernelInfo_GetOperatorSinceVersion;
        GetInteropApi() -> *const OrtInteropApi;
        SessionGetEpDeviceForOutputs(
            session: *const OrtSession, outputs_ep_devices: *mut *const OrtEpDevice, num_outputs: usize
        ) -> *mut OrtStatus;
        GetNumHardwareDevices(env: *const OrtEnv, num_devices: *mut usize) -> *mut OrtStatus;
        GetHardwareDevices(
            env: *const OrtEnv, devices: *mut *const OrtHardwareDevice, num_devices: usize
        ) -> *mut OrtStatus;
        GetHardwareDeviceEpIncompatibilityDetails(
            env: *const OrtEnv, ep_name: *const c_char, hw: *const OrtHardwareDevice,
            details: *mut *mut OrtDeviceEpIncompatibilityDetails
        ) -> *mut OrtStatus;
        DeviceEpIncompatibilityDetails_GetReasonsBitmask(
            details: *const OrtDeviceEpIncompatibilityDetails, reasons_bitmask: *mut u32
        ) -> *mut OrtStatus;
        DeviceEpIncompatibilityDetails_GetNotes(
            details: *const OrtDeviceEpIncompatibilityDetails, notes: *mut *const c_char
        ) -> *mut OrtStatus;
        DeviceEpIncompatibilityDetails_GetErrorCode(
            details: *const OrtDeviceEpIncompatibilityDetails, error_code: *mut i32
        ) -> *mut OrtStatus;
        ReleaseDeviceEpIncompatibilityDetails(input: *mut OrtDeviceEpIncompatibilityDetails);
        GetCompatibilityInfoFromModel(
            model_path: *const OrtChar, ep_type: *const c_char, allocator: *mut OrtAllocator,
            compatibility_info: *mut *mut c_char
        ) -> *mut OrtStatus;
        GetCompatibilityInfoFromModelBytes;
        CreateEnvWithOptions(options: *const OrtEnvCreationOptions, out: *mut *mut OrtEnv) -> *mut OrtStatus;
        Session_GetEpGraphAssignmentInfo(
            session: *const OrtSession, ep_subgraphs: *mut *const *const OrtEpAssignedSubgraph,
            num_ep_subgraphs: *mut usize
        ) -> *mut OrtStatus;
        EpAssignedSubgraph_GetEpName(
            ep_subgraph: *const OrtEpAssignedSubgraph, out: *mut *const c_char
        ) -> *mut OrtStatus;
        EpAssignedSubgraph_GetNodes(
            ep_subgraph: *const OrtEpAssignedSubgraph, ep_nodes: *mut *const *const OrtEpAssignedNode,
            num_ep_nodes: *mut usize
        ) -> *mut OrtStatus;
        EpAssignedNode_GetName(ep_node: *const OrtEpAssignedNode, out: *mut *const c_char) -> *mut OrtStatus;
        EpAssignedNode_GetDomain;
        EpAssignedNode_GetOperatorType(ep_node: *const OrtEpAssignedNode, out: *mut *const c_char) -> *mut OrtStatus;
        RunOptionsSetSyncStream(options: *mut OrtRunOptions, sync_stream: *mut OrtSyncStream);
        GetTensorElementTypeAndShapeDataReference(
            value: *const OrtValue, elem_type: *mut ONNXTensorElementDataType, shape_data: *mut *const i64,
            shape_data_count: *mut usize
        ) -> *mut OrtStatus;
    }
}

c_table! {
    /// What API 25 appends.
    pub(crate) struct OrtApiV25 {
        RunOptionsEnableProfiling;
        RunOptionsDisableProfiling;
        KernelInfoGetAttributeArray_string;
        SetPerSessionThreadPoolCallbacks;
    }
}

c_table! {
    /// What API 27 appends.
    pub(crate) struct OrtApiV27 {
        GetMemPatternEnabled(options: *const OrtSessionOptions, out: *mut c_int) -> *mut OrtStatus;
        GetSessionExecutionMode(options: *const OrtSessionOptions, out: *mut ExecutionMode) -> *mut OrtStatus;
        SessionReleaseCapturedGraph(session: *mut OrtSession, graph_annotation_id: c_int) -> *mut OrtStatus;
    }
}

c_table! {
    /// What API 28 appends.
    pub(crate) struct OrtApiV28 {
        GetExperimentalFunction;
        KernelContext_GetSyncStream(context: *const OrtKernelContext, out: *mut *mut OrtSyncStream) -> *mut OrtStatus;
    }
}

c_table! {
    /// What API 29 appends.
    pub(crate) struct OrtApiV29 {
        SessionOptionsSetWeightlessSourceModelBuffer;
    }
}

c_table! {
    /// What API 30 appends.
    pub(crate) struct OrtApiV30 {
        KernelContext_GetPreallocatedOutput(
            context: *const OrtKernelContext, output_index: usize, output: *mut *mut OrtValue
        ) -> *mut OrtStatus;
    }
}

c_table! {
    /// What API 31 appends.
    pub(crate) struct OrtApiV31 {
        SessionOptionsSetEpContextDataReadFunc;
        GetModelPackageApi() -> *const OrtModelPackageApi;
    }
}

c_table! {
    /// What API 32 appends.
    pub(crate) struct OrtApiV32 {
        EpDevice_GetMemoryCapacity;
    }
}
