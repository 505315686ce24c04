"""Measures what the shim adds to a launch: ns, instructions (callgrind), and driver calls.

bench_launch.py LAUNCH_LOOP NULL_DRIVER_FOLDER SHIM PRODUCT_LOOP
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

loop, driver, shim, product_loop = (os.path.abspath(path) for path in sys.argv[1:5])


def run(arguments, prefix=(), program=None, **options):
    """Runs the loop in a scratch folder; with `options`, under the shim with these options."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("WALLSHIM_")}
    environment["LD_LIBRARY_PATH"] = driver
    if options:
        environment["LD_PRELOAD"] = shim
        environment.update({"WALLSHIM_" + k.upper(): v for k, v in options.items()})
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([*prefix, program or loop, *arguments], env=environment, cwd=folder, check=True, text=True,
                              capture_output=True)
    return done


def ns_of(arguments, **options):
    return float(run(arguments, **options).stdout.split()[1])


def instructions(*more, program=None, **options):
    """Instructions per launch: the difference of two runs of different length, so that the instructions of the start
    cancel out."""
    counts = []
    for launches in (100000, 200000):
        with tempfile.TemporaryDirectory() as folder:
            out = os.path.join(folder, "out")
            tool = ["valgrind", "--tool=callgrind", "--separate-threads=yes", "--callgrind-out-file=" + out]
            run(["1", str(launches), *more], prefix=tool, program=program, **options)
            with open(out + "-01", encoding="utf-8") as text: # the counts of the launching thread
                counts.append(int(re.search(r"^(?:totals|summary): (\d+)", text.read(), re.M).group(1)))
    return (counts[1] - counts[0]) / 100000


def drain_cpu(**options):
    """CPU time of the drain (the shim's thread that writes the trace) per launch, in ns: the difference of two runs of
    different length, so that the time in which the drain finds nothing to do mostly cancels out."""
    used = []
    for launches in (10000, 20000):
        lines = dict(line.split() for line in run(["41", str(launches), "600"], **options).stdout.splitlines())
        used.append(int(lines["drain_cpu_ns"]))
    return (used[1] - used[0]) / (41 * 10000)


def calls_added(**options):
    """Driver calls per launch that the launching thread makes besides the launches: the difference of two runs of
    different length. The bursts are so short that the shim always has a free event."""
    totals = []
    for bursts in (20, 40):
        os.environ["NULL_DRIVER_COUNTS"] = "1"
        lines = run([str(bursts), "200"], **options).stdout.splitlines()
        del os.environ["NULL_DRIVER_COUNTS"]
        totals.append({name: int(number) for name, number in (line.split() for line in lines if line.startswith("cu"))})
    launches = totals[1]["cuLaunchKernel"] - totals[0]["cuLaunchKernel"]
    return {name: (totals[1][name] - totals[0][name]) / launches for name in totals[0] if name != "cuLaunchKernel"}


def show(name, value, unit, **more):
    print(json.dumps({"name": name, "value": round(value, 2), "unit": unit, **more}), flush=True)


floors = dict(line.split() for line in run(["floor"]).stdout.splitlines())
floor = float(floors["ring_store"])
show("clock_gettime", float(floors["clock_gettime"]), "ns")
show("time-stamp counter", float(floors["counter"]), "ns")
show("ring store with two counter reads", floor, "ns")
bare = ns_of(["41", "20000"])
host = ns_of(["41", "20000"], backend="host")
show("shim per launch", host - bare, "ns", budget=40, floor=floor)
show("shim per launch, ratio to the floor", (host - bare) / floor, "times", budget=1.2)
many = ns_of(["41", "20000", "600"], backend="host")
show("shim per launch, 600 kernels", many - ns_of(["41", "20000", "600"]), "ns", budget=40, floor=floor)
no_params = ns_of(["41", "20000"], backend="host", params="none")
show("shim per launch, no parameters", no_params - bare, "ns", floor=floor)
dormant = ns_of(["41", "20000"], capture_range="profiler")
show("shim per launch, dormant", dormant - bare, "ns", budget=1)
few = ns_of(["21", "20000"])  # in less than 300 ms, as recording pauses after that: so many records cost more than --overhead
show("shim per launch with few events, recorded at no cost", few - bare, "ns", floor=floor)
shared = ns_of(["41", "4000"], event_placement="shared")
show("shim per launch, events recorded at no cost", shared - bare, "ns")
for placement in ("shared", "pairs"):
    for function, number in calls_added(event_placement=placement).items():
        if number:
            show(f"driver calls added per launch, {placement}: {function}", number, "calls")
show("drain's CPU per launch", drain_cpu(backend="host"), "ns", budget=90)
added = sum(calls_added(backend="host").values())
show("driver calls added per launch, host backend", added, "calls", budget=0)
with_sizes = dict(line.split() for line in run(["21", "20000"], program=product_loop, backend="host").stdout.splitlines())
without = dict(line.split() for line in run(["21", "20000"], program=product_loop).stdout.splitlines())
products = (("gemm", "cublasGemmEx"), ("lt", "cublasLtMatmul"), ("execute", "cudnnBackendExecute"),
            ("convolution", "cudnnConvolutionForward"))
for name, function in products:
    show(f"sizes of a product, {function}", float(with_sizes[name]) - float(without[name]), "ns", budget=30, floor=floor)
if shutil.which("valgrind"):
    base = instructions()
    show("shim per launch, instructions", instructions(backend="host", ring="64M", log="quiet") - base, "instructions",
         budget=133)
    show("shim per launch with few events, instructions", instructions(ring="64M", log="quiet") - base, "instructions")
    default = ("16", "default")
    show("shim per launch on a default stream, instructions",
         instructions(*default, backend="host", ring="64M", log="quiet") - instructions(*default), "instructions", budget=137)
    show("shim per launch, dormant, instructions", instructions(capture_range="profiler") - base, "instructions")
    for name, function in products:
        sizes = instructions(name, program=product_loop, backend="host", ring="64M", log="quiet")
        show(f"sizes of a product, {function}, instructions", sizes - instructions(name, program=product_loop),
             "instructions")
