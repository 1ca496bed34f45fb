//! A value while a program runs: an array on the device, a small tensor on the host, or both.
use super::HostTensor;
use crate::device::{Array, DType, Emit};
use crate::error::{Error, Result};
use std::borrow::Cow;
use std::cell::OnceCell;

/// Bytes of a boundary input, as the caller of Run passed them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Input<'a> {
    pub(crate) dtype: DType,
    pub(crate) dims: &'a [i64],
    /// Row-major elements; as many as `dims` says.
    pub(crate) bytes: &'a [u8],
}

/// One value. The forms are made from each other when first asked for; one is always there.
pub(crate) struct Tensor<'a> {
    dtype: DType,
    dims: Vec<usize>,
    array: OnceCell<Array>,
    host: OnceCell<HostTensor>,
    boundary: Option<&'a [u8]>,
}

impl<'a> Tensor<'a> {
    pub(crate) fn from_array(array: Array) -> Self {
        Self {
            dtype: array.dtype(),
            dims: array.dims(),
            array: OnceCell::from(array),
            host: OnceCell::new(),
            boundary: None,
        }
    }

    /// A value of a type that `array` stores.
    pub(crate) fn stored(dtype: DType, array: Array) -> Self {
        debug_assert_eq!(dtype.storage(), array.dtype());
        Self {
            dtype,
            ..Self::from_array(array)
        }
    }

    pub(crate) fn from_host(host: HostTensor) -> Self {
        Self {
            dtype: host.dtype(),
            dims: host.dims().to_vec(),
            array: OnceCell::new(),
            host: OnceCell::from(host),
            boundary: None,
        }
    }

    /// An int64 value that was made on the host: a small one stays there until an array of it is asked for.
    pub(crate) fn from_ints(cx: &Emit, dims: Vec<usize>, values: Vec<i64>) -> Result<Self> {
        if values.len() <= HostTensor::MAX_ELEMENTS {
            return Ok(Self::from_host(HostTensor::ints(DType::I64, dims, values)));
        }
        Ok(Self::from_array(cx.int64s(&dims, &values)?))
    }

    /// A boundary input; the bytes are copied when a device form is asked for.
    pub(crate) fn from_input(input: &Input<'a>) -> Result<Self> {
        let dims = input
            .dims
            .iter()
            .map(|d| usize::try_from(*d))
            .collect::<Result<Vec<_>, _>>();
        let dims = dims
            .map_err(|_| Error::invalid(format!("a dimension is negative in {:?}", input.dims)))?;
        Ok(Self {
            dtype: input.dtype,
            dims,
            array: OnceCell::new(),
            host: OnceCell::new(),
            boundary: Some(input.bytes),
        })
    }

    /// The value as one of type `dtype`, if it is or its array stores that type.
    pub(crate) fn declared(self, dtype: DType) -> Result<Self, DType> {
        let stored = self.dtype == dtype.storage() && self.host.get().is_none();
        if self.dtype == dtype || stored {
            Ok(Self { dtype, ..self })
        } else {
            Err(self.dtype)
        }
    }

    /// A value of its own with the same elements.
    pub(crate) fn to_owned(&self, cx: &Emit) -> Result<Tensor<'static>> {
        if self.host.get().is_none() || self.array.get().is_some() {
            self.array(cx)?;
        }
        Ok(Tensor {
            dtype: self.dtype,
            dims: self.dims.clone(),
            array: self.array.clone(),
            host: self.host.clone(),
            boundary: None,
        })
    }

    /// The ONNX type. The array may be of another: see [`DType::storage`].
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
    pub(crate) fn size(&self) -> usize {
        self.dims.iter().product()
    }

    /// The device form.
    pub(crate) fn array(&self, cx: &Emit) -> Result<&Array> {
        if let Some(array) = self.array.get() {
            return Ok(array);
        }
        let array = match (self.boundary, self.host.get()) {
            (Some(bytes), _) => cx.array_from_bytes(self.dtype, &self.dims, bytes)?,
            (None, Some(host)) => cx.array_from_bytes(self.dtype, &self.dims, &host.to_bytes())?,
            (None, None) => return Err(Error::internal("a value without any form")),
        };
        Ok(self.array.get_or_init(|| array))
    }

    /// The device form, if it was made.
    pub(crate) fn made_array(&self) -> Option<&Array> {
        self.array.get()
    }

    /// The host form, if it is there without evaluating anything.
    pub(crate) fn host(&self) -> Option<&HostTensor> {
        self.host.get()
    }

    /// The host form; an array is evaluated and read for it.
    pub(crate) fn read(&self, cx: &Emit) -> Result<&HostTensor> {
        if let Some(host) = self.host.get() {
            return Ok(host);
        }
        let too_large = || {
            Error::invalid(format!(
                "a {} tensor of shape {:?} is needed on the host, where at most {} elements are held",
                self.dtype,
                self.dims,
                HostTensor::MAX_ELEMENTS
            ))
        };
        let host = match (self.boundary, self.array.get()) {
            (Some(bytes), _) => {
                HostTensor::from_bytes(self.dtype, &self.dims, bytes).ok_or_else(too_large)?
            }
            (None, Some(_)) if self.size() > HostTensor::MAX_ELEMENTS => return Err(too_large()),
            (None, Some(array)) => {
                let bytes = cx.read_bytes(array)?;
                HostTensor::from_bytes(self.dtype, &self.dims, &bytes).ok_or_else(too_large)?
            }
            (None, None) => return Err(Error::internal("a value without any form")),
        };
        Ok(self.host.get_or_init(|| host))
    }

    /// The row-major bytes, however many; an array is evaluated and read for them.
    pub(crate) fn bytes(&self, cx: &Emit) -> Result<Cow<'_, [u8]>> {
        match (self.boundary, self.host.get(), self.array.get()) {
            (Some(bytes), ..) => Ok(Cow::Borrowed(bytes)),
            (None, Some(host), _) => Ok(Cow::Owned(host.to_bytes())),
            (None, None, Some(array)) => cx.read_bytes(array).map(Cow::Owned),
            (None, None, None) => Err(Error::internal("a value without any form")),
        }
    }

    /// Smallest and largest element of an integer value that lies on the host, for checks that must not
    /// become part of a trace. `None` where the value is computed, or has no element.
    pub(crate) fn host_range(&self) -> Option<(i64, i64)> {
        self.host_ranges(1)?.first().copied()
    }

    /// As [`Tensor::host_range`], for each column of rows of `width` elements.
    pub(crate) fn host_ranges(&self, width: usize) -> Option<Vec<(i64, i64)>> {
        if let Some(values) = self.host.get().and_then(HostTensor::as_ints) {
            return ranges(values.iter().copied(), width);
        }
        let bytes = self.boundary?;
        match self.dtype {
            DType::I64 => ranges(
                bytes
                    .chunks_exact(8)
                    .map(|c| i64::from_le_bytes(c.try_into().unwrap_or_default())),
                width,
            ),
            DType::I32 => ranges(
                bytes
                    .chunks_exact(4)
                    .map(|c| i32::from_le_bytes(c.try_into().unwrap_or_default()).into()),
                width,
            ),
            _ => None,
        }
    }
}

fn ranges(values: impl Iterator<Item = i64>, width: usize) -> Option<Vec<(i64, i64)>> {
    let mut out: Vec<(i64, i64)> = Vec::with_capacity(width);
    for (column, v) in (0..width).cycle().zip(values) {
        match out.get_mut(column) {
            Some((low, high)) => (*low, *high) = ((*low).min(v), (*high).max(v)),
            None => out.push((v, v)),
        }
    }
    (out.len() == width).then_some(out)
}
