#!/usr/bin/env python3
"""Tests how often the shim's threads run, and how soon launches are in the trace file.

    pace.py BUILD

The drain is the shim's thread that writes the trace. idle: in an idle program, the threads hardly run. few: if the shim
has few CUDA events left, launches do not keep the drain running. dormant: launches that are not recorded do not keep the
drain running either. after-idle, slowly: launches after a pause are in the trace soon, even if a SIGKILL follows."""
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
build = os.path.abspath(sys.argv[1])


def run(*arguments, **options):
    """Runs the program. Returns the cost of the shim's threads that it prints, and the number of operations in its
    trace."""
    with tempfile.TemporaryDirectory() as folder:
        trace = os.path.join(folder, "a.wst")
        environment = {"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "WALLSHIM_OUTPUT": trace}
        environment.update({"WALLSHIM_" + name.upper(): value for name, value in options.items()})
        for name in ("ASAN_OPTIONS", "TSAN_OPTIONS", "UBSAN_OPTIONS"):
            if name in os.environ:
                environment[name] = os.environ[name]
        done = subprocess.run([os.path.join(HERE, "..", "run_preloaded.sh"), build,
                               os.path.join(build, "tests/programs/hazard_pace"), *arguments],
                              env=environment, stderr=subprocess.PIPE, text=True, timeout=100, check=False)
        dumped = subprocess.run([os.path.join(build, "tools/wallshim"), "dump", "--json", "--family", "op", trace],
                                stdout=subprocess.PIPE, check=True).stdout
    words = done.stderr.split()
    cost = {words[i]: float(words[i + 1]) for i in range(1, len(words) - 1, 2)} if words[:1] in (["idle"], ["busy"]) else {}
    print(*arguments, options, "status", done.returncode, cost, dumped.count(b"\n"), "operations")
    return cost, dumped.count(b"\n")


def check(is_so, what):
    if not is_so:
        print("WRONG", what)
    return 0 if is_so else 1


def idle():
    cost, _ = run("idle", "5", "6")
    return (check(cost["wakeups_a_second"] <= 3, "woken too often while nothing happens") or
            check(cost["cpu_percent"] <= 0.3, "too much work while nothing happens"))


def few():
    # The drain also wakes up after waiting for a lock of the simulated driver. These wake-ups count too.
    cost, _ = run("busy", "2", events="16")
    return check(cost["wakeups_a_second"] <= 2500, "kept running by launches that find few events")


def dormant():
    cost, _ = run("busy", "3", capture_range="profiler")
    return check(cost["wakeups_a_second"] <= 40, "kept running by launches that are not recorded")


def after_idle():
    _, ops = run("killed", "6", "1.2")
    return check(ops == 2, "the launch after the pause is not in the file")


def slowly():
    _, ops = run("killed", "1", "0.6")
    return check(ops == 2, "the launch after the pause is not in the file")


sys.exit(idle() or few() or dormant() or after_idle() or slowly())
