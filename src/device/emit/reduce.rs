//! Reductions, scans and sorts.
use super::{Array, Emit};
use crate::error::{Error, Result};
use crate::ffi::mlx::types::mlx_optional_dtype;
use std::ffi::c_int;

/// An axis as mlx-c takes it.
pub(super) fn axis_of(axis: usize) -> Result<c_int> {
    c_int::try_from(axis).map_err(|_| Error::internal("an axis out of range"))
}

pub(super) fn axes_of(axes: &[usize]) -> Result<Vec<c_int>> {
    axes.iter().map(|a| axis_of(*a)).collect()
}

/// Reductions over several axes.
macro_rules! reductions {
    ($($(#[$doc:meta])* $name:ident = $call:ident;)*) => {
        impl Emit {
            $(
                $(#[$doc])*
                pub(crate) fn $name(&self, a: &Array, axes: &[usize], keepdims: bool) -> Result<Array> {
                    let (s, axes) = (self.stream(&[a]), axes_of(axes)?);
                    // SAFETY: `a` is a live array, `axes` has as many ints as is said, `s` is a stream of this thread.
                    self.make(stringify!($call), |out| unsafe {
                        self.mlx.$call(out, a.raw(), axes.as_ptr(), axes.len(), keepdims, s)
                    })
                }
            )*
        }
    };
}

reductions! {
    all = mlx_all_axes;
    any = mlx_any_axes;
    /// Fails on an empty axis. NaN wins.
    max = mlx_max_axes;
    mean = mlx_mean_axes;
    /// Fails on an empty axis. NaN wins.
    min = mlx_min_axes;
    /// Small integer types are widened to int32.
    prod = mlx_prod_axes;
    /// Small integer types are widened to int32.
    sum = mlx_sum_axes;
    logsumexp = mlx_logsumexp_axes;
}

/// Operations along one axis.
macro_rules! along_axis {
    ($($(#[$doc:meta])* $name:ident = $call:ident ($($arg:ident: $t:ty),*);)*) => {
        impl Emit {
            $(
                $(#[$doc])*
                pub(crate) fn $name(&self, a: &Array, axis: usize $(, $arg: $t)*) -> Result<Array> {
                    let (s, axis) = (self.stream(&[a]), axis_of(axis)?);
                    // SAFETY: `a` is a live array, `s` a stream of this thread, and the out parameter is the empty handle.
                    self.make(stringify!($call), |out| unsafe {
                        self.mlx.$call(out, a.raw(), axis $(, $arg)*, s)
                    })
                }
            )*
        }
    };
}

along_axis! {
    /// uint32 positions; NaN is skipped.
    argmax = mlx_argmax_axis(keepdims: bool);
    /// uint32 positions; NaN is skipped.
    argmin = mlx_argmin_axis(keepdims: bool);
    /// uint32 positions that sort the axis, ties in order.
    argsort = mlx_argsort_axis();
    sort = mlx_sort_axis();
    softmax = mlx_softmax_axis(precise: bool);
    cummax = mlx_cummax_axis(reverse: bool, inclusive: bool);
    cummin = mlx_cummin_axis(reverse: bool, inclusive: bool);
}

impl Emit {
    pub(crate) fn cumsum(
        &self,
        a: &Array,
        axis: usize,
        reverse: bool,
        inclusive: bool,
    ) -> Result<Array> {
        let (s, axis) = (self.stream(&[a]), axis_of(axis)?);
        // SAFETY: `a` is a live array, `s` a stream of this thread, and the out parameter is the empty handle.
        self.make("mlx_cumsum_axis", |out| unsafe {
            self.mlx.mlx_cumsum_axis(
                out,
                a.raw(),
                axis,
                reverse,
                inclusive,
                mlx_optional_dtype::NONE,
                s,
            )
        })
    }

    pub(crate) fn cumprod(
        &self,
        a: &Array,
        axis: usize,
        reverse: bool,
        inclusive: bool,
    ) -> Result<Array> {
        let (s, axis) = (self.stream(&[a]), axis_of(axis)?);
        // SAFETY: `a` is a live array, `s` a stream of this thread, and the out parameter is the empty handle.
        self.make("mlx_cumprod_axis", |out| unsafe {
            self.mlx.mlx_cumprod_axis(
                out,
                a.raw(),
                axis,
                reverse,
                inclusive,
                mlx_optional_dtype::NONE,
                s,
            )
        })
    }

    /// Softmax over several axes.
    pub(crate) fn softmax_axes(&self, a: &Array, axes: &[usize], precise: bool) -> Result<Array> {
        let (s, axes) = (self.stream(&[a]), axes_of(axes)?);
        // SAFETY: `a` is a live array, `axes` has as many ints as is said, `s` is a stream of this thread.
        self.make("mlx_softmax_axes", |out| unsafe {
            self.mlx
                .mlx_softmax_axes(out, a.raw(), axes.as_ptr(), axes.len(), precise, s)
        })
    }

    /// Variance over several axes, divided by count - `ddof`.
    pub(crate) fn var(
        &self,
        a: &Array,
        axes: &[usize],
        keepdims: bool,
        ddof: i32,
    ) -> Result<Array> {
        let (s, axes) = (self.stream(&[a]), axes_of(axes)?);
        // SAFETY: `a` is a live array, `axes` has as many ints as is said, `s` is a stream of this thread.
        self.make("mlx_var_axes", |out| unsafe {
            self.mlx
                .mlx_var_axes(out, a.raw(), axes.as_ptr(), axes.len(), keepdims, ddof, s)
        })
    }
}
