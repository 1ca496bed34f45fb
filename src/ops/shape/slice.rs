//! Slice.
use super::grid;
use crate::device::{Array, Emit};
use crate::error::{Error, Result};
use crate::ops::{self, HostTensor, NodeRef, OpDef, Planned, Reject, lower, op};

pub(in crate::ops) const OPS: &[OpDef] = &[
    op!("Slice", 1..=9, [ANY], by_attributes),
    op!("Slice", 10.., [ANY, INDEX], by_inputs),
];

fn by_attributes(node: &NodeRef<'_>) -> Planned {
    let list = |name: &str| {
        let found = node.ints(name)?;
        found
            .map(<[i64]>::to_vec)
            .ok_or_else(|| Reject::Attribute(name.into()))
    };
    let (starts, ends) = (list("starts")?, list("ends")?);
    let axes = node.ints("axes")?.map(<[i64]>::to_vec);
    let request = move |dims: &[usize]| cuts(dims, &starts, &ends, axes.as_deref(), None, false);
    let request = std::sync::Arc::new(request);
    let on_host = request.clone();
    let plan = lower(move |cx, x| slice(cx, x.array(0)?, &request(x.dims(0)?)?))?;
    Ok(plan.or_host(move |h| match grid::first(h) {
        Some(data) => Ok(pick(data, &on_host(data.dims())?)),
        None => Ok(None),
    }))
}

fn by_inputs(node: &NodeRef<'_>) -> Planned {
    if !node.has_input(1) || !node.has_input(2) {
        return Err(Reject::Arity(node.input_count()));
    }
    let reads: Vec<_> = (1..5).filter(|input| node.has_input(*input)).collect();
    // In opset 10 the largest number stands for the end in either direction, later only in the forward one.
    let endless = node.opset() == 10;
    let plan = lower(move |cx, x| {
        let optional = |input| x.has(input).then(|| x.ints(input)).transpose();
        let (starts, ends) = (x.ints(1)?, x.ints(2)?);
        let (axes, steps) = (optional(3)?, optional(4)?);
        let cuts = cuts(x.dims(0)?, starts, ends, axes, steps, endless)?;
        slice(cx, x.array(0)?, &cuts)
    })?;
    Ok(plan.reads(&reads).or_host(move |h| {
        let ints = |input: usize| h.get(input).copied().flatten()?.as_ints();
        let (Some(data), Some(starts), Some(ends)) = (grid::first(h), ints(1), ints(2)) else {
            return Ok(None);
        };
        let cuts = cuts(data.dims(), starts, ends, ints(3), ints(4), endless)?;
        Ok(pick(data, &cuts))
    }))
}

/// What is taken of one axis: `count` indices from `start` on, `step` apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Cut {
    start: i64,
    step: i64,
    count: i64,
}

/// The cut of every axis.
fn cuts(
    dims: &[usize],
    starts: &[i64],
    ends: &[i64],
    axes: Option<&[i64]>,
    steps: Option<&[i64]>,
    endless: bool,
) -> Result<Vec<Cut>> {
    let count = starts.len();
    let fits = |list: Option<&[i64]>| list.is_none_or(|list| list.len() == count);
    if !fits(Some(ends)) || !fits(axes) || !fits(steps) || (axes.is_none() && count > dims.len()) {
        return Err(Error::invalid(format!(
            "starts {starts:?}, ends {ends:?}, axes {axes:?} and steps {steps:?} do not fit each other and a tensor of rank {}",
            dims.len()
        )));
    }
    let mut out = Vec::with_capacity(dims.len());
    for dim in dims {
        let count = i64::try_from(*dim).map_err(|_| Error::internal("an axis out of range"))?;
        out.push(Cut {
            start: 0,
            step: 1,
            count,
        });
    }
    let axes = match axes {
        Some(axes) => {
            ops::axes(axes, dims.len())?;
            let wrapped = axes.iter().map(|axis| ops::axis(*axis, dims.len()));
            wrapped.collect::<Result<Vec<_>>>()?
        }
        None => (0..count).collect(),
    };
    for (i, axis) in axes.into_iter().enumerate() {
        let step = steps.map_or(1, |steps| steps[i]);
        if step == 0 {
            return Err(Error::invalid("a step of 0 takes no direction"));
        }
        let largest = ends[i] == i64::MAX || ends[i] == i64::from(i32::MAX);
        let end = if endless && step < 0 && largest {
            i64::MIN
        } else {
            ends[i]
        };
        out[axis] = cut(out[axis].count, starts[i], end, step);
    }
    Ok(out)
}

/// Bounds below 0 count from the end; those beyond an end are moved to it.
fn cut(size: i64, start: i64, end: i64, step: i64) -> Cut {
    let wrap = |bound: i64| {
        if bound < 0 {
            bound.saturating_add(size)
        } else {
            bound
        }
    };
    let (start, end) = (wrap(start), wrap(end));
    let none = Cut {
        start: 0,
        step: 1,
        count: 0,
    };
    if size == 0 {
        return none;
    }
    let (start, distance) = if step > 0 {
        let start = start.clamp(0, size);
        (start, end.clamp(0, size) - start)
    } else {
        let start = start.clamp(0, size - 1);
        (start, start - end.clamp(-1, size - 1))
    };
    if distance <= 0 {
        return none;
    }
    // A step beyond the axis takes one element, whatever its size.
    let step = step.clamp(-size, size);
    let count = (distance - 1) / step.abs() + 1;
    Cut { start, step, count }
}

fn slice(cx: &Emit, a: &Array, cuts: &[Cut]) -> Result<Array> {
    let dims = a.dims();
    let whole = |(cut, dim): (&Cut, &usize)| {
        cut.start == 0 && cut.step == 1 && usize::try_from(cut.count) == Ok(*dim)
    };
    if cuts.iter().zip(&dims).all(whole) {
        return Ok(a.clone());
    }
    let int = |v: i64| i32::try_from(v).map_err(|_| Error::internal("a slice bound out of range"));
    let (mut start, mut stop, mut strides) = (vec![], vec![], vec![]);
    for (cut, dim) in cuts.iter().zip(&dims) {
        let last = cut.start + cut.step * (cut.count - 1);
        let end = match cut.count {
            0 => 0,
            _ if cut.step > 0 => last + 1,
            // One before the first element, which as -1 would mean the last one.
            _ if last == 0 => -1 - i64::try_from(*dim).unwrap_or(i64::MAX),
            _ => last - 1,
        };
        start.push(int(cut.start)?);
        stop.push(int(end)?);
        strides.push(int(cut.step)?);
    }
    cx.slice(a, &start, &stop, &strides)
}

fn pick(t: &HostTensor, cuts: &[Cut]) -> Option<Vec<HostTensor>> {
    if !grid::fits(t.dims()) {
        return None;
    }
    let index = |cut: &Cut, i: i64| usize::try_from(cut.start + i * cut.step).unwrap_or(0);
    let indices = |cut: &Cut| (0..cut.count).map(|i| index(cut, i)).collect();
    let indices: Vec<_> = cuts.iter().map(indices).collect();
    grid::pick(t, &indices).map(|t| vec![t])
}

#[cfg(test)]
mod tests {
    use crate::device::DType;
    use crate::error::Result;
    use crate::ops::Reject;
    use crate::ops::testing::{Case, Data, f32s, i64s, ints};

    /// Slices 0..size along one axis: on the device with known and unknown bounds, and on the host.
    fn line(size: i64, start: i64, end: i64, step: i64) -> Vec<i64> {
        let data: Vec<_> = (0..size).collect();
        let run = |data_known, bounds_known| {
            let case = Case::new("Slice", 13).given(data_known, i64s(&[data.len()], &data));
            let case = [start, end, 0, step]
                .iter()
                .fold(case, |case, v| case.given(bounds_known, i64s(&[1], &[*v])));
            let out = case.run();
            assert_eq!(out[0].dims(), [i64::try_from(out[0].ints().len()).unwrap()]);
            out[0].ints()
        };
        let found = run(false, false);
        assert_eq!(run(false, true), found);
        assert_eq!(run(true, true), found);
        found
    }

    #[test]
    fn bounds_wrap_and_clamp() {
        assert_eq!(line(5, 1, 3, 1), [1, 2]);
        assert_eq!(line(5, -2, i64::MAX, 1), [3, 4]);
        assert_eq!(line(5, i64::MIN, -2, 1), [0, 1, 2]);
        assert_eq!(line(5, 0, 1_000_000_000, 2), [0, 2, 4]);
        assert_eq!(line(5, 3, 1, 1), [0i64; 0]);
        assert_eq!(line(5, 9, 20, 1), [0i64; 0]);
        assert_eq!(line(5, 1, 5, i64::MAX), [1]);
        assert_eq!(line(0, 0, 5, 1), [0i64; 0]);
    }

    #[test]
    fn negative_steps_walk_back() {
        assert_eq!(line(5, -1, i64::MIN, -1), [4, 3, 2, 1, 0]);
        assert_eq!(line(5, i64::MAX, i64::MIN, -2), [4, 2, 0]);
        assert_eq!(line(5, 3, 0, -1), [3, 2, 1]);
        assert_eq!(line(5, 3, 0, -2), [3, 1]);
        assert_eq!(line(5, 1, -6, -1), [1, 0]);
        assert_eq!(line(5, 1, -1, -1), [0i64; 0]);
        assert_eq!(line(5, 4, i64::MIN, i64::MIN), [4]);
        assert_eq!(line(0, -1, i64::MIN, -1), [0i64; 0]);
        assert_eq!(line(1, 0, -2, -1), [0]);
    }

    #[test]
    fn the_largest_end_of_opset_10_is_open_in_both_directions() {
        for constant in [false, true] {
            for end in [i64::MAX, i64::from(i32::MAX)] {
                let run = |opset, step| {
                    let case = Case::new("Slice", opset).given(constant, i64s(&[3], &[0, 1, 2]));
                    let bounds = [1, end, 0, step];
                    let case = bounds
                        .iter()
                        .fold(case, |case, v| case.given(constant, i64s(&[1], &[*v])));
                    case.run()[0].ints()
                };
                assert_eq!(run(10, -1), [1, 0]);
                assert_eq!(run(10, 1), [1, 2]);
                assert_eq!(run(11, -1), [0i64; 0]);
            }
        }
    }

    fn grid() -> Data {
        ints(DType::I32, &[3, 4], &(0..12).collect::<Vec<_>>())
    }

    #[test]
    fn several_axes_in_any_order() {
        for constant in [false, true] {
            let case = Case::new("Slice", 11).given(constant, grid());
            let case = case
                .given(constant, ints(DType::I32, &[2], &[3, 0]))
                .given(constant, ints(DType::I32, &[2], &[-5, 2]))
                .given(constant, ints(DType::I32, &[2], &[-1, 0]))
                .given(constant, ints(DType::I32, &[2], &[-2, 1]));
            let out = case.run();
            assert_eq!(
                (out[0].dims(), out[0].ints()),
                (&[2, 2][..], vec![3, 1, 7, 5])
            );
            let case = Case::new("Slice", 10).given(constant, grid());
            let out = case
                .given(constant, i64s(&[1], &[-1]))
                .given(constant, i64s(&[1], &[i64::MAX]))
                .run();
            assert_eq!(
                (out[0].dims(), out[0].ints()),
                (&[1, 4][..], vec![8, 9, 10, 11])
            );
            let case = Case::new("Slice", 13).given(constant, grid());
            let out = case
                .given(constant, i64s(&[1], &[1]))
                .given(constant, i64s(&[1], &[2]))
                .omitted()
                .given(constant, i64s(&[1], &[1]))
                .run();
            assert_eq!(out[0].ints(), [4, 5, 6, 7]);
        }
    }

    #[test]
    fn the_old_form_has_attributes() {
        for constant in [false, true] {
            let case = || {
                Case::new("Slice", 1)
                    .ints("starts", &[0, -3])
                    .ints("ends", &[1, 1000])
                    .given(constant, grid())
            };
            assert_eq!(case().run()[0].ints(), [1, 2, 3]);
            let out = case().ints("axes", &[1, 0]).run();
            assert_eq!((out[0].dims(), out[0].ints()), (&[3, 1][..], vec![0, 4, 8]));
        }
        let case = Case::new("Slice", 1).ints("starts", &[0]).input(grid());
        assert_eq!(case.reject(), Reject::Attribute("ends".into()));
    }

    #[test]
    fn bounds_that_do_not_fit_are_errors() {
        let run = |lists: [&[i64]; 4]| -> Result<()> {
            let case = lists
                .iter()
                .fold(Case::new("Slice", 13).input(grid()), |case, list| {
                    case.input(i64s(&[list.len()], list))
                });
            case.try_run().map(|_| ())
        };
        let fails = |lists, why: &str| {
            let error = run(lists).expect_err(why).to_string();
            assert!(error.contains(why), "{error}");
        };
        run([&[0], &[1], &[0], &[1]]).unwrap();
        fails([&[0], &[1], &[0], &[0]], "a step of 0");
        fails([&[0], &[1], &[2], &[1]], "axis 2 is out of range");
        fails([&[0, 0], &[1, 1], &[0, -2], &[1, 1]], "name one twice");
        fails([&[0], &[1, 1], &[0], &[1]], "do not fit");
        let case = Case::new("Slice", 13).input(f32s(&[1], &[1.0]));
        assert_eq!(case.reject(), Reject::Arity(1));
        let case = Case::new("Slice", 13).input(f32s(&[1], &[1.0]));
        let reject = case
            .input(f32s(&[1], &[1.0]))
            .input(i64s(&[1], &[1]))
            .reject();
        assert_eq!(
            reject,
            Reject::Type {
                input: 1,
                found: Some(DType::F32)
            }
        );
    }
}
