"""Reads what meson wrote about its tests.

    results.py sum LOG…             adds up testlog.json files; exit status 1 when a test failed or none ran. A
                                    testlog-second.json beside a log holds the results of tests that were tried again;
                                    they replace those in the log
    results.py failed LOG           names the tests that failed
    results.py left-out BUILD SUITE names the tests of a suite that a build leaves out; exit status 1 when over twelve
"""
import json
import os
import subprocess
import sys

GOOD = {"OK", "EXPECTEDFAIL"}
MOST_LEFT_OUT = 12


def results(log):
    """The result of each test in a log, by name."""
    with open(log, encoding="utf-8") as lines:
        return {test["name"]: test["result"] for test in map(json.loads, lines)}


def failures(log):
    return [name.split(" / ")[-1] for name, result in results(log).items() if result not in GOOD and result != "SKIP"]


def add_up(logs):
    passed, skipped, failed = 0, 0, []
    for log in logs:
        if not os.path.exists(log):
            failed.append(f"no results in {log}")
            continue
        tree = os.path.basename(os.path.dirname(os.path.dirname(log)))
        first, second = results(log), log.replace("testlog.json", "testlog-second.json")
        again = results(second) if os.path.exists(second) else {}
        for name, result in (first | again).items():
            if result in GOOD:
                passed += 1
                if name in again:
                    print(f"passed only at a second try, alone: {tree}: {name}")
            elif result == "SKIP":
                skipped += 1
                print(f"skipped: {tree}: {name}")
            else:
                failed.append(f"{tree}: {name} ({result.lower()})")
    for name in failed:
        print(f"failed: {name}")
    if not passed and not failed:
        print("no test ran")
    print(f"{passed} passed, {len(failed)} failed, {skipped} skipped")
    return 1 if failed or not passed else 0


def left_out(build, suite):
    listing = subprocess.run(["meson", "introspect", "--tests", build], check=True, capture_output=True, text=True)
    names = [test["name"] for test in json.loads(listing.stdout)
             if any(entry.split(":")[-1] == suite for entry in test["suite"])]
    print(f"left out ({suite}): {', '.join(names) or 'none'}")
    if len(names) > MOST_LEFT_OUT:
        print(f"more than {MOST_LEFT_OUT} tests are left out")
        return 1
    return 0


def main(arguments):
    if len(arguments) >= 2 and arguments[0] == "sum":
        return add_up(arguments[1:])
    if len(arguments) == 2 and arguments[0] == "failed":
        print("\n".join(failures(arguments[1])))
        return 0
    if len(arguments) == 3 and arguments[0] == "left-out":
        return left_out(arguments[1], arguments[2])
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
