"""Perfetto traces of PyTorch's profiler give the same report as its JSON: import_perfetto.py WALLSHIM"""
import gzip
import json
import os
import random
import subprocess
import sys

import perfetto
from foreign import WALLSHIM, path, refused, report, rows, run, run_tests, write
from given import TRACES
from kineto import CALL, KERNEL, allocation, event, kernels, name_of, trace

if "libprotobuf-c" not in subprocess.run(["ldd", WALLSHIM], capture_output=True, text=True, check=True).stdout:
    assert "libprotobuf-c" in refused("report", write(perfetto.of_kineto([KERNEL]), "a.pftrace"))
    print("built without libprotobuf-c")
    sys.exit(77)

STEP = event("user_annotation", "ProfilerStep#7", 5, 90, {"External id": 9})
OPERATOR = event("cpu_op", "aten::mm", 8, 6, {"External id": 1, "Input Dims": [[4, 8], [8, 2]], "Input type": ["float", "float"]})
PYTHON = event("python_function", "train.py(12): forward", 7, 8, {"Python id": 1, "Python parent id": None})
CALLED = {**CALL, "args": {"cbid": 211, "correlation": 5}}
GRID = {**KERNEL, "ts": 20.501, "args": {**KERNEL["args"], "grid": [4, 2, 1], "block": [128, 1, 1], "registers per thread": 32}}
COPY = event("gpu_memcpy", 'Memcpy HtoD (Pinned -> "Device")', 40, 5, {"device": 0, "context": 1, "stream": 8, "correlation": 6, "bytes": 4096}, pid=0, tid=8)
HIP = event("cuda_runtime", "hipLaunchKernel", 50, 2, {"cid": 9, "correlation": 8, "grid": [1, 1, 1], "block": [1, 1, 1], "stream": 7, "device": 0})
RANGE = event("gpu_user_annotation", "forward", 20, 12, {"External id": 9}, pid=0, tid=7)
EVENTS = [name_of("thread_name", "main", tid=100), STEP, PYTHON, OPERATOR, CALLED, GRID, RANGE, COPY, HIP,
          allocation(12, **{"Addr": 1, "Bytes": 64, "Device Type": 1, "Device Id": 0, "Total Allocated": 64})]
WRITERS = (perfetto.of_kineto, perfetto.of_pytorch)
SAME = ("gpu_events", "busy_ns", "span_ns", "begin_ns", "kernels", "steps", "gaps", "copies", "launches", "ranges", "memory_use")


def without_ids(families):
    """All rows, without identifiers, because these depend on the order in the file."""
    return {family: sorted(str({key: value for key, value in vars(row).items() if not isinstance(value, int) or "begin" in key or "end" in key})
                           for row in families[family]) for family in ("op", "call", "range", "function", "label", "thread", "driver_function")}


def test_rows():
    expected = without_ids(rows(write(trace(*EVENTS))))
    for writer in WRITERS:
        made = without_ids(rows(write(writer(EVENTS), "a.pftrace")))
        for family, content in expected.items():
            assert made[family] == content, (writer.__name__, family, content, made[family])


def test_reports():
    known = report(write(trace(*EVENTS)))[0]["devices"][0]
    for writer in WRITERS:
        for packed in (False, True):
            device = report(write(writer(EVENTS), "any name", packed))[0]["devices"][0]
            assert {key: device.get(key) for key in SAME} == {key: known.get(key) for key in SAME}, writer.__name__


def test_facts():
    devices = [{"id": 0, "name": "NVIDIA H100 80GB HBM3", "totalGlobalMem": 85 << 30, "numSms": 132}]
    facts = {"distributedInfo": '{"backend": "nccl", "rank": 3, "world_size": 8}', "host_name": '"node7"', "note": "no JSON", "empty": ""}
    process = report(write(perfetto.of_kineto(EVENTS, facts, devices), "a.pftrace"))[0]
    assert process["devices"][0]["name"] == "NVIDIA H100 80GB HBM3" and process["meta"]["rank"] == "3", process["meta"]
    assert process["meta"]["host"] == "node7"


def test_kernels_back_to_back():
    """PyTorch writes all begins of a stream before all ends. Here the end of each kernel is the begin of the next
    one."""
    events = [{**one, "ts": i * 10, "dur": 10} for i, one in enumerate(kernels(50))]
    for writer in WRITERS:
        device = report(write(writer(events), "a.pftrace"))[0]["devices"][0]
        assert device["gpu_events"] == 50 and {row["max_ns"] for row in device["kernels"]} == {10000}, writer.__name__


def slice_of(name, begin, end, *arguments, kind=23):
    return (perfetto.packet((8, begin), (10, 1), (11, perfetto.message((9, perfetto.BEGIN), (kind, name), (11, 5), *arguments))) +
            perfetto.packet((8, end), (10, 1), (11, perfetto.message((9, perfetto.END), (11, 5)))))


TRACK = perfetto.packet((60, perfetto.message((1, 5), (4, perfetto.message((1, 99), (2, 100))))))


def test_nested_slices_in_order_of_time():
    begin = lambda name, time: perfetto.packet((8, time), (11, perfetto.message((9, 1), (23, name), (11, 5))))
    end = lambda time: perfetto.packet((8, time), (11, perfetto.message((9, 2), (11, 5))))
    made = TRACK + begin("outer", 1000) + begin("inner", 2000) + end(3000) + end(9000) + begin("never ends", 10000)
    ranges = {(row.host_begin, row.host_end) for row in rows(write(made, "a.pftrace"))["range"]}
    assert ranges == {(1000, 9000), (2000, 3000)}, ranges


def test_what_is_no_trace_of_pytorch():
    assert "without events" in refused("report", write(TRACK, "a.pftrace"))
    assert "without events" in refused("report", write(perfetto.packet((10, 1), (6, b"")), "a.pftrace"))
    assert "Perfetto" in refused("report", write(b"none at all", "a.pftrace"))
    for text in (b"\nAPPLE " + b"x" * 99, b"\n\n\n", b"\n", b"\n\x05\x08\x01junk and more"):
        assert "not a wallshim trace" in refused("report", write(text, "a.txt")), text


def test_cut_anywhere():
    for writer, cut in zip(WRITERS, (50000, 5000)):
        whole = writer(kernels(3000))
        process = report(write(whole[:-cut], "a.pftrace"))[0]
        assert process["damage"]["no_footer"] and 0 < process["devices"][0]["gpu_events"] < 3000
        assert "cut" in refused("report", write(whole[:200], "a.pftrace"))


def test_any_bytes():
    """For any content of a file, the command must end with a normal exit status."""
    source = random.Random(7)
    for writer in WRITERS:
        whole = writer(EVENTS * 3)
        for _ in range(40):
            changed = bytearray(whole)
            for _ in range(source.randrange(1, 9)):
                changed[source.randrange(20, len(changed))] = source.randrange(256)
            assert run("report", write(bytes(changed), "a.pftrace")).returncode in (0, 2)


def test_files_that_are_made_to_cost():
    deep = b""
    for _ in range(3000):
        deep = perfetto.message((10, "a"), (11, deep)) if len(deep) < 100000 else deep
    long = perfetto.packet((10, 1), (12, perfetto.message((2, perfetto.message((1, 1), (2, "x" * 1000000))), (29, perfetto.message((1, 1), (2, "y" * 1000000))))))
    repeated = [(4, perfetto.message((10, "a"), (17, 1)))] * 1000
    assert run("report", write(TRACK + slice_of("deep", 1, 2, (4, deep)), "a.pftrace")).returncode in (0, 2)
    assert run("report", write(TRACK + long + slice_of("long", 1, 2, *repeated), "a.pftrace")).returncode in (0, 2)
    assert "200 times" in refused("report", write(TRACK + long + slice_of(1, 1, 2, kind=10) * 2000, "a.pftrace"))
    loop = perfetto.packet((60, perfetto.message((1, 5), (5, 6)))) + perfetto.packet((60, perfetto.message((1, 6), (5, 5))))
    assert "without events" in refused("report", write(loop + slice_of("a", 1, 2), "a.pftrace"))


def test_the_given_traces():
    if not os.path.isdir(TRACES):
        print(f"left out: no {TRACES}")
        return
    for name in ("linear", "vllm-graphs"):
        with gzip.open(os.path.join(TRACES, name + ".json.gz")) as file:
            content = json.load(file)
        facts = {key: json.dumps(value) for key, value in content.items() if key not in ("traceEvents", "deviceProperties")}
        made = write(perfetto.of_kineto(content["traceEvents"], facts, content.get("deviceProperties")), "given.pftrace")
        # These files have no categories, so the operator "detach" counts as an annotation.
        for known, device in zip(report(os.path.join(TRACES, name + ".json.gz"))[0]["devices"], report(made)[0]["devices"]):
            differs = {key for key in known if known[key] != device.get(key)} - {"ranges", "outside_ranges", "gap_causes", "operators"}
            assert not differs, (name, differs)


run_tests(globals())
