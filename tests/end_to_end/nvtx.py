"""Tests the ranges that a program sets with NVTX: compares the ranges that tests/programs/marking.c sets with the trace
and the report.

    nvtx.py BUILD CASE|--list"""
import collections
import json
import os
import re
import subprocess
import tempfile

import cases

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
STEPS = 20
ANNOTATION, OPERATOR, RANGE_OPEN = 2, 3, 16


def output_of(*command, **environment):
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120, env={**os.environ, **environment})
    assert done.returncode == 0, (command, done.returncode, done.stdout, done.stderr)
    return done.stdout


class Trace:
    """The rows of one run of the program, by family."""

    def __init__(self, build, folder, program="programs/marking", injection=None, kernel_ns=200000, **environment):
        self.file, self.wallshim = f"{folder}/trace.wst", f"{build}/tools/wallshim"
        shim = f"{build}/shim/libwallshim.so"
        self.output = output_of(f"{ROOT}/tests/run_preloaded.sh", build, f"{build}/tests/{program}", str(STEPS), str(kernel_ns),
                                WALLSHIM_OUTPUT=self.file, NVTX_INJECTION64_PATH=injection or shim, **environment)
        self.rows = collections.defaultdict(list)
        for line in output_of(self.wallshim, "dump", "--json", self.file).splitlines():
            row = json.loads(line)
            self.rows[row.pop("family")].append(row)
        self.meta = {row["key"]: row["value"] for row in self.rows["meta"]}
        # In the dump, each byte outside ASCII is one character.
        self.labels = {row["id"]: row["text"].encode("latin-1").decode() for row in self.rows["label"]}

    def ranges(self):
        """{name: its ranges}"""
        named = collections.defaultdict(list)
        for row in self.rows["range"]:
            named[self.labels[row["name"]]].append(row)
        return named

    def report(self):
        return json.loads(output_of(self.wallshim, "report", "--json", self.file))


def check_ranges(trace):
    ranges = trace.ranges()
    counts = {name: len(rows) for name, rows in ranges.items()}
    expected = {"step": STEPS, "library:layer 3": STEPS, "forward": STEPS, "library:registered": STEPS, "aten::mm": STEPS,
                "first started": 1, "second started": 1, "mark": 1, "wide é€😀": 1, "deep": 64}
    assert counts == expected, counts
    assert [row["number"] for row in ranges["step"]] == list(range(STEPS)), ranges["step"]
    assert {row["number"] for row in ranges["library:registered"]} == {77}
    assert {row["kind"] for row in ranges["aten::mm"]} == {OPERATOR}
    assert {row["kind"] for rows in (ranges["step"], ranges["forward"], ranges["mark"]) for row in rows} == {ANNOTATION}
    mark = ranges["mark"][0]
    assert mark["host_begin"] == mark["host_end"], mark
    for step, forward, layer in zip(ranges["step"], ranges["forward"], ranges["library:layer 3"]):
        assert step["host_begin"] <= layer["host_begin"] <= forward["host_begin"], (step, layer, forward)
        assert layer["host_end"] <= forward["host_end"] <= step["host_end"], (step, layer, forward)
    first, second = ranges["first started"][0], ranges["second started"][0]
    assert first["host_begin"] <= second["host_begin"] <= first["host_end"] <= second["host_end"], (first, second)
    # Lost ranges: 36 deeply nested ones found no room, one has no name, one ends in another thread, and one never ends.
    lost = sum(row["count"] for row in trace.rows["loss"] if row["reason"] == RANGE_OPEN)
    assert lost == 36 + 3, trace.rows["loss"]


def check_program(build, program):
    if not os.path.exists(f"{build}/tests/{program}"):
        print("skipped: no header of NVTX 3 was found when this was built")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        trace = Trace(build, folder, program)
        check_ranges(trace)
        alone = output_of(f"{ROOT}/tests/run_preloaded.sh", "--no-shim", build, f"{build}/tests/{program}")
        without = re.sub(r"the same again: .*\n", "", alone)
        assert re.sub(r"the same again: .*\n", "", trace.output) == without, (trace.output, alone)
        assert "the same again: 1" in trace.output, trace.output
    return 0


def case_own(build):
    """The program uses this project's own declaration of the protocol."""
    return check_program(build, "programs/marking")


def case_toolkit(build):
    """The program uses the toolkit's header."""
    return check_program(build, "abi/marking_toolkit")


def case_older(build):
    """The program uses the entry point of NVTX 1 and 2."""
    return check_program(build, "programs/marking_older")


def case_report(build):
    """The report has the ranges, the work launched in them, and steps from the ranges named "step"."""
    with tempfile.TemporaryDirectory() as folder:
        trace = Trace(build, folder, kernel_ns=5000000)
        device = trace.report()["processes"][0]["devices"][0]
        ranges = {row["name"]: (row["count"], row["operations"], row["own"]["operations"]) for row in device["ranges"]}
        # The launch in the operator counts for the step. Of the two launches in "forward", one is in the library's
        # range, too.
        assert ranges["step"] == (STEPS, 4 * STEPS, STEPS), ranges
        assert ranges["forward"] == (STEPS, 2 * STEPS, 2 * STEPS), ranges
        assert ranges["library:registered"] == (STEPS, STEPS, STEPS), ranges
        begins = [row["host_begin"] for row in trace.ranges()["step"]]
        lengths = sorted(after - before for before, after in zip(begins, begins[1:]))
        if lengths[-1] > 1.5 * lengths[0]:
            return # the machine is so busy that steps do not come back evenly
        time = device["step_time"]
        assert time["source"] == "found" and time["sure"] == "likely", time
        assert STEPS - 4 <= time["steady"] <= STEPS, time


def case_other(build):
    """If NVTX loads another tool, the program still runs, and the trace names that tool."""
    with tempfile.TemporaryDirectory() as folder:
        trace = Trace(build, folder, "programs/marking", "/nowhere/libother.so")
        assert not trace.rows["range"] and trace.meta["nvtx_tool"] == "/nowhere/libother.so", trace.meta
        assert len(trace.rows["op"]) > 4 * STEPS, len(trace.rows["op"])
        text = output_of(trace.wallshim, "report", "--section", "ranges", trace.file)
        assert "another tool: /nowhere/libother.so" in " ".join(text.split()), text


def case_off(build):
    """With --no-nvtx, no ranges are recorded."""
    with tempfile.TemporaryDirectory() as folder:
        trace = Trace(build, folder, WALLSHIM_NVTX="0")
        assert not trace.rows["range"], trace.rows["range"]


def case_record(build):
    """wallshim record sets the variable, unless it is set already."""
    if cases.sanitized(f"{build}/tools/wallshim"):
        print("skipped: a sanitized shim cannot be preloaded so")
        return 77
    command = [f"{build}/tools/wallshim", "record", "--", "sh", "-c", "echo $NVTX_INJECTION64_PATH"]
    environment = {name: value for name, value in os.environ.items() if name not in ("NVTX_INJECTION64_PATH", "WALLSHIM_NVTX")}
    for before, switches, after in ((None, [], f"{build}/shim/libwallshim.so"), ("/other.so", [], "/other.so"), (None, ["--no-nvtx"], "")):
        done = subprocess.run([*command[:2], *switches, *command[2:]], capture_output=True, text=True, check=False, timeout=60,
                              env={**environment, **({"NVTX_INJECTION64_PATH": before} if before else {})})
        assert done.stdout.strip() == after or os.path.samefile(done.stdout.strip(), after), (done, after)
    return 0


if __name__ == "__main__":
    cases.main(globals())
