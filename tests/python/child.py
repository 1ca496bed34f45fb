"""Runs a piece of Python in a process of its own: for what must end, fork or start anew."""

import os
import pathlib
import subprocess
import sys
import textwrap

HERE = pathlib.Path(__file__).resolve().parent


def run_child(code, *, env=None, timeout=120, check=True):
    """Runs `code` with this folder's modules at hand. `env` changes the environment; None removes a variable."""
    variables = dict(os.environ)
    # A worker of pytest-xdist marks its environment; the scripts' cache folder is no setting of the plugin, which would say so.
    variables = {k: v for k, v in variables.items() if not k.startswith("PYTEST_") and k != "MLX_EP_CACHE"}
    for name, setting in (env or {}).items():
        if setting is None:
            variables.pop(name, None)
        else:
            variables[name] = str(setting)
    prelude = f"import sys\nsys.path.insert(0, {str(HERE)!r})\n"
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", prelude + textwrap.dedent(code)],
        env=variables,
        capture_output=True,
        text=True,
        timeout=timeout,
    )
    if check:
        assert done.returncode == 0, f"exit code {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done
