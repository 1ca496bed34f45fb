//! What belongs to the MLX thread and is held elsewhere: it goes back there when it is dropped.
use super::thread::{self, FORKED, Thread, post};
use crate::error::{Error, Result};
use std::cell::OnceCell;
use std::mem::ManuallyDrop;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A value that only jobs on the MLX thread can reach. Dropping it posts the value there without waiting.
///
/// # Invariants
///
/// `value` is set, read and taken on the MLX thread of `generation` only, except for the drop, which moves it there.
pub(crate) struct OnThread<T: 'static> {
    value: ManuallyDrop<OnceCell<T>>,
    generation: AtomicUsize,
    /// Whether the MLX thread is woken to free the value.
    urgent: bool,
}

// SAFETY: by the invariant no other thread reaches the value.
unsafe impl<T> Send for OnThread<T> {}
// SAFETY: by the invariant no other thread reaches the value.
unsafe impl<T> Sync for OnThread<T> {}

impl<T> OnThread<T> {
    pub(crate) fn new(value: T, thread: &Thread) -> Self {
        Self::of_generation(value, thread.generation, true)
    }

    /// As [`Self::new`]; a value that is not urgent is freed with the next job.
    pub(super) fn of_generation(value: T, generation: usize, urgent: bool) -> Self {
        let value = ManuallyDrop::new(OnceCell::from(value));
        Self {
            value,
            generation: AtomicUsize::new(generation),
            urgent,
        }
    }

    /// Without a value until [`Self::get_or_default`].
    pub(crate) const fn empty() -> Self {
        Self {
            value: ManuallyDrop::new(OnceCell::new()),
            generation: AtomicUsize::new(0),
            urgent: true,
        }
    }

    pub(crate) fn get(&self, thread: &Thread) -> Result<&T> {
        if self.generation.load(Ordering::Acquire) != thread.generation {
            return Err(FORKED);
        }
        self.value
            .get()
            .ok_or_else(|| Error::internal("a value of the MLX thread is missing"))
    }
}

impl<T: Default> OnThread<T> {
    pub(crate) fn get_or_default(&self, thread: &Thread) -> Result<&T> {
        let made = self.generation.compare_exchange(
            0,
            thread.generation,
            Ordering::AcqRel,
            Ordering::Acquire,
        );
        if made.is_err_and(|generation| generation != thread.generation) {
            return Err(FORKED);
        }
        Ok(self.value.get_or_init(T::default))
    }
}

impl<T> Drop for OnThread<T> {
    fn drop(&mut self) {
        /// Moves a value that is not `Send` to the thread it belongs to.
        struct Carried<T>(ManuallyDrop<T>);
        // SAFETY: the value goes back to the MLX thread, where it was made.
        unsafe impl<T> Send for Carried<T> {}
        impl<T> Carried<T> {
            fn release(mut self) {
                // SAFETY: called once, on the MLX thread; a `Carried` that is not released leaks its value.
                unsafe { ManuallyDrop::drop(&mut self.0) };
            }
        }

        let generation = *self.generation.get_mut();
        if generation == 0 {
            return;
        }
        // SAFETY: `self` is being dropped, so the cell is not used again.
        let cell = unsafe { ManuallyDrop::take(&mut self.value) };
        if let Some(value) = cell.into_inner() {
            let carried = Carried(ManuallyDrop::new(value));
            post(
                generation,
                self.urgent,
                Box::new(move |_| carried.release()),
            );
        }
    }
}

/// One session of the process. When the last one goes, MLX gives the memory back that it keeps for reuse.
pub(crate) struct Session(());

static SESSIONS: AtomicUsize = AtomicUsize::new(0);

impl Session {
    pub(crate) fn new() -> Self {
        SESSIONS.fetch_add(1, Ordering::Relaxed);
        Self(())
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        if SESSIONS.fetch_sub(1, Ordering::Relaxed) == 1
            && let Some(generation) = thread::generation()
        {
            // Behind the arrays of the session, which were posted before.
            let clear = |thread: &Thread| thread.runtime.clear_cache();
            post(generation, true, Box::new(clear));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::{on_thread, testing};
    use std::time::Duration;

    #[test]
    fn values_are_dropped_on_the_mlx_thread() {
        struct Witness(std::sync::mpsc::Sender<std::thread::ThreadId>);
        impl Drop for Witness {
            fn drop(&mut self) {
                let _ = self.0.send(std::thread::current().id());
            }
        }
        testing::open();
        let (tx, rx) = std::sync::mpsc::channel();
        let value = on_thread(|t| Ok(OnThread::new(Witness(tx), t))).unwrap();
        let id = on_thread(|_| Ok(std::thread::current().id())).unwrap();
        drop(value);
        assert_eq!(rx.recv_timeout(Duration::from_secs(5)).unwrap(), id);
    }
}
