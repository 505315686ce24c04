"""Measures how many records a second the collector takes from many producers into files, and its memory:
bench_collector.py COLLECTOR LOAD MAKE_TRACE LAUNCH_LOOP NULL_DRIVER_FOLDER SHIM WALLSHIM

The producers send a trace that is encoded already, so that this is the collector's speed and not the encoder's. The
last rows are measured with recorded programs on a driver that does nothing: first eight programs, then 64 programs of
eight threads each. They launch as fast as they can, with pauses of 20 ms.
Producers, collector and files share the machine.
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

RECORDS = 4_000_000  # in the trace that each producer sends
MANY, MANY_THREADS, MANY_SECONDS = 64, 8, 60
# Reasons of losses (src/record/record.h): the thread's buffer (ring) was full, the thread had none, the trace could not
# be written, there was no room.
LOST = (0, 6, 10, 19)
RUNS = ((1, 16), (8, 8), (64, 1))  # producers, and how often each sends the trace


def say(name, value, unit, **more):
    print(json.dumps({"name": name, "value": round(value, 3), "unit": unit, **more}))


def usage_of(pid):
    """The peak memory in bytes, and the seconds of processor time."""
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        peak = next(int(line.split()[1]) for line in file if line.startswith("VmHWM"))
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return peak * 1024, (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def start(collector, folder):
    socket, jobs = f"{folder}/run/socket", f"{folder}/jobs"
    server = subprocess.Popen([collector, "--listen", f"unix:{socket}", "--dir", jobs, "--job", "load"],
                              stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while not os.path.exists(socket):
        if server.poll() is not None:
            sys.exit("the collector has ended")
        time.sleep(0.01)
    return server, socket, jobs


def measure(collector, load, trace, folder, producers, times):
    server, socket, jobs = start(collector, folder)
    took = float(subprocess.run([load, socket, trace, str(producers), str(times)], check=True, capture_output=True,
                                text=True).stdout)
    peak, processor = usage_of(server.pid)
    server.terminate()
    server.wait()
    size = os.path.getsize(trace)
    names = [name for name in os.listdir(f"{jobs}/load") if name.endswith(".wst")]
    if len(names) != producers * times or any(os.path.getsize(f"{jobs}/load/{name}") != size for name in names):
        sys.exit(f"{len(names)} traces of {producers * times}, or not whole")
    shutil.rmtree(jobs)
    return RECORDS * producers * times / 1e6, took, peak, processor


def operations_in(wallshim, trace):
    text = subprocess.run([wallshim, "info", trace], check=True, capture_output=True, text=True).stdout
    return next(int(line.split()[0].replace(",", "")) for line in text.splitlines() if line.split()[1:] == ["op"])


def measure_programs(collector, folder, launch_loop, driver, shim, wallshim):
    """Records eight programs. Returns the millions of operations in their traces, and the seconds that they ran."""
    server, socket, jobs = start(collector, folder)
    environment = {**os.environ, "LD_LIBRARY_PATH": driver, "LD_PRELOAD": shim, "WALLSHIM_BACKEND": "host",
                   "WALLSHIM_COLLECTOR": socket}
    begin = time.monotonic()
    programs = [subprocess.Popen([launch_loop, "250", "20000"], env=environment, cwd=folder, stdout=subprocess.DEVNULL)
                for _ in range(8)]
    if any(program.wait() for program in programs):
        sys.exit("a program failed")
    took = time.monotonic() - begin
    server.terminate()
    server.wait()
    traces = [f"{jobs}/load/{name}" for name in os.listdir(f"{jobs}/load") if name.endswith(".wst")]
    if len(traces) != 8:
        sys.exit(f"{len(traces)} traces of 8 programs")
    return sum(operations_in(wallshim, trace) for trace in traces) / 1e6, took


def lost_in(wallshim, trace):
    """Records that the trace counts as lost."""
    text = subprocess.run([wallshim, "dump", "--json", "--family", "loss", trace], check=True, capture_output=True,
                          text=True).stdout
    return sum(row["count"] for row in map(json.loads, text.splitlines()) if row["reason"] in LOST)


def measure_many(collector, folder, launch_loop, driver, shim, wallshim):
    """Records 64 programs of 8 threads for a minute. Returns the millions of launches that they made, that are in traces,
    and that are counted as lost; then the collector's peak memory and its seconds of processor time."""
    server, socket, jobs = start(collector, folder)
    environment = {**os.environ, "LD_LIBRARY_PATH": driver, "LD_PRELOAD": shim, "WALLSHIM_BACKEND": "host",
                   "WALLSHIM_COLLECTOR": socket}
    programs = [subprocess.Popen([launch_loop, "threads", str(MANY_THREADS), str(MANY_SECONDS), "500"], env=environment,
                                 cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
                for _ in range(MANY)]
    made = sum(int(program.communicate()[0]) for program in programs)
    peak, processor = usage_of(server.pid)
    server.terminate()
    server.wait()
    # On a busy machine, some programs may not reach the collector in time. They write their traces to files themselves.
    traces = [f"{place}/{name}" for place in (f"{jobs}/load", folder) for name in os.listdir(place)
              if name.endswith(".wst") and not name.startswith("training")]
    if len(traces) != MANY:
        sys.exit(f"{len(traces)} traces of {MANY} programs")
    held = sum(operations_in(wallshim, trace) for trace in traces)
    lost = sum(lost_in(wallshim, trace) for trace in traces)
    return made / 1e6, held / 1e6, lost / 1e6, peak, processor


def main():
    collector, load, make_trace, launch_loop, driver, shim, wallshim = map(os.path.abspath, sys.argv[1:8])
    with tempfile.TemporaryDirectory() as folder:
        trace = f"{folder}/training.wst"
        subprocess.run([make_trace, trace, str(RECORDS)], check=True)
        for producers, times in RUNS:
            millions, took, peak, processor = measure(collector, load, trace, folder, producers, times)
            name = f"collector, {producers} producer{'' if producers == 1 else 's'}"
            budget = {"budget": 3} if producers == 8 else {}
            say(name, millions / took, "M records/s", **budget)
            say(f"{name}: its processor time", processor / millions * 1000, "ns/record")
            say(f"{name}: peak memory", peak / 2**20, "MiB", budget=320)
        millions, took = measure_programs(collector, folder, launch_loop, driver, shim, wallshim)
        say("collector, 8 recorded programs", millions / took, "M records/s", budget=3)
        shutil.rmtree(f"{folder}/jobs")
        made, held, lost, peak, processor = measure_many(collector, folder, launch_loop, driver, shim, wallshim)
        name = f"collector, {MANY} programs of {MANY_THREADS} threads, {MANY_SECONDS} s"
        say(name, held / MANY_SECONDS, "M records/s")
        say(f"{name}: counted as lost", 100 * lost / made, "%")
        say(f"{name}: neither in a trace nor counted", 100 * (made - held - lost) / made, "%", budget=0)
        say(f"{name}: its processor time", processor, "s")
        say(f"{name}: peak memory", peak / 2**20, "MiB", budget=320)


if __name__ == "__main__":
    main()
