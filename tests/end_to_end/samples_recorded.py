"""A sample under the shim on the simulated GPU: its output is what it is without, and every operation that the simulated
GPU did is in the report.

    samples_recorded.py BUILD SAMPLE MODE
"""
import collections
import csv
import glob
import json
import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MODES = {"host": {"WALLSHIM_BACKEND": "host"}, "marks": {"WALLSHIM_MARKS": "marks"}, "pairs": {"WALLSHIM_MARKS": "pairs"}}


def command(build, sample):
    return {
        "train": ["python3", f"{ROOT}/samples/train.py", "--steps", "12", "--sync"],
        "train-fused": ["python3", f"{ROOT}/samples/train.py", "--steps", "12", "--fused", "--pinned"],
        "train-driver": [f"{build}/samples/train_driver", "--steps", "20"],
        "train-driver-graph": [f"{build}/samples/train_driver", "--steps", "20", "--graph", "--sync"],
        "ddp": [f"{build}/samples/ddp", "--steps", "10"],
        "ddp-serial": [f"{build}/samples/ddp", "--steps", "10", "--serial"],
    }[sample]


def run(build, arguments, environment, shim):
    switches = [] if shim else ["--no-shim"]
    result = subprocess.run([f"{ROOT}/tests/run_preloaded.sh", *switches, build, *arguments], capture_output=True, text=True,
                            env={**os.environ, "SIMGPU_DEVICES": "2", **environment}, timeout=120, check=False)
    return result.returncode, result.stdout, result.stderr


def count_true(folder):
    """What the simulated GPU did: kernels by name, copies and memsets, and launches of graphs."""
    kernels, others, graphs = collections.Counter(), collections.Counter(), set()
    for path in glob.glob(f"{folder}/truth-*"):
        with open(path, encoding="utf-8", newline="") as file:
            heading = file.readline().lstrip("#").rstrip("\n").split("\t")
            for row in csv.DictReader((line for line in file if not line.startswith("#")), heading, delimiter="\t"):
                if row["kind"] == "kernel":
                    kernels[row["name"]] += 1
                elif row["kind"] in ("copy", "memset"):
                    others[row["kind"]] += 1
                elif row["kind"] == "graph":
                    graphs.add(row["correlation"])
    return kernels, others, graphs


def count_reported(build, folder):
    traces = sorted(glob.glob(f"{folder}/*.wst"))
    assert traces, "no trace was written"
    result = subprocess.run([f"{build}/tools/wallshim", "report", "--json", *traces], capture_output=True, text=True, check=False)
    assert result.returncode == 0, f"wallshim report ended with {result.returncode}: {result.stderr}"
    counts = collections.Counter()
    for process in json.loads(result.stdout)["processes"]:
        for device in process["devices"]:
            for row in device["kernels"]:
                counts[row["name"]] += row["count"]
    return counts


def main():
    build, sample, mode = sys.argv[1:]
    arguments = command(build, sample)
    alone = run(build, arguments, {}, shim=False)
    assert alone[0] == 0 and alone[1] and not alone[2], f"by itself: {alone}"
    with tempfile.TemporaryDirectory() as folder:
        environment = {**MODES[mode], "WALLSHIM_OUTPUT": f"{folder}/%p.wst", "SIMGPU_TRUTH": f"{folder}/truth-%p"}
        recorded = run(build, arguments, environment, shim=True)
        assert recorded == alone, f"under the shim: {recorded}, alone: {alone}"
        kernels, others, graphs = count_true(folder)
        assert kernels, "the simulated GPU ran no kernel"
        reported = count_reported(build, folder)
    if graphs:
        # What a graph runs is one row of the report, not one a kernel.
        kernels = {name: count for name, count in kernels.items() if name in reported}
    for name, count in kernels.items():
        assert reported[name] == count, f"{name}: {count} ran, {reported[name]} reported"
    print(f"{sum(kernels.values())} kernels, {dict(others)}, {len(graphs)} graph launches")


if __name__ == "__main__":
    try:
        main()
    except AssertionError as error:
        sys.exit(f"{' '.join(sys.argv[2:])}: {error}")
