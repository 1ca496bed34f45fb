//! Matrix products, convolution and the fused operations.
use super::{Array, DType, DeviceKind, Emit, binary, shape_of};
use crate::error::{Error, Result};
use crate::ffi::mlx::types::mlx_array;
use std::ffi::{CStr, CString, c_int};

binary! {
    /// Floats only; broadcasts leading axes.
    matmul = mlx_matmul;
}

/// A convolution over channel-last data: one entry per spatial axis in every list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Conv {
    pub(crate) stride: Vec<usize>,
    pub(crate) pad_low: Vec<usize>,
    pub(crate) pad_high: Vec<usize>,
    pub(crate) dilation: Vec<usize>,
    /// Spacing put between input elements: the stride of a transposed convolution.
    pub(crate) input_dilation: Vec<usize>,
    pub(crate) groups: usize,
    /// Reverses the kernel.
    pub(crate) flip: bool,
}

impl Emit {
    /// Whether operations on this element type run on MLX's CPU backend, where other lowerings are fast.
    pub(crate) fn runs_on_cpu(&self, dtype: DType) -> bool {
        self.kind == DeviceKind::Cpu || dtype == DType::F64
    }

    /// `alpha * a @ b + beta * c`.
    pub(crate) fn addmm(
        &self,
        c: &Array,
        a: &Array,
        b: &Array,
        alpha: f32,
        beta: f32,
    ) -> Result<Array> {
        let s = self.stream(&[a, b, c]);
        // SAFETY: all are live arrays, `s` a stream of this thread, and the out parameter is the empty handle.
        self.make("mlx_addmm", |out| unsafe {
            self.mlx
                .mlx_addmm(out, c.raw(), a.raw(), b.raw(), alpha, beta, s)
        })
    }

    /// `x` is [N, spatial.., C], `weight` [O, kernel.., C / groups]; the result is [N, spatial.., O].
    pub(crate) fn conv(&self, x: &Array, weight: &Array, conv: &Conv) -> Result<Array> {
        let n = x.rank().saturating_sub(2);
        let stride = shape_of(&conv.stride)?;
        let low = shape_of(&conv.pad_low)?;
        let high = shape_of(&conv.pad_high)?;
        let dilation = shape_of(&conv.dilation)?;
        let spacing = shape_of(&conv.input_dilation)?;
        if [
            stride.len(),
            low.len(),
            high.len(),
            dilation.len(),
            spacing.len(),
        ] != [n; 5]
        {
            return Err(Error::internal("convolution parameters of another rank"));
        }
        let groups = c_int::try_from(conv.groups).map_err(|_| Error::invalid("too many groups"))?;
        let s = self.stream(&[x, weight]);
        // SAFETY: both are live arrays, every list has `n` ints, `s` is a stream of this thread.
        self.make("mlx_conv_general", |out| unsafe {
            let (stride, low, high) = (stride.as_ptr(), low.as_ptr(), high.as_ptr());
            let (dilation, spacing) = (dilation.as_ptr(), spacing.as_ptr());
            self.mlx.mlx_conv_general(
                out,
                x.raw(),
                weight.raw(),
                stride,
                n,
                low,
                n,
                high,
                n,
                dilation,
                n,
                spacing,
                n,
                groups,
                conv.flip,
                s,
            )
        })
    }

    /// Sum of products over named axes; floats only.
    pub(crate) fn einsum(&self, subscripts: &str, operands: &[&Array]) -> Result<Array> {
        let text =
            CString::new(subscripts).map_err(|_| Error::invalid("NUL in einsum subscripts"))?;
        let (s, vector) = (self.stream(operands), self.vector(operands)?);
        // SAFETY: `vector` is live, `text` NUL-terminated, `s` a stream of this thread.
        self.make("mlx_einsum", |out| unsafe {
            self.mlx.mlx_einsum(out, text.as_ptr(), vector.raw(), s)
        })
    }

    /// Normalises the last axis; statistics are kept in float32.
    pub(crate) fn layer_norm(
        &self,
        x: &Array,
        weight: Option<&Array>,
        bias: Option<&Array>,
        eps: f32,
    ) -> Result<Array> {
        let (s, weight, bias) = (self.stream(&[x]), raw_or_empty(weight), raw_or_empty(bias));
        // SAFETY: `x` is live, the others live or the empty handle, which mlx-c takes for "none".
        self.make("mlx_fast_layer_norm", |out| unsafe {
            self.mlx
                .mlx_fast_layer_norm(out, x.raw(), weight, bias, eps, s)
        })
    }

    /// Attention over [B, heads, T, D]; `mask` is boolean or added to the scores.
    pub(crate) fn scaled_dot_product_attention(
        &self,
        queries: &Array,
        keys: &Array,
        values: &Array,
        scale: f32,
        mask: Option<&Array>,
    ) -> Result<Array> {
        let mode: &CStr = if mask.is_some() { c"array" } else { c"" };
        let (s, mask) = (self.stream(&[queries]), raw_or_empty(mask));
        // SAFETY: all are live or the empty handle, which mlx-c takes for "none"; `mode` is NUL-terminated.
        self.make("mlx_fast_scaled_dot_product_attention", |out| unsafe {
            let (q, k, v) = (queries.raw(), keys.raw(), values.raw());
            let (mode, sinks) = (mode.as_ptr(), mlx_array::EMPTY);
            self.mlx.mlx_fast_scaled_dot_product_attention(
                out, q, k, v, scale, mode, mask, sinks, false, s,
            )
        })
    }
}

fn raw_or_empty(array: Option<&Array>) -> mlx_array {
    array.map_or(mlx_array::EMPTY, Array::raw)
}
