//! The declarations against the mlx-c headers, read as text.
use super::{declarations, libmlxc};
use crate::ffi::library::Declaration;
use crate::ffi::mlx::types::{CALLBACKS, ENUMS, HANDLES, OPTIONALS};
use std::collections::BTreeMap;
use std::path::Path;

/// Headers of which every function is declared, save those in `LEFT_OUT`.
const WHOLE: &[&str] = &[
    "array",
    "closure",
    "compile",
    "cuda",
    "device",
    "error",
    "fast",
    "fft",
    "linalg",
    "memory",
    "metal",
    "ops",
    "random",
    "stream",
    "string",
    "transforms",
    "vector",
    "version",
];

/// Beginnings of names that are left out on purpose.
const LEFT_OUT: &[&str] = &[
    // Exist only where the C++ compiler has the half types.
    "mlx_array_item_float16",
    "mlx_array_item_bfloat16",
    "mlx_array_data_float16",
    "mlx_array_data_bfloat16",
    // Differentiation and custom transforms.
    "mlx_checkpoint",
    "mlx_closure_custom",
    "mlx_closure_kwargs",
    "mlx_closure_value_and_grad",
    "mlx_custom_",
    "mlx_jvp",
    "mlx_value_and_grad",
    "mlx_vjp",
    "mlx_vector_int_",
    "mlx_vector_vector_array_",
    // Variadic, for mlx-c's own use.
    "_mlx_error",
];

/// A function as the header declares it, its types in Rust's words.
#[derive(Debug, PartialEq)]
struct Function {
    arguments: Vec<(String, String)>,
    result: String,
}

/// The header without comments and preprocessor lines, cut at semicolons outside braces, with single spaces.
fn statements(text: &str) -> Vec<String> {
    let mut code = String::new();
    let mut rest = text;
    while let Some(start) = rest.find("/*") {
        code.push_str(&rest[..start]);
        let end = rest[start..].find("*/").expect("comments end");
        code.push(' ');
        rest = &rest[start + end + 2..];
    }
    code.push_str(rest);
    let mut continued = false;
    let mut kept = String::new();
    for line in code.lines() {
        let directive = continued || line.trim_start().starts_with('#');
        continued = directive && line.ends_with('\\');
        if !directive {
            kept.push_str(line.split("//").next().unwrap_or_default());
            kept.push(' ');
        }
    }
    let kept = kept.replace("extern \"C\" {", "");
    let mut found = vec![String::new()];
    let mut depth = 0;
    for c in kept.chars() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        if c == ';' && depth == 0 {
            found.push(String::new());
        } else {
            found.last_mut().expect("never empty").push(c);
        }
    }
    found
        .iter()
        .map(|text| text.split_whitespace().collect::<Vec<_>>().join(" "))
        .filter(|text| !text.is_empty())
        .collect()
}

/// Cuts at commas outside parentheses.
fn split_arguments(text: &str) -> Vec<&str> {
    let mut depth = 0;
    let text = text.trim();
    if text.is_empty() || text == "void" {
        return Vec::new();
    }
    let pieces = text.split(|c| {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        c == ',' && depth == 0
    });
    pieces.map(str::trim).collect()
}

/// The Rust spelling of a C type without a name in it.
fn rust_type(c: &str) -> String {
    let spaced = c.replace('*', " * ");
    let mut constant = false;
    let mut base = None;
    let mut pointers = Vec::new();
    for word in spaced.split_whitespace() {
        match word {
            // `const` before the first star belongs to what is pointed to.
            "const" => constant = true,
            "*" => pointers.push(if std::mem::take(&mut constant) {
                "*const "
            } else {
                "*mut "
            }),
            word => base = Some(word),
        }
    }
    let base = base.expect("a type has a name");
    let base = match base {
        "char" => "c_char",
        "int" => "c_int",
        "void" if pointers.is_empty() => "",
        "void" => "c_void",
        "float" => "f32",
        "double" => "f64",
        "size_t" | "uintptr_t" => "usize",
        "int8_t" => "i8",
        "int16_t" => "i16",
        "int32_t" => "i32",
        "int64_t" => "i64",
        "uint8_t" => "u8",
        "uint16_t" => "u16",
        "uint32_t" => "u32",
        "uint64_t" => "u64",
        other => other,
    };
    // `const char** x` is a pointer to a pointer to constant text: the innermost comes first in C and last in Rust.
    pointers.reverse();
    pointers.concat() + base
}

/// Name and Rust type of one argument.
fn argument(text: &str) -> (String, String) {
    if let Some((result, rest)) = text.split_once("(*") {
        let (name, arguments) = rest
            .split_once(')')
            .expect("a function pointer has a name in parentheses");
        let arguments = arguments
            .trim()
            .trim_start_matches('(')
            .trim_end_matches(')');
        let arguments: Vec<String> = split_arguments(arguments)
            .into_iter()
            .map(unnamed)
            .collect();
        let result = rust_type(result);
        let callback = CALLBACKS
            .iter()
            .find(|(_, a, r)| *a == arguments && *r == result);
        return (
            name.into(),
            callback.map_or_else(
                || format!("no callback type for {text}"),
                |(name, ..)| (*name).into(),
            ),
        );
    }
    let start = text
        .rfind(|c: char| !c.is_ascii_alphanumeric() && c != '_')
        .map_or(0, |at| at + 1);
    let name = text[start..].to_lowercase();
    (
        if name == "type" { "kind".into() } else { name },
        rust_type(&text[..start]),
    )
}

/// The Rust type of an argument that may or may not have a name.
fn unnamed(text: &str) -> String {
    let words = text.replace('*', " ");
    let named = words
        .split_whitespace()
        .filter(|word| *word != "const")
        .count()
        == 2;
    if named {
        argument(text).1
    } else {
        rust_type(text)
    }
}

fn functions(header: &str) -> BTreeMap<String, Function> {
    let mut found = BTreeMap::new();
    for statement in statements(header) {
        let Some((head, arguments)) = statement.split_once('(') else {
            continue;
        };
        if statement.starts_with("typedef") || statement.starts_with("static") {
            continue;
        }
        let arguments = arguments
            .trim()
            .strip_suffix(')')
            .expect("a declaration ends with its arguments");
        let (name, result) = argument(head.trim());
        let arguments = split_arguments(arguments)
            .into_iter()
            .filter(|text| *text != "...")
            .map(argument)
            .collect();
        found.insert(name, Function { arguments, result });
    }
    found
}

fn read(folder: &Path, name: &str) -> String {
    let path = folder.join(name);
    std::fs::read_to_string(&path)
        .unwrap_or_else(|error| panic!("{}: {error}; run scripts/fetch-mlx-c.sh", path.display()))
}

/// `PREFIX/include/mlx/c` of `PREFIX/lib/libmlxc.so`.
fn folder_of(libmlxc: &Path) -> std::path::PathBuf {
    let prefix = libmlxc
        .parent()
        .and_then(Path::parent)
        .expect("libmlxc lies in PREFIX/lib");
    prefix.join("include/mlx/c")
}

/// Every difference between the declarations, without those of `absent` groups, and the headers.
fn differences(folder: &Path, absent: &[&str]) -> Vec<String> {
    let mut headers = BTreeMap::new();
    for name in WHOLE {
        headers.extend(functions(&read(folder, &format!("{name}.h"))));
    }
    assert!(
        headers.len() > 500,
        "only {} functions were read from {}",
        headers.len(),
        folder.display()
    );
    let mut found = Vec::new();
    let mut declared = BTreeMap::new();
    for Declaration {
        name,
        arguments,
        result,
        group,
    } in declarations()
    {
        let here = Function {
            arguments: arguments
                .iter()
                .map(|(name, kind)| ((*name).into(), (*kind).into()))
                .collect(),
            result: (*result).into(),
        };
        if declared.insert(*name, ()).is_some() {
            found.push(format!("{name} is declared twice"));
        }
        match headers.get(*name) {
            Some(_) if absent.contains(group) => {
                found.push(format!("{name} of {group} is in the headers"))
            }
            Some(there) if *there != here => {
                found.push(format!("{name}: declared {here:?}, header {there:?}"))
            }
            None if !absent.contains(group) => found.push(format!("{name} is not in the headers")),
            _ => {}
        }
    }
    for name in headers.keys() {
        let left_out = LEFT_OUT.iter().any(|start| name.starts_with(start));
        match (declared.contains_key(name.as_str()), left_out) {
            (false, false) => found.push(format!("{name} is not declared")),
            (true, true) => found.push(format!("{name} is declared and left out")),
            _ => {}
        }
    }
    found
}

/// Every difference between our types and the typedefs of the headers.
fn type_differences(folder: &Path, absent: &[&str]) -> Vec<String> {
    let mut typedefs = Vec::new();
    for entry in std::fs::read_dir(folder).expect("the header folder can be listed") {
        let path = entry.expect("the header folder can be listed").path();
        if path.extension().is_some_and(|extension| extension == "h") {
            let text = std::fs::read_to_string(&path).expect("a header is text");
            typedefs.extend(
                statements(&text)
                    .into_iter()
                    .filter(|statement| statement.starts_with("typedef")),
            );
        }
    }
    let expected = HANDLES
        .iter()
        .filter(|name| !absent.contains(name))
        .map(|name| format!("typedef struct {name}_ {{ void* ctx; }} {name}"));
    let expected = expected.chain(ENUMS.iter().map(|(name, variants)| {
        let in_order = variants
            .iter()
            .enumerate()
            .all(|(at, (_, value))| u32::try_from(at) == Ok(*value));
        assert!(in_order, "{name}: C numbers its enumerators from 0");
        let variants: Vec<&str> = variants.iter().map(|(name, _)| *name).collect();
        format!("typedef enum {name}_ {{ {} }} {name}", variants.join(", "))
    }));
    let expected = expected.chain(OPTIONALS.iter().map(|(name, value)| {
        let value = match *value {
            "c_int" => "int",
            "f32" => "float",
            other => other,
        };
        format!("typedef struct {name}_ {{ {value} value; bool has_value; }} {name}")
    }));
    let typedefs: Vec<String> = typedefs
        .iter()
        .map(|text| text.replace(", }", " }"))
        .collect();
    let mut found: Vec<String> = expected.filter(|text| !typedefs.contains(text)).collect();
    if !typedefs
        .iter()
        .any(|text| text == "typedef void (*mlx_error_handler_func)(const char* msg, void* data)")
    {
        found.push("mlx_error_handler_func".into());
    }
    if !typedefs
        .iter()
        .any(|text| text == "typedef float _Complex mlx_complex64_t")
    {
        found.push("mlx_complex64_t".into());
    }
    found
}

#[test]
fn declarations_are_those_of_the_0_7_0_headers() {
    let folder = folder_of(&libmlxc());
    assert_eq!(differences(&folder, &[]), Vec::<String>::new());
    assert_eq!(type_differences(&folder, &[]), Vec::<String>::new());
}

#[test]
#[ignore = "needs the older supported mlx-c: MLX_EP_TEST_LIBMLXC_060 names its libmlxc"]
fn declarations_are_those_of_the_0_6_0_headers() {
    let folder = folder_of(&super::libmlxc_060());
    assert_eq!(
        differences(&folder, &["CLEAR_STREAMS"]),
        Vec::<String>::new()
    );
    assert_eq!(
        type_differences(&folder, &["mlx_vector_stream", "mlx_stream_thread_local"]),
        Vec::<String>::new()
    );
}

#[test]
fn a_header_is_read_as_c() {
    let header = "/* a(b); */\n#define x(y) \\\n  z(y);\ntypedef struct q_ { void* ctx; } q;\nstatic q q_empty;\n\
        int f(q* res, const q a /* may be null */, const char** names,\n    size_t n, void (*dtor)(void*), const int UPLO); // g(int);\n\
        void h(void);\nconst size_t* k(int type);";
    let found = functions(header);
    assert_eq!(found.keys().collect::<Vec<_>>(), ["f", "h", "k"]);
    let text = |pairs: &[(&str, &str)]| {
        pairs
            .iter()
            .map(|(a, b)| ((*a).into(), (*b).into()))
            .collect::<Vec<(String, String)>>()
    };
    let f = text(&[
        ("res", "*mut q"),
        ("a", "q"),
        ("names", "*mut *const c_char"),
        ("n", "usize"),
        ("dtor", "mlx_dtor"),
        ("uplo", "c_int"),
    ]);
    assert_eq!(
        found["f"],
        Function {
            arguments: f,
            result: "c_int".into()
        }
    );
    assert_eq!(
        found["h"],
        Function {
            arguments: Vec::new(),
            result: String::new()
        }
    );
    assert_eq!(
        found["k"],
        Function {
            arguments: text(&[("kind", "c_int")]),
            result: "*const usize".into()
        }
    );
}
