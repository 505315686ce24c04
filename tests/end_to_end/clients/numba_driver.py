"""Uses numba's own driver layer: linker, modules, streams, events, pinned and managed memory, threads, a reset.

The kernels are PTX, so NVVM is not needed. The simulated GPU has kernels of these names, and computes their results.
"""
import ctypes
import threading

import numpy
from numba import cuda
from numba.cuda.cudadrv import driver

PTX = b"""
.version 7.0
.target sm_70
.address_size 64
.visible .entry vector_add(.param .u64 out, .param .u64 a, .param .u64 b, .param .u32 n) { ret; }
.visible .entry saxpy(.param .u64 y, .param .u64 x, .param .f32 a, .param .u32 n) { ret; }
"""
COUNT = 10000
ROUNDS = 50


def load():
    context = cuda.current_context()
    linker = driver.Linker.new(cc=(7, 0))
    linker.add_ptx(PTX, "kernels.ptx")
    image, _ = linker.complete()
    module = context.create_module_image(image)
    return {name: module.get_function(name) for name in ("vector_add", "saxpy")}


def launch(kernel, stream, *arguments):
    values = [ctypes.c_float(one) if isinstance(one, float) else
              ctypes.c_uint32(one) if isinstance(one, int) else driver.device_ctypes_pointer(one) for one in arguments]
    driver.launch_kernel(kernel.handle, 40, 1, 1, 256, 1, 1, 0, stream.handle, values)


def work(results, index):
    kernels = load()
    stream = cuda.stream()
    begin, end = cuda.event(), cuda.event()
    ones = cuda.pinned_array(COUNT, dtype=numpy.float32)
    ones[:] = 1
    begin.record(stream)
    a = cuda.to_device(ones, stream=stream)
    b = cuda.device_array(COUNT, dtype=numpy.float32, stream=stream)
    launch(kernels["vector_add"], stream, b, a, a, COUNT)
    for _ in range(ROUNDS):
        launch(kernels["saxpy"], stream, b, a, 0.5, COUNT)
    end.record(stream)
    end.synchronize()
    assert begin.elapsed_time(end) > 0
    results[index] = float(b.copy_to_host(stream=stream).sum())
    stream.synchronize()


def main():
    assert cuda.current_context().get_memory_info().total > 0
    print(cuda.get_current_device().name, cuda.get_current_device().compute_capability)
    results = [0.0] * 4
    threads = [threading.Thread(target=work, args=(results, index)) for index in range(len(results))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(results)
    # Does all work once more, in the context that is created after the reset.
    cuda.current_context().reset()
    cuda.close()
    work(results, 0)
    print(results[0])


main()
