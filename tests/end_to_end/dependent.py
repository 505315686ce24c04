"""Tests programmatic dependent launches. The shim must record no event between a launch and its dependent launch,
because the event would prevent their overlap. The simulated GPU's list of what it ran shows all events. In the trace the
begins of dependent launches must be marked as inferred.

    dependent.py BUILD shared|pairs
"""
import csv
import json
import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CHAINS, LENGTH = 20, 6


def main():
    build, placement = sys.argv[1:3]
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([f"{ROOT}/tests/run_preloaded.sh", build, f"{build}/tests/programs/hazard_dependent", str(CHAINS),
                        str(LENGTH)], cwd=folder, check=True, timeout=60,
                       env={**os.environ, "WALLSHIM_EVENT_PLACEMENT": placement, "WALLSHIM_OUTPUT": "trace.wst",
                            "SIMGPU_TRUTH": f"{folder}/truth"})
        with open(f"{folder}/truth", encoding="utf-8", newline="") as file:
            heading = file.readline().lstrip("#").rstrip("\n").split("\t")
            rows = list(csv.DictReader((line for line in file if not line.startswith("#")), heading, delimiter="\t"))
        dump = subprocess.run([f"{build}/tools/wallshim", "dump", "--json", "--family", "op", f"{folder}/trace.wst"],
                              check=True, capture_output=True, text=True)
        operations = [json.loads(line) for line in dump.stdout.splitlines()]

    stream = next(row["stream"] for row in rows if row["kind"] == "kernel")
    order = sorted((row for row in rows if row["stream"] == stream), key=lambda row: int(row["correlation"]))
    kernels = [i for i, row in enumerate(order) if row["kind"] == "kernel"]
    assert len(kernels) == CHAINS * (LENGTH + 1), f"{len(kernels)} kernels happened"
    # A chain is a launch with the dependent launches behind it. Only from the first chain does the shim learn that this
    # stream has dependent launches. So an event is allowed behind the first kernel of that chain, and nowhere else.
    between = [n for n in range(1, len(kernels)) if n % (LENGTH + 1) and kernels[n] != kernels[n - 1] + 1]
    assert between in ([], [1]), f"events before the dependent launches {between}"

    assert len(operations) == len(kernels), f"{len(operations)} recorded"
    dependent = [row for row in operations if row["flags"] & 0x40]
    assert len(dependent) == CHAINS * LENGTH, f"{len(dependent)} dependent launches"
    wrong = [row for row in dependent if row["flags"] & 3 not in (0, 3)]
    assert not wrong, f"begins that do not say they are inferred: {wrong[:3]}"
    ended = sum(1 for row in dependent if row["flags"] >> 2 & 3)
    assert ended == len(dependent), f"{len(dependent) - ended} without an end"
    return 0


sys.exit(main())
