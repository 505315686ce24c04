"""Runs programs under the modes of recording, and keeps the results of each run."""
import json
import os
import re
import subprocess
import tempfile
import time
from dataclasses import dataclass

UNABLE = 77  # exit status of a sample if the machine lacks something that it needs

# Mode → switches of `wallshim record`; None: the program runs without wallshim.
MODES = {
    "none": None,
    "host": ["--backend", "host"],
    "sampled": ["--backend", "events", "--event-placement", "sampled"],
    "shared": ["--backend", "events", "--event-placement", "shared"],
    "pairs": ["--backend", "events", "--event-placement", "pairs"],
    "burst": ["--backend", "events", "--event-placement", "sampled", "--burst", "100ms/1s"],
}


# Modes whose cost is not compared, because programs take much longer under them.
INTRUSIVE = {"counters": ["--backend", "events", "--counters"]}


@dataclass
class Outcome:
    status: int
    output: str
    error: str
    wall_ns: int
    trace: str = ""

    @property
    def timing(self):
        """The last JSON object that the program printed, on either stream."""
        for line in reversed((self.error + "\n" + self.output).splitlines()):
            if line.startswith("{"):
                return json.loads(line)
        return {}

    @property
    def complaints(self):
        return [line for line in self.error.splitlines() if line.startswith("wallshim:")]


class Runner:
    def __init__(self, root, build, out, simulated, deadline):
        self.root, self.build, self.out = root, build, out
        self.simulated, self.deadline = simulated, deadline
        self.command = os.path.join(build, "tools", "wallshim")
        self.samples = os.path.join(build, "samples")
        self.scratch = tempfile.TemporaryDirectory(prefix="wallshim-verify-")
        self.environment = dict(os.environ)
        if simulated:
            libraries = [os.path.join(build, "tests", "simgpu"), os.environ.get("LD_LIBRARY_PATH", "")]
            self.environment["LD_LIBRARY_PATH"] = ":".join(filter(None, libraries))
        self.traces = 0

    @property
    def seconds_left(self):
        return self.deadline - time.monotonic()

    def run(self, command, mode="none", environment=None, timeout=90):
        """Runs a program under a mode of MODES or INTRUSIVE."""
        return self.run_as(command, {**MODES, **INTRUSIVE}[mode], environment, timeout)

    def run_as(self, command, switches, environment=None, timeout=90):
        """Runs a program under `wallshim record` with these switches; None: without wallshim."""
        trace = ""
        if switches is not None:
            self.traces += 1
            trace = os.path.join(self.scratch.name, f"{self.traces}.wst")
            # A program of two processes writes two traces, so the name contains the process id.
            command = [self.command, "record", *switches, "-o", f"{trace[:-4]}-%p.wst", "--", *command]
        began = time.monotonic_ns()
        try:
            result = subprocess.run(command, env={**self.environment, **(environment or {})}, cwd=self.scratch.name,
                                    capture_output=True, text=True, timeout=timeout, check=False)
        except subprocess.TimeoutExpired:
            return Outcome(-1, "", f"no end within {timeout} s", time.monotonic_ns() - began)
        took = time.monotonic_ns() - began
        found = sorted(name for name in os.listdir(self.scratch.name)
                       if trace and re.fullmatch(rf"{self.traces}-\d+\.wst", name))
        return Outcome(result.returncode, result.stdout, result.stderr, took,
                       os.path.join(self.scratch.name, found[0]) if found else "")

    def report(self, trace):
        result = subprocess.run([self.command, "report", "--json", trace], capture_output=True, text=True, check=False)
        if result.returncode:
            raise RuntimeError(f"wallshim report: {result.stderr.strip()}")
        return json.loads(result.stdout)

    def dump(self, trace, family):
        result = subprocess.run([self.command, "dump", "--json", "--family", family, trace], capture_output=True, text=True,
                                check=True)
        return [json.loads(line) for line in result.stdout.splitlines()]

    def discard(self, outcome):
        if outcome.trace:
            os.unlink(outcome.trace)


def kernels(report):
    """{name: (count, total ns)} over every process and device of a report."""
    rows = {}
    for process in report["processes"]:
        for device in process["devices"]:
            for row in device["kernels"]:
                count, total = rows.get(row["name"], (0, 0))
                rows[row["name"]] = (count + row["count"], total + row["total_ns"])
    return rows
