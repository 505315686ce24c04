"""Runs a program with a known wall in its way and without it, and holds what the report says of the first against the
difference: the wall's name, the cause of the first piece of advice, and what it says would be won.

    walls.py BUILD WALL [SETTING NUMBER] [--keep FOLDER]

The truth is the simulated GPU's: a step lasts from the begin of one training step's embedding on the device to that of the
next. settings.py lists the walls.
"""
import argparse
import csv
import glob
import json
import os
import statistics
import subprocess
import sys
import tempfile

from settings import PENDING, WALLS

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
EMBEDDING = "vectorized_gather_kernel"
WARM_UP = 7      # the program's own, and what a queue takes to fill
WITHIN = 0.2     # of the truth
STEP_WITHIN = 0.02
HEALTHY = 0.05   # of a step: what may be advised to a program that has nothing to win
BUSY = 0.9  # of the time after the warm-up: what a program without a wall keeps its GPU; the rest is between kernels
RUNS = 6         # until one was not disturbed: the machine is shared
TRIES = 2


def run(build, folder, wall, variant, setting):
    """Records one run; returns for each rank when its steps began, on its device's clock."""
    os.makedirs(folder)
    words = [f"{name}={value}" for name, value in setting.items() if not name.isupper()]
    environment = {name: str(value) for name, value in setting.items() if name.isupper()}
    result = subprocess.run(
        [f"{ROOT}/tests/run_preloaded.sh", build, f"{build}/tests/walls/walls", wall, variant, *words],
        capture_output=True, text=True, timeout=120, check=False,
        env={**os.environ, "SIMGPU_DEVICES": str(setting.get("ranks", 1)), "SIMGPU_COLLECTIVE_DATA": "0", **environment,
             "SIMGPU_TRUTH": f"{folder}/truth-%p", "WALLSHIM_OUTPUT": f"{folder}/%r-%p.wst"})
    if result.returncode == 77:
        print(result.stdout.strip())
        sys.exit(77)
    assert result.returncode == 0, f"{wall} {variant}: status {result.returncode}: {result.stderr}"
    truth = read_truth(folder)
    begins = {}
    for line in result.stdout.splitlines():
        rank = json.loads(line)
        embeddings = sorted(row["start"] for row in truth if row["device"] == rank["rank"] and EMBEDDING in row["name"])
        begins[rank["rank"]] = [(embeddings[number], number) for _, number in rank["steps"]]
    return begins, truth


def read_truth(folder):
    rows = []
    for path in glob.glob(f"{folder}/truth-*"):
        with open(path, encoding="utf-8", newline="") as file:
            heading = file.readline().lstrip("#").rstrip("\n").split("\t")
            for row in csv.DictReader((line for line in file if not line.startswith("#")), heading, delimiter="\t"):
                if row["kind"] in ("kernel", "copy", "memset"):
                    rows.append({"device": int(row["device"]), "name": row["name"], "start": int(row["start_ns"]),
                                 "end": int(row["end_ns"])})
    return rows


def lengths(begins):
    """Of the steps after the warm-up that no evaluation follows, each rank's in a list from the shortest."""
    return [sorted(after - before for (before, number), (after, following) in zip(times[WARM_UP:], times[WARM_UP + 1:])
                   if following == number + 1) for times in begins.values()]


def step_ns(begins, average=statistics.median):
    """A step of the median rank."""
    return statistics.median(map(average, lengths(begins)))


def disturbed(begins, by=1.5):
    """Whether more steps were much longer than the median than jitter explains: the machine did other work."""
    return any(steps[len(steps) * 4 // 5] > by * statistics.median(steps) for steps in lengths(begins))


def busy_ns(rows, begin=0):
    """The union of the operations' intervals, as far as it is after `begin`."""
    total, until = 0, begin
    for row in sorted(rows, key=lambda row: row["start"]):
        total += max(0, row["end"] - max(until, row["start"]))
        until = max(until, row["end"])
    return total


def busy_share(truth, begins):
    """Of the first device, after the warm-up."""
    (begin, _), rows = begins[0][WARM_UP], [row for row in truth if row["device"] == 0]
    return busy_ns(rows, begin) / (max(row["end"] for row in rows) - begin)


def step_without(build, folder, wall, setting):
    """Other work on the machine only ever makes a step longer: the shortest of some runs, of which one kept its GPU busy.
    Where launches were the wall, a graph's short kernels leave it idle for good."""
    steps, share = [], 0
    while len(steps) < 2 or (share < BUSY and wall != "launch" and len(steps) < RUNS):
        begins, truth = run(build, f"{folder}/without-{len(steps)}", wall, "without", setting)
        steps.append(step_ns(begins))
        share = max(share, busy_share(truth, begins))
    return min(steps), share


def report(build, folder):
    traces = sorted(glob.glob(f"{folder}/*.wst"))
    result = subprocess.run([f"{build}/tools/wallshim", "report", "--json", *traces], capture_output=True, text=True,
                            check=False)
    assert result.returncode == 0, f"wallshim report ended with {result.returncode}: {result.stderr}"
    devices = {}
    for process in json.loads(result.stdout)["processes"]:
        assert len(process["devices"]) == 1, f"{len(process['devices'])} devices of one rank"
        devices[int(os.path.basename(process["trace"]).split("-")[0])] = process["devices"][0]
    return devices


class Judge:
    """What one run gave, line by line; wrong: what the report should have said."""

    def __init__(self):
        self.lines, self.wrong, self.skipped = [], [], []

    def expect(self, condition, what):
        (self.lines if condition else self.wrong).append(what)


def check_timeline(judge, devices, truth):
    """How much ran."""
    recorded = sum(device["gpu_events"] + device["untimed_events"] for device in devices.values())
    judge.expect(recorded == len(truth), f"operations: {recorded} recorded, {len(truth)} ran")
    really = sum(busy_ns([row for row in truth if row["device"] == rank]) for rank in devices)
    said = sum(device["busy_ns"] for device in devices.values())
    error = sum(device["busy_error_ns"] for device in devices.values())
    judge.expect(abs(said - really) <= max(error, really * 0.01),
                 f"busy {said / 1e6:.2f} ± {error / 1e6:.2f} ms, truly {really / 1e6:.2f}")


def steady_lengths(device):
    return [step["length_ns"] for step in device["steps"] if step["kind"] == "steady"]


def check_verdict(judge, wall, devices, begins, saving):
    """What is said of the devices given, of which a job may have several."""
    expected, causes, _ = WALLS[wall]
    for rank, device in devices.items():
        said = device["wall"]["name"] if device["wall"] else device["wall_reason"]
        judge.expect(said == expected, f"wall of {rank}: {said}, expected {expected}")
    devices = devices.values()
    if not all(device["wall"] and device["wall"]["per_step"] for device in devices):
        judge.wrong.append("the report finds no steps")
        return
    step, said = step_ns(begins), statistics.median(length for device in devices for length in steady_lengths(device))
    judge.expect(abs(said - step) <= STEP_WITHIN * step or disturbed(begins, by=1.1), f"step: {said / 1e3:.0f} µs said")
    if wall in PENDING and not any(piece["cause"] in causes for device in devices for piece in device["advice"]):
        judge.skipped.append(f"no analysis gives the advice {' or '.join(causes)} yet")
        return
    # Of several ranks the one that would win most speaks.
    advice = max((device["advice"] for device in devices),
                 key=lambda pieces: pieces[0]["saving_ns_per_step"] if pieces else -1)
    first = advice[0] if advice else {"cause": None, "saving_ns_per_step": 0}
    if not causes:
        judge.expect(first["saving_ns_per_step"] <= HEALTHY * step,
                     f"advice: {first['cause']} would win {first['saving_ns_per_step'] / 1e3:.0f} µs of a healthy step")
        return
    judge.expect(first["cause"] in causes, f"first advice: {first['cause']}, expected {' or '.join(causes)}")
    # One chain is what is removed, and others may be advised; of all else the whole is.
    asked = [first] if causes == ["fusion"] else [piece for piece in advice if piece["cause"] in causes]
    predicted = sum(piece["saving_ns_per_step"] for piece in asked)
    judge.expect(abs(predicted - saving) <= WITHIN * saving,
                 f"saving: {predicted / 1e3:.0f} µs a step predicted, {saving / 1e3:.0f} in truth")


def judge_setting(build, folder, wall, setting):
    judge = Judge()
    for attempt in range(RUNS):
        with_wall = f"{folder}/with-{attempt}"
        begins, truth = run(build, with_wall, wall, "with", setting)
        if not disturbed(begins):
            break
    # Where the host is the wall, other work on the machine adds to it in some steps more than in others.
    step = step_ns(begins, statistics.mean if WALLS[wall][0] == "overhead" else statistics.median)
    if not WALLS[wall][1]:
        saving, share = 0, busy_share(truth, begins)
    else:
        removed, share = step_without(build, folder, wall, setting)
        saving = step - removed
    judge.lines.append(f"step {step / 1e3:.0f} µs, {saving / 1e3:.0f} of them the wall ({saving / step:.0%}), "
                       f"without it {share:.0%} busy")
    devices = report(build, with_wall)
    check_timeline(judge, devices, truth)
    if disturbed(begins) or (share < BUSY and wall != "launch"):
        judge.skipped.append("the machine was too busy for some settings: they were not judged")
        judge.lines.append("NOT JUDGED: the machine was too busy")
        return judge
    # A straggler has a wall of its own; it is the others that wait.
    waiting = {rank: device for rank, device in devices.items() if wall != "straggler" or rank != setting["slow_rank"]}
    check_verdict(judge, wall, waiting, begins, saving)
    return judge


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("wall", choices=WALLS)
    parser.add_argument("setting", nargs="?", type=int)
    parser.add_argument("--keep", help="leave traces and truths in this folder")
    arguments = parser.parse_args()
    failed, skipped = 0, set()
    with tempfile.TemporaryDirectory() as scratch:
        for number, setting in enumerate(WALLS[arguments.wall][2]):
            if arguments.setting not in (None, number):
                continue
            for attempt in range(TRIES):
                folder = f"{arguments.keep or scratch}/{arguments.wall}-{number}-{attempt}"
                judge = judge_setting(arguments.build, folder, arguments.wall, setting)
                print(f"{arguments.wall} {number}: {'; '.join(judge.lines)}")
                for line in judge.wrong:
                    print(f"  WRONG {line}")
                if not judge.wrong:
                    break
            failed += bool(judge.wrong)
            skipped.update(judge.skipped)
    if failed:
        sys.exit(f"{arguments.wall}: {failed} settings failed")
    for line in sorted(skipped):
        print(f"skipped: {line}")
    sys.exit(77 if skipped else 0)


main()
