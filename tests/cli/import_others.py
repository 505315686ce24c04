"""Tests files that are not traces. Each must be refused in one line that names its kind and what to do:
import_others.py WALLSHIM"""
import gzip
import json
import os
import shutil
import sqlite3

from foreign import path, refused, report, run, run_tests, write
from kineto import KERNEL

TRACE = json.dumps({"traceEvents": [KERNEL]})
JUNK = bytes(range(7, 250)) * 4


def says(expected, content, name):
    line = refused("report", write(content, name))
    assert expected in line and name in line, f"{name}: {line}"


def test_encodings():
    for encoding in ("utf-16", "utf-16-be"):
        mark = b"\xfe\xff" if encoding == "utf-16-be" else b""
        says("iconv", mark + TRACE.encode(encoding), "trace.json")


def verdict(file):
    return " ".join(run("report", "--section", "verdict", file).stdout.split())


def test_nothing_of_a_device():
    operator, call = {**KERNEL, "cat": "cpu_op", "pid": 9}, {**KERNEL, "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 9}
    for properties in ([], [{"id": 0, "name": "NVIDIA A100"}]):
        content = {"schemaVersion": 1, "deviceProperties": properties}
        assert "ProfilerActivity.CUDA" in verdict(write({**content, "traceEvents": [operator]})), verdict(path("trace.json"))
        assert "not allowed" in verdict(write({**content, "traceEvents": [operator, call]})), verdict(path("trace.json"))
        assert "No verdict" not in verdict(write({**content, "traceEvents": [KERNEL, call]}))
    assert "--trace=cuda" in verdict(database("empty.sqlite", StringIds="id, value"))


def test_what_is_no_json():
    for content in ('{"with_stack": True, "traceEvents": []}', "{'traceEvents': []}", "[" + "x" * 300):
        says("not JSON", content, "trace.json")
    says("no traceEvents", '{"schemaVersion": 1}', "trace.json")


def test_reports():
    for name in ("a.nsys-rep", "a.qdrep", "a.qdstrm"):
        says("nsys export --type sqlite", JUNK, name)
    says("Nsight Compute", JUNK, "a.ncu-rep")
    for name, begin in (("a.parquet", b"PAR1"), ("a.arrow", b"ARROW1\0\0"), ("a.h5", b"\x89HDF\r\n\x1a\n")):
        says("nsys export --type sqlite", begin + JUNK, name)
    says("XLA", JUNK, "host.xplane.pb")
    for name in ("a.pftrace", "a.perfetto-trace"):
        says("Perfetto", JUNK, name)
    says("pickle", b"\x80\x04\x95" + JUNK, "snapshot.pickle")
    says("table", '"Kind","Kernel_Name"\n' * 20, "kernel_trace.csv")
    says("nor the PyTorch profiler's JSON", JUNK, "a.bin")


def test_folders_of_tables():
    for name in ("run_pqtdir", "run_arwdir"):
        os.makedirs(path(name), exist_ok=True)
        with open(os.path.join(path(name), "CUPTI_ACTIVITY_KIND_KERNEL.parquet"), "wb") as file:
            file.write(b"PAR1" + JUNK)
        line = refused("report", path(name))
        assert "nsys export --type sqlite" in line, line
        shutil.rmtree(path(name))


def database(name, **tables):
    if os.path.exists(path(name)):
        os.remove(path(name))
    base = sqlite3.connect(path(name))
    for table, columns in tables.items():
        base.execute(f"CREATE TABLE {table} ({columns})")
    base.commit()
    base.close()
    return path(name)


def test_databases():
    nvprof = database("run.nvprof", StringTable="_id_, value", CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL="_id_, start, end, name",
                      CUPTI_ACTIVITY_KIND_MEMCPY="_id_, start, end, deviceId, bytes", CUPTI_ACTIVITY_KIND_RUNTIME="_id_, cbid, start, end")
    assert "nvprof" in refused("report", nvprof)
    for tables in ({"rocpd_kernel_dispatch_0000a1b2": "id, start"}, {"rocpd_op": "id, start", "rocpd_string": "id, string"}):
        assert "rocpd" in refused("report", database("results.db", **tables))
    assert "Ascend" in refused("report", database("msprof.db", STRING_IDS="id, value", TASK="startNs, endNs"))
    assert "none of Nsight Systems' tables" in refused("report", database("other.db", a="b"))
    # A table of another program beside the tables of Nsight Systems changes nothing.
    mixed = database("mixed.sqlite", StringIds="id, value", StringTable="a", CUPTI_ACTIVITY_KIND_KERNEL="start, end, deviceId")
    assert report(mixed)[0]["devices"] == []


def test_traces_in_the_same_format():
    xla = [{"ph": "M", "pid": 1, "name": "process_name", "args": {"name": "/device:GPU:0"}},
           {"ph": "X", "pid": 1, "tid": 13, "ts": 1, "dur": 2, "name": "fusion", "args": {"correlation_id": "7"}}, {}]
    for content in ({"displayTimeUnit": "ns", "metadata": {}, "traceEvents": xla}, xla):
        for packed in (False, True):
            file = write(content, "host.trace.json.gz", packed)
            assert "XLA" in refused("report", file)
    old = [{"name": "aten::mm", "ph": "X", "ts": 1.5, "dur": 4, "tid": 1, "pid": "CPU functions", "args": {}},
           {"name": "sgemm", "ph": "X", "ts": 3, "dur": 9, "tid": 0, "pid": "CUDA functions", "args": {}}]
    says("torch.profiler", json.dumps(old), "old.json")
    says("operator of the PyTorch profiler", json.dumps([{"ph": "X", "cat": "FEE", "name": "f", "pid": 1, "tid": 1, "ts": 1, "dur": 2}]), "viz.json")
    # Files that hold only operators, or only rows that repeat others, are accepted as traces without operations.
    for category in ("cpu_op", "gpu_user_annotation", "overhead"):
        assert report(write([{**KERNEL, "cat": category}, {**KERNEL, "cat": "nonsense"}]))[0]["devices"] == []
    assert report(write(gzip.compress(TRACE.encode()), "odd.json"))[0]["devices"][0]["gpu_events"] == 1


run_tests(globals())
