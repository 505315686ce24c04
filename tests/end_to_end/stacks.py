"""Tests Python stacks: what the shim reads from the interpreter's memory against what the interpreter says.

    stacks.py BUILD CASE|--list"""
import collections
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

import cases

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAMS = os.path.join(HERE, "../programs")
SAMPLES = os.path.join(HERE, "../../samples")
VERSIONS = range(8, 14)  # 3.8 to 3.13


def interpreters():
    """{version: the path of an interpreter}: those of pyenv, and those in PATH."""
    found = {}
    roots = [os.environ.get("PYENV_ROOT", ""), os.path.expanduser("~/.pyenv")]
    for minor in VERSIONS:
        paths = [path for root in roots if root for path in glob.glob(f"{root}/versions/3.{minor}.*/bin/python3.{minor}")]
        paths += filter(None, [shutil.which(f"python3.{minor}", path="/usr/bin:/usr/local/bin")])
        if paths:
            found[f"3.{minor}"] = paths[0]
    return found


def record(build, folder, command, **variables):
    """Records a program on the simulated GPU. Returns the trace."""
    trace = f"{folder}/trace.wst"
    libraries = f"{build}/tests/simgpu:{build}/shim"
    # A sanitizer's runtime must come first.
    needed = subprocess.run(["ldd", f"{build}/shim/libwallshim.so"], capture_output=True, text=True, check=True).stdout
    runtime = re.findall(r"=> (\S*lib[at]san\S*)", needed)
    environment = {**os.environ, "LD_LIBRARY_PATH": libraries, "WALLSHIM_OUTPUT": trace, "ASAN_OPTIONS": "detect_leaks=0",
                   "LD_PRELOAD": ":".join([*runtime, f"{build}/shim/libwallshim.so"]), **variables}
    environment.pop("MALLOC_PERTURB_", None)
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, (done.returncode, done.stdout, done.stderr)
    return trace


def folded(build, trace):
    """{stack: how often}, of all threads."""
    out = subprocess.run([f"{build}/tools/wallshim", "export", "--format", "folded", trace, "-o", "-"], capture_output=True,
                         text=True, check=True, timeout=60).stdout
    stacks = collections.Counter()
    for line in out.splitlines():
        stack, count = line.rsplit(" ", 1)
        stacks[stack.split(";", 2)[2]] += int(count)
    return stacks


def compare(build, python):
    with tempfile.TemporaryDirectory() as folder:
        trace = record(build, folder, [python, f"{PROGRAMS}/stacks_probe.py", f"{folder}/seen"], WALLSHIM_STACKS="all")
        with open(f"{folder}/seen", encoding="utf-8") as file:
            truth = collections.Counter(file.read().splitlines())
        found = folded(build, trace)
    # Stacks that are found besides were taken in pauses.
    wrong = [f"{count} {stack}" for stack, count in (truth - found).items()]
    assert len(truth) > 400, len(truth)
    assert not wrong, f"{python}: {len(wrong)} are missing:\n" + "\n".join(wrong[:8])
    print(f"{python}: {truth.total() if hasattr(truth, 'total') else sum(truth.values())} stacks")


def case_probe(build):
    """Every kind of code, on every interpreter that is here."""
    found = interpreters()
    if not found:
        print("skipped: no interpreter of a known version")
        return 77
    if cases.sanitized(f"{build}/tools/wallshim"):
        found = dict(list(found.items())[-1:])
    for python in found.values():
        compare(build, python)
    return 0


def report_of(build, *arguments):
    libraries = interpreters()
    python = list(libraries.values())[-1] if libraries else sys.executable
    with tempfile.TemporaryDirectory() as folder:
        # Longer kernels keep the device busy, as in scripts/quickstart.
        trace = record(build, folder, [python, f"{SAMPLES}/train.py", *arguments], SIMGPU_SLOWDOWN="2000")
        return subprocess.run([f"{build}/tools/wallshim", "report", trace], capture_output=True, text=True, check=True,
                              timeout=60, env={**os.environ, "COLUMNS": "200"}).stdout


def line_with(words):
    """The number of the line of train.py with these words."""
    with open(f"{SAMPLES}/train.py", encoding="utf-8") as file:
        return next(number for number, line in enumerate(file, 1) if words in line)


def case_lines(build):
    """The report of the sample with a slow loader, a read-back a step and a chain names the three lines."""
    text = report_of(build, "--steps", "100", "--loader-ms", "3", "--sync")
    advice = " ".join(text[text.index("Do first"):].split())
    loader = line_with("time.sleep(self.delay)")
    back = {line_with("driver.synchronize(stream)"), line_with("value = driver.download(loss, 1)[0]")}
    launch = line_with("            launch(stream)")
    found = re.search(r"load input ahead.*?at \S+ \(train\.py:(\d+)\)", advice)
    assert found and int(found[1]) == loader, (loader, text)
    found = re.search(r"wait for the GPU less often.*?from train \(train\.py:(\d+)\)", advice)
    assert found and int(found[1]) in back, (back, text)
    if cases.sanitized(f"{build}/tools/wallshim"):
        return  # the host is so slow there that fusing the chain would save nothing
    text = report_of(build, "--steps", "100")
    found = re.search(r"fuse bias_add.*?from train \(train\.py:(\d+)\)", " ".join(text[text.index("Do first"):].split()))
    assert found and int(found[1]) == launch, (launch, text)


def case_none(build):
    """--stacks none takes none, and the export says so."""
    with tempfile.TemporaryDirectory() as folder:
        python = list(interpreters().values())[-1]
        trace = record(build, folder, [python, f"{SAMPLES}/train.py", "--steps", "3"], WALLSHIM_STACKS="none")
        done = subprocess.run([f"{build}/tools/wallshim", "export", "--format", "folded", trace, "-o", "-"], check=False,
                              capture_output=True, text=True, timeout=60)
        assert done.returncode == 2 and "no stacks" in done.stderr, done


if __name__ == "__main__":
    cases.main(globals())
