"""The plugin in a real ONNX Runtime. Which release is used is decided by PYTHONPATH."""

import os
import pathlib

import numpy as np
import onnx
import onnxruntime as ort
import pytest

EP = "MLXExecutionProvider"
ROOT = pathlib.Path(__file__).resolve().parents[2]
MINOR = int(ort.__version__.split(".")[1])
PATCH = int(ort.__version__.split(".")[2])


def library() -> str:
    """Absolute path of the built plugin; ONNX Runtime takes a relative one from its own folder."""
    path = os.environ.get("MLX_EP_TEST_LIBRARY")
    found = pathlib.Path(path) if path else ROOT / "target/release/libonnxruntime_mlx_ep.so"
    assert found.is_file(), f"{found} is missing: run cargo build --release"
    return str(found)


def register(name="mlx"):
    ort.register_execution_provider_library(name, library())


def devices():
    return [d for d in ort.get_ep_devices() if d.ep_name == EP]


@pytest.fixture(scope="session")
def mlx():
    """The EP's devices, registered once per process."""
    register()
    found = devices()
    assert len(found) == 1
    return found


def options(ep_devices, config=None, level=None, threads=0, severity=3, **ep_options):
    """Session options that add the EP; `config` are session config entries, `threads` those of the CPU EP."""
    so = ort.SessionOptions()
    so.log_severity_level = severity
    so.intra_op_num_threads = threads
    so.add_provider_for_devices(ep_devices, {k: str(v) for k, v in ep_options.items()})
    if MINOR >= 24:
        so.add_session_config_entry("session.record_ep_graph_assignment_info", "1")
    for key, value in (config or {}).items():
        so.add_session_config_entry(key, value)
    if level is not None:
        so.graph_optimization_level = level
    return so


def as_source(model):
    return model.SerializeToString() if isinstance(model, onnx.ModelProto) else str(model)


def session(model, ep_devices, whole=False, **kwargs):
    """A session with the EP. `whole` makes every node that is left to CPU an error, on every release."""
    config = dict(kwargs.pop("config", {}))
    if whole:
        config["session.disable_cpu_ep_fallback"] = "1"
    so = options(ep_devices, config=config, **kwargs)
    made = ort.InferenceSession(as_source(model), so, enable_fallback=False)
    assert EP in made.get_providers()
    # A Run that fails must fail here, not go on with the CPU.
    made.disable_fallback()
    return made


def cpu_session(model):
    so = ort.SessionOptions()
    so.log_severity_level = 3
    return ort.InferenceSession(as_source(model), so, providers=["CPUExecutionProvider"])


def assigned(made):
    """Node counts per provider, and the number of our partitions; needs 1.24."""
    counts, partitions = {}, 0
    for graph in made.get_provider_graph_assignment_info():
        counts[graph.ep_name] = counts.get(graph.ep_name, 0) + len(graph.get_nodes())
        partitions += graph.ep_name == EP
    return counts, partitions


def on_cpu(made):
    """Operator types of the nodes that were left to other providers; needs 1.24."""
    graphs = [g for g in made.get_provider_graph_assignment_info() if g.ep_name != EP]
    return sorted(n.op_type for g in graphs for n in g.get_nodes())


def close(found, expected, scale=1e-4):
    """Within `scale` of the largest magnitude of the expected values; integers and booleans equal."""
    found, expected = np.asarray(found), np.asarray(expected)
    assert found.shape == expected.shape and found.dtype == expected.dtype
    if not np.issubdtype(expected.dtype, np.floating):
        np.testing.assert_array_equal(found, expected)
        return 0.0
    if expected.size == 0:
        return 0.0
    assert np.array_equal(np.isnan(found), np.isnan(expected))
    f, e = np.nan_to_num(found.astype(np.float64)), np.nan_to_num(expected.astype(np.float64))
    worst = float(np.abs(f - e).max())
    largest = max(float(np.abs(e).max()), 1e-6)
    assert worst <= scale * largest, f"largest difference {worst} at scale {largest}"
    return worst
