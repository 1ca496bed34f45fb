//! The search order and every refusal of the loader, on real files.
use super::*;
use std::process::Command;
use tempfile::TempDir;

/// What version.h and string.h offer, in a library that is for another MLX.
const OTHER_VERSION: &str = r#"
    typedef struct { void* ctx; } string;
    string mlx_string_new(void) { string s = {0}; return s; }
    string mlx_string_new_data(const char* text) { string s = {(void*)text}; return s; }
    int mlx_string_set(string* to, string from) { *to = from; return 0; }
    const char* mlx_string_data(string s) { return (const char*)s.ctx; }
    int mlx_string_free(string s) { return 0; }
    int mlx_version(string* s) { s->ctx = "0.29.1"; return 0; }
"#;

fn folder() -> TempDir {
    TempDir::new().expect("a temporary folder")
}

/// Builds a shared library from C.
fn build(path: &Path, source: &str, arguments: &[&str]) {
    std::fs::create_dir_all(path.parent().expect("a file has a folder"))
        .expect("the folder can be made");
    let code = path.with_extension("c");
    std::fs::write(&code, source).expect("the source can be written");
    let built = Command::new("cc")
        .args(["-shared", "-fPIC", "-o"])
        .arg(path)
        .arg(&code)
        .args(arguments)
        .status();
    assert!(
        built
            .expect("these tests need a C compiler named cc")
            .success(),
        "cc failed"
    );
}

fn refusal(result: Result<Mlx, LoadError>) -> LoadError {
    result.err().expect("the library is refused")
}

fn found(result: Result<(Library, PathBuf), LoadError>) -> PathBuf {
    result.unwrap_or_else(|error| panic!("{error}")).1
}

fn is_mapped(path: &Path) -> bool {
    let path = path.canonicalize().expect("the file exists");
    mapped_files().contains(&path)
}

#[test]
fn a_named_file_is_the_only_place() {
    let folder = folder();
    let own = folder.path().join("own.so");
    build(&folder.path().join(FILE_NAME), "int x;", &[]);
    let named = folder.path().join("absent.so");
    let Err(error) = find(Some(&named), Some(&own), &[], "libc.so.6") else {
        panic!("an absent file was found")
    };
    let place = Place {
        origin: "named by ONNXRUNTIME_EP_MLX_LIBMLXC",
        path: named.clone(),
        outcome: "no such file".into(),
    };
    assert_eq!(error, LoadError::NotFound { tried: vec![place] });
    let text = error.to_string();
    for part in [
        named.to_str().expect("ASCII"),
        "no such file",
        "ONNXRUNTIME_EP_MLX_LIBMLXC",
        "scripts/fetch-mlx-c.sh",
    ] {
        assert!(text.contains(part), "{part} is not in: {text}");
    }

    let LoadError::NotFound { tried } = refusal(load(Some(folder.path()), false)) else {
        panic!("a folder was opened")
    };
    assert_eq!(tried[0].outcome, "is a folder");
}

#[test]
fn a_relative_name_is_made_absolute() {
    let named = candidates(Some(Path::new("libmlxc.so")), None, &[]);
    assert_eq!(
        named[0].1,
        std::env::current_dir()
            .expect("there is one")
            .join("libmlxc.so")
    );
}

#[test]
fn places_are_tried_in_order() {
    let (ours, usual) = (folder(), folder());
    let own = ours.path().join("libep.so");
    let usual_path = usual.path().to_str().expect("ASCII");
    let search = || find(None, Some(&own), &[usual_path], "libmlxc-of-nowhere.so");

    let Err(LoadError::NotFound { tried }) = search() else {
        panic!("nothing is there yet")
    };
    let origins: Vec<_> = tried
        .iter()
        .map(|place| (place.origin, place.path.clone()))
        .collect();
    let places = [
        ours.path().join(FILE_NAME),
        ours.path().join("mlx").join(FILE_NAME),
        usual.path().join(FILE_NAME),
    ];
    assert_eq!(
        origins,
        [
            ("beside the EP's library", places[0].clone()),
            ("beside the EP's library", places[1].clone()),
            ("a usual place", places[2].clone()),
            ("the system loader", "libmlxc-of-nowhere.so".into()),
        ]
    );
    // From the last to the first, each new file comes before the ones that are there.
    for place in places.iter().rev() {
        build(place, "int x;", &[]);
        assert_eq!(found(search()), *place);
    }
}

#[test]
fn the_first_hit_decides_even_if_it_is_bad() {
    let ours = folder();
    let bad = ours.path().join(FILE_NAME);
    std::fs::write(&bad, "not a library").expect("the file can be written");
    build(&ours.path().join("mlx").join(FILE_NAME), "int x;", &[]);
    let result = find(
        None,
        Some(&ours.path().join("libep.so")),
        &[],
        "libmlxc-of-nowhere.so",
    );
    assert!(matches!(result, Err(LoadError::Open { path, .. }) if path == bad));
}

#[test]
fn a_linked_ep_looks_beside_the_link_and_beside_the_file() {
    let (link, real) = (folder(), folder());
    let file = real
        .path()
        .canonicalize()
        .expect("it exists")
        .join("libep.so");
    std::fs::write(&file, "").expect("the file can be written");
    std::os::unix::fs::symlink(&file, link.path().join("libep.so")).expect("links can be made");
    let files: Vec<_> = candidates(None, Some(&link.path().join("libep.so")), &[])
        .into_iter()
        .map(|(_, path)| path)
        .collect();
    let real = file.parent().expect("a file has a folder");
    let expected = [link.path(), real]
        .map(|folder| [folder.join(FILE_NAME), folder.join("mlx").join(FILE_NAME)]);
    assert_eq!(files, expected.concat());
}

#[test]
fn the_system_loader_is_last() {
    // Found by its bare name wherever it lies, as the process needs it.
    let name = if cfg!(target_os = "macos") {
        "libSystem.B.dylib"
    } else {
        "libc.so.6"
    };
    assert_eq!(found(find(None, None, &[], name)), Path::new(name));
}

#[test]
fn the_current_directory_is_no_place() {
    assert!(
        Path::new("Cargo.toml").exists(),
        "tests run in the package's folder"
    );
    let Err(LoadError::NotFound { tried }) = find(None, None, &[], "Cargo.toml") else {
        panic!("the current directory was asked")
    };
    assert!(
        tried[0].outcome.starts_with("not asked"),
        "{}",
        tried[0].outcome
    );
}

#[test]
fn what_is_no_library_is_named_with_the_loaders_words() {
    let folder = folder();
    let path = folder.path().join(FILE_NAME);
    std::fs::write(&path, "not a library").expect("the file can be written");
    let error = refusal(load(Some(&path), true));
    let LoadError::Open {
        dlerror, mapped, ..
    } = &error
    else {
        panic!("{error}")
    };
    assert!(dlerror.contains(path.to_str().expect("ASCII")), "{dlerror}");
    assert_eq!(*mapped, Vec::<PathBuf>::new());
    assert!(error.to_string().contains(dlerror.as_str()));
}

#[test]
fn a_library_that_needs_an_absent_one_is_not_called_absent() {
    let folder = folder();
    let dependency = folder.path().join("libgone.so");
    build(&dependency, "int gone(void) { return 1; }", &[]);
    let path = folder.path().join("libmlxc-with-need.so");
    build(
        &path,
        "int gone(void); int x(void) { return gone(); }",
        &[dependency.to_str().expect("ASCII")],
    );
    std::fs::remove_file(&dependency).expect("the file can be removed");
    let Err(error) = open(&path) else {
        panic!("a library without its dependency was opened")
    };
    let LoadError::Open { dlerror, .. } = &error else {
        panic!("{error}")
    };
    assert!(
        dlerror.contains("libgone.so") && !is_absence(dlerror, "libmlxc-with-need.so"),
        "{dlerror}"
    );
}

#[test]
fn another_library_lacks_everything() {
    let folder = folder();
    let file = folder.path().join("libother.so");
    build(&file, "int x;", &[]);
    let error = refusal(load(Some(&file), true));
    let LoadError::Missing {
        symbols,
        version: None,
        path,
    } = &error
    else {
        panic!("{error}")
    };
    assert_eq!(*path, file);
    assert!(symbols.len() > 400);
    let text = error.to_string();
    assert!(
        text.contains("does not look like a libmlxc") && text.contains("mlx_string_new"),
        "{text}"
    );
    assert!(text.len() < 800, "a long list is cut: {text}");
}

#[test]
fn another_version_is_named_with_the_supported_one() {
    let folder = folder();
    let path = folder.path().join(FILE_NAME);
    build(&path, OTHER_VERSION, &[]);
    let error = refusal(load(Some(&path), false));
    assert!(
        matches!(&error, LoadError::Version { found, supported: "0.32.x", .. } if found == "0.29.1"),
        "{error}"
    );
    let text = error.to_string();
    for part in [
        "0.29.1",
        "0.32.x",
        "ONNXRUNTIME_EP_MLX_ALLOW_UNTESTED=1",
        "scripts/fetch-mlx-c.sh",
    ] {
        assert!(text.contains(part), "{part} is not in: {text}");
    }
    // Allowing it does not make up functions.
    let error = refusal(load(Some(&path), true));
    assert!(
        matches!(&error, LoadError::Missing { version: Some(version), .. } if version == "0.29.1"),
        "{error}"
    );
}

#[test]
fn an_undefined_symbol_names_the_mlx_that_is_there() {
    let folder = folder();
    let other = folder
        .path()
        .canonicalize()
        .expect("it exists")
        .join("libmlx.so");
    build(&other, "int other_mlx;", &[]);
    let path = folder.path().join(FILE_NAME);
    build(
        &path,
        "int of_newer_mlx(void); int x(void) { return of_newer_mlx(); }",
        &["-Wl,-undefined,dynamic_lookup"][..usize::from(cfg!(target_os = "macos"))],
    );
    let _other = open(&other).expect("a plain library opens");
    let error = refusal(load(Some(&path), false));
    let LoadError::Open {
        dlerror, mapped, ..
    } = &error
    else {
        panic!("{error}")
    };
    assert!(dlerror.contains("of_newer_mlx"), "{dlerror}");
    assert!(mapped.contains(&other), "{mapped:?}");
    let text = error.to_string();
    assert!(
        text.contains(other.to_str().expect("ASCII")) && text.contains("before the other MLX"),
        "{text}"
    );
}

#[test]
fn only_libmlx_is_taken_for_libmlx() {
    for name in [
        "libmlx.so",
        "libmlx_ep.so",
        "libmlx.dylib",
        "libmlx-5ab3.so",
    ] {
        assert!(is_libmlx(&Path::new("/a").join(name)), "{name}");
    }
    for name in [
        "libmlxc.so",
        "libmlx",
        "mlx.so",
        "libmlx5.so",
        "libonnxruntime_mlx_ep.so",
    ] {
        assert!(!is_libmlx(&Path::new("/a").join(name)), "{name}");
    }
}

#[test]
fn a_pinned_library_stays() {
    let folder = folder();
    for (name, pinned) in [("libpinned.so", true), ("libloose.so", false)] {
        let path = folder.path().join(name);
        build(&path, "int x;", &[]);
        // SAFETY: the library was built above and has no initialisers.
        let library =
            unsafe { Library::open(Some(&path), libc::RTLD_NOW) }.expect("a plain library opens");
        if pinned {
            pin(&path).unwrap_or_else(|error| panic!("{error}"));
        }
        drop(library);
        assert_eq!(is_mapped(&path), pinned, "{name}");
    }
    let unloaded = folder.path().join("libloose.so");
    assert!(
        matches!(pin(&unloaded), Err(LoadError::Pin { .. })),
        "what is not loaded is not loaded by pinning"
    );
}

#[test]
fn libmlxc_stays_when_it_is_refused_or_dropped() {
    let folder = folder();
    let path = folder.path().join(FILE_NAME);
    build(&path, "int x;", &[]);
    drop(open(&path).expect("a plain library opens"));
    assert!(is_mapped(&path));
}

#[test]
fn our_own_file_is_known() {
    let own = own_path().expect("tests are started by a path");
    assert_eq!(
        own.canonicalize().ok(),
        std::env::current_exe()
            .ok()
            .and_then(|path| path.canonicalize().ok())
    );
}

#[test]
fn an_absent_library_is_told_from_one_that_does_not_fit() {
    let absent = if cfg!(target_os = "macos") {
        "dlopen(libmlxc.x, 0x0006): tried: 'libmlxc.x' (no such file)"
    } else {
        "libmlxc.x: cannot open shared object file: No such file or directory"
    };
    assert!(is_absence(absent, "libmlxc.x"));
    for unfit in [
        "/lib/libmlxc.x: undefined symbol: _ZN3mlx4core5arrayD1Ev",
        "libmlx.x: cannot open shared object file: No such file or directory",
        "dlopen(libmlxc.x, 0x0006): symbol not found in flat namespace '_f'",
        "dlopen(libmlxc.x, 0x0006): Library not loaded: @rpath/libmlx.x\n  Referenced from: /lib/libmlxc.x",
    ] {
        assert!(!is_absence(unfit, "libmlxc.x"), "{unfit}");
    }
    assert!(lacks_symbol("dlopen(a, 0x0006): Symbol not found: _f") && !lacks_symbol(absent));
}

#[test]
fn an_empty_name_is_none() {
    let result = load(Some(Path::new("")), false);
    let named = matches!(&result, Err(LoadError::NotFound { tried }) if tried[0].origin.starts_with("named"));
    assert!(!named, "the other places were not tried");
}
