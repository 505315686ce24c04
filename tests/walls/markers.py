"""The true begins of steps in real programs that marked them (ProfilerStep#N in traces of the PyTorch profiler). A
step begins with the first device operation that was launched after its marker. This module reads the JSON itself,
without wallshim."""
import bisect
import glob
import gzip
import json
import os
import statistics
from decimal import Decimal

from given import TRACES as FOLDER

DEVICE = {"kernel", "gpu_memcpy", "gpu_memset", "memcpy", "memset"}
LEAST_STEPS = 3


def ns(value):
    return int(Decimal(str(value)) * 1000)


def truth_of(events):
    """The true steps in the format of make_steps, or None if fewer than three steps are marked."""
    markers, launches, operations = set(), {}, []
    for event in events:
        category, arguments = event.get("cat", "").lower(), event.get("args", {})
        if event.get("ph") != "X":
            continue
        if category in DEVICE:
            operations.append((ns(event["ts"]), arguments.get("correlation")))
        elif event.get("name", "").startswith("ProfilerStep#") and not category.startswith("gpu"):
            markers.add(ns(event["ts"]))
        elif "correlation" in arguments:
            launches[arguments["correlation"]] = ns(event["ts"])
    if len(markers) < LEAST_STEPS:
        return None
    launched = sorted((launches[correlation], begin) for begin, correlation in operations if correlation in launches)
    times = [launch for launch, _ in launched]
    places = sorted({bisect.bisect_left(times, marker) for marker in markers} - {len(times)})
    begins = sorted({launched[place][1] for place in places})
    return {"program": "markers removed", "period": statistics.median(end - begin for begin, end in zip(begins, begins[1:])), "steps": begins, "warm_up": 0, "others": [], "accumulate": 1,
            "first": min(begin for begin, _ in operations)}


def marked_traces():
    """Yields name, path and truth of each given trace that has enough markers."""
    for path in sorted(glob.glob(os.path.join(FOLDER, "**", "*.json.gz"), recursive=True)):
        with gzip.open(path, "rt", encoding="utf-8") as file:
            text = file.read()
        if text.count('"ProfilerStep#') < LEAST_STEPS:
            continue
        events = json.loads(text)
        truth = truth_of(events["traceEvents"] if isinstance(events, dict) else events)
        if truth:
            yield os.path.relpath(path, FOLDER), path, truth
