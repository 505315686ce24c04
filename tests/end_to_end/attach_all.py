"""Tests `wallshim attach --all`, on the processes of tests/programs/launcher.py.

    attach_all.py BUILD CASE|--list
"""
import json
import os
import re
import signal
import subprocess
import tempfile

import cases
from cases import PATIENCE, check, wait_for
from servers import ROOT, Running, can_inject


class Launcher(Running):
    """The launcher, run in a folder of its own. It has started a child for each word."""

    def __init__(self, build, *words):
        super().__init__(0)
        self.build, self.words = os.path.abspath(build), words
        self.folder = tempfile.mkdtemp(prefix="attach-all-")
        self.children = []  # (word, Running)

    def __enter__(self):
        self.process = subprocess.Popen(["python3", f"{ROOT}/tests/programs/launcher.py", self.build, *self.words],
                                        cwd=self.folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.pid = self.process.pid
        while (line := self.process.stdout.readline().split()) != ["ready"]:
            check(line, "the launcher does not begin")
            self.children.append((line[0], Running(int(line[1]))))
        self.before = {child.pid: (child.text("libcuda.so.1"), child.descriptors()) for child in self.servers()}
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            for _, child in self.children:
                os.kill(child.pid, signal.SIGKILL)
            self.process.kill()
            self.process.communicate()
        subprocess.run(["rm", "-rf", self.folder], check=True)

    def pids(self, *words):
        return [child.pid for word, child in self.children if word in words]

    def servers(self):
        return [child for word, child in self.children if word not in ("sandboxed", "idle")]

    def starts_another(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        word, pid = self.process.stdout.readline().split()
        self.children.append((word, Running(int(pid))))
        return int(pid)

    def wallshim(self, *words):
        return subprocess.run([f"{self.build}/tools/wallshim", *map(str, words)], cwd=self.folder, capture_output=True,
                              text=True, check=False, timeout=PATIENCE)

    def attach(self, *words):
        return self.wallshim("attach", "--all", self.pid, *words)

    def start_attach(self, *words):
        return subprocess.Popen([f"{self.build}/tools/wallshim", "attach", "--all", str(self.pid), *words],
                                cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def manifest(self, folder):
        with open(f"{self.folder}/{folder}/manifest.json", encoding="utf-8") as file:
            return json.load(file)["clients"]

    def has_begun(self, folder, count):
        """Whether `count` traces have content."""
        path = f"{self.folder}/{folder}"
        names = os.listdir(path) if os.path.exists(path) else []
        return sum(name.endswith(".wst") and os.path.getsize(f"{path}/{name}") > 0 for name in names) == count

    def is_named(self, folder, count):
        """Whether the manifest names `count` traces. Without it, short recordings that do not overlap are several jobs."""
        return os.path.exists(f"{self.folder}/{folder}/manifest.json") and len(self.manifest(folder)) == count

    def check_traces(self, folder, pids, end="detached"):
        """Checks that there is one complete trace for each process, and that the manifest names the traces."""
        rows = self.manifest(folder)
        check(sorted(row["pid"] for row in rows) == sorted(pids), (rows, pids))
        for row in rows:
            dump = self.wallshim("dump", "--json", "--family", "meta", f"{folder}/{row['file']}")
            meta = {line["key"]: line["value"] for line in map(json.loads, dump.stdout.splitlines())}
            check(meta["pid"] == str(row["pid"]) and meta["end"] == end and row["ended"] == "goodbye", (meta, row))
            operations = self.wallshim("dump", "--json", "--family", "op", f"{folder}/{row['file']}")
            check(operations.stdout.count("\n") > 10, (row, operations.stdout))

    def is_clean(self):
        """Waits until nothing of the shim is active in the servers. In those started as "asleep", the shim is dormant
        again."""
        for word, child in self.children:
            if child.pid not in self.before:
                continue
            if word != "asleep":
                wait_for(lambda child=child: not child.threads(), f"the end of the shim's threads in {child.pid}")
            code, descriptors = self.before[child.pid]
            wait_for(lambda child=child, code=code: child.text("libcuda.so.1") == code, "the driver's code to be put back")
            check(child.descriptors() == descriptors, (child.descriptors(), descriptors))

    def ends_well(self):
        """Checks that all servers have answered all requests rightly, and have ended normally."""
        output, _ = self.process.communicate(timeout=PATIENCE)
        said = re.findall(r"requests (\d+) wrong (\d+) others \d+; 0", output)
        check(self.process.returncode == 0 and len(said) == len(self.servers()), output)
        check(all(int(requests) > 0 and wrong == "0" for requests, wrong in said), output)


def case_job(build):
    """Children and grandchildren, with or without the shim, are recorded together. The command names those that cannot
    be recorded."""
    if not can_inject(build):
        return 77
    with Launcher(build, "plain", "asleep", "grandchildren", "sandboxed", "idle") as launcher:
        pids = launcher.pids("plain", "asleep", "grandchildren")
        refused, = launcher.pids("sandboxed")
        done = launcher.attach("--duration", "2s", "--job", "first")
        check(done.returncode == 0 and "wrote 4 traces; next: wallshim report " in done.stderr, done)
        check("recording 4 processes into " in done.stderr, done)
        check(re.search(rf"attach {refused}: attachable: it has put itself into a sandbox", done.stderr), done)
        check(len(re.findall(r"^wallshim: server \(\d+\): patched \d{3} functions; threads stood still", done.stderr,
                             re.M)) == 3, done)
        launcher.check_traces("first", pids)
        launcher.is_clean()
        report = launcher.wallshim("report", "--full", "first")
        check(report.returncode == 0 and "another" not in report.stderr, report)
        check(all(f"server-{pid}.wst, GPU 0" in report.stdout for pid in pids), report)

        again = launcher.attach("--duration", "500ms", "--job", "first")
        check(again.returncode == 0, again)
        report = launcher.wallshim("report", "first")
        check(report.returncode == 0 and all(f"server-{pid}-1.wst, GPU 0" in report.stdout for pid in pids), report)
        check("left out, another run" in report.stderr, report)
        launcher.is_clean()
        launcher.ends_well()


def case_asleep(build):
    """Programs with a dormant shim are woken together. Nothing is loaded, so this works in builds with a sanitizer."""
    with Launcher(build, "asleep", "asleep", "idle") as launcher:
        for folder in (f"python3-{launcher.pid}", f"python3-{launcher.pid}-1"):
            done = launcher.attach("--duration", "500ms")
            check(done.returncode == 0 and f"/{folder}\n" in done.stderr, done)
            launcher.check_traces(folder, launcher.pids("asleep"))
        launcher.is_clean()
        launcher.ends_well()


def case_none(build):
    """If no process can be recorded, the status is 2, and no file is left."""
    with Launcher(build, "idle", "asleep") as launcher:
        idle, = launcher.pids("idle")
        for words, why in ((("--all", idle), "no process at or below it has loaded the CUDA driver"),
                           (("--all", 999999999), "there is no such process"),
                           (("--all", launcher.pid, "-o", "one.wst"), "give --job FOLDER instead of --output"),
                           ((launcher.pid, "--job", "job"), "this is for attach --all"),
                           (("--all", launcher.pid, "--job", "/proc/no"), "--job /proc/no: No such file")):
            done = launcher.wallshim("attach", *words)
            check(done.returncode == 2 and why in done.stderr and done.stderr.count("\n") == 1, (words, done))
        check(not os.listdir(launcher.folder), os.listdir(launcher.folder))
        launcher.ends_well()
    if cases.sanitized(f"{build}/tests/programs/attachable"):
        return
    with Launcher(build, "sandboxed") as launcher:
        done = launcher.attach()
        check(done.returncode == 2 and "none of its 1 CUDA processes could be recorded" in done.stderr, done)
        check("it has put itself into a sandbox" in done.stderr and done.stderr.count("\n") == 2, done)
        check(not os.listdir(launcher.folder), os.listdir(launcher.folder))
        launcher.ends_well()


def case_followed(build):
    """A process that begins during the recording is recorded as well. A process that ends does not delay the others.
    Ctrl-C ends all recordings."""
    if not can_inject(build):
        return 77
    with Launcher(build, "plain", "asleep", "plain") as launcher:
        attach = launcher.start_attach("--job", "job")
        wait_for(lambda: launcher.has_begun("job", 3), "the traces")
        later = launcher.starts_another()
        wait_for(lambda: launcher.has_begun("job", 4), "the trace of the other")
        gone = launcher.pids("plain")[0]
        os.kill(gone, signal.SIGKILL)
        wait_for(lambda: any(row["ended"] == "gone without goodbye" for row in launcher.manifest("job")), "its end")
        attach.send_signal(signal.SIGINT)
        attach.send_signal(signal.SIGINT)
        _, errors = attach.communicate(timeout=PATIENCE)
        check(attach.returncode == 0 and "; Ctrl-C ends it" in errors and "wrote 4 traces" in errors, errors)
        check(f"recording server ({later}) as well" in errors, errors)
        check(f"server ({gone}): the process has ended" in errors, errors)
        ended = {row["pid"]: row["ended"] for row in launcher.manifest("job")}
        check(ended == {pid: "gone without goodbye" if pid == gone else "goodbye"
                        for pid in launcher.pids("plain", "asleep")}, ended)
        launcher.children = [child for child in launcher.children if child[1].pid != gone]
        launcher.is_clean()
        report = launcher.wallshim("report", "job")
        check(report.returncode == 0 and all(f"server-{pid}.wst" in report.stdout for pid in ended), report)
        launcher.ends_well()


def case_killed(build):
    """If the command is killed, each process ends its recording by itself, and is as it was before the recording."""
    if not can_inject(build):
        return 77
    with Launcher(build, "plain", "asleep", "grandchild") as launcher:
        attach = launcher.start_attach("--job", "job")
        wait_for(lambda: launcher.has_begun("job", 3) and launcher.is_named("job", 3), "the traces")
        attach.kill()
        attach.communicate(timeout=PATIENCE)
        launcher.is_clean()
        sleeper, = launcher.pids("asleep")
        wait_for(lambda: "nobody records it" in launcher.wallshim("detach", sleeper).stderr, "the sleeper's end")
        report = launcher.wallshim("report", "job")
        check(report.returncode == 0 and all(f"server-{pid}.wst" in report.stdout
                                             for pid in launcher.pids("plain", "asleep", "grandchild")), report)
        check("not whole" not in report.stdout and "missing" not in report.stderr, report)
        done = launcher.attach("--duration", "300ms", "--job", "job")
        check(done.returncode == 0 and "wrote 3 traces" in done.stderr, done)
        launcher.ends_well()


cases.main(globals())
