//! A host made of the same declarations: objects, and the slots that may be called.
use crate::ffi::ort::api::{OrtApi, OrtApiBase, OrtApiV24};
use crate::ffi::ort::ep_api::OrtEpApi;
use crate::ffi::ort::plugin::*;
use crate::ffi::ort::types::*;
use crate::ledger::{self, Line, Status, check_live, enter, lend, take, with};
use crate::traps;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::ptr::{null, null_mut};
use std::sync::Mutex;

/// An element type with dimensions. `None` is an unknown rank.
#[derive(Clone)]
pub(crate) struct Shape {
    pub(crate) code: i32,
    pub(crate) dims: Option<Vec<i64>>,
}

/// A tensor in host memory.
#[derive(Clone)]
pub(crate) struct Tensor {
    pub(crate) shape: Shape,
    pub(crate) bytes: Vec<u8>,
}

impl Tensor {
    pub(crate) fn floats(dims: &[i64], values: &[f32]) -> Self {
        let bytes = values.iter().flat_map(|v| v.to_ne_bytes()).collect();
        Self {
            shape: Shape {
                code: 1,
                dims: Some(dims.to_vec()),
            },
            bytes,
        }
    }

    pub(crate) fn to_floats(&self) -> Vec<f32> {
        self.bytes
            .chunks(4)
            .map(|c| f32::from_ne_bytes(c.try_into().unwrap()))
            .collect()
    }
}

pub(crate) struct Value {
    pub(crate) name: CString,
    pub(crate) shape: Shape,
    pub(crate) constant: Option<Tensor>,
}

impl Value {
    pub(crate) fn floats(name: &str, dims: &[i64]) -> Box<Self> {
        let shape = Shape {
            code: 1,
            dims: Some(dims.to_vec()),
        };
        Box::new(Self {
            name: CString::new(name).unwrap(),
            shape,
            constant: None,
        })
    }

    /// A boolean scalar.
    pub(crate) fn booleans(name: &str) -> Box<Self> {
        let mut value = Self::floats(name, &[]);
        value.shape.code = 9;
        value
    }

    pub(crate) fn constant(name: &str, tensor: Tensor) -> Box<Self> {
        Box::new(Self {
            name: CString::new(name).unwrap(),
            shape: tensor.shape.clone(),
            constant: Some(tensor),
        })
    }
}

pub(crate) struct Attribute {
    pub(crate) name: CString,
    pub(crate) kind: i32,
    pub(crate) bytes: Vec<u8>,
}

#[derive(Default)]
pub(crate) struct Node {
    pub(crate) name: CString,
    pub(crate) op: CString,
    pub(crate) since: i32,
    pub(crate) inputs: Vec<*const Value>,
    pub(crate) outputs: Vec<*const Value>,
    pub(crate) attributes: Vec<Attribute>,
    pub(crate) ep: CString,
    pub(crate) bodies: Vec<(&'static CStr, *const Graph)>,
    /// The graph that the node is in; the main graph of no model if it is never asked.
    pub(crate) graph: Option<*const Graph>,
}

#[derive(Default)]
pub(crate) struct Graph {
    pub(crate) name: CString,
    pub(crate) main_name: CString,
    pub(crate) path: CString,
    /// The node that this is a body of.
    pub(crate) parent: Option<*const Node>,
    pub(crate) inputs: Vec<*const Value>,
    pub(crate) outputs: Vec<*const Value>,
    pub(crate) nodes: Vec<*const Node>,
    /// How many nodes the graph says it has, where that is a lie.
    pub(crate) claims_nodes: Option<usize>,
}

/// The values of one Compute call.
#[derive(Default)]
pub(crate) struct Context {
    pub(crate) inputs: Vec<Option<Tensor>>,
    /// The element type of each output.
    pub(crate) output_codes: Vec<i32>,
    pub(crate) outputs: Mutex<Vec<Option<Box<Tensor>>>>,
}

type Pairs = Vec<(CString, CString)>;

struct PairList {
    pairs: Pairs,
    keys: Vec<*const c_char>,
    values: Vec<*const c_char>,
}

unsafe fn at<'a, T, R>(raw: *const R) -> &'a T {
    unsafe { &*raw.cast::<T>() }
}

fn reject(text: &str) -> *mut OrtStatus {
    ledger::status(2, text)
}

/// Declares the slots of one table that return a status.
macro_rules! slots {
    ($install:ident of $Table:ident; $( fn $name:ident($($arg:ident: $t:ty),*) $body:block )*) => {
        $(
            #[allow(non_snake_case, reason = "the name is that of the slot")]
            unsafe extern "system" fn $name($($arg: $t),*) -> *mut OrtStatus {
                if let Some(status) = enter(stringify!($name)) {
                    return status;
                }
                $body
                null_mut()
            }
        )*

        /// Puts the slots into a table.
        unsafe fn $install(table: *mut $Table) {
            $( unsafe { (*table).$name = $name }; )*
        }
    };
}

/// The getter of a count and the one that writes as many pointers.
macro_rules! fill {
    ($list:expr, $out:ident, $n:ident) => {{
        let list = $list;
        if $n < list.len() {
            return reject("the array is too small");
        }
        for (index, item) in list.iter().enumerate() {
            *$out.add(index) = (*item).cast();
        }
    }};
}

slots! { install_api of OrtApi;
    fn Logger_LogMessage(_l: *const OrtLogger, severity: OrtLoggingLevel, message: *const c_char, _f: *const OrtChar, _n: c_int, _u: *const c_char) {
        let text = CStr::from_ptr(message).to_str().unwrap().to_owned();
        with(|ledger| ledger.lines.push(Line { severity: severity.0, text }));
    }
    fn Logger_GetLoggingSeverityLevel(_l: *const OrtLogger, out: *mut OrtLoggingLevel) {
        *out = OrtLoggingLevel(with(|ledger| ledger.severity));
    }
    fn GetSessionOptionsConfigEntries(_o: *const OrtSessionOptions, out: *mut *mut OrtKeyValuePairs) {
        let text = |s: &String| CString::new(s.as_str()).unwrap();
        let pairs = with(|ledger| ledger.config.iter().map(|(k, v)| (text(k), text(v))).collect());
        *out = lend("pairs", PairList { pairs, keys: vec![], values: vec![] });
    }
    fn Graph_GetName(graph: *const OrtGraph, out: *mut *const c_char) { *out = at::<Graph, _>(graph).name.as_ptr(); }
    fn Graph_GetModelPath(graph: *const OrtGraph, out: *mut *const OrtChar) { *out = at::<Graph, _>(graph).path.as_ptr(); }
    fn Graph_GetNumInputs(graph: *const OrtGraph, out: *mut usize) { *out = at::<Graph, _>(graph).inputs.len(); }
    fn Graph_GetInputs(graph: *const OrtGraph, out: *mut *const OrtValueInfo, n: usize) { fill!(&at::<Graph, _>(graph).inputs, out, n) }
    fn Graph_GetNumOutputs(graph: *const OrtGraph, out: *mut usize) { *out = at::<Graph, _>(graph).outputs.len(); }
    fn Graph_GetOutputs(graph: *const OrtGraph, out: *mut *const OrtValueInfo, n: usize) { fill!(&at::<Graph, _>(graph).outputs, out, n) }
    fn Graph_GetNumNodes(graph: *const OrtGraph, out: *mut usize) {
        let graph = at::<Graph, _>(graph);
        *out = graph.claims_nodes.unwrap_or(graph.nodes.len());
    }
    fn Graph_GetNodes(graph: *const OrtGraph, out: *mut *const OrtNode, n: usize) { fill!(&at::<Graph, _>(graph).nodes, out, n) }
    fn Graph_GetParentNode(graph: *const OrtGraph, out: *mut *const OrtNode) {
        *out = at::<Graph, _>(graph).parent.map_or(null(), <*const Node>::cast);
    }
    fn Graph_GetModelMetadata(graph: *const OrtGraph, out: *mut *mut OrtModelMetadata) {
        *out = lend("metadata", at::<Graph, _>(graph).main_name.clone());
    }
    fn ModelMetadataGetGraphName(metadata: *const OrtModelMetadata, _a: *mut OrtAllocator, out: *mut *mut c_char) {
        check_live("metadata", metadata);
        let name = at::<CString, _>(metadata).as_bytes_with_nul();
        let copy = lend::<_, u8>("string", [0u8; 64]);
        std::ptr::copy_nonoverlapping(name.as_ptr(), copy, name.len());
        *out = copy.cast();
    }
    fn GetAllocatorWithDefaultOptions(out: *mut *mut OrtAllocator) { *out = 64 as *mut OrtAllocator; }
    fn AllocatorFree(_a: *mut OrtAllocator, p: *mut c_void) { take::<[u8; 64], _>("string", p); }
    fn Node_GetName(node: *const OrtNode, out: *mut *const c_char) { *out = at::<Node, _>(node).name.as_ptr(); }
    fn Node_GetOperatorType(node: *const OrtNode, out: *mut *const c_char) { *out = at::<Node, _>(node).op.as_ptr(); }
    fn Node_GetDomain(_node: *const OrtNode, out: *mut *const c_char) { *out = c"".as_ptr(); }
    fn Node_GetSinceVersion(node: *const OrtNode, out: *mut c_int) { *out = at::<Node, _>(node).since; }
    fn Node_GetEpName(node: *const OrtNode, out: *mut *const c_char) { *out = at::<Node, _>(node).ep.as_ptr(); }
    fn Node_GetNumInputs(node: *const OrtNode, out: *mut usize) { *out = at::<Node, _>(node).inputs.len(); }
    fn Node_GetInputs(node: *const OrtNode, out: *mut *const OrtValueInfo, n: usize) { fill!(&at::<Node, _>(node).inputs, out, n) }
    fn Node_GetNumOutputs(node: *const OrtNode, out: *mut usize) { *out = at::<Node, _>(node).outputs.len(); }
    fn Node_GetOutputs(node: *const OrtNode, out: *mut *const OrtValueInfo, n: usize) { fill!(&at::<Node, _>(node).outputs, out, n) }
    fn Node_GetNumImplicitInputs(_node: *const OrtNode, out: *mut usize) { *out = 0; }
    fn Node_GetNumSubgraphs(node: *const OrtNode, out: *mut usize) { *out = at::<Node, _>(node).bodies.len(); }
    fn Node_GetSubgraphs(node: *const OrtNode, out: *mut *const OrtGraph, n: usize, names: *mut *const c_char) {
        let bodies = &at::<Node, _>(node).bodies;
        fill!(bodies.iter().map(|(_, graph)| *graph).collect::<Vec<_>>(), out, n);
        for (index, (name, _)) in bodies.iter().enumerate() {
            *names.add(index) = name.as_ptr();
        }
    }
    fn Node_GetGraph(node: *const OrtNode, out: *mut *const OrtGraph) {
        *out = at::<Node, _>(node).graph.map_or(null(), <*const Graph>::cast);
    }
    fn Node_GetNumAttributes(node: *const OrtNode, out: *mut usize) { *out = at::<Node, _>(node).attributes.len(); }
    fn Node_GetAttributes(node: *const OrtNode, out: *mut *const OrtOpAttr, n: usize) {
        let attributes: Vec<*const Attribute> = at::<Node, _>(node).attributes.iter().map(std::ptr::from_ref).collect();
        fill!(attributes, out, n)
    }
    fn OpAttr_GetName(attribute: *const OrtOpAttr, out: *mut *const c_char) { *out = at::<Attribute, _>(attribute).name.as_ptr(); }
    fn OpAttr_GetType(attribute: *const OrtOpAttr, out: *mut OrtOpAttrType) { *out = OrtOpAttrType(at::<Attribute, _>(attribute).kind); }
    fn ReadOpAttr(attribute: *const OrtOpAttr, kind: OrtOpAttrType, data: *mut c_void, len: usize, out: *mut usize) {
        let attribute = at::<Attribute, _>(attribute);
        *out = attribute.bytes.len();
        if kind.0 != attribute.kind || len < attribute.bytes.len() {
            return reject("wrong kind or too small a buffer");
        }
        std::ptr::copy_nonoverlapping(attribute.bytes.as_ptr(), data.cast(), attribute.bytes.len());
    }
    fn GetValueInfoName(value: *const OrtValueInfo, out: *mut *const c_char) { *out = at::<Value, _>(value).name.as_ptr(); }
    fn GetValueInfoTypeInfo(value: *const OrtValueInfo, out: *mut *const OrtTypeInfo) {
        *out = std::ptr::from_ref(&at::<Value, _>(value).shape).cast();
    }
    fn GetOnnxTypeFromTypeInfo(_info: *const OrtTypeInfo, out: *mut ONNXType) { *out = ONNXType::ONNX_TYPE_TENSOR; }
    fn CastTypeInfoToTensorInfo(info: *const OrtTypeInfo, out: *mut *const OrtTensorTypeAndShapeInfo) { *out = info.cast(); }
    fn GetTensorElementType(info: *const OrtTensorTypeAndShapeInfo, out: *mut ONNXTensorElementDataType) {
        *out = ONNXTensorElementDataType(at::<Shape, _>(info).code);
    }
    fn GetDimensionsCount(info: *const OrtTensorTypeAndShapeInfo, out: *mut usize) {
        *out = at::<Shape, _>(info).dims.as_ref().map_or(0, Vec::len);
    }
    fn GetDimensions(info: *const OrtTensorTypeAndShapeInfo, out: *mut i64, n: usize) {
        for (index, dim) in at::<Shape, _>(info).dims.iter().flatten().take(n).enumerate() {
            *out.add(index) = *dim;
        }
    }
    fn GetSymbolicDimensions(info: *const OrtTensorTypeAndShapeInfo, out: *mut *const c_char, n: usize) {
        for (index, dim) in at::<Shape, _>(info).dims.iter().flatten().take(n).enumerate() {
            *out.add(index) = if *dim < 0 { c"n".as_ptr() } else { c"".as_ptr() };
        }
    }
    fn GetTensorTypeAndShape(value: *const OrtValue, out: *mut *mut OrtTensorTypeAndShapeInfo) {
        *out = lend("tensor info", at::<Tensor, _>(value).shape.clone());
    }
    fn IsTensor(_value: *const OrtValue, out: *mut c_int) { *out = 1; }
    fn GetTensorSizeInBytes(value: *const OrtValue, out: *mut usize) { *out = at::<Tensor, _>(value).bytes.len(); }
    fn GetTensorData(value: *const OrtValue, out: *mut *const c_void) { *out = at::<Tensor, _>(value).bytes.as_ptr().cast(); }
    fn GetTensorMutableData(value: *mut OrtValue, out: *mut *mut c_void) { *out = (*value.cast::<Tensor>()).bytes.as_mut_ptr().cast(); }
    fn ValueInfo_IsConstantInitializer(value: *const OrtValueInfo, out: *mut bool) { *out = at::<Value, _>(value).constant.is_some(); }
    fn ValueInfo_IsFromOuterScope(_value: *const OrtValueInfo, out: *mut bool) { *out = false; }
    fn ValueInfo_GetInitializerValue(value: *const OrtValueInfo, out: *mut *const OrtValue) {
        *out = at::<Value, _>(value).constant.as_ref().map_or(null(), |t| std::ptr::from_ref(t).cast());
    }
    fn ValueInfo_GetExternalInitializerInfo(_value: *const OrtValueInfo, out: *mut *mut OrtExternalInitializerInfo) { *out = null_mut(); }
    fn KernelContext_GetInput(context: *const OrtKernelContext, index: usize, out: *mut *const OrtValue) {
        let inputs = &at::<Context, _>(context).inputs;
        let Some(input) = inputs.get(index) else { return reject("no such input") };
        *out = input.as_ref().map_or(null(), |t| std::ptr::from_ref(t).cast());
    }
    fn KernelContext_GetOutput(context: *mut OrtKernelContext, index: usize, dims: *const i64, n: usize, out: *mut *mut OrtValue) {
        let context = at::<Context, _>(context);
        let dims = if n == 0 { vec![] } else { std::slice::from_raw_parts(dims, n).to_vec() };
        let elements: i64 = dims.iter().product();
        let width = if context.output_codes[index] == 7 { 8 } else { 4 };
        let bytes = vec![0; usize::try_from(elements).unwrap() * width];
        let mut tensor = Box::new(Tensor { shape: Shape { code: context.output_codes[index], dims: Some(dims) }, bytes });
        *out = std::ptr::from_mut(&mut *tensor).cast();
        let mut outputs = context.outputs.lock().unwrap();
        let len = outputs.len().max(index + 1);
        outputs.resize_with(len, || None);
        outputs[index] = Some(tensor);
    }
}

slots! { install_v24 of OrtApiV24;
    fn GetTensorElementTypeAndShapeDataReference(value: *const OrtValue, code: *mut ONNXTensorElementDataType, dims: *mut *const i64, n: *mut usize) {
        let shape = &at::<Tensor, _>(value).shape;
        let list = shape.dims.as_deref().unwrap_or_default();
        *code = ONNXTensorElementDataType(shape.code);
        *dims = if list.is_empty() { null() } else { list.as_ptr() };
        *n = list.len();
    }
}

slots! { install_ep_api of OrtEpApi;
    fn CreateEpDevice(factory: *mut OrtEpFactory, hardware: *const OrtHardwareDevice, metadata: *const OrtKeyValuePairs, _o: *const OrtKeyValuePairs, out: *mut *mut OrtEpDevice) {
        assert!(!factory.is_null() && !hardware.is_null());
        check_live("pairs", metadata);
        let pairs = &at::<PairList, _>(metadata).pairs;
        for (key, _) in pairs {
            if [c"version", c"library_path"].contains(&key.as_c_str()) {
                return reject("the key is ORT's own");
            }
        }
        with(|ledger| ledger.devices += 1);
        *out = 4096 as *mut OrtEpDevice;
    }
    fn EpGraphSupportInfo_AddNodesToFuse(support: *mut OrtEpGraphSupportInfo, nodes: *const *const OrtNode, n: usize, options: *const OrtNodeFusionOptions) {
        assert!(!support.is_null() && n > 0);
        assert!((*options).drop_constant_initializers && (*options).ort_version_supported == 32);
        let nodes = std::slice::from_raw_parts(nodes, n).iter().map(|node| *node as usize).collect();
        with(|ledger| ledger.fused.push(nodes));
    }
}

unsafe extern "system" fn create_status(
    code: OrtErrorCode,
    message: *const c_char,
) -> *mut OrtStatus {
    ledger::status(code.0, unsafe { CStr::from_ptr(message) }.to_str().unwrap())
}

unsafe extern "system" fn get_error_code(status: *const OrtStatus) -> OrtErrorCode {
    check_live("status", status);
    OrtErrorCode(unsafe { at::<Status, _>(status) }.code)
}

unsafe extern "system" fn get_error_message(status: *const OrtStatus) -> *const c_char {
    check_live("status", status);
    unsafe { at::<Status, _>(status) }.message.as_ptr()
}

unsafe extern "system" fn release_status(status: *mut OrtStatus) {
    take::<Status, _>("status", status);
}

unsafe extern "system" fn create_pairs(out: *mut *mut OrtKeyValuePairs) {
    unsafe {
        *out = lend(
            "pairs",
            PairList {
                pairs: vec![],
                keys: vec![],
                values: vec![],
            },
        )
    };
}

unsafe extern "system" fn add_pair(
    pairs: *mut OrtKeyValuePairs,
    key: *const c_char,
    value: *const c_char,
) {
    check_live("pairs", pairs);
    let copy = |raw| unsafe { CStr::from_ptr(raw) }.to_owned();
    unsafe {
        (*pairs.cast::<PairList>())
            .pairs
            .push((copy(key), copy(value)))
    };
}

unsafe extern "system" fn get_pairs(
    pairs: *const OrtKeyValuePairs,
    keys: *mut *const *const c_char,
    values: *mut *const *const c_char,
    count: *mut usize,
) {
    check_live("pairs", pairs);
    let list = unsafe { &mut *pairs.cast_mut().cast::<PairList>() };
    list.keys = list.pairs.iter().map(|(k, _)| k.as_ptr()).collect();
    list.values = list.pairs.iter().map(|(_, v)| v.as_ptr()).collect();
    unsafe {
        (*keys, *values, *count) = (list.keys.as_ptr(), list.values.as_ptr(), list.pairs.len())
    };
}

unsafe extern "system" fn release_pairs(pairs: *mut OrtKeyValuePairs) {
    take::<PairList, _>("pairs", pairs);
}

unsafe extern "system" fn release_tensor_info(info: *mut OrtTensorTypeAndShapeInfo) {
    take::<Shape, _>("tensor info", info);
}

unsafe extern "system" fn release_metadata(metadata: *mut OrtModelMetadata) {
    take::<CString, _>("metadata", metadata);
}

/// Hardware devices are their type and vendor in one number, tagged so that they are not null.
pub(crate) fn hardware(kind: i32, vendor: u32) -> *const OrtHardwareDevice {
    (0x1_0000_0000 | (usize::try_from(kind).unwrap() << 16) | vendor as usize)
        as *const OrtHardwareDevice
}

unsafe extern "system" fn hardware_type(device: *const OrtHardwareDevice) -> OrtHardwareDeviceType {
    OrtHardwareDeviceType(i32::try_from((device as usize >> 16) & 0xFF).unwrap())
}

unsafe extern "system" fn hardware_vendor_id(device: *const OrtHardwareDevice) -> u32 {
    u32::try_from(device as usize & 0xFFFF).unwrap()
}

unsafe extern "system" fn has_shape(info: *const OrtTensorTypeAndShapeInfo) -> bool {
    unsafe { at::<Shape, _>(info) }.dims.is_some()
}

/// Version and tables of the host that is in use.
struct Current {
    version: CString,
    newest: u32,
    api: usize,
    ep_api: usize,
}

static CURRENT: Mutex<Option<Current>> = Mutex::new(None);

fn current<T>(read: impl FnOnce(&mut Current) -> T) -> T {
    read(CURRENT.lock().unwrap().as_mut().expect("a host is in use"))
}

unsafe extern "system" fn get_api(version: u32) -> *const OrtApi {
    with(|ledger| ledger.asked.insert(version));
    current(|host| {
        if version == 0 || version > host.newest {
            null()
        } else {
            host.api as *const OrtApi
        }
    })
}

unsafe extern "system" fn get_version_string() -> *const c_char {
    current(|host| host.version.as_ptr())
}

unsafe extern "system" fn get_ep_api() -> *const OrtEpApi {
    current(|host| host.ep_api as *const OrtEpApi)
}

/// The tables of a release, as `OrtGetApiBase` gives them.
pub(crate) fn host(version: &str, newest: u32) -> OrtApiBase {
    let table = traps::api();
    let api = table.as_mut_ptr().cast::<OrtApi>();
    unsafe {
        install_api(api);
        (*api).CreateStatus = create_status;
        (*api).GetErrorCode = get_error_code;
        (*api).GetErrorMessage = get_error_message;
        (*api).ReleaseStatus = release_status;
        (*api).GetEpApi = get_ep_api;
        (*api).CreateKeyValuePairs = create_pairs;
        (*api).AddKeyValuePair = add_pair;
        (*api).GetKeyValuePairs = get_pairs;
        (*api).ReleaseKeyValuePairs = release_pairs;
        (*api).ReleaseTensorTypeAndShapeInfo = release_tensor_info;
        (*api).ReleaseModelMetadata = release_metadata;
        (*api).HardwareDevice_Type = hardware_type;
        (*api).HardwareDevice_VendorId = hardware_vendor_id;
    }
    if newest >= 24 {
        unsafe {
            let tail = api
                .cast::<usize>()
                .add(OrtApi::SLOTS.len())
                .cast::<OrtApiV24>();
            install_v24(tail);
            (*tail).TensorTypeAndShape_HasShape = has_shape;
        }
    }
    let ep_api = traps::ep_api().as_mut_ptr().cast::<OrtEpApi>();
    unsafe { install_ep_api(ep_api) };
    let (api, ep_api) = (api as usize, ep_api as usize);
    *CURRENT.lock().unwrap() = Some(Current {
        version: CString::new(version).unwrap(),
        newest,
        api,
        ep_api,
    });
    OrtApiBase {
        GetApi: get_api,
        GetVersionString: get_version_string,
    }
}

/// A release before plugins: a table that ends, with nothing readable behind it, and a `CreateStatus` in it.
pub(crate) fn old_host(version: &str, newest: u32, slots: usize) -> OrtApiBase {
    let base = host(version, newest);
    let page = usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap();
    let bytes = (slots * size_of::<usize>()).next_multiple_of(page);
    unsafe {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANON;
        let pages = libc::mmap(
            null_mut(),
            bytes + page,
            libc::PROT_READ | libc::PROT_WRITE,
            flags,
            -1,
            0,
        );
        assert_ne!(pages, libc::MAP_FAILED);
        assert_eq!(
            libc::mprotect(pages.cast::<u8>().add(bytes).cast(), page, libc::PROT_NONE),
            0
        );
        let table = pages
            .cast::<u8>()
            .add(bytes - slots * size_of::<usize>())
            .cast::<usize>();
        current(|host| {
            std::ptr::copy_nonoverlapping(host.api as *const usize, table, slots);
            host.api = table as usize;
        });
    }
    base
}
