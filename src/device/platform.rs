//! What macOS wants of a thread that drives Metal: an autorelease pool per job, and a scheduling class.

/// The two calls of the Objective-C runtime that bracket a pool.
#[derive(Clone, Copy)]
pub(super) struct Pools {
    push: unsafe extern "C" fn() -> *mut std::ffi::c_void,
    pop: unsafe extern "C" fn(*mut std::ffi::c_void),
}

/// A pool around one job: what Metal autoreleases meanwhile is freed when it goes.
pub(super) struct Pool {
    pools: Pools,
    token: *mut std::ffi::c_void,
}

impl Pool {
    /// Nothing where there is no Objective-C runtime.
    pub(super) fn push(pools: Option<Pools>) -> Option<Self> {
        let pools = pools?;
        // SAFETY: pushing a pool has no precondition.
        let token = unsafe { (pools.push)() };
        Some(Self { pools, token })
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        // SAFETY: the token came from the push on this thread, and pools are popped in reverse order of pushing
        // because each lives in a scope.
        unsafe { (self.pools.pop)(self.token) };
    }
}

/// The runtime's pool calls, where the process has them.
#[cfg(target_vendor = "apple")]
pub(super) fn pools() -> Option<Pools> {
    use libloading::os::unix::Library;
    let process = Library::this();
    // SAFETY: the Objective-C runtime declares this function with this type.
    let push = unsafe {
        process.get::<unsafe extern "C" fn() -> *mut std::ffi::c_void>(c"objc_autoreleasePoolPush")
    };
    // SAFETY: the Objective-C runtime declares this function with this type.
    let pop = unsafe {
        process.get::<unsafe extern "C" fn(*mut std::ffi::c_void)>(c"objc_autoreleasePoolPop")
    };
    Some(Pools {
        push: *push.ok()?,
        pop: *pop.ok()?,
    })
}

/// There is no Objective-C runtime here.
#[cfg(not(target_vendor = "apple"))]
pub(super) fn pools() -> Option<Pools> {
    None
}

/// Asks the scheduler to treat this thread as one that a user waits for.
#[cfg(target_vendor = "apple")]
pub(super) fn prefer_responsiveness() {
    // SAFETY: changes only the calling thread's class; a refusal is harmless.
    unsafe { libc::pthread_set_qos_class_self_np(libc::qos_class_t::QOS_CLASS_USER_INITIATED, 0) };
}

/// Threads have no such class here.
#[cfg(not(target_vendor = "apple"))]
pub(super) fn prefer_responsiveness() {}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;
    use std::ffi::c_void;

    thread_local! {
        static OPEN: Cell<usize> = const { Cell::new(0) };
    }

    /// # Safety
    ///
    /// None is needed; the type is that of the runtime's function.
    unsafe extern "C" fn push() -> *mut c_void {
        OPEN.set(OPEN.get() + 1);
        std::ptr::without_provenance_mut(OPEN.get())
    }

    /// # Safety
    ///
    /// None is needed; the type is that of the runtime's function.
    unsafe extern "C" fn pop(token: *mut c_void) {
        assert_eq!(token.addr(), OPEN.get());
        OPEN.set(OPEN.get() - 1);
    }

    #[test]
    fn pushes_and_pops_pair_up() {
        let pools = Some(Pools { push, pop });
        {
            let _outer = Pool::push(pools);
            let _inner = Pool::push(pools);
            assert_eq!(OPEN.get(), 2);
        }
        assert_eq!(OPEN.get(), 0);
        let _ = std::panic::catch_unwind(|| {
            let _pool = Pool::push(pools);
            panic!("a job fails");
        });
        assert_eq!(OPEN.get(), 0);
        assert!(Pool::push(None).is_none());
    }
}
