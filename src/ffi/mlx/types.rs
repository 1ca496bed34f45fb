//! Types of the mlx-c headers: handles passed by value, open enums, optional values and callbacks.
#![allow(non_camel_case_types, reason = "these are the names of the C headers")]
use std::ffi::{c_char, c_int, c_uint, c_void};
use std::ptr::null_mut;

/// Handles: a struct around one pointer, passed by value. A null pointer is the empty handle.
macro_rules! handles {
    ($( $name:ident; )*) => {
        $(
            #[repr(C)]
            #[derive(Debug, Clone, Copy, PartialEq, Eq)]
            pub(crate) struct $name {
                pub(crate) ctx: *mut c_void,
            }
            impl $name {
                /// What an out parameter is initialised with, and what stands for an absent argument.
                pub(crate) const EMPTY: Self = Self { ctx: null_mut() };
            }
            static_assertions::const_assert_eq!(size_of::<$name>(), size_of::<*mut c_void>());
            static_assertions::assert_eq_align!($name, *mut c_void);
        )*
        #[cfg(test)]
        pub(crate) const HANDLES: &[&str] = &[$(stringify!($name)),*];
    };
}

handles! {
    mlx_string;
    mlx_array;
    mlx_vector_array;
    mlx_vector_string;
    mlx_vector_stream;
    mlx_device;
    mlx_device_info;
    mlx_stream;
    mlx_stream_thread_local;
    mlx_closure;
    mlx_compile_cache;
    mlx_fast_cuda_kernel_config;
    mlx_fast_cuda_kernel;
    mlx_fast_metal_kernel_config;
    mlx_fast_metal_kernel;
}

/// C enums whose value may be one that is not listed here.
macro_rules! open_enums {
    ($( $(#[$doc:meta])* $name:ident { $( $variant:ident = $value:literal, )* } )*) => {
        $(
            $(#[$doc])*
            #[repr(transparent)]
            #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
            pub(crate) struct $name(pub(crate) c_uint);
            impl $name {
                $( pub(crate) const $variant: Self = Self($value); )*
            }
            static_assertions::const_assert_eq!(size_of::<$name>(), size_of::<c_int>());
        )*
        #[cfg(test)]
        pub(crate) const ENUMS: &[(&str, &[(&str, c_uint)])] =
            &[$( (stringify!($name), &[$( (stringify!($variant), $value) ),*]) ),*];
    };
}

open_enums! {
    /// Element type of an array.
    mlx_dtype {
        MLX_BOOL = 0,
        MLX_UINT8 = 1,
        MLX_UINT16 = 2,
        MLX_UINT32 = 3,
        MLX_UINT64 = 4,
        MLX_INT8 = 5,
        MLX_INT16 = 6,
        MLX_INT32 = 7,
        MLX_INT64 = 8,
        MLX_FLOAT16 = 9,
        MLX_FLOAT32 = 10,
        MLX_FLOAT64 = 11,
        MLX_BFLOAT16 = 12,
        MLX_COMPLEX64 = 13,
    }
    /// Kind of a device.
    mlx_device_type {
        MLX_CPU = 0,
        MLX_GPU = 1,
    }
    /// How much `mlx_compile` does.
    mlx_compile_mode {
        MLX_COMPILE_MODE_DISABLED = 0,
        MLX_COMPILE_MODE_NO_SIMPLIFY = 1,
        MLX_COMPILE_MODE_NO_FUSE = 2,
        MLX_COMPILE_MODE_ENABLED = 3,
    }
    /// Which direction of a Fourier transform is scaled.
    mlx_fft_norm {
        MLX_FFT_NORM_BACKWARD = 0,
        MLX_FFT_NORM_ORTHO = 1,
        MLX_FFT_NORM_FORWARD = 2,
    }
}

/// Values with a flag, passed by value.
macro_rules! optionals {
    ($( $name:ident = $value:ty, empty $empty:expr; )*) => {
        $(
            #[repr(C)]
            #[derive(Debug, Clone, Copy, PartialEq)]
            pub(crate) struct $name {
                pub(crate) value: $value,
                pub(crate) has_value: bool,
            }
            impl $name {
                pub(crate) const NONE: Self = Self { value: $empty, has_value: false };
                pub(crate) const fn some(value: $value) -> Self {
                    Self { value, has_value: true }
                }
            }
            static_assertions::const_assert_eq!(size_of::<$name>(), 8);
            static_assertions::const_assert_eq!(align_of::<$name>(), 4);
            static_assertions::const_assert_eq!(std::mem::offset_of!($name, has_value), 4);
        )*
        #[cfg(test)]
        pub(crate) const OPTIONALS: &[(&str, &str)] = &[$( (stringify!($name), stringify!($value)) ),*];
    };
}

optionals! {
    mlx_optional_int = c_int, empty 0;
    mlx_optional_float = f32, empty 0.0;
    mlx_optional_dtype = mlx_dtype, empty mlx_dtype::MLX_BOOL;
}

/// `float _Complex`; only ever behind a pointer.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct mlx_complex64_t {
    pub(crate) re: f32,
    pub(crate) im: f32,
}
static_assertions::const_assert_eq!(size_of::<mlx_complex64_t>(), 8);
static_assertions::const_assert_eq!(align_of::<mlx_complex64_t>(), 4);

/// Callbacks. `None` is the null pointer.
macro_rules! callbacks {
    ($( $(#[$doc:meta])* $name:ident = fn($($argument:ty),*) $(-> $result:ty)?; )*) => {
        $( $(#[$doc])* pub(crate) type $name = Option<unsafe extern "C" fn($($argument),*) $(-> $result)?>; )*
        #[cfg(test)]
        pub(crate) const CALLBACKS: &[(&str, &[&str], &str)] =
            &[$( (stringify!($name), &[$(stringify!($argument)),*], concat!($(stringify!($result))?)) ),*];
    };
}

callbacks! {
    /// Called with a payload when its owner is done with it, on any thread.
    mlx_dtor = fn(*mut c_void);
    /// Called with each error message.
    mlx_error_handler_func = fn(*const c_char, *mut c_void);
    /// A function from arrays to arrays; non-zero means failure.
    mlx_closure_func = fn(*mut mlx_vector_array, mlx_vector_array) -> c_int;
    /// The same with a payload.
    mlx_closure_payload_func = fn(*mut mlx_vector_array, mlx_vector_array, *mut c_void) -> c_int;
    /// A function from one array to one array.
    mlx_closure_unary_func = fn(*mut mlx_array, mlx_array) -> c_int;
}
