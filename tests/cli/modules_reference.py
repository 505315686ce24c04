#!/usr/bin/env python3
"""Checks a report's tree of modules against a second computation from the profiler's file: how often the modules of each
path were called, for how long, how many instances there are, and what was launched in them. The tree and the work outside
must add up to all work.

modules_reference.py WALLSHIM"""
import collections
import decimal
import gzip
import json
import os
import re
import subprocess
import sys

from given import TRACES as FOLDER, need
from ranges_reference import CALLS, DEVICE, interval, union

TRACES = ("b200-eager", "h100-qwen", "sglang-decode", "timesformer-h100", "vllm-decode", "vllm-graphs", "xdit-sd35")
WITHOUT = ("linear", "deepseek-v3-train") # traces without modules; the second has a backward pass


class Module:
    def __init__(self):
        self.stays, self.instances = collections.defaultdict(list), set()
        self.count, self.work, self.own = 0, [0, 0], [0, 0]

    def figures(self):
        host = sum(union(stays) for stays in self.stays.values())
        return self.count, host, len(self.instances), *self.work, *self.own


def read_modules(events):
    """Returns all calls of modules by thread, as (begin, end, path), and the modules by path."""
    calls, modules = collections.defaultdict(list), collections.defaultdict(Module)
    for event in events:
        if event.get("cat") == "python_function" and event["name"].startswith("nn.Module: "):
            calls[event["pid"], event["tid"]].append((*interval(event), event["name"][11:]))
    for thread, found in calls.items():
        stack = []
        for place, (begin, end, name) in enumerate(sorted(found, key=lambda call: (call[0], -call[1]))):
            while stack and stack[-1][1] <= begin:
                stack.pop()
            path = (stack[-1][2] if stack else ()) + (re.sub(r"_\d+$", "", name),)
            stack.append((begin, end, path))
            found[place] = (begin, end, path)
            modules[path].count += 1
            modules[path].instances.add(name)
            modules[path].stays[thread].append((begin, end))
    return calls, modules


def add_work(events, device, calls, modules):
    """Adds each operation to the modules. Returns the number and the length of the operations: all, and those launched in
    no module."""
    launches = {e["args"]["correlation"]: e for e in events
                if e.get("cat") in CALLS and "correlation" in e.get("args", {})}
    all_work, outside = [0, 0], [0, 0]
    for event in events:
        if event.get("cat") not in DEVICE or event["args"]["device"] != device:
            continue
        begin, end = interval(event)
        launch, within = launches.get(event["args"].get("correlation")), []
        if launch:
            time = interval(launch)[0]
            within = [call for call in calls[launch["pid"], launch["tid"]] if call[0] <= time < call[1]]
        path = max(within, key=lambda call: (call[0], len(call[2])))[2] if within else ()
        sums = [all_work, modules[path].own if path else outside]
        sums += [modules[path[:depth]].work for depth in range(1, len(path) + 1)]
        for figures in sums:
            figures[0] += 1
            figures[1] += end - begin
    return all_work, outside


def flat(rows, above=()):
    """The rows of the tree by path."""
    for row in rows:
        path = above + (row["name"],)
        yield path, row
        yield from flat(row["children"], path)


def check(wallshim, path):
    with gzip.open(path) as file:
        events = json.load(file, parse_float=decimal.Decimal, parse_int=decimal.Decimal)["traceEvents"]
    report = json.loads(subprocess.run([wallshim, "report", "--json", "--top", "0", path], check=True,
                                       capture_output=True).stdout)
    for device in report["processes"][0]["devices"]:
        calls, modules = read_modules(events)
        all_work, outside = add_work(events, device["device"], calls, modules)
        rows = list(flat(device["modules"]))
        got = {path: (row["count"], row["host_ns"], row["instances"], row["operations"], row["sum_ns"],
                      row["own"]["operations"], row["own"]["sum_ns"]) for path, row in rows}
        if len(got) != len(rows) or got.keys() != modules.keys():
            yield f"modules {sorted(got)}, not {sorted(modules)}"
            continue
        for name, row in got.items():
            if row != modules[name].figures():
                yield f"{' / '.join(name)}: {row}, not {modules[name].figures()}"
        without = [sum(row[key] for row in device["outside_modules"]) for key in ("operations", "sum_ns")]
        if without != outside:
            yield f"outside: {without}, not {outside}"
        if [without[0] + sum(row[5] for row in got.values()), without[1] + sum(row[6] for row in got.values())] != all_work:
            yield f"own work of all and the work outside do not add up to {all_work}"
        times = [((row["per_step"] or row)["sum_ns"]) for row in device["modules"]]
        if times != sorted(times, reverse=True):
            yield f"not by device time: {times}"
        print(f"{os.path.basename(path)}: {len(got)} modules, {sum(row[0] for row in got.values())} calls, "
              f"{all_work[1] / 1e6:.3f} ms of work, {outside[1] / 1e6:.3f} ms of it outside")


def has_modules(wallshim, path):
    report = json.loads(subprocess.run([wallshim, "report", "--json", path], check=True, capture_output=True).stdout)
    return any("modules" in device for device in report["processes"][0]["devices"])


def main():
    wallshim = sys.argv[1]
    need(FOLDER)
    failures = []
    for name in TRACES:
        failures += [f"{name}: {failure}" for failure in check(wallshim, os.path.join(FOLDER, name + ".json.gz"))]
    failures += [f"{name}: modules, but the file holds none" for name in WITHOUT
                 if has_modules(wallshim, os.path.join(FOLDER, name + ".json.gz"))]
    for failure in failures:
        print("FAIL:", failure)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
