"""Kineto's JSON, row by row: import_kineto.py WALLSHIM"""
import kineto
from foreign import by_id, meta, report, rows, run_tests, write
from kineto import allocation, event, name_of, trace

KERNEL = {**kineto.KERNEL, "ts": 20.5,
          "args": {**kineto.KERNEL["args"], "grid": [4, 2, 1], "block": [128, 1, 1], "registers per thread": 32, "shared memory": 1024}}
CALL = {**kineto.CALL, "dur": 2.25, "args": {"cbid": 211, "correlation": 5}}


def op_of(families, number=0):
    """An operation, its shape, and the function and driver function that the shape names."""
    op = families["op"][number]
    shape = by_id(families["shape"])[op.shape]
    function = by_id(families["function"]).get(shape.function)
    called = by_id(families["driver_function"]).get(shape.driver_function)
    return op, shape, function, called


def test_kernel_and_its_call():
    for events in ((KERNEL, CALL), (CALL, KERNEL)):
        families = rows(write(trace(*events)))
        op, shape, function, called = op_of(families)
        assert (op.begin, op.end, op.begin_error, op.end_error, op.flags & 15) == (20500, 30500, 0, 0, 5), op
        assert (op.host_begin, op.host_end, op.correlation) == (10000, 12250, op.thread << 40 | 5), op
        assert (shape.grid_x, shape.grid_y, shape.block_x, shape.shared_bytes) == (4, 2, 128, 1024), shape
        assert (function.name, function.registers, called.name) == ("gemm", 32, "cudaLaunchKernel")
        thread = by_id(families["thread"])[op.thread]
        assert thread.tid == 100, thread
        stream = by_id(families["stream"])[shape.stream]
        context = by_id(families["context"])[stream.context]
        assert (stream.handle, context.handle, context.device) == (7, 1, 1)
        assert not families["call"] and not families["loss"]


def test_clocks_are_the_same():
    device = report(write(trace(KERNEL, CALL)))[0]["devices"][0]
    assert device["clock_error_ns"] == 0 and device["begin_ns"] == 20500, device


def test_operation_without_a_call():
    families = rows(write(trace(KERNEL)))
    op, _, _, called = op_of(families)
    assert (op.thread, op.host_begin, op.host_end, called) == (0, op.begin, op.begin, None), op
    assert [row.count for row in families["loss"]] == [1]
    assert report(write(trace(KERNEL)))[0]["devices"][0]["launches"]["count"] == 0


def test_a_graph_launch_makes_many():
    launch = {**CALL, "name": "cudaGraphLaunch"}
    families = rows(write(trace(KERNEL, {**KERNEL, "ts": 40}, launch)))
    for number in (0, 1):
        op, shape, _, called = op_of(families, number)
        assert (op.host_begin, called.name, shape.kind) == (10000, "cudaGraphLaunch", 1)


def test_the_outermost_call_counts():
    inner = {**CALL, "cat": "cuda_driver", "name": "cuLaunchKernel", "ts": 11, "dur": 1}
    families = rows(write(trace(inner, CALL, KERNEL)))
    assert op_of(families)[3].name == "cudaLaunchKernel"
    assert len(families["call"]) == 1


def test_calls_of_several_processes():
    """A merged trace may not note the rank of each event. Then two processes use the same correlation ids."""
    other = {**CALL, "pid": 77, "tid": 70, "ts": 8}
    families = rows(write(trace(KERNEL, CALL, {**other, "args": {"correlation": 6}})))
    assert op_of(families)[3].name == "cudaLaunchKernel"
    inner = {**CALL, "cat": "cuda_driver", "name": "cuLaunchKernel", "ts": 11, "dur": 1}
    for calls in ((CALL, other), (other, inner, CALL), (inner, other, {**other, "ts": 2})):
        families = rows(write(trace(KERNEL, *calls)))
        op, _, _, called = op_of(families)
        assert (op.host_begin, op.thread, called) == (op.begin, 0, None), "one of them launched it, and which is not known"
        assert sum(row.count for row in families["loss"] if row.reason == 14) == 1, families["loss"]
        assert len(families["call"]) == len(calls)


def test_calls():
    names = ["cudaDeviceSynchronize", "cudaMalloc", "cudaEventRecord", "hipModuleLoadData", "cudaStreamIsCapturing",
             "cudaGraphInstantiate", "hipGetDevicePropertiesR0600", "cudaEventQuery", "cudaStreamWaitEvent", "cudaFree"]
    events = [{**CALL, "name": name, "ts": 1000 - i, "args": {"correlation": i + 1}} for i, name in enumerate(names)]
    families = rows(write(trace(*events)))
    functions = by_id(families["driver_function"])
    found = {functions[row.function].name: functions[row.function].call_family for row in families["call"]}
    assert [found[name] for name in names] == [6, 5, 7, 10, 8, 9, 0, 6, 7, 5], found
    times = [row.host_begin for row in families["call"]]
    assert times == sorted(times), "calls are not in order of time"


def test_copies():
    words = {"Memcpy HtoD (Pageable -> Device)": (1, 3), "Memcpy DtoH (Device -> Pinned)": (3, 2),
             "Memcpy DtoD (Device -> Device)": (3, 3), "Memcpy HtoD (Host -> Device)": (7, 3), "Memcpy": (0, 0)}
    for name, spaces in words.items():
        copy = {**KERNEL, "cat": "gpu_memcpy", "name": name, "args": {"device": 0, "stream": 7, "correlation": 5, "bytes": 4096}}
        file = write(trace(copy, {**CALL, "name": "cudaMemcpy"}))
        op, shape, function, _ = op_of(rows(file))
        assert (shape.kind, shape.from_space, shape.to_space, op.bytes, function.name) == (2, *spaces, 4096, name), shape
        assert op.flags & 0x10, "cudaMemcpy returns when it is done"
        assert [row["name"] for row in report(file)[0]["devices"][0]["kernels"]] == [name]


def test_old_words():
    args = {"device": 0, "context": 1, "stream": 7, "correlation": 5}
    events = [{**KERNEL, "cat": cat, "name": cat, "tid": "stream 7", "ts": i * 100, "args": args}
              for i, cat in enumerate(("Kernel", "Memcpy", "Memset"))]
    families = rows(write(trace(*events, {**CALL, "cat": "Runtime", "tid": "100"})))
    assert [by_id(families["shape"])[op.shape].kind for op in families["op"]] == [1, 2, 3]
    assert len(families["stream"]) == 1 and families["thread"][0].tid == 100


def test_devices_of_other_makers():
    calls = {("xpu_runtime", "urEnqueueKernelLaunch"): 1, ("xpu_driver", "zeCommandListAppendMemoryCopy"): 2, ("xpu_driver", "zeCommandListAppendMemoryFill"): 3,
             ("xpu_runtime", "urQueueFinish"): 6, ("xpu_runtime", "urUSMDeviceAlloc"): 5, ("mtia_runtime", "anything"): 0, ("musa_driver", "muLaunchKernel"): 1}
    families = rows(write(trace(*[{**CALL, "cat": cat, "name": name, "args": {"correlation": 9}} for cat, name in calls])))
    functions = by_id(families["driver_function"])
    assert [functions[row.function].call_family for row in families["call"]] == list(calls.values())
    copy = event("gpu_memcpy", "Memcpy M2D (MEMORY -> DEVICE)", 50, 2, pid=0, tid=3, arguments={
        "correlation": 5, "device": 0, "context": "0x000055d0c0", "sycl queue": 3, "l0 queue": "0x01", "bytes": 64, "memory bandwidth (GB/s)": "N/A"})
    fill = {**copy, "cat": "gpu_memset", "name": "Memset (0 -> DEVICE)"}
    families = rows(write(trace(copy, fill, {**CALL, "cat": "xpu_runtime", "name": "urEnqueueUSMMemcpy"})))
    assert [(row.kind, row.from_space, row.to_space) for row in families["shape"]] == [(2, 1, 3), (3, 0, 3)], families["shape"]
    assert not families["op"][0].flags & 0x10, "put into a queue, not done"


def operator(**arguments):
    return event("cpu_op", "aten::mm", 5, 1, arguments)


def inputs_of(event):
    families = rows(write(trace(event)))
    return by_id(families["label"])[families["range"][0].inputs].text if families["range"][0].inputs else None


def test_lines_of_operators():
    stack = "/usr/lib/python3.7/contextlib.py(3): f;/x/site-packages/torch/nn/modules/module.py(889): _call_impl;train.py(54): step;train.py(60): <module>"
    families = rows(write(trace(operator(**{"Call stack": stack}), operator(**{"Call stack": ""}))))
    labels = by_id(families["label"])
    found = [(labels[row.name].text, row.kind, row.host_begin, row.host_end) for row in families["range"]]
    assert found == [("aten::mm", 3, 5000, 6000), ("train.py(54): step", 4, 5000, 6000), ("aten::mm", 3, 5000, 6000)], found


def test_inputs_of_operators():
    types = ["c10::BFloat16", "long int", "Scalar", "", "TensorList"]
    dimensions = [[32, 128], [7], [], [], [[2, 3], [], [4]]]
    expected = "c10::BFloat16[32,128] long_int[7] Scalar - TensorList[[2,3],[],[4]]"
    assert inputs_of(operator(**{"Input type": types, "Input Dims": dimensions})) == expected
    assert inputs_of(operator(**{"Input Dims": dimensions, "Input type": types})) == expected
    assert inputs_of(operator(**{"Input dims": dimensions, "Input type": types})) == expected, "as PyTorch 1.8 had it"
    assert inputs_of(operator(**{"Input Dims": [[2], []]})) == "-[2] -"
    assert inputs_of(operator(**{"Input type": ["float", None, ["float"], 5], "Input Dims": [[1], None, "x"]})) == "float[1] - - 5"
    assert inputs_of(operator(**{"Input type": [], "Input Dims": []})) is None
    assert inputs_of(operator()) is None
    assert inputs_of(operator(**{"Input Dims": [[i] for i in range(100000)]})) is None


def test_values_of_inputs():
    given = {"Input type": ["float", "ScalarList", "Scalar", "Scalar", ""], "Input Dims": [[1, 2, 3], [], [], [], []],
             "Concrete Inputs": ["", "[2, 2]", "False", "x" * 33, "y" * 32]}
    expected = "float[1,2,3] ScalarList=[2,2] Scalar=False Scalar -=" + "y" * 32
    for name in ("aten::convolution", "aten::_scaled_dot_product_flash_attention"):
        assert inputs_of({**operator(**given), "name": name}) == expected
        assert inputs_of({**operator(**dict(reversed(given.items()))), "name": name}) == expected
    assert inputs_of(operator(**given)) == "float[1,2,3] ScalarList Scalar Scalar -"
    odd = {**given, "Concrete Inputs": [["a"], 7, None, {}, "\u0001 "]}
    assert inputs_of({**operator(**odd), "name": "aten::convolution"}) == "float[1,2,3] ScalarList=7 Scalar Scalar -"


def test_ranges():
    kinds = {("cpu_op", "aten::mm"): (3, 0), ("Operator", "ProfilerStep#12"): (1, 12), ("user_annotation", "ProfilerStep#7"): (1, 7),
             ("user_annotation", "train_step#3"): (1, 3), ("user_annotation", "Optimizer.step#SGD.step"): (2, 0),
             ("Operator", "Optimizer.step#SGD.step"): (2, 0), ("Operator", "enumerate(DataLoader)#_It.__next__"): (2, 0),
             ("Operator", "OptimizerBackward"): (3, 0),
             ("user_annotation", "forward"): (2, 0), ("python_function", "train.py(41): step"): (4, 0),
             ("cpu_op", "record_param_comms"): (5, 0), ("user_annotation", "nccl:all_reduce"): (5, 0), ("user_annotation", "step#"): (2, 0)}
    for (category, name), (kind, number) in kinds.items():
        families = rows(write(trace({**CALL, "cat": category, "name": name})))
        row = families["range"][0]
        assert (row.kind, row.number, row.host_begin, row.host_end) == (kind, number, 10000, 12250), (name, row)
        assert by_id(families["label"])[row.name].text == name


def test_allocations():
    events = [allocation(3.5, **{"Total Allocated": 5000, "Bytes": 512, "Addr": 4096, "Device Id": 0, "Device Type": 1}),
              allocation(3.5, **{"Total Allocated": 4488, "Bytes": -512, "Addr": 4096, "Device Id": 0, "Device Type": 1}),
              allocation(3.5, **{"Bytes": 8, "Device Id": -1, "Device Type": 0}), allocation(3.5, Bytes="many"), KERNEL]
    families = rows(write(trace(*events)))
    functions = by_id(families["driver_function"])
    found = [(functions[row.function].name, row.bytes, row.address, row.object, row.context) for row in families["call"]]
    assert found == [("[memory] alloc", 512, 4096, 5000, 1), ("[memory] free", 512, 4096, 4488, 1),
                     ("[memory] host alloc", 8, 0, 0, 0)], found
    assert {functions[row.function].call_family for row in families["call"]} == {5}
    assert all(row.host_begin == row.host_end == 3500 for row in families["call"])
    assert sum(row.count for row in families["loss"] if row.reason == 13) == 1


NCCL = {**KERNEL, "name": "ncclDevKernel_AllGather_RING_LL(args)"}
GROUP = {"Collective name": "_allgather_base", "In msg nelems": 100, "Out msg nelems": 800, "Group size": 8, "dtype": "BFloat16",
         "Process Group Name": "3", "Process Group Ranks": "[0, 4, 8]"}


def test_collectives_that_kernels_tell_of():
    kernel = {**NCCL, "args": {**NCCL["args"], **GROUP}}
    for extra in ([], [{**CALL, "cat": "cpu_op", "name": "record_param_comms", "ts": 9, "dur": 5, "args": GROUP}]):
        families = rows(write(trace(kernel, CALL, *extra, distributedInfo={"rank": 4, "world_size": 16})))
        assert len(families["collective"]) == 1, "one call, told of twice"
        row, op, comm = families["collective"][0], families["op"][0], families["comm"][0]
        assert by_id(families["driver_function"])[row.function].name == "ncclAllGather"
        assert (row.count, row.datatype, row.first_launch, row.last_launch) == (100, 9, op.correlation, op.correlation), row
        assert op.flags & 0x800 and row.comm == comm.id and (comm.size, comm.rank, comm.device) == (8, 1, 1), comm
        assert row.host_begin == (9000 if extra else 10000)
    other = rows(write(trace(kernel, CALL, distributedInfo={"rank": 0})))["comm"][0]
    assert other.name_hash == comm.name_hash != 0 and other.rank == 0


def test_ranks_of_large_groups():
    """An event names only the first 30 ranks of its group. The trace's configuration of groups, if present, has all
    ranks."""
    ranks = list(range(0, 160, 2))
    group = {**GROUP, "Process Group Ranks": str(ranks[:30])[:-1] + ", ...]", "Group size": 80}
    kernel = {**NCCL, "args": {**NCCL["args"], **group}}
    configured = {"backend": "nccl", "pg_config": [{"pg_name": "0", "ranks": [7, 8]}, {"pg_name": "3", "pg_size": 80, "ranks": ranks}]}
    as_text = {"pg_config": [{"pg_name": "3", "ranks": str(ranks)}], "pg_count": 2}
    for rank, place in ((4, 2), (58, 29), (60, 30), (158, 79)):
        for content in (trace(kernel, CALL, distributedInfo={"rank": rank, **configured}),
                        {"distributedInfo": {**as_text, "rank": rank}, **trace(kernel, CALL)}):
            comm = rows(write(content))["comm"][0]
            assert (comm.rank, comm.size) == (place, 80), (rank, comm)
    # Without the configuration, the places of ranks after the first 30 are not known, but no two may get the same place.
    assert [rows(write(trace(kernel, CALL, distributedInfo={"rank": rank})))["comm"][0].rank for rank in (4, 70, 90)] == [2, 70, 90]


def test_collectives_that_annotations_tell_of():
    note = {**CALL, "cat": "user_annotation", "name": "nccl:_reduce_scatter_base", "ts": 9, "dur": 5,
            "args": {"Input Dims": [[20, 40]], "Input type": ["c10::Half"]}}
    comms = {**note, "cat": "cpu_op", "name": "record_param_comms", "ts": 8, "dur": 8,
             "args": {"Concrete Inputs": ["", "337", "93825114103440", "2", "", "[]", "[]", "4"]}}
    families = rows(write(trace(NCCL, KERNEL, CALL, note)))
    row = families["collective"][0]
    assert (row.count, row.datatype, row.comm, row.first_launch >> 40) == (800, 6, 0, families["op"][0].thread), row
    assert [op.flags & 0x800 for op in families["op"]] == [0x800, 0], "only kernels of NCCL's"
    families = rows(write(trace(note, comms, NCCL, CALL)))
    row, comm = families["collective"][0], families["comm"][0]
    assert len(families["collective"]) == 1 and (row.count, row.sequence, comm.size, comm.rank) == (200, 337, 4, 2), (row, comm)
    # The kernel was not launched within the annotation.
    families = rows(write(trace({**note, "ts": 50}, NCCL, CALL)))
    assert families["collective"][0].first_launch == 0 and not families["op"][0].flags & 0x800


def test_what_says_nothing_of_its_own():
    events = [{**KERNEL, "cat": category} for category in ("gpu_user_annotation", "ac2g", "Trace", "overhead", "nonsense")]
    families = rows(write(trace(*events)))
    assert not families["op"] and not families["range"] and not families["loss"]


def of_ranks(labels):
    """A merged trace of several ranks, as merging tools write it: each pid has a label before it, and all else is
    unchanged."""
    events = []
    for i, label in enumerate(labels):
        process = name_of("process_name", f"worker {label}", pid=f"[{label}] 99")
        kernels = [{**KERNEL, "pid": f"[{label}] 0", "ts": 20.5 + i + 40 * k, "dur": 10 + i} for k in range(2)]
        events += [process, *kernels, {**CALL, "pid": f"[{label}] 99", "ts": 10 + i}]
    return trace(*events, {"name": "Record Window End", "ph": "i", "pid": f"[{labels[-1]}] ", "ts": 90}, distributedInfo={"rank": 0, "world_size": 2})


def test_ranks_in_one_file():
    file = write(of_ranks(["TP00", "TP01-DP00"]))
    processes = report(file)
    assert [process["meta"]["rank"] for process in processes] == ["0", "1"], processes
    assert [process["meta"]["rank_label"] for process in processes] == ["[TP00]", "[TP01-DP00]"]
    assert [process["meta"]["program"] for process in processes] == ["worker TP00", "worker TP01-DP00"]
    devices = [process["devices"][0] for process in processes]
    assert [(device["device"], device["gpu_events"], device["busy_ns"], device["launches"]["count"]) for device in devices] == \
        [(0, 2, 20000, 2), (0, 2, 22000, 2)], devices
    # Three more files: with one rank alone, with ranks that occur only far behind the file's beginning, and with more
    # ranks than any job has.
    assert [process["devices"][0]["gpu_events"] for process in report(write(of_ranks(["TP00"])))] == [2]
    content = of_ranks([f"TP{i:02}" for i in range(6)])
    content["traceEvents"].insert(12, {"name": "x" * 200000, "ph": "i", "pid": "[TP02] 99"})
    for packed in (False, True):
        assert [process["devices"][0]["gpu_events"] for process in report(write(content, packed=packed))] == [2] * 6
    assert len(report(write(of_ranks([f"TP{i}" for i in range(2000)])))) == 1


def test_facts():
    properties = [{"id": 0, "name": "NVIDIA A100", "totalGlobalMem": 42505273344, "computeMajor": 8, "computeMinor": 0, "numSms": 108}]
    names = [name_of("process_name", "python3"), name_of("process_name", "other", pid=0),
             name_of("thread_name", "thread 100 (worker)", tid=100)]
    families = rows(write(trace(KERNEL, CALL, *names, deviceProperties=properties, cuda_driver_version=12040,
                                distributedInfo={"backend": "nccl", "rank": 3, "world_size": 8})))
    found = meta(families)
    expected = {"rank": "3", "world_size": "8", "driver_version": "12.4", "program": "python3", "pid": "99"}
    assert {key: found.get(key) for key in expected} == expected, found
    assert "Kineto" in found["import"]
    device = families["device"][0]
    assert (device.id, device.name, device.sms, device.cc_major) == (1, "NVIDIA A100", 108, 8), device
    assert by_id(families["thread"])[families["op"][0].thread].name == "worker"


def test_devices_that_are_not_described():
    kernel = {**KERNEL, "args": {**KERNEL["args"], "device": 2}}
    alike = [{"id": i, "name": "MI300X", "numSms": 304} for i in range(2)]
    assert [(row.id, row.name) for row in rows(write(trace(kernel, deviceProperties=alike)))["device"]] == [(1, "MI300X"), (2, "MI300X"), (3, "MI300X")]
    alike[1]["name"] = "MI250X"
    assert len(rows(write(trace(kernel, deviceProperties=alike)))["device"]) == 2


def test_packed_and_plain_are_the_same():
    content = trace(KERNEL, CALL)
    assert rows(write(content)) == rows(write(content, packed=True))


def test_events_alone():
    families = rows(write([KERNEL, CALL]))
    assert len(families["op"]) == 1 and meta(families)["import"] == "Kineto (PyTorch profiler) JSON"
    assert "schema 1" in meta(rows(write(trace(KERNEL))))["import"]


run_tests(globals())
