"""Makes CUDA calls where a thread has more than one Python stack, and writes the stack of each as the interpreter itself
sees it.

    stacks_switched.py FILE subinterpreters|greenlets        writes lines as stacks_probe.py does

Ends with status 77 if this interpreter has no subinterpreters or greenlets. Each `see(), alloc()` stands on one line,
so both have the same stack."""
import ctypes
import functools
import os
import sys
import threading

import stacks_seen

cuda = ctypes.CDLL("libcuda.so.1")
# A call that does nothing, and for which the shim takes a stack.
alloc = functools.partial(cuda.cuMemFree_v2, ctypes.c_uint64(0))
out = open(sys.argv[1], "a", encoding="utf-8")
handle = ctypes.c_void_p()


def see(times=1):
    for _ in range(times):
        out.write(stacks_seen.stack_of(sys._getframe(1)) + "\n")
    out.flush()


# --- subinterpreters ----------------------------------------------------------------------------------------------------
# A call within a subinterpreter: up to Python 3.11 the shim sees the frames that called the subinterpreter, from Python 3.12
# on the frames within it.

SEES_WITHIN = sys.version_info >= (3, 12)
WITHIN = """
import ctypes, sys
sys.path.insert(0, {folder!r})
import stacks_seen
call = ctypes.CDLL("libcuda.so.1").cuMemFree_v2
out = open({file!r}, "a", encoding="utf-8")
def see():
    if {sees_within}:
        out.write(stacks_seen.stack_of(sys._getframe(1)) + "\\n")
def inner():
    see(), call(ctypes.c_uint64(0))
def outer():
    inner(), inner()
outer()
see(), call(ctypes.c_uint64(0))
out.close()
"""
CALLS_WITHIN = 3


def use_interpreter():
    try:
        import _interpreters as interpreters  # from 3.13 on
        make = functools.partial(interpreters.create, "legacy")  # ctypes needs the main interpreter's lock
    except ImportError:
        import _xxsubinterpreters as interpreters
        make = functools.partial(interpreters.create, **({"isolated": False} if sys.version_info >= (3, 9) else {}))
    text = WITHIN.format(folder=os.path.dirname(os.path.abspath(__file__)), file=sys.argv[1], sees_within=SEES_WITHIN)
    see(), alloc()
    made = make()
    see(0 if SEES_WITHIN else CALLS_WITHIN), interpreters.run_string(made, text)
    see(), alloc()
    interpreters.destroy(made)
    see(), alloc()


def subinterpreters():
    use_interpreter()
    use_interpreter()


# --- greenlets: each has a stack of its own in the same thread ----------------------------------------------------------

def descend(depth, work, *arguments):
    return descend(depth - 1, work, *arguments) if depth else work(*arguments)


def greenlets():
    try:
        import greenlet
    except ImportError:
        sys.exit(77)

    def turn(others, number):
        for _ in range(5):
            see(), alloc()
            others[(number + 1) % len(others)].switch()
            see(), alloc()
    others = []
    for number in range(4):
        others.append(greenlet.greenlet(lambda number=number: descend(number * 7, turn, others, number)))
    descend(3, others[0].switch)
    see(), alloc()
    # A greenlet that is never resumed. Its frames and code objects stay in memory.
    left = greenlet.greenlet(lambda: descend(5, left.parent.switch))
    left.switch()
    see(), alloc()
    del left
    see(), alloc()


def main():
    cuda.cuInit(0)
    cuda.cuDevicePrimaryCtxRetain(ctypes.byref(handle), 0)

    def work():
        cuda.cuCtxSetCurrent(handle)
        {"subinterpreters": subinterpreters, "greenlets": greenlets}[sys.argv[2]]()
    work()
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()


main()
