//! What is accepted as a libmlxc, by fake symbol sets, and the declarations against the real library.
mod headers;

use super::types::*;
use super::{Features, Mlx, core, fast, ops, parse_version, strings};
use crate::ffi::library::Declaration;
use crate::ffi::load::{self, LoadError};
use std::ffi::{CStr, c_char, c_int, c_void};
use std::path::{Path, PathBuf};
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicUsize, Ordering};

pub(super) fn declarations() -> impl Iterator<Item = &'static Declaration> {
    [
        strings::Strings::DECLARATIONS,
        core::Core::DECLARATIONS,
        ops::Ops::DECLARATIONS,
        fast::Fast::DECLARATIONS,
    ]
    .into_iter()
    .flatten()
}

#[allow(
    clippy::disallowed_methods,
    reason = "tests take the library to test from the environment"
)]
fn from_environment(variable: &str) -> PathBuf {
    let value = std::env::var_os(variable)
        .unwrap_or_else(|| panic!("{variable} is not set: run scripts/fetch-mlx-c.sh"));
    PathBuf::from(value)
}

/// The libmlxc under test.
pub(super) fn libmlxc() -> PathBuf {
    from_environment("ONNXRUNTIME_EP_MLX_LIBMLXC")
}

/// The older supported libmlxc.
pub(super) fn libmlxc_060() -> PathBuf {
    from_environment("MLX_EP_TEST_LIBMLXC_060")
}

extern "C" fn unused() {}

extern "C" fn string_new() -> mlx_string {
    mlx_string::EMPTY
}

extern "C" fn string_free(_: mlx_string) -> c_int {
    0
}

extern "C" fn version_succeeds(_: *mut mlx_string) -> c_int {
    0
}

extern "C" fn version_fails(_: *mut mlx_string) -> c_int {
    1
}

extern "C" fn no_text(_: mlx_string) -> *const c_char {
    null()
}

/// Functions that stand for `mlx_string_data` and answer a version.
macro_rules! versions {
    ($( $name:ident = $text:literal; )*) => {
        $( extern "C" fn $name(_: mlx_string) -> *const c_char {
            $text.as_ptr()
        } )*
    };
}

versions! {
    v0_31_2 = c"0.31.2";
    v0_32_0 = c"0.32.0";
    v0_32_2 = c"0.32.2";
    v0_32_4 = c"0.32.4";
    v0_33_0 = c"0.33.0";
    unreadable = c"main";
}

type Text = extern "C" fn(mlx_string) -> *const c_char;

/// A libmlxc of fakes: `text` tells the version, `absent` names what it lacks.
struct Fake<'a> {
    text: Text,
    version: extern "C" fn(*mut mlx_string) -> c_int,
    absent: &'a [&'a str],
}

impl Fake<'_> {
    fn symbol(&self, name: &CStr) -> Option<*const ()> {
        let name = name.to_str().expect("names are ASCII");
        if self.absent.contains(&name) {
            return None;
        }
        assert!(
            Mlx::symbols().any(|declared| declared == name),
            "{name} is not declared"
        );
        Some(match name {
            "mlx_string_new" => string_new as *const (),
            "mlx_string_free" => string_free as *const (),
            "mlx_string_data" => self.text as *const (),
            "mlx_version" => self.version as *const (),
            _ => unused as *const (),
        })
    }

    fn load(&self, allow_untested: bool) -> Result<Mlx, LoadError> {
        // SAFETY: the only functions that are called while loading are the four fakes, which have their signatures.
        unsafe {
            Mlx::from_symbols(
                Path::new("/fake/libmlxc.so"),
                &|name| self.symbol(name),
                allow_untested,
            )
        }
    }
}

fn fake(text: Text, absent: &[&str], allow_untested: bool) -> Result<Mlx, LoadError> {
    Fake {
        text,
        version: version_succeeds,
        absent,
    }
    .load(allow_untested)
}

fn error(result: Result<Mlx, LoadError>) -> LoadError {
    result.err().expect("the library is refused")
}

fn group(flag: &str) -> Vec<&'static str> {
    declarations()
        .filter(|declaration| declaration.group == flag)
        .map(|declaration| declaration.name)
        .collect()
}

#[test]
fn the_symbol_sets_of_both_releases_are_accepted() {
    let newest = fake(v0_32_2, &[], false).expect("mlx-c 0.7.0");
    assert_eq!(
        (newest.features, newest.version.as_str()),
        (Features::all(), "0.32.2")
    );
    assert_eq!(newest.warnings, Vec::<String>::new());

    let streams = group("CLEAR_STREAMS");
    assert_eq!(streams.len(), 19);
    let older = fake(v0_32_0, &streams, false).expect("mlx-c 0.6.0 for MLX 0.32");
    assert_eq!(older.features, Features::all() - Features::CLEAR_STREAMS);
    // SAFETY: the group is absent, so nothing is called.
    let answer = unsafe { older.mlx_clear_streams() };
    assert_eq!(answer, None);
}

#[test]
fn every_missing_function_is_named() {
    let symbols = vec!["mlx_eval", "mlx_where", "mlx_fast_rope"];
    assert_eq!(
        error(fake(v0_32_2, &symbols, true)),
        LoadError::Missing {
            path: "/fake/libmlxc.so".into(),
            symbols,
            version: Some("0.32.2".into())
        }
    );
    let LoadError::Missing {
        symbols,
        version: None,
        ..
    } = error(fake(v0_32_2, &["mlx_version", "mlx_add"], true))
    else {
        panic!("without mlx_version there is no version");
    };
    assert_eq!(symbols, ["mlx_version", "mlx_add"]);
}

#[test]
fn a_group_that_is_there_in_part_is_no_known_release() {
    let absent = ["mlx_clear_streams", "mlx_get_streams"];
    let refusal = error(fake(v0_32_2, &absent, false));
    let LoadError::UnknownSymbolSet {
        absent: mut named, ..
    } = refusal.clone()
    else {
        panic!("{refusal}")
    };
    named.sort_unstable();
    assert_eq!(named, absent);

    let allowed = fake(v0_32_2, &absent, true).expect("untested is allowed");
    assert_eq!(allowed.features, Features::all() - Features::CLEAR_STREAMS);
    assert_eq!(allowed.warnings, [refusal.finding()]);
    // SAFETY: the group is off, so nothing is called.
    let answer = unsafe { allowed.mlx_synchronize_default() };
    assert_eq!(
        answer, None,
        "one function of an incomplete group is not used"
    );
}

#[test]
fn other_versions_are_refused_or_warned_of() {
    for (text, found) in [
        (v0_31_2 as Text, "0.31.2"),
        (v0_33_0, "0.33.0"),
        (unreadable, "main"),
    ] {
        let refusal = error(fake(text, &[], false));
        assert_eq!(
            refusal,
            LoadError::Version {
                path: "/fake/libmlxc.so".into(),
                found: found.into(),
                supported: "0.32.x"
            }
        );
        let allowed = fake(text, &[], true).expect("untested is allowed");
        assert_eq!(allowed.warnings, [refusal.finding()]);
    }
    // The version says more than what is missing because of it.
    assert!(matches!(
        error(fake(v0_31_2, &["mlx_cumsum_axis"], false)),
        LoadError::Version { .. }
    ));
    assert!(matches!(
        error(fake(v0_31_2, &["mlx_cumsum_axis"], true)),
        LoadError::Missing { .. }
    ));
}

#[test]
fn a_version_that_cannot_be_read_is_an_error() {
    for library in [
        Fake {
            text: no_text,
            version: version_succeeds,
            absent: &[],
        },
        Fake {
            text: v0_32_2,
            version: version_fails,
            absent: &[],
        },
    ] {
        assert_eq!(
            error(library.load(true)),
            LoadError::NoVersion {
                path: "/fake/libmlxc.so".into()
            }
        );
    }
}

#[test]
fn gather_qmm_is_used_only_where_its_parameters_are_known() {
    let newer = fake(v0_32_4, &[], false).expect("0.32.x");
    assert_eq!(newer.features, Features::all() - Features::GATHER_QMM);
    let (a, none) = (mlx_array::EMPTY, mlx_optional_int::NONE);
    // SAFETY: the group is off, so nothing is called.
    let answer = unsafe {
        newer.mlx_gather_qmm(
            null_mut(),
            a,
            a,
            a,
            a,
            a,
            a,
            false,
            none,
            none,
            null(),
            false,
            mlx_stream::EMPTY,
        )
    };
    assert_eq!(answer, None);
}

/// Names that had other parameters in an older mlx-c are called only if a symbol that came with or after the change is required.
#[test]
fn changed_parameters_are_behind_required_symbols() {
    let required = |name: &str| {
        declarations().any(|declaration| declaration.name == name && declaration.group.is_empty())
    };
    for probe in [
        "mlx_bartlett",
        "mlx_fft_fftfreq",
        "mlx_cumsum_axis",
        "mlx_count_nonzero",
        "mlx_fast_cross_entropy",
    ] {
        assert!(required(probe), "{probe}");
    }
}

#[test]
fn versions_are_read_by_number() {
    assert_eq!(parse_version("0.32.2"), Some((0, 32, 2)));
    assert_eq!(parse_version("0.32.10.dev20261201"), Some((0, 32, 10)));
    assert_eq!(parse_version("0.32.2+abc"), Some((0, 32, 2)));
    for text in ["", "0.32", "0.32.x", "v0.32.2", "0.32.-1"] {
        assert_eq!(parse_version(text), None, "{text}");
    }
}

#[test]
fn the_real_library_is_accepted_whole() {
    let path = libmlxc();
    let mlx = load::load(Some(&path), false).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(mlx.features, Features::all());
    assert!(mlx.version.starts_with("0.32."), "{}", mlx.version);
    assert_eq!(
        mlx.path.canonicalize().expect("it exists"),
        path.canonicalize().expect("it exists")
    );
    assert_eq!(mlx.warnings, Vec::<String>::new());
}

#[test]
#[ignore = "needs the older supported mlx-c: MLX_EP_TEST_LIBMLXC_060 names its libmlxc"]
fn the_older_real_library_is_accepted_without_its_group() {
    let mlx = load::load(Some(&libmlxc_060()), false).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(mlx.features, Features::all() - Features::CLEAR_STREAMS);
}

static DROPPED: AtomicUsize = AtomicUsize::new(0);

extern "C" fn dropped(payload: *mut c_void) {
    DROPPED.fetch_add(payload.addr(), Ordering::Relaxed);
}

extern "C" fn fails(_: *mut mlx_vector_array, _: mlx_vector_array, _: *mut c_void) -> c_int {
    1
}

/// Handles, optional values, enums and callbacks arrive in C as they were passed. Nothing is evaluated.
#[test]
fn values_cross_the_boundary() {
    let mlx = load::load(Some(&libmlxc()), false).unwrap_or_else(|error| panic!("{error}"));
    // SAFETY: takes any dtype.
    assert_eq!(unsafe { mlx.mlx_dtype_size(mlx_dtype::MLX_COMPLEX64) }, 8);
    // SAFETY: takes nothing.
    let stream = unsafe { mlx.mlx_default_cpu_stream_new() };
    let (values, shape) = ([1_i32, 2, 3, 4, 5, 6], [2, 3]);
    // SAFETY: `values` has the 2 x 3 elements that `shape` says, both live until the call returns, and the data is copied.
    let array = unsafe {
        mlx.mlx_array_new_data(
            values.as_ptr().cast(),
            shape.as_ptr(),
            2,
            mlx_dtype::MLX_INT32,
        )
    };
    // SAFETY: `array` is the live handle made above.
    assert_eq!(unsafe { mlx.mlx_array_dtype(array) }, mlx_dtype::MLX_INT32);
    // SAFETY: `array` is the live handle made above.
    let shape = unsafe { mlx.mlx_array_shape(array) };
    // SAFETY: the array has two dimensions and is alive.
    assert_eq!(unsafe { std::slice::from_raw_parts(shape, 2) }, [2, 3]);

    let mut sum = mlx_array::EMPTY;
    let wanted = mlx_optional_dtype::some(mlx_dtype::MLX_FLOAT32);
    // SAFETY: `sum` is an empty handle to write, `array` and `stream` are live.
    let status = unsafe { mlx.mlx_cumsum(&raw mut sum, array, false, true, wanted, stream) };
    assert_eq!(status, 0);
    // SAFETY: `sum` was written by the successful call above.
    assert_eq!(unsafe { mlx.mlx_array_dtype(sum) }, mlx_dtype::MLX_FLOAT32);
    // SAFETY: `sum` is a live handle.
    let length = unsafe { mlx.mlx_array_dim(sum, 0) };
    assert_eq!(length, 6, "the sum over a flattened array");

    let payload = null_mut::<c_void>().with_addr(7);
    // SAFETY: the callbacks have the declared types and do not read the payload.
    let closure = unsafe { mlx.mlx_closure_new_func_payload(Some(fails), payload, Some(dropped)) };
    assert_ne!(closure, mlx_closure::EMPTY);
    // SAFETY: `closure` is the live handle made above, freed once.
    assert_eq!(unsafe { mlx.mlx_closure_free(closure) }, 0);
    assert_eq!(
        DROPPED.load(Ordering::Relaxed),
        7,
        "the destructor got the payload, once"
    );
    for handle in [array, sum] {
        // SAFETY: both handles are live and freed once.
        assert_eq!(unsafe { mlx.mlx_array_free(handle) }, 0);
    }
    // SAFETY: the handle made above, freed once; no array refers to the stream any more.
    assert_eq!(unsafe { mlx.mlx_stream_free(stream) }, 0);
}
