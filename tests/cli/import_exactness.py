"""Compares the report's figures on the given traces of other profilers with an independent computation (the reference),
to the nanosecond: import_exactness.py WALLSHIM"""
import json
import os
import sqlite3
import subprocess
import sys

from given import FOLDER, PROJECT, REFERENCE, need

# The reference's name → the report's name.
PLAIN = {"gpu_events": "gpu_events", "start_ns": "begin_ns", "span_ns": "span_ns", "busy_union_ns": "busy_ns",
         "idle_ns": "idle_ns", "n_idle_gaps": "gap_count"}
UNIONS = {"compute_union_ns": "compute_ns", "comm_union_ns": "comm_ns", "mem_union_ns": "memory_ns",
          "comm_comp_overlap_ns": "comm_overlap_ns", "exposed_comm_ns": "exposed_comm_ns",
          "exposed_mem_ns": "exposed_memory_ns"}

VALIDATE, SCHEMA = os.path.join(PROJECT, "tests/support/validate.py"), os.path.join(PROJECT, "docs/report.schema.json")

failures = 0
checked = 0


def check(what, found, expected):
    global failures, checked
    checked += 1
    if found != expected:
        failures += 1
        print(f"{what}: {found}, not {expected}")


def report(wallshim, path):
    result = subprocess.run([wallshim, "report", "--json", "--top", "0", path], capture_output=True, text=True, check=False)
    if result.returncode:
        sys.exit(f"{path}: status {result.returncode}: {result.stderr}")
    validation = subprocess.run([sys.executable, VALIDATE, SCHEMA], input=result.stdout, capture_output=True, text=True, check=False)
    if validation.returncode not in (0, 77):
        sys.exit(f"{path}: not as the schema says: {validation.stdout}{validation.stderr}")
    return json.loads(result.stdout)["processes"]


def check_kernels(where, device, reference):
    found = {row["name"]: [row["count"], row["total_ns"], row["min_ns"], row["max_ns"]] for row in device["kernels"]}
    expected = {row["name"]: [row["n"], row["sum_ns"], row["min_ns"], row["max_ns"]] for row in reference}
    check(f"{where}: rows of kernels", len(device["kernels"]), len(reference))
    for name in sorted(found.keys() | expected.keys()):
        check(f"{where}: {name[:80]}", found.get(name), expected.get(name))


def check_rank(wallshim, folder, name, rank, reference):
    processes = report(wallshim, os.path.join(folder, reference["file"]))
    where = f"{name} rank {rank}"
    check(f"{where}: processes", len(processes), 1)
    process = processes[0]
    check(f"{where}: rank", process["meta"].get("rank", "0"), rank)
    devices = {device["device"]: device for device in process["devices"] if device["gpu_events"]}
    check(f"{where}: devices", sorted(devices), reference["devices"])
    device = devices[reference["devices"][0]]
    # The reference does not know that work from before the recording filled a gap: it counts the gap as idle time.
    device["idle_ns"] += device["unrecorded_ns"]
    device["gap_count"] += device["unrecorded_ns"] > 0
    for theirs, ours in PLAIN.items():
        check(f"{where}: {ours}", device[ours], reference[theirs])
    for theirs, ours in UNIONS.items():
        check(f"{where}: {ours}", device[ours], reference["collectives_unions"][theirs])
    check(f"{where}: copies", process["events"]["copy"], reference["memcpy"])
    check(f"{where}: memsets", process["events"]["memset"], reference["memset"])
    check_kernels(where, device, reference["kernels"])


# The same names for exports of Nsight Systems. There the reference sums kernels by their short names, which the export
# holds in addition to the long names.
DEVICE = {"gpu_ops": "gpu_events", "span_ns": "span_ns", "busy_ns": "busy_ns", "idle_ns": "idle_ns",
          "compute_union_ns": "compute_ns", "comm_union_ns": "comm_ns", "overlap_ns": "comm_overlap_ns"}


def check_database(wallshim, folder, name, reference):
    path = os.path.join(folder, reference["file"])
    database = sqlite3.connect(f"file:{path}?immutable=1", uri=True)
    short = dict(database.execute("SELECT DISTINCT d.value, s.value FROM CUPTI_ACTIVITY_KIND_KERNEL k JOIN StringIds d "
                                  "ON d.id = k.demangledName JOIN StringIds s ON s.id = k.shortName"))
    devices = {str(device["device"]): device for process in report(wallshim, path) for device in process["devices"]}
    check(f"{name}: devices", sorted(devices), sorted(reference["devices"]))
    for number, expected in reference["devices"].items():
        device, where = devices[number], f"{name} device {number}"
        for theirs, ours in DEVICE.items():
            check(f"{where}: {ours}", device[ours], expected[theirs])
        sums = {}
        for row in device["kernels"]:
            if row["name"] in short:
                count, total = sums.get(short[row["name"]], (0, 0))
                sums[short[row["name"]]] = (count + row["count"], total + row["total_ns"])
        check(f"{where}: kernels", sum(count for count, _ in sums.values()), expected["kernels"])
        for kernel, count, total in expected["kernel_sum"]:
            check(f"{where}: {kernel[:80]}", sums.get(kernel), (count, total))


def main():
    wallshim = os.path.abspath(sys.argv[1])
    need(REFERENCE)
    for file in sorted(os.listdir(REFERENCE)):
        name, extension = os.path.splitext(file)
        if extension != ".json":
            continue
        with open(os.path.join(REFERENCE, file), encoding="utf-8") as text:
            reference = json.load(text)
        if "devices" in reference:
            check_database(wallshim, FOLDER, name, reference)
            continue
        for rank in reference:
            check_rank(wallshim, FOLDER, name, rank, reference[rank])
    print(f"{checked} figures checked, {failures} wrong")
    sys.exit(1 if failures or not checked else 0)


main()
