"""What the tests of the relay share: certificates, a second collector, and the comparison of what both have."""
import contextlib
import json
import os
import socket
import subprocess

from collector_runs import PATIENCE, Place, check, ended_well, wait_for

COUNT = 2000


def openssl(folder, *words):
    done = subprocess.run(["openssl", *words], cwd=folder, capture_output=True, text=True, check=False)
    check(done.returncode == 0, done.stderr)


def authority(folder, name):
    openssl(folder, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout",
            f"{name}.key", "-out", f"{name}.pem", "-days", "2", "-subj", f"/CN=authority {name}")


def certificate(folder, name, by="ca", days=2, alternative="DNS:localhost,IP:127.0.0.1"):
    openssl(folder, "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", f"{name}.key",
            "-out", f"{name}.csr", "-subj", f"/CN={name}")
    with open(f"{folder}/{name}.ext", "w", encoding="ascii") as file:
        file.write(f"subjectAltName={alternative}\n")
    openssl(folder, "x509", "-req", "-in", f"{name}.csr", "-CA", f"{by}.pem", "-CAkey", f"{by}.key", "-CAcreateserial",
            "-days", str(days), "-extfile", f"{name}.ext", "-out", f"{name}.pem")


def tls(folder, name, by="ca"):
    return ["--tls-cert", f"{folder}/{name}.pem", "--tls-key", f"{folder}/{name}.key", "--tls-ca", f"{folder}/{by}.pem"]


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Remote:
    """The other collector, to which the first one relays the traces."""

    def __init__(self, place, host="127.0.0.1", before=()):
        self.place, self.host, self.before = place, host, before
        self.port = free_port()
        self.jobs = f"{place.folder}/remote"
        self.said = f"{place.folder}/remote.err"
        self.collector = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.collector and self.collector.poll() is None:
            self.kill()

    def start(self, *switches):
        before = len(self.words()) if os.path.exists(self.said) else 0
        with open(self.said, "a", encoding="utf-8") as said:
            self.collector = subprocess.Popen(
                [*self.before, f"{self.place.build}/collector/wallshim-collector", "--listen", f"{self.host}:{self.port}",
                 "--dir", self.jobs, *switches], stdin=subprocess.DEVNULL, stderr=said)
        wait_for(lambda: "listening" in self.words()[before:] or self.collector.poll() is not None, "the remote collector")
        check(self.collector.poll() is None, f"it ended: {self.words()}")

    def words(self):
        with open(self.said, encoding="utf-8", errors="replace") as said:
            return said.read()

    def kill(self):
        self.collector.kill()
        self.collector.wait()

    def stop(self):
        self.collector.terminate()
        status = self.collector.wait(timeout=PATIENCE)
        check(status == 0, f"the remote collector ended with {status}: {self.words()}")

    def clients(self, job="test"):
        try:
            with open(f"{self.jobs}/{job}/manifest.json", encoding="utf-8") as file:
                return json.load(file)["clients"]
        except FileNotFoundError:
            return []

    def ended(self, job="test"):
        return {client["file"]: client["ended"] for client in self.clients(job)}


def content(path):
    with open(path, "rb") as file:
        return file.read()


def traces(folder):
    names = os.listdir(folder) if os.path.isdir(folder) else []
    return {name: content(f"{folder}/{name}") for name in names if name.endswith(".wst")}


def all_there(place, remote, job="test"):
    """Checks that both collectors have the same traces, byte by byte, and no others, and that both name the same end of
    each trace."""
    def is_there():
        here = {client["file"]: client["ended"] for client in place.manifest()["clients"]}
        return here and "still recording" not in here.values() and remote.ended(job) == here
    wait_for(lambda: os.path.exists(f"{place.job}/manifest.json") and is_there(), "all to be relayed")
    check(traces(place.job) == traces(f"{remote.jobs}/{job}"), "the traces differ")


def a_trace(place):
    """The bytes of a trace as a shim writes it. It goes to a file."""
    ended_well(place.program(COUNT, 20, WALLSHIM_COLLECTOR="", WALLSHIM_OUTPUT=f"{place.folder}/given.trace"), COUNT)
    return content(f"{place.folder}/given.trace")


@contextlib.contextmanager
def pair(build):
    """Yields a place with certificates, and the other collector."""
    with Place(build) as place, Remote(place) as remote:
        authority(place.folder, "ca")
        certificate(place.folder, "here")
        certificate(place.folder, "there")
        yield place, remote


def relay_to(place, port, name="here", host="localhost"):
    return ["--relay", f"{host}:{port}", *tls(place.folder, name)]
