"""Runs rounds of tests/programs/stress, each with and without the shim and with the next seed.

A round fails if stdout, stderr or status differ, if a run does not end (then the stacks of all its threads are kept),
or if a trace cannot be read. It also fails if the simulated GPU's truth (its list of all that it ran) has more operations
than the trace holds and counts as lost, or fewer than the trace holds."""
import argparse
import collections
import difflib
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

MODES = [{}, {}, {"WALLSHIM_EVENT_PLACEMENT": "shared"}, {"WALLSHIM_EVENT_PLACEMENT": "pairs"}, {"WALLSHIM_BACKEND": "host"}, {"WALLSHIM_BURST": "20ms/50ms"},
         {"WALLSHIM_RING": "4K"}, {"WALLSHIM_EVENTS": "64"}, {"WALLSHIM_EVENTS": "64", "WALLSHIM_RING": "8K"},
         {"WALLSHIM_SAMPLE": "3", "WALLSHIM_PARAMS": "all"}, {"WALLSHIM_MAX_SIZE": "64K"}, {"WALLSHIM_DELAY": "200ms"},
         {"CUDA_DEVICE_MAX_CONNECTIONS": "1"}, {"SIMGPU_LATE_EXIT": "1"}]
# How the program ends → can its trace be compared with the truth?
ENDINGS = {"return": True, "thread": True, "handler": True, "_exit": True, "exec": False, "kill": False}
KINDS = {"kernel": 1, "copy": 2, "memset": 3, "graph": 4}  # kind of an operation: in the truth → in the trace
CAPTURED = 0x20
LIMIT_S = 30
LEFT_AT_EXIT = 1  # if a signal handler calls exit() during a call, the call never returns: it may have been done or not


def losses_of_calls(root):
    """{number: name} of the loss reasons in src/record/record.h by which a call is missing in the trace."""
    with open(os.path.join(root, "src/record/record.h"), encoding="utf-8") as file:
        listed = re.search(r"#define WS_LOSSES\(X\)(.*?)\n\n", file.read(), re.S).group(1)
    reasons = re.findall(r'X\((\w+),\s*"([^"]*)"', listed)
    return {number: name for number, (name, text) in enumerate(reasons)
            if name == "DICTIONARY_FULL" or (text.startswith(("not recorded", "only counted")) and name != "CHILD")}


def sanitizer(build):
    """The sanitizer of a build: "asan", "tsan" or None."""
    listed = subprocess.run(["ldd", os.path.join(build, "tests/simgpu/libcuda.so.1")], stdout=subprocess.PIPE, check=True)
    return "asan" if b"libasan" in listed.stdout else "tsan" if b"libtsan" in listed.stdout else None


def processes_of(session):
    found = []
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            with open(f"/proc/{entry}/stat", encoding="utf-8") as file:
                words = file.read().rpartition(")")[2].split()
            # A process whose first thread has ended looks like a zombie, but lives as long as its other threads.
            lives = words[0] != "Z" or int(words[17]) > 1
            if int(words[3]) == session and lives:
                found.append(int(entry))
        except (OSError, IndexError):
            pass
    return found


def keep_stacks(session, path):
    with open(path, "w", encoding="utf-8") as file:
        for process in processes_of(session):
            file.write(f"=== process {process}\n")
            file.flush()
            if shutil.which("gdb"):
                subprocess.run(["gdb", "-p", str(process), "-batch", "-ex", "thread apply all bt"], stdout=file,
                               stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, timeout=120, check=False)
                continue
            for thread in os.listdir(f"/proc/{process}/task"):
                for name in ("comm", "wchan", "syscall", "stack"):
                    try:
                        with open(f"/proc/{process}/task/{thread}/{name}", encoding="utf-8") as source:
                            file.write(f"{thread} {name}: {source.read().strip()}\n")
                    except OSError:
                        pass


def apart(without, with_shim):
    if not isinstance(without, list):
        return f"{without} without, {with_shim} with the shim"
    changed = difflib.ndiff([line.decode(errors="replace") for line in without],
                            [line.decode(errors="replace") for line in with_shim])
    return "; ".join(line for line in changed if line[0] in "-+")


class Soak:
    def __init__(self, root, options):
        self.root, self.options = root, options
        self.build = os.path.abspath(options.build or os.path.join(root, "build"))
        self.kept = os.path.abspath(options.keep or os.path.join(self.build, "soak-findings"))
        self.sanitizer = sanitizer(self.build)
        # If there is a plain build, its command reads the traces: a sanitized command takes ten times as long.
        plain = os.path.join(root, "build/tools/wallshim")
        self.tool = plain if os.path.exists(plain) else os.path.join(self.build, "tools/wallshim")
        self.losses = losses_of_calls(root)
        self.totals = collections.Counter()

    def run(self, arguments, shim, mode, scratch):
        """Runs the program once. Returns its results, or None if it did not end."""
        os.makedirs(scratch)
        environment = {**os.environ, "SIMGPU_HOLD_SIGNALS": "1", "SIMGPU_TRUTH_SYNC": "1",
                       "SIMGPU_TRUTH": os.path.join(scratch, "truth.tsv"),
                       "STRESS_COUNTS": os.path.join(scratch, "counts"),
                       "WALLSHIM_OUTPUT": os.path.join(scratch, "%p.wst"), **mode}
        if self.sanitizer == "tsan":  # it runs signal handlers late, even inside the simulated GPU
            environment["STRESS_MAY"] = "0"
        command = [os.path.join(self.root, "tests/run_preloaded.sh"), *([] if shim else ["--no-shim"]), self.build,
                   os.path.join(self.build, "tests/programs/stress"), *arguments]
        with open(os.path.join(scratch, "out"), "w+b") as out, open(os.path.join(scratch, "err"), "w+b") as err:
            with subprocess.Popen(command, env=environment, cwd=scratch, stdin=subprocess.DEVNULL, stdout=out, stderr=err,
                                  start_new_session=True) as child:
                try:
                    status = child.wait(LIMIT_S * (2 if self.sanitizer else 1))
                except subprocess.TimeoutExpired:
                    keep_stacks(child.pid, os.path.join(scratch, "stacks"))
                    status = None
                for process in processes_of(child.pid):
                    os.kill(process, signal.SIGKILL)
            out.seek(0)
            err.seek(0)
            said = err.read().splitlines()
            seen = {"status": status, "stdout": out.read().splitlines(),
                    "stderr": [line for line in said if not line.startswith(b"wallshim:")]}
        return seen, [line for line in said if line.startswith(b"wallshim:")]

    def dump(self, trace, family):
        dumped = subprocess.run([self.tool, "dump", "--json", "--family", family, trace], stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, check=False)
        if dumped.returncode:
            raise ValueError(f"dump of {family} ended with {dumped.returncode}: {dumped.stderr.decode(errors='replace')}")
        return (json.loads(line) for line in dumped.stdout.splitlines())

    def recorded(self, traces):
        """Counts the operations in traces by kind of shape, and the losses that the traces count, by reason."""
        held, lost, cost = collections.Counter(), collections.Counter(), 0
        for trace in traces:
            kind = {shape["id"]: shape["kind"] for shape in self.dump(trace, "shape")}
            for row in self.dump(trace, "op"):
                if not row["flags"] & CAPTURED and not row["result"]:
                    held[kind.get(row["shape"])] += 1
            for row in self.dump(trace, "loss"):
                if row["reason"] in self.losses:
                    lost[self.losses[row["reason"]]] += row["count"]
            cost += os.path.getsize(trace)
        return held, lost, cost

    def is_whole(self, trace):
        said = {row["key"] for row in self.dump(trace, "meta")}
        return "end" in said and "not_salvaged" not in said

    def account(self, scratch, exact, arguments):
        """Compares the traces with the truth; yields what is wrong."""
        traces = [os.path.join(scratch, name) for name in os.listdir(scratch) if name.endswith(".wst")]
        if arguments[2] in ("exec", "kill"):  # the program may end before its trace is begun
            traces = [trace for trace in traces if os.path.getsize(trace)]
            if not traces:
                return
        try:
            held, lost, _ = self.recorded(traces)
        except ValueError as error:
            yield "damage", str(error)
            return
        given = collections.Counter()
        if os.path.exists(os.path.join(scratch, "truth.tsv")):
            with open(os.path.join(scratch, "truth.tsv"), encoding="utf-8") as file:
                for line in file:
                    words = line.split("\t")
                    if words[0] != "#clock" and len(words) > 5 and words[4] in KINDS and words[5] != "node":
                        given[KINDS[words[4]]] += 1
        self.totals["launches"] += sum(given.values())
        self.totals["recorded"] += sum(held[kind] for kind in KINDS.values())
        self.totals["counted as lost"] += sum(lost.values())
        if not traces:
            yield "uncounted", "no trace"
            return
        if not exact:
            return
        missing = sum(max(0, given[kind] - held[kind]) for kind in KINDS.values())
        invented = {kind: held[number] - given[number] for kind, number in KINDS.items() if held[number] > given[number]}
        allowed = LEFT_AT_EXIT if arguments[2] == "handler" else 0
        # At _exit the shim has 50 ms to write the rest of the trace, which may not be enough on a busy machine. Then
        # the trace has no end record, or was completed and says that the records of some threads could not be read.
        cut = arguments[2] == "_exit" and not all(self.is_whole(trace) for trace in traces)
        self.totals["rounds with _exit"] += arguments[2] == "_exit"
        self.totals["ends cut at 50 ms"] += cut
        if missing > sum(lost.values()) + allowed and not cut:
            self.totals["launches uncounted"] += missing - sum(lost.values())
            counts = ""
            if os.path.exists(os.path.join(scratch, "counts")):
                with open(os.path.join(scratch, "counts"), encoding="utf-8") as file:
                    counts = ", ".join(file.read().split("\n")).strip(", ")
            yield "uncounted", (f"{missing} launches and copies of {sum(given.values())} are not in the trace, which counts "
                                f"{dict(lost)} as lost ({counts})")
        # Operations that were in flight when the program ended are in the trace but not in the truth.
        if invented and arguments[2] in ("return", "thread"):
            yield "invented", f"recorded beyond what the driver was given: {invented}"

    def round(self, seed):
        random_of = random.Random(seed)
        mode = random_of.choice(MODES)
        ending = random_of.choice(list(ENDINGS)) if random_of.random() < 0.5 else "return"
        if ending in ("handler", "thread") and self.sanitizer == "tsan":  # ThreadSanitizer's own thread outlives the main thread
            ending = "return"
        arguments = [str(seed), str(random_of.choice([2, 5, 10]) if not self.sanitizer else 1), ending]
        scratch = tempfile.mkdtemp(prefix="wallshim-soak-")
        wrong = []
        without, _ = self.run(arguments, False, mode, os.path.join(scratch, "without"))
        with_shim, said = self.run(arguments, True, mode, os.path.join(scratch, "with"))
        if without["status"] is None:
            wrong.append(("hang", "the program does not end without the shim"))
        elif with_shim["status"] is None:
            wrong.append(("hang", "does not end: see with/stacks"))
        else:
            for what, expected in without.items():
                if with_shim[what] != expected:
                    wrong.append(("difference", f"{what}: {apart(expected, with_shim[what])}"))
            try:
                wrong += self.account(os.path.join(scratch, "with"), ENDINGS[ending], arguments)
            except (OSError, subprocess.SubprocessError) as error:
                wrong.append(("damage", repr(error)))
        if said:
            wrong.append(("said", str(said)))
        self.totals["rounds"] += 1
        for kind, text in wrong:
            self.totals[kind] += 1
            names = " ".join(f"{name}={value}" for name, value in mode.items())
            print(f"seed {seed}: {kind}: {text[:1500]}\n    {names} stress {' '.join(arguments)}", flush=True)
        if wrong:
            place = os.path.join(self.kept, str(seed))
            shutil.rmtree(place, ignore_errors=True)
            shutil.move(scratch, place)
        else:
            shutil.rmtree(scratch)

    def all(self):
        end = time.monotonic() + self.options.seconds
        seed = self.options.seed
        while time.monotonic() < end and self.totals["rounds"] != self.options.rounds:
            self.round(seed)
            seed += 1
        shown = ["rounds", "launches", "recorded", "counted as lost", "ends cut at 50 ms"]
        print(", ".join(f"{self.totals[name]} {name}" for name in shown))
        print(f"{self.totals['difference']} differences, {self.totals['hang']} hangs, {self.totals['uncounted']} rounds with "
              f"launches uncounted ({self.totals['launches uncounted']}), {self.totals['invented']} with some invented, "
              f"{self.totals['damage']} traces damaged, {self.totals['said']} rounds with messages")
        if self.totals["ends cut at 50 ms"] > max(3, self.totals["rounds with _exit"] // 2):
            self.totals["uncounted"] += 1
        found = [name for name in ("difference", "hang", "uncounted", "invented", "damage", "said") if self.totals[name]]
        if found:
            print(f"kept in {self.kept}")
        return 1 if found or not self.totals["rounds"] else 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("root")
    parser.add_argument("--seconds", type=float, default=3600)
    parser.add_argument("--rounds", type=int, default=-1)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--build")
    parser.add_argument("--keep")
    options = parser.parse_args()
    return Soak(sys.argv[1], options).all()


if __name__ == "__main__":
    sys.exit(main())
