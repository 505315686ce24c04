"""Tests traces that cannot be read in place: from standard input, pipes, packed files and archives. No temporary file
may be left behind. import_packed.py WALLSHIM"""
import ctypes
import gzip
import io
import json
import lzma
import os
import shutil
import signal
import subprocess
import tarfile
import time
import zipfile

from foreign import FOLDER, WALLSHIM, path, refused, report, run, run_tests, write
from kineto import CALL, kernels, trace

LINKED = subprocess.run(["ldd", WALLSHIM], capture_output=True, text=True, check=True).stdout
TEMPORARY = os.path.join(FOLDER.name, "temporary")
os.mkdir(TEMPORARY)
os.environ["TMPDIR"] = TEMPORARY
JSON = json.dumps(trace(CALL, *kernels(3000))).encode()


def zstd(data):
    library = ctypes.CDLL("libzstd.so.1")
    library.ZSTD_compressBound.restype = library.ZSTD_compress.restype = ctypes.c_size_t
    packed = ctypes.create_string_buffer(library.ZSTD_compressBound(ctypes.c_size_t(len(data))))
    size = library.ZSTD_compress(packed, ctypes.c_size_t(len(packed)), data, ctypes.c_size_t(len(data)), 3)
    return packed.raw[:size]


def tar(members, mode="w"):
    """An archive of {name: content}. A content of None is a symbolic link."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode=mode) as archive:
        for name, content in members.items():
            entry = tarfile.TarInfo(name)
            if content is None:
                entry.type, entry.linkname = tarfile.SYMTYPE, "/etc/passwd"
            entry.size = len(content or b"")
            archive.addfile(entry, io.BytesIO(content or b""))
    return made.getvalue()


def of_rank(rank):
    return json.dumps({"distributedInfo": {"rank": rank, "world_size": 2}, **trace(CALL, *kernels(9))}).encode()


def own_trace(content=JSON):
    """The bytes of a trace of wallshim's own."""
    out = path("own.wst")
    assert run("import", write(content, "own.json"), "-o", out).returncode == 0
    with open(out, "rb") as file:
        data = file.read()
    os.remove(out)
    return data


def piped(data, *arguments):
    return subprocess.run([WALLSHIM, *arguments], input=data, capture_output=True, check=False)


def traces_of(result):
    """The names of the traces in a JSON report, and how many kernels each has."""
    assert result.returncode == 0, result.stderr
    processes = json.loads(result.stdout)["processes"]
    return {process["trace"]: process["devices"][0]["gpu_events"] for process in processes}


def nothing_left():
    assert os.listdir(TEMPORARY) == [], os.listdir(TEMPORARY)


def test_standard_input():
    for data in (JSON, gzip.compress(JSON), own_trace()):
        assert traces_of(piped(data, "report", "--json", "-")) == {"standard input": 3000}
    assert b"standard input" in piped(JSON, "report", "--all", "-").stdout
    for command in (("info", "-"), ("dump", "-"), ("export", "-f", "chrome", "-", "-o", "-"), ("check", "--rule", "busy >= 1 %", "-"),
                    ("diff", "-", write(JSON)), ("import", "-", "-o", path("piped.wst"))):
        result = piped(JSON, *command)
        assert result.returncode == 0 and not result.stderr, (command, result.stderr)
    assert report(path("piped.wst"))[0]["devices"][0]["gpu_events"] == 3000
    nothing_left()


def test_pipes():
    command = f'"{WALLSHIM}" report --json <(cat "{write(JSON)}")'
    result = subprocess.run(["bash", "-c", command], capture_output=True, check=False)
    assert list(traces_of(result).values()) == [3000]
    fifo = path("fifo")
    os.mkfifo(fifo)
    with subprocess.Popen(["bash", "-c", 'cat "$0" > "$1"', write(JSON), fifo]):
        assert traces_of(run("report", "--json", fifo)) == {fifo: 3000}
    os.remove(fifo)
    nothing_left()


def test_an_input_that_is_no_trace():
    for data, expected in ((b"", b"empty"), (b"hello\n" * 99, b"not a wallshim trace"), (b"{}", b"no traceEvents"),
                           (JSON[:60].replace(b"traceEvents", b"others"), b"traceEvents")):
        result = piped(data, "report", "-")
        assert result.returncode == 2 and expected in result.stderr and result.stderr.startswith(b"wallshim: standard input: "), result.stderr
        assert result.stderr.count(b"\n") == 1, result.stderr
    assert "not a wallshim trace" in refused("report", "/dev/zero")
    assert "empty" in refused("report", "/dev/null")
    nothing_left()


def test_packed_files():
    sqlite = b"SQLite format 3\0"
    for data in (zstd(JSON), lzma.compress(JSON), zstd(own_trace()), gzip.compress(own_trace()), gzip.compress(zstd(JSON))):
        for name in ("trace.json.zst", "trace"):
            file = write(data, name)
            assert traces_of(run("report", "--json", file)) == {file: 3000}
        assert traces_of(piped(data, "report", "--json", "-")) == {"standard input": 3000}
    assert "a.sqlite.zst: this SQLite file is damaged" in refused("report", write(zstd(sqlite), "a.sqlite.zst"))
    nothing_left()


def test_an_archive_is_as_a_folder():
    ranks = {f"job/rank{rank}.json": of_rank(rank) for rank in (0, 1)}
    packed = {"./job/rank0.json.gz": gzip.compress(of_rank(0)), "job/rank1": zstd(of_rank(1)), "README.md": b"Two ranks"}
    for name, data in (("a.tar", tar(ranks)), ("a.tgz", tar(ranks, "w:gz")), ("a.txz", tar(ranks, "w:xz")), ("a.tar.zst", zstd(tar(ranks)))):
        file = write(data, name)
        assert traces_of(run("report", "--json", file)) == {f"{file}/{member}": 9 for member in ranks}
    file = write(tar(packed), "b.tar")
    assert traces_of(run("report", "--json", file)) == {f"{file}/job/rank0.json.gz": 9, f"{file}/job/rank1": 9}
    with zipfile.ZipFile(path("a.zip"), "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in ranks.items():
            archive.writestr(name, content)
    assert len(traces_of(run("report", "--json", path("a.zip")))) == 2
    file = write(tar({"a.tar.gz": tar(ranks, "w:gz")}), "c.tar")
    assert len(traces_of(run("report", "--json", file))) == 2
    # wallshim's own traces are preferred, and files that are not traces are left out.
    file = write(tar({"rank0.wst": own_trace(of_rank(0)), **ranks}), "d.tar")
    result = run("report", "--json", file)
    assert list(traces_of(result)) == [f"{file}/rank0.wst"] and "not 2 of other profilers" in result.stderr, result.stderr
    file = write(tar({"config.json": b'{"lr": 1}', **ranks}), "e.tar")
    result = run("report", "--json", file)
    assert len(traces_of(result)) == 2 and f"left out: {file}/config.json: not a trace" in result.stderr, result.stderr
    assert "holds no trace" in refused("report", write(tar({"README": b"none"}), "f.tar"))
    shutil.rmtree(path("imported"), ignore_errors=True)
    assert run("import", path("a.tar"), "-o", path("imported")).returncode == 0
    assert sorted(os.listdir(path("imported"))) == ["rank0.wst", "rank1.wst"]
    nothing_left()


def test_packed_files_in_a_folder():
    os.mkdir(path("ranks"))
    for rank in (0, 1):
        write(zstd(of_rank(rank)), f"ranks/rank{rank}.json.zst")
    write(b"\x28\xb5\x2f\xfd broken", "ranks/rank2.json.zst")
    result = run("report", "--json", path("ranks"))
    assert len(traces_of(result)) == 2 and "left out: " in result.stderr, result.stderr
    shutil.rmtree(path("ranks"))
    nothing_left()


def test_names_lead_nowhere():
    odd = path("odd.json")
    names = ("../../odd.json", odd, "a/../../b", "\x1b[31m\nred", "." * 200)
    file = write(tar({name: of_rank(i) for i, name in enumerate(names)} | {"link.json": None}), "odd.tar")
    for arguments in (("report", file), ("dump", file), ("report", "--json", file)):
        result = run(*arguments)
        assert "\x1b" not in result.stdout + result.stderr
    assert not os.path.exists(odd) and not os.path.exists(os.path.join(os.path.dirname(FOLDER.name), "odd.json"))
    nothing_left()


def test_what_unpacks_without_end():
    spaces = b'{"traceEvents": [' + b" " * (100 << 20)
    bomb = tar({"a.json": spaces}, "w:gz")
    for name, data in (("a.tar.gz", bomb), ("a.json.zst", zstd(spaces)), ("b.tar", tar({"a.json.zst": zstd(spaces)})),
                       ("c.tar.gz", tar({"zeros": bytes(100 << 20)}, "w:gz")), ("d.tar.gz", tar({"a.tar.gz": bomb}, "w:gz"))):
        assert "200 times" in refused("report", write(data, name)), name
    nest = JSON
    for depth in range(9):
        nest = tar({f"{depth}.tar": nest})
    assert run("report", write(nest, "nest.tar")).returncode == 2
    nothing_left()


def test_cut_and_damaged():
    whole = zstd(JSON + b" " * 300000)
    for data in (gzip.compress(tar({"a.json": JSON}))[:-3000], tar({"a.json": JSON})[:200000], tar({"a.json": JSON, "b.json": JSON})[:-300000]):
        result = run("report", "--json", write(data, "cut.tar"))
        assert 0 < list(traces_of(result).values())[0] <= 3000 and "cut or damaged" in result.stderr, result.stderr
    for data in (whole[:100], whole[:10], gzip.compress(tar({"a": b""}))[:20], b"PK\3\4" + bytes(99), b"BZh9" + bytes(99)):
        refused("report", write(data, "cut"))
    nothing_left()


def test_a_rest_without_a_verdict_is_an_error():
    own = own_trace()
    for file in (write(own[: len(own) // 2], "cut.wst"), write(JSON[:100], "cut.json"), write(gzip.compress(JSON)[:300], "cut.json.gz")):
        for command in (("report",), ("report", "--json"), ("diff", file)):
            result = run(*command, file)
            assert result.returncode == 2 and file in result.stderr.splitlines()[-1], (command, result)
    # A cut file with enough data is read, and so is a whole file without a device.
    assert run("report", write(JSON[: len(JSON) // 2], "cut.json")).returncode == 0
    assert run("report", write(trace(CALL))).returncode == 0


def started(data, *arguments):
    """A command that has read a part of its standard input, and waits for more."""
    process = subprocess.Popen([WALLSHIM, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stdin.write(data)
    process.stdin.flush()
    while not os.listdir(TEMPORARY) and process.poll() is None:
        time.sleep(0.01)
    return process


def test_an_interrupt_leaves_nothing_behind():
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        with started(JSON, "report", "-") as process:
            process.send_signal(number)
            assert process.wait() == -number
            process.stdin.close()
        nothing_left()
    # Output that nobody reads ends the command as well.
    file = write(tar({f"{i}.json": JSON for i in range(12)}), "many.tar")
    with subprocess.Popen([WALLSHIM, "dump", write(zstd(JSON), "a.zst")], stdout=subprocess.PIPE) as process:
        process.stdout.close()
        assert process.wait() == -signal.SIGPIPE
    nothing_left()
    assert run("report", file).returncode == 0
    nothing_left()


def test_no_place_for_temporary_files():
    os.environ["TMPDIR"] = path("absent")
    try:
        assert "set TMPDIR" in refused("report", write(zstd(JSON), "a.zst"))
    finally:
        os.environ["TMPDIR"] = TEMPORARY


def test_typing_errors():
    for words, expected in ((("reprot", "x"), "did you mean report?"), (("dif",), "did you mean diff?"), (("xyz",), "see wallshim --help"),
                            (("report", "--jsno"), "did you mean --json?"), (("report", "--setcion=gaps"), "did you mean --section?"),
                            (("report", "--x"), "see wallshim report --help"), ((write(JSON),), "wallshim report ")):
        assert expected in refused(*words), words


if "libarchive" not in LINKED:
    print("left out: built without libarchive")
    assert "built without libarchive" in refused("report", write(zstd(JSON), "a.zst"))
    PIPES = ("test_standard_input", "test_pipes", "test_an_input_that_is_no_trace", "test_typing_errors")
    run_tests({name: value for name, value in globals().items() if name in PIPES})
run_tests(globals())
