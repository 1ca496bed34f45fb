"""The scripts that fetch: what they plan, and that a failure is clear and leaves nothing half-made."""

import os
import pathlib
import subprocess
import sys

import pytest
from conftest import ROOT

# Nothing here depends on the release of ONNX Runtime; the script that runs these tests runs them once.
NETWORK_FREE_PIP = """#!/bin/sh
# Stands in for Python: `-m pip download` and `-m pip install` behave as told, all else is Python's.
case "$*" in
*"-m pip download"*)
    [ {behaviour} = fail ] && echo "no network" >&2 && exit 1
    while [ "$1" != --dest ]; do shift; done
    echo "not the wheel" >"$2/some-1.0-py3-none-any.whl"
    ;;
*"-m pip install"*)
    while [ "$1" != --target ]; do shift; done
    mkdir -p "$2/half" && echo "no network" >&2
    exit 1
    ;;
*) exec {python} "$@" ;;
esac
"""


@pytest.fixture
def run(tmp_path):
    """Runs a script with an empty cache; `pip` is None for the real one, else 'fail' or 'wrong'."""

    def run(script, *arguments, pip=None, **env):
        variables = dict(os.environ, ONNXRUNTIME_EP_MLX_CACHE=str(tmp_path / "cache"), **env)
        variables.pop("PYTHONPATH", None)
        if pip:
            fake = tmp_path / "python"
            fake.write_text(NETWORK_FREE_PIP.format(behaviour=pip, python=sys.executable))
            fake.chmod(0o755)
            variables["PYTHON"] = str(fake)
        command = ["bash", str(ROOT / "scripts" / script), *arguments]
        return subprocess.run(command, env=variables, capture_output=True, text=True, timeout=120)

    run.cache = tmp_path / "cache"
    return run


def left(folder):
    """Files in a folder, at any depth."""
    return sorted(str(p.relative_to(folder)) for p in pathlib.Path(folder).rglob("*") if p.is_file())


@pytest.mark.parametrize(("backend", "wheel"), (("cpu", "mlx-cpu"), ("cuda", "mlx-cuda-13"), ("metal", "mlx-metal")))
def test_a_plan_is_printed_and_nothing_done(run, backend, wheel):
    if backend == "cpu" and sys.platform == "darwin":
        pytest.skip("MLX has no CPU build for macOS")
    done = run("fetch-mlx-c.sh", "--backend", backend, "--dry-run", "/some where/else")
    assert done.returncode == 0, done.stderr
    assert f"{wheel}==0.32.2" in done.stdout and "mlx-sys 0.7.0" in done.stdout
    assert "/some where/else/lib/libmlxc." in done.stdout.splitlines()[-1]
    assert not run.cache.exists()


def test_a_backend_that_is_not_finished_says_so(run):
    done = run("fetch-mlx-c.sh", "--backend", "cuda")
    assert done.returncode != 0 and "--dry-run" in done.stderr


@pytest.mark.parametrize("arguments", (["--backend", "tpu"], ["--mlx-c", "0.5.0"], ["--fast"], ["a", "b"]))
def test_bad_arguments_are_errors(run, arguments):
    done = run("fetch-mlx-c.sh", *arguments)
    assert done.returncode != 0 and done.stderr.startswith("error: ") and not done.stdout
    assert not run.cache.exists()


@pytest.mark.skipif(sys.platform == "darwin", reason="the prefix is made on Linux")
@pytest.mark.parametrize(("pip", "words"), (("fail", "could not download"), ("wrong", "wrong checksum")))
def test_a_failed_download_of_mlx_leaves_nothing(run, tmp_path, pip, words):
    done = run("fetch-mlx-c.sh", str(tmp_path / "prefix"), pip=pip)
    assert done.returncode != 0 and not done.stdout
    assert "error: " in done.stderr and words in done.stderr and "othing was kept" in done.stderr, done.stderr
    assert left(run.cache) == [] and not (tmp_path / "prefix").exists()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["cache", "python"]


@pytest.mark.parametrize(("pip", "words"), (("fail", "could not download"), ("wrong", "wrong checksum")))
def test_a_failed_download_of_a_model_leaves_nothing(run, pip, words):
    done = run("fetch-models.sh", "magika", pip=pip)
    assert done.returncode != 0 and not done.stdout
    assert words in done.stderr and "othing was kept" in done.stderr, done.stderr
    assert left(run.cache) == []


def test_a_failed_install_of_onnxruntime_leaves_nothing(run):
    done = run("fetch-ort.sh", "1.32.0", pip="fail")
    assert done.returncode != 0 and not done.stdout
    assert "could not install onnxruntime 1.32.0" in done.stderr
    assert left(run.cache) == [] and not any(run.cache.iterdir())


@pytest.mark.parametrize("version", ("latest", "1.32", "1.32.0; ls"))
def test_a_release_that_is_none(run, version):
    done = run("fetch-ort.sh", version)
    assert done.returncode != 0 and version in done.stderr
    assert not run.cache.exists() or left(run.cache) == []


def test_what_is_there_is_not_fetched_again():
    """The prefix that these tests use: its path comes back at once, without pip and cargo."""
    libmlxc = os.environ["ONNXRUNTIME_EP_MLX_LIBMLXC"]
    prefix = pathlib.Path(libmlxc).parents[1]
    if not (prefix / ".recipe").is_file():
        pytest.skip("this libmlxc was not made by the script")
    other = ["--mlx-c", "0.6.0"] if "0.6.0" in (prefix / ".recipe").read_text() else []
    command = ["bash", str(ROOT / "scripts/fetch-mlx-c.sh"), *other, str(prefix)]
    done = subprocess.run(command, env=dict(os.environ, PYTHON="/bin/false"), capture_output=True, text=True, timeout=10)
    assert (done.returncode, done.stdout, done.stderr) == (0, libmlxc + "\n", "")
