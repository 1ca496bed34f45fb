//! Gemm.
use super::matmul::check;
use super::{integer, operand, widened};
use crate::device::{Array, DType, Emit};
use crate::error::{Error, Result};
use crate::ops::{NodeRef, OpDef, Planned, Reject, lower, op};

pub(in crate::ops) const OPS: &[OpDef] = &[op!("Gemm", 1.., [NUMERIC], gemm)];

fn gemm(node: &NodeRef<'_>) -> Planned {
    let dtype = node.dtype(0)?;
    let (transpose_a, transpose_b) = (node.flag("transA", false)?, node.flag("transB", false)?);
    let (alpha, beta) = (node.float_or("alpha", 1.0)?, node.float_or("beta", 1.0)?);
    // Up to opset 6 it says whether the third input may be broadcast; every form is a broadcast here.
    node.ignore("broadcast");
    if dtype.is_int() {
        return integers(dtype, [transpose_a, transpose_b], [alpha, beta]);
    }
    let b = operand(node, 1);
    lower(move |cx, x| {
        let a = oriented(cx, &widened(cx, x.array(0)?)?, 0, transpose_a)?;
        let b = oriented(cx, &x.weight(b)?, 1, transpose_b)?;
        check(&a.dims(), &b.dims())?;
        let c = x.optional(2)?.map(|c| widened(cx, c)).transpose()?;
        if let Some(c) = &c {
            check_addend(c, a.dim(0), b.dim(1))?;
        }
        let some = a.size() > 0 && b.size() > 0;
        let y = match c {
            Some(c) if some && a.dtype() == DType::F32 => cx.addmm(&c, &a, &b, alpha, beta)?,
            Some(c) => {
                let product = scaled(cx, &cx.matmul(&a, &b)?, alpha)?;
                cx.add(&product, &scaled(cx, &c, beta)?)?
            }
            None => scaled(cx, &cx.matmul(&a, &b)?, alpha)?,
        };
        cx.astype(&y, dtype)
    })
}

/// Integers: exact where both factors are whole numbers.
fn integers(dtype: DType, transpose: [bool; 2], factors: [f32; 2]) -> Planned {
    // Larger floats are not exact counts.
    if factors
        .iter()
        .any(|f| f.fract() != 0.0 || f.abs() > 16_777_216.0)
    {
        return Err(Reject::Form("integer Gemm with a fractional alpha or beta"));
    }
    lower(move |cx, x| {
        let a = oriented(cx, x.array(0)?, 0, transpose[0])?;
        let b = oriented(cx, x.array(1)?, 1, transpose[1])?;
        check(&a.dims(), &b.dims())?;
        let factor = |f: f32| cx.scalar(f64::from(f), dtype);
        let product = cx.multiply(&integer::matmul(cx, &a, &b)?, &factor(factors[0])?)?;
        match x.optional(2)? {
            Some(c) => {
                check_addend(c, a.dim(0), b.dim(1))?;
                cx.add(&product, &cx.multiply(c, &factor(factors[1])?)?)
            }
            None => Ok(product),
        }
    })
}

fn oriented(cx: &Emit, a: &Array, input: usize, transpose: bool) -> Result<Array> {
    if a.rank() != 2 {
        let dims = a.dims();
        return Err(Error::invalid(format!(
            "input {input} must be a matrix, found shape {dims:?}"
        )));
    }
    if transpose {
        cx.transpose(a, &[1, 0])
    } else {
        Ok(a.clone())
    }
}

/// The third input may only be broadcast to the result, not the result to it.
fn check_addend(c: &Array, rows: usize, columns: usize) -> Result<()> {
    let dims = c.dims();
    let fits = match dims[..] {
        [] => true,
        [n] => n == 1 || n == columns,
        [m, n] => (m == 1 || m == rows) && (n == 1 || n == columns),
        _ => false,
    };
    if fits {
        Ok(())
    } else {
        Err(Error::invalid(format!(
            "input 2 of shape {dims:?} does not broadcast to the product of shape [{rows}, {columns}]"
        )))
    }
}

#[expect(clippy::float_cmp, reason = "exactly 1 leaves every value as it is")]
fn scaled(cx: &Emit, a: &Array, factor: f32) -> Result<Array> {
    if factor == 1.0 {
        Ok(a.clone())
    } else {
        cx.multiply(a, &cx.float(f64::from(factor), a.dtype())?)
    }
}

#[cfg(test)]
mod tests {
    use crate::device::DType;
    use crate::ops::Reject;
    use crate::ops::testing::{Case, Data, f32s, floats, ints};

    fn case(a: Data, b: Data) -> Case {
        Case::new("Gemm", 13).input(a).constant(b)
    }

    fn a() -> Data {
        f32s(&[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    }

    fn b() -> Data {
        f32s(&[3, 2], &[1.0, 0.0, 0.0, 1.0, 1.0, 1.0])
    }

    #[test]
    fn transposes_factors_and_addends() {
        case(a(), b()).run()[0].assert_close(&[2, 2], &[4.0, 5.0, 10.0, 11.0], 0.0);
        let out = case(a(), a()).int("transB", 1).run();
        out[0].assert_close(&[2, 2], &[14.0, 32.0, 32.0, 77.0], 0.0);
        let out = case(b(), b()).int("transA", 1).run();
        out[0].assert_close(&[2, 2], &[2.0, 1.0, 1.0, 2.0], 0.0);
        let scaled = || case(a(), b()).float("alpha", 0.5).float("beta", 2.0);
        let out = scaled().constant(f32s(&[2], &[1.0, -1.0])).run();
        out[0].assert_close(&[2, 2], &[4.0, 0.5, 7.0, 3.5], 0.0);
        let out = scaled().input(f32s(&[2, 1], &[1.0, -1.0])).run();
        out[0].assert_close(&[2, 2], &[4.0, 4.5, 3.0, 3.5], 0.0);
        let out = scaled().input(f32s(&[], &[1.0])).run();
        out[0].assert_close(&[2, 2], &[4.0, 4.5, 7.0, 7.5], 0.0);
    }

    #[test]
    fn old_opsets_broadcast() {
        let case = Case::new("Gemm", 6)
            .int("broadcast", 1)
            .input(a())
            .input(b());
        let out = case.input(f32s(&[2], &[1.0, 0.0])).run();
        out[0].assert_close(&[2, 2], &[5.0, 5.0, 11.0, 11.0], 0.0);
    }

    #[test]
    fn empty_operands_give_the_addend() {
        let out = case(f32s(&[0, 4], &[]), f32s(&[4, 3], &[0.0; 12])).run();
        out[0].assert_close(&[0, 3], &[], 0.0);
        let inner = case(f32s(&[1, 0], &[]), f32s(&[0, 2], &[]));
        let out = inner.input(f32s(&[2], &[3.0, 4.0])).run();
        out[0].assert_close(&[1, 2], &[3.0, 4.0], 0.0);
    }

    #[test]
    fn other_types() {
        for dtype in [DType::F16, DType::BF16, DType::F64] {
            let (a, b) = (
                floats(dtype, &[1, 2], &[1.0, 2.0]),
                floats(dtype, &[2, 1], &[3.0, 0.5]),
            );
            let out = case(a, b).input(floats(dtype, &[1], &[0.25])).run();
            out[0].assert_close(&[1, 1], &[4.25], 1e-2);
        }
        let (a, b) = (
            ints(DType::I64, &[1, 2], &[(1 << 53) + 1, 1]),
            ints(DType::I64, &[2, 1], &[1, 2]),
        );
        let out = case(a, b)
            .float("beta", -1.0)
            .input(ints(DType::I64, &[], &[4]))
            .run();
        assert_eq!(out[0].ints(), [(1 << 53) - 1]);
    }

    #[test]
    fn what_cannot_work_is_refused() {
        let int = || ints(DType::I32, &[1, 1], &[1]);
        let reject = case(int(), int()).float("alpha", 0.5).reject();
        assert_eq!(
            reject,
            Reject::Form("integer Gemm with a fractional alpha or beta")
        );
        let error = case(a(), b())
            .input(f32s(&[3], &[0.0; 3]))
            .try_run()
            .err()
            .expect("it fails");
        assert!(error.to_string().contains("does not broadcast"));
        let error = case(f32s(&[2, 1, 3], &[0.0; 6]), b())
            .try_run()
            .err()
            .expect("it fails");
        assert!(error.to_string().contains("must be a matrix"));
    }
}
