//! Small tensors on the host: what shape arithmetic is made of.
use crate::device::{DType, float};

/// A tensor of at most [`HostTensor::MAX_ELEMENTS`] integers, booleans or floats, in row-major order.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct HostTensor {
    dtype: DType,
    dims: Vec<usize>,
    data: HostData,
}

/// Integers and booleans are widened to `i64` (uint64 keeps its bits), floats to `f64`. Every element is
/// a value of the tensor's element type: arithmetic wraps or rounds when it makes a new tensor.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum HostData {
    Int(Vec<i64>),
    Float(Vec<f64>),
}

impl HostTensor {
    pub(crate) const MAX_ELEMENTS: usize = 4096;

    /// Integers or booleans of `dtype`; each is wrapped to the width of the type.
    pub(crate) fn ints(dtype: DType, dims: Vec<usize>, data: Vec<i64>) -> Self {
        debug_assert_eq!(dims.iter().product::<usize>(), data.len());
        let data = data.into_iter().map(|v| wrap(dtype, v)).collect();
        Self {
            dtype,
            dims,
            data: HostData::Int(data),
        }
    }

    /// Floats of `dtype`; each is rounded to the type.
    pub(crate) fn floats(dtype: DType, dims: Vec<usize>, data: Vec<f64>) -> Self {
        debug_assert_eq!(dims.iter().product::<usize>(), data.len());
        let data = data.into_iter().map(|v| round_to(dtype, v)).collect();
        Self {
            dtype,
            dims,
            data: HostData::Float(data),
        }
    }

    /// A rank-1 int64 tensor, the type of shapes.
    pub(crate) fn shape(dims: &[usize]) -> Self {
        let data = dims
            .iter()
            .map(|d| i64::try_from(*d).unwrap_or(i64::MAX))
            .collect();
        Self {
            dtype: DType::I64,
            dims: vec![dims.len()],
            data: HostData::Int(data),
        }
    }

    /// Whether tensors of this type can be held here.
    pub(crate) fn holds(dtype: DType) -> bool {
        dtype.is_int() || dtype.is_float() || dtype == DType::Bool
    }

    /// Reads little-endian bytes; `None` for types that are not held here, too many elements, or a wrong length.
    pub(crate) fn from_bytes(dtype: DType, dims: &[usize], bytes: &[u8]) -> Option<Self> {
        let count = dims.iter().product::<usize>();
        if !Self::holds(dtype)
            || count > Self::MAX_ELEMENTS
            || bytes.len() != dtype.byte_size(count)
        {
            return None;
        }
        macro_rules! read {
            ($t:ty, $variant:ident, $wide:ty) => {
                HostData::$variant(
                    bytes
                        .chunks_exact(size_of::<$t>())
                        .map(|c| {
                            let mut raw = [0u8; size_of::<$t>()];
                            raw.copy_from_slice(c);
                            <$wide>::from(<$t>::from_le_bytes(raw))
                        })
                        .collect(),
                )
            };
        }
        let data = match dtype {
            DType::Bool => HostData::Int(bytes.iter().map(|b| i64::from(*b != 0)).collect()),
            DType::U8 => read!(u8, Int, i64),
            DType::I8 => read!(i8, Int, i64),
            DType::U16 => read!(u16, Int, i64),
            DType::I16 => read!(i16, Int, i64),
            DType::U32 => read!(u32, Int, i64),
            DType::I32 => read!(i32, Int, i64),
            DType::I64 | DType::U64 => read!(i64, Int, i64),
            DType::F32 => read!(f32, Float, f64),
            DType::F64 => read!(f64, Float, f64),
            _ => {
                let format = dtype.format()?;
                HostData::Float(halves(bytes).map(|code| format.read(code)).collect())
            }
        };
        Some(Self {
            dtype,
            dims: dims.to_vec(),
            data,
        })
    }

    /// The little-endian bytes of the tensor.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.dtype.byte_size(self.len()));
        match &self.data {
            HostData::Int(values) => {
                let width = self.dtype.bits() / 8;
                for v in values {
                    out.extend_from_slice(&v.to_le_bytes()[..width]);
                }
            }
            HostData::Float(values) => {
                for v in values {
                    float::append(&mut out, *v, self.dtype);
                }
            }
        }
        out
    }

    pub(crate) fn dtype(&self) -> DType {
        self.dtype
    }

    pub(crate) fn dims(&self) -> &[usize] {
        &self.dims
    }

    pub(crate) fn rank(&self) -> usize {
        self.dims.len()
    }

    /// Number of elements.
    pub(crate) fn len(&self) -> usize {
        match &self.data {
            HostData::Int(v) => v.len(),
            HostData::Float(v) => v.len(),
        }
    }

    pub(crate) fn data(&self) -> &HostData {
        &self.data
    }

    /// The elements of an integer or boolean tensor.
    pub(crate) fn as_ints(&self) -> Option<&[i64]> {
        match &self.data {
            HostData::Int(v) => Some(v),
            HostData::Float(_) => None,
        }
    }

    /// The elements as floats; integers are converted.
    pub(crate) fn to_floats(&self) -> Vec<f64> {
        match &self.data {
            HostData::Float(v) => v.clone(),
            #[expect(
                clippy::cast_precision_loss,
                reason = "the float value of an integer is its nearest float"
            )]
            HostData::Int(v) if self.dtype == DType::U64 => {
                v.iter().map(|x| x.cast_unsigned() as f64).collect()
            }
            #[expect(
                clippy::cast_precision_loss,
                reason = "the float value of an integer is its nearest float"
            )]
            HostData::Int(v) => v.iter().map(|x| *x as f64).collect(),
        }
    }

    /// The same elements under other dimensions; the caller keeps the element count.
    pub(crate) fn with_dims(&self, dims: Vec<usize>) -> Self {
        debug_assert_eq!(dims.iter().product::<usize>(), self.len());
        Self {
            dtype: self.dtype,
            dims,
            data: self.data.clone(),
        }
    }

    /// The elements at `positions` under new dimensions.
    pub(crate) fn pick(&self, dims: Vec<usize>, positions: impl Iterator<Item = usize>) -> Self {
        let data = match &self.data {
            HostData::Int(v) => HostData::Int(positions.map(|p| v[p]).collect()),
            HostData::Float(v) => HostData::Float(positions.map(|p| v[p]).collect()),
        };
        Self {
            dtype: self.dtype,
            dims,
            data,
        }
    }
}

fn halves(bytes: &[u8]) -> impl Iterator<Item = u16> + '_ {
    bytes
        .chunks_exact(2)
        .map(|c| u16::from_le_bytes([c[0], c[1]]))
}

/// Wraps an integer to the width of its type; booleans become 0 or 1.
pub(crate) fn wrap(dtype: DType, v: i64) -> i64 {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "integer types of ONNX wrap"
    )]
    match dtype {
        DType::Bool => i64::from(v != 0),
        DType::U8 => i64::from(v as u8),
        DType::I8 => i64::from(v as i8),
        DType::U16 => i64::from(v as u16),
        DType::I16 => i64::from(v as i16),
        DType::U32 => i64::from(v as u32),
        DType::I32 => i64::from(v as i32),
        _ => v,
    }
}

/// Rounds to the nearest value of the type, ties to even.
pub(crate) fn round_to(dtype: DType, v: f64) -> f64 {
    match dtype.format() {
        Some(format) => format.read(format.write(v, false)),
        None if dtype == DType::F64 => v,
        None => f64::from(float::nearest(v)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_round_trip() {
        let t = HostTensor::ints(DType::I8, vec![3], vec![-1, 127, 128]);
        assert_eq!(t.as_ints(), Some(&[-1, 127, -128][..]));
        assert_eq!(
            HostTensor::from_bytes(DType::I8, &[3], &t.to_bytes()),
            Some(t)
        );
        let f = HostTensor::floats(DType::F32, vec![], vec![0.1]);
        assert_eq!(
            HostTensor::from_bytes(DType::F32, &[], &0.1f32.to_le_bytes()),
            Some(f)
        );
        assert_eq!(HostTensor::from_bytes(DType::I64, &[2], &[0; 8]), None);
        assert_eq!(
            HostTensor::from_bytes(DType::I64, &[4097], &[0; 4097 * 8]),
            None
        );
    }
}
