//! Resize and Upsample.
mod coordinates;
mod target;

use crate::device::{Array, DType, Emit};
use crate::error::{Error, Result};
use crate::ops::reduce::accumulator;
use crate::ops::{Inputs, NodeRef, OpDef, Planned, Reject, lower, op};
use coordinates::{Axis, Filter, Mapping, Rounding, Taps};
use target::{Given, Policy, Target};

pub(in crate::ops) const OPS: &[OpDef] = &[
    op!("Resize", 10..=10, [ANY, F32], |node| scaled(node)),
    op!("Resize", 11.., [ANY, FLOAT64, F32, I64], resize),
    op!("Upsample", 1..=6, [ANY], upsample_of_images),
    op!("Upsample", 7..=8, [ANY], upsample_by_attribute),
    op!("Upsample", 9.., [ANY, F32], |node| scaled(node)),
];

/// What a node does, apart from the sizes.
#[derive(Debug, Clone, PartialEq)]
struct Method {
    filter: Filter,
    mapping: Mapping,
    antialias: bool,
    exclude_outside: bool,
    extrapolation: f32,
    target: Target,
}

/// The forms before opset 11.
fn simple(node: &NodeRef<'_>, dtype: DType) -> Result<Method, Reject> {
    let filter = match node.string_or("mode", "nearest")? {
        "nearest" => Filter::Nearest(Rounding::Floor),
        "linear" | "bilinear" => Filter::Linear,
        _ => return Err(Reject::Attribute("mode".into())),
    };
    check_type(filter, false, dtype)?;
    Ok(Method {
        filter,
        mapping: Mapping::Asymmetric,
        antialias: false,
        exclude_outside: false,
        extrapolation: 0.0,
        target: Target::default(),
    })
}

/// Integers take nearest elements, and linear ones that float holds, truncated as in ONNX Runtime.
fn check_type(filter: Filter, antialias: bool, dtype: DType) -> Result<(), Reject> {
    let small = dtype.is_int() && (dtype.bits() <= 16 || dtype == DType::I32);
    match filter {
        Filter::Nearest(_) => Ok(()),
        Filter::Linear if (small && !antialias) || dtype.is_float() => Ok(()),
        Filter::Cubic(_) if dtype.is_float() => Ok(()),
        _ => Err(Reject::Form("interpolation of this element type")),
    }
}

fn scaled(node: &NodeRef<'_>) -> Planned {
    let method = simple(node, node.dtype(0)?)?;
    let plan = lower(move |cx, x| run(cx, x, &method, &Given::Scales(scales(x, 1)?)))?;
    Ok(plan.reads(&[1]))
}

fn upsample_by_attribute(node: &NodeRef<'_>) -> Planned {
    let method = simple(node, node.dtype(0)?)?;
    let scales = node
        .floats("scales")?
        .ok_or_else(|| Reject::Attribute("scales".into()))?
        .to_vec();
    lower(move |cx, x| run(cx, x, &method, &Given::Scales(scales.clone())))
}

fn upsample_of_images(node: &NodeRef<'_>) -> Planned {
    let method = simple(node, node.dtype(0)?)?;
    let scale = |name: &str| {
        node.float(name)?
            .ok_or_else(|| Reject::Attribute(name.into()))
    };
    let scales = vec![1.0, 1.0, scale("height_scale")?, scale("width_scale")?];
    lower(move |cx, x| run(cx, x, &method, &Given::Scales(scales.clone())))
}

fn resize(node: &NodeRef<'_>) -> Planned {
    let rounding = match node.string_or("nearest_mode", "round_prefer_floor")? {
        "round_prefer_floor" | "" => Rounding::PreferFloor,
        "round_prefer_ceil" => Rounding::PreferCeil,
        "floor" => Rounding::Floor,
        "ceil" => Rounding::Ceil,
        _ => return Err(Reject::Attribute("nearest_mode".into())),
    };
    let a = node.float_or("cubic_coeff_a", -0.75)?;
    let filter = match node.string_or("mode", "nearest")? {
        "nearest" => Filter::Nearest(rounding),
        "linear" => Filter::Linear,
        "cubic" => Filter::Cubic(a),
        _ => return Err(Reject::Attribute("mode".into())),
    };
    let antialias = node.flag("antialias", false)? && !matches!(filter, Filter::Nearest(_));
    check_type(filter, antialias, node.dtype(0)?)?;
    let mapping = match node.string_or("coordinate_transformation_mode", "half_pixel")? {
        "half_pixel" => Mapping::HalfPixel,
        "half_pixel_symmetric" => Mapping::HalfPixelSymmetric,
        "pytorch_half_pixel" => Mapping::PytorchHalfPixel,
        "align_corners" => Mapping::AlignCorners,
        "asymmetric" => Mapping::Asymmetric,
        "tf_half_pixel_for_nn" => Mapping::TfHalfPixelForNearest,
        "tf_crop_and_resize" => Mapping::TfCropAndResize,
        _ => return Err(Reject::Attribute("coordinate_transformation_mode".into())),
    };
    let policy = match node.string_or("keep_aspect_ratio_policy", "stretch")? {
        "stretch" => Policy::Stretch,
        "not_larger" => Policy::NotLarger,
        "not_smaller" => Policy::NotSmaller,
        _ => return Err(Reject::Attribute("keep_aspect_ratio_policy".into())),
    };
    let crops = mapping == Mapping::TfCropAndResize;
    let method = Method {
        filter,
        mapping,
        antialias,
        exclude_outside: node.flag("exclude_outside", false)?,
        extrapolation: node.float_or("extrapolation_value", 0.0)?,
        target: Target {
            axes: node.ints("axes")?.map(<[i64]>::to_vec),
            policy,
            crops,
        },
    };
    let reads: Vec<_> = [(1, crops), (2, true), (3, true)]
        .into_iter()
        .filter_map(|(i, read)| (read && node.has_input(i)).then_some(i))
        .collect();
    let plan = lower(move |cx, x| {
        // Exporters leave the input that they do not use empty instead of out.
        let filled = |i: usize| Ok::<_, Error>(x.has(i) && x.dims(i)? != [0]);
        let given = if filled(3)? {
            Given::Sizes(x.ints(3)?.to_vec())
        } else if filled(2)? {
            Given::Scales(scales(x, 2)?)
        } else {
            return Err(Error::invalid(
                "either scales (input 2) or sizes (input 3) must be given",
            ));
        };
        run(cx, x, &method, &given)
    })?;
    Ok(plan.reads(&reads))
}

#[expect(clippy::cast_possible_truncation, reason = "the values were floats")]
fn scales(x: &Inputs<'_>, input: usize) -> Result<Vec<f32>> {
    Ok(x.host(input)?
        .to_floats()
        .iter()
        .map(|v| *v as f32)
        .collect())
}

fn run(cx: &Emit, x: &Inputs<'_>, method: &Method, given: &Given) -> Result<Array> {
    let input = x.array(0)?;
    let dims = input.dims();
    let crop = if method.target.crops && x.has(1) {
        x.host(1)?.to_floats()
    } else {
        vec![]
    };
    let axes = method.target.axes(&dims, given, &crop)?;
    if axes.iter().all(|a| a.out == a.size) && !method.target.crops {
        return Ok(input.clone());
    }
    let out: Vec<_> = axes.iter().map(|a| a.out).collect();
    if out.contains(&0) {
        return cx.zeros(&out, input.dtype());
    }
    if dims.contains(&0) {
        return Err(Error::invalid(format!(
            "input 0 of shape {dims:?} has nothing to resize to {out:?}"
        )));
    }
    // Each element of an axis has a list of taps on the host.
    let elements = out.iter().try_fold(1usize, |n, d| n.checked_mul(*d));
    cx.fits(
        "a resized tensor",
        elements.unwrap_or(usize::MAX),
        input.dtype().byte_size(1),
    )?;
    for axis in &axes {
        cx.fits("the taps of an axis", axis.out, 128)?;
    }
    let changed = |a: &Axis| a.out != a.size || method.target.crops;
    let taps: Vec<Option<Taps>> = axes
        .iter()
        .map(|a| {
            changed(a).then(|| {
                a.taps(
                    method.mapping,
                    method.filter,
                    method.antialias,
                    method.exclude_outside,
                )
            })
        })
        .collect();
    let y = if matches!(method.filter, Filter::Nearest(_)) {
        nearest(cx, input, &axes, &taps)?
    } else {
        let floats = if input.dtype().is_float() {
            accumulator(input.dtype())
        } else {
            DType::F32
        };
        let mut y = cx.astype(input, floats)?;
        for (axis, taps) in taps.iter().enumerate() {
            if let Some(taps) = taps {
                y = interpolated(cx, &y, axis, taps)?;
            }
        }
        cx.astype(&y, input.dtype())?
    };
    if method.target.crops {
        extrapolated(cx, &y, &axes, method)
    } else {
        Ok(y)
    }
}

fn nearest(cx: &Emit, x: &Array, axes: &[Axis], taps: &[Option<Taps>]) -> Result<Array> {
    let repeats: Option<Vec<usize>> = axes
        .iter()
        .zip(taps)
        .map(|(a, t)| repeat(a, t.as_ref()))
        .collect();
    if let Some(repeats) = repeats {
        return repeated(cx, x, &repeats);
    }
    let mut y = x.clone();
    for (axis, taps) in taps.iter().enumerate() {
        if let Some(taps) = taps {
            y = picked(cx, &y, axis, |y, axis| {
                cx.take(y, &index_array(cx, &taps.indices[0])?, axis)
            })?;
        }
    }
    Ok(y)
}

/// How often each element is repeated, where that is all that happens along an axis.
fn repeat(axis: &Axis, taps: Option<&Taps>) -> Option<usize> {
    let Some(taps) = taps else { return Some(1) };
    let times = axis.out / axis.size;
    let plain = times * axis.size == axis.out
        && taps.indices[0]
            .iter()
            .enumerate()
            .all(|(o, i)| *i == o / times);
    plain.then_some(times)
}

/// Repeats the elements of several axes with one copy.
fn repeated(cx: &Emit, x: &Array, repeats: &[usize]) -> Result<Array> {
    let (mut split, mut wide, mut out) = (vec![], vec![], vec![]);
    for (dim, times) in x.dims().into_iter().zip(repeats) {
        split.push(dim);
        wide.push(dim);
        out.push(dim * times);
        if *times > 1 {
            split.push(1);
            wide.push(*times);
        }
    }
    cx.reshape(&cx.broadcast_to(&cx.reshape(x, &split)?, &wide)?, &out)
}

fn index_array(cx: &Emit, indices: &[usize]) -> Result<Array> {
    let convert =
        |i: &usize| i32::try_from(*i).map_err(|_| Error::internal("an index out of range"));
    let ints = indices.iter().map(convert).collect::<Result<Vec<_>>>()?;
    let bytes: Vec<u8> = ints.iter().flat_map(|i| i.to_le_bytes()).collect();
    cx.array_from_bytes(DType::I32, &[ints.len()], &bytes)
}

/// Runs `f` on an array and an axis from which it takes. MLX's CPU backend copies what it takes element by element,
/// unless it lies together: there the axis is moved to the front.
fn picked(
    cx: &Emit,
    x: &Array,
    axis: usize,
    f: impl Fn(&Array, usize) -> Result<Array>,
) -> Result<Array> {
    if !cx.runs_on_cpu(x.dtype()) || x.dims()[..axis].iter().all(|d| *d == 1) {
        return f(x, axis);
    }
    let rest = (0..x.rank()).filter(|i| *i != axis);
    let front: Vec<_> = [axis].into_iter().chain(rest).collect();
    let back: Vec<_> = (1..=axis).chain([0]).chain(axis + 1..x.rank()).collect();
    let y = f(&cx.contiguous(&cx.transpose(x, &front)?)?, 0)?;
    cx.transpose(&y, &back)
}

/// The weighted sum of the taps along one axis.
fn interpolated(cx: &Emit, x: &Array, axis: usize, taps: &Taps) -> Result<Array> {
    picked(cx, x, axis, |x, axis| {
        let mut sum: Option<Array> = None;
        for (indices, weights) in taps.indices.iter().zip(&taps.weights) {
            let bytes: Vec<u8> = weights.iter().flat_map(|w| w.to_le_bytes()).collect();
            let mut shape = vec![1; x.rank()];
            shape[axis] = weights.len();
            let weights =
                cx.astype(&cx.array_from_bytes(DType::F32, &shape, &bytes)?, x.dtype())?;
            let term = cx.multiply(&cx.take(x, &index_array(cx, indices)?, axis)?, &weights)?;
            sum = Some(match sum {
                Some(sum) => cx.add(&sum, &term)?,
                None => term,
            });
        }
        sum.ok_or_else(|| Error::internal("an axis without taps"))
    })
}

/// Elements whose place lies outside the input take a constant.
fn extrapolated(cx: &Emit, y: &Array, axes: &[Axis], method: &Method) -> Result<Array> {
    let value = cx.scalar(f64::from(method.extrapolation), y.dtype())?;
    let mut y = y.clone();
    for (i, axis) in axes.iter().enumerate() {
        let outside = axis.outside(method.mapping);
        if outside.contains(&true) {
            let mut shape = vec![1; axes.len()];
            shape[i] = outside.len();
            let bytes: Vec<u8> = outside.iter().map(|o| u8::from(*o)).collect();
            y = cx.select(
                &cx.array_from_bytes(DType::Bool, &shape, &bytes)?,
                &value,
                &y,
            )?;
        }
    }
    Ok(y)
}

#[cfg(test)]
mod tests;
