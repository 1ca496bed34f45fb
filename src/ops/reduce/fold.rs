//! ReduceSum, ReduceMean, ReduceMax and the other reductions.
use super::{accumulator, highest, lowest};
use crate::device::{Array, DType, Emit};
use crate::error::Result;
use crate::ops::{HostData, HostTensor, Inputs, NodeRef, OpDef, Planned, Reject, lower, op};

pub(in crate::ops) const OPS: &[OpDef] = &[
    op!("ReduceSum", 1.., [NUMERIC, I64], |n| reduce(n, Fold::Sum)),
    op!("ReduceMean", 1.., [NUMERIC, I64], |n| reduce(n, Fold::Mean)),
    op!("ReduceMax", 1..=19, [NUMERIC, I64], |n| reduce(
        n,
        Fold::Max
    )),
    op!("ReduceMax", 20.., [ANY, I64], |n| reduce(n, Fold::Max)),
    op!("ReduceMin", 1..=19, [NUMERIC, I64], |n| reduce(
        n,
        Fold::Min
    )),
    op!("ReduceMin", 20.., [ANY, I64], |n| reduce(n, Fold::Min)),
    op!("ReduceProd", 1.., [NUMERIC, I64], |n| reduce(n, Fold::Prod)),
    op!("ReduceL1", 1.., [NUMERIC, I64], |n| reduce(n, Fold::L1)),
    op!("ReduceL2", 1.., [NUMERIC, I64], |n| reduce(n, Fold::L2)),
    op!("ReduceLogSum", 1.., [NUMERIC, I64], |n| reduce(
        n,
        Fold::LogSum
    )),
    op!("ReduceLogSumExp", 1.., [NUMERIC, I64], |n| reduce(
        n,
        Fold::LogSumExp
    )),
    op!("ReduceSumSquare", 1.., [NUMERIC, I64], |n| reduce(
        n,
        Fold::SumSquare
    )),
];

/// What is done with the elements that come together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fold {
    Sum,
    Mean,
    Max,
    Min,
    Prod,
    L1,
    L2,
    LogSum,
    LogSumExp,
    SumSquare,
}

/// Where the axes come from.
#[derive(Clone)]
enum Axes {
    Fixed(Vec<i64>),
    Input(usize),
}

fn reduce(node: &NodeRef<'_>, fold: Fold) -> Planned {
    let dtype = node.dtype(0)?;
    if fold == Fold::LogSumExp && dtype.is_int() {
        return Err(Reject::Form("ReduceLogSumExp of integers"));
    }
    let keep = node.flag("keepdims", true)?;
    let noop = node.flag("noop_with_empty_axes", false)?;
    let from_input = node.opset() >= if fold == Fold::Sum { 13 } else { 18 };
    let axes = if from_input && node.has_input(1) {
        Axes::Input(1)
    } else if from_input {
        Axes::Fixed(vec![])
    } else {
        Axes::Fixed(node.ints("axes")?.unwrap_or(&[]).to_vec())
    };
    let on_host = axes.clone();
    let reads: &[usize] = if matches!(axes, Axes::Input(_)) {
        &[1]
    } else {
        &[]
    };
    let plan = lower(move |cx, x| {
        let a = x.array(0)?;
        let axes = resolve(axes.values(x)?, a.rank(), noop)?;
        cx.astype(&apply(cx, a, fold, &axes, keep)?, dtype)
    })?;
    let host = move |inputs: &[Option<&HostTensor>]| {
        let Some(Some(a)) = inputs.first() else {
            return Ok(None);
        };
        let given = match &on_host {
            Axes::Fixed(axes) => Some(axes.as_slice()),
            Axes::Input(index) => inputs
                .get(*index)
                .copied()
                .flatten()
                .and_then(HostTensor::as_ints),
        };
        let Some(given) = given else { return Ok(None) };
        let axes = resolve(given, a.rank(), noop)?;
        Ok(host_fold(a, fold, &axes, keep).map(|t| vec![t]))
    };
    Ok(plan.reads(reads).or_host(host))
}

impl Axes {
    fn values<'a>(&'a self, x: &Inputs<'a>) -> Result<&'a [i64]> {
        match self {
            Self::Fixed(axes) => Ok(axes),
            Self::Input(index) => x.ints(*index),
        }
    }
}

/// No axes means all of them, or none if `noop`.
fn resolve(axes: &[i64], rank: usize, noop: bool) -> Result<Vec<usize>> {
    match axes {
        [] if noop => Ok(vec![]),
        [] => Ok((0..rank).collect()),
        _ => crate::ops::axes(axes, rank),
    }
}

/// The reduction, in a type that may be wider than that of `a`.
fn apply(cx: &Emit, a: &Array, fold: Fold, axes: &[usize], keep: bool) -> Result<Array> {
    let dims = a.dims();
    let count: usize = axes.iter().map(|i| dims[*i]).product();
    if count == 0 {
        return identity(cx, a, fold, axes, keep);
    }
    match fold {
        Fold::Max | Fold::Min => return extreme(cx, a, fold, axes, keep),
        Fold::LogSumExp => {
            return logsumexp(cx, &cx.astype(a, accumulator(a.dtype()))?, axes, keep);
        }
        _ => {}
    }
    let wide = match a.dtype() {
        DType::U64 => DType::U64,
        other if other.is_int() => DType::I64,
        other => accumulator(other),
    };
    let a = cx.astype(a, wide)?;
    let elements = match fold {
        Fold::L1 => cx.abs(&a)?,
        Fold::L2 | Fold::SumSquare => cx.square(&a)?,
        _ => a,
    };
    let total = match fold {
        _ if axes.is_empty() => elements,
        Fold::Prod => cx.prod(&elements, axes, keep)?,
        _ => cx.sum(&elements, axes, keep)?,
    };
    match fold {
        Fold::Mean => {
            let count = cx.scalar(precise(count), wide)?;
            if wide.is_float() {
                cx.divide(&total, &count)
            } else {
                cx.floor_divide(&total, &count)
            }
        }
        Fold::L2 => cx.sqrt(&as_float(cx, &total)?),
        Fold::LogSum => cx.log(&as_float(cx, &total)?),
        _ => Ok(total),
    }
}

/// Integers as double, in which roots and logarithms of them are right before they are truncated.
fn as_float(cx: &Emit, a: &Array) -> Result<Array> {
    cx.astype(
        a,
        if a.dtype().is_float() {
            a.dtype()
        } else {
            DType::F64
        },
    )
}

#[expect(clippy::cast_precision_loss, reason = "element counts are below 2^53")]
fn precise(count: usize) -> f64 {
    count as f64
}

fn extreme(cx: &Emit, a: &Array, fold: Fold, axes: &[usize], keep: bool) -> Result<Array> {
    match (fold, a.dtype()) {
        _ if axes.is_empty() => Ok(a.clone()),
        (Fold::Max, DType::Bool) => cx.any(a, axes, keep),
        (_, DType::Bool) => cx.all(a, axes, keep),
        (Fold::Max, _) => cx.max(a, axes, keep),
        _ => cx.min(a, axes, keep),
    }
}

/// Subtracts the maximum, so that no exponential overflows; an infinite one stays where it is.
fn logsumexp(cx: &Emit, a: &Array, axes: &[usize], keep: bool) -> Result<Array> {
    if axes.is_empty() {
        return Ok(a.clone());
    }
    let zero = cx.float(0.0, a.dtype())?;
    let finite = |m: &Array| cx.select(&cx.isfinite(m)?, m, &zero);
    let shift = finite(&cx.max(a, axes, true)?)?;
    let difference = cx.subtract(a, &shift)?;
    // MLX's exponential of double is no better than that of float; expm1 is.
    let exponential = if a.dtype() == DType::F64 {
        cx.add(&cx.expm1(&difference)?, &cx.float(1.0, DType::F64)?)?
    } else {
        cx.exp(&difference)?
    };
    let log = cx.log(&cx.sum(&exponential, axes, keep)?)?;
    let shift = if keep {
        shift
    } else {
        cx.squeeze(&shift, axes)?
    };
    cx.add(&log, &shift)
}

/// The result of reducing no elements.
fn identity(cx: &Emit, a: &Array, fold: Fold, axes: &[usize], keep: bool) -> Result<Array> {
    let dtype = a.dtype();
    let value = match fold {
        Fold::Max => lowest(cx, dtype)?,
        Fold::Min => highest(cx, dtype)?,
        Fold::Prod => cx.scalar(1.0, dtype)?,
        Fold::Mean if dtype.is_float() => cx.float(f64::NAN, dtype)?,
        Fold::LogSum | Fold::LogSumExp if dtype.is_float() => cx.float(f64::NEG_INFINITY, dtype)?,
        _ => cx.scalar(0.0, dtype)?,
    };
    cx.full(&reduced_dims(&a.dims(), axes, keep), &value)
}

fn reduced_dims(dims: &[usize], axes: &[usize], keep: bool) -> Vec<usize> {
    let all = dims.iter().enumerate();
    if keep {
        all.map(|(i, d)| if axes.contains(&i) { 1 } else { *d })
            .collect()
    } else {
        all.filter(|(i, _)| !axes.contains(i))
            .map(|(_, d)| *d)
            .collect()
    }
}

type Combine<T> = fn(T, T) -> T;

/// Sum, Prod, Max and Min of small tensors.
fn host_fold(a: &HostTensor, fold: Fold, axes: &[usize], keep: bool) -> Option<HostTensor> {
    // Host integers are signed.
    if a.dtype() == DType::U64 && matches!(fold, Fold::Max | Fold::Min) {
        return None;
    }
    let (ints, floats): (Combine<i64>, Combine<f64>) = match fold {
        Fold::Sum => (i64::wrapping_add, |a, b| a + b),
        Fold::Prod => (i64::wrapping_mul, |a, b| a * b),
        Fold::Max => (i64::max, |a, b| if a.is_nan() || a > b { a } else { b }),
        Fold::Min => (i64::min, |a, b| if a.is_nan() || a < b { a } else { b }),
        _ => return None,
    };
    let groups = groups(a.dims(), axes);
    let dims = reduced_dims(a.dims(), axes, keep);
    match a.data() {
        HostData::Int(v) => {
            let fold = |g: &Vec<usize>| g.iter().map(|p| v[*p]).reduce(ints);
            let data = groups.iter().map(fold).collect::<Option<Vec<_>>>()?;
            Some(HostTensor::ints(a.dtype(), dims, data))
        }
        HostData::Float(v) => {
            let fold = |g: &Vec<usize>| g.iter().map(|p| v[*p]).reduce(floats);
            let data = groups.iter().map(fold).collect::<Option<Vec<_>>>()?;
            Some(HostTensor::floats(a.dtype(), dims, data))
        }
    }
}

/// For each element of the result, in row-major order, the positions of the elements that come together in it.
fn groups(dims: &[usize], axes: &[usize]) -> Vec<Vec<usize>> {
    let kept = reduced_dims(dims, axes, true);
    let mut groups = vec![vec![]; kept.iter().product()];
    for position in 0..dims.iter().product() {
        let (mut rest, mut target, mut step) = (position, 0, 1);
        for (axis, dim) in dims.iter().enumerate().rev() {
            if kept[axis] == *dim {
                target += rest % dim * step;
            }
            rest /= dim;
            step *= kept[axis];
        }
        groups[target].push(position);
    }
    groups
}

#[cfg(test)]
mod tests {
    use crate::device::DType;
    use crate::ops::Reject;
    use crate::ops::testing::{Case, Data, f32s, floats, i64s, ints};

    fn m() -> Data {
        f32s(&[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, -6.0])
    }

    fn rows(op: &str, data: Data) -> Case {
        Case::new(op, 18)
            .input(data)
            .input(i64s(&[1], &[-1]))
            .int("keepdims", 0)
    }

    #[test]
    fn every_reduction_of_floats() {
        let exp = f64::exp;
        let exponentials = [
            3.0 + (1.0 + exp(-1.0) + exp(-2.0)).ln(),
            5.0 + (1.0 + exp(-1.0) + exp(-11.0)).ln(),
        ];
        for (op, expected) in [
            ("ReduceSum", [6.0, 3.0]),
            ("ReduceMean", [2.0, 1.0]),
            ("ReduceMax", [3.0, 5.0]),
            ("ReduceMin", [1.0, -6.0]),
            ("ReduceProd", [6.0, -120.0]),
            ("ReduceL1", [6.0, 15.0]),
            ("ReduceL2", [14f64.sqrt(), 77f64.sqrt()]),
            ("ReduceLogSum", [6f64.ln(), 3f64.ln()]),
            ("ReduceLogSumExp", exponentials),
            ("ReduceSumSquare", [14.0, 77.0]),
        ] {
            rows(op, m()).run()[0].assert_close(&[2], &expected, 1e-6);
            let wide = floats(DType::F64, &[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, -6.0]);
            rows(op, wide).run()[0].assert_close(&[2], &expected, 1e-13);
            for half in [DType::F16, DType::BF16] {
                let data = floats(half, &[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, -6.0]);
                rows(op, data).run()[0].assert_close(&[2], &expected, 1e-2);
            }
        }
    }

    #[test]
    fn axes_come_from_the_attribute_the_input_or_nowhere() {
        let attribute = |opset| Case::new("ReduceMean", opset).ints("axes", &[0]).input(m());
        for opset in [1, 11, 13] {
            attribute(opset).run()[0].assert_close(&[1, 3], &[2.5, 3.5, -1.5], 0.0);
        }
        for constant in [false, true] {
            let case = Case::new("ReduceSum", 13).input(m());
            let out = case.given(constant, i64s(&[2], &[1, -2])).run();
            out[0].assert_close(&[1, 1], &[9.0], 0.0);
        }
        let case = || Case::new("ReduceSum", 13).input(m());
        case().run()[0].assert_close(&[1, 1], &[9.0], 0.0);
        let case = |op| Case::new(op, 18).input(m()).input(i64s(&[0], &[]));
        case("ReduceMax").int("keepdims", 0).run()[0].assert_close(&[], &[5.0], 0.0);
        assert_eq!(attribute(18).reject(), Reject::Attribute("axes".into()));
    }

    #[test]
    fn no_axes_may_mean_no_reduction() {
        let case = |op| {
            Case::new(op, 18)
                .input(f32s(&[2], &[-2.0, 3.0]))
                .int("noop_with_empty_axes", 1)
        };
        case("ReduceSum").run()[0].assert_close(&[2], &[-2.0, 3.0], 0.0);
        case("ReduceSumSquare").run()[0].assert_close(&[2], &[4.0, 9.0], 0.0);
        case("ReduceL1").run()[0].assert_close(&[2], &[2.0, 3.0], 0.0);
        case("ReduceL2").run()[0].assert_close(&[2], &[2.0, 3.0], 0.0);
        case("ReduceMean").run()[0].assert_close(&[2], &[-2.0, 3.0], 0.0);
        case("ReduceLogSumExp").run()[0].assert_close(&[2], &[-2.0, 3.0], 0.0);
    }

    #[test]
    fn scalars_and_empty_tensors() {
        let out = Case::new("ReduceSum", 13).input(f32s(&[], &[2.0])).run();
        out[0].assert_close(&[], &[2.0], 0.0);
        let empty = |op| {
            let case = Case::new(op, 18)
                .input(f32s(&[0, 2], &[]))
                .input(i64s(&[1], &[0]));
            case.int("keepdims", 0).run()
        };
        for (op, value) in [
            ("ReduceSum", 0.0),
            ("ReduceMean", f64::NAN),
            ("ReduceMax", f64::NEG_INFINITY),
            ("ReduceMin", f64::INFINITY),
            ("ReduceProd", 1.0),
            ("ReduceLogSum", f64::NEG_INFINITY),
            ("ReduceLogSumExp", f64::NEG_INFINITY),
        ] {
            empty(op)[0].assert_close(&[2], &[value; 2], 0.0);
        }
        let kept = Case::new("ReduceSum", 13)
            .input(f32s(&[0, 2], &[]))
            .input(i64s(&[1], &[1]));
        kept.run()[0].assert_close(&[0, 1], &[], 0.0);
        for (dtype, low, high) in [
            (DType::I8, -128, 127),
            (DType::U8, 0, 255),
            (DType::I32, i64::from(i32::MIN), i64::from(i32::MAX)),
            (DType::I64, i64::MIN, i64::MAX),
            (DType::Bool, 0, 1),
        ] {
            let case = |op| {
                Case::new(op, 20)
                    .input(ints(dtype, &[0], &[]))
                    .int("keepdims", 0)
            };
            assert_eq!(case("ReduceMax").run()[0].ints(), [low]);
            assert_eq!(case("ReduceMin").run()[0].ints(), [high]);
        }
    }

    #[test]
    fn integers_are_exact_on_host_and_device() {
        let big = (1 << 53) + 1;
        for constant in [false, true] {
            let case = |op, dtype, data: &[i64]| {
                let case = Case::new(op, 20).given(constant, ints(dtype, &[data.len()], data));
                case.constant(i64s(&[1], &[0])).run()[0].ints()
            };
            assert_eq!(case("ReduceSum", DType::I64, &[big, 2]), [big + 2]);
            assert_eq!(case("ReduceProd", DType::I64, &[big, 3]), [big * 3]);
            assert_eq!(case("ReduceMax", DType::I64, &[big, big - 1, -5]), [big]);
            assert_eq!(case("ReduceMin", DType::I32, &[7, -9]), [-9]);
            assert_eq!(
                case("ReduceSum", DType::I32, &[i64::from(i32::MAX), 1]),
                [i64::from(i32::MIN)]
            );
            assert_eq!(case("ReduceMean", DType::I32, &[-7, 2, 0]), [-1]);
            assert_eq!(case("ReduceL1", DType::I32, &[-7, 2]), [9]);
            assert_eq!(case("ReduceL2", DType::I64, &[3, 4]), [5]);
            assert_eq!(
                case("ReduceSumSquare", DType::I64, &[big, 0]),
                [big.wrapping_mul(big)]
            );
            assert_eq!(case("ReduceMax", DType::U8, &[3, 200]), [200]);
            assert_eq!(case("ReduceMax", DType::U64, &[3, -1]), [-1]);
            assert_eq!(case("ReduceMax", DType::Bool, &[0, 1]), [1]);
            assert_eq!(case("ReduceMin", DType::Bool, &[0, 1]), [0]);
        }
    }

    #[test]
    fn half_sums_and_infinities() {
        let ones = floats(DType::F16, &[4096], &[1.0; 4096]);
        let out = Case::new("ReduceSum", 13)
            .input(ones)
            .int("keepdims", 0)
            .run();
        assert_eq!(out[0].floats(), [4096.0]);
        let inf = f32::INFINITY;
        let data = f32s(&[3, 2], &[-inf, -inf, inf, 0.0, 1000.0, 1000.0]);
        let expected = [f64::NEG_INFINITY, f64::INFINITY, 1000.0 + 2f64.ln()];
        rows("ReduceLogSumExp", data).run()[0].assert_close(&[3], &expected, 1e-6);
        let nan = f32s(&[1, 2], &[f32::NAN, 1.0]);
        assert!(rows("ReduceMax", nan).run()[0].floats()[0].is_nan());
    }

    #[test]
    fn host_reductions_keep_positions() {
        let t = i64s(&[2, 2, 3], &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
        let case = Case::new("ReduceSum", 13)
            .constant(t)
            .constant(i64s(&[2], &[0, 2]));
        assert_eq!(case.int("keepdims", 0).run()[0].ints(), [30, 48]);
    }

    #[test]
    fn wrong_axes_and_types_are_refused() {
        let error = rows("ReduceSum", f32s(&[], &[1.0]))
            .try_run()
            .err()
            .expect("it fails");
        assert!(error.to_string().contains("axis -1 is out of range"));
        let reject = Case::new("ReduceLogSumExp", 18)
            .input(i64s(&[1], &[1]))
            .reject();
        assert_eq!(reject, Reject::Form("ReduceLogSumExp of integers"));
        let bools = ints(DType::Bool, &[1], &[1]);
        let found = Some(DType::Bool);
        let reject = Case::new("ReduceMax", 18).input(bools).reject();
        assert_eq!(reject, Reject::Type { input: 0, found });
    }
}
