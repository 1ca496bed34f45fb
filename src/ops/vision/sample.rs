//! Elements of images at computed places. Whatever the places are, NaN included, what is read lies inside.
use crate::device::{Array, DType, Emit};
use crate::error::{Error, Result};

/// What lies beyond the edges of an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::ops) enum Beyond {
    Zeros,
    /// The element at the edge.
    Nearest(Edge),
    /// The image, mirrored at its edges.
    Mirrored(Edge),
}

/// Where an axis begins and ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::ops) enum Edge {
    /// In the middle of its first and last elements.
    Middle,
    /// Half an element before and after them.
    Border,
}

/// How elements around a place are weighted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::ops) enum Method {
    /// The element next to it, the even one of two.
    Nearest,
    Linear,
    Cubic,
}

/// One of the elements along an axis that a place takes.
struct Tap {
    /// int32, in range.
    index: Array,
    /// Whether it is an element of the image: where not, it counts as zero.
    inside: Option<Array>,
    weight: Option<Array>,
}

/// Images of shape [N, C, spatial..] as rows of channels.
pub(in crate::ops) struct Images {
    rows: Array,
    batch: usize,
    sizes: Vec<usize>,
}

impl Images {
    /// Of an array that has elements.
    pub(in crate::ops) fn new(cx: &Emit, x: &Array) -> Result<Self> {
        let (dims, rank) = (x.dims(), x.rank());
        let order: Vec<_> = [0].into_iter().chain(2..rank).chain([1]).collect();
        let rows = cx.contiguous(&cx.transpose(x, &order)?)?;
        let channels = dims[1];
        let places = x.size() / channels;
        Ok(Self {
            rows: cx.reshape(&rows, &[places, channels])?,
            batch: dims[0],
            sizes: dims[2..].to_vec(),
        })
    }

    /// The row of the first place of each image, [N, 1] of int32.
    pub(super) fn starts(&self, cx: &Emit) -> Result<Array> {
        let step = cx.int(int(self.sizes.iter().product())?, DType::I32)?;
        let starts = cx.multiply(&cx.arange(self.batch, DType::I32)?, &step)?;
        cx.reshape(&starts, &[self.batch, 1])
    }

    /// The rows of these numbers, which are in range.
    pub(super) fn take(&self, cx: &Emit, rows: &Array) -> Result<Array> {
        cx.take(&self.rows, rows, 0)
    }

    /// The channels at each place, [N, K, C]. `places` holds for every spatial axis the coordinates [N, K].
    pub(in crate::ops) fn at(
        &self,
        cx: &Emit,
        places: &[Array],
        method: Method,
        beyond: Beyond,
    ) -> Result<Array> {
        let mut reads: Vec<(Array, Option<Array>, Option<Array>)> =
            vec![(self.starts(cx)?, None, None)];
        let mut step = 1;
        for (place, size) in places.iter().zip(&self.sizes).rev() {
            let stride = cx.int(int(step)?, DType::I32)?;
            step *= size;
            let taps = taps(cx, place, *size, method, beyond)?;
            let mut all = Vec::with_capacity(reads.len() * taps.len());
            for (row, inside, weight) in &reads {
                for tap in &taps {
                    all.push((
                        cx.add(row, &cx.multiply(&tap.index, &stride)?)?,
                        both(cx, inside.as_ref(), tap.inside.as_ref(), Emit::logical_and)?,
                        both(cx, weight.as_ref(), tap.weight.as_ref(), Emit::multiply)?,
                    ));
                }
            }
            reads = all;
        }
        let dtype = self.rows.dtype();
        let zero = cx.scalar(0.0, dtype)?;
        let mut sum: Option<Array> = None;
        for (rows, inside, weight) in reads {
            let mut term = self.take(cx, &rows)?;
            if let Some(inside) = inside {
                term = cx.select(&cx.expand_dims(&inside, &[2])?, &term, &zero)?;
            }
            if let Some(weight) = weight {
                let weight = cx.astype(&cx.expand_dims(&weight, &[2])?, dtype)?;
                term = cx.multiply(&term, &weight)?;
            }
            sum = Some(match sum {
                Some(sum) => cx.add(&sum, &term)?,
                None => term,
            });
        }
        sum.ok_or_else(|| Error::internal("a place without elements"))
    }
}

/// Both together, or the one that is there.
fn both(
    cx: &Emit,
    a: Option<&Array>,
    b: Option<&Array>,
    f: fn(&Emit, &Array, &Array) -> Result<Array>,
) -> Result<Option<Array>> {
    match (a, b) {
        (Some(a), Some(b)) => f(cx, a, b).map(Some),
        (a, b) => Ok(a.or(b).cloned()),
    }
}

fn int(value: usize) -> Result<i64> {
    i64::try_from(value).map_err(|_| Error::internal("an axis out of range"))
}

fn taps(cx: &Emit, place: &Array, size: usize, method: Method, beyond: Beyond) -> Result<Vec<Tap>> {
    let place = match method {
        Method::Nearest => cx.round(place)?,
        _ => place.clone(),
    };
    let place = moved(cx, &place, size, beyond)?;
    if method == Method::Nearest {
        return Ok(vec![tap(cx, &place, size, beyond, None)?]);
    }
    let number = |v: f64| cx.float(v, place.dtype());
    let floor = cx.floor(&place)?;
    let after = cx.subtract(&place, &floor)?;
    let weights = match method {
        Method::Cubic => cubic(cx, &after)?,
        _ => vec![(0.0, cx.subtract(&number(1.0)?, &after)?), (1.0, after)],
    };
    let weights = weights.into_iter();
    weights
        .map(|(offset, weight)| {
            let whole = cx.add(&floor, &number(offset)?)?;
            tap(cx, &whole, size, beyond, Some(weight))
        })
        .collect()
}

/// The weights of the elements around a place that lies `after` an element, by their offset from that one.
fn cubic(cx: &Emit, after: &Array) -> Result<Vec<(f64, Array)>> {
    const A: f64 = -0.75;
    let number = |v: f64| cx.float(v, after.dtype());
    // ((c3 d + c2) d + c1) d + c0 of the distance d.
    let polynomial = |d: &Array, [c3, c2, c1, c0]: [f64; 4]| {
        let mut sum = cx.multiply(d, &number(c3)?)?;
        for c in [c2, c1] {
            sum = cx.multiply(&cx.add(&sum, &number(c)?)?, d)?;
        }
        cx.add(&sum, &number(c0)?)
    };
    let (near, far) = (
        [A + 2.0, -(A + 3.0), 0.0, 1.0],
        [A, -5.0 * A, 8.0 * A, -4.0 * A],
    );
    let before = cx.subtract(&number(1.0)?, after)?;
    Ok(vec![
        (-1.0, polynomial(&cx.add(after, &number(1.0)?)?, far)?),
        (0.0, polynomial(after, near)?),
        (1.0, polynomial(&before, near)?),
        (2.0, polynomial(&cx.add(&before, &number(1.0)?)?, far)?),
    ])
}

/// The element at a whole place.
fn tap(
    cx: &Emit,
    whole: &Array,
    size: usize,
    beyond: Beyond,
    weight: Option<Array>,
) -> Result<Tap> {
    let whole = moved(cx, whole, size, beyond)?;
    let zero = cx.float(0.0, whole.dtype())?;
    #[expect(
        clippy::cast_precision_loss,
        reason = "axes have less than 2^31 elements"
    )]
    let last = cx.float(size as f64 - 1.0, whole.dtype())?;
    let inside = cx.logical_and(
        &cx.greater_equal(&whole, &zero)?,
        &cx.less_equal(&whole, &last)?,
    )?;
    // NaN is not inside, and converts to no index.
    let index = cx.astype(&cx.select(&inside, &whole, &zero)?, DType::I32)?;
    // Where the last index is no float, the comparison let one more pass.
    let index = cx.minimum(&index, &cx.int(int(size)? - 1, DType::I32)?)?;
    Ok(Tap {
        index,
        inside: (beyond == Beyond::Zeros).then_some(inside),
        weight,
    })
}

/// Coordinates along an axis brought to where the image is.
fn moved(cx: &Emit, place: &Array, size: usize, beyond: Beyond) -> Result<Array> {
    #[expect(
        clippy::cast_precision_loss,
        reason = "axes have less than 2^31 elements"
    )]
    let last = size as f64 - 1.0;
    let number = |v: f64| cx.float(v, place.dtype());
    let ends = |edge: Edge| match edge {
        Edge::Middle => (0.0, last),
        Edge::Border => (-0.5, last + 0.5),
    };
    match beyond {
        Beyond::Zeros => Ok(place.clone()),
        Beyond::Nearest(edge) => {
            let (low, high) = ends(edge);
            let outside = cx.logical_or(
                &cx.less(place, &number(low)?)?,
                &cx.greater(place, &number(high)?)?,
            )?;
            let nearest = cx.minimum(&cx.maximum(place, &number(0.0)?)?, &number(last)?)?;
            cx.select(&outside, &nearest, place)
        }
        Beyond::Mirrored(edge) => {
            let (low, high) = ends(edge);
            if high <= low {
                // One element, mirrored in its middle.
                return cx.multiply(place, &number(0.0)?);
            }
            // After an even number of lengths the image is as it is, after an odd one it is mirrored.
            let length = number(high - low)?;
            let (low, high) = (number(low)?, number(high)?);
            let mirrored = |distance: &Array, near: &Array, sign: &Array, far: &Array| {
                let turns = cx.floor(&cx.divide(distance, &length)?)?;
                let rest = cx.subtract(distance, &cx.multiply(&turns, &length)?)?;
                let even = cx.equal(&cx.remainder(&turns, &number(2.0)?)?, &number(0.0)?)?;
                let rest = cx.multiply(&rest, sign)?;
                cx.select(&even, &cx.add(near, &rest)?, &cx.subtract(far, &rest)?)
            };
            let (up, down) = (number(1.0)?, number(-1.0)?);
            let below = mirrored(&cx.subtract(&low, place)?, &low, &up, &high)?;
            let above = mirrored(&cx.subtract(place, &high)?, &high, &down, &low)?;
            let place = cx.select(&cx.less(place, &low)?, &below, place)?;
            cx.select(&cx.greater(&place, &high)?, &above, &place)
        }
    }
}
