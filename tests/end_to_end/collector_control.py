"""Tests `wallshim ctl`: through their collector, running programs are told to record, to stop recording, or to record
in bursts.

    collector_control.py BUILD CASE|--list
"""
import json
import subprocess
import time

import cases
from collector_runs import PATIENCE, Client, Place, check, ended_well, hello, message, wait_for

COUNT = 40000
ASK = 34


def ctl(place, *words):
    return subprocess.run([f"{place.build}/tools/wallshim", "ctl", f"unix:{place.socket}", *words], capture_output=True,
                          text=True, check=False, timeout=PATIENCE)


def states(place):
    return {row["pid"]: row["state"] for row in map(json.loads, ctl(place, "status", "--json").stdout.splitlines())}


def rows(place, trace, family):
    return [json.loads(line) for line in place.wallshim("dump", "--json", "--family", family, trace).splitlines()]


def case_start(build):
    """Recording is started and stopped in a program with a dormant shim (it is loaded, but does not record). Every launch
    in between is recorded or counted as lost."""
    with Place(build) as place:
        place.start()
        check("no such process" in ctl(place, "status").stderr, ctl(place, "status"))
        dormant = place.program(COUNT, 8000, WALLSHIM_START="off")
        other = place.program(COUNT, 8000, WALLSHIM_OUTPUT="other.wst", RANK="7")
        wait_for(lambda: sorted(states(place).values()) == ["recording", "stopped"], "both programs")
        before = states(place)
        pid = next(pid for pid, state in before.items() if state == "stopped")
        table = ctl(place, "status").stdout
        check(table.count("\n") == 2 and "rank 7" in table and "rank unknown" in table and "stopped" in table, table)
        done = ctl(place, "start", "--pid", str(pid))
        check(done.returncode == 0 and "1 process;" in done.stderr, done)
        wait_for(lambda: set(states(place).values()) == {"recording"}, "the start")
        time.sleep(0.5)
        done = ctl(place, "stop")
        check("2 processes;" in done.stderr, done)
        wait_for(lambda: set(states(place).values()) == {"stopped"}, "the stop")
        ended_well(dormant, COUNT)
        ended_well(other, COUNT)
        place.stop()
        for trace in place.traces():
            recorded = len(rows(place, trace, "op"))
            passed = sum(row["count"] for row in rows(place, trace, "loss"))
            check(0 < recorded < COUNT, f"{trace}: {recorded} of {COUNT}")
            calls = len(rows(place, trace, "call"))
            check(recorded + calls + passed >= COUNT, f"{trace}: {recorded}, {calls}, {passed}")
        check({client["ended"] for client in place.manifest()["clients"]} == {"goodbye"}, place.manifest())


def case_burst(build):
    with Place(build) as place:
        place.start()
        program = place.program(COUNT, 5000)
        wait_for(lambda: list(states(place).values()) == ["recording"], "the program")
        check(ctl(place, "burst", "50ms/2s").returncode == 0, "a burst was refused")
        wait_for(lambda: list(states(place).values()) == ["stopped"], "the pause")
        check(ctl(place, "burst", "off").returncode == 0, "off was refused")
        wait_for(lambda: list(states(place).values()) == ["recording"], "the end of the pause")
        ended_well(program, COUNT)
        place.stop()


def case_wrong(build):
    """The collector refuses wrong requests, and `wallshim ctl` names wrong usage."""
    with Place(build) as place:
        place.start()
        for wrong in (message(ASK, 99), message(ASK, 3, bytes(64)), message(ASK, 0, b"x" * 65), message(32, 1), message(33, 1)):
            with Client(place) as client:
                client.send(wrong)
                check(client.is_cut_off(), wrong)
        with Client(place) as client:  # a program that records may not send ASK
            client.send(hello())
            client.answer()
            client.send(message(ASK, 0))
            check(client.is_cut_off(), "a program asked")
        with Client(place) as client:  # a client that has sent ASK may send no trace
            client.send(message(ASK, 0))
            client.answer()
            client.send(hello())
            check(client.is_cut_off(), "who asks became a program")
        for words, why in ((["sleep"], "ctl sleep: give status"), (["burst"], "give ON/PERIOD"), (["burst", "2s/1s"], "ON no longer"),
                           (["stop", "now"], "takes nothing more"), (["stop", "--pid", "x"], "--pid x"), ([], "give the collector's")):
            done = ctl(place, *words)
            check(done.returncode == 2 and why in done.stderr and done.stderr.count("\n") == 1, (words, done))
        place.stop()
        check("no collector can be asked there" in ctl(place, "status").stderr, ctl(place, "status"))


cases.main(globals())
