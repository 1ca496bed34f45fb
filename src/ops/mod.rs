//! The operators: an owned graph, the op table, and programs that run what was planned.
//!
//! # How to add an operator
//!
//! 1. Find its family folder. The file is named after the operator in snake case, or after the group it shares code with.
//! 2. Write `fn name(node: &NodeRef<'_>) -> Planned`. Read every attribute through `node` first: what cannot be
//!    done is a [`Reject`]; an attribute that is never read refuses the node.
//! 3. End with `lower(move |cx, x| ..)`. The closure owns what it needs; it sees the inputs as arrays
//!    (`x.array(0)?`), or as numbers for those declared with `.reads(&[1])`. Calls on `cx` are mlx-c's, minus the prefix.
//! 4. If shapes are computed with it, add `.or_host(|h| ..)`.
//! 5. Add one row to the file's `OPS`: name, opset range, element types per input, function. A new file is named in the
//!    family's `FAMILY`.
//! 6. Indices that come from a value go through [`index`]: MLX does not check them.
//! 7. Test beside the function: a refusal per constraint, a value per form and dtype class, an edge (empty, rank 0,
//!    negative axis).
mod control;
mod elementwise;
mod host;
pub(crate) mod index;
pub(crate) mod ir;
mod linalg;
mod nn;
mod node;
mod plan;
mod program;
mod quantize;
mod random;
mod recurrent;
mod reduce;
mod reject;
mod shape;
#[cfg(test)]
mod support;
mod tensor;
#[cfg(test)]
mod testing;
mod vision;

pub(crate) use host::{HostData, HostTensor};
pub(crate) use node::{BodyId, NodeRef, Weight};
pub(crate) use plan::{Inputs, Outputs, Plan, Planned, lower};
pub(crate) use program::{Loaded, Output, Program, Weights};
pub(crate) use reject::Reject;
pub(crate) use tensor::{Input, Tensor};

use crate::device::Types;
use crate::error::{Error, Result};
use std::collections::HashMap;
use std::ops::RangeInclusive;
use std::sync::OnceLock;

/// One row of the op table.
pub(crate) struct OpDef {
    pub(crate) name: &'static str,
    /// Empty for the ONNX domain.
    pub(crate) domain: &'static str,
    /// The since-versions that this row plans.
    pub(crate) opsets: RangeInclusive<u32>,
    /// Element types per input; the last entry holds for all further inputs.
    pub(crate) types: &'static [Types],
    pub(crate) plan: fn(&NodeRef<'_>) -> Planned,
    /// Where the row is written.
    pub(crate) file: &'static str,
}

/// The domain of ONNX itself.
const ONNX: &str = "";
/// The newest opset of the ONNX domain whose operators this table knows: what a later one changes is not guessed.
const NEWEST_OPSET: u32 = 28;
/// The domain of ONNX Runtime's contrib operators.
const MICROSOFT: &str = "com.microsoft";

/// A row: `op!("Softmax", 13.., [FLOAT], softmax)`, or of another domain `op!(MICROSOFT "Gelu", 1.., [FLOAT], gelu)`.
macro_rules! op {
    ($name:literal, $lo:literal.., $($rest:tt)*) => { op!(ONNX $name, $lo..=4294967295, $($rest)*) };
    ($name:literal, $lo:literal..=$hi:literal, $($rest:tt)*) => { op!(ONNX $name, $lo..=$hi, $($rest)*) };
    ($domain:ident $name:literal, $lo:literal.., $($rest:tt)*) => { op!($domain $name, $lo..=4294967295, $($rest)*) };
    ($domain:ident $name:literal, $lo:literal..=$hi:literal, [$($t:ident),*], $plan:expr) => {
        $crate::ops::OpDef {
            name: $name,
            domain: $crate::ops::$domain,
            opsets: $lo..=$hi,
            types: &[$($crate::device::Types::$t),*],
            plan: $plan,
            file: file!(),
        }
    };
}
use op;

static FAMILIES: &[&[&[OpDef]]] = &[
    control::FAMILY,
    elementwise::FAMILY,
    linalg::FAMILY,
    nn::FAMILY,
    quantize::FAMILY,
    random::FAMILY,
    recurrent::FAMILY,
    reduce::FAMILY,
    shape::FAMILY,
    vision::FAMILY,
];

/// All rows.
pub(crate) fn table() -> impl Iterator<Item = &'static OpDef> {
    FAMILIES.iter().copied().flatten().copied().flatten()
}

/// Rows of a domain and name.
fn rows<'a>(domain: &'a str, name: &str) -> impl Iterator<Item = &'static OpDef> + use<'a> {
    static INDEX: OnceLock<HashMap<&'static str, Vec<&'static OpDef>>> = OnceLock::new();
    let index = INDEX.get_or_init(|| {
        let mut index: HashMap<_, Vec<_>> = HashMap::new();
        for row in table() {
            index.entry(row.name).or_default().push(row);
        }
        index
    });
    let named = index
        .get(name)
        .map_or(&[][..], Vec::as_slice)
        .iter()
        .copied();
    named.filter(move |row| row.domain == domain)
}

/// Plans one node: the claim and the lowering in one.
pub(crate) fn plan(graph: &ir::Graph, id: ir::NodeId) -> Result<Plan, Reject> {
    let node = NodeRef::new(graph, graph.node(id));
    let mut named = rows(&graph.node(id).domain, node.op_type()).peekable();
    if named.peek().is_none() {
        return Err(Reject::Op);
    }
    node.all_tensors()?;
    let opset = node.opset();
    let row = named
        .find(|row| row.opsets.contains(&opset))
        .filter(|row| row.domain != ONNX || opset <= NEWEST_OPSET)
        .ok_or(Reject::Opset(opset))?;
    for input in (0..node.input_count()).filter(|i| node.has_input(*i)) {
        let dtype = node.dtype(input)?;
        let types = row
            .types
            .get(input)
            .or(row.types.last())
            .copied()
            .unwrap_or(Types::ANY);
        if !types.contains(dtype.set()) {
            return Err(Reject::Type {
                input,
                found: Some(dtype),
            });
        }
    }
    let plan = (row.plan)(&node)?;
    node.all_read()?;
    Ok(plan.complete(node))
}

/// An axis of a tensor of `rank` axes; negative ones count from the end.
pub(crate) fn axis(axis: i64, rank: usize) -> Result<usize> {
    let size = i64::try_from(rank).unwrap_or(i64::MAX);
    let wrapped = if axis < 0 { axis + size } else { axis };
    let found = usize::try_from(wrapped).ok().filter(|a| *a < rank);
    found.ok_or_else(|| {
        Error::invalid(format!(
            "axis {axis} is out of range for a tensor of rank {rank}"
        ))
    })
}

/// Several axes, sorted, each once.
pub(crate) fn axes(axes: &[i64], rank: usize) -> Result<Vec<usize>> {
    let mut sorted = axes
        .iter()
        .map(|a| axis(*a, rank))
        .collect::<Result<Vec<_>>>()?;
    sorted.sort_unstable();
    let count = sorted.len();
    sorted.dedup();
    if sorted.len() == count {
        Ok(sorted)
    } else {
        Err(Error::invalid(format!("axes {axes:?} name one twice")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn later_versions_are_not_guessed() {
        use super::testing::{Case, f32s};
        let case = |opset| Case::new("Relu", opset).input(f32s(&[1], &[1.0]));
        assert_eq!(case(28).run()[0].floats(), [1.0]);
        assert_eq!(case(29).reject(), Reject::Opset(29));
    }

    #[test]
    fn rows_of_one_name_do_not_overlap() {
        let rows: Vec<_> = table().collect();
        for (i, a) in rows.iter().enumerate() {
            for b in &rows[i + 1..] {
                let apart = a.opsets.end() < b.opsets.start() || b.opsets.end() < a.opsets.start();
                assert!(
                    apart || (a.domain, a.name) != (b.domain, b.name),
                    "{} has overlapping rows",
                    a.name
                );
            }
        }
    }
}
