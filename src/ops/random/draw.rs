//! `Bernoulli` and `Multinomial`.
use super::Source;
use crate::device::{DType, Types};
use crate::error::Error;
use crate::ops::{NodeRef, OpDef, Planned, lower, op};

pub(in crate::ops) const OPS: &[OpDef] = &[
    op!("Bernoulli", 15.., [FLOAT64], bernoulli),
    op!("Multinomial", 7.., [FLOAT64], multinomial),
];

/// Each element is 1 with the probability that the input has there.
fn bernoulli(node: &NodeRef<'_>) -> Planned {
    let dtype = match node.element_type("dtype", Types::ANY)? {
        Some(dtype) => dtype,
        None => node.dtype(0)?,
    };
    let source = Source::of(node)?;
    let plan = lower(move |cx, x| {
        let probability = cx.astype(x.array(0)?, DType::F32)?;
        let number = cx.random_uniform(x.dims(0)?, &source.key(cx)?)?;
        cx.astype(&cx.less(&number, &probability)?, dtype)
    })?;
    Ok(plan.stateful())
}

/// Classes drawn per row of unnormalised log-probabilities.
fn multinomial(node: &NodeRef<'_>) -> Planned {
    let dtype = node
        .element_type("dtype", Types::INDEX)?
        .unwrap_or(DType::I32);
    let Ok(count) = usize::try_from(node.int_or("sample_size", 1)?) else {
        return node.bad_attribute("sample_size");
    };
    let source = Source::of(node)?;
    let plan = lower(move |cx, x| {
        let [rows, classes] = x.dims(0)? else {
            return Err(Error::invalid(format!(
                "input 0 has shape {:?}, batch and classes are needed",
                x.dims(0)?
            )));
        };
        if *classes == 0 && rows * count > 0 {
            return Err(Error::invalid("input 0 has no class to draw"));
        }
        if rows * count == 0 {
            return cx.zeros(&[*rows, count], dtype);
        }
        let logits = cx.astype(x.array(0)?, DType::F32)?;
        cx.astype(
            &cx.random_categorical(&logits, count, &source.key(cx)?)?,
            dtype,
        )
    })?;
    Ok(plan.stateful())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::{Case, f32s, floats};

    #[test]
    fn bernoulli_draws_ones_as_often_as_said() {
        let p = [0.0, 0.25, 0.5, 1.0];
        let each = 20_000;
        let values: Vec<f32> = p.iter().flat_map(|p| vec![*p; each]).collect();
        for (dtype, opset) in [(DType::F32, 15), (DType::Bool, 22), (DType::I8, 22)] {
            let out = Case::new("Bernoulli", opset)
                .input(f32s(&[4, each], &values))
                .int("dtype", dtype.onnx().into())
                .output(dtype)
                .run();
            assert_eq!(out[0].dtype(), dtype);
            let drawn = out[0].floats();
            assert!(drawn.iter().all(|v| *v == 0.0 || *v == 1.0));
            for (p, row) in p.iter().zip(drawn.chunks(each)) {
                let share = row.iter().sum::<f64>() / each as f64;
                let tolerance = if p.fract() == 0.0 { 0.0 } else { 0.02 };
                assert!((share - f64::from(*p)).abs() <= tolerance, "{share} of {p}");
            }
        }
    }

    #[test]
    fn multinomial_draws_classes_by_their_weights() {
        let count = 40_000;
        let weights = [1.0f64, 2.0, 5.0];
        let logits: Vec<f64> = weights.iter().map(|w| w.ln() + 3.0).collect();
        for dtype in [DType::F32, DType::F16, DType::F64] {
            let rows = [logits.clone(), vec![0.0, -1e4, 0.0]].concat();
            let out = Case::new("Multinomial", 7)
                .input(floats(dtype, &[2, 3], &rows))
                .int("sample_size", count)
                .int("dtype", 7)
                .output(DType::I64)
                .run();
            assert_eq!(out[0].dims(), [2, count]);
            let drawn = out[0].ints();
            let (first, second) = drawn.split_at(drawn.len() / 2);
            for (class, weight) in (0..).zip(weights) {
                let share =
                    first.iter().filter(|v| **v == class).count() as f64 / first.len() as f64;
                assert!(
                    (share - weight / 8.0).abs() < 0.02,
                    "class {class}: {share}"
                );
            }
            assert!(second.iter().all(|v| *v == 0 || *v == 2));
        }
    }

    #[test]
    fn nothing_to_draw_and_nothing_to_draw_from() {
        let case = |rows: usize, classes: usize| {
            Case::new("Multinomial", 22)
                .input(f32s(&[rows, classes], &vec![0.0; rows * classes]))
                .output(DType::I32)
        };
        assert_eq!(case(0, 3).run()[0].dims(), [0, 1]);
        let error = case(2, 0).try_run().err().unwrap();
        assert!(matches!(error.root(), Error::InvalidArgument(_)), "{error}");
    }

    #[test]
    fn runs_differ_and_seeds_repeat() {
        let runs = || {
            let case = Case::new("Bernoulli", 22).input(f32s(&[64], &[0.5; 64]));
            let runs = case.float("seed", 1.0).run_times(2);
            runs.iter().map(|out| out[0].floats()).collect::<Vec<_>>()
        };
        let first = runs();
        assert_ne!(first[0], first[1]);
        assert_eq!(first, runs());
    }
}
