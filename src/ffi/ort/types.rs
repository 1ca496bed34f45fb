//! Opaque handles and open enums.
#![allow(non_upper_case_globals, reason = "these are the names of the C header")]
use crate::ffi::table::{opaque, open_enums};
use std::ffi::c_char;

/// A character of a path. Windows, where it is `wchar_t`, has no MLX.
pub(crate) type OrtChar = c_char;

opaque! {
    OrtCompileApi OrtCustomOpDomain OrtDataType OrtDeviceEpIncompatibilityDetails OrtEnv OrtEnvCreationOptions
    OrtEpAssignedNode OrtEpAssignedSubgraph OrtEpContextConfig OrtEpDevice OrtEpGraphSupportInfo
    OrtExternalInitializerInfo OrtExternalResourceImporterImpl OrtGraph OrtGraphicsInteropConfig OrtHardwareDevice
    OrtInteropApi OrtKernelContext OrtKernelDef OrtKernelDefBuilder OrtKernelImpl OrtKernelInfo OrtKernelRegistry
    OrtKeyValuePairs OrtLogger OrtLoopKernelHelper OrtMapTypeInfo OrtMemoryDevice OrtMemoryInfo OrtModelEditorApi
    OrtModelMetadata OrtModelPackageApi OrtNode OrtNodeComputeContext OrtOpAttr OrtOpSchema
    OrtOpSchemaTypeConstraint OrtOptionalTypeInfo OrtProfilingEvent OrtProfilingEventsContainer OrtResourceCount
    OrtRunOptions OrtScanKernelHelper OrtSequenceTypeInfo OrtSession OrtSessionOptions OrtSharedPrePackedWeightCache
    OrtStatus OrtSyncStream OrtTensorTypeAndShapeInfo OrtTypeInfo OrtValue OrtValueInfo
}

open_enums! {
    ExecutionMode {
        ORT_SEQUENTIAL = 0,
        ORT_PARALLEL = 1,
    }
    GraphOptimizationLevel {
        ORT_DISABLE_ALL = 0,
        ORT_ENABLE_BASIC = 1,
        ORT_ENABLE_EXTENDED = 2,
        ORT_ENABLE_LAYOUT = 3,
        ORT_ENABLE_ALL = 99,
    }
    ONNXTensorElementDataType {
        ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED = 0,
        ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT = 1,
        ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8 = 2,
        ONNX_TENSOR_ELEMENT_DATA_TYPE_INT8 = 3,
        ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT16 = 4,
        ONNX_TENSOR_ELEMENT_DATA_TYPE_INT16 = 5,
        ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32 = 6,
        ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64 = 7,
        ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING = 8,
        ONNX_TENSOR_ELEMENT_DATA_TYPE_BOOL = 9,
        ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16 = 10,
        ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE = 11,
        ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT32 = 12,
        ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT64 = 13,
        ONNX_TENSOR_ELEMENT_DATA_TYPE_COMPLEX64 = 14,
        ONNX_TENSOR_ELEMENT_DATA_TYPE_COMPLEX128 = 15,
        ONNX_TENSOR_ELEMENT_DATA_TYPE_BFLOAT16 = 16,
        ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E4M3FN = 17,
        ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E4M3FNUZ = 18,
        ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E5M2 = 19,
        ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E5M2FNUZ = 20,
        ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT4 = 21,
        ONNX_TENSOR_ELEMENT_DATA_TYPE_INT4 = 22,
        ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT4E2M1 = 23,
        ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT2 = 24,
        ONNX_TENSOR_ELEMENT_DATA_TYPE_INT2 = 25,
        ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E8M0 = 26,
    }
    ONNXType {
        ONNX_TYPE_UNKNOWN = 0,
        ONNX_TYPE_TENSOR = 1,
        ONNX_TYPE_SEQUENCE = 2,
        ONNX_TYPE_MAP = 3,
        ONNX_TYPE_OPAQUE = 4,
        ONNX_TYPE_SPARSETENSOR = 5,
        ONNX_TYPE_OPTIONAL = 6,
    }
    OrtAllocatorType {
        OrtInvalidAllocator = -1,
        OrtDeviceAllocator = 0,
        OrtArenaAllocator = 1,
        OrtReadOnlyAllocator = 2,
    }
    OrtCompiledModelCompatibility {
        OrtCompiledModelCompatibility_EP_NOT_APPLICABLE = 0,
        OrtCompiledModelCompatibility_EP_SUPPORTED_OPTIMAL = 1,
        OrtCompiledModelCompatibility_EP_SUPPORTED_PREFER_RECOMPILATION = 2,
        OrtCompiledModelCompatibility_EP_UNSUPPORTED = 3,
    }
    OrtDeviceMemoryType {
        OrtDeviceMemoryType_DEFAULT = 0,
        OrtDeviceMemoryType_HOST_ACCESSIBLE = 5,
    }
    OrtEpDataLayout {
        OrtEpDataLayout_NCHW = 0,
        OrtEpDataLayout_NHWC = 1,
        OrtEpDataLayout_Default = 0,
    }
    OrtErrorCode {
        ORT_OK = 0,
        ORT_FAIL = 1,
        ORT_INVALID_ARGUMENT = 2,
        ORT_NO_SUCHFILE = 3,
        ORT_NO_MODEL = 4,
        ORT_ENGINE_ERROR = 5,
        ORT_RUNTIME_EXCEPTION = 6,
        ORT_INVALID_PROTOBUF = 7,
        ORT_MODEL_LOADED = 8,
        ORT_NOT_IMPLEMENTED = 9,
        ORT_INVALID_GRAPH = 10,
        ORT_EP_FAIL = 11,
        ORT_MODEL_LOAD_CANCELED = 12,
        ORT_MODEL_REQUIRES_COMPILATION = 13,
        ORT_NOT_FOUND = 14,
        ORT_DEVICE_RESET = 15,
    }
    OrtExecutionProviderDevicePolicy {
        OrtExecutionProviderDevicePolicy_DEFAULT = 0,
        OrtExecutionProviderDevicePolicy_PREFER_CPU = 1,
        OrtExecutionProviderDevicePolicy_PREFER_NPU = 2,
        OrtExecutionProviderDevicePolicy_PREFER_GPU = 3,
        OrtExecutionProviderDevicePolicy_MAX_PERFORMANCE = 4,
        OrtExecutionProviderDevicePolicy_MAX_EFFICIENCY = 5,
        OrtExecutionProviderDevicePolicy_MIN_OVERALL_POWER = 6,
    }
    OrtGraphCaptureNodeAssignmentPolicy {
        OrtGraphCaptureNodeAssignmentPolicy_ALL_NODES_ON_EP = 0,
        OrtGraphCaptureNodeAssignmentPolicy_ALLOW_CPU_FOR_SHAPES = 1,
    }
    OrtHardwareDeviceType {
        OrtHardwareDeviceType_CPU = 0,
        OrtHardwareDeviceType_GPU = 1,
        OrtHardwareDeviceType_NPU = 2,
    }
    OrtLoggingLevel {
        ORT_LOGGING_LEVEL_VERBOSE = 0,
        ORT_LOGGING_LEVEL_INFO = 1,
        ORT_LOGGING_LEVEL_WARNING = 2,
        ORT_LOGGING_LEVEL_ERROR = 3,
        ORT_LOGGING_LEVEL_FATAL = 4,
    }
    OrtMemType {
        OrtMemTypeCPUInput = -2,
        OrtMemTypeCPUOutput = -1,
        OrtMemTypeCPU = -1,
        OrtMemTypeDefault = 0,
    }
    OrtMemoryInfoDeviceType {
        OrtMemoryInfoDeviceType_CPU = 0,
        OrtMemoryInfoDeviceType_GPU = 1,
        OrtMemoryInfoDeviceType_FPGA = 2,
        OrtMemoryInfoDeviceType_NPU = 3,
    }
    OrtOpAttrType {
        ORT_OP_ATTR_UNDEFINED = 0,
        ORT_OP_ATTR_INT = 1,
        ORT_OP_ATTR_INTS = 2,
        ORT_OP_ATTR_FLOAT = 3,
        ORT_OP_ATTR_FLOATS = 4,
        ORT_OP_ATTR_STRING = 5,
        ORT_OP_ATTR_STRINGS = 6,
        ORT_OP_ATTR_GRAPH = 7,
        ORT_OP_ATTR_TENSOR = 8,
    }
    OrtProfilingEventCategory {
        OrtProfilingEventCategory_SESSION = 0,
        OrtProfilingEventCategory_NODE = 1,
        OrtProfilingEventCategory_KERNEL = 2,
        OrtProfilingEventCategory_API = 3,
    }
    OrtWeightlessSupport {
        OrtWeightlessSupport_NONE = 0,
        OrtWeightlessSupport_EXTERNAL_ONLY = 1,
        OrtWeightlessSupport_ALL = 2,
        OrtWeightlessSupport_ALL_OR_EXTERNAL_ONLY = 3,
    }
}
