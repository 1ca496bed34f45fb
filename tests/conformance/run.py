"""Runs the ONNX backend suite on the execution provider and holds the results against the manifest.

PYTHONPATH chooses the release of ONNX Runtime (1.24.4 or newer); the environment is that of scripts/test.sh. The manifest
says for each case how much of it is claimed (whole, cut into several partitions, part, none, folded by ONNX Runtime before
anyone is asked, or - where no session was made), whether the outputs are right, and whether the CPU EP's are. On a release
that has no manifest the rule is: what the CPU EP does right, a session with this execution provider does right.
"""

import argparse
import collections
import fnmatch
import json
import os
import pathlib
import queue
import subprocess
import sys
import threading
import time

import onnxruntime as ort

HERE = pathlib.Path(__file__).resolve().parent
PATIENCE = 120.0


class Worker:
    """A process that runs cases; started again after a crash."""

    def __init__(self):
        self.process = None

    def start(self):
        self.process = subprocess.Popen(
            [sys.executable, "-X", "faulthandler", str(HERE / "worker.py")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
        )
        self.answers = queue.Queue()
        threading.Thread(target=self.listen, args=(self.process, self.answers), daemon=True).start()
        return json.loads(self.next())["ready"]

    @staticmethod
    def listen(process, answers):
        for line in process.stdout:
            answers.put(line)
        answers.put(None)

    def next(self):
        try:
            line = self.answers.get(timeout=PATIENCE)
        except queue.Empty:
            self.process.kill()
            raise TimeoutError from None
        if line is None:
            raise EOFError
        return line

    def case(self, name, mode):
        if self.process is None:
            self.start()
        try:
            self.process.stdin.write(f"{name} {mode}\n")
            return json.loads(self.next())
        except (EOFError, TimeoutError, BrokenPipeError) as error:
            code = self.process.wait()
            self.process = None
            result = "hang" if isinstance(error, TimeoutError) else "crash"
            return {"name": name, "claim": "-", "result": result, "text": f"exit code {code}", "cpu": "-"}

    def stop(self):
        if self.process is not None:
            self.process.stdin.close()
            self.process.wait()


def run_all(chosen, jobs, mode):
    """Answers by case name; `chosen` picks from the names that the workers know."""
    first = Worker()
    names = [n for n in first.start() if chosen(n)]
    workers = [first] + [Worker() for _ in range(min(jobs, len(names)) - 1)]
    waiting, answers, lock = collections.deque(names), {}, threading.Lock()

    def drain(worker):
        while True:
            with lock:
                if not waiting:
                    break
                name = waiting.popleft()
            answers[name] = worker.case(name, mode)
        worker.stop()

    threads = [threading.Thread(target=drain, args=(w,)) for w in workers]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    return answers


def manifest_path():
    return HERE / f"manifest-{ort.__version__}.txt"


def line_of(answer):
    return f"{answer['name']} {answer['claim']} {answer['result']} {answer['cpu']}"


def failures(answers, mode):
    """Lines that say what is not as it should be."""
    found = []
    recorded = {}
    if mode != "alone" and manifest_path().is_file():
        recorded = {line.split()[0]: line for line in manifest_path().read_text().splitlines()}
    for name, answer in sorted(answers.items()):
        broken = answer.get("cpu") == "right" and answer["result"] not in ("right", "notrun")
        if broken or answer["result"] in ("crash", "hang"):
            found.append(f"{name}: {answer['claim']} {answer['result']}, the CPU EP is {answer.get('cpu', '-')}: {answer['text']}")
        elif recorded and recorded.get(name) != line_of(answer):
            found.append(f"{name}: is '{line_of(answer)}', the manifest says '{recorded.get(name, 'nothing')}': {answer['text']}")
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("patterns", nargs="*", help="names of cases, with wildcards; all without any")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--alone", action="store_true", help="do not run the CPU EP beside, nor read the manifest")
    parser.add_argument("--list", action="store_true", help="print the line of every case, with what is left to CPU")
    parser.add_argument("--update", action="store_true", help="write the manifest")
    given = parser.parse_args()

    started = time.monotonic()
    patterns = given.patterns or ["*"]
    mode = "alone" if given.alone else "both"
    answers = run_all(lambda name: any(fnmatch.fnmatch(name, p) for p in patterns), given.jobs, mode)
    if given.list:
        for name, a in sorted(answers.items()):
            print(name, a["claim"], a["result"], a.get("cpu", "-"), a.get("left", ""), a["text"][:200].replace("\n", " "))
    counts = collections.Counter((a["claim"], a["result"]) for a in answers.values())
    for (claim, result), count in sorted(counts.items()):
        print(f"{count:5} {claim:7} {result}")
    good = sum(a["claim"] in ("whole", "cut") and a["result"] == "right" for a in answers.values())
    right = sum(a["result"] == "right" for a in answers.values())
    cpu = sum(a.get("cpu") == "right" for a in answers.values())
    seconds = time.monotonic() - started
    print(f"onnxruntime {ort.__version__}: {len(answers)} cases in {seconds:.0f} s: {good} claimed whole and right, {right} right, CPU EP {cpu}")
    if given.update:
        assert not given.patterns and not given.alone, "a manifest holds all cases"
        manifest_path().write_text("".join(line_of(a) + "\n" for _, a in sorted(answers.items())))
    found = failures(answers, mode)
    for text in found:
        print("FAILED", text)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
