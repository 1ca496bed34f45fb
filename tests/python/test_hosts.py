"""What every supported release of ONNX Runtime must do with the plugin."""

import ctypes
import pathlib
import re

import graphs
import numpy as np
import onnxruntime as ort
import pytest
from child import run_child
from conftest import EP, MINOR, PATCH, assigned, close, cpu_session, library, on_cpu, session

# What a release cannot do: see README.
PARTLY = (MINOR, PATCH) >= (23, 1)
ASSIGNMENT = MINOR >= 24

NEEDS_PLUGINS = pytest.mark.skipif(MINOR < 23, reason="this release has no plugins")


def sample(rows=3, width=4, seed=0):
    return np.random.default_rng(seed).standard_normal((rows, width)).astype(np.float32)


@NEEDS_PLUGINS
def test_registration_and_device_list(mlx):
    (device,) = mlx
    assert device.ep_name == EP
    assert device.ep_vendor == "Apple"
    assert device.device.type.name in ("CPU", "GPU")
    metadata = dict(device.ep_metadata)
    # ONNX Runtime adds `library_path` from 1.24.3 and `version` from 1.24.
    assert any("0.32." in text for text in metadata.values()), metadata
    if MINOR >= 25:
        assert re.fullmatch(r"\d+\.\d+\.\d+([-+].*)?", metadata["version"]), metadata


@NEEDS_PLUGINS
def test_whole_graph(mlx):
    made = session(graphs.perceptron(), mlx, whole=True)
    if ASSIGNMENT:
        assert assigned(made) == ({EP: 5}, 1)
    for rows in (1, 5, 2, 5):
        x = sample(rows, 8, rows)
        close(made.run(None, {"x": x})[0], graphs.perceptron_of(x))


@NEEDS_PLUGINS
@pytest.mark.skipif(PARTLY, reason="this release runs graphs partly on a plugin")
def test_mixed_graph_stays_on_cpu_where_the_host_cannot_mix(mlx):
    made = session(graphs.mixed(), mlx)
    x = sample()
    close(made.run(None, {"x": x})[0], graphs.mixed_of(x))


@NEEDS_PLUGINS
@pytest.mark.skipif(not PARTLY, reason="this release runs graphs whole or not at all")
def test_mixed_graph(mlx):
    made = session(graphs.mixed(), mlx)
    if ASSIGNMENT:
        assert assigned(made) == ({EP: 4, "CPUExecutionProvider": 2}, 2)
        assert on_cpu(made) == ["SequenceAt", "SequenceConstruct"]
    for rows in (3, 1):
        x = sample(rows)
        close(made.run(None, {"x": x})[0], graphs.mixed_of(x))


@NEEDS_PLUGINS
def test_mixed_graph_is_an_error_where_cpu_is_forbidden(mlx):
    with pytest.raises(Exception, match="(?i)fallback|CPU"):
        session(graphs.mixed(), mlx, whole=True)


@NEEDS_PLUGINS
@pytest.mark.parametrize("sign", (1, -1))
def test_if_with_bodies_for_the_cpu(mlx, sign):
    made = session(graphs.branches(), mlx)
    x = sign * np.abs(sample())
    close(made.run(None, {"x": x})[0], graphs.branches_of(x))
    if ASSIGNMENT:
        assert "If" in on_cpu(made)
        assert assigned(made)[0][EP] >= 2


@NEEDS_PLUGINS
@pytest.mark.parametrize("sign", (1, -1))
def test_if_without_borders(mlx, sign):
    made = session(graphs.branches(borders=False), mlx)
    x = sign * np.abs(sample())
    close(made.run(None, {"x": x})[0], graphs.branches_of(x))


@NEEDS_PLUGINS
def test_loop_with_a_body_for_the_cpu(mlx):
    made = session(graphs.loop(), mlx)
    x = sample()
    for count in (0, 3):
        found = made.run(None, {"x": x, "count": np.array(count, np.int64)})[0]
        close(found, graphs.loop_of(x, count))
    if ASSIGNMENT:
        assert "Loop" in on_cpu(made)
        assert assigned(made)[0][EP] >= 1


@NEEDS_PLUGINS
@pytest.mark.parametrize("as_entry", (False, True))
def test_an_option(mlx, as_entry):
    options = {"device": "cpu", "claim": "all"}
    if as_entry:
        made = session(graphs.perceptron(), mlx, config={f"ep.mlxexecutionprovider.{k}": v for k, v in options.items()})
    else:
        made = session(graphs.perceptron(), mlx, **options)
    x = sample(2, 8)
    close(made.run(None, {"x": x})[0], graphs.perceptron_of(x))


@NEEDS_PLUGINS
def test_a_run_error(mlx):
    """The status names the node and the session stays usable."""
    model = graphs.model(
        [graphs.node("Relu", "x", "r"), graphs.node("MatMul", "r w", "product")],
        [graphs.value("x", ["n", "k"])],
        [graphs.value("product", ["n", 4])],
        [graphs.constant("w", np.eye(4, dtype=np.float32))],
    )
    made = session(model, mlx, whole=True)
    for _ in range(2):
        with pytest.raises(Exception, match="MLX EP: .*MatMul.*product"):
            made.run(None, {"x": np.ones((2, 5), np.float32)})
        x = sample()
        close(made.run(None, {"x": x})[0], np.maximum(x, 0))


@NEEDS_PLUGINS
def test_two_sessions(mlx):
    one = session(graphs.perceptron(), mlx, whole=True)
    two = session(graphs.perceptron(16), mlx, whole=True, device="cpu")
    x, y = sample(2, 8), sample(3, 16)
    for _ in range(3):
        close(one.run(None, {"x": x})[0], graphs.perceptron_of(x))
        close(two.run(None, {"x": y})[0], graphs.perceptron_of(y, 16))
    del one
    close(two.run(None, {"x": y})[0], graphs.perceptron_of(y, 16))


@NEEDS_PLUGINS
def test_unregister():
    """Unregistered and registered again, in one process that then ends well."""
    run_child("""
        import conftest, graphs, numpy as np, onnxruntime as ort
        x = np.ones((2, 8), np.float32)
        for _ in range(3):
            conftest.register()
            made = conftest.session(graphs.perceptron(), conftest.devices(), whole=True)
            conftest.close(made.run(None, {"x": x})[0], graphs.perceptron_of(x))
            del made
            ort.unregister_execution_provider_library("mlx")
            assert not conftest.devices()
        made = conftest.cpu_session(graphs.perceptron())
        conftest.close(made.run(None, {"x": x})[0], graphs.perceptron_of(x))
    """)


class Library:
    """The C API of a release's library; `calls` names slots of its table."""

    SLOTS = {"GetErrorMessage": 2, "CreateEnv": 3, "ReleaseEnv": 92, "ReleaseStatus": 93, "Register": 301}

    def __init__(self):
        (path,) = pathlib.Path(ort.__file__).parent.glob("capi/libonnxruntime.*[0-9]*")
        base = ctypes.CDLL(str(path)).OrtGetApiBase
        base.restype = ctypes.POINTER(ctypes.CFUNCTYPE(ctypes.POINTER(ctypes.c_void_p), ctypes.c_uint32))
        self.table = base()[0](MINOR)

    def call(self, name, *arguments, result=ctypes.c_void_p):
        function = ctypes.CFUNCTYPE(result, *(type(a) for a in arguments))(self.table[self.SLOTS[name]])
        return function(*arguments)


@pytest.mark.skipif(MINOR >= 23, reason="this release has plugins")
def test_a_release_without_plugins_is_refused_in_words():
    """Below 1.23 Python has no registration: the C library is asked, and answers with our status."""
    host = Library()
    env = ctypes.c_void_p()
    assert not host.call("CreateEnv", ctypes.c_int(3), ctypes.c_char_p(b"test"), ctypes.pointer(env))
    for _ in range(2):
        status = host.call("Register", env, ctypes.c_char_p(b"mlx"), ctypes.c_char_p(library().encode()))
        assert status
        status = ctypes.c_void_p(status)
        text = host.call("GetErrorMessage", status, result=ctypes.c_char_p).decode()
        host.call("ReleaseStatus", status, result=None)
        assert text.startswith("MLX EP: "), text
        assert ort.__version__ in text and "1.23" in text, text
    host.call("ReleaseEnv", env, result=None)
    # The release itself still works.
    x = sample(2, 8)
    close(cpu_session(graphs.perceptron()).run(None, {"x": x})[0], graphs.perceptron_of(x))
