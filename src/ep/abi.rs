//! The C boundary: statuses, panics, and the objects that ONNX Runtime calls.
//!
//! This is the only file that makes or frees an `OrtStatus`.
use super::api::Api;
use crate::device::panicked;
use crate::error::{Error, Result};
use crate::ffi::ort::api::OrtApi;
use crate::ffi::ort::types::{OrtChar, OrtErrorCode, OrtStatus};
use std::ffi::{CStr, CString, OsStr, c_char};
use std::os::unix::ffi::OsStrExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;

/// What every text that reaches a user begins with.
const PREFIX: &str = "MLX EP: ";

fn code_of(error: &Error) -> OrtErrorCode {
    match error.root() {
        Error::InvalidArgument(_) => OrtErrorCode::ORT_INVALID_ARGUMENT,
        Error::NotImplemented(_) => OrtErrorCode::ORT_NOT_IMPLEMENTED,
        // A status of ONNX Runtime goes back with its own code; 0 would mean success.
        Error::Ort { code, .. } if *code > 0 => OrtErrorCode(*code),
        // Never ORT_EP_FAIL: ONNX Runtime's Python takes it as a wish to go on with the CPU, for good and in silence.
        Error::Internal(_)
        | Error::Ort { .. }
        | Error::Load(_)
        | Error::Mlx { .. }
        | Error::Unavailable(_)
        | Error::Node { .. } => OrtErrorCode::ORT_FAIL,
    }
}

/// The text of a status: with our prefix once, and without NUL bytes, which would end it.
fn text_of(error: &Error) -> CString {
    let text = error.to_string().replace('\0', "\\0");
    let text = if text.starts_with(PREFIX) {
        text
    } else {
        format!("{PREFIX}{text}")
    };
    CString::new(text).unwrap_or_default()
}

type CreateStatus = unsafe extern "system" fn(OrtErrorCode, *const c_char) -> *mut OrtStatus;

/// Makes a status from the first slot of a host's table, which is the same in every version.
///
/// # Safety
/// 1. `table` points to the `OrtApi` of a host, of any version.
pub(super) unsafe fn status(table: *const OrtApi, error: &Error) -> *mut OrtStatus {
    let text = text_of(error);
    // SAFETY: `CreateStatus` is the first slot of the table of every version (1); so it is inside even a short one.
    let create = unsafe { table.cast::<CreateStatus>().read() };
    // SAFETY: the text is NUL-terminated; ONNX Runtime copies it.
    unsafe { create(code_of(error), text.as_ptr()) }
}

impl Api {
    /// Consumes a status that ONNX Runtime returned; it is freed here, once.
    pub(super) fn check(&self, status: *mut OrtStatus) -> Result<()> {
        if status.is_null() {
            return Ok(());
        }
        let table = self.table();
        // SAFETY: `status` is not null, so it is one of ONNX Runtime's, and it was not freed.
        let code = unsafe { (table.GetErrorCode)(status) };
        // SAFETY: `status` is not null, so it is one of ONNX Runtime's, and it was not freed.
        let message = unsafe { (table.GetErrorMessage)(status) };
        let message = text(message);
        // SAFETY: `status` came to this function to be consumed: nobody else frees or reads it.
        unsafe { (table.ReleaseStatus)(status) };
        Err(Error::Ort {
            code: code.0,
            message,
        })
    }

    /// Runs the body of a callback. An error or a panic becomes a status that the caller owns.
    pub(super) fn guard(&self, body: impl FnOnce() -> Result<()>) -> *mut OrtStatus {
        let error = match catch_unwind(AssertUnwindSafe(body)) {
            Ok(Ok(())) => return std::ptr::null_mut(),
            Ok(Err(error)) => error,
            Err(panic) => panicked(&*panic),
        };
        // SAFETY: the table of this `Api` is a host's.
        unsafe { status(self.table(), &error) }
    }
}

/// The status of a callback that got no object to work on.
pub(super) fn null_object(what: &str) -> *mut OrtStatus {
    let Some(api) = Api::any() else {
        return std::ptr::null_mut();
    };
    api.guard(|| Err(Error::invalid(format!("ONNX Runtime passed no {what}"))))
}

/// Runs the body of a callback that cannot report a failure; `default` stands for a panic.
pub(super) fn quiet<T>(default: T, body: impl FnOnce() -> T) -> T {
    catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|panic| {
        log::error!("{}", panicked(&*panic));
        default
    })
}

/// Copies a C string of ONNX Runtime; null is empty.
pub(super) fn text(raw: *const c_char) -> String {
    if raw.is_null() {
        return String::new();
    }
    // SAFETY: ONNX Runtime's strings are NUL-terminated and live at least until the next call into it; this copies at once.
    unsafe { CStr::from_ptr(raw) }
        .to_string_lossy()
        .into_owned()
}

/// An array of ONNX Runtime; a null one is empty.
///
/// # Safety
/// 1. `first` is null or points to `count` elements that live and do not change for `'a`.
pub(super) unsafe fn array<'a, T>(first: *const T, count: usize) -> &'a [T] {
    if first.is_null() {
        return &[];
    }
    // SAFETY: not null, so there are `count` elements for 'a (1).
    unsafe { std::slice::from_raw_parts(first, count) }
}

/// Copies a path of ONNX Runtime, whose bytes need not be text; null is empty.
pub(super) fn path(raw: *const OrtChar) -> PathBuf {
    if raw.is_null() {
        return PathBuf::new();
    }
    // SAFETY: ONNX Runtime's strings are NUL-terminated and live at least until the next call into it; this copies at once.
    let bytes = unsafe { CStr::from_ptr(raw) }.to_bytes();
    PathBuf::from(OsStr::from_bytes(bytes))
}

/// An object that ONNX Runtime holds by its table of callbacks. The body is ours.
///
/// # Invariants
///
/// The table comes first, so a pointer to it is a pointer to the object.
#[repr(C)]
pub(super) struct Interface<V, B> {
    table: V,
    body: B,
}

impl<V: 'static, B: Send + Sync + 'static> Interface<V, B> {
    /// Gives an object to ONNX Runtime; [`Interface::release`] takes it back.
    pub(super) fn hand_out(table: V, body: B) -> *mut V {
        let object = Box::new(Self { table, body });
        Box::into_raw(object).cast()
    }

    /// The body behind the table that a callback got.
    ///
    /// # Safety
    /// 1. `this` is null or came from `hand_out` of these types.
    /// 2. It is not released within `'a`.
    pub(super) unsafe fn body<'a>(this: *const V) -> Option<&'a B> {
        // SAFETY: a table that `hand_out` gave is the start of an object (1), which lives for 'a (2); nobody has a mutable reference.
        let object = unsafe { this.cast::<Self>().as_ref() };
        object.map(|object| &object.body)
    }

    /// Takes an object back and drops it; null is ignored.
    ///
    /// # Safety
    /// 1. `this` is null or came from `hand_out` of these types.
    /// 2. Nobody uses it any more.
    pub(super) unsafe fn release(this: *mut V) {
        if this.is_null() {
            return;
        }
        // SAFETY: `hand_out` made it as a box (1), and this is its only use (2).
        drop(unsafe { Box::from_raw(this.cast::<Self>()) });
    }
}
