//! Whose log the records of a thread belong to.
//!
//! A callback of ONNX Runtime names the log of its session for as long as it lasts; a job that it hands over to the MLX
//! thread takes the log along. Records of other threads have no reader and are dropped before they are formatted.
use log::{LevelFilter, Log, Metadata, Record};
use std::cell::RefCell;
use std::sync::Arc;

thread_local! {
    static CURRENT: RefCell<Option<Arc<dyn Log>>> = const { RefCell::new(None) };
}

/// The log of this thread.
pub(crate) fn current() -> Option<Arc<dyn Log>> {
    CURRENT.with_borrow(Clone::clone)
}

/// Makes `log` that of the thread while `body` runs.
pub(crate) fn with<T>(log: Option<Arc<dyn Log>>, body: impl FnOnce() -> T) -> T {
    struct Restore(Option<Arc<dyn Log>>);
    impl Drop for Restore {
        fn drop(&mut self) {
            CURRENT.set(self.0.take());
        }
    }
    let _restore = Restore(CURRENT.replace(log));
    body()
}

struct Forward;

impl Log for Forward {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        current().is_some_and(|log| log.enabled(metadata))
    }

    fn log(&self, record: &Record<'_>) {
        if let Some(log) = current().filter(|log| log.enabled(record.metadata())) {
            log.log(record);
        }
    }

    fn flush(&self) {}
}

/// Sends the records of this library to the log of the thread that makes them, from now on.
pub(crate) fn install() {
    // A second registration finds it done.
    if log::set_logger(&Forward).is_ok() {
        log::set_max_level(LevelFilter::Debug);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::{on_thread, testing};
    use std::sync::Mutex;

    #[derive(Default)]
    struct Kept(Mutex<Vec<String>>);

    impl Log for Kept {
        fn enabled(&self, metadata: &Metadata<'_>) -> bool {
            metadata.level() <= log::Level::Info
        }
        fn log(&self, record: &Record<'_>) {
            self.0.lock().unwrap().push(record.args().to_string());
        }
        fn flush(&self) {}
    }

    #[test]
    fn records_go_to_the_log_of_the_caller_also_from_the_mlx_thread() {
        testing::open();
        install();
        let (outer, inner) = (Arc::new(Kept::default()), Arc::new(Kept::default()));
        log::warn!("nobody's");
        with(Some(outer.clone()), || {
            log::info!("one");
            log::debug!("not admitted");
            with(Some(inner.clone()), || {
                on_thread(|_| {
                    log::warn!("two");
                    Ok(())
                })
                .unwrap();
            });
            on_thread(|_| -> crate::error::Result<()> { panic!("in a job") }).unwrap_err();
            log::error!("three");
        });
        on_thread(|_| {
            log::warn!("nobody's");
            Ok(())
        })
        .unwrap();
        assert_eq!(*outer.0.lock().unwrap(), ["one", "three"]);
        assert_eq!(*inner.0.lock().unwrap(), ["two"]);
    }
}
