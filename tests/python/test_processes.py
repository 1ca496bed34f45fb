"""Threads, lifetimes, forks and ends of processes. Each test has a process of its own."""

import os
import pathlib
import subprocess
import sys
import textwrap
import time

import graphs
import onnx
import onnxruntime as ort
import pytest
from child import run_child
from conftest import MINOR, library

pytestmark = pytest.mark.skipif(MINOR < 23, reason="this release has no plugins")

HERE = pathlib.Path(__file__).resolve().parent

START = """
import conftest, graphs, gc, numpy as np, onnxruntime as ort, os, threading
conftest.register()
def make(model=graphs.perceptron(), **given):
    return conftest.session(model, conftest.devices(), whole=True, **given)
def ask(made, seed=0, rows=3, width=8):
    x = np.random.default_rng(seed).standard_normal((rows, width)).astype(np.float32)
    conftest.close(made.run(None, {"x": x})[0], graphs.perceptron_of(x, width))
"""


def in_child(code, **given):
    return run_child(START + textwrap.dedent(code), **given)


def test_eight_threads_on_one_session():
    in_child("""
        made, failures = make(), []
        def work(thread):
            try:
                for i in range(100):
                    ask(made, seed=1000 * thread + i, rows=1 + i % 5)
            except BaseException as error:
                failures.append(error)
        threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
        for t in threads: t.start()
        for t in threads: t.join()
        assert not failures, failures
    """)


def test_four_sessions_in_four_threads():
    in_child("""
        failures = []
        def work(width):
            try:
                for i in range(5):
                    made = make(graphs.perceptron(width))
                    for j in range(10):
                        ask(made, seed=j, width=width)
            except BaseException as error:
                failures.append(error)
        threads = [threading.Thread(target=work, args=(8 * n,)) for n in range(1, 5)]
        for t in threads: t.start()
        for t in threads: t.join()
        assert not failures, failures
    """)


def test_made_run_and_dropped_on_three_threads():
    in_child("""
        held = []
        def on_thread(work):
            failures = []
            def guarded():
                try:
                    work()
                except BaseException as error:
                    failures.append(error)
            thread = threading.Thread(target=guarded)
            thread.start()
            thread.join()
            assert not failures, failures
        for _ in range(10):
            on_thread(lambda: held.append(make()))
            on_thread(lambda: ask(held[0]))
            on_thread(lambda: (held.clear(), gc.collect()))
        on_thread(lambda: ask(make()))
    """)


MEMORY = """
import ctypes, time
libmlxc = ctypes.CDLL(os.environ["ONNXRUNTIME_EP_MLX_LIBMLXC"])
def memory_of_mlx(kind):
    found = ctypes.c_size_t()
    assert getattr(libmlxc, f"mlx_get_{kind}_memory")(ctypes.byref(found)) == 0
    return found.value
def until(condition, seconds=10):
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.01)
    return condition()
def resident():
    gc.collect()
    return int(open("/proc/self/statm").read().split()[1]) * os.sysconf("SC_PAGESIZE")
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_a_hundred_sessions_leave_no_memory():
    """Each holds 8 MB of weights. MLX's own count is exact; the process's is not, because malloc keeps some memory for itself."""
    in_child(MEMORY + textwrap.dedent("""
        model = graphs.lookup(2048, 1024)
        def turn():
            found = make(model).run(None, {"index": np.array([3, -1], np.int64)})[0]
            assert (found[:, 0] == (2 * 3 * 1024, 2 * 2047 * 1024)).all(), found
        def settled():
            gc.collect()
            return until(lambda: memory_of_mlx("active") < 1 << 16 and memory_of_mlx("cache") == 0)
        for _ in range(20):
            turn()
        assert settled(), (memory_of_mlx("active"), memory_of_mlx("cache"))
        before = resident()
        for _ in range(100):
            turn()
        assert settled(), (memory_of_mlx("active"), memory_of_mlx("cache"))
        grown = resident() - before
        assert grown < 24 << 20, f"{grown >> 20} MB after 100 sessions of 8 MB"
        held = make(model)
        held.run(None, {"index": np.array([0], np.int64)})
        assert memory_of_mlx("active") >= 8 << 20
        threads = len(os.listdir("/proc/self/task"))
        turn()
        assert len(os.listdir("/proc/self/task")) == threads
    """))


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_a_thousand_runs_leave_no_memory():
    """Each has 256 KB of input and of output."""
    in_child(MEMORY + textwrap.dedent("""
        made = make(graphs.ramp(256))
        x = np.random.default_rng(0).standard_normal((256, 256)).astype(np.float32)
        expected = np.maximum(x + np.linspace(-1, 1, 256, dtype=np.float32), 0) * x
        def turns(count):
            for _ in range(count):
                conftest.close(made.run(None, {"x": x})[0], expected)
        turns(200)
        before = resident()
        turns(1000)
        grown = resident() - before
        assert grown < 16 << 20, f"{grown >> 20} MB after 1000 Runs of 512 KB"
    """))


def test_a_session_outlives_the_registration():
    in_child("""
        made = make()
        ask(made)
        ort.unregister_execution_provider_library("mlx")
        assert not conftest.devices()
        for i in range(5):
            ask(made, seed=i)
        del made
        gc.collect()
    """)


def test_a_session_outlives_the_registration_until_the_end():
    in_child("""
        made = make()
        ask(made)
        ort.unregister_execution_provider_library("mlx")
        ask(made)
    """)


def test_registered_twice_under_two_names():
    in_child("""
        conftest.register("again")
        one, two = conftest.devices()
        assert one.ep_name == two.ep_name == conftest.EP
        sessions = [conftest.session(graphs.perceptron(), [d], whole=True) for d in (one, two)]
        for made in sessions * 2:
            ask(made)
        del one, two
        ort.unregister_execution_provider_library("mlx")
        (left,) = conftest.devices()
        for made in sessions:
            ask(made)
        ask(conftest.session(graphs.perceptron(), [left], whole=True))
        try:
            conftest.register("again")
        except Exception as error:
            assert "already registered" in str(error), error
        else:
            raise AssertionError("one name was registered twice")
    """)


FORK = """
def in_fork(work, seconds=30):
    pid = os.fork()
    if pid == 0:
        try:
            work()
        except BaseException:
            import traceback
            traceback.print_exc()
            os._exit(1)
        # Not the ordinary end: ONNX Runtime hangs or aborts there in a forked process, with its CPU EP alone too.
        os._exit(0)
    import time
    for _ in range(seconds * 100):
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            assert status == 0, status
            return
        time.sleep(0.01)
    os.kill(pid, 9)
    raise AssertionError("the forked process hangs")
"""

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")


@needs_fork
def test_fork_before_first_use():
    """Registered in the parent, used in the children, then in the parent, which other children must not disturb."""
    run_child(START + FORK + "for _ in range(2):\n    in_fork(lambda: ask(make()))\nask(make())\n")


@needs_fork
def test_fork_after_first_use():
    """A clear error in the child, from the parent's session and from one of its own; the parent goes on."""
    run_child(
        START
        + FORK
        + """
# Without threads of ONNX Runtime's own, which a child cannot end: it waits for ever for those that it lacks.
made = make(threads=1)
ask(made)
def refused(work):
    try:
        work()
    except Exception as error:
        assert "MLX EP: " in str(error) and "fork" in str(error), error
    else:
        raise AssertionError("it ran")
in_fork(lambda: refused(lambda: ask(made)))
in_fork(lambda: refused(lambda: ask(make(threads=1))))
def drop():
    global made
    del made
    gc.collect()
in_fork(drop)
ask(made)
"""
    )


def test_the_end_of_a_process_that_used_it():
    """No session, a session, a session in a global, a Run just before: each ends with 0 and says nothing."""
    for last in ("pass", "make()", "made = make()", "made = make(); ask(made)", "made = make(); ask(made); os.environ.clear()"):
        done = run_child(START + last + "\n")
        assert done.stderr == "", done.stderr


@pytest.fixture(scope="module")
def exit_in_run(tmp_path_factory):
    """The C program, compiled, and its first arguments."""
    folder = tmp_path_factory.mktemp("exit")
    program = folder / "exit_in_run"
    source = HERE / "exit_in_run.c"
    compiler = [os.environ.get("CC", "cc"), "-O1", "-Wall", "-Werror", "-o", str(program), str(source)]
    subprocess.run([*compiler, "-lpthread", "-ldl"], check=True)
    width = 512
    model = graphs.chain(width, 6)
    model.graph.output[0].name = model.graph.node[-1].output[0] = "last"
    onnx.save(model, str(folder / "chain.onnx"))
    (host,) = pathlib.Path(ort.__file__).parent.glob("capi/libonnxruntime.*[0-9]*")
    return [str(program), str(host), str(MINOR), library(), str(folder / "chain.onnx"), str(width)]


def test_exit_with_a_run_in_flight(exit_in_run):
    """exit() on one thread while another is inside Run: status 0, within 10 s, whatever moment it hits."""
    for attempt in range(20):
        started = time.monotonic()
        done = subprocess.run([*exit_in_run, str(attempt * 3)], capture_output=True, text=True, timeout=30)
        assert done.returncode == 0, (attempt, done.returncode, done.stdout, done.stderr)
        assert time.monotonic() - started < 10
