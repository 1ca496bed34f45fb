"""Registration: where libmlxc is looked for, and what is said when it is missing or no good."""

import importlib.metadata
import os
import pathlib
import shutil
import subprocess
import sys

import pytest
from child import run_child
from conftest import MINOR, library

pytestmark = pytest.mark.skipif(MINOR < 23, reason="this release has no plugins")

LIBMLXC = pathlib.Path(os.environ.get("ONNXRUNTIME_EP_MLX_LIBMLXC", "run scripts/fetch-mlx-c.sh"))
ON_MAC = sys.platform == "darwin"
NAME = LIBMLXC.name

# Registers; prints the error, or what a model gives; the host must be sound either way.
REGISTER = """
import conftest, graphs, numpy as np, onnxruntime as ort
x = np.ones((2, 8), np.float32)
try:
    conftest.register()
except Exception as error:
    print("refused:", error)
    assert not conftest.devices()
    # Nothing stays registered under the name.
    try:
        ort.unregister_execution_provider_library("mlx")
    except Exception:
        pass
    else:
        raise AssertionError("a refused library was registered")
    made = conftest.cpu_session(graphs.perceptron())
else:
    made = conftest.session(graphs.perceptron(), conftest.devices(), whole=True)
    print("registered")
conftest.close(made.run(None, {"x": x})[0], graphs.perceptron_of(x))
"""


def outcome(first="", **env):
    """What registration says after `first`, in a process whose environment names no libmlxc, but for `env`."""
    clean = {"ONNXRUNTIME_EP_MLX_LIBMLXC": None, "ONNXRUNTIME_EP_MLX_ALLOW_UNTESTED": None}
    clean |= {"LD_LIBRARY_PATH": None, "DYLD_LIBRARY_PATH": None}
    done = run_child(first + REGISTER, env=clean | env)
    # All that is printed comes from this script: the library itself writes nothing.
    assert done.stdout.count("\n") == 1 or done.stdout.startswith("refused:"), done.stdout
    return done.stdout


def refusal(first="", **env):
    said = outcome(first, **env)
    assert said.startswith("refused:") and "MLX EP: " in said and "To fix: " in said, said
    return said


def alone(folder):
    """A copy of the plugin with nothing beside it."""
    folder.mkdir(parents=True, exist_ok=True)
    return pathlib.Path(shutil.copy(library(), folder))


def compile_library(folder, source):
    """A shared library named like libmlxc."""
    text = folder / "source.c"
    text.write_text(source)
    made = folder / NAME
    subprocess.run([os.environ.get("CC", "cc"), "-shared", "-fPIC", "-o", str(made), str(text)], check=True)
    return made


def test_no_libmlxc_anywhere(tmp_path):
    plugin = alone(tmp_path / "plugin")
    said = refusal(MLX_EP_TEST_LIBRARY=plugin)
    # Every place that was tried, and the way out.
    assert str(plugin.parent / NAME) in said
    assert str(plugin.parent / "mlx" / NAME) in said
    assert "the system loader" in said
    assert "ONNXRUNTIME_EP_MLX_LIBMLXC" in said.split("To fix: ")[1]


def test_the_named_file_is_missing(tmp_path):
    missing = tmp_path / "nowhere" / NAME
    said = refusal(ONNXRUNTIME_EP_MLX_LIBMLXC=missing)
    assert str(missing) in said and "ONNXRUNTIME_EP_MLX_LIBMLXC" in said


def test_the_named_file_is_no_library(tmp_path):
    text = tmp_path / NAME
    text.write_text("this is no library\n")
    assert str(text) in refusal(ONNXRUNTIME_EP_MLX_LIBMLXC=text)


def test_a_library_that_is_no_libmlxc(tmp_path):
    other = compile_library(tmp_path, "int answer(void) { return 42; }\n")
    said = refusal(ONNXRUNTIME_EP_MLX_LIBMLXC=other)
    assert str(other) in said and "mlx" in said


def test_a_libmlxc_that_lacks_symbols(tmp_path):
    """It has a version, which must not be called before the rest was found to be there."""
    poor = compile_library(tmp_path, "#include <stdlib.h>\nint mlx_version(void *text) { abort(); }\n")
    said = refusal(ONNXRUNTIME_EP_MLX_LIBMLXC=poor)
    assert str(poor) in said and "mlx_" in said.split(str(poor))[1]


def test_a_folder_with_a_space_and_a_letter_beyond_ascii(tmp_path):
    """Both the plugin and MLX lie there, MLX in the plugin's own subfolder."""
    plugin = alone(tmp_path / "plug in é")
    shutil.copytree(LIBMLXC.parent, plugin.parent / "mlx")
    assert outcome(MLX_EP_TEST_LIBRARY=plugin) == "registered\n"
    assert outcome(ONNXRUNTIME_EP_MLX_LIBMLXC=plugin.parent / "mlx" / NAME) == "registered\n"


def python_mlx():
    """The folder of Python's `mlx` package, of a version that is not the EP's."""
    found = importlib.metadata.distribution("mlx")
    assert not found.version.startswith("0.32."), "these tests want another MLX than the EP's"
    return pathlib.Path(found.locate_file("mlx"))


OTHER_MLX = """
import mlx.core as other
other.set_default_device(other.cpu)
assert not other.__version__.startswith("0.32."), other.__version__
def ask_the_other():
    a = other.random.normal((64, 64))
    assert abs((a @ other.eye(64) - a).sum().item()) < 1e-3
"""
ASK_OURS = """
import conftest, graphs, numpy as np
conftest.register()
made = conftest.session(graphs.perceptron(), conftest.devices(), whole=True)
x = np.ones((2, 8), np.float32)
def ask_ours():
    conftest.close(made.run(None, {"x": x})[0], graphs.perceptron_of(x))
"""


@pytest.mark.parametrize("order", ("before", "after"))
def test_another_mlx_of_python_in_the_process(order):
    python_mlx()
    parts = [OTHER_MLX + "ask_the_other()\n", ASK_OURS + "ask_ours()\n"]
    if order == "after":
        parts.reverse()
    run_child("".join(parts) + "for _ in range(3):\n    ask_the_other()\n    ask_ours()\n")


@pytest.mark.skipif(ON_MAC, reason="the message is that of the Linux loader")
def test_a_libmlx_of_another_version_in_the_process_is_named(tmp_path):
    """The loader gives libmlxc the libmlx that is there, which lacks symbols: the message says which one that is."""
    folder = tmp_path / "lib"
    shutil.copytree(LIBMLXC.parent, folder)
    (theirs,) = python_mlx().rglob("libmlx.so")
    there = folder / "libmlx_ep.so"
    shutil.copy(theirs, there)
    (their_blas,) = theirs.parents[2].glob("mlx_cpu.libs")
    said = refusal(
        f"import ctypes\nctypes.CDLL({str(there)!r})\n",
        ONNXRUNTIME_EP_MLX_LIBMLXC=folder / NAME,
        LD_LIBRARY_PATH=their_blas,
    )
    assert "undefined symbol" in said and str(there) in said, said
