//! The functions that are not operations: arrays, vectors, devices, streams, evaluation,
//! closures, compilation, memory and errors.
use super::Mlx;
use super::types::*;
use crate::ffi::library::c_library;
use std::ffi::{c_char, c_int, c_void};

c_library! {
    /// Function pointers of mlx-c's runtime headers.
    pub(crate) struct Core in Mlx.core;

    required {
        // array.h
        fn mlx_dtype_size(dtype: mlx_dtype) -> usize;
        fn mlx_array_tostring(str: *mut mlx_string, arr: mlx_array) -> c_int;
        fn mlx_array_new() -> mlx_array;
        fn mlx_array_free(arr: mlx_array) -> c_int;
        fn mlx_array_new_bool(val: bool) -> mlx_array;
        fn mlx_array_new_int(val: c_int) -> mlx_array;
        fn mlx_array_new_float32(val: f32) -> mlx_array;
        fn mlx_array_new_float(val: f32) -> mlx_array;
        fn mlx_array_new_float64(val: f64) -> mlx_array;
        fn mlx_array_new_double(val: f64) -> mlx_array;
        fn mlx_array_new_complex(real_val: f32, imag_val: f32) -> mlx_array;
        fn mlx_array_new_data(data: *const c_void, shape: *const c_int, dim: c_int, dtype: mlx_dtype) -> mlx_array;
        fn mlx_array_new_data_managed(data: *mut c_void, shape: *const c_int, dim: c_int, dtype: mlx_dtype, dtor: mlx_dtor) -> mlx_array;
        fn mlx_array_new_data_managed_payload(
            data: *mut c_void, shape: *const c_int, dim: c_int, dtype: mlx_dtype, payload: *mut c_void, dtor: mlx_dtor
        ) -> mlx_array;
        fn mlx_array_set(arr: *mut mlx_array, src: mlx_array) -> c_int;
        fn mlx_array_set_bool(arr: *mut mlx_array, val: bool) -> c_int;
        fn mlx_array_set_int(arr: *mut mlx_array, val: c_int) -> c_int;
        fn mlx_array_set_float32(arr: *mut mlx_array, val: f32) -> c_int;
        fn mlx_array_set_float(arr: *mut mlx_array, val: f32) -> c_int;
        fn mlx_array_set_float64(arr: *mut mlx_array, val: f64) -> c_int;
        fn mlx_array_set_double(arr: *mut mlx_array, val: f64) -> c_int;
        fn mlx_array_set_complex(arr: *mut mlx_array, real_val: f32, imag_val: f32) -> c_int;
        fn mlx_array_set_data(arr: *mut mlx_array, data: *const c_void, shape: *const c_int, dim: c_int, dtype: mlx_dtype) -> c_int;
        fn mlx_array_itemsize(arr: mlx_array) -> usize;
        fn mlx_array_size(arr: mlx_array) -> usize;
        fn mlx_array_nbytes(arr: mlx_array) -> usize;
        fn mlx_array_ndim(arr: mlx_array) -> usize;
        fn mlx_array_shape(arr: mlx_array) -> *const c_int;
        fn mlx_array_strides(arr: mlx_array) -> *const usize;
        fn mlx_array_dim(arr: mlx_array, dim: c_int) -> c_int;
        fn mlx_array_dtype(arr: mlx_array) -> mlx_dtype;
        fn mlx_array_eval(arr: mlx_array) -> c_int;
        fn mlx_array_item_bool(res: *mut bool, arr: mlx_array) -> c_int;
        fn mlx_array_item_uint8(res: *mut u8, arr: mlx_array) -> c_int;
        fn mlx_array_item_uint16(res: *mut u16, arr: mlx_array) -> c_int;
        fn mlx_array_item_uint32(res: *mut u32, arr: mlx_array) -> c_int;
        fn mlx_array_item_uint64(res: *mut u64, arr: mlx_array) -> c_int;
        fn mlx_array_item_int8(res: *mut i8, arr: mlx_array) -> c_int;
        fn mlx_array_item_int16(res: *mut i16, arr: mlx_array) -> c_int;
        fn mlx_array_item_int32(res: *mut i32, arr: mlx_array) -> c_int;
        fn mlx_array_item_int64(res: *mut i64, arr: mlx_array) -> c_int;
        fn mlx_array_item_float32(res: *mut f32, arr: mlx_array) -> c_int;
        fn mlx_array_item_float64(res: *mut f64, arr: mlx_array) -> c_int;
        fn mlx_array_item_complex64(res: *mut mlx_complex64_t, arr: mlx_array) -> c_int;
        fn mlx_array_data_bool(arr: mlx_array) -> *const bool;
        fn mlx_array_data_uint8(arr: mlx_array) -> *const u8;
        fn mlx_array_data_uint16(arr: mlx_array) -> *const u16;
        fn mlx_array_data_uint32(arr: mlx_array) -> *const u32;
        fn mlx_array_data_uint64(arr: mlx_array) -> *const u64;
        fn mlx_array_data_int8(arr: mlx_array) -> *const i8;
        fn mlx_array_data_int16(arr: mlx_array) -> *const i16;
        fn mlx_array_data_int32(arr: mlx_array) -> *const i32;
        fn mlx_array_data_int64(arr: mlx_array) -> *const i64;
        fn mlx_array_data_float32(arr: mlx_array) -> *const f32;
        fn mlx_array_data_float64(arr: mlx_array) -> *const f64;
        fn mlx_array_data_complex64(arr: mlx_array) -> *const mlx_complex64_t;
        // vector.h
        fn mlx_vector_array_new() -> mlx_vector_array;
        fn mlx_vector_array_set(vec: *mut mlx_vector_array, src: mlx_vector_array) -> c_int;
        fn mlx_vector_array_free(vec: mlx_vector_array) -> c_int;
        fn mlx_vector_array_new_data(data: *const mlx_array, size: usize) -> mlx_vector_array;
        fn mlx_vector_array_new_value(val: mlx_array) -> mlx_vector_array;
        fn mlx_vector_array_set_data(vec: *mut mlx_vector_array, data: *const mlx_array, size: usize) -> c_int;
        fn mlx_vector_array_set_value(vec: *mut mlx_vector_array, val: mlx_array) -> c_int;
        fn mlx_vector_array_append_data(vec: mlx_vector_array, data: *const mlx_array, size: usize) -> c_int;
        fn mlx_vector_array_append_value(vec: mlx_vector_array, val: mlx_array) -> c_int;
        fn mlx_vector_array_size(vec: mlx_vector_array) -> usize;
        fn mlx_vector_array_get(res: *mut mlx_array, vec: mlx_vector_array, idx: usize) -> c_int;
        fn mlx_vector_string_new() -> mlx_vector_string;
        fn mlx_vector_string_set(vec: *mut mlx_vector_string, src: mlx_vector_string) -> c_int;
        fn mlx_vector_string_free(vec: mlx_vector_string) -> c_int;
        fn mlx_vector_string_new_data(data: *mut *const c_char, size: usize) -> mlx_vector_string;
        fn mlx_vector_string_new_value(val: *const c_char) -> mlx_vector_string;
        fn mlx_vector_string_set_data(vec: *mut mlx_vector_string, data: *mut *const c_char, size: usize) -> c_int;
        fn mlx_vector_string_set_value(vec: *mut mlx_vector_string, val: *const c_char) -> c_int;
        fn mlx_vector_string_append_data(vec: mlx_vector_string, data: *mut *const c_char, size: usize) -> c_int;
        fn mlx_vector_string_append_value(vec: mlx_vector_string, val: *const c_char) -> c_int;
        fn mlx_vector_string_size(vec: mlx_vector_string) -> usize;
        fn mlx_vector_string_get(res: *mut *mut c_char, vec: mlx_vector_string, idx: usize) -> c_int;
        // device.h
        fn mlx_device_new() -> mlx_device;
        fn mlx_device_new_type(kind: mlx_device_type, index: c_int) -> mlx_device;
        fn mlx_device_free(dev: mlx_device) -> c_int;
        fn mlx_device_set(dev: *mut mlx_device, src: mlx_device) -> c_int;
        fn mlx_device_tostring(str: *mut mlx_string, dev: mlx_device) -> c_int;
        fn mlx_device_equal(lhs: mlx_device, rhs: mlx_device) -> bool;
        fn mlx_device_get_index(index: *mut c_int, dev: mlx_device) -> c_int;
        fn mlx_device_get_type(kind: *mut mlx_device_type, dev: mlx_device) -> c_int;
        fn mlx_get_default_device(dev: *mut mlx_device) -> c_int;
        fn mlx_set_default_device(dev: mlx_device) -> c_int;
        fn mlx_device_is_available(avail: *mut bool, dev: mlx_device) -> c_int;
        fn mlx_device_count(count: *mut c_int, kind: mlx_device_type) -> c_int;
        fn mlx_device_info_new() -> mlx_device_info;
        fn mlx_device_info_get(info: *mut mlx_device_info, dev: mlx_device) -> c_int;
        fn mlx_device_info_free(info: mlx_device_info) -> c_int;
        fn mlx_device_info_has_key(exists: *mut bool, info: mlx_device_info, key: *const c_char) -> c_int;
        fn mlx_device_info_is_string(is_string: *mut bool, info: mlx_device_info, key: *const c_char) -> c_int;
        fn mlx_device_info_get_string(value: *mut *const c_char, info: mlx_device_info, key: *const c_char) -> c_int;
        fn mlx_device_info_get_size(value: *mut usize, info: mlx_device_info, key: *const c_char) -> c_int;
        fn mlx_device_info_get_keys(keys: *mut mlx_vector_string, info: mlx_device_info) -> c_int;
        // stream.h
        fn mlx_stream_new() -> mlx_stream;
        fn mlx_stream_new_device(dev: mlx_device) -> mlx_stream;
        fn mlx_stream_new_thread_unsafe(dev: mlx_device) -> mlx_stream;
        fn mlx_stream_set(stream: *mut mlx_stream, src: mlx_stream) -> c_int;
        fn mlx_stream_free(stream: mlx_stream) -> c_int;
        fn mlx_stream_tostring(str: *mut mlx_string, stream: mlx_stream) -> c_int;
        fn mlx_stream_equal(lhs: mlx_stream, rhs: mlx_stream) -> bool;
        fn mlx_stream_get_device(dev: *mut mlx_device, stream: mlx_stream) -> c_int;
        fn mlx_stream_get_index(index: *mut c_int, stream: mlx_stream) -> c_int;
        fn mlx_synchronize(stream: mlx_stream) -> c_int;
        fn mlx_get_default_stream(stream: *mut mlx_stream, dev: mlx_device) -> c_int;
        fn mlx_set_default_stream(stream: mlx_stream) -> c_int;
        fn mlx_default_cpu_stream_new() -> mlx_stream;
        fn mlx_default_gpu_stream_new() -> mlx_stream;
        // transforms.h
        fn mlx_async_eval(outputs: mlx_vector_array) -> c_int;
        fn mlx_eval(outputs: mlx_vector_array) -> c_int;
        // closure.h
        fn mlx_closure_new() -> mlx_closure;
        fn mlx_closure_free(cls: mlx_closure) -> c_int;
        fn mlx_closure_new_func(fun: mlx_closure_func) -> mlx_closure;
        fn mlx_closure_new_func_payload(fun: mlx_closure_payload_func, payload: *mut c_void, dtor: mlx_dtor) -> mlx_closure;
        fn mlx_closure_set(cls: *mut mlx_closure, src: mlx_closure) -> c_int;
        fn mlx_closure_apply(res: *mut mlx_vector_array, cls: mlx_closure, input: mlx_vector_array) -> c_int;
        fn mlx_closure_new_unary(fun: mlx_closure_unary_func) -> mlx_closure;
        // compile.h
        fn mlx_compile_cache_new() -> mlx_compile_cache;
        fn mlx_compile_cache_free(cache: mlx_compile_cache) -> c_int;
        fn mlx_compile(res: *mut mlx_closure, fun: mlx_closure, shapeless: bool) -> c_int;
        fn mlx_detail_compile(
            res: *mut mlx_closure, fun: mlx_closure, fun_id: usize, shapeless: bool, constants: *const u64, constants_num: usize
        ) -> c_int;
        fn mlx_detail_compile_cache(res: *mut mlx_compile_cache) -> c_int;
        fn mlx_detail_compile_clear_cache(cache: mlx_compile_cache) -> c_int;
        fn mlx_detail_compile_erase(cache: mlx_compile_cache, fun_id: usize) -> c_int;
        fn mlx_disable_compile() -> c_int;
        fn mlx_enable_compile() -> c_int;
        fn mlx_set_compile_mode(mode: mlx_compile_mode) -> c_int;
        // memory.h
        fn mlx_clear_cache() -> c_int;
        fn mlx_get_active_memory(res: *mut usize) -> c_int;
        fn mlx_get_cache_memory(res: *mut usize) -> c_int;
        fn mlx_get_memory_limit(res: *mut usize) -> c_int;
        fn mlx_get_peak_memory(res: *mut usize) -> c_int;
        fn mlx_reset_peak_memory() -> c_int;
        fn mlx_set_cache_limit(res: *mut usize, limit: usize) -> c_int;
        fn mlx_set_memory_limit(res: *mut usize, limit: usize) -> c_int;
        fn mlx_set_wired_limit(res: *mut usize, limit: usize) -> c_int;
        // error.h
        fn mlx_set_error_handler(handler: mlx_error_handler_func, data: *mut c_void, dtor: mlx_dtor);
        // metal.h
        fn mlx_metal_get_metallib_path(res: *mut mlx_string) -> c_int;
        fn mlx_metal_is_available(res: *mut bool) -> c_int;
        fn mlx_metal_set_metallib_path(path: *const c_char) -> c_int;
        fn mlx_metal_start_capture(path: *const c_char) -> c_int;
        fn mlx_metal_stop_capture() -> c_int;
        // cuda.h
        fn mlx_cuda_is_available(res: *mut bool) -> c_int;
    }

    // Which buffers an array has; mlx-c marks these as internal.
    optional ARRAY_STATE {
        // array.h
        fn _mlx_array_is_available(res: *mut bool, arr: mlx_array) -> c_int;
        fn _mlx_array_wait(arr: mlx_array) -> c_int;
        fn _mlx_array_is_contiguous(res: *mut bool, arr: mlx_array) -> c_int;
        fn _mlx_array_is_row_contiguous(res: *mut bool, arr: mlx_array) -> c_int;
        fn _mlx_array_is_col_contiguous(res: *mut bool, arr: mlx_array) -> c_int;
    }

    // Came together in mlx-c 0.7.0.
    optional CLEAR_STREAMS {
        // vector.h
        fn mlx_vector_stream_new() -> mlx_vector_stream;
        fn mlx_vector_stream_set(vec: *mut mlx_vector_stream, src: mlx_vector_stream) -> c_int;
        fn mlx_vector_stream_free(vec: mlx_vector_stream) -> c_int;
        fn mlx_vector_stream_new_data(data: *const mlx_stream, size: usize) -> mlx_vector_stream;
        fn mlx_vector_stream_new_value(val: mlx_stream) -> mlx_vector_stream;
        fn mlx_vector_stream_set_data(vec: *mut mlx_vector_stream, data: *const mlx_stream, size: usize) -> c_int;
        fn mlx_vector_stream_set_value(vec: *mut mlx_vector_stream, val: mlx_stream) -> c_int;
        fn mlx_vector_stream_append_data(vec: mlx_vector_stream, data: *const mlx_stream, size: usize) -> c_int;
        fn mlx_vector_stream_append_value(vec: mlx_vector_stream, val: mlx_stream) -> c_int;
        fn mlx_vector_stream_size(vec: mlx_vector_stream) -> usize;
        fn mlx_vector_stream_get(res: *mut mlx_stream, vec: mlx_vector_stream, idx: usize) -> c_int;
        // stream.h
        fn mlx_stream_thread_local_new(dev: mlx_device) -> mlx_stream_thread_local;
        fn mlx_stream_thread_local_set(tls: *mut mlx_stream_thread_local, src: mlx_stream_thread_local) -> c_int;
        fn mlx_stream_thread_local_free(tls: mlx_stream_thread_local) -> c_int;
        fn mlx_stream_from_thread_local(res: *mut mlx_stream, tls: mlx_stream_thread_local) -> c_int;
        fn mlx_get_streams(res: *mut mlx_vector_stream) -> c_int;
        fn mlx_synchronize_default() -> c_int;
        fn mlx_synchronize_thread_local(tls: mlx_stream_thread_local) -> c_int;
        fn mlx_clear_streams() -> c_int;
    }
}
