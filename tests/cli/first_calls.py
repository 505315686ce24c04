"""Tests that first-call initialization (contexts, modules, compilation) is told apart from the steady steps. The same
work in a later step is a late load. first_calls.py WALLSHIM
Each test holds a case and a control, which differ in one thing."""
import json
import sqlite3

from foreign import path, run, run_tests, write
from kineto import event
from timeline import GEMM, Timeline


def device_of(path):
    result = run("report", "--json", path)
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)["processes"][0]["devices"][0]


def said_of(path):
    """Returns the default page as one line of words. Checks that it still fits on a page."""
    result = run("report", path)
    assert result.returncode == 0, result.stderr
    lines = result.stdout.split("\n")
    assert len(lines) <= 41 and all(len(line) <= 100 for line in lines), result.stdout
    return " ".join(result.stdout.split())


def both(timeline):
    path = write(timeline.trace())
    return device_of(path), said_of(path)


def taken(device, key="initialization"):
    """The kinds of initialization that took time, each with its time in µs."""
    return {kind: time / 1000 for kind, time in device[key].items() if time and kind.endswith("_ns") and
            kind not in ("recorded_ns", "time_ns", "judged_idle_ns", "idle_ns")}


def steps(made, count, begin=0, length=10000):
    """Adds marked steps. In each step the device works, except in the last 1 ms."""
    for number in range(count):
        at = begin + number * length
        made.step(number, at, length)
        for place in range(3):
            made.kernel(at + 20 + place * 3000, 3000, at + place, 1, f"{GEMM}_{place}")
    return made


def loads_before(function, length, category="cuda_runtime"):
    """A timeline with a call, or a range, of this length before ten steps."""
    made = Timeline()
    if category == "cuda_runtime":
        made.call(function, 0, length)
    else:
        made.range(function, 0, length, category)
    return steps(made, 10, 50000)


def test_named_calls_are_initialization():
    for function, kind in (("cuModuleLoadData", "module_loads_ns"), ("cuLibraryLoadData", "module_loads_ns"),
                           ("cublasCreate_v2", "library_handles_ns"), ("ncclCommInitRank", "library_handles_ns"),
                           ("cudnnCreate", "library_handles_ns"), ("cudnnCreateTensorDescriptor", None),
                           ("cuCtxCreate_v2", "context_ns"), ("cuModuleUnload", None)):
        device, page = both(loads_before(function, 40000))
        assert taken(device) == ({kind: 40000} if kind else {}), (function, device["initialization"])
        assert ("first-call initialization" in page) == bool(kind), page
        assert device["wall"]["first_calls_ns"] == 0 and device["wall"]["step_ns"] == 10000000, device["wall"]
    page = both(loads_before("cuModuleLoadData", 40000))[1]
    assert "40.0 ms of the 140 ms recorded (28.6 %) is first-call initialization: module loads 40.0 ms; the figures of " \
        "steady steps leave it out" in page, page


def test_ranges_of_compilers_are_initialization():
    for name, compiles in (("entire_frame_compile (dynamo_timed)", True), ("Torch-Compiled Region: 0/0", False),
                           ("TorchDynamo Cache Lookup", False), ("CompiledFunction", False)):
        device = both(loads_before(name, 40000, "user_annotation"))[0]
        assert taken(device) == ({"compilation_ns": 40000} if compiles else {}), (name, device["initialization"])
    for name, compiles in (("torch/_dynamo/convert_frame.py(672): _compile", True),
                           ("torch/_dynamo/eval_frame.py(791): compile_wrapper", False)):
        device = both(loads_before(name, 40000, "python_function"))[0]
        assert taken(device) == ({"compilation_ns": 40000} if compiles else {}), (name, device["initialization"])


def test_less_than_one_percent_is_not_said():
    for length, shown in ((1400, False), (1600, True)):
        page = both(loads_before("cuModuleLoadData", length))[1]
        assert ("first-call initialization" in page) == shown, (length, page)


def test_the_first_call_makes_the_context():
    """cudaFree(0) makes the context, if nothing ran before it. A cudaFree between steps makes none; it is a wait."""
    device, page = both(loads_before("cudaFree", 40000))
    assert taken(device) == {"context_ns": 40000} and device["initialization"]["context_is_inferred"], device
    assert "context creation 40.0 ms (inferred)" in page, page
    made = Timeline()
    made.kernel(0, 10, -20)
    made.call("cudaFree", 100, 40000)
    device = both(steps(made, 10, 50000))[0]
    assert taken(device) == {}, device["initialization"]


def launches(first, later, count=10, name="kernel_{}"):
    """Kernels that run in every step. Their launch calls take `first` µs in the first step, and `later` µs in later
    steps."""
    made, at = Timeline(), 0
    for number in range(count):
        took = later if number else first
        made.step(number, at, 4 * (took + 3000))
        for place in range(4):
            made.kernel(at + took + 5, 2900, at, took, name.format(place))
            at += took + 3000
    return made


def test_long_first_launches_load_modules():
    """If only first launches are long, they load modules. If all launches are long, the queue is full."""
    device, page = both(launches(5000, 5))
    assert taken(device) == {"first_launches_ns": 20000}, device["initialization"]
    assert "first launches of kernels 20.0 ms (inferred)" in page, page
    assert taken(both(launches(5000, 5000))[0]) == {}


def test_a_stopped_thread_loads_nothing():
    """Two or three kernels have a first launch of 8 ms. They run once, or ten times. Two long launches may come from a
    thread that did not run; only three count as loads of modules."""
    for later in (0, 9):
        for count, loads in ((2, False), (3, True)):
            made = steps(Timeline(), 10, 100000)
            for place in range(count):
                made.kernel(place * 10000 + 8005, 100, place * 10000, 8000, f"once_{place}")
                for again in range(later):
                    made.kernel(60000 + place * 1000 + again * 100, 50, 50000 + place * 1000 + again * 100, 5, f"once_{place}")
            assert bool(taken(both(made)[0])) == loads, (count, later)


def test_first_allocations_end_with_the_beginning():
    """A program that allocates in every step has no first allocations, except those before its steps."""
    for every in (False, True):
        made = Timeline()
        made.kernel(0, 10, -20)
        for at in range(1000, 21000, 5000):
            made.call("cudaMalloc", at, 2000)
        steps(made, 10, 50000)
        for at in range(50000, 150000, 10000):
            if every:
                made.call("cudaMalloc", at + 9000, 500)
        device = both(made)[0]
        assert taken(device) == {"first_allocations_ns": 8000}, device["initialization"]
        assert device["late_loads"]["time_ns"] == 0, device["late_loads"]
    for last, first in ((30000, True), (90000, False)):
        made = Timeline()
        made.kernel(0, 100000, -20)
        for at in (1000, last):
            made.call("cudaMalloc", at, 2000)
        made.kernel(100000, 10, 99000)
        assert bool(taken(both(made)[0])) == first, last


def one_step(name, category, count=1):
    """Steps of 60 ms: for 40 ms the host is in a range. Then it launches kernels, and the device waits 10 µs for each."""
    made = Timeline()
    for number in range(count):
        begin = number * 60000
        made.step(number, begin, 60000)
        made.range(name, begin + 2000, 40000, category)
        made.kernel(begin + 1000, 900, begin + 10)
        for at in range(begin + 42100, begin + 59900, 100):
            made.kernel(at + 10, 90, at - 5, 8)
    return made


def said_words(device):
    return " ".join(advice["text"] for advice in device["advice"])


def test_a_short_recording_is_judged_without_its_first_calls():
    """The host compiles for 40 ms of a step. That is no launch that comes late, so launches are not the wall (what takes
    most of the step). In the control the host prepares for as long."""
    device, page = both(one_step("compile_fx_inner (dynamo_timed)", "user_annotation"))
    control, other = both(one_step("prepare", "user_annotation"))
    assert control["wall"]["name"] == "overhead" and control["wall"]["cause"] == "launch", control["wall"]
    assert control["wall"]["first_calls_ns"] == 0 and "first-call" not in other, other
    wall = device["wall"]
    assert wall["name"] != "overhead", wall
    assert wall["first_calls_ns"] == 40000000 and wall["step_ns"] == control["wall"]["step_ns"], wall
    assert abs(sum(wall["parts"].values()) + wall["first_calls_ns"] - wall["step_ns"]) < 100, wall
    assert "should not come again: the verdict is on the rest. Record more steps, or warm up first" in page, page
    assert "40.0 ms of the only whole step (66." in page, page
    assert "the host spent 40.0 ms of the 59.8 ms recorded (66.9 %) in first-call initialization: compilation" in page, page
    assert "host up for milliseconds" in said_words(control) and "host up" not in said_words(device), device["advice"]


def test_without_steps_the_recording_is_judged_without_them():
    for function, first in (("cuModuleLoadData", True), ("cudaGetDeviceProperties", False)):
        made = Timeline()
        made.kernel(0, 1000, -20)
        made.call(function, 1000, 49000)
        made.kernel(50100, 50000, 50050)
        device, page = both(made)
        assert device["wall"]["first_calls_ns"] == (49000000 if first else 0), device["wall"]
        assert (device["wall"]["name"] == "overhead") != first, device["wall"]
        assert ("of the recording (49.0 %) is idle time" in page) == first, page


def test_an_allocation_may_come_again():
    """A single step does not show whether a slow cudaMalloc comes again in the next one. So it is not left out."""
    made = Timeline()
    made.kernel(0, 1000, -20)
    made.call("cudaMalloc", 1000, 49000)
    made.kernel(50100, 60000, 50050)
    device = both(made)[0]
    assert device["wall"]["cause"] == "allocation" and device["wall"]["first_calls_ns"] == 0, device["wall"]


def test_a_late_load_is_a_cause_of_steady_steps():
    """Every third step compiles, or the first does."""
    late, page = both(late_compile(range(2, 11, 3)))
    first, other = both(late_compile([0]))
    assert taken(late) == {} and taken(late, "late_loads") == {"compilation_ns": 3 * 900}, late["late_loads"]
    assert late["late_loads"]["steps"] == 3, late["late_loads"]
    assert "late loads 2.70 ms in 3 of 11 steady steps: compilation 2.70 ms" in page, page
    assert any(advice["cause"] == "late_load" and "recompiles" in advice["text"] for advice in late["advice"]), \
        late["advice"]
    assert late["wall"]["first_calls_ns"] == 0, late["wall"]
    assert taken(first) == {"compilation_ns": 900} and first["late_loads"]["steps"] == 0, first["late_loads"]
    assert not any(advice["cause"] == "late_load" for advice in first["advice"]) and "late loads" not in other, other


def late_advice(device):
    return [(advice["part"], advice["saving_ns"], advice["text"]) for advice in device["advice"] if advice["cause"] == "late_load"]


def test_late_loads_get_one_advice():
    """The compilation makes the device idle for two causes, or for one cause. Either way it gets one piece of
    advice."""
    for waits in (True, False):
        made, at = Timeline(), 0
        for number in range(20):
            took = 100000 if number in (7, 13) else 0
            made.step(number, at, 20000 + took)
            if took:
                made.range("compile_inner (dynamo_timed)", at + 10, took)
                for begin in range(at + 100, at + 99000, 9900):
                    made.kernel(begin, 1000, begin - 10, name=f"triton_poi_fused_{begin}")
                    if waits and begin // 9900 % 2:
                        made.call("cudaDeviceSynchronize", begin, 6000)
            at += took
            for place in range(10):
                made.kernel(at + 100 + place * 1900, 1800, at + 90 + place * 1900)
            at += 20000
        device = both(made)[0]
        (part, saving, _), = late_advice(device)
        assert part == ("sync" if waits else "launch") and 8000000 < saving < 10000000, late_advice(device)


def test_late_module_loads_are_no_allocations():
    """Two of twenty steps load a module for 100 ms, or allocate for as long. If every step loads a module, the load is
    a part of the step and no late load."""
    for function, which, loads in (("cuModuleLoadData", (7, 13), True), ("cudaMalloc", (7, 13), False),
                                   ("cuModuleLoadData", range(20), False)):
        made, at = Timeline(), 0
        for number in range(20):
            took = 100000 if number in which else 0
            made.step(number, at, 20000 + took)
            if took:
                made.call(function, at + 10, took)
            at += took
            for place in range(10):
                made.kernel(at + 100 + place * 1900, 1000, at + 90 + place * 1900)
            at += 20000
        device = both(made)[0]
        assert [(part, "load no more" in text) for part, _, text in late_advice(device)] == ([("allocation", True)] if loads else [])
        assert ("caching or stream-ordered allocator" in said_words(device)) != loads, device["advice"]
        page = both(made)[1]
        assert ("New kernels or shapes" in page) == loads, page
        assert ("The loop loads again and again" in page) == (len(which) == 20), page


def test_no_advice_against_short_late_loads():
    """A late load of 50 µs or of 900 µs in 11 steps of 10 ms."""
    for took, advised in ((50, False), (900, True)):
        made = steps(Timeline(), 12)
        made.range("compile_inner (dynamo_timed)", 59050, took)
        assert bool(late_advice(both(made)[0])) == advised, took


def test_the_verdict_stays_in_one_piece():
    """The page first names the wall, then a cost that is larger than the wall, then late loads. The GPU works for 6 of
    10 ms, and one step compiles for 2 ms."""
    made = Timeline()
    for number in range(12):
        at = number * 10000
        made.step(number, at, 10000)
        for place in range(0, 9600, 1000):
            made.kernel(at + place + 10, 600, at + place)
    made.range("compile_inner (dynamo_timed)", 55000, 2000)
    page = both(made)[1]
    assert page.index("the wall ") < page.index(" takes more (") < page.index("late loads "), page


def test_late_first_launches_are_inferred():
    """In the eighth of ten steps the host launches three more kernels in calls of 5 ms each, or loads a module for as
    long."""
    for launched in (True, False):
        made, at = Timeline(), 0
        for number in range(10):
            late = number == 7
            made.step(number, at, 30000 if late else 10000)
            for place in range(3):
                made.kernel(at + 20 + place * 3000, 3000, at + place, 1)
                if late and launched:
                    made.kernel(at + 15000 + place * 5000 + 10, 10, at + 10000 + place * 5000, 5000, f"late_{place}")
            if late and not launched:
                made.call("cuModuleLoadData", at + 10000, 15000)
            at += 30000 if late else 10000
        page = both(made)[1]
        assert ("first launches of kernels 15.0 ms (inferred). New kernels" in page) == launched, page
        assert ("module loads 15.0 ms. New kernels" in page) != launched, page


def late_compile(numbers):
    made = steps(Timeline(), 12)
    for number in numbers:
        made.range("compile_inner (dynamo_timed)", number * 10000 + 9050, 900)
    return made


def test_a_window_in_the_middle_holds_no_first_calls():
    """The window is the third step alone, or the recording up to that step's end. A load in this step counts as late in
    the first window only."""
    for switches, late in ((("--steps", "2-2"), 900), (("--to", "29500us"), 0)):
        result = run("report", "--json", *switches, write(late_compile([2]).trace()))
        assert result.returncode == 0, result.stderr
        device = json.loads(result.stdout)["processes"][0]["devices"][0]
        assert device["late_loads"]["time_ns"] == late * 1000, (switches, device["late_loads"])
        assert bool(taken(device)) != bool(late), (switches, device["initialization"])


def compiles_for_40_ms(numbers, compiles=(0, 1), before=0):
    """Steps of 60 ms with these numbers. In those at the places `compiles` the host compiles, in others it prepares."""
    made = Timeline()
    for place in range(before):
        made.from_before(10 + place, place * 1000 - 10000, 900)
    for place, number in enumerate(numbers):
        begin = place * 60000
        made.step(number, begin, 60000)
        made.range("compile_fx_inner (dynamo_timed)" if place in compiles else "prepare", begin + 2000, 40000)
        made.kernel(begin + 1000, 900, begin + 10)
        for at in range(begin + 42100, begin + 59900, 100):
            made.kernel(at + 10, 90, at - 5, 8)
    return made


def test_what_comes_in_every_step_is_left_in():
    """Both steps compile, or the first alone."""
    for compiles, left_out in (((0, 1), False), ((0,), True)):
        device, page = both(compiles_for_40_ms((0, 1), compiles))
        assert bool(device["wall"]["first_calls_ns"]) == left_out == bool(taken(device)), (compiles, device)
        assert ("should not come again" in page) == left_out, page


def test_a_recording_from_the_middle_holds_no_first_calls():
    """The first of two steps compiles. The steps' numbers, or operations launched before the recording, show that the
    program ran before, unless it makes its context."""
    for numbers, before, context, left_out in (((0, 1), 0, False, True), ((1, 2), 0, False, True), ((500, 501), 0, False, False),
                                               ((0, 1), 5, False, False), ((500, 501), 0, True, True)):
        made = compiles_for_40_ms(numbers, (0,), before)
        if context:
            made.call("cuCtxCreate_v2", -50000, 40000)
        device, page = both(made)
        assert bool(device["wall"]["first_calls_ns"]) == left_out, (numbers, before, device["wall"])
        assert ("should not come again" in page) == left_out, page
        assert (taken(device, "late_loads") == {"compilation_ns": 40000}) != left_out, device["late_loads"]


def test_a_wait_for_input_is_left_in():
    """Another thread compiles while the first thread waits for input, or is in a range that is no such wait."""
    for waits in ("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", "prepare"):
        made = Timeline()
        made.step(0, 0, 60000)
        made.range(waits, 1000, 41000)
        made.events.append(event("user_annotation", "compile_inner (dynamo_timed)", 1500, 40000, None, tid=77))
        made.kernel(20, 900, 10)
        for at in range(42200, 59900, 100):
            made.kernel(at + 10, 90, at - 5, 8)
        wall = both(made)[0]["wall"]
        assert bool(wall["first_calls_ns"]) == (waits == "prepare"), wall
        assert (wall["cause"] == "input") == (waits != "prepare"), wall


def module_load(took, rest):
    """A kernel of `rest` µs, a load of a module for `took` µs, then 20 short kernels, each launched 300 µs late."""
    made = Timeline()
    made.kernel(0, rest, -20)
    made.call("cuModuleLoadData", rest, took)
    for number in range(20):
        at = rest + took + number * 310
        made.kernel(at + 305, 5, at + 300)
    return made


def test_the_verdict_names_no_call_that_it_leaves_out():
    """A load of 40 ms. If the recording began later than the program, the load may come again, so it is not left out."""
    for before, left_out in ((0, True), (1, False)):
        made = module_load(40000, 1000)
        for place in range(before):
            made.from_before(10, -1000, 900)
        device, page = both(made)
        assert bool(device["wall"]["first_calls_ns"]) == left_out, device["wall"]
        assert ("in calls of cuModuleLoadData" in page) != left_out, page


def test_no_verdict_on_a_small_rest():
    """Beside a load of 40 ms, or of 400 ms, 7 ms of the recording remain."""
    for took, judged in ((40000, True), (400000, False)):
        device, page = both(module_load(took, 1000))
        assert (device["wall"] is not None) == judged, device["wall"]
        assert ("nearly all of the judged time was first-call initialization" in page) != judged, page


def test_nsys_shows_them_too():
    """A cudaMalloc before the first kernel takes 40 ms, or 40 µs."""
    process = 1 << 48 | 77 << 24
    for length, first in ((40000000, True), (40000, False)):
        file = path(f"first_{length}.sqlite")
        database = sqlite3.connect(file)
        database.executescript("""
            CREATE TABLE StringIds (id, value);
            CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start, end, eventClass, globalTid, correlationId, nameId);
            CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start, end, deviceId, contextId, streamId, correlationId, globalPid,
                demangledName, shortName);
            INSERT INTO StringIds VALUES (1, 'gemm'), (2, 'cudaLaunchKernel_v7000'), (3, 'cudaMalloc_v3020')""")
        calls = [(0, length, 0, process | 78, 1, 3), (50000000, 50005000, 0, process | 78, 2, 2)]
        database.executemany("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?, ?, ?, ?, ?, ?)", calls)
        database.execute("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (50010000, 90000000, 0, 1, 7, 2, ?, 1, 1)", (process,))
        database.commit()
        database.close()
        assert taken(device_of(file)) == ({"context_ns": 40000} if first else {"first_allocations_ns": 40}), first
        assert ("; the figures below leave it out" in said_of(file)) == first, said_of(file)


def test_servers_and_long_starts_get_advice():
    for length, advised in ((1200000, True), (40000, False)):
        made = Timeline()
        made.call("cuModuleLoadData", 0, length)
        page = both(steps(made, 10, length + 10000))[1]
        assert ("CUDA_MODULE_LOADING=EAGER moves module loads" in page) == advised, page
    for name, serves in (("execute_context_0(0)_generation_4(4)", True), ("forward", False)):
        made = loads_before("cuModuleLoadData", 40000)
        for number in range(10):
            made.range(name, 50000 + number * 10000 + 1, 9000)
        assert ("CUDA_MODULE_LOADING=EAGER" in both(made)[1]) == serves, name


run_tests(globals())
