"""The main function of tests that are made of cases: SCRIPT --list | SCRIPT BUILD CASE; and the functions by which such
tests check."""
import re
import subprocess
import sys
import time

PATIENCE = 60  # seconds: a busy machine may be slow


def check(condition, message):
    if not condition:
        raise AssertionError(message)


def wait_for(condition, what):
    end = time.monotonic() + PATIENCE
    while not condition():
        check(time.monotonic() < end, f"waited for {what}")
        time.sleep(0.02)


def sanitized(program):
    """Whether a program was built with a sanitizer: its memory and its time then say nothing about the code."""
    needed = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
    return re.search(r"lib(asan|tsan)", needed) is not None


def main(module):
    """module: the globals() of the test. Each function case_NAME(build) is a case; its result is the exit status."""
    cases = {name[len("case_"):]: function for name, function in module.items() if name.startswith("case_")}
    if sys.argv[1] == "--list":
        print("\n".join(cases))
        sys.exit(0)
    sys.exit(cases[sys.argv[2]](sys.argv[1]) or 0)
