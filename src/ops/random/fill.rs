//! `RandomNormal`, `RandomUniform` and their forms that take the shape of a tensor. Numbers are drawn in float32.
use super::Source;
use crate::device::{Array, DType, Emit, Types};
use crate::error::Result;
use crate::ops::{NodeRef, OpDef, Planned, Reject, lower, op};

pub(in crate::ops) const OPS: &[OpDef] = &[
    op!("RandomNormal", 1.., [ANY], |node| fill(
        node,
        false,
        normal(node)?
    )),
    op!("RandomNormalLike", 1.., [ANY], |node| fill(
        node,
        true,
        normal(node)?
    )),
    op!("RandomUniform", 1.., [ANY], |node| fill(
        node,
        false,
        uniform(node)?
    )),
    op!("RandomUniformLike", 1.., [ANY], |node| fill(
        node,
        true,
        uniform(node)?
    )),
];

/// A distribution that is a standard one, scaled and moved.
#[derive(Debug, Clone, Copy)]
struct Distribution {
    normal: bool,
    scale: f32,
    offset: f32,
}

fn normal(node: &NodeRef<'_>) -> Result<Distribution, Reject> {
    Ok(Distribution {
        normal: true,
        scale: node.float_or("scale", 1.0)?,
        offset: node.float_or("mean", 0.0)?,
    })
}

fn uniform(node: &NodeRef<'_>) -> Result<Distribution, Reject> {
    let low = node.float_or("low", 0.0)?;
    Ok(Distribution {
        normal: false,
        scale: node.float_or("high", 1.0)? - low,
        offset: low,
    })
}

/// `like`: the shape, and the type unless an attribute says it, are those of the input.
fn fill(node: &NodeRef<'_>, like: bool, distribution: Distribution) -> Planned {
    let dtype = match node.element_type("dtype", Types::FLOAT64)? {
        Some(dtype) => dtype,
        None if like => node.dtype(0)?,
        None => DType::F32,
    };
    if !dtype.is_float() {
        return node.bad_attribute("dtype");
    }
    let shape = match node.ints("shape")? {
        Some(dims) if !like => {
            let dims: Result<Vec<_>, _> = dims.iter().map(|d| usize::try_from(*d)).collect();
            dims.map_err(|_| Reject::Attribute("shape".into()))?
        }
        None if like => Vec::new(),
        _ => return node.bad_attribute("shape"),
    };
    let source = Source::of(node)?;
    let plan = lower(move |cx, x| {
        let dims = if like { x.dims(0)? } else { &shape };
        let key = source.key(cx)?;
        cx.astype(&distribution.draw(cx, dims, &key)?, dtype)
    })?;
    Ok(plan.stateful())
}

impl Distribution {
    fn draw(self, cx: &Emit, dims: &[usize], key: &Array) -> Result<Array> {
        let standard = if self.normal {
            cx.random_normal(dims, key)?
        } else {
            cx.random_uniform(dims, key)?
        };
        let constant = |v: f32| cx.scalar(v.into(), DType::F32);
        let scaled = cx.multiply(&standard, &constant(self.scale)?)?;
        cx.add(&scaled, &constant(self.offset)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::{Case, f32s, ints};

    const COUNT: usize = 100_000;

    fn moments(values: &[f64]) -> (f64, f64) {
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let square = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>();
        (mean, (square / values.len() as f64).sqrt())
    }

    fn shaped(op: &str) -> Case {
        Case::new(op, 22).ints("shape", &[100, 1000])
    }

    #[test]
    fn distributions_have_their_moments() {
        let normal = shaped("RandomNormal")
            .float("mean", 3.0)
            .float("scale", 2.0);
        let values = normal.run()[0].floats();
        let (mean, deviation) = moments(&values);
        assert!((mean - 3.0).abs() < 0.05 && (deviation - 2.0).abs() < 0.05);
        let within = values.iter().filter(|v| (**v - 3.0).abs() < 2.0).count();
        assert!((0.67..0.70).contains(&(within as f64 / COUNT as f64)));

        let values = shaped("RandomUniform")
            .float("low", -1.0)
            .float("high", 3.0)
            .run()[0]
            .floats();
        assert!(values.iter().all(|v| (-1.0..3.0).contains(v)));
        let (mean, deviation) = moments(&values);
        assert!((mean - 1.0).abs() < 0.05 && (deviation - 4.0 / 12f64.sqrt()).abs() < 0.05);
        // Every sixteenth of the range gets its share.
        for part in 0..16 {
            let low = -1.0 + f64::from(part) / 4.0;
            let count = values
                .iter()
                .filter(|v| (low..low + 0.25).contains(*v))
                .count();
            assert!((5700..6800).contains(&count), "{count} in part {part}");
        }
    }

    #[test]
    fn runs_differ_and_seeds_repeat() {
        for op in ["RandomNormal", "RandomUniform"] {
            let seeded = || Case::new(op, 1).ints("shape", &[50]).float("seed", 7.0);
            let values = |case: Case| -> Vec<_> {
                let runs = case.run_times(3);
                runs.iter().map(|out| out[0].floats()).collect()
            };
            let first = values(seeded());
            assert!(first[0] != first[1] && first[1] != first[2] && first[0] != first[2]);
            assert_eq!(first, values(seeded()));
            let free = || Case::new(op, 1).ints("shape", &[50]);
            assert_ne!(values(free()), values(free()));
        }
    }

    #[test]
    fn types_and_shapes() {
        for dtype in [DType::F16, DType::BF16, DType::F64, DType::F32] {
            let out = Case::new("RandomNormal", 22)
                .ints("shape", &[2, 0])
                .int("dtype", dtype.onnx().into())
                .output(dtype)
                .run();
            assert_eq!((out[0].dtype(), out[0].dims()), (dtype, &[2i64, 0][..]));
        }
        let like = Case::new("RandomUniformLike", 22).input(ints(DType::I64, &[2, 3], &[0; 6]));
        let out = like.int("dtype", 1).output(DType::F32).run();
        assert_eq!(out[0].dims(), [2, 3]);
        let like = Case::new("RandomNormalLike", 22).input(f32s(&[], &[0.0]));
        assert_eq!(like.run()[0].dims(), [0i64; 0]);
        let like = Case::new("RandomNormalLike", 22).input(ints(DType::I64, &[2], &[0; 2]));
        assert_eq!(like.reject(), Reject::Attribute("dtype".into()));
    }
}
