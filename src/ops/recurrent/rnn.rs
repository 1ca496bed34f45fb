//! `RNN`.
use super::{INITIAL_H, Layer};
use crate::ops::{NodeRef, OpDef, Planned, lower, op};

pub(in crate::ops) const OPS: &[OpDef] = &[op!(
    "RNN",
    1..,
    [FLOAT, FLOAT, FLOAT, FLOAT, I32, FLOAT],
    rnn
)];

fn rnn(node: &NodeRef<'_>) -> Planned {
    let layer = Layer::of(node, 1, &["Tanh"])?;
    lower(move |cx, x| {
        layer.run(cx, x, &[INITIAL_H], &|cx, direction, projected, state| {
            let sum = cx.add(projected, &direction.recurrent(cx, &state[0])?)?;
            Ok(vec![direction.activate(cx, 0, &sum)?])
        })
    })
}
