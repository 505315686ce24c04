"""Checks the report's figures of communication in the given traces of other profilers against a second computation:
import_communication.py WALLSHIM"""
import glob
import gzip
import json
import os
import subprocess
import sys

from given import TRACES as traces, need

wallshim = sys.argv[1]
need(traces)


def report(*paths):
    result = subprocess.run([wallshim, "report", "--json", *paths], capture_output=True, text=True, check=False)
    assert result.returncode == 0, f"{paths}: status {result.returncode}: {result.stderr}"
    return json.loads(result.stdout)


def devices(job):
    return [device for process in job["processes"] for device in process["devices"]]


def kernels_of(path):
    """Begins and ends of NCCL's kernels in ns. (In these traces they are whole µs.)"""
    with gzip.open(path) as file:
        events = json.load(file)["traceEvents"]
    found = [event for event in events if event.get("cat") == "kernel" and "nccl" in event["name"].lower()]
    return [(event["ts"] * 1000, (event["ts"] + event["dur"]) * 1000) for event in sorted(found, key=lambda e: e["ts"])]


def check_sums(path):
    for device in devices(report(path)):
        rows = device["collectives"]
        assert sum(row["exposed_ns"] for row in rows) == device["exposed_comm_ns"], path
        assert sum(row["overlap_ns"] for row in rows) == device["comm_overlap_ns"], path


def check_tensor_parallel():
    """Eight ranks on one host: every all-reduce involves all ranks, and two of the ranks come late to it."""
    paths = sorted(glob.glob(f"{traces}/megatron-tp8/*"))
    job = report(*paths)
    kernels = [kernels_of(path) for path in paths]
    waited, last = [0] * 8, [0] * 8
    for meeting in zip(*kernels):
        latest = max(begin for begin, _ in meeting)
        last[[begin for begin, _ in meeting].index(latest)] += 1
        for rank, (begin, end) in enumerate(meeting):
            waited[rank] += min(latest, end) - begin
    assert job["matching"]["by_sequence"] == 84 and not job["matching"]["unmatched"], job["matching"]
    assert [rank["waited_ns"] for rank in job["ranks"]] == waited
    assert [rank["last"] for rank in job["ranks"]] == last
    assert [rank["rank"] for rank in job["ranks"] if rank["straggler"]] == [0, 6]
    assert all(rank["more_idle_ns"] > 100e6 for rank in job["ranks"] if rank["straggler"])
    assert not any(rank["clock"]["applied"] for rank in job["ranks"][1:])


def check_overlapped():
    """Kernels of DeepEP, which other tools do not recognize as communication. Almost all of their time is
    overlapped."""
    device, = devices(report(f"{traces}/deepseek-v3-train.json.gz"))
    row, = device["collectives"]
    assert row["count"] == 32
    assert round(100 * row["overlap_ns"] / (row["overlap_ns"] + row["exposed_ns"]), 1) == 96.3


for name in sorted(glob.glob(f"{traces}/*.gz") + glob.glob(f"{traces}/*/*.gz")):
    check_sums(name)
check_tensor_parallel()
check_overlapped()
print("all as expected")
