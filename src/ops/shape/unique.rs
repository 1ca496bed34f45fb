//! Unique.
use crate::device::{Array, DType, Emit};
use crate::error::{Error, Result};
use crate::ops::{self, HostData, HostTensor, NodeRef, OpDef, Planned, Tensor, lower, op};

pub(in crate::ops) const OPS: &[OpDef] = &[op!("Unique", 11.., [ANY], unique)];

fn unique(node: &NodeRef<'_>) -> Planned {
    let axis = node.int("axis")?;
    let sorted = node.flag("sorted", true)?;
    let plan = lower(move |cx, x| {
        let (data, dims) = (x.array(0)?, x.dims(0)?);
        let axis = axis.map(|axis| ops::axis(axis, dims.len())).transpose()?;
        // What is compared comes first.
        let (order, slices) = match axis {
            Some(axis) => {
                let others = (0..dims.len()).filter(|i| *i != axis);
                let order: Vec<_> = [axis].into_iter().chain(others).collect();
                let slices = cx.transpose(data, &order)?;
                (Some(order), slices)
            }
            None => (None, cx.reshape(data, &[data.size()])?),
        };
        let count = slices.dim(0);
        let keys = keys(data.dtype(), &cx.read_bytes(&slices)?)?;
        let groups = Groups::of(&keys, count, sorted);
        let kept = take(cx, &slices, &groups.first)?;
        let kept = match order {
            Some(order) => cx.transpose(&kept, &inverse(&order))?,
            None => kept,
        };
        let numbers = |list: Vec<usize>| {
            let list: Vec<_> = list
                .into_iter()
                .map(|v| i64::try_from(v).unwrap_or(i64::MAX))
                .collect();
            Tensor::from_ints(cx, vec![list.len()], list).map(Some)
        };
        Ok(vec![
            Some(Tensor::from_array(kept)),
            numbers(groups.first)?,
            numbers(groups.group)?,
            numbers(groups.count)?,
        ])
    })?;
    Ok(plan.reads(&[0]))
}

fn take(cx: &Emit, slices: &Array, chosen: &[usize]) -> Result<Array> {
    let mut dims = slices.dims();
    dims[0] = chosen.len();
    if dims.contains(&0) {
        return cx.zeros(&dims, slices.dtype());
    }
    let chosen: Vec<_> = chosen
        .iter()
        .map(|v| i64::try_from(*v).unwrap_or(i64::MAX))
        .collect();
    cx.take(slices, &cx.int64s(&[chosen.len()], &chosen)?, 0)
}

fn inverse(order: &[usize]) -> Vec<usize> {
    let mut out = vec![0; order.len()];
    for (to, from) in order.iter().enumerate() {
        out[*from] = to;
    }
    out
}

/// Equal slices, put together.
struct Groups {
    /// Of each group, the position of its first slice.
    first: Vec<usize>,
    /// Of each slice, its group.
    group: Vec<usize>,
    /// Of each group, how many slices it has.
    count: Vec<usize>,
}

impl Groups {
    /// The groups of `count` slices of equal length, ascending (`sorted`) or in the order of their first slices.
    fn of(keys: &[u64], count: usize, sorted: bool) -> Self {
        let width = keys.len().checked_div(count).unwrap_or(0);
        let slice = |i: usize| &keys[i * width..(i + 1) * width];
        let mut order: Vec<_> = (0..count).collect();
        // Stable, so that the first slice of a group stays first.
        order.sort_by(|a, b| slice(*a).cmp(slice(*b)));
        let mut groups: Vec<&[usize]> = order.chunk_by(|a, b| slice(*a) == slice(*b)).collect();
        if !sorted {
            groups.sort_unstable_by_key(|group| group[0]);
        }
        let mut group = vec![0; count];
        for (number, members) in groups.iter().enumerate() {
            for member in *members {
                group[*member] = number;
            }
        }
        Self {
            first: groups.iter().map(|members| members[0]).collect(),
            group,
            count: groups.iter().map(|members| members.len()).collect(),
        }
    }
}

/// Keys that are equal and ordered as the elements are. The zeros are equal, and so are all NaN, which come last.
fn keys(dtype: DType, bytes: &[u8]) -> Result<Vec<u64>> {
    const SIGN: u64 = 1 << 63;
    let float = |v: f64| {
        let bits = (if v.is_nan() { f64::NAN } else { v + 0.0 }).to_bits();
        if bits & SIGN == 0 { bits | SIGN } else { !bits }
    };
    let int = |v: i64| v.cast_unsigned() ^ if dtype == DType::U64 { 0 } else { SIGN };
    let mut out = Vec::with_capacity(bytes.len() / dtype.byte_size(1));
    for part in bytes.chunks(dtype.byte_size(HostTensor::MAX_ELEMENTS)) {
        let count = part.len() / dtype.byte_size(1);
        let part = HostTensor::from_bytes(dtype, &[count], part);
        let part = part.ok_or_else(|| Error::internal("elements without an order"))?;
        match part.data() {
            HostData::Int(v) => out.extend(v.iter().map(|v| int(*v))),
            HostData::Float(v) => out.extend(v.iter().map(|v| float(*v))),
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use crate::device::{DType, Types};
    use crate::ops::Output;
    use crate::ops::testing::{Case, Data, f32s, floats, i64s, ints};

    fn run(case: Case, data: Data) -> Vec<Output> {
        let dtype = data.dtype;
        let case = case.input(data).output(dtype).output(DType::I64);
        case.output(DType::I64).output(DType::I64).run()
    }

    fn case(sorted: i64) -> Case {
        Case::new("Unique", 11).int("sorted", sorted)
    }

    #[test]
    fn elements_sorted_or_in_order() {
        let data = || f32s(&[2, 3], &[2.0, 1.0, 1.0, 3.0, 4.0, 3.0]);
        let out = run(case(1), data());
        assert_eq!(out[0].floats(), [1.0, 2.0, 3.0, 4.0]);
        assert_eq!(out[1].ints(), [1, 0, 3, 4]);
        assert_eq!(out[2].ints(), [1, 0, 0, 2, 3, 2]);
        assert_eq!(out[3].ints(), [2, 1, 2, 1]);
        let out = run(case(0), data());
        assert_eq!(out[0].floats(), [2.0, 1.0, 3.0, 4.0]);
        assert_eq!(out[1].ints(), [0, 1, 3, 4]);
        assert_eq!(out[2].ints(), [0, 1, 1, 2, 3, 2]);
        assert_eq!(out[3].ints(), [1, 2, 2, 1]);
        let out = run(Case::new("Unique", 11), f32s(&[], &[7.0]));
        assert_eq!((out[0].dims(), out[0].floats()), (&[1][..], vec![7.0]));
        let only = Case::new("Unique", 11).input(i64s(&[3], &[5, 5, -1]));
        assert_eq!(only.run()[0].ints(), [-1, 5]);
        let made = Case::new("Unique", 11).computed(i64s(&[3], &[5, 5, -1]));
        assert_eq!(made.run()[0].ints(), [-1, 5]);
    }

    #[test]
    fn slices_along_an_axis() {
        let rows = || i64s(&[3, 2], &[2, 3, 1, 9, 2, 3]);
        for axis in [0, -2] {
            let out = run(case(1).int("axis", axis), rows());
            assert_eq!(
                (out[0].dims(), out[0].ints()),
                (&[2, 2][..], vec![1, 9, 2, 3])
            );
            assert_eq!(out[1].ints(), [1, 0]);
            assert_eq!(out[2].ints(), [1, 0, 1]);
            assert_eq!(out[3].ints(), [1, 2]);
        }
        let out = run(case(0).int("axis", 0), rows());
        assert_eq!(out[0].ints(), [2, 3, 1, 9]);
        let cube = [1, 1, 0, 1, 2, 1, 0, 1, 1, 1, 0, 1, 2, 1, 0, 1];
        let out = run(case(1).int("axis", 1), i64s(&[2, 4, 2], &cube));
        assert_eq!(out[0].dims(), [2, 3, 2]);
        assert_eq!(out[0].ints(), [0, 1, 1, 1, 2, 1, 0, 1, 1, 1, 2, 1]);
        assert_eq!(out[1].ints(), [1, 0, 2]);
        assert_eq!(out[2].ints(), [1, 0, 2, 0]);
        assert_eq!(out[3].ints(), [2, 1, 1]);
        let out = run(
            case(0).int("axis", 2),
            i64s(&[1, 2, 3], &[4, 4, 3, 5, 5, 6]),
        );
        assert_eq!(
            (out[0].dims(), out[0].ints()),
            (&[1, 2, 2][..], vec![4, 3, 5, 6])
        );
    }

    #[test]
    fn every_type_has_its_order() {
        for dtype in Types::FLOAT64.iter_types() {
            let values = [f64::INFINITY, -0.0, -1.5, 0.0, f64::NEG_INFINITY, 1.5];
            let out = run(case(1), floats(dtype, &[6], &values));
            assert_eq!(out[1].ints(), [4, 2, 1, 5, 0]);
            let out = run(
                case(1),
                floats(dtype, &[4], &[f64::NAN, 1.0, -f64::NAN, f64::INFINITY]),
            );
            assert_eq!(
                (out[1].ints(), out[3].ints()),
                (vec![1, 3, 0], vec![1, 1, 2])
            );
        }
        for dtype in Types::SIGNED.iter_types() {
            let out = run(case(1), ints(dtype, &[4], &[100, -100, 0, 100]));
            assert_eq!(
                (out[0].ints(), out[3].ints()),
                (vec![-100, 0, 100], vec![1, 1, 2])
            );
        }
        for dtype in Types::UNSIGNED.iter_types() {
            let out = run(case(1), ints(dtype, &[3], &[-1, 1, 0]));
            assert_eq!(out[1].ints(), [2, 1, 0]);
        }
        let out = run(case(1), ints(DType::Bool, &[3], &[1, 0, 1]));
        assert_eq!((out[0].ints(), out[3].ints()), (vec![0, 1], vec![1, 2]));
        let close = i64s(&[3], &[(1 << 53) + 1, 1 << 53, (1 << 53) + 1]);
        assert_eq!(run(case(1), close)[1].ints(), [1, 0]);
    }

    #[test]
    fn empty_and_large_tensors() {
        let out = run(case(1), f32s(&[0, 2], &[]));
        assert_eq!(out.iter().map(|o| o.dims()[0]).collect::<Vec<_>>(), [0; 4]);
        let out = run(case(1).int("axis", 0), f32s(&[0, 2], &[]));
        assert_eq!((out[0].dims(), out[2].dims()), (&[0, 2][..], &[0][..]));
        // Slices without elements are all equal.
        let out = run(case(1).int("axis", 1), f32s(&[0, 2], &[]));
        assert_eq!((out[0].dims(), out[3].ints()), (&[0, 1][..], vec![2]));
        let values: Vec<_> = (0..10_000).map(|v| v * 7 % 5000).collect();
        let out = run(case(1), i64s(&[10_000], &values));
        assert_eq!(out[0].ints(), (0..5000).collect::<Vec<_>>());
        assert_eq!(out[2].ints(), values);
        let scalar = case(1).int("axis", 0).input(f32s(&[], &[1.0]));
        assert!(scalar.try_run().is_err());
    }
}
