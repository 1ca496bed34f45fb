//! What the fake host handed out, what came back, and which call is to fail.
use crate::ffi::ort::types::OrtStatus;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ffi::CString;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A status of the fake host.
pub(crate) struct Status {
    pub(crate) code: i32,
    pub(crate) message: CString,
}

/// A record of the fake host's logger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Line {
    pub(crate) severity: i32,
    pub(crate) text: String,
}

#[derive(Default)]
pub(crate) struct Ledger {
    /// Address and kind of what is to be given back.
    live: HashMap<usize, &'static str>,
    /// Slots that answered with a status, and how often.
    pub(crate) called: BTreeMap<&'static str, usize>,
    /// The slot that fails, and after how many calls.
    pub(crate) fault: Option<(&'static str, usize)>,
    pub(crate) lines: Vec<Line>,
    pub(crate) severity: i32,
    /// Versions that `GetApi` was asked for.
    pub(crate) asked: BTreeSet<u32>,
    /// Nodes of each `AddNodesToFuse` call.
    pub(crate) fused: Vec<Vec<usize>>,
    pub(crate) config: Vec<(String, String)>,
    pub(crate) devices: usize,
}

static LEDGER: Mutex<Option<Ledger>> = Mutex::new(None);
static TEST: Mutex<()> = Mutex::new(());

/// Lets one test at a time use the fake host. Afterwards nothing may be left alive.
pub(crate) struct Turn(#[allow(dead_code, reason = "held for its drop")] MutexGuard<'static, ()>);

pub(crate) fn turn() -> Turn {
    let turn = TEST.lock().unwrap_or_else(PoisonError::into_inner);
    *LEDGER.lock().unwrap_or_else(PoisonError::into_inner) = Some(Ledger {
        severity: 0,
        ..Ledger::default()
    });
    Turn(turn)
}

impl Drop for Turn {
    fn drop(&mut self) {
        let left: Vec<_> = with(|ledger| ledger.live.values().copied().collect());
        if !std::thread::panicking() {
            assert!(left.is_empty(), "not given back to the host: {left:?}");
        }
    }
}

pub(crate) fn with<T>(body: impl FnOnce(&mut Ledger) -> T) -> T {
    let mut ledger = LEDGER.lock().unwrap_or_else(PoisonError::into_inner);
    body(ledger.as_mut().expect("a test took its turn"))
}

/// Hands out an object that must come back once.
pub(crate) fn lend<T, R>(kind: &'static str, value: T) -> *mut R {
    let raw = Box::into_raw(Box::new(value));
    with(|ledger| ledger.live.insert(raw as usize, kind));
    raw.cast()
}

/// Takes an object back. One that is not out ends the process: a second release would be the host's crash.
pub(crate) fn take<T, R>(kind: &'static str, raw: *mut R) {
    if raw.is_null() {
        return;
    }
    if with(|ledger| ledger.live.remove(&(raw as usize))) != Some(kind) {
        eprintln!("{kind} {raw:p} was given back and is not out");
        std::process::abort();
    }
    drop(unsafe { Box::from_raw(raw.cast::<T>()) });
}

/// Fails if an object that is out is not `kind`: it was released and used again.
pub(crate) fn check_live<R>(kind: &'static str, raw: *const R) {
    if with(|ledger| ledger.live.get(&(raw as usize)).copied()) != Some(kind) {
        eprintln!("{kind} {raw:p} is used and is not out");
        std::process::abort();
    }
}

pub(crate) fn status(code: i32, message: &str) -> *mut OrtStatus {
    lend(
        "status",
        Status {
            code,
            message: CString::new(message).unwrap(),
        },
    )
}

/// Counts a call of a slot; a status if it is the one that is to fail.
pub(crate) fn enter(slot: &'static str) -> Option<*mut OrtStatus> {
    let fails = with(|ledger| {
        *ledger.called.entry(slot).or_default() += 1;
        match &mut ledger.fault {
            Some((name, 0)) if *name == slot => {
                ledger.fault = None;
                true
            }
            Some((name, left)) if *name == slot => {
                *left -= 1;
                false
            }
            _ => false,
        }
    });
    fails.then(|| status(1, &format!("{slot} was told to fail")))
}
