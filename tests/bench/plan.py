"""How long GetCapability needs for generated graphs of 1,000 to 10,000 nodes, in a real ONNX Runtime.

    PYTHONPATH=$(scripts/fetch-ort.sh 1.32.0) ONNXRUNTIME_EP_MLX_LIBMLXC=$(scripts/fetch-mlx-c.sh) \
        $(scripts/python-env.sh tests/requirements.txt) tests/bench/plan.py

The times are those that the execution provider logs at VERBOSE. The quietest of five sessions counts.
"""

import os
import pathlib
import re
import sys
import tempfile
import time

import numpy as np
import onnxruntime as ort

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "python"))
import conftest  # noqa: E402
import graphs  # noqa: E402

SESSIONS = 5
WIDTH = 8
STAGES = ("read", "planned", "partitioned")
LINE = re.compile(r"MLX: (\d+) nodes: read in (\d+) us, planned in (\d+) us, (partitioned|loaded) in (\d+) us")


def mixed_chain(count):
    """`count` nodes in groups of six: a product, a sum and an activation, a branch of two, and a reshape that joins them."""
    nodes, last = [], "x"
    for i in range(0, count, 6):
        group = [
            graphs.node("MatMul", f"{last} w{i % 7}", f"m{i}"),
            graphs.node("Add", f"m{i} b", f"a{i}"),
            graphs.node("Relu", f"a{i}", f"r{i}"),
            graphs.node("Mul", f"{last} half", f"h{i}"),
            graphs.node("Add", f"r{i} h{i}", f"s{i}"),
            graphs.node("Reshape", f"s{i} shape", f"y{i}"),
        ]
        nodes += group[: count - len(nodes)]
        last = nodes[-1].output[0]
    constants = [graphs.constant(f"w{k}", graphs.weights(WIDTH, WIDTH, k)) for k in range(7)]
    constants += [
        graphs.constant("b", np.ones(WIDTH, np.float32)),
        graphs.constant("half", np.array(0.5, np.float32)),
        graphs.constant("shape", np.array([-1, WIDTH], np.int64)),
    ]
    return graphs.model(nodes, [graphs.value("x", ["n", WIDTH])], [graphs.value(last, ["n", WIDTH])], constants)


def log_of(body):
    """What `body` writes to the standard error of the process, and its seconds."""
    sys.stderr.flush()
    kept = os.dup(2)
    with tempfile.TemporaryFile() as log:
        os.dup2(log.fileno(), 2)
        try:
            start = time.perf_counter()
            body()
            seconds = time.perf_counter() - start
        finally:
            os.dup2(kept, 2)
            os.close(kept)
        log.seek(0)
        return log.read().decode(errors="replace"), seconds


def measure(model, devices):
    """Microseconds of each stage of GetCapability and of Compile, and milliseconds of the whole session."""
    # ONNX Runtime's own rewriting is left out, so that the EP sees the nodes that were made.
    options = conftest.options(
        devices, config={"session.disable_cpu_ep_fallback": "1"}, level=ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    )
    options.log_severity_level = 0
    log, seconds = log_of(lambda: ort.InferenceSession(model, options, enable_fallback=False))
    stages, compiled, most = dict.fromkeys(STAGES, 0), 0, 0
    for count, read, planned, last, microseconds in LINE.findall(log):
        if last == "loaded":
            compiled += int(read) + int(planned) + int(microseconds)
            continue
        most = max(most, int(count))
        for stage, spent in zip(STAGES, (read, planned, microseconds)):
            stages[stage] += int(spent)
    assert most, f"the EP logged no times:\n{log[-2000:]}"
    return stages, most, compiled, seconds * 1e3


def report(runs):
    """Prints the quietest run of one model and gives its total."""
    stages, most, compiled, session = min(runs, key=lambda run: sum(run[0].values()))
    total = sum(stages.values())
    parts = ", ".join(f"{stage} {spent / 1e3:.1f}" for stage, spent in stages.items())
    print(f"{most} nodes: {total / 1e3:.1f} ms ({parts}); then Compile {compiled / 1e3:.1f} ms, session {session:.0f} ms")
    return total


def main():
    conftest.register()
    devices = conftest.devices()
    print(f"onnxruntime {ort.__version__}, quietest of {SESSIONS} sessions each")
    # The smallest may fit into a cache, so one between shows whether the rest grows linearly.
    models = [mixed_chain(count).SerializeToString() for count in (1000, 3000, 10000)]
    rounds = [[measure(model, devices) for model in models] for _ in range(SESSIONS)]
    small, middle, large = (report(runs) for runs in zip(*rounds))
    print(f"10,000 / 1,000 nodes: {large / small:.1f}; 10,000 / 3,000 nodes: {large / middle:.1f}")


if __name__ == "__main__":
    main()
