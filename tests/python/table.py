"""Prints a table of the models of test_models: nodes claimed, partitions, agreement with the CPU EP, and latencies.

PYTHONPATH chooses the release of ONNX Runtime (1.24 or newer); the environment is that of scripts/test.sh.
"""

import pathlib
import statistics
import sys
import tempfile
import time

import onnx
from conftest import EP, assigned, close, cpu_session, devices, register, session
from test_models import MODELS, in_two


def worst(made, reference, runs):
    """The largest difference, in parts of the scale of the output in which it is."""
    found = 0.0
    for feeds in runs:
        for ours, theirs in zip(made.run(None, feeds), reference.run(None, feeds), strict=True):
            scale = max(float(abs(theirs).max()), 1e-6) if theirs.size else 1.0
            found = max(found, close(ours, theirs, scale=float("inf")) / scale)
    return found


def latency(made, feeds, seconds=2.0):
    """Median of single Runs, in ms."""
    made.run(None, feeds)
    times, end = [], time.perf_counter() + seconds
    while time.perf_counter() < end:
        started = time.perf_counter()
        made.run(None, feeds)
        times.append(time.perf_counter() - started)
    return statistics.median(times) * 1000


def main(names):
    register()
    print("| model | nodes claimed | partitions whole / cut | difference whole / cut | ms MLX / CPU |")
    print("|---|---|---|---|---|")
    for name in names or MODELS:
        path, runs = MODELS[name]
        whole, reference = session(path, devices()), cpu_session(path)
        with tempfile.TemporaryDirectory() as folder:
            cut_path = pathlib.Path(folder) / "cut.onnx"
            onnx.save(in_two(path), str(cut_path))
            cut, cut_reference = session(cut_path, devices()), cpu_session(cut_path)
        counts, partitions = assigned(whole)
        differences = f"{worst(whole, reference, runs):.1e} / {worst(cut, cut_reference, runs):.1e}"
        times = f"{latency(whole, runs[0]):.1f} / {latency(reference, runs[0]):.1f}"
        claimed = f"{counts.get(EP, 0)} of {sum(counts.values())}"
        print(f"| {name} | {claimed} | {partitions} / {assigned(cut)[1]} | {differences} | {times} |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
