"""The records of waits for the device: function, stream, result, and the time that a wait takes.

    waits.py BUILD events|host
"""
import json
import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SHORTEST_NS = 10000000  # a wait for a kernel of 20 ms takes longer, unless the thread stands still for 10 ms


def rows(build, trace, family):
    dump = subprocess.run([f"{build}/tools/wallshim", "dump", "--json", "--family", family, trace], check=True,
                          capture_output=True, text=True)
    return [json.loads(line) for line in dump.stdout.splitlines()]


def main():
    build, backend = sys.argv[1:3]
    with tempfile.TemporaryDirectory() as folder:
        trace = f"{folder}/trace.wst"
        subprocess.run([f"{ROOT}/tests/run_preloaded.sh", build, f"{build}/tests/programs/hazard_waits"], check=True, timeout=60,
                       env={**os.environ, "WALLSHIM_BACKEND": backend, "WALLSHIM_OUTPUT": trace})
        calls, ops = rows(build, trace, "call"), rows(build, trace, "op")
        names = {row["id"]: row["name"] for row in rows(build, trace, "driver_function")}
        streams = {row["id"]: row["stream"] for row in rows(build, trace, "shape")}
    waits = [row for row in calls if "Synchronize" in names[row["function"]]]
    launched = [streams[row["shape"]] for row in sorted(ops, key=lambda row: row["correlation"])]
    stream, default = launched[0], launched[2]
    unused = waits[2]["stream"]
    assert unused not in (0, stream, default), f"a stream without launches: {waits[2]}"
    expected = [("cuStreamSynchronize", stream)] * 2 + [("cuStreamSynchronize", unused), ("cuStreamSynchronize", default),
                ("cuEventSynchronize", 0), ("cuCtxSynchronize", 0), ("cuStreamSynchronize", 0), ("cuStreamSynchronize", stream)]
    shown = [(names[row["function"]], row["stream"]) for row in waits]
    assert shown == expected, f"{shown} instead of {expected}"
    assert [i for i, row in enumerate(waits) if row["result"]] == [6], f"the wait in a capture fails: {waits}"
    ids = sorted(row["correlation"] for row in calls + ops)
    assert len(set(ids)) == len(ids), "each call has a number of its own"
    for i in (0, 1, 3, 4, 5, 7):
        took = waits[i]["host_end"] - waits[i]["host_begin"]
        assert took > SHORTEST_NS, f"wait {i} took {took} ns"
    assert waits[4]["object"] != 0, "the event that was waited for"
    return 0


sys.exit(main())
