"""Measures the seconds and peak memory of `wallshim report` on the given traces of PyTorch's profiler. For comparison
it measures Python's json.loads of the same text, without the time for unpacking: bench_import.py WALLSHIM"""
import json
import os
import subprocess
import sys
import time

import given

# Budgets in seconds and MB: a tenth of the time and a quarter of the memory that HTA (Holistic Trace Analysis) takes
# on two cores.
TRACES = {"xdit-sd35": (0.62, 105), "diff-control": (0.31, 56)}


LOAD = """
import gzip, json, sys, time
text = gzip.open(sys.argv[1]).read()
begin = time.monotonic()
json.loads(text)
print(time.monotonic() - begin)
"""


def say(name, value, unit, **more):
    print(json.dumps({"name": name, "value": round(value, 3), "unit": unit, **more}))


def main():
    wallshim = os.path.abspath(sys.argv[1])
    given.need(given.TRACES)
    for name, (seconds, megabytes) in TRACES.items():
        path = os.path.join(given.TRACES, f"{name}.json.gz")
        begin = time.monotonic()
        process = subprocess.Popen([wallshim, "report", path], stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        taken = time.monotonic() - begin
        if status:
            sys.exit(f"{path}: exit status {os.waitstatus_to_exitcode(status)}")
        # json.loads runs in a process of its own: the memory of this process would count towards the peak of its
        # children.
        floor = float(subprocess.run([sys.executable, "-c", LOAD, path], check=True, capture_output=True, text=True).stdout)
        say(f"report, {name}.json.gz (floor: Python's json.loads)", taken, "s", floor=round(floor, 3), budget=seconds)
        say(f"report, {name}.json.gz: peak", usage.ru_maxrss * 1024 / 1e6, "MB", budget=megabytes)


main()
