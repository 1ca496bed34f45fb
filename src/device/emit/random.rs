//! Random numbers, always from a key: MLX's own state of the process is never touched.
use super::super::{Array, DType};
use super::{Emit, shape_of};
use crate::error::Result;

impl Emit {
    /// The key of a seed. The same key gives the same numbers.
    pub(crate) fn random_key(&self, seed: u64) -> Result<Array> {
        // SAFETY: the call takes a number, and the out parameter is the empty handle.
        self.make("mlx_random_key", |out| unsafe {
            self.mlx.mlx_random_key(out, seed)
        })
    }

    /// float32 numbers, evenly distributed over 0 to 1, without 1.
    pub(crate) fn random_uniform(&self, dims: &[usize], key: &Array) -> Result<Array> {
        let (low, high) = (self.scalar(0.0, DType::F32)?, self.scalar(1.0, DType::F32)?);
        let (s, shape, kind) = (
            self.stream(&[key]),
            shape_of(dims)?,
            super::mlx_type(DType::F32)?,
        );
        // SAFETY: the arrays are live, `shape` has as many ints as is said, `s` is a stream of this thread.
        self.make("mlx_random_uniform", |out| unsafe {
            self.mlx.mlx_random_uniform(
                out,
                low.raw(),
                high.raw(),
                shape.as_ptr(),
                shape.len(),
                kind,
                key.raw(),
                s,
            )
        })
    }

    /// float32 numbers, normally distributed around 0 with deviation 1.
    pub(crate) fn random_normal(&self, dims: &[usize], key: &Array) -> Result<Array> {
        let (s, shape, kind) = (
            self.stream(&[key]),
            shape_of(dims)?,
            super::mlx_type(DType::F32)?,
        );
        // SAFETY: the array is live, `shape` has as many ints as is said, `s` is a stream of this thread.
        self.make("mlx_random_normal", |out| unsafe {
            self.mlx.mlx_random_normal(
                out,
                shape.as_ptr(),
                shape.len(),
                kind,
                0.0,
                1.0,
                key.raw(),
                s,
            )
        })
    }

    /// `count` drawn classes per row of unnormalised log-probabilities along the last axis.
    pub(crate) fn random_categorical(
        &self,
        logits: &Array,
        count: usize,
        key: &Array,
    ) -> Result<Array> {
        let (s, shape) = (self.stream(&[logits, key]), shape_of(&[count])?);
        // SAFETY: the arrays are live, and `s` is a stream of this thread.
        self.make("mlx_random_categorical_num_samples", |out| unsafe {
            self.mlx.mlx_random_categorical_num_samples(
                out,
                logits.raw(),
                -1,
                shape[0],
                key.raw(),
                s,
            )
        })
    }
}
