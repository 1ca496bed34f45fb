//! Add, Sub, Mul and Div.
use super::broadcast;
use crate::device::{Array, Emit};
use crate::error::{Error, Result};
use crate::ops::{HostData, HostTensor, NodeRef, OpDef, Planned, lower, op};

pub(in crate::ops) const OPS: &[OpDef] = &[
    op!("Add", 7.., [NUMERIC], |_| binary(
        Emit::add,
        i64::wrapping_add,
        |a, b| a + b
    )),
    op!("Add", 1..=6, [NUMERIC], |node| legacy(node, Emit::add)),
    op!("Sub", 7.., [NUMERIC], |_| binary(
        Emit::subtract,
        i64::wrapping_sub,
        |a, b| a - b
    )),
    op!("Sub", 1..=6, [NUMERIC], |node| legacy(node, Emit::subtract)),
    op!("Mul", 7.., [NUMERIC], |_| binary(
        Emit::multiply,
        i64::wrapping_mul,
        |a, b| a * b
    )),
    op!("Mul", 1..=6, [NUMERIC], |node| legacy(node, Emit::multiply)),
    op!("Div", 7.., [NUMERIC], div),
    op!("Div", 1..=6, [NUMERIC], |node| legacy(node, divide)),
];

pub(super) type EmitBinary = fn(&Emit, &Array, &Array) -> Result<Array>;

/// An operation that broadcasts as NumPy does.
fn binary(emit: EmitBinary, ints: fn(i64, i64) -> i64, floats: fn(f64, f64) -> f64) -> Planned {
    let plan = lower(move |cx, x| emit(cx, x.array(0)?, x.array(1)?))?;
    Ok(plan.or_host(move |h| on_host(h, |a, b| Some(ints(a, b)), floats)))
}

/// Integers truncate toward zero.
fn div(node: &NodeRef<'_>) -> Planned {
    let unsigned64 = node.dtype(0)? == crate::device::DType::U64;
    let plan = lower(|cx, x| divide(cx, x.array(0)?, x.array(1)?))?;
    // Host integers are signed; a zero divisor is left to the device, where it is undefined but harmless.
    let ints = move |a: i64, b: i64| if unsigned64 { None } else { a.checked_div(b) };
    Ok(plan.or_host(move |h| on_host(h, ints, |a, b| a / b)))
}

fn divide(cx: &Emit, a: &Array, b: &Array) -> Result<Array> {
    if a.dtype().is_float() {
        return cx.divide(a, b);
    }
    let quotient = cx.floor_divide(a, &safe_divisor(cx, b)?)?;
    if !b.dtype().is_signed_int() {
        return Ok(quotient);
    }
    let turns = cx.equal(b, &cx.int(-1, b.dtype())?)?;
    cx.select(&turns, &cx.negative(a)?, &quotient)
}

/// An integer divisor with 1 for 0 and for -1. CPUs trap on a division by zero, whose result ONNX leaves undefined,
/// and on one of the smallest number by -1.
pub(super) fn safe_divisor(cx: &Emit, divisor: &Array) -> Result<Array> {
    let constant = |v| cx.int(v, divisor.dtype());
    let one = constant(1)?;
    let mut traps = cx.equal(divisor, &constant(0)?)?;
    if divisor.dtype().is_signed_int() {
        traps = cx.logical_or(&traps, &cx.equal(divisor, &constant(-1)?)?)?;
    }
    cx.select(&traps, &one, divisor)
}

/// Opset 1 to 6: the second input is broadcast to the first from `axis` on, and only if `broadcast` says so.
pub(super) fn legacy(node: &NodeRef<'_>, emit: EmitBinary) -> Planned {
    let broadcast = node.flag("broadcast", false)?;
    let axis = node.int("axis")?;
    node.ignore("consumed_inputs");
    lower(move |cx, x| {
        let (a, b) = (x.array(0)?, x.array(1)?);
        match axis {
            Some(axis) if broadcast => emit(cx, a, &align(cx, a, b, axis)?),
            _ => emit(cx, a, b),
        }
    })
}

/// `b` with its first axis at `axis` of `a`.
pub(super) fn align(cx: &Emit, a: &Array, b: &Array, axis: i64) -> Result<Array> {
    let rank = a.rank();
    let start = super::super::axis(axis, rank)?;
    let trailing = rank.checked_sub(start + b.rank());
    let trailing = trailing
        .ok_or_else(|| Error::invalid(format!("axis {axis} leaves no room for input 1")))?;
    let mut dims = b.dims();
    dims.extend(std::iter::repeat_n(1, trailing));
    cx.reshape(b, &dims)
}

fn on_host(
    inputs: &[Option<&HostTensor>],
    ints: impl Fn(i64, i64) -> Option<i64>,
    floats: impl Fn(f64, f64) -> f64,
) -> Result<Option<Vec<HostTensor>>> {
    let (Some(Some(a)), Some(Some(b))) = (inputs.first(), inputs.get(1)) else {
        return Ok(None);
    };
    let dims = broadcast::dims(a.dims(), b.dims())?;
    let (wide_a, wide_b) = (broadcast::to(a, &dims), broadcast::to(b, &dims));
    Ok(match (wide_a.data(), wide_b.data()) {
        (HostData::Int(u), HostData::Int(v)) => {
            let data = u
                .iter()
                .zip(v)
                .map(|(p, q)| ints(*p, *q))
                .collect::<Option<Vec<_>>>();
            data.map(|data| vec![HostTensor::ints(a.dtype(), dims, data)])
        }
        (HostData::Float(u), HostData::Float(v)) => {
            let data = u.iter().zip(v).map(|(p, q)| floats(*p, *q)).collect();
            Some(vec![HostTensor::floats(a.dtype(), dims, data)])
        }
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use crate::device::DType;
    use crate::ops::Reject;
    use crate::ops::ir::Attribute;
    use crate::ops::testing::{Case, f32s, ints};

    #[test]
    fn float_add_broadcasts() {
        let out = Case::new("Add", 14)
            .input(f32s(&[2, 1], &[1.0, 2.0]))
            .input(f32s(&[3], &[10.0, 20.0, 30.0]))
            .run();
        assert_eq!(out[0].dims(), [2, 3]);
        assert_eq!(out[0].floats(), [11.0, 21.0, 31.0, 12.0, 22.0, 32.0]);
    }

    #[test]
    fn integers_wrap_and_stay_exact() {
        for host in [false, true] {
            let case = |op, dtype, a: &[i64], b: &[i64]| {
                let case = Case::new(op, 14);
                let (a, b) = (ints(dtype, &[a.len()], a), ints(dtype, &[b.len()], b));
                let case = if host {
                    case.constant(a).constant(b)
                } else {
                    case.input(a).input(b)
                };
                case.run()[0].ints()
            };
            assert_eq!(case("Add", DType::U8, &[250], &[10]), [4]);
            assert_eq!(
                case("Add", DType::I64, &[(1 << 53) + 1], &[0]),
                [(1 << 53) + 1]
            );
            assert_eq!(case("Add", DType::I64, &[1 << 62], &[1 << 62]), [i64::MIN]);
            assert_eq!(
                case("Mul", DType::I64, &[(1 << 40) + 1], &[3]),
                [3_298_534_883_331]
            );
            assert_eq!(
                case("Div", DType::I64, &[8, -8, 7, -7], &[-3, 3, -2, 2]),
                [-2, -2, -3, -3]
            );
            assert_eq!(case("Sub", DType::I8, &[-128], &[1]), [127]);
            let min = i64::from(i32::MIN);
            assert_eq!(case("Div", DType::I32, &[min, 7], &[-1, -1]), [min, -7]);
            assert_eq!(
                case("Div", DType::I64, &[i64::MIN, 7], &[-1, -1]),
                [i64::MIN, -7]
            );
        }
    }

    #[test]
    fn empty_and_scalar_operands() {
        let out = Case::new("Mul", 14)
            .input(f32s(&[0, 3], &[]))
            .input(f32s(&[], &[2.0]))
            .run();
        assert_eq!(out[0].dims(), [0, 3]);
        let out = Case::new("Div", 14)
            .input(f32s(&[], &[3.0]))
            .input(f32s(&[], &[2.0]))
            .run();
        assert_eq!((out[0].dims(), out[0].floats()), (&[][..], vec![1.5]));
    }

    #[test]
    fn old_opsets_align_at_axis() {
        let case = Case::new("Add", 6)
            .attr("broadcast", Attribute::Int(1))
            .attr("axis", Attribute::Int(0));
        let out = case
            .input(f32s(&[2, 2], &[1.0, 2.0, 3.0, 4.0]))
            .input(f32s(&[2], &[10.0, 20.0]))
            .run();
        assert_eq!(out[0].floats(), [11.0, 12.0, 23.0, 24.0]);
    }

    #[test]
    fn bool_and_unknown_attributes_are_refused() {
        let bools = || ints(DType::Bool, &[1], &[1]);
        let reject = Case::new("Add", 14).input(bools()).input(bools()).reject();
        assert_eq!(
            reject,
            Reject::Type {
                input: 0,
                found: Some(DType::Bool)
            }
        );
        let case = Case::new("Add", 14).attr("new", Attribute::Int(1));
        let reject = case
            .input(f32s(&[1], &[1.0]))
            .input(f32s(&[1], &[1.0]))
            .reject();
        assert_eq!(reject, Reject::Attribute("new".into()));
    }
}
