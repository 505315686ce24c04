"""Measures what `wallshim attach` costs a server that was started without the shim, on the simulated GPU.

bench_attached.py BUILD

The server answers a thousand requests a second, with 20 launches each (tests/programs/requests.c). It is left alone
for two turns, attached to for one turn, and so on. The figures compare the latencies of the requests while it is
attached to with those in the turn before. Their floor compares the two turns in which it is left alone. An attached
turn begins when `wallshim attach` starts, so it contains the time in which the server's threads stand still. A latency
begins when the server takes the request, so it does not contain the wait for earlier requests.

The last figure is of a server that answers one request after the other. It compares the requests a second after each
attach with those before the first attach.
"""
import json
import os
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import time

build = os.path.abspath(sys.argv[1])
tests = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TURNS = 6 if os.environ.get("BENCH_LONG") else 4
TURN_S, SETTLE_S = 8, 0.2
INTERVAL_US, LAUNCHES, KERNEL_NS = 1000, 20, 5000
# To measure latencies, the server waits for the device in a busy loop, as with CUDA's default. If it slept, the figures
# would be those of its wake-ups, which differ by 20 us and more on virtual machines.
SPINS = {"SIMGPU_SPIN_NS": "1000000"}


def show(name, value, unit, **more):
    print(json.dumps({"name": name, "value": round(value, 3), "unit": unit, **more}), flush=True)


class Requests:
    def __init__(self, interval_us):
        self.interval_us = interval_us

    def __enter__(self):
        # pylint: disable=consider-using-with
        self.folder = tempfile.TemporaryDirectory()
        environment = {k: v for k, v in os.environ.items() if not k.startswith("WALLSHIM_")}
        self.file = f"{self.folder.name}/requests"
        self.process = subprocess.Popen(
            [f"{tests}/run_preloaded.sh", "--no-shim", build, f"{build}/tests/programs/requests", str(self.interval_us), str(LAUNCHES), str(KERNEL_NS), self.file],
            stdout=subprocess.PIPE, text=True, env=environment | {"SIMGPU_KERNEL_DATA": "0"} | (SPINS if self.interval_us else {}))
        if self.process.stdout.readline() != "ready\n":
            sys.exit("the server does not begin")
        time.sleep(1)
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()
        self.folder.cleanup()

    def attached(self, overhead):
        """Attaches for a turn. Returns when the turn began and ended, ns."""
        began = time.monotonic_ns()
        done = subprocess.run([f"{build}/tools/wallshim", "attach", str(self.process.pid), "--duration", f"{TURN_S}s", "--overhead", overhead, "-o", f"{self.folder.name}/attached.wst"],
                              capture_output=True, text=True, check=False)
        if done.returncode:
            sys.exit(done.stderr)
        os.remove(f"{self.folder.name}/attached.wst")
        return began, time.monotonic_ns()

    @staticmethod
    def alone():
        time.sleep(SETTLE_S)
        began = time.monotonic_ns()
        time.sleep(TURN_S)
        return began, time.monotonic_ns()

    def answered(self):
        """Ends the server. Returns when each request began and how long it took, ns."""
        self.process.send_signal(signal.SIGTERM)
        if self.process.wait():
            sys.exit("the server has failed")
        with open(self.file, "rb") as file:
            return list(struct.iter_unpack("=qq", file.read()))


def within(requests, turn):
    return [took for began, took in requests if turn[0] <= began < turn[1]]


def figures(latencies):
    latencies = sorted(latencies)
    return {"median": latencies[len(latencies) // 2], "p99": latencies[len(latencies) * 99 // 100]}


def show_latencies(overhead):
    turns = []
    with Requests(INTERVAL_US) as server:
        for _ in range(TURNS):
            turns.append((server.alone(), server.alone(), server.attached(overhead)))
        requests = server.answered()
    for figure in ("median", "p99"):
        measured = [[figures(within(requests, turn))[figure] for turn in round_] for round_ in turns]
        more = statistics.median(100 * (attached / alone - 1) for _, alone, attached in measured)
        noise = statistics.median(abs(100 * (again / alone - 1)) for alone, again, _ in measured)
        alone = statistics.median(alone for _, alone, _ in measured)
        show(f"attached with --overhead {overhead}: {figure} latency of {alone / 1000:.0f} us, longer", more, "%", floor=noise)


def show_rate():
    """How many requests a second a server answers after it was attached to, compared with before it ever was."""
    with Requests(0) as server:
        before = [server.alone() for _ in range(4)]
        after = []
        for _ in range(TURNS):
            server.attached("2%")
            after.append(server.alone())
        requests = server.answered()
    rates = [[len(within(requests, turn)) / (turn[1] - turn[0]) for turn in turns] for turns in (before, after)]
    more = 100 * (statistics.median(rates[1]) / statistics.median(rates[0]) - 1)
    show("detached: requests a second, more than before", more, "%", floor=100 * (max(rates[0]) / min(rates[0]) - 1))


for share in ("0.5%", "1%", "2%"):
    show_latencies(share)
show_rate()
