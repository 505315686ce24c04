"""Tests the collector's flight recorder: the last seconds stay in memory, and a dump writes them.

    collector_flight.py BUILD CASE|--list
"""
import glob
import json
import os
import subprocess
import time

import cases
from collector_runs import PATIENCE, Client, Place, check, ended_well, hello, wait_for

COUNT = 40000


def ctl(place, *words):
    return subprocess.run([f"{place.build}/tools/wallshim", "ctl", f"unix:{place.socket}", *words], capture_output=True,
                          text=True, check=False, timeout=PATIENCE)


def dumps(place, cause="request"):
    return sorted(glob.glob(f"{place.job}/dump-*-{cause}*"))


def rows(place, trace, family):
    return [json.loads(line) for line in place.wallshim("dump", "--json", "--family", family, trace).splitlines()]


def meta(place, trace):
    return {row["key"]: row["value"] for row in rows(place, trace, "meta")}


def report(place, folder):
    return " ".join(place.wallshim("report", "--full", folder).split())


def case_request(build):
    """A dump has the last second of two programs, and reads as a whole trace of that time."""
    with Place(build) as place:
        place.start("--flight", "1s")
        programs = [place.program(COUNT, 12000, RANK=str(rank)) for rank in range(2)]
        time.sleep(4)
        done = ctl(place, "dump")
        check(done.returncode == 0 and "wrote 2 traces; next: wallshim report" in done.stderr, done)
        folder, = dumps(place)
        check(os.listdir(place.job).count("manifest.json") == 1 and not place.traces(), os.listdir(place.job))
        traces = sorted(glob.glob(f"{folder}/*.wst"))
        check(len(traces) == 2, traces)
        for trace in traces:
            ops = rows(place, trace, "op")
            span = (ops[-1]["host_end"] - ops[0]["host_begin"]) / 1e9
            check(0.2 < span < 3.5, f"{span} s of operations")  # a busy machine flushes late
            check("of 1 s kept" in meta(place, trace)["flight"], meta(place, trace))
            check(meta(place, trace)["flight_cause"] == "asked for by wallshim ctl dump", meta(place, trace))
            check("damage none" in " ".join(place.wallshim("info", trace).split()), place.wallshim("info", trace))
            check(rows(place, trace, "function"), "no names")
        said = report(place, folder)
        check(said.count("Nothing lost.") == 2 and said.count("of 1 s kept") == 2, said)
        time.sleep(1)
        check(ctl(place, "dump", "--job", "test").returncode == 0 and len(dumps(place)) == 2, dumps(place))
        for program in programs:
            ended_well(program, COUNT)
        wait_for(lambda: [one["ended"] for one in place.manifest()["clients"]] == ["goodbye"] * 2, "their ends")
        check([event["cause"] for event in place.manifest()["events"]] == ["request"] * 2, place.manifest())
        check(ctl(place, "dump").returncode == 0, "programs that have ended are forgotten at once")
        place.stop()


def case_wrong(build):
    """Without --flight there is nothing to dump, nor of a job that there is not."""
    with Place(build) as place:
        place.start()
        done = ctl(place, "dump")
        check(done.returncode == 2 and "runs without --flight" in done.stderr, done)
        place.stop()
        place.start("--flight", "1s")
        done = ctl(place, "dump", "--job", "other")
        check(done.returncode == 2 and "nothing to dump" in done.stderr, done)
        for words in (["dump", "--pid", "1"], ["status", "--job", "x"], ["dump", "now"], ["dump", "--job", "x" * 65]):
            check(ctl(place, *words).returncode == 2, words)
        with Client(place) as client:  # one who has sent nothing
            client.send(hello())
            client.answer()
            check("nothing to dump" in ctl(place, "dump").stderr, "there was something")
        place.stop()


def case_memory(build):
    """Little memory: the newest frames stay, and the dump says that earlier ones are left out."""
    with Place(build) as place:
        place.start("--flight", "1h", "--flight-size", "128k")
        program = place.program(COUNT * 5, 3000)
        ended_well(program, COUNT * 5)
        check(ctl(place, "dump").returncode == 0, "no dump")
        trace, = glob.glob(f"{dumps(place)[0]}/*.wst")
        said = meta(place, trace)
        check("for lack of memory" in said["flight_left_out"], said)
        check(said["end"] == "by exit", said)
        check(0 < len(rows(place, trace, "op")) < COUNT * 5, "all fitted")
        check("damage none" in " ".join(place.wallshim("info", trace).split()), place.wallshim("info", trace))
        place.stop()


cases.main(globals())
