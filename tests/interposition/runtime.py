#!/usr/bin/env python3
"""Tests that the CUDA runtime, shared and static, finds the driver through the shim: runtime.py BUILD ROWS NVCC

nvcc builds runtime.cu with the shared and with the static runtime. Each program runs on the simulated GPU with and
without the shim. All its look-ups must reach the driver in the same order; with the shim, they must come only from
libwallshim.so. The runtime must then have the wrapper of every function in the table, and the driver's own address
of every other function. (The runtime also asks for private tables of the real driver, which the simulated driver
does not have. So it fails afterwards, in the same way with and without the shim.)"""
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))


def run(build, folder, program, library_path, *switches):
    questions = os.path.join(folder, "questions")
    environment = {**os.environ, "SIMGPU_TRACE_LOOKUPS": questions, "LD_LIBRARY_PATH": library_path,
                   "WALLSHIM_OUTPUT": os.path.join(folder, "%n-%p.wst")}
    ended = subprocess.run([os.path.join(HERE, "..", "run_preloaded.sh"), *switches, build, program], env=environment,
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    with open(questions, encoding="ascii") as file:
        asked = [line.rstrip("\n").split("\t") for line in file]
    os.unlink(questions)
    lines = ended.stdout.splitlines()
    held = dict(line.split()[1:] for line in lines if line.startswith("holds "))
    answers = [line for line in lines if not line.startswith("holds ")]
    return asked, held, answers + [ended.stderr, str(ended.returncode)]


def check(build, wrapped, folder, program, library_path):
    wrong = []
    asked_alone, held_alone, said_alone = run(build, folder, program, library_path, "--no-shim")
    asked, held, said = run(build, folder, program, library_path)
    if said != said_alone:
        wrong.append(f"the program says {said}, without the shim {said_alone}")
    if [question[:3] for question in asked] != [question[:3] for question in asked_alone]:
        wrong.append(f"{len(asked)} questions reach the driver, without the shim {len(asked_alone)}, not the same")
    callers = sorted({question[3] for question in asked})
    if callers != ["libwallshim.so"]:
        wrong.append(f"the driver was asked by {callers}")
    if sorted(held) != sorted(held_alone):
        wrong.append(f"held only with the shim, or only without: {sorted(set(held) ^ set(held_alone))}")
    for symbol, library in sorted(held.items()):
        should = "libwallshim.so" if symbol in wrapped else held_alone.get(symbol)
        if library != should:
            wrong.append(f"holds {symbol} of {library}, should be {should}")
    ours = sum(library == "libwallshim.so" for library in held.values())
    if not ours or len(asked) < 100:
        wrong.append("the runtime hardly asked anything")
    print(f"{os.path.basename(program)}: {len(asked)} look-ups, {len(held)} functions held, {ours} of them wrappers; "
          f"{said[0]}")
    for line in wrong:
        print("WRONG", line)
    return bool(wrong)


def main():
    build, rows, nvcc = sys.argv[1:]
    build = os.path.abspath(build)
    if not os.path.exists(os.path.join(build, "shim/libwallshim.so")):
        print("skipped: the shim is not built")
        return 77
    with open(rows, encoding="ascii") as file:
        wrapped = set(re.findall(r'^DRIVER_TYPE\("(\w+)"', file.read(), re.M))
    library_path = os.path.join(os.path.dirname(os.path.dirname(os.path.realpath(nvcc))), "lib64")
    wrong = False
    with tempfile.TemporaryDirectory() as folder:
        for kind in ("shared", "static"):
            program = os.path.join(folder, "runtime-" + kind)
            subprocess.run([nvcc, "-cudart", kind, "-o", program, os.path.join(HERE, "runtime.cu"), "-ldl"], check=True)
            wrong |= check(build, wrapped, folder, program, library_path)
    return 1 if wrong else 0


sys.exit(main())
