"""A server like that of server.c, in Python: server.py WORKERS LIBRARY. It calls the driver through ctypes. Meanwhile other
threads load and unload LIBRARY, and start short-lived threads."""
import ctypes
import signal
import sys
import threading
import time

WORDS, LAUNCHES = 256, 8
ENTRY = ".visible .entry {0}(\n.param .u64 {0}_param_0\n)\n{{\nret;\n}}\n"
IMAGE = ".version 6.0\n.target sm_52\n.address_size 64\n" + ENTRY.format("even") + ENTRY.format("odd")

cuda = ctypes.CDLL("libcuda.so.1")
over = threading.Event()
counts = {"requests": 0, "wrong": 0, "others": 0}
lock = threading.Lock()


def must(result):
    if result:
        sys.exit(f"the driver answers {result}")


def count(name, by=1):
    with lock:
        counts[name] += by


def request(kernel, stream, memory, seed):
    sent = (ctypes.c_uint32 * WORDS)(*((seed * 2654435761 + i) & 0xFFFFFFFF for i in range(WORDS)))
    back = (ctypes.c_uint32 * WORDS)()
    ns = ctypes.c_uint64(2000)
    parameters = (ctypes.c_void_p * 1)(ctypes.addressof(ns))
    right = not cuda.cuMemcpyHtoDAsync_v2(memory, sent, ctypes.c_size_t(ctypes.sizeof(sent)), stream)
    for _ in range(LAUNCHES):
        right &= not cuda.cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, stream, parameters, None)
    right &= not cuda.cuMemcpyDtoHAsync_v2(back, memory, ctypes.c_size_t(ctypes.sizeof(back)), stream)
    right &= not cuda.cuStreamSynchronize(stream)
    return right and bytes(sent) == bytes(back)


def work(context, kernel):
    must(cuda.cuCtxSetCurrent(context))
    memory, stream = ctypes.c_uint64(), ctypes.c_void_p()
    must(cuda.cuMemAlloc_v2(ctypes.byref(memory), ctypes.c_size_t(4 * WORDS)))
    must(cuda.cuStreamCreate(ctypes.byref(stream), 1))
    seed = 1
    while not over.is_set():
        count("wrong", not request(kernel, stream, memory, seed))
        count("requests")
        seed += 1
        time.sleep(0.0005)


def load(path):
    libc = ctypes.CDLL(None)
    libc.dlopen.restype, libc.dlopen.argtypes, libc.dlclose.argtypes = ctypes.c_void_p, [ctypes.c_char_p, ctypes.c_int], [ctypes.c_void_p]
    while not over.is_set():
        count("wrong", libc.dlclose(libc.dlopen(path.encode(), 2)) != 0)
        count("others")
        time.sleep(0.001)


def spawn():
    while not over.is_set():
        thread = threading.Thread(target=lambda: count("others"))
        thread.start()
        thread.join()
        time.sleep(0.005)


def main():
    signal.signal(signal.SIGTERM, lambda *_: over.set())
    context, module, kernels = ctypes.c_void_p(), ctypes.c_void_p(), []
    must(cuda.cuInit(0))
    must(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0))
    must(cuda.cuCtxSetCurrent(context))
    must(cuda.cuModuleLoadData(ctypes.byref(module), IMAGE.encode()))
    for name in (b"even", b"odd"):
        kernels.append(ctypes.c_void_p())
        must(cuda.cuModuleGetFunction(ctypes.byref(kernels[-1]), module, name))
    threads = [threading.Thread(target=work, args=(context, kernels[i % 2])) for i in range(int(sys.argv[1]))]
    threads += [threading.Thread(target=load, args=(sys.argv[2],)), threading.Thread(target=spawn)]
    for thread in threads:
        thread.start()
    print("ready", flush=True)
    while not over.is_set():
        time.sleep(0.01)
    for thread in threads:
        thread.join()
    print("requests {requests} wrong {wrong} others {others}".format(**counts))


main()
