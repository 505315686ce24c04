"""Runs a program with a known wall in its way and without it, and holds what the report says of the first against the
difference: the wall's name, the cause of the first piece of advice, and what it says would be won.

    walls.py BUILD WALL [SETTING NUMBER] [--keep FOLDER]

The truth is the simulated GPU's: a step lasts from the begin of one training step's embedding on the device to that of the
next; medians of the steps after the warm-up. settings.py lists the walls.
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
WARM_UP = 3 + 2  # the program's own, and what a queue takes to fill
WITHIN = 0.2     # of the truth
HEALTHY = 0.05   # of a step: what may be advised to a program that has nothing to win
BUSY = 0.95      # of the steps after the warm-up: what such a program keeps its GPU
TRIES = 3        # the machine is shared: a run whose steps other work disturbed says nothing


def run(build, folder, wall, variant, setting):
    """Records one run; returns for each rank when its steps began, on its device's clock."""
    os.makedirs(folder)
    words = [f"{name}={value}" for name, value in setting.items() if not name.isupper() and name != "pending"]
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
        begins[rank["rank"]] = [embeddings[number] for _, number in rank["steps"]]
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


def step_ns(begins):
    """The median step of the median rank."""
    return statistics.median(
        statistics.median(after - before for before, after in zip(times[WARM_UP:], times[WARM_UP + 1:]))
        for times in begins.values())


def busy_ns(rows, begin=0):
    """The union of the operations' intervals, as far as it is after `begin`."""
    total, until = 0, begin
    for row in sorted(rows, key=lambda row: row["start"]):
        total += max(0, row["end"] - max(until, row["start"]))
        until = max(until, row["end"])
    return total


def check_health(truth, begins):
    """That a program called healthy is: the truth's business, not the report's."""
    begin = begins[0][WARM_UP]
    share = busy_ns(truth, begin) / (max(row["end"] for row in truth) - begin)
    assert share >= BUSY, f"a healthy program that is busy for {share:.1%}"


def report(build, folder):
    traces = sorted(glob.glob(f"{folder}/*.wst"))
    result = subprocess.run([f"{build}/tools/wallshim", "report", "--json", *traces], capture_output=True, text=True,
                            check=False)
    assert result.returncode == 0, f"wallshim report ended with {result.returncode}: {result.stderr}"
    devices = [device for process in json.loads(result.stdout)["processes"] for device in process["devices"]]
    assert devices, "no device in the report"
    return devices


class Judge:
    """What one run gave, line by line; wrong: what the report should have said."""

    def __init__(self):
        self.lines, self.wrong, self.skipped = [], [], []

    def expect(self, condition, what):
        (self.lines if condition else self.wrong).append(what)


def check_timeline(judge, devices, truth):
    """The report's devices and the truth's, both by how much they ran."""
    happened = {}
    for row in truth:
        happened.setdefault(row["device"], []).append(row)
    recorded = sum(device["gpu_events"] + device["untimed_events"] for device in devices)
    in_graphs = any(device.get("graph_launches") for device in devices)
    judge.expect(recorded == len(truth) or in_graphs, f"operations: {recorded} recorded, {len(truth)} ran")
    really, said = sum(map(busy_ns, happened.values())), sum(device["busy_ns"] for device in devices)
    error = sum(device["busy_error_ns"] for device in devices)
    judge.expect(abs(said - really) <= max(error, really * 0.01),
                 f"busy {said / 1e6:.2f} ± {error / 1e6:.2f} ms, truly {really / 1e6:.2f}")


def wall_of(devices):
    """The verdict that was reached; of several ranks, the one most say."""
    walls = [device["wall"] for device in devices if device.get("wall")]
    names = [wall["name"] if isinstance(wall, dict) else wall for wall in walls]
    return statistics.mode(names) if names else None


def check_verdict(judge, wall, devices, step, saving):
    expected, cause, _ = WALLS[wall]
    said = wall_of(devices)
    if said is None:
        judge.skipped.append("the report names no wall")
        return
    judge.expect(said == expected, f"wall: {said}, expected {expected}")
    if wall in PENDING and not any(piece["cause"] == cause for device in devices for piece in device.get("advice", [])):
        judge.skipped.append(f"no analysis gives the advice {cause} yet")
        return
    # Of several ranks the one that would win most speaks: in a straggler's job those that wait for it.
    advice = max((device.get("advice") or [] for device in devices),
                 key=lambda pieces: pieces[0]["saving_ns_per_step"] if pieces else -1)
    first = advice[0] if advice else {"cause": None, "saving_ns_per_step": 0}
    predicted = first["saving_ns_per_step"]
    if cause is None:
        judge.expect(predicted <= HEALTHY * step, f"advice: {first['cause']} would win {predicted / 1e3:.0f} µs of a healthy "
                                                  f"step of {step / 1e3:.0f}")
        return
    judge.expect(first["cause"] == cause, f"first advice: {first['cause']}, expected {cause}")
    judge.expect(abs(predicted - saving) <= WITHIN * saving,
                 f"saving: {predicted / 1e3:.0f} µs a step predicted, {saving / 1e3:.0f} in truth")


def judge_setting(build, folder, wall, setting):
    judge = Judge()
    begins, truth = run(build, f"{folder}/with", wall, "with", setting)
    step = step_ns(begins)
    if WALLS[wall][1] is None:
        check_health(truth, begins)
        saving = 0
    else:
        removed, _ = run(build, f"{folder}/without", wall, "without", setting)
        saving = step - step_ns(removed)
    judge.lines.append(f"step {step / 1e3:.0f} µs, {saving / 1e3:.0f} of them the wall ({saving / step:.0%})")
    devices = report(build, f"{folder}/with")
    check_timeline(judge, devices, truth)
    check_verdict(judge, wall, devices, step, saving)
    if "pending" in setting and judge.wrong:
        judge.skipped.append(setting["pending"])
        judge.lines += judge.wrong
        judge.wrong = []
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
