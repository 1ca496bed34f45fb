"""The scripts that fetch MLX, mlx-c and onnxruntime: their plans, their results and their bad days.

Nothing here needs the network or builds libmlxc: packages come from folders made here, and where a build would run,
a stand-in for the compiler copies what was built before.
"""

import base64
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import zipfile

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
FETCH_MLX_C = ROOT / "scripts/fetch-mlx-c.sh"
FETCH_ORT = ROOT / "scripts/fetch-ort.sh"
PYTHON_ENV = ROOT / "scripts/python-env.sh"
MLX_WHEEL = "mlx-cpu==0.32.2"
SHA256 = re.compile(r"\b[0-9a-f]{64}\b")
AWKWARD = "Mein Ordner mit ü, Komma"
linux_only = pytest.mark.skipif(sys.platform != "linux", reason="MLX's CPU build is for Linux")


def user_cache():
    """Where the scripts keep things without a setting, as they compute it."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.environ["HOME"], ".cache")
    return pathlib.Path(os.environ.get("MLX_EP_CACHE") or os.path.join(base, "onnxruntime-ep-mlx"))


class Bench:
    """An empty cache, an empty package folder and an empty cargo home, with stand-ins for programs before PATH."""

    def __init__(self, folder):
        self.cache, self.links, self.bin = folder / "cache", folder / "links", folder / "bin"
        self.links.mkdir()
        self.bin.mkdir()
        self.calls = folder / "calls"
        self.env = {k: v for k, v in os.environ.items() if not k.startswith(("PIP_", "CARGO_", "ONNXRUNTIME_EP_MLX_"))}
        # A caller may have put a folder of onnxruntime there.
        self.env.pop("PYTHONPATH", None)
        self.env |= {
            "MLX_EP_CACHE": str(self.cache),
            "PYTHON": sys.executable,
            "PIP_NO_INDEX": "1",
            "PIP_CONFIG_FILE": os.devnull,
            "PIP_FIND_LINKS": str(self.links),
            "CARGO_HOME": str(folder / "cargo"),
            "CARGO_NET_OFFLINE": "true",
            "PATH": f"{self.bin}{os.pathsep}{os.environ['PATH']}",
        }

    def stand_in(self, name, body):
        """A program that notes its call and does `body`."""
        file = self.bin / name
        file.write_text(f'#!/usr/bin/env bash\necho "{name} $*" >>"{self.calls}"\n{body}\n')
        file.chmod(0o755)

    def called(self):
        return self.calls.read_text().splitlines() if self.calls.exists() else []

    def run(self, *command, **kwargs):
        done = subprocess.run(
            [str(part) for part in command], env=self.env, capture_output=True, text=True, timeout=300, **kwargs
        )
        done.lines = done.stdout.splitlines()
        return done

    def fails(self, *command, **kwargs):
        """The error that a failing command ends with; it must print no result."""
        done = self.run(*command, **kwargs)
        assert done.returncode == 1, done.stderr
        assert done.stdout == ""
        last = done.stderr.splitlines()[-1]
        assert last.startswith("error: "), done.stderr
        return last

    def add_wheel(self, name, version, files, tag="py3-none-any", entry_points=""):
        """A wheel that pip accepts, in the package folder."""
        module = name.replace("-", "_")
        info = f"{module}-{version}.dist-info"
        files = dict(files)
        files[f"{info}/METADATA"] = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        files[f"{info}/WHEEL"] = f"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: {tag}\n"
        if entry_points:
            files[f"{info}/entry_points.txt"] = entry_points
        digest = lambda text: base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
        record = "".join(f"{path},sha256={digest(text)},{len(text.encode())}\n" for path, text in files.items())
        files[f"{info}/RECORD"] = record + f"{info}/RECORD,,\n"
        path = self.links / f"{module}-{version}-{tag}.whl"
        with zipfile.ZipFile(path, "w") as archive:
            for inside, text in files.items():
                archive.writestr(inside, text)
        return path

    def borrow(self, *folders):
        """Takes finished downloads from the user's cache, as links."""
        for folder in folders:
            (self.cache / folder).mkdir(parents=True)
            for entry in (user_cache() / folder).iterdir():
                if not entry.name.startswith("."):
                    (self.cache / folder / entry.name).symlink_to(entry)
        if "wheels" in folders:
            assert (self.cache / "wheels" / wheel_sha(self)).exists(), f"{user_cache()} lost its wheels: remove it whole"

    def left(self):
        """Every file in the cache, by its path there."""
        return sorted(str(p.relative_to(self.cache)) for p in self.cache.rglob("*") if not p.is_dir())

    def half_made(self):
        return [p for p in self.cache.parent.rglob(".*") if p.name.startswith((".part", ".mlx-c", ".ort", ".venv"))]


@pytest.fixture
def bench(tmp_path):
    made = Bench(tmp_path)
    yield made
    assert made.half_made() == []


@pytest.fixture(scope="session")
def prefix():
    """The real prefix; scripts/test.sh has made it before."""
    if sys.platform != "linux":
        pytest.skip("MLX's CPU build is for Linux")
    done = subprocess.run([FETCH_MLX_C], capture_output=True, text=True, check=True)
    return pathlib.Path(done.stdout.splitlines()[-1]).parents[1]


def wheel_sha(bench, name=MLX_WHEEL):
    plan = bench.run(FETCH_MLX_C, "--dry-run").stdout
    return SHA256.search(plan[plan.index(name) :])[0]


# fetch-mlx-c.sh: plans and arguments


@pytest.mark.parametrize("mlx_c", ["0.7.0", "0.6.0"])
@pytest.mark.parametrize(
    "backend, wheel, words, library",
    [
        pytest.param("cpu", MLX_WHEEL, ["OpenBLAS before", "libmlx_ep.so"], "libmlxc.so", marks=linux_only),
        pytest.param("cuda", "mlx-cuda-13==0.32.2", ["cuDNN", "include/"], "libmlxc.so", marks=linux_only),
        ("metal", "mlx-metal==0.32.2", ["mlx.metallib", "sign"], "libmlxc.dylib"),
    ],
)
def test_a_dry_run_prints_the_plan_and_does_nothing(bench, backend, wheel, words, library, mlx_c):
    for program in ["g++", "cargo", "apt-get", "pip"]:
        bench.stand_in(program, "exit 1")
    done = bench.run(FETCH_MLX_C, "--backend", backend, "--mlx-c", mlx_c, "--dry-run")
    assert (done.returncode, done.stderr) == (0, "")
    for word in [wheel, f"mlx-sys {mlx_c}", *words]:
        assert word in done.stdout
    for item in [wheel, f"mlx-sys {mlx_c}"]:
        assert SHA256.search(next(line for line in done.lines if item in line)), f"{item} is not pinned"
    assert done.lines[-1].endswith(f"{bench.cache}/mlx-c-{mlx_c}-mlx-0.32.2-{backend}/lib/{library}")
    assert not bench.cache.exists()
    assert bench.called() == []


def test_plans_differ_in_their_checksums(bench):
    plans = {
        (backend, mlx_c): frozenset(
            SHA256.findall(bench.run(FETCH_MLX_C, "--backend", backend, "--mlx-c", mlx_c, "--dry-run").stdout)
        )
        for backend in (["cpu", "cuda", "metal"] if sys.platform == "linux" else ["metal"])
        for mlx_c in ["0.7.0", "0.6.0"]
    }
    assert len(set(plans.values())) == len(plans)


@pytest.mark.parametrize("backend", ["cuda", "metal"])
def test_an_unfinished_backend_says_so(bench, backend):
    if backend == "cuda" and sys.platform != "linux":
        pytest.skip("CUDA is for Linux")
    error = bench.fails(FETCH_MLX_C, "--backend", backend)
    assert f"--backend {backend} is not finished" in error and "--dry-run" in error
    assert not bench.cache.exists()


@pytest.mark.parametrize(
    "arguments, words",
    [
        (["--backend"], "--backend needs a value"),
        (["--mlx-c"], "--mlx-c needs a value"),
        (["--backend", "rocm"], "not 'rocm'"),
        (["--mlx-c", "0.5.0"], "not '0.5.0'"),
        (["--fast"], "unknown option --fast"),
        (["a", "b"], "one PREFIX only"),
        ([""], "PREFIX is empty"),
    ],
)
def test_wrong_arguments_are_refused_in_words(bench, arguments, words):
    assert words in bench.fails(FETCH_MLX_C, *arguments)
    assert not bench.cache.exists()


# fetch-mlx-c.sh: bad days


@linux_only
def test_a_folder_of_the_user_is_never_replaced(bench, tmp_path):
    home = tmp_path / "home"
    home.mkdir()
    (home / "letter.txt").write_text("dear")
    assert "was not made by this script" in bench.fails(FETCH_MLX_C, home)
    assert (home / "letter.txt").read_text() == "dear"
    assert not bench.cache.exists()


@linux_only
def test_a_wheel_that_cannot_be_had_leaves_nothing(bench):
    error = bench.fails(FETCH_MLX_C)
    assert f"pip could not download {MLX_WHEEL}" in error
    assert bench.left() == []


@linux_only
def test_a_wheel_with_a_wrong_checksum_leaves_nothing(bench):
    fake = bench.add_wheel("mlx-cpu", "0.32.2", {"mlx/lib/libmlx.so": "changed at its source"})
    error = bench.fails(FETCH_MLX_C)
    found = hashlib.sha256(fake.read_bytes()).hexdigest()
    assert "wrong checksum" in error and fake.name in error
    assert f"expected {wheel_sha(bench)}, found {found}" in error
    assert bench.left() == []


@linux_only
def test_a_wheel_damaged_in_the_cache_is_not_used(bench):
    folder = bench.cache / "wheels" / wheel_sha(bench)
    folder.mkdir(parents=True)
    (folder / "mlx_cpu-0.32.2-py3-none-any.whl").write_bytes(b"cut off")
    done = bench.run(FETCH_MLX_C)
    assert done.returncode == 1
    assert "is damaged and is fetched again" in done.stderr
    assert f"pip could not download {MLX_WHEEL}" in done.stderr
    assert bench.left() == []


@linux_only
def test_an_archive_that_cannot_be_had_leaves_nothing(bench, prefix):
    bench.borrow("wheels")
    before = bench.left()
    assert "cargo could not fetch mlx-sys 0.7.0" in bench.fails(FETCH_MLX_C)
    assert bench.left() == before


@linux_only
@pytest.mark.parametrize("cached", [False, True])
def test_an_archive_with_a_wrong_checksum_is_not_used(bench, prefix, cached):
    bench.borrow("wheels")
    before = bench.left()
    if cached:
        (bench.cache / "crates").mkdir()
        (bench.cache / "crates/mlx-sys-0.7.0.crate").write_text("cut off")
        before = bench.left()
    bench.stand_in(
        "cargo",
        'mkdir -p "$CARGO_HOME/registry/cache/mirror" && echo changed >"$CARGO_HOME/registry/cache/mirror/mlx-sys-0.7.0.crate"',
    )
    error = bench.fails(FETCH_MLX_C)
    found = hashlib.sha256(b"changed\n").hexdigest()
    assert "mlx-sys-0.7.0.crate has the wrong checksum" in error and f"found {found}" in error
    assert bench.called() == ["cargo fetch --quiet"]
    assert bench.left() == before


def compiler(bench, prefix, compile="", link="exit 0"):
    """A stand-in for g++ that answers the probes with yes."""
    bench.stand_in(
        "g++",
        f"""
        out=
        for ((i = 1; i < $#; i++)); do [ "${{!i}}" = -o ] && {{ j=$((i + 1)); out=${{!j}}; }}; done
        case " $* " in
        *" -c "*) {compile or ': >"$out"'} ;;
        *" -shared "*) cp "{prefix}/lib/libmlxc.so" "$out"; {link} ;;
        esac
        """,
    )


def stale(folder):
    """A prefix as an older recipe left it."""
    (folder / "lib").mkdir(parents=True)
    (folder / ".recipe").write_text("older")
    (folder / "lib/libmlxc.so").write_text("older")


@linux_only
@pytest.mark.parametrize(
    "bad, words",
    [
        ({"compile": "echo no such header >&2; exit 1"}, "the C++ compiler failed"),
        ({"link": "exit 1"}, "linking libmlxc failed"),
    ],
)
def test_a_failed_build_keeps_what_was_there(bench, prefix, tmp_path, bad, words):
    bench.borrow("wheels", "crates")
    compiler(bench, prefix, **bad)
    target = tmp_path / AWKWARD
    stale(target)
    assert words in bench.fails(FETCH_MLX_C, target)
    assert (target / "lib/libmlxc.so").read_text() == "older"


@linux_only
def test_missing_packages_are_installed_or_named(bench, prefix):
    # A machine with a compiler that finds no OpenBLAS.
    bench.stand_in("g++", 'case " $* " in *" -lopenblas "*) exit 1 ;; esac')
    bench.stand_in("apt-get", "exit 1")
    bench.stand_in("sudo", '"$@"')
    error = bench.fails(FETCH_MLX_C)
    assert "apt-get could not install libopenblas-dev" in error
    install = next(call for call in bench.called() if call.startswith("apt-get install"))
    assert install.endswith(" libopenblas-dev")
    # One without apt-get, but with what the script itself calls.
    for name in ["bash", "env", "uname", "cut", "cat", "ls", "dirname"]:
        (bench.bin / name).symlink_to(shutil.which(name))
    for name in ["apt-get", "sudo"]:
        (bench.bin / name).unlink()
    bench.stand_in("cargo", "exit 1")
    (bench.bin / "id").symlink_to(shutil.which("id"))
    bench.env["PATH"] = str(bench.bin)
    error = bench.fails(shutil.which("bash"), FETCH_MLX_C)
    assert "install libopenblas-dev (Debian names) with your package manager" in error


# fetch-mlx-c.sh: the prefix


@linux_only
def test_a_prefix_is_built_once_and_replaces_an_older_one(bench, prefix, tmp_path):
    bench.borrow("wheels", "crates")
    compiler(bench, prefix)
    target = tmp_path / AWKWARD
    stale(target)
    done = bench.run(FETCH_MLX_C, target)
    assert done.returncode == 0, done.stderr
    assert done.lines == [str(target / "lib/libmlxc.so")]
    assert "  ops" in done.stderr.splitlines(), "progress is visible"
    same = lambda folder: sorted(str(p.relative_to(folder)) for p in folder.rglob("*"))
    assert same(target) == same(prefix)
    compiled = [call for call in bench.called() if " -c " in call]
    assert len(compiled) > 20

    # The second call starts nothing and needs no network, compiler or Python.
    for program in ["cargo", "python3", "apt-get"]:
        bench.stand_in(program, "exit 1")
    bench.calls.unlink()
    bench.env["PYTHON"] = str(bench.bin / "python3")
    again = bench.run(FETCH_MLX_C, f"{target.name}/", cwd=tmp_path)
    assert (again.returncode, again.stderr, again.lines) == (0, "", done.lines)
    assert bench.called() == []


def test_the_headers_are_kept_as_text(prefix):
    headers = {file.name for file in (prefix / "include/mlx/c").glob("*.h")}
    assert {"ops.h", "array.h", "stream.h", "version.h", "error.h"} <= headers
    assert "mlx_matmul" in (prefix / "include/mlx/c/ops.h").read_text()
    assert not list(prefix.rglob("*.cpp"))


def dynamic(library):
    """The entries of a library's dynamic section, by tag."""
    listing = subprocess.run(
        ["readelf", "--wide", "--dynamic", str(library)],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "LC_ALL": "C"},
    ).stdout
    entries = {}
    for tag, value in re.findall(r"\((\w+)\).*\[(.*)\]", listing):
        entries.setdefault(tag, []).append(value)
    return entries


def test_libraries_have_private_names_and_look_beside_themselves(prefix):
    libraries = sorted((prefix / "lib").glob("*.so*"))
    entries = {file.name: dynamic(file) for file in libraries}
    assert entries["libmlx_ep.so"]["SONAME"] == ["libmlx_ep.so"]
    assert entries["libmlxc.so"]["SONAME"] == ["libmlxc_ep.so"]
    # MLX's own BLAS calls resolve to the first library that defines them.
    needed = entries["libmlxc.so"]["NEEDED"]
    assert [name for name in needed if name.startswith(("libopenblas", "libmlx"))] == ["libopenblas.so.0", "libmlx_ep.so"]
    assert needed.index("libopenblas.so.0") == 0
    for name, entry in entries.items():
        assert not any(library.startswith("libmlx.") for library in entry["NEEDED"]), name
        assert "RPATH" not in entry, name
        assert set(entry.get("RUNPATH", [])) <= {"$ORIGIN"}, name
    for name in ["libmlxc.so", "libmlx_ep.so"]:
        assert entries[name]["RUNPATH"] == ["$ORIGIN"]


LOAD = """
import ctypes, os, sys
lib = ctypes.CDLL(sys.argv[1], mode=os.RTLD_NOW | os.RTLD_LOCAL)

class Handle(ctypes.Structure):
    _fields_ = [("ctx", ctypes.c_void_p)]

lib.mlx_string_new.restype = Handle
lib.mlx_version.argtypes = [ctypes.POINTER(Handle)]
lib.mlx_string_data.argtypes = [Handle]
lib.mlx_string_data.restype = ctypes.c_char_p
version = lib.mlx_string_new()
assert lib.mlx_version(ctypes.byref(version)) == 0
print(lib.mlx_string_data(version).decode())
with open("/proc/self/maps") as maps:
    print("\\n".join(sorted({line.split(maxsplit=5)[5].strip() for line in maps if "libmlx" in line})))
"""


def test_a_moved_prefix_loads_from_where_it_is(prefix, tmp_path):
    moved = tmp_path / AWKWARD
    shutil.copytree(prefix, moved)
    env = {k: v for k, v in os.environ.items() if k != "LD_LIBRARY_PATH"}
    done = subprocess.run(
        [sys.executable, "-c", LOAD, str(moved / "lib/libmlxc.so")], capture_output=True, text=True, env=env, cwd="/"
    )
    assert done.returncode == 0, done.stderr
    version, *mapped = done.stdout.splitlines()
    assert version == "0.32.2"
    assert mapped == [str(moved / "lib/libmlx_ep.so"), str(moved / "lib/libmlxc.so")]


# fetch-ort.sh


def test_a_release_gets_a_folder_of_its_own_once(bench):
    for version in ["91.0.0", "92.0.0"]:
        bench.add_wheel("onnxruntime", version, {"onnxruntime/__init__.py": f"__version__ = '{version}'\n"})
    done = bench.run(FETCH_ORT, "92.0.0", "91.0.0")
    assert done.returncode == 0, done.stderr
    assert [pathlib.Path(line).name.rsplit("-", 1)[0] for line in done.lines] == ["ort-92.0.0", "ort-91.0.0"]
    for line, version in zip(done.lines, ["92.0.0", "91.0.0"]):
        # The folder is what PYTHONPATH takes.
        shown = bench.run(
            "env", f"PYTHONPATH={line}", sys.executable, "-c", "import onnxruntime; print(onnxruntime.__version__)"
        )
        assert shown.lines == [version]
    shutil.rmtree(bench.links)
    again = bench.run(FETCH_ORT, "92.0.0", "91.0.0")
    assert (again.returncode, again.stderr, again.lines) == (0, "", done.lines)


def test_releases_fetched_at_the_same_time_do_not_mix(bench):
    bench.add_wheel("onnxruntime", "91.0.0", {"onnxruntime/__init__.py": ""})
    at_once = [
        subprocess.Popen([FETCH_ORT, "91.0.0"], env=bench.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    printed = {process.communicate(timeout=300)[0] for process in at_once}
    assert [process.returncode for process in at_once] == [0, 0, 0]
    (folder,) = {pathlib.Path(text.strip()) for text in printed}
    assert sorted(p.name for p in folder.iterdir()) == ["onnxruntime", "onnxruntime-91.0.0.dist-info"]


def test_a_release_that_cannot_be_had_leaves_nothing(bench):
    bench.add_wheel("onnxruntime", "91.0.0", {"onnxruntime/__init__.py": ""})
    assert "pip could not install onnxruntime 93.0.0" in bench.fails(FETCH_ORT, "91.0.0", "93.0.0")
    # What was whole before stays.
    assert [p.name.rsplit("-", 1)[0] for p in bench.cache.iterdir()] == ["ort-91.0.0"]


@pytest.mark.parametrize("arguments, words", [([], "usage"), (["latest"], "'latest'"), (["1.32.0", "../1.0.0"], "'../1.0.0'")])
def test_wrong_releases_are_refused_in_words(bench, arguments, words):
    assert words in bench.fails(FETCH_ORT, *arguments)
    assert not bench.cache.exists()


# python-env.sh


def test_an_environment_is_made_once_and_whole(bench, tmp_path):
    code = "def main():\n    print('hello')\n"
    bench.add_wheel("greeter", "1.0", {"greeter.py": code}, entry_points="[console_scripts]\ngreet = greeter:main\n")
    requirements = tmp_path / "requirements.txt"
    requirements.write_text("greeter==1.0\n")
    done = bench.run(PYTHON_ENV, requirements)
    assert done.returncode == 0, done.stderr
    (python,) = done.lines
    assert bench.run(python, "-m", "greeter", "-c", "pass").returncode == 0
    # Programs of the environment start too: they name their interpreter by path.
    assert bench.run(pathlib.Path(python).with_name("greet")).lines == ["hello"]
    shutil.rmtree(bench.links)
    again = bench.run(PYTHON_ENV, requirements)
    assert (again.returncode, again.stderr, again.lines) == (0, "", done.lines)


def test_an_environment_that_cannot_be_filled_leaves_nothing(bench, tmp_path):
    # An interpreter whose environments have a pip that always fails: a real one takes long to make.
    bench.stand_in(
        "python",
        f"""
        [ "$2" = venv ] || exec "{sys.executable}" "$@"
        mkdir -p "$3/bin"
        printf '#!/bin/sh\necho no such package >&2\nexit 1\n' >"$3/bin/python"
        chmod +x "$3/bin/python"
        """,
    )
    bench.env["PYTHON"] = str(bench.bin / "python")
    requirements = tmp_path / "requirements.txt"
    requirements.write_text("greeter==2.0\n")
    assert f"pip could not install {requirements}" in bench.fails(PYTHON_ENV, requirements)
    assert list(bench.cache.iterdir()) == []


def test_an_environment_needs_its_file(bench):
    assert "usage" in bench.fails(PYTHON_ENV)
    assert "usage" in bench.fails(PYTHON_ENV, "/nowhere.txt")
