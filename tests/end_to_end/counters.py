"""Tests hardware counters with the simulated CUPTI: trace and report must have the true FLOPs and bytes of the
kernels. If CUPTI refuses counters, the shim must print once what to do, and write a valid trace without counters. The
program's output must never change.

    counters.py BUILD alone|A100|B200|threads|host|refused|waits|long|late
"""
import collections
import json
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.abspath(sys.argv[1])
COUNTED = 0x1000  # the flag WS_OP_COUNTED
QUANTITIES = {1: "time", 2: "bytes", 3: "bytes", 4: "flops", 5: "flops", 6: "active", 7: "clock"}

# The environment that makes the simulated CUPTI refuse counters, and the words that the shim must print.
REFUSALS = [
    ({"SIMGPU_CUPTI": "privileges"}, ["NVreg_RestrictProfilingToAdminUsers=0", "/etc/modprobe.d", "CAP_SYS_ADMIN",
                                      "--cap-add=SYS_ADMIN"]),
    ({"SIMGPU_CUPTI": "another"}, ["another profiler"]),
    ({"SIMGPU_CUPTI": "busy"}, ["another profiler"]),
    ({"WALLSHIM_CUPTI": f"{BUILD}/tests/simgpu/libcupti_before.so"}, ["no range profiler", "12.6"]),
    ({"WALLSHIM_CUPTI": "/nonexistent/libcupti.so"}, ["no libcupti was found"]),
    ({"SIMGPU_GPU": "V100"}, ["no metrics are known"]),
]


def run(folder, mode=None, **environment):
    """Runs the program; returns its labels, its stderr, and the trace."""
    trace = f"{folder}/counted.wst"
    program = [f"{BUILD}/tests/programs/counted"] + ([mode] if mode else [])
    alone = subprocess.run([f"{ROOT}/tests/run_preloaded.sh", "--no-shim", BUILD] + program, check=True, text=True,
                           capture_output=True).stdout
    done = subprocess.run([f"{ROOT}/tests/run_preloaded.sh", BUILD] + program, check=True, text=True,
                          capture_output=True, timeout=300,
                          env={**os.environ, "WALLSHIM_OUTPUT": trace, "WALLSHIM_COUNTERS": "1", **environment})
    if mode != "threads":  # with two threads, the order of the labels is random
        assert done.stdout == alone, f"{done.stdout!r} with the shim, {alone!r} without"
    labels = {}
    for line in done.stdout.splitlines():
        name, blocks, launches, byte_count, flops, precision = line.split("\t")
        labels[name, int(blocks)] = (int(launches), int(byte_count), int(flops), precision)
    return labels, done.stderr, trace


def rows(trace, family):
    text = subprocess.run([f"{BUILD}/tools/wallshim", "dump", "--json", "--family", family, trace], check=True,
                          capture_output=True, text=True).stdout
    return [json.loads(line) for line in text.splitlines()]


def kernels_of(trace):
    report = subprocess.run([f"{BUILD}/tools/wallshim", "report", "--json", "--top", "0", trace], check=True,
                            capture_output=True, text=True).stdout
    return {kernel["name"]: kernel for kernel in json.loads(report)["processes"][0]["devices"][0]["kernels"]}


def check_values(trace, labels):
    """Compares every counter value in the trace with the kernel's label. Returns {(name, blocks): launches that were
    counted}."""
    functions = {row["id"]: row["name"] for row in rows(trace, "function")}
    shapes = {row["id"]: (functions.get(row["function"]), row["grid_x"]) for row in rows(trace, "shape")}
    metrics = {row["id"]: row for row in rows(trace, "metric")}
    ops = {row["correlation"]: row for row in rows(trace, "op")}
    sums = collections.defaultdict(collections.Counter)
    for row in rows(trace, "counter"):
        metric = metrics[row["metric"]]
        sums[row["correlation"]][QUANTITIES[metric["quantity"]]] += row["value"] * metric["weight"]
        sums[row["correlation"]][metric["group_name"]] += 1
        assert ops[row["correlation"]]["flags"] & COUNTED, row
    for correlation, counted in sums.items():
        configuration = shapes[ops[correlation]["shape"]]
        launches, byte_count, flops, precision = labels[configuration]
        if counted["memory and time"]:
            assert counted["bytes"] == byte_count, f"{configuration}: {counted}, not {byte_count}"
        elif counted["flops"]:
            # The launch was counted with a group of metrics that has the kernel's precision, or a part of it.
            assert counted["flops"] == flops or configuration[0] == "mixed_fp16", f"{configuration}: {counted}"
    return collections.Counter(shapes[op["shape"]] for op in ops.values() if op["flags"] & COUNTED)


def check_report(trace, labels, counted, mode):
    kernels = kernels_of(trace)
    per_name = collections.defaultdict(lambda: [0, 0, 0])
    for (name, blocks), (launches, byte_count, flops, _) in labels.items():
        left = launches - counted[name, blocks]
        per_name[name] = [sum(pair) for pair in zip(per_name[name], (left, left * byte_count, left * flops))]
    for name, (left, byte_count, flops) in per_name.items():
        if name == "of_a_graph" or (name, mode) == ("tensor_fp8", "A100"): # an A100 has no FP8
            continue
        row = kernels[name]["roofline"]
        assert row["source"] == "counter", f"{name}: {row}"
        if name == "seldom_tensor":
            assert "flops" not in row or row["flops"] == 0, f"{name}: {row}"
            assert "not counted" in row["note"] and "tensor" in row["note"], f"{name}: {row}"
            continue
        assert 0.98 < row["bytes"] / byte_count <= 1, f"{name}: {row['bytes']} bytes, not {byte_count}"
        assert abs(row.get("flops", 0) / row["bytes"] / (flops / byte_count) - 1) < 0.01, f"{name}: {row}, not {flops} FLOPs"
        precision, = {label[3] for key, label in labels.items() if key[0] == name}
        assert row["precision"] == precision, f"{name}: {row}"


def check_text(trace):
    text = subprocess.run([f"{BUILD}/tools/wallshim", "report", "--full", trace], check=True, capture_output=True, text=True).stdout
    text = " ".join(text.split())
    assert re.search(r"counters \d+ launches of 10 kernels, grids and blocks counted, \d+ given up", text), text
    assert "delayed while hardware counters were read" in text, text
    assert "hardware counters delayed" in text and "record without --counters for the program's own wall" in text, text
    assert "FLOPs not counted, because too few launches gave counters: no tensor" in text, text
    json_text = subprocess.run([f"{BUILD}/tools/wallshim", "report", "--json", trace], check=True, capture_output=True).stdout
    checked = subprocess.run([sys.executable, f"{ROOT}/tests/support/validate.py", f"{ROOT}/docs/report.schema.json"],
                             input=json_text, check=False)
    assert checked.returncode in (0, 77), "the JSON is not what its schema says"


def check_counted(mode):
    settings = {"host": {"WALLSHIM_BACKEND": "host"}, "A100": {"SIMGPU_GPU": "A100"}, "B200": {"SIMGPU_GPU": "B200"}}.get(mode, {})
    with tempfile.TemporaryDirectory() as folder:
        labels, errors, trace = run(folder, "threads" if mode == "threads" else None, **settings)
        assert "counters" not in errors, errors
        counted = check_values(trace, labels)
        # With two threads, the launches of one thread may prevent counting all launches of the other.
        assert not counted["of_a_graph", 64] and (counted["ordinary_fp32", 64] or mode == "threads"), counted
        if mode not in ("threads", "host"):
            check_report(trace, labels, counted, mode)
            check_text(trace)
    print(f"{sum(counted.values())} launches of {len(counted)} kernels and grids were counted")


def check_refusals():
    for environment, words in REFUSALS:
        with tempfile.TemporaryDirectory() as folder:
            _, errors, trace = run(folder, **environment)
            lines = [line for line in errors.splitlines() if "counters" in line]
            assert len(lines) == 1 and all(word in lines[0] for word in words), f"{environment}: {errors}"
            assert "goes on without" in lines[0], lines
            assert not rows(trace, "counter") and not any(row["flags"] & COUNTED for row in rows(trace, "op"))
            summary, = (row["value"] for row in rows(trace, "meta") if row["key"] == "counters")
            assert words[0] in summary, summary
            assert kernels_of(trace)["tensor_bf16"]["count"] == 60
    print(f"{len(REFUSALS)} refusals")


def check_waits():
    """While a stream waits for a value, launches are not counted. Launches after the wait are counted."""
    with tempfile.TemporaryDirectory() as folder:
        labels, errors, trace = run(folder, "waits")
        assert "counters" not in errors, errors
        counted = check_values(trace, labels)
        assert labels["ordinary_fp32", 64][0] == 40 and 0 < counted["ordinary_fp32", 64] <= 20, counted
    print(f"{sum(counted.values())} launches were counted")


def check_late():
    """CUPTI takes long to get ready. The shim waits for it only once, and uses it as soon as it is ready."""
    with tempfile.TemporaryDirectory() as folder:
        labels, errors, trace = run(folder, "late", SIMGPU_CUPTI_READY=f"{folder}/ready")
        assert "counters" not in errors, errors
        counted = check_values(trace, labels)
        assert 0 < counted["ordinary_fp32", 64] <= 20, counted
    print(f"{sum(counted.values())} launches were counted")


def check_long():
    """A kernel runs too long for the shim to wait for it. The shim stops counting, and the program goes on."""
    with tempfile.TemporaryDirectory() as folder:
        labels, errors, trace = run(folder, "long")
        lines = [line for line in errors.splitlines() if "counters" in line]
        assert len(lines) == 1 and "did not end" in lines[0] and "goes on without" in lines[0], errors
        assert not rows(trace, "counter") and labels["ordinary_fp32", 64][0] == 40
    print(lines[0])


if sys.argv[2] == "refused":
    check_refusals()
elif sys.argv[2] == "waits":
    check_waits()
elif sys.argv[2] == "long":
    check_long()
elif sys.argv[2] == "late":
    check_late()
else:
    check_counted(sys.argv[2])
