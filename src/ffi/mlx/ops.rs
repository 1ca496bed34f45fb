//! The array operations of `ops.h`, in its order.
use super::Mlx;
use super::types::*;
use crate::ffi::library::c_library;
use std::ffi::{c_char, c_int};

c_library! {
    /// Function pointers of `ops.h`.
    pub(crate) struct Ops in Mlx.ops;

    required {
        // ops.h
        fn mlx_abs(res: *mut mlx_array, a: mlx_array, s: mlx_stream) -> c_int;
        fn mlx_add(res: *mut mlx_array, a: mlx_array, b: mlx_array, s: mlx_stream) -> c_int;
        fn mlx_addmm(res: *mut mlx_array, c: mlx_array, a: mlx_array, b: mlx_array, alpha: f32, beta: f32, s: mlx_stream) -> c_int;
        fn mlx_all_axes(res: *mut mlx_array, a: mlx_array, axes: *const c_int, axes_num: usize, keepdims: bool, s: mlx_stream) -> c_int;
        fn mlx_all_axis(res: *mut mlx_array, a: mlx_array, axis: c_int, keepdims: bool, s: mlx_stream) -> c_int;
        fn mlx_all(res: *mut mlx_array, a: mlx_array, keepdims: bool, s: mlx_stream) -> c_int;
        fn mlx_allclose(res: *mut mlx_array, a: mlx_array, b: mlx_array, rtol: f64, atol: f64, equal_nan: bool, s: mlx_stream) -> c_int;
        fn mlx_any_axes(res: *mut mlx_array, a: mlx_array, axes: *const c_int, axes_num: usize, keepdims: bool, s: mlx_stream) -> c_int;
        fn mlx_any_axis(res: *mut mlx_array, a: mlx_array, axis: c_int, keepdims: bool, s: mlx_stream) -> c_int;
        fn mlx_any(res: *mut mlx_array, a: mlx_array, keepdims: bool, s: mlx_stream) -> c_int;
        fn mlx_arange(res: *mut mlx_array, start: f64, stop: f64, step: f64, dtype: mlx_dtype, s: mlx_stream) -> c_int;
        fn mlx_arccos(res: *mut mlx_array, a: mlx_array, s: mlx_stream) -> c_int;
        fn mlx_arccosh(res: *mut mlx_array, a: mlx_array, s: mlx_stream) -> c_int;
        fn mlx_arcsin(res: *mut mlx_array, a: mlx_array, s: mlx_stream) -> c_int;
        fn mlx_arcsinh(res: *mut mlx_array, a: mlx_array, s: mlx_stream) -> c_int;
        fn mlx_arctan(res: *mut mlx_array, a: mlx_array, s: mlx_stream) -> c_int;
        fn mlx_arctan2(res: *mut mlx_array, a: mlx_array, b: mlx_array, s: mlx_stream) -> c_int;
        fn mlx_arctanh(res: *mut mlx_array, a: mlx_array, s: mlx_stream) -> c_int;
        fn mlx_argmax_axis(res: *mut mlx_array, a: mlx_array, axis: c_int, keepdims: bool, s: mlx_stream) -> c_int;
        fn mlx_argmax(res: *mut mlx_array, a: mlx_array, keepdims: bool, s: mlx_stream) -> c_int;
        fn mlx_argmin_axis(res: *mut mlx_array, a: mlx_array, axis: c_int, keepdims: bool, s: mlx_stream) -> c_int;
        fn mlx_argmin(res: *mut mlx_array, a: mlx_array, keepdims: bool, s: mlx_stream) -> c_int;
        fn mlx_argpartition_axis(res: *mut mlx_array, a: mlx_array, kth: c_int, axis: c_int, s: mlx_stream) -> c_int;
        fn mlx_argpartition(res: *mut mlx_array, a: mlx_array, kth: c_int, s: mlx_stream) -> c_int;
        fn mlx_argsort_axis(res: *mut mlx_array, a: mlx_array, axis: c_int, s: mlx_stream) -> c_int;
        fn mlx_argsort(res: *mut mlx_array, a: mlx_array, s: mlx_stream) -> c_int;
        fn mlx_array_equal(res: *mut mlx_array, a: mlx_array, b: mlx_array, equal_nan: bool, s: mlx_stream) -> c_int;
        fn mlx_as_strided(
            res: *mut mlx_array, a: mlx_array, shape: *const c_int, shape_num: usize, strides: *const i64, strides_num: usize,
            offset: usize, s: mlx_stream
        ) -> c_int;
        fn mlx_astype(res: *mut mlx_array, a: mlx_array, dtype: mlx_dtype, s: mlx_stream) -> c_int;
        fn mlx_atleast_1d(res: *mut mlx_array, a: mlx_array, s: mlx_stream) -> c_int;
        fn mlx_atleast_2d(res: *mut mlx_array, a: mlx_array, s: mlx_stream) -> c_int;
        fn mlx_atleast_3d(res: *mut mlx_array, a: mlx_array, s: mlx_stream) -> c_int;
        fn mlx_bartlett(res: *mut mlx_array, m: c_int, s: mlx_stream) -> c_int;
        fn mlx_bitwise_and(res: *mut mlx_array, a: mlx_array, b: mlx_array, s: mlx_stream) -> c_int;
        fn mlx_bitwise_invert(res: *mut mlx_array, a: mlx_array, s: mlx_stream) -> c_int;
        fn mlx_bitwise_or(res: *mut mlx_array, a: mlx_array, b: mlx_array, s: mlx_stream) -> c_int;
        fn mlx_bitwise_xor(res: *mut mlx_array, a: mlx_array, b: mlx_array, s: mlx_stream) -> c_int;
        fn mlx_blackman(res: *mut mlx_array, m: c_int, s: mlx_stream) -> c_int;
        fn mlx_block_masked_mm(
            res: *mut mlx_array, a: mlx_array, b: mlx_array, block_size: c_int, mask_out: mlx_array, mask_lhs: mlx_array,
            mask_rhs: mlx_array, s: mlx_stream
        ) -> c_int;
        fn mlx_broadcast_arrays(res: *mut mlx_vector_array, inputs: mlx_vector_array, s: mlx_stream) -> c_int;
        fn mlx_broadcast_to(res: *mut mlx_array, a: mlx_array, shape: *const c_int, shape_num: usize, s: mlx_stream) -> c_int;
        fn mlx_ceil(res: *mut mlx_array, a: mlx_array, s: mlx_stream) -> c_int;
        fn mlx_clip(res: *mut mlx_array, a: mlx_array, a_min: mlx_array, a_max: mlx_array, s: mlx_stream) -> c_int;
        fn mlx_concatenate_axis(res: *mut mlx_array, arrays: mlx_vector_array, axis: c_int, s: mlx_stream) -> c_int;
        fn mlx_concatenate(res: *mut mlx_array, arrays: mlx_vector_array, s: mlx_stream) -> c_int;
        fn mlx_conjugate(res: *mut mlx_array, a: mlx_array, s: mlx_stream) -> c_int;
        fn mlx_contiguous(res: *mut mlx_array, a: mlx_array, allow_col_major: bool, s: mlx_stream) -> c_int;
        fn mlx_conv1d(
            res: *mut mlx_array, input: mlx_array, weight: mlx_array, stride: c_int, padding: c_int, dilation: c_int, groups: c_int,
            s: mlx_stream
        ) -> c_int;
        fn mlx_conv2d(
            res: *mut mlx_array, input: mlx_array, weight: mlx_array, stride_0: c_int, stride_1: c_int, padding_0: c_int, padding_1: c_int,
            dilation_0: c_int, dilation_1: c_int, groups: c_int, s: mlx_stream
        ) -> c_int;
        fn mlx_conv3d(
            res: *mut mlx_array, input: mlx_array, weight: mlx_array, stride_0: c_int, stride_1: c_int, stride_2: c_int, padding_0: c_int,
            padding_1: c_int, padding_2: c_int, dilation_0: c_int, dilation_1: c_int, dilation_2: c_int, groups: c_int, s: mlx_stream
        ) -> c_int;
        fn mlx_conv_general(
            res: *mut mlx_array, input: mlx_array, weight: mlx_array, stride: *const c_int, stride_num: usize, padding_lo: *const c_int,
            padding_lo_num: usize, padding_hi: *const c_int, padding_hi_num: usize, kernel_dilation: *const c_int,
            kernel_dilation_num: usize, input_dilation: *const c_int, input_dilation_num: usize, groups: c_int, flip: bool, s: mlx_stream
        ) -> c_int;
        fn mlx_conv_transpose1d(
            res: *mut mlx_array, input: mlx_array, weight: mlx_array, stride: c_int, padding: c_int, dilation: c_int,
            output_padding: c_int, groups: c_int, s: mlx_stream
        ) -> c_int;
        fn mlx_conv_transpose2d(
            res: *mut mlx_array, input: mlx_array, weight: mlx_array, stride_0: c_int, stride_1: c_int, padding_0: c_int, padding_1: c_int,
            dilation_0: c_int, dilation_1: c_int, output_padding_0: c_int, output_padding_1: c_int, groups: c_int, s: mlx_stream
        ) -> c_int;
        fn mlx_conv_transpose3d(
            res: *mut mlx_array, input: mlx_array, weight: mlx_array, stride_0: c_int, stride_1: c_int, stride_2: c_int, padding_0: c_int,
            padding_1: c_int, padding_2: c_int, dilation_0: c_int, dilation_1: c_int, dilation_2: c_int, output_padding_0: c_int,
            output_padding_1: c_int, output_padding_2: c_int, groups: c_int, s: mlx_stream
        ) -> c_int;
        fn mlx_copy(res: *mut mlx_array, a: mlx_array, s: mlx_stream) -> c_int;
        fn mlx_cos(res: *mut mlx_array, a: mlx_array, s: mlx_stream) -> c_int;
        fn mlx_cosh(res: *mut mlx_array, a: mlx_array, s: mlx_stream) -> c_int;
        fn mlx_count_nonzero_axis(res: *mut mlx_array, a: mlx_array, axis: c_int, keepdims: bool, s: mlx_stream) -> c_int;
        fn mlx_count_nonzero_axes(
            res: *mut mlx_array, a: mlx_array, axes: *const c_int, axes_num: usize, keepdims: bool, s: mlx_stream
        ) -> c_int;
        fn mlx_count_nonzero(res: *mut mlx_array, a: mlx_array, keepdims: bool, s: mlx_stream) -> c_int;
        fn mlx_cummax_axis(res: *mut mlx_array, a: mlx_array, axis: c_int, reverse: bool, inclusive: bool, s: mlx_stream) -> c_int;
        fn mlx_cummax(res: *mut mlx_array, a: mlx_array, reverse: bool, inclusive: bool, s: mlx_stream) -> c_int;
        fn mlx_cummin_axis(res: *mut mlx_array, a: mlx_array, axis: c_int, reverse: bool, inclusive: bool, s: mlx_stream) -> c_int;
        fn mlx_cummin(res: *mut mlx_array, a: mlx_array, reverse: bool, inclusive: bool, s: mlx_stream) -> c_int;
        fn mlx_cumprod_axis(
            res: *mut mlx_array, a: mlx_array, axis: c_int, reverse: bool, inclusive: bool, dtype: mlx_optional_dtype, s: mlx_stream
        ) -> c_int;
        fn mlx_cumprod(
            res: *mut mlx_array, a: mlx_array, reverse: bool, inclusive: bool, dtype: mlx_optional_dtype, s: mlx_stream
        ) -> c_int;
        fn mlx_cumsum_axis(
            res: *mut mlx_array, a: mlx_array, axis: c_int, reverse: bool, inclusive: bool, dtype: mlx_optional_dtype, s: mlx_stream
        ) -> c_int;
        fn mlx_cumsum(res: *mut mlx_array, a: mlx_array, reverse: bool, inclusive: bool, dtype: mlx_optional_dtype, s: mlx_stream) -> c_int;
        fn mlx_degrees(res: *mut mlx_array, a: mlx_array, s: mlx_stream) -> c_int;
        fn mlx_depends(res: *mut mlx_vector_array, inputs: mlx_vector_array, dependencies: mlx_vector_array) -> c_int;
        fn mlx_dequantize(
            res: *mut mlx_array, w: mlx_array, scales: mlx_array, biases: mlx_array, group_size: mlx_optional_int, bits: mlx_optional_int,
            mode: *const c_char, global_scale: mlx_array, dtype: mlx_optional_dtype, s: mlx_stream
        ) -> c_int;
        fn mlx_diag(res: *mut mlx_array, a: mlx_array, k: c_int, s: mlx_stream) -> c_int;
        fn mlx_diagonal(res: *mut mlx_array, a: mlx_array, offset: c_int, axis1: c_int, axis2: c_int, s: mlx_stream) -> c_int;
        fn mlx_diff(res: *mut mlx_array, a: mlx_array, n: c_int, axis: c_int, s: mlx_stream) -> c_int;
        fn mlx_divide(res: *mut mlx_array, a: mlx_array, b: mlx_array, s: mlx_stream) -> c_int;
        fn mlx_divmod(res: *mut mlx_vector_array, a: mlx_array, b: mlx_array, s: mlx_stream) -> c_int;
        fn mlx_einsum(res: *mut mlx_array, subscripts: *const c_char, operands: mlx_vector_array, s: mlx_stream) -> c_int;
        fn mlx_equal(res: *mut mlx_array, a: mlx_array, b: mlx_array, s: mlx_stream) -> c_int;
        fn mlx_erf(res: *mut mlx_array, a: mlx_array, s: mlx_stream) -> c_int;
        fn mlx_erfinv(res: *mut mlx_array, a: mlx_array, s: mlx_stream) -> c_int;
        fn mlx_exp(res: *mut mlx_array, a: mlx_array, s: mlx_stream) -> c_int;
        fn mlx_expand_dims_axes(res: *mut mlx_array, a: mlx_array, axes: *const c_int, axes_num: usize, s: mlx_stream) -> c_int;
        fn mlx_expand_dims(res: *mut mlx_array, a: mlx_array, axis: c_int, s: mlx_stream) -> c_int;
        fn mlx_expm1(res: *mut mlx_array, a: mlx_array, s: mlx_stream) -> c_int;
        fn mlx_eye(res: *mut mlx_array, n: c_int, m: c_int, k: c_int, dtype: mlx_dtype, s: mlx_stream) -> c_int;
        fn mlx_flatten(res: *mut mlx_array, a: mlx_array, start_axis: c_int, end_axis: c_int, s: mlx_stream) -> c_int;
        fn mlx_flip_axes(res: *mut mlx_array, a: mlx_array, axes: *const c_int, axes_num: usize, s: mlx_stream) -> c_int;
        fn mlx_flip_axis(res: *mut mlx_array, a: mlx_array, axis: c_int, s: mlx_stream) -> c_int;
        fn mlx_flip(res: *mut mlx_array, a: mlx_array, s: mlx_stream) -> c_int;
        fn mlx_floor(res: *mut mlx_array, a: mlx_array, s: mlx_stream) -> c_int;
        fn mlx_floor_divide(res: *mut mlx_array, a: mlx_array, b: mlx_array, s: mlx_stream) -> c_int;
        fn mlx_from_fp8(res: *mut mlx_array, x: mlx_array, dtype: mlx_dtype, s: mlx_stream) -> c_int;
        fn mlx_full(res: *mut mlx_array, shape: *const c_int, shape_num: usize, vals: mlx_array, dtype: mlx_dtype, s: mlx_stream) -> c_int;
        fn mlx_full_like(res: *mut mlx_array, a: mlx_array, vals: mlx_array, dtype: mlx_dtype, s: mlx_stream) -> c_int;
        fn mlx_gather(
            res: *mut mlx_array, a: mlx_array, indices: mlx_vector_array, axes: *const c_int, axes_num: usize, slice_sizes: *const c_int,
            slice_sizes_num: usize, s: mlx_stream
        ) -> c_int;
        fn mlx_gather_single(
            res: *mut mlx_array, a: mlx_array, indices: mlx_array, axis: c_int, slice_sizes: *const c_int, slice_sizes_num: usize,
            s: mlx_stream
        ) -> c_int;
        fn mlx_gather_mm(
            res: *mut mlx_array, a: mlx_array, b: mlx_array, lhs_indices: mlx_array, rhs_indices: mlx_array, sorted_indices: bool,
            s: mlx_stream
        ) -> c_int;
        fn mlx_gather_qqmm(
            res: *mut mlx_array, x: mlx_array, w: mlx_array, scales_w: mlx_array, lhs_indices: mlx_array, rhs_indices: mlx_array,
            group_size: mlx_optional_int, bits: mlx_optional_int, mode: *const c_char, global_scale_x: mlx_array,
            global_scale_w: mlx_array, sorted_indices: bool, s: mlx_stream
        ) -> c_int;
        fn mlx_greater(res: *mut mlx_array, a: mlx_array, b: mlx_array, s: mlx_stream) -> c_int;
        fn mlx_greater_equal(res: *mut mlx_array, a: mlx_array, b: mlx_array, s: mlx_stream) -> c_int;
        fn mlx_hadamard_transform(res: *mut mlx_array, a: mlx_array, scale: mlx_optional_float, s: mlx_stream) -> c_int;
        fn mlx_hamming(res: *mut mlx_array, m: c_int, s: mlx_stream) -> c_int;
        fn mlx_hanning(res: *mut mlx_array, m: c_int, s: mlx_stream) -> c_int;
        fn mlx_identity(res: *mut mlx_array, n: c_int, dtype: mlx_dtype, s: mlx_stream) -> c_int;
        fn mlx_imag(res: *mut mlx_array, a: mlx_array, s: mlx_stream) -> c_int;
        fn mlx_inner(res: *mut mlx_array, a: mlx_array, b: mlx_array, s: mlx_stream) -> c_int;
        fn mlx_isclose(res: *mut mlx_array, a: mlx_array, b: mlx_array, rtol: f64, atol: f64, equal_nan: bool, s: mlx_stream) -> c_int;
        fn mlx_isfinite(res: *mut mlx_array, a: mlx_array, s: mlx_stream) -> c_int;
        fn mlx_isinf(res: *mut mlx_array, a: mlx_array, s: mlx_stream) -> c_int;
        fn mlx_isnan(res: *mut mlx_array, a: mlx_array, s: mlx_stream) -> c_int;
        fn mlx_isneginf(res: *mut mlx_array, a: mlx_array, s: mlx_stream) -> c_int;
        fn mlx_isposinf(res: *mut mlx_array, a: mlx_array, s: mlx_stream) -> c_int;
        fn mlx_kron(res: *mut mlx_array, a: mlx_array, b: mlx_array, s: mlx_stream) -> c_int;
        fn mlx_left_shift(res: *mut mlx_array, a: mlx_array, b: mlx_array, s: mlx_stream) -> c_int;
        fn mlx_less(res: *mut mlx_array, a: mlx_array, b: mlx_array, s: mlx_stream) -> c_int;
        fn mlx_less_equal(res: *mut mlx_array, a: mlx_array, b: mlx_array, s: mlx_stream) -> c_int;
        fn mlx_linspace_endpoint(
            res: *mut mlx_array, start: f64, stop: f64, num: c_int, endpoint: bool, dtype: mlx_dtype, s: mlx_stream
        ) -> c_int;
        fn mlx_linspace(res: *mut mlx_array, start: f64, stop: f64, num: c_int, dtype: mlx_dtype, s: mlx_stream) -> c_int;
        fn mlx_log(res: *mut mlx_array, a: mlx_array, s: mlx_stream) -> c_int;
        fn mlx_log10(res: *mut mlx_array, a: mlx_array, s: mlx_stream) -> c_int;
        fn mlx_log1p(res: *mut mlx_array, a: mlx_array, s: mlx_stream) -> c_int;
        fn mlx_log2(res: *mut mlx_array, a: mlx_array, s: mlx_stream) -> c_int;
        fn mlx_logaddexp(res: *mut mlx_array, a: mlx_array, b: mlx_array, s: mlx_stream) -> c_int;
        fn mlx_logcumsumexp_axis(res: *mut mlx_array, a: mlx_array, axis: c_int, reverse: bool, inclusive: bool, s: mlx_stream) -> c_int;
        fn mlx_logcumsumexp(res: *mut mlx_array, a: mlx_array, reverse: bool, inclusive: bool, s: mlx_stream) -> c_int;
        fn mlx_logical_and(res: *mut mlx_array, a: mlx_array, b: mlx_array, s: mlx_stream) -> c_int;
        fn mlx_logical_not(res: *mut mlx_array, a: mlx_array, s: mlx_stream) -> c_int;
        fn mlx_logical_or(res: *mut mlx_array, a: mlx_array, b: mlx_array, s: mlx_stream) -> c_int;
        fn mlx_logical_xor(res: *mut mlx_array, a: mlx_array, b: mlx_array, s: mlx_stream) -> c_int;
        fn mlx_logsumexp_axes(
            res: *mut mlx_array, a: mlx_array, axes: *const c_int, axes_num: usize, keepdims: bool, s: mlx_stream
        ) -> c_int;
        fn mlx_logsumexp_axis(res: *mut mlx_array, a: mlx_array, axis: c_int, keepdims: bool, s: mlx_stream) -> c_int;
        fn mlx_logsumexp(res: *mut mlx_array, a: mlx_array, keepdims: bool, s: mlx_stream) -> c_int;
        fn mlx_masked_scatter(res: *mut mlx_array, a: mlx_array, mask: mlx_array, src: mlx_array, s: mlx_stream) -> c_int;
        fn mlx_matmul(res: *mut mlx_array, a: mlx_array, b: mlx_array, s: mlx_stream) -> c_int;
        fn mlx_max_axes(res: *mut mlx_array, a: mlx_array, axes: *const c_int, axes_num: usize, keepdims: bool, s: mlx_stream) -> c_int;
        fn mlx_max_axis(res: *mut mlx_array, a: mlx_array, axis: c_int, keepdims: bool, s: mlx_stream) -> c_int;
        fn mlx_max(res: *mut mlx_array, a: mlx_array, keepdims: bool, s: mlx_stream) -> c_int;
        fn mlx_maximum(res: *mut mlx_array, a: mlx_array, b: mlx_array, s: mlx_stream) -> c_int;
        fn mlx_mean_axes(res: *mut mlx_array, a: mlx_array, axes: *const c_int, axes_num: usize, keepdims: bool, s: mlx_stream) -> c_int;
        fn mlx_mean_axis(res: *mut mlx_array, a: mlx_array, axis: c_int, keepdims: bool, s: mlx_stream) -> c_int;
        fn mlx_mean(res: *mut mlx_array, a: mlx_array, keepdims: bool, s: mlx_stream) -> c_int;
        fn mlx_median_axes(res: *mut mlx_array, a: mlx_array, axes: *const c_int, axes_num: usize, keepdims: bool, s: mlx_stream) -> c_int;
        fn mlx_median_axis(res: *mut mlx_array, a: mlx_array, axis: c_int, keepdims: bool, s: mlx_stream) -> c_int;
        fn mlx_median(res: *mut mlx_array, a: mlx_array, keepdims: bool, s: mlx_stream) -> c_int;
        fn mlx_meshgrid(
            res: *mut mlx_vector_array, arrays: mlx_vector_array, sparse: bool, indexing: *const c_char, s: mlx_stream
        ) -> c_int;
        fn mlx_min_axes(res: *mut mlx_array, a: mlx_array, axes: *const c_int, axes_num: usize, keepdims: bool, s: mlx_stream) -> c_int;
        fn mlx_min_axis(res: *mut mlx_array, a: mlx_array, axis: c_int, keepdims: bool, s: mlx_stream) -> c_int;
        fn mlx_min(res: *mut mlx_array, a: mlx_array, keepdims: bool, s: mlx_stream) -> c_int;
        fn mlx_minimum(res: *mut mlx_array, a: mlx_array, b: mlx_array, s: mlx_stream) -> c_int;
        fn mlx_moveaxis(res: *mut mlx_array, a: mlx_array, source: c_int, destination: c_int, s: mlx_stream) -> c_int;
        fn mlx_multiply(res: *mut mlx_array, a: mlx_array, b: mlx_array, s: mlx_stream) -> c_int;
        fn mlx_nan_to_num(
            res: *mut mlx_array, a: mlx_array, nan: f32, posinf: mlx_optional_float, neginf: mlx_optional_float, s: mlx_stream
        ) -> c_int;
        fn mlx_negative(res: *mut mlx_array, a: mlx_array, s: mlx_stream) -> c_int;
        fn mlx_not_equal(res: *mut mlx_array, a: mlx_array, b: mlx_array, s: mlx_stream) -> c_int;
        fn mlx_number_of_elements(
            res: *mut mlx_array, a: mlx_array, axes: *const c_int, axes_num: usize, inverted: bool, dtype: mlx_dtype, s: mlx_stream
        ) -> c_int;
        fn mlx_ones(res: *mut mlx_array, shape: *const c_int, shape_num: usize, dtype: mlx_dtype, s: mlx_stream) -> c_int;
        fn mlx_ones_like_dtype(res: *mut mlx_array, a: mlx_array, dtype: mlx_dtype, s: mlx_stream) -> c_int;
        fn mlx_ones_like(res: *mut mlx_array, a: mlx_array, s: mlx_stream) -> c_int;
        fn mlx_outer(res: *mut mlx_array, a: mlx_array, b: mlx_array, s: mlx_stream) -> c_int;
        fn mlx_pad(
            res: *mut mlx_array, a: mlx_array, axes: *const c_int, axes_num: usize, low_pad_size: *const c_int, low_pad_size_num: usize,
            high_pad_size: *const c_int, high_pad_size_num: usize, pad_value: mlx_array, mode: *const c_char, s: mlx_stream
        ) -> c_int;
        fn mlx_pad_symmetric(
            res: *mut mlx_array, a: mlx_array, pad_width: c_int, pad_value: mlx_array, mode: *const c_char, s: mlx_stream
        ) -> c_int;
        fn mlx_partition_axis(res: *mut mlx_array, a: mlx_array, kth: c_int, axis: c_int, s: mlx_stream) -> c_int;
        fn mlx_partition(res: *mut mlx_array, a: mlx_array, kth: c_int, s: mlx_stream) -> c_int;
        fn mlx_positive(res: *mut mlx_array, a: mlx_array, s: mlx_stream) -> c_int;
        fn mlx_power(res: *mut mlx_array, a: mlx_array, b: mlx_array, s: mlx_stream) -> c_int;
        fn mlx_prod_axes(res: *mut mlx_array, a: mlx_array, axes: *const c_int, axes_num: usize, keepdims: bool, s: mlx_stream) -> c_int;
        fn mlx_prod_axis(res: *mut mlx_array, a: mlx_array, axis: c_int, keepdims: bool, s: mlx_stream) -> c_int;
        fn mlx_prod(res: *mut mlx_array, a: mlx_array, keepdims: bool, s: mlx_stream) -> c_int;
        fn mlx_put_along_axis(
            res: *mut mlx_array, a: mlx_array, indices: mlx_array, values: mlx_array, axis: c_int, s: mlx_stream
        ) -> c_int;
        fn mlx_qqmm(
            res: *mut mlx_array, x: mlx_array, w: mlx_array, w_scales: mlx_array, group_size: mlx_optional_int, bits: mlx_optional_int,
            mode: *const c_char, global_scale_x: mlx_array, global_scale_w: mlx_array, s: mlx_stream
        ) -> c_int;
        fn mlx_quantize(
            res: *mut mlx_vector_array, w: mlx_array, group_size: mlx_optional_int, bits: mlx_optional_int, mode: *const c_char,
            global_scale: mlx_array, s: mlx_stream
        ) -> c_int;
        fn mlx_quantized_matmul(
            res: *mut mlx_array, x: mlx_array, w: mlx_array, scales: mlx_array, biases: mlx_array, transpose: bool,
            group_size: mlx_optional_int, bits: mlx_optional_int, mode: *const c_char, s: mlx_stream
        ) -> c_int;
        fn mlx_radians(res: *mut mlx_array, a: mlx_array, s: mlx_stream) -> c_int;
        fn mlx_real(res: *mut mlx_array, a: mlx_array, s: mlx_stream) -> c_int;
        fn mlx_reciprocal(res: *mut mlx_array, a: mlx_array, s: mlx_stream) -> c_int;
        fn mlx_remainder(res: *mut mlx_array, a: mlx_array, b: mlx_array, s: mlx_stream) -> c_int;
        fn mlx_repeat_axis(res: *mut mlx_array, arr: mlx_array, repeats: c_int, axis: c_int, s: mlx_stream) -> c_int;
        fn mlx_repeat(res: *mut mlx_array, arr: mlx_array, repeats: c_int, s: mlx_stream) -> c_int;
        fn mlx_reshape(res: *mut mlx_array, a: mlx_array, shape: *const c_int, shape_num: usize, s: mlx_stream) -> c_int;
        fn mlx_right_shift(res: *mut mlx_array, a: mlx_array, b: mlx_array, s: mlx_stream) -> c_int;
        fn mlx_roll_axis(res: *mut mlx_array, a: mlx_array, shift: *const c_int, shift_num: usize, axis: c_int, s: mlx_stream) -> c_int;
        fn mlx_roll_axes(
            res: *mut mlx_array, a: mlx_array, shift: *const c_int, shift_num: usize, axes: *const c_int, axes_num: usize, s: mlx_stream
        ) -> c_int;
        fn mlx_roll(res: *mut mlx_array, a: mlx_array, shift: *const c_int, shift_num: usize, s: mlx_stream) -> c_int;
        fn mlx_round(res: *mut mlx_array, a: mlx_array, decimals: c_int, s: mlx_stream) -> c_int;
        fn mlx_rsqrt(res: *mut mlx_array, a: mlx_array, s: mlx_stream) -> c_int;
        fn mlx_scatter(
            res: *mut mlx_array, a: mlx_array, indices: mlx_vector_array, updates: mlx_array, axes: *const c_int, axes_num: usize,
            s: mlx_stream
        ) -> c_int;
        fn mlx_scatter_single(
            res: *mut mlx_array, a: mlx_array, indices: mlx_array, updates: mlx_array, axis: c_int, s: mlx_stream
        ) -> c_int;
        fn mlx_scatter_add(
            res: *mut mlx_array, a: mlx_array, indices: mlx_vector_array, updates: mlx_array, axes: *const c_int, axes_num: usize,
            s: mlx_stream
        ) -> c_int;
        fn mlx_scatter_add_single(
            res: *mut mlx_array, a: mlx_array, indices: mlx_array, updates: mlx_array, axis: c_int, s: mlx_stream
        ) -> c_int;
        fn mlx_scatter_add_axis(
            res: *mut mlx_array, a: mlx_array, indices: mlx_array, values: mlx_array, axis: c_int, s: mlx_stream
        ) -> c_int;
        fn mlx_scatter_max(
            res: *mut mlx_array, a: mlx_array, indices: mlx_vector_array, updates: mlx_array, axes: *const c_int, axes_num: usize,
            s: mlx_stream
        ) -> c_int;
        fn mlx_scatter_max_single(
            res: *mut mlx_array, a: mlx_array, indices: mlx_array, updates: mlx_array, axis: c_int, s: mlx_stream
        ) -> c_int;
        fn mlx_scatter_min(
            res: *mut mlx_array, a: mlx_array, indices: mlx_vector_array, updates: mlx_array, axes: *const c_int, axes_num: usize,
            s: mlx_stream
        ) -> c_int;
        fn mlx_scatter_min_single(
            res: *mut mlx_array, a: mlx_array, indices: mlx_array, updates: mlx_array, axis: c_int, s: mlx_stream
        ) -> c_int;
        fn mlx_scatter_prod(
            res: *mut mlx_array, a: mlx_array, indices: mlx_vector_array, updates: mlx_array, axes: *const c_int, axes_num: usize,
            s: mlx_stream
        ) -> c_int;
        fn mlx_scatter_prod_single(
            res: *mut mlx_array, a: mlx_array, indices: mlx_array, updates: mlx_array, axis: c_int, s: mlx_stream
        ) -> c_int;
        fn mlx_searchsorted(
            res: *mut mlx_array, sorted_sequence: mlx_array, values: mlx_array, side: *const c_char, s: mlx_stream
        ) -> c_int;
        fn mlx_segmented_mm(res: *mut mlx_array, a: mlx_array, b: mlx_array, segments: mlx_array, s: mlx_stream) -> c_int;
        fn mlx_sigmoid(res: *mut mlx_array, a: mlx_array, s: mlx_stream) -> c_int;
        fn mlx_sign(res: *mut mlx_array, a: mlx_array, s: mlx_stream) -> c_int;
        fn mlx_sin(res: *mut mlx_array, a: mlx_array, s: mlx_stream) -> c_int;
        fn mlx_sinh(res: *mut mlx_array, a: mlx_array, s: mlx_stream) -> c_int;
        fn mlx_slice(
            res: *mut mlx_array, a: mlx_array, start: *const c_int, start_num: usize, stop: *const c_int, stop_num: usize,
            strides: *const c_int, strides_num: usize, s: mlx_stream
        ) -> c_int;
        fn mlx_slice_dynamic(
            res: *mut mlx_array, a: mlx_array, start: mlx_array, axes: *const c_int, axes_num: usize, slice_size: *const c_int,
            slice_size_num: usize, s: mlx_stream
        ) -> c_int;
        fn mlx_slice_update(
            res: *mut mlx_array, src: mlx_array, update: mlx_array, start: *const c_int, start_num: usize, stop: *const c_int,
            stop_num: usize, strides: *const c_int, strides_num: usize, s: mlx_stream
        ) -> c_int;
        fn mlx_slice_update_dynamic(
            res: *mut mlx_array, src: mlx_array, update: mlx_array, start: mlx_array, axes: *const c_int, axes_num: usize, s: mlx_stream
        ) -> c_int;
        fn mlx_slice_update_add(
            res: *mut mlx_array, src: mlx_array, update: mlx_array, start: *const c_int, start_num: usize, stop: *const c_int,
            stop_num: usize, strides: *const c_int, strides_num: usize, s: mlx_stream
        ) -> c_int;
        fn mlx_slice_update_max(
            res: *mut mlx_array, src: mlx_array, update: mlx_array, start: *const c_int, start_num: usize, stop: *const c_int,
            stop_num: usize, strides: *const c_int, strides_num: usize, s: mlx_stream
        ) -> c_int;
        fn mlx_slice_update_min(
            res: *mut mlx_array, src: mlx_array, update: mlx_array, start: *const c_int, start_num: usize, stop: *const c_int,
            stop_num: usize, strides: *const c_int, strides_num: usize, s: mlx_stream
        ) -> c_int;
        fn mlx_slice_update_prod(
            res: *mut mlx_array, src: mlx_array, update: mlx_array, start: *const c_int, start_num: usize, stop: *const c_int,
            stop_num: usize, strides: *const c_int, strides_num: usize, s: mlx_stream
        ) -> c_int;
        fn mlx_softmax_axes(res: *mut mlx_array, a: mlx_array, axes: *const c_int, axes_num: usize, precise: bool, s: mlx_stream) -> c_int;
        fn mlx_softmax_axis(res: *mut mlx_array, a: mlx_array, axis: c_int, precise: bool, s: mlx_stream) -> c_int;
        fn mlx_softmax(res: *mut mlx_array, a: mlx_array, precise: bool, s: mlx_stream) -> c_int;
        fn mlx_sort_axis(res: *mut mlx_array, a: mlx_array, axis: c_int, s: mlx_stream) -> c_int;
        fn mlx_sort(res: *mut mlx_array, a: mlx_array, s: mlx_stream) -> c_int;
        fn mlx_split(res: *mut mlx_vector_array, a: mlx_array, num_splits: c_int, axis: c_int, s: mlx_stream) -> c_int;
        fn mlx_split_sections(
            res: *mut mlx_vector_array, a: mlx_array, indices: *const c_int, indices_num: usize, axis: c_int, s: mlx_stream
        ) -> c_int;
        fn mlx_sqrt(res: *mut mlx_array, a: mlx_array, s: mlx_stream) -> c_int;
        fn mlx_square(res: *mut mlx_array, a: mlx_array, s: mlx_stream) -> c_int;
        fn mlx_squeeze_axes(res: *mut mlx_array, a: mlx_array, axes: *const c_int, axes_num: usize, s: mlx_stream) -> c_int;
        fn mlx_squeeze_axis(res: *mut mlx_array, a: mlx_array, axis: c_int, s: mlx_stream) -> c_int;
        fn mlx_squeeze(res: *mut mlx_array, a: mlx_array, s: mlx_stream) -> c_int;
        fn mlx_stack_axis(res: *mut mlx_array, arrays: mlx_vector_array, axis: c_int, s: mlx_stream) -> c_int;
        fn mlx_stack(res: *mut mlx_array, arrays: mlx_vector_array, s: mlx_stream) -> c_int;
        fn mlx_std_axes(
            res: *mut mlx_array, a: mlx_array, axes: *const c_int, axes_num: usize, keepdims: bool, ddof: c_int, s: mlx_stream
        ) -> c_int;
        fn mlx_std_axis(res: *mut mlx_array, a: mlx_array, axis: c_int, keepdims: bool, ddof: c_int, s: mlx_stream) -> c_int;
        fn mlx_std(res: *mut mlx_array, a: mlx_array, keepdims: bool, ddof: c_int, s: mlx_stream) -> c_int;
        fn mlx_stop_gradient(res: *mut mlx_array, a: mlx_array, s: mlx_stream) -> c_int;
        fn mlx_subtract(res: *mut mlx_array, a: mlx_array, b: mlx_array, s: mlx_stream) -> c_int;
        fn mlx_sum_axes(res: *mut mlx_array, a: mlx_array, axes: *const c_int, axes_num: usize, keepdims: bool, s: mlx_stream) -> c_int;
        fn mlx_sum_axis(res: *mut mlx_array, a: mlx_array, axis: c_int, keepdims: bool, s: mlx_stream) -> c_int;
        fn mlx_sum(res: *mut mlx_array, a: mlx_array, keepdims: bool, s: mlx_stream) -> c_int;
        fn mlx_swapaxes(res: *mut mlx_array, a: mlx_array, axis1: c_int, axis2: c_int, s: mlx_stream) -> c_int;
        fn mlx_take_axis(res: *mut mlx_array, a: mlx_array, indices: mlx_array, axis: c_int, s: mlx_stream) -> c_int;
        fn mlx_take(res: *mut mlx_array, a: mlx_array, indices: mlx_array, s: mlx_stream) -> c_int;
        fn mlx_take_along_axis(res: *mut mlx_array, a: mlx_array, indices: mlx_array, axis: c_int, s: mlx_stream) -> c_int;
        fn mlx_tan(res: *mut mlx_array, a: mlx_array, s: mlx_stream) -> c_int;
        fn mlx_tanh(res: *mut mlx_array, a: mlx_array, s: mlx_stream) -> c_int;
        fn mlx_tensordot(
            res: *mut mlx_array, a: mlx_array, b: mlx_array, axes_a: *const c_int, axes_a_num: usize, axes_b: *const c_int,
            axes_b_num: usize, s: mlx_stream
        ) -> c_int;
        fn mlx_tensordot_axis(res: *mut mlx_array, a: mlx_array, b: mlx_array, axis: c_int, s: mlx_stream) -> c_int;
        fn mlx_tile(res: *mut mlx_array, arr: mlx_array, reps: *const c_int, reps_num: usize, s: mlx_stream) -> c_int;
        fn mlx_to_fp8(res: *mut mlx_array, x: mlx_array, s: mlx_stream) -> c_int;
        fn mlx_topk_axis(res: *mut mlx_array, a: mlx_array, k: c_int, axis: c_int, s: mlx_stream) -> c_int;
        fn mlx_topk(res: *mut mlx_array, a: mlx_array, k: c_int, s: mlx_stream) -> c_int;
        fn mlx_trace_axes(
            res: *mut mlx_array, a: mlx_array, offset: c_int, axis1: c_int, axis2: c_int, dtype: mlx_dtype, s: mlx_stream
        ) -> c_int;
        fn mlx_trace(res: *mut mlx_array, a: mlx_array, s: mlx_stream) -> c_int;
        fn mlx_transpose_axes(res: *mut mlx_array, a: mlx_array, axes: *const c_int, axes_num: usize, s: mlx_stream) -> c_int;
        fn mlx_transpose(res: *mut mlx_array, a: mlx_array, s: mlx_stream) -> c_int;
        fn mlx_tri(res: *mut mlx_array, n: c_int, m: c_int, k: c_int, kind: mlx_dtype, s: mlx_stream) -> c_int;
        fn mlx_tril(res: *mut mlx_array, x: mlx_array, k: c_int, s: mlx_stream) -> c_int;
        fn mlx_triu(res: *mut mlx_array, x: mlx_array, k: c_int, s: mlx_stream) -> c_int;
        fn mlx_trunc(res: *mut mlx_array, a: mlx_array, s: mlx_stream) -> c_int;
        fn mlx_unflatten(res: *mut mlx_array, a: mlx_array, axis: c_int, shape: *const c_int, shape_num: usize, s: mlx_stream) -> c_int;
        fn mlx_unstack_axis(res: *mut mlx_vector_array, a: mlx_array, axis: c_int, s: mlx_stream) -> c_int;
        fn mlx_unstack(res: *mut mlx_vector_array, a: mlx_array, s: mlx_stream) -> c_int;
        fn mlx_var_axes(
            res: *mut mlx_array, a: mlx_array, axes: *const c_int, axes_num: usize, keepdims: bool, ddof: c_int, s: mlx_stream
        ) -> c_int;
        fn mlx_var_axis(res: *mut mlx_array, a: mlx_array, axis: c_int, keepdims: bool, ddof: c_int, s: mlx_stream) -> c_int;
        fn mlx_var(res: *mut mlx_array, a: mlx_array, keepdims: bool, ddof: c_int, s: mlx_stream) -> c_int;
        fn mlx_vecdot(res: *mut mlx_array, a: mlx_array, b: mlx_array, axis: c_int, s: mlx_stream) -> c_int;
        fn mlx_view(res: *mut mlx_array, a: mlx_array, dtype: mlx_dtype, s: mlx_stream) -> c_int;
        fn mlx_where(res: *mut mlx_array, condition: mlx_array, x: mlx_array, y: mlx_array, s: mlx_stream) -> c_int;
        fn mlx_zeros(res: *mut mlx_array, shape: *const c_int, shape_num: usize, dtype: mlx_dtype, s: mlx_stream) -> c_int;
        fn mlx_zeros_like_dtype(res: *mut mlx_array, a: mlx_array, dtype: mlx_dtype, s: mlx_stream) -> c_int;
        fn mlx_zeros_like(res: *mut mlx_array, a: mlx_array, s: mlx_stream) -> c_int;
    }

    // Gains a parameter after MLX 0.32.2: kept only up to that release.
    optional GATHER_QMM {
        // ops.h
        fn mlx_gather_qmm(
            res: *mut mlx_array, x: mlx_array, w: mlx_array, scales: mlx_array, biases: mlx_array, lhs_indices: mlx_array,
            rhs_indices: mlx_array, transpose: bool, group_size: mlx_optional_int, bits: mlx_optional_int, mode: *const c_char,
            sorted_indices: bool, s: mlx_stream
        ) -> c_int;
    }
}
