"""Makes launches that are captured into a graph, or collectives, and writes the stack of each as the interpreter itself sees
it. The shim must record the stack of each captured launch, even when its time budget for stacks is used up. It must record
the stack of each collective, even in a group, where the call launches no kernel.

    stacks_kept.py FILE captured|collectives        writes lines as stacks_probe.py does"""
import ctypes
import os
import sys

import stacks_seen

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../samples"))
import driver  # noqa: E402

FLOAT, SUM, RELAXED = 7, 0, 2
COUNT = 64
out = open(sys.argv[1], "w", encoding="utf-8")
gpu = driver.Driver()
stream = gpu.stream()
block = (1, 1, 1, 64, 1, 1, 0)


def see():
    out.write(stacks_seen.stack_of(sys._getframe(1)) + "\n")


def captured():
    function, graph, runnable = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
    gpu.call("cuModuleGetFunction", ctypes.byref(function), gpu.module, b"fill_f32")
    data, factor, count = gpu.floats(COUNT), driver.REAL(2), driver.COUNT(COUNT)
    values = (data, factor, count)
    pointers = (ctypes.c_void_p * 3)(*[ctypes.addressof(value) for value in values])

    def launch(depth):
        if depth:
            launch(depth - 1)
        else:
            see(), gpu.launch(function, *block, stream, pointers, None)
    for _ in range(2000):  # so many that their stacks use up the shim's budget for stacks
        gpu.launch(function, *block, stream, pointers, None)
        gpu.synchronize(stream)
    gpu.call("cuStreamBeginCapture_v2", stream, ctypes.c_int(RELAXED))
    for depth in range(40):
        launch(depth)
        see(), gpu.launch(function, *block, stream, pointers, None)
    gpu.call("cuStreamEndCapture", stream, ctypes.byref(graph))
    gpu.call("cuGraphInstantiateWithFlags", ctypes.byref(runnable), graph, ctypes.c_ulonglong(0))
    for _ in range(3):
        gpu.call("cuGraphLaunch", runnable, stream)
    gpu.synchronize(stream)


def collectives():
    nccl = ctypes.CDLL("libnccl.so.2")
    comm, data = ctypes.c_void_p(), gpu.floats(COUNT)
    assert not nccl.ncclCommInitAll(ctypes.byref(comm), 1, None)

    def reduce():
        see(), nccl.ncclAllReduce(data, data, ctypes.c_size_t(COUNT), FLOAT, SUM, comm, stream)
    for _ in range(5):
        nccl.ncclGroupStart()  # within a group, the calls themselves launch no kernel
        for _ in range(3):
            reduce()
        see(), nccl.ncclAllReduce(data, data, ctypes.c_size_t(COUNT), FLOAT, SUM, comm, stream)
        nccl.ncclGroupEnd()
    gpu.synchronize(stream)


{"captured": captured, "collectives": collectives}[sys.argv[2]]()
out.close()
gpu.close()
