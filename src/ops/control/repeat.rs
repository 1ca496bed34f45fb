//! `Loop`.
use super::stacked::{Stack, declared};
use super::{only, settle};
use crate::device::DType;
use crate::error::Result;
use crate::ops::{HostTensor, NodeRef, OpDef, Planned, Reject, Tensor, lower, op};

pub(in crate::ops) const OPS: &[OpDef] = &[op!("Loop", 1.., [I64, BOOL, ANY], repeat)];

const CONDITION: &str = "the condition";

fn repeat(node: &NodeRef<'_>) -> Planned {
    let carried = node.input_count().saturating_sub(2);
    let graph = node.body_graph("body")?;
    let body = node.body("body")?;
    let fits = graph.inputs.len() == 2 + carried && graph.outputs.len() > carried;
    if !fits || node.output_count() >= graph.outputs.len() {
        return Err(Reject::Form(
            "its body has other inputs or outputs than the node",
        ));
    }
    let scanned: Vec<_> = (1 + carried..graph.outputs.len())
        .map(|output| declared(graph, output))
        .collect::<Result<_, _>>()?;
    let given: Vec<usize> = (0..2).filter(|i| node.has_input(*i)).collect();
    let plan = lower(move |cx, x| {
        let trips = match x.has(0) {
            true => only(x.host(0)?, "the trip count")?,
            false => i64::MAX,
        };
        let mut go = !x.has(1) || only(x.host(1)?, CONDITION)? != 0;
        let mut state = (2..2 + carried)
            .map(|input| x.owned(input))
            .collect::<Result<Vec<_>>>()?;
        let mut stacks: Vec<_> = scanned.iter().map(Stack::new).collect();
        let mut trip = 0;
        while go && trip < trips {
            let number = HostTensor::ints(DType::I64, vec![], vec![trip]);
            let condition = HostTensor::ints(DType::Bool, vec![], vec![1]);
            let mut inputs = vec![Tensor::from_host(number), Tensor::from_host(condition)];
            inputs.append(&mut state);
            let mut outputs = x.run(body, inputs)?.into_iter();
            if let Some(condition) = outputs.next() {
                go = only(condition.read(cx)?, CONDITION)? != 0;
            }
            state.extend(outputs.by_ref().take(carried));
            for (stack, output) in stacks.iter_mut().zip(outputs) {
                stack.push(output.array(cx)?.clone())?;
            }
            trip += 1;
            settle(cx, trip.unsigned_abs(), &state, &stacks)?;
        }
        let mut outputs: Vec<_> = state.into_iter().map(Some).collect();
        for stack in stacks {
            outputs.push(Some(Tensor::from_array(stack.finish(cx, 0)?)));
        }
        Ok(outputs)
    })?;
    Ok(plan.reads(&given))
}

#[cfg(test)]
mod tests {
    use crate::device::DType::{self, F32, I64};
    use crate::error::Error;
    use crate::ops::testing::{Body, Case, Data, f32s, i64s, ints};
    use crate::ops::{Output, Reject};

    /// total = total + number; goes on while total < 3; scans the total and its double.
    fn body() -> Body {
        Body::new()
            .input("number", I64, Some(&[]))
            .input("go", DType::Bool, Some(&[]))
            .input("total", I64, Some(&[]))
            .constant("three", i64s(&[], &[3]))
            .node("Add", &["total", "number"], "sum", I64)
            .node("Less", &["sum", "three"], "more", DType::Bool)
            .node("Add", &["sum", "sum"], "double", I64)
            .outputs(&["more", "sum", "sum", "double"])
    }

    fn case(trips: Option<Data>, condition: Option<Data>) -> Case {
        let given = |case: Case, data: Option<Data>| match data {
            Some(data) => case.input(data),
            None => case.omitted(),
        };
        given(given(Case::new("Loop", 16), trips), condition)
            .input(i64s(&[], &[0]))
            .output(I64)
            .output(I64)
            .output(I64)
            .body("body", body())
    }

    fn truth(value: i64) -> Option<Data> {
        Some(ints(DType::Bool, &[1], &[value]))
    }

    fn check(outputs: &[Output], total: i64, scanned: &[i64]) {
        assert_eq!(outputs[0].ints(), [total]);
        assert_eq!(outputs[1].dims(), [i64::try_from(scanned.len()).unwrap()]);
        assert_eq!(outputs[1].ints(), scanned);
        let doubled: Vec<_> = scanned.iter().map(|v| v * 2).collect();
        assert_eq!(outputs[2].ints(), doubled);
    }

    #[test]
    fn it_ends_with_the_trip_count_or_the_condition() {
        check(&case(Some(i64s(&[], &[2])), truth(1)).run(), 1, &[0, 1]);
        check(&case(Some(i64s(&[1], &[9])), truth(1)).run(), 3, &[0, 1, 3]);
        check(&case(None, truth(1)).run(), 3, &[0, 1, 3]);
        check(&case(Some(i64s(&[], &[3])), None).run(), 3, &[0, 1, 3]);
        check(&case(None, None).run(), 3, &[0, 1, 3]);
    }

    #[test]
    fn without_iterations_states_pass_through_and_scans_are_empty() {
        check(&case(Some(i64s(&[], &[0])), truth(1)).run(), 0, &[]);
        check(&case(Some(i64s(&[], &[-1])), truth(1)).run(), 0, &[]);
        check(&case(Some(i64s(&[], &[5])), truth(0)).run(), 0, &[]);
    }

    #[test]
    fn states_may_change_their_shape() {
        let body = Body::new()
            .input("number", I64, Some(&[]))
            .input("go", DType::Bool, Some(&[]))
            .input("x", F32, None)
            .node_with("Concat", &["x", "x"], "xx", F32, &[("axis", 0)])
            .outputs(&["go", "xx"]);
        let out = Case::new("Loop", 13)
            .input(i64s(&[], &[3]))
            .omitted()
            .input(f32s(&[1], &[7.0]))
            .output(F32)
            .body("body", body)
            .run();
        out[0].assert_close(&[8], &[7.0; 8], 0.0);
    }

    #[test]
    fn long_loops_stay_exact() {
        let body = Body::new()
            .input("number", I64, Some(&[]))
            .input("go", DType::Bool, Some(&[]))
            .input("x", F32, None)
            .outer("step", F32)
            .node("Add", &["x", "step"], "y", F32)
            .outputs(&["go", "y", "y"]);
        let out = Case::new("Loop", 13)
            .input(i64s(&[], &[1000]))
            .omitted()
            .input(f32s(&[], &[0.0]))
            .output(F32)
            .output(F32)
            .capture("step", f32s(&[], &[0.5]))
            .body("body", body)
            .run();
        out[0].assert_close(&[], &[500.0], 0.0);
        assert_eq!(out[1].dims(), [1000]);
        assert_eq!(out[1].floats()[999], 500.0);
    }

    #[test]
    fn bad_scalars_are_errors() {
        let error = case(Some(i64s(&[2], &[1, 1])), None).try_run();
        let error = error.err().unwrap();
        assert!(matches!(error.root(), Error::InvalidArgument(_)), "{error}");
    }

    #[test]
    fn a_body_of_other_arity_is_refused() {
        let case = Case::new("Loop", 13)
            .input(i64s(&[], &[1]))
            .omitted()
            .body("body", body());
        assert!(matches!(case.reject(), Reject::Form(_)));
    }
}
