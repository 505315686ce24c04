"""Windows (parts of a recording), with exact figures: --from, --to, and --steps with numbers. window.py WALLSHIM"""
import json
import os
import sqlite3

from foreign import path, refused, run, run_tests, write
from kineto import event, trace

STEPS, KERNELS = 6, 3


def launched(number, launch, begin, length, stream=7, name="gemm"):
    """A kernel and its call, in µs."""
    return [event("kernel", name, begin, length, {"device": 0, "context": 1, "stream": stream, "correlation": number}, pid=0, tid=stream),
            event("cuda_runtime", "cudaLaunchKernel", launch, 5, {"correlation": number})]


def length_of(step, kernel):
    return 10 + 3 * step + kernel


def step_events(shift=0):
    """Steps of 1 ms, each with kernels 20 µs behind their launches. Each step's kernels take a little longer than those
    of the step before."""
    events = []
    for step in range(STEPS):
        events.append(event("user_annotation", f"ProfilerStep#{step}", shift + 1000 * step, 1000))
        for kernel in range(KERNELS):
            launch = shift + 1000 * step + 100 + 50 * kernel
            events += launched(1 + step * KERNELS + kernel, launch, launch + 20, length_of(step, kernel))
    return events


def kineto_file():
    return write(trace(*step_events()), "window.json")


def own_file():
    own = path("window.wst")
    if not os.path.exists(own):
        result = run("import", kineto_file(), "-o", own)
        assert not result.returncode, result.stderr
    return own


def nsight_file():
    """The same kernels and calls, as Nsight Systems exports them."""
    process = 1 << 48 | 77 << 24
    file = path("window.sqlite")
    if os.path.exists(file):
        os.remove(file)
    strings = [{"id": 1, "value": "gemm"}, {"id": 2, "value": "cudaLaunchKernel"}]
    kernels, calls, ranges = [], [], []
    for made in step_events():
        begin, end = made["ts"] * 1000, (made["ts"] + made["dur"]) * 1000
        if made["cat"] == "kernel":
            kernels.append({"start": begin, "end": end, "deviceId": 0, "contextId": 1, "streamId": 7, "globalPid": process,
                            "correlationId": made["args"]["correlation"], "demangledName": 1, "shortName": 1})
        elif made["cat"] == "cuda_runtime":
            calls.append({"start": begin, "end": end, "globalTid": process | 78, "nameId": 2,
                          "correlationId": made["args"]["correlation"]})
        else:
            ranges.append({"start": begin, "end": end, "eventType": 59, "globalTid": process | 78, "text": made["name"]})
    with sqlite3.connect(file) as database:
        for table, rows in {"StringIds": strings, "CUPTI_ACTIVITY_KIND_KERNEL": kernels, "CUPTI_ACTIVITY_KIND_RUNTIME": calls,
                            "NVTX_EVENTS": ranges}.items():
            database.execute(f"CREATE TABLE {table} ({', '.join(rows[0])})")
            database.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * len(rows[0]))})", [tuple(row.values()) for row in rows])
    database.close()
    return file


FILES = (kineto_file, own_file, nsight_file)


def read(*arguments):
    result = run("report", "--json", "--top", "0", *arguments)
    if result.returncode:
        raise AssertionError(result.stderr)
    return json.loads(result.stdout)


def device_of(*arguments):
    return read(*arguments)["processes"][0]["devices"][0]


def total(device):
    return sum(row["total_ns"] for row in device["kernels"]), sum(row["count"] for row in device["kernels"])


def expected(steps):
    lengths = [1000 * length_of(step, kernel) for step in steps for kernel in range(KERNELS)]
    return sum(lengths), len(lengths)


def test_two_windows_make_the_whole():
    for file in (made() for made in FILES):
        whole = read(file)
        assert "window" not in whole and total(whole["processes"][0]["devices"][0]) == expected(range(STEPS)), file
        # Times count from the begin of the first kernel, at 120 µs. So the cut is at 3 ms of the host's clock.
        before, after = device_of("--to", "2.88ms", file), device_of("--from", "2880us", file)
        assert total(before) == expected(range(3)), (file, total(before))
        assert total(after) == expected(range(3, STEPS)), (file, total(after))
        both = device_of("--from", "880us", "--to", "0.00288", file)
        assert total(both) == expected((1, 2)), (file, total(both))
        # The span is from the first begin to the last end of the window's own operations.
        assert both["span_ns"] == 1100000 + 1000 * length_of(2, 2) and both["unrecorded_ns"] == 0, both["span_ns"]
        assert both["idle_ns"] == both["span_ns"] - expected((1, 2))[0], both["idle_ns"]


def test_the_beginning_and_the_end():
    """The first operation is launched before it begins, and time counts from its begin."""
    assert total(device_of("--from", "0", kineto_file())) == expected(range(STEPS))
    assert total(device_of("--from", "0", "--to", "1h", kineto_file())) == expected(range(STEPS))


def test_an_operation_counts_where_it_was_launched():
    events = launched(1, 100, 120, 50) + launched(2, 900, 950, 300) + launched(3, 1100, 1300, 10)
    file = write(trace(*events), "across.json")
    assert total(device_of("--to", "880us", file)) == (350000, 2)  # the cut is at 1 ms, within the second kernel
    assert total(device_of("--from", "880us", file)) == (10000, 1)


def test_work_from_outside_is_not_idle():
    """A kernel of another stream, launched before the window, fills a gap of the window."""
    long = launched(1, 100, 120, 1900, stream=8, name="long")
    inside = launched(2, 1000, 1020, 100) + launched(3, 1500, 1520, 100) + launched(4, 2200, 2220, 100)
    file = write(trace(*long, *inside), "outside.json")
    whole, window = device_of(file), device_of("--from", "800us", file)
    assert whole["idle_ns"] == 200000 and whole["unrecorded_ns"] == 0, whole["idle_ns"]
    assert window["span_ns"] == 1300000 and window["busy_ns"] == 300000, window["busy_ns"]
    # From 1120 to 1520 µs the long kernel ran; it also ran in a part of the gap from 1620 to 2220 µs.
    assert (window["idle_ns"], window["unrecorded_ns"]) == (0, 1000000), (window["idle_ns"], window["unrecorded_ns"])
    assert device_of("--from", "1.8ms", file)["unrecorded_ns"] == 0


def test_steps_by_number():
    for file in (made() for made in FILES):
        whole = {row["number"]: row for row in device_of(file)["steps"]}
        assert sorted(whole) == list(range(STEPS)), sorted(whole)
        for text, numbers in {"2-3": (2, 3), "4-": (4, 5), "-1": (0, 1), "3": (3,)}.items():
            result = read("--steps", text, file)
            device = result["processes"][0]["devices"][0]
            assert total(device) == expected(numbers), (file, text, total(device))
            assert [row["number"] for row in device["steps"]] == list(numbers), device["steps"]
            for row in device["steps"]:
                length, count = expected([row["number"]])
                assert (row["busy_ns"], row["operations"]) == (length, count), row
                assert {**row, "kind": 0} == {**whole[row["number"]], "kind": 0}, (row, whole[row["number"]])
            assert (result["window"]["first_step"], result["window"]["last_step"]) == (numbers[0], numbers[-1])
            assert result["window"]["begin_ns"] == 1000000 * numbers[0] - 120000, result["window"]


def test_a_time_keeps_whole_steps_only():
    device = device_of("--from", "1.5ms", "--to", "4.5ms", kineto_file())
    assert [row["number"] for row in device["steps"]] == [2, 3], device["steps"]
    assert total(device) == expected((2, 3, 4)), total(device)  # the launches of step 4 are in the window


def test_steps_of_a_word():
    file = kineto_file()
    for words in (("marked", "2-3"), ("2-3", "marked")):
        device = device_of("--steps", words[0], "--steps", words[1], file)
        assert device["step_time"]["source"] == "marked" and device["step_time"]["steady"] == 2, device["step_time"]
    assert device_of("--steps", "none", "--to", "2ms", file)["step_time"]["source"] == "none"
    for arguments in (("2-3", "4"), ("marked", "found"), ("none", "2"), ("3-2",), ("-",), ("",), ("2-3x",), ("x",)):
        refused("report", *(word for text in arguments for word in ("--steps", text)), file)


def test_ranks_have_one_clock():
    """Two ranks, the second half a step later: time counts from the first operation of both."""
    for rank, shift in ((0, 0), (1, 500)):
        write(trace(*step_events(shift), distributedInfo={"backend": "nccl", "rank": rank, "world_size": 2}), f"rank{rank}.json")
    files = path("rank0.json"), path("rank1.json")
    times = [process["devices"][0] for process in read("--from", "880us", "--to", "1880us", *files)["processes"]]
    # The window is from 1 to 2 ms. It has step 1 of rank 0, and step 1 of rank 1, whose launches begin at 1.6 ms.
    assert [total(device) for device in times] == [expected([1]), expected([1])], [total(device) for device in times]
    times = [process["devices"][0] for process in read("--to", "480us", *files)["processes"]]
    assert [total(device)[1] for device in times] == [3, 0], times
    # Numbers of steps mean each rank's own steps.
    steps = [process["devices"][0] for process in read("--steps", "2-3", *files)["processes"]]
    assert [total(device) for device in steps] == [expected((2, 3))] * 2, [total(device) for device in steps]


def test_the_first_line_says_which():
    for switches in ((), ("--full",), ("--section", "gaps")):
        shown = run("report", *switches, "--steps", "2-3", kineto_file()).stdout.splitlines()
        assert "launched from 1.88 ms to 3.88 ms (steps 2 to 3)" in next(line for line in shown if line), shown[:3]
        shown = run("report", *switches, kineto_file()).stdout
        assert "window" not in shown.splitlines()[0], shown


def test_times_count_as_in_the_whole():
    """"at" in a window means the same moment as in the whole recording."""
    events = launched(1, 100, 120, 10) + launched(2, 1000, 1020, 10) + launched(3, 9000, 9020, 10) + launched(4, 9040, 9060, 10)
    file = write(trace(*events), "at.json")
    whole, window = (run("report", "--section", "gaps", "--wide", *switches, file).stdout for switches in ((), ("--from", "800us")))
    lines = [[line for line in text.splitlines() if "7.99 ms" in line and " 910 µs" in line] for text in (whole, window)]
    assert lines[0] and lines[1], (whole, window)


def test_empty_windows():
    file = kineto_file()
    message = refused("report", "--from", "5.5s", file)
    assert "--from 5.5s" in message and "from −20 µs to 5.08 ms" in message and "until 5.13 ms" in message, message
    assert "steps 0 to 5" in refused("report", "--steps", "7-", file)
    assert "no steps were found" in refused("report", "--steps", "1", write(trace(*launched(1, 10, 20, 5)), "one.json"))
    assert "ends before it begins" in refused("report", "--from", "2s", "--to", "1s", file)
    refused("report", "--from", "2", "--steps", "2", file)
    refused("report", "--from", "soon", file)
    refused("export", "--from", "5s", "-o", path("none.json"), file)
    assert not os.path.exists(path("none.json"))
    refused("check", "--rule", "busy > 1 %", "--from", "5s", file)
    refused("diff", "--from", "5s", file, file)


def test_export():
    for file in (made() for made in FILES):
        counts = []
        for switches in (("--to", "2.88ms"), ("--from", "2.88ms"), ("--steps", "3-"), ()):
            result = run("export", "--format", "chrome", "-o", "-", *switches, file)
            assert not result.returncode, result.stderr
            events = [made for made in json.loads(result.stdout)["traceEvents"] if made["ph"] == "X"]
            counts.append([sum(made["cat"] == kind for made in events) for kind in ("kernel", "call", "step")])
        assert counts == [[9, 9, 3], [9, 9, 3], [9, 9, 3], [18, 18, 6]], (file, counts)


def test_check_and_diff():
    file = kineto_file()
    rule = f"steps[*].busy_ns <= {expected([3])[0]} ns"  # does not hold in steps 4 and 5
    result = run("check", "--json", "--rule", rule, "--steps", "-3", file)
    assert not result.returncode and json.loads(result.stdout)["window"]["last_step"] == 3, result.stdout + result.stderr
    assert run("check", "--rule", rule, file).returncode == 1
    result = run("diff", "--json", "--steps", "2-3", file, file)
    assert not result.returncode, result.stderr
    sides = json.loads(result.stdout)
    assert sides["before"]["window"] == sides["after"]["window"] and sides["before"]["samples"] == 2, sides["before"]
    assert "(steps 2 to 3)" in run("diff", "--steps", "2-3", file, file).stdout


if __name__ == "__main__":
    run_tests(dict(globals()))
