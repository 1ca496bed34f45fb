//! Graph objects of a host, as long as one callback lasts. The only caller of the graph functions of ONNX Runtime.
use crate::device::DType;
use crate::ep::abi;
use crate::ep::api::Api;
use crate::error::{Error, Result};
use crate::ffi::ort::types::{
    ONNXTensorElementDataType, ONNXType, OrtExternalInitializerInfo, OrtGraph, OrtNode, OrtOpAttr,
    OrtOpAttrType, OrtValue, OrtValueInfo,
};
use crate::ops::ir::{Dim, ValueKind};
use std::path::PathBuf;
use std::sync::Arc;

/// Calls a getter on a live object of a host.
macro_rules! ask {
    ($this:expr, $slot:ident) => {
        // SAFETY: the object is live, as the invariant of its type says; `out` is a live variable of the type that the slot writes.
        |out| unsafe { ($this.api.table().$slot)($this.raw, out) }
    };
}

/// Reads all pointers that a live object of a host has of one kind.
macro_rules! list {
    ($this:expr, $count:ident, $fill:ident) => {
        // SAFETY: the object is live, as the invariant of its type says; `out` has room for the number that it was counted.
        $this.api.get_list(ask!($this, $count), |out, n| unsafe { ($this.api.table().$fill)($this.raw, out, n) })
    };
}

/// Declares a borrowed object of a host.
macro_rules! view {
    ($(#[$doc:meta])* $Name:ident of $Raw:ident) => {
        $(#[$doc])*
        ///
        /// # Invariants
        ///
        /// `raw` is not null and points to an object of the host of `api` that is live for `'a`.
        #[derive(Clone, Copy)]
        pub(crate) struct $Name<'a> {
            api: &'a Api,
            raw: *const $Raw,
        }

        impl<'a> $Name<'a> {
            /// # Safety
            /// 1. `raw` is null or points to a `$Raw` of the host of `api` that lives for `'a`.
            pub(in crate::ep) unsafe fn new(api: &'a Api, raw: *const $Raw) -> Option<Self> {
                (!raw.is_null()).then_some(Self { api, raw })
            }

            /// The pointer itself, to give it back to the host.
            pub(in crate::ep) fn raw(self) -> *const $Raw {
                self.raw
            }

            /// The objects in a list of the host's; null entries stay `None`.
            ///
            /// # Safety
            /// 1. Each entry of `list` is null or points to a `$Raw` of the host of `api` that lives for `'a`.
            #[allow(dead_code, reason = "not every kind of object comes in lists")]
            unsafe fn each(api: &'a Api, list: Vec<*const $Raw>) -> Vec<Option<Self>> {
                // SAFETY: the caller says so of each entry (1).
                list.into_iter().map(|raw| unsafe { Self::new(api, raw) }).collect()
            }
        }
    };
}

view! {
    /// A graph, or a body of a control-flow node.
    GraphView of OrtGraph
}
view! {
    /// A node of a graph.
    NodeView of OrtNode
}
view! {
    /// A value of a graph.
    ValueView of OrtValueInfo
}
view! {
    /// An attribute of a node.
    AttributeView of OrtOpAttr
}
view! {
    /// A tensor that the host owns.
    TensorView of OrtValue
}

/// Why an object cannot be null here.
fn missing(what: &str) -> Error {
    Error::internal(format!("ONNX Runtime gave no {what}"))
}

impl<'a> GraphView<'a> {
    pub(super) fn name(self) -> Result<String> {
        self.api.get_text(ask!(self, Graph_GetName))
    }

    pub(super) fn model_path(self) -> Result<PathBuf> {
        Ok(abi::path(
            self.api
                .get(std::ptr::null(), ask!(self, Graph_GetModelPath))?,
        ))
    }

    pub(super) fn inputs(self) -> Result<Vec<Option<ValueView<'a>>>> {
        let list = list!(self, Graph_GetNumInputs, Graph_GetInputs)?;
        // SAFETY: value infos of a graph live as long as the graph.
        Ok(unsafe { ValueView::each(self.api, list) })
    }

    pub(super) fn outputs(self) -> Result<Vec<Option<ValueView<'a>>>> {
        let list = list!(self, Graph_GetNumOutputs, Graph_GetOutputs)?;
        // SAFETY: value infos of a graph live as long as the graph.
        Ok(unsafe { ValueView::each(self.api, list) })
    }

    pub(super) fn nodes(self) -> Result<Vec<NodeView<'a>>> {
        let list = list!(self, Graph_GetNumNodes, Graph_GetNodes)?;
        // SAFETY: nodes of a graph live as long as the graph.
        let nodes = unsafe { NodeView::each(self.api, list) };
        nodes
            .into_iter()
            .map(|node| node.ok_or_else(|| missing("node")))
            .collect()
    }

    /// Whether this is a body of a control-flow node.
    pub(in crate::ep) fn is_nested(self) -> Result<bool> {
        if self.api.version().minor >= 24 {
            return Ok(!self
                .api
                .get(std::ptr::null(), ask!(self, Graph_GetParentNode))?
                .is_null());
        }
        // 1.23 names no parent. The metadata of a nested graph is that of the model, whose graph has another name.
        if self.name()? != self.main_graph_name()? {
            return Ok(true);
        }
        for node in self.nodes()? {
            for input in node.inputs()?.into_iter().flatten() {
                if input.is_from_outer_scope()? {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    fn main_graph_name(self) -> Result<String> {
        let table = self.api.table();
        let metadata = self
            .api
            .get(std::ptr::null_mut(), ask!(self, Graph_GetModelMetadata))?;
        let read = || {
            // SAFETY: the out parameter is a live pointer; the allocator is the host's own and never freed.
            let allocator = self.api.get(std::ptr::null_mut(), |out| unsafe {
                (table.GetAllocatorWithDefaultOptions)(out)
            })?;
            let name = self.api.get(std::ptr::null_mut(), |out| {
                // SAFETY: the metadata was made just now and the allocator is live.
                unsafe { (table.ModelMetadataGetGraphName)(metadata, allocator, out) }
            })?;
            let text = abi::text(name);
            // SAFETY: the host made the string with this allocator, and it is freed once.
            self.api
                .check(unsafe { (table.AllocatorFree)(allocator, name.cast()) })?;
            Ok(text)
        };
        let name = read();
        // SAFETY: the metadata was made for us and is released once.
        unsafe { (table.ReleaseModelMetadata)(metadata) };
        name
    }
}

impl<'a> NodeView<'a> {
    pub(in crate::ep) fn name(self) -> Result<String> {
        self.api.get_text(ask!(self, Node_GetName))
    }

    pub(super) fn op_type(self) -> Result<String> {
        self.api.get_text(ask!(self, Node_GetOperatorType))
    }

    pub(super) fn domain(self) -> Result<String> {
        self.api.get_text(ask!(self, Node_GetDomain))
    }

    pub(super) fn since_version(self) -> Result<i32> {
        self.api.get(0, ask!(self, Node_GetSinceVersion))
    }

    /// The execution provider that holds the node already.
    pub(super) fn ep_name(self) -> Result<Option<String>> {
        let name = self.api.get_text(ask!(self, Node_GetEpName))?;
        Ok((!name.is_empty()).then_some(name))
    }

    pub(super) fn inputs(self) -> Result<Vec<Option<ValueView<'a>>>> {
        let list = list!(self, Node_GetNumInputs, Node_GetInputs)?;
        // SAFETY: value infos of a node live as long as its graph.
        Ok(unsafe { ValueView::each(self.api, list) })
    }

    pub(super) fn outputs(self) -> Result<Vec<Option<ValueView<'a>>>> {
        let list = list!(self, Node_GetNumOutputs, Node_GetOutputs)?;
        // SAFETY: value infos of a node live as long as its graph.
        Ok(unsafe { ValueView::each(self.api, list) })
    }

    /// Outer values that the bodies of the node read.
    pub(super) fn implicit_inputs(self) -> Result<Vec<Option<ValueView<'a>>>> {
        let list = list!(self, Node_GetNumImplicitInputs, Node_GetImplicitInputs)?;
        // SAFETY: value infos of a node live as long as its graph.
        Ok(unsafe { ValueView::each(self.api, list) })
    }

    pub(super) fn attributes(self) -> Result<Vec<AttributeView<'a>>> {
        let list = list!(self, Node_GetNumAttributes, Node_GetAttributes)?;
        // SAFETY: attributes live as long as their node.
        let attributes = unsafe { AttributeView::each(self.api, list) };
        attributes
            .into_iter()
            .map(|attribute| attribute.ok_or_else(|| missing("attribute")))
            .collect()
    }

    /// The bodies of a control-flow node, each with the name of its attribute.
    pub(super) fn bodies(self) -> Result<Vec<(String, GraphView<'a>)>> {
        let count = self.api.get(0, ask!(self, Node_GetNumSubgraphs))?;
        if count == 0 {
            return Ok(Vec::new());
        }
        let mut names = vec![std::ptr::null(); count];
        let mut graphs = vec![std::ptr::null(); count];
        // SAFETY: the node is live; both arrays have room for the bodies that were counted.
        let status = unsafe {
            (self.api.table().Node_GetSubgraphs)(
                self.raw,
                graphs.as_mut_ptr(),
                count,
                names.as_mut_ptr(),
            )
        };
        self.api.check(status)?;
        // SAFETY: bodies live as long as their node.
        let graphs = unsafe { GraphView::each(self.api, graphs) };
        let named = names.into_iter().zip(graphs);
        named
            .map(|(name, graph)| Ok((abi::text(name), graph.ok_or_else(|| missing("body"))?)))
            .collect()
    }
}

impl<'a> ValueView<'a> {
    pub(super) fn name(self) -> Result<String> {
        self.api.get_text(ask!(self, GetValueInfoName))
    }

    pub(super) fn is_constant_initializer(self) -> Result<bool> {
        self.api
            .get(false, ask!(self, ValueInfo_IsConstantInitializer))
    }

    pub(super) fn is_from_outer_scope(self) -> Result<bool> {
        self.api.get(false, ask!(self, ValueInfo_IsFromOuterScope))
    }

    /// The value of an initializer. External data is mapped by the host at the first call.
    pub(super) fn initializer(self) -> Result<Option<TensorView<'a>>> {
        let raw = self
            .api
            .get(std::ptr::null(), ask!(self, ValueInfo_GetInitializerValue))?;
        // SAFETY: the host keeps the value of an initializer until the graph is released.
        Ok(unsafe { TensorView::new(self.api, raw) })
    }

    /// The file that holds the bytes of an initializer, if one does.
    pub(super) fn external(self) -> Result<Option<External>> {
        let raw = self.api.get(
            std::ptr::null_mut(),
            ask!(self, ValueInfo_GetExternalInitializerInfo),
        )?;
        if raw.is_null() {
            return Ok(None);
        }
        let info = ExternalInfo { api: self.api, raw };
        let table = self.api.table();
        // SAFETY: `info` is live, as its invariant says.
        let file = abi::path(unsafe { (table.ExternalInitializerInfo_GetFilePath)(info.raw) });
        // SAFETY: `info` is live, as its invariant says.
        let offset = unsafe { (table.ExternalInitializerInfo_GetFileOffset)(info.raw) };
        // SAFETY: `info` is live, as its invariant says.
        let bytes = unsafe { (table.ExternalInitializerInfo_GetByteSize)(info.raw) };
        Ok(Some(External {
            file,
            offset,
            bytes,
        }))
    }

    /// The declared type.
    pub(super) fn kind(self) -> Result<ValueKind> {
        let table = self.api.table();
        let info = self
            .api
            .get(std::ptr::null(), ask!(self, GetValueInfoTypeInfo))?;
        if info.is_null() {
            return Ok(ValueKind::Other);
        }
        // SAFETY: the type info belongs to the value info, which is live.
        let onnx = self.api.get(ONNXType::ONNX_TYPE_UNKNOWN, |out| unsafe {
            (table.GetOnnxTypeFromTypeInfo)(info, out)
        })?;
        if onnx != ONNXType::ONNX_TYPE_TENSOR {
            return Ok(ValueKind::Other);
        }
        // SAFETY: the type info belongs to the value info, which is live.
        let tensor = self.api.get(std::ptr::null(), |out| unsafe {
            (table.CastTypeInfoToTensorInfo)(info, out)
        })?;
        if tensor.is_null() {
            return Ok(ValueKind::Other);
        }
        let code = self.api.get(
            ONNXTensorElementDataType::ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED,
            |out| {
                // SAFETY: the tensor info is a part of the type info.
                unsafe { (table.GetTensorElementType)(tensor, out) }
            },
        )?;
        let Some(dtype) = DType::from_onnx(code.0) else {
            return Ok(ValueKind::UnknownTensor(code.0));
        };
        // SAFETY: the tensor info is a part of the type info.
        let rank = self
            .api
            .get(0, |out| unsafe { (table.GetDimensionsCount)(tensor, out) })?;
        // A shape without dimensions is a scalar or no shape at all; hosts before 1.24 do not tell which.
        // SAFETY: the tensor info is a part of the type info.
        let known = rank > 0
            || self
                .api
                .v24()
                .is_some_and(|v24| unsafe { (v24.TensorTypeAndShape_HasShape)(tensor) });
        if !known {
            return Ok(ValueKind::Tensor { dtype, shape: None });
        }
        let mut dims = vec![-1i64; rank];
        // SAFETY: `dims` has room for the dimensions that were counted.
        self.api
            .check(unsafe { (table.GetDimensions)(tensor, dims.as_mut_ptr(), rank) })?;
        let mut symbols = vec![std::ptr::null(); rank];
        // SAFETY: `symbols` has room for the dimensions that were counted.
        self.api
            .check(unsafe { (table.GetSymbolicDimensions)(tensor, symbols.as_mut_ptr(), rank) })?;
        let dims = dims
            .into_iter()
            .zip(symbols)
            .map(|(dim, symbol)| match usize::try_from(dim) {
                Ok(dim) => Dim::Known(dim),
                Err(_) => match abi::text(symbol) {
                    symbol if symbol.is_empty() => Dim::Unknown,
                    symbol => Dim::Symbol(Arc::from(symbol)),
                },
            });
        Ok(ValueKind::Tensor {
            dtype,
            shape: Some(dims.collect()),
        })
    }
}

/// Where the bytes of an initializer are in a file.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct External {
    /// As the model says: relative to the model's folder.
    pub(crate) file: PathBuf,
    pub(crate) offset: i64,
    pub(crate) bytes: usize,
}

/// An owned description of external data.
///
/// # Invariants
///
/// `raw` is live and released once, by `drop`.
struct ExternalInfo<'a> {
    api: &'a Api,
    raw: *mut OrtExternalInitializerInfo,
}

impl Drop for ExternalInfo<'_> {
    fn drop(&mut self) {
        // SAFETY: the type's invariant.
        unsafe { (self.api.table().ReleaseExternalInitializerInfo)(self.raw) };
    }
}

impl<'a> TensorView<'a> {
    /// Element type and dimensions. `None` where the value is no tensor, or of a type that is unknown here.
    pub(super) fn type_and_dims(self) -> Result<Option<(DType, Vec<usize>)>> {
        let is_tensor = self.api.get(0, ask!(self, IsTensor))?;
        if is_tensor == 0 {
            return Ok(None);
        }
        let (code, dims) = self.element_type_and_dims()?;
        let dims = dims
            .into_iter()
            .map(usize::try_from)
            .collect::<Result<Vec<_>, _>>();
        let dims = dims.map_err(|_| Error::internal("a tensor has a negative dimension"))?;
        Ok(DType::from_onnx(code).map(|dtype| (dtype, dims)))
    }

    /// The ONNX code of the element type, and the dimensions, of a tensor.
    pub(in crate::ep) fn element_type_and_dims(self) -> Result<(i32, Vec<i64>)> {
        let table = self.api.table();
        let info = self
            .api
            .get(std::ptr::null_mut(), ask!(self, GetTensorTypeAndShape))?;
        let read = || {
            let code = self.api.get(
                ONNXTensorElementDataType::ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED,
                |out| {
                    // SAFETY: `info` was made just now.
                    unsafe { (table.GetTensorElementType)(info, out) }
                },
            )?;
            // SAFETY: `info` was made just now.
            let rank = self
                .api
                .get(0, |out| unsafe { (table.GetDimensionsCount)(info, out) })?;
            let mut dims = vec![0i64; rank];
            // SAFETY: `dims` has room for the dimensions that were counted.
            self.api
                .check(unsafe { (table.GetDimensions)(info, dims.as_mut_ptr(), rank) })?;
            Ok((code.0, dims))
        };
        let read = read();
        // SAFETY: `info` was made for us and is released once.
        unsafe { (table.ReleaseTensorTypeAndShapeInfo)(info) };
        read
    }

    /// The ONNX code of the element type, and the dimensions, without a copy. Only for hosts from 1.24 on.
    pub(in crate::ep) fn borrowed_type_and_dims(self) -> Result<(i32, &'a [i64])> {
        let api = self.api;
        let v24 = api
            .v24()
            .ok_or_else(|| Error::internal("a function of a newer host was called"))?;
        let (mut code, mut dims, mut rank) = (
            ONNXTensorElementDataType::ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED,
            std::ptr::null(),
            0,
        );
        // SAFETY: the value is live (the type's invariant); the out parameters are live variables.
        let status = unsafe {
            (v24.GetTensorElementTypeAndShapeDataReference)(
                self.raw,
                &raw mut code,
                &raw mut dims,
                &raw mut rank,
            )
        };
        api.check(status)?;
        if rank == 0 || dims.is_null() {
            return Ok((code.0, &[]));
        }
        // SAFETY: the host lends `rank` dimensions, which do not change while the value lives.
        Ok((code.0, unsafe { std::slice::from_raw_parts(dims, rank) }))
    }

    /// The elements of a tensor of a fixed-size type in host memory.
    pub(in crate::ep) fn bytes(self) -> Result<&'a [u8]> {
        let len = self.api.get(0, ask!(self, GetTensorSizeInBytes))?;
        // SAFETY: the host says that the tensor has `len` bytes.
        unsafe { self.data(len) }
    }

    /// The first bytes of a tensor of a fixed-size type in host memory.
    ///
    /// # Safety
    /// 1. The tensor has at least `len` bytes.
    pub(in crate::ep) unsafe fn data(self, len: usize) -> Result<&'a [u8]> {
        let data = self.api.get(std::ptr::null(), ask!(self, GetTensorData))?;
        if len == 0 {
            return Ok(&[]);
        }
        if data.is_null() {
            return Err(missing("tensor data"));
        }
        // SAFETY: the tensor has `len` bytes at `data` (1); they live and do not change while the tensor lives.
        Ok(unsafe { std::slice::from_raw_parts(data.cast(), len) })
    }
}

/// A tensor that was made for us.
///
/// # Invariants
///
/// `raw` is live and released once, by `drop`.
pub(super) struct OwnedTensor<'a> {
    api: &'a Api,
    raw: *mut OrtValue,
}

impl OwnedTensor<'_> {
    pub(super) fn view(&self) -> TensorView<'_> {
        TensorView {
            api: self.api,
            raw: self.raw,
        }
    }
}

impl Drop for OwnedTensor<'_> {
    fn drop(&mut self) {
        // SAFETY: the type's invariant.
        unsafe { (self.api.table().ReleaseValue)(self.raw) };
    }
}

impl<'a> AttributeView<'a> {
    pub(super) fn name(self) -> Result<String> {
        self.api.get_text(ask!(self, OpAttr_GetName))
    }

    pub(super) fn kind(self) -> Result<OrtOpAttrType> {
        self.api.get(
            OrtOpAttrType::ORT_OP_ATTR_UNDEFINED,
            ask!(self, OpAttr_GetType),
        )
    }

    /// The value of a tensor attribute, as a copy.
    pub(super) fn tensor(self) -> Result<Option<OwnedTensor<'a>>> {
        let raw = self.api.get(
            std::ptr::null_mut(),
            ask!(self, OpAttr_GetTensorAttributeAsOrtValue),
        )?;
        Ok((!raw.is_null()).then_some(OwnedTensor { api: self.api, raw }))
    }

    /// The value of any other attribute, in the bytes of [`OrtOpAttrType`]'s layout.
    pub(super) fn read(self, kind: OrtOpAttrType) -> Result<Vec<u8>> {
        // Too small a buffer costs a status with its text; most attributes fit into this one.
        let mut buffer = vec![0u8; 256];
        loop {
            let mut needed = 0;
            // SAFETY: the attribute is live; `buffer` has the length that is said.
            let status = unsafe {
                let data = buffer.as_mut_ptr().cast();
                (self.api.table().ReadOpAttr)(self.raw, kind, data, buffer.len(), &raw mut needed)
            };
            match self.api.check(status) {
                Ok(()) => {
                    buffer.truncate(needed);
                    return Ok(buffer);
                }
                Err(_) if needed > buffer.len() => buffer.resize(needed, 0),
                Err(error) => return Err(error),
            }
        }
    }
}
