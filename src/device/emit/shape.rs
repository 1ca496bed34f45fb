//! Shapes, movement and indexing.
use super::reduce::{axes_of, axis_of};
use super::{Array, DType, Emit, mlx_type, shape_of};
use crate::error::{Error, Result};
use std::ffi::{CStr, c_int};

/// Operations with one list of ints.
macro_rules! with_ints {
    ($($(#[$doc:meta])* $name:ident = $call:ident, $convert:ident;)*) => {
        impl Emit {
            $(
                $(#[$doc])*
                pub(crate) fn $name(&self, a: &Array, ints: &[usize]) -> Result<Array> {
                    let (s, ints) = (self.stream(&[a]), $convert(ints)?);
                    // SAFETY: `a` is a live array, `ints` has as many as is said, `s` is a stream of this thread.
                    self.make(stringify!($call), |out| unsafe {
                        self.mlx.$call(out, a.raw(), ints.as_ptr(), ints.len(), s)
                    })
                }
            )*
        }
    };
}

with_ints! {
    /// Broadcasts to these dimensions.
    broadcast_to = mlx_broadcast_to, shape_of;
    /// Inserts axes of size 1 at these positions of the result.
    expand_dims = mlx_expand_dims_axes, axes_of;
    /// The same elements under these dimensions.
    reshape = mlx_reshape, shape_of;
    /// Drops axes of size 1.
    squeeze = mlx_squeeze_axes, axes_of;
    /// Repeats each axis.
    tile = mlx_tile, shape_of;
    /// Permutes the axes.
    transpose = mlx_transpose_axes, axes_of;
    /// Reverses along axes.
    flip = mlx_flip_axes, axes_of;
}

impl Emit {
    /// A row-major copy, or the array itself if it is one.
    pub(crate) fn contiguous(&self, a: &Array) -> Result<Array> {
        let s = self.stream(&[a]);
        // SAFETY: `a` is a live array, `s` a stream of this thread, and the out parameter is the empty handle.
        self.make("mlx_contiguous", |out| unsafe {
            self.mlx.mlx_contiguous(out, a.raw(), false, s)
        })
    }

    /// Every element is `value`, a rank-0 array.
    pub(crate) fn full(&self, dims: &[usize], value: &Array) -> Result<Array> {
        let (s, shape, kind) = (
            self.stream(&[value]),
            shape_of(dims)?,
            mlx_type(value.dtype())?,
        );
        // SAFETY: `value` is a live array, `shape` has as many ints as is said, `s` is a stream of this thread.
        self.make("mlx_full", |out| unsafe {
            self.mlx
                .mlx_full(out, shape.as_ptr(), shape.len(), value.raw(), kind, s)
        })
    }

    pub(crate) fn zeros(&self, dims: &[usize], dtype: DType) -> Result<Array> {
        let (s, shape, kind) = (self.stream_of(dtype), shape_of(dims)?, mlx_type(dtype)?);
        // SAFETY: `shape` has as many ints as is said, `s` is a stream of this thread.
        self.make("mlx_zeros", |out| unsafe {
            self.mlx
                .mlx_zeros(out, shape.as_ptr(), shape.len(), kind, s)
        })
    }

    /// `count` integers from 0 on.
    pub(crate) fn arange(&self, count: usize, dtype: DType) -> Result<Array> {
        let (s, kind) = (self.stream_of(dtype), mlx_type(dtype)?);
        #[expect(clippy::cast_precision_loss, reason = "counts are below 2^31")]
        let stop = shape_of(&[count]).map(|_| count as f64)?;
        // SAFETY: `s` is a stream of this thread, and the out parameter is the empty handle.
        self.make("mlx_arange", |out| unsafe {
            self.mlx.mlx_arange(out, 0.0, stop, 1.0, kind, s)
        })
    }

    pub(crate) fn concatenate(&self, arrays: &[&Array], axis: usize) -> Result<Array> {
        let (s, axis, vector) = (self.stream(arrays), axis_of(axis)?, self.vector(arrays)?);
        // SAFETY: `vector` is live, `s` a stream of this thread, and the out parameter is the empty handle.
        self.make("mlx_concatenate_axis", |out| unsafe {
            self.mlx.mlx_concatenate_axis(out, vector.raw(), axis, s)
        })
    }

    /// Puts arrays of equal shape side by side along a new axis.
    pub(crate) fn stack(&self, arrays: &[&Array], axis: usize) -> Result<Array> {
        let (s, axis, vector) = (self.stream(arrays), axis_of(axis)?, self.vector(arrays)?);
        // SAFETY: `vector` is live, `s` a stream of this thread, and the out parameter is the empty handle.
        self.make("mlx_stack_axis", |out| unsafe {
            self.mlx.mlx_stack_axis(out, vector.raw(), axis, s)
        })
    }

    /// Cuts along an axis before each of these positions.
    pub(crate) fn split(&self, a: &Array, positions: &[usize], axis: usize) -> Result<Vec<Array>> {
        let (s, axis, cuts) = (self.stream(&[a]), axis_of(axis)?, shape_of(positions)?);
        // SAFETY: `a` is a live array, `cuts` has as many ints as is said, `s` is a stream of this thread.
        self.make_all("mlx_split_sections", |out| unsafe {
            self.mlx
                .mlx_split_sections(out, a.raw(), cuts.as_ptr(), cuts.len(), axis, s)
        })
    }

    /// A strided view; one start, stop and stride per axis, already clamped. A stop of a negative stride is
    /// exclusive, `-size - 1` where element 0 is included.
    pub(crate) fn slice(
        &self,
        a: &Array,
        start: &[i32],
        stop: &[i32],
        strides: &[i32],
    ) -> Result<Array> {
        let rank = a.rank();
        if [start.len(), stop.len(), strides.len()] != [rank; 3] {
            return Err(Error::internal("slice bounds of another rank"));
        }
        let s = self.stream(&[a]);
        // SAFETY: `a` is a live array, each list has `rank` ints, `s` is a stream of this thread.
        self.make("mlx_slice", |out| unsafe {
            let (start, stop, strides) = (start.as_ptr(), stop.as_ptr(), strides.as_ptr());
            self.mlx
                .mlx_slice(out, a.raw(), start, rank, stop, rank, strides, rank, s)
        })
    }

    /// The indices `from..to` of one axis; they are in range.
    pub(crate) fn slice_axis(
        &self,
        a: &Array,
        axis: usize,
        from: usize,
        to: usize,
    ) -> Result<Array> {
        let mut start = vec![0; a.rank()];
        let mut stop = a.shape().to_vec();
        let bound = |v: usize| {
            let inside = v <= a.dim(axis) && axis < stop.len();
            let bound = c_int::try_from(v).ok().filter(|_| inside);
            bound.ok_or_else(|| Error::internal("a slice that leaves its axis"))
        };
        let (from, to) = (bound(from)?, bound(to)?);
        (start[axis], stop[axis]) = (from, to);
        self.slice(a, &start, &stop, &vec![1; start.len()])
    }

    /// `a` with a strided region replaced; bounds as in [`Emit::slice`].
    pub(crate) fn slice_update(
        &self,
        a: &Array,
        update: &Array,
        start: &[i32],
        stop: &[i32],
        strides: &[i32],
    ) -> Result<Array> {
        let rank = a.rank();
        if [start.len(), stop.len(), strides.len()] != [rank; 3] {
            return Err(Error::internal("slice bounds of another rank"));
        }
        let s = self.stream(&[a, update]);
        // SAFETY: both are live arrays, each list has `rank` ints, `s` is a stream of this thread.
        self.make("mlx_slice_update", |out| unsafe {
            let (start, stop, strides) = (start.as_ptr(), stop.as_ptr(), strides.as_ptr());
            self.mlx.mlx_slice_update(
                out,
                a.raw(),
                update.raw(),
                start,
                rank,
                stop,
                rank,
                strides,
                rank,
                s,
            )
        })
    }

    /// Adds elements around; `mode` is `constant` or `edge`.
    pub(crate) fn pad(
        &self,
        a: &Array,
        low: &[usize],
        high: &[usize],
        value: &Array,
        mode: &CStr,
    ) -> Result<Array> {
        let (low, high) = (shape_of(low)?, shape_of(high)?);
        let axes = axes_of(&(0..low.len()).collect::<Vec<_>>())?;
        if low.len() != a.rank() || high.len() != low.len() {
            return Err(Error::internal("pads of another rank"));
        }
        let (s, n) = (self.stream(&[a]), axes.len());
        // SAFETY: both are live arrays, each list has `n` ints, `mode` is NUL-terminated, `s` is a stream of this thread.
        self.make("mlx_pad", |out| unsafe {
            let (axes, low, high) = (axes.as_ptr(), low.as_ptr(), high.as_ptr());
            self.mlx.mlx_pad(
                out,
                a.raw(),
                axes,
                n,
                low,
                n,
                high,
                n,
                value.raw(),
                mode.as_ptr(),
                s,
            )
        })
    }

    /// A view with these dimensions and strides, counted in elements from `offset` on.
    ///
    /// Every element it reaches must lie in `a`, which is row-major.
    pub(crate) fn as_strided(
        &self,
        a: &Array,
        dims: &[usize],
        strides: &[usize],
        offset: usize,
    ) -> Result<Array> {
        let reach = dims
            .iter()
            .zip(strides)
            .map(|(d, s)| d.saturating_sub(1) * s)
            .sum::<usize>()
            + offset;
        if dims.len() != strides.len() || (!dims.contains(&0) && reach >= a.size()) {
            return Err(Error::internal("a strided view that leaves its array"));
        }
        let shape = shape_of(dims)?;
        let convert =
            |s: &usize| i64::try_from(*s).map_err(|_| Error::internal("a stride out of range"));
        let strides = strides.iter().map(convert).collect::<Result<Vec<_>>>()?;
        let s = self.stream(&[a]);
        // SAFETY: `a` is a live array, both lists have as many as is said, and the view stays in `a`, checked above.
        self.make("mlx_as_strided", |out| unsafe {
            let (shape_ptr, strides_ptr) = (shape.as_ptr(), strides.as_ptr());
            self.mlx.mlx_as_strided(
                out,
                a.raw(),
                shape_ptr,
                shape.len(),
                strides_ptr,
                strides.len(),
                offset,
                s,
            )
        })
    }

    /// Slices of `a` along `axis`, in the shape of the indices. MLX does not check them: see `ops::index`.
    pub(crate) fn take(&self, a: &Array, indices: &Array, axis: usize) -> Result<Array> {
        let (s, axis) = (self.stream(&[a]), axis_of(axis)?);
        // SAFETY: both are live arrays, `s` a stream of this thread; `ops::index` made the indices fit.
        self.make("mlx_take_axis", |out| unsafe {
            self.mlx.mlx_take_axis(out, a.raw(), indices.raw(), axis, s)
        })
    }

    /// Elements along an axis, one index per element. The other dimensions must be equal.
    pub(crate) fn take_along(&self, a: &Array, indices: &Array, axis: usize) -> Result<Array> {
        let (s, axis) = (self.stream(&[a]), axis_of(axis)?);
        // SAFETY: both are live arrays, `s` a stream of this thread; `ops::index` made the indices fit.
        self.make("mlx_take_along_axis", |out| unsafe {
            self.mlx
                .mlx_take_along_axis(out, a.raw(), indices.raw(), axis, s)
        })
    }

    /// `a` with elements along an axis replaced, one index per element of `values`.
    pub(crate) fn put_along(
        &self,
        a: &Array,
        indices: &Array,
        values: &Array,
        axis: usize,
    ) -> Result<Array> {
        let (s, axis) = (self.stream(&[a, values]), axis_of(axis)?);
        // SAFETY: all are live arrays, `s` a stream of this thread; `ops::index` made the indices fit.
        self.make("mlx_put_along_axis", |out| unsafe {
            self.mlx
                .mlx_put_along_axis(out, a.raw(), indices.raw(), values.raw(), axis, s)
        })
    }

    /// Upper (`upper`) or lower triangle of the last two axes, zero elsewhere.
    pub(crate) fn triangle(&self, a: &Array, k: i32, upper: bool) -> Result<Array> {
        let s = self.stream(&[a]);
        if upper {
            // SAFETY: `a` is a live array, `s` a stream of this thread, and the out parameter is the empty handle.
            self.make("mlx_triu", |out| unsafe {
                self.mlx.mlx_triu(out, a.raw(), k, s)
            })
        } else {
            // SAFETY: `a` is a live array, `s` a stream of this thread, and the out parameter is the empty handle.
            self.make("mlx_tril", |out| unsafe {
                self.mlx.mlx_tril(out, a.raw(), k, s)
            })
        }
    }

    /// Repeats each element along an axis.
    pub(crate) fn repeat(&self, a: &Array, repeats: usize, axis: usize) -> Result<Array> {
        let (s, axis) = (self.stream(&[a]), axis_of(axis)?);
        let repeats = c_int::try_from(repeats).map_err(|_| Error::invalid("too many repeats"))?;
        // SAFETY: `a` is a live array, `s` a stream of this thread, and the out parameter is the empty handle.
        self.make("mlx_repeat_axis", |out| unsafe {
            self.mlx.mlx_repeat_axis(out, a.raw(), repeats, axis, s)
        })
    }
}
