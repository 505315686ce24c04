"""Names of others reach no terminal as they are: kernels, ranges, threads, devices, files; on standard error too; in JSON
and exports they are escaped, and the same when read: terminal.py WALLSHIM"""
import json
import os
import shutil
import subprocess
import unicodedata

from foreign import WALLSHIM, path, run_tests, write

EVIL = "a\x1b[2J\x07\x7f\x9b31m\u202egnp\u2066\u200b\u200d\u2060\ufeff\u2028\U000e0041z"
HARMLESS = "caf\u00e9 \u4e2d\u6587"


def trace(name):
    step = [{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#%d" % i, "pid": 9, "tid": 9, "ts": 100 * i, "dur": 100}
            for i in range(8)]
    work = [{"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": 7, "ts": 100 * i + 20, "dur": 50,
             "args": {"device": 0, "stream": 7, "correlation": i}} for i in range(8)]
    calls = [{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 9, "tid": 9, "ts": 100 * i + 10, "dur": 5,
              "args": {"correlation": i}} for i in range(8)]
    ranges = [{"ph": "X", "cat": "user_annotation", "name": name, "pid": 9, "tid": 9, "ts": 100 * i + 5, "dur": 80} for i in range(8)]
    names = [{"ph": "M", "name": what, "pid": 9, "tid": 9, "args": {"name": name}} for what in ("process_name", "thread_name")]
    return {"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": name}], "traceName": name,
            "distributedInfo": {"backend": name, "rank": 0, "world_size": 1},
            "traceEvents": [*step, *work, *calls, *ranges, *names]}


def commands(file):
    folder = os.path.dirname(file)
    yield from (["report", "--wide", "--top", "0", file], ["report", file], ["report", "--json", "--top", "0", file], ["info", file],
                ["dump", file], ["dump", "--json", file], ["diff", file, file], ["diff", "--json", file, file],
                ["check", "--rule", "gpu busy >= 0", file], ["check", "--rule", "nonsense" + EVIL, file],
                ["import", file, "--output", os.path.join(folder, EVIL + ".wst")],
                ["report", os.path.join(folder, EVIL + ".wst")], ["info", os.path.join(folder, EVIL + ".wst")],
                ["report", "--" + EVIL], [EVIL], ["report", "--section", EVIL, file], ["report", "/none/" + EVIL],
                ["export", "--format", "chrome", file, "--output", os.path.join(folder, "out.json")],
                ["record", "-o", "/none/" + EVIL, "true"], ["record", "/none/" + EVIL], ["report", folder],
                ["calibrate", "--output", "/none/" + EVIL], ["roofline", "--gpu", EVIL])


def shown(data):
    """What a terminal would act on, in what was printed."""
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
    done = subprocess.run([WALLSHIM, "report", "--wide", "--top", "0", write(trace(HARMLESS))], capture_output=True, check=True)
    assert HARMLESS in done.stdout.decode(), done.stdout.decode()


run_tests(globals())
