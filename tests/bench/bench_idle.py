"""Measures from /proc, over a minute, the cost of the shim in a program that does nothing.

bench_idle.py BUILD
"""
import json
import os
import subprocess
import sys
import tempfile

build = os.path.abspath(sys.argv[1])
with tempfile.TemporaryDirectory() as folder:
    done = subprocess.run([os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "run_preloaded.sh"), build,
                           os.path.join(build, "tests/programs/hazard_pace"), "idle", "5", "60"],
                          env={**os.environ, "WALLSHIM_OUTPUT": os.path.join(folder, "a.wst")}, stderr=subprocess.PIPE,
                          text=True, check=True)
_, _, wakeups, _, cpu = done.stderr.split()
print(json.dumps({"name": "idle: wake-ups a second of the shim's threads", "value": float(wakeups), "unit": "wake-ups",
                  "budget": 2}))
print(json.dumps({"name": "idle: CPU of the shim's threads", "value": float(cpu), "unit": "% of a core", "budget": 0.05}))
