#!/usr/bin/env python3
"""Checks a report's figures of a program's ranges against a second computation from the profiler's file: how often
each range occurred, how long it took, what was launched in it, and how long the device was idle. It checks the whole
recording, and the steady steps if steps are marked.

ranges_reference.py WALLSHIM"""
import collections
import decimal
import gzip
import itertools
import json
import os
import re
import subprocess
import sys

from given import TRACES as FOLDER, need

TRACES = ("b200-eager", "deepseek-v3-train", "diff-control", "linear", "queue-1rank", "sampled-2ranks/rank0", "xdit-sd35")
DEVICE = ("kernel", "gpu_memcpy", "gpu_memset")
CALLS = ("cuda_runtime", "cuda_driver")


def nanoseconds(decimals):
    return int((decimals * 1000).to_integral_value(decimal.ROUND_HALF_UP))


def interval(event):
    begin = nanoseconds(event["ts"])
    return begin, begin + nanoseconds(event.get("dur", decimal.Decimal(0)))


def union(intervals):
    total, until = 0, None
    for begin, end in sorted(intervals):
        if until is None or begin > until:
            total, until = total + end - begin, end
        elif end > until:
            total, until = total + end - until, end
    return total


STEP = re.compile(r"(?:step|iteration)#(\d+)$", re.I)


def is_range(event):
    return (event.get("cat") == "user_annotation" and not event["name"].startswith("nccl:") and
            not STEP.search(event["name"]))


def marked_steps(events):
    """{number: (begin, end)} of the marked steps on the host. Each step ends where the next one begins; the last step
    ends with its marker."""
    markers = sorted((*interval(event), int(STEP.search(event["name"])[1])) for event in events
                     if event.get("cat") == "user_annotation" and STEP.search(event["name"]))
    ends = [begin for begin, _, _ in markers[1:]] + [end for _, end, _ in markers[-1:]]
    return {number: (begin, until) for (begin, _, number), until in zip(markers, ends)}


def holds(intervals, time):
    return any(begin <= time < end for begin, end in intervals)


def within(intervals, others):
    return [(max(a, c), min(b, d)) for a, b in intervals for c, d in others if max(a, c) < min(b, d)]


def begun_in(intervals, others):
    """Of the intervals that begin within one of `others`: their number, the length of their union, the sum of their
    lengths."""
    count, length, total, until = 0, 0, 0, None
    for begin, end in sorted(intervals):
        more = end - begin if until is None else max(end - max(begin, until), 0)
        until = end if until is None else max(until, end)
        if holds(others, begin):
            count, length, total = count + 1, length + more, total + end - begin
    return count, length, total


class Counted:
    """The figures of one device of a file. If several operations end a gap at the same time, the gap may be blamed on
    any of them. So idle time has a lower and an upper bound."""

    def __init__(self, events, device):
        self.calls = {e["args"]["correlation"]: e for e in events
                      if e.get("cat") in CALLS and "correlation" in e.get("args", {})}
        operations = [(*interval(e), e) for e in events if e.get("cat") in DEVICE and e["args"]["device"] == device]
        self.ranges = collections.defaultdict(list)
        for place, event in enumerate(events):
            if is_range(event):
                self.ranges[event["pid"], event["tid"]].append((*interval(event), event["name"], place))
        self.work, self.own = collections.defaultdict(list), collections.defaultdict(list)
        self.least, self.most = collections.Counter(), collections.Counter()
        until = None
        for begin, group in itertools.groupby(sorted(operations, key=lambda o: o[0]), key=lambda o: o[0]):
            group = list(group)
            places = [self.add(begin, end, event) for _, end, event in group]
            idle = begin - until if until is not None and begin > until else 0
            for place in set.union(*places):
                self.most[place] += idle
                self.least[place] += idle if all(place in other for other in places) else 0
            until = max([end for _, end, _ in group] + ([until] if until is not None else []))

    def add(self, begin, end, event):
        """Adds an operation. Returns the names of the ranges in which it was launched, or the launching thread if
        there are none."""
        call = self.calls.get(event["args"].get("correlation"))
        thread = (call["pid"], call["tid"]) if call else None
        time = interval(call)[0] if call else None
        within = [r for r in self.ranges[thread] if r[0] <= time < r[1]] if call else []
        places = {r[2] for r in within} or {thread}
        for place in places:
            self.work[place].append((begin, end))
        if within: # the innermost range began last; with equal begins, it ends first or stands last in the file
            self.own[max(within, key=lambda r: (r[0], -r[1], r[3]))[2]].append((begin, end))
        return places

    def rows(self):
        count, host = collections.Counter(), collections.Counter()
        for ranges in self.ranges.values():
            count.update(r[2] for r in ranges)
            for name in {r[2] for r in ranges}:
                host[name] += union(r[:2] for r in ranges if r[2] == name)
        return {name: (count[name], host[name], *figures(self.work[name]), *figures(self.own[name])) for name in count}

    def steady_rows(self, device_steps, host_steps):
        count, host = collections.Counter(), collections.Counter()
        for ranges in self.ranges.values():
            for begin, end, name, _ in ranges:
                count[name] += holds(host_steps, max(end - 1, begin))
            for name in {r[2] for r in ranges}:
                host[name] += union(within([r[:2] for r in ranges if r[2] == name], host_steps))
        return {name: (count[name], host[name], *begun_in(self.work[name], device_steps)) for name in host}

    def outside(self):
        return sorted(figures(of) for place, of in self.work.items() if place is None or isinstance(place, tuple))


def figures(intervals):
    return len(intervals), union(intervals), sum(end - begin for begin, end in intervals)


def work_of(row):
    return row["operations"], row["busy_ns"], row["sum_ns"]


def compare(device, counted):
    rows, wanted = {row["name"]: row for row in device["ranges"]}, counted.rows()
    if rows.keys() != wanted.keys():
        yield f"names {sorted(rows)}, not {sorted(wanted)}"
        return
    for name, row in rows.items():
        got = (row["count"], row["host_ns"], *work_of(row), *work_of(row["own"]))
        if got != wanted[name]:
            yield f"{name}: {got}, not {wanted[name]}"
        if not counted.least[name] <= row["idle_ns"] <= counted.most[name]:
            yield f"{name}: idle {row['idle_ns']}, not {counted.least[name]} to {counted.most[name]}"
    outside = sorted(work_of(row) for row in device["outside_ranges"])
    if outside != counted.outside():
        yield f"outside: {outside}, not {counted.outside()}"
    idle = sum(row["own"]["idle_ns"] for row in device["ranges"]) + sum(row["idle_ns"] for row in device["outside_ranges"])
    if idle != device["idle_ns"]:
        yield f"idle time of all is {idle}, not {device['idle_ns']}"


def compare_steps(device, counted, markers):
    steady = [step for step in device["steps"] if step["kind"] == "steady"]
    wanted = counted.steady_rows([(step["begin_ns"], step["begin_ns"] + step["length_ns"]) for step in steady],
                                 [markers[step["number"]] for step in steady])
    for row in device["ranges"]:
        got, many = row["per_step"], len(steady)
        got = (round(got["count"] * many), got["host_ns"], round(got["operations"] * many), got["busy_ns"], got["sum_ns"])
        count, host, operations, busy, total = wanted[row["name"]]
        if got != (count, host // many, operations, busy // many, total // many):
            yield f"{row['name']}: in a step {got}, not {wanted[row['name']]} in {many}"


def check(wallshim, path):
    with gzip.open(path) as file:
        events = json.load(file, parse_float=decimal.Decimal, parse_int=decimal.Decimal)["traceEvents"]
    report = json.loads(subprocess.run([wallshim, "report", "--json", "--top", "0", path], check=True,
                                       capture_output=True).stdout)
    failures = []
    for device in report["processes"][0]["devices"]:
        counted = Counted(events, device["device"])
        failures += compare(device, counted)
        if device["step_time"]["source"] == "marked":
            failures += compare_steps(device, counted, marked_steps(events))
        print(f"{os.path.basename(path)}: {len(device['ranges'])} names, "
              f"{sum(row['count'] for row in device['ranges'])} ranges, "
              f"work of {len(device['outside_ranges'])} threads outside")
    return failures


def main():
    wallshim = sys.argv[1]
    need(FOLDER)
    failures = []
    for name in TRACES:
        failures += [f"{name}: {failure}" for failure in check(wallshim, os.path.join(FOLDER, name + ".json.gz"))]
    for failure in failures:
        print("FAIL:", failure)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
