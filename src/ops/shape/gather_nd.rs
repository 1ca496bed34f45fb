//! GatherND.
use crate::error::{Error, Result};
use crate::ops::{NodeRef, OpDef, Planned, index, lower, op};

pub(in crate::ops) const OPS: &[OpDef] = &[
    op!("GatherND", 11..=11, [ANY, I64], |_| gather_nd(0)),
    op!(MICROSOFT "GatherND", 1.., [ANY, INDEX], |_| gather_nd(0)),
    op!("GatherND", 12.., [ANY, I64], |node: &NodeRef<'_>| {
        match usize::try_from(node.int_or("batch_dims", 0)?) {
            Ok(batch_dims) => gather_nd(batch_dims),
            Err(_) => node.bad_attribute("batch_dims"),
        }
    }),
];

fn gather_nd(batch_dims: usize) -> Planned {
    lower(move |cx, x| {
        let (data, from) = (x.array(0)?, x.dims(1)?);
        let dims = data.dims();
        let form = Form::new(&dims, from, batch_dims)?;
        let out = form.out();
        let flat = index::tuples(cx, x, 1, form.indexed)?;
        if out.contains(&0) {
            return cx.zeros(&out, data.dtype());
        }
        let size: usize = form.indexed.iter().product();
        let batches: usize = form.batch.iter().product();
        let flat = if batches > 1 {
            // Each batch indexes its own part of the flattened data.
            let step = i64::try_from(size).map_err(|_| Error::internal("an axis out of range"))?;
            let first = cx.multiply(
                &cx.arange(batches, flat.dtype())?,
                &cx.int(step, flat.dtype())?,
            )?;
            let mut dims = form.batch.to_vec();
            dims.resize(flat.rank(), 1);
            cx.add(&flat, &cx.reshape(&first, &dims)?)?
        } else {
            flat
        };
        let rows = [&[batches * size], form.rest].concat();
        cx.take(&cx.reshape(data, &rows)?, &flat, 0)
    })
}

/// The parts of the shapes of data and indices.
struct Form<'a> {
    /// The axes that both share.
    batch: &'a [usize],
    /// The axes of the data that one index tuple goes into.
    indexed: &'a [usize],
    /// The axes of the data that come along.
    rest: &'a [usize],
    /// The indices without their last axis.
    tuples: &'a [usize],
}

impl<'a> Form<'a> {
    fn new(data: &'a [usize], indices: &'a [usize], batch_dims: usize) -> Result<Self> {
        let found = (|| {
            let (width, tuples) = indices.split_last()?;
            let (batch, inner) = data.split_at_checked(batch_dims)?;
            let (indexed, rest) = inner.split_at_checked(*width)?;
            let fits = tuples.get(..batch_dims)? == batch;
            fits.then_some(Self {
                batch,
                indexed,
                rest,
                tuples,
            })
        })();
        found.ok_or_else(|| {
            Error::invalid(format!(
                "indices of shape {indices:?} in input 1 do not fit data of shape {data:?} in input 0 with batch_dims {batch_dims}"
            ))
        })
    }

    fn out(&self) -> Vec<usize> {
        [self.tuples, self.rest].concat()
    }
}

#[cfg(test)]
mod tests {
    use crate::device::DType;
    use crate::ops::Reject;
    use crate::ops::testing::{Case, Data, f32s, i64s, ints};

    fn cube() -> Data {
        ints(DType::I64, &[2, 2, 2], &[0, 1, 2, 3, 4, 5, 6, 7])
    }

    fn run(batch_dims: i64, data: Data, indices: Data) -> (Vec<i64>, Vec<i64>) {
        let case = |constant| {
            Case::new("GatherND", 12)
                .int("batch_dims", batch_dims)
                .input(data.clone())
                .given(constant, indices.clone())
                .run()
        };
        let (a, b) = (case(false), case(true));
        assert_eq!((a[0].dims(), a[0].ints()), (b[0].dims(), b[0].ints()));
        (a[0].dims().to_vec(), a[0].ints())
    }

    #[test]
    fn tuples_of_every_width() {
        let out = run(0, cube(), i64s(&[2, 3], &[0, 0, 1, -1, 1, -2]));
        assert_eq!(out, (vec![2], vec![1, 6]));
        let out = run(0, cube(), i64s(&[2, 1, 2], &[0, 1, 1, 0]));
        assert_eq!(out, (vec![2, 1, 2], vec![2, 3, 4, 5]));
        let out = run(0, cube(), i64s(&[1], &[1]));
        assert_eq!(out, (vec![2, 2], vec![4, 5, 6, 7]));
        let out = run(0, cube(), i64s(&[3], &[1, 1, 1]));
        assert_eq!(out, (vec![], vec![7]));
        let out = run(0, cube(), i64s(&[2, 0], &[]));
        assert_eq!(out, (vec![2, 2, 2, 2], (0..8).chain(0..8).collect()));
        let out = run(0, cube(), i64s(&[0, 2], &[]));
        assert_eq!(out, (vec![0, 2], vec![]));
    }

    #[test]
    fn the_contrib_form_takes_both_index_types() {
        for dtype in [DType::I32, DType::I64] {
            let case = Case::new("GatherND", 1)
                .domain("com.microsoft")
                .input(cube());
            let out = case.input(ints(dtype, &[1, 2], &[-1, 0])).run();
            assert_eq!((out[0].dims(), out[0].ints()), (&[1, 2][..], vec![4, 5]));
        }
    }

    #[test]
    fn batches_index_their_own_part() {
        let out = run(1, cube(), i64s(&[2, 1], &[1, 0]));
        assert_eq!(out, (vec![2, 2], vec![2, 3, 4, 5]));
        let out = run(1, cube(), i64s(&[2, 2, 2], &[0, 0, 1, 1, -1, -1, 0, 1]));
        assert_eq!(out, (vec![2, 2], vec![0, 3, 7, 5]));
        let out = run(2, cube(), i64s(&[2, 2, 1], &[1, 0, 1, -2]));
        assert_eq!(out, (vec![2, 2], vec![1, 2, 5, 6]));
    }

    #[test]
    fn each_column_has_its_own_bound() {
        let data = || ints(DType::Bool, &[2, 5], &[0, 0, 0, 0, 1, 1, 0, 0, 0, 0]);
        let out = run(0, data(), i64s(&[3, 2], &[0, 4, 1, -5, 1, 4]));
        assert_eq!(out, (vec![3], vec![1, 1, 0]));
        for constant in [false, true] {
            let case = Case::new("GatherND", 13).input(data());
            let case = case.given(constant, i64s(&[1, 2], &[4, 0]));
            let error = case.try_run().err().expect("out of range").to_string();
            assert!(error.contains("index 4 in input 1"), "{error}");
        }
    }

    #[test]
    fn shapes_that_do_not_fit() {
        for (batch_dims, dims) in [
            (0, &[][..]),
            (0, &[4]),
            (0, &[2, 4]),
            (1, &[3, 1]),
            (3, &[2, 2, 2, 1]),
        ] {
            let case = Case::new("GatherND", 12)
                .int("batch_dims", batch_dims)
                .input(cube());
            let count = dims.iter().product::<usize>();
            let error = case.input(i64s(dims, &vec![0; count])).try_run().err();
            let error = error.expect("it does not fit").to_string();
            assert!(error.contains("do not fit"), "{error}");
        }
        let case = Case::new("GatherND", 12).int("batch_dims", -1);
        let reject = case
            .input(f32s(&[1], &[1.0]))
            .input(i64s(&[1], &[0]))
            .reject();
        assert_eq!(reject, Reject::Attribute("batch_dims".into()));
    }
}
