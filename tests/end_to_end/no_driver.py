"""Looks for CUDA through ctypes on a machine without a driver, and prints the results."""
import ctypes
import ctypes.util

try:
    ctypes.CDLL("libcuda.so.1")
    print("the driver was opened")
except OSError as error:
    print(error)
for name in ("cuInit", "cuLaunchKernel", "ncclAllReduce"):
    try:
        getattr(ctypes.CDLL(None), name)
        print(name, "found")
    except AttributeError as error:
        print(str(error).split(": ")[-1])
print(ctypes.util.find_library("cuda"))
