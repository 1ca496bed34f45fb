//! Operations on the bits of integers.
use super::arith::EmitBinary;
use crate::device::{Array, Emit};
use crate::error::Result;
use crate::ops::{NodeRef, OpDef, Planned, Reject, lower, op};

pub(in crate::ops) const OPS: &[OpDef] = &[
    op!("BitwiseAnd", 18.., [INT], |_| binary(Emit::bitwise_and)),
    op!("BitwiseOr", 18.., [INT], |_| binary(Emit::bitwise_or)),
    op!("BitwiseXor", 18.., [INT], |_| binary(Emit::bitwise_xor)),
    op!("BitwiseNot", 18.., [INT], |_| lower(
        |cx, x| cx.bitwise_invert(x.array(0)?)
    )),
    op!("BitShift", 11..=27, [UNSIGNED], bit_shift),
    op!("BitShift", 28.., [INT], bit_shift),
];

fn binary(emit: EmitBinary) -> Planned {
    lower(move |cx, x| emit(cx, x.array(0)?, x.array(1)?))
}

fn bit_shift(node: &NodeRef<'_>) -> Planned {
    let left = match node.string_or("direction", "")? {
        "LEFT" => true,
        "RIGHT" => false,
        _ => return Err(Reject::Attribute("direction".into())),
    };
    lower(move |cx, x| shift(cx, x.array(0)?, x.array(1)?, left))
}

/// A shift by the width or more, or by a negative count, moves all bits out; MLX takes some counts modulo 32.
fn shift(cx: &Emit, a: &Array, count: &Array, left: bool) -> Result<Array> {
    let dtype = a.dtype();
    let last = cx.int(i64::try_from(dtype.bits()).unwrap_or(64) - 1, dtype)?;
    let mut all_out = cx.greater(count, &last)?;
    if dtype.is_signed_int() {
        all_out = cx.logical_or(&all_out, &cx.less(count, &cx.int(0, dtype)?)?)?;
    }
    let count = cx.select(&all_out, &last, count)?;
    if !left && dtype.is_signed_int() {
        // The sign fills in: shifting by one less than the width leaves nothing else.
        return cx.right_shift(a, &count);
    }
    let shifted = if left {
        cx.left_shift(a, &count)?
    } else {
        cx.right_shift(a, &count)?
    };
    cx.select(&all_out, &cx.int(0, dtype)?, &shifted)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::{DType, Types};
    use crate::ops::testing::{Case, f32s, ints};

    #[test]
    fn bits_of_every_integer_type() {
        for dtype in Types::INT.iter_types() {
            let run = |op| {
                let case = Case::new(op, 18).input(ints(dtype, &[2, 1], &[0b1100, 0b0011]));
                let out = case.input(ints(dtype, &[1], &[0b1010])).run();
                assert_eq!(out[0].dims(), [2, 1]);
                out[0].ints()
            };
            assert_eq!(run("BitwiseAnd"), [0b1000, 0b0010], "{dtype}");
            assert_eq!(run("BitwiseOr"), [0b1110, 0b1011], "{dtype}");
            assert_eq!(run("BitwiseXor"), [0b0110, 0b1001], "{dtype}");
            let out = Case::new("BitwiseNot", 18)
                .input(ints(dtype, &[1], &[5]))
                .run();
            assert_eq!(
                out[0].ints(),
                [crate::ops::host::wrap(dtype, !5)],
                "{dtype}"
            );
        }
    }

    #[test]
    fn negative_counts_move_all_bits_out() {
        for dtype in Types::SIGNED.iter_types() {
            let run = |direction| {
                let case = Case::new("BitShift", 28).string("direction", direction);
                let case = case.input(ints(dtype, &[3], &[-8, 4, -1]));
                case.input(ints(dtype, &[3], &[-1, -8, -16])).run()[0].ints()
            };
            assert_eq!(run("LEFT"), [0, 0, 0], "{dtype}");
            assert_eq!(run("RIGHT"), [-1, 0, -1], "{dtype}");
        }
    }

    #[test]
    fn shifts_by_the_width_and_more() {
        for dtype in Types::UNSIGNED.iter_types() {
            let width = i64::try_from(dtype.bits()).unwrap();
            let counts = [0, 1, width - 1, width, width + 1];
            let run = |direction, value| {
                let case = Case::new("BitShift", 11).string("direction", direction);
                let case = case.input(ints(dtype, &[5], &[value; 5]));
                case.input(ints(dtype, &[5], &counts)).run()[0].ints()
            };
            let top = if width == 64 {
                i64::MIN
            } else {
                1 << (width - 1)
            };
            assert_eq!(run("LEFT", 1), [1, 2, top, 0, 0], "{dtype}");
            assert_eq!(run("RIGHT", 3), [3, 1, 0, 0, 0], "{dtype}");
            assert_eq!(run("RIGHT", top)[2..], [1, 0, 0], "{dtype}");
        }
    }

    #[test]
    fn signed_numbers_shift_their_sign_in() {
        for dtype in Types::SIGNED.iter_types() {
            let case = Case::new("BitShift", 28).string("direction", "RIGHT");
            let case = case.input(ints(dtype, &[3], &[-8, 8, -8]));
            let out = case.input(ints(dtype, &[3], &[1, 2, 100])).run();
            assert_eq!(out[0].ints(), [-4, 2, -1], "{dtype}");
        }
    }

    #[test]
    fn other_forms_are_refused() {
        let t = || ints(DType::U8, &[1], &[1]);
        let case = || Case::new("BitShift", 11);
        let direction = Reject::Attribute("direction".into());
        assert_eq!(case().input(t()).input(t()).reject(), direction);
        let reject = case()
            .string("direction", "UP")
            .input(t())
            .input(t())
            .reject();
        assert_eq!(reject, direction);
        let t = || ints(DType::I8, &[1], &[1]);
        let found = Some(DType::I8);
        let reject = case()
            .string("direction", "LEFT")
            .input(t())
            .input(t())
            .reject();
        assert_eq!(reject, Reject::Type { input: 0, found });
        let t = || f32s(&[1], &[1.0]);
        let found = Some(DType::F32);
        let reject = Case::new("BitwiseAnd", 18).input(t()).input(t()).reject();
        assert_eq!(reject, Reject::Type { input: 0, found });
    }
}
