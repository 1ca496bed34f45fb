//! ONNX Runtime's loggers as logs of the `log` crate.
use super::api::{Api, c_string};
use crate::ffi::ort::types::{OrtLogger, OrtLoggingLevel};
use crate::log_scope;
use log::{Level, Log, Metadata, Record};
use std::sync::Arc;

/// A logger of a host; it drops records whose severity the host does not admit.
#[derive(Clone)]
pub(super) struct Logger(Arc<dyn Log>);

/// # Invariants
///
/// `raw` is null, which drops everything, or a logger of the host of `api`, alive wherever this value is used.
struct HostLogger {
    api: Api,
    raw: *const OrtLogger,
}

// SAFETY: the host's loggers may be called from any thread.
unsafe impl Send for HostLogger {}
// SAFETY: the host's loggers may be called from several threads at once.
unsafe impl Sync for HostLogger {}

impl Logger {
    /// # Safety
    /// 1. `raw` is null or a logger of the host of `api` that is alive wherever the result is used.
    pub(super) unsafe fn new(api: Api, raw: *const OrtLogger) -> Self {
        Self(Arc::new(HostLogger { api, raw }))
    }

    /// Makes this the log of the thread while `body` runs.
    pub(super) fn scope<T>(&self, body: impl FnOnce() -> T) -> T {
        log_scope::with(Some(self.0.clone()), body)
    }
}

impl HostLogger {
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

impl Log for HostLogger {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        self.admits(metadata.level())
    }

    fn log(&self, record: &Record<'_>) {
        self.write(record);
    }

    fn flush(&self) {}
}
