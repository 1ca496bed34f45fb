"""Runs cases, one name per line of its input, and answers each with a line of JSON.

It is a process of its own: a crash ends it, and the caller knows in which case.
"""

import json
import os
import pathlib
import sys
import tempfile
import warnings

import numpy as np
import onnxruntime as ort

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "python")]

import cases  # noqa: E402
import conftest  # noqa: E402
import values  # noqa: E402

SPECIAL_OUTPUTS = tuple(f"tensor({name})" for name in ("bfloat16", "float8", "float4", "uint4", "int4", "uint2", "int2"))


def is_special(declared):
    return declared.startswith(tuple(name[:-1] for name in SPECIAL_OUTPUTS))


def same(found, wanted, rtol, atol):
    """As the runner of the suite compares: shapes and types equal, strings equal, numbers within the tolerances."""
    if isinstance(wanted, list):
        assert isinstance(found, list) and len(found) == len(wanted), "another sequence"
        for f, w in zip(found, wanted, strict=True):
            same(f, w, rtol, atol)
        return
    if wanted is None or found is None:
        assert found is None and wanted is None, "an optional is empty on one side only"
        return
    found, wanted = np.asarray(found), np.asarray(wanted)
    assert found.shape == wanted.shape, f"shape {found.shape} instead of {wanted.shape}"
    if wanted.dtype == object or wanted.dtype.kind in "US":
        np.testing.assert_array_equal(found.astype(object), wanted.astype(object))
        return
    assert found.dtype == wanted.dtype, f"{found.dtype} instead of {wanted.dtype}"
    # Two units in the last place: the expected values of a chain of operators were themselves rounded at every step.
    rtol = max(rtol, {"bfloat16": 2**-6, "float16": 2**-9}.get(wanted.dtype.name, 0))
    if values.special(wanted):
        found, wanted = found.astype(np.float32), wanted.astype(np.float32)
    np.testing.assert_allclose(found, wanted, rtol=rtol, atol=atol)


def run(made, given):
    names = [i.name for i in made.get_inputs()]
    assert len(names) >= len(given), "more values than inputs"
    feeds = {name: values.to_ort(v) for name, v in zip(names, given)}
    if not any(is_special(o.type) for o in made.get_outputs()):
        feeds = {name: v for name, v in feeds.items() if v is not None}
        return made.run(None, feeds)
    for name, v in feeds.items():
        if isinstance(v, list) or v is None:
            raise values.NotRun("a sequence beside outputs that numpy lacks")
        if not isinstance(v, ort.OrtValue):
            feeds[name] = ort.OrtValue.ortvalue_from_numpy(np.asarray(v, order="C"))
    outputs = [o.name for o in made.get_outputs()]
    return [values.from_ort(v) for v in made.run_with_ort_values(outputs, feeds)]


def outcome(case, make):
    """What a session of `make` does: right, wrong, an error, or not run; with a text, and the session."""
    made = None
    try:
        made = make(case.model())
        for given, wanted in case.sets():
            found = run(made, given)
            assert len(found) == len(wanted), f"{len(found)} outputs instead of {len(wanted)}"
            for f, w in zip(found, wanted, strict=True):
                same(f, w, case.rtol, case.atol)
        return "right", "", made
    except values.NotRun as error:
        return "notrun", str(error), made
    except AssertionError as error:
        return "wrong", str(error).strip(), made
    except Exception as error:
        return ("error" if made else "noload"), f"{type(error).__name__}: {error}", made


def claim(made):
    if made is None:
        return "-"
    counts, partitions = conftest.assigned(made)
    ours = counts.pop(conftest.EP, 0)
    if not ours:
        return "none" if counts else "folded"
    if counts:
        return "part"
    return "whole" if partitions == 1 else "cut"


def placement(log):
    """What the execution provider last said of the nodes that it left, in a log of ONNX Runtime."""
    log.seek(0)
    said = [line for line in log.read().decode(errors="replace").splitlines() if "; left to CPU: " in line]
    log.seek(0)
    log.truncate()
    return said[-1].partition("; left to CPU: ")[2].removesuffix("\x1b[m") if said else ""


def one(case, devices, with_cpu, log):
    ours, text, made = outcome(case, lambda model: conftest.session(model, devices, severity=1, claim="all"))
    answer = {"name": case.name, "claim": claim(made), "result": ours, "text": text[:2000], "left": placement(log)}
    made = None
    if with_cpu:
        answer["cpu"] = outcome(case, conftest.cpu_session)[0]
    return answer


def main():
    warnings.simplefilter("ignore")
    # ONNX Runtime writes its log there.
    log = tempfile.TemporaryFile()
    os.dup2(log.fileno(), 2)
    conftest.register()
    devices, known = conftest.devices(), cases.load()
    print(json.dumps({"ready": sorted(known)}), flush=True)
    for line in sys.stdin:
        name, _, mode = line.strip().partition(" ")
        print(json.dumps(one(known[name], devices, mode != "alone", log)), flush=True)


if __name__ == "__main__":
    main()
