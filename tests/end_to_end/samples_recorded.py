"""Runs a sample under the shim on the simulated GPU: its output must be the same as without the shim, and every
operation of the simulated GPU must be in the report.

    samples_recorded.py BUILD SAMPLE MODE
"""
import collections
import csv
import glob
import json
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MODES = {"host": {"WALLSHIM_BACKEND": "host"}, "sampled": {}, "shared": {"WALLSHIM_EVENT_PLACEMENT": "shared"}, "pairs": {"WALLSHIM_EVENT_PLACEMENT": "pairs"}}


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
    """The simulated GPU's work: kernels by name, copies, memsets, and launches of graphs. Work inside graphs does not
    count."""
    rows = []
    for path in glob.glob(f"{folder}/truth-*"):
        with open(path, encoding="utf-8", newline="") as file:
            heading = file.readline().lstrip("#").rstrip("\n").split("\t")
            lines = (line for line in file if not line.startswith("#"))
            rows += [(path, row) for row in csv.DictReader(lines, heading, delimiter="\t")]
    graphs = [(path, row["stream"], int(row["start_ns"]), int(row["end_ns"])) for path, row in rows if row["kind"] == "graph"]
    kernels, kinds = collections.Counter(), collections.Counter(graph=len(graphs))
    for path, row in rows:
        place, start, end = (path, row["stream"]), int(row["start_ns"]), int(row["end_ns"])
        in_graph = any(place == graph[:2] and graph[2] <= start and end <= graph[3] for graph in graphs)
        if row["kind"] in ("kernel", "copy", "memset") and not in_graph:
            kinds[row["kind"]] += 1
            if row["kind"] == "kernel":
                kernels[row["name"]] += 1
    return kernels, kinds


def count_reported(build, folder):
    """The report's operations: those with device times by name, the number of those without device times, and all by
    kind."""
    traces = sorted(glob.glob(f"{folder}/*.wst"))
    assert traces, "no trace was written"
    result = subprocess.run([f"{build}/tools/wallshim", "report", "--json", *traces], capture_output=True, text=True, check=False)
    assert result.returncode == 0, f"wallshim report ended with {result.returncode}: {result.stderr}"
    timed, kinds, untimed = collections.Counter(), collections.Counter(), 0
    for process in json.loads(result.stdout)["processes"]:
        kinds.update({kind: process["events"][kind] for kind in ("kernel", "copy", "memset", "graph")})
        kinds["kernel"] -= process["events"]["captured"]  # the samples capture nothing else
        for device in process["devices"]:
            untimed += device["untimed_events"]
            for row in device["kernels"]:
                timed[row["name"]] += row["count"]
    return timed, untimed, kinds


def check_devices(build, folder):
    """The report must show a rank with the device that it used, not with all visible devices."""
    for trace in glob.glob(f"{folder}/*.wst"):
        report = [f"{build}/tools/wallshim", "report", "--full", trace]
        shown = re.findall(r"^ +(?:GPU +)?(\d+) .*compute capability", subprocess.check_output(report, text=True), re.M)
        process = json.loads(subprocess.check_output([*report, "--json"]))["processes"][0]
        used = [str(device["device"]) for device in process["devices"]]
        assert shown == used and used, f"{trace}: GPUs {shown} shown, {used} used"


def check_graphs(build, folder):
    """The report does not know a graph's kernels, so it must not count the graph's time as non-GEMM."""
    verdict = subprocess.check_output([f"{build}/tools/wallshim", "report", "--section", "verdict", *glob.glob(f"{folder}/*.wst")],
                                      text=True)
    assert re.search(r"3 matmuls ≥ 50 %\? +not known +most of it ran in CUDA graphs", verdict), verdict


def main():
    build, sample, mode = sys.argv[1:]
    arguments = command(build, sample)
    alone = run(build, arguments, {}, shim=False)
    assert alone[0] == 0 and alone[1] and not alone[2], f"by itself: {alone}"
    with tempfile.TemporaryDirectory() as folder:
        environment = {**MODES[mode], "WALLSHIM_OUTPUT": f"{folder}/%p.wst", "SIMGPU_TRUTH": f"{folder}/truth-%p"}
        recorded = run(build, arguments, environment, shim=True)
        assert recorded == alone, f"under the shim: {recorded}, alone: {alone}"
        kernels, kinds = count_true(folder)
        assert kernels, "the simulated GPU ran no kernel"
        timed, untimed, reported = count_reported(build, folder)
        check_devices(build, folder)
        if sample == "train-driver-graph" and mode != "host":
            check_graphs(build, folder)
    assert reported == kinds, f"ran: {kinds}, reported: {reported}"
    for name, count in kernels.items():
        # An operation without device times is allowed if the report counts it as untimed.
        assert timed[name] <= count <= timed[name] + untimed, f"{name}: {count} ran, {timed[name]} reported, {untimed} untimed"
    if mode == "host":
        assert not timed, f"device times without a device clock: {timed}"
    print(f"{dict(kinds)}, {untimed} without device times")


if __name__ == "__main__":
    try:
        main()
    except AssertionError as error:
        sys.exit(f"{' '.join(sys.argv[2:])}: {error}")
