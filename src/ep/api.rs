//! A host's tables behind a safe, versioned view.
use super::abi;
use crate::error::{Error, Result};
use crate::ffi::ort::api::{OrtApi, OrtApiBase, OrtApiV24};
use crate::ffi::ort::ep_api::OrtEpApi;
use crate::ffi::ort::types::{OrtKeyValuePairs, OrtStatus};
use crate::ffi::ort::{FLOOR, Host};
use std::ffi::{CStr, CString};
use std::sync::OnceLock;

/// The version of a host, "1.MINOR.PATCH".
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Version {
    pub(super) minor: u32,
    pub(super) patch: u32,
}

impl Version {
    pub(super) const fn new(minor: u32, patch: u32) -> Self {
        Self { minor, patch }
    }

    /// `None` unless the major version is 1 and a minor one follows.
    fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split('.');
        if parts.next()? != "1" {
            return None;
        }
        let minor = parts.next()?.parse().ok()?;
        let digits: String = parts
            .next()
            .unwrap_or("")
            .chars()
            .take_while(char::is_ascii_digit)
            .collect();
        Some(Self {
            minor,
            patch: digits.parse().unwrap_or(0),
        })
    }
}

impl std::fmt::Display for Version {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "1.{}.{}", self.minor, self.patch)
    }
}

/// The functions of one host. They live as long as the process uses that host.
#[derive(Clone, Copy)]
pub(super) struct Api {
    host: Host,
    version: Version,
}

// SAFETY: the tables are never written, and the host's functions may be called from any thread.
unsafe impl Send for Api {}
// SAFETY: the tables are never written, and the host's functions may be called from several threads at once.
unsafe impl Sync for Api {}

static ANY: OnceLock<Api> = OnceLock::new();

impl Api {
    /// Reads a host's version and takes its tables. A host that is too old is answered with a status, and nothing else
    /// of its call may be touched: 1.22 passes other arguments.
    ///
    /// # Safety
    /// 1. `base` is null or the `OrtApiBase` of a host that is not unloaded while this process uses the plugin.
    pub(super) unsafe fn of_host(base: *const OrtApiBase) -> Result<Self, *mut OrtStatus> {
        // SAFETY: null or a host's (1).
        let Some(base) = (unsafe { base.as_ref() }) else {
            // Without a host there is nothing that could make a status.
            return Err(std::ptr::null_mut());
        };
        // SAFETY: the slot of this name takes nothing.
        let found = abi::text(unsafe { (base.GetVersionString)() });
        let version = Version::parse(&found);
        // The version that is asked for must be one that the host has: it prints a line to stderr otherwise.
        let ask = version.map_or(1, |v| v.minor.max(1));
        // SAFETY: any number may be asked for.
        let table = unsafe { (base.GetApi)(ask) };
        if table.is_null() {
            return Err(std::ptr::null_mut());
        }
        let refuse = |why: &str| {
            let error = Error::NotImplemented(format!(
                "{why} ONNX Runtime {found}, this execution provider needs 1.{FLOOR} or newer (1.24.4 or newer is \
                 recommended): install a newer onnxruntime"
            ));
            // SAFETY: `GetApi` gave the table.
            unsafe { abi::status(table, &error) }
        };
        let version = version.ok_or_else(|| refuse("cannot use"))?;
        if version.minor < FLOOR {
            return Err(refuse("cannot use"));
        }
        // SAFETY: the table has at least the slots of 1.23, which is what `OrtApi` declares, and lives as long as the host (1).
        let table = unsafe { &*table };
        // SAFETY: the slot of this name takes nothing.
        let ep = unsafe { (table.GetEpApi)() };
        // SAFETY: null or the host's table, which has at least the slots of 1.23 and lives as long as the host (1).
        let ep = unsafe { ep.as_ref() }.ok_or_else(|| refuse("cannot use this build of"))?;
        // SAFETY: both are tables of a host of this release, at least the floor's, and stay (1).
        let host = unsafe { Host::new(version.minor, table, ep) };
        let api = Self { host, version };
        // The first host stays, which is the only one of nearly every process.
        let _ = ANY.set(api);
        Ok(api)
    }

    /// Some host of the process, for a callback that got no object from which to know its own.
    pub(super) fn any() -> Option<Self> {
        ANY.get().copied()
    }

    pub(super) fn table(&self) -> &'static OrtApi {
        self.host.api()
    }

    pub(super) fn ep(&self) -> &'static OrtEpApi {
        self.host.ep_api()
    }

    /// What 1.24 added.
    pub(super) fn v24(&self) -> Option<&'static OrtApiV24> {
        self.host.v24()
    }

    pub(super) fn version(&self) -> Version {
        self.version
    }

    /// The value that a getter writes.
    pub(super) fn get<T>(
        &self,
        initial: T,
        getter: impl FnOnce(*mut T) -> *mut OrtStatus,
    ) -> Result<T> {
        let mut value = initial;
        self.check(getter(&raw mut value))?;
        Ok(value)
    }

    /// The text that a getter points to.
    pub(super) fn get_text(
        &self,
        getter: impl FnOnce(*mut *const std::ffi::c_char) -> *mut OrtStatus,
    ) -> Result<String> {
        Ok(abi::text(self.get(std::ptr::null(), getter)?))
    }

    /// The pointers that a pair of getters counts and writes.
    pub(super) fn get_list<T>(
        &self,
        count: impl FnOnce(*mut usize) -> *mut OrtStatus,
        fill: impl FnOnce(*mut *const T, usize) -> *mut OrtStatus,
    ) -> Result<Vec<*const T>> {
        let count = self.get(0, count)?;
        let mut list = vec![std::ptr::null(); count];
        if count > 0 {
            self.check(fill(list.as_mut_ptr(), count))?;
        }
        Ok(list)
    }
}

/// A C string; a NUL byte inside ends it early.
pub(super) fn c_string(text: &str) -> CString {
    let end = text.find('\0').unwrap_or(text.len());
    CString::new(&text[..end]).unwrap_or_default()
}

/// Owned key-value pairs of a host.
pub(super) struct Pairs {
    api: Api,
    raw: *mut OrtKeyValuePairs,
}

impl Pairs {
    pub(super) fn new(api: Api) -> Self {
        let mut raw = std::ptr::null_mut();
        // SAFETY: the out parameter is a live pointer.
        unsafe { (api.table().CreateKeyValuePairs)(&raw mut raw) };
        Self { api, raw }
    }

    /// Takes over pairs that a host made for us.
    ///
    /// # Safety
    /// 1. `raw` is live and nobody else releases it.
    pub(super) unsafe fn from_raw(api: Api, raw: *mut OrtKeyValuePairs) -> Self {
        Self { api, raw }
    }

    pub(super) fn raw(&self) -> *const OrtKeyValuePairs {
        self.raw
    }

    pub(super) fn add(&mut self, key: &CStr, value: &str) {
        let value = c_string(value);
        // SAFETY: `raw` is live and owned; both strings are NUL-terminated and copied by the host.
        unsafe { (self.api.table().AddKeyValuePair)(self.raw, key.as_ptr(), value.as_ptr()) };
    }

    /// All pairs, copied.
    pub(super) fn to_vec(&self) -> Vec<(String, String)> {
        let (mut keys, mut values, mut count) = (std::ptr::null(), std::ptr::null(), 0);
        // SAFETY: `raw` is live; the out parameters are live variables.
        unsafe {
            (self.api.table().GetKeyValuePairs)(
                self.raw,
                &raw mut keys,
                &raw mut values,
                &raw mut count,
            )
        };
        // SAFETY: the host gave `count` keys, which live as long as the pairs.
        let keys = unsafe { abi::array(keys, count) };
        // SAFETY: the host gave `count` values, which live as long as the pairs.
        let values = unsafe { abi::array(values, count) };
        keys.iter()
            .zip(values)
            .map(|(key, value)| (abi::text(*key), abi::text(*value)))
            .collect()
    }
}

impl Drop for Pairs {
    fn drop(&mut self) {
        // SAFETY: `raw` is owned and released once; the host ignores null.
        unsafe { (self.api.table().ReleaseKeyValuePairs)(self.raw) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_and_ordered() {
        assert_eq!(Version::parse("1.23.0"), Some(Version::new(23, 0)));
        assert_eq!(Version::parse("1.24.4-rc1"), Some(Version::new(24, 4)));
        assert_eq!(Version::parse("1.25"), Some(Version::new(25, 0)));
        assert_eq!(
            Version::parse("1.26.0.dev20250101"),
            Some(Version::new(26, 0))
        );
        for odd in ["", "1", "2.0.0", "x.y.z", "1.x.0"] {
            assert_eq!(Version::parse(odd), None, "{odd}");
        }
        assert!(
            Version::new(23, 2) < Version::new(24, 1) && Version::new(24, 3) < Version::new(24, 4)
        );
    }
}
