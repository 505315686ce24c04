"""Running programs, for tests that attach to them."""
import contextlib
import json
import os
import re
import signal
import subprocess
import tempfile

import cases
from cases import PATIENCE, check

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


class Running:
    """What the system says of the process `pid`."""

    def __init__(self, pid):
        self.pid = pid

    def text(self, library):
        """Returns the code of a loaded library as it is in memory, and where the library's file is mapped."""
        with open(f"/proc/{self.pid}/maps", encoding="utf-8") as maps:
            lines = [line for line in maps if line.rstrip().endswith("/" + library)]
        code = b""
        with open(f"/proc/{self.pid}/mem", "rb") as memory:
            for begin, end in (line.split()[0].split("-") for line in lines if " r-xp " in line):
                memory.seek(int(begin, 16))
                code += memory.read(int(end, 16) - int(begin, 16))
        return code, sum(int(end, 16) - int(begin, 16) for begin, end in (line.split()[0].split("-") for line in lines))

    def count_mappings(self, word):
        with open(f"/proc/{self.pid}/maps", encoding="utf-8") as maps:
            return sum(word in line for line in maps)

    def threads(self):
        """{name: voluntary switches} of the shim's threads."""
        found = {}
        for task in os.listdir(f"/proc/{self.pid}/task"):
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                with open(f"/proc/{self.pid}/task/{task}/status", encoding="utf-8") as status:
                    text = status.read()
                name = re.search(r"Name:\t(.*)", text)[1]
                if name.startswith("wallshim"):
                    found[name] = int(re.search(r"\nvoluntary_ctxt_switches:\t(\d+)", text)[1])
        return found

    def descriptors(self):
        links = []
        for name in os.listdir(f"/proc/{self.pid}/fd"):
            with contextlib.suppress(FileNotFoundError):
                links.append(os.readlink(f"/proc/{self.pid}/fd/{name}"))
        # The server itself opens libprobe.so, and a sanitizer opens the list of mappings now and then.
        return sorted(link for link in links if not link.endswith(("libprobe.so", f"/proc/{self.pid}/maps")))

    def resident(self):
        with open(f"/proc/{self.pid}/status", encoding="utf-8") as status:
            return int(re.search(r"VmRSS:\s+(\d+)", status.read())[1])


class Server(Running):
    """A program of tests/programs, or server.py, in a folder of its own. asleep: the shim is preloaded, but records
    nothing."""

    def __init__(self, build, asleep=True, workers=2, python=False, before=(), program="server"):
        self.build = os.path.abspath(build)
        self.folder = tempfile.mkdtemp(prefix="attach-")
        self.workers, self.before = workers, before
        self.program = ["python3", f"{ROOT}/tests/programs/server.py"] if python else [f"{self.build}/tests/programs/{program}"]
        self.asleep = asleep

    def __enter__(self):
        shim = [] if self.asleep else ["--no-shim"]
        self.process = subprocess.Popen(
            [*self.before, f"{ROOT}/tests/run_preloaded.sh", *shim, self.build, *self.program, str(self.workers), f"{self.build}/tests/programs/libraries/libprobe.so"], cwd=self.folder,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, "WALLSHIM_START": "off"})
        check(self.process.stdout.readline() == "ready\n", "the server does not begin")
        with open(f"/proc/{self.process.pid}/task/{self.process.pid}/children", encoding="utf-8") as children:
            self.pid = int((children.read().split() or [self.process.pid])[0])
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            os.kill(self.pid, signal.SIGKILL)
            self.process.communicate()
        subprocess.run(["rm", "-rf", self.folder], check=True)

    def wallshim(self, *words):
        return subprocess.run([f"{self.build}/tools/wallshim", *map(str, words)], cwd=self.folder, capture_output=True,
                              text=True, check=False, timeout=PATIENCE)

    def attach(self, *words):
        return self.wallshim("attach", self.pid, *words)

    def start_attach(self, *words):
        return subprocess.Popen([f"{self.build}/tools/wallshim", "attach", str(self.pid), *words], cwd=self.folder,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def traces(self):
        return sorted(name for name in os.listdir(self.folder) if name.endswith(".wst"))

    def rows(self, trace, family):
        dump = self.wallshim("dump", "--json", "--family", family, trace)
        check(dump.returncode == 0, dump.stderr)
        return [json.loads(line) for line in dump.stdout.splitlines()]

    def kernels(self, trace):
        """The number of launches in the trace, by the kernel's name."""
        names = {row["id"]: row["name"] for row in self.rows(trace, "function")}
        shapes = {row["id"]: names.get(row["function"]) for row in self.rows(trace, "shape")}
        found = {}
        for row in self.rows(trace, "op"):
            name = shapes[row["shape"]]
            if name:
                found[name] = found.get(name, 0) + 1
        return found

    def ends_well(self):
        os.kill(self.pid, signal.SIGTERM)
        output, errors = self.process.communicate(timeout=PATIENCE)
        said = re.fullmatch(r"requests (\d+) wrong (\d+) others (\d+)\n", output)
        check(self.process.returncode == 0 and said, f"{self.process.returncode}: {output!r} {errors}")
        check(int(said[1]) > 0 and said[2] == "0", output)
        return errors


@contextlib.contextmanager
def other_program(build, *words, **environment):
    """Starts a program that waits for input. Yields its process. build: the build whose libraries the program gets. None: it
    gets none, because this program could not load a sanitizer's library."""
    libraries = [f"{ROOT}/tests/run_preloaded.sh", "--no-shim", build] if build else []
    process = subprocess.Popen([*libraries, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               env={**os.environ, **environment})
    try:
        check(process.stdout.readline() == b"ready\n", f"{words} does not begin")
        yield process
    finally:
        process.kill()
        process.communicate()


def is_refused(build, pid, why, before=()):
    """Checks that `attach` and `doctor` give the same reason, that `attach` gives it in one line, and that no file is
    written."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o777)
        command = [*before, f"{build}/tools/wallshim"]
        done = subprocess.run([*command, "attach", str(pid)], cwd=folder, capture_output=True, text=True, check=False,
                              timeout=PATIENCE)
        check(done.returncode == 2 and why in done.stderr and done.stderr.count("\n") == 1, (why, done))
        told = subprocess.run([*command, "doctor", str(pid)], cwd=folder, capture_output=True, text=True, check=False,
                              timeout=PATIENCE)
        check(told.returncode == 2 and f"refuses: {done.stderr.split(': ', 2)[2].strip()}" in told.stdout, (done, told))
        check(not os.listdir(folder), os.listdir(folder))


def can_inject(build):
    """Whether this build can load the shim into a running program. Prints the reason if it cannot."""
    if cases.sanitized(f"{build}/tests/programs/server"):
        print("skipped: a sanitizer must know of all threads")
        return False
    if not os.path.exists("/usr/lib/x86_64-linux-gnu/libZydis.so.4.0"):
        print("skipped: libZydis.so.4.0 is not installed")
        return False
    return True
