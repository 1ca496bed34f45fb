//! CumSum and CumProd.
use super::accumulator;
use crate::device::{Array, Emit};
use crate::error::{Error, Result};
use crate::ops::{NodeRef, OpDef, Planned, lower, op};

pub(in crate::ops) const OPS: &[OpDef] = &[
    op!("CumSum", 11.., [NUMERIC, INDEX], |node| running(
        node,
        Emit::cumsum
    )),
    op!("CumProd", 26.., [NUMERIC, INDEX], |node| running(
        node,
        Emit::cumprod
    )),
];

type EmitRunning = fn(&Emit, &Array, usize, bool, bool) -> Result<Array>;

fn running(node: &NodeRef<'_>, emit: EmitRunning) -> Planned {
    let dtype = node.dtype(0)?;
    let exclusive = node.flag("exclusive", false)?;
    let reverse = node.flag("reverse", false)?;
    let plan = lower(move |cx, x| {
        let a = x.array(0)?;
        let [axis] = x.ints(1)? else {
            return Err(Error::invalid("input 1 must hold one axis"));
        };
        let axis = crate::ops::axis(*axis, a.rank())?;
        if a.size() == 0 {
            return Ok(a.clone());
        }
        let wide = cx.astype(a, accumulator(dtype))?;
        cx.astype(&emit(cx, &wide, axis, reverse, !exclusive)?, dtype)
    })?;
    Ok(plan.reads(&[1]))
}

#[cfg(test)]
mod tests {
    use crate::device::DType;
    use crate::ops::testing::{Case, Data, f32s, floats, i64s, ints};

    fn sum(data: Data, axis: i64) -> Case {
        Case::new("CumSum", 14)
            .input(data)
            .input(i64s(&[], &[axis]))
    }

    #[test]
    fn directions_and_exclusion() {
        let m = || f32s(&[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        let of = |case: Case| case.run()[0].floats();
        assert_eq!(of(sum(m(), 0)), [1.0, 2.0, 3.0, 5.0, 7.0, 9.0]);
        assert_eq!(of(sum(m(), -1)), [1.0, 3.0, 6.0, 4.0, 9.0, 15.0]);
        assert_eq!(
            of(sum(m(), 1).int("exclusive", 1)),
            [0.0, 1.0, 3.0, 0.0, 4.0, 9.0]
        );
        assert_eq!(
            of(sum(m(), 1).int("reverse", 1)),
            [6.0, 5.0, 3.0, 15.0, 11.0, 6.0]
        );
        let both = sum(m(), 1).int("reverse", 1).int("exclusive", 1);
        assert_eq!(of(both), [5.0, 3.0, 0.0, 11.0, 6.0, 0.0]);
        assert_eq!(
            of(sum(f32s(&[1, 2], &[1.0, 2.0]), -2).int("exclusive", 1)),
            [0.0, 0.0]
        );
        let products = Case::new("CumProd", 26)
            .input(m())
            .constant(i64s(&[1], &[1]));
        assert_eq!(of(products), [1.0, 2.0, 6.0, 4.0, 20.0, 120.0]);
    }

    #[test]
    fn types_edges_and_failures() {
        let big = (1 << 53) + 1;
        assert_eq!(
            sum(i64s(&[2], &[big, 2]), 0).run()[0].ints(),
            [big, big + 2]
        );
        let wrapped = sum(ints(DType::I32, &[2], &[i64::from(i32::MAX), 1]), 0).run();
        assert_eq!(
            wrapped[0].ints(),
            [i64::from(i32::MAX), i64::from(i32::MIN)]
        );
        let halves = sum(floats(DType::F16, &[3000], &[1.0; 3000]), 0).run();
        assert_eq!(halves[0].floats()[2999], 3000.0);
        sum(f32s(&[0, 2], &[]), 0).run()[0].assert_close(&[0, 2], &[], 0.0);
        let error = sum(f32s(&[], &[1.0]), 0).try_run().err().expect("it fails");
        assert!(error.to_string().contains("out of range"));
    }
}
