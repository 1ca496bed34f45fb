"""Element types that numpy lacks, in and out of a real session. Expected values are those of ml_dtypes."""

import pathlib
import sys

import conftest
import ml_dtypes
import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "conformance"))
import values  # noqa: E402

pytestmark = pytest.mark.skipif(conftest.MINOR < 28, reason="the host lacks the opset or the types")

OPSET, IR = 25, 12
CODES = values.BYTES | {name: code for name, (code, _) in values.PACKED.items()}
BITS = dict.fromkeys(values.BYTES, 8) | {name: bits for name, (_, bits) in values.PACKED.items()}
SMALL = [name for name in CODES if name != "bfloat16"]


def session(mlx, nodes, inputs, outputs, constants=(), **kwargs):
    graph = helper.make_graph(nodes, "main", inputs, outputs, initializer=list(constants))
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR)
    return conftest.session(made, mlx, whole=True, claim="all", **kwargs)


def run(made, array):
    name = made.get_inputs()[0].name
    given = values.to_ort(array)
    if not isinstance(given, ort.OrtValue):
        given = ort.OrtValue.ortvalue_from_numpy(given)
    return values.from_ort(made.run_with_ort_values(["y"], {name: given})[0])


def every_code(name):
    """Each code once, and so many that the last byte is not full."""
    bits = BITS[name]
    codes = np.arange(2**bits, dtype=np.uint8)
    if name.startswith("int"):
        codes = np.arange(-(2 ** (bits - 1)), 2 ** (bits - 1), dtype=np.int8)
        return np.append(codes, codes[:1]).astype(getattr(ml_dtypes, name))
    return np.append(codes, codes[:1]).view(getattr(ml_dtypes, name))


def same_bits(found, wanted):
    assert found.dtype == wanted.dtype and found.shape == wanted.shape
    assert found.tobytes() == wanted.tobytes()


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.parametrize("place", ["input", "initializer", "external", "node"])
def test_bits_are_kept(mlx, tmp_path, name, place):
    wanted = every_code(name)
    flatten = helper.make_node("Flatten", ["x"], ["z"])
    transpose = helper.make_node("Transpose", ["z"], ["y"])
    output = helper.make_tensor_value_info("y", CODES[name], [1, len(wanted)])
    packed = values.pack(wanted, BITS[name]) if name in values.PACKED else wanted.view(np.uint8)
    tensor = helper.make_tensor("x", CODES[name], wanted.shape, packed.tobytes(), raw=True)
    if place == "input":
        given = helper.make_tensor_value_info("x", CODES[name], [None])
        made = session(mlx, [flatten, transpose], [given], [output])
        found = run(made, wanted)
    else:
        # Without optimisations: the host would compute it.
        nodes, constants = [flatten, transpose], []
        if place == "node":
            nodes = [helper.make_node("Constant", [], ["x"], value=tensor), *nodes]
        else:
            constants.append(tensor)
        graph = helper.make_graph(nodes, "main", [], [output], initializer=constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR)
        path = tmp_path / "model.onnx"
        if place == "external":
            onnx.save(model, path, save_as_external_data=True, location="x.data", size_threshold=0)
        else:
            onnx.save(model, path)
        level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
        made = conftest.session(path, mlx, whole=place != "node", claim="all", level=level)
        found = values.from_ort(made.run_with_ort_values(["y"], {})[0])
    same_bits(found, wanted.reshape(1, -1))


@pytest.mark.parametrize("to", [name for name in SMALL if "int" not in name and name != "float8_e8m0fnu"])
@pytest.mark.parametrize("saturate", [0, 1])
@pytest.mark.parametrize("source", ["float16", "bfloat16"])
def test_every_half(mlx, source, to, saturate):
    dtype = np.dtype(getattr(ml_dtypes, source, source))
    x = np.arange(2**16, dtype=np.uint16).view(dtype)
    code = helper.np_dtype_to_tensor_dtype(dtype)
    cast = helper.make_node("Cast", ["x"], ["y"], to=CODES[to], saturate=saturate)
    given = helper.make_tensor_value_info("x", code, [None])
    made = session(mlx, [cast], [given], [helper.make_tensor_value_info("y", CODES[to], [None])])
    found = run(made, x)
    wide = x.astype(np.float64)
    with np.errstate(invalid="ignore"):
        if saturate and "8" in to:
            limit = float(ml_dtypes.finfo(found.dtype).max)
            wide = np.clip(wide, -limit, limit)
        wanted = wide.astype(found.dtype)
    np.testing.assert_array_equal(found.astype(np.float32), wanted.astype(np.float32))
    found, wanted = (np.signbit(v[~np.isnan(wide)].astype(np.float32)) for v in (found, wanted))
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("source", SMALL)
@pytest.mark.parametrize("to", ["float32", "float16", "bfloat16", "float64"])
def test_every_code(mlx, source, to):
    dtype = np.dtype(getattr(ml_dtypes, to, to))
    code = helper.np_dtype_to_tensor_dtype(dtype)
    cast = helper.make_node("Cast", ["x"], ["y"], to=code)
    given = helper.make_tensor_value_info("x", CODES[source], [None])
    made = session(mlx, [cast], [given], [helper.make_tensor_value_info("y", code, [None])])
    x = every_code(source)
    with np.errstate(over="ignore"):
        wanted = x.astype(np.float32).astype(np.float64).astype(dtype)
    np.testing.assert_array_equal(run(made, x).astype(np.float64), wanted.astype(np.float64))


@pytest.mark.parametrize("round_mode", ["up", "down", "nearest"])
def test_powers_of_two(mlx, round_mode):
    cast = helper.make_node("Cast", ["x"], ["y"], to=TensorProto.FLOAT8E8M0, round_mode=round_mode)
    given = helper.make_tensor_value_info("x", TensorProto.FLOAT, [None])
    made = session(mlx, [cast], [given], [helper.make_tensor_value_info("y", TensorProto.FLOAT8E8M0, [None])])
    # Of magnitudes below the smallest number, and of infinity, ONNX's text and its function differ.
    bits = np.arange(0x00800000, 0x7F800000, 4099, dtype=np.uint32)
    x = bits.view(np.float32)
    wanted = onnx.numpy_helper.to_float8e8m0(x, True, round_mode)
    same_bits(run(made, x), wanted)
