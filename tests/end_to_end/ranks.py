"""Tests that collectives are matched across ranks for each way to create a communicator: from an identifier that one
rank passes to the others, by a split, or for all devices of a process at once.

    ranks.py BUILD processes|devices
"""
import glob
import json
import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
ROUNDS = 5
RANKS = {"processes": 4, "devices": 2}
# processes: one communicator of all ranks, one for each of the two pairs, and one without the last rank, which is not
# used; devices: one communicator of both devices.
COLLECTIVES = {"processes": 3 * ROUNDS, "devices": ROUNDS}
NAMES = {"processes": 4, "devices": 1}


def wallshim(build, *words):
    return subprocess.run([f"{build}/tools/wallshim", *words], check=True, capture_output=True, text=True).stdout


def main():
    build, mode = sys.argv[1:3]
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([f"{ROOT}/tests/run_preloaded.sh", build, f"{build}/tests/programs/ranks", mode], check=True,
                       timeout=60, env={**os.environ, "SIMGPU_DEVICES": str(RANKS[mode]), "TMPDIR": folder,
                                        "WALLSHIM_OUTPUT": f"{folder}/%p.wst"})
        traces = sorted(glob.glob(f"{folder}/*.wst"))
        comms = [json.loads(line) for path in traces
                 for line in wallshim(build, "dump", "--json", "--family", "comm", path).splitlines()]
        report = json.loads(wallshim(build, "report", "--json", *traces))

    names = {}
    for comm in comms:
        names.setdefault(comm["name_hash"], set()).add((comm["rank"], comm["size"]))
    assert 0 not in names, "a communicator without a name"
    assert len(names) == NAMES[mode], f"names and their ranks: {names}"
    # Both pairs of the split have ranks 0 and 1: only the communicators' names tell them apart.
    for ranks in names.values():
        size = next(iter(ranks))[1]
        assert ranks == {(rank, size) for rank in range(size)}, f"ranks of one name: {ranks}"

    matching = report["matching"]
    # On a busy machine, times may be so uncertain that the kernels of one collective do not overlap. Such collectives
    # are counted as "apart".
    assert matching["by_sequence"] + matching["apart"] == COLLECTIVES[mode], matching
    assert matching["by_sequence"] > COLLECTIVES[mode] / 2, matching
    assert matching["unmatched"] == 0, matching
    assert [rank["rank"] for rank in report["ranks"]] == list(range(RANKS[mode])), report["ranks"]
    assert not any(rank["clock"]["applied"] for rank in report["ranks"][1:]), report["ranks"]
    return 0


sys.exit(main())
