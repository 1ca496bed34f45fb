//! The owner of an `mlx_array`.
use super::DType;
use super::call::failure;
use crate::error::{Error, Result};
use crate::ffi::mlx::Mlx;
use crate::ffi::mlx::types::{mlx_array, mlx_dtype};
use std::marker::PhantomData;

/// An MLX array: lazy or evaluated. It stays on the MLX thread.
///
/// # Invariants
///
/// `raw` came from mlx-c, is not null, and is freed once, here.
pub(crate) struct Array {
    raw: mlx_array,
    mlx: &'static Mlx,
    // MLX keeps what an array needs in thread-locals of the thread that made it.
    _thread_bound: PhantomData<*const ()>,
}

impl Array {
    /// Takes over a handle.
    ///
    /// # Safety
    ///
    /// 1. `raw` came from a constructor or operation of `mlx` on this thread, and nothing else frees it.
    pub(super) unsafe fn from_raw(
        mlx: &'static Mlx,
        raw: mlx_array,
        call: &'static str,
    ) -> Result<Self> {
        if raw.ctx.is_null() {
            return Err(failure(call));
        }
        Ok(Self {
            raw,
            mlx,
            _thread_bound: PhantomData,
        })
    }

    pub(super) fn raw(&self) -> mlx_array {
        self.raw
    }

    /// Element type. MLX has no type that [`DType`] lacks.
    pub(crate) fn dtype(&self) -> DType {
        // SAFETY: `raw` is a live array by the type's invariant.
        let code = unsafe { self.mlx.mlx_array_dtype(self.raw) };
        from_mlx(code).unwrap_or(DType::F32)
    }

    pub(crate) fn rank(&self) -> usize {
        // SAFETY: `raw` is a live array by the type's invariant.
        unsafe { self.mlx.mlx_array_ndim(self.raw) }
    }

    /// The dimensions as MLX holds them.
    pub(crate) fn shape(&self) -> &[i32] {
        let rank = self.rank();
        if rank == 0 {
            return &[];
        }
        // SAFETY: `raw` is a live array by the type's invariant.
        let shape = unsafe { self.mlx.mlx_array_shape(self.raw) };
        // SAFETY: mlx-c gives a pointer to `ndim` ints that lives as long as the array is not reassigned.
        unsafe { std::slice::from_raw_parts(shape, rank) }
    }

    pub(crate) fn dims(&self) -> Vec<usize> {
        self.shape()
            .iter()
            .map(|d| usize::try_from(*d).unwrap_or(0))
            .collect()
    }

    pub(crate) fn dim(&self, axis: usize) -> usize {
        self.shape()
            .get(axis)
            .map_or(1, |d| usize::try_from(*d).unwrap_or(0))
    }

    /// Number of elements.
    pub(crate) fn size(&self) -> usize {
        // SAFETY: `raw` is a live array by the type's invariant.
        unsafe { self.mlx.mlx_array_size(self.raw) }
    }

    pub(super) fn byte_len(&self) -> usize {
        // SAFETY: `raw` is a live array by the type's invariant.
        unsafe { self.mlx.mlx_array_nbytes(self.raw) }
    }

    /// Whether the elements of an evaluated array lie in row-major order without gaps.
    pub(super) fn is_row_contiguous(&self) -> bool {
        let shape = self.shape();
        if self.size() <= 1 {
            return true;
        }
        // SAFETY: `raw` is a live array by the type's invariant.
        let strides = unsafe { self.mlx.mlx_array_strides(self.raw) };
        // SAFETY: mlx-c gives a pointer to `ndim` strides that lives as long as the array is not reassigned.
        let strides = unsafe { std::slice::from_raw_parts(strides, shape.len()) };
        let mut expected = 1usize;
        for (dim, stride) in shape.iter().zip(strides).rev() {
            if *dim != 1 && *stride != expected {
                return false;
            }
            expected *= usize::try_from(*dim).unwrap_or(0);
        }
        true
    }

    /// The first byte of an evaluated array.
    pub(super) fn data(&self) -> Result<*const u8> {
        // SAFETY: `raw` is a live array by the type's invariant; the caller evaluated it. The element type of the
        // accessor only decides the pointer's type.
        let data = unsafe { self.mlx.mlx_array_data_uint8(self.raw) };
        if data.is_null() && self.size() > 0 {
            Err(failure("mlx_array_data_uint8"))
        } else {
            Ok(data)
        }
    }
}

impl Clone for Array {
    fn clone(&self) -> Self {
        // SAFETY: the constructor of an empty handle has no precondition.
        let mut raw = unsafe { self.mlx.mlx_array_new() };
        // SAFETY: both handles are live; `raw` takes a reference of its own to the same array.
        unsafe { self.mlx.mlx_array_set(&raw mut raw, self.raw) };
        Self {
            raw,
            mlx: self.mlx,
            _thread_bound: PhantomData,
        }
    }
}

impl Drop for Array {
    fn drop(&mut self) {
        // SAFETY: by the invariant this is the one place that frees `raw`.
        unsafe { self.mlx.mlx_array_free(self.raw) };
    }
}

/// The MLX type of an ONNX type, or of what stores it; none for those that no MLX array holds.
pub(super) fn to_mlx(dtype: DType) -> Option<mlx_dtype> {
    Some(match dtype.storage() {
        DType::Bool => mlx_dtype::MLX_BOOL,
        DType::U8 => mlx_dtype::MLX_UINT8,
        DType::U16 => mlx_dtype::MLX_UINT16,
        DType::U32 => mlx_dtype::MLX_UINT32,
        DType::U64 => mlx_dtype::MLX_UINT64,
        DType::I8 => mlx_dtype::MLX_INT8,
        DType::I16 => mlx_dtype::MLX_INT16,
        DType::I32 => mlx_dtype::MLX_INT32,
        DType::I64 => mlx_dtype::MLX_INT64,
        DType::F16 => mlx_dtype::MLX_FLOAT16,
        DType::F32 => mlx_dtype::MLX_FLOAT32,
        DType::F64 => mlx_dtype::MLX_FLOAT64,
        DType::BF16 => mlx_dtype::MLX_BFLOAT16,
        DType::C64 => mlx_dtype::MLX_COMPLEX64,
        _ => return None,
    })
}

/// As [`to_mlx`], for types that arrays are made of.
pub(super) fn mlx_type(dtype: DType) -> Result<mlx_dtype> {
    to_mlx(dtype).ok_or_else(|| Error::internal(format!("no MLX array holds {dtype}")))
}

fn from_mlx(code: mlx_dtype) -> Option<DType> {
    DType::ALL
        .iter()
        .copied()
        .find(|t| *t == t.storage() && to_mlx(*t) == Some(code))
}
