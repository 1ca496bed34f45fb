//! `GRU`. Gates are ordered z (update), r (reset), h (hidden).
use super::{Direction, INITIAL_H, Layer};
use crate::device::{Array, Emit};
use crate::error::Result;
use crate::ops::{NodeRef, OpDef, Planned, lower, op};

pub(in crate::ops) const OPS: &[OpDef] = &[op!(
    "GRU",
    1..,
    [FLOAT, FLOAT, FLOAT, FLOAT, I32, FLOAT],
    gru
)];

fn gru(node: &NodeRef<'_>) -> Planned {
    let layer = Layer::of(node, 3, &["Sigmoid", "Tanh"])?;
    let linear_first = node.flag("linear_before_reset", false)?;
    lower(move |cx, x| {
        layer.run(cx, x, &[INITIAL_H], &|cx, direction, projected, state| {
            step(cx, direction, projected, &state[0], linear_first)
        })
    })
}

/// `linear_first`: the reset gate scales what the recurrence makes of the state, not the state.
fn step(
    cx: &Emit,
    direction: &Direction<'_>,
    projected: &Array,
    state: &Array,
    linear_first: bool,
) -> Result<Vec<Array>> {
    let recurrent = direction.recurrent(cx, state)?;
    let gate = |which| -> Result<Array> {
        let (input, state) = (
            direction.gate(cx, projected, which)?,
            direction.gate(cx, &recurrent, which)?,
        );
        direction.activate(cx, 0, &cx.add(&input, &state)?)
    };
    let (update, reset) = (gate(0)?, gate(1)?);
    let from_state = if linear_first {
        cx.multiply(&reset, &direction.gate(cx, &recurrent, 2)?)?
    } else {
        let weights = direction.gate(cx, &direction.recurrence, 2)?;
        let product = cx.matmul(&cx.multiply(&reset, state)?, &weights)?;
        match &direction.recurrence_bias {
            Some(bias) => cx.add(&product, &direction.gate(cx, bias, 2)?)?,
            None => product,
        }
    };
    let hidden = cx.add(&direction.gate(cx, projected, 2)?, &from_state)?;
    let hidden = direction.activate(cx, 1, &hidden)?;
    let rest = cx.subtract(&cx.scalar(1.0, update.dtype())?, &update)?;
    let (kept, new) = (cx.multiply(&update, state)?, cx.multiply(&rest, &hidden)?);
    Ok(vec![cx.add(&new, &kept)?])
}
