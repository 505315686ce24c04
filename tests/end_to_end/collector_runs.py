"""What the tests of the collector share: a collector, programs that stream to it, and what their traces hold."""
import contextlib
import json
import os
import signal
import socket
import struct
import subprocess
import tempfile

from cases import PATIENCE, check, wait_for

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

MAGIC, VERSION = 0x68635357, 1
HELLO, WELCOME, REFUSED, DATA, TAKEN, GOODBYE = range(1, 7)


class Place:
    """A folder with a socket and jobs, and a collector that can be started again."""

    def __init__(self, build):
        self.build = os.path.abspath(build)
        self.folder = tempfile.mkdtemp(prefix="collector-")
        self.socket = f"{self.folder}/run/socket"
        self.jobs = f"{self.folder}/jobs"
        self.job = f"{self.jobs}/test"
        self.said = f"{self.folder}/collector.err"
        self.collector = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.collector and self.collector.poll() is None:
            self.collector.kill()
            self.collector.wait()
        subprocess.run(["rm", "-rf", self.folder], check=True)

    def start(self, *switches, job="test", before=(), **environment):
        """Starts the collector. `before`: words of a command that starts the collector in turn."""
        with open(self.said, "a", encoding="utf-8") as said:
            self.collector = subprocess.Popen(
                [*before, f"{self.build}/collector/wallshim-collector", "--listen", f"unix:{self.socket}", "--dir",
                 self.jobs, *(["--job", job] if job else []), *switches], stdin=subprocess.DEVNULL, stderr=said,
                env={**os.environ, **environment})
        wait_for(self.listens, "the collector")

    def listens(self):
        check(self.collector.poll() is None, f"the collector ended: {self.words()}")
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as probe:
            with contextlib.suppress(OSError):
                probe.connect(self.socket)
                return True
        return False

    def signal(self, number):
        self.collector.send_signal(number)

    def kill(self):
        self.collector.kill()
        self.collector.wait()

    def stop(self):
        self.collector.send_signal(signal.SIGTERM)
        status = self.collector.wait(timeout=PATIENCE)
        check(status == 0, f"the collector ended with {status}: {self.words()}")
        check(not os.path.exists(self.socket), "the socket is still there")

    def words(self):
        with open(self.said, encoding="utf-8", errors="replace") as said:
            return said.read()

    def program(self, *words, collected=True, **environment):
        """Starts tests/programs/streamed. Without `collected` it runs without the shim."""
        shim = [] if collected else ["--no-shim"]
        return subprocess.Popen(
            [f"{ROOT}/tests/run_preloaded.sh", *shim, self.build, f"{self.build}/tests/programs/streamed",
             *map(str, words)], cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env={**os.environ, "WALLSHIM_COLLECTOR": f"unix:{self.socket}", "WALLSHIM_BACKEND": "host", **environment})

    def traces(self):
        names = sorted(os.listdir(self.job)) if os.path.isdir(self.job) else []
        return [f"{self.job}/{name}" for name in names if name.endswith(".wst")]

    def manifest(self):
        with open(f"{self.job}/manifest.json", encoding="utf-8") as file:
            return json.load(file)

    def wallshim(self, *words):
        return subprocess.run([f"{self.build}/tools/wallshim", *words], check=True, capture_output=True, text=True).stdout

    def counts(self, path):
        """The numbers of operations and of calls in a trace, and how many of both were lost because the trace could not be
        written."""
        rows = [json.loads(line) for family in ("op", "call", "loss")
                for line in self.wallshim("dump", "--json", "--family", family, path).splitlines()]
        unwritten = sum(row["count"] for row in rows if row["family"] == "loss" and row["reason"] == 10)
        return (sum(row["family"] == "op" for row in rows), sum(row["family"] == "call" for row in rows), unwritten)

    def end_of(self, path):
        meta = [json.loads(line) for line in self.wallshim("dump", "--json", "--family", "meta", path).splitlines()]
        return {row["key"]: row["value"] for row in meta}.get("end")

    def left_in_folder(self):
        return sorted(name for name in os.listdir(self.folder) if name.endswith(".wst"))


def ended_well(program, count):
    output, errors = program.communicate(timeout=PATIENCE * 2)
    check(program.returncode == 0, f"the program ended with {program.returncode}: {errors}")
    check(output == f"launched {count}\n", f"the program wrote {output!r}")
    return errors


def message(kind, number=0, data=b"", size=None, version=VERSION, magic=MAGIC):
    body = struct.pack("<Q", number) + data
    return struct.pack("<IHHII", magic, version, kind, len(body) if size is None else size, 0) + body


def hello(file=b"a.wst", stream=1, job=b"", start=0, boot=b"", pid=None):
    body = struct.pack("<QQII40s64s72s64s256s", stream, start, os.getpid() if pid is None else pid, 0, boot, b"0",
                       b"host", job, file)
    return struct.pack("<IHHII", MAGIC, VERSION, HELLO, len(body), 0) + body


class Client:
    """A client that the test implements itself."""

    def __init__(self, place):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.settimeout(PATIENCE)
        self.socket.connect(place.socket)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def send(self, data):
        """Sends a message. Returns False if the collector has ended the connection."""
        try:
            self.socket.send(data)
            return True
        except OSError:
            return False

    def answer(self):
        """Receives an answer. Returns (kind, number), or None at the end of the connection."""
        try:
            data = self.socket.recv(65536)
        except ConnectionResetError:
            return self.answer()
        return (struct.unpack_from("<H", data, 6)[0], struct.unpack_from("<Q", data, 16)[0]) if data else None

    def is_cut_off(self):
        answer = self.answer()
        while answer and answer[0] in (WELCOME, TAKEN):
            answer = self.answer()
        return answer is None or answer[0] == REFUSED

    def trace(self, data, at=0):
        for begin in range(0, len(data), 65536):
            if not self.send(message(DATA, at + begin, data[begin:begin + 65536])):
                return
