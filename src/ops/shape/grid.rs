//! Movement on the host, for shape arithmetic.
use crate::ops::HostTensor;

/// Row-major positions of the elements of a tensor of `dims` at every combination of these indices, one list per
/// axis. The indices are in range.
pub(super) fn positions(dims: &[usize], indices: &[Vec<usize>]) -> Vec<usize> {
    let mut out = vec![0];
    for (dim, indices) in dims.iter().zip(indices) {
        out = out
            .iter()
            .flat_map(|p| indices.iter().map(move |i| p * dim + i))
            .collect();
    }
    out
}

/// The elements at every combination of these indices, one list per axis; `None` where they are too many to be
/// held on the host.
pub(super) fn pick(t: &HostTensor, indices: &[Vec<usize>]) -> Option<HostTensor> {
    let dims: Vec<_> = indices.iter().map(Vec::len).collect();
    let positions = fits(&dims).then(|| positions(t.dims(), indices))?;
    Some(t.pick(dims, positions.into_iter()))
}

/// Whether a host tensor may have these dimensions. Those of an empty one count too: its axes are walked.
pub(super) fn fits(dims: &[usize]) -> bool {
    let size = dims
        .iter()
        .try_fold(1usize, |size, dim| size.checked_mul((*dim).max(1)));
    size.is_some_and(|size| size <= HostTensor::MAX_ELEMENTS)
}

/// All indices of every axis; `None` for dimensions that do not fit.
pub(super) fn whole(dims: &[usize]) -> Option<Vec<Vec<usize>>> {
    fits(dims).then(|| dims.iter().map(|dim| (0..*dim).collect()).collect())
}

/// The first input, if it is given.
pub(super) fn first<'a>(inputs: &[Option<&'a HostTensor>]) -> Option<&'a HostTensor> {
    inputs.first().copied().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::DType;

    #[test]
    fn elements_are_picked_at_combinations_of_indices() {
        let t = HostTensor::ints(DType::I64, vec![2, 3], vec![0, 1, 2, 10, 11, 12]);
        let picked = pick(&t, &[vec![1, 0], vec![2, 2]]).unwrap();
        assert_eq!(picked.dims(), [2, 2]);
        assert_eq!(picked.as_ints(), Some(&[12, 12, 2, 2][..]));
        let empty = pick(&t, &[vec![], vec![0]]).unwrap();
        assert_eq!((empty.dims(), empty.len()), (&[0, 1][..], 0));
        let scalar = HostTensor::ints(DType::I64, vec![], vec![7]);
        assert_eq!(pick(&scalar, &[]), Some(scalar));
    }

    #[test]
    fn large_results_stay_on_the_device() {
        let t = HostTensor::ints(DType::I64, vec![1], vec![7]);
        assert_eq!(pick(&t, &[vec![0; HostTensor::MAX_ELEMENTS + 1]]), None);
        assert!(!fits(&[usize::MAX, 2]));
        assert!(!fits(&[1 << 40, 0]));
        assert_eq!(whole(&[5000, 0]), None);
    }
}
