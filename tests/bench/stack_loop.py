"""For bench_stacks.py: prints the ns of a call that is made with DEPTH Python frames on the stack.

    stack_loop.py STACK_LOOP sync|launch DEPTH BURSTS CALLS
    stack_loop.py STACK_LOOP native DEPTH KIND"""
import ctypes
import sys

loop = ctypes.CDLL(sys.argv[1])
loop.stack_calls.restype = loop.stack_native.restype = ctypes.c_double
what, depth, *numbers = sys.argv[2], *map(int, sys.argv[3:])


def descend(more):
    return descend(more - 1) if more > 1 else loop.stack_calls(what == "launch", *numbers)


if what == "native":
    print(loop.stack_native(numbers[0], depth))
else:
    ctypes.CDLL("libcuda.so.1", ctypes.RTLD_GLOBAL)
    loop.stack_prepare()
    # The module's own code is one of the DEPTH frames.
    print(loop.stack_calls(what == "launch", *numbers) if depth == 1 else descend(depth - 1))
