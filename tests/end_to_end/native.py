"""Tests native stacks: compares the stacks that the shim finds by unwind tables with those that the programs themselves
write.

    native.py BUILD CASE|--list"""
import collections
import os
import re
import shutil
import subprocess
import tempfile

import cases
import stacks

DEEPEST = 40  # number of frames that are compared; recordings keep 64, including libc's


def shortened(stack, own):
    """The innermost frames of a stack that `own` accepts, files without their folders."""
    frames = (re.sub(r"\((?:[^()]*/)?([^()/]*)\)$", r"(\1)", frame) for frame in stack.split(";"))
    return ";".join([frame for frame in frames if own(frame)][-DEEPEST:])


def found_in(build, trace, own):
    found = collections.Counter()
    for stack, count in stacks.folded(build, trace).items():
        found[shortened(stack, own)] += count
    return found


def info(build, trace):
    return subprocess.run([f"{build}/tools/wallshim", "info", trace], capture_output=True, text=True, check=True,
                          timeout=60).stdout


def record_probe(build, folder, program=None, which="all,native"):
    """Returns the trace and the stacks that the program saw."""
    programs = f"{build}/tests/programs"
    command = [program or f"{programs}/native_stacks", f"{folder}/seen", f"{programs}/native_one.so", f"{programs}/native_two.so"]
    trace = stacks.record(build, folder, command, WALLSHIM_STACKS=which)
    with open(f"{folder}/seen", encoding="utf-8") as file:
        return trace, file.read().splitlines()


def of_probe(frame):
    return "native_stacks.c:" in frame or "native_plugin.c:" in frame


def case_probe(build):
    """Functions of all kinds, without frame pointers; frames of signals; plugins that are loaded at the same address, one
    after another; stacks of coroutines."""
    with tempfile.TemporaryDirectory() as folder:
        trace, seen = record_probe(build, folder)
        found = found_in(build, trace, of_probe)
        said = info(build, trace)
    truth = collections.Counter(shortened(line, lambda _: True) for line in seen)
    assert len(truth) > 50, len(truth)
    wrong = [f"{count} {stack}" for stack, count in (truth - found).items()]
    more = [f"{count} {stack}" for stack, count in (found - truth).items() if stack.count(";") > 1]
    assert not wrong, f"{len(wrong)} are missing:\n" + "\n".join(wrong[:8]) + "\nbesides:\n" + "\n".join(more[:8])
    # glibc has no unwind tables for what lies below the first function of a coroutine. All other stacks are whole.
    early = sum(line.startswith("on_coroutine") for line in seen)
    assert re.search(rf"native_stacks +\d+ taken, {early} end early, in code without unwind tables$", said, re.M), said
    print(f"{sum(truth.values())} stacks, {len(truth)} different")


def case_replaced(build):
    """A program file that was replaced after the recording gives no names, and the report says so."""
    with tempfile.TemporaryDirectory() as folder:
        program = shutil.copy(f"{build}/tests/programs/native_stacks", f"{folder}/program")
        trace, seen = record_probe(build, folder, program)
        names = found_in(build, trace, of_probe)
        shutil.move(program, f"{folder}/aside")
        for other, reason in (None, "there is no such file here"), ("stepping", "the file has changed since the recording"):
            if other:
                shutil.copy(f"{build}/tests/programs/{other}", program)
            found = stacks.folded(build, trace)
            assert sum(found.values()) == sum(names.values()), (found, names)
            assert not any("native_stacks.c" in stack for stack in found), found
            assert sum("program+0x" in stack for stack in found) > 50, found
            text = subprocess.run([f"{build}/tools/wallshim", "report", "--section", "losses", trace], capture_output=True,
                                  text=True, check=True, timeout=60, env={**os.environ, "COLUMNS": "400"}).stdout
            assert re.search(rf"/program have no names: {reason}", " ".join(text.split())), text
        os.replace(f"{folder}/aside", program)
        assert found_in(build, trace, of_probe) == names
    assert len(seen) > 100, len(seen)


def case_python(build):
    """In a Python program, the native frames are those that Python's innermost function has called."""
    found = stacks.interpreters()
    if not found:
        print("skipped: no interpreter of a known version")
        return 77
    python = list(found.values())[-1]
    with tempfile.TemporaryDirectory() as folder:
        trace = stacks.record(build, folder, [python, f"{stacks.PROGRAMS}/stacks_probe.py", f"{folder}/seen"],
                              WALLSHIM_STACKS="all,native")
        with open(f"{folder}/seen", encoding="utf-8") as file:
            truth = collections.Counter(file.read().splitlines())
        whole = stacks.folded(build, trace)
    of_python, native, with_native = collections.Counter(), set(), 0
    for stack, count in whole.items():
        frames = stack.split(";")
        outer = next((i for i, frame in enumerate(frames) if re.search(r"\.so[.\d]*\)$", frame)), len(frames))
        of_python[";".join(frames[:outer])] += count
        native.update(frame.split(" ")[0] for frame in frames[outer:])
        with_native += count if outer < len(frames) else 0
    wrong = [f"{count} {stack}" for stack, count in (truth - of_python).items()]
    assert not wrong, f"{len(wrong)} are missing:\n" + "\n".join(wrong[:8])
    assert with_native >= sum(truth.values()), (with_native, sum(truth.values()))  # stacks taken between calls have none
    assert "ffi_call" in native, native
    assert not any(name.startswith("_PyEval") for name in native), native
    return 0


def case_sample(build):
    """The sample in C: the report names its lines."""
    with open(f"{stacks.SAMPLES}/train_driver.c", encoding="utf-8") as file:
        lines = file.readlines()
    with tempfile.TemporaryDirectory() as folder:
        trace = stacks.record(build, folder, [f"{build}/samples/train_driver", "--steps", "50"],
                              WALLSHIM_STACKS="all,native")
        found = stacks.folded(build, trace)
        text = subprocess.run([f"{build}/tools/wallshim", "report", "--section", "tree", trace], capture_output=True, text=True,
                              check=True, timeout=60, env={**os.environ, "COLUMNS": "200"}).stdout
    called = {int(number) for stack in found for number in re.findall(r"main \([^;]*train_driver\.c:(\d+)\);train ", stack)}
    assert called and all("train(" in lines[number - 1] for number in called), (called, found)
    for function in "train", "step", "forward":  # the tree shows where functions begin
        begins = next(number for number, line in enumerate(lines, 1) if re.match(rf"static .*\b{function}\(", line))
        assert f"{function} (train_driver.c:{begins})" in text, (function, begins, text)


def gdb_stacks(output):
    """The stacks that gdb printed, as in the export."""
    found, frames = collections.Counter(), []
    for line in output.splitlines() + ["#0 "]:
        if line.startswith("#0 "):
            if frames:
                found[shortened(";".join(reversed(frames)), of_probe)] += 1
            frames = []
        frame = re.match(r"#\d+ +(?:0x[0-9a-f]+ in )?(\S+) \(.*\) at (\S+:\d+)$", line)
        if frame:
            frames.append(f"{frame[1]} ({frame[2]})")
    return found


def case_gdb(build):
    """gdb sees the same stacks."""
    if not shutil.which("gdb") or cases.sanitized(f"{build}/tools/wallshim"):
        print("skipped: needs gdb and a build without sanitizers")
        return 77
    programs = f"{build}/tests/programs"
    with tempfile.TemporaryDirectory() as folder:
        trace, _ = record_probe(build, folder)
        recorded = found_in(build, trace, of_probe)
        with open(f"{folder}/commands", "w", encoding="utf-8") as file:
            file.write("set pagination off\nset width 0\nset debuginfod enabled off\nset breakpoint pending on\n"
                       "handle SIGUSR1 SIGILL nostop noprint pass\nbreak cuMemFree_v2\ncommands\nsilent\nbt\ncontinue\n"
                       "end\nrun\n")
        done = subprocess.run(["gdb", "-nx", "-batch", "-x", f"{folder}/commands", "--args", f"{programs}/native_stacks",
                               f"{folder}/seen", f"{programs}/native_one.so", f"{programs}/native_two.so"],
                              env={**os.environ, "LD_LIBRARY_PATH": f"{build}/tests/simgpu"}, capture_output=True, text=True,
                              check=False, timeout=240)
    theirs = gdb_stacks(done.stdout)
    if not theirs:
        print(f"skipped: gdb runs no program here: {done.stderr[-300:]}")
        return 77
    assert sum(theirs.values()) > 100, (theirs, done.stderr)
    assert not theirs - recorded, theirs - recorded
    print(f"{sum(theirs.values())} stacks, {len(theirs)} different")
    return 0


if __name__ == "__main__":
    cases.main(globals())
