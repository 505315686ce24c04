#!/usr/bin/env python3
"""Runs a small program with and without the shim on the simulated GPU, and compares all its visible effects.

    transparency.py BUILD CASE…       some of the cases in transparency_cases.py, by name or by the word before a "/"
    transparency.py --list            lists the tests, and which of them need a build without sanitizers

It compares standard output, standard error without lines that begin with "wallshim:", the exit status or signal, and
the files left in the program's folder, except for traces. Then it checks the number of traces, and that each can be
read.
"""
import argparse
import difflib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import cases
from transparency_cases import CAPTURED, CASES, CONTENDED, TIMED

HERE = os.path.dirname(os.path.abspath(__file__))
SKIPPED = 77
LIMIT_S = 120


def skip(why):
    print("skipped:", why)
    sys.exit(SKIPPED)


def program_of(build, name):
    if name == "python3":
        return name
    return os.path.join(build, "tests/programs", "hazard_" + name)


def command_of(build, case, shim, scratch, traces):
    """The command and its environment."""
    environment = {"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "HOME": scratch, "LC_ALL": "C",
                   "SIMGPU_STALE_ABORTS": "1", "SIMGPU_CAPTURE_STRICT": "1",
                   "WALLSHIM_OUTPUT": os.path.join(case.folder or traces, "%n-%p.wst")}
    environment |= {name: os.environ[name] for name in ("STRIDE", "FIRST") if name in os.environ}
    environment |= case.environment
    # Sanitizers must not handle the signals that kill programs. They must not use alternate signal stacks either,
    # because these do not survive the cancellation of a thread.
    own = "handle_segv=0:handle_abort=0:use_sigaltstack=0"
    for name in ("ASAN_OPTIONS", "TSAN_OPTIONS", "UBSAN_OPTIONS"):
        environment[name] = ":".join(filter(None, (os.environ.get(name), own)))
    wrapper = [os.path.join(HERE, "..", "run_preloaded.sh")]
    wrapper += [] if shim else ["--no-shim"]
    wrapper += ["--no-driver"] if not case.driver else []
    for side in ("before", "after"):
        library = getattr(case, side)
        wrapper += [f"--{side}", os.path.join(build, f"tests/programs/libraries/lib{library}.so")] if library else []
    if case.faults:
        wrapper += ["--before", os.path.join(build, "tests/programs/libraries/libfaults.so")]
        environment["FAULTS"] = case.faults
    if case.accounted:
        environment["SIMGPU_TRUTH"] = os.path.join(scratch, "truth-%p.tsv")
    program = [program_of(build, case.command[0])]
    program += [os.path.join(HERE, word) if word.endswith(".py") else word for word in case.command[1:]]
    return [*wrapper, build, *program], environment


# Shell lines that run the program ("$@") in a mount namespace with other file systems.
SETUPS = {
    "no-proc": 'mount -t tmpfs -o size=4k none /proc && exec "$@"',
    "tiny": 'mount -t tmpfs -o size=16k none "$TRACES" && exec "$@"',
}


def own_place(case, command, traces):
    if not case.setup:
        return command
    if subprocess.run(["unshare", "-rm", "mount", "-t", "tmpfs", "none", traces], stdout=subprocess.DEVNULL,
                      stderr=subprocess.DEVNULL, check=False).returncode:
        skip("a mount namespace of one's own is not permitted here")
    return ["unshare", "-rm", "sh", "-c", "TRACES=" + traces + "; " + SETUPS[case.setup], "sh", *command]


def files_in(folder):
    found = {}
    for path, _, names in os.walk(folder):
        for name in names:
            full = os.path.join(path, name)
            with open(full, "rb") as file:
                found[os.path.relpath(full, folder)] = (oct(os.stat(full).st_mode), file.read())
        found[os.path.relpath(path, folder) + "/"] = None
    return {name: held for name, held in found.items() if not name.endswith(".wst") and not name.startswith("truth-")}


def run(build, case, shim, top):
    scratch, traces = os.path.join(top, "scratch"), os.path.join(top, "traces")
    os.makedirs(scratch)
    os.makedirs(traces)
    command, environment = command_of(build, case, shim, scratch, traces)
    command = own_place(case, command, traces)
    if case.closed:
        command = ["sh", "-c", '"$@" <&- >&- 2>&-', "sh", *command]
    began_file = os.path.join(top, "began")  # created when the program begins: seconds later on a busy machine
    environment["BEGAN_FILE"] = began_file
    with open(os.path.join(top, "out"), "w+b") as out, open(os.path.join(top, "err"), "w+b") as err:
        try:
            ended = subprocess.run(command, cwd=scratch, env=environment, stdin=subprocess.DEVNULL, stdout=out, stderr=err,
                                   timeout=LIMIT_S, check=False).returncode
        except subprocess.TimeoutExpired:
            ended = "did not end"
        over = time.time()
        out.seek(0)
        err.seek(0)
        lines = err.read().splitlines()
        seen = {"status": ended, "stdout": out.read().decode(errors="replace").splitlines(),
                "stderr": [line.decode(errors="replace") for line in lines if not line.startswith(b"wallshim:")],
                "files": files_in(scratch)}
    said = [line.decode(errors="replace") for line in lines if line.startswith(b"wallshim:")]
    found = [os.path.join(path, name) for path, _, names in os.walk(top) for name in names if name.endswith(".wst")]
    with open(began_file, encoding="ascii") as file:
        seen["seconds"] = over - float(file.read())
    # The scratch folder's name differs from run to run.
    for what in ("stdout", "stderr"):
        seen[what] = [line.replace(top, "TOP") for line in seen[what]]
    return seen, said, found


BYPASSED = 12 # in enum ws_loss_reason


def rows_of(build, trace, killed):
    """The numbers of operations in a trace and of look-ups that bypassed the shim; None if the command is not built.
    On a busy machine, a program that was killed or called exec may have written nothing yet."""
    tool = os.path.join(build, "tools/wallshim")
    if not os.path.exists(tool):
        return None
    if killed and not os.path.getsize(trace):
        return 0, 0
    dumped = subprocess.run([tool, "dump", "--json", trace], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    if dumped.returncode:
        sys.exit(f"wallshim dump of {trace} ended with {dumped.returncode}: {dumped.stderr.decode(errors='replace')}")
    rows = dumped.stdout.splitlines()
    losses = (json.loads(row) for row in rows if b'"loss"' in row)
    return sum(b'"op"' in row for row in rows), sum(loss["count"] for loss in losses if loss["reason"] == BYPASSED)


def said_in(build, trace, key):
    """The value of this key in the trace's metadata."""
    rows = subprocess.run([os.path.join(build, "tools/wallshim"), "dump", "--json", "--family", "meta", trace],
                          stdout=subprocess.PIPE, check=True).stdout
    return next((row["value"] for row in map(json.loads, rows.splitlines()) if row["key"] == key), None)


def unaccounted(build, trace, scratch):
    """Compares the operations that the driver got with the operations that the trace holds or counts as lost. Yields
    each difference."""
    with open(os.path.join(scratch, f"truth-{said_in(build, trace, 'pid')}.tsv"), encoding="utf-8") as truth:
        given = sum(line.split("\t")[4:5] in (["kernel"], ["copy"], ["memset"]) for line in truth)
    dumped = subprocess.run([os.path.join(build, "tools/wallshim"), "dump", "--json", trace], stdout=subprocess.PIPE,
                            check=True).stdout.splitlines()
    held = sum(not json.loads(row)["result"] for row in dumped if b'"op"' in row)
    lost = sum(json.loads(row)["count"] for row in dumped if b'"loss"' in row)
    print(f"{given} operations given to the driver, {held} in the trace, {lost} counted as lost")
    if not held <= given <= held + lost:
        yield f"{given} operations were given to the driver, {held} are in the trace, {lost} counted as lost"


def flagged(build, trace, flags):
    rows = subprocess.run([os.path.join(build, "tools/wallshim"), "dump", "--json", "--family", "op", trace],
                          stdout=subprocess.PIPE, check=True).stdout
    return sum(bool(json.loads(row)["flags"] & flags) for row in rows.splitlines())


def spoilt_at_last(build, trace, count):
    """How many of the last `count` operations have no device times, or have another thread's operation between their two
    events."""
    rows = subprocess.run([os.path.join(build, "tools/wallshim"), "dump", "--json", "--family", "op", trace],
                          stdout=subprocess.PIPE, check=True).stdout
    last = sorted(map(json.loads, rows.splitlines()), key=lambda row: row["correlation"])[-count:]
    return count - sum(bool(row["flags"] & TIMED) and not row["flags"] & CONTENDED for row in last)


def losses_in(build, trace):
    rows = subprocess.run([os.path.join(build, "tools/wallshim"), "dump", "--json", "--family", "loss", trace],
                          stdout=subprocess.PIPE, check=True).stdout
    return sum(json.loads(row)["count"] for row in rows.splitlines())


def count_of(build, trace, family):
    return subprocess.run([os.path.join(build, "tools/wallshim"), "dump", "--json", "--family", family, trace],
                          stdout=subprocess.PIPE, check=True).stdout.count(b"\n")


def differences(without, with_shim):
    for what in without:
        if without[what] == with_shim[what]:
            continue
        if isinstance(without[what], list):
            yield from (f"{what}: {line}" for line in difflib.unified_diff(without[what], with_shim[what], "without",
                                                                           "with the shim", lineterm="", n=1))
        else:
            yield f"{what}: {without[what]} without, {with_shim[what]} with the shim"


def check(build, name, keep, alone):
    case = CASES[name]
    if not alone and not os.path.exists(os.path.join(build, "shim/libwallshim.so")):
        skip("the shim is not built")
    if case.plain_only and cases.sanitized(os.path.join(build, "tests/simgpu/libcuda.so.1")):
        skip(case.plain_only)
    top = tempfile.mkdtemp(prefix="transparency-")
    wrong = []
    try:
        without, _, strange = run(build, case, False, os.path.join(top, "without"))
        with_shim, said, traces = run(build, case, not alone, os.path.join(top, "with"))
        longer_s = with_shim.pop("seconds") - without.pop("seconds")
        wrong += differences(without, with_shim)
        if case.longer_s is not None and longer_s > case.longer_s:
            wrong.append(f"{longer_s:.1f} s longer with the shim")
        print(f"{name}: {len(without['stdout'])} lines, status {without['status']}")
        if alone:
            return 1 if wrong else 0
        wrong += [f"a trace without the shim: {trace}" for trace in strange]
        if isinstance(without["status"], str):
            wrong.append("the program does not end")
        if without["status"] in (2, 90, 91, 92, 93) or without["status"] == -signal.SIGILL:
            wrong.append(f"the program cannot do its work without the shim: {without}")
        if case.said and not any(case.said in line for line in said):
            wrong.append(f"the shim does not say: {case.said}")
        if said and not case.says and not case.said:
            wrong.append(f"the shim says: {said}")
        if case.traces is not None and len(traces) not in case.traces:
            wrong.append(f"{len(traces)} traces: {traces}")
        killed = case.execs or (isinstance(with_shim["status"], int) and with_shim["status"] < 0)
        held = [rows_of(build, trace, killed) for trace in traces]
        if None not in held and sum(ops for ops, _ in held) < case.ops:
            wrong.append(f"{held} operations in the traces, should be {case.ops} at least")
        if None not in held and held and any(around for _, around in held) != case.bypassed:
            wrong.append(f"look-ups that went around the shim: {[around for _, around in held]}")
        if case.only and None not in held and sum(ops for ops, _ in held) > case.ops:
            wrong.append(f"{held} operations in the traces, should be no more than {case.ops}")
        if case.often and None not in held and sum(flagged(build, trace, case.often[0]) for trace in traces) < case.often[1]:
            wrong.append(f"fewer than {case.often[1]} operations with flags of {case.often[0]:#x}")
        if case.seldom and None not in held:
            wrong += [f"{flagged(build, trace, case.seldom)} of {ops} operations with flags of {case.seldom:#x}"
                      for trace, (ops, _) in zip(traces, held) if 3 * flagged(build, trace, case.seldom) > ops]
        if case.never and None not in held:
            wrong += [f"{flagged(build, trace, case.never)} operations with flags of {case.never:#x}" for trace in traces
                      if flagged(build, trace, case.never)]
        if case.timed and None not in held:
            wrong += [f"{ops - flagged(build, trace, TIMED)} operations without device times"
                      for trace, (ops, _) in zip(traces, held) if ops != flagged(build, trace, TIMED)]
        if case.end is not None and None not in held:
            ends = [said_in(build, trace, "end") for trace in traces]
            wrong += [f"the traces say of the end: {ends}, should be {case.end}"] if set(ends) != {case.end} else []
        if case.most and None not in held:
            wrong += [f"{count} rows of {case.most[0]}, should be {case.most[1]} at most" for trace in traces
                      if (count := count_of(build, trace, case.most[0])) > case.most[1]]
        if case.accounted and None not in held:
            for trace in traces:
                wrong += unaccounted(build, trace, os.path.join(top, "with", "scratch"))
        if case.last and None not in held:
            wrong += [f"{count} of the last {case.last} operations without times or contended" for trace in traces
                      if (count := spoilt_at_last(build, trace, case.last))]
        if case.lost and sum(losses_in(build, trace) for trace in traces) < case.lost:
            wrong.append(f"{[losses_in(build, trace) for trace in traces]} losses, should be {case.lost} at least")
        if case.captured is not None and None not in held:
            found = sum(flagged(build, trace, CAPTURED) for trace in traces)
            wrong += [f"{found} captured operations, should be {case.captured}"] if found != case.captured else []
        for line in said:
            print(line)
        print(f"{len(traces)} traces, operations in them and look-ups that went around: {held}")
    finally:
        if keep:
            print("kept in", top)
        else:
            shutil.rmtree(top, ignore_errors=True)
        for line in wrong:
            print("WRONG", line if len(line) < 2000 else line[:2000] + " … (cut here)")
    return 1 if wrong else 0


def tests():
    """{test: whether it needs a build without sanitizers}. Cases with the same word before a "/" are one test."""
    named = {}
    for name, case in CASES.items():
        test = name.split("/")[0]
        named[test] = named.get(test, False) or case.plain_only is not None
    return named


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--keep", action="store_true", help="leave the folders of both runs")
    parser.add_argument("--alone", action="store_true", help="without the shim both times: is the program steady?")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("build", nargs="?")
    parser.add_argument("case", nargs="*")
    arguments = parser.parse_args()
    if arguments.list or not arguments.build:
        print("\n".join(name + (" plain" if plain else "") for name, plain in tests().items()))
        return 0
    asked = arguments.case or tests()
    build = os.path.abspath(arguments.build)
    return max(check(build, name, arguments.keep, arguments.alone)
               for name in CASES if name in asked or name.split("/")[0] in asked)


sys.exit(main())
