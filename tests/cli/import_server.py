"""Phases (prefill, decode, or both mixed) in traces of inference servers: import_server.py WALLSHIM
The host runs ahead of the device, so the ranges on the host are far shorter than the steps."""
import json
import os
import subprocess
import sys

from foreign import run, run_tests, write
from kineto import CALL, KERNEL, event, trace

PROJECT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DECODE, PREFILL, MIXED = 10000, 100000, 120000

# Each server's names for the same three iterations (decode, prefill, both), and the numbers of tokens in these. None:
# the name does not tell the number.
SERVERS = {
    "vLLM": ("execute_context_0(0)_generation_8(8)", "execute_context_2(512)_generation_0(0)",
             "execute_context_2(512)_generation_8(8)", (8, 512, 520)),
    "SGLang": ("step[DECODE bs=8]", "step[EXTEND bs=2 toks=512]",
               "step[MIXED bs=10 c=2 g=8 c_sq=512 c_sk=512 g_sq=8 g_sk=900]", (8, 512, 520)),
    "TensorRT-LLM": ("[Executor] _forward_step 3: 0 ctx reqs, 0 ctx tokens, 8 gen reqs",
                     "[Executor] _forward_step 4: 2 ctx reqs, 512 ctx tokens, 0 gen reqs",
                     "[Executor] _forward_step 5: 2 ctx reqs, 512 ctx tokens, 8 gen reqs", (None, 512, None)),
}


def served(iterations):
    """A trace of iterations: a name, and the time of the kernel on the device, in µs. The host takes 1 ms for each."""
    events, device = [], 2000
    for i, (name, length) in enumerate(iterations):
        host = 1000 * (i + 1)
        events += [event("user_annotation", name, host, 900),
                   {**CALL, "ts": host + 100, "args": {"correlation": i + 1}},
                   {**KERNEL, "ts": device, "dur": length - 50, "args": {**KERNEL["args"], "correlation": i + 1}}]
        device += length
    return write(trace(*events))


def device_of(file, *switches):
    result = run("report", "--json", *switches, file)
    assert result.returncode == 0, result.stderr
    valid = subprocess.run([sys.executable, PROJECT + "/tests/support/validate.py", PROJECT + "/docs/report.schema.json"],
                           input=result.stdout, capture_output=True, text=True, check=False)
    assert valid.returncode in (0, 77), valid.stdout + valid.stderr
    return json.loads(result.stdout)["processes"][0]["devices"][0]


def test_phases_of_each_server():
    for server, (decode, prefill, mixed, tokens) in SERVERS.items():
        iterations = [(prefill, PREFILL)] + 30 * [(decode, DECODE)] + [(prefill, PREFILL), (mixed, MIXED)] + 9 * [(decode, DECODE)]
        file = served(iterations)
        device = device_of(file)
        rows = {row["phase"]: row for row in device["phases"]}
        assert [row["phase"] for row in device["phases"]] == ["decode", "prefill", "mixed"], (server, device["phases"])
        for phase, steps, each, requests, count in (("decode", 38, DECODE, 8, tokens[0]), ("prefill", 2, PREFILL, 2, tokens[1]),
                                                    ("mixed", 1, MIXED, 10, tokens[2])):
            row = rows[phase]
            assert (row["steps"], row["requests"]) == (steps, steps * requests), (server, row)
            assert row["tokens"] == (count and steps * count), (server, row)
            assert abs(row["mean_ns"] - each * 1000) < 1e6, (server, row)
            assert count is None or abs(row["tokens_per_second"] - count * 1e6 / (row["mean_ns"] / 1000)) < 1, (server, row)
        all_kernels = sum(length - 50 for _, length in iterations)
        assert abs(rows["mixed"]["kernels_share"] - (MIXED - 50) / all_kernels) < 1e-6, (server, rows["mixed"])
        time = device["step_time"]
        assert (time["phase"], time["steady"], time["other"], time["stable"]) == ("decode", 38, 3, True), (server, time)
        assert {step["phase"] for step in device["steps"] if step["kind"] == "other"} == {"prefill", "mixed"}, server
        said = " ".join(run("report", file).stdout.split())
        assert "yes decode 38 steps of 10.0 ms, prefill 2 of 100 ms, mixed 1 of 120 ms; decode: median 10.0 ms" in said, said
        assert "38 decode steps, 42 operations" in said, said


def test_names_that_tell_no_phase():
    """The control: the same iterations under other names have no phases."""
    device = device_of(served([("forward", PREFILL if i in (0, 31) else DECODE) for i in range(42)]))
    assert "phases" not in device and "phase" not in device["step_time"], device["step_time"]
    assert not any("phase" in step for step in device["steps"])


def test_prefill_that_takes_most_time():
    decode, prefill = SERVERS["SGLang"][:2]
    time = device_of(served(4 * ([(prefill, PREFILL)] + 3 * [(decode, DECODE)])))["step_time"]
    assert (time["phase"], time["steady"], time["other"]) == ("prefill", 4, 11), time


def test_a_window_shows_its_own_iterations():
    """Steps in a window keep their numbers. Their requests and tokens are those of the iterations in the window."""
    iterations = 30 * [("execute_context_0(0)_generation_8(8)", DECODE)]
    iterations += 10 * [("execute_context_0(0)_generation_4(4)", DECODE)] + [("execute_context_2(512)_generation_0(0)", PREFILL)]
    iterations += 3 * [("execute_context_0(0)_generation_4(4)", DECODE)]
    file = served(iterations)
    device = device_of(file, "--steps", "32-37")
    assert [(row["phase"], row["steps"], row["requests"]) for row in device["phases"]] == [("decode", 6, 24)], device["phases"]
    # A window of prefill alone has figures, although decode takes most of the whole recording.
    device = device_of(file, "--steps", "40")
    assert [(row["phase"], row["steps"], row["tokens"]) for row in device["phases"]] == [("prefill", 1, 512)], device["phases"]
    assert (device["step_time"]["steady"], device["step_time"].get("phase", "prefill")) == (1, "prefill"), device["step_time"]


def test_numbers_beyond_reason():
    device = device_of(served(3 * [("execute_context_1(1e999)_generation_0(0)", DECODE)]))
    assert device["phases"][0]["phase"] == "prefill", device["phases"]


run_tests(globals())
