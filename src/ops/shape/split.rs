//! Split.
use super::grid;
use crate::error::{Error, Result};
use crate::ops::{self, HostTensor, NodeRef, OpDef, Outputs, Planned, Reject, Tensor, lower, op};

pub(in crate::ops) const OPS: &[OpDef] = &[
    op!("Split", 1..=1, [FLOAT64], split),
    op!("Split", 2..=12, [ANY], split),
    op!("Split", 13.., [ANY, I64], split),
];

/// Where the sizes of the parts come from.
#[derive(Clone)]
enum Sizes {
    Attribute(Vec<i64>),
    Input,
    Equal,
    /// Equal ones, but the last is what is left.
    Chunks,
}

fn split(node: &NodeRef<'_>) -> Planned {
    let axis = node.int_or("axis", 0)?;
    let count = node.output_count();
    let sizes = if node.has_input(1) && node.opset() != 2 {
        Sizes::Input
    } else if node.opset() < 13 {
        node.ints("split")?
            .map_or(Sizes::Equal, |sizes| Sizes::Attribute(sizes.to_vec()))
    } else if node.opset() < 18 {
        Sizes::Equal
    } else {
        match node.int("num_outputs")? {
            Some(n) if usize::try_from(n) == Ok(count) => Sizes::Chunks,
            _ => return node.bad_attribute("num_outputs"),
        }
    };
    if count == 0 {
        return Err(Reject::Form("a node without outputs"));
    }
    let wanted: Vec<_> = (0..count).map(|output| node.has_output(output)).collect();
    let reads: &[usize] = if matches!(sizes, Sizes::Input) {
        &[1]
    } else {
        &[]
    };
    let on_host = sizes.clone();
    let plan = lower(move |cx, x| {
        let a = x.array(0)?;
        let given = x.has(1).then(|| x.host(1)).transpose()?;
        let axis = ops::axis(axis, a.rank())?;
        let mut outputs: Outputs = Vec::with_capacity(count);
        for (part, wanted) in parts(&sizes, given, a.dim(axis), count)?
            .iter()
            .zip(&wanted)
        {
            let [from, to] = *part;
            outputs.push(if *wanted {
                Some(Tensor::from_array(cx.slice_axis(a, axis, from, to)?))
            } else {
                None
            });
        }
        Ok(outputs)
    })?;
    Ok(plan.reads(reads).or_host(move |h| {
        let Some(data) = grid::first(h) else {
            return Ok(None);
        };
        let axis = ops::axis(axis, data.rank())?;
        let given = h.get(1).copied().flatten();
        let parts = parts(&on_host, given, data.dims()[axis], count)?;
        let part = |[from, to]: &[usize; 2]| {
            let mut indices = grid::whole(data.dims())?;
            indices[axis] = (*from..*to).collect();
            grid::pick(data, &indices)
        };
        Ok(parts.iter().map(part).collect())
    }))
}

/// Where each of `count` parts of an axis begins and ends.
fn parts(
    sizes: &Sizes,
    given: Option<&HostTensor>,
    size: usize,
    count: usize,
) -> Result<Vec<[usize; 2]>> {
    let fail = |why: String| {
        Err(Error::invalid(format!(
            "an axis of size {size} cannot be split into {count} parts: {why}"
        )))
    };
    let lengths = match sizes {
        Sizes::Equal if !size.is_multiple_of(count) => {
            return fail("they would not be equal, give their sizes".into());
        }
        Sizes::Equal => vec![size / count; count],
        Sizes::Chunks => {
            let chunk = size.div_ceil(count);
            let Some(last) = size.checked_sub(chunk * (count - 1)) else {
                return fail(format!("{} parts of size {chunk} are larger", count - 1));
            };
            let mut lengths = vec![chunk; count];
            lengths[count - 1] = last;
            lengths
        }
        Sizes::Attribute(sizes) => lengths(sizes.iter().map(|v| usize::try_from(*v).ok()))?,
        Sizes::Input => {
            let given = given.ok_or_else(|| Error::internal("input 1 is missing"))?;
            match given.as_ints() {
                Some(sizes) => lengths(sizes.iter().map(|v| usize::try_from(*v).ok()))?,
                None => lengths(given.to_floats().into_iter().map(whole))?,
            }
        }
    };
    if lengths.len() != count || lengths.iter().sum::<usize>() != size {
        return fail(format!("the sizes given are {lengths:?}"));
    }
    let mut end = 0;
    let part = |length: &usize| {
        let from = end;
        end += length;
        [from, end]
    };
    Ok(lengths.iter().map(part).collect())
}

fn lengths(sizes: impl Iterator<Item = Option<usize>>) -> Result<Vec<usize>> {
    sizes
        .collect::<Option<_>>()
        .ok_or_else(|| Error::invalid("the size of a part is no whole number"))
}

/// The sizes of the oldest form are floats.
fn whole(v: f64) -> Option<usize> {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "checked to be a whole number of the range of an axis"
    )]
    ((0.0..=f64::from(i32::MAX)).contains(&v) && v.fract() == 0.0).then_some(v as usize)
}

#[cfg(test)]
mod tests {
    use crate::device::DType;
    use crate::error::Result;
    use crate::ops::Reject;
    use crate::ops::testing::{Case, f32s, i64s, ints};

    fn shapes(case: Case) -> Result<Vec<(Vec<i64>, Vec<i64>)>> {
        let out = case.try_run()?;
        Ok(out.iter().map(|o| (o.dims().to_vec(), o.ints())).collect())
    }

    #[test]
    fn sizes_come_from_an_attribute_or_an_input() {
        for (data_known, sizes_known) in [(false, false), (false, true), (true, true)] {
            let data = || ints(DType::I32, &[2, 3], &[0, 1, 2, 3, 4, 5]);
            let old = Case::new("Split", 11)
                .ints("split", &[2, 1])
                .int("axis", -1)
                .given(data_known, data());
            let new = Case::new("Split", 13)
                .int("axis", 1)
                .given(data_known, data())
                .given(sizes_known, i64s(&[2], &[2, 1]));
            let expected = [(vec![2, 2], vec![0, 1, 3, 4]), (vec![2, 1], vec![2, 5])];
            assert_eq!(shapes(old.outputs(2)).unwrap(), expected);
            assert_eq!(shapes(new.outputs(2)).unwrap(), expected);
            let empty = Case::new("Split", 18)
                .given(data_known, data())
                .given(sizes_known, i64s(&[3], &[0, 2, 0]))
                .outputs(3);
            let expected = [
                (vec![0, 3], vec![]),
                (vec![2, 3], vec![0, 1, 2, 3, 4, 5]),
                (vec![0, 3], vec![]),
            ];
            assert_eq!(shapes(empty).unwrap(), expected);
        }
    }

    #[test]
    fn equal_parts() {
        for constant in [false, true] {
            let case = |opset, size: usize| {
                Case::new("Split", opset).given(constant, i64s(&[size], &vec![1; size]))
            };
            let lengths = |case| -> Result<Vec<usize>> {
                Ok(shapes(case)?.iter().map(|(_, v)| v.len()).collect())
            };
            for opset in [2, 13] {
                assert_eq!(lengths(case(opset, 6).outputs(3)).unwrap(), [2, 2, 2]);
                let error = lengths(case(opset, 7).outputs(3)).unwrap_err();
                assert!(error.to_string().contains("give their sizes"), "{error}");
            }
            let chunks = |size, n: usize| {
                let n64 = i64::try_from(n).unwrap();
                lengths(case(18, size).int("num_outputs", n64).outputs(n))
            };
            assert_eq!(chunks(7, 3).unwrap(), [3, 3, 1]);
            assert_eq!(chunks(6, 2).unwrap(), [3, 3]);
            assert_eq!(chunks(0, 2).unwrap(), [0, 0]);
            assert_eq!(chunks(3, 1).unwrap(), [3]);
            assert!(chunks(5, 4).is_err());
        }
    }

    #[test]
    fn the_oldest_form_takes_float_sizes() {
        let case = |sizes: &[f32]| {
            Case::new("Split", 1)
                .input(f32s(&[3], &[1.0, 2.0, 3.0]))
                .input(f32s(&[2], sizes))
                .outputs(2)
        };
        let out = case(&[1.0, 2.0]).run();
        assert_eq!(
            (out[0].floats(), out[1].floats()),
            (vec![1.0], vec![2.0, 3.0])
        );
        assert!(case(&[0.5, 2.5]).try_run().is_err());
    }

    #[test]
    fn sizes_that_do_not_fit() {
        for sizes in [&[1, 1][..], &[4, -1], &[3], &[1, 1, 1]] {
            let case = Case::new("Split", 13)
                .input(f32s(&[3], &[0.0; 3]))
                .outputs(2);
            assert!(case.input(i64s(&[sizes.len()], sizes)).try_run().is_err());
        }
        let case = || {
            Case::new("Split", 18)
                .input(f32s(&[3], &[0.0; 3]))
                .outputs(2)
        };
        assert_eq!(case().reject(), Reject::Attribute("num_outputs".into()));
        let reject = case().int("num_outputs", 3).reject();
        assert_eq!(reject, Reject::Attribute("num_outputs".into()));
        let reject = Case::new("Split", 13)
            .int("num_outputs", 1)
            .input(f32s(&[1], &[0.0]))
            .reject();
        assert_eq!(reject, Reject::Attribute("num_outputs".into()));
    }
}
