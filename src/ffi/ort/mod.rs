//! The ONNX Runtime plugin ABI, API 23 to 32. Everything is append-only from 23 on: what a later release adds is a
//! tail of its own, reachable only where the host has it.
pub(crate) mod api;
pub(crate) mod ep_api;
pub(crate) mod plugin;
#[cfg(test)]
mod tests;
pub(crate) mod types;

use api::*;
use ep_api::*;

/// The API version whose structs are declared here.
pub(crate) const API_VERSION: u32 = 32;

/// The oldest release that can host this plugin.
pub(crate) const FLOOR: u32 = 23;

/// The tables of a host, with the tails that its release has.
///
/// # Invariants
///
/// `api` and `ep_api` are what [`Host::new`] asks for. They are pointers because a reference to the floor's slots would
/// not reach the tails behind them.
#[derive(Clone, Copy)]
pub(crate) struct Host {
    minor: u32,
    api: *const OrtApi,
    ep_api: *const OrtEpApi,
}

// SAFETY: the tables are never written, and their functions belong to no thread.
unsafe impl Send for Host {}
// SAFETY: the tables are never written, and their functions belong to no thread.
unsafe impl Sync for Host {}

impl Host {
    /// # Safety
    ///
    /// 1. `api` and `ep_api` point to the whole tables of a host of release `1.minor`, with `minor` at least [`FLOOR`].
    /// 2. They stay where they are, unchanged, for the life of the process.
    pub(crate) const unsafe fn new(
        minor: u32,
        api: *const OrtApi,
        ep_api: *const OrtEpApi,
    ) -> Self {
        debug_assert!(minor >= FLOOR);
        Self { minor, api, ep_api }
    }

    /// N of release 1.N.
    pub(crate) const fn minor(&self) -> u32 {
        self.minor
    }

    pub(crate) const fn api(&self) -> &'static OrtApi {
        // SAFETY: every host from the floor on has the floor's slots, and the table stays (the invariant).
        unsafe { &*self.api }
    }

    pub(crate) const fn ep_api(&self) -> &'static OrtEpApi {
        // SAFETY: every host from the floor on has the floor's slots, and the table stays (the invariant).
        unsafe { &*self.ep_api }
    }
}

/// Accessors of tails, each behind the release that has it.
macro_rules! tails {
    ($( $method:ident: $Tail:ident, since $since:literal, after $slots:literal of $field:ident; )*) => {
        impl Host {
            $(
                /// The tail, where the host has it.
                pub(crate) fn $method(&self) -> Option<&'static $Tail> {
                    if self.minor < $since {
                        return None;
                    }
                    let base = self.$field.cast::<usize>();
                    // SAFETY: a host of this release has at least this many slots (precondition 1 of `new`).
                    let tail = unsafe { base.add($slots) };
                    // SAFETY: the slots from there on are those of the tail, and the table stays (precondition 2).
                    Some(unsafe { &*tail.cast::<$Tail>() })
                }
            )*

            /// Address of each tail, in the order of [`TAILS`].
            #[cfg(test)]
            fn tail_addresses(&self) -> Vec<Option<usize>> {
                vec![$( self.$method().map(|tail| std::ptr::from_ref(tail).addr()) ),*]
            }
        }
        /// Table, first release, first slot and slots of each tail.
        #[cfg(test)]
        pub(crate) const TAILS: &[(&str, u32, usize, &[&str])] =
            &[$( (stringify!($field), $since, $slots, $Tail::SLOTS) ),*];
    };
}

tails! {
    v24: OrtApiV24, since 24, after 390 of api;
    v25: OrtApiV25, since 25, after 415 of api;
    v27: OrtApiV27, since 27, after 419 of api;
    v28: OrtApiV28, since 28, after 422 of api;
    v29: OrtApiV29, since 29, after 424 of api;
    v30: OrtApiV30, since 30, after 425 of api;
    v31: OrtApiV31, since 31, after 426 of api;
    v32: OrtApiV32, since 32, after 428 of api;
    ep_v24: OrtEpApiV24, since 24, after 16 of ep_api;
    ep_v25: OrtEpApiV25, since 25, after 50 of ep_api;
    ep_v29: OrtEpApiV29, since 29, after 73 of ep_api;
    ep_v31: OrtEpApiV31, since 31, after 74 of ep_api;
}

/// Pins named slots to their places, counted in slots.
macro_rules! anchors {
    ($( $Table:ident.$slot:ident at $place:literal; )*) => {
        $( static_assertions::const_assert_eq!(
            std::mem::offset_of!($Table, $slot),
            $place * size_of::<usize>()
        ); )*
    };
}

anchors! {
    OrtApi.CreateStatus at 0;
    OrtApi.IsTensor at 50;
    OrtApi.ReleaseSessionOptions at 100;
    OrtApi.AddInitializer at 150;
    OrtApi.SetGlobalCustomThreadCreationOptions at 200;
    OrtApi.CastTypeInfoToOptionalTypeInfo at 250;
    OrtApi.ReleaseKeyValuePairs at 300;
    OrtApi.GetEpApi at 317;
    OrtApi.Node_GetOperatorType at 350;
    OrtApi.CreateExternalInitializerInfo at 389;
    OrtApiV24.GetTensorElementTypeAndShapeDataReference at 24;
    OrtApiV28.KernelContext_GetSyncStream at 1;
    OrtEpApi.CreateEpDevice at 0;
    OrtEpApi.GetSyncIdForLastWaitOnSyncStream at 15;
    OrtEpApiV24.GetEnvConfigEntries at 33;
    OrtEpApiV25.ProfilingEventsContainer_AddEvents at 22;
}

/// Pins tables to their lengths, counted in slots.
macro_rules! lengths {
    ($( $Table:ident: $slots:literal; )*) => {
        $( static_assertions::const_assert_eq!(size_of::<$Table>(), $slots * size_of::<usize>()); )*
    };
}

lengths! {
    OrtApiBase: 2;
    OrtApi: 390;
    OrtApiV24: 25;
    OrtApiV25: 4;
    OrtApiV27: 3;
    OrtApiV28: 2;
    OrtApiV29: 1;
    OrtApiV30: 1;
    OrtApiV31: 2;
    OrtApiV32: 1;
    OrtEpApi: 16;
    OrtEpApiV24: 34;
    OrtEpApiV25: 23;
    OrtEpApiV29: 1;
    OrtEpApiV31: 4;
}
