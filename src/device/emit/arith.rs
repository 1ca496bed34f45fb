//! Elementwise operations, comparisons and casts.
use super::super::array::mlx_type;
use super::{Array, DType, Emit, binary, unary};
use crate::error::{Error, Result};
use crate::ffi::mlx::types::mlx_stream;

unary! {
    abs = mlx_abs;
    arccos = mlx_arccos;
    arccosh = mlx_arccosh;
    arcsin = mlx_arcsin;
    arcsinh = mlx_arcsinh;
    arctan = mlx_arctan;
    arctanh = mlx_arctanh;
    bitwise_invert = mlx_bitwise_invert;
    ceil = mlx_ceil;
    cos = mlx_cos;
    cosh = mlx_cosh;
    erf = mlx_erf;
    exp = mlx_exp;
    expm1 = mlx_expm1;
    floor = mlx_floor;
    isfinite = mlx_isfinite;
    isinf = mlx_isinf;
    isnan = mlx_isnan;
    isneginf = mlx_isneginf;
    isposinf = mlx_isposinf;
    log = mlx_log;
    log1p = mlx_log1p;
    logical_not = mlx_logical_not;
    negative = mlx_negative;
    reciprocal = mlx_reciprocal;
    rsqrt = mlx_rsqrt;
    sigmoid = mlx_sigmoid;
    /// 0 for NaN.
    sign = mlx_sign;
    sin = mlx_sin;
    sinh = mlx_sinh;
    sqrt = mlx_sqrt;
    square = mlx_square;
    tan = mlx_tan;
    tanh = mlx_tanh;
    trunc = mlx_trunc;
}

binary! {
    add = mlx_add;
    arctan2 = mlx_arctan2;
    bitwise_and = mlx_bitwise_and;
    bitwise_or = mlx_bitwise_or;
    bitwise_xor = mlx_bitwise_xor;
    /// Integers give float: use [`Emit::floor_divide`] for them.
    divide = mlx_divide;
    equal = mlx_equal;
    /// Floors floats, truncates integers.
    floor_divide = mlx_floor_divide;
    greater = mlx_greater;
    greater_equal = mlx_greater_equal;
    left_shift = mlx_left_shift;
    less = mlx_less;
    less_equal = mlx_less_equal;
    logaddexp = mlx_logaddexp;
    logical_and = mlx_logical_and;
    logical_or = mlx_logical_or;
    logical_xor = mlx_logical_xor;
    /// NaN wins.
    maximum = mlx_maximum;
    /// NaN wins.
    minimum = mlx_minimum;
    multiply = mlx_multiply;
    not_equal = mlx_not_equal;
    power = mlx_power;
    /// Has the sign of the divisor.
    remainder = mlx_remainder;
    right_shift = mlx_right_shift;
    subtract = mlx_subtract;
}

impl Emit {
    /// The stream for an operation that makes another type of an array.
    fn stream_to(&self, a: &Array, dtype: DType) -> mlx_stream {
        if dtype == DType::F64 {
            self.cpu
        } else {
            self.stream(&[a])
        }
    }

    /// Converts elements between types of MLX; integers wrap, floats round half to even.
    pub(crate) fn astype(&self, a: &Array, dtype: DType) -> Result<Array> {
        if dtype != dtype.storage() {
            return Err(Error::internal(format!("MLX has no conversion to {dtype}")));
        }
        if a.dtype() == dtype {
            return Ok(a.clone());
        }
        let (s, kind) = (self.stream_to(a, dtype), mlx_type(dtype)?);
        // SAFETY: `a` is a live array, `s` a stream of this thread, and the out parameter is the empty handle.
        self.make("mlx_astype", |out| unsafe {
            self.mlx.mlx_astype(out, a.raw(), kind, s)
        })
    }

    /// The same bytes as another type; the last dimension scales with the widths.
    pub(crate) fn view(&self, a: &Array, dtype: DType) -> Result<Array> {
        let (s, kind) = (self.stream_to(a, dtype), mlx_type(dtype)?);
        // SAFETY: `a` is a live array, `s` a stream of this thread, and the out parameter is the empty handle.
        self.make("mlx_view", |out| unsafe {
            self.mlx.mlx_view(out, a.raw(), kind, s)
        })
    }

    /// Rounds half to even.
    pub(crate) fn round(&self, a: &Array) -> Result<Array> {
        let s = self.stream(&[a]);
        // SAFETY: `a` is a live array, `s` a stream of this thread, and the out parameter is the empty handle.
        self.make("mlx_round", |out| unsafe {
            self.mlx.mlx_round(out, a.raw(), 0, s)
        })
    }

    /// Elements of `x` where `condition` holds, else of `y`; all three broadcast.
    pub(crate) fn select(&self, condition: &Array, x: &Array, y: &Array) -> Result<Array> {
        let s = self.stream(&[x, y]);
        // SAFETY: all are live arrays, `s` a stream of this thread, and the out parameter is the empty handle.
        self.make("mlx_where", |out| unsafe {
            self.mlx
                .mlx_where(out, condition.raw(), x.raw(), y.raw(), s)
        })
    }
}
