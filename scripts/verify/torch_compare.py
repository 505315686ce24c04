"""PyTorch under wallshim and under torch.profiler: kernels' times against those of CUPTI, and what each profiler costs."""
import gzip
import json
import os
import statistics
import sys

from runner import UNABLE

PROGRAMS = ["eager", "batch-1", "graph"]
# Profiler → switches of `wallshim record`. None: torch.profiler. "none": no profiler, to compare the others with.
PROFILERS = {
    "none": "none",
    "host": ["--backend", "host"],
    "default": [],
    "overhead 0.5%": ["--overhead", "0.5%"],
    "shared": ["--event-placement", "shared"],
    "torch.profiler": None,
}


def steps_command(runner, *switches):
    return [sys.executable, os.path.join(runner.root, "scripts", "verify", "torch_steps.py"),
            os.path.join(runner.root, "samples"), *switches]


def failure(outcome):
    """What to put into the results if the program did not succeed, or None."""
    if outcome.status == UNABLE:
        return {"skipped": "no PyTorch, or it finds no GPU"}
    return {"failed": outcome.error.strip()[-400:]} if outcome.status else None


# --- kernels' times ---------------------------------------------------------------------------------


def cupti_kernels(path):
    """The kernels of a trace of torch.profiler, in the order of their launches: (grid and block, name, begin, end),
    times in ns."""
    with (gzip.open if path.endswith(".gz") else open)(path, "rt", encoding="utf-8") as file:
        events = json.load(file)["traceEvents"]
    launched = {event["args"]["correlation"]: event["ts"] for event in events
                if event.get("cat") in ("cuda_runtime", "cuda_driver") and "aunch" in event["name"]}
    kernels = [event for event in events if event.get("cat") == "kernel" and event["args"]["correlation"] in launched]
    kernels.sort(key=lambda event: launched[event["args"]["correlation"]])
    base = min(event["ts"] for event in kernels)
    return [((*event["args"]["grid"], *event["args"]["block"]), event["name"], (event["ts"] - base) * 1000,
             (event["ts"] - base + event["dur"]) * 1000) for event in kernels]


def own_kernels(runner, trace):
    """The kernels of a trace of wallshim, in the order of their launches: (grid and block, row)."""
    shapes = {row["id"]: row for row in runner.dump(trace, "shape")}
    places = [f"{what}_{axis}" for what in ("grid", "block") for axis in "xyz"]
    rows = [row for row in runner.dump(trace, "op") if shapes[row["shape"]]["kind"] == 1 and row["begin"]]
    rows.sort(key=lambda row: row["host_begin"])
    return [(tuple(shapes[row["shape"]][place] for place in places), row) for row in rows]


def paired(own, theirs):
    """Pairs the kernels that both profilers saw: (row, name, begin, end). torch.profiler saw the last kernels of the
    recording; up to 39 may follow them."""
    for left in range(min(40, len(own) - len(theirs) + 1)):
        last = len(own) - left
        pairs = list(zip(own[last - len(theirs):last], theirs))
        same = [(mine[1], *its[1:]) for mine, its in pairs if mine[0] == its[0]]
        if len(same) > 0.98 * len(theirs):
            return same
    return []


def quartiles(values):
    return [round(value) for value in statistics.quantiles(values, n=4)]


def judge(pairs):
    """Compares times in ns. The two clocks differ by a constant, which is taken from the median of all begins."""
    off = statistics.median(row["begin"] - begin for row, _, begin, _ in pairs)
    begins = [row["begin"] - off - begin for row, _, begin, _ in pairs]
    ends = [row["end"] - off - end for row, _, _, end in pairs]
    shapes = {}
    for row, name, begin, end in pairs:
        sums = shapes.setdefault((name, row["shape"]), [0, 0, 0])
        for at, value in enumerate((1, row["end"] - row["begin"], end - begin)):
            sums[at] += value
    total = sum(sums[2] for sums in shapes.values())
    worst = sorted(shapes.items(), key=lambda item: -abs(item[1][1] - item[1][2]))[:12]
    return {
        "kernels": len(pairs),
        "total_of_cupti": round(sum(sums[1] for sums in shapes.values()) / total, 4),
        "weighted_error": round(sum(abs(sums[1] - sums[2]) for sums in shapes.values()) / total, 4),
        "duration_off_ns": quartiles([(row["end"] - row["begin"]) - (end - begin) for row, _, begin, end in pairs]),
        "begin_off_ns": quartiles(begins), "end_off_ns": quartiles(ends),
        "begins_inside": round(sum(abs(value) <= pair[0]["begin_error"] for value, pair in zip(begins, pairs)) / len(pairs), 4),
        "ends_inside": round(sum(abs(value) <= pair[0]["end_error"] for value, pair in zip(ends, pairs)) / len(pairs), 4),
        "begin_error_ns": quartiles([row["begin_error"] for row, *_ in pairs]),
        "worst": [{"name": name[:80], "count": count, "mean_ns": round(mine / count), "cupti_mean_ns": round(its / count)}
                  for (name, _), (count, mine, its) in worst],
    }


def compare_kernels(runner):
    """Records a program whose last round runs under torch.profiler as well, so both see the same launches."""
    answer = {}
    for program in ("eager", "batch-1"):
        path = os.path.join(runner.scratch.name, "torch.json")
        outcome = runner.run(steps_command(runner, "--programs", program, "--rounds", "2", "--steps", "25", "--trace", path),
                             "sampled")
        wrong = failure(outcome)
        if wrong:
            return wrong
        pairs = paired(own_kernels(runner, outcome.trace), cupti_kernels(path))
        answer[program] = judge(pairs) if pairs else {"failed": "the launches differ from those that torch.profiler saw"}
        runner.discard(outcome)
    return answer


# --- what profilers cost ----------------------------------------------------------------------------


def slowdown(rounds):
    """Compares each round under the profiler with the mean of the rounds before and after it, which run without. Returns
    by which share rounds take longer under the profiler: the median and the quartiles."""
    ratios = []
    for at in range(1, len(rounds), 2):
        beside = rounds[at - 1:at + 2:2]
        ratios.append(rounds[at] / statistics.mean(beside))
    low, middle, high = statistics.quantiles(ratios, n=4) if len(ratios) > 1 else ratios * 3
    return {"slowdown": round(middle - 1, 4), "low": round(low - 1, 4), "high": round(high - 1, 4), "pairs": len(ratios)}


def measure_slowdown(runner):
    """Runs each program with and without each profiler, in turn, in one process. The models' losses at the end must be
    those without a profiler. torch.profiler runs fewer rounds, so its losses are not compared."""
    answer, losses = {}, {}
    for name, switches in PROFILERS.items():
        if runner.seconds_left < 25:
            answer[name] = {"skipped": "no time left"}
            continue
        rounds = "6" if switches is None else "16"
        command = steps_command(runner, "--programs", ",".join(PROGRAMS), "--alternate", "--steps", "20", "--rounds", rounds,
                                *(["--profiler"] if switches is None else []))
        recorded = isinstance(switches, list)
        outcome = runner.run_as(command, ["--capture-range", "profiler", *switches] if recorded else None)
        wrong = failure(outcome)
        if wrong:
            answer[name] = wrong
            continue
        programs = outcome.timing["programs"]
        answer[name] = {program: slowdown(row["step_ns"]) | {"step_ns": round(statistics.median(row["step_ns"][::2]))}
                        for program, row in programs.items()}
        if rounds == "16":
            losses[name] = {program: row["loss"] for program, row in programs.items()}
        runner.discard(outcome)
    answer["results_unchanged"] = all(values == losses.get("none") for values in losses.values())
    return answer
