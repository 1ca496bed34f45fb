//! Windows that slide over spatial axes: what convolutions and pools have in common.
use crate::device::{Array, Emit};
use crate::error::{Error, Result};
use crate::ops::{NodeRef, Reject};

/// The attributes that place windows, as the node gives them; lists that it leaves out are `None`.
#[derive(Debug, Clone)]
pub(super) struct Window {
    pub(super) kernel: Option<Vec<usize>>,
    pub(super) strides: Option<Vec<usize>>,
    pub(super) dilations: Option<Vec<usize>>,
    pub(super) padding: Padding,
    /// Also takes a last window that only partly fits.
    pub(super) ceil: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Padding {
    /// Counts before each axis, then after each axis; none given means zero.
    Explicit(Option<Vec<usize>>),
    /// As much as keeps `size / stride`, rounded up; an odd one goes after.
    SameUpper,
    /// As above; an odd one goes before.
    SameLower,
    Valid,
}

/// The windows along one axis of known size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Axis {
    pub(super) size: usize,
    pub(super) kernel: usize,
    pub(super) stride: usize,
    pub(super) dilation: usize,
    pub(super) low: usize,
    pub(super) high: usize,
    /// Number of windows.
    pub(super) out: usize,
}

impl Window {
    pub(super) fn read(node: &NodeRef<'_>) -> Result<Self, Reject> {
        let counts = |name: &str, least: i64| match node.ints(name)? {
            None => Ok(None),
            Some(list) if list.iter().all(|v| *v >= least) => {
                let convert = |v: &i64| usize::try_from(*v).ok();
                Ok(list.iter().map(convert).collect::<Option<Vec<_>>>())
            }
            Some(_) => Err(Reject::Attribute(name.into())),
        };
        let kernel = counts("kernel_shape", 1)?;
        let strides = counts("strides", 1)?;
        let dilations = counts("dilations", 1)?;
        let padding = match node.string_or("auto_pad", "NOTSET")? {
            "NOTSET" | "" => Padding::Explicit(counts("pads", 0)?),
            automatic => {
                node.ignore("pads");
                match automatic {
                    "SAME_UPPER" => Padding::SameUpper,
                    "SAME_LOWER" => Padding::SameLower,
                    "VALID" => Padding::Valid,
                    _ => return Err(Reject::Attribute("auto_pad".into())),
                }
            }
        };
        let ceil = node.flag("ceil_mode", false)?;
        Ok(Self {
            kernel,
            strides,
            dilations,
            padding,
            ceil,
        })
    }

    /// The kernel, which the attribute may leave to the weights.
    pub(super) fn kernel_or(&self, weights: &[usize]) -> Result<Vec<usize>> {
        match &self.kernel {
            Some(kernel) if kernel != weights => Err(Error::invalid(format!(
                "kernel_shape is {kernel:?}, the weights have {weights:?}"
            ))),
            _ => Ok(weights.to_vec()),
        }
    }

    /// One entry per spatial axis of a list attribute, or `default`.
    pub(super) fn list(
        list: Option<&Vec<usize>>,
        rank: usize,
        default: usize,
    ) -> Result<Vec<usize>> {
        match list {
            None => Ok(vec![default; rank]),
            Some(list) if list.len() == rank => Ok(list.clone()),
            Some(list) => Err(Error::invalid(format!(
                "an attribute lists {list:?} for {rank} spatial axes"
            ))),
        }
    }

    /// Places the windows of `kernel` on axes of these sizes.
    pub(super) fn over(&self, sizes: &[usize], kernel: &[usize]) -> Result<Vec<Axis>> {
        let rank = sizes.len();
        let kernel = Self::list(Some(&kernel.to_vec()), rank, 1)?;
        let strides = Self::list(self.strides.as_ref(), rank, 1)?;
        let dilations = Self::list(self.dilations.as_ref(), rank, 1)?;
        let pads = match &self.padding {
            Padding::Explicit(pads) => Self::list(pads.as_ref(), 2 * rank, 0)?,
            _ => vec![0; 2 * rank],
        };
        (0..rank)
            .map(|i| {
                let mut axis = Axis {
                    size: sizes[i],
                    kernel: kernel[i],
                    stride: strides[i],
                    dilation: dilations[i],
                    low: pads[i],
                    high: pads[rank + i],
                    out: 0,
                };
                let same = matches!(self.padding, Padding::SameUpper | Padding::SameLower);
                if same {
                    axis.out = axis.size.div_ceil(axis.stride);
                    let covered = axis.out.saturating_sub(1) * axis.stride + axis.extent();
                    let missing = covered.saturating_sub(axis.size);
                    axis.low = match self.padding {
                        Padding::SameUpper => missing / 2,
                        _ => missing.div_ceil(2),
                    };
                    axis.high = missing - axis.low;
                } else {
                    axis.out = axis.count(self.ceil);
                }
                Ok(axis)
            })
            .collect()
    }
}

impl Axis {
    /// Elements from the first to the last tap of a window.
    pub(super) fn extent(&self) -> usize {
        (self.kernel - 1) * self.dilation + 1
    }

    /// Whether every window is one element, in place.
    pub(super) fn is_point(&self) -> bool {
        self.kernel == 1 && self.stride == 1 && self.low == 0 && self.high == 0
    }

    /// Elements from the start of the first window to the end of the last.
    pub(super) fn reach(&self) -> usize {
        match self.out {
            0 => 0,
            out => (out - 1) * self.stride + self.extent(),
        }
    }

    /// Elements after the axis that the last window needs.
    pub(super) fn missing(&self) -> usize {
        self.reach().saturating_sub(self.low + self.size)
    }

    fn count(&self, ceil: bool) -> usize {
        let padded = self.low + self.size + self.high;
        let Some(room) = padded.checked_sub(self.extent()) else {
            // No window fits; rounded up, one that reaches over the end counts as long as less than a stride is missing.
            let partial = ceil && self.size > 0 && self.extent() - padded < self.stride;
            return usize::from(partial);
        };
        if !ceil {
            return room / self.stride + 1;
        }
        let out = room.div_ceil(self.stride) + 1;
        // The last window starts inside the axis or the padding before it.
        if (out - 1) * self.stride >= self.size + self.low {
            out - 1
        } else {
            out
        }
    }
}

/// The input with what its windows need around the spatial axes, which start at axis 2.
pub(super) fn padded(cx: &Emit, x: &Array, axes: &[Axis], value: &Array) -> Result<Array> {
    let outer = [0; 2];
    let low: Vec<_> = outer
        .into_iter()
        .chain(axes.iter().map(|a| a.low))
        .collect();
    let high: Vec<_> = outer
        .into_iter()
        .chain(axes.iter().map(Axis::missing))
        .collect();
    if low.iter().chain(&high).all(|p| *p == 0) {
        return Ok(x.clone());
    }
    cx.pad(x, &low, &high, value, c"constant")
}

/// The elements of a padded input that tap `tap` of the windows along one spatial axis sees.
pub(super) fn tap(cx: &Emit, x: &Array, spatial: usize, axis: &Axis, tap: usize) -> Result<Array> {
    let mut taps = vec![None; spatial];
    taps.push(Some((axis, tap)));
    taps_of(cx, x, &taps)
}

/// The elements of a padded input that one tap of the windows sees; `None` keeps a spatial axis whole.
pub(super) fn taps_of(cx: &Emit, x: &Array, taps: &[Option<(&Axis, usize)>]) -> Result<Array> {
    let int = |v: usize| i32::try_from(v).map_err(|_| Error::internal("an axis out of range"));
    let (mut start, mut stop, mut step) =
        (vec![0; x.rank()], x.shape().to_vec(), vec![1; x.rank()]);
    for (spatial, tap) in taps.iter().enumerate() {
        if let Some((axis, tap)) = tap {
            let (first, i) = (tap * axis.dilation, spatial + 2);
            start[i] = int(first)?;
            stop[i] =
                int(first + axis.out.saturating_sub(1) * axis.stride + usize::from(axis.out > 0))?;
            step[i] = int(axis.stride)?;
        }
    }
    cx.slice(x, &start, &stop, &step)
}

/// The spatial sizes of an input of shape [N, C, spatial..].
pub(super) fn spatial(x: &Array) -> Result<Vec<usize>> {
    let dims = x.dims();
    if dims.len() < 3 {
        return Err(Error::invalid(format!(
            "input 0 must have the shape [N, C, spatial..], found {dims:?}"
        )));
    }
    Ok(dims[2..].to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(padding: Padding, strides: usize, ceil: bool) -> Window {
        Window {
            kernel: None,
            strides: Some(vec![strides]),
            dilations: None,
            padding,
            ceil,
        }
    }

    fn axis(window: &Window, size: usize, kernel: usize) -> (usize, usize, usize) {
        let axis = window.over(&[size], &[kernel]).unwrap()[0];
        (axis.low, axis.high, axis.out)
    }

    #[test]
    fn automatic_padding_keeps_the_size() {
        assert_eq!(axis(&window(Padding::SameUpper, 2, false), 5, 2), (0, 1, 3));
        assert_eq!(axis(&window(Padding::SameLower, 2, false), 5, 2), (1, 0, 3));
        assert_eq!(axis(&window(Padding::SameUpper, 3, false), 6, 1), (0, 0, 2));
        assert_eq!(axis(&window(Padding::Valid, 2, false), 5, 2), (0, 0, 2));
    }

    #[test]
    fn partial_windows_count_only_from_inside() {
        let pads = |p: [usize; 2]| Padding::Explicit(Some(p.to_vec()));
        assert_eq!(axis(&window(pads([1, 1]), 2, true), 4, 3).2, 3);
        assert_eq!(axis(&window(pads([0, 0]), 3, true), 5, 2).2, 2);
        assert_eq!(axis(&window(pads([0, 0]), 3, true), 3, 1).2, 1);
        assert_eq!(axis(&window(pads([0, 1]), 2, false), 4, 2).2, 2);
    }

    #[test]
    fn windows_that_do_not_fit_are_none_or_a_partial_one() {
        let narrow = window(Padding::Valid, 1, false);
        assert_eq!(axis(&narrow, 2, 3).2, 0);
        assert_eq!(axis(&narrow, 0, 1).2, 0);
        assert!(narrow.over(&[2, 2], &[1, 1]).is_err());
        // One element of five is missing: less than a stride of 3, but not less than one of 1.
        assert_eq!(axis(&window(Padding::Valid, 3, true), 4, 5).2, 1);
        assert_eq!(axis(&window(Padding::Valid, 1, true), 4, 5).2, 0);
    }
}
