"""Tests `wallshim import`, and folders with traces of other profilers: import_commands.py WALLSHIM.
The report on an imported trace must equal the report on the original file."""
import glob
import json
import os
import shutil
import signal
import subprocess
import sys
import time

from foreign import WALLSHIM, path, refused, run, run_tests, sanitized, write
from given import TRACES
from kineto import KERNEL, event, trace


def of_rank(rank):
    return {"distributedInfo": {"rank": rank, "world_size": 2}, **trace(KERNEL)}


def folder(name, *files):
    if os.path.exists(path(name)):
        shutil.rmtree(path(name))
    os.mkdir(path(name))
    for file in files:
        write(of_rank(int(file[4])), os.path.join(name, file), packed=file.endswith("gz"))
    return path(name)


def done(*arguments):
    result = run(*arguments)
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_import_one():
    file, out = write(of_rank(1)), path("one.wst")
    assert done("import", file, "-o", out) == ""
    assert "10.0 µs" in done("report", "--full", out)
    assert "already" in refused("import", file, "-o", out)
    assert "already" in refused("import", out, "-o", path("two.wst"))
    assert not os.path.exists(path("two.wst"))


def test_import_several():
    ranks = folder("ranks", "rank0.json", "rank1.json.gz")
    done("import", ranks, "-o", path("imported"))
    assert sorted(os.listdir(path("imported"))) == ["rank0.wst", "rank1.wst"]
    assert len(json.loads(done("report", "--json", path("imported")))["processes"]) == 2
    assert "already" in refused("import", ranks, "-o", path("imported"))
    shutil.rmtree(path("imported"))


def many_kernels():
    """Writes a file that takes a second to read."""
    with open(path("many.json"), "w", encoding="utf-8") as out:
        out.write('{"traceEvents": [')
        for i in range(60000 if sanitized() else 600000):
            out.write('{"ph":"X","cat":"kernel","name":"k%d","pid":0,"tid":7,"ts":%d,"dur":1,"args":{"device":0,"stream":7}},' % (i % 99, i * 2))
        out.write("{}]}")
    return path("many.json")


# ThreadSanitizer runs signal handlers late, so a command may end before its handler runs.
THREAD_SANITIZER = b"libtsan" in subprocess.run(["ldd", WALLSHIM], stdout=subprocess.PIPE, check=False).stdout


def interrupted(number, appears, *arguments):
    """The status of a command that gets a signal as soon as a file appears. On a busy machine the command may end
    before the signal; then it runs again."""
    for _ in range(10):
        with subprocess.Popen([WALLSHIM, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
            began = time.monotonic()
            while process.poll() is None and (time.monotonic() < began + 0.05 if appears is None else not os.path.exists(appears)):
                pass
            process.send_signal(number)
            said = process.stderr.read()
        if process.returncode == -number:
            assert said == b"", said
            return process.returncode
        if process.returncode and not THREAD_SANITIZER:
            return process.returncode
        if appears and os.path.isdir(appears):
            shutil.rmtree(appears)
        elif appears and os.path.exists(appears):
            os.remove(appears)
    return -number if THREAD_SANITIZER else 0


def test_an_interrupt_leaves_nothing_behind():
    file = many_kernels()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        assert interrupted(number, path("half.wst"), "import", file, "-o", path("half.wst")) == -number
        assert not os.path.exists(path("half.wst")), "half a trace left behind"
    done("import", file, "-o", path("many.wst"))
    assert interrupted(signal.SIGINT, path("half.json"), "export", path("many.wst"), "-f", "chrome", "-o", path("half.json")) == -signal.SIGINT
    assert not os.path.exists(path("half.json")), "half an export left behind"
    folder("ranks", "rank0.json")
    shutil.copy(file, os.path.join(path("ranks"), "a.json"))
    assert interrupted(signal.SIGINT, path("imported"), "import", path("ranks"), "-o", path("imported")) == -signal.SIGINT
    assert not os.path.exists(path("imported")), "an empty folder left behind"
    for command in (("report",), ("check", "--rule", "busy >= 1 %"), ("diff", file), ("dump",)):
        assert interrupted(signal.SIGINT, None, *command, file) == -signal.SIGINT, command
    os.remove(file)


def test_what_cannot_be_imported():
    refused("import", write(of_rank(0)))
    refused("import", "-o", path("none.wst"))
    refused("import", path("absent.json"), "-o", path("none.wst"))
    refused("import", write("{}"), "-o", path("none.wst"))
    assert not os.path.exists(path("none.wst")), "half a trace left behind"


def test_a_cut_file_stays_so():
    file = write(json.dumps(of_rank(0))[:-2])
    if os.path.exists(path("cut.wst")):
        os.remove(path("cut.wst"))
    result = run("import", file, "-o", path("cut.wst"))
    assert result.returncode == 0 and "cut or damaged" in result.stderr, result.stderr
    assert "cut or damaged" in done("report", "--full", path("cut.wst"))


def test_folders():
    ranks = folder("mixed", "rank0.json", "rank1.json.gz")
    assert len(json.loads(done("report", "--json", ranks))["processes"]) == 2
    done("import", os.path.join(ranks, "rank0.json"), "-o", os.path.join(ranks, "rank0.wst"))
    traces = [process["trace"] for process in json.loads(done("report", "--json", ranks))["processes"]]
    assert [os.path.basename(name) for name in traces] == ["rank0.wst"], traces
    refused("report", folder("empty"))


def test_every_command_takes_them():
    file = write(of_rank(0))
    for arguments in (("info", file), ("dump", file), ("export", "--format", "chrome", file, "-o", "-")):
        assert "gemm" in done(*arguments) or arguments[0] == "info"
    # `info` gives bytes per operation only for wallshim's own traces, not for files of other profilers.
    own = path("own.wst")
    done("import", file, "-o", own)
    assert "bytes for each" not in done("info", file) and "blocks" not in done("info", file).split("host time")[0]
    assert "bytes for each operation" in done("info", own)


def test_export():
    call = event("cuda_runtime", "cudaGraphLaunch", 1, 2, {"correlation": 5})
    alone = {**KERNEL, "name": "alone", "args": {**KERNEL["args"], "correlation": 6}}
    operator = {**call, "cat": "cpu_op", "name": "aten::mm", "args": {"Input type": ["float"], "Input Dims": [[3]]}}
    file = write(trace(call, KERNEL, {**KERNEL, "ts": 40}, alone, operator))
    events = [event for event in json.loads(done("export", "--format", "chrome", file, "-o", "-"))["traceEvents"] if event["ph"] != "M"]
    slices = sorted((event["cat"], event["name"]) for event in events if event["ph"] == "X")
    assert slices == [("call", "cudaGraphLaunch"), ("kernel", "alone"), ("kernel", "gemm"), ("kernel", "gemm"), ("operator", "aten::mm")], slices
    assert [event["args"] for event in events if event.get("cat") == "operator"] == [{"inputs": "float[3]"}]
    assert sum(event["ph"] == "s" for event in events) == 2


def without_paths(text):
    document = json.loads(text)
    for process in document["processes"]:
        process.pop("trace")
    return {"processes": document["processes"]}


def test_the_given_traces():
    if not os.path.isdir(TRACES):
        print(f"left out: no {TRACES}")
        return
    files = glob.glob(os.path.join(TRACES, "*.*")) + glob.glob(os.path.join(TRACES, "*", "rank[03]*"))
    for file in files:
        out = path("given.wst")
        done("import", file, "-o", out)
        assert without_paths(done("report", "--json", "--top", "0", file)) == without_paths(done("report", "--json", "--top", "0", out)), file
        shutil.rmtree(out) if os.path.isdir(out) else os.remove(out)


run_tests(globals())
