//! Constant initializers: small ones are read while a graph is imported, large ones when a program is loaded.
use super::Imported;
use super::value::{External, ValueView};
use crate::device::DType;
use crate::error::{Error, Result};
use crate::ops::HostTensor;
use crate::ops::ir::{Constant, Dim, ValueKind};
use std::borrow::Cow;
use std::collections::HashMap;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// Names the initializers of one session, so that clusters share what they load.
#[derive(Default)]
pub(crate) struct Keys {
    known: Mutex<HashMap<Identity, u64>>,
}

/// What tells an initializer from every other of its session.
#[derive(PartialEq, Eq, Hash)]
struct Identity {
    /// Bodies may use one name for different initializers, so the graph is part of it, and where the bytes are.
    graph: String,
    name: String,
    dtype: DType,
    dims: Vec<usize>,
    place: Place,
}

#[derive(PartialEq, Eq, Hash)]
enum Place {
    File(External),
    Memory(usize),
}

impl Keys {
    fn of(&self, identity: Identity) -> u64 {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let next = known.len() as u64;
        *known.entry(identity).or_insert(next)
    }
}

/// What planning may know of a value if it is a constant initializer. Its declared shape becomes the one it has.
pub(super) fn read(
    view: ValueView<'_>,
    name: &str,
    kind: &mut ValueKind,
    graph: &str,
    keys: Option<&Keys>,
) -> Result<Option<Constant>> {
    let ValueKind::Tensor { dtype, shape } = kind else {
        return Ok(None);
    };
    let dtype = *dtype;
    if dtype.bits() == 0 || !view.is_constant_initializer()? {
        return Ok(None);
    }
    let dims = match shape.as_deref().and_then(known_dims) {
        Some(dims) => dims,
        None => match view
            .initializer()?
            .map(|tensor| tensor.type_and_dims())
            .transpose()?
            .flatten()
        {
            Some((found, dims)) if found == dtype => dims,
            _ => return Ok(None),
        },
    };
    let elements = dims
        .iter()
        .try_fold(1usize, |product, dim| product.checked_mul(*dim));
    let small = elements.is_some_and(|n| n <= HostTensor::MAX_ELEMENTS) && HostTensor::holds(dtype);
    let host = if small {
        let bytes = view
            .initializer()?
            .map(|tensor| tensor.bytes())
            .transpose()?;
        bytes.and_then(|bytes| HostTensor::from_bytes(dtype, &dims, bytes))
    } else {
        None
    };
    let key = match keys {
        Some(keys) => {
            let place = match view.external()? {
                Some(external) => Place::File(external),
                None => Place::Memory(
                    view.initializer()?
                        .map_or(Ok(0), |t| t.bytes().map(|b| b.as_ptr().addr()))?,
                ),
            };
            keys.of(Identity {
                graph: graph.into(),
                name: name.into(),
                dtype,
                dims: dims.clone(),
                place,
            })
        }
        None => 0,
    };
    *shape = Some(dims.iter().copied().map(Dim::Known).collect());
    Ok(Some(Constant { dims, host, key }))
}

fn known_dims(shape: &[Dim]) -> Option<Vec<usize>> {
    let dim = |dim: &Dim| match dim {
        Dim::Known(n) => Some(*n),
        Dim::Symbol(_) | Dim::Unknown => None,
    };
    shape.iter().map(dim).collect()
}

/// The bytes of a constant initializer. Those in a file are read from it, so that the host need not map it; those in
/// memory are borrowed from the host while the callback lasts.
pub(crate) fn read_constant<'a>(imported: &Imported<'a>, key: u64) -> Result<Cow<'a, [u8]>> {
    let view = imported.constants.get(&key).copied();
    let view = view.ok_or_else(|| Error::internal("a constant that was not imported"))?;
    if let Some(external) = view.external()?
        && let Some(bytes) = read_file(&imported.model_path, &external)
    {
        return Ok(Cow::Owned(bytes));
    }
    match view.initializer()? {
        Some(tensor) => Ok(Cow::Borrowed(tensor.bytes()?)),
        None => Err(Error::internal(format!(
            "initializer '{}' has no value",
            view.name()?
        ))),
    }
}

/// Bytes of external data; `None` where they cannot be read, so that the host is asked, which also knows data in memory
/// and gives the error in its own words.
fn read_file(model: &Path, external: &External) -> Option<Vec<u8>> {
    let file = File::open(model.parent()?.join(&external.file)).ok()?;
    let mut bytes = vec![0; external.bytes];
    file.read_exact_at(&mut bytes, u64::try_from(external.offset).ok()?)
        .ok()?;
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_tell_initializers_apart() {
        let keys = Keys::default();
        let key = |graph: &str, name: &str, place: Place| {
            keys.of(Identity {
                graph: graph.into(),
                name: name.into(),
                dtype: DType::F32,
                dims: vec![2],
                place,
            })
        };
        let first = key("then", "w", Place::Memory(1));
        assert_eq!(key("then", "w", Place::Memory(1)), first);
        assert_ne!(key("then", "w", Place::Memory(2)), first);
        assert_ne!(key("else", "w", Place::Memory(1)), first);
        let file = |offset| {
            Place::File(External {
                file: "data".into(),
                offset,
                bytes: 8,
            })
        };
        assert_ne!(key("then", "w", file(0)), first);
        assert_ne!(key("then", "w", file(0)), key("then", "w", file(64)));
    }

    #[test]
    fn external_data_is_read_beside_the_model() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("w.data"), b"0123456789").unwrap();
        let model = folder.path().join("model.onnx");
        let external = |offset, bytes| External {
            file: "w.data".into(),
            offset,
            bytes,
        };
        assert_eq!(
            read_file(&model, &external(2, 3)).as_deref(),
            Some(&b"234"[..])
        );
        assert_eq!(read_file(&model, &external(8, 3)), None);
        assert_eq!(read_file(&model, &external(-1, 3)), None);
        assert_eq!(read_file(Path::new(""), &external(2, 3)), None);
    }
}
