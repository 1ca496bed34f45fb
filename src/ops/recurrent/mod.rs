//! Recurrent layers: LSTM, GRU and RNN. Directions, layouts, lengths and states are handled here; each operator says
//! what one step computes. 16-bit types are computed in float32 and rounded once.
mod activation;
mod gru;
mod lstm;
mod rnn;
#[cfg(test)]
mod tests;

use super::{Inputs, NodeRef, Reject};
use crate::device::{Array, DType, Emit};
use crate::error::{Error, Result};
use activation::Activation;

/// The rows of this family, by file.
pub(super) const FAMILY: &[&[super::OpDef]] = &[gru::OPS, lstm::OPS, rnn::OPS];

// Inputs that all three operators have.
const X: usize = 0;
const W: usize = 1;
const R: usize = 2;
const B: usize = 3;
const SEQUENCE_LENS: usize = 4;
const INITIAL_H: usize = 5;

/// After so many steps the states are evaluated: else the graph of MLX calls would grow with the sequence.
const EVALUATE_EVERY: usize = 128;

/// What the attributes of all three operators say.
struct Layer {
    /// Rows of W and R per hidden unit.
    gates: usize,
    /// By direction, whether it goes backwards.
    backwards: Vec<bool>,
    /// The batch axis comes first.
    batch_first: bool,
    clip: Option<f64>,
    /// By direction.
    activations: Vec<Vec<Activation>>,
}

/// The parameters of one direction.
struct Direction<'a> {
    hidden: usize,
    clip: Option<f64>,
    activations: &'a [Activation],
    /// R transposed: `[hidden, gates * hidden]`.
    recurrence: Array,
    /// The bias of the recurrence: `[gates * hidden]`.
    recurrence_bias: Option<Array>,
    index: usize,
}

/// What one step makes of the projected input `[batch, gates * hidden]` and the states `[batch, hidden]`: the new
/// states, of which the first is the output.
type Step<'s> = dyn Fn(&Emit, &Direction<'_>, &Array, &[Array]) -> Result<Vec<Array>> + 's;

impl Layer {
    /// `defaults` are the activations of one direction.
    fn of(node: &NodeRef<'_>, gates: usize, defaults: &[&str]) -> Result<Self, Reject> {
        // Both follow from the inputs and outputs.
        node.ignore("hidden_size");
        node.ignore("output_sequence");
        let backwards = match node.string_or("direction", "forward")? {
            // The schema of GRU-1 spells its default so.
            "forward" | "foward" => vec![false],
            "reverse" => vec![true],
            "bidirectional" => vec![false, true],
            _ => return node.bad_attribute("direction"),
        };
        let clip = node
            .float("clip")?
            .map(f64::from)
            .filter(|clip| *clip > 0.0);
        Ok(Self {
            gates,
            batch_first: node.flag("layout", false)?,
            clip,
            activations: activation::read(node, backwards.len(), defaults)?,
            backwards,
        })
    }

    /// Runs all directions over the sequence. `initial` are the inputs that may hold the states at the start. Gives
    /// the outputs of all steps, then the last value of each state, as the operators order them.
    fn run(
        &self,
        cx: &Emit,
        x: &Inputs<'_>,
        initial: &[usize],
        step: &Step<'_>,
    ) -> Result<Vec<Option<Array>>> {
        let dtype = x.dtype(X)?;
        let input = |index| -> Result<Option<Array>> {
            x.optional(index)?.map(|a| widen(cx, a)).transpose()
        };
        expect_rank(x, X, "X", 3)?;
        expect_rank(x, R, "R", 3)?;
        let mut sequence = widen(cx, x.array(X)?)?;
        if self.batch_first {
            sequence = cx.transpose(&sequence, &[1, 0, 2])?;
        }
        let (length, batch, features) = (sequence.dim(0), sequence.dim(1), sequence.dim(2));
        let directions = self.backwards.len();
        let hidden = x.dims(R)?[2];
        let rows = self.gates * hidden;
        expect(x, W, "W", &[directions, rows, features])?;
        expect(x, R, "R", &[directions, rows, hidden])?;
        expect(x, B, "B", &[directions, 2 * rows])?;
        expect(x, SEQUENCE_LENS, "sequence_lens", &[batch])?;
        let state_dims = if self.batch_first {
            [batch, directions, hidden]
        } else {
            [directions, batch, hidden]
        };
        for (index, name) in initial.iter().zip(["initial_h", "initial_c"]) {
            expect(x, *index, name, &state_dims)?;
        }
        let lengths = Lengths::of(cx, x, length)?;
        let (weights, recurrences, biases) = (input(W)?, input(R)?, input(B)?);
        let initial = initial.iter().map(|index| input(*index));
        let initial = initial.collect::<Result<Vec<_>>>()?;

        let mut outputs: Vec<Array> = Vec::new();
        let mut states: Vec<Vec<Array>> = vec![Vec::new(); initial.len()];
        for (index, backwards) in self.backwards.iter().enumerate() {
            let part = |a: &Option<Array>, axis: usize| -> Result<Option<Array>> {
                let Some(a) = a else { return Ok(None) };
                let row = cx.slice_axis(a, axis, index, index + 1)?;
                cx.squeeze(&row, &[axis]).map(Some)
            };
            let missing = || Error::internal("W or R is missing");
            let transposed = |a: &Option<Array>| -> Result<Array> {
                cx.transpose(&part(a, 0)?.ok_or_else(missing)?, &[1, 0])
            };
            let mut projected = cx.matmul(&sequence, &transposed(&weights)?)?;
            let mut recurrence_bias = None;
            if let Some(bias) = part(&biases, 0)? {
                projected = cx.add(&projected, &cx.slice_axis(&bias, 0, 0, rows)?)?;
                recurrence_bias = Some(cx.slice_axis(&bias, 0, rows, 2 * rows)?);
            }
            if *backwards {
                projected = lengths.reversed(cx, &projected)?;
            }
            let direction = Direction {
                hidden,
                clip: self.clip,
                activations: &self.activations[index],
                recurrence: transposed(&recurrences)?,
                recurrence_bias,
                index,
            };
            let mut state = Vec::with_capacity(initial.len());
            for given in &initial {
                state.push(match part(given, usize::from(self.batch_first))? {
                    Some(given) => given,
                    None => cx.zeros(&[batch, hidden], projected.dtype())?,
                });
            }
            let mut made = Vec::with_capacity(length);
            for time in 0..length {
                let now = cx.squeeze(&cx.slice_axis(&projected, 0, time, time + 1)?, &[0])?;
                let next = step(cx, &direction, &now, &state)?;
                made.push(lengths.or_zero(cx, time, &next[0])?);
                for (old, new) in state.iter_mut().zip(next) {
                    *old = lengths.or_else(cx, time, new, old)?;
                }
                if (time + 1).is_multiple_of(EVALUATE_EVERY) {
                    cx.eval(&state.iter().collect::<Vec<_>>())?;
                }
            }
            let made = if made.is_empty() {
                cx.zeros(&[0, batch, hidden], projected.dtype())?
            } else {
                cx.stack(&made.iter().collect::<Vec<_>>(), 0)?
            };
            outputs.push(if *backwards {
                lengths.reversed(cx, &made)?
            } else {
                made
            });
            for (all, state) in states.iter_mut().zip(state) {
                all.push(state);
            }
        }
        let all = cx.stack(&outputs.iter().collect::<Vec<_>>(), 1)?;
        let all = if self.batch_first {
            cx.transpose(&all, &[2, 0, 1, 3])?
        } else {
            all
        };
        let mut results = vec![Some(cx.astype(&all, dtype)?)];
        for state in states {
            let state = cx.stack(
                &state.iter().collect::<Vec<_>>(),
                usize::from(self.batch_first),
            )?;
            results.push(Some(cx.astype(&state, dtype)?));
        }
        Ok(results)
    }
}

impl Direction<'_> {
    /// What the states add to all gates.
    fn recurrent(&self, cx: &Emit, hidden: &Array) -> Result<Array> {
        let product = cx.matmul(hidden, &self.recurrence)?;
        match &self.recurrence_bias {
            Some(bias) => cx.add(&product, bias),
            None => Ok(product),
        }
    }

    /// Columns of one gate.
    fn gate(&self, cx: &Emit, gates: &Array, gate: usize) -> Result<Array> {
        let from = gate * self.hidden;
        cx.slice_axis(gates, gates.rank() - 1, from, from + self.hidden)
    }

    /// An activation, of its clipped input.
    fn activate(&self, cx: &Emit, which: usize, a: &Array) -> Result<Array> {
        let Some(limit) = self.clip else {
            return self.activations[which].apply(cx, a);
        };
        let bound = |v| cx.scalar(v, a.dtype());
        let clipped = cx.minimum(&cx.maximum(a, &bound(-limit)?)?, &bound(limit)?)?;
        self.activations[which].apply(cx, &clipped)
    }
}

/// The lengths of the sequences of a batch.
struct Lengths {
    length: usize,
    /// `[batch, 1]`, within the sequence; `None` where all are as long as it.
    each: Option<Array>,
}

impl Lengths {
    fn of(cx: &Emit, x: &Inputs<'_>, length: usize) -> Result<Self> {
        let Some(given) = x.optional(SEQUENCE_LENS)? else {
            return Ok(Self { length, each: None });
        };
        let most = i64::try_from(length).unwrap_or(i64::MAX);
        if let Some((low, high)) = x.host_range(SEQUENCE_LENS)?
            && (low < 0 || high > most)
        {
            return Err(Error::invalid(format!(
                "sequence_lens has {}, sequences have 0 to {length} steps",
                if low < 0 { low } else { high }
            )));
        }
        let bound = |v| cx.int(v, given.dtype());
        let inside = cx.minimum(&cx.maximum(given, &bound(0)?)?, &bound(most)?)?;
        Ok(Self {
            length,
            each: Some(cx.expand_dims(&inside, &[1])?),
        })
    }

    /// Each sequence of `[time, batch, ..]` from its last step to its first; what lies beyond its length stays there.
    fn reversed(&self, cx: &Emit, a: &Array) -> Result<Array> {
        let Some(each) = &self.each else {
            return cx.flip(a, &[0]);
        };
        let each = cx.reshape(each, &[1, each.size(), 1])?;
        let time = cx.reshape(&cx.arange(self.length, each.dtype())?, &[self.length, 1, 1])?;
        let back = cx.subtract(&cx.subtract(&each, &cx.int(1, each.dtype())?)?, &time)?;
        let from = cx.select(&cx.less(&time, &each)?, &back, &time)?;
        cx.take_along(a, &cx.broadcast_to(&from, &a.dims())?, 0)
    }

    /// `new` for sequences that reach `time`, else `old`.
    fn or_else(&self, cx: &Emit, time: usize, new: Array, old: &Array) -> Result<Array> {
        match &self.each {
            None => Ok(new),
            Some(each) => {
                let time = cx.int(i64::try_from(time).unwrap_or(i64::MAX), each.dtype())?;
                cx.select(&cx.greater(each, &time)?, &new, old)
            }
        }
    }

    fn or_zero(&self, cx: &Emit, time: usize, new: &Array) -> Result<Array> {
        self.or_else(cx, time, new.clone(), &cx.scalar(0.0, new.dtype())?)
    }
}

/// An error unless an input that is given has these dimensions.
fn expect(x: &Inputs<'_>, index: usize, name: &str, dims: &[usize]) -> Result<()> {
    if x.has(index) && x.dims(index)? != dims {
        return Err(Error::invalid(format!(
            "{name} has shape {:?}, {dims:?} is needed",
            x.dims(index)?
        )));
    }
    Ok(())
}

fn expect_rank(x: &Inputs<'_>, index: usize, name: &str, rank: usize) -> Result<()> {
    let dims = x.dims(index)?;
    if dims.len() != rank {
        return Err(Error::invalid(format!(
            "{name} has shape {dims:?}, {rank} dimensions are needed"
        )));
    }
    Ok(())
}

fn widen(cx: &Emit, a: &Array) -> Result<Array> {
    match a.dtype() {
        DType::F16 | DType::BF16 => cx.astype(a, DType::F32),
        _ => Ok(a.clone()),
    }
}
