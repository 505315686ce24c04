"""Measures what a Python stack adds to a call of the driver, beside what native stacks take.

bench_stacks.py STACK_LOOP NULL_DRIVER_FOLDER SHIM WALLSHIM [PYTHON…]
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "../end_to_end"), os.path.join(HERE, "../support")]
import stacks  # noqa: E402: tests/end_to_end

loop, driver, shim, wallshim = (os.path.abspath(path) for path in sys.argv[1:5])
FRAMES = (1, 24)
BUDGET = {1: 10, 24: 40}
NATIVE = {"glibc's backtrace(3)": "0", "unw_backtrace": "1", "unw_step": "2"}


def run(python, what, depth, numbers, which, prefix=(), **options):
    """Runs the loop and returns the ns that it prints. which: the stacks that the shim takes; None: no shim."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("WALLSHIM_")}
    environment["LD_LIBRARY_PATH"] = driver
    if which:
        environment.update(LD_PRELOAD=shim, WALLSHIM_STACKS=which, WALLSHIM_LOG="quiet", **options)
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([*prefix, python, os.path.join(HERE, "stack_loop.py"), loop, what, str(depth), *map(str, numbers)],
                              env=environment, cwd=folder, check=True, text=True, capture_output=True)
    return float(done.stdout)


def instructions(python, depth, which):
    """Instructions of a call: the difference of two runs of different length."""
    counts = []
    for calls in (20000, 40000):
        with tempfile.TemporaryDirectory() as folder:
            out = os.path.join(folder, "out")
            run(python, "sync", depth, (1, calls), which, WALLSHIM_BACKEND="host", WALLSHIM_RING="64M",
                prefix=("valgrind", "--tool=callgrind", "--separate-threads=yes", "--callgrind-out-file=" + out))
            with open(out + "-01", encoding="utf-8") as text:  # the counts of the calling thread
                counts.append(int(re.search(r"^(?:totals|summary): (\d+)", text.read(), re.M).group(1)))
    return (counts[1] - counts[0]) / 20000


def stacks_a_launch(python):
    """How many stacks a launch has by default."""
    with tempfile.TemporaryDirectory() as folder:
        run(python, "launch", FRAMES[-1], (41, 20000), "some", WALLSHIM_OUTPUT=f"{folder}/trace.wst")
        told = subprocess.run([wallshim, "info", f"{folder}/trace.wst"], check=True, text=True, capture_output=True).stdout
    rows = {family: int(count.replace(",", "")) for count, family in re.findall(r"^ +([\d,]+)  (op|stack)$", told, re.M)}
    return rows.get("stack", 0) / rows["op"]


def show(name, value, unit, **more):
    print(json.dumps({"name": name, "value": round(value, 2), "unit": unit, **more}), flush=True)


def main():
    found = {path: path for path in sys.argv[5:]} or stacks.interpreters()
    if not found:
        sys.exit(77)
    for version, python in found.items():
        for depth in FRAMES:
            ns = [run(python, "sync", depth, (41, 3000), which, WALLSHIM_BACKEND="host") for which in ("all", "none")]
            added = ns[0] - ns[1]
            show(f"stack of {depth}, Python {version}", added, "ns", budget=BUDGET[depth])
    version, python = list(found.items())[-1]
    show(f"stack of {FRAMES[-1]}, mean of all launches by default", added * stacks_a_launch(python), "ns", budget=5)
    for name, kind in NATIVE.items():
        for depth in FRAMES:
            ns = run(python, "native", depth, (kind,), None)
            if ns >= 0:
                show(f"native stack of {depth} and the interpreter's, {name}", ns, "ns")
    if shutil.which("valgrind"):
        for depth in FRAMES:
            added = instructions(python, depth, "all") - instructions(python, depth, "none")
            show(f"stack of {depth}, Python {version}, instructions", added, "instructions")


main()
