//! Evaluation, and results that any thread may read.
use super::call::check;
use super::{Array, DType, Emit, OnThread};
use crate::error::{Error, Result};
use crate::ffi::mlx::types::mlx_vector_array;

/// Results smaller than this are freed with the next job instead of waking the MLX thread for it.
const LAZILY_FREED_BYTES: usize = 1 << 20;

/// An evaluated value in row-major order. Its bytes, packed as ONNX packs types below 8 bits, may be read from any
/// thread.
///
/// # Invariants
///
/// `data` points to `len` bytes that live as long as `_array`; nothing writes to them.
pub(crate) struct Evaluated {
    _array: OnThread<Array>,
    dtype: DType,
    dims: Vec<i64>,
    data: *const u8,
    len: usize,
}

// SAFETY: the bytes are only read, and the array goes back to its thread when dropped.
unsafe impl Send for Evaluated {}
// SAFETY: the bytes are only read.
unsafe impl Sync for Evaluated {}

impl Evaluated {
    pub(crate) fn dtype(&self) -> DType {
        self.dtype
    }

    pub(crate) fn dims(&self) -> &[i64] {
        &self.dims
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        if self.len == 0 {
            return &[];
        }
        // SAFETY: the type's invariant.
        unsafe { std::slice::from_raw_parts(self.data, self.len) }
    }
}

impl Emit {
    /// Evaluates arrays; they have data afterwards.
    pub(crate) fn eval(&self, arrays: &[&Array]) -> Result<()> {
        if arrays.is_empty() {
            return Ok(());
        }
        let vector = self.vector(arrays)?;
        // SAFETY: `vector` holds live arrays.
        let code = unsafe { self.mlx.mlx_eval(vector.raw()) };
        drop(vector);
        self.runtime.note_evaluation(self.kind);
        check("mlx_eval", code)
    }

    /// Evaluates the values of these arrays, of the given types, and makes them readable from any thread.
    pub(crate) fn evaluate(&self, values: Vec<(DType, Array)>) -> Result<Vec<Evaluated>> {
        let (mut types, mut arrays) = (Vec::new(), Vec::new());
        for (dtype, array) in values {
            let dims: Vec<_> = array.shape().iter().map(|d| i64::from(*d)).collect();
            types.push((dtype, dims));
            arrays.push(if dtype.bits() < 8 {
                self.pack(&array, dtype)?
            } else {
                array
            });
        }
        self.eval(&arrays.iter().collect::<Vec<_>>())?;
        let mut strided = Vec::new();
        for (index, array) in arrays.iter().enumerate() {
            if !array.is_row_contiguous() {
                strided.push((index, self.contiguous(array)?));
            }
        }
        if !strided.is_empty() {
            self.eval(&strided.iter().map(|(_, a)| a).collect::<Vec<_>>())?;
            for (index, array) in strided {
                arrays[index] = array;
            }
        }
        arrays
            .into_iter()
            .zip(types)
            .map(|(array, (dtype, dims))| self.readable(array, dtype, dims))
            .collect()
    }

    fn readable(&self, array: Array, dtype: DType, dims: Vec<i64>) -> Result<Evaluated> {
        let len = array.byte_len();
        // An empty array has no buffer, which CUDA's accessor does not survive.
        let data = if len == 0 {
            std::ptr::null()
        } else {
            array.data()?
        };
        let array = OnThread::of_generation(array, self.generation, len >= LAZILY_FREED_BYTES);
        Ok(Evaluated {
            _array: array,
            dtype,
            dims,
            data,
            len,
        })
    }

    /// Evaluates an array and copies its elements, in row-major order.
    pub(crate) fn read_bytes(&self, array: &Array) -> Result<Vec<u8>> {
        let array = self.contiguous(array)?;
        self.eval(&[&array])?;
        let len = array.byte_len();
        if len == 0 {
            return Ok(Vec::new());
        }
        if !array.is_row_contiguous() {
            return Err(Error::internal("mlx_contiguous gave a strided array"));
        }
        // SAFETY: an evaluated contiguous array has `nbytes` bytes from its data pointer on.
        let bytes = unsafe { std::slice::from_raw_parts(array.data()?, len) };
        Ok(bytes.to_vec())
    }
}

/// An owned `mlx_vector_array`.
pub(super) struct ArrayVector {
    raw: mlx_vector_array,
    mlx: &'static crate::ffi::mlx::Mlx,
}

impl ArrayVector {
    pub(super) fn raw(&self) -> mlx_vector_array {
        self.raw
    }

    /// Takes over a vector.
    ///
    /// # Safety
    ///
    /// 1. `raw` came from mlx-c on this thread, and nothing else frees it.
    pub(super) unsafe fn from_raw(
        mlx: &'static crate::ffi::mlx::Mlx,
        raw: mlx_vector_array,
    ) -> Self {
        Self { raw, mlx }
    }

    /// The arrays in it.
    pub(super) fn to_arrays(&self) -> Result<Vec<Array>> {
        // SAFETY: the vector is live.
        let count = unsafe { self.mlx.mlx_vector_array_size(self.raw) };
        let mut arrays = Vec::with_capacity(count);
        for index in 0..count {
            // SAFETY: the constructor of an empty handle has no precondition.
            let mut raw = unsafe { self.mlx.mlx_array_new() };
            // SAFETY: the vector is live and has an element `index`.
            let code = unsafe { self.mlx.mlx_vector_array_get(&raw mut raw, self.raw, index) };
            check("mlx_vector_array_get", code)?;
            // SAFETY: `raw` is a reference of its own, made just now.
            arrays.push(unsafe { Array::from_raw(self.mlx, raw, "mlx_vector_array_get") }?);
        }
        Ok(arrays)
    }
}

impl Drop for ArrayVector {
    fn drop(&mut self) {
        // SAFETY: the vector is owned by this value and freed once.
        unsafe { self.mlx.mlx_vector_array_free(self.raw) };
    }
}

impl Emit {
    pub(super) fn vector(&self, arrays: &[&Array]) -> Result<ArrayVector> {
        let handles: Vec<_> = arrays.iter().map(|a| a.raw()).collect();
        // SAFETY: `handles` are live arrays; the vector takes references of its own.
        let raw = unsafe {
            self.mlx
                .mlx_vector_array_new_data(handles.as_ptr(), handles.len())
        };
        if raw.ctx.is_null() {
            return Err(super::call::failure("mlx_vector_array_new_data"));
        }
        Ok(ArrayVector { raw, mlx: self.mlx })
    }
}
