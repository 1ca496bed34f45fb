//! Products of quantised matrices: `MatMulInteger` and `QLinearMatMul`. Sums are exact: they are those of int32.
use super::{bounds, quantized};
use crate::device::{Array, DType, Emit, Types};
use crate::error::{Error, Result};
use crate::ops::linalg::check_matmul;
use crate::ops::{Inputs, NodeRef, OpDef, Planned, Reject, lower, op};

pub(in crate::ops) const OPS: &[OpDef] = &[
    op!("MatMulInteger", 10.., [ALL], integer),
    op!(
        "QLinearMatMul",
        10..,
        [ALL, FLOAT, ALL, ALL, FLOAT, ALL, FLOAT, ALL],
        linear
    ),
];

/// float32 holds sums of this many products of two differences of bytes exactly.
const EXACT_TERMS: usize = 256;

const BYTES: Types = Types::from_bits_retain(Types::U8.bits() | Types::I8.bits());

fn expect_bytes(node: &NodeRef<'_>, input: usize) -> Result<(), Reject> {
    let dtype = node.dtype(input)?;
    if BYTES.contains(dtype.set()) {
        Ok(())
    } else {
        Err(Reject::Type {
            input,
            found: Some(dtype),
        })
    }
}

fn integer(node: &NodeRef<'_>) -> Planned {
    for input in (0..node.input_count()).filter(|i| node.has_input(*i)) {
        expect_bytes(node, input)?;
    }
    lower(|cx, x| {
        let a = centred(cx, x, 0, 2, Side::Rows)?;
        let b = centred(cx, x, 1, 3, Side::Columns)?;
        product(cx, &a, &b)
    })
}

/// `y = saturate(round((a - a0) @ (b - b0) * (a_scale * b_scale / y_scale)) + y0)`.
fn linear(node: &NodeRef<'_>) -> Planned {
    for input in [0, 2, 3, 5, 7] {
        expect_bytes(node, input)?;
    }
    let to = node.dtype(7)?;
    debug_assert!(bounds(to).1 <= 255.0);
    lower(move |cx, x| {
        let a = centred(cx, x, 0, 2, Side::Rows)?;
        let b = centred(cx, x, 3, 5, Side::Columns)?;
        let sum = cx.astype(&product(cx, &a, &b)?, DType::F32)?;
        let float = |input: usize, side: Side, rank: usize| {
            let scale = cx.astype(x.array(input)?, DType::F32)?;
            placed(cx, &scale, side, rank)
        };
        let factor = cx.multiply(
            &float(1, Side::Rows, sum.rank())?,
            &float(4, Side::Columns, sum.rank())?,
        )?;
        let factor = cx.divide(&factor, &float(6, Side::Rows, sum.rank())?)?;
        let zero = placed(
            cx,
            &cx.astype(x.array(7)?, DType::F32)?,
            Side::Rows,
            sum.rank(),
        )?;
        quantized(cx, &cx.multiply(&sum, &factor)?, Some(&zero), to, true)
    })
}

/// Which axis a vector of scales or zero points runs along.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Rows,
    Columns,
}

/// Scales or zero points in a shape that broadcasts to matrices: a vector has one per row or column.
fn placed(cx: &Emit, a: &Array, side: Side, rank: usize) -> Result<Array> {
    if a.size() == 1 {
        cx.reshape(a, &[])
    } else if a.rank() == 1 && side == Side::Rows && rank > 1 {
        cx.expand_dims(a, &[1])
    } else {
        Ok(a.clone())
    }
}

/// An input less its zero point, as int32.
fn centred(
    cx: &Emit,
    x: &Inputs<'_>,
    input: usize,
    zero_point: usize,
    side: Side,
) -> Result<Array> {
    let a = cx.astype(x.array(input)?, DType::I32)?;
    let Some(zero) = x.optional(zero_point)? else {
        return Ok(a);
    };
    let zero = placed(cx, &cx.astype(zero, DType::I32)?, side, a.rank())?;
    let fits = zero.rank() <= a.rank() && {
        let behind = a.dims()[a.rank() - zero.rank()..].to_vec();
        zero.dims()
            .iter()
            .zip(behind)
            .all(|(z, d)| *z == 1 || *z == d)
    };
    if !fits {
        return Err(Error::invalid(format!(
            "the zero point of input {input} has shape {:?}, which does not fit {:?}",
            x.dims(zero_point)?,
            a.dims()
        )));
    }
    cx.subtract(&a, &zero)
}

/// The product of matrices whose elements are differences of bytes, as int32.
pub(super) fn product(cx: &Emit, a: &Array, b: &Array) -> Result<Array> {
    check_matmul(&a.dims(), &b.dims())?;
    if cx.runs_on_cpu(DType::F32) {
        let (a, b) = (cx.astype(a, DType::F64)?, cx.astype(b, DType::F64)?);
        let sum = cx.astype(&cx.matmul(&a, &b)?, DType::I64)?;
        return cx.astype(&sum, DType::I32);
    }
    let (inner_a, inner_b) = (a.rank() - 1, b.rank().saturating_sub(2));
    let cuts: Vec<_> = (EXACT_TERMS..a.dim(inner_a)).step_by(EXACT_TERMS).collect();
    let (a, b) = (cx.astype(a, DType::F32)?, cx.astype(b, DType::F32)?);
    let parts = cx
        .split(&a, &cuts, inner_a)?
        .into_iter()
        .zip(cx.split(&b, &cuts, inner_b)?);
    let mut sum: Option<Array> = None;
    for (a, b) in parts {
        let part = cx.astype(&cx.matmul(&a, &b)?, DType::I32)?;
        sum = Some(match sum {
            Some(sum) => cx.add(&sum, &part)?,
            None => part,
        });
    }
    sum.ok_or_else(|| Error::internal("a product without parts"))
}

#[cfg(test)]
mod tests {
    use crate::device::DType::{I8, I32, U8};
    use crate::error::Error;
    use crate::ops::testing::{Case, Data, f32s, ints};

    fn integer() -> Case {
        Case::new("MatMulInteger", 10)
            .input(ints(U8, &[4, 3], &[11, 7, 3, 10, 6, 2, 9, 5, 1, 8, 4, 0]))
            .input(ints(U8, &[3, 2], &[1, 4, 2, 5, 3, 6]))
            .output(I32)
    }

    #[test]
    fn values_of_the_definition() {
        let out = integer()
            .input(ints(U8, &[], &[12]))
            .input(ints(U8, &[], &[0]))
            .run();
        assert_eq!(out[0].ints(), [-38, -83, -44, -98, -50, -113, -56, -128]);
        let out = integer().run();
        assert_eq!(out[0].ints(), [34, 97, 28, 82, 22, 67, 16, 52]);
    }

    #[test]
    fn zero_points_per_row_and_column() {
        let out = Case::new("MatMulInteger", 10)
            .input(ints(I8, &[2, 2], &[1, 2, 3, 4]))
            .input(ints(I8, &[2, 2], &[5, 6, 7, 8]))
            .input(ints(I8, &[2], &[1, 2]))
            .input(ints(I8, &[2], &[5, 6]))
            .output(I32)
            .run();
        // [[0, 1], [1, 2]] @ [[0, 0], [2, 2]]
        assert_eq!(out[0].ints(), [2, 2, 4, 4]);
        let error = integer()
            .input(ints(U8, &[3], &[0; 3]))
            .try_run()
            .err()
            .unwrap();
        assert!(matches!(error.root(), Error::InvalidArgument(_)), "{error}");
    }

    #[test]
    fn long_sums_and_batches_are_exact() {
        let inner = 3000;
        let out = Case::new("MatMulInteger", 10)
            .input(ints(U8, &[2, 1, inner], &vec![255; 2 * inner]))
            .input(ints(I8, &[inner, 1], &vec![-127; inner]))
            .output(I32)
            .run();
        assert_eq!(out[0].dims(), [2, 1, 1]);
        assert_eq!(out[0].ints(), [-97_155_000, -97_155_000]);
        let empty = Case::new("MatMulInteger", 10)
            .input(ints(U8, &[2, 0], &[]))
            .input(ints(U8, &[0, 2], &[]))
            .output(I32);
        assert_eq!(empty.run()[0].ints(), [0; 4]);
    }

    fn linear(a_scale: Data, b_scale: Data) -> Case {
        Case::new("QLinearMatMul", 10)
            .input(ints(U8, &[2, 2], &[130, 126, 128, 138]))
            .input(a_scale)
            .input(ints(U8, &[], &[128]))
            .input(ints(I8, &[2, 2], &[10, -20, 30, 40]))
            .input(b_scale)
            .input(ints(I8, &[], &[0]))
            .input(f32s(&[], &[0.5]))
            .input(ints(U8, &[], &[100]))
            .output(U8)
    }

    #[test]
    fn quantised_products() {
        // [[2, -2], [0, 10]] @ [[10, -20], [30, 40]] = [[-40, -120], [300, 400]]
        let out = linear(f32s(&[], &[0.5]), f32s(&[1], &[0.5])).run();
        assert_eq!(out[0].ints(), [80, 40, 250, 255]);
        // Scales per row of a and per column of b: [[-40, -60], [75, 50]] / 2 before the half to even.
        let out = linear(f32s(&[2], &[1.0, 0.25]), f32s(&[2], &[0.5, 0.25])).run();
        assert_eq!(out[0].ints(), [60, 40, 175, 150]);
    }
}
