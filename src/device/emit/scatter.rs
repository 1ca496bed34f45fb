//! Writing at indices.
use super::reduce::axis_of;
use super::{Array, Emit};
use crate::error::Result;

/// What becomes of an element that a scatter writes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scatter {
    /// The update takes its place.
    Set,
    Add,
    Multiply,
    Max,
    Min,
}

impl Emit {
    /// `a` with rows along its first axis combined with `updates`: row `i` of those goes to row `indices[i]`. MLX does
    /// not check the indices: see `ops::index`.
    ///
    /// On the CPU duplicate indices come in order; on a GPU a reduction takes them in any.
    pub(crate) fn scatter(
        &self,
        a: &Array,
        indices: &Array,
        updates: &Array,
        how: Scatter,
    ) -> Result<Array> {
        // GPU backends scatter by atomics, which end at four bytes.
        let s = if a.dtype().bits() > 32 {
            self.cpu
        } else {
            self.stream(&[a, updates])
        };
        let updates = self.expand_dims(updates, &[indices.rank()])?;
        let (a, i, u, axis) = (a.raw(), indices.raw(), updates.raw(), axis_of(0)?);
        macro_rules! call {
            ($call:ident) => {
                // SAFETY: all are live arrays, `s` a stream of this thread; `ops::index` made the indices fit.
                self.make(stringify!($call), |out| unsafe {
                    self.mlx.$call(out, a, i, u, axis, s)
                })
            };
        }
        match how {
            Scatter::Set => call!(mlx_scatter_single),
            Scatter::Add => call!(mlx_scatter_add_single),
            Scatter::Multiply => call!(mlx_scatter_prod_single),
            Scatter::Max => call!(mlx_scatter_max_single),
            Scatter::Min => call!(mlx_scatter_min_single),
        }
    }
}
