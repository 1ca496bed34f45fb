//! Values of a Run: inputs are borrowed from ONNX Runtime, outputs are copied into its buffers.
use super::api::Api;
use super::import::TensorView;
use crate::device::DType;
use crate::error::{Error, Result};
use crate::ffi::ort::types::{OrtKernelContext, OrtValue};
use crate::ops::ir::Value;
use crate::ops::{Input, Output};

/// What a fused node declares of an input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Declared {
    name: String,
    dtype: DType,
    /// `None` where the model does not say.
    rank: Option<usize>,
}

impl Declared {
    /// `None` for a value that is no tensor.
    pub(super) fn of(value: &Value) -> Option<Self> {
        let dtype = value.dtype()?;
        Some(Self {
            name: value.name.clone(),
            dtype,
            rank: value.shape().map(<[_]>::len),
        })
    }

    fn check(&self, code: i32, dims: &[i64]) -> Result<()> {
        let name = &self.name;
        if code != self.dtype.ort() {
            let found =
                DType::from_ort(code).map_or_else(|| format!("type {code}"), |t| t.to_string());
            return Err(Error::invalid(format!(
                "input '{name}' is {found}, the model declares {}",
                self.dtype
            )));
        }
        match self.rank {
            Some(rank) if rank != dims.len() => Err(Error::invalid(format!(
                "input '{name}' has {} dimensions {dims:?}, the model declares {rank}",
                dims.len()
            ))),
            _ => Ok(()),
        }
    }
}

/// The values of one Compute call.
///
/// # Invariants
///
/// `raw` is the context that the host of `api` passed to a Compute call that lasts for `'a`.
#[derive(Clone, Copy)]
pub(super) struct Context<'a> {
    api: &'a Api,
    raw: *mut OrtKernelContext,
}

impl<'a> Context<'a> {
    /// # Safety
    /// 1. `raw` is null or the context that the host of `api` passed to a Compute call that lasts for `'a`.
    pub(super) unsafe fn new(api: &'a Api, raw: *mut OrtKernelContext) -> Result<Self> {
        if raw.is_null() {
            return Err(Error::internal("Compute was called without a context"));
        }
        Ok(Self { api, raw })
    }

    fn input(self, index: usize, declared: &Declared) -> Result<TensorView<'a>> {
        let raw = self.api.get(std::ptr::null(), |out| {
            // SAFETY: the context is live (the type's invariant); the host checks the index.
            unsafe { (self.api.table().KernelContext_GetInput)(self.raw, index, out) }
        })?;
        // SAFETY: inputs live as long as the Compute call.
        let view = unsafe { TensorView::new(self.api, raw) };
        view.ok_or_else(|| Error::invalid(format!("input '{}' is missing", declared.name)))
    }

    /// Calls `body` with the inputs as they lie in ONNX Runtime's memory.
    pub(super) fn with_inputs<T>(
        self,
        declared: &[Declared],
        body: impl FnOnce(&[Input<'_>]) -> Result<T>,
    ) -> Result<T> {
        let mut inputs = Vec::with_capacity(declared.len());
        if self.api.v24().is_some() {
            for (index, declared) in declared.iter().enumerate() {
                let view = self.input(index, declared)?;
                let (code, dims) = view.borrowed_type_and_dims()?;
                inputs.push(bind(view, declared, code, dims)?);
            }
            return body(&inputs);
        }
        // Older hosts do not lend dimensions.
        let mut owned = Vec::with_capacity(declared.len());
        for (index, declared) in declared.iter().enumerate() {
            let view = self.input(index, declared)?;
            let (code, dims) = view.element_type_and_dims()?;
            owned.push((view, code, dims));
        }
        for ((view, code, dims), declared) in owned.iter().zip(declared) {
            inputs.push(bind(*view, declared, *code, dims)?);
        }
        body(&inputs)
    }

    /// Allocates output `index` and copies a result into it.
    pub(super) fn write(self, index: usize, output: &Output) -> Result<()> {
        let table = self.api.table();
        let dims = output.dims();
        let value: *mut OrtValue = self.api.get(std::ptr::null_mut(), |out| {
            // SAFETY: the context is live (the type's invariant); `dims` has the length that is said.
            unsafe {
                (table.KernelContext_GetOutput)(self.raw, index, dims.as_ptr(), dims.len(), out)
            }
        })?;
        if value.is_null() {
            // An output that nobody asked for.
            return Ok(());
        }
        // SAFETY: the host made the value just now.
        let room = self
            .api
            .get(0, |out| unsafe { (table.GetTensorSizeInBytes)(value, out) })?;
        let bytes = output.bytes();
        if room != bytes.len() {
            return Err(Error::internal(format!(
                "output {index} has {} bytes of {}, ONNX Runtime allocated {room}",
                bytes.len(),
                output.dtype()
            )));
        }
        if bytes.is_empty() {
            return Ok(());
        }
        // SAFETY: the host made the value just now.
        let data = self.api.get(std::ptr::null_mut(), |out| unsafe {
            (table.GetTensorMutableData)(value, out)
        })?;
        if data.is_null() {
            return Err(Error::internal(format!("output {index} has no memory")));
        }
        // SAFETY: `data` has room for as many bytes as `bytes` has, checked above; the host allocated it, so it is not inside our array.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), data.cast::<u8>(), bytes.len()) };
        Ok(())
    }
}

fn bind<'a>(
    view: TensorView<'a>,
    declared: &Declared,
    code: i32,
    dims: &'a [i64],
) -> Result<Input<'a>> {
    declared.check(code, dims)?;
    let bytes = byte_size(declared.dtype, dims);
    let bytes = bytes.ok_or_else(|| {
        Error::invalid(format!(
            "input '{}' has impossible dimensions {dims:?}",
            declared.name
        ))
    })?;
    // SAFETY: `check` compared the element type, and `dims` are the tensor's, so it has this many bytes.
    let bytes = unsafe { view.data(bytes) }?;
    Ok(Input {
        dtype: declared.dtype,
        dims,
        bytes,
    })
}

/// `None` for negative dimensions and for sizes that no memory has.
fn byte_size(dtype: DType, dims: &[i64]) -> Option<usize> {
    let elements = dims.iter().try_fold(1usize, |product, dim| {
        product.checked_mul(usize::try_from(*dim).ok()?)
    })?;
    elements
        .checked_mul(dtype.bits())
        .map(|bits| bits.div_ceil(8))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_are_checked_against_the_declaration() {
        let declared = Declared {
            name: "x".into(),
            dtype: DType::F32,
            rank: Some(2),
        };
        assert!(declared.check(1, &[2, 3]).is_ok());
        let text = |code, dims: &[i64]| match declared.check(code, dims) {
            Err(Error::InvalidArgument(text)) => text,
            other => panic!("{other:?}"),
        };
        assert_eq!(
            text(7, &[2, 3]),
            "input 'x' is int64, the model declares float"
        );
        assert_eq!(
            text(99, &[2, 3]),
            "input 'x' is type 99, the model declares float"
        );
        assert_eq!(
            text(1, &[2]),
            "input 'x' has 1 dimensions [2], the model declares 2"
        );
        assert!(
            Declared {
                rank: None,
                ..declared
            }
            .check(1, &[])
            .is_ok()
        );
    }

    #[test]
    fn the_newest_types_have_the_codes_of_the_host() {
        use crate::ffi::ort::types::ONNXTensorElementDataType as Code;
        for (dtype, code) in [
            (
                DType::F4E2M1,
                Code::ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT4E2M1,
            ),
            (DType::U2, Code::ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT2),
            (DType::I2, Code::ONNX_TENSOR_ELEMENT_DATA_TYPE_INT2),
            (
                DType::F8E8M0,
                Code::ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E8M0,
            ),
        ] {
            assert_eq!(dtype.ort(), code.0);
        }
    }

    #[test]
    fn sizes_that_cannot_be_are_refused() {
        assert_eq!(byte_size(DType::F32, &[2, 3]), Some(24));
        assert_eq!(byte_size(DType::I4, &[3]), Some(2));
        assert_eq!(byte_size(DType::F32, &[]), Some(4));
        assert_eq!(byte_size(DType::F32, &[0, i64::MAX]), Some(0));
        assert_eq!(byte_size(DType::F32, &[-1]), None);
        assert_eq!(byte_size(DType::F64, &[i64::MAX, 8]), None);
    }
}
