//! Element types: one closed enum for what ONNX has, and sets of it for the op table.
use std::fmt;

macro_rules! dtypes {
    ($($name:ident = $onnx:literal, $bits:literal, $text:literal;)*) => {
        /// An ONNX tensor element type. The numbers are those of `TensorProto.DataType`.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub(crate) enum DType { $($name = $onnx),* }

        impl DType {
            pub(crate) const ALL: &'static [Self] = &[$(Self::$name),*];

            /// The type of an ONNX code, as attributes hold it; none for codes that are unknown here.
            pub(crate) fn from_onnx(code: i32) -> Option<Self> {
                match code { $($onnx => Some(Self::$name),)* _ => None }
            }

            /// Bits per element; 0 for strings.
            pub(crate) const fn bits(self) -> usize {
                match self { $(Self::$name => $bits),* }
            }

            /// The ONNX spelling, as in `tensor(float16)`.
            pub(crate) const fn name(self) -> &'static str {
                match self { $(Self::$name => $text),* }
            }
        }
    };
}

dtypes! {
    F32 = 1, 32, "float";
    U8 = 2, 8, "uint8";
    I8 = 3, 8, "int8";
    U16 = 4, 16, "uint16";
    I16 = 5, 16, "int16";
    I32 = 6, 32, "int32";
    I64 = 7, 64, "int64";
    String = 8, 0, "string";
    Bool = 9, 8, "bool";
    F16 = 10, 16, "float16";
    F64 = 11, 64, "double";
    U32 = 12, 32, "uint32";
    U64 = 13, 64, "uint64";
    C64 = 14, 64, "complex64";
    C128 = 15, 128, "complex128";
    BF16 = 16, 16, "bfloat16";
    F8E4M3FN = 17, 8, "float8e4m3fn";
    F8E4M3FNUZ = 18, 8, "float8e4m3fnuz";
    F8E5M2 = 19, 8, "float8e5m2";
    F8E5M2FNUZ = 20, 8, "float8e5m2fnuz";
    U4 = 21, 4, "uint4";
    I4 = 22, 4, "int4";
    F4E2M1 = 23, 4, "float4e2m1";
    F8E8M0 = 24, 8, "float8e8m0";
    U2 = 25, 2, "uint2";
    I2 = 26, 2, "int2";
}

impl DType {
    /// The ONNX code.
    pub(crate) const fn onnx(self) -> i32 {
        self as i32
    }

    /// The code of ONNX Runtime's `ONNXTensorElementDataType`, which numbers the newest types otherwise.
    pub(crate) const fn ort(self) -> i32 {
        match self {
            Self::U2 => 24,
            Self::I2 => 25,
            Self::F8E8M0 => 26,
            _ => self.onnx(),
        }
    }

    /// The type of a code of ONNX Runtime; none for codes that are unknown here.
    pub(crate) fn from_ort(code: i32) -> Option<Self> {
        Self::ALL.iter().copied().find(|t| t.ort() == code)
    }

    /// Bytes of `elements` packed elements.
    pub(crate) const fn byte_size(self, elements: usize) -> usize {
        (elements * self.bits()).div_ceil(8)
    }

    /// The type of the MLX array that holds elements of this type. MLX has no type below 8 bits and no float of 8
    /// bits: integers hold them, one element per byte - the value of an integer, the code of a float.
    pub(crate) const fn storage(self) -> Self {
        match self {
            Self::F8E4M3FN
            | Self::F8E4M3FNUZ
            | Self::F8E5M2
            | Self::F8E5M2FNUZ
            | Self::F8E8M0
            | Self::F4E2M1
            | Self::U4
            | Self::U2 => Self::U8,
            Self::I4 | Self::I2 => Self::I8,
            _ => self,
        }
    }

    pub(crate) fn is_float(self) -> bool {
        Types::FLOAT64.contains(self.set())
    }

    pub(crate) fn is_signed_int(self) -> bool {
        Types::SIGNED.contains(self.set())
    }

    pub(crate) fn is_unsigned_int(self) -> bool {
        Types::UNSIGNED.contains(self.set())
    }

    /// Signed or unsigned, 8 to 64 bits.
    pub(crate) fn is_int(self) -> bool {
        Types::INT.contains(self.set())
    }

    /// The set that holds only this type.
    pub(crate) const fn set(self) -> Types {
        Types::from_bits_retain(1 << self as u32)
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

bitflags::bitflags! {
    /// A set of element types, as the op table states them.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub(crate) struct Types: u32 {
        const F32 = 1 << 1;
        const U8 = 1 << 2;
        const I8 = 1 << 3;
        const U16 = 1 << 4;
        const I16 = 1 << 5;
        const I32 = 1 << 6;
        const I64 = 1 << 7;
        const BOOL = 1 << 9;
        const F16 = 1 << 10;
        const F64 = 1 << 11;
        const U32 = 1 << 12;
        const U64 = 1 << 13;
        const BF16 = 1 << 16;
        const F8E4M3FN = 1 << 17;
        const F8E4M3FNUZ = 1 << 18;
        const F8E5M2 = 1 << 19;
        const F8E5M2FNUZ = 1 << 20;
        const U4 = 1 << 21;
        const I4 = 1 << 22;
        const F4E2M1 = 1 << 23;
        const F8E8M0 = 1 << 24;
        const U2 = 1 << 25;
        const I2 = 1 << 26;
        /// float, float16, bfloat16.
        const FLOAT = Self::F32.bits() | Self::F16.bits() | Self::BF16.bits();
        /// The above and double, which runs on MLX's CPU stream.
        const FLOAT64 = Self::FLOAT.bits() | Self::F64.bits();
        const SIGNED = Self::I8.bits() | Self::I16.bits() | Self::I32.bits() | Self::I64.bits();
        const UNSIGNED = Self::U8.bits() | Self::U16.bits() | Self::U32.bits() | Self::U64.bits();
        const INT = Self::SIGNED.bits() | Self::UNSIGNED.bits();
        /// int32 and int64, the types of indices.
        const INDEX = Self::I32.bits() | Self::I64.bits();
        /// Every number.
        const NUMERIC = Self::FLOAT64.bits() | Self::INT.bits();
        /// Every type that an MLX array can hold.
        const ANY = Self::NUMERIC.bits() | Self::BOOL.bits();
        /// The four floats of 8 bits with a sign.
        const FLOAT8 = Self::F8E4M3FN.bits() | Self::F8E4M3FNUZ.bits() | Self::F8E5M2.bits() | Self::F8E5M2FNUZ.bits();
        /// Integers of 2 and 4 bits.
        const SMALL_INT = Self::U4.bits() | Self::I4.bits() | Self::U2.bits() | Self::I2.bits();
        /// Every type that MLX lacks; see [`DType::storage`].
        const STORED = Self::FLOAT8.bits() | Self::F8E8M0.bits() | Self::F4E2M1.bits() | Self::SMALL_INT.bits();
        /// Every type that a program can hold.
        const ALL = Self::ANY.bits() | Self::STORED.bits();
        const _ = !0;
    }
}

impl Types {
    pub(crate) fn iter_types(self) -> impl Iterator<Item = DType> {
        DType::ALL
            .iter()
            .copied()
            .filter(move |t| self.contains(t.set()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_round_trip_and_sets_agree() {
        for t in DType::ALL {
            assert_eq!(DType::from_onnx(t.onnx()), Some(*t));
            assert_eq!(DType::from_ort(t.ort()), Some(*t));
        }
        assert_eq!(DType::from_onnx(0), None);
        assert_eq!(DType::from_onnx(27), None);
        assert!(DType::F64.is_float() && !DType::I8.is_float());
        assert!(
            Types::INDEX.contains(DType::I64.set()) && !Types::INDEX.contains(DType::I16.set())
        );
        for t in DType::ALL {
            let held = Types::ANY.contains(t.storage().set());
            assert_eq!(held, Types::ALL.contains(t.set()), "{t}");
            assert_eq!(*t != t.storage(), Types::STORED.contains(t.set()), "{t}");
        }
        assert_eq!(DType::U4.byte_size(3), 2);
        assert_eq!(DType::F64.byte_size(3), 24);
        assert_eq!(
            Types::FLOAT.iter_types().collect::<Vec<_>>(),
            [DType::F32, DType::F16, DType::BF16]
        );
    }
}
