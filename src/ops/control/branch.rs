//! `If`.
use super::only;
use crate::ops::{NodeRef, OpDef, Planned, lower, op};

pub(in crate::ops) const OPS: &[OpDef] = &[op!("If", 1.., [BOOL], branch)];

fn branch(node: &NodeRef<'_>) -> Planned {
    let then = node.body("then_branch")?;
    let otherwise = node.body("else_branch")?;
    let plan = lower(move |_, x| {
        let condition = only(x.host(0)?, "the condition")? != 0;
        let body = if condition { then } else { otherwise };
        let outputs = x.run(body, Vec::new())?;
        Ok(outputs.into_iter().map(Some).collect::<Vec<_>>())
    })?;
    Ok(plan.reads(&[0]))
}

#[cfg(test)]
mod tests {
    use crate::device::DType::{self, F32, I64};
    use crate::error::Error;
    use crate::ops::Reject;
    use crate::ops::testing::{Body, Case, Data, f32s, ints};

    fn case(condition: Data) -> Case {
        let then = Body::new()
            .outer("x", F32)
            .node("Add", &["x", "x"], "y", F32)
            .outputs(&["y"]);
        // The other branch hands on an outer value, under another shape, and a constant of its own.
        let otherwise = Body::new()
            .constant("axes", ints(I64, &[1], &[0]))
            .outer("x", F32)
            .node("Unsqueeze", &["x", "axes"], "y", F32)
            .outputs(&["y"]);
        Case::new("If", 19)
            .given(false, condition)
            .output(F32)
            .capture("x", f32s(&[2], &[1.0, 2.0]))
            .body("then_branch", then)
            .body("else_branch", otherwise)
    }

    fn truth(dims: &[usize], values: &[i64]) -> Data {
        ints(DType::Bool, dims, values)
    }

    #[test]
    fn the_condition_chooses_the_branch() {
        case(truth(&[], &[1])).run()[0].assert_close(&[2], &[2.0, 4.0], 0.0);
        case(truth(&[1], &[0])).run()[0].assert_close(&[1, 2], &[1.0, 2.0], 0.0);
    }

    #[test]
    fn a_condition_of_several_elements_is_an_error() {
        let error = case(truth(&[2], &[1, 1])).try_run().err().unwrap();
        assert!(matches!(error.root(), Error::InvalidArgument(_)), "{error}");
    }

    #[test]
    fn a_body_that_cannot_be_planned_refuses_the_node() {
        let body = |op: &str| {
            Body::new()
                .outer("x", F32)
                .node(op, &["x"], "y", F32)
                .outputs(&["y"])
        };
        let case = Case::new("If", 19)
            .input(truth(&[], &[1]))
            .output(F32)
            .capture("x", f32s(&[1], &[1.0]))
            .body("then_branch", body("Abs"))
            .body("else_branch", body("NoSuchOperator"));
        assert_eq!(
            case.reject(),
            Reject::Body("NoSuchOperator".into(), Box::new(Reject::Op))
        );
    }

    #[test]
    fn a_missing_branch_is_refused() {
        let body = Body::new().constant("c", f32s(&[], &[1.0])).outputs(&["c"]);
        let case = Case::new("If", 1)
            .input(truth(&[], &[1]))
            .output(F32)
            .body("then_branch", body);
        assert_eq!(case.reject(), Reject::Attribute("else_branch".into()));
    }
}
