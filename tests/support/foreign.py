"""Shared by the tests of imports: functions that write input files, run wallshim on them, and read its output."""
import collections
import gzip
import json
import os
import signal
import re
import subprocess
import sys
import tempfile
import types

WALLSHIM = os.path.abspath(sys.argv[1])
FOLDER = tempfile.TemporaryDirectory()


def sanitized():
    """Whether the command was built with a sanitizer. Tests then use smaller inputs, because large inputs would take
    long."""
    needed = subprocess.run(["ldd", WALLSHIM], capture_output=True, text=True, check=True).stdout
    return re.search(r"lib(asan|tsan)", needed) is not None


def path(name):
    return os.path.join(FOLDER.name, name)


# Under nohup or in the background, a test ignores these signals. Commands that it starts would ignore them as well.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)


def write(content, name="trace.json", packed=False):
    """Writes a file and returns its path. content: text, bytes, or an object to be written as JSON. packed: with gzip."""
    if not isinstance(content, (str, bytes)):
        content = json.dumps(content)
    data = content.encode() if isinstance(content, str) else content
    with open(path(name), "wb") as file:
        file.write(gzip.compress(data) if packed else data)
    return path(name)


def run(*arguments):
    return subprocess.run([WALLSHIM, *arguments], capture_output=True, text=True, check=False)


def rows(file):
    """The rows of a trace by family, in their order in the file."""
    result = run("dump", "--json", file)
    if result.returncode:
        raise AssertionError(result.stderr)
    families = collections.defaultdict(list)
    for line in result.stdout.splitlines():
        row = json.loads(line)
        families[row.pop("family")].append(types.SimpleNamespace(**row))
    return families


def by_id(table):
    return {row.id: row for row in table}


def meta(families):
    return {row.key: row.value for row in families["meta"]}


def report(*files):
    result = run("report", "--json", "--top", "0", *files)
    if result.returncode:
        raise AssertionError(result.stderr)
    return json.loads(result.stdout)["processes"]


def refused(*arguments):
    """Runs a command that wallshim must refuse with status 2. Returns the one line of its error message."""
    result = run(*arguments)
    assert result.returncode == 2, f"status {result.returncode}: {result.stderr}"
    lines = result.stderr.splitlines()
    assert len(lines) == 1, result.stderr
    return lines[0]


def run_tests(module):
    """Runs every function of a module whose name begins with test_; exits 1 when one fails."""
    failed = 0
    tests = [(name, value) for name, value in module.items() if name.startswith("test_")]
    for name, test in tests:
        try:
            test()
        except Exception as error:  # pylint: disable=broad-except
            failed += 1
            print(f"{name}: {type(error).__name__}: {error}")
    print(f"{len(tests)} tests, {failed} failed")
    sys.exit(1 if failed or not tests else 0)
