//! Temporary.
use super::broadcast;
use crate::device::{Array, DType, Emit};
use crate::error::Result;
use crate::ops::{HostData, HostTensor, NodeRef, OpDef, Planned, lower, op};
pub(in crate::ops) const OPS: &[OpDef] = &[
    op!("And", 7.., [BOOL], |_| cmp(Emit::logical_and, |a, b| a
        != 0.0
        && b != 0.0)),
    op!("Equal", 7.., [ANY], |_| cmp(Emit::equal, |a, b| a == b)),
    op!("GreaterOrEqual", 12.., [NUMERIC], |_| cmp(
        Emit::greater_equal,
        |a, b| a >= b
    )),
    op!("Cast", 9.., [ANY], cast),
    op!("Max", 8.., [NUMERIC], |_| lower(|cx, x| {
        let v = x.arrays()?;
        let mut a = v[0].clone();
        for b in &v[1..] {
            a = cx.maximum(&a, b)?;
        }
        Ok(a)
    })),
    op!("Where", 9.., [BOOL, ANY, ANY], |_| wh()),
];
fn un(f: fn(&Emit, &Array) -> Result<Array>) -> Planned {
    lower(move |cx, x| f(cx, x.array(0)?))
}
fn sq() -> Planned {
    Ok(un(Emit::sqrt)?.or_host(|h| {
        let t = h[0].unwrap_or_else(|| unreachable!());
        Ok(Some(vec![HostTensor::floats(
            t.dtype(),
            t.dims().to_vec(),
            t.to_floats().iter().map(|v| v.sqrt()).collect(),
        )]))
    }))
}
fn cmp(f: fn(&Emit, &Array, &Array) -> Result<Array>, h2: fn(f64, f64) -> bool) -> Planned {
    Ok(
        lower(move |cx, x| f(cx, x.array(0)?, x.array(1)?))?.or_host(move |h| {
            let (Some(Some(a)), Some(Some(b))) = (h.first(), h.get(1)) else {
                return Ok(None);
            };
            let d = broadcast::dims(a.dims(), b.dims())?;
            let (a, b) = (
                broadcast::to(a, &d).to_floats(),
                broadcast::to(b, &d).to_floats(),
            );
            Ok(Some(vec![HostTensor::ints(
                DType::Bool,
                d,
                a.iter()
                    .zip(&b)
                    .map(|(a, b)| i64::from(h2(*a, *b)))
                    .collect(),
            )]))
        }),
    )
}
fn wh() -> Planned {
    Ok(
        lower(|cx, x| cx.select(x.array(0)?, x.array(1)?, x.array(2)?))?.or_host(|h| {
            let (Some(Some(c)), Some(Some(a)), Some(Some(b))) = (h.first(), h.get(1), h.get(2))
            else {
                return Ok(None);
            };
            let d = broadcast::dims(&broadcast::dims(a.dims(), b.dims())?, c.dims())?;
            let (c, a, b) = (
                broadcast::to(c, &d),
                broadcast::to(a, &d),
                broadcast::to(b, &d),
            );
            Ok(match (c.data(), a.data(), b.data()) {
                (HostData::Int(c), HostData::Int(u), HostData::Int(v)) => {
                    Some(vec![HostTensor::ints(
                        a.dtype(),
                        d,
                        (0..c.len())
                            .map(|i| if c[i] != 0 { u[i] } else { v[i] })
                            .collect(),
                    )])
                }
                _ => None,
            })
        }),
    )
}
fn cast(node: &NodeRef<'_>) -> Planned {
    let to = node
        .int("to")?
        .and_then(|v| DType::from_onnx(v as i32))
        .unwrap_or(DType::F32);
    Ok(
        lower(move |cx, x| cx.astype(x.array(0)?, to))?.or_host(move |h| {
            let Some(Some(t)) = h.first() else {
                return Ok(None);
            };
            let d = t.dims().to_vec();
            Ok(if to.is_float() {
                Some(vec![HostTensor::floats(to, d, t.to_floats())])
            } else {
                t.as_ints()
                    .map(|v| vec![HostTensor::ints(to, d, v.to_vec())])
            })
        }),
    )
}
fn hs(node: &NodeRef<'_>) -> Planned {
    let (a, b) = (node.float_or("alpha", 0.2)?, node.float_or("beta", 0.5)?);
    lower(move |cx, x| {
        let v = x.array(0)?;
        let t = v.dtype();
        let y = cx.add(
            &cx.multiply(v, &cx.scalar(a.into(), t)?)?,
            &cx.scalar(b.into(), t)?,
        )?;
        cx.maximum(&cx.minimum(&y, &cx.scalar(1.0, t)?)?, &cx.scalar(0.0, t)?)
    })
}
fn gelu(node: &NodeRef<'_>) -> Planned {
    node.string_or("approximate", "none")?;
    lower(|cx, x| {
        let v = x.array(0)?;
        let t = v.dtype();
        let e = cx.erf(&cx.multiply(v, &cx.scalar(0.5f64.sqrt(), t)?)?)?;
        cx.multiply(
            &cx.multiply(v, &cx.scalar(0.5, t)?)?,
            &cx.add(&e, &cx.scalar(1.0, t)?)?,
        )
    })
}
fn sm(node: &NodeRef<'_>) -> Planned {
    let axis = node.int_or("axis", -1)?;
    lower(move |cx, x| {
        let v = x.array(0)?;
        cx.softmax(v, crate::ops::axis(axis, v.rank())?, true)
    })
}
