//! mlx-c, opened at run time. Required is what mlx-c 0.7.0 and the 0.6.0 of MLX 0.32 declare identically.
mod core;
mod fast;
mod ops;
mod strings;
#[cfg(test)]
mod tests;
pub(crate) mod types;

use crate::ffi::library::Lookup;
use crate::ffi::load::LoadError;
use std::ffi::CStr;
use std::path::{Path, PathBuf};

bitflags::bitflags! {
    /// Groups of functions that a supported libmlxc may lack.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub(crate) struct Features: u32 {
        /// Contiguity and readiness of an array.
        const ARRAY_STATE = 1;
        /// Listing and clearing a thread's streams, and streams that exist once per thread.
        const CLEAR_STREAMS = 1 << 1;
        /// `mlx_gather_qmm` with the parameters declared here.
        const GATHER_QMM = 1 << 2;
        /// Custom CUDA kernels.
        const CUDA_KERNEL = 1 << 3;
        /// Custom Metal kernels.
        const METAL_KERNEL = 1 << 4;
    }
}

/// The MLX releases that are accepted, as text for messages.
pub(crate) const SUPPORTED: &str = "0.32.x";
/// The last MLX patch release whose `mlx_gather_qmm` is known to have the declared parameters.
const LAST_GATHER_QMM: (u32, u32, u32) = (0, 32, 2);

/// A loaded libmlxc: every function of mlx-c that is declared is an `unsafe` method of its C name.
pub(crate) struct Mlx {
    strings: strings::Strings,
    core: core::Core,
    ops: ops::Ops,
    fast: fast::Fast,
    /// Which optional groups are there.
    pub(crate) features: Features,
    /// MLX's version, which is not mlx-c's.
    pub(crate) version: String,
    /// The file that was loaded.
    pub(crate) path: PathBuf,
    /// What the user should know about this library although it was accepted.
    pub(crate) warnings: Vec<String>,
}

impl Mlx {
    /// Takes what `symbol` finds for a libmlxc that lies at `path`.
    ///
    /// # Safety
    /// A symbol of the name of an mlx-c function is that function, and stays callable as long as the process lives.
    pub(crate) unsafe fn from_symbols(
        path: &Path,
        symbol: &dyn Fn(&CStr) -> Option<*const ()>,
        allow_untested: bool,
    ) -> Result<Self, LoadError> {
        let mut warnings = Vec::new();
        let mut found = Lookup::new(symbol);
        // SAFETY: string.h and version.h are the same in all releases of mlx-c, so the signatures hold whichever this is.
        let strings = unsafe { strings::Strings::load(&mut found) };
        // SAFETY: the functions of this table are called only through an `Mlx`, which is made below only of a release whose array.h,
        // vector.h, device.h, stream.h, closure.h and the rest are as declared: older ones, in which some names have other parameters,
        // lack required functions; a newer one gets there only if the caller allowed untested releases.
        let core = unsafe { core::Core::load(&mut found) };
        // SAFETY: called only through an `Mlx`; mlx_cumsum_axis and mlx_count_nonzero, both required, came with the last change of
        // parameters in ops.h, save mlx_gather_qmm, whose group is switched off below where its parameters are unknown.
        let ops = unsafe { ops::Ops::load(&mut found) };
        // SAFETY: called only through an `Mlx`; mlx_fast_cross_entropy, which is required, came with the last change of parameters in
        // fast.h, and after that of fft.h.
        let fast = unsafe { fast::Fast::load(&mut found) };
        let Lookup {
            missing,
            mut features,
            partial,
            ..
        } = found;
        let Some(strings) = strings else {
            return Err(LoadError::Missing {
                path: path.into(),
                symbols: missing,
                version: None,
            });
        };

        // SAFETY: the table was filled from mlx-c's own functions, by the caller's promise about `symbol`.
        let version = unsafe { strings.version() };
        let version = version.ok_or_else(|| LoadError::NoVersion { path: path.into() })?;
        let numbers = parse_version(&version);
        if !matches!(numbers, Some((0, 32, _))) {
            let error = LoadError::Version {
                path: path.into(),
                found: version.clone(),
                supported: SUPPORTED,
            };
            refuse_unless(allow_untested, error, &mut warnings)?;
        }
        let (Some(core), Some(ops), Some(fast)) = (core, ops, fast) else {
            return Err(LoadError::Missing {
                path: path.into(),
                symbols: missing,
                version: Some(version),
            });
        };
        if !partial.is_empty() {
            let error = LoadError::UnknownSymbolSet {
                path: path.into(),
                version: version.clone(),
                absent: partial,
            };
            refuse_unless(allow_untested, error, &mut warnings)?;
        }
        if numbers.is_none_or(|numbers| numbers > LAST_GATHER_QMM) {
            features.remove(Features::GATHER_QMM);
        }
        Ok(Self {
            strings,
            core,
            ops,
            fast,
            features,
            version,
            path: path.into(),
            warnings,
        })
    }

    /// Every declared function.
    pub(crate) fn symbols() -> impl Iterator<Item = &'static str> {
        [
            strings::Strings::SYMBOLS,
            core::Core::SYMBOLS,
            ops::Ops::SYMBOLS,
            fast::Fast::SYMBOLS,
        ]
        .into_iter()
        .flatten()
        .copied()
    }
}

/// Turns a refusal into a warning where the user asked for it.
fn refuse_unless(
    allowed: bool,
    error: LoadError,
    warnings: &mut Vec<String>,
) -> Result<(), LoadError> {
    if !allowed {
        return Err(error);
    }
    warnings.push(error.finding());
    Ok(())
}

/// "0.32.2" or "0.32.2.dev20260101" as numbers; `None` for anything else.
fn parse_version(text: &str) -> Option<(u32, u32, u32)> {
    let mut parts = text.splitn(3, '.');
    let major = parts.next()?.parse().ok()?;
    let minor = parts.next()?.parse().ok()?;
    let patch = parts.next()?;
    let digits = patch
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(patch.len());
    Some((major, minor, patch[..digits].parse().ok()?))
}
