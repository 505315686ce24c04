"""Measures the seconds and peak memory of `wallshim report` on a trace of ten million operations: bench_report.py
WALLSHIM MAKE_TRACE"""
import json
import os
import subprocess
import sys
import tempfile
import time

OPERATIONS = 10_000_000


def measure(command):
    """Runs a command and discards its output. Returns its seconds and its peak memory in bytes."""
    begin = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.monotonic() - begin
    if status:
        sys.exit(f"{command[0]} ended with status {os.waitstatus_to_exitcode(status)}")
    return seconds, usage.ru_maxrss * 1024


def say(name, value, unit, **more):
    print(json.dumps({"name": name, "value": round(value, 3), "unit": unit, **more}))


def main():
    wallshim, make_trace = map(os.path.abspath, sys.argv[1:3])
    with tempfile.TemporaryDirectory() as folder:
        trace = os.path.join(folder, "training.wst")
        subprocess.run([make_trace, trace, str(OPERATIONS)], check=True)
        reading, _ = measure([wallshim, "info", trace])
        # The first run is slower: a virtual machine takes long to provide memory that no process has used for a
        # while.
        cold, peak = measure([wallshim, "report", trace])
        again, _ = measure([wallshim, "report", trace])
        say("report, 10 M operations", cold, "s", floor=round(reading, 3), budget=2)
        say("report, 10 M operations: again", again, "s", floor=round(reading, 3), budget=2)
        say("report, 10 M operations: peak", peak / 2**30, "GiB", budget=1.5)
        seconds, _ = measure([wallshim, "report", "--json", trace])
        say("report --json, 10 M operations", seconds, "s", floor=round(reading, 3), budget=2)
        seconds, peak = measure([wallshim, "export", "--format", "chrome", trace, "-o", "-"])
        say("export to Chrome, 10 M operations", OPERATIONS / seconds / 1e6, "M operations/s")
        say("export to Chrome, 10 M operations: peak", peak / 2**20, "MiB")


main()
