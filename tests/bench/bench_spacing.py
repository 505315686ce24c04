"""Measures how long a launch takes for its thread when there are pauses between launches, on a driver that does
nothing.

bench_spacing.py SPACED_LOOP NULL_DRIVER_FOLDER SHIM WALLSHIM FORWARDING_FLOOR RECORDING_FLOOR

Beside the shim it measures two preloaded wrappers (floors/floor.c): the first only passes the call on, the second
also reads the tick counter twice and stores a record. With BENCH_LONG set, each run has 10,000,000 launches.
"""
import json
import os
import statistics
import subprocess
import sys
import tempfile

loop, driver, shim, wallshim, forwarding, recording = (os.path.abspath(path) for path in sys.argv[1:7])
LONG = bool(os.environ.get("BENCH_LONG"))
PAUSES = ((0, 10_000_000), (2000, 1_000_000), (5000, 500_000)) # ns between launches, and launches in a run
PAIRS, PAIR_LAUNCHES, PAIR_PAUSE = 15, 100_000, 2000
FIGURES = ("mean", "median", "p99", "p99.9")


def run(launches, pause, cores, preload=None, trace=None, **options):
    """Runs the loop and returns the figures that it prints. cores: the core of the launching thread, and the core of the
    shim's threads (-1: any)."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("WALLSHIM_")}
    environment["LD_LIBRARY_PATH"] = driver
    with tempfile.TemporaryDirectory() as folder:
        environment["WALLSHIM_OUTPUT"] = trace or os.path.join(folder, "trace.wst")
        environment.update({"WALLSHIM_" + k.upper(): v for k, v in options.items()})
        if preload:
            environment["LD_PRELOAD"] = preload
        done = subprocess.run([loop, str(launches), str(pause), *map(str, cores)], env=environment, cwd=folder,
                              check=True, text=True, stdout=subprocess.PIPE)
    return {name: float(value) for name, value in (line.split() for line in done.stdout.splitlines())}


def not_recorded(trace):
    """The number of launches that the trace counts as lost because the ring (the thread's buffer) was full."""
    done = subprocess.run([wallshim, "report", "--json", trace], check=True, text=True, stdout=subprocess.PIPE)
    losses = [loss for process in json.loads(done.stdout)["processes"] for loss in process["losses"]]
    return sum(loss["count"] for loss in losses if "ring was full" in loss["reason"])


def show(name, value, unit, **more):
    print(json.dumps({"name": name, "value": round(value, 3), "unit": unit, **more}), flush=True)


def show_pause(pause, launches, cores, where):
    """Measures launches with this pause: first with nothing preloaded, then with each of the two wrappers, then with
    the shim."""
    none = run(launches, pause, cores)
    forwarded = run(launches, pause, cores, preload=forwarding)
    recorded = run(launches, pause, cores, preload=recording)
    with tempfile.TemporaryDirectory() as folder:
        trace = os.path.join(folder, "trace.wst")
        ours = run(launches, pause, cores, preload=shim, trace=trace, backend="host", log="quiet")
        lost = not_recorded(trace)
    title = f"launch, {pause / 1000:g} µs apart, drain on {where}"
    budgets = {(2000, "mean"): 60, **{(pause, "p99.9"): 2000 for pause, _ in PAUSES}}
    for figure in FIGURES:
        show(f"{title}: {figure}", ours[figure] - none[figure], "ns", budget=budgets.get((pause, figure)),
             floor=recorded[figure] - none[figure])
    for name, floor in (("forwarding", forwarded), ("recording", recorded)):
        budget = {"budget": 1.2} if not pause and name == "recording" else {}
        show(f"{title}: median beside a {name} wrapper's", ours["median"] / floor["median"], "times", **budget)
    show(f"{title}: page faults of the launching thread", ours["faults"] - none["faults"], "faults")
    show(f"{title}: not recorded, the ring was full", 100 * lost / launches, "% of launches")


def show_dormant(cores, where):
    """Measures a dormant shim (loaded, but not recording) by pairs of runs, with and without the shim. The order
    alternates from pair to pair, so that other work on the machine slows both runs alike."""
    differences = []
    for pair in range(PAIRS * (4 if LONG else 1)):
        taken = {}
        for is_dormant in (True, False) if pair % 2 else (False, True):
            options = {"preload": shim, "capture_range": "profiler", "log": "quiet"} if is_dormant else {}
            taken[is_dormant] = run(PAIR_LAUNCHES, PAIR_PAUSE, cores, **options)["all"]
        differences.append(100 * (taken[True] / taken[False] - 1))
    low, median, high = statistics.quantiles(differences, n=4)
    show(f"dormant, launches 2 µs apart, drain on {where}: longer, median of pairs", median, "%", budget=0.3)
    show(f"dormant, launches 2 µs apart, drain on {where}: middle half of the pairs", high - low, "%")


allowed = sorted(os.sched_getaffinity(0))
places = [((allowed[-1], allowed[-1]), "the same core")]
if len(allowed) > 1:
    places.append(((allowed[-1], allowed[0]), "another core"))
for cores, where in places:
    for pause, launches in PAUSES:
        show_pause(pause, 10_000_000 if LONG else launches, cores, where)
    show_dormant(cores, where)
