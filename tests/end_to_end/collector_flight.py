"""Tests the collector's flight recorder: the last seconds stay in memory, and a dump writes them.

    collector_flight.py BUILD CASE|--list
"""
import contextlib
import glob
import json
import os
import signal
import struct
import subprocess
import time

import cases
from collector_runs import PATIENCE, ROOT, Client, Place, check, ended_well, hello, message, wait_for

COUNT = 40000
ASK, ANSWER, DUMP = 34, 35, 4


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
    """A dump has the last second of two programs, and each of its traces is complete for that time."""
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


def case_flush(build):
    """A dump has all that was done before the request, even if the program had not sent that yet."""
    with Place(build) as place:
        place.start("--flight", "1h")
        counts = f"{place.folder}/counts"
        program = subprocess.Popen(
            [f"{ROOT}/tests/run_preloaded.sh", place.build, f"{place.build}/tests/programs/counting", counts, "1"], cwd=place.folder,
            env={**os.environ, "WALLSHIM_COLLECTOR": f"unix:{place.socket}"})
        try:
            wait_for(lambda: os.path.exists(counts) and waits_of(counts) > 3, "the program")
            for _ in range(2):
                time.sleep(0.3)
                with Client(place) as client:  # faster than wallshim ctl, which takes a while to start
                    waits = waits_of(counts)
                    client.send(message(ASK, DUMP))
                    while client.answer() != (ANSWER, 0):
                        pass
                trace, = glob.glob(f"{dumps(place)[-1]}/*.wst")
                info = place.wallshim("info", trace).split("\n")
                launches = next(int(line.split()[0].replace(",", "")) for line in info if line.split()[1:] == ["op"])
                check(launches >= waits * 700, f"{waits} times 700 launches had ended, the dump has {launches}")
        finally:
            program.kill()
            program.wait()
        place.stop()


def waits_of(counts):
    """How often tests/programs/counting has waited for 700 launches."""
    with open(counts, "rb") as file:
        return struct.unpack_from("=4Q", file.read(64).ljust(64, b"\0"))[2]


def case_wrong(build):
    """Without --flight there is nothing to dump. There is nothing to dump of an unknown job either."""
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
        with Client(place) as client:  # a client that has sent no trace
            client.send(hello())
            client.answer()
            check("nothing to dump" in ctl(place, "dump").stderr, "there was something")
        place.stop()


def case_memory(build):
    """Little memory: the newest frames (blocks of rows) stay, and the dump says that earlier ones are left out."""
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


@contextlib.contextmanager
def eight_ranks(place, how, rounds):
    """Runs tests/programs/hanging. At the end, kills the program and all processes that it started."""
    program = subprocess.Popen(
        [f"{ROOT}/tests/run_preloaded.sh", place.build, f"{place.build}/tests/programs/hanging", how, str(rounds)],
        cwd=place.folder, start_new_session=True, env={**os.environ, "WALLSHIM_COLLECTOR": f"unix:{place.socket}",
                                                       "SIMGPU_DEVICES": "8", "TMPDIR": place.folder})
    try:
        yield program
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(program.pid, signal.SIGKILL)
        program.wait()


def the_hang(place):
    """Waits for a hang. Returns the collector's message about the hang, and the content of hang.txt."""
    wait_for(lambda: dumps(place, "hang") and "next: wallshim report" in place.words(), "the hang")
    folder, = dumps(place, "hang")
    with open(f"{folder}/hang.txt", encoding="utf-8") as file:
        text = file.read()
    check(len(glob.glob(f"{folder}/*.wst")) == 8, os.listdir(folder))
    time.sleep(4)  # time for a second report, which must not come
    lines = [line for line in place.words().splitlines() if "hang: " in line and "next:" not in line]
    check(len(lines) == 1 and len(dumps(place, "hang")) == 1, place.words())
    wait_for(lambda: os.path.exists(f"{place.job}/manifest.json") and place.manifest().get("events"), "the manifest")
    check([event["cause"] for event in place.manifest()["events"]] == ["hang"], place.manifest())
    place.wallshim("report", folder)
    return lines[0], text


def rank_5(place):
    with open(f"{place.job}/manifest.json", encoding="utf-8") as file:
        return next(client["pid"] for client in json.load(file)["clients"] if client["rank"] == "5")


def wait_for_ranks(place):
    """Waits until all ranks are connected and have gone some rounds."""
    wait_for(lambda: os.path.exists(f"{place.job}/manifest.json") and len(place.manifest()["clients"]) == 8, "ranks")
    time.sleep(3)


def case_asleep(build):
    """One rank of eight sleeps before its collective. The message names the rank and the collective, once."""
    with Place(build) as place:
        place.start("--flight", "5s", "--hang", "3s")
        with eight_ranks(place, "sleep", 12):
            said, text = the_hang(place)
            check("rank 5 is not in ncclAllReduce number 12 of communicator" in said, said)
            check("7 of 8 ranks wait for it" in said, said)
            check(text.count("ncclAllReduce number 12 has not ended") == 7, text)
            check("last entered ncclAllReduce number 11; all of them have ended" in text, text)
            check(text.count("thread ") > 8 and "launched last:" in text, text)
        place.stop()


def hang_after(build, end):
    """Sends rank 5 the signal `end` between two collectives. Returns the text in hang.txt. The signal may come while the
    rank is in a collective: then all ranks are in that collective, and the test tries again."""
    for _ in range(4):
        with Place(build) as place:
            place.start("--flight", "5s", "--hang", "3s")
            with eight_ranks(place, "idle", 2000):
                wait_for_ranks(place)
                os.kill(rank_5(place), end)
                said, text = the_hang(place)
            place.stop()
        if "8 of 8 ranks are in ncclAllReduce" not in said:
            break
    check("rank 5 is not in ncclAllReduce number" in said, said)
    return text


def case_stopped(build):
    """A rank that is stopped does not answer, and the others wait for it."""
    text = hang_after(build, signal.SIGSTOP)
    check("it does not answer" in text and ": T" in text, text)


def case_killed(build):
    """A rank that was killed is named as well."""
    check("gone without goodbye" in hang_after(build, signal.SIGKILL), "")


def case_kernel(build):
    """On one rank, a kernel does not end. The other ranks wait in a collective that this rank has entered, too."""
    with Place(build) as place:
        place.start("--flight", "5s", "--hang", "3s")
        with eight_ranks(place, "kernel", 12):
            said, text = the_hang(place)
            check("8 of 8 ranks are in ncclAllReduce number 12" in said, said)
            check("stream" in text and "spin was launched" in text, text)
        place.stop()


def case_none(build):
    """None of these is a hang: work that goes on for longer than the limit, an idle process, an ended process, a rank
    that computes on the host."""
    for how, rounds, seconds in (("never", 60, 0), ("idle", 5, 8), ("work", 20, 0)):
        with Place(build) as place:
            place.start("--flight", "5s", "--hang", "3s")
            with eight_ranks(place, how, rounds) as program:
                if seconds:
                    time.sleep(seconds)
                else:
                    check(program.wait(timeout=PATIENCE) == 0, "the program failed")
                    time.sleep(4)
                check("hang" not in place.words() and not dumps(place, "hang"), place.words())
            place.stop()


def case_slow(build):
    """A step that takes long is dumped, on all ranks, with the second before it."""
    with Place(build) as place:
        place.start("--flight", "20s", "--hang", "0", "--slow-step", "10")
        with eight_ranks(place, "slow", 120):
            wait_for(lambda: dumps(place, "slow-step") and "next: wallshim report" in place.words(), "the slow step")
            folder, = dumps(place, "slow-step")
            check("slow step: rank " in place.words() and "times the median of" in place.words(), place.words())
            traces = glob.glob(f"{folder}/*.wst")
            check(len(traces) == 8, os.listdir(folder))
            for trace in traces:
                begins = [row["begin"] for row in rows(place, trace, "op")]
                longest, at = max((after - before, before) for before, after in zip(begins, begins[1:]))
                check(longest > 7e9 and at - begins[0] > 1e9, f"{longest} ns, {at - begins[0]} ns before it, {trace}")
            check("slow step" in report(place, folder), "the report does not say why there is a dump")
            wait_for(lambda: os.path.exists(f"{place.job}/manifest.json") and place.manifest().get("events"), "events")
            check([event["cause"] for event in place.manifest()["events"]] == ["slow-step"], place.manifest())
        place.stop()


def case_switches(build):
    """--slow-step needs --flight, and a number above 1."""
    with Place(build) as place:
        for words, why in ((["--slow-step", "3"], "give --flight TIME as well"),
                           (["--flight", "9s", "--slow-step", "1"], "give a number above 1"),
                           (["--flight", "9s", "--slow-step", "nan"], "give a number above 1"),
                           (["--flight", "9s", "--slow-step", "3x"], "give a number above 1")):
            done = subprocess.run([f"{place.build}/collector/wallshim-collector", "--listen", f"unix:{place.socket}", "--dir",
                                   place.jobs, *words], capture_output=True, text=True, check=False, timeout=PATIENCE)
            check(done.returncode == 2 and why in done.stderr, done)


cases.main(globals())
