"""Runs the sample programs under every mode of recording and measures what each mode costs. Results must not change."""
import os
import statistics
import sys

from runner import MODES, UNABLE

MOST_TRACE = 4 << 20  # a larger trace is not kept


def catalogue(runner):
    """(name, command, environment) of every program that may run on this machine."""
    samples = os.path.join(runner.root, "samples")
    python = [sys.executable]
    two_devices = {"SIMGPU_DEVICES": "2"} if runner.simulated else {}
    steps = "40" if runner.simulated else "300"
    programs = [
        ("train.py", python + [os.path.join(samples, "train.py"), "--steps", steps, "--timing"], {}),
        ("train.py fused, synchronous", python + [os.path.join(samples, "train.py"), "--steps", steps, "--timing",
                                                  "--fused", "--sync"], {}),
        ("train_driver", [os.path.join(runner.samples, "train_driver"), "--steps", steps], {}),
        ("train_driver graph", [os.path.join(runner.samples, "train_driver"), "--steps", steps, "--graph"], {}),
        ("ddp", [os.path.join(runner.samples, "ddp")], two_devices),
    ]
    if not runner.simulated:  # the runtime needs private tables of the driver, which the simulated one does not have
        programs.append(("runtime", [os.path.join(runner.samples, "runtime")], {}))
    return programs


def median_time(outcomes):
    """The median step time if the program prints it, otherwise the median time of a whole run. The second value is
    "step" or "run"."""
    steps = [outcome.timing.get("median_step_ns") for outcome in outcomes]
    if all(steps):
        return statistics.median(steps), "step"
    return statistics.median(outcome.wall_ns for outcome in outcomes), "run"


def measure(runner, budget):
    """Runs every program under every mode in each round: one to five rounds, as the time in `budget` (s) allows."""
    rows, skipped, able = [], [], []
    for name, command, environment in catalogue(runner):
        if not os.path.exists(command[0]):
            skipped.append({"name": name, "why": "not built here"})
            continue
        trial = runner.run(command, environment=environment)
        if trial.status == UNABLE:
            skipped.append({"name": name, "why": trial.error.strip().splitlines()[-1]})
        elif trial.status:
            rows.append({"name": name, "failed": f"status {trial.status} by itself: {trial.error.strip()[-400:]}"})
        else:
            able.append((name, command, environment, trial, {mode: [] for mode in MODES}))

    stop = runner.seconds_left - budget
    rounds = 0
    while able and (rounds == 0 or (rounds < 5 and runner.seconds_left > stop)):
        for name, command, environment, trial, outcomes in able:
            if rounds and runner.seconds_left < stop:
                break
            for mode in MODES:
                outcome = runner.run(command, mode, environment)
                outcomes[mode].append(outcome)
                if rounds == 0 and mode == "sampled":
                    keep_trace(runner, name, outcome)
                runner.discard(outcome)
        rounds += 1
    for name, _, _, trial, outcomes in able:
        rows.append(summarise(name, trial, outcomes))
    return {"rounds": rounds, "programs": rows, "skipped": skipped}


def keep_trace(runner, name, outcome):
    if not outcome.trace or os.path.getsize(outcome.trace) > MOST_TRACE:
        return
    kept = "".join(c if c.isalnum() or c in "._" else "-" for c in name).replace("--", "-") + ".wst"
    with open(outcome.trace, "rb") as source, open(os.path.join(runner.out, kept), "wb") as target:
        target.write(source.read())


def summarise(name, trial, outcomes):
    row = {"name": name, "result": trial.output.strip().splitlines()[-1:], "modes": {}}
    alone, of = median_time(outcomes["none"])
    for mode, runs in outcomes.items():
        time_ns, _ = median_time(runs)
        changed = [run for run in runs if run.status != trial.status or run.output != trial.output]
        row["modes"][mode] = {
            "runs": len(runs), f"median_{of}_ns": round(time_ns), "slowdown": round(time_ns / alone - 1, 4),
            "results_unchanged": not changed, "complaints": sorted({line for run in runs for line in run.complaints}),
        }
        if changed:
            row["modes"][mode]["first_change"] = (changed[0].output + changed[0].error)[-400:]
    return row
