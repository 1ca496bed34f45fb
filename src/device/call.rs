//! Where the return code of an mlx-c call becomes a `Result`.
use crate::error::{Error, Result};
use crate::ffi::mlx::Mlx;
use std::cell::RefCell;
use std::ffi::{CStr, c_char, c_int, c_void};

thread_local! {
    static MESSAGE: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Keeps the message for the failing call's return. mlx-c's own handler would end the process.
///
/// # Safety
///
/// 1. `message` is null or a NUL-terminated string that lives for this call, as mlx-c passes it.
unsafe extern "C" fn keep_message(message: *const c_char, _data: *mut c_void) {
    let text = if message.is_null() {
        String::new()
    } else {
        // SAFETY: not null, so a NUL-terminated string by precondition 1.
        let text = unsafe { CStr::from_ptr(message) };
        text.to_string_lossy().into_owned()
    };
    // The thread-local may be gone while its thread ends; the message is lost then.
    let _ = MESSAGE.try_with(|m| m.replace(Some(text)));
}

/// Installs our error handler; must come before any other call that can fail.
pub(super) fn install_handler(mlx: &Mlx) {
    // SAFETY: the handler is a static function without data, and needs no destructor.
    unsafe { mlx.mlx_set_error_handler(Some(keep_message), std::ptr::null_mut(), None) };
}

/// The failure of `call`, with what MLX said on this thread.
#[cold]
pub(super) fn failure(call: &'static str) -> Error {
    let message = MESSAGE
        .with(RefCell::take)
        .unwrap_or_else(|| "MLX gave no reason".into());
    // mlx-c appends " at FILE:LINE" of its own source, which helps nobody.
    let message = match message.rfind(" at ") {
        Some(end) if message[end..].contains(".cpp:") => message[..end].to_owned(),
        _ => message,
    };
    Error::Mlx { call, message }
}

/// `Ok` for zero.
pub(super) fn check(call: &'static str, code: c_int) -> Result<()> {
    if code == 0 {
        Ok(())
    } else {
        Err(failure(call))
    }
}
