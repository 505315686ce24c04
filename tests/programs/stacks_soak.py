"""Makes WALKS CUDA calls from all kinds of Python code; the shim reads the stack (a walk) at each. Meanwhile other threads
make and drop objects, collect garbage and compile code, and threads start and end. Counts each stack as the interpreter
itself sees it.

    stacks_soak.py FILE WALKS SEED      writes a line for each different stack: its count and the stack, as stacks_probe.py

Runs on CPython 3.8 and later. Each CUDA call does nothing, but releases the interpreter's lock."""
import collections
import ctypes
import functools
import gc
import queue
import random
import sys
import threading

import stacks_seen

cuda = ctypes.CDLL("libcuda.so.1")
call = functools.partial(cuda.cuMemFree_v2, ctypes.c_uint64(0))
CALLS = 4  # CUDA calls that follow a `see` on its line
WALKERS = 3
file, walks, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
end = threading.Event()
own = threading.local()
totals, total_lock = collections.Counter(), threading.Lock()
context = ctypes.c_void_p()
handed = queue.Queue(64)  # generators that one thread begins and another continues


def see():
    own.seen[stacks_seen.stack_of(sys._getframe(1))] += CALLS
    own.left -= CALLS


def from_lambda(_):
    (lambda: (see(), call(), call(), call(), call()))()


class Thing:
    def method(self, _):
        see(), call(), call(), call(), call()

    def __del__(self):
        if hasattr(own, "seen"):  # only in threads that count stacks
            see(), call(), call(), call(), call()


def from_method(choose):
    Thing().method(choose)


def from_sort(_):
    sorted([1], key=lambda _: (see(), call(), call(), call(), call())[1])


def numbers():
    while True:
        see(), call(), call(), call(), call()
        yield
        see(), call(), call(), call(), call()
        yield


def from_generator(choose):
    """Continues a generator that another thread may have begun. Then hands it on to other threads, or drops it."""
    try:
        generator = handed.get_nowait() if choose.random() < 0.8 else numbers()
    except queue.Empty:
        generator = numbers()
    for _ in range(choose.randrange(3)):
        next(generator)
    try:
        handed.put_nowait(generator)
    except queue.Full:
        pass


async def inner():
    see(), call(), call(), call(), call()


async def outer():
    await inner()


def from_coroutine(_):
    try:
        outer().send(None)
    except StopIteration:
        pass


def executed(choose):
    """Makes code, calls it and drops it at once, so that the next code object is likely to get the same address. The code
    objects are hard to tell apart: their names have the same length, and their line tables differ only in the middle."""
    number = choose.randrange(24)
    before = " 0\n" * (number % 3)
    source = f"def made_{number:02}():\n{before} see(), call(), call(), call(), call()\n" + " 0\n" * (2 - number % 3)
    names = {"see": see, "call": call}
    exec(compile(source, f"<executed {number // 5:02}>", "exec"), names)
    names[f"made_{number:02}"]()


def template():
    see(), call(), call(), call(), call()


def replaced(choose):
    """Calls a copy of a function with another name or first line. Its code may get an address that was used before."""
    old = template.__code__
    new = {"co_name": f"copy_{choose.randrange(9)}", "co_firstlineno": old.co_firstlineno + choose.randrange(5)}
    if hasattr(old, "co_qualname"):
        new["co_qualname"] = new["co_name"]
    type(template)(old.replace(**new), globals())()


def descend(depth, leaf, choose):
    if depth:
        descend(depth - 1, leaf, choose)
    else:
        leaf(choose)


LEAVES = (from_lambda, from_method, from_sort, from_generator, from_coroutine, executed, replaced)


def walk(number, walks_here):
    own.seen, own.left = collections.Counter(), walks_here
    cuda.cuCtxSetCurrent(context)
    choose = random.Random(seed * 1000 + number)
    while own.left > 0:
        descend(choose.choice((0, 1, 2, 3, 5, 8, 20, 70)), choose.choice(LEAVES), choose)
    with total_lock:
        totals.update(own.seen)
    del own.seen


def churn():
    """Makes garbage. No CUDA call is made here, so no stack is taken."""
    choose = random.Random(seed)
    kept = []
    while not end.is_set():
        kept.append([object() for _ in range(choose.randrange(200))])
        names = {}
        exec(compile(f"def dropped():\n return {choose.random()}\n", "<dropped>", "exec"), names)
        names["dropped"]()
        if len(kept) > 50:
            kept.clear()
            gc.collect()


def start_and_end(walks_here):
    number = WALKERS
    while walks_here > 0:
        number += 1
        some = min(walks_here, 400)
        threads = [threading.Thread(target=walk, args=(number * 2 + at, some // 2)) for at in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        walks_here -= some


def main():
    cuda.cuInit(0)
    cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
    gc.set_threshold(50)
    sys.setswitchinterval(0.0005)
    short = walks // 8  # walks in short-lived threads
    share = (walks - short) // WALKERS
    busy = [threading.Thread(target=churn) for _ in range(2)]
    threads = [threading.Thread(target=walk, args=(number, share)) for number in range(WALKERS)]
    threads.append(threading.Thread(target=start_and_end, args=(short,)))
    for thread in busy + threads:
        thread.start()
    for thread in threads:
        thread.join()
    end.set()
    for thread in busy:
        thread.join()
    with open(file, "w", encoding="utf-8") as out:
        out.write("".join(f"{count} {stack}\n" for stack, count in totals.items()))


main()
