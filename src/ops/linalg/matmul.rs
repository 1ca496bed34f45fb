//! MatMul.
use super::{integer, operand, widened};
use crate::error::{Error, Result};
use crate::ops::{NodeRef, OpDef, Planned, lower, op};

pub(in crate::ops) const OPS: &[OpDef] = &[op!("MatMul", 1.., [NUMERIC], matmul)];

fn matmul(node: &NodeRef<'_>) -> Planned {
    if node.dtype(0)?.is_int() {
        return lower(|cx, x| {
            check(&x.array(0)?.dims(), &x.array(1)?.dims())?;
            integer::matmul(cx, x.array(0)?, x.array(1)?)
        });
    }
    let dtype = node.dtype(0)?;
    let b = operand(node, 1);
    lower(move |cx, x| {
        let (a, b) = (widened(cx, x.array(0)?)?, x.weight(b)?);
        check(&a.dims(), &b.dims())?;
        cx.astype(&cx.matmul(&a, &b)?, dtype)
    })
}

/// The inner dimensions must agree; MLX says the same less plainly.
pub(in crate::ops) fn check(a: &[usize], b: &[usize]) -> Result<()> {
    let inner_b = if b.len() > 1 {
        b.get(b.len() - 2)
    } else {
        b.first()
    };
    match (a.last(), inner_b) {
        (Some(p), Some(q)) if p == q => Ok(()),
        _ => Err(Error::invalid(format!(
            "shapes {a:?} and {b:?} cannot be multiplied: the last dimension of input 0 must equal the second to last of input 1"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use crate::device::DType;
    use crate::ops::Reject;
    use crate::ops::testing::{Case, Data, f32s, floats, ints};

    fn matmul(a: Data, b: Data) -> Case {
        Case::new("MatMul", 13).input(a).input(b)
    }

    #[test]
    fn every_rank_multiplies() {
        let m = || f32s(&[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        let v = || f32s(&[3], &[1.0, 0.0, -1.0]);
        matmul(m(), v()).run()[0].assert_close(&[2], &[-2.0, -2.0], 0.0);
        matmul(v(), v()).run()[0].assert_close(&[], &[2.0], 0.0);
        let u = f32s(&[2], &[1.0, -1.0]);
        matmul(u, m()).run()[0].assert_close(&[3], &[-3.0, -3.0, -3.0], 0.0);
        let batch = f32s(&[2, 1, 2], &[1.0, 0.0, 0.0, 1.0]);
        matmul(batch, m()).run()[0].assert_close(&[2, 1, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 0.0);
    }

    #[test]
    fn batches_broadcast_and_constants_multiply() {
        let a = f32s(&[2, 1, 1, 2], &[1.0, 2.0, 3.0, 4.0]);
        let b = f32s(&[1, 2, 2, 1], &[1.0, 1.0, 1.0, -1.0]);
        for constant in [false, true] {
            let case = Case::new("MatMul", 13).input(a.clone());
            let out = case.given(constant, b.clone()).run();
            out[0].assert_close(&[2, 2, 1, 1], &[3.0, -1.0, 7.0, -1.0], 0.0);
        }
    }

    #[test]
    fn empty_inner_and_outer_dimensions() {
        let out = matmul(f32s(&[2, 0], &[]), f32s(&[0, 3], &[])).run();
        out[0].assert_close(&[2, 3], &[0.0; 6], 0.0);
        let out = matmul(f32s(&[0, 2], &[]), f32s(&[2, 3], &[0.0; 6])).run();
        out[0].assert_close(&[0, 3], &[], 0.0);
        let int = |dims: &[usize]| ints(DType::I32, dims, &[]);
        assert_eq!(matmul(int(&[2, 0]), int(&[0, 2])).run()[0].ints(), [0; 4]);
    }

    #[test]
    fn other_float_types() {
        for (dtype, tolerance) in [(DType::F16, 1e-3), (DType::BF16, 8e-3), (DType::F64, 1e-15)] {
            let a = floats(dtype, &[1, 2], &[0.1, 3.0]);
            for constant in [false, true] {
                let b = floats(dtype, &[2, 1], &[10.0, 0.5]);
                let out = Case::new("MatMul", 13)
                    .input(a.clone())
                    .given(constant, b)
                    .run();
                out[0].assert_close(&[1, 1], &[2.5], tolerance);
            }
        }
    }

    #[test]
    fn integers_are_exact_and_wrap() {
        let case = |dtype, a: &[i64], b: &[i64]| {
            let (a, b) = (ints(dtype, &[1, a.len()], a), ints(dtype, &[b.len(), 1], b));
            matmul(a, b).run()[0].ints()
        };
        assert_eq!(
            case(DType::I64, &[(1 << 53) + 1, -3], &[1, 7]),
            [(1 << 53) + 1 - 21]
        );
        assert_eq!(
            case(DType::I64, &[-5, 1 << 40], &[1 << 33, -9]),
            [-5 * (1 << 33) - 9 * (1 << 40)]
        );
        assert_eq!(case(DType::I64, &[1 << 62], &[4]), [0]);
        assert_eq!(
            case(DType::I32, &[i64::from(i32::MAX), -7], &[1, 3]),
            [i64::from(i32::MAX) - 21]
        );
        assert_eq!(case(DType::U32, &[0xffff_ffff], &[0xffff_ffff]), [1]);
        assert_eq!(case(DType::U64, &[-1], &[-1]), [1]);
        let vectors = matmul(
            ints(DType::I32, &[2], &[2, -3]),
            ints(DType::I32, &[2], &[5, 7]),
        )
        .run();
        assert_eq!((vectors[0].dims(), vectors[0].ints()), (&[][..], vec![-11]));
    }

    #[test]
    fn mismatched_shapes_and_bools_are_refused() {
        let error = matmul(f32s(&[2, 3], &[0.0; 6]), f32s(&[2, 3], &[0.0; 6])).try_run();
        assert!(
            error
                .err()
                .expect("it fails")
                .to_string()
                .contains("cannot be multiplied")
        );
        let bools = || ints(DType::Bool, &[1], &[1]);
        let found = Some(DType::Bool);
        assert_eq!(
            matmul(bools(), bools()).reject(),
            Reject::Type { input: 0, found }
        );
    }
}
