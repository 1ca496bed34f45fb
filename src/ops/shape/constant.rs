//! Constant and ConstantOfShape.
use super::grid;
use crate::device::{DType, Types};
use crate::error::{Error, Result};
use crate::ops::{HostData, HostTensor, NodeRef, OpDef, Planned, lower, op};

pub(in crate::ops) const OPS: &[OpDef] = &[
    op!("Constant", 1..=11, [ALL], tensor),
    op!("Constant", 12.., [ALL], constant),
    op!("ConstantOfShape", 9.., [I64], of_shape),
];

/// Of the forms of opset 12 sparse tensors and strings are refused: their attributes are never read.
fn constant(node: &NodeRef<'_>) -> Planned {
    let ints = |dims, values| known(HostTensor::ints(DType::I64, dims, values));
    let floats = |dims, values| known(HostTensor::floats(DType::F32, dims, values));
    if let Some(value) = node.int("value_int")? {
        ints(vec![], vec![value])
    } else if let Some(values) = node.ints("value_ints")? {
        ints(vec![values.len()], values.to_vec())
    } else if let Some(value) = node.float("value_float")? {
        floats(vec![], vec![value.into()])
    } else if let Some(values) = node.floats("value_floats")? {
        let wide = values.iter().copied().map(f64::from).collect();
        floats(vec![values.len()], wide)
    } else {
        tensor(node)
    }
}

fn known(value: HostTensor) -> Planned {
    let on_host = value.clone();
    let plan =
        lower(move |cx, _| cx.array_from_bytes(value.dtype(), value.dims(), &value.to_bytes()))?;
    Ok(plan.or_host(move |_| Ok(Some(vec![on_host.clone()]))))
}

fn tensor(node: &NodeRef<'_>) -> Planned {
    let Some(value) = node.tensor("value")? else {
        return node.bad_attribute("value");
    };
    if !Types::ALL.contains(value.dtype.set()) {
        return node.bad_attribute("value");
    }
    if let Some(small) = HostTensor::from_bytes(value.dtype, &value.dims, &value.bytes) {
        return known(small);
    }
    let value = value.clone();
    lower(move |cx, _| cx.array_from_bytes(value.dtype, &value.dims, &value.bytes))
}

fn of_shape(node: &NodeRef<'_>) -> Planned {
    let (dtype, bytes) = match node.tensor("value")? {
        None => (DType::F32, [0; 4].into()),
        Some(value) if value.dims.iter().product::<usize>() == 1 => {
            (value.dtype, value.bytes.clone())
        }
        Some(_) => return node.bad_attribute("value"),
    };
    if !Types::ALL.contains(dtype.set()) || bytes.len() != dtype.byte_size(1) {
        return node.bad_attribute("value");
    }
    let on_host = HostTensor::from_bytes(dtype, &[], &bytes);
    let plan = lower(move |cx, x| {
        let scalar = cx.array_from_bytes(dtype, &[], &bytes)?;
        cx.full(&dims(x.ints(0)?)?, &scalar)
    })?;
    Ok(plan.reads(&[0]).or_host(move |h| {
        let shape = grid::first(h).and_then(HostTensor::as_ints);
        let Some((shape, on_host)) = shape.zip(on_host.as_ref()) else {
            return Ok(None);
        };
        let dims = dims(shape)?;
        if !grid::fits(&dims) {
            return Ok(None);
        }
        let count = dims.iter().product();
        let filled = match on_host.data() {
            HostData::Int(v) => HostTensor::ints(on_host.dtype(), dims, vec![v[0]; count]),
            HostData::Float(v) => HostTensor::floats(on_host.dtype(), dims, vec![v[0]; count]),
        };
        Ok(Some(vec![filled]))
    }))
}

fn dims(shape: &[i64]) -> Result<Vec<usize>> {
    let dims = shape.iter().map(|dim| usize::try_from(*dim).ok());
    dims.collect::<Option<_>>().ok_or_else(|| {
        Error::invalid(format!(
            "the shape {shape:?} in input 0 has a negative dimension"
        ))
    })
}

#[cfg(test)]
mod tests {
    use crate::device::{DType, Types};
    use crate::ops::Reject;
    use crate::ops::ir::{Attribute, TensorData};
    use crate::ops::testing::{Case, Data, codes, f32s, floats, i64s, ints};

    fn attribute(data: &Data) -> Attribute {
        Attribute::Tensor(TensorData {
            dtype: data.dtype,
            dims: data.dims.clone(),
            bytes: data.bytes.as_slice().into(),
        })
    }

    fn of_type(dtype: DType, dims: &[usize], value: i8) -> Data {
        let count = dims.iter().product();
        if Types::STORED.contains(dtype.set()) {
            codes(dtype, dims, &vec![value.cast_unsigned(); count])
        } else if dtype.is_float() {
            floats(dtype, dims, &vec![value.into(); count])
        } else {
            ints(dtype, dims, &vec![value.into(); count])
        }
    }

    #[test]
    fn tensors_of_every_type() {
        for dtype in Types::ALL.iter_types() {
            for dims in [&[2][..], &[], &[0, 3], &[5000]] {
                for opset in [1, 9, 13, 25] {
                    let data = of_type(dtype, dims, 1);
                    let case = Case::new("Constant", opset).attr("value", attribute(&data));
                    let out = case.output(dtype).run();
                    assert_eq!(out[0].bytes(), data.bytes);
                    assert_eq!(out[0].dims().len(), dims.len());
                }
            }
        }
    }

    #[test]
    fn numbers_and_lists() {
        let run = |name: &str, value, dtype| {
            let case = Case::new("Constant", 12).attr(name, value).output(dtype);
            case.run().remove(0)
        };
        let out = run("value_int", Attribute::Int(i64::MIN), DType::I64);
        assert_eq!((out.dims(), out.ints()), (&[][..], vec![i64::MIN]));
        let out = run("value_ints", Attribute::Ints(vec![3, -4]), DType::I64);
        assert_eq!((out.dims(), out.ints()), (&[2][..], vec![3, -4]));
        let out = run("value_float", Attribute::Float(0.1), DType::F32);
        assert_eq!(
            (out.dims(), out.bytes()),
            (&[][..], &0.1f32.to_le_bytes()[..])
        );
        let out = run("value_floats", Attribute::Floats(vec![]), DType::F32);
        assert_eq!(out.dims(), [0]);
    }

    #[test]
    fn other_forms_are_refused() {
        let reject = |name: &str, value| Case::new("Constant", 13).attr(name, value).reject();
        let refused = Reject::Attribute("value".into());
        assert_eq!(reject("sparse_value", Attribute::Unknown), refused);
        assert_eq!(reject("value_string", Attribute::String(vec![])), refused);
        let complex = TensorData {
            dtype: DType::C128,
            dims: vec![1],
            bytes: [0u8; 16].into(),
        };
        assert_eq!(reject("value", Attribute::Tensor(complex)), refused);
        let case = Case::new("Constant", 11).int("value_int", 1);
        assert_eq!(case.reject(), refused);
        let both = Case::new("Constant", 13)
            .int("value_int", 1)
            .float("value_float", 1.0);
        assert_eq!(both.reject(), Reject::Attribute("value_float".into()));
    }

    #[test]
    fn shapes_are_filled() {
        for constant in [false, true] {
            let fill = |value: Option<Data>, shape: &[i64]| {
                let dtype = value.as_ref().map_or(DType::F32, |v| v.dtype);
                let mut case = Case::new("ConstantOfShape", 9).output(dtype);
                if let Some(value) = value {
                    case = case.attr("value", attribute(&value));
                }
                case.given(constant, i64s(&[shape.len()], shape))
                    .run()
                    .remove(0)
            };
            let out = fill(None, &[2, 3]);
            assert_eq!((out.dims(), out.floats()), (&[2, 3][..], vec![0.0; 6]));
            assert_eq!(fill(None, &[2, 0]).dims(), [2, 0]);
            assert_eq!(fill(None, &[]).floats(), [0.0]);
            assert_eq!(
                fill(Some(i64s(&[1], &[1 << 60])), &[5000]).ints(),
                vec![1 << 60; 5000]
            );
            for dtype in Types::ALL.iter_types() {
                let out = fill(Some(of_type(dtype, &[1], 1)), &[2]);
                assert_eq!(out.bytes(), of_type(dtype, &[2], 1).bytes);
            }
        }
        let case = Case::new("ConstantOfShape", 9).output(DType::F32);
        assert!(case.input(i64s(&[1], &[-1])).try_run().is_err());
        let case =
            Case::new("ConstantOfShape", 9).attr("value", attribute(&f32s(&[2], &[1.0, 2.0])));
        let reject = case.input(i64s(&[1], &[1])).reject();
        assert_eq!(reject, Reject::Attribute("value".into()));
    }
}
