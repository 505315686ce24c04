#!/usr/bin/env python3
"""Kills programs by SIGKILL at random moments. All that had returned by then must be in the trace, with its name.

    killed.py BUILD [--times N] [--seed N] [--collector]

The program counts in a file what each thread has done. The trace may hold one more per thread: the record that was
complete when the count was not."""
import argparse
import collections
import json
import os
import random
import signal
import struct
import subprocess
import sys
import tempfile
import time

import collector_runs

HERE = os.path.dirname(os.path.abspath(__file__))
COUNTS = struct.Struct("=4Q32x")
PATIENCE = 60


def check(condition, message):
    if not condition:
        raise AssertionError(message)


def dump(build, trace, family):
    done = subprocess.run([f"{build}/tools/wallshim", "dump", "--json", "--family", family, trace],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    check(done.returncode == 0, f"dump of {family}: {done.stderr}")
    return [json.loads(line) for line in done.stdout.splitlines()], done.stderr


def counts_of(path, threads):
    with open(path, "rb") as file:
        return [COUNTS.unpack(file.read(COUNTS.size)) for _ in range(threads)]


def run_until_killed(build, folder, threads, after, environment):
    """Starts the program, kills it `after` seconds after its first launch, and returns its counts."""
    counts = f"{folder}/counts"
    program = subprocess.Popen([f"{HERE}/../run_preloaded.sh", build, f"{build}/tests/programs/counting", counts,
                                str(threads)], env=environment, stdin=subprocess.DEVNULL)
    end = time.monotonic() + PATIENCE
    while not os.path.exists(counts) or os.path.getsize(counts) < 16 * COUNTS.size or not counts_of(counts, 1)[0][0]:
        check(program.poll() is None and time.monotonic() < end, "the program does not launch")
        time.sleep(0.001)
    time.sleep(after)
    program.send_signal(signal.SIGKILL)
    check(program.wait() == -signal.SIGKILL, "the program ended otherwise")
    return counts_of(counts, threads)


def check_trace(build, trace, counts):
    """Compares the trace with the program's counts."""
    ops, said = dump(build, trace, "op")
    shapes = {row["id"]: row for row in dump(build, trace, "shape")[0]}
    functions = {row["id"]: row["name"] for row in dump(build, trace, "function")[0]}
    calls = [row for row in dump(build, trace, "call")[0]]
    names = {row["id"]: row["name"] for row in dump(build, trace, "driver_function")[0]}
    check(len({row["correlation"] for row in ops}) == len(ops), "an operation is there twice")
    check(all(row["shape"] in shapes for row in ops), "an operation without its shape")
    launches = [row for row in ops if shapes[row["shape"]]["function"]]
    check(all(functions.get(shapes[row["shape"]]["function"]) for row in launches), "a launch without its name")
    threads = len(counts)
    for what, expected, found in (
            ("launches", sum(c[0] for c in counts), len(launches)),
            ("memsets", sum(c[1] for c in counts), len(ops) - len(launches)),
            ("waits", sum(c[2] for c in counts), sum(names[row["function"]] == "cuStreamSynchronize" for row in calls)),
            ("kernels", sum(c[3] for c in counts),
             len({functions[shapes[row["shape"]]["function"]] for row in launches} - {"spin"}))):
        check(expected <= found <= expected + threads, f"{what}: {expected} were done, the trace has {found}")
    by_thread = sorted(collections.Counter(row["thread"] for row in launches).values())
    done = sorted(c[0] for c in counts if c[0])
    check(len(done) <= len(by_thread) and all(0 <= found - was <= 1 for found, was in
                                              zip(by_thread[len(by_thread) - len(done):], done)),
          f"by thread, {done} launches were done, the trace has {by_thread}")
    lost = sum(row["count"] for row in dump(build, trace, "loss")[0] if row["reason"] == 2)
    untimed = sum(row["end"] == 0 and row["result"] == 0 for row in ops)
    check(lost == untimed, f"{untimed} operations without times, {lost} counted")
    meta = {row["key"]: row["value"] for row in dump(build, trace, "meta")[0]}
    check(meta.get("end") == "killed", f"the trace says that it ended: {meta.get('end')}")
    report = subprocess.run([f"{build}/tools/wallshim", "report", "--full", trace], stdout=subprocess.PIPE, text=True,
                            check=True).stdout
    check("was killed" in report, "the report does not say that the program was killed")
    return len(ops), untimed, said


def saved(place):
    """How many traces of killed processes the collector has completed."""
    return place.words().count("last rows were saved")


def once(build, place, threads, after, number):
    with tempfile.TemporaryDirectory(prefix="killed-") as folder:
        trace = f"{folder}/a.wst"
        environment = {**os.environ, "WALLSHIM_OUTPUT": trace}
        environment.pop("LD_PRELOAD", None)
        if place:
            environment["WALLSHIM_COLLECTOR"] = f"unix:{place.socket}"
            before = set(place.traces())
        counts = run_until_killed(build, folder, threads, after, environment)
        if place:
            collector_runs.wait_for(lambda: saved(place) > number, "the end of the trace")
            trace = (set(place.traces()) - before).pop()
        else:
            if not os.path.islink(f"{trace}.live"):
                return None
            memory = os.readlink(f"{trace}.live")
        if "not_salvaged" in {row["key"] for row in dump(build, trace, "meta")[0]}:
            return None
        found = check_trace(build, trace, counts)
        if not place:
            check(not os.path.lexists(f"{trace}.live") and not os.path.exists(memory), "the live memory is still there")
        return found


def check_same_name(build):
    """A trace of a killed program is removed, and the next program writes one of the same name: neither the memory of
    the first is left, nor does it get into the second."""
    with tempfile.TemporaryDirectory(prefix="killed-") as folder:
        trace = f"{folder}/a.wst"
        environment = {**os.environ, "WALLSHIM_OUTPUT": trace}
        run_until_killed(build, folder, 1, 0.1, environment)
        memory = os.readlink(f"{trace}.live")
        os.remove(trace)
        os.remove(f"{folder}/counts")
        counts = run_until_killed(build, folder, 1, 0.1, environment)
        check(os.readlink(f"{trace}.live") != memory and not os.path.exists(memory), "the older memory is still there")
        check_trace(build, trace, counts)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--times", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--collector", action="store_true")
    arguments = parser.parse_args()
    build = os.path.abspath(arguments.build)
    chance = random.Random(arguments.seed)
    place = collector_runs.Place(build) if arguments.collector else None
    try:
        if place:
            place.start()
        else:
            check_same_name(build)
        late = 0
        for number in range(arguments.times):
            threads, after = chance.choice([1, 1, 2, 4, 8]), chance.choice([0, 0.01, 0.1, 0.3, 1]) * chance.random()
            try:
                found = once(build, place, threads, after, number)
            except AssertionError as error:
                sys.exit(f"WRONG with seed {arguments.seed}, run {number}, {threads} threads, {after:.3f} s: {error}")
            if not found:
                # On a busy machine, a program may be killed before its memory could be shared.
                late += 1
                check(late <= 1 + arguments.times / 5, "the memory is not shared in time")
                continue
            print(f"run {number}: {threads} threads, {after:.3f} s: {found[0]} operations, {found[1]} without times", flush=True)
    finally:
        if place:
            place.__exit__()


main()
