"""Compares the steps that a report finds in made-up traces with the true steps (make_steps.c):

    steps.py BUILD [SEED...]

A trace is right if the median length of its steady steps is within 2 % of the truth. If the quartiles of the step
lengths differ by more than 5 %, as with sequences of different lengths, the mean is compared instead: a median
would fall between two kinds of steps.

A true begin after the warm-up counts as found if a step of the report begins near it: nearer than 5 % of a step's
length. Before that, all begins of a trace are shifted by the constant that gives most matches, because the report
may divide the loop into steps at another place. Nine in ten traces must be right, nine in ten true begins must be
found, and nine in ten steady steps of the report must be true steps. In nine of ten controls, the report must find no
steps.

If the folder of given traces exists, traces of real programs that mark their steps are tested, too (markers.py).
The report is told not to use the markers.
"""
import json
import os
import statistics
import subprocess
import sys
import tempfile

from markers import marked_traces

SEEDS = [*range(1, 51), *range(1000, 1010)]
PERIOD_WITHIN, BEGIN_WITHIN, SHARE, SPREAD = 0.02, 0.05, 0.9, 0.05


def nearest(values, to):
    return min(values, key=lambda value: abs(value - to))


def matches(truth, found, within):
    """How many begins of each list match a begin in the other list, with the constant shift that gives most matches."""
    best = (0, 0)
    for phase in {nearest(found, begin) - begin for begin in truth}:
        shifted = [begin - phase for begin in found]
        hits = sum(abs(nearest(shifted, begin) - begin) <= within for begin in truth)
        best = max(best, (hits, sum(abs(nearest(truth, begin) - begin) <= within for begin in shifted)))
    return best


def find(build, trace, truth):
    """The steps that the report finds without markers, with times on the clock of the truth."""
    output = subprocess.run([f"{build}/tools/wallshim", "report", "--json", "--steps", "found", trace], check=True,
                            capture_output=True, text=True)
    device = json.loads(output.stdout)["processes"][0]["devices"][0]
    shift = truth["first"] - device["begin_ns"]
    return [{**step, "begin_ns": step["begin_ns"] + shift} for step in device["steps"]]


def make(build, folder, seed):
    trace, truth = os.path.join(folder, f"{seed}.wst"), os.path.join(folder, f"{seed}.json")
    subprocess.run([f"{build}/tests/walls/make_steps", str(seed), trace, truth], check=True)
    with open(truth, encoding="utf-8") as file:
        return trace, json.load(file)


def true_lengths(truth):
    """Lengths of the steps after the warm-up, without steps that are followed by other work before the next step."""
    begins = truth["steps"][truth["warm_up"]:]
    return [end - begin for begin, end in zip(begins, begins[1:])
            if not any(start < end and stop > begin for start, stop in truth["others"])]


def periods(truth, steady):
    """The true length of a step, and the length that the report found."""
    lengths, found = true_lengths(truth), [step["length_ns"] for step in steady]
    low, _, high = statistics.quantiles(lengths, n=4)
    kind = statistics.mean if high - low > SPREAD * statistics.median(lengths) else statistics.median
    return kind(lengths), kind(found)


class Score:
    def __init__(self):
        self.traces, self.right, self.controls, self.quiet = 0, 0, 0, 0
        self.begins, self.found, self.said, self.true = 0, 0, 0, 0

    def control(self, seed, steps):
        self.controls += 1
        self.quiet += not steps
        if steps:
            print(f"{seed}: {len(steps)} steps in a control")

    def program(self, seed, truth, steps):
        steady = [step for step in steps if step["kind"] == "steady"]
        begins = truth["steps"][truth["warm_up"]:]
        self.traces += 1
        self.begins += len(begins)
        if not steady:
            print(f"{seed}: no steps, {len(begins)} in truth of {truth['period'] / 1e6:.2f} ms ({truth['program']})")
            return
        period, said = periods(truth, steady)
        right = abs(said - period) <= PERIOD_WITHIN * period
        within = BEGIN_WITHIN * period
        found, _ = matches(begins, [step["begin_ns"] for step in steps], within)
        _, true = matches(truth["steps"], [step["begin_ns"] for step in steady], within)
        self.right += right
        self.found += found
        self.said += len(steady)
        self.true += true
        if not right or found < len(begins) or true < len(steady) or isinstance(seed, str):
            print(f"{seed}: period {said / 1e6:.3f} ms, truly {period / 1e6:.3f}; {found} of {len(begins)} begins found; "
                  f"{true} of {len(steady)} steady steps true ({truth['program']}, {truth['accumulate']} batches a step)")

    def verdict(self):
        lines = [("periods within 2 %", self.right, self.traces), ("begins found", self.found, self.begins),
                 ("steady steps that are true", self.true, self.said), ("controls without steps", self.quiet, self.controls)]
        for what, good, of in lines:
            print(f"{what}: {good} of {of}")
        return all(good >= SHARE * of for _, good, of in lines)


def main():
    build, seeds = sys.argv[1], [int(word) for word in sys.argv[2:]]
    score = Score()
    with tempfile.TemporaryDirectory() as folder:
        for seed in seeds or SEEDS:
            trace, truth = make(build, folder, seed)
            steps = find(build, trace, truth)
            if truth["steps"]:
                score.program(seed, truth, steps)
            else:
                score.control(seed, steps)
    made = score.traces
    for name, trace, truth in [] if seeds else marked_traces():
        score.program(name, truth, find(build, trace, truth))
    if not seeds and score.traces == made:
        print("skipped: traces of real programs, for their folder is not there")
    good = score.verdict()
    if not score.said:
        print("skipped: the report finds no steps")
        return 77
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
