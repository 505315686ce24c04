"""Tests Python stacks: compares the stacks that the shim reads from the interpreter's memory with those that the
interpreter reports.

    stacks.py BUILD CASE|--list"""
import collections
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

import cases
import pprof

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAMS = os.path.join(HERE, "../programs")
SAMPLES = os.path.join(HERE, "../../samples")
VERSIONS = range(8, 15)  # minor versions: Python 3.8 to 3.14


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


def tested(build):
    """The paths of the interpreters to run; only one for a sanitized build, which is slow."""
    paths = list(interpreters().values())
    return paths[-1:] if cases.sanitized(f"{build}/tools/wallshim") else paths


class CannotRun(Exception):
    pass


def record(build, folder, command, limit=300, **variables):
    """Records a program on the simulated GPU. Returns the trace."""
    trace = f"{folder}/trace.wst"
    libraries = f"{build}/tests/simgpu:{build}/shim"
    # A sanitizer's runtime must be preloaded before the shim.
    needed = subprocess.run(["ldd", f"{build}/shim/libwallshim.so"], capture_output=True, text=True, check=True).stdout
    runtime = re.findall(r"=> (\S*lib[at]san\S*)", needed)
    environment = {**os.environ, "LD_LIBRARY_PATH": libraries, "WALLSHIM_OUTPUT": trace, "ASAN_OPTIONS": "detect_leaks=0",
                   "LD_PRELOAD": ":".join([*runtime, f"{build}/shim/libwallshim.so"]), **variables}
    environment.pop("MALLOC_PERTURB_", None)
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=limit)
    if done.returncode == 77:
        raise CannotRun
    assert done.returncode == 0, (done.returncode, done.stdout, done.stderr)
    return trace


def folded(build, trace):
    """{stack: how often}, of all threads."""
    out = subprocess.run([f"{build}/tools/wallshim", "export", "--format", "folded", trace, "-o", "-"], capture_output=True,
                         text=True, check=True, timeout=600).stdout
    stacks = collections.Counter()
    for line in out.splitlines():
        stack, count = line.rsplit(" ", 1)
        stacks[stack.split(";", 2)[2]] += int(count)
    return stacks


def compare(build, python, program, *arguments, least=1, **variables):
    """Compares the stacks of a trace with those that the program wrote. Returns False if it cannot run here."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            trace = record(build, folder, [python, f"{PROGRAMS}/{program}.py", f"{folder}/seen", *arguments],
                           **{"WALLSHIM_STACKS": "all", **variables})
        except CannotRun:
            return False
        with open(f"{folder}/seen", encoding="utf-8") as file:
            truth = collections.Counter(file.read().splitlines())
        found = folded(build, trace)
    # The trace may have more stacks than the program wrote. The shim took those in pauses between calls.
    wrong = [f"{count} {stack}" for stack, count in (truth - found).items()]
    assert len(truth) >= least, len(truth)
    assert not wrong, f"{python}: {len(wrong)} are missing:\n" + "\n".join(wrong[:8])
    print(f"{python}: {sum(truth.values())} stacks")
    return True


def case_probe(build):
    """Every kind of code, on every interpreter of this machine."""
    pythons = tested(build)
    if not pythons:
        print("skipped: no interpreter of a known version")
        return 77
    for python in pythons:
        compare(build, python, "stacks_probe", least=400)
    return 0


def case_subinterpreters(build):
    """In a subinterpreter, the shim sees the subinterpreter's own frames from Python 3.12 on. Before 3.12 it sees the
    frames that called the subinterpreter."""
    done = [compare(build, python, "stacks_switched", "subinterpreters", least=5) for python in tested(build)]
    return 0 if any(done) else 77


def case_greenlets(build):
    """Each greenlet has its own stack. Debian's interpreter has a package with greenlets."""
    pythons = [*tested(build), *filter(None, [shutil.which("python3", path="/usr/bin")])]
    done = [compare(build, python, "stacks_switched", "greenlets", least=10) for python in pythons]
    if not any(done):
        print("skipped: no interpreter has greenlets: scripts/setup --test installs them")
        return 77
    return 0


def case_captured(build):
    """The shim takes a stack for each launch that is captured into a graph, however little time it may spend on
    stacks."""
    for python in tested(build)[-2:]:
        compare(build, python, "stacks_kept", "captured", least=41, WALLSHIM_STACKS="some", WALLSHIM_OVERHEAD="0.1%")


def case_collectives(build):
    """The shim takes a stack for each collective, also in a group, although a group launches all kernels at its end."""
    for python in tested(build)[-2:]:
        compare(build, python, "stacks_kept", "collectives", least=2)


def report_of(build, *arguments, switches=()):
    libraries = interpreters()
    python = list(libraries.values())[-1] if libraries else sys.executable
    with tempfile.TemporaryDirectory() as folder:
        # Longer kernels keep the device busy, as in scripts/quickstart.
        trace = record(build, folder, [python, f"{SAMPLES}/train.py", *arguments], SIMGPU_SLOWDOWN="2000")
        return subprocess.run([f"{build}/tools/wallshim", "report", *switches, trace], capture_output=True, text=True, check=True,
                              timeout=60, env={**os.environ, "COLUMNS": "200"}).stdout


def line_with(words):
    """The number of the line of train.py with these words."""
    with open(f"{SAMPLES}/train.py", encoding="utf-8") as file:
        return next(number for number, line in enumerate(file, 1) if words in line)


def case_lines(build):
    """The sample has a slow loader, a read-back in each step, and a chain of kernels. The report names the line of
    each."""
    text = report_of(build, "--steps", "100", "--loader-ms", "3", "--sync")
    advice = " ".join(text[text.index("Do first"):].split())
    loader = line_with("time.sleep(self.delay)")
    # The source text of a line follows its file name and number.
    assert f"(train.py:{loader}): time.sleep(self.delay)" in advice, advice
    assert "): driver.synchronize(stream)" in advice or "): value = driver.download(loss, 1)[0]" in advice, advice
    back = {line_with("driver.synchronize(stream)"), line_with("value = driver.download(loss, 1)[0]")}
    launch = line_with("            launch(stream)")
    found = re.search(r"load input ahead.*?at \S+ \(train\.py:(\d+)\)", advice)
    assert found and int(found[1]) == loader, (loader, text)
    found = re.search(r"wait for the GPU less often.*?from train \(train\.py:(\d+)\)", advice)
    assert found and int(found[1]) in back, (back, text)
    if cases.sanitized(f"{build}/tools/wallshim"):
        return  # the host is so slow with a sanitizer that fusing the chain would save nothing
    # On a busy machine the chain is too small a part of a step for the page.
    report = json.loads(report_of(build, "--steps", "100", switches=["--json"]))
    waits = [row.get("where", "") for row in report["processes"][0]["synchronisation"]]
    before = line_with('driver.call("cuCtxSynchronize")')
    assert any(f"(train.py:{before})" in where for where in waits), (before, waits)
    advice = report["processes"][0]["devices"][0]["advice"]
    found = [row["where"] for row in advice if row["text"].startswith("fuse bias_add")]
    assert found and f"from train (train.py:{launch})" in found[0], (launch, advice)


def case_none(build):
    """With --stacks none, no stacks are taken, and the export says so."""
    with tempfile.TemporaryDirectory() as folder:
        python = list(interpreters().values())[-1]
        trace = record(build, folder, [python, f"{SAMPLES}/train.py", "--steps", "3"], WALLSHIM_STACKS="none")
        done = subprocess.run([f"{build}/tools/wallshim", "export", "--format", "folded", trace, "-o", "-"], check=False,
                              capture_output=True, text=True, timeout=60)
        assert done.returncode == 2 and "no stacks" in done.stderr, done


def speedscope(path):
    """{name of a profile: {stack: weight}}. Checks what speedscope's file-format-schema.json asks of a file."""
    with open(path, encoding="utf-8") as file:
        document = json.load(file)
    assert document["$schema"] == "https://www.speedscope.app/file-format-schema.json", document["$schema"]
    frames, profiles = document["shared"]["frames"], {}
    for frame in frames:
        assert set(frame) <= {"name", "file", "line", "col"} and isinstance(frame["name"], str), frame
    for profile in document["profiles"]:
        assert set(profile) == {"type", "name", "unit", "startValue", "endValue", "samples", "weights"}, set(profile)
        assert profile["type"] == "sampled" and profile["unit"] == "nanoseconds", profile["type"]
        assert len(profile["samples"]) == len(profile["weights"])
        assert profile["startValue"] == 0 and profile["endValue"] == sum(profile["weights"])
        weights = collections.Counter()
        for sample, weight in zip(profile["samples"], profile["weights"]):
            weights[tuple((frames[i]["name"], frames[i]["file"], frames[i]["line"]) for i in sample)] += weight
        profiles[profile["name"].split(" ")[0]] = weights
    return profiles


def case_exports(build):
    """The exports of stacks agree with each other and with the report."""
    with tempfile.TemporaryDirectory() as folder:
        python = list(interpreters().values())[-1]
        trace = record(build, folder, [python, f"{SAMPLES}/train.py", "--steps", "20", "--loader-ms", "1", "--sync"])
        wallshim = f"{build}/tools/wallshim"
        for name in ("a.pb.gz", "a.speedscope.json"):
            subprocess.run([wallshim, "export", "-o", f"{folder}/{name}", trace], check=True, timeout=60)
        types, samples = pprof.read(f"{folder}/a.pb.gz")
        profiles = speedscope(f"{folder}/a.speedscope.json")
        counts = folded(build, trace)
        device = json.loads(subprocess.run([wallshim, "report", "--json", trace], capture_output=True, text=True, check=True,
                                           timeout=60).stdout)["processes"][0]["devices"][0]
    assert types == [("stacks", "count"), ("host", "nanoseconds"), ("device", "nanoseconds"), ("idle", "nanoseconds")], types
    assert {stack[0][0].rsplit(" ", 1)[0] for stack in samples} == {os.path.basename(python)}, list(samples)[0]
    inside = {stack[1:]: values for stack, values in samples.items() if len(stack) > 1}
    for place, name in enumerate(("host", "device", "idle"), 1):
        assert profiles[name] == {stack: values[place] for stack, values in inside.items() if values[place]}, name
    taken = collections.Counter()
    for stack, values in inside.items():
        taken[";".join(f"{name} ({file}:{line})" for name, file, line in stack)] += values[0]
    assert taken == counts, (taken - counts, counts - taken)
    times = [sum(values[place] for values in samples.values()) for place in (2, 3)]
    assert times == [sum(kernel["total_ns"] for kernel in device["kernels"]), device["idle_ns"]], times
    # The outermost frame is the script.
    assert {stack[0][0] for stack in inside} == {"<module>"}, {stack[0] for stack in inside}
    functions = device["code"]["functions"]
    assert device["code"]["estimated"] and functions[0]["name"] == "<module>", functions[0]["name"]
    for place, key in ((1, "host_ns"), (2, "device_ns"), (3, "idle_ns")):
        whole = device["code"]["outside"][key] + sum(function[key] for function in functions)
        assert whole == sum(values[place] for values in samples.values()), key


if __name__ == "__main__":
    cases.main(globals())
