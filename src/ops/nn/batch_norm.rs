//! BatchNormalization.
use crate::device::{Array, Emit};
use crate::error::{Error, Result};
use crate::ops::reduce::accumulator;
use crate::ops::{NodeRef, OpDef, Planned, Reject, lower, op};

pub(in crate::ops) const OPS: &[OpDef] = &[op!("BatchNormalization", 1.., [FLOAT64], batch_norm)];

fn batch_norm(node: &NodeRef<'_>) -> Planned {
    let dtype = node.dtype(0)?;
    let epsilon = node.float_or("epsilon", 1e-5)?;
    // Says how training updates the statistics.
    node.ignore("momentum");
    node.ignore("consumed_inputs");
    let opset = node.opset();
    if opset < 7 && !node.flag("is_test", false)? {
        return Err(Reject::Attribute("is_test".into()));
    }
    if node.flag("training_mode", false)? {
        return Err(Reject::Attribute("training_mode".into()));
    }
    if (1..node.output_count()).any(|i| node.has_output(i)) {
        return Err(Reject::Todo("statistics of training"));
    }
    // Up to opset 8: whether all places of a channel share their statistics.
    let spatial = node.flag("spatial", true)?;
    lower(move |cx, x| {
        let input = x.array(0)?;
        let wide = accumulator(dtype);
        let values =
            |index: usize| parameter(cx, &cx.astype(x.array(index)?, wide)?, input, spatial);
        let (scale, bias, mean, variance) = (values(1)?, values(2)?, values(3)?, values(4)?);
        let deviation = cx.sqrt(&cx.add(&variance, &cx.float(f64::from(epsilon), wide)?)?)?;
        let factor = cx.divide(&scale, &deviation)?;
        let offset = cx.subtract(&bias, &cx.multiply(&mean, &factor)?)?;
        let y = cx.add(&cx.multiply(&cx.astype(input, wide)?, &factor)?, &offset)?;
        cx.astype(&y, dtype)
    })
}

/// One value per channel, or per element of a batch entry, to be broadcast to `x`.
fn parameter(cx: &Emit, values: &Array, x: &Array, spatial: bool) -> Result<Array> {
    let dims = x.dims();
    let mut shape = vec![1; dims.len().max(2)];
    shape[1] = dims.get(1).copied().unwrap_or(1);
    if !spatial {
        shape.splice(1.., dims.iter().skip(1).copied());
    }
    if dims.is_empty() || values.size() != shape.iter().product::<usize>() {
        return Err(Error::invalid(format!(
            "scale, bias, mean and variance must have one value per channel: found {} for input 0 of shape {dims:?}",
            values.size()
        )));
    }
    cx.reshape(values, &shape[..dims.len().max(1)])
}

#[cfg(test)]
mod tests {
    use crate::device::DType;
    use crate::ops::Reject;
    use crate::ops::testing::{Case, f32s, floats};

    fn case(opset: u32) -> Case {
        Case::new("BatchNormalization", opset)
            .input(f32s(&[1, 2, 2], &[1.0, 3.0, -2.0, 6.0]))
            .constant(f32s(&[2], &[2.0, 1.0]))
            .constant(f32s(&[2], &[0.5, -1.0]))
            .constant(f32s(&[2], &[1.0, 2.0]))
            .constant(f32s(&[2], &[3.0, 15.0]))
            .float("epsilon", 1.0)
    }

    #[test]
    fn channels_are_normalised() {
        let expected = [0.5, 2.5, -2.0, 0.0];
        for opset in [7, 9, 14, 15] {
            case(opset).float("momentum", 0.9).run()[0].assert_close(&[1, 2, 2], &expected, 1e-6);
        }
        case(6).int("is_test", 1).run()[0].assert_close(&[1, 2, 2], &expected, 1e-6);
        let matrix = Case::new("BatchNormalization", 15).input(f32s(&[2, 1], &[1.0, 2.0]));
        let one = || f32s(&[1], &[1.0]);
        let out = matrix
            .input(one())
            .input(one())
            .input(one())
            .input(one())
            .float("epsilon", 0.0)
            .run();
        out[0].assert_close(&[2, 1], &[1.0, 2.0], 1e-6);
    }

    #[test]
    fn statistics_per_place() {
        let place = |v: [f32; 2]| f32s(&[1, 2], &v);
        let out = Case::new("BatchNormalization", 7)
            .int("spatial", 0)
            .float("epsilon", 0.0)
            .input(f32s(&[2, 1, 2], &[1.0, 2.0, 3.0, 4.0]))
            .input(place([1.0, 2.0]))
            .input(place([0.0, 1.0]))
            .input(place([1.0, 1.0]))
            .input(place([4.0, 1.0]))
            .run();
        out[0].assert_close(&[2, 1, 2], &[0.0, 3.0, 1.0, 7.0], 1e-6);
    }

    #[test]
    fn mixed_types_compute_in_float() {
        let half = |v: f64| floats(DType::F16, &[1], &[v]);
        let out = Case::new("BatchNormalization", 15)
            .float("epsilon", 0.0)
            .input(floats(DType::F16, &[1, 1, 2], &[3.0, 5.0]))
            .input(half(2.0))
            .input(half(1.0))
            .input(f32s(&[1], &[1.0]))
            .input(f32s(&[1], &[4.0]))
            .run();
        out[0].assert_close(&[1, 1, 2], &[3.0, 5.0], 1e-3);
    }

    #[test]
    fn training_and_wrong_sizes_are_refused() {
        let attribute = |name: &str| Reject::Attribute(name.into());
        assert_eq!(
            case(15).int("training_mode", 1).reject(),
            attribute("training_mode")
        );
        assert_eq!(case(6).reject(), attribute("is_test"));
        assert_eq!(
            case(9).outputs(2).reject(),
            Reject::Todo("statistics of training")
        );
        let one = || f32s(&[1], &[1.0]);
        let wrong = Case::new("BatchNormalization", 15).input(f32s(&[1, 2, 1], &[1.0, 2.0]));
        let error = wrong
            .input(one())
            .input(one())
            .input(one())
            .input(one())
            .try_run();
        assert!(
            error
                .err()
                .expect("it fails")
                .to_string()
                .contains("one value per channel")
        );
    }
}
