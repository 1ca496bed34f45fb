//! TensorScatter: an update of a cache along its sequence axis.
use crate::device::{Array, DType, Emit, Scatter};
use crate::error::{Error, Result};
use crate::ops::{self, Inputs, NodeRef, OpDef, Planned, index, lower, op};

pub(in crate::ops) const OPS: &[OpDef] =
    &[op!("TensorScatter", 24.., [ALL, ALL, I64], tensor_scatter)];

fn tensor_scatter(node: &NodeRef<'_>) -> Planned {
    let axis = node.int_or("axis", -2)?;
    let circular = match node.string_or("mode", "linear")? {
        "linear" => false,
        "circular" => true,
        _ => return node.bad_attribute("mode"),
    };
    lower(move |cx, x| {
        let (cache, update) = (x.array(0)?, x.array(1)?);
        let (dims, new) = (cache.dims(), update.dims());
        let axis = ops::axis(axis, dims.len())?;
        let same = |i: usize| {
            if i == axis {
                new[i] <= dims[i]
            } else {
                new[i] == dims[i]
            }
        };
        if axis == 0 || new.len() != dims.len() || !(0..dims.len()).all(same) {
            return Err(Error::invalid(format!(
                "an update of shape {new:?} in input 1 does not fit a cache of shape {dims:?} in input 0 along axis {axis}"
            )));
        }
        if !x.has(2) {
            return begin(cx, cache, update);
        }
        if x.dims(2)? != [dims[0]] {
            return Err(Error::invalid(format!(
                "write_indices in input 2 has shape {:?} instead of [{}]",
                x.dims(2)?,
                dims[0]
            )));
        }
        let places = places(cx, x, dims[axis], new[axis], circular)?;
        if update.size() == 0 {
            return Ok(cache.clone());
        }
        write(cx, cache, update, &places, axis)
    })
}

/// Writes at the beginning of the axis.
fn begin(cx: &Emit, cache: &Array, update: &Array) -> Result<Array> {
    let rank = cache.rank();
    cx.slice_update(
        cache,
        update,
        &vec![0; rank],
        update.shape(),
        &vec![1; rank],
    )
}

/// Where along the axis each step of each sample goes: [batch, steps], all in `0..size`.
fn places(cx: &Emit, x: &Inputs<'_>, size: usize, steps: usize, circular: bool) -> Result<Array> {
    let length = || {
        let size = i64::try_from(size.max(1));
        cx.int(
            size.map_err(|_| Error::internal("an axis out of range"))?,
            DType::I64,
        )
    };
    let start = if circular {
        cx.remainder(x.array(2)?, &length()?)?
    } else {
        index::at_most(cx, x, 2, size - steps)?
    };
    let batch = start.size();
    let places = cx.add(
        &cx.reshape(&start, &[batch, 1])?,
        &cx.arange(steps, DType::I64)?,
    )?;
    if circular {
        cx.remainder(&places, &length()?)
    } else {
        Ok(places)
    }
}

fn write(cx: &Emit, cache: &Array, update: &Array, places: &Array, axis: usize) -> Result<Array> {
    let dims = cache.dims();
    let (size, steps) = (dims[axis], update.dim(axis));
    let outer: usize = dims[..axis].iter().product();
    let between = outer / dims[0];
    let width = dims[axis + 1..].iter().product();
    let step = i64::try_from(size).map_err(|_| Error::internal("an axis out of range"))?;
    let first = cx.multiply(&cx.arange(outer, DType::I64)?, &cx.int(step, DType::I64)?)?;
    let rows = cx.add(
        &cx.reshape(&first, &[dims[0], between, 1])?,
        &cx.expand_dims(places, &[1])?,
    )?;
    let rows = cx.reshape(&rows, &[outer * steps])?;
    let made = cx.scatter(
        &cx.reshape(cache, &[outer * size, width])?,
        &rows,
        &cx.reshape(update, &[outer * steps, width])?,
        Scatter::Set,
    )?;
    cx.reshape(&made, &dims)
}

#[cfg(test)]
mod tests {
    use crate::device::{DType, Types};
    use crate::ops::Reject;
    use crate::ops::testing::{Case, Data, codes, f32s, floats, i64s, ints};

    /// A cache of zeros and an update that counts from 1 on, as the definition's loop writes it.
    fn expected(dims: &[usize], axis: usize, steps: usize, starts: &[i64]) -> Vec<i64> {
        let size = dims[axis];
        let outer: usize = dims[..axis].iter().product();
        let width: usize = dims[axis + 1..].iter().product();
        let mut out = vec![0; outer * size * width];
        let mut next = 1;
        for prefix in 0..outer {
            let start = starts[prefix / (outer / dims[0])];
            for step in 0..steps {
                let place = usize::try_from((start + step as i64).rem_euclid(size as i64)).unwrap();
                for i in 0..width {
                    out[(prefix * size + place) * width + i] = next;
                    next += 1;
                }
            }
        }
        out
    }

    fn check(dims: &[usize], axis: i64, steps: usize, mode: &'static str, starts: Option<&[i64]>) {
        let at = usize::try_from(axis.rem_euclid(dims.len() as i64)).unwrap();
        let mut new = dims.to_vec();
        new[at] = steps;
        let count: usize = new.iter().product();
        let update: Vec<_> = (1..=count as i64).collect();
        let wanted = expected(dims, at, steps, starts.unwrap_or(&vec![0; dims[0]]));
        for from in 0..3 {
            let zeros = vec![0; dims.iter().product()];
            let case = Case::new("TensorScatter", 24)
                .int("axis", axis)
                .string("mode", mode)
                .input(ints(DType::I32, dims, &zeros))
                .input(ints(DType::I32, &new, &update));
            let case = match (starts, from) {
                (None, _) => case,
                (Some(s), 0) => case.constant(i64s(&[s.len()], s)),
                (Some(s), 1) => case.input(i64s(&[s.len()], s)),
                (Some(s), _) => case.computed(i64s(&[s.len()], s)),
            };
            let out = case.run();
            assert_eq!(out[0].ints(), wanted, "{dims:?} {axis} {steps} {starts:?}");
        }
    }

    #[test]
    fn updates_go_where_the_definition_writes_them() {
        for mode in ["linear", "circular"] {
            check(&[2, 4, 3], -2, 2, mode, None);
            check(&[2, 4, 3], 1, 2, mode, Some(&[0, 2]));
            check(&[2, 2, 4, 1], -2, 1, mode, Some(&[3, 1]));
            check(&[2, 3, 4], -1, 4, mode, Some(&[0, 0]));
            check(&[3, 5], 1, 2, mode, Some(&[3, 0, 1]));
            check(&[2, 2, 2, 3, 2], 3, 2, mode, Some(&[1, 0]));
            check(&[2, 4, 3], 1, 0, mode, Some(&[4, 2]));
            check(&[2, 0, 3], 1, 0, mode, Some(&[0, 0]));
        }
        check(&[2, 4, 1], 1, 3, "circular", Some(&[3, -1]));
        check(&[1, 4, 2], 1, 4, "circular", Some(&[1001]));
    }

    #[test]
    fn a_circular_index_may_be_any_number() {
        for (start, place) in [(i64::MAX, 3), (i64::MIN, 0)] {
            let case = Case::new("TensorScatter", 24)
                .int("axis", 1)
                .string("mode", "circular");
            let case = case
                .input(f32s(&[1, 4], &[0.0; 4]))
                .input(f32s(&[1, 1], &[1.0]));
            let out = case.input(i64s(&[1], &[start])).run();
            let mut expected = [0.0; 4];
            expected[place] = 1.0;
            assert_eq!(out[0].floats(), expected);
        }
    }

    #[test]
    fn every_type() {
        for dtype in Types::ALL.iter_types() {
            let number = |dims: &[usize], values: &[i64]| -> Data {
                if Types::STORED.contains(dtype.set()) {
                    let values: Vec<_> = values.iter().map(|v| u8::from(*v != 0)).collect();
                    codes(dtype, dims, &values)
                } else if dtype.is_float() {
                    let values: Vec<_> = values.iter().map(|v| f64::from(*v != 0)).collect();
                    floats(dtype, dims, &values)
                } else {
                    ints(dtype, dims, values)
                }
            };
            for start in [None, Some(1)] {
                let case = Case::new("TensorScatter", 24)
                    .input(number(&[1, 3, 1], &[0, 1, 0]))
                    .input(number(&[1, 1, 1], &[1]));
                let (case, expected) = match start {
                    None => (case, [1, 1, 0]),
                    Some(_) => (case.input(i64s(&[1], &[2])), [0, 1, 1]),
                };
                assert_eq!(case.run()[0].bytes(), number(&[3], &expected).bytes);
            }
        }
    }

    #[test]
    fn linear_indices_out_of_range_are_errors_or_clamped() {
        let case = || {
            let case = Case::new("TensorScatter", 24).int("axis", 1);
            case.input(f32s(&[1, 3], &[0.0; 3]))
                .input(f32s(&[1, 2], &[1.0, 2.0]))
        };
        for (bad, expected) in [
            (2, [0.0, 1.0, 2.0]),
            (-1, [1.0, 2.0, 0.0]),
            (i64::MIN, [1.0, 2.0, 0.0]),
        ] {
            for constant in [false, true] {
                let error = case().given(constant, i64s(&[1], &[bad])).try_run().err();
                let text = error.expect("out of range").to_string();
                let wanted =
                    format!("value {bad} in input 2 is out of range: it must be in [0, 1]");
                assert!(text.contains(&wanted), "{text}");
            }
            assert_eq!(
                case().computed(i64s(&[1], &[bad])).run()[0].floats(),
                expected
            );
        }
        assert!(case().input(i64s(&[2], &[0, 0])).try_run().is_err());
    }

    #[test]
    fn shapes_and_modes_that_do_not_fit() {
        let case = |axis, update: &[usize]| {
            let case = Case::new("TensorScatter", 24).int("axis", axis);
            let count: usize = update.iter().product();
            case.input(f32s(&[2, 3], &[0.0; 6]))
                .input(f32s(update, &vec![0.0; count]))
        };
        assert!(case(1, &[2, 4]).try_run().is_err());
        assert!(case(1, &[1, 3]).try_run().is_err());
        assert!(case(1, &[2]).try_run().is_err());
        assert!(case(0, &[1, 3]).try_run().is_err());
        assert!(case(2, &[2, 3]).try_run().is_err());
        let reject = case(1, &[2, 1]).string("mode", "ring").reject();
        assert_eq!(reject, Reject::Attribute("mode".into()));
    }
}
