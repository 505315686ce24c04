"""Tests malicious files: small files that unpack to huge ones, nest deeply, refer to themselves or claim absurd
amounts. The work of a command must be bounded by the size of the file: import_bounded.py WALLSHIM"""
import gzip
import json
import os
import resource
import shutil
import sqlite3
import struct
import subprocess

from foreign import WALLSHIM, path, report, run, run_tests, sanitized, write

KERNEL = '{"ph":"X","cat":"kernel","name":"gemm","pid":0,"tid":7,"ts":%d,"dur":1,"args":{"device":%d,"context":1,"stream":%d,"correlation":%d}}'
SECONDS, MEGABYTES, WRITTEN = 8, 600, 64 << 20  # a slow machine takes 4 s; unbounded work takes minutes


def bounded(file, *arguments, command="report"):
    """Runs a command and checks its bounds: processor time, memory and bytes written. Returns its output."""
    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (WRITTEN, WRITTEN))
    with subprocess.Popen([WALLSHIM, command, *arguments, file], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          preexec_fn=limit) as process:
        try:
            output, error = process.communicate(timeout=300 if sanitized() else 60)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
    # RUSAGE_CHILDREN covers all children so far: memory is the largest of all, and processor time is a sum, of which
    # the earlier part is subtracted.
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = used.ru_utime + used.ru_stime - bounded.before
    bounded.before += seconds
    assert process.returncode in (0, 2), (process.returncode, error)
    if not sanitized():
        assert seconds < SECONDS, f"{seconds} s"
        assert used.ru_maxrss < MEGABYTES << 10, f"{used.ru_maxrss >> 10} MB"
    return subprocess.CompletedProcess(process.args, process.returncode, output, error)


bounded.before = 0


def events(name, count, event, end="{}]}"):
    """Writes a file that begins like a trace and has the text `event` `count` times."""
    with (gzip.open(path(name), "wb", 6) if name.endswith("gz") else open(path(name), "wb")) as out:
        out.write(b'{"traceEvents": [')
        for begin in range(0, count, 10000):
            out.write(event.encode() * min(10000, count - begin))
        out.write(end.encode())
    return path(name)


def test_closed_by_the_wrong_bracket():
    for text in ('{"traceEvents":[],"b":{"c"]', '{"traceEvents":[],"b":[{"c"],', '[{}],{"a"]', '{"traceEvents":[{}],"a":[1}]', '{"traceEvents":[]]]]'):
        assert bounded(write(text)).returncode in (0, 2), text
        for command in ("info", "dump", "check"):
            bounded(write(text), *(["--rule", "busy >= 1 %"] if command == "check" else []), command=command)


def test_nothing_nests_without_end():
    assert bounded(write(b"[" * (32 << 20), packed=True)).returncode == 2
    for opening in ("[", '{"a":', '[{"a":'):
        file = write(b'{"traceEvents": [' + KERNEL.encode() % (1, 0, 7, 1) + b',{"args": ' + opening.encode() * (4 << 20), packed=True)
        assert bounded(file).returncode == 0
        process = report(file)[0]
        assert process["devices"][0]["gpu_events"] == 1 and process["damage"]["lost_bytes"] > 0
    # An event that nests too deeply counts as broken. The events behind it are read.
    file = write('{"traceEvents": [{"args": ' + "[" * 5000 + "]" * 5000 + "}, " + KERNEL % (1, 0, 7, 1) + "]}")
    assert report(file)[0]["devices"][0]["gpu_events"] == 1


def test_broken_events_without_end():
    for event in ('{"ph"},', '{"ph":"X",},{"name"],'):
        process = json.loads(bounded(events("broken.json", 10000000, event), "--json").stdout)["processes"][0]
        assert process["damage"]["lost_bytes"] > 0
    words = events("words.json", 3000000, "NaN,", "]}")
    bounded(words)
    bounded(write('{"traceEvents": [{"args": {"Input Dims": ' + "[" * 80 + "NaN," * 3000000))
    os.remove(path("broken.json"))
    os.remove(words)


def test_packed_without_end():
    result = bounded(events("packed.json.gz", 3000000, KERNEL % (1, 0, 7, 1) + ","))
    assert result.returncode == 2 and "unpack it first" in result.stderr, result.stderr
    os.remove(path("packed.json.gz"))
    spaces = write(b'{"traceEvents": [' + b" " * (256 << 20), packed=True)
    assert "no verdict" in bounded(spaces).stderr


def test_holes_in_a_file():
    """Sparse files of 4 TiB, in which only the first bytes are not 0."""
    for begin in (b"wallshim trace\n\0", b'{"traceEvents": [', b'{"traceEvents": [{"name": "', b"SQLite format 3\0"):
        file = write(begin, "sparse")
        os.truncate(file, 1 << 42)
        bounded(file)
    os.remove(file)


def test_more_devices_and_streams_than_any_machine_has():
    for device, stream in ((1, 0), (0, 1), (1, 1)):
        text = ",".join(KERNEL % (2 * i, i * device % 399, 7 + i * stream, i) for i in range(100000))
        file = write('{"traceEvents": [' + text + "]}")
        assert bounded(file).returncode == 0
        if os.path.exists(path("streams.wst")):
            os.remove(path("streams.wst"))
        assert run("import", file, "-o", path("streams.wst")).returncode == 0
        bounded(path("streams.wst"))
    file = write('{"traceEvents": [' + ",".join(KERNEL % (2 * i, i, 7, i) for i in range(100000)) + "]}")
    assert bounded(file).returncode == 0


def test_more_process_groups_than_any_job_has():
    """Many process groups in two files that may belong to one job."""
    os.mkdir(path("groups"))
    event = ('{"ph":"X","cat":"cpu_op","name":"record_param_comms","pid":9,"tid":9,"ts":%d,"dur":1,"args":{"Collective name":"allreduce",'
             '"Group size":2,"Process Group Name":"%d","Process Group Ranks":"[0, 1]"}}')
    for rank in range(2):
        text = ",".join(event % (2 * i, 2 * i + rank) for i in range(100000))
        write('{"distributedInfo": {"rank": %d}, "traceEvents": [%s]}' % (rank, text), os.path.join("groups", f"rank{rank}.json"))
    assert bounded(path("groups")).returncode == 0
    shutil.rmtree(path("groups"))
    # The trace configures one group with a list of ranks as long as a name may be, and each event refers to that group.
    ranks = ",".join(str(i) for i in range(1, 12000))
    groups = ",".join('{"ph":"X","cat":"cpu_op","name":"record_param_comms","pid":9,"tid":9,"ts":%d,"dur":1,"args":{"Collective name":"allreduce",'
                      '"Group size":%d,"Process Group Name":"g","Process Group Ranks":"[7]"}}' % (2 * i, i + 2) for i in range(40000))
    file = write('{"distributedInfo": {"rank": 0, "pg_config": [{"pg_name": "g", "ranks": [%s]}]}, "traceEvents": [%s]}' % (ranks, groups))
    assert bounded(file).returncode == 0


def test_numbers_that_fall_on_one_place_of_a_map():
    """Correlations that would collide in the hash map of base/map.h if the map used no salt."""
    inverse, numbers, half = pow(0x9e3779b97f4a7c15, -1, 1 << 64), [], 1
    while len(numbers) < 80000:
        mixed = (half | half << 29) * inverse % (1 << 64)
        half += 1
        number = mixed ^ mixed >> 32
        if number < 1 << 60:
            numbers.append(number)
    file = write('{"traceEvents": [' + ",".join(KERNEL % (2 * i, 0, 7, number) for i, number in enumerate(numbers)) + "]}")
    assert bounded(file).returncode == 0


# --- SQLite ----------------------------------------------------------------------------------------------

COLUMNS = "start integer, end integer, deviceId integer, contextId integer, streamId integer, correlationId integer, globalPid integer, demangledName integer"
FOREVER = "WITH RECURSIVE c(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM c)"


def database(*statements, kernels=10, pages=4096):
    file = path("trace.sqlite")
    if os.path.exists(file):
        os.remove(file)
    base = sqlite3.connect(file)
    base.execute(f"PRAGMA page_size = {pages}")
    base.execute(f"CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL ({COLUMNS})")
    base.executemany("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (?, ?, 0, 1, 7, ?, 281474976710656, 3)",
                     ((i * 20, i * 20 + 10, i + 1) for i in range(kernels)))
    for statement in statements:
        base.execute(statement)
    base.commit()
    base.close()
    return file


def gpu_events(result):
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)["processes"][0]["devices"][0]["gpu_events"]


def test_views_are_not_read():
    for view in (f"CREATE VIEW StringIds AS {FOREVER} SELECT id, 'value' || id AS value FROM c",
                 f"CREATE VIEW StringIds(id, value) AS {FOREVER} SELECT 3, count(*) FROM c",
                 f"CREATE VIEW NVTX_EVENTS AS {FOREVER} SELECT id AS start, id AS end, 59 AS eventType, 1 AS globalTid, 'x' AS text FROM c",
                 f"CREATE VIEW CUPTI_ACTIVITY_KIND_MEMCPY AS {FOREVER} SELECT id AS start, id AS end, 1 AS globalPid FROM c"):
        assert gpu_events(bounded(database(view), "--json")) == 10, view
    # The schema of this file calls a view a table.
    file = database(f"CREATE VIEW StringIds AS {FOREVER} SELECT id, 'value' || id AS value FROM c")
    with open(file, "r+b") as changed:
        content = changed.read()
        changed.seek(content.index(b"viewStringIds"))
        changed.write(b"tabl")
    assert bounded(file).returncode in (0, 2)


def test_columns_are_not_computed():
    file = database("CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT AS (hex(zeroblob(7000000))))",
                    "INSERT INTO StringIds(id) VALUES (3)", kernels=3000)
    assert gpu_events(bounded(file, "--json")) == 3000


def test_virtual_tables_are_not_read():
    try:
        file = database("CREATE VIRTUAL TABLE StringIds USING fts5(id, value)", "INSERT INTO StringIds VALUES (3, 'gemm')")
    except sqlite3.OperationalError:
        return
    assert gpu_events(bounded(file, "--json")) == 10
    assert "gemm" not in run("report", "--full", file).stdout


def looped(file, table):
    """Makes all pointers in an inner page of a table's tree point to one other page, so that the table's rows never
    end."""
    base = sqlite3.connect(file)
    root, = base.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", (table,)).fetchone()
    size, = base.execute("PRAGMA page_size").fetchone()
    base.close()
    with open(file, "r+b") as changed:
        content = bytearray(changed.read())
        inner = [root] + [page for page in range(2, len(content) // size + 1) if content[(page - 1) * size] == 5 and page != root]
        leaf = next(page for page in range(2, len(content) // size + 1) if content[(page - 1) * size] == 13)
        for page, following in zip(inner[:15], inner[1:15] + [leaf]):
            at = (page - 1) * size
            cells, = struct.unpack_from(">H", content, at + 3)
            struct.pack_into(">I", content, at + 8, following)
            for cell in range(cells):
                place, = struct.unpack_from(">H", content, at + 12 + 2 * cell)
                struct.pack_into(">I", content, at + place, following)
        changed.seek(0)
        changed.write(content)
    return file


def test_tables_that_lead_to_themselves():
    file = looped(database(kernels=30000, pages=512), "CUPTI_ACTIVITY_KIND_KERNEL")
    process = json.loads(bounded(file, "--json").stdout)["processes"][0]
    assert process["damage"]["lost_frames"] > 0
    for keyed in ("INTEGER PRIMARY KEY", "INTEGER"):
        file = database(f"CREATE TABLE StringIds (id {keyed}, value)",
                        "INSERT INTO StringIds WITH RECURSIVE c(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM c LIMIT 30000) SELECT id, 'value ' || id FROM c",
                        kernels=1000, pages=512)
        bounded(looped(file, "StringIds"))


def test_a_table_that_is_looked_up_without_an_index():
    rows = "WITH RECURSIVE c(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM c LIMIT 20000)"
    file = database("CREATE TABLE ENUM_CUDA_MEM_KIND (id, label)", f"INSERT INTO ENUM_CUDA_MEM_KIND {rows} SELECT id, 'Device' FROM c",
                    "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET (start, end, deviceId, contextId, streamId, correlationId, globalPid, bytes, memKind)",
                    f"INSERT INTO CUPTI_ACTIVITY_KIND_MEMSET {rows} SELECT id, id + 1, 0, 1, 7, 0, 281474976710656, 4, 99999 FROM c")
    assert gpu_events(bounded(file, "--json")) >= 10


run_tests(globals())
