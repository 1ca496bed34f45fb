"""Values between numpy and ONNX Runtime, also of element types that numpy itself lacks."""

import ctypes

import ml_dtypes
import numpy as np
import onnxruntime as ort
from onnx import TensorProto, helper

# Types of ml_dtypes that fill whole bytes, by the name that their dtype has.
BYTES = {
    "bfloat16": TensorProto.BFLOAT16,
    "float8_e4m3fn": TensorProto.FLOAT8E4M3FN,
    "float8_e4m3fnuz": TensorProto.FLOAT8E4M3FNUZ,
    "float8_e5m2": TensorProto.FLOAT8E5M2,
    "float8_e5m2fnuz": TensorProto.FLOAT8E5M2FNUZ,
    "float8_e8m0fnu": TensorProto.FLOAT8E8M0,
}
# Types of which several elements share a byte, the first in the low bits: code and bits.
PACKED = {
    "uint4": (TensorProto.UINT4, 4),
    "int4": (TensorProto.INT4, 4),
    "float4_e2m1fn": (TensorProto.FLOAT4E2M1, 4),
    "uint2": (TensorProto.UINT2, 2),
    "int2": (TensorProto.INT2, 2),
}
BY_CODE = {code: name for name, code in BYTES.items()} | {code: name for name, (code, _) in PACKED.items()}


class NotRun(Exception):
    """This release cannot be given, or give, such a value from Python."""


def special(array):
    return isinstance(array, np.ndarray) and array.dtype.name in BYTES | PACKED


def pack(array, bits):
    """Several elements per byte."""
    codes = np.asarray(array, order="C").view(np.uint8).reshape(-1) & ((1 << bits) - 1)
    per = 8 // bits
    codes = np.concatenate([codes, np.zeros(-len(codes) % per, np.uint8)]).reshape(-1, per)
    shifts = np.arange(per, dtype=np.uint8) * np.uint8(bits)
    return np.bitwise_or.reduce(codes << shifts, axis=1).astype(np.uint8)


def unpack(data, count, name):
    """The inverse of `pack`, as an array of one axis."""
    bits = PACKED[name][1]
    per = 8 // bits
    shifts = np.arange(per, dtype=np.uint8) * np.uint8(bits)
    codes = ((data[:, None] >> shifts) & np.uint8((1 << bits) - 1)).reshape(-1)[:count]
    if name.startswith("int"):
        codes = (codes ^ np.uint8(1 << (bits - 1))).astype(np.int8) - np.int8(1 << (bits - 1))
        return codes.astype(getattr(ml_dtypes, name))
    return codes.astype(np.uint8).view(getattr(ml_dtypes, name))


def to_ort(array):
    """What a session's `run` takes for a value."""
    if not special(array):
        return array
    if not hasattr(ort.OrtValue, "ortvalue_from_numpy_with_onnx_type"):
        raise NotRun(f"cannot make a {array.dtype.name} value")
    name = array.dtype.name
    array = np.asarray(array, order="C")
    if name in BYTES:
        data = array.view(np.uint16 if array.dtype.itemsize == 2 else np.uint8)
        return ort.OrtValue.ortvalue_from_numpy_with_onnx_type(data, BYTES[name])
    code, bits = PACKED[name]
    try:
        made = ort.OrtValue.ortvalue_from_shape_and_type(list(array.shape), code, "cpu", 0)
    except Exception as error:
        raise NotRun(f"cannot make a {name} value: {error}") from error
    packed = pack(array, bits)
    if made.tensor_size_in_bytes() != packed.nbytes:
        raise NotRun(f"a {name} value of {array.shape} has {made.tensor_size_in_bytes()} bytes")
    if packed.nbytes:
        ctypes.memmove(made.data_ptr(), packed.ctypes.data, packed.nbytes)
    return made


def from_ort(value):
    """An array, a list or None from a value that a Run gave."""
    if not value.has_value():
        return None
    if not value.is_tensor():
        return value.numpy()
    code = value.element_type()
    if code not in BY_CODE:
        return value.numpy()
    name, shape = BY_CODE[code], tuple(value.shape())
    count, size = int(np.prod(shape, dtype=np.int64)), value.tensor_size_in_bytes()
    data = np.frombuffer(ctypes.string_at(value.data_ptr(), size), np.uint8) if size else np.zeros(0, np.uint8)
    if name in PACKED:
        return unpack(data, count, name).reshape(shape)
    return data.view(getattr(ml_dtypes, name)).reshape(shape)


def dtype_of(code):
    return helper.tensor_dtype_to_np_dtype(code)
