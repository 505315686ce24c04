#!/usr/bin/env python3
"""Kills programs by SIGKILL at random moments. All that had returned by then must be in the trace, with its name.

    killed.py BUILD [--times N] [--seed N] [--collector] [--late SHARE]

The program counts in a file what each thread has done. The trace may hold one record more per thread, because a record
can be complete before the thread has counted it."""
import argparse
import collections
import contextlib
import json
import os
import random
import re
import signal
import struct
import subprocess
import sys
import tempfile
import time

import collector_runs
from cases import check

HERE = os.path.dirname(os.path.abspath(__file__))
COUNTS = struct.Struct("=4Q32x")
PATIENCE = 60
MOST_LEFT = 8  # DEAD_MOST in shim/drain/live_file.c
# Loss reasons in src/record/record.h: one for which a record is missing, and those for which operations lack times.
RING_FULL, UNTIMED = 0, (1, 2, 3, 4)
FILE_HEADER = 64
EARLY = "before it had begun"


def dump(build, trace, family):
    done = subprocess.run([f"{build}/tools/wallshim", "dump", "--json", "--family", family, trace],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    check(done.returncode == 0, f"dump of {family}: {done.stderr}")
    return [json.loads(line) for line in done.stdout.splitlines()], done.stderr


def complete(build, trace):
    """Runs `wallshim info`, which removes the trace's live memory (a file in RAM with the records that are not in the trace
    yet), even if the trace is empty."""
    subprocess.run([f"{build}/tools/wallshim", "info", trace], capture_output=True, check=False)


def counts_of(path, threads):
    with open(path, "rb") as file:
        return [COUNTS.unpack(file.read(COUNTS.size)) for _ in range(threads)]


def run_until_killed(build, folder, threads, after, environment, is_ready=lambda: True):
    """Starts the program. Waits for its first launch and until is_ready(), then kills it `after` seconds later. Returns
    its counts and its process id."""
    counts = f"{folder}/counts"
    program = subprocess.Popen([f"{HERE}/../run_preloaded.sh", build, f"{build}/tests/programs/counting", counts,
                                str(threads)], env=environment, stdin=subprocess.DEVNULL)
    end = time.monotonic() + PATIENCE
    while (not os.path.exists(counts) or os.path.getsize(counts) < 16 * COUNTS.size or not counts_of(counts, 1)[0][0]
           or not is_ready()):
        if program.poll() is not None or time.monotonic() > end:
            program.kill()
            check(False, "the program does not launch")
        time.sleep(0.001)
    time.sleep(after)
    program.send_signal(signal.SIGKILL)
    check(program.wait() == -signal.SIGKILL, "the program ended otherwise")
    return counts_of(counts, threads), program.pid


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
    losses = dump(build, trace, "loss")[0]
    # Records that found a full ring (a thread's buffer), because the shim's thread that empties it came late.
    full = sum(row["count"] for row in losses if row["reason"] == RING_FULL)
    for what, expected, found in (
            ("launches", sum(c[0] for c in counts), len(launches)),
            ("memsets", sum(c[1] for c in counts), len(ops) - len(launches)),
            ("waits", sum(c[2] for c in counts), sum(names[row["function"]] == "cuStreamSynchronize" for row in calls)),
            ("kernels", sum(c[3] for c in counts),
             len({functions[shapes[row["shape"]]["function"]] for row in launches} - {"spin"}))):
        check(expected - full <= found <= expected + threads,
              f"{what}: {expected} were done, the trace has {found}, and {full} records found a full ring")
    by_thread = sorted(collections.Counter(row["thread"] for row in launches).values())
    done = sorted(c[0] for c in counts if c[0])
    check(full or len(done) <= len(by_thread) and all(0 <= found - was <= 1 for found, was in
                                              zip(by_thread[len(by_thread) - len(done):], done)),
          f"by thread, {done} launches were done, the trace has {by_thread}")
    lost = sum(row["count"] for row in losses if row["reason"] in UNTIMED)
    untimed = sum(row["end"] == 0 and row["result"] == 0 for row in ops)
    check(lost == untimed, f"{untimed} operations without times, {lost} counted")
    meta = {row["key"]: row["value"] for row in dump(build, trace, "meta")[0]}
    check(meta.get("end") == "killed", f"the trace says that it ended: {meta.get('end')}")
    report = subprocess.run([f"{build}/tools/wallshim", "report", "--full", trace], stdout=subprocess.PIPE, text=True,
                            check=True).stdout
    check("was killed" in report, "the report does not say that the program was killed")
    return len(ops), untimed, said


def knows(place, pid):
    """Had the process reached the collector? Once the collector has answered `ctl`, it has seen the end of the
    process's connection, too."""
    for _ in range(2):
        subprocess.run([f"{place.build}/tools/wallshim", "ctl", f"unix:{place.socket}", "status"], capture_output=True,
                       timeout=PATIENCE, check=False)
    known = ""
    for name in ("manifest.json", ".manifest.more"):
        with contextlib.suppress(OSError), open(f"{place.job}/{name}", encoding="utf-8") as file:
            known += file.read()
    return re.search(rf'"pid": ?{pid}\b', known) is not None


def looked_after(place, pid):
    """Returns the collector's message about the process's end, or None."""
    return re.search(rf"process {pid}: .*(last rows were saved|{EARLY})", place.words())


def once(build, place, threads, after):
    with tempfile.TemporaryDirectory(prefix="killed-") as folder:
        trace = f"{folder}/a.wst"
        environment = {**os.environ, "WALLSHIM_OUTPUT": trace}
        environment.pop("LD_PRELOAD", None)
        if place:
            environment["WALLSHIM_COLLECTOR"] = f"unix:{place.socket}"
            before = set(place.traces())
        counts, pid = run_until_killed(build, folder, threads, after, environment)
        if place:
            if not knows(place, pid):
                return None
            collector_runs.wait_for(lambda: looked_after(place, pid), "the end of the trace")
            made = set(place.traces()) - before
            if not made:
                return None
            trace = made.pop()
        else:
            memory = os.readlink(f"{trace}.live") if os.path.islink(f"{trace}.live") else ""
            if not os.path.exists(memory):
                return None
        if not os.path.getsize(trace):
            complete(build, trace)
            return None
        meta, said = dump(build, trace, "meta")
        if "not_salvaged" in {row["key"] for row in meta} or EARLY in said or (place and EARLY in looked_after(place, pid)[0]):
            return None
        found = check_trace(build, trace, counts)
        if not place:
            check(not os.path.lexists(f"{trace}.live") and not os.path.exists(memory), "the live memory is still there")
        return found


def check_same_name(build):
    """A trace of a killed program is removed, and the next program writes one of the same name: the live memory of the
    first program is removed, and its records do not get into the second trace."""
    with tempfile.TemporaryDirectory(prefix="killed-") as folder:
        trace = f"{folder}/a.wst"
        environment = {**os.environ, "WALLSHIM_OUTPUT": trace}

        def has_flushed():
            return os.path.islink(f"{trace}.live") and os.path.getsize(trace) > FILE_HEADER
        run_until_killed(build, folder, 1, 0.1, environment, has_flushed)
        memory = os.readlink(f"{trace}.live")
        os.remove(trace)
        os.remove(f"{folder}/counts")
        counts, _ = run_until_killed(build, folder, 1, 0.1, environment, has_flushed)
        check(os.readlink(f"{trace}.live") != memory and not os.path.exists(memory), "the older memory is still there")
        # If records could not be saved from the live memory, the counts say nothing, as in `once`.
        if "not_salvaged" not in {row["key"] for row in dump(build, trace, "meta")[0]}:
            check_trace(build, trace, counts)


def check_removed(build):
    """The live memory of killed programs whose traces were removed must not keep later programs from having live
    memory."""
    with tempfile.TemporaryDirectory(prefix="killed-") as folder:
        left = []
        for number in range(MOST_LEFT + 1):
            trace = f"{folder}/{number}.wst"
            run_until_killed(build, folder, 1, 0, {**os.environ, "WALLSHIM_OUTPUT": trace})
            os.remove(f"{folder}/counts")
            if os.path.lexists(f"{trace}.live"):
                left.append(os.readlink(f"{trace}.live"))
                os.remove(f"{trace}.live")
            os.remove(trace)
        check(left, "no program had memory to leave")
        lasts = []
        for number in range(3):  # on a busy machine, a program may be killed before its memory could be shared
            run_until_killed(build, folder, 1, 0.1, {**os.environ, "WALLSHIM_OUTPUT": f"{folder}/last{number}.wst"})
            os.remove(f"{folder}/counts")
            lasts += [f"{folder}/last{number}.wst.live"] if os.path.lexists(f"{folder}/last{number}.wst.live") else []
        check(lasts, "what removed traces left keeps a program from having memory")
        still = [memory for memory in left if os.path.exists(memory)]
        check(len(still) <= MOST_LEFT, f"memory of removed traces is still there: {still}")
        for memory in still + [os.readlink(link) for link in lasts]:
            os.remove(memory)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--times", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--collector", action="store_true")
    parser.add_argument("--late", type=float, default=0.2, help="share that may be killed too early")
    arguments = parser.parse_args()
    build = os.path.abspath(arguments.build)
    chance = random.Random(arguments.seed)
    place = collector_runs.Place(build) if arguments.collector else None
    try:
        if place:
            place.start()
        else:
            check_same_name(build)
            check_removed(build)
        late = 0
        for number in range(arguments.times):
            threads, after = chance.choice([1, 1, 2, 4, 8]), chance.choice([0, 0.01, 0.1, 0.3, 1]) * chance.random()
            try:
                found = once(build, place, threads, after)
            except AssertionError as error:
                sys.exit(f"WRONG with seed {arguments.seed}, run {number}, {threads} threads, {after:.3f} s: {error}")
            if not found:
                # On a busy machine, a program may be killed before its memory could be shared.
                late += 1
                print(f"run {number}: {threads} threads, {after:.3f} s: too early", flush=True)
                check(late <= 1 + arguments.times * arguments.late, "the memory is not shared in time")
                continue
            print(f"run {number}: {threads} threads, {after:.3f} s: {found[0]} operations, {found[1]} without times", flush=True)
        print(f"{arguments.times} killed, {late} of them too early")
    finally:
        if place:
            place.__exit__()


main()
