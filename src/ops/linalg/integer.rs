//! Products of integer matrices. MLX multiplies float matrices only, so the factors are cut into 16-bit limbs whose
//! products are exact in double precision, and put together with wrapping arithmetic.
use crate::device::{Array, DType, Emit};
use crate::error::Result;

/// Sums of this many products of two limbs stay below 2^53.
const MAX_INNER: usize = 1 << 21;

const LIMB_BITS: usize = 16;

/// `a @ b`, wrapping at the width of the type.
pub(super) fn matmul(cx: &Emit, a: &Array, b: &Array) -> Result<Array> {
    let dtype = a.dtype();
    let limbs = dtype.bits().div_ceil(LIMB_BITS);
    let (inner_a, inner_b) = (a.rank().saturating_sub(1), b.rank().saturating_sub(2));
    let (left, right) = (parts(cx, a, inner_a, limbs)?, parts(cx, b, inner_b, limbs)?);
    let mut sum: Option<Array> = None;
    for (a, b) in left.iter().zip(&right) {
        for (i, p) in a.iter().enumerate() {
            for (j, q) in b.iter().enumerate().take(limbs - i) {
                let product = cx.astype(&cx.matmul(p, q)?, DType::U64)?;
                let count = cx.int(((i + j) * LIMB_BITS).try_into().unwrap_or(0), DType::U64)?;
                let shifted = cx.left_shift(&product, &count)?;
                sum = Some(match sum {
                    Some(sum) => cx.add(&sum, &shifted)?,
                    None => shifted,
                });
            }
        }
    }
    match sum {
        Some(sum) => cx.astype(&sum, dtype),
        None => cx.astype(&cx.matmul(a, b)?, dtype),
    }
}

/// The limbs, lowest first, of each stretch of the inner axis.
fn parts(cx: &Emit, a: &Array, inner: usize, limbs: usize) -> Result<Vec<Vec<Array>>> {
    let unsigned = cx.astype(a, DType::U64)?;
    let cuts: Vec<_> = (MAX_INNER..a.dim(inner)).step_by(MAX_INNER).collect();
    let stretches = if cuts.is_empty() {
        vec![unsigned]
    } else {
        cx.split(&unsigned, &cuts, inner)?
    };
    let mask = cx.int(0xffff, DType::U64)?;
    let limb = |a: &Array, index: usize| {
        let count = cx.int((index * LIMB_BITS).try_into().unwrap_or(0), DType::U64)?;
        let low = cx.bitwise_and(&cx.right_shift(a, &count)?, &mask)?;
        cx.astype(&low, DType::F64)
    };
    stretches
        .iter()
        .map(|a| (0..limbs).map(|i| limb(a, i)).collect())
        .collect()
}
