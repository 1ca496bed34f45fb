//! The declarations of the library under test.
#[path = "../../src/ffi/ort/mod.rs"]
pub(crate) mod ort;
#[path = "../../src/ffi/table.rs"]
pub(crate) mod table;
