"""Checks the report's gaps and their causes in the given traces of other profilers: import_causes.py WALLSHIM"""
import glob
import gzip
import json
import os
import subprocess
import sys
from decimal import Decimal

from given import TRACES as traces, need

wallshim = sys.argv[1]
need(traces)


def device_of(path):
    result = subprocess.run([wallshim, "report", "--json", path], capture_output=True, text=True, check=False)
    assert result.returncode == 0, f"{path}: status {result.returncode}: {result.stderr}"
    devices = [device for process in json.loads(result.stdout)["processes"] for device in process["devices"]]
    return max(devices, key=lambda device: device["gpu_events"])


def check_sums(path):
    device = device_of(path)
    causes = device["gap_causes"]
    assert sum(cause["total_ns"] for cause in causes) == device["idle_ns"], path
    assert device["gap_count"] <= sum(cause["count"] for cause in causes) <= 2 * device["gap_count"], path
    totals = {cause["cause"]: cause["total_ns"] for cause in causes}
    hostless = sum(totals.get(cause, 0) for cause in ("unexplained", "dispatch", "unrecorded"))
    assert device["gaps_without_host_ns"] <= hostless, path
    assert all(cause["saving_ns"] <= (cause["total_ns"] if cause["per_step_ns"] is None else cause["per_step_ns"])
               for cause in causes), path


def ns(microseconds):
    return int((Decimal(microseconds) * 1000).to_integral_value())


def hostless_idle(path):
    """Idle time before operations that no call in the trace launched."""
    with gzip.open(path) as file:
        events = json.load(file, parse_float=str, parse_int=str)["traceEvents"]
    of_device = [event for event in events if event.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset") and "dur" in event]
    calls = {event["args"]["correlation"] for event in events
             if event.get("cat") in ("cuda_runtime", "cuda_driver") and "correlation" in event.get("args", {})}
    idle, until = 0, None
    for event in sorted(of_device, key=lambda event: ns(event["ts"])):
        begin = ns(event["ts"])
        if until is not None and begin > until and event["args"].get("correlation") not in calls:
            idle += begin - until
        until = max(until or begin, begin + ns(event["dur"]))
    return idle


def check_missing_host():
    """The trace lacks the launches of some kernels. Idle time before such kernels must not be blamed on the
    program."""
    for name in "h100-qwen", "vllm-graphs", "queue-1rank":
        path = f"{traces}/{name}.json.gz"
        said, truth = device_of(path)["gaps_without_host_ns"], hostless_idle(path)
        # Where several operations begin at the same time, any of them may count as the end of the gap.
        assert abs(said - truth) <= truth / 1000, f"{name}: {said} ns said, {truth} in truth"


def check_loader():
    """The same training was recorded with data loaded in the training loop, and with four loader processes. From the first
    recording, the report must predict about the step time of the second."""
    slow, fast = device_of(f"{traces}/resnet50-workers0.json.gz"), device_of(f"{traces}/resnet50-workers4.json.gz")
    first = slow["advice"][0]
    assert slow["wall"]["name"] == "overhead" and slow["wall"]["cause"] == "input", slow["wall"]
    assert first["cause"] == "input" and first["where"] == "<module> (resnet50_profiler_api.py:42)", first
    predicted, truth = slow["step_time"]["median_ns"] - first["saving_ns_per_step"], fast["step_time"]["median_ns"]
    assert abs(predicted - truth) < truth * 0.1, f"step of {predicted} ns predicted, {truth} in truth"
    assert fast["wall"]["cause"] != "input", fast["wall"]
    assert fast["gap_causes"][0]["cause"] != "input", fast["gap_causes"]


for trace in sorted(glob.glob(f"{traces}/**/*.*", recursive=True)):
    check_sums(trace)
check_missing_host()
check_loader()
