"""Compares the device times that wallshim records with references measured without it."""
import json
import os

from runner import UNABLE, kernels

# Kernel, size, launches: kernels of every kind, from about two microseconds to a millisecond.
KERNELS = [("spin", 2000, 500), ("spin", 10000, 500), ("spin", 100000, 200), ("spin", 1000000, 50),
           ("scale", 1 << 16, 500), ("scale", 1 << 22, 200), ("gelu", 1 << 20, 200), ("softmax", 256, 200),
           ("sgemm", 128, 200), ("sgemm", 512, 50)]
# The simulated GPU computes its kernels on the host, within the program's calls, and that time shows in the results. So
# it gets only `spin`, which computes nothing.
SIMULATED_KERNELS = [row for row in KERNELS if row[0] == "spin"]


def measure_kernels(runner):
    """The time of each kernel by the driver's own events, and as recorded in each mode that has device times."""
    probe, rows = os.path.join(runner.samples, "probe"), []
    for name, size, count in SIMULATED_KERNELS if runner.simulated else KERNELS:
        command = [probe, "kernel", name, str(size), str(count)]
        reference = runner.run(command + ["--events"])
        if reference.status:
            rows.append({"kernel": name, "size": size, "failed": reference.error.strip()[-400:]})
            continue
        timing = reference.timing
        row = {"kernel": name, "size": size, "count": count, "pair_ns": timing["pair_ns"],
               "queued_ns": timing["queued_ns"], "modes": {}}
        for mode in ("sampled", "shared", "pairs"):
            outcome = runner.run(command, mode)
            row["modes"][mode] = compare_launches(runner, outcome, name, count, timing["queued_ns"])
            runner.discard(outcome)
        rows.append(row)
    return rows


def compare_launches(runner, outcome, name, count, expected):
    """The mean time of the launches that have device times. All launches must be in the trace, but some may lack
    device times."""
    if not outcome.trace:
        return {"failed": f"no trace: {outcome.error.strip()[-400:]}"}
    report = runner.report(outcome.trace)
    launches = sum(process["events"]["kernel"] for process in report["processes"])
    timed, total = kernels(report).get(name, (0, 0))
    if launches != count or not timed:
        return {"failed": f"{launches} of {count} launches in the trace, {timed} with device times"}
    return {"timed": timed, "mean_ns": round(total / timed), "off_ns": round(total / timed - expected)}


def measure_overlap(runner):
    """How much kernels on two streams still overlap in each mode, from 0 (not at all) to 1 (fully)."""
    command = [os.path.join(runner.samples, "probe"), "overlap", "200", "200000"]
    rows = {}
    for mode in ("none", "host", "sampled", "shared", "pairs"):
        outcome = runner.run(command, mode)
        rows[mode] = outcome.timing.get("overlap") if not outcome.status else None
        runner.discard(outcome)
    return rows


def check_captures(runner):
    """Captures streams, while the shim records and while it does not. Results must not change."""
    command, answer = [os.path.join(runner.samples, "probe"), "capture"], {}
    alone = runner.run(command)
    for name, switches in (("recorded", []), ("outside a range", ["--capture-range", "profiler"]),
                           ("asleep", ["--start", "off"]), ("host", ["--backend", "host", "--capture-range", "profiler"])):
        outcome = runner.run_as(command, switches)
        captured = outcome.status == 0 and outcome.output.count(" captured") == 3
        answer[name] = {"results_unchanged": captured and outcome.output == alone.output}
        if not answer[name]["results_unchanged"]:
            answer[name]["first_change"] = (outcome.output + outcome.error)[-400:]
        runner.discard(outcome)
    return answer


# Lengths of kernels that are measured behind gates, ns; the last is so long that constant costs do not matter.
GATED = (500, 2000, 10000, 1000000)


def measure_gates(runner):
    """Measures kernels by two events behind a gate (a wait that holds the stream until kernel and events are queued):
    the time between the events with the kernel, minus the time without it. The kernel `spin` runs for the requested
    time plus a constant. So the times of two kernels must differ by the difference of the requested times. `off_ns` is
    the error of that difference, taken from the longest kernel."""
    rows = []
    for ns in GATED:
        outcome = runner.run([os.path.join(runner.samples, "probe"), "gates", str(ns), "50" if ns > 100000 else "300"])
        if outcome.status:
            kind = "skipped" if outcome.status == UNABLE else "failed"
            return {kind: outcome.error.strip()[-400:]}
        rows.append(outcome.timing | {"kernel_ns": outcome.timing["with_ns"] - outcome.timing["without_ns"]})
    long = rows[-1]
    for row in rows:
        row["off_ns"] = round(row["kernel_ns"] - long["kernel_ns"] + long["ns"] - row["ns"])
    return {"kernels": rows, "gate_ns": rows[0]["gate_ns"], "without_ns": rows[0]["without_ns"]}


# What the simulated GPU assumes (tests/simgpu/README.md): its variable, its value, and how to find it in the results.
ASSUMED = [
    ("SIMGPU_EVENT_RECORD_NS", 2500, ("costs", "record_timed_ns")),
    ("SIMGPU_EVENT_RECORD_UNTIMED_NS", 240, ("costs", "record_untimed_ns")),
    ("SIMGPU_EVENT_QUERY_NS", 1050, ("costs", "query_ns")),
    ("SIMGPU_LAUNCH_NS", 1500, ("costs", "launch_ns")),
    ("SIMGPU_EVENT_RESOLUTION_NS", 32, ("costs", "resolution_ns")),
    ("SIMGPU_EVENT_DISPATCH_NS", 1260, ("gates", "without_ns")),
]
WRONG_BY = 0.3  # an assumption that differs by more than this share is wrong


def check_assumptions(results):
    """Compares what the simulated GPU assumes with what was measured here."""
    rows = []
    for name, assumed, (section, key) in ASSUMED:
        here = results[section].get(key)
        rows.append({"name": name, "assumed": assumed, "here": here,
                     "holds": None if here is None else abs(here - assumed) <= WRONG_BY * assumed})
    return rows


def measure_costs(runner):
    outcome = runner.run([os.path.join(runner.samples, "probe"), "costs"])
    return outcome.timing if not outcome.status else {"failed": outcome.error.strip()[-400:]}


def calibrate(runner):
    """Both ceilings of the roofline (compute and bandwidth), as `wallshim calibrate` measures them."""
    # On the simulated GPU copies move no data: its memory is host memory, so real copies would take long.
    few = {"SIMGPU_COPY_DATA": "0"} if runner.simulated else {}
    outcome = runner.run([runner.command, "calibrate", "--json", "--seconds", "2" if runner.simulated else "10", "-o",
                          os.path.join(runner.out, "gpu.json")], environment=few)
    return json.loads(outcome.output) if not outcome.status else {"failed": outcome.error.strip()[-400:]}


# Kernel, size, FLOPs and bytes of a launch according to its source. The counters do not see bytes that caches serve, so
# the counted bytes of small kernels mean little.
COUNTED = [("scale", 1 << 24, 1 << 24, 8 << 24), ("sgemm", 512, 2 * 512 ** 3, 12 * 512 ** 2)]
SIMULATED_COUNTED = [("scale", 1 << 12, 1 << 12, 8 << 12), ("sgemm", 32, 2 * 32 ** 3, 12 * 32 ** 2)]


def read_counters(runner):
    """FLOPs and bytes by the hardware counters, as shares of the kernels' known FLOPs and bytes. If the driver
    refuses counters, that is not a failure: then the result is the shim's message with the reason."""
    probe, rows = os.path.join(runner.samples, "probe"), []
    for name, size, flops, byte_count in SIMULATED_COUNTED if runner.simulated else COUNTED:
        count = 60
        command = [probe, "kernel", name, str(size), str(count)]
        alone, outcome = runner.run(command), runner.run(command, "counters")
        row = {"kernel": name, "size": size, "results_unchanged": alone.output == outcome.output,
               "complaints": [line for line in outcome.complaints if "counters" in line]}
        rows.append(row)
        if not outcome.trace:
            row["failed"] = f"no trace: {outcome.error.strip()[-400:]}"
            continue
        left = count - sum(bool(op["flags"] & 0x1000) for op in runner.dump(outcome.trace, "op"))
        device, = (device for process in runner.report(outcome.trace)["processes"] for device in process["devices"])
        roofline, = (kernel["roofline"] for kernel in device["kernels"] if kernel["name"].startswith(name))
        row.update(counted=count - left, source=roofline["source"])
        if roofline["source"] == "counter" and left:
            row["flops_of_expected"] = round(roofline.get("flops", 0) / left / flops, 4)
            row["bytes_of_expected"] = round(roofline["bytes"] / left / byte_count, 4)
        runner.discard(outcome)
    return rows
