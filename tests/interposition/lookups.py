#!/usr/bin/env python3
"""Compares the results of look-ups with and without the shim: lookups.py BUILD ROWS NAMES DRIVER-VERSION [LOADER]

Without the shim, all look-ups return functions of the driver. With the shim, a look-up of a function in the
wrapper table must return the wrapper of exactly the symbol that the driver alone returns for this name, version
and flags. Look-ups of all other functions must return the driver's own. Results and statuses must be the same.
LOADER is the folder of a libcuda.so.1 that only loads the driver, as on WSL: the driver's functions are then in
two libraries."""
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
SHOWN = 20


def look_up(build, names, version, loader, *switches):
    program = [os.path.join(build, "tests/interposition/lookups"), names]
    environment = {**os.environ, "SIMGPU_DRIVER_VERSION": version, "WALLSHIM_OUTPUT": "/nowhere/at/all.wst",
                   "WALLSHIM_LOG": "quiet"}
    if loader:
        program = ["env", "LD_LIBRARY_PATH=" + loader,
                   "SIMGPU_BEHIND=" + os.path.join(build, "tests/simgpu/libcuda.so.1"), *program]
    command = [os.path.join(HERE, "..", "run_preloaded.sh"), *switches, build, *program]
    ended = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=False)
    if ended.returncode:
        sys.exit(f"{' '.join(command)} ended with {ended.returncode}")
    return ended.stdout.splitlines()


def expected(line, wrapped):
    symbol, library = line.rsplit(" ", 2)[1:]
    if symbol in wrapped and library.startswith("libcuda.so"):
        return line[: -len(library)] + "libwallshim.so"
    return line


def main():
    build, rows, names, version = sys.argv[1:5]
    loader = sys.argv[5] if len(sys.argv) > 5 else None
    build = os.path.abspath(build)
    if not os.path.exists(os.path.join(build, "shim/libwallshim.so")):
        print("skipped: the shim is not built")
        return 77
    with open(rows, encoding="ascii") as file:
        wrapped = set(re.findall(r'^DRIVER_TYPE\("(\w+)"', file.read(), re.M))
    without = look_up(build, names, version, loader, "--no-shim")
    with_shim = look_up(build, names, version, loader)
    wrong = 0
    if len(without) != len(with_shim):
        print(f"WRONG {len(without)} answers without the shim, {len(with_shim)} with it")
        wrong += 1
    substituted = set()
    for before, after in zip(without, with_shim):
        # From the program, RTLD_NEXT finds the first library after it. That is the shim, as with RTLD_DEFAULT.
        should = expected(before, wrapped)
        if "libwallshim.so" in after:
            substituted.add(after.rsplit(" ", 2)[1])
        if should != after:
            wrong += 1
            if wrong <= SHOWN:
                print(f"WRONG {after}\n  expected {should}")
    # If no look-up has returned the wrapper of a row, this row is not tested: that is an error, too.
    linked = {line.split()[1] for line in without if line.startswith("linked ")}
    unseen = sorted((wrapped & linked) - substituted)
    if unseen:
        wrong += 1
        print("WRONG never given:", " ".join(unseen))
    print(f"driver {version}: {len(without)} look-ups, {len(substituted)} functions given as wrappers, {wrong} wrong")
    return 1 if wrong else 0


sys.exit(main())
