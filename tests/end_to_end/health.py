#!/usr/bin/env python3
"""Tests samples of GPU health with the simulated NVML: what the trace and the report say of a device that throttles
between given times. The program must never wait for an NVML that is absent, fails or hangs.

    health.py BUILD throttled|cool|hangs|refused|bare|lost|absent|off|devices|ends
"""
import json
import os
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.abspath(sys.argv[1])
MOST_MHZ, HELD_MHZ = 1980, 990
POWER_CAP, IDLE = 0x4, 0x1


def run(folder, *arguments, without_nvml=False, **environment):
    """Runs the program. Returns its trace and how long it took in s."""
    trace = f"{folder}/stepping.wst"
    if os.path.exists(trace):
        os.remove(trace)
    libraries = [] if without_nvml else [f"{BUILD}/tests/simgpu/nvml"]
    libraries += filter(None, [os.environ.get("LD_LIBRARY_PATH")])
    began = time.monotonic()
    done = subprocess.run([f"{ROOT}/tests/run_preloaded.sh", BUILD, f"{BUILD}/tests/programs/stepping", *arguments],
                          env={**os.environ, "LD_LIBRARY_PATH": ":".join(libraries), "WALLSHIM_OUTPUT": trace,
                               **environment}, text=True, capture_output=True,
                          timeout=100, check=False)
    took = time.monotonic() - began
    assert done.returncode == 0 and done.stdout == "done\n" and not done.stderr, done
    return trace, took


def tool(*arguments):
    return subprocess.run([f"{BUILD}/tools/wallshim", *arguments], check=True, capture_output=True, text=True).stdout


def samples(trace):
    return [json.loads(line) for line in tool("dump", "--json", "--family", "health", trace).splitlines()]


def report(trace):
    """The JSON report, checked against its schema."""
    text = tool("report", "--json", trace)
    checked = subprocess.run([sys.executable, f"{ROOT}/tests/support/validate.py", f"{ROOT}/docs/report.schema.json"],
                             input=text.encode(), check=False)
    assert checked.returncode in (0, 77), "the JSON is not what its schema says"
    return json.loads(text)["processes"][0]


def words(trace, *options):
    return " ".join(tool("report", *options, trace).split())


def said(trace):
    """What `wallshim info` says of health; "" when nothing."""
    return next((line.split(None, 1)[1] for line in tool("info", trace).splitlines() if line.startswith("  health ")), "")


def advice(device):
    return [row for row in device["advice"] if row["cause"] == "clocks"]


def throttle(begin, end, reasons, mhz=HELD_MHZ):
    """Returns two times in ns, given in s from now, and the environment variable that holds the clocks down between
    them."""
    now = time.monotonic_ns()
    begin, end = (now + int(s * 1e9) for s in (begin, end))
    return begin, end, {"SIMGPU_THROTTLE": f"{begin}-{end}:{mhz}:{reasons:x}"}


def throttled(folder):
    begin, end, environment = throttle(1.5, 3, POWER_CAP)
    trace, _ = run(folder, "6", WALLSHIM_HEALTH="10", **environment)
    rows = samples(trace)
    assert len(rows) >= 20, len(rows)
    for row in rows:
        # A sample takes time. If a change of the clocks falls into that time, the old or the new clock is right.
        edge = any(row["host_ns"] <= at <= row["host_ns"] + row["took_ns"] for at in (begin, end))
        held = begin <= row["host_ns"] < end
        assert edge or row["sm_mhz"] == (HELD_MHZ if held else MOST_MHZ), row
        assert edge or row["reasons"] == (POWER_CAP if held else 0), row
        assert row["power_limit_mw"] == 700000 and row["celsius"] == 61 and row["memory_used"] == 3 << 30, row
    device = report(trace)["devices"][0]
    health = device["health"]
    truth = sum(begin <= row["host_ns"] < end for row in rows) / len(rows)
    assert abs(health["held_share"] - truth) <= 2 / len(rows) + 0.03, (health, truth)
    assert health["held_sm_mhz"] == HELD_MHZ and health["sm_most_mhz"] == MOST_MHZ, health
    assert [row["reason"] for row in health["reasons"]] == ["power_cap"], health
    assert health["sm_mhz"] == {"min": HELD_MHZ, "median": MOST_MHZ, "max": MOST_MHZ}, health
    assert health["ecc_errors"] == 0 and "nvlink_sent_bytes_s" not in health, health
    assert 0.9e6 < health["pcie_sent_bytes_s"]["median"] < 1.1e6, health
    text = words(trace, "--section", "health")
    assert "held down by power cap for" in text and "990 of 1,980 MHz" in text, text
    # At half the clock, steps take twice as long. They are slow steps, and the report says that they coincide with the
    # lower clock.
    assert health["in_steps"], health
    slow = {step["number"]: step for step in device["steps"] if step["slow"]}
    lower = health["slow_steps_at_lower_clocks"]
    assert len(lower) >= 20, (len(slow), lower)
    for row in lower:
        step = slow[row["number"]]
        assert begin - 2e8 < step["begin_ns"] < end + 2e8, (row, step, begin, end)
    assert "slow steps with known clocks coincide with lower clocks" in text, text
    rows = advice(device)
    assert len(rows) == 1 and rows[0]["saving_ns"] > 0, device["advice"]


def cool(folder):
    """Low clocks of an idle device are no throttling. Full clocks with a reason for throttling are none either."""
    for reasons, mhz in ((IDLE, HELD_MHZ), (POWER_CAP, MOST_MHZ)):
        _, _, environment = throttle(0, 60, reasons, mhz)
        trace, _ = run(folder, "2", WALLSHIM_HEALTH="10", **environment)
        assert {(row["sm_mhz"], row["reasons"]) for row in samples(trace)} == {(mhz, reasons)}
        device = report(trace)["devices"][0]
        assert device["health"]["held_share"] == 0 and not advice(device), device["health"]
        assert "not held down" in words(trace, "--section", "health")


def hangs(folder):
    """A call that takes 30 s holds up neither the program nor its end."""
    for how in ((), ("_exit",)):
        trace, took = run(folder, "1", *how, SIMGPU_NVML_HANG_MS="30000")
        assert took < 20, took
        assert not samples(trace)
        assert "had not returned" in said(trace), said(trace)
        assert "health" not in report(trace)["devices"][0]


def refused(folder):
    for mode, what in (("init", "nvmlInit_v2 answered 9"), ("unknown", "1 failed, the last with error 6"),
                       ("errors", "the last with error 999")):
        trace, _ = run(folder, "1", SIMGPU_NVML=mode, WALLSHIM_HEALTH="5")
        assert what in said(trace), (mode, said(trace))
        assert not any(row["known"] for row in samples(trace)), mode
        health = report(trace)["devices"][0].get("health")
        assert (health is None) == (mode == "init"), (mode, health)
        assert health is None or (health["samples"] == 0 and health["samples_failed"] > 0), health


def bare(folder):
    """NVML supports only the SM clock. The report makes no claim about the unknown values."""
    _, _, environment = throttle(0, 60, POWER_CAP)
    trace, _ = run(folder, "2", SIMGPU_NVML="bare", WALLSHIM_HEALTH="10", **environment)
    assert all(row["known"] == 1 for row in samples(trace)), samples(trace)[:2]
    device = report(trace)["devices"][0]
    assert device["health"]["sm_mhz"]["median"] == HELD_MHZ, device["health"]
    assert not {"held_share", "power_mw", "ecc_errors"} & set(device["health"]) and not advice(device), device["health"]
    assert "not known whether" in words(trace, "--section", "health")


def lost(folder):
    trace, _ = run(folder, "2", SIMGPU_NVML="lost", WALLSHIM_HEALTH="10")
    rows = samples(trace)
    assert len(rows) == 4 and [row["error"] for row in rows] == [0, 0, 0, 15], rows  # then it is not sampled again
    assert "the GPU is lost" in words(trace, "--section", "health")


def absent(folder):
    trace, _ = run(folder, "1", without_nvml=True)
    assert not samples(trace) and "libnvidia-ml.so.1 was not found" in said(trace), said(trace)
    assert "health" not in report(trace)["devices"][0]


def off(folder):
    trace, _ = run(folder, "1", WALLSHIM_HEALTH="0")
    assert not samples(trace) and not said(trace), said(trace)


def devices(folder):
    """Only the device that the program uses is sampled."""
    trace, _ = run(folder, "1", "second", WALLSHIM_HEALTH="10", SIMGPU_DEVICES="4", SIMGPU_NVML_ECC="3")
    assert {row["device"] for row in samples(trace)} == {2}
    health = report(trace)["devices"][0]["health"]
    assert health["ecc_errors"] == 0 and health["ecc_errors_before"] == 3, health


def ends(folder):
    """The program forks, or its first thread or the process ends, while the sampler takes samples."""
    needed = subprocess.run(["ldd", f"{BUILD}/shim/libwallshim.so"], capture_output=True, text=True, check=True).stdout
    # ThreadSanitizer has a thread of its own, which keeps the process alive after the first thread.
    for how in ("fork", "_exit") + (() if "libtsan" in needed else ("pthread_exit",)):
        trace, took = run(folder, "1", how, WALLSHIM_HEALTH="10", SIMGPU_NVML_HANG_MS="50")
        assert took < 20 and samples(trace), (how, took)
        names = {json.loads(line)["name"] for line in tool("dump", "--json", "--family", "thread", trace).splitlines()}
        assert names == {"stepping"}, names


with tempfile.TemporaryDirectory() as scratch:
    {test.__name__: test for test in (throttled, cool, hangs, refused, bare, lost, absent, off, devices,
                                      ends)}[sys.argv[2]](scratch)
