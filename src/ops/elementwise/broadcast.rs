//! Broadcasting on the host, for shape arithmetic.
use crate::error::{Error, Result};
use crate::ops::HostTensor;

/// The dimensions that two shapes broadcast to.
pub(crate) fn dims(a: &[usize], b: &[usize]) -> Result<Vec<usize>> {
    let rank = a.len().max(b.len());
    let at = |d: &[usize], i: usize| (i + d.len()).checked_sub(rank).map_or(1, |i| d[i]);
    let pair = |i| match (at(a, i), at(b, i)) {
        (x, y) if x == y => Ok(x),
        (1, y) => Ok(y),
        (x, 1) => Ok(x),
        _ => Err(Error::invalid(format!(
            "shapes {a:?} and {b:?} do not broadcast"
        ))),
    };
    (0..rank).map(pair).collect()
}

/// For each element of `to`, in row-major order, the position of the element of `from` that it comes from.
pub(crate) fn positions(from: &[usize], to: &[usize]) -> Vec<usize> {
    let mut strides = vec![0; to.len()];
    let mut step = 1;
    for (axis, dim) in from.iter().enumerate().rev() {
        strides[axis + to.len() - from.len()] = if *dim == 1 { 0 } else { step };
        step *= dim;
    }
    let mut out = vec![0];
    for (dim, stride) in to.iter().zip(strides) {
        out = out
            .iter()
            .flat_map(|p| (0..*dim).map(move |i| p + i * stride))
            .collect();
    }
    out
}

/// A tensor under broadcast dimensions.
pub(crate) fn to(t: &HostTensor, dims: &[usize]) -> HostTensor {
    if t.dims() == dims {
        t.clone()
    } else {
        t.pick(dims.to_vec(), positions(t.dims(), dims).into_iter())
    }
}

/// The first two inputs under the dimensions that they broadcast to.
pub(super) fn pair(
    inputs: &[Option<&HostTensor>],
) -> Result<Option<(Vec<usize>, HostTensor, HostTensor)>> {
    let (Some(Some(a)), Some(Some(b))) = (inputs.first(), inputs.get(1)) else {
        return Ok(None);
    };
    let dims = dims(a.dims(), b.dims())?;
    let (a, b) = (to(a, &dims), to(b, &dims));
    Ok(Some((dims, a, b)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_broadcast_as_numpy_does() {
        assert_eq!(dims(&[2, 1], &[3]).unwrap(), [2, 3]);
        assert_eq!(dims(&[], &[0, 3]).unwrap(), [0, 3]);
        assert_eq!(dims(&[1], &[0]).unwrap(), [0]);
        assert!(dims(&[2], &[3]).is_err());
        assert_eq!(positions(&[2, 1], &[2, 3]), [0, 0, 0, 1, 1, 1]);
        assert_eq!(positions(&[], &[2]), [0, 0]);
        assert!(positions(&[1], &[0, 2]).is_empty());
    }
}
