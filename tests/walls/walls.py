"""Runs a program with a known wall and without that wall, and checks the report on the first run: the wall's name, the
cause of the first piece of advice, and the predicted saving, which must be the difference between the two runs.

    walls.py BUILD WALL [SETTING NUMBER] [--keep FOLDER]

The true steps come from the simulated GPU: a step lasts from the begin of its embedding kernel on the device to
the begin of the next embedding kernel. settings.py lists the walls.
"""
import argparse
import glob
import json
import os
import statistics
import subprocess
import sys
import tempfile

from recorded import Run, busy_ns
from settings import WALLS

# Largest relative errors of the saving and of a step. Steps vary by jitter, and the report and this test leave out
# different steps.
WITHIN, STEP_WITHIN = 0.2, 0.05
HEALTHY = 0.05  # fraction of a step: the largest saving that may be predicted for a program without a wall
BUSY = 0.9      # least fraction of the time in which the GPU is busy without a wall; the rest is between kernels
CALM = 0.05     # largest fraction of the time in which a program with an overhead wall may lack a processor
UNTIMED = 0.02  # largest fraction of operations without times; beyond it, the shim's thread had no processor: no verdict
ALONE = 0.4     # fraction of the true saving that the predicted savings of two overlapping walls must reach together
RUNS = 6        # most runs until one is calm (see calm)
TRIES = 4       # attempts at a setting before it fails, because other work on the machine can make some fail
APART = 0.1     # fraction of the step: if the wall's true share varies by more from run to run, the machine caused that


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
    """The results of checking one run: lines that were right, lines that were wrong, and reasons to judge nothing."""

    def __init__(self):
        self.lines, self.wrong, self.skipped = [], [], []
        self.share = None  # the wall's true fraction of the step

    def expect(self, condition, what):
        (self.lines if condition else self.wrong).append(what)


def check_timeline(judge, devices, truth):
    """Checks the number of operations, and the busy time."""
    recorded = sum(device["gpu_events"] + device["untimed_events"] for device in devices.values())
    judge.expect(recorded == len(truth), f"operations: {recorded} recorded, {len(truth)} ran")
    really = sum(busy_ns([row for row in truth if row["device"] == rank]) for rank in devices)
    said = sum(device["busy_ns"] for device in devices.values())
    error = sum(device["busy_error_ns"] for device in devices.values())
    judge.expect(abs(said - really) <= max(error, really * 0.01),
                 f"busy {said / 1e6:.2f} ± {error / 1e6:.2f} ms, truly {really / 1e6:.2f}")


def steady_lengths(device):
    return [step["length_ns"] for step in device["steps"] if step["kind"] == "steady"]


def check_saving(judge, said, predicted, saving):
    judge.expect(abs(predicted - saving) <= WITHIN * saving,
                 f"{said}: {predicted / 1e3:.0f} µs a step predicted, {saving / 1e3:.0f} in truth, {predicted / saving - 1:+.1%}")


def check_verdict(judge, wall, devices, step, saving, alone):
    """Checks the report on these devices, one per rank of a job."""
    expected, causes, _ = WALLS[wall]
    for rank, device in devices.items():
        said = device["wall"]["name"] if device["wall"] else device["wall_reason"]
        judge.expect(said == expected, f"wall of {rank}: {said}, expected {expected}")
    devices = devices.values()
    if not all(device["wall"] and device["wall"]["per_step"] for device in devices):
        judge.wrong.append("the report finds no steps")
        return
    said = statistics.median(length for device in devices for length in steady_lengths(device))
    judge.expect(abs(said - step) <= STEP_WITHIN * step, f"step: {said / 1e3:.0f} µs said")
    # Of several ranks, the advice with the largest saving counts.
    advice = max((device["advice"] for device in devices),
                 key=lambda pieces: pieces[0]["saving_ns_per_step"] if pieces else -1)
    first = advice[0] if advice else {"cause": None, "saving_ns_per_step": 0}
    if not causes:
        judge.expect(first["saving_ns_per_step"] <= HEALTHY * step,
                     f"advice: {first['cause']} would win {first['saving_ns_per_step'] / 1e3:.0f} µs of a healthy step")
        return
    judge.expect(first["cause"] in causes, f"first advice: {first['cause']}, expected {' or '.join(causes)}")
    # The run without the wall "chain" has one chain fused, but the report may advise fusing further chains: so only
    # the first advice counts. All other walls are removed completely, so all advice with the wall's cause counts.
    asked = [first] if causes == ["fusion"] else [piece for piece in advice if piece["cause"] in causes]
    predicted = sum(piece["saving_ns_per_step"] for piece in asked)
    if alone:
        check_saving(judge, "saving", predicted, saving)
        return
    # Each piece of advice says what it saves alone. Two walls that overlap in time save more together than their sum.
    # If only one of them saves enough to be advised, the report has no saving for several together.
    together = [device["together_saving_ns"] for device in devices if device["together_saving_ns"] is not None]
    check_saving(judge, "saving together", max(together, default=predicted), saving)
    judge.expect(ALONE * saving <= predicted <= (1 + WITHIN) * saving, f"each alone: {predicted / 1e3:.0f} µs")


def calm(made):
    """Whether other work on the machine hardly changed the steps: the program seldom lacked a processor, or only in a
    few steps."""
    typical, mean = made.step_ns(statistics.median), made.step_ns(statistics.mean)
    return made.kept_waiting() <= CALM or (made.kept_waiting() <= 3 * CALM and abs(mean - typical) <= 0.03 * typical)


def run_with(build, folder, wall, setting):
    """The calmest of several runs, since other work on the machine makes the host slower."""
    calmest = None
    for attempt in range(RUNS):
        made = Run(build, f"{folder}/with-{attempt}", wall, "with", setting)
        calmest = min(calmest or made, made, key=Run.kept_waiting)
        if calm(calmest):
            break
    return calmest


def run_without(build, folder, wall, setting):
    """The run with the shortest step, since other work on the machine can only make steps longer. Stops at the first
    run that kept its GPU busy. This test does not apply to the wall "launch": between the short kernels of its
    graph the GPU is always partly idle."""
    runs = []
    while len(runs) < 2 or (len(runs) < RUNS and wall != "launch" and max(map(Run.busy_share, runs)) < BUSY):
        runs.append(Run(build, f"{folder}/without-{len(runs)}", wall, "without", setting))
    return min(runs, key=lambda made: made.step_ns(statistics.mean))


def judge_setting(build, folder, wall, setting):
    judge, (expected, causes, _) = Judge(), WALLS[wall]
    made = run_with(build, folder, wall, setting)
    without = run_without(build, folder, wall, setting) if causes else made
    # The straggler itself does not wait for others, and has another wall: only the other ranks are checked.
    straggler = setting["slow_rank"] if wall == "straggler" else None
    # The saving compares mean steps: if waits vary in length, a median step does not contain the cost of all waits.
    step = made.step_ns(statistics.median, straggler)
    saving = made.step_ns(statistics.mean, straggler) - without.step_ns(statistics.mean, straggler)
    judge.share = saving / step
    judge.lines.append(f"step {step / 1e3:.0f} µs, {saving / 1e3:.0f} of them the wall ({saving / step:.0%}), "
                       f"without it {without.busy_share():.0%} busy")
    devices = report(build, made.folder)
    untimed = sum(device["untimed_events"] for device in devices.values())
    loaded = expected == "overhead" and not calm(made)
    if loaded or untimed > UNTIMED * len(made.truth) or (wall != "launch" and without.busy_share() < BUSY):
        judge.skipped.append("the machine was too busy for some settings: they were not judged")
        judge.lines.append(f"NOT JUDGED: kept from a processor for {made.kept_waiting():.0%}, {untimed} operations without times")
        return judge
    check_timeline(judge, devices, made.truth)
    waiting = {rank: device for rank, device in devices.items() if rank != straggler}
    # With pageable memory the host also waits for copies, so there is advice with another cause.
    check_verdict(judge, wall, waiting, step, saving, len(causes) == 1 and setting.get("pinned", 1))
    return judge


def sanitized(build):
    with open(f"{build}/meson-info/intro-buildoptions.json", encoding="utf-8") as options:
        return any(option["name"] == "b_sanitize" and option["value"] != "none" for option in json.load(options))


def count_setting(build, folder, wall, setting):
    """With a sanitizer, times mean nothing, so this only checks that all operations are recorded."""
    judge = Judge()
    made = Run(build, f"{folder}/with", wall, "with", setting)
    devices = report(build, made.folder)
    recorded = sum(device["gpu_events"] + device["untimed_events"] for device in devices.values())
    judge.expect(recorded == len(made.truth), f"operations: {recorded} recorded, {len(made.truth)} ran; times not judged")
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
        judge_one, settings = judge_setting, list(enumerate(WALLS[arguments.wall][2]))
        if sanitized(arguments.build):
            judge_one, settings = count_setting, settings[:1]
        for number, setting in settings:
            if arguments.setting not in (None, number):
                continue
            shares = []
            for attempt in range(TRIES):
                folder = f"{arguments.keep or scratch}/{arguments.wall}-{number}-{attempt}"
                judge = judge_one(arguments.build, folder, arguments.wall, setting)
                print(f"{arguments.wall} {number}: {'; '.join(judge.lines)}")
                for line in judge.wrong:
                    print(f"  WRONG {line}")
                shares += [judge.share] if judge.share is not None else []
                if not judge.wrong:
                    break
            if judge.wrong and len(shares) > 1 and max(shares) - min(shares) > APART:
                judge.skipped.append("two runs of some settings differed too much in truth: they were not judged")
                judge.wrong = []
            failed += bool(judge.wrong)
            skipped.update(judge.skipped)
    if failed:
        sys.exit(f"{arguments.wall}: {failed} settings failed")
    for line in sorted(skipped):
        print(f"skipped: {line}")
    sys.exit(77 if skipped else 0)


main()
