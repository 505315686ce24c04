#!/usr/bin/env python3
"""Checks the roofline of real traces: the FLOPs of matrix products equal 2·m·n·k of the operators that launched them,
no kernel is above its roofs unless the report says so, and most of the kernel time has a roofline class. In all
traces the parts of each device's time must add up.

roofline_reference.py WALLSHIM"""
import bisect
import collections
import gzip
import json
import os
import subprocess
import sys

from given import TRACES as FOLDER, need

# The least share of the kernel time that must have a roofline class, by trace.
TRACES = {"h100-qwen": 0.55, "b200-eager": 0.80, "xdit-sd35": 0.99, "resnet50-workers0": 0.75}
PRODUCTS = {"aten::mm": 0, "aten::bmm": 0, "aten::addmm": 1, "aten::baddbmm": 1}


def product_flops(operator):
    first = PRODUCTS[operator["name"]]
    a, b = operator["args"]["Input Dims"][first:first + 2]
    batch = a[0] if len(a) == 3 else 1
    return 2 * batch * a[-2] * a[-1] * b[-1]


def expected_flops(path):
    """The FLOPs of every matrix product operator that launched a kernel."""
    with gzip.open(path) as file:
        events = json.load(file)["traceEvents"]
    kernels = {e["args"]["correlation"] for e in events if e.get("cat") in ("kernel", "Kernel")}
    operators = collections.defaultdict(list)
    for event in events:
        if event.get("cat") in ("cpu_op", "Operator") and event["name"] in PRODUCTS:
            operators[event["tid"]].append((event["ts"], event["ts"] + event["dur"], event))
    for of_thread in operators.values():
        of_thread.sort(key=lambda entry: entry[0])
    working = {}
    for event in events:
        if event.get("cat") not in ("cuda_runtime", "cuda_driver", "Runtime") or event["args"].get("correlation") not in kernels:
            continue
        of_thread = operators[event["tid"]]
        at = bisect.bisect_right(of_thread, event["ts"], key=lambda entry: entry[0]) - 1
        if at >= 0 and of_thread[at][1] > event["ts"]:
            working[id(of_thread[at][2])] = product_flops(of_thread[at][2])
    return sum(working.values())


def report_of(wallshim, path):
    return json.loads(subprocess.run([wallshim, "report", "--json", "--top", "0", path], check=True,
                                     capture_output=True).stdout)


def check_sums(device):
    """Checks relations between a device's figures that hold for any work."""
    roofline, failures = device["roofline"], []

    def holds(what, truth):
        if not truth:
            failures.append(what)

    kernels = [kernel for kernel in device["kernels"] if "roofline" in kernel]
    holds("classes add to the kernel time", sum(roofline["time_by_class"].values()) == roofline["kernel_ns"])
    holds("classes of a step add up", sum(roofline["step_time_by_class"].values()) == roofline["step_kernel_ns"])
    holds("kernels add to the kernel time", sum(kernel["total_ns"] for kernel in kernels) == roofline["kernel_ns"])
    holds("no step takes longer than all", roofline["step_kernel_ns"] <= roofline["kernel_ns"])
    holds("kernels run while the device is busy", device["busy_ns"] <= roofline["kernel_ns"] or device["memory_ns"] or
          device["gpu_events"] > sum(kernel["count"] for kernel in kernels))
    holds("cores are of matrix work", roofline["tensor_cores_ns"] + roofline["ordinary_cores_ns"] <= roofline["matmul_ns"])
    holds("known is part of all", roofline["matmul_known_ns"] <= roofline["matmul_ns"])
    flops = sum(roofline["step_flops_from"].values())
    holds("FLOPs of a step by source", abs(flops - roofline.get("step_flops", 0)) <= 1 + 1e-9 * flops)
    holds("MFU is at most 105 %", roofline.get("mfu", 0) <= 1.05)
    for kernel in kernels:
        row = kernel["roofline"]
        above = max(row.get("of_compute", 0), row.get("of_memory", 0) if not row.get("cached") else 0)
        holds(f"{kernel['name'][:60]}: {above:.0%} of a roof, or named inconsistent", above <= 1.05 or row["inconsistent"])
        holds(f"{kernel['name'][:60]}: FLOPs have a source", row["source"] in ("shape", "arguments", "counter") or
              not (row.get("flops") or row.get("bytes")))
    for product in roofline["products"]:
        back = product.get("held_back")
        holds(f"{product}: to win is part of its time", not back or 0 <= back["saving_ns"] <= product["step_ns"])
    return failures


def check(wallshim, path, name, least):
    report = report_of(wallshim, path)
    failures = []
    for device in report["processes"][0]["devices"]:
        roofline = device["roofline"]
        got = sum(product["flops"] for product in roofline["products"])
        wanted = expected_flops(path)
        if abs(got - wanted) > 1e-6 * wanted:
            failures.append(f"{got} FLOPs, not {wanted}")
        unknown = roofline["time_by_class"]["unknown"] / roofline["kernel_ns"]
        if 1 - unknown < least:
            failures.append(f"only {1 - unknown:.1%} of the kernel time has a class, not {least:.0%}")
        print(f"{name}: {wanted:.4g} FLOPs in {len(roofline['products'])} sizes, "
              f"{1 - unknown:.1%} of the kernel time has a class")
    return [f"{name}: {failure}" for failure in failures]


def main():
    wallshim = sys.argv[1]
    need(FOLDER)
    failures = []
    for name, least in TRACES.items():
        failures += check(wallshim, os.path.join(FOLDER, name + ".json.gz"), name, least)
    for name in sorted(os.listdir(FOLDER)):
        for process in report_of(wallshim, os.path.join(FOLDER, name))["processes"]:
            for device in process["devices"]:
                failures += [f"{name}: not so: {failure}" for failure in check_sums(device)]
    for failure in failures:
        print("FAIL:", failure)
    return 1 if failures else 0


sys.exit(main())
