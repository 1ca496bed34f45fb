//! Expand and Tile.
use super::grid;
use crate::device::{Array, Emit};
use crate::error::{Error, Result};
use crate::ops::elementwise::broadcast;
use crate::ops::{self, HostTensor, NodeRef, OpDef, Planned, Reject, lower, op};

pub(in crate::ops) const OPS: &[OpDef] = &[
    op!("Expand", 8.., [ANY, I64], |_| expand()),
    op!("Tile", 1..=5, [FLOAT64], tile_axis),
    op!("Tile", 6.., [ANY, I64], |_| tile()),
];

fn expand() -> Planned {
    let plan = lower(|cx, x| {
        let a = x.array(0)?;
        let dims = broadcast::dims(&a.dims(), &counts(x.ints(1)?)?)?;
        cx.broadcast_to(a, &dims)
    })?;
    Ok(plan.reads(&[1]).or_host(|h| {
        let [Some(data), Some(shape)] = h else {
            return Ok(None);
        };
        let Some(shape) = shape.as_ints() else {
            return Ok(None);
        };
        let dims = broadcast::dims(data.dims(), &counts(shape)?)?;
        Ok(grid::fits(&dims).then(|| vec![broadcast::to(data, &dims)]))
    }))
}

fn tile() -> Planned {
    let plan = lower(|cx, x| {
        let a = x.array(0)?;
        repeat(cx, a, &repeats(x.ints(1)?, a.rank())?)
    })?;
    Ok(plan.reads(&[1]).or_host(|h| {
        let [Some(data), Some(values)] = h else {
            return Ok(None);
        };
        let Some(values) = values.as_ints() else {
            return Ok(None);
        };
        Ok(on_host(data, &repeats(values, data.rank())?))
    }))
}

/// The oldest form repeats one axis; both numbers have the type of the data.
fn tile_axis(node: &NodeRef<'_>) -> Planned {
    if !node.has_input(1) || !node.has_input(2) {
        return Err(Reject::Arity(node.input_count()));
    }
    let plan = lower(|cx, x| {
        let a = x.array(0)?;
        let [count, axis] = [whole(x.host(1)?, 1)?, whole(x.host(2)?, 2)?];
        let mut all = vec![1; a.rank()];
        all[ops::axis(axis, a.rank())?] = count;
        repeat(cx, a, &repeats(&all, a.rank())?)
    })?;
    Ok(plan.reads(&[1, 2]))
}

/// The one element of a float tensor, which must be a whole number.
fn whole(t: &HostTensor, input: usize) -> Result<i64> {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "checked to be a whole number of the range of an axis"
    )]
    match t.to_floats()[..] {
        [v] if v.fract() == 0.0 && v.abs() <= f64::from(i32::MAX) => Ok(v as i64),
        ref other => Err(Error::invalid(format!(
            "input {input} is {other:?} instead of one whole number"
        ))),
    }
}

/// Values of input 1 that count something.
fn counts(values: &[i64]) -> Result<Vec<usize>> {
    let counts = values.iter().map(|v| usize::try_from(*v).ok());
    counts
        .collect::<Option<_>>()
        .ok_or_else(|| Error::invalid(format!("input 1 is {values:?}, none of it may be negative")))
}

fn repeats(values: &[i64], rank: usize) -> Result<Vec<usize>> {
    let counts = counts(values)?;
    if counts.len() == rank {
        return Ok(counts);
    }
    Err(Error::invalid(format!(
        "{} repeats in input 1 for a tensor of rank {rank}",
        counts.len()
    )))
}

fn repeat(cx: &Emit, a: &Array, repeats: &[usize]) -> Result<Array> {
    let grown = |(dim, count): (usize, &usize)| {
        let grown = dim
            .checked_mul(*count)
            .filter(|d| i32::try_from(*d).is_ok());
        grown.ok_or_else(|| Error::invalid(format!("repeats {repeats:?} in input 1 are too large")))
    };
    let dims = a.dims().into_iter().zip(repeats).map(grown);
    let dims = dims.collect::<Result<Vec<_>>>()?;
    if dims.contains(&0) {
        return cx.zeros(&dims, a.dtype());
    }
    if repeats.iter().all(|count| *count == 1) {
        return Ok(a.clone());
    }
    cx.tile(a, repeats)
}

fn on_host(t: &HostTensor, repeats: &[usize]) -> Option<Vec<HostTensor>> {
    let dims = t.dims().iter().zip(repeats);
    let dims: Vec<_> = dims
        .map(|(dim, count)| dim.saturating_mul(*count))
        .collect();
    if !grid::fits(&dims) {
        return None;
    }
    let indices = |(dim, grown): (&usize, &usize)| (0..*grown).map(|i| i % dim).collect();
    let indices: Vec<_> = t.dims().iter().zip(&dims).map(indices).collect();
    grid::pick(t, &indices).map(|t| vec![t])
}

#[cfg(test)]
mod tests {
    use crate::device::DType;
    use crate::error::Result;
    use crate::ops::Reject;
    use crate::ops::testing::{Case, Data, f32s, i64s, ints};

    fn run(op: &str, opset: u32, data: &Data, counts: &[i64]) -> Result<(Vec<i64>, Vec<i64>)> {
        let case = |data_known, counts_known| {
            let case = Case::new(op, opset).given(data_known, data.clone());
            let out = case
                .given(counts_known, i64s(&[counts.len()], counts))
                .try_run()?;
            Ok((out[0].dims().to_vec(), out[0].ints()))
        };
        let found: Result<_> = case(false, false);
        for (data_known, counts_known) in [(false, true), (true, true)] {
            assert_eq!(
                case(data_known, counts_known).ok(),
                found.as_ref().ok().cloned()
            );
        }
        found
    }

    #[test]
    fn expand_broadcasts_both_ways() {
        let column = i64s(&[2, 1], &[1, 2]);
        let expand = |data: &Data, shape: &[i64]| run("Expand", 13, data, shape);
        assert_eq!(
            expand(&column, &[3]).unwrap(),
            (vec![2, 3], vec![1, 1, 1, 2, 2, 2])
        );
        assert_eq!(
            expand(&column, &[2, 1, 1]).unwrap(),
            (vec![2, 2, 1], vec![1, 2, 1, 2])
        );
        assert_eq!(expand(&column, &[]).unwrap(), (vec![2, 1], vec![1, 2]));
        assert_eq!(expand(&column, &[0]).unwrap(), (vec![2, 0], vec![]));
        assert_eq!(
            expand(&i64s(&[], &[7]), &[2]).unwrap(),
            (vec![2], vec![7, 7])
        );
        assert_eq!(expand(&i64s(&[], &[7]), &[]).unwrap(), (vec![], vec![7]));
        let bools = ints(DType::Bool, &[1], &[1]);
        assert_eq!(
            run("Expand", 8, &bools, &[1, 2]).unwrap(),
            (vec![1, 2], vec![1, 1])
        );
        assert!(expand(&column, &[3, 1]).is_err());
        assert!(expand(&column, &[-1]).is_err());
    }

    #[test]
    fn tile_repeats_axes() {
        let data = ints(DType::U8, &[2, 2], &[1, 2, 3, 4]);
        let tile = |data: &Data, counts: &[i64]| run("Tile", 13, data, counts);
        assert_eq!(
            tile(&data, &[1, 2]).unwrap(),
            (vec![2, 4], vec![1, 2, 1, 2, 3, 4, 3, 4])
        );
        assert_eq!(
            tile(&data, &[2, 1]).unwrap(),
            (vec![4, 2], vec![1, 2, 3, 4, 1, 2, 3, 4])
        );
        assert_eq!(tile(&data, &[1, 0]).unwrap(), (vec![2, 0], vec![]));
        assert_eq!(
            tile(&i64s(&[0, 1], &[]), &[3, 2]).unwrap(),
            (vec![0, 2], vec![])
        );
        assert_eq!(
            run("Tile", 6, &i64s(&[], &[5]), &[]).unwrap(),
            (vec![], vec![5])
        );
        assert!(tile(&data, &[2]).is_err());
        assert!(tile(&data, &[2, -1]).is_err());
        assert!(tile(&data, &[1 << 40, 1]).is_err());
    }

    #[test]
    fn the_oldest_tile_repeats_one_axis() {
        let tile = |count: f32, axis: f32| {
            Case::new("Tile", 1)
                .input(f32s(&[1, 2], &[1.0, 2.0]))
                .input(f32s(&[], &[count]))
                .constant(f32s(&[1], &[axis]))
        };
        let out = tile(2.0, 1.0).run();
        assert_eq!(
            (out[0].dims(), out[0].floats()),
            (&[1, 4][..], vec![1.0, 2.0, 1.0, 2.0])
        );
        assert!(tile(1.5, 0.0).try_run().is_err());
        assert!(tile(2.0, 2.0).try_run().is_err());
        let case = Case::new("Tile", 1).input(f32s(&[1], &[1.0]));
        assert_eq!(case.reject(), Reject::Arity(1));
    }

    #[test]
    fn large_results_are_made_on_the_device() {
        let out = Case::new("Tile", 13)
            .constant(i64s(&[2], &[1, 2]))
            .input(i64s(&[1], &[5000]))
            .run();
        assert_eq!(out[0].ints(), [1, 2].repeat(5000));
        let out = Case::new("Expand", 13)
            .constant(i64s(&[1], &[3]))
            .input(i64s(&[1], &[5000]))
            .run();
        assert_eq!(out[0].ints(), vec![3; 5000]);
    }
}
