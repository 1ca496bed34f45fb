//! How objects of a host are declared and asked: each unsafe call of a getter is written once, here.

/// Calls a getter on a live object of a host.
macro_rules! ask {
    ($this:expr, $slot:ident) => {
        // SAFETY: the object is live, as the invariant of its type says; `out` is a live variable of the type that the slot writes.
        |out| unsafe { ($this.api.table().$slot)($this.raw, out) }
    };
}

/// Reads all pointers that a live object of a host has of one kind.
macro_rules! list {
    ($this:expr, $count:ident, $fill:ident) => {
        // SAFETY: the object is live, as the invariant of its type says; `out` has room for the number that it was counted.
        $this.api.get_list(ask!($this, $count), |out, n| unsafe { ($this.api.table().$fill)($this.raw, out, n) })
    };
}

/// Declares a borrowed object of a host.
macro_rules! view {
    ($(#[$doc:meta])* $Name:ident of $Raw:ident) => {
        $(#[$doc])*
        ///
        /// # Invariants
        ///
        /// `raw` is not null and points to an object of the host of `api` that is live for `'a`.
        #[derive(Clone, Copy)]
        pub(crate) struct $Name<'a> {
            api: &'a Api,
            raw: *const $Raw,
        }

        impl<'a> $Name<'a> {
            /// # Safety
            /// 1. `raw` is null or points to a `$Raw` of the host of `api` that lives for `'a`.
            pub(in crate::ep) unsafe fn new(api: &'a Api, raw: *const $Raw) -> Option<Self> {
                (!raw.is_null()).then_some(Self { api, raw })
            }

            /// The objects in a list of the host's; null entries stay `None`.
            ///
            /// # Safety
            /// 1. Each entry of `list` is null or points to a `$Raw` of the host of `api` that lives for `'a`.
            #[allow(dead_code, reason = "not every kind of object comes in lists")]
            pub(in crate::ep) unsafe fn each(api: &'a Api, list: Vec<*const $Raw>) -> Vec<Option<Self>> {
                // SAFETY: the caller says so of each entry (1).
                list.into_iter().map(|raw| unsafe { Self::new(api, raw) }).collect()
            }
        }
    };
}

pub(super) use {ask, list, view};
