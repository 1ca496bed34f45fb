//! The operations of mlx-c as safe methods, named like them without the prefix.
mod arith;
mod linalg;
mod packed;
mod random;
mod reduce;
mod scatter;
mod shape;

pub(crate) use linalg::Conv;
pub(crate) use scatter::Scatter;

use super::array::mlx_type;
use super::call::{check, failure};
use super::evaluate::ArrayVector;
use super::float;
use super::{Array, DType, DeviceKind, Runtime};
use crate::error::{Error, Result};
use crate::ffi::mlx::Mlx;
use crate::ffi::mlx::types::{mlx_array, mlx_stream, mlx_vector_array};
use std::ffi::{c_int, c_void};
use std::marker::PhantomData;

/// Operations on one device. They build lazy arrays; nothing runs before an evaluation.
///
/// Double has no GPU kernels: operations on it go to MLX's CPU stream, whatever the device is.
pub(crate) struct Emit {
    pub(super) mlx: &'static Mlx,
    pub(super) runtime: &'static Runtime,
    pub(super) kind: DeviceKind,
    pub(super) generation: usize,
    main: mlx_stream,
    cpu: mlx_stream,
    /// Bytes beyond which no array is made.
    memory_limit: usize,
    _thread_bound: PhantomData<*const ()>,
}

impl Emit {
    /// The streams of this thread, which must be the MLX thread; they are never freed.
    pub(super) fn new(
        runtime: &'static Runtime,
        kind: DeviceKind,
        generation: usize,
    ) -> Result<Self> {
        let mlx = &runtime.mlx;
        // SAFETY: the constructor has no precondition.
        let cpu = unsafe { mlx.mlx_default_cpu_stream_new() };
        let main = match kind {
            DeviceKind::Cpu => cpu,
            // SAFETY: the constructor has no precondition; without a GPU it fails.
            DeviceKind::Gpu => unsafe { mlx.mlx_default_gpu_stream_new() },
        };
        if cpu.ctx.is_null() || main.ctx.is_null() {
            return Err(failure("mlx_default_stream_new"));
        }
        let mut memory_limit = 0;
        // SAFETY: the out parameter is a live integer.
        let code = unsafe { mlx.mlx_get_memory_limit(&raw mut memory_limit) };
        check("mlx_get_memory_limit", code)?;
        Ok(Self {
            mlx,
            runtime,
            kind,
            generation,
            main,
            cpu,
            memory_limit: if memory_limit == 0 {
                usize::MAX
            } else {
                memory_limit
            },
            _thread_bound: PhantomData,
        })
    }

    /// The stream for an operation that makes or takes these element types.
    fn stream_of(&self, dtype: DType) -> mlx_stream {
        if dtype == DType::F64 {
            self.cpu
        } else {
            self.main
        }
    }

    /// The stream for an operation on these arrays.
    fn stream(&self, arrays: &[&Array]) -> mlx_stream {
        let doubles =
            self.kind == DeviceKind::Gpu && arrays.iter().any(|a| a.dtype() == DType::F64);
        if doubles { self.cpu } else { self.main }
    }

    /// The array that `f` writes.
    fn make(&self, call: &'static str, f: impl FnOnce(*mut mlx_array) -> c_int) -> Result<Array> {
        let mut out = mlx_array::EMPTY;
        let code = f(&raw mut out);
        if code != 0 {
            // SAFETY: `out` is the empty handle or what the failed call left in it; nothing else owns it.
            unsafe { self.mlx.mlx_array_free(out) };
            return Err(failure(call));
        }
        // SAFETY: the call succeeded and gave us the only handle.
        let array = unsafe { Array::from_raw(self.mlx, out, call) }?;
        // MLX's CPU device does not look at what its allocation returns.
        let bytes = array.byte_len();
        if bytes > self.memory_limit {
            return Err(self.too_large(call, bytes));
        }
        Ok(array)
    }

    /// Fails if `count` things of `bytes` bytes are more than memory holds: for tables that a caller's numbers size.
    pub(crate) fn fits(&self, what: &str, count: usize, bytes: usize) -> Result<()> {
        match count.checked_mul(bytes) {
            Some(bytes) if bytes <= self.memory_limit => Ok(()),
            _ => Err(self.too_large(what, count.saturating_mul(bytes))),
        }
    }

    #[cold]
    fn too_large(&self, call: &str, bytes: usize) -> Error {
        let gib = |bytes: usize| bytes >> 30;
        let (wanted, limit) = (gib(bytes), gib(self.memory_limit));
        Error::invalid(format!(
            "{call} would take {wanted} GiB, more than the memory limit of {limit} GiB; \
             run with smaller shapes"
        ))
    }

    /// The arrays that `f` writes.
    fn make_all(
        &self,
        call: &'static str,
        f: impl FnOnce(*mut mlx_vector_array) -> c_int,
    ) -> Result<Vec<Array>> {
        // SAFETY: the constructor has no precondition.
        let mut out = unsafe { self.mlx.mlx_vector_array_new() };
        let code = f(&raw mut out);
        // SAFETY: `out` came from mlx-c, and nothing else owns it.
        let vector = unsafe { ArrayVector::from_raw(self.mlx, out) };
        check(call, code)?;
        vector.to_arrays()
    }

    /// An array over a copy of row-major little-endian bytes, packed as ONNX packs types below 8 bits.
    pub(crate) fn array_from_bytes(
        &self,
        dtype: DType,
        dims: &[usize],
        bytes: &[u8],
    ) -> Result<Array> {
        let expected = dtype.byte_size(dims.iter().product());
        if bytes.len() != expected {
            return Err(Error::internal(format!(
                "{} bytes for a {dtype} tensor of {dims:?}",
                bytes.len()
            )));
        }
        if dtype.bits() < 8 {
            let packed = self.array_from_bytes(DType::U8, &[bytes.len()], bytes)?;
            return self.unpack(&packed, dtype, dims);
        }
        let shape = shape_of(dims)?;
        let (kind, data) = (mlx_type(dtype)?, bytes.as_ptr().cast::<c_void>());
        // SAFETY: `data` has as many bytes as `shape` and the type say, checked above; mlx-c copies them.
        let raw = unsafe {
            self.mlx
                .mlx_array_new_data(data, shape.as_ptr(), count(&shape)?, kind)
        };
        // SAFETY: the constructor gave us the only handle.
        unsafe { Array::from_raw(self.mlx, raw, "mlx_array_new_data") }
    }

    /// An int64 array of row-major values.
    pub(crate) fn int64s(&self, dims: &[usize], values: &[i64]) -> Result<Array> {
        let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        self.array_from_bytes(DType::I64, dims, &bytes)
    }

    /// A rank-0 array of a float type.
    pub(crate) fn float(&self, value: f64, dtype: DType) -> Result<Array> {
        let mut bytes = Vec::with_capacity(8);
        float::append(&mut bytes, value, dtype);
        self.array_from_bytes(dtype, &[], &bytes)
    }

    /// A rank-0 array of an integer type or bool.
    pub(crate) fn int(&self, value: i64, dtype: DType) -> Result<Array> {
        let width = dtype.byte_size(1);
        self.array_from_bytes(dtype, &[], &value.to_le_bytes()[..width])
    }

    /// A rank-0 array of any type; integers take the integral part.
    pub(crate) fn scalar(&self, value: f64, dtype: DType) -> Result<Array> {
        #[expect(
            clippy::cast_possible_truncation,
            reason = "callers pass integral values for integer types"
        )]
        if dtype.is_float() {
            self.float(value, dtype)
        } else {
            self.int(value as i64, dtype)
        }
    }
}

/// Dimensions as mlx-c takes them.
pub(super) fn shape_of(dims: &[usize]) -> Result<Vec<c_int>> {
    let convert = |d: &usize| c_int::try_from(*d);
    let shape = dims.iter().map(convert).collect::<Result<Vec<_>, _>>();
    shape.map_err(|_| {
        Error::invalid(format!(
            "MLX dimensions end at {}, found {dims:?}",
            c_int::MAX
        ))
    })
}

fn count<T>(items: &[T]) -> Result<c_int> {
    c_int::try_from(items.len()).map_err(|_| Error::internal("too many dimensions"))
}

/// Methods of one array and a stream.
macro_rules! unary {
    ($($(#[$doc:meta])* $name:ident = $call:ident;)*) => {
        impl Emit {
            $(
                $(#[$doc])*
                pub(crate) fn $name(&self, a: &Array) -> Result<Array> {
                    let s = self.stream(&[a]);
                    // SAFETY: `a` is a live array, `s` a stream of this thread, and the out parameter is the empty handle.
                    self.make(stringify!($call), |out| unsafe { self.mlx.$call(out, a.raw(), s) })
                }
            )*
        }
    };
}

/// Methods of two arrays and a stream.
macro_rules! binary {
    ($($(#[$doc:meta])* $name:ident = $call:ident;)*) => {
        impl Emit {
            $(
                $(#[$doc])*
                pub(crate) fn $name(&self, a: &Array, b: &Array) -> Result<Array> {
                    let s = self.stream(&[a, b]);
                    // SAFETY: both are live arrays, `s` a stream of this thread, and the out parameter is the empty handle.
                    self.make(stringify!($call), |out| unsafe { self.mlx.$call(out, a.raw(), b.raw(), s) })
                }
            )*
        }
    };
}
use {binary, unary};
