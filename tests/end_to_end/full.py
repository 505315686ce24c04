#!/usr/bin/env python3
"""Tests a program with more kernels than the shim has room for. The shim must record all launches, and count those
kernels whose names it leaves out. The report must say so.

    full.py BUILD CASE

Launches go to a driver that does nothing (tests/bench/null_driver).
"""
import json
import os
import re
import subprocess
import sys
import tempfile

build, case = os.path.abspath(sys.argv[1]), sys.argv[2]
LAUNCHES, KERNELS = {"kernels": (66000, 66000)}[case]
MOST_KERNELS = 65536
with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../src/record/record.h"), encoding="utf-8") as header:
    REASONS = re.findall(r"X\(([A-Z_]+), \"", header.read().split("#define WS_LOSSES")[1].split("enum ws_loss_reason")[0])
KERNELS_LOST = REASONS.index("KERNELS")

with tempfile.TemporaryDirectory() as folder:
    trace = os.path.join(folder, "a.wst")
    environment = {"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "LD_LIBRARY_PATH": os.path.join(build, "tests/bench"),
                   "LD_PRELOAD": os.path.join(build, "shim/libwallshim.so"), "NULL_DRIVER_NAMES": "1",
                   "WALLSHIM_OUTPUT": trace, "WALLSHIM_BACKEND": "host", "WALLSHIM_RING": "64M"}
    subprocess.run([os.path.join(build, "tests/bench/launch_loop"), "1", str(LAUNCHES), str(KERNELS)], env=environment,
                   check=True)
    tool = os.path.join(build, "tools/wallshim")

    def rows(family):
        return [json.loads(line) for line in subprocess.run([tool, "dump", "--json", "--family", family, trace], check=True,
                                                            stdout=subprocess.PIPE).stdout.splitlines()]

    ops, functions = len(rows("op")), len(rows("function"))
    lost = sum(row["count"] for row in rows("loss") if row["reason"] == KERNELS_LOST)
    report = subprocess.run([tool, "report", "--full", trace], check=True, stdout=subprocess.PIPE, text=True).stdout

print(f"{ops} operations, {functions} kernels, {lost} without a name")
wrong = [what for is_so, what in (
    (ops == LAUNCHES, "launches are missing"),
    (functions == MOST_KERNELS and lost == KERNELS - MOST_KERNELS, "kernels without a name are not counted"),
    ("kernels without a name" in report and "Nothing lost" not in report, "the report does not say so")) if not is_so]
for what in wrong:
    print("WRONG", what)
sys.exit(1 if wrong else 0)
