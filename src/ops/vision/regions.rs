//! What RoiAlign and MaxRoiPool share: regions of images, each cut into bins whose elements are combined.
use super::sample::Images;
use crate::device::{Array, DType, Emit};
use crate::error::{Error, Result};
use crate::ops::{HostTensor, Inputs};

/// The elements of all bins are taken in parts of at most this many bytes.
const MAX_TAKEN_BYTES: usize = 64 << 20;

/// An element along an axis and its weight.
pub(super) type Tap = (usize, f64);

/// One axis of a region: what each of its bins takes.
pub(super) struct Cut {
    pub(super) bins: Vec<Vec<Tap>>,
}

/// A region of an image.
pub(super) struct Region {
    pub(super) image: usize,
    pub(super) rows: Cut,
    pub(super) columns: Cut,
}

/// How the weighted elements of a bin are combined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Combine {
    Sum,
    Max,
}

impl Cut {
    fn most(&self) -> usize {
        self.bins.iter().map(Vec::len).max().unwrap_or(0).max(1)
    }

    /// The taps of all bins, each filled up to `count`.
    fn filled(&self, count: usize, combine: Combine) -> impl Iterator<Item = Tap> + '_ {
        self.bins.iter().flat_map(move |bin| {
            let (index, weight) = bin.last().copied().unwrap_or((0, 0.0));
            // Once more does not change a maximum.
            let again = match combine {
                Combine::Sum => (index, 0.0),
                Combine::Max => (index, weight),
            };
            let missing = count - bin.len();
            bin.iter()
                .copied()
                .chain(std::iter::repeat_n(again, missing))
        })
    }
}

/// The combined bins [regions, C, bins, bins] of regions of `x`, [N, C, H, W]. There is at least one region, with bins.
pub(super) fn combined(
    cx: &Emit,
    x: &Array,
    regions: &[Region],
    combine: Combine,
) -> Result<Array> {
    let images = Images::new(cx, x)?;
    let bins = [regions[0].rows.bins.len(), regions[0].columns.bins.len()];
    let row_bytes = x.dim(1) * x.dtype().byte_size(1);
    let (mut parts, mut first, mut taps) = (vec![], 0, [0, 0]);
    for (at, region) in regions.iter().enumerate() {
        let grown = [
            region.rows.most().max(taps[0]),
            region.columns.most().max(taps[1]),
        ];
        let taken = bins
            .iter()
            .chain(&grown)
            .try_fold(at + 1 - first, |n, d| n.checked_mul(*d));
        let taken = taken.and_then(|n| n.checked_mul(row_bytes));
        if at > first && taken.is_none_or(|bytes| bytes > MAX_TAKEN_BYTES) {
            parts.push(part(cx, x, &images, &regions[first..at], taps, combine)?);
            (first, taps) = (at, [region.rows.most(), region.columns.most()]);
        } else {
            taps = grown;
        }
    }
    parts.push(part(cx, x, &images, &regions[first..], taps, combine)?);
    let all = match parts.as_slice() {
        [one] => one.clone(),
        _ => cx.concatenate(&parts.iter().collect::<Vec<_>>(), 0)?,
    };
    cx.transpose(&all, &[0, 3, 1, 2])
}

/// [regions, bins, bins, C].
fn part(
    cx: &Emit,
    x: &Array,
    images: &Images,
    regions: &[Region],
    taps: [usize; 2],
    combine: Combine,
) -> Result<Array> {
    let (channels, width) = (x.dim(1), x.dim(3));
    let plane = x.dim(2) * width;
    let along = |cut: fn(&Region) -> &Cut, axis: usize| {
        let all = regions
            .iter()
            .flat_map(|r| cut(r).filled(taps[axis], combine));
        let (indices, weights): (Vec<_>, Vec<_>) = all.unzip();
        let mut shape = [regions.len(), 1, 1, 1, 1];
        (shape[1 + axis], shape[3 + axis]) = (cut(&regions[0]).bins.len(), taps[axis]);
        let step = if axis == 0 { width } else { 1 };
        let indices = rows(cx, indices.iter().map(|i| i * step), &shape)?;
        let bytes: Vec<u8> = weights.iter().flat_map(|w| w.to_le_bytes()).collect();
        let weights = cx.array_from_bytes(DType::F64, &shape, &bytes)?;
        Ok::<_, Error>((indices, cx.astype(&weights, x.dtype())?))
    };
    let (down, down_weights) = along(|r| &r.rows, 0)?;
    let (across, across_weights) = along(|r| &r.columns, 1)?;
    let starts = regions.iter().map(|r| r.image * plane);
    let starts = rows(cx, starts, &[regions.len(), 1, 1, 1, 1])?;
    let taken = images.take(cx, &cx.add(&starts, &cx.add(&down, &across)?)?)?;
    let weights = cx.multiply(&down_weights, &across_weights)?;
    let terms = cx.multiply(&taken, &cx.expand_dims(&weights, &[5])?)?;
    let (dims, count) = (terms.dims(), taps[0] * taps[1]);
    let terms = cx.reshape(&terms, &[dims[0], dims[1], dims[2], count, channels])?;
    match combine {
        Combine::Sum => cx.sum(&terms, &[3], false),
        Combine::Max => cx.max(&terms, &[3], false),
    }
}

fn rows(cx: &Emit, rows: impl Iterator<Item = usize>, shape: &[usize]) -> Result<Array> {
    let ints = rows.map(i32::try_from).collect::<Result<Vec<_>, _>>();
    let ints = ints.map_err(|_| Error::invalid("an image of more than 2^31 places"))?;
    let bytes: Vec<u8> = ints.iter().flat_map(|i| i.to_le_bytes()).collect();
    cx.array_from_bytes(DType::I32, shape, &bytes)
}

/// The elements of a float input, which the plan declared with `reads`.
pub(super) fn floats(x: &Inputs<'_>, input: usize) -> Result<Vec<f64>> {
    let (dtype, bytes) = (x.dtype(input)?, x.bytes(input)?);
    let chunks = bytes.chunks(dtype.byte_size(HostTensor::MAX_ELEMENTS));
    let read = |chunk: &[u8]| {
        let count = chunk.len() / dtype.byte_size(1);
        HostTensor::from_bytes(dtype, &[count], chunk).map(|t| t.to_floats())
    };
    let read = chunks.map(read).collect::<Option<Vec<_>>>();
    let read = read.ok_or_else(|| Error::internal(format!("input {input} holds no floats")))?;
    Ok(read.concat())
}

/// The number of an image, checked.
pub(super) fn image(index: i64, batch: usize) -> Result<usize> {
    let found = usize::try_from(index).ok().filter(|i| *i < batch);
    found.ok_or_else(|| {
        Error::invalid(format!(
            "a region lies in image {index}, where {batch} images are given"
        ))
    })
}
