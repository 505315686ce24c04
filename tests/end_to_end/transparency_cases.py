"""The cases of transparency.py: a table of programs of tests/programs, with the expected results of each."""
import copy


class Case:
    """A program with its arguments, and the expected results of a run with the shim.

    traces: the number of traces, a range of numbers, or None for any number; ops: the least number of operations in
    the traces; says: messages of the shim on stderr are allowed; faults: the C library functions that fail for the
    shim (tests/programs/faults.c); driver: False takes the simulated driver away; plain_only: why the case cannot run
    in a build with sanitizers; bypassed: the trace must count look-ups that bypassed the shim (False: it must count
    none); only: there must be no more operations than `ops`; never: flags that no operation may have; seldom: flags that at
    most a third of the operations may have, as a busy machine may delay the shim's thread; often: flags,
    and the least number of operations that must have them; captured: how many operations must be marked as captured;
    timed: every operation must have device times; longer_s: by how many seconds a run with the shim may be longer;
    accounted: the trace must hold or count as lost every operation that the driver got, and no others; end: how the
    program ended according to the traces; before, after: a library preloaded before or after the shim; said: words that
    the shim must print; most: a family of records, and the largest number of its rows; last: this many of the last
    operations must have device times, without an operation of another thread between their events; lost: the least
    number of losses that the traces must count; execs: the program calls exec, which ends the shim's threads like a
    kill."""

    def __init__(self, *command, traces=1, ops=0, says=False, faults=None, driver=True, environment=None, closed=False,
                 plain_only=None, folder=None, setup=None, bypassed=False,
                 only=False, never=0, seldom=0, often=None, captured=None, timed=False, longer_s=None, accounted=False,
                 end=None, before=None, after=None, said=None, most=None, last=0, lost=0, execs=False):
        self.command = command
        self.traces = traces if isinstance(traces, range) or traces is None else range(traces, traces + 1)
        self.ops, self.says, self.faults, self.driver = ops, says, faults, driver
        self.environment = environment or {}
        self.closed, self.plain_only, self.folder, self.setup = closed, plain_only, folder, setup
        self.bypassed, self.only, self.never, self.captured = bypassed, only, never, captured
        self.seldom = seldom
        self.often = often
        self.timed, self.longer_s, self.accounted, self.end = timed, longer_s, accounted, end
        self.before, self.after, self.said, self.most = before, after, said, most
        self.last, self.lost, self.execs = last, lost, execs


ASLIMIT = "a sanitizer's shadow memory does not fit into the limit"
NAMESPACE = "a sanitizer's library cannot be loaded a second time"
FAULTS = "a sanitizer comes between the shim and the calls that should fail"
MALLOC = "a sanitizer has an allocator of its own"
CHILD_THREADS = "ThreadSanitizer takes the loader's lock in a forked child, and lets one of several threads' start none"

TIMED, CAPTURED, CONTENDED, POOL_DRY, IN_COLLECTIVE = 0x0c, 0x20, 0x80, 0x200, 0x800 # in enum ws_op_flags

CASES = {
    # ways to end
    "end-return": Case("ending", "return", ops=200),
    "end-return-late": Case("ending", "return", ops=200, timed=True, environment={"SIMGPU_LATE_EXIT": "1"}),
    "end-exit": Case("ending", "exit", ops=200),
    "end-_exit": Case("ending", "_exit", traces=None),
    "end-quick_exit": Case("ending", "quick_exit", traces=None),
    "end-abort": Case("ending", "abort", traces=None),
    "end-kill": Case("ending", "kill", traces=None),
    "end-term": Case("ending", "term", traces=None),
    "end-segv": Case("ending", "segv", traces=None),
    "end-atexit": Case("ending", "atexit", ops=200),
    "end-destructor": Case("ending", "destructor", ops=200),
    "end-in-thread": Case("ending", "thread", ops=210),
    "unsanitized/pthread_exit": Case("ending", "pthread_exit", ops=210,
                             plain_only="ThreadSanitizer's own thread keeps such a program from ending"),
    "unsanitized/pthread_exit-shared": Case("ending", "pthread_exit", ops=210,
                                             environment={"WALLSHIM_EVENT_PLACEMENT": "shared"},
                                             plain_only="ThreadSanitizer's own thread keeps such a program from ending"),
    "end-busy-threads": Case("ending", "busy", ops=200),
    "end-synchronised": Case("ending", "synchronised", ops=200),
    "end-exec": Case("ending", "exec", traces=None, execs=True),
    # programs that end at unusual places
    "leave-inside-destroy": Case("leaving", "inside-destroy", longer_s=1),
    "leave-_exit": Case("leaving", "_exit", ops=300, end="without exit"),
    "leave-_Exit": Case("leaving", "_Exit", ops=300, end="without exit"),
    "leave-quick_exit": Case("leaving", "quick_exit", ops=300, end="without exit"),
    "leave-in-handler": Case("leaving", "handler", ops=300, end="without exit"),
    "leave-twice": Case("leaving", "twice", ops=300, end="without exit"),
    "leave-beside-dlopen": Case("leaving", "beside-dlopen", ops=300, end="without exit", longer_s=2),
    "leave-cloned": Case("leaving", "cloned", ops=300),
    "opening-library": Case("leaving", "opening", ops=11),
    "leave-child": Case("leaving", "child", ops=300, end="without exit"),
    "leave-vforked": Case("leaving", "vforked", ops=600, end="by exit"),
    # a signal interrupts calls at every few instructions of the shim; its handler launches or forks
    **{f"interrupted-{_what}-{_how}": Case("interrupted", _what, _how, accounted=True)
       for _what in ("launch", "copy", "wait", "product", "collective") for _how in ("launch", "fork")},
    # the signal's handler leaves the call by siglongjmp; the shim must free the call's events and locks, so that later
    # launches have times
    **{f"interrupted-{_what}-jump": Case("interrupted", _what, "jump", accounted=True, last=200)
       for _what in ("launch", "copy", "wait", "product", "collective", "capture")},
    "unsanitized/interrupted-launch-jump-events": Case("interrupted", "launch", "jump", last=200, never=POOL_DRY,
                                                      environment={"WALLSHIM_EVENTS": "48", "STRIDE": "3"},
                                                      plain_only="so many steps take a sanitizer minutes"),
    "unsanitized/vanishing-threads": Case("jumping", "vanishing", ops=300, lost=60,
                                          plain_only="a sanitizer's thread cannot go unseen"),
    "leave-contexts-left": Case("leaving", "contexts-left", ops=4, longer_s=1),
    # children
    "fork": Case("forking", "fork", ops=200),
    "fork-exit": Case("forking", "fork-exit", ops=200),
    "fork-cuda": Case("forking", "fork-cuda", ops=200, says=True),
    "fork-many": Case("forking", "fork-many", ops=200),
    "fork-listed": Case("forking", "fork-listed", ops=200, says=True),
    "unsanitized/fork-listed-looking": Case("forking", "fork-listed-looking", ops=200, says=True, plain_only=CHILD_THREADS),
    "unsanitized/fork-listed-before": Case("forking", "before-listed", traces=2, ops=250, plain_only=CHILD_THREADS),
    "unsanitized/fork-by-thread": Case("forking", "before-by-thread", traces=2, ops=250, plain_only=CHILD_THREADS),
    "fork-before": Case("forking", "fork-before", traces=2, ops=250),
    "fork-exec": Case("forking", "fork-exec", traces=2, ops=250),
    "vfork-exec": Case("forking", "vfork-exec", traces=2, ops=250),
    "spawn": Case("forking", "spawn", traces=2, ops=250),
    "clone": Case("forking", "clone", ops=200, says=True),
    "unsanitized/system": Case("forking", "system", ops=200, plain_only="ThreadSanitizer's shell dies"),
    # signals
    "signal-storm": Case("signals", "storm", ops=2000),
    "signal-storm-interrupting": Case("signals", "storm-interrupting", ops=2000),
    "signal-sigwait": Case("signals", "sigwait", ops=100),
    "signal-blocked-later": Case("signals", "blocked-later", ops=100),
    "signal-unchanged": Case("signals", "unchanged", ops=100),
    "signal-longjmp": Case("signals", "longjmp", ops=400),
    "signal-longjmp-within": Case("jumping", ops=100),
    "signal-longjmp-from-launches": Case("jumping", "launches", ops=50, never=CONTENDED),
    "signal-longjmp-then-deeper": Case("jumping", "deeper", ops=200),
    "signal-longjmp-guarded": Case("jumping", "guarded", ops=200),
    "signal-longjmp-from-collectives": Case("jumping", "collectives", ops=40, never=IN_COLLECTIVE),
    "signal-longjmp-from-many-launches": Case("jumping", "many-launches", ops=50, never=POOL_DRY,
                                              environment={"WALLSHIM_EVENTS": "512"}),
    "signal-stack-above": Case("jumping", "interrupted", ops=100, only=True),
    "unsanitized/signal-stack-above-in-waits": Case("jumping", "interrupted-waits", ops=40,
                                                    plain_only="ThreadSanitizer runs the handlers after the waits"),
    # threads
    "threads-short": Case("threads", "short", ops=1800),
    "threads-early": Case("threads", "early", ops=320),
    "threads-cancelled": Case("threads", "cancel"),
    "threads-cancelled-between": Case("threads", "cancel-disabled"),
    "threads-cancelled-first": Case("threads", "cancel-first", ops=20),
    "threads-at-end": Case("threads", "at-end", ops=576),
    "unsanitized/small-stack": Case("threads", "small-stack", ops=640, plain_only="a sanitizer needs more stack than that"),
    "threads-deep-stack": Case("threads", "deep-stack", ops=10),
    "threads-starved": Case("threads", "starved", ops=1501, never=POOL_DRY),
    "threads-meeting": Case("jumping", "meeting", ops=40, often=(CONTENDED, 20)),
    "threads-left-running": Case("threads", "left-running"),
    # threads, streams and contexts that are created and destroyed often
    "signal-longjmp-from-threads": Case("jumping", "threads", ops=200, never=CONTENDED),
    "threads-own-streams": Case("churn", "own-streams", "4000", ops=4001, seldom=POOL_DRY,
                                environment={"WALLSHIM_EVENTS": "1024"}),
    "unsanitized/threads-many": Case("churn", "own-streams", "17000", ops=17001, seldom=POOL_DRY,
                                     environment={"WALLSHIM_RING": "64K"},
                                     plain_only="a sanitized driver takes minutes for so many threads"),
    "threads-keys": Case("churn", "keys", "5000", ops=10001, seldom=POOL_DRY),
    "threads-keys-alone": Case("churn", "keys-alone", "5000", ops=5001, seldom=POOL_DRY),
    "streams-many": Case("churn", "streams", "4000", ops=4001, most=("stream", 3000)),
    "shapes-many": Case("churn", "shapes", "300000", ops=300001,
                        environment={"WALLSHIM_RING": "64M", "WALLSHIM_BACKEND": "host"}),
    "unsanitized/files-forbidden-later": Case("pace", "no-files", ops=50, plain_only="a sanitizer may open files at any time"),
    # look-ups
    "look-up-absent": Case("dynamic", "default-absent", traces=0),
    "look-up-present": Case("dynamic", "default-present", traces=None),
    "look-up-handle": Case("dynamic", "handle", traces=None),
    "look-up-program": Case("dynamic", "program-handle", traces=0),
    "look-up-reopened": Case("dynamic", "reopen", traces=None),
    "look-up-versions": Case("dynamic", "versions", traces=None),
    "look-up-from-library": Case("dynamic", "library", traces=None),
    "look-up-by-handle": Case("dynamic", "by-handle", traces=0),
    "loader/own-dlsym": Case("own_dlsym", traces=None, plain_only="a sanitizer must be the first to see dlsym"),
    "own-cuInit": Case("own_init", ops=20),
    "runpath": Case("runpath", traces=0),
    "two-cublas": Case("two_versions", traces=None),
    "loader/deepbind": Case("around", "deepbind", traces=None, plain_only="a sanitizer refuses RTLD_DEEPBIND"),
    "loader/namespace": Case("around", "namespace", traces=0, plain_only=NAMESPACE),
    "loader/deepbind-beside": Case("around", "deepbind-beside", ops=20, bypassed=True,
                                   plain_only="a sanitizer refuses RTLD_DEEPBIND"),
    "loader/namespace-beside": Case("around", "namespace-beside", ops=20, bypassed=True, plain_only=NAMESPACE,
                                    environment={"GLIBC_TUNABLES": "glibc.rtld.optional_static_tls=16384"}),
    "static-tls": Case("tls", ops=20),
    "static-tls-cuda-first": Case("tls", "cuda-first", ops=40),
    "static-tls-large": Case("large_tls", ops=300),
    "no-driver-weak": Case("weak", traces=0, driver=False),
    "no-driver-dynamic": Case("dynamic", "default-absent", traces=0, driver=False),
    "no-driver-handle": Case("dynamic", "handle", traces=0, driver=False),
    "no-driver-python": Case("python3", "no_driver.py", traces=0, driver=False),
    "no-cuda": Case("no_cuda", traces=0),
    "no-cuda-python": Case("python3", "-c", "print(sum(range(10)))", traces=0),
    # contexts, streams and events that are destroyed while work uses them; modules that are unloaded
    "teardown-context": Case("teardown", "context", ops=200),
    "teardown-reset": Case("teardown", "reset", ops=250),
    "teardown-release": Case("teardown", "release", ops=250),
    "teardown-stream": Case("teardown", "stream", ops=500),
    "teardown-module": Case("teardown", "module", ops=150),
    "teardown-event": Case("teardown", "event", ops=200),
    "teardown-reset-unseen": Case("teardown", "reset-unseen", ops=250),
    "teardown-green": Case("teardown", "green", ops=150),
    # limits and faults
    "faults/memory": Case("limits", "memory", traces=None, says=True, plain_only=ASLIMIT),
    "faults/mappings": Case("ending", "return", traces=None, says=True, faults="mmap", plain_only=FAULTS),
    "faults/heap": Case("ending", "return", traces=None, says=True, faults="malloc", plain_only=FAULTS),
    "faults/threads": Case("ending", "return", traces=None, says=True, faults="pthread_create", plain_only=FAULTS),
    "faults/disk": Case("ending", "return", traces=None, says=True, faults="write", plain_only=FAULTS),
    "out-of-disk-tmpfs": Case("limits", "closed-before", traces=None, says=True, setup="tiny"),
    "out-of-descriptors": Case("limits", "descriptors", traces=None, says=True),
    "faults/open": Case("ending", "return", traces=0, says=True, faults="open", plain_only=FAULTS),
    "faults/proc": Case("ending", "return", traces=None, faults="proc", says=True, plain_only=FAULTS),
    "faults/no-proc": Case("ending", "return", traces=None, says=True, setup="no-proc",
                    plain_only="a sanitizer reads its options from there"),
    "file-size-limit": Case("limits", "file-size", traces=None, says=True),
    "file-size-limit-tiny": Case("limits", "tiny-files", traces=None, says=True),
    "descriptors-closed": Case("limits", "closed-descriptors", traces=None, says=True),
    "descriptors-closed-before": Case("limits", "closed-before", ops=5000),
    "folder-missing": Case("ending", "return", traces=0, says=True, folder="/nowhere/at/all"),
    "folder-read-only": Case("ending", "return", traces=0, says=True, folder="/proc"),
    "folder-gone": Case("state", "folder-gone", traces=None, says=True),
    "folder-changed": Case("state", "folder-changed", ops=100),
    "closed-standard-files": Case("state", "closed", traces=None),
    "closed-from-start": Case("ending", "return", traces=None, closed=True, says=True),
    "state-kept": Case("state", "kept", ops=200),
    "no-environment": Case("state", "no-environment", traces=None, execs=True),
    "faults/own-malloc": Case("own_malloc", ops=2500, plain_only=MALLOC),
    "bad-option": Case("ending", "return", traces=None, says=True, environment={"WALLSHIM_SAMPLE": "many"}),
    "quiet": Case("ending", "return", traces=0, folder="/nowhere/at/all", environment={"WALLSHIM_LOG": "quiet"}),
    "backend-host": Case("ending", "synchronised", ops=200, environment={"WALLSHIM_BACKEND": "host"}),
    "event-shared": Case("ending", "synchronised", ops=200, environment={"WALLSHIM_EVENT_PLACEMENT": "shared"}),
    "event-pairs": Case("ending", "synchronised", ops=200, environment={"WALLSHIM_EVENT_PLACEMENT": "pairs"}),
    "burst": Case("signals", "storm", environment={"WALLSHIM_BURST": "10ms/50ms"}),
    "tiny-ring": Case("signals", "storm", environment={"WALLSHIM_RING": "64K"}),
    "few-events": Case("signals", "storm", ops=2000, environment={"WALLSHIM_EVENTS": "16"}),
    "namesakes": Case("namesakes", ops=6),
    "kernels-of-library": Case("namesakes", "library", ops=6),
    "namesakes-contexts": Case("namesakes", "contexts", ops=6, environment={"SIMGPU_HANDLES_AGAIN": "1"}),
    "one-connection": Case("signals", "storm", ops=2000, environment={"CUDA_DEVICE_MAX_CONNECTIONS": "1"}),
    # the program's own libraries, names, descriptors and standard error
    "own-zstd": Case("plugins", "late", ops=200),
    "own-zstd-here": Case("plugins", "here", ops=200, environment={"LD_LIBRARY_PATH": ":"}),
    "descriptors-listed": Case("descriptors", "listed", ops=2000),
    "descriptors-listed-old-kernel": Case("descriptors", "listed", "old-kernel", ops=2000),
    "descriptors-end": Case("descriptors", "ends", ops=1000),
    "descriptors-end-old-kernel": Case("descriptors", "ends", "old-kernel", ops=1000),
    "descriptors-end-sandbox": Case("descriptors", "ends", "sandbox", ops=1000),
    "descriptors-end-deadly-sandbox": Case("descriptors", "ends", "deadly", ops=1000),
    "descriptors-taken": Case("descriptors", "taken", ops=40000),
    **{"standard-error-" + mode: Case("standard_error", mode, ops=100, environment={"WALLSHIM_SAMPLE": "many"})
       for mode in ("no-reader", "full-pipe", "full-socket", "socket-without-peer", "stopped-terminal", "background",
                    "reused", "closed")},
    "standard-error-limited": Case("standard_error", "limited", traces=None, environment={"WALLSHIM_SAMPLE": "many"}),
    "title-written-over": Case("state", "title", ops=100),
    # one case of each kind again, with hardware counters
    "counters-threads": Case("signals", "storm", ops=2000, environment={"WALLSHIM_COUNTERS": "1"}),
    "counters-jump": Case("jumping", ops=100, environment={"WALLSHIM_COUNTERS": "1"}),
    "counters-fork": Case("forking", "fork-many", ops=200, environment={"WALLSHIM_COUNTERS": "1"}),
    "counters-end": Case("ending", "busy", ops=200, environment={"WALLSHIM_COUNTERS": "1"}),
    "counters-context": Case("teardown", "context", ops=200, environment={"WALLSHIM_COUNTERS": "1"}),
    "counters-green": Case("teardown", "green", ops=150, environment={"WALLSHIM_COUNTERS": "1"}),
    "counters-stream": Case("teardown", "stream", ops=500, environment={"WALLSHIM_COUNTERS": "1"}),
    "counters-capture": Case("capture", "global", "thread", ops=50, environment={"WALLSHIM_COUNTERS": "1"}),
    "counters-capture-beside": Case("capture", "global", "beside", ops=50, environment={"WALLSHIM_COUNTERS": "1"}),
    "counters-state": Case("state", "kept", ops=200, environment={"WALLSHIM_COUNTERS": "1"}),
    "unsanitized/counters-pthread_exit": Case("ending", "pthread_exit", ops=210, environment={"WALLSHIM_COUNTERS": "1"},
                                              plain_only="ThreadSanitizer's own thread keeps such a program from ending"),
}

# parameters that the driver never reads
CASES["refused"] = Case("refused", ops=20)
CASES["refused-all-params"] = Case("refused", ops=20, environment={"WALLSHIM_PARAMS": "all"})

# a handler begins or ends something while its thread is in a call
CASES["within-profiler"] = Case("within", "profiler", ops=11, only=True,
                                environment={"WALLSHIM_CAPTURE_RANGE": "profiler"})
CASES["within-context"] = Case("within", "context", ops=31)
CASES["within-reset"] = Case("within", "reset", ops=31, environment={"SIMGPU_DEVICES": "2"})
CASES["within-capture"] = Case("within", "capture", ops=31, captured=10)
CASES["within-current"] = Case("within", "current", ops=31, timed=True)

# programs that use CUDA before main
for _when in ("library", "preinit"):
    CASES[f"early-{_when}"] = Case("early", ops=40, environment={"EARLY": _when})
    CASES[f"early-{_when}-range"] = Case("early", ops=40, environment={"EARLY": _when,
                                                                       "WALLSHIM_CAPTURE_RANGE": "profiler"})

# the shim's use of memory in a process that has little memory, or locks all of it
CASES["faults/locked-early"] = Case("limits", "locked", ops=4000, plain_only="a sanitizer locks nothing")
CASES["faults/locked-later"] = Case("limits", "locked-later", ops=4000, plain_only="a sanitizer locks nothing")
# A gate is a wait for a value, which holds a stream (shim/timing/gates.h). The simulated driver waits for values in a
# thread of its own, whose heap takes 64 MB of address space. So there are no gates here.
NO_GATES = {"WALLSHIM_GATE": "off"}
CASES["faults/little-address-space"] = Case("limits", "address-space", ops=2000, environment=NO_GATES, plain_only=ASLIMIT)
CASES["faults/little-no-thread"] = Case("limits", "no-thread", traces=None, said="no thread could be started", plain_only=ASLIMIT)
# With few events, the shim may compute the last operations' times only after the program has used up all memory.
CASES["faults/little-data"] = Case("limits", "data", ops=2000, environment={"WALLSHIM_EVENT_PLACEMENT": "shared"},
                                   plain_only=ASLIMIT)

# a library with a dlsym of its own (a layer), before or after the shim
DLSYM = "a sanitizer must be the first to see dlsym"
for _order in ("before", "after"):
    for _found in ("next", "default", "libc"):
        _unseen = _order == "before" and _found == "libc" # its look-ups do not pass the shim
        for _program, _way in (("layered", "handle"), ("layered_linked", "plain"), ("layered_linked", "default"),
                               ("layered_linked", "next")):
            CASES[f"loader/layer-{_order}-{_found}-{_way}"] = Case(
                _program, _way, ops=0 if _unseen else 20, environment={"LAYER": _found}, plain_only=DLSYM,
                traces=0 if _unseen and _way != "plain" else 1, bypassed=_unseen,
                said="CUDA calls went around" if _unseen and _way != "plain" else None, **{_order: "layer"})

# many look-ups of a name that only the layer knows
for _found in ("next", "default", "libc"):
    CASES[f"loader/layer-often-{_found}"] = Case("dynamic", "often", traces=0, environment={"LAYER": _found}, plain_only=DLSYM,
                                          after="layer")

for _mode in ("global", "thread-local", "relaxed"):
    for _what in ("launches", "thread", "relaxed-thread", "streams", "query", "synchronise", "legacy", "unjoined",
                  "captured-event", "slow", "new-kernel"):
        CASES[f"capture-{_mode}-{_what}"] = Case("capture", _mode, _what, ops=50)
    CASES[f"capture-{_mode}-elsewhere"] = Case("capture", _mode, "elsewhere", ops=56, captured=5)

# Programs that leave functions in odd ways, again, with native stacks at all calls that can have a stack.
for _name in ("end-atexit", "end-destructor", "signal-storm", "signal-storm-interrupting", "signal-longjmp",
              "signal-longjmp-within", "signal-longjmp-from-launches", "signal-longjmp-then-deeper", "signal-stack-above",
              "signal-longjmp-from-threads", "threads-meeting", "own-zstd", "within-context", "within-reset"):
    CASES[f"native-{_name}"] = copy.copy(CASES[_name])
    CASES[f"native-{_name}"].environment = {**CASES[_name].environment, "WALLSHIM_STACKS": "all,native"}
