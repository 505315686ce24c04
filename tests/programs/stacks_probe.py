"""Makes CUDA calls from all kinds of Python code, and writes the stack of each as the interpreter itself sees it.

    stacks_probe.py FILE        writes a line for each call: "function (file:line);function (file:line)", outermost first

Runs on CPython 3.8 and later. `see(), alloc()` stand on one line, so both have the same stack."""
import asyncio
import contextlib
import ctypes
import functools
import gc
import sys
import threading

import stacks_seen

cuda = ctypes.CDLL("libcuda.so.1")
# A call that does nothing, and for which the shim takes a stack.
alloc = functools.partial(cuda.cuMemFree_v2, ctypes.c_uint64(0))
seen = []
lock = threading.Lock()


def see():
    """Adds the caller's stack."""
    stack = stacks_seen.stack_of(sys._getframe(1))
    with lock:
        seen.append(stack)


class Thing:
    def method(self):
        see(), alloc()

    @staticmethod
    def static():
        see(), alloc()

    @property
    def made(self):
        return see(), alloc()

    def __call__(self, *_):
        see(), alloc()
        return 0

    def __del__(self):
        see(), alloc()


def decorated(function):
    @functools.wraps(function)
    def wrapper(*arguments):
        see(), alloc()
        return function(*arguments)
    return wrapper


@decorated
def plain():
    see(), alloc()
    try:
        see(), alloc()
        raise ValueError
    except ValueError:
        see(), alloc()
    finally:
        see(), alloc()
    for _ in range(
            2):
        assert (True and
                (see(), alloc()))


def numbers():
    for number in range(3):
        see(), alloc()
        yield number
        see(), alloc()


def outer_numbers():
    yield from numbers()


@contextlib.contextmanager
def context():
    see(), alloc()
    yield
    see(), alloc()


async def inner():
    see(), alloc()
    await asyncio.sleep(0)
    see(), alloc()


async def outer():
    await inner()
    await asyncio.gather(inner(), inner())


def recurse(depth):
    if depth:
        return recurse(depth - 1)
    return see(), alloc()


def from_c():
    kind = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_int))

    def compare(a, b):
        see(), alloc()
        return a[0] - b[0]
    values = (ctypes.c_int * 3)(3, 1, 2)
    ctypes.CDLL(None).qsort(values, 3, ctypes.sizeof(ctypes.c_int), kind(compare))
    sorted([1], key=lambda _: (see(), alloc())[1])


def executed():
    """Code objects come and go, so the interpreter uses their addresses again."""
    for number in range(300):
        lines = "\n" * (number % 7)
        source = f"{lines}def made_{number % 13}_{number:03}():\n" + " see(),\\\n" * (number % 3) + " see(), alloc()\n"
        names = {"see": lambda: None, "alloc": alloc}
        # Only the last `see` of the line adds a stack; the others are replaced.
        source = source.replace(" see(),\\\n", " 0,\\\n")
        names["see"] = see
        exec(compile(source, f"<executed {number // 5:02}>", "exec"), names)
        made = names[f"made_{number % 13}_{number:03}"]
        made()
        del names, made
        if number % 50 == 0:
            gc.collect()
    exec(compile("def ünïcode():\n see(), alloc()\nünïcode()", "<文字 é.py>", "exec"), {"see": see, "alloc": alloc})


def everything():
    Thing().method()
    Thing.static()
    thing = Thing()
    thing.made, thing()
    del thing
    plain()
    (lambda: (see(), alloc()))()
    [(see(), alloc()) for _ in range(2)]
    {(see(), alloc()) for _ in range(2)}
    list((see(), alloc()) for _ in range(2))
    list(numbers()), list(outer_numbers())
    with context():
        see(), alloc()
    asyncio.run(outer())
    recurse(40), recurse(300)
    from_c()
    executed()


def main():
    handle = ctypes.c_void_p()
    cuda.cuInit(0)
    cuda.cuDevicePrimaryCtxRetain(ctypes.byref(handle), 0)
    cuda.cuCtxSetCurrent(handle)
    everything()

    def work():
        cuda.cuCtxSetCurrent(handle)
        everything()
    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        file.write("".join(line + "\n" for line in seen))
    sys.stdout.flush()


main()
