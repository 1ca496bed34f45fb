//! The one thread on which all MLX calls of the process happen, and the hand-over to it.
//!
//! MLX keeps streams, encoders and its compile cache per thread: an array that one thread made lazily fails on
//! another, and a closure compiled on one returns stale results on another. So callers on any thread hand over a
//! job and wait.
use super::platform::Pool;
use super::{DeviceKind, Emit, Runtime, platform};
use crate::error::{Error, Result};
use crate::log_scope;
use log::Log;
use std::any::Any;
use std::cell::{Cell, OnceCell};
use std::collections::VecDeque;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long either side of a hand-over looks for the other before it sleeps. Waking a sleeping core costs 30-45 us
/// in a small virtual machine, so that is about how late a caller comes back that had to be woken.
///
/// Looking pays only where jobs come close together: after a pause it would keep a core from the threads on which MLX
/// evaluates. So the MLX thread looks if its last job came within this time, and a caller looks if it found the MLX
/// thread awake. Both yield while they look, because there may be fewer cores than threads.
const LOOK: Duration = Duration::from_micros(50);

/// How long process exit waits for the job in progress.
const EXIT_PATIENCE: Duration = Duration::from_secs(10);

const EXITING: Error = Error::Unavailable("the process is exiting: MLX takes no more work");
pub(super) const FORKED: Error = Error::Unavailable(
    "this process was forked after MLX had run in its parent, and MLX does not survive a fork: load the model \
     and run it in the child only, or start workers with spawn instead of fork",
);

/// What a job sees: the devices of the MLX thread.
pub(crate) struct Thread {
    pub(super) runtime: &'static Runtime,
    /// Differs between the threads of a process and its forked children.
    pub(super) generation: usize,
    cpu: OnceCell<Emit>,
    gpu: OnceCell<Emit>,
    _thread_bound: PhantomData<*const ()>,
}

impl Thread {
    /// The operations on a device.
    pub(crate) fn emit(&self, kind: DeviceKind) -> Result<&Emit> {
        let cell = match kind {
            DeviceKind::Cpu => &self.cpu,
            DeviceKind::Gpu => &self.gpu,
        };
        if let Some(emit) = cell.get() {
            return Ok(emit);
        }
        let emit = Emit::new(self.runtime, kind, self.generation)?;
        Ok(cell.get_or_init(|| emit))
    }
}

/// A job on its way: a pointer to the caller's frame, which waits for it, or an owned box.
enum Job {
    Waiting(WaitingJob),
    Owned(Box<dyn FnOnce(&Thread) + Send>),
}

struct WaitingJob {
    frame: *const (),
    run: unsafe fn(*const (), Option<&Thread>),
}

// SAFETY: the frame is a `Frame<F, T>` with `F: Send` and `T: Send`, which the caller keeps until it is done.
unsafe impl Send for WaitingJob {}

struct Queue {
    state: Mutex<State>,
    wake: Condvar,
    /// Jobs in the queue, readable without the lock.
    pending: AtomicUsize,
}

#[derive(Default)]
struct State {
    jobs: VecDeque<Job>,
    /// When the last job came for which a caller waits, until the MLX thread took note of it.
    pushed: Option<Instant>,
    /// The MLX thread waits for `wake`.
    asleep: bool,
    closed: bool,
    stopped: bool,
}

struct Worker {
    pid: u32,
    generation: usize,
    queue: Queue,
}

static WORKER: AtomicPtr<Worker> = AtomicPtr::new(std::ptr::null_mut());
static STARTING: Mutex<()> = Mutex::new(());
static GENERATIONS: AtomicUsize = AtomicUsize::new(1);
/// The process in which MLX first evaluated something; 0 before.
static EVALUATED_IN: AtomicU32 = AtomicU32::new(0);

thread_local! {
    static HERE: Cell<*const Thread> = const { Cell::new(std::ptr::null()) };
}

/// Runs `job` on the MLX thread and waits for it. A panic in it becomes an error; the thread lives on.
pub(crate) fn on_thread<T: Send>(job: impl FnOnce(&Thread) -> Result<T> + Send) -> Result<T> {
    let here = HERE.get();
    if !here.is_null() {
        // SAFETY: set by the MLX thread to its own `Thread`, which outlives all jobs; only this thread sees it.
        return job(unsafe { &*here });
    }
    let worker = worker()?;
    let frame = Frame::new(job);
    let awake = worker.queue.push(Job::Waiting(WaitingJob {
        frame: (&raw const frame).cast(),
        run: frame.runner(),
    }))?;
    frame.wait(awake)
}

/// Lets the MLX thread run `job` some time, without waiting. Dropped when the process is exiting.
pub(super) fn post(generation: usize, urgent: bool, job: Box<dyn FnOnce(&Thread) + Send>) {
    // A forked child owns copies of its parent's arrays, which are the parent's to free, and of its parent's queue,
    // whose lock may have been held when the process forked.
    let pid = std::process::id();
    if let Some(worker) = current().filter(|w| w.generation == generation && w.pid == pid) {
        worker.queue.post(job, urgent);
    }
}

/// The caller's side of a job.
struct Frame<F, T> {
    job: Cell<Option<F>>,
    result: Cell<Option<Result<T>>>,
    done: AtomicBool,
    caller: std::thread::Thread,
    /// The log of the caller, which the job takes along.
    log: Cell<Option<Arc<dyn Log>>>,
}

impl<T: Send, F: FnOnce(&Thread) -> Result<T> + Send> Frame<F, T> {
    fn new(job: F) -> Self {
        Self {
            job: Cell::new(Some(job)),
            result: Cell::new(None),
            done: AtomicBool::new(false),
            caller: std::thread::current(),
            log: Cell::new(log_scope::current()),
        }
    }

    fn runner(&self) -> unsafe fn(*const (), Option<&Thread>) {
        Self::run
    }

    /// Runs the job of a frame, or cancels it without a thread.
    ///
    /// # Safety
    ///
    /// 1. `frame` points to a live `Frame<F, T>` that was not run before.
    unsafe fn run(frame: *const (), thread: Option<&Thread>) {
        // SAFETY: precondition 1; the caller waits for `done` before the frame goes.
        let frame = unsafe { &*frame.cast::<Self>() };
        let result = match (thread, frame.job.take()) {
            (Some(thread), Some(job)) => {
                let body = || log_scope::with(frame.log.take(), || job(thread));
                catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|panic| Err(panicked(&*panic)))
            }
            _ => Err(EXITING),
        };
        frame.result.set(Some(result));
        let caller = frame.caller.clone();
        // The frame may be gone as soon as this store is seen.
        frame.done.store(true, Ordering::Release);
        caller.unpark();
    }

    /// The result; `awake` says whether the MLX thread needs no waking.
    fn wait(&self, awake: bool) -> Result<T> {
        let done = || self.done.load(Ordering::Acquire);
        if awake {
            look(done);
        }
        while !done() {
            std::thread::park();
        }
        self.result.take().unwrap_or(Err(EXITING))
    }
}

/// The error of a caught panic.
pub(crate) fn panicked(panic: &(dyn Any + Send)) -> Error {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    Error::internal(format!("panic: {}", text.unwrap_or("no message")))
}

/// Looks for a short while whether something has happened.
fn look(happened: impl Fn() -> bool) {
    let start = Instant::now();
    while !happened() && start.elapsed() < LOOK {
        std::thread::yield_now();
    }
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Queues a job for which a caller waits, and says whether the MLX thread was awake.
    fn push(&self, job: Job) -> Result<bool> {
        let mut state = self.lock();
        if state.closed {
            return Err(EXITING);
        }
        state.jobs.push_back(job);
        state.pushed = Some(Instant::now());
        Ok(self.announce(state))
    }

    /// Lets the MLX thread see the last job; whether it was awake.
    fn announce(&self, state: MutexGuard<'_, State>) -> bool {
        self.pending.fetch_add(1, Ordering::Release);
        let asleep = state.asleep;
        drop(state);
        if asleep {
            self.wake.notify_one();
        }
        !asleep
    }

    fn post(&self, job: Box<dyn FnOnce(&Thread) + Send>, urgent: bool) {
        let mut state = self.lock();
        if state.closed {
            // What the box owns are MLX handles: freeing them here would be a call from another thread.
            let _leaked = ManuallyDrop::new(job);
            return;
        }
        state.jobs.push_back(Job::Owned(job));
        if urgent {
            self.announce(state);
        }
    }

    /// The next job; `None` when the queue is closed. Sleeps while there is no urgent one.
    ///
    /// `close` says whether jobs come close together: whether this call should look before it sleeps, and then
    /// whether it should have.
    fn next(&self, close: &mut bool) -> Option<Job> {
        let start = Instant::now();
        if *close {
            look(|| self.pending.load(Ordering::Acquire) != 0);
        }
        let mut state = self.lock();
        while !state.closed && self.pending.load(Ordering::Acquire) == 0 {
            state.asleep = true;
            state = self
                .wake
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
        state.asleep = false;
        if state.closed {
            return None;
        }
        if let Some(pushed) = state.pushed.take() {
            *close = pushed.saturating_duration_since(start) < LOOK;
        }
        let job = state.jobs.pop_front();
        if state.jobs.is_empty() {
            self.pending.store(0, Ordering::Release);
        }
        job
    }
}

/// Of the MLX thread that was started last; `None` before the first.
pub(super) fn generation() -> Option<usize> {
    current().map(|worker| worker.generation)
}

fn current() -> Option<&'static Worker> {
    // SAFETY: null, or a leaked `Worker` that is never freed.
    unsafe { WORKER.load(Ordering::Acquire).as_ref() }
}

/// The worker of this process, started when there is none.
fn worker() -> Result<&'static Worker> {
    let pid = std::process::id();
    if let Some(worker) = current().filter(|w| w.pid == pid) {
        return Ok(worker);
    }
    let evaluated_in = EVALUATED_IN.load(Ordering::Acquire);
    if evaluated_in != 0 && evaluated_in != pid {
        return Err(FORKED);
    }
    let _starting = STARTING.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(worker) = current().filter(|w| w.pid == pid) {
        return Ok(worker);
    }
    let runtime = super::runtime()?;
    let worker: &'static Worker = Box::leak(Box::new(Worker {
        pid,
        generation: GENERATIONS.fetch_add(1, Ordering::Relaxed),
        queue: Queue {
            state: Mutex::default(),
            wake: Condvar::new(),
            pending: AtomicUsize::new(0),
        },
    }));
    let body = move || work(worker, runtime);
    let spawned = std::thread::Builder::new().name("mlx".into()).spawn(body);
    spawned.map_err(|e| Error::internal(format!("cannot start the MLX thread: {e}")))?;
    WORKER.store(std::ptr::from_ref(worker).cast_mut(), Ordering::Release);
    Ok(worker)
}

fn work(worker: &'static Worker, runtime: &'static Runtime) {
    platform::prefer_responsiveness();
    let thread = ManuallyDrop::new(Thread {
        runtime,
        generation: worker.generation,
        cpu: OnceCell::new(),
        gpu: OnceCell::new(),
        _thread_bound: PhantomData,
    });
    HERE.set(&raw const *thread);
    let pools = platform::pools();
    let mut close = false;
    while let Some(job) = worker.queue.next(&mut close) {
        let _pool = Pool::push(pools);
        match job {
            // SAFETY: the frame's owner waits until it is done, and each job leaves the queue once.
            Job::Waiting(job) => unsafe { (job.run)(job.frame, Some(&thread)) },
            Job::Owned(job) => {
                if catch_unwind(AssertUnwindSafe(|| job(&thread))).is_err() {
                    log::error!("a panic while MLX arrays were freed");
                }
            }
        }
    }
    // Closed: the process is exiting. Callers that wait are told, MLX lets go of its streams, and the thread
    // sleeps until the process is gone: ending it would run MLX's thread-local destructors.
    for job in worker.queue.lock().jobs.drain(..) {
        match job {
            // SAFETY: the frame's owner waits until it is done, and each job leaves the queue once.
            Job::Waiting(job) => unsafe { (job.run)(job.frame, None) },
            Job::Owned(job) => {
                let _leaked = ManuallyDrop::new(job);
            }
        }
    }
    runtime.clear_streams();
    worker.queue.lock().stopped = true;
    worker.queue.wake.notify_all();
    loop {
        std::thread::park();
    }
}

/// Notes that MLX evaluates for the first time on a device. The exit handler is registered *after* that, because
/// handlers run in reverse order and must run before MLX's own statics go.
pub(super) fn first_evaluation() {
    EVALUATED_IN.store(std::process::id(), Ordering::Release);
    // SAFETY: `stop_at_exit` is a plain function that stays loaded: our library pins itself.
    unsafe { libc::atexit(stop_at_exit) };
}

/// Lets the job in progress finish and stops the thread. An evaluation that runs while the process's statics are
/// destroyed hangs or crashes.
extern "C" fn stop_at_exit() {
    let Some(worker) = current().filter(|w| w.pid == std::process::id()) else {
        return;
    };
    if !HERE.get().is_null() {
        return;
    }
    let queue = &worker.queue;
    let mut state = queue.lock();
    state.closed = true;
    queue.wake.notify_all();
    let deadline = Instant::now() + EXIT_PATIENCE;
    while !state.stopped {
        let Some(left) = deadline.checked_duration_since(Instant::now()) else {
            return;
        };
        state = queue
            .wake
            .wait_timeout(state, left)
            .unwrap_or_else(PoisonError::into_inner)
            .0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::testing;
    use std::sync::atomic::AtomicI32;

    #[test]
    fn a_panic_in_a_job_is_an_error_and_the_thread_lives_on() {
        testing::open();
        let result: Result<()> = on_thread(|_| panic!("boom {}", 7));
        assert_eq!(
            result.unwrap_err().to_string(),
            "internal error, please report it: panic: boom 7"
        );
        assert_eq!(on_thread(|_| Ok(3)).unwrap(), 3);
    }

    #[test]
    fn jobs_of_many_threads_all_run_on_one() {
        testing::open();
        let id = on_thread(|_| Ok(std::thread::current().id())).unwrap();
        let count = AtomicI32::new(0);
        std::thread::scope(|s| {
            for _ in 0..8 {
                s.spawn(|| {
                    for _ in 0..100 {
                        let there = on_thread(|_| Ok(std::thread::current().id())).unwrap();
                        assert_eq!(there, id);
                        count.fetch_add(1, Ordering::Relaxed);
                    }
                });
            }
        });
        assert_eq!(count.into_inner(), 800);
    }

    #[test]
    fn a_job_may_hand_over_another() {
        testing::open();
        assert_eq!(on_thread(|_| on_thread(|_| Ok(5))).unwrap(), 5);
    }
}
