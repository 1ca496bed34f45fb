//! Values, initializers and tensors of a host, as long as one callback lasts.
use super::macros::{ask, view};
use super::view::missing;
use crate::device::DType;
use crate::ep::abi;
use crate::ep::api::Api;
use crate::error::{Error, Result};
use crate::ffi::ort::types::{
    ONNXTensorElementDataType, ONNXType, OrtExternalInitializerInfo, OrtValue, OrtValueInfo,
};
use crate::ops::ir::{Dim, ValueKind};
use std::path::PathBuf;
use std::sync::Arc;

view! {
    /// A value of a graph.
    ValueView of OrtValueInfo
}
view! {
    /// A tensor that the host owns.
    TensorView of OrtValue
}

impl<'a> ValueView<'a> {
    /// The pointer itself, which tells values apart.
    pub(super) fn raw(self) -> *const OrtValueInfo {
        self.raw
    }

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
        let Some(dtype) = DType::from_ort(code.0) else {
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
        let status = unsafe { (table.GetDimensions)(tensor, dims.as_mut_ptr(), rank) };
        self.api.check(status)?;
        let mut symbols = vec![std::ptr::null(); rank];
        // SAFETY: `symbols` has room for the dimensions that were counted.
        let status = unsafe { (table.GetSymbolicDimensions)(tensor, symbols.as_mut_ptr(), rank) };
        self.api.check(status)?;
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
        Ok(DType::from_ort(code).map(|dtype| (dtype, dims)))
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
            let status = unsafe { (table.GetDimensions)(info, dims.as_mut_ptr(), rank) };
            self.api.check(status)?;
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

impl<'a> OwnedTensor<'a> {
    /// Takes over a tensor.
    ///
    /// # Safety
    /// 1. `raw` is null or a tensor of the host of `api` that nobody else releases.
    pub(super) unsafe fn new(api: &'a Api, raw: *mut OrtValue) -> Option<Self> {
        (!raw.is_null()).then_some(Self { api, raw })
    }

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
