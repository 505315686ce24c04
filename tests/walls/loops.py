"""Compares reports on made-up loops, such as real programs have, with the truth. make_loops.c writes the traces and
the truth:

    loops.py BUILD [NAME...]

Steps must have the true length within 2 % (of the median or mean, as in steps.py). Nearly all true begins must be
found, after the begins of a trace are shifted by a constant, as in steps.py. The wall, its cause and whether the
program trains must be as in LOOPS. For a server, the idle time with the cause "input" must be as long as the time in
which there was truly no request.
"""
import json
import os
import re
import subprocess
import sys
import tempfile

from steps import BEGIN_WITHIN, PERIOD_WITHIN, find, matches, periods

# name: (wall, its cause, whether it trains, the wall behind the waits for input)
LOOPS = {
    "accumulate": ("compute", "matmul", True, None),
    "lengths": ("compute", "matmul", True, None),
    "evaluate": ("compute", "matmul", True, None),
    "gan": ("compute", "matmul", True, None),
    "gan_critic": ("compute", "matmul", True, None),
    "serve": ("overhead", "input", False, "compute"),
    "serve_by_threads": ("overhead", "input", False, "compute"),
    "serve_words": ("bandwidth", "other_compute", False, None),
    "predict": ("overhead", "input", False, "compute"),
    "train_slowly_fed": ("overhead", "input", True, "compute"),
    "graphs": ("overhead", "sync", False, None),
    "graphs_alone": None,  # the kernels inside graphs are not known, so there is no wall
    "graphs_of_sizes": None,
    "graphs_in_pieces": ("overhead", "input", False, None),
    "two_loops": ("compute", "matmul", True, None),
    "reinforce": ("bandwidth", "other_compute", True, None),
    "evaluate_much": ("compute", "matmul", True, None),
    "accumulate_lengths": ("compute", "matmul", True, None),
    "few": ("compute", "matmul", True, None),
}
# In these loops steps cover only a part of the time. The report must say so.
MUCH_ELSE = ["reinforce", "evaluate_much"]
COVERED = 0.75          # if steps cover less of the recording than this, the report must say so
FOUND = 0.97            # the least share of true begins that must be found
ASKED_WITHIN = 0.05     # largest relative error of the time without a request: the report leaves out steps at the ends


def check_steps(truth, steps):
    steady = [step for step in steps if step["kind"] == "steady"]
    assert steady, "no steps"
    period, said = periods(truth, steady)
    assert abs(said - period) <= PERIOD_WITHIN * period, f"steps of {said / 1e6:.3f} ms, truly {period / 1e6:.3f}"
    found, _ = matches(truth["steps"], [step["begin_ns"] for step in steps], BEGIN_WITHIN * period)
    assert found >= FOUND * len(truth["steps"]), f"{found} of {len(truth['steps'])} begins found"
    return f"steps of {said / 1e6:.3f} ms, {found} of {len(truth['steps'])} begins found"


def check_wall(device, truth, expected):
    wall = device["wall"]
    if not expected:
        assert wall["name"] is None, f"wall: {wall}"
        return device["wall_reason"]
    said = (wall["name"], wall["cause"], wall["trains"], wall["behind_input"])
    assert said == expected, f"wall: {said}, expected {expected}"
    asked = [row["total_ns"] for row in device["gap_causes"] if row["cause"] == "input"]
    if truth["nobody_asked"]:
        assert abs(asked[0] - truth["nobody_asked"]) <= ASKED_WITHIN * truth["nobody_asked"], f"{asked} ns of input"
    requests = any("requests" in piece["text"] for piece in device["advice"] if piece["cause"] == "input")
    assert not (requests and wall["trains"]), "a training loop has no requests"
    assert requests or wall["trains"] or not asked, "what a server waits for is said to be a loader's"
    return f"{said[0]}: {said[1]}"


def check_covered(build, trace, device, name):
    output = subprocess.run([f"{build}/tools/wallshim", "report", "--section", "wall", trace], check=True, capture_output=True,
                            text=True)
    said = re.search(r"(steps cover|it covers) [0-9.]+ % of the recording", " ".join(output.stdout.split())) is not None
    share = device["step_time"]["steady_ns"] / device["span_ns"]
    assert (share < COVERED) == said, f"steps are {share:.0%} of the recording, said: {said}"
    assert name not in MUCH_ELSE or said


def check(build, folder, name):
    trace, path = os.path.join(folder, f"{name}.wst"), os.path.join(folder, f"{name}.json")
    subprocess.run([f"{build}/tests/walls/make_loops", name, trace, path], check=True)
    with open(path, encoding="utf-8") as file:
        truth = json.load(file)
    output = subprocess.run([f"{build}/tools/wallshim", "report", "--json", trace], check=True, capture_output=True, text=True)
    device = json.loads(output.stdout)["processes"][0]["devices"][0]
    check_covered(build, trace, device, name)
    return f"{check_steps(truth, find(build, trace, truth))}; {check_wall(device, truth, LOOPS[name])}"


def main():
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for name in sys.argv[2:] or LOOPS:
            try:
                print(f"{name}: {check(sys.argv[1], folder, name)}")
            except AssertionError as wrong:
                print(f"{name}: WRONG {wrong}")
                failed += 1
    return 1 if failed else 0


sys.exit(main())
