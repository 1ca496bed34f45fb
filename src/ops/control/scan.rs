//! `Scan`.
use super::settle;
use super::stacked::{Declared, Stack, declared};
use crate::device::{Array, Emit};
use crate::error::{Error, Result};
use crate::ops::ir::Graph;
use crate::ops::{self, BodyId, Inputs, NodeRef, OpDef, Planned, Reject, Tensor, lower, op};

pub(in crate::ops) const OPS: &[OpDef] = &[
    op!("Scan", 8..=8, [I64, ANY], scan_batches),
    op!("Scan", 9.., [ANY], scan),
];

/// How many values a Scan carries, reads slice by slice, and stacks.
struct Scan {
    body: BodyId,
    states: usize,
    scanned: usize,
    stacked: Vec<Declared>,
}

impl Scan {
    /// `states_and_scanned` is what the node passes to its body.
    fn of(node: &NodeRef<'_>, states_and_scanned: usize) -> Result<Self, Reject> {
        let scanned = node.int("num_scan_inputs")?.unwrap_or_default();
        let scanned = usize::try_from(scanned).ok().filter(|n| *n > 0);
        let scanned = scanned.ok_or(Reject::Attribute("num_scan_inputs".into()))?;
        let graph: &Graph = node.body_graph("body")?;
        let states = states_and_scanned.checked_sub(scanned);
        let states = states.filter(|states| {
            graph.inputs.len() == states_and_scanned
                && graph.outputs.len() >= *states
                && node.output_count() <= graph.outputs.len()
        });
        let states = states.ok_or(Reject::Form(
            "its body has other inputs or outputs than the node",
        ))?;
        let stacked = (states..graph.outputs.len()).map(|output| declared(graph, output));
        Ok(Self {
            body: node.body("body")?,
            states,
            scanned,
            stacked: stacked.collect::<Result<_, _>>()?,
        })
    }

    /// Runs the body for each of `length` slices of `scanned`, which lie along the axes that are said; `backwards`
    /// inputs are read from the last slice on.
    fn run(
        &self,
        cx: &Emit,
        x: &Inputs<'_>,
        mut state: Vec<Tensor<'static>>,
        scanned: &[Scanned<'_>],
        length: usize,
    ) -> Result<(Vec<Tensor<'static>>, Vec<Stack>)> {
        let mut stacks: Vec<_> = self.stacked.iter().map(Stack::new).collect();
        for trip in 0..length {
            let mut inputs = std::mem::take(&mut state);
            for input in scanned {
                let at = if input.backwards {
                    length - 1 - trip
                } else {
                    trip
                };
                let slice = cx.slice_axis(input.array, input.axis, at, at + 1)?;
                inputs.push(Tensor::from_array(cx.squeeze(&slice, &[input.axis])?));
            }
            let mut outputs = x.run(self.body, inputs)?.into_iter();
            state.extend(outputs.by_ref().take(self.states));
            for (stack, output) in stacks.iter_mut().zip(outputs) {
                stack.push(output.array(cx)?.clone())?;
            }
            settle(cx, trip as u64 + 1, &state, &stacks)?;
        }
        Ok((state, stacks))
    }
}

/// An input that is read slice by slice.
struct Scanned<'a> {
    array: &'a Array,
    axis: usize,
    backwards: bool,
}

/// One direction per scan input or output: 0 forwards, 1 backwards.
fn directions(node: &NodeRef<'_>, name: &str, count: usize) -> Result<Vec<bool>, Reject> {
    let directions = node.ints(name)?.unwrap_or_default();
    if !directions.iter().all(|d| matches!(d, 0 | 1)) || directions.len() > count {
        return node.bad_attribute(name);
    }
    Ok((0..count)
        .map(|i| directions.get(i).is_some_and(|d| *d == 1))
        .collect())
}

/// One axis per scan input or output.
fn scan_axes(node: &NodeRef<'_>, name: &str, count: usize) -> Result<Vec<i64>, Reject> {
    let axes = node.ints(name)?.unwrap_or_default();
    if axes.len() > count {
        return node.bad_attribute(name);
    }
    Ok((0..count)
        .map(|i| axes.get(i).copied().unwrap_or_default())
        .collect())
}

fn scan(node: &NodeRef<'_>) -> Planned {
    let scan = Scan::of(node, node.input_count())?;
    let input_axes = scan_axes(node, "scan_input_axes", scan.scanned)?;
    let backwards = directions(node, "scan_input_directions", scan.scanned)?;
    let output_axes = scan_axes(node, "scan_output_axes", scan.stacked.len())?;
    let prepends = directions(node, "scan_output_directions", scan.stacked.len())?;
    lower(move |cx, x| {
        let mut scanned = Vec::with_capacity(scan.scanned);
        for (i, (axis, backwards)) in input_axes.iter().zip(&backwards).enumerate() {
            let array = x.array(scan.states + i)?;
            scanned.push(Scanned {
                array,
                axis: ops::axis(*axis, array.rank())?,
                backwards: *backwards,
            });
        }
        let lengths: Vec<_> = scanned.iter().map(|s| s.array.dim(s.axis)).collect();
        let length = lengths.first().copied().unwrap_or_default();
        if lengths.iter().any(|l| *l != length) {
            return Err(Error::invalid(format!(
                "the scan inputs have different lengths: {lengths:?}"
            )));
        }
        let state = (0..scan.states).map(|input| x.owned(input));
        let (state, stacks) = scan.run(cx, x, state.collect::<Result<_>>()?, &scanned, length)?;
        let mut outputs: Vec<_> = state.into_iter().map(Some).collect();
        for (i, mut stack) in stacks.into_iter().enumerate() {
            if prepends[i] {
                stack.reverse();
            }
            let array = stack.finish(cx, output_axes[i])?;
            outputs.push(Some(Tensor::from_array(array)));
        }
        Ok(outputs)
    })
}

/// Opset 8: every input has a batch axis first and its sequence axis second; sequences may differ in length.
fn scan_batches(node: &NodeRef<'_>) -> Planned {
    let scan = Scan::of(node, node.input_count().saturating_sub(1))?;
    let backwards = directions(node, "directions", scan.scanned)?;
    let lengths_given = node.has_input(0);
    let plan = lower(move |cx, x| {
        let first = 1 + scan.states;
        let (batch, longest) = match x.dims(first)? {
            [batch, longest, ..] => (*batch, *longest),
            dims => {
                return Err(Error::invalid(format!(
                    "a scan input of shape {dims:?} has no batch and sequence axes"
                )));
            }
        };
        let fits = |dims: &[usize], axes: &[usize]| dims.starts_with(axes);
        for input in 1..first + scan.scanned {
            let axes = [batch, longest];
            let axes = if input < first { &axes[..1] } else { &axes[..] };
            if !fits(x.dims(input)?, axes) {
                return Err(Error::invalid(format!(
                    "input {input} of shape {:?} does not start with {axes:?} like the first scan input",
                    x.dims(input)?
                )));
            }
        }
        let lengths = match x.has(0) {
            true => lengths(x.ints(0)?, batch, longest)?,
            false => vec![longest; batch],
        };
        let mut states: Vec<Vec<Array>> = vec![Vec::new(); scan.states];
        let mut stacked: Vec<Vec<Array>> = vec![Vec::new(); scan.stacked.len()];
        for (row, length) in lengths.iter().enumerate() {
            let of_row = |input: usize| -> Result<Array> {
                cx.squeeze(&cx.slice_axis(x.array(input)?, 0, row, row + 1)?, &[0])
            };
            let state = (1..first).map(|input| of_row(input).map(Tensor::from_array));
            let rows = (first..first + scan.scanned).map(of_row);
            let rows = rows.collect::<Result<Vec<_>>>()?;
            let scanned = rows.iter().zip(&backwards);
            let scanned: Vec<_> = scanned
                .map(|(array, backwards)| Scanned {
                    array,
                    axis: 0,
                    backwards: *backwards,
                })
                .collect();
            let state = state.collect::<Result<_>>()?;
            let (state, stacks) = scan.run(cx, x, state, &scanned, *length)?;
            for (all, state) in states.iter_mut().zip(state) {
                all.push(state.array(cx)?.clone());
            }
            for (all, stack) in stacked.iter_mut().zip(stacks) {
                all.push(stack.finish_padded(cx, longest)?);
            }
        }
        if batch == 0 {
            return Err(Error::invalid("a Scan of opset 8 over an empty batch"));
        }
        let join = |rows: Vec<Array>| cx.stack(&rows.iter().collect::<Vec<_>>(), 0).map(Some);
        states
            .into_iter()
            .chain(stacked)
            .map(join)
            .collect::<Result<Vec<_>>>()
    })?;
    Ok(if lengths_given {
        plan.reads(&[0])
    } else {
        plan
    })
}

fn lengths(given: &[i64], batch: usize, longest: usize) -> Result<Vec<usize>> {
    let length = |v: &i64| usize::try_from(*v).ok().filter(|v| *v <= longest);
    let lengths: Option<Vec<_>> = given.iter().map(length).collect();
    lengths.filter(|l| l.len() == batch).ok_or_else(|| {
        Error::invalid(format!(
            "sequence lengths {given:?} do not fit {batch} sequences of at most {longest}"
        ))
    })
}

#[cfg(test)]
mod tests {
    use crate::device::DType::F32;
    use crate::error::Error;
    use crate::ops::Reject;
    use crate::ops::testing::{Body, Case, f32s, i64s};

    /// total = total + element; scans the total.
    fn sum() -> Body {
        Body::new()
            .input("total", F32, Some(&[2]))
            .input("element", F32, Some(&[2]))
            .node("Add", &["total", "element"], "sum", F32)
            .outputs(&["sum", "sum"])
    }

    fn case() -> Case {
        Case::new("Scan", 16)
            .input(f32s(&[2], &[0.0, 10.0]))
            .output(F32)
            .output(F32)
            .int("num_scan_inputs", 1)
            .body("body", sum())
    }

    const ROWS: [f32; 6] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];

    #[test]
    fn slices_are_read_in_order() {
        let out = case().input(f32s(&[3, 2], &ROWS)).run();
        out[0].assert_close(&[2], &[9.0, 22.0], 0.0);
        out[1].assert_close(&[3, 2], &[1.0, 12.0, 4.0, 16.0, 9.0, 22.0], 0.0);
    }

    #[test]
    fn axes_and_directions() {
        let out = case()
            .input(f32s(&[2, 3], &ROWS))
            .ints("scan_input_axes", &[-1])
            .ints("scan_input_directions", &[1])
            .ints("scan_output_axes", &[-1])
            .ints("scan_output_directions", &[1])
            .run();
        // Columns from the last on: [3, 6], [2, 5], [1, 4]; the newest total comes first.
        out[0].assert_close(&[2], &[6.0, 25.0], 0.0);
        out[1].assert_close(&[2, 3], &[6.0, 5.0, 3.0, 25.0, 21.0, 16.0], 0.0);
    }

    #[test]
    fn nothing_to_scan_gives_empty_stacks() {
        let body = Body::new()
            .input("total", F32, Some(&[2]))
            .input("element", F32, Some(&[3, 4]))
            .outputs(&["total", "element"]);
        let of = |axis| {
            Case::new("Scan", 16)
                .input(f32s(&[2], &[0.0, 10.0]))
                .input(f32s(&[0, 3, 4], &[]))
                .output(F32)
                .output(F32)
                .int("num_scan_inputs", 1)
                .ints("scan_output_axes", &[axis])
                .body("body", body.clone())
                .run()
        };
        of(0)[0].assert_close(&[2], &[0.0, 10.0], 0.0);
        assert_eq!(of(0)[1].dims(), [0, 3, 4]);
        assert_eq!(of(-1)[1].dims(), [3, 4, 0]);
    }

    #[test]
    fn batches_of_opset_8_have_lengths_of_their_own() {
        let of = |lengths| {
            let case = Case::new("Scan", 8);
            let case = match lengths {
                Some(lengths) => case.input(i64s(&[2], lengths)),
                None => case.omitted(),
            };
            case.input(f32s(&[2, 2], &[0.0, 0.0, 100.0, 100.0]))
                .input(f32s(&[2, 2, 2], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]))
                .output(F32)
                .output(F32)
                .int("num_scan_inputs", 1)
                .ints("directions", &[1])
                .body("body", sum())
        };
        let out = of(None).run();
        out[0].assert_close(&[2, 2], &[4.0, 6.0, 112.0, 114.0], 0.0);
        let all = [3.0, 4.0, 4.0, 6.0, 107.0, 108.0, 112.0, 114.0];
        out[1].assert_close(&[2, 2, 2], &all, 0.0);
        let out = of(Some(&[2, 1])).run();
        out[0].assert_close(&[2, 2], &[4.0, 6.0, 105.0, 106.0], 0.0);
        let padded = [3.0, 4.0, 4.0, 6.0, 105.0, 106.0, 0.0, 0.0];
        out[1].assert_close(&[2, 2, 2], &padded, 0.0);
        let error = of(Some(&[2, 3])).try_run().err().unwrap();
        assert!(matches!(error.root(), Error::InvalidArgument(_)), "{error}");
    }

    #[test]
    fn what_does_not_fit_is_refused_or_an_error() {
        let two = case()
            .input(f32s(&[3, 2], &ROWS))
            .input(f32s(&[2, 2], &[0.0; 4]));
        assert!(matches!(two.reject(), Reject::Form(_)));
        let bad = case()
            .input(f32s(&[3, 2], &ROWS))
            .ints("scan_input_directions", &[2]);
        assert_eq!(
            bad.reject(),
            Reject::Attribute("scan_input_directions".into())
        );
        let error = case()
            .input(f32s(&[3, 2], &ROWS))
            .ints("scan_input_axes", &[2])
            .try_run();
        assert!(matches!(
            error.err().unwrap().root(),
            Error::InvalidArgument(_)
        ));
    }
}
