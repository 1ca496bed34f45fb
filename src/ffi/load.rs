//! Where libmlxc may be, how it is opened, and what is said when that fails.
#[cfg(test)]
mod tests;

use crate::ffi::mlx::Mlx;
use libloading::os::unix::Library;
use std::ffi::{CStr, c_int, c_void};
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The file name of libmlxc on this platform.
pub(crate) const FILE_NAME: &str = if cfg!(target_os = "macos") {
    "libmlxc.dylib"
} else {
    "libmlxc.so"
};

/// What the system loader is asked for. On macOS a bare name would also be looked for in the current directory; a name under @rpath is
/// not, and DYLD_LIBRARY_PATH and its fallback apply to it as well.
const SYSTEM_NAME: &str = if cfg!(target_os = "macos") {
    "@rpath/libmlxc.dylib"
} else {
    "libmlxc.so"
};

/// Homebrew's library folders: Apple silicon, Intel, and the formula's own folder where it is not linked.
const USUAL_PLACES: &[&str] = if cfg!(target_os = "macos") {
    &[
        "/opt/homebrew/lib",
        "/usr/local/lib",
        "/opt/homebrew/opt/mlx-c/lib",
        "/usr/local/opt/mlx-c/lib",
    ]
} else {
    &[]
};

/// All symbols are resolved at once, because a libmlxc of another MLX would otherwise fail in the middle of a Run; none of them becomes
/// visible to other libraries; and the library is never unloaded, because MLX's threads and exit handlers run in it.
const OPEN_FLAGS: c_int = libc::RTLD_NOW | libc::RTLD_LOCAL | libc::RTLD_NODELETE;

const FIX: &str = "run scripts/fetch-mlx-c.sh, or set ONNXRUNTIME_EP_MLX_LIBMLXC to the file of a libmlxc for MLX 0.32.x";

/// A place where libmlxc was looked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    /// Why there.
    pub(crate) origin: &'static str,
    pub(crate) path: PathBuf,
    /// What was found instead.
    pub(crate) outcome: String,
}

/// Why no libmlxc could be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum LoadError {
    /// There is none in any of the places.
    NotFound { tried: Vec<Place> },
    /// The dynamic loader refused it. `mapped` are MLX libraries that were in the process before.
    Open {
        path: PathBuf,
        dlerror: String,
        mapped: Vec<PathBuf>,
    },
    /// It lacks functions of every supported mlx-c.
    Missing {
        path: PathBuf,
        symbols: Vec<&'static str>,
        version: Option<String>,
    },
    /// It has a part of the functions that came together in one mlx-c release.
    UnknownSymbolSet {
        path: PathBuf,
        version: String,
        absent: Vec<&'static str>,
    },
    /// It does not tell its version.
    NoVersion { path: PathBuf },
    /// It is for an MLX that is not supported.
    Version {
        path: PathBuf,
        found: String,
        supported: &'static str,
    },
    /// Our own library could not be kept in memory.
    Pin { path: PathBuf, dlerror: String },
}

impl LoadError {
    /// What was found, without the way out.
    pub(crate) fn finding(&self) -> String {
        match self {
            Self::NotFound { tried } => {
                let mut text = String::from("libmlxc was not found; looked for");
                for Place {
                    origin,
                    path,
                    outcome,
                } in tried
                {
                    text.push_str(&format!("\n  {} ({origin}): {outcome}", path.display()));
                }
                text
            }
            Self::Open {
                path,
                dlerror,
                mapped,
            } => {
                let mut text = format!("{} could not be loaded: {dlerror}", path.display());
                if !mapped.is_empty() {
                    let mapped: Vec<_> = mapped
                        .iter()
                        .map(|path| path.display().to_string())
                        .collect();
                    text.push_str(&format!(
                        "; another MLX is already loaded in this process ({}) and may have been taken in place of libmlxc's own",
                        mapped.join(", ")
                    ));
                }
                text
            }
            Self::Missing {
                path,
                symbols,
                version,
            } => {
                let version = match version {
                    Some(version) => format!("it is for MLX {version}"),
                    None => "it does not look like a libmlxc".into(),
                };
                format!("{} lacks {}; {version}", path.display(), list(symbols))
            }
            Self::UnknownSymbolSet {
                path,
                version,
                absent,
            } => format!(
                "{} (for MLX {version}) is of no known release of mlx-c: it has some functions of mlx-c 0.7.0 but lacks {}",
                path.display(),
                list(absent)
            ),
            Self::NoVersion { path } => {
                format!("{} does not tell which MLX it is for", path.display())
            }
            Self::Version {
                path,
                found,
                supported,
            } => {
                format!(
                    "{} is for MLX {found}; supported is MLX {supported}",
                    path.display()
                )
            }
            Self::Pin { path, dlerror } => {
                format!(
                    "the EP's own library {} could not be kept in memory: {dlerror}",
                    path.display()
                )
            }
        }
    }

    /// What the user can do about it.
    fn fix(&self) -> String {
        match self {
            Self::Open { mapped, .. } if !mapped.is_empty() => {
                format!(
                    "register the EP before the other MLX is imported, or do not use both in one process; else {FIX}"
                )
            }
            Self::Version { .. } | Self::UnknownSymbolSet { .. } => {
                format!("{FIX}; ONNXRUNTIME_EP_MLX_ALLOW_UNTESTED=1 uses this one all the same")
            }
            Self::Pin { .. } => "register the EP by the absolute path of its library".into(),
            _ => FIX.into(),
        }
    }
}

/// The first names of a list that may be long.
fn list(names: &[&str]) -> String {
    const SHOWN: usize = 8;
    let mut text = names
        .iter()
        .take(SHOWN)
        .copied()
        .collect::<Vec<_>>()
        .join(", ");
    if names.len() > SHOWN {
        text.push_str(&format!(" and {} more functions", names.len() - SHOWN));
    }
    text
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}. To fix: {}.", self.finding(), self.fix())
    }
}

impl std::error::Error for LoadError {}

/// Finds, opens and checks libmlxc. `explicit` is the file that the user named: nothing else is tried then;
/// an empty name is none.
///
/// With `allow_untested` an unsupported version or symbol set becomes one of [`Mlx::warnings`].
pub(crate) fn load(explicit: Option<&Path>, allow_untested: bool) -> Result<Mlx, LoadError> {
    let explicit = explicit.filter(|file| !file.as_os_str().is_empty());
    let (library, path) = find(explicit, own_path().as_deref(), USUAL_PLACES, SYSTEM_NAME)?;
    let symbol = |name: &CStr| address(&library, name);
    let path = symbol(c"mlx_version")
        .and_then(|address| file_of(address.cast()))
        .unwrap_or(path);
    // SAFETY: a library that defines mlx-c's names is taken for an mlx-c; RTLD_NODELETE keeps its symbols callable for ever.
    let mlx = unsafe { Mlx::from_symbols(&path, &symbol, allow_untested) };
    // NODELETE would keep the library anyway; closing a handle after a refusal keeps the reference count true.
    if mlx.is_ok() {
        library.into_raw();
    }
    mlx
}

/// The first libmlxc of the search order, opened.
fn find(
    explicit: Option<&Path>,
    own: Option<&Path>,
    usual: &[&str],
    system: &str,
) -> Result<(Library, PathBuf), LoadError> {
    let mut tried = Vec::new();
    for (origin, path) in candidates(explicit, own, usual) {
        let outcome = match std::fs::metadata(&path) {
            Ok(metadata) if metadata.is_dir() => "is a folder".into(),
            Ok(_) => return open(&path).map(|library| (library, path)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => "no such file".into(),
            Err(error) => error.to_string(),
        };
        tried.push(Place {
            origin,
            path,
            outcome,
        });
    }
    if explicit.is_some() {
        return Err(LoadError::NotFound { tried });
    }
    // An empty element of LD_LIBRARY_PATH, which a stray colon makes, means the current directory.
    if !system.contains('/') && Path::new(system).exists() {
        tried.push(Place {
            origin: "the system loader",
            path: system.into(),
            outcome:
                "not asked, as there is one in the current directory, where it must not come from"
                    .into(),
        });
        return Err(LoadError::NotFound { tried });
    }
    match open(Path::new(system)) {
        Ok(library) => Ok((library, system.into())),
        Err(LoadError::Open { dlerror, .. }) if is_absence(&dlerror, system) => {
            tried.push(Place {
                origin: "the system loader",
                path: system.into(),
                outcome: dlerror,
            });
            Err(LoadError::NotFound { tried })
        }
        Err(error) => Err(error),
    }
}

/// The files to try, each with the reason; all absolute, so that none is looked for along a search path.
fn candidates(
    explicit: Option<&Path>,
    own: Option<&Path>,
    usual: &[&str],
) -> Vec<(&'static str, PathBuf)> {
    if let Some(file) = explicit {
        let file = std::path::absolute(file).unwrap_or_else(|_| file.into());
        return vec![("named by ONNXRUNTIME_EP_MLX_LIBMLXC", file)];
    }
    let mut files = Vec::new();
    if let Some(own) = own {
        // The library may be a link: beside the link comes first, then beside the file.
        let real = std::fs::canonicalize(own).unwrap_or_else(|_| own.into());
        let mut folders: Vec<&Path> = [own, real.as_path()]
            .into_iter()
            .filter_map(Path::parent)
            .collect();
        folders.dedup();
        for folder in folders {
            files.push(("beside the EP's library", folder.join(FILE_NAME)));
            files.push((
                "beside the EP's library",
                folder.join("mlx").join(FILE_NAME),
            ));
        }
    }
    files.extend(
        usual
            .iter()
            .map(|folder| ("a usual place", Path::new(folder).join(FILE_NAME))),
    );
    files
}

/// Whether the loader's message says that the library itself is nowhere, and not that one of those which it needs is.
fn is_absence(dlerror: &str, name: &str) -> bool {
    if cfg!(target_os = "macos") {
        let of_this = dlerror.starts_with(&format!("dlopen({name}"));
        of_this && !lacks_symbol(dlerror) && !dlerror.contains("Referenced from")
    } else {
        dlerror.starts_with(&format!("{name}: cannot open shared object file"))
    }
}

/// Whether the loader's message is about a symbol that no library defines.
fn lacks_symbol(dlerror: &str) -> bool {
    dlerror.contains("undefined symbol") || dlerror.to_lowercase().contains("symbol not found")
}

fn open(path: &Path) -> Result<Library, LoadError> {
    // SAFETY: running the initialisers of libmlxc and libmlx is the purpose of this call; they need nothing of this process.
    unsafe { Library::open(Some(path), OPEN_FLAGS) }.map_err(|error| {
        let dlerror = dlerror(&error);
        let mapped = if lacks_symbol(&dlerror) {
            mapped_mlx()
        } else {
            Vec::new()
        };
        LoadError::Open {
            path: path.into(),
            mapped,
            dlerror,
        }
    })
}

/// The dynamic loader's own words where there are any.
fn dlerror(error: &libloading::Error) -> String {
    std::error::Error::source(error).map_or_else(|| error.to_string(), ToString::to_string)
}

/// The address of a symbol.
fn address(library: &Library, name: &CStr) -> Option<*const ()> {
    // SAFETY: only the address is taken, as a pointer to nothing in particular; its type is chosen by the declarations.
    let symbol = unsafe { library.get::<*const ()>(name) }.ok()?;
    Some(symbol.as_raw_ptr().cast_const().cast())
}

/// The MLX libraries that are mapped into this process.
fn mapped_mlx() -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = mapped_files()
        .into_iter()
        .filter(|path| is_libmlx(path))
        .collect();
    paths.sort();
    paths.dedup();
    paths
}

/// Whether a file is named like libmlx: libmlx.so, libmlx_ep.so, libmlx.dylib, libmlx-1a2b.so; libmlxc is not one.
fn is_libmlx(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.strip_prefix("libmlx")
        .is_some_and(|rest| rest.starts_with(['.', '_', '-']))
}

#[cfg(target_os = "macos")]
fn mapped_files() -> Vec<PathBuf> {
    unsafe extern "C" {
        fn _dyld_image_count() -> u32;
        fn _dyld_get_image_name(index: u32) -> *const std::ffi::c_char;
    }
    // SAFETY: takes nothing and may be called at any time.
    let count = unsafe { _dyld_image_count() };
    let mut files = Vec::new();
    for index in 0..count {
        // SAFETY: any index may be asked for; one past the end, after an image has gone, answers null.
        let name = unsafe { _dyld_get_image_name(index) };
        if !name.is_null() {
            // SAFETY: dyld's name of a loaded image is NUL-terminated; it is copied at once.
            let name = unsafe { CStr::from_ptr(name) };
            files.push(PathBuf::from(std::ffi::OsStr::from_bytes(name.to_bytes())));
        }
    }
    files
}

#[cfg(not(target_os = "macos"))]
fn mapped_files() -> Vec<PathBuf> {
    let maps = std::fs::read("/proc/self/maps").unwrap_or_default();
    // Each line ends with the file, the only field that has slashes.
    maps.split(|byte| *byte == b'\n')
        .filter_map(|line| {
            line.iter()
                .position(|byte| *byte == b'/')
                .map(|start| &line[start..])
        })
        .map(|path| PathBuf::from(std::ffi::OsStr::from_bytes(path)))
        .collect()
}

/// The file that an address was loaded from.
fn file_of(address: *const c_void) -> Option<PathBuf> {
    let mut info = std::mem::MaybeUninit::<libc::Dl_info>::uninit();
    // SAFETY: dladdr takes any address and writes `info`, which is large enough, unless it answers 0.
    let found = unsafe { libc::dladdr(address, info.as_mut_ptr()) };
    if found == 0 {
        return None;
    }
    // SAFETY: a result other than 0 means that every field of `info` was written.
    let info = unsafe { info.assume_init() };
    if info.dli_fname.is_null() {
        return None;
    }
    // SAFETY: the name is the dynamic loader's own NUL-terminated text, which lives as long as the library is loaded; copied at once.
    let name = unsafe { CStr::from_ptr(info.dli_fname) };
    let path = Path::new(std::ffi::OsStr::from_bytes(name.to_bytes()));
    // Without a slash it is not a path but the word by which the program was started.
    let is_path = path
        .parent()
        .is_some_and(|parent| !parent.as_os_str().is_empty());
    is_path.then(|| std::path::absolute(path).unwrap_or_else(|_| path.into()))
}

/// The file of the library that this code is in.
fn own_path() -> Option<PathBuf> {
    file_of((own_path as fn() -> Option<PathBuf>) as *const c_void)
}

/// Keeps the library that this code is in loaded for ever: ONNX Runtime unloads a plugin while objects of it are still in use.
pub(crate) fn pin_self() -> Result<(), LoadError> {
    let path = own_path().ok_or_else(|| LoadError::Pin {
        path: PathBuf::new(),
        dlerror: "its path is unknown".into(),
    })?;
    pin(&path)
}

/// Keeps a loaded library loaded for ever.
fn pin(path: &Path) -> Result<(), LoadError> {
    // SAFETY: NOLOAD opens nothing new, so no initialiser runs; the library is there already.
    match unsafe {
        Library::open(
            Some(path),
            libc::RTLD_NOW | libc::RTLD_NOLOAD | libc::RTLD_NODELETE,
        )
    } {
        // NODELETE outlives the handle, which is dropped.
        Ok(_handle) => Ok(()),
        Err(error) => Err(LoadError::Pin {
            path: path.into(),
            dlerror: dlerror(&error),
        }),
    }
}
