"""Names from traces (of kernels, ranges, threads, devices, files) must not bring control characters to a terminal,
neither on standard output nor on standard error. In JSON and exports they are escaped, and equal the original when
read: import_terminal.py WALLSHIM"""
import json
import os
import shutil
import subprocess
import unicodedata

import kineto
from foreign import WALLSHIM, path, run_tests, write

EVIL = "a\x1b[2J\x07\x7f\x9b31m\u202egnp\u2066\u200b\u200d\u2060\ufeff\u2028\U000e0041z"
HARMLESS = "caf\u00e9 \u4e2d\u6587"


def trace(name):
    events = []
    for i in range(8):
        events += [kineto.event("user_annotation", f"ProfilerStep#{i}", 100 * i, 100),
                   kineto.event("kernel", name, 100 * i + 20, 50, {"device": 0, "stream": 7, "correlation": i}, pid=0, tid=7),
                   kineto.event("cuda_runtime", "cudaLaunchKernel", 100 * i + 10, 5, {"correlation": i}),
                   kineto.event("user_annotation", name, 100 * i + 5, 80)]
    events += [kineto.name_of("process_name", name), kineto.name_of("thread_name", name, tid=100)]
    return {"deviceProperties": [{"id": 0, "name": name}], "traceName": name,
            "distributedInfo": {"backend": name, "rank": 0, "world_size": 1}, **kineto.trace(*events)}


def commands(file):
    folder = os.path.dirname(file)
    yield from (["report", "--wide", "--top", "0", file], ["report", file], ["report", "--full", file], ["report", "--json", "--top", "0", file], ["info", file],
                ["dump", file], ["dump", "--json", file], ["diff", file, file], ["diff", "--json", file, file],
                ["check", "--rule", "gpu busy >= 0", file], ["check", "--rule", "nonsense" + EVIL, file],
                ["import", file, "--output", os.path.join(folder, EVIL + ".wst")],
                ["report", os.path.join(folder, EVIL + ".wst")], ["report", "--full", os.path.join(folder, EVIL + ".wst")],
                ["info", os.path.join(folder, EVIL + ".wst")],
                ["report", "--" + EVIL], [EVIL], ["report", "--section", EVIL, file], ["report", "/none/" + EVIL],
                ["export", "--format", "chrome", file, "--output", os.path.join(folder, "out.json")],
                ["record", "-o", "/none/" + EVIL, "true"], ["record", "/none/" + EVIL], ["report", folder],
                ["calibrate", "--output", "/none/" + EVIL], ["roofline", "--gpu", EVIL])


def shown(data):
    """The control characters in the output, on which a terminal would act."""
    return [character for character in data.decode() if character != "\n" and unicodedata.category(character) in ("Cc", "Cf", "Zl", "Zp")]


def test_no_command_shows_them():
    folder = path(EVIL)
    os.mkdir(folder)
    file = write(trace(EVIL), EVIL + "/" + EVIL + ".json")
    for command in commands(file):
        done = subprocess.run([WALLSHIM, *command], capture_output=True, check=False, cwd=folder)
        for data in (done.stdout, done.stderr):
            assert not shown(data), f"{command} shows {shown(data)}"
        assert done.returncode in (0, 1, 2, 127), f"{command}: {done.returncode}"
        assert done.stdout or done.stderr or command[0] in ("export", "import"), f"{command} says nothing"
    with open(os.path.join(folder, "out.json"), "rb") as exported:
        data = exported.read()
    assert not shown(data), shown(data)
    assert EVIL in [event.get("name") for event in json.loads(data)["traceEvents"]], "the export lost the name"
    shutil.rmtree(folder)


def test_json_has_the_same_names():
    file = write(trace(EVIL))
    done = subprocess.run([WALLSHIM, "report", "--json", "--top", "0", file], capture_output=True, check=True)
    names = [kernel["name"] for device in json.loads(done.stdout)["processes"][0]["devices"] for kernel in device["kernels"]]
    assert names == [EVIL], names


def test_other_names_are_shown():
    done = subprocess.run([WALLSHIM, "report", "--full", "--wide", "--top", "0", write(trace(HARMLESS))], capture_output=True, check=True)
    assert HARMLESS in done.stdout.decode(), done.stdout.decode()


run_tests(globals())
