//! Strings and the version, which are the same in every release of mlx-c: they are used before a library is accepted.
use super::Mlx;
use super::types::*;
use crate::ffi::library::c_library;
use std::ffi::{CStr, c_char, c_int};

c_library! {
    /// Function pointers of `string.h` and `version.h`.
    pub(crate) struct Strings in Mlx.strings;

    required {
        // string.h
        fn mlx_string_new() -> mlx_string;
        fn mlx_string_new_data(str: *const c_char) -> mlx_string;
        fn mlx_string_set(str: *mut mlx_string, src: mlx_string) -> c_int;
        fn mlx_string_data(str: mlx_string) -> *const c_char;
        fn mlx_string_free(str: mlx_string) -> c_int;
        // version.h
        fn mlx_version(str_: *mut mlx_string) -> c_int;
    }
}

impl Strings {
    /// MLX's version; `None` if the call fails or answers nothing readable.
    ///
    /// # Safety
    /// The table was filled from mlx-c's functions of these names.
    pub(super) unsafe fn version(&self) -> Option<String> {
        // SAFETY: takes nothing; the table's promise makes this mlx-c's function.
        let mut string = unsafe { (self.mlx_string_new)() };
        // SAFETY: `string` is a live handle made above, and the only reference to it.
        let status = unsafe { (self.mlx_version)(&raw mut string) };
        // A failed call may have left the handle empty, for which mlx_string_data reports an error, and that ends the process.
        let version = (status == 0).then(|| {
            // SAFETY: the call above succeeded, so `string` holds a string; the text belongs to it and is read before it is freed.
            unsafe { (self.mlx_string_data)(string) }
        });
        let version = version.filter(|text| !text.is_null()).map(|text| {
            // SAFETY: mlx-c returns `std::string::c_str()` of the live string: NUL-terminated and not written while it is read.
            let text = unsafe { CStr::from_ptr(text) };
            text.to_string_lossy().into_owned()
        });
        // SAFETY: the handle was made above, is freed once, and nothing borrows from it any more.
        unsafe { (self.mlx_string_free)(string) };
        version.filter(|text| !text.is_empty())
    }
}
