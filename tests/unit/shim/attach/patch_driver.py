#!/usr/bin/env python3
"""Compiles the simulated driver with -O0 to -O3, with and without endbr64 at each function. Programs that test the driver run
with each of these drivers. A preloaded library patches all functions of the driver table (those that the shim wraps). The
programs must pass, almost all functions must be patched, and calls must reach the replacements.

    patch_driver.py BUILD PATCH_ALL_LIBRARY COMPILER PROGRAM…

Prints for each driver how many functions were patched, or refused and why. Exits with 77 if the compiler makes no such code."""
import concurrent.futures
import glob
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), *[".."] * 4))
LEVELS = ["-O0", "-O1", "-O2", "-O3"]
PROTECTIONS = ["none", "full"]
LEAST_PATCHED = 0.98


def build_driver(compiler, build, folder, flags):
    """Compiles the driver's functions with these flags. What they call is taken from the build."""
    simgpu = os.path.join(ROOT, "tests", "simgpu")
    includes = [f"-I{path}" for path in (simgpu, ROOT, os.path.join(ROOT, "src"), os.path.join(build, "tests", "simgpu"))]
    objects = glob.glob(os.path.join(build, "tests", "simgpu", "libcuda.so.1.p", "engine_*.o"))
    command = [compiler, *flags, "-std=gnu11", "-D_GNU_SOURCE", "-fno-strict-aliasing", "-fPIC", "-shared",
               "-fvisibility=hidden", *includes, *sorted(glob.glob(os.path.join(simgpu, "api", "*.c"))), *objects,
               f"-Wl,--version-script={simgpu}/libcuda.map", "-Wl,-Bsymbolic,-z,nodelete,-soname,libcuda.so.1",
               "-lpthread", "-ldl", "-lm", "-o", os.path.join(folder, "libcuda.so.1")]
    return subprocess.run(command, stderr=subprocess.PIPE, text=True)


def run_program(program, library, folder):
    """Returns the program's exit status, and the text that the preloaded library wrote."""
    log = os.path.join(folder, "log")
    if os.path.exists(log):
        os.remove(log)
    environment = dict(os.environ, LD_PRELOAD=library, LD_LIBRARY_PATH=folder, PATCH_ALL_LOG=log)
    status = subprocess.run([program], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode
    return status, open(log, encoding="utf-8").read().strip() if os.path.exists(log) else ""


def check(status, said):
    """Returns a text that says what is wrong, or None."""
    if status or not said.endswith("right"):
        return f"status {status}, {said or 'nothing patched'}"
    counts = [int(number) for number in re.findall(r"(\d+) ", said)]
    patched, calls = counts[0], counts[-1]
    if patched < LEAST_PATCHED * sum(counts[:-1]):
        return f"too few were patched: {said}"
    return None if calls else "no call came to a replacement"


def main():
    build, library, compiler, *programs = sys.argv[1:]
    failed = False
    with tempfile.TemporaryDirectory() as top, concurrent.futures.ThreadPoolExecutor(2) as pool:
        flags = {f"{level} -fcf-protection={protection}": ["-g0", level, f"-fcf-protection={protection}"]
                 for level in LEVELS for protection in PROTECTIONS}
        folders = {name: os.path.join(top, str(index)) for index, name in enumerate(flags)}
        for folder in folders.values():
            os.mkdir(folder)
        built = {name: pool.submit(build_driver, compiler, build, folders[name], flags[name]) for name in flags}
        for name in flags:
            if built[name].result().returncode:
                print(built[name].result().stderr)
                return 77
            for program in programs:
                status, said = run_program(program, library, folders[name])
                wrong = check(status, said)
                failed |= wrong is not None
                print(f"{name:28} {os.path.basename(program):24} {'WRONG: ' + wrong if wrong else said}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
