//! ReverseSequence.
use crate::device::DType;
use crate::error::Error;
use crate::ops::{NodeRef, OpDef, Planned, index, lower, op};

pub(in crate::ops) const OPS: &[OpDef] =
    &[op!("ReverseSequence", 10.., [ANY, I64], reverse_sequence)];

fn reverse_sequence(node: &NodeRef<'_>) -> Planned {
    let batch_first = match (node.int_or("batch_axis", 1)?, node.int_or("time_axis", 0)?) {
        (1, 0) => false,
        (0, 1) => true,
        _ => return node.bad_attribute("time_axis"),
    };
    lower(move |cx, x| {
        let data = x.array(0)?;
        let dims = data.dims();
        let [first, second, row @ ..] = &dims[..] else {
            return Err(Error::invalid(format!(
                "input 0 has rank {} instead of at least 2",
                dims.len()
            )));
        };
        let (batch, time) = if batch_first {
            (*first, *second)
        } else {
            (*second, *first)
        };
        if x.dims(1)? != [batch] {
            return Err(Error::invalid(format!(
                "sequence_lens in input 1 has shape {:?} instead of [{batch}]",
                x.dims(1)?
            )));
        }
        let lengths = cx.astype(&index::at_most(cx, x, 1, time)?, DType::I32)?;
        if data.size() == 0 {
            return Ok(data.clone());
        }
        let size = |v: usize| {
            let v = i64::try_from(v).map_err(|_| Error::internal("an axis out of range"))?;
            cx.int(v, DType::I32)
        };
        // Both along axes of their own, in the order that the data has.
        let (of_batch, of_time) = if batch_first {
            ([batch, 1], [1, time])
        } else {
            ([1, batch], [time, 1])
        };
        let lengths = cx.reshape(&lengths, &of_batch)?;
        let step = cx.reshape(&cx.arange(time, DType::I32)?, &of_time)?;
        let sequence = cx.reshape(&cx.arange(batch, DType::I32)?, &of_batch)?;
        let back = cx.subtract(&cx.subtract(&lengths, &size(1)?)?, &step)?;
        let from = cx.select(&cx.less(&step, &lengths)?, &back, &step)?;
        let rows = if batch_first {
            cx.add(&cx.multiply(&sequence, &size(time)?)?, &from)?
        } else {
            cx.add(&cx.multiply(&from, &size(batch)?)?, &sequence)?
        };
        let flat = cx.reshape(data, &[&[batch * time], row].concat())?;
        cx.reshape(&cx.take(&flat, &rows, 0)?, &dims)
    })
}

#[cfg(test)]
mod tests {
    use crate::device::Types;
    use crate::ops::Reject;
    use crate::ops::testing::{Case, Data, f32s, floats, i64s, ints};

    fn run(dims: &[usize], batch_first: bool, lengths: &[i64]) -> Vec<i64> {
        let values: Vec<_> = (0..dims.iter().product::<usize>() as i64).collect();
        let case = || {
            let case = Case::new("ReverseSequence", 10).input(i64s(dims, &values));
            if batch_first {
                case.int("batch_axis", 0).int("time_axis", 1)
            } else {
                case
            }
        };
        let lengths = || i64s(&[lengths.len()], lengths);
        let out = case().constant(lengths()).run()[0].ints();
        assert_eq!(case().input(lengths()).run()[0].ints(), out);
        assert_eq!(case().computed(lengths()).run()[0].ints(), out);
        out
    }

    #[test]
    fn each_sequence_is_reversed_up_to_its_length() {
        assert_eq!(run(&[3, 2], false, &[3, 2]), [4, 3, 2, 1, 0, 5]);
        assert_eq!(run(&[2, 3], true, &[2, 3]), [1, 0, 2, 5, 4, 3]);
        assert_eq!(run(&[2, 3], true, &[0, 1]), [0, 1, 2, 3, 4, 5]);
        assert_eq!(run(&[2, 2, 2], true, &[1, 2]), [0, 1, 2, 3, 6, 7, 4, 5]);
        assert_eq!(run(&[2, 1, 2, 1], false, &[2]), [2, 3, 0, 1]);
        assert_eq!(run(&[0, 2], false, &[0, 0]), [0i64; 0]);
        assert_eq!(run(&[2, 0], false, &[]), [0i64; 0]);
    }

    #[test]
    fn every_type() {
        for dtype in Types::ANY.iter_types() {
            let number = |values: &[i64]| -> Data {
                if dtype.is_float() {
                    let values: Vec<_> = values.iter().map(|v| f64::from(*v != 0)).collect();
                    floats(dtype, &[3, 1], &values)
                } else {
                    ints(dtype, &[3, 1], values)
                }
            };
            let case = Case::new("ReverseSequence", 10).input(number(&[1, 0, 1]));
            let out = case.input(i64s(&[1], &[2])).run();
            assert_eq!(out[0].bytes(), number(&[0, 1, 1]).bytes);
        }
    }

    #[test]
    fn lengths_out_of_range_are_errors_or_clamped() {
        let case = || Case::new("ReverseSequence", 10).input(f32s(&[2, 1], &[1.0, 2.0]));
        for (bad, expected) in [(3, [2.0, 1.0]), (-1, [1.0, 2.0])] {
            for constant in [false, true] {
                let error = case().given(constant, i64s(&[1], &[bad])).try_run().err();
                let text = error.expect("out of range").to_string();
                let wanted =
                    format!("value {bad} in input 1 is out of range: it must be in [0, 2]");
                assert!(text.contains(&wanted), "{text}");
            }
            assert_eq!(
                case().computed(i64s(&[1], &[bad])).run()[0].floats(),
                expected
            );
        }
        assert!(case().input(i64s(&[2], &[1, 1])).try_run().is_err());
        let line = Case::new("ReverseSequence", 10).input(f32s(&[1], &[1.0]));
        assert!(line.input(i64s(&[1], &[1])).try_run().is_err());
        for axes in [(0, 0), (1, 1), (2, 0)] {
            let case = case().int("batch_axis", axes.0).int("time_axis", axes.1);
            let reject = case.input(i64s(&[1], &[1])).reject();
            assert_eq!(reject, Reject::Attribute("time_axis".into()));
        }
    }
}
