"""Files as PyTorch's profiler (Kineto) writes them. Events are dictionaries, which tests change by {**KERNEL, "ts":
40}."""


def event(category, name, begin, length, arguments=None, pid=99, tid=100):
    """An event with a duration; times in µs. pid and tid: process and thread, or for device work the device and the stream."""
    made = {"ph": "X", "cat": category, "name": name, "pid": pid, "tid": tid, "ts": begin, "dur": length}
    return made if arguments is None else {**made, "args": arguments}


def allocation(begin, **arguments):
    return {"ph": "i", "cat": "cpu_instant_event", "s": "t", "name": "[memory]", "pid": 99, "tid": 100, "ts": begin,
            "args": arguments}


def name_of(kind, name, pid=99, tid=0):
    """An event that names a process or a thread. kind: process_name or thread_name."""
    return {"ph": "M", "name": kind, "pid": pid, "tid": tid, "ts": 1, "args": {"name": name}}


def trace(*events, **others):
    return {"schemaVersion": 1, "traceEvents": list(events), **others}


# A kernel of 10 µs on stream 7 of device 0, and the call that launched it.
KERNEL = event("kernel", "gemm", 20, 10, {"device": 0, "context": 1, "stream": 7, "correlation": 5}, pid=0, tid=7)
CALL = event("cuda_runtime", "cudaLaunchKernel", 10, 2, {"correlation": 5})


def kernels(count):
    """Kernels one after another, each with a correlation of its own."""
    return [{**KERNEL, "ts": i * 20, "args": {**KERNEL["args"], "correlation": i + 1}} for i in range(count)]
