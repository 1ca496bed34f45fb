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
#[derive(Clone, Copy)]
pub(crate) struct Host {
    minor: u32,
    api: &'static OrtApi,
    ep_api: &'static OrtEpApi,
}

impl Host {
    /// # Safety
    ///
    /// 1. `api` and `ep_api` are the tables of a host of release `1.minor`, with `minor` at least [`FLOOR`].
    /// 2. They stay where they are for the life of the process.
    pub(crate) const unsafe fn new(
        minor: u32,
        api: &'static OrtApi,
        ep_api: &'static OrtEpApi,
    ) -> Self {
        Self { minor, api, ep_api }
    }

    /// N of release 1.N.
    pub(crate) const fn minor(&self) -> u32 {
        self.minor
    }

    pub(crate) const fn api(&self) -> &'static OrtApi {
        self.api
    }

    pub(crate) const fn ep_api(&self) -> &'static OrtEpApi {
        self.ep_api
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
                    let base = std::ptr::from_ref(self.$field).cast::<usize>();
                    // SAFETY: a host of this release has at least this many slots (precondition 1 of `new`).
                    let tail = unsafe { base.add($slots) };
                    // SAFETY: the slots from there on are those of the tail, and the table stays (precondition 2).
                    Some(unsafe { &*tail.cast::<$Tail>() })
                }
            )*
        }
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

static_assertions::const_assert_eq!(size_of::<OrtApi>(), 390 * size_of::<usize>());
static_assertions::const_assert_eq!(size_of::<OrtEpApi>(), 16 * size_of::<usize>());
static_assertions::const_assert_eq!(std::mem::offset_of!(OrtApi, CreateStatus), 0);
static_assertions::const_assert_eq!(
    std::mem::offset_of!(OrtApi, GetTensorMutableData),
    51 * size_of::<usize>()
);
static_assertions::const_assert_eq!(
    std::mem::offset_of!(OrtApi, ReleaseValue),
    96 * size_of::<usize>()
);
static_assertions::const_assert_eq!(
    std::mem::offset_of!(OrtApi, GetTensorMemoryInfo),
    194 * size_of::<usize>()
);
static_assertions::const_assert_eq!(
    std::mem::offset_of!(OrtApi, Logger_LogMessage),
    247 * size_of::<usize>()
);
static_assertions::const_assert_eq!(
    std::mem::offset_of!(OrtApi, GetEpApi),
    317 * size_of::<usize>()
);
static_assertions::const_assert_eq!(
    std::mem::offset_of!(OrtApi, Graph_GetNodes),
    345 * size_of::<usize>()
);
