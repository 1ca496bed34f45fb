//! `LSTM`. Gates are ordered i (input), o (output), f (forget), c (cell).
use super::{Direction, INITIAL_H, Layer, R, expect, widen};
use crate::device::{Array, Emit};
use crate::error::Result;
use crate::ops::{NodeRef, OpDef, Planned, lower, op};

pub(in crate::ops) const OPS: &[OpDef] = &[op!(
    "LSTM",
    1..,
    [FLOAT, FLOAT, FLOAT, FLOAT, I32, FLOAT],
    lstm
)];

const INITIAL_C: usize = 6;
const P: usize = 7;

fn lstm(node: &NodeRef<'_>) -> Planned {
    let layer = Layer::of(node, 4, &["Sigmoid", "Tanh", "Tanh"])?;
    let coupled = node.flag("input_forget", false)?;
    lower(move |cx, x| {
        let peepholes = x.optional(P)?.map(|p| widen(cx, p)).transpose()?;
        let hidden = x.dims(R)?.last().copied().unwrap_or_default();
        expect(x, P, "P", &[layer.backwards.len(), 3 * hidden])?;
        layer.run(
            cx,
            x,
            &[INITIAL_H, INITIAL_C],
            &|cx, direction, projected, state| {
                step(cx, direction, projected, state, peepholes.as_ref(), coupled)
            },
        )
    })
}

/// `coupled`: the forget gate is what the input gate leaves.
fn step(
    cx: &Emit,
    direction: &Direction<'_>,
    projected: &Array,
    state: &[Array],
    peepholes: Option<&Array>,
    coupled: bool,
) -> Result<Vec<Array>> {
    let (hidden, cell) = (&state[0], &state[1]);
    let gates = cx.add(projected, &direction.recurrent(cx, hidden)?)?;
    // Peepholes are ordered i, o, f; each looks at a cell state.
    let seen = |gate: Array, which: usize, cell: &Array| -> Result<Array> {
        let Some(all) = peepholes else {
            return Ok(gate);
        };
        let row = cx.slice_axis(all, 0, direction.index, direction.index + 1)?;
        cx.add(
            &gate,
            &cx.multiply(&direction.gate(cx, &row, which)?, cell)?,
        )
    };
    let gate = |which| direction.gate(cx, &gates, which);
    let input = direction.activate(cx, 0, &seen(gate(0)?, 0, cell)?)?;
    let forget = if coupled {
        cx.subtract(&cx.scalar(1.0, input.dtype())?, &input)?
    } else {
        direction.activate(cx, 0, &seen(gate(2)?, 2, cell)?)?
    };
    let candidate = direction.activate(cx, 1, &gate(3)?)?;
    let cell = cx.add(
        &cx.multiply(&forget, cell)?,
        &cx.multiply(&input, &candidate)?,
    )?;
    let output = direction.activate(cx, 0, &seen(gate(1)?, 1, &cell)?)?;
    let hidden = cx.multiply(&output, &direction.activate(cx, 2, &cell)?)?;
    Ok(vec![hidden, cell])
}
