"""Runs tests/programs/stacks_soak.py on every interpreter of the machine, and compares the stacks of the trace with those
that the interpreter saw. A stack may be lost: on a busy machine the shim does not wait for its own lock. But the trace
may hold no stack that the interpreter did not see."""
import argparse
import collections
import os
import subprocess
import sys
import tempfile
import time

root = sys.argv[1]
sys.path[:0] = [os.path.join(root, "tests/end_to_end"), os.path.join(root, "tests/support")]
import stacks  # noqa: E402


def taken(build, trace):
    """The number of stacks that were taken at calls."""
    with subprocess.Popen([f"{build}/tools/wallshim", "dump", "--json", "--family", "stack", trace], stdout=subprocess.PIPE,
                          text=True) as dump:
        return sum('"in_pause":0' in line for line in dump.stdout)


def soak(build, python, walks, seed):
    """Returns the numbers of stacks at calls, of different stacks, and of lost stacks, and what is wrong."""
    with tempfile.TemporaryDirectory() as folder:
        trace = stacks.record(build, folder, [python, os.path.join(root, "tests/programs/stacks_soak.py"), f"{folder}/seen",
                                              str(walks), str(seed)],
                              limit=36000, WALLSHIM_STACKS="all", WALLSHIM_RING="64M")
        truth = collections.Counter()
        with open(f"{folder}/seen", encoding="utf-8") as file:
            for line in file:
                count, stack = line.rstrip("\n").split(" ", 1)
                truth[stack] += int(count)
        # Uses the plain build's command if there is one, because a sanitized command takes ten times as long.
        plain = os.path.join(root, "build")
        reader = plain if os.path.exists(f"{plain}/tools/wallshim") else build
        found, lost = stacks.folded(reader, trace), sum(truth.values()) - taken(reader, trace)
    # The shim's thread also takes stacks in pauses between calls. Such stacks end at other lines, or at a line of
    # the program's calls that still runs.
    places = {stack.rsplit(";", 1)[-1] for stack in truth}
    missing = [f"{truth[stack] - found[stack]} of {truth[stack]} are missing: {stack}" for stack in truth
               if found[stack] < truth[stack]]
    wrong = [f"{count} were never seen: {stack}" for stack, count in found.items()
             if stack.rsplit(";", 1)[-1] in places and stack not in truth]
    if sum(max(truth[stack] - found[stack], 0) for stack in truth) > lost:
        wrong += missing
    return sum(truth.values()), len(truth), lost, wrong


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("root")
    parser.add_argument("walks", type=int, nargs="?", default=10000000)
    parser.add_argument("--seed", type=int, default=int(time.time()) % 100000)
    parser.add_argument("--build", default=os.path.join(root, "build"))
    parser.add_argument("--python", help="3.12, say: this one alone")
    options = parser.parse_args()
    found = stacks.interpreters()
    if options.python:
        found = {options.python: found[options.python]}
    failed = not found
    for at, (version, python) in enumerate(found.items()):
        begin = time.monotonic()
        walks, different, lost, wrong = soak(os.path.abspath(options.build), python, options.walks // len(found), options.seed + at)
        print(f"Python {version}, seed {options.seed + at}: {walks} walks, {different} different stacks, {lost} lost, {len(wrong)} wrong, "
              f"{time.monotonic() - begin:.0f} s", flush=True)
        for line in wrong[:8]:
            print("    " + (line if len(line) < 400 else f"{line[:100]} … {line[-300:]}"))
        failed |= bool(wrong) or lost > walks // 1000
    return 1 if failed else 0


sys.exit(main())
