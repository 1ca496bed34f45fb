//! Types below 8 bits: one element per byte in arrays, several per byte outside, the first in the lowest bits.
use super::{Array, DType, Emit};
use crate::error::Result;

impl Emit {
    /// The elements of packed bytes, under these dimensions.
    pub(super) fn unpack(&self, packed: &Array, dtype: DType, dims: &[usize]) -> Result<Array> {
        let count = dims.iter().product();
        if count == 0 {
            return self.zeros(dims, dtype);
        }
        let column = self.expand_dims(packed, &[1])?;
        let shifted = self.right_shift(&column, &self.places(dtype)?)?;
        let codes = self.bitwise_and(&shifted, &self.mask(dtype)?)?;
        let flat = self.reshape(&codes, &[packed.size() * per_byte(dtype)])?;
        let codes = self.reshape(&self.slice_axis(&flat, 0, 0, count)?, dims)?;
        self.of_codes(&codes, dtype)
    }

    /// The packed bytes of an array, in one row; what is left of the last byte is zero.
    pub(crate) fn pack(&self, a: &Array, dtype: DType) -> Result<Array> {
        let (count, each) = (a.size(), per_byte(dtype));
        let flat = self.reshape(a, &[count])?;
        let codes = self.bitwise_and(&self.view(&flat, DType::U8)?, &self.mask(dtype)?)?;
        let missing = count.next_multiple_of(each) - count;
        let zero = self.int(0, DType::U8)?;
        let padded = self.pad(&codes, &[0], &[missing], &zero, c"constant")?;
        let rows = self.reshape(&padded, &[padded.size() / each, each])?;
        let shifted = self.left_shift(&rows, &self.places(dtype)?)?;
        let column = |i| self.squeeze(&self.slice_axis(&shifted, 1, i, i + 1)?, &[1]);
        (1..each).try_fold(column(0)?, |packed, i| {
            self.bitwise_or(&packed, &column(i)?)
        })
    }

    /// The lowest bits of integers as elements of a type below 8 bits: higher ones are cut off.
    pub(crate) fn low_bits(&self, a: &Array, dtype: DType) -> Result<Array> {
        let bytes = self.astype(a, DType::U8)?;
        self.of_codes(&self.bitwise_and(&bytes, &self.mask(dtype)?)?, dtype)
    }

    /// Elements from their bits, which lie in uint8; signed integers get their sign.
    fn of_codes(&self, codes: &Array, dtype: DType) -> Result<Array> {
        if dtype.storage() == DType::U8 {
            return Ok(codes.clone());
        }
        let sign = self.int(1 << (dtype.bits() - 1), DType::I8)?;
        let flipped = self.bitwise_xor(&self.view(codes, DType::I8)?, &sign)?;
        self.subtract(&flipped, &sign)
    }

    /// Where each element of a byte lies.
    fn places(&self, dtype: DType) -> Result<Array> {
        let places: &[u8] = if dtype.bits() == 2 {
            &[0, 2, 4, 6]
        } else {
            &[0, 4]
        };
        self.array_from_bytes(DType::U8, &[places.len()], places)
    }

    fn mask(&self, dtype: DType) -> Result<Array> {
        self.int((1 << dtype.bits()) - 1, DType::U8)
    }
}

const fn per_byte(dtype: DType) -> usize {
    8 / dtype.bits()
}
