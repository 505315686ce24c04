"""Tests `wallshim record --job`: names of folders, what a killed collector leaves, and which run is reported.

    collector_record.py BUILD CASE|--list
"""
import os
import signal
import subprocess
import tempfile
import time

import cases
from collector_runs import PATIENCE, ROOT, Place, check, wait_for


class Recorder:
    def __init__(self, build):
        self.build = os.path.abspath(build)
        self.folder = tempfile.mkdtemp(prefix="record-")
        self.run = f"{self.folder}/run"
        os.mkdir(self.run, 0o700)
        self.environment = {**os.environ, "XDG_RUNTIME_DIR": self.run, "ASAN_OPTIONS": "verify_asan_link_order=0",
                            "WALLSHIM_LIBRARY": f"{self.build}/shim/libwallshim.so", "WALLSHIM_BACKEND": "host"}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        subprocess.run(["rm", "-rf", self.folder], check=True)

    def start(self, *words, milliseconds=50):
        return subprocess.Popen(
            [f"{ROOT}/tests/run_preloaded.sh", "--no-shim", self.build, f"{self.build}/tools/wallshim", "record", *words,
             f"{self.build}/tests/programs/streamed", "1000", str(milliseconds)], cwd=self.folder, env=self.environment,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)

    def record(self, *words):
        started = self.start(*words)
        output, errors = started.communicate(timeout=PATIENCE)
        return started.returncode, output, errors

    def wallshim(self, *words):
        return subprocess.run([f"{self.build}/tools/wallshim", *words], cwd=self.folder, capture_output=True, text=True,
                              check=False)

    def traces(self, job):
        return [name for name in os.listdir(f"{self.folder}/{job}") if name.endswith(".wst")]


def case_names(build):
    with Recorder(build) as recorder:
        for job in ("a b", "runs/50 %", "Läufe/erster"):
            status, output, errors = recorder.record("--job", job, "--")
            check(status == 0 and output == "launched 1000\n", (status, output, errors))
            check("wrote 1 trace; next: wallshim report" in errors and len(recorder.traces(job)) == 1, errors)
            report = recorder.wallshim("report", job)
            check(report.returncode == 0, report)
        before = sorted(os.listdir(recorder.folder))
        for job in (".hidden", "runs/.x", "a\nb", "--", "", "x" * 150):
            status, output, errors = recorder.record("--job", job, "--")
            check(status == 2 and not output and errors.count("\n") == 1 and "--job" in errors, (job, status, errors))
        check(sorted(os.listdir(recorder.folder)) == before, "something was made before it was refused")
        check(not os.listdir(recorder.run), os.listdir(recorder.run))


def collector_of(record):
    with open(f"/proc/{record.pid}/task/{record.pid}/children", encoding="ascii") as file:
        for pid in file.read().split():
            with open(f"/proc/{pid}/comm", encoding="ascii") as name:
                if name.read().startswith("wallshim-collec"):
                    return int(pid)
    return None


def case_killed(build):
    """A killed collector leaves no files behind. If its `wallshim record` is killed as well, a later `wallshim record`
    removes what both left, once that is old enough."""
    with Recorder(build) as recorder:
        record = recorder.start("--job", "one", "--", milliseconds=3000)
        wait_for(lambda: os.path.exists(f"{recorder.folder}/one/manifest.json"), "the trace")
        os.kill(collector_of(record), signal.SIGKILL)
        output, errors = record.communicate(timeout=PATIENCE)
        check(record.returncode == 0 and output == "launched 1000\n", (record.returncode, output))
        check("the collector was ended by signal 9" in errors, errors)
        check(not os.listdir(recorder.run), os.listdir(recorder.run))
        record = recorder.start("--job", "two", "--", milliseconds=3000)
        wait_for(lambda: os.path.exists(f"{recorder.folder}/two/manifest.json"), "the trace")
        collector = collector_of(record)
        record.kill()
        os.kill(collector, signal.SIGKILL)
        record.communicate(timeout=PATIENCE)
        [left] = os.listdir(recorder.run)
        recorder.record("--job", "three", "--")
        check(os.listdir(recorder.run) == [left], "a young folder is left alone")
        os.utime(f"{recorder.run}/{left}", (time.time() - 100,) * 2)
        recorder.record("--job", "three", "--")
        check(not os.listdir(recorder.run), os.listdir(recorder.run))


def case_runs(build):
    """Of a program that was started twice in a job, the report takes the newest run and says how to get the other."""
    with Recorder(build) as recorder:
        for _ in range(2):
            recorder.record("--job", "one", "--")
        report = recorder.wallshim("report", "one")
        check("recordings of 2 runs; reading the newest, of" in report.stderr, report.stderr)
        command = report.stderr.split("to read it: wallshim report ")[1].split()
        other = recorder.wallshim("report", *command)
        check(other.returncode == 0 and len(command) == 1 and command[0] in " ".join([f"one/{name}" for name in
              recorder.traces("one")]), (command, other))
        manifest = open(f"{recorder.folder}/one/manifest.json", encoding="utf-8").read()
        check('"rank": "unknown"' in manifest, manifest)


def case_flight(build):
    """With --flight, the last seconds are written only on request."""
    with Place(build) as place:
        environment = {**os.environ, "WALLSHIM_LIBRARY": f"{place.build}/shim/libwallshim.so",
                       "ASAN_OPTIONS": "verify_asan_link_order=0"}
        wallshim = f"{place.build}/tools/wallshim"

        def record(*words):
            return subprocess.run([f"{ROOT}/tests/run_preloaded.sh", "--no-shim", place.build, wallshim, "record", *words],
                                  cwd=place.folder, env=environment, capture_output=True, text=True, check=False, timeout=120)
        program = f"{place.build}/tests/programs/streamed"
        script = f'"{program}" 2000 2000 & sleep 1; "{wallshim}" ctl unix:$WALLSHIM_COLLECTOR dump; wait'
        done = record("--job", "runs/one", "--flight", "30s", "--", "sh", "-c", script)
        check(done.returncode == 0 and done.stdout == "launched 2000\n", done)
        check("keeping the last 30s" in done.stderr and "--flight writes no traces" in done.stderr, done.stderr)
        [dump] = [name for name in os.listdir(f"{place.folder}/runs/one") if name.startswith("dump-")]
        check([name for name in os.listdir(f"{place.folder}/runs/one/{dump}") if name.endswith(".wst")], dump)
        check(not [name for name in os.listdir(f"{place.folder}/runs/one") if name.endswith(".wst")], "a trace was written")
        for words, why in ((["--flight", "9s"], "give --job FOLDER"), (["--job", "j", "--flight", "x"], "give a time"),
                           (["--job", "j", "--slow-step", "3"], "give --flight TIME"),
                           (["--job", "j", "--flight", "9s", "--slow-step", "1"], "give a number above 1")):
            done = record(*words, "--", "true")
            check(done.returncode == 2 and why in done.stderr, done)


cases.main(globals())
