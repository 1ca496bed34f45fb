//! Fused operations, Fourier transforms, linear algebra and random numbers.
use super::Mlx;
use super::types::*;
use crate::ffi::library::c_library;
use std::ffi::{c_char, c_int};

c_library! {
    /// Function pointers of `fast.h`, `fft.h`, `linalg.h` and `random.h`.
    pub(crate) struct Fast in Mlx.fast;

    required {
        // fast.h
        fn mlx_fast_cross_entropy(res: *mut mlx_array, logits: mlx_array, targets: mlx_array, s: mlx_stream) -> c_int;
        fn mlx_fast_layer_norm(res: *mut mlx_array, x: mlx_array, weight: mlx_array, bias: mlx_array, eps: f32, s: mlx_stream) -> c_int;
        fn mlx_fast_rms_norm(res: *mut mlx_array, x: mlx_array, weight: mlx_array, eps: f32, s: mlx_stream) -> c_int;
        fn mlx_fast_rope(
            res: *mut mlx_array, x: mlx_array, dims: c_int, traditional: bool, base: mlx_optional_float, scale: f32, offset: c_int,
            freqs: mlx_array, s: mlx_stream
        ) -> c_int;
        fn mlx_fast_rope_dynamic(
            res: *mut mlx_array, x: mlx_array, dims: c_int, traditional: bool, base: mlx_optional_float, scale: f32, offset: mlx_array,
            freqs: mlx_array, s: mlx_stream
        ) -> c_int;
        fn mlx_fast_scaled_dot_product_attention(
            res: *mut mlx_array, queries: mlx_array, keys: mlx_array, values: mlx_array, scale: f32, mask_mode: *const c_char,
            mask_arr: mlx_array, sinks: mlx_array, force_fused: bool, s: mlx_stream
        ) -> c_int;
        // fft.h
        fn mlx_fft_fft(res: *mut mlx_array, a: mlx_array, n: c_int, axis: c_int, norm: mlx_fft_norm, s: mlx_stream) -> c_int;
        fn mlx_fft_fft2(
            res: *mut mlx_array, a: mlx_array, n: *const c_int, n_num: usize, axes: *const c_int, axes_num: usize, norm: mlx_fft_norm,
            s: mlx_stream
        ) -> c_int;
        fn mlx_fft_fftfreq(res: *mut mlx_array, n: c_int, d: f64, s: mlx_stream) -> c_int;
        fn mlx_fft_fftn(
            res: *mut mlx_array, a: mlx_array, n: *const c_int, n_num: usize, axes: *const c_int, axes_num: usize, norm: mlx_fft_norm,
            s: mlx_stream
        ) -> c_int;
        fn mlx_fft_fftshift(res: *mut mlx_array, a: mlx_array, axes: *const c_int, axes_num: usize, s: mlx_stream) -> c_int;
        fn mlx_fft_ifft(res: *mut mlx_array, a: mlx_array, n: c_int, axis: c_int, norm: mlx_fft_norm, s: mlx_stream) -> c_int;
        fn mlx_fft_ifft2(
            res: *mut mlx_array, a: mlx_array, n: *const c_int, n_num: usize, axes: *const c_int, axes_num: usize, norm: mlx_fft_norm,
            s: mlx_stream
        ) -> c_int;
        fn mlx_fft_ifftn(
            res: *mut mlx_array, a: mlx_array, n: *const c_int, n_num: usize, axes: *const c_int, axes_num: usize, norm: mlx_fft_norm,
            s: mlx_stream
        ) -> c_int;
        fn mlx_fft_ifftshift(res: *mut mlx_array, a: mlx_array, axes: *const c_int, axes_num: usize, s: mlx_stream) -> c_int;
        fn mlx_fft_irfft(res: *mut mlx_array, a: mlx_array, n: c_int, axis: c_int, norm: mlx_fft_norm, s: mlx_stream) -> c_int;
        fn mlx_fft_irfft2(
            res: *mut mlx_array, a: mlx_array, n: *const c_int, n_num: usize, axes: *const c_int, axes_num: usize, norm: mlx_fft_norm,
            s: mlx_stream
        ) -> c_int;
        fn mlx_fft_irfftn(
            res: *mut mlx_array, a: mlx_array, n: *const c_int, n_num: usize, axes: *const c_int, axes_num: usize, norm: mlx_fft_norm,
            s: mlx_stream
        ) -> c_int;
        fn mlx_fft_rfft(res: *mut mlx_array, a: mlx_array, n: c_int, axis: c_int, norm: mlx_fft_norm, s: mlx_stream) -> c_int;
        fn mlx_fft_rfft2(
            res: *mut mlx_array, a: mlx_array, n: *const c_int, n_num: usize, axes: *const c_int, axes_num: usize, norm: mlx_fft_norm,
            s: mlx_stream
        ) -> c_int;
        fn mlx_fft_rfftfreq(res: *mut mlx_array, n: c_int, d: f64, s: mlx_stream) -> c_int;
        fn mlx_fft_rfftn(
            res: *mut mlx_array, a: mlx_array, n: *const c_int, n_num: usize, axes: *const c_int, axes_num: usize, norm: mlx_fft_norm,
            s: mlx_stream
        ) -> c_int;
        // linalg.h
        fn mlx_linalg_cholesky(res: *mut mlx_array, a: mlx_array, upper: bool, s: mlx_stream) -> c_int;
        fn mlx_linalg_cholesky_inv(res: *mut mlx_array, a: mlx_array, upper: bool, s: mlx_stream) -> c_int;
        fn mlx_linalg_cross(res: *mut mlx_array, a: mlx_array, b: mlx_array, axis: c_int, s: mlx_stream) -> c_int;
        fn mlx_linalg_det(res: *mut mlx_array, a: mlx_array, s: mlx_stream) -> c_int;
        fn mlx_linalg_eig(res_0: *mut mlx_array, res_1: *mut mlx_array, a: mlx_array, s: mlx_stream) -> c_int;
        fn mlx_linalg_eigh(res_0: *mut mlx_array, res_1: *mut mlx_array, a: mlx_array, uplo: *const c_char, s: mlx_stream) -> c_int;
        fn mlx_linalg_eigvals(res: *mut mlx_array, a: mlx_array, s: mlx_stream) -> c_int;
        fn mlx_linalg_eigvalsh(res: *mut mlx_array, a: mlx_array, uplo: *const c_char, s: mlx_stream) -> c_int;
        fn mlx_linalg_inv(res: *mut mlx_array, a: mlx_array, s: mlx_stream) -> c_int;
        fn mlx_linalg_lu(res: *mut mlx_vector_array, a: mlx_array, s: mlx_stream) -> c_int;
        fn mlx_linalg_lu_factor(res_0: *mut mlx_array, res_1: *mut mlx_array, a: mlx_array, s: mlx_stream) -> c_int;
        fn mlx_linalg_norm(
            res: *mut mlx_array, a: mlx_array, ord: f64, axis: *const c_int, axis_num: usize, keepdims: bool, s: mlx_stream
        ) -> c_int;
        fn mlx_linalg_norm_matrix(
            res: *mut mlx_array, a: mlx_array, ord: *const c_char, axis: *const c_int, axis_num: usize, keepdims: bool, s: mlx_stream
        ) -> c_int;
        fn mlx_linalg_norm_l2(
            res: *mut mlx_array, a: mlx_array, axis: *const c_int, axis_num: usize, keepdims: bool, s: mlx_stream
        ) -> c_int;
        fn mlx_linalg_pinv(res: *mut mlx_array, a: mlx_array, s: mlx_stream) -> c_int;
        fn mlx_linalg_qr(res_0: *mut mlx_array, res_1: *mut mlx_array, a: mlx_array, s: mlx_stream) -> c_int;
        fn mlx_linalg_slogdet(res_0: *mut mlx_array, res_1: *mut mlx_array, a: mlx_array, s: mlx_stream) -> c_int;
        fn mlx_linalg_solve(res: *mut mlx_array, a: mlx_array, b: mlx_array, s: mlx_stream) -> c_int;
        fn mlx_linalg_solve_triangular(res: *mut mlx_array, a: mlx_array, b: mlx_array, upper: bool, s: mlx_stream) -> c_int;
        fn mlx_linalg_svd(res: *mut mlx_vector_array, a: mlx_array, compute_uv: bool, s: mlx_stream) -> c_int;
        fn mlx_linalg_tri_inv(res: *mut mlx_array, a: mlx_array, upper: bool, s: mlx_stream) -> c_int;
        // random.h
        fn mlx_random_bernoulli(
            res: *mut mlx_array, p: mlx_array, shape: *const c_int, shape_num: usize, key: mlx_array, s: mlx_stream
        ) -> c_int;
        fn mlx_random_bits(
            res: *mut mlx_array, shape: *const c_int, shape_num: usize, width: c_int, key: mlx_array, s: mlx_stream
        ) -> c_int;
        fn mlx_random_categorical_shape(
            res: *mut mlx_array, logits: mlx_array, axis: c_int, shape: *const c_int, shape_num: usize, key: mlx_array, s: mlx_stream
        ) -> c_int;
        fn mlx_random_categorical_num_samples(
            res: *mut mlx_array, logits_: mlx_array, axis: c_int, num_samples: c_int, key: mlx_array, s: mlx_stream
        ) -> c_int;
        fn mlx_random_categorical(res: *mut mlx_array, logits: mlx_array, axis: c_int, key: mlx_array, s: mlx_stream) -> c_int;
        fn mlx_random_gumbel(
            res: *mut mlx_array, shape: *const c_int, shape_num: usize, dtype: mlx_dtype, key: mlx_array, s: mlx_stream
        ) -> c_int;
        fn mlx_random_key(res: *mut mlx_array, seed: u64) -> c_int;
        fn mlx_random_laplace(
            res: *mut mlx_array, shape: *const c_int, shape_num: usize, dtype: mlx_dtype, loc: f32, scale: f32, key: mlx_array,
            s: mlx_stream
        ) -> c_int;
        fn mlx_random_multivariate_normal(
            res: *mut mlx_array, mean: mlx_array, cov: mlx_array, shape: *const c_int, shape_num: usize, dtype: mlx_dtype, key: mlx_array,
            s: mlx_stream
        ) -> c_int;
        fn mlx_random_normal_broadcast(
            res: *mut mlx_array, shape: *const c_int, shape_num: usize, dtype: mlx_dtype, loc: mlx_array, scale: mlx_array, key: mlx_array,
            s: mlx_stream
        ) -> c_int;
        fn mlx_random_normal(
            res: *mut mlx_array, shape: *const c_int, shape_num: usize, dtype: mlx_dtype, loc: f32, scale: f32, key: mlx_array,
            s: mlx_stream
        ) -> c_int;
        fn mlx_random_permutation(res: *mut mlx_array, x: mlx_array, axis: c_int, key: mlx_array, s: mlx_stream) -> c_int;
        fn mlx_random_permutation_arange(res: *mut mlx_array, x: c_int, key: mlx_array, s: mlx_stream) -> c_int;
        fn mlx_random_randint(
            res: *mut mlx_array, low: mlx_array, high: mlx_array, shape: *const c_int, shape_num: usize, dtype: mlx_dtype, key: mlx_array,
            s: mlx_stream
        ) -> c_int;
        fn mlx_random_seed(seed: u64) -> c_int;
        fn mlx_random_split_num(res: *mut mlx_array, key: mlx_array, num: c_int, s: mlx_stream) -> c_int;
        fn mlx_random_split(res_0: *mut mlx_array, res_1: *mut mlx_array, key: mlx_array, s: mlx_stream) -> c_int;
        fn mlx_random_truncated_normal(
            res: *mut mlx_array, lower: mlx_array, upper: mlx_array, shape: *const c_int, shape_num: usize, dtype: mlx_dtype,
            key: mlx_array, s: mlx_stream
        ) -> c_int;
        fn mlx_random_uniform(
            res: *mut mlx_array, low: mlx_array, high: mlx_array, shape: *const c_int, shape_num: usize, dtype: mlx_dtype, key: mlx_array,
            s: mlx_stream
        ) -> c_int;
    }

    optional CUDA_KERNEL {
        // fast.h
        fn mlx_fast_cuda_kernel_config_new() -> mlx_fast_cuda_kernel_config;
        fn mlx_fast_cuda_kernel_config_free(cls: mlx_fast_cuda_kernel_config);
        fn mlx_fast_cuda_kernel_config_add_output_arg(
            cls: mlx_fast_cuda_kernel_config, shape: *const c_int, size: usize, dtype: mlx_dtype
        ) -> c_int;
        fn mlx_fast_cuda_kernel_config_set_grid(cls: mlx_fast_cuda_kernel_config, grid1: c_int, grid2: c_int, grid3: c_int) -> c_int;
        fn mlx_fast_cuda_kernel_config_set_thread_group(
            cls: mlx_fast_cuda_kernel_config, thread1: c_int, thread2: c_int, thread3: c_int
        ) -> c_int;
        fn mlx_fast_cuda_kernel_config_set_init_value(cls: mlx_fast_cuda_kernel_config, value: f32) -> c_int;
        fn mlx_fast_cuda_kernel_config_set_verbose(cls: mlx_fast_cuda_kernel_config, verbose: bool) -> c_int;
        fn mlx_fast_cuda_kernel_config_add_template_arg_dtype(
            cls: mlx_fast_cuda_kernel_config, name: *const c_char, dtype: mlx_dtype
        ) -> c_int;
        fn mlx_fast_cuda_kernel_config_add_template_arg_int(cls: mlx_fast_cuda_kernel_config, name: *const c_char, value: c_int) -> c_int;
        fn mlx_fast_cuda_kernel_config_add_template_arg_bool(cls: mlx_fast_cuda_kernel_config, name: *const c_char, value: bool) -> c_int;
        fn mlx_fast_cuda_kernel_new(
            name: *const c_char, input_names: mlx_vector_string, output_names: mlx_vector_string, source: *const c_char,
            header: *const c_char, ensure_row_contiguous: bool, shared_memory: c_int
        ) -> mlx_fast_cuda_kernel;
        fn mlx_fast_cuda_kernel_free(cls: mlx_fast_cuda_kernel);
        fn mlx_fast_cuda_kernel_apply(
            outputs: *mut mlx_vector_array, cls: mlx_fast_cuda_kernel, inputs: mlx_vector_array, config: mlx_fast_cuda_kernel_config,
            stream: mlx_stream
        ) -> c_int;
    }

    optional METAL_KERNEL {
        // fast.h
        fn mlx_fast_metal_kernel_config_new() -> mlx_fast_metal_kernel_config;
        fn mlx_fast_metal_kernel_config_free(cls: mlx_fast_metal_kernel_config);
        fn mlx_fast_metal_kernel_config_add_output_arg(
            cls: mlx_fast_metal_kernel_config, shape: *const c_int, size: usize, dtype: mlx_dtype
        ) -> c_int;
        fn mlx_fast_metal_kernel_config_set_grid(cls: mlx_fast_metal_kernel_config, grid1: c_int, grid2: c_int, grid3: c_int) -> c_int;
        fn mlx_fast_metal_kernel_config_set_thread_group(
            cls: mlx_fast_metal_kernel_config, thread1: c_int, thread2: c_int, thread3: c_int
        ) -> c_int;
        fn mlx_fast_metal_kernel_config_set_init_value(cls: mlx_fast_metal_kernel_config, value: f32) -> c_int;
        fn mlx_fast_metal_kernel_config_set_verbose(cls: mlx_fast_metal_kernel_config, verbose: bool) -> c_int;
        fn mlx_fast_metal_kernel_config_add_template_arg_dtype(
            cls: mlx_fast_metal_kernel_config, name: *const c_char, dtype: mlx_dtype
        ) -> c_int;
        fn mlx_fast_metal_kernel_config_add_template_arg_int(cls: mlx_fast_metal_kernel_config, name: *const c_char, value: c_int) -> c_int;
        fn mlx_fast_metal_kernel_config_add_template_arg_bool(cls: mlx_fast_metal_kernel_config, name: *const c_char, value: bool) -> c_int;
        fn mlx_fast_metal_kernel_new(
            name: *const c_char, input_names: mlx_vector_string, output_names: mlx_vector_string, source: *const c_char,
            header: *const c_char, ensure_row_contiguous: bool, atomic_outputs: bool
        ) -> mlx_fast_metal_kernel;
        fn mlx_fast_metal_kernel_free(cls: mlx_fast_metal_kernel);
        fn mlx_fast_metal_kernel_apply(
            outputs: *mut mlx_vector_array, cls: mlx_fast_metal_kernel, inputs: mlx_vector_array, config: mlx_fast_metal_kernel_config,
            stream: mlx_stream
        ) -> c_int;
    }
}
