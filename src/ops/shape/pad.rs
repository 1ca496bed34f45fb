//! Pad.
use crate::device::{Array, DType, Emit};
use crate::error::{Error, Result};
use crate::ops::{self, Inputs, NodeRef, OpDef, Planned, Reject, lower, op};

pub(in crate::ops) const OPS: &[OpDef] = &[
    op!("Pad", 1..=1, [FLOAT64], |node| by_attributes(
        node, "paddings"
    )),
    op!("Pad", 2..=10, [FLOAT64], |node| by_attributes(node, "pads")),
    op!("Pad", 11..=18, [ALL, I64, ALL, INDEX], |node| {
        match Mode::of(node)? {
            Mode::Wrap => node.bad_attribute("mode"),
            mode => by_inputs(node, mode),
        }
    }),
    op!("Pad", 19.., [ALL, I64, ALL, INDEX], |node| by_inputs(
        node,
        Mode::of(node)?
    )),
    op!(MICROSOFT "Pad", 1.., [ANY, I64, ANY], |node| by_inputs(
        node,
        Mode::of(node)?
    )),
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    Constant,
    Reflect,
    Edge,
    Wrap,
}

impl Mode {
    fn of(node: &NodeRef<'_>) -> Result<Self, Reject> {
        match node.string_or("mode", "constant")? {
            "constant" => Ok(Self::Constant),
            "reflect" => Ok(Self::Reflect),
            "edge" => Ok(Self::Edge),
            "wrap" => Ok(Self::Wrap),
            _ => node.bad_attribute("mode"),
        }
    }
}

fn by_attributes(node: &NodeRef<'_>, name: &str) -> Planned {
    let mode = Mode::of(node)?;
    if mode == Mode::Wrap {
        return node.bad_attribute("mode");
    }
    let value = node.float_or("value", 0.0)?;
    let pads = node.ints(name)?;
    let pads = pads.ok_or_else(|| Reject::Attribute(name.into()))?.to_vec();
    lower(move |cx, x| {
        let a = x.array(0)?;
        let value = || cx.float(value.into(), a.dtype());
        pad(cx, a, &extents(&a.dims(), &pads, None)?, mode, value)
    })
}

fn by_inputs(node: &NodeRef<'_>, mode: Mode) -> Planned {
    if !node.has_input(1) {
        return Err(Reject::Arity(node.input_count()));
    }
    let reads: &[usize] = if node.has_input(3) { &[1, 3] } else { &[1] };
    let plan = lower(move |cx, x| {
        let a = x.array(0)?;
        let axes = if x.has(3) { Some(x.ints(3)?) } else { None };
        let value = || value(cx, x, a.dtype());
        pad(cx, a, &extents(&a.dims(), x.ints(1)?, axes)?, mode, value)
    })?;
    Ok(plan.reads(reads))
}

/// What constant padding is made of, as a scalar.
fn value(cx: &Emit, x: &Inputs<'_>, dtype: DType) -> Result<Array> {
    match x.optional(2)? {
        None => cx.scalar(0.0, dtype),
        Some(value) if value.size() == 1 => cx.reshape(value, &[]),
        Some(value) => Err(Error::invalid(format!(
            "constant_value in input 2 has {} elements instead of one",
            value.size()
        ))),
    }
}

/// What becomes of one axis: `from..to` of it is kept, and padded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Extent {
    from: usize,
    to: usize,
    low: usize,
    high: usize,
}

impl Extent {
    fn kept(self) -> usize {
        self.to - self.from
    }

    fn size(self) -> usize {
        self.low + self.kept() + self.high
    }

    fn pads(self) -> bool {
        self.low > 0 || self.high > 0
    }
}

/// `pads` holds what is added before each of the axes, then what is added after them; negative numbers take away.
fn extents(dims: &[usize], pads: &[i64], axes: Option<&[i64]>) -> Result<Vec<Extent>> {
    let rank = dims.len();
    let axes = match axes {
        None => (0..rank).collect(),
        Some(axes) => {
            ops::axes(axes, rank)?;
            let wrapped = axes.iter().map(|axis| ops::axis(*axis, rank));
            wrapped.collect::<Result<Vec<_>>>()?
        }
    };
    if pads.len() != 2 * axes.len() {
        return Err(Error::invalid(format!(
            "{} pads are given for {} axes, which take two each",
            pads.len(),
            axes.len()
        )));
    }
    let whole = |dim: &usize| Extent {
        from: 0,
        to: *dim,
        low: 0,
        high: 0,
    };
    let mut out: Vec<_> = dims.iter().map(whole).collect();
    let (before, after) = pads.split_at(axes.len());
    for (axis, (low, high)) in axes.into_iter().zip(before.iter().zip(after)) {
        out[axis] = extent(dims[axis], *low, *high).ok_or_else(|| {
            Error::invalid(format!(
                "axis {axis} of size {} cannot be padded by {low} before and {high} after",
                dims[axis]
            ))
        })?;
    }
    Ok(out)
}

fn extent(dim: usize, low: i64, high: i64) -> Option<Extent> {
    let size = i64::try_from(dim).ok()?;
    let total = size.checked_add(low)?.checked_add(high)?;
    let total = usize::try_from(i32::try_from(total).ok()?).ok()?;
    // What is taken away may reach beyond the other end, into the padding there.
    let from = usize::try_from(low.saturating_neg().clamp(0, size)).ok()?;
    let to = usize::try_from(size.saturating_add(high).clamp(0, size)).ok()?;
    let to = to.max(from);
    let low = usize::try_from(low.max(0)).ok()?.min(total);
    let high = total.checked_sub(low + to - from)?;
    Some(Extent {
        from,
        to,
        low,
        high,
    })
}

fn pad(
    cx: &Emit,
    a: &Array,
    extents: &[Extent],
    mode: Mode,
    value: impl Fn() -> Result<Array>,
) -> Result<Array> {
    let mut kept = a.clone();
    for (axis, extent) in extents.iter().enumerate() {
        if extent.kept() < kept.dim(axis) {
            kept = cx.slice_axis(&kept, axis, extent.from, extent.to)?;
        }
    }
    if !extents.iter().any(|e| e.pads()) {
        return Ok(kept);
    }
    let dims: Vec<_> = extents.iter().map(|e| e.size()).collect();
    if mode == Mode::Constant {
        if kept.size() == 0 {
            return cx.full(&dims, &value()?);
        }
        let low: Vec<_> = extents.iter().map(|e| e.low).collect();
        let high: Vec<_> = extents.iter().map(|e| e.high).collect();
        return cx.pad(&kept, &low, &high, &value()?, c"constant");
    }
    if dims.contains(&0) {
        return cx.zeros(&dims, a.dtype());
    }
    for (axis, extent) in extents.iter().enumerate().filter(|(_, e)| e.pads()) {
        let source = from(extent, mode, axis)?;
        let bytes: Vec<u8> = source.iter().flat_map(|i| i.to_le_bytes()).collect();
        let indices = cx.array_from_bytes(DType::I32, &[source.len()], &bytes)?;
        kept = cx.take(&kept, &indices, axis)?;
    }
    Ok(kept)
}

/// For each index of a padded axis the index of the kept part that it repeats.
fn from(extent: &Extent, mode: Mode, axis: usize) -> Result<Vec<i32>> {
    let int = |v: usize| i32::try_from(v).map_err(|_| Error::internal("an axis out of range"));
    let (size, low, total) = (int(extent.kept())?, int(extent.low)?, int(extent.size())?);
    let last = size - 1;
    if size == 0 {
        return Err(Error::invalid(format!(
            "axis {axis} has no element left that its padding could repeat"
        )));
    }
    if mode == Mode::Reflect && (extent.low.max(extent.high) >= extent.kept()) {
        return Err(Error::invalid(format!(
            "axis {axis} cannot be reflected by {} before and {} after: it has {size} elements",
            extent.low, extent.high
        )));
    }
    let source = |i: i32| match mode {
        Mode::Wrap => i.rem_euclid(size),
        Mode::Reflect if i < 0 => -i,
        Mode::Reflect if i > last => 2 * last - i,
        _ => i.clamp(0, last),
    };
    Ok((-low..total - low).map(source).collect())
}

#[cfg(test)]
mod tests {
    use crate::device::{DType, Types};
    use crate::error::Result;
    use crate::ops::Reject;
    use crate::ops::ir::Attribute;
    use crate::ops::testing::{Case, Data, f32s, floats, i64s, ints};

    fn line(mode: &str, size: i64, low: i64, high: i64) -> Result<Vec<i64>> {
        let data: Vec<_> = (1..=size).collect();
        let case = |constant| {
            let case = Case::new("Pad", 19)
                .string("mode", mode)
                .given(constant, i64s(&[data.len()], &data));
            let out = case.given(constant, i64s(&[2], &[low, high])).try_run()?;
            Ok(out[0].ints())
        };
        let found: Result<_> = case(false);
        assert_eq!(case(true).ok(), found.as_ref().ok().cloned());
        found
    }

    #[test]
    fn each_mode() {
        assert_eq!(line("constant", 3, 2, 1).unwrap(), [0, 0, 1, 2, 3, 0]);
        assert_eq!(line("reflect", 3, 2, 2).unwrap(), [3, 2, 1, 2, 3, 2, 1]);
        assert_eq!(
            line("edge", 3, 2, 5).unwrap(),
            [1, 1, 1, 2, 3, 3, 3, 3, 3, 3]
        );
        assert_eq!(line("wrap", 3, 2, 4).unwrap(), [2, 3, 1, 2, 3, 1, 2, 3, 1]);
        assert_eq!(line("wrap", 1, 2, 1).unwrap(), [1, 1, 1, 1]);
        assert_eq!(line("edge", 3, 0, 0).unwrap(), [1, 2, 3]);
    }

    #[test]
    fn negative_pads_cut_before_others_repeat() {
        assert_eq!(line("constant", 5, -2, 1).unwrap(), [3, 4, 5, 0]);
        assert_eq!(line("reflect", 5, -2, 2).unwrap(), [3, 4, 5, 4, 3]);
        assert_eq!(line("edge", 5, -2, 2).unwrap(), [3, 4, 5, 5, 5]);
        assert_eq!(line("wrap", 5, 2, -2).unwrap(), [2, 3, 1, 2, 3]);
        assert_eq!(line("constant", 2, -3, 4).unwrap(), [0, 0, 0]);
        assert_eq!(line("constant", 2, 4, -3).unwrap(), [0, 0, 0]);
        assert_eq!(line("constant", 3, -1, -2).unwrap(), [0i64; 0]);
    }

    #[test]
    fn pads_that_cannot_be() {
        for (mode, size, low, high) in [
            ("constant", 2, -2, -2),
            ("constant", 2, i64::MAX, i64::MAX),
            ("constant", 2, i64::MIN, i64::MIN),
            ("constant", 2, 1 << 31, 0),
            ("reflect", 3, 3, 0),
            ("reflect", 1, 0, 1),
            ("edge", 0, 1, 0),
            ("wrap", 3, -3, 1),
        ] {
            let error = line(mode, size, low, high).expect_err(mode).to_string();
            assert!(error.contains("axis 0"), "{error}");
        }
    }

    #[test]
    fn several_axes() {
        let data = || f32s(&[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        let run = |mode: &str, pads: &[i64]| {
            let case = Case::new("Pad", 13).string("mode", mode).input(data());
            let out = case.input(i64s(&[pads.len()], pads)).run();
            (out[0].dims().to_vec(), out[0].floats())
        };
        let cut = run("constant", &[0, -1, 1, 2]);
        assert_eq!(cut.0, [3, 4]);
        assert_eq!(
            cut.1,
            [2.0, 3.0, 0.0, 0.0, 5.0, 6.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]
        );
        let corner = run("reflect", &[1, 0, 0, 1]);
        assert_eq!(corner.0, [3, 4]);
        assert_eq!(
            corner.1,
            [4.0, 5.0, 6.0, 5.0, 1.0, 2.0, 3.0, 2.0, 4.0, 5.0, 6.0, 5.0]
        );
    }

    #[test]
    fn axes_and_values_are_inputs() {
        for constant in [false, true] {
            let case = |value: Data, axes: Data| {
                Case::new("Pad", 18)
                    .input(f32s(&[1, 2], &[1.0, 2.0]))
                    .given(constant, i64s(&[2], &[1, 0]))
                    .given(constant, value)
                    .given(constant, axes)
            };
            for axes in [ints(DType::I32, &[1], &[-1]), i64s(&[1], &[1])] {
                for dims in [&[][..], &[1]] {
                    let out = case(f32s(dims, &[9.0]), axes.clone()).run();
                    let found = (out[0].dims(), out[0].floats());
                    assert_eq!(found, (&[1, 3][..], vec![9.0, 1.0, 2.0]));
                }
            }
            let fails = |value, axes| case(value, axes).try_run().is_err();
            assert!(fails(f32s(&[2], &[1.0, 2.0]), i64s(&[1], &[0])));
            assert!(fails(f32s(&[], &[1.0]), i64s(&[1], &[2])));
            assert!(fails(f32s(&[], &[1.0]), i64s(&[2], &[0, 1])));
            let out = Case::new("Pad", 18)
                .input(ints(DType::Bool, &[2, 1], &[1, 1]))
                .given(constant, i64s(&[4], &[1, 0, 0, 1]))
                .omitted()
                .given(constant, i64s(&[2], &[1, 0]))
                .run();
            assert_eq!(out[0].dims(), [3, 2]);
            assert_eq!(out[0].ints(), [0, 1, 0, 1, 0, 0]);
        }
    }

    #[test]
    fn every_type() {
        for dtype in Types::ANY.iter_types() {
            for mode in ["constant", "reflect"] {
                let [data, expected] =
                    [(&[2usize][..], &[0i32, 1][..]), (&[3], &[1, 0, 1])].map(|(dims, values)| {
                        if dtype.is_float() {
                            let values: Vec<_> = values.iter().map(|v| f64::from(*v)).collect();
                            floats(dtype, dims, &values)
                        } else {
                            let values: Vec<_> = values.iter().map(|v| i64::from(*v)).collect();
                            ints(dtype, dims, &values)
                        }
                    });
                let one = Data {
                    dims: vec![],
                    bytes: data.bytes[data.bytes.len() / 2..].to_vec(),
                    dtype,
                };
                let case = Case::new("Pad", 13).string("mode", mode).input(data);
                let out = case.input(i64s(&[2], &[1, 0])).input(one).run();
                assert_eq!(out[0].bytes(), expected.bytes);
            }
        }
    }

    #[test]
    fn scalars_and_empty_tensors() {
        let pad = |dims: &[usize], values: &[f32], pads: &[i64]| {
            let case = Case::new("Pad", 13).input(f32s(dims, values));
            let out = case.input(i64s(&[pads.len()], pads)).run();
            (out[0].dims().to_vec(), out[0].floats())
        };
        assert_eq!(pad(&[], &[3.0], &[]), (vec![], vec![3.0]));
        assert_eq!(pad(&[0, 1], &[], &[1, 0, 1, 0]), (vec![2, 1], vec![0.0; 2]));
        assert_eq!(pad(&[0, 1], &[], &[0, 1, 0, 0]), (vec![0, 2], vec![]));
    }

    #[test]
    fn the_old_forms_have_attributes() {
        for (opset, name) in [(1, "paddings"), (2, "pads")] {
            let case = || {
                Case::new("Pad", opset).float("value", 0.5).input(floats(
                    DType::F16,
                    &[2],
                    &[1.0, 2.0],
                ))
            };
            let out = case().ints(name, &[1, -1]).run();
            assert_eq!(out[0].floats(), [0.5, 1.0]);
            assert_eq!(case().reject(), Reject::Attribute(name.into()));
            let case = case().ints(name, &[1, 1]).string("mode", "wrap");
            assert_eq!(case.reject(), Reject::Attribute("mode".into()));
        }
        let case = || Case::new("Pad", 18).input(f32s(&[1], &[1.0]));
        assert_eq!(case().reject(), Reject::Arity(1));
        for mode in ["wrap", "other"] {
            let case = case().input(i64s(&[2], &[0, 0])).string("mode", mode);
            assert_eq!(case.reject(), Reject::Attribute("mode".into()));
        }
        let case = case()
            .attr("mode", Attribute::Int(1))
            .input(i64s(&[2], &[0, 0]));
        assert_eq!(case.reject(), Reject::Attribute("mode".into()));
    }
}
