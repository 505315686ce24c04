"""Tests broken files: cut, damaged, with wrong types or absurd sizes. Each must give a clear error, or a report that
says what was left out: import_hostile.py WALLSHIM"""
import gzip
import json
import os
import random
import resource

from foreign import path, refused, report, rows, run, run_tests, sanitized, write
from kineto import CALL, KERNEL, allocation, event, kernels, trace

def losses(file):
    return {row["reason"].split(":")[0]: row["count"] for row in report(file)[0]["losses"]}


def device_of(file):
    return report(file)[0]["devices"][0]


def test_cut_anywhere():
    whole = json.dumps(trace(*kernels(3000), CALL)).encode()
    for size in (len(whole) // 2, len(whole) - 1, 40000, 1000):
        file = write(whole[:size])
        process = report(file)[0]
        assert process["damage"]["no_footer"], size
        assert process["devices"][0]["gpu_events"] == min(whole[:size].count(b'}}'), 3000), size
    text = run("report", "--full", write(whole[: len(whole) // 2])).stdout
    assert "cut" in text and "the trace is not whole" in text


def test_cut_while_packed():
    packed = gzip.compress(json.dumps(trace(*kernels(3000))).encode())
    process = report(write(packed[: len(packed) // 2]))[0]
    assert process["damage"]["no_footer"] and 0 < process["devices"][0]["gpu_events"] < 3000


def test_damaged_while_packed():
    packed = bytearray(gzip.compress(random.Random(1).randbytes(20000).hex().encode() + json.dumps(trace()).encode()))
    packed[5000:5100] = bytes(100)
    assert "traceEvents" in refused("report", write(bytes(packed)))
    whole = json.dumps(trace(*kernels(5000), note=random.Random(2).randbytes(30000).hex()))
    packed = bytearray(gzip.compress(whole.encode()))
    packed[-2000:-1900] = bytes(100)
    process = report(write(bytes(packed)))[0]
    assert process["damage"]["lost_bytes"] > 0 and process["devices"][0]["gpu_events"] == 5000


def test_no_json_from_here_on():
    whole = json.dumps(trace(*kernels(5000)))
    broken = whole[:300000] + "}}}]]]" + whole[300000:]
    process = report(write(broken))[0]
    assert process["damage"]["lost_bytes"] > 0 and process["devices"][0]["gpu_events"] > 1000
    assert "not readable" in run("report", "--full", path("trace.json")).stdout


def test_broken_events_are_passed_over():
    """Kineto does not escape the names of Python's frames. Names of generated code may contain quotation marks."""
    odd = event("python_function", "@", 1, 3)
    for indent in (None, 2):
        for name in ('{"device": "cuda:0"}(12): __init__', 'x = ["a", "b"]', '"', "\x01", "line\nbreak"):
            events = [event for kernel in kernels(1500) for event in (kernel, odd)]
            text = json.dumps(trace(*events, CALL, traceName="end"), indent=indent).replace("@", name)
            process = report(write(text))[0]
            assert process["devices"][0]["gpu_events"] == 1500, (name, process["devices"][0]["gpu_events"])
            assert 0 < process["damage"]["lost_bytes"] < 1500 * 200 and not process["damage"]["no_footer"], (name, process["damage"])
    broken = json.dumps(trace(KERNEL, {**KERNEL, "ts": 50}, CALL)).replace('"ts": 50', '"ts": ?')
    families = rows(write(broken))
    assert len(families["op"]) == 1 and families["op"][0].host_begin == 10000, "the call behind the broken kernel"
    # Only the last event is broken.
    process = report(write(json.dumps(trace(KERNEL, odd)).replace("@", 'a"b')))[0]
    assert process["devices"][0]["gpu_events"] == 1 and process["damage"]["lost_bytes"] > 0


def test_backslashes_as_they_are():
    """Profilers on Windows write paths with unescaped backslashes, including the file's own name at the end."""
    text = json.dumps(trace(*[{**CALL, "cat": "python_function", "name": "@"} for _ in range(9000)], *kernels(4000), traceName="@"))
    for path_, name in (("C:\\Users\\me\\x.py(4): f", "C:/Users/me/x.py(4): f"), ("\\unix", "/unix"), ("a\\\\b", "a\\b"),
                        ("\\u0041\\Q", "A/Q")):
        file = write(text.replace("@", path_))
        process = report(file)[0]
        assert process["devices"][0]["gpu_events"] == 4000, process["devices"][0]["gpu_events"]
        assert not process["damage"]["no_footer"] and process["damage"]["lost_bytes"] < 400, process["damage"]
        assert {row.text for row in rows(file)["label"]} == {name}, {row.text for row in rows(file)["label"]}


def test_a_comma_too_many():
    for text in (json.dumps(trace(KERNEL, CALL, traceName="x")).replace('}], "traceName', '}, \n], "traceName'), json.dumps([KERNEL, CALL])[:-1] + ",]"):
        process = report(write(text))[0]
        assert process["devices"][0]["gpu_events"] == 1 and process["devices"][0]["launches"]["count"] == 1
        assert not process["damage"]["no_footer"] and not process["damage"]["lost_bytes"], process["damage"]


def test_numbers_that_are_none():
    words = ["NaN", "nan", "Infinity", "-Infinity", "inf", "-inf", "-nan"]
    text = json.dumps(trace(*[{**kernel, "args": {**kernel["args"], "est. achieved occupancy %": "?", "grid": [1, "?"]}}
                              for kernel in kernels(4000)]))
    for space in ("", " "):
        parts = text.replace(": ", ":" + space).split('"?"')
        content = "".join(part + words[i % len(words)] for i, part in enumerate(parts[:-1])) + parts[-1]
        process = report(write(content))[0]
        assert process["devices"][0]["gpu_events"] == 4000 and not process["damage"]["lost_bytes"], process["damage"]
    process = report(write(trace({**KERNEL, "ts": "?"}, *kernels(5))["traceEvents"].__repr__().replace("'", '"').replace('"?"', "NaN")))[0]
    assert process["devices"][0]["gpu_events"] == 5 and process["losses"][0]["count"] == 1
    for word in ("nano", "infer", "-", "NaNNaN", "Not"):
        process = report(write(json.dumps(trace(KERNEL, {**KERNEL, "ts": "?"})).replace('"?"', word)))[0]
        assert process["damage"]["lost_bytes"] > 0 and process["devices"][0]["gpu_events"] == 1, word


def test_nothing_of_use():
    for content in ("{", "[", "[]", "[{}]", "{}", '{"a": [1, 2]}', '{"traceEvents"', '{"traceEvents": 5}', "[1, 2, 3", "{'a': 1}"):
        result = run("report", "--full", write(content))
        assert result.returncode == 2, content
        assert len(result.stderr.splitlines()) == 1, content
    refused("report", write(b"\x1f\x8b"))
    refused("report", write(b"\x1f\x8b\x08garbage that is no gzip"))
    refused("report", write(b""))


def test_empty_traces():
    for content in (trace(), [{"ph": "M"}], trace(deviceProperties=[]), trace({}), trace({"ph": "X"})):
        process = report(write(content))[0]
        assert not process["devices"] or not process["devices"][0]["gpu_events"]


def test_wrong_types():
    oddities = [None, True, [], {}, "", "x", -1, 1e300, [[[[[[]]]]]], {"args": {"args": {"dur": 1}}}, 10**30, "9" * 400]
    events = []
    for field in ("ph", "cat", "name", "pid", "tid", "ts", "dur", "args"):
        events += [{**KERNEL, field: oddity} for oddity in oddities]
    for field in ("device", "context", "stream", "correlation", "grid", "block", "bytes", "shared memory", "Collective name",
                  "Input Dims", "Input type", "Concrete Inputs", "Process Group Ranks", "Group size"):
        events += [{**KERNEL, "args": {**KERNEL["args"], field: oddity}} for oddity in oddities]
    found = report(write(trace(*events, {"ph": "M", "name": "process_name", "args": 7}, KERNEL)))[0]
    assert sum(device["gpu_events"] for device in found["devices"]) > 100
    report(write({"traceEvents": [None, 1, "x", [], [[KERNEL]], KERNEL], "deviceProperties": {"id": 1}, "distributedInfo": [3]}))
    report(write(trace(KERNEL, deviceProperties=[{"id": oddity, "name": oddity, "numSms": oddity} for oddity in oddities],
                       distributedInfo={"rank": {}, "world_size": []})))


def test_times_that_cannot_be():
    events = [KERNEL, {**KERNEL, "dur": -5}, {**KERNEL, "ts": "soon"}, {**KERNEL, "ts": 1e300}, {**KERNEL, "dur": 1e18},
              {**KERNEL, "ts": 2.3e15, "dur": 1e15}, {**CALL, "dur": -1}]
    events += [{key: value for key, value in KERNEL.items() if key != missing} for missing in ("ts", "dur")]
    file = write(trace(*events))
    assert losses(file)["left out"] == 8 and device_of(file)["gpu_events"] == 1
    assert "left out: without times" in run("report", "--full", file).stdout


def test_times_that_go_back():
    shuffled = kernels(1000)
    random.Random(3).shuffle(shuffled)
    device = device_of(write(trace(*shuffled)))
    assert (device["busy_ns"], device["span_ns"], device["gap_count"]) == (1000 * 10000, 999 * 20000 + 10000, 999)


def test_kernels_that_overlap_on_a_stream():
    device = device_of(write(trace(*[{**KERNEL, "ts": i * 5} for i in range(100)])))
    assert (device["busy_ns"], device["gpu_events"], device["gap_count"]) == (99 * 5000 + 10000, 100, 0)


def test_long_names():
    for length in (5000, 65536, 70000, 1 << 20):
        file = write(trace({**KERNEL, "name": "ü" * (length // 2)}))
        assert len(device_of(file)["kernels"][0]["name"]) == min(length, 65536) // 2, length
        run("report", "--full", file)


def test_a_million_names():
    counts = (20000, 20000) if sanitized() else (1000000, 100000)
    for count, command in zip(counts, ("info", "report")):
        with open(path("trace.json"), "w", encoding="utf-8") as file:
            file.write('{"traceEvents": [')
            for i in range(count):
                file.write('{"ph":"X","cat":"kernel","name":"k%d","pid":0,"tid":7,"ts":%d,"dur":1,"args":{"device":0,"stream":7}},' % (i, i * 2))
            file.write("{}]}")
        result = run(command, path("trace.json"))
        assert result.returncode == 0 and f"{count:,}" in result.stdout, result.stderr
    os.remove(path("trace.json"))


def test_pieces_that_end_in_a_word():
    whole = json.dumps({"traceEvents": [KERNEL, *kernels(5)]})
    for rest in range(1, 30):
        padded = whole[0] + " " * (256 * 1024 + rest - len(whole)) + whole[1:]
        process = report(write(padded))[0]
        assert process["devices"][0]["gpu_events"] == 6 and not process["damage"]["lost_bytes"], rest


def test_a_text_without_an_end():
    file = path("trace.json")
    with open(file, "w", encoding="utf-8") as out:
        out.write('{"traceEvents": [' + json.dumps(KERNEL) + ', {"name": "')
        for _ in range(100):
            out.write("x" * (1 << 20))
    process = report(file)[0]
    assert process["damage"]["lost_bytes"] > 50 << 20 and process["devices"][0]["gpu_events"] == 1


def test_many_of_everything_else():
    events = [{**KERNEL, "args": {"device": i, "context": i * 7, "stream": i * 3, "correlation": i}} for i in range(300)]
    events += [{**CALL, "pid": i, "tid": i * 5, "name": f"call{i}"} for i in range(3000)]
    process = report(write(trace(*events)))[0]
    assert len(process["devices"]) == 300
    deep = "[" * 100000
    assert "no verdict" in refused("report", write('{"traceEvents": [{"args": {"Input Dims": ' + deep))


def attention(sides, lengths=(10, 10)):
    """Four times a product, a softmax and a product. The arguments are the products' sizes and the kernels'
    lengths."""
    events = []
    for i in range(4):
        for j, (operator, kernel) in enumerate((("aten::bmm", "ampere_sgemm_128x64_nn"), (None, "softmax_warp_forward"),
                                                ("aten::bmm", "ampere_sgemm_128x64_nn"))):
            at, number = 100 + i * 100 + j * 20, 10 * i + j + 2
            length = lengths[i % 2] if operator else 10
            if operator:
                events.append({"ph": "X", "cat": "cpu_op", "name": operator, "pid": 99, "tid": 100, "ts": at - 8, "dur": 6,
                               "args": {"Input Dims": sides, "Input type": ["float", "float"]}})
            events.append({**CALL, "pid": 99, "tid": 100, "ts": at - 5, "dur": 2, "args": {"correlation": number}})
            events.append({**KERNEL, "name": kernel, "ts": at, "dur": length,
                           "args": {"device": 0, "context": 1, "stream": 7, "correlation": number}})
    return trace(*events)


def test_sides_and_lengths_that_no_tensor_has():
    for side in ("1" + "0" * 300, "9" * 18, "0"):
        file = write(json.dumps(attention([[2, "M", 0], [2, 0, 0]])).replace('"M"', side))
        assert run("report", "--full", file).returncode == 0
        report(file)
    for lengths in ((0, 10), (0, 0)): # kernels of length 0 under operators of known work
        report(write(attention([[2, 64, 64], [2, 64, 64]], lengths)))


def time_of(events):
    """Seconds of processor time that a report on these events takes."""
    file = write(trace(*events))
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    process = report(file)[0]
    assert sum(device["gpu_events"] for device in process["devices"]) == sum(event["cat"] == "kernel" for event in events)
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


def in_contexts(count):
    return [{**KERNEL, "ts": i, "dur": 1, "args": {**KERNEL["args"], "context": i, "correlation": i}} for i in range(count)]


def launched_after_all(count):
    return kernels(count) + [{**CALL, "ts": 20 * count + i, "dur": 1, "args": {"correlation": i + 1}} for i in range(count)]


def on_devices(count):
    return [{**event, "args": {**event["args"], "device": i}} for i, event in enumerate(in_contexts(count))]


def taking_memory(count):
    taken = allocation(5, **{"Addr": 1, "Bytes": 4, "Device Type": 1, "Device Id": 3, "Total Allocated": 9})
    return in_contexts(count) + [taken] * count


def test_time_does_not_grow_with_the_square():
    """Eight times as many events may take at most 24 times as long. Under a sanitizer times mean nothing, so only the
    small file is read."""
    for made, count in ((in_contexts, 20000), (launched_after_all, 5000), (on_devices, 2500), (taking_memory, 20000)):
        few = time_of(made(count // 4 if sanitized() else count))
        many = 0 if sanitized() else time_of(made(8 * count))
        assert many < 24 * few, f"{made.__name__}: {count} take {few} s, eight times as many {many} s"
    os.remove(path("trace.json"))


def test_more_devices_than_any_machine_has():
    count = 600 if sanitized() else 3000
    process = report(write(trace(*on_devices(count))))[0]
    assert len(process["devices"]) <= 513, len(process["devices"])
    assert sum(device["gpu_events"] for device in process["devices"]) == count
    assert "beyond the first" in run("report", "--section", "losses", path("trace.json")).stdout


def test_identifiers_of_any_size():
    for value in (-1, 2**31, 2**32, 2**53, 2**60, -(2**60)):
        events = [{**KERNEL, "pid": value, "tid": value, "args": {"device": value, "context": value, "stream": value, "correlation": value}},
                  {**CALL, "pid": value, "tid": value, "args": {"correlation": value}}]
        assert len(rows(write(trace(*events)))["op"]) == 1
        report(path("trace.json"))


def test_no_figure_for_what_a_device_does_not_say():
    write(trace(KERNEL, deviceProperties=[{"id": 0, "name": "Some GPU", "numSms": 60}]))
    text = run("report", "--full", path("trace.json")).stdout
    assert "0  Some GPU, 60 SMs\n" in text, text


def test_ranks_twice():
    content = trace(*kernels(50), distributedInfo={"rank": 3, "world_size": 8})
    processes = report(write(content, "a.json"), write(content, "b.json"))
    assert [process["devices"][0]["gpu_events"] for process in processes] == [50, 50]


def test_two_traces_in_one_packed_file():
    packed = gzip.compress(b'{"traceEvents": [') + gzip.compress(json.dumps(KERNEL).encode() + b"]}")
    assert device_of(write(packed))["gpu_events"] == 1


def test_marked_as_utf8():
    assert device_of(write(b"\xef\xbb\xbf" + json.dumps(trace(KERNEL)).encode()))["gpu_events"] == 1
    assert device_of(write(b"\xef\xbb\xbf" + json.dumps(trace(KERNEL)).encode(), packed=True))["gpu_events"] == 1
    refused("report", write(b"\xef\xbb\xbf"))


def test_odd_names_of_files():
    for name in ("a b.json", "100%?#.json", "no suffix"):
        assert device_of(write(trace(KERNEL), name))["gpu_events"] == 1


run_tests(globals())
