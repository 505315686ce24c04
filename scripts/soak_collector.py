"""Harms the collector while programs stream to it, at random moments, and compares what is left with what was done.

    scripts/soak --collector [TIMES] [--build FOLDER] [--seed N]

The collector is harmed in four ways: it is killed (and mostly started again), it is stopped by SIGSTOP (and mostly
continued), its disk is full for a while, or its socket is removed. The program's output and status must be as without a
profiler. A trace that has an end must hold or count as lost every launch and call. A trace without an end must say
that it is incomplete. Prints at the end how long the program took with and without a profiler."""
import argparse
import contextlib
import json
import os
import random
import shutil
import signal
import statistics
import subprocess
import sys
import time

COUNT, LENGTH_MS = 8000, 600
LOST = {0, 10}  # not recorded: the thread's buffer (ring) was full, or the trace could not be written (src/record/record.h)
DISK = 1 << 20
PATIENCE = 60


class Wrong(Exception):
    pass


def ops_and_calls(place, path):
    """(operations and calls in the trace, those that it counts as lost, does it have an end?)"""
    held = sum(int(line.split()[0].replace(",", "")) for line in place.wallshim("info", path).splitlines()
               if line.split()[1:] in (["op"], ["call"]))
    losses = [json.loads(line) for line in place.wallshim("dump", "--json", "--family", "loss", path).splitlines()]
    return held, sum(row["count"] for row in losses if row["reason"] in LOST), place.end_of(path) is not None


class Disk:
    """The collector's jobs on a disk of their own, which can be full."""

    def __init__(self, place):
        self.place = place
        os.mkdir(place.jobs)
        self.before = ["unshare", "-rm", "sh", "-c",
                       f'mount -t tmpfs -o size={DISK} none {place.jobs} && mkdir {place.jobs}/test && exec "$@"', "sh"]

    def inside(self):
        return f"/proc/{self.place.collector.pid}/root{self.place.jobs}/test"

    def fill(self):
        with contextlib.suppress(OSError), open(f"{self.inside()}/filler", "wb", buffering=0) as file:
            while True:
                file.write(bytes(4096))

    def free(self):
        os.remove(f"{self.inside()}/filler")

    def fetch(self):
        """Copies the traces to where they would be without this disk."""
        os.makedirs(self.place.job, exist_ok=True)
        for name in os.listdir(self.inside()):
            shutil.copy(f"{self.inside()}/{name}", self.place.job)


def harm(place, disk, what, chance):
    """Harms the collector at a random moment. Returns a function that ends the harm."""
    time.sleep(chance.random() * LENGTH_MS / 1000)
    if what == "killed":
        place.kill()
        return place.start
    if what == "stopped":
        place.signal(signal.SIGSTOP)
        return lambda: place.signal(signal.SIGCONT)
    if what == "full":
        disk.fill()
        return disk.free
    os.remove(place.socket)
    return lambda: None


def once(runs, build, what, chance, whole):
    """Runs the program once. Returns the seconds that it ran, whether the trace has an end, and how many rows the trace
    counts as lost."""
    with runs.Place(build) as place:
        disk = Disk(place) if what == "full" else None
        place.start(before=disk.before if disk else ())
        early = what == "gone" and chance.random() < 0.3
        if early:
            os.remove(place.socket)
        began = time.monotonic()
        program = place.program(COUNT, LENGTH_MS, WALLSHIM_COLLECTOR_BUFFER=chance.choice(["8K", "64K", "8M"]))
        end = None if early else harm(place, disk, what, chance)
        stays = chance.random() < 0.2
        if end and not stays:
            time.sleep(chance.random() * 1.5)
            end()
        output, errors = program.communicate(timeout=PATIENCE)
        took = time.monotonic() - began
        if program.returncode or output != f"launched {COUNT}\n":
            raise Wrong(f"the program ended with {program.returncode}, wrote {output!r}: {errors}")
        if end and stays and what != "killed":
            end()
        if place.collector.poll() is None:
            wait_until_taken(place)
            if disk:
                disk.fetch()
            place.collector.terminate()
            place.collector.wait(timeout=PATIENCE)
        return took, *judge(place, errors, whole)


def wait_until_taken(place):
    """Waits until no process is connected to the collector."""
    deadline = time.monotonic() + PATIENCE
    ask = [f"{place.build}/tools/wallshim", "ctl", f"unix:{place.socket}", "status"]
    while os.path.exists(place.socket) and "no such process" not in subprocess.run(
            ask, capture_output=True, text=True, check=False, timeout=PATIENCE).stderr:
        if time.monotonic() > deadline:
            raise Wrong("the process is still connected")
        time.sleep(0.05)


def judge(place, errors, whole):
    """Compares the trace with what the program did. Returns whether the trace has an end, and how many rows it counts as
    lost."""
    files = [f"{place.folder}/{name}" for name in place.left_in_folder()]
    traces = [path for path in files + place.traces() if os.path.getsize(path) > 64]
    if not traces:  # then the program must say how much is lost
        if "lost" not in errors:
            raise Wrong(f"there is no trace, and nothing says so: {errors}")
        return False, 0
    held, lost, has_end = max((ops_and_calls(place, path) for path in traces), key=lambda found: (found[2], found[0]))
    if has_end and held + lost != whole:
        raise Wrong(f"{held} rows in the trace and {lost} counted as lost: not {whole}; {errors}")
    if held > whole:
        raise Wrong(f"{held} rows in the trace: more than {whole}")
    if not has_end:
        said = subprocess.run([f"{place.build}/tools/wallshim", "report", "--full", traces[0]], capture_output=True, text=True,
                              check=False)
        if "end" not in said.stdout + said.stderr:
            raise Wrong(f"the report does not say that the trace has no end: {said}")
    return has_end, lost


def main():
    root = sys.argv[1]
    sys.path.insert(0, f"{root}/tests/end_to_end")
    import collector_runs as runs  # pylint: disable=import-outside-toplevel
    parser = argparse.ArgumentParser()
    parser.add_argument("times", type=int, nargs="?", default=200)
    parser.add_argument("--build", default=f"{root}/build")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(sys.argv[2:])
    harms = ["killed", "stopped", "gone"]
    if subprocess.run(["unshare", "-rm", "true"], capture_output=True, check=False).returncode:
        print("no mount namespaces here: the disk is never full")
    else:
        harms.append("full")
    alone, beside, failed, counted = [], [], 0, 0
    with runs.Place(options.build) as place:
        place.start()
        runs.ended_well(place.program(COUNT, LENGTH_MS), COUNT)
        place.stop()
        whole = ops_and_calls(place, place.traces()[0])[0]
        for _ in range(9):
            began = time.monotonic()
            runs.ended_well(place.program(COUNT, LENGTH_MS, collected=False), COUNT)
            alone.append(time.monotonic() - began)
    ended = {what: [0, 0] for what in harms}
    for number in range(options.times):
        chance = random.Random(options.seed * 1000003 + number)
        what = harms[number % len(harms)]
        try:
            took, has_end, lost = once(runs, options.build, what, chance, whole)
            beside.append(took)
            ended[what][has_end] += 1
            counted += lost
        except (Wrong, AssertionError, subprocess.SubprocessError, OSError) as error:
            failed += 1
            print(f"number {number} of seed {options.seed}, {what}: {error}", flush=True)
    for what, (without, with_end) in ended.items():
        print(f"{what}: {with_end} traces with an end, all rows in them or counted as lost; {without} without, which say so")
    print(f"{options.times} times, {failed} wrong; {counted} of {options.times * whole} rows counted as lost; a run took {statistics.median(alone):.2f} s without a profiler "
          f"(longest {max(alone):.2f}), {statistics.median(beside or [0]):.2f} s beside it (longest {max(beside or [0]):.2f})")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
