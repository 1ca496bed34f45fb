//! Records of the `log` crate, on their way to the ONNX Runtime logger of the session that is being worked for.
//!
//! A callback makes its session's logger the current one of its thread; a record goes there if its severity is admitted.
//! Records of other threads have no reader and are dropped before they are formatted.
use super::api::{Api, c_string};
use crate::ffi::ort::types::{OrtLogger, OrtLoggingLevel};
use log::{Level, LevelFilter, Log, Metadata, Record};
use std::cell::Cell;

/// A logger of a host.
///
/// # Invariants
///
/// `raw` is null, which drops everything, or a logger of the host of `api`, alive wherever this value is used.
#[derive(Clone, Copy)]
pub(super) struct Logger {
    api: Api,
    raw: *const OrtLogger,
}

// SAFETY: the host's loggers may be called from any thread.
unsafe impl Send for Logger {}
// SAFETY: the host's loggers may be called from several threads at once.
unsafe impl Sync for Logger {}

thread_local! {
    static CURRENT: Cell<Option<Logger>> = const { Cell::new(None) };
}

impl Logger {
    /// # Safety
    /// 1. `raw` is null or a logger of the host of `api` that is alive wherever the result is used.
    pub(super) unsafe fn new(api: Api, raw: *const OrtLogger) -> Self {
        Self { api, raw }
    }

    /// Makes this the logger of the thread while `body` runs.
    pub(super) fn scope<T>(&self, body: impl FnOnce() -> T) -> T {
        struct Restore(Option<Logger>);
        impl Drop for Restore {
            fn drop(&mut self) {
                CURRENT.set(self.0);
            }
        }
        let _restore = Restore(CURRENT.replace(Some(*self)));
        body()
    }

    fn admits(&self, level: Level) -> bool {
        if self.raw.is_null() {
            return false;
        }
        let lowest = self
            .api
            .get(OrtLoggingLevel::ORT_LOGGING_LEVEL_FATAL, |out| {
                // SAFETY: the logger is alive (the type's invariant).
                unsafe { (self.api.table().Logger_GetLoggingSeverityLevel)(self.raw, out) }
            });
        lowest.is_ok_and(|lowest| severity(level).0 >= lowest.0)
    }

    fn write(&self, record: &Record<'_>) {
        let message = c_string(&format!("MLX: {}", record.args()));
        let file = c_string(record.file().unwrap_or_default());
        let function = c_string(record.target());
        let line = record
            .line()
            .and_then(|line| i32::try_from(line).ok())
            .unwrap_or(0);
        let severity = severity(record.level());
        // SAFETY: the logger is alive (the type's invariant); the strings are NUL-terminated and copied by the host.
        let status = unsafe {
            (self.api.table().Logger_LogMessage)(
                self.raw,
                severity,
                message.as_ptr(),
                file.as_ptr(),
                line,
                function.as_ptr(),
            )
        };
        // A log line that cannot be written has nowhere else to go.
        let _ = self.api.check(status);
    }
}

fn severity(level: Level) -> OrtLoggingLevel {
    match level {
        Level::Error => OrtLoggingLevel::ORT_LOGGING_LEVEL_ERROR,
        Level::Warn => OrtLoggingLevel::ORT_LOGGING_LEVEL_WARNING,
        Level::Info => OrtLoggingLevel::ORT_LOGGING_LEVEL_INFO,
        Level::Debug | Level::Trace => OrtLoggingLevel::ORT_LOGGING_LEVEL_VERBOSE,
    }
}

struct Forward;

impl Log for Forward {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        CURRENT
            .get()
            .is_some_and(|logger| logger.admits(metadata.level()))
    }

    fn log(&self, record: &Record<'_>) {
        if let Some(logger) = CURRENT.get()
            && logger.admits(record.level())
        {
            logger.write(record);
        }
    }

    fn flush(&self) {}
}

/// Sends the records of this library here from now on.
pub(super) fn install() {
    // A second registration finds it done.
    if log::set_logger(&Forward).is_ok() {
        log::set_max_level(LevelFilter::Debug);
    }
}
