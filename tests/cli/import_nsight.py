"""Tests the import of Nsight Systems' exports row by row, with all the columns that new versions write and with the few
of old versions: import_nsight.py WALLSHIM"""
import json
import os
import sqlite3

from foreign import by_id, meta, path, refused, report, rows, run, run_tests

PROCESS = 1 << 48 | 77 << 24
KERNEL = {"start": 20500, "end": 30500, "deviceId": 0, "contextId": 1, "streamId": 7, "correlationId": 5, "globalPid": PROCESS,
          "demangledName": 1, "shortName": 2, "mangledName": 3, "registersPerThread": 32, "gridX": 4, "gridY": 2, "gridZ": 1,
          "blockX": 128, "blockY": 1, "blockZ": 1, "staticSharedMemory": 16, "dynamicSharedMemory": 1024}
CALL = {"start": 10000, "end": 12250, "eventClass": 0, "globalTid": PROCESS | 78, "correlationId": 5, "nameId": 4}
COPY = {"start": 100, "end": 200, "deviceId": 0, "contextId": 1, "streamId": 7, "correlationId": 6, "globalPid": PROCESS,
        "bytes": 4096, "copyKind": 1, "srcKind": 1, "dstKind": 2}
STRINGS = [{"id": 1, "value": "void gemm<float>(int)"}, {"id": 2, "value": "gemm"}, {"id": 3, "value": "_Z4gemm"},
           {"id": 4, "value": "cudaLaunchKernel_v7000"}, {"id": 5, "value": "worker"}, {"id": 6, "value": "main"}]
KINDS = [{"id": 0, "name": "", "label": "Pageable"}, {"id": 1, "name": "", "label": "Pinned"}, {"id": 2, "name": "", "label": "Device"}]
WHOLE = {"StringIds": STRINGS, "CUPTI_ACTIVITY_KIND_KERNEL": [KERNEL], "CUPTI_ACTIVITY_KIND_RUNTIME": [CALL],
         "CUPTI_ACTIVITY_KIND_MEMCPY": [COPY], "ENUM_CUDA_MEM_KIND": KINDS}


def write(name="trace.sqlite", **tables):
    file = path(name)
    if os.path.exists(file):
        os.remove(file)
    database = sqlite3.connect(file)
    for table, content in tables.items():
        columns = ", ".join(f'"{column}"' for column in content[0])
        database.execute(f"CREATE TABLE {table} ({columns})")
        marks = ", ".join("?" * len(content[0]))
        database.executemany(f"INSERT INTO {table} VALUES ({marks})", [tuple(row.values()) for row in content])
    database.commit()
    database.close()
    return file


def test_kernel_and_its_call():
    families = rows(write(**WHOLE))
    op = families["op"][1]
    shape = by_id(families["shape"])[op.shape]
    function = by_id(families["function"])[shape.function]
    assert (op.begin, op.end, op.host_begin, op.host_end, op.correlation) == (20500, 30500, 10000, 12250, op.thread << 40 | 5), op
    assert (function.name, function.registers, function.static_shared_bytes) == ("void gemm<float>(int)", 32, 16)
    assert (shape.grid_x, shape.grid_y, shape.block_x, shape.shared_bytes) == (4, 2, 128, 1024), shape
    assert by_id(families["driver_function"])[shape.driver_function].name == "cudaLaunchKernel"
    assert by_id(families["thread"])[op.thread].tid == 78
    assert by_id(families["context"])[by_id(families["stream"])[shape.stream].context].device == 1


def test_copies():
    families = rows(write(**WHOLE))
    op = families["op"][0]
    shape = by_id(families["shape"])[op.shape]
    assert (shape.kind, shape.from_space, shape.to_space, op.bytes, op.thread) == (2, 2, 3, 4096, 0), shape
    names = {row["name"] for row in report(write(**WHOLE))[0]["devices"][0]["kernels"]}
    assert "Memcpy HtoD (Pinned -> Device)" in names, names
    # Without the table of memory kinds, the kind of the copy tells the copy's source and destination.
    families = rows(write(CUPTI_ACTIVITY_KIND_MEMCPY=[COPY]))
    shape = families["shape"][0]
    assert (shape.from_space, shape.to_space) == (7, 3), shape


def test_memsets_and_graphs():
    common = {key: COPY[key] for key in list(COPY)[:7]}
    families = rows(write(CUPTI_ACTIVITY_KIND_MEMSET=[{**common, "bytes": 64, "memKind": 2}], ENUM_CUDA_MEM_KIND=KINDS,
                          CUPTI_ACTIVITY_KIND_GRAPH_TRACE=[{**common, "start": 300, "end": 900, "graphId": 3, "graphExecId": 9}]))
    shapes = by_id(families["shape"])
    found = [(shapes[op.shape].kind, shapes[op.shape].to_space, shapes[op.shape].function, op.bytes) for op in families["op"]]
    assert found == [(3, 3, 0, 64), (4, 0, 9, 0)], found
    losses = run("report", "--section", "losses", path("trace.sqlite")).stdout
    assert "--cuda-graph-trace=node" in losses, losses
    assert "cuda-graph-trace" not in run("report", "--section", "losses", write(**WHOLE)).stdout


def test_bare_tables():
    bare = {key: KERNEL[key] for key in ("start", "end", "deviceId", "streamId", "shortName")}
    families = rows(write(CUPTI_ACTIVITY_KIND_KERNEL=[bare], StringIds=STRINGS))
    assert (families["op"][0].begin, families["function"][0].name) == (20500, "gemm")
    families = rows(write(CUPTI_ACTIVITY_KIND_KERNEL=[bare]))
    assert len(families["op"]) == 1, "names may lack"
    families = rows(write(StringIds=STRINGS))
    assert not families["op"], "an export of a program that did nothing"


def test_processes_do_not_mix():
    other = 1 << 48 | 99 << 24
    kernels = [KERNEL, {**KERNEL, "globalPid": other, "start": 40000, "end": 41000, "deviceId": 1}]
    calls = [CALL, {**CALL, "globalTid": other | 1, "start": 15000, "end": 16000}]
    families = rows(write(StringIds=STRINGS, CUPTI_ACTIVITY_KIND_KERNEL=kernels, CUPTI_ACTIVITY_KIND_RUNTIME=calls))
    assert [op.host_begin for op in families["op"]] == [10000, 15000]
    assert len(families["context"]) == 2 and len(families["thread"]) == 2


def of_two_processes():
    """Two processes with their own work, one of them without a name, and a third process that only launched them."""
    other, launcher = 1 << 48 | 99 << 24, 1 << 48 | 5 << 24
    kernels = [{**KERNEL, "start": 20500 + i * 1000, "end": 21000 + i * 1000, "correlationId": 5 + i} for i in range(3)]
    kernels += [{**KERNEL, "globalPid": other, "start": 40000, "end": 41000, "deviceId": 1}]
    calls = [CALL, {**CALL, "globalTid": other | 1, "start": 15000, "end": 16000}]
    ranges = [{"start": 5, "end": 9, "eventType": 59, "globalTid": pid | 1, "text": text}
              for pid, text in ((PROCESS, "one"), (other, "two"), (launcher, "three"))]
    processes = [{"globalPid": PROCESS, "pid": 77, "name": "train"}, {"globalPid": launcher, "pid": 5, "name": "bash"}]
    return write(StringIds=STRINGS, CUPTI_ACTIVITY_KIND_KERNEL=kernels, CUPTI_ACTIVITY_KIND_RUNTIME=calls, NVTX_EVENTS=ranges,
                 CUPTI_ACTIVITY_KIND_MEMCPY=[{**COPY, "globalPid": other}], PROCESSES=processes)


def test_each_process_is_one():
    file = of_two_processes()
    processes = report(file)
    assert [process["meta"]["pid"] for process in processes] == ["77", "99"]
    assert [process["meta"].get("program") for process in processes] == ["train", None]
    assert [process["trace"] for process in processes] == [file, file]
    assert [[device["device"] for device in process["devices"]] for process in processes] == [[0], [0, 1]]
    assert [sum(device["gpu_events"] for device in process["devices"]) for process in processes] == [3, 2]
    text = run("report", "--full", "--all", file).stdout
    assert "trace.sqlite pid 77, GPU 0" in text and "trace.sqlite pid 99, GPU 1" in text, text
    # An export must show the work of each process under that process, and nothing twice.
    events = json.loads(run("export", "--format", "chrome", file, "-o", "-").stdout)["traceEvents"]
    spans = [(event["pid"], event["name"]) for event in events if event["ph"] == "X" and event["cat"] == "kernel"]
    assert len(spans) == 4 and len({pid for pid, name in spans}) == 2, spans
    assert [event["name"] for event in events if event.get("cat") == "annotation"] == ["one", "two"]


def test_each_process_becomes_a_trace():
    file, folder = of_two_processes(), path("imported")
    result = run("import", file, "-o", folder)
    assert result.returncode == 0, result.stderr
    assert sorted(os.listdir(folder)) == ["trace-0.wst", "trace-1.wst"], os.listdir(folder)
    imported, direct = report(folder), report(file)
    assert [process["devices"] for process in imported] == [process["devices"] for process in direct]


def test_absurdly_many_processes_are_one():
    kernels = [{**KERNEL, "globalPid": (1 << 48) + (i << 24), "start": i * 100, "end": i * 100 + 50} for i in range(3000)]
    processes = report(write(StringIds=STRINGS, CUPTI_ACTIVITY_KIND_KERNEL=kernels))
    assert len(processes) == 1 and processes[0]["devices"][0]["gpu_events"] == 3000


def test_ranges():
    event = {"start": 5, "end": 9, "eventType": 59, "globalTid": PROCESS | 78, "endGlobalTid": None, "text": "forward", "textId": None}
    events = [event, {**event, "text": None, "textId": 6}, {**event, "text": "aten::mm, seq = 3, op_id = 4"},
              {**event, "text": "ProfilerStep#8"}, {**event, "eventType": 60, "endGlobalTid": PROCESS | 78, "text": "phase"},
              {**event, "eventType": 60, "endGlobalTid": PROCESS | 79, "text": "elsewhere"},
              {**event, "eventType": 34, "end": None, "text": "mark"}, {**event, "end": None, "text": "open"},
              {**event, "text": ""}]
    families = rows(write(NVTX_EVENTS=events, StringIds=STRINGS))
    labels = by_id(families["label"])
    found = [(labels[row.name].text, row.kind, row.number) for row in families["range"]]
    assert found == [("forward", 2, 0), ("main", 2, 0), ("aten::mm", 3, 0), ("ProfilerStep#8", 1, 8), ("phase", 2, 0)], found
    # A mark is not a range, so it is not counted as lost. Ranges that are kept are not counted either.
    assert {row.reason: row.count for row in families["loss"]} == {16: 3}, families["loss"]
    said = run("report", "--section", "losses", path("trace.sqlite")).stdout
    assert "3 ranges left out: never ended, ended on another thread, or without a name" in said, said


def test_device_time_of_ranges():
    """An operation belongs to the range in which it was launched, even if it ran later."""
    note = {"start": 9000, "end": 13000, "eventType": 59, "globalTid": PROCESS | 78, "text": "forward"}
    events = [note, {**note, "start": 14000, "end": 15000, "text": "backward"}, {**note, "globalTid": PROCESS | 79, "text": "loader"}]
    device = report(write(StringIds=STRINGS, CUPTI_ACTIVITY_KIND_KERNEL=[KERNEL], CUPTI_ACTIVITY_KIND_RUNTIME=[CALL],
                          NVTX_EVENTS=events))[0]["devices"][0]
    found = {row["name"]: (row["count"], row["host_ns"], row["operations"], row["busy_ns"]) for row in device["ranges"]}
    assert found == {"forward": (1, 4000, 1, 10000), "backward": (1, 1000, 0, 0), "loader": (1, 4000, 0, 0)}, found


def test_collectives():
    note = {"start": 9000, "end": 13000, "eventType": 59, "globalTid": PROCESS | 78, "text": "ncclAllReduce"}
    strings = [{"id": 1, "value": "ncclDevKernel_AllReduce_Sum_f16_RING_LL(args)"}, {"id": 4, "value": "cudaLaunchKernelExC_v11060"}]
    families = rows(write(StringIds=strings, CUPTI_ACTIVITY_KIND_KERNEL=[KERNEL], CUPTI_ACTIVITY_KIND_RUNTIME=[CALL], NVTX_EVENTS=[note]))
    row, op = families["collective"][0], families["op"][0]
    assert by_id(families["driver_function"])[row.function].name == "ncclAllReduce"
    assert row.first_launch == row.last_launch == op.correlation and op.flags & 0x800 and families["range"][0].kind == 5


def calls_of(*rows_of):
    """Tables with calls of the runtime, given as (name, begin, end, result); their correlations count from 100."""
    names = sorted({name for name, *_ in rows_of})
    strings = STRINGS + [{"id": 100 + i, "value": name} for i, name in enumerate(names)]
    calls = [{**CALL, "start": begin, "end": end, "correlationId": 100 + i, "nameId": 100 + names.index(name), "returnValue": result}
             for i, (name, begin, end, result) in enumerate(rows_of)]
    return {"StringIds": strings, "CUPTI_ACTIVITY_KIND_RUNTIME": [{**CALL, "returnValue": 0}] + calls}


MEMORY_EVENT = {"start": 150, "globalPid": PROCESS, "deviceId": 0, "contextId": 1, "address": 0x7f0000000000, "pc": 0, "bytes": 0, "memKind": 2,
                "memoryOperationType": 0, "name": None, "correlationId": 0, "streamId": None, "localMemoryPoolAddress": None}
STATIC = {"id": 5, "name": "", "label": "Device Static"}


def with_memory():
    """Tables with allocations: at most 3 MiB at once, 2 MiB at the end; 4096 bytes of pinned memory; one failed
    call."""
    events = [{"correlationId": 100, "bytes": 1 << 20}, {"correlationId": 101, "address": 0x7f0000200000, "bytes": 2 << 20},
              {"correlationId": 102, "bytes": 1 << 20, "memoryOperationType": 1},
              {"correlationId": 104, "address": 0x7e0000000000, "bytes": 4096, "memKind": 1, "deviceId": 4294967295, "contextId": 4294967295},
              {"correlationId": 7, "address": 0x7d0000000000, "bytes": 64, "memKind": 5, "name": "table"}]
    calls = calls_of(("cudaMalloc_v3020", 100, 200, 0), ("cudaMallocAsync_v11020", 300, 400, 0), ("cudaFree_v3020", 500, 900, 0),
                     ("cudaMalloc_v3020", 1000, 1100, 2), ("cudaHostAlloc_v3020", 1200, 1300, 0), ("cudaFree_v3020", 1400, 1410, 0))
    events[1]["localMemoryPoolAddress"] = 0x5500
    return {**calls, "CUPTI_ACTIVITY_KIND_KERNEL": [KERNEL], "ENUM_CUDA_MEM_KIND": KINDS + [STATIC],
            "CUDA_GPU_MEMORY_USAGE_EVENTS": [{**MEMORY_EVENT, **event} for event in events]}


def test_memory():
    file = write(**with_memory())
    calls = [(row.address, row.bytes, row.object, row.context, row.result) for row in rows(file)["call"]]
    assert calls == [(0x7f0000000000, 1 << 20, 0, 1, 0), (0x7f0000200000, 2 << 20, 0x5500, 1, 0), (0x7f0000000000, 1 << 20, 0, 1, 0),
                     (0, 0, 0, 0, 2), (0x7e0000000000, 4096, 0, 0, 0), (0, 0, 0, 0, 0)], calls
    process = report(file)[0]
    use = process["devices"][0]["memory_use"]
    device, pinned = use["device"], use["pinned"]
    assert (device["peak_bytes"], device["peak_ns"], device["end_bytes"]) == (3 << 20, 400, 2 << 20), device
    assert (device["unsized"], device["unmatched"], device["all"]["allocations"], device["all"]["frees"]) == (0, 0, 2, 2), device
    assert (pinned["peak_bytes"], pinned["end_bytes"], pinned["unsized"]) == (4096, 4096, 0), pinned
    assert not process["losses"], process["losses"]


def test_memory_without_calls():
    """Memory events whose calls are missing or not named in the file, and events of unknown kinds."""
    tables = with_memory()
    events = tables["CUDA_GPU_MEMORY_USAGE_EVENTS"]
    nameless = [{key: event[key] for key in event if key != "correlationId"} for event in events]
    for changed in ({"CUPTI_ACTIVITY_KIND_RUNTIME": [CALL]}, {"CUDA_GPU_MEMORY_USAGE_EVENTS": nameless}):
        process = report(write(**{**tables, **changed}))[0]
        assert [(row["reason"], row["count"]) for row in process["losses"]] == [("in the file without the call that made them", 4)]
    use = process["devices"][0]["memory_use"]["device"]
    assert (use["peak_bytes"], use["unsized"]) == (0, 2), use
    said = run("report", "--section", "memory", path("trace.sqlite")).stdout
    assert "The size of 3 allocations is not known" in said and "--cuda-memory-usage=true" in said, said
    del tables["ENUM_CUDA_MEM_KIND"]
    assert report(write(**tables))[0]["devices"][0]["memory_use"]["device"]["peak_bytes"] == 3 << 20


def test_memory_of_several_devices():
    """An allocation's device and context come from its memory event, because the call's row does not name them."""
    kernels = [KERNEL, {**KERNEL, "deviceId": 1, "contextId": 2, "streamId": 15, "correlationId": 0}]
    events = [{"correlationId": 100, "bytes": 1000}, {"correlationId": 101, "bytes": 3000, "deviceId": 1, "contextId": 2},
              {"correlationId": 102, "bytes": 500, "address": 0x7f0000200000, "deviceId": 1, "contextId": 9}]
    calls = calls_of(*[("cudaMalloc_v3020", 100 * i, 100 * i + 50, 0) for i in range(1, 4)])
    devices = report(write(**calls, CUPTI_ACTIVITY_KIND_KERNEL=kernels,
                           CUDA_GPU_MEMORY_USAGE_EVENTS=[{**MEMORY_EVENT, **event} for event in events]))[0]["devices"]
    assert [device["memory_use"]["device"]["peak_bytes"] for device in devices] == [1000, 3500], devices


def test_memory_that_cannot_be():
    odd = [{"bytes": (1 << 63) - 1}, {"bytes": -5}, {"address": -1, "bytes": 8}, {"address": "x", "bytes": "y"}, {"address": None, "bytes": None},
           {"bytes": 1 << 20, "deviceId": -7, "contextId": 1 << 60}, {"bytes": 1 << 20, "globalPid": None}]
    events = [{**MEMORY_EVENT, **event, "correlationId": 100 + i} for i, event in enumerate(odd)]
    events += [{**events[5], "bytes": 9}] * 3  # a call makes only one such allocation
    calls = calls_of(*[("cudaMalloc_v3020", 100 * i, 100 * i + 50, 1 << 40 if i == 9 else 0) for i in range(10)])
    families = rows(write(**calls, CUPTI_ACTIVITY_KIND_KERNEL=[KERNEL], CUDA_GPU_MEMORY_USAGE_EVENTS=events))
    assert [row.bytes for row in families["call"]][:7] == [(1 << 63) - 1, 0, 8, 0, 0, 1 << 20, 0], families["call"]
    assert families["call"][9].result == (1 << 31) - 1
    use = report(path("trace.sqlite"))[0]["devices"][0]["memory_use"]["device"]
    assert use["peak_bytes"] <= (1 << 20) + 8, use


EVENT = {"deviceId": 0, "contextId": 1, "streamId": 7, "correlationId": 0, "globalPid": PROCESS, "eventId": 5}
NO_STREAM = NO_EVENT = 4294967295


def of_two_streams(records, waits, **changed):
    """Two kernels on streams 7 and 13. The second is launched early enough, but waits for an event behind the
    first."""
    calls = calls_of(("cudaLaunchKernel_v7000", 100, 200, 0), ("cudaEventRecordWithFlags_v11010", 300, 310, 0),
                     ("cudaStreamWaitEvent_v3020", 400, 410, 0), ("cudaLaunchKernel_v7000", 500, 600, 0),
                     ("cudaStreamSynchronize_v3020", 700, 45000, 0), ("cudaEventSynchronize_v3020", 46000, 46500, 0))
    kernels = [{**KERNEL, "start": 10000, "end": 20000, "correlationId": 100},
               {**KERNEL, "start": 22000, "end": 40000, "correlationId": 103, "streamId": 13, **changed}]
    tables = {**calls, "CUPTI_ACTIVITY_KIND_KERNEL": kernels}
    if records:
        tables["CUPTI_ACTIVITY_KIND_CUDA_EVENT"] = records
    if waits:
        tables["CUPTI_ACTIVITY_KIND_SYNCHRONIZATION"] = waits
    return write(**tables)


def waited_for(file, device=0):
    return [(row["cause"], row["waited_for"]["what"], row["waited_for"]["stream"]) for row in report(file)[0]["devices"][device]["gap_waits"]]


RECORD = {**EVENT, "correlationId": 101}
WAIT = {**EVENT, "start": 400, "end": 410, "correlationId": 102, "streamId": 13, "syncType": 2}


def test_what_streams_wait_for():
    waits = [WAIT, {**WAIT, "correlationId": 104, "streamId": 7, "eventId": NO_EVENT}, {**WAIT, "correlationId": 105, "streamId": NO_STREAM}]
    file = of_two_streams([RECORD], waits)
    families = rows(file)
    streams = {row.id: row.handle for row in families["stream"]}
    calls = [(streams.get(row.stream), row.object & 0xffffffff, row.context) for row in families["call"] if row.host_begin >= 300 and row.host_begin != 10000]
    assert calls == [(7, 5, 1), (13, 5, 1), (7, 0, 1), (None, 5, 1)], calls
    first = next(id for id, handle in streams.items() if handle == 7)
    assert waited_for(file) == [("dispatch", "event", first)], waited_for(file)
    # Newer versions have more columns.
    newer = {"greenContextId": None, "deprecatedSyncType": None, "eventSyncId": 9}
    assert waited_for(of_two_streams([{"timestamp": 0, **newer, **RECORD}], [{**newer, **WAIT}])) == [("dispatch", "event", first)]


def test_events_that_are_not_known():
    """Waits whose event is not known: the file has no records of events, or only another event's record, or a record
    of an unknown stream, or columns are missing or meaningless."""
    last = [("dispatch", "last_ended", 1)]
    assert waited_for(of_two_streams([], [])) == last
    assert waited_for(of_two_streams([], [WAIT])) == last
    assert waited_for(of_two_streams([RECORD], [])) == last
    assert waited_for(of_two_streams([{**RECORD, "eventId": 6}], [WAIT])) == last
    assert waited_for(of_two_streams([{**RECORD, "streamId": NO_STREAM}], [WAIT])) == last
    assert waited_for(of_two_streams([{**RECORD, "contextId": 3}], [WAIT])) == last
    assert waited_for(of_two_streams([{key: RECORD[key] for key in ("streamId", "eventId")}], [{"correlationId": 102}])) == last
    odd = [{**RECORD, "correlationId": -1, "eventId": "x"}, {**RECORD, "streamId": -9, "contextId": 1 << 62, "eventId": 1 << 40, "globalPid": None}]
    assert waited_for(of_two_streams(odd, [{**WAIT, **row} for row in odd])) == last


def test_events_of_another_device():
    """Stream 13 of the second GPU has run all its own work, and waits 880 µs for work of the first GPU."""
    other = {"deviceId": 1, "contextId": 2}
    both = {**other, "streamId": 13}
    calls = calls_of(("cudaLaunchKernel_v7000", 100, 200, 0), ("cudaEventRecord_v3020", 300, 310, 0), ("cudaLaunchKernel_v7000", 320, 330, 0),
                     ("cudaStreamWaitEvent_v3020", 400, 410, 0), ("cudaLaunchKernel_v7000", 500, 600, 0), ("cudaEventRecord_v3020", 700, 710, 0))
    kernels = [{**KERNEL, "start": 10000, "end": 900000, "correlationId": 100, "demangledName": 2},
               {**KERNEL, **both, "start": 11000, "end": 20000, "correlationId": 102}, {**KERNEL, **both, "start": 902000, "end": 950000, "correlationId": 104}]
    wait = {**WAIT, **other, "correlationId": 103}
    # The event is not known if two contexts have an event of that number, or if its record is missing, has no call, or
    # comes after the wait. Then the file may lack some of the GPU's work.
    unknown = [], [RECORD, {**RECORD, **both, "correlationId": 999}], [{**RECORD, "correlationId": 999}], [{**RECORD, "correlationId": 105}]
    for records, cause in ([RECORD], "wait"), *((records, "unrecorded") for records in unknown):
        tables = {"CUPTI_ACTIVITY_KIND_CUDA_EVENT": records} if records else {}
        file = write(**calls, **tables, CUPTI_ACTIVITY_KIND_KERNEL=kernels, CUPTI_ACTIVITY_KIND_SYNCHRONIZATION=[wait])
        device = report(file)[0]["devices"][1]
        assert [row["cause"] for row in device["gap_causes"]] == [cause], device["gap_causes"]
        found = [(row["cause"], row["waited_for"]["what"], row["waited_for"]["name"], row["waited_for"]["device"]) for row in device["gap_waits"]]
        assert found == ([("wait", "event", "gemm", 0)] if cause == "wait" else []), found


def test_texts_without_an_index():
    strings = [{"id": i, "value": f"kernel{i}"} for i in range(30000)] + [{"id": 7, "value": "another"}, {"id": "x", "value": "y"}]
    kernels = [{**KERNEL, "demangledName": i, "start": i * 100, "end": i * 100 + 50} for i in range(30000)]
    families = rows(write(StringIds=strings, CUPTI_ACTIVITY_KIND_KERNEL=kernels))
    names = [row.name for row in families["function"]]
    assert len(families["op"]) == 30000 and names == [f"kernel{i}" for i in range(30000)]


def test_facts():
    gpu = {"id": 2, "cuDevice": 0, "name": "NVIDIA A100", "uuid": "abc", "busLocation": "0000:81:00.0", "smCount": 108,
           "computeMajor": 8, "computeMinor": 0, "clockRate": 1410000000, "totalMemory": 42505273344, "l2CacheSize": 41943040}
    families = rows(write(**WHOLE, TARGET_INFO_GPU=[gpu], PROCESSES=[{"globalPid": PROCESS, "pid": 77, "name": "train"}],
                          ThreadNames=[{"nameId": 5, "priority": 20, "globalTid": PROCESS | 78}, {"nameId": 6, "priority": 10, "globalTid": PROCESS | 78}],
                          TARGET_INFO_SESSION_START_TIME=[{"utcEpochNs": 1705446034890745579}],
                          TARGET_INFO_SYSTEM_ENV=[{"globalVid": 1 << 48, "name": "Hostname", "value": "node7"},
                                                  {"globalVid": 1 << 48, "name": "Kernel", "value": "6.1"}],
                          META_DATA_EXPORT=[{"name": "EXPORT_PRODUCT_VERSION", "value": "2026.2.1"}]))
    device = families["device"][0]
    assert (device.id, device.name, device.uuid, device.sms, device.clock_khz) == (1, "NVIDIA A100", "GPU-abc", 108, 1410000), device
    found = meta(families)
    expected = {"program": "train", "pid": "77", "host": "node7", "nsight_version": "2026.2.1", "start_realtime_ns": "1705446034890745579"}
    assert {key: found.get(key) for key in expected} == expected, found
    assert by_id(families["thread"])[families["op"][1].thread].name == "worker"


def test_devices_that_a_process_numbers_itself():
    """CUDA_VISIBLE_DEVICES renumbers devices: device 0 of the second process is the machine's second GPU."""
    other = 1 << 48 | 99 << 24
    gpus = [{"vmId": 1 << 48, "id": i, "cuDevice": i, "name": name, "uuid": f"uuid{i}", "smCount": sms} for i, (name, sms) in
            enumerate((("NVIDIA A100", 108), ("NVIDIA H100", 132)))]
    devices = [{"gpuId": 0, "cudaId": 0, "pid": 77, "uuid": "uuid0"}, {"gpuId": 1, "cudaId": 1, "pid": 77, "uuid": "uuid1"},
               {"gpuId": 1, "cudaId": 0, "pid": 99, "uuid": "uuid1"}, {"gpuId": None, "cudaId": 5, "pid": 99, "uuid": None}]
    kernels = [KERNEL, {**KERNEL, "globalPid": other, "start": 40000, "end": 41000}]
    file = write(StringIds=STRINGS, CUPTI_ACTIVITY_KIND_KERNEL=kernels, TARGET_INFO_GPU=gpus, TARGET_INFO_CUDA_DEVICE=devices)
    found = [[(device["device"], device["name"]) for device in process["devices"]] for process in report(file)]
    assert found == [[(0, "NVIDIA A100")], [(0, "NVIDIA H100")]], found
    one = write(StringIds=STRINGS, CUPTI_ACTIVITY_KIND_KERNEL=kernels[1:], TARGET_INFO_GPU=gpus, TARGET_INFO_CUDA_DEVICE=devices)
    rows_of = rows(one)
    assert [(row.id, row.name, row.uuid) for row in rows_of["device"]] == [(1, "NVIDIA H100", "GPU-uuid1")], rows_of["device"]
    # If the table of devices does not name the process, the numbers of the GPUs count.
    one = write(StringIds=STRINGS, CUPTI_ACTIVITY_KIND_KERNEL=kernels[1:], TARGET_INFO_GPU=gpus, TARGET_INFO_CUDA_DEVICE=devices[:2])
    assert [(row.id, row.name) for row in rows(one)["device"]] == [(1, "NVIDIA A100"), (2, "NVIDIA H100")]


def test_what_cannot_be():
    kernels = [KERNEL, {**KERNEL, "end": 1}, {**KERNEL, "start": None}, {**KERNEL, "start": "soon", "end": -5},
               {**KERNEL, "deviceId": -1, "contextId": "x", "streamId": 2.5, "gridX": -7, "registersPerThread": 1 << 50},
               {**KERNEL, "end": (1 << 63) - 1}]
    families = rows(write(StringIds=STRINGS, CUPTI_ACTIVITY_KIND_KERNEL=kernels))
    assert len(families["op"]) == 2
    assert {row.reason: row.count for row in families["loss"]}[13] == 4, families["loss"]
    report(path("trace.sqlite"))


def test_damage():
    file = write(**{**WHOLE, "CUPTI_ACTIVITY_KIND_KERNEL": [{**KERNEL, "start": i * 100, "end": i * 100 + 50} for i in range(5000)]})
    whole = os.path.getsize(file)
    with open(file, "r+b") as database:
        database.seek(whole // 2)
        database.write(b"\xff" * 20000)
    damaged = report(file)[0]
    assert damaged["damage"]["lost_frames"] > 0, damaged["damage"]
    os.truncate(file, 200)
    assert "damaged" in refused("report", file)


def test_no_trace():
    assert "nsys export" in refused("report", write(OTHER=[{"a": 1}]))


run_tests(globals())
