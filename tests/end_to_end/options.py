"""Tests the effects of the shim's options in the trace of a small program on the simulated GPU.

    options.py BUILD CASE|--list
"""
import json
import os
import re
import socket
import subprocess
import tempfile

import cases

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


class Run:
    """One run of the program, with the rows of its trace by family."""

    def __init__(self, build, arguments, environment, trace=None):
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run([f"{ROOT}/tests/run_preloaded.sh", build, f"{build}/tests/programs/hazard_options", *arguments],
                                  cwd=folder, env={**os.environ, **environment}, capture_output=True, text=True, timeout=120,
                                  check=False)
            self.status, self.output, self.errors = done.returncode, done.stdout, done.stderr
            self.files = sorted(os.listdir(folder))
            self.pid = int(re.search(r"pid (\d+)", done.stdout)[1])
            self.rows, self.size, self.report, self.mode = {}, 0, "", 0
            names = [name for name in self.files if name.endswith(".wst")] if trace is None else [trace]
            for name in names:
                self.size = os.path.getsize(f"{folder}/{name}")
                self.mode = os.stat(f"{folder}/{name}").st_mode & 0o7777
                dump = subprocess.run([f"{build}/tools/wallshim", "dump", "--json", f"{folder}/{name}"], capture_output=True,
                                      text=True, check=True)
                self.report = subprocess.run([f"{build}/tools/wallshim", "report", "--full", f"{folder}/{name}"], capture_output=True,
                                             text=True, check=True).stdout
                for line in dump.stdout.splitlines():
                    row = json.loads(line)
                    self.rows.setdefault(row.pop("family"), []).append(row)
        assert self.status == 0, f"the program ended with {self.status}: {self.errors}"

    def meta(self):
        return {row["key"]: row["value"] for row in self.rows["meta"]}

    def kernels(self):
        shapes = {row["id"]: row for row in self.rows.get("shape", [])}
        return [row for row in self.rows.get("op", []) if shapes[row["shape"]]["kind"] == 1]

    def lost(self):
        return sum(row["count"] for row in self.rows.get("loss", []))


def check(condition, message):
    if not condition:
        raise AssertionError(message)


def case_name(build):
    host = socket.gethostname()
    run = Run(build, ["100"], {"WALLSHIM_OUTPUT": "a-%n-%p-%h-%r-%%.wst", "RANK": "3"})
    check(run.files == [f"a-hazard_options-{run.pid}-{host}-3-%.wst"], run.files)
    run = Run(build, ["100"], {})
    check(run.files == [f"hazard_options-{run.pid}.wst"], run.files)
    # Variables such as RANK cannot lead the trace into another folder.
    run = Run(build, ["100"], {"WALLSHIM_OUTPUT": "a-%r.wst", "RANK": "/../../x\n"})
    check(run.files == ["a-_.._.._x_.wst"], run.files)
    with tempfile.TemporaryDirectory() as folder:
        run = Run(build, ["100"], {"WALLSHIM_OUTPUT": f"{folder}/%r/a.wst", "RANK": ".."})
        check("cannot write" in run.errors and not os.path.exists(f"{folder}/../a.wst"), run.errors)


def case_existing(build):
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/mine.wst"
        with open(path, "w", encoding="ascii") as file:
            file.write("mine")
        runs = [Run(build, ["100"], {"WALLSHIM_OUTPUT": path}) for _ in range(2)]
        with open(path, encoding="ascii") as file:
            check(file.read() == "mine", "an existing file was written to")
        check(sorted(os.listdir(folder)) == ["mine-1.wst", "mine-2.wst", "mine.wst"], os.listdir(folder))
        check(not any(run.errors for run in runs), runs[0].errors)
        # Eight programs that start at the same time with the same name for the trace.
        started = [subprocess.Popen([f"{ROOT}/tests/run_preloaded.sh", build, f"{build}/tests/programs/hazard_options", "100"],
                                    env={**os.environ, "WALLSHIM_OUTPUT": f"{folder}/many"}, stdout=subprocess.DEVNULL)
                   for _ in range(8)]
        check(not any(program.wait() for program in started), "a program failed")
        many = sorted(name for name in os.listdir(folder) if name.startswith("many"))
        check(many == ["many", *(f"many-{i}" for i in range(1, 8))], many)
        for name in many:
            subprocess.run([f"{build}/tools/wallshim", "info", f"{folder}/{name}"], stdout=subprocess.DEVNULL, check=True)
    # /dev/null is a device, so the shim must not create a numbered file beside it.
    run = Run(build, ["100"], {"WALLSHIM_OUTPUT": "/dev/null"})
    check("wallshim: cannot write /dev/null:" in run.errors and not os.path.exists("/dev/null-1"), run.errors)


def case_secrets(build):
    secrets = {"CUDA_API_KEY": "k1", "NCCL_TOKEN": "k2", "WALLSHIM_REDACT": "pineapple", "CUDA_PINEAPPLE": "k3"}
    plain = {"CUDA_HARMLESS": "seen", "UNRELATED": "k4"}
    run = Run(build, ["100", "--password", "k5", "--api-key=k6", "--pineapple=k7"], {**secrets, **plain})
    text = json.dumps(run.rows["meta"])
    for secret in ("k1", "k2", "k3", "k4", "k5", "k6", "k7"):
        check(f'"{secret}"' not in text and f" {secret}" not in text and f"={secret}" not in text, f"{secret} is in {text}")
    check(run.mode == 0o600, f"the trace's mode is {run.mode:o}")
    check(run.meta()["env.CUDA_HARMLESS"] == "seen" and run.meta()["env.CUDA_API_KEY"] == "***", text)
    secrets = {"TORCH_HUB_PAT": "hunter2", "NCCL_PASS": "hunter2", "SLURM_DB_PWD": "hunter2", "JAX_JWT": "hunter2",
               "CUDA_STORE": "redis://me:hunter2@cache/0", "TORCH_HEADERS": "Authorization: Bearer hunter2"}
    run = Run(build, ["100", "x", "-H", "Authorization: Bearer hunter2", "--header=X-Api-Key: hunter2", "--url",
                      "postgres://me:hunter2@db/x", "--key-passphrase", "hunter2", "--gh-pat", "hunter2", "last"], secrets)
    check("hunter2" not in json.dumps(run.rows["meta"]), run.rows["meta"])
    check(run.meta()["command_line"].endswith("--url postgres://me:***@db/x --key-passphrase *** --gh-pat *** last"),
          run.meta())
    check(run.meta()["env.CUDA_STORE"] == "redis://me:***@cache/0", run.meta())
    run = Run(build, ["100"], {**plain, "WALLSHIM_ENV": "0"})
    check(not [key for key in run.meta() if key.startswith("env.")], "the environment is there in spite of WALLSHIM_ENV=0")


def case_backend(build):
    run = Run(build, ["300"], {"WALLSHIM_BACKEND": "host"})
    check(len(run.kernels()) == 300 and all(not row["flags"] & 15 for row in run.kernels()), "host times only")
    check(run.meta()["backend"] == "host", run.meta())
    check(run.meta()["cost_events_ns"] == "0", "no events cost nothing")
    old, new = ({"WALLSHIM_MARKS": "pairs"}, {"WALLSHIM_EVENT_PLACEMENT": "pairs"})
    check(Run(build, ["10"], old).meta()["marks"] == "pairs", "the option's old variable is understood")
    check(Run(build, ["10"], {"WALLSHIM_EVENT_PLACEMENT": "shared"}).meta()["marks"] == "marks", "the trace's word for shared")
    few = Run(build, ["300"], {})
    check(few.meta()["marks"] == "sampled" and len(few.kernels()) == 300, "few events are the default")
    check(all(row["flags"] & 3 for row in few.kernels()), "sampled: every launch has a begin")
    for switch in ("--event-placement=pairs", "--marks=pairs"):
        said = subprocess.run([f"{build}/tools/wallshim", "record", switch, "--", "env"], capture_output=True, text=True,
                              env={**os.environ, "WALLSHIM_LIBRARY": "/dev/null"}, check=False).stdout
        check("\nWALLSHIM_EVENT_PLACEMENT=pairs\n" in said, f"record {switch}: {said}")
    run = Run(build, ["300"], new)
    # On a busy machine the shim's thread may make more events too late. Launches without a free event have the flag 0x200.
    timed = [row for row in run.kernels() if not row["flags"] & 0x200]
    check(len(timed) >= 200 and all(row["flags"] & 3 in (1, 2) for row in timed), "pairs: begins measured or bounded")
    check(not [row for row in timed if row["flags"] & 0x400], "pairs are no samples")
    shared = {"WALLSHIM_EVENT_PLACEMENT": "shared"}
    run = Run(build, ["300"], {**shared, "WALLSHIM_SAMPLE": "0"})
    check(int(run.meta()["cost_events_ns"]) > 300 * 50, "events cost something: " + run.meta()["cost_events_ns"])
    sampled = sum(1 for row in run.kernels() if row["flags"] & 0x400)
    check(not sampled, f"{sampled} sampled with sample=0")
    run = Run(build, ["300"], {**shared, "WALLSHIM_SAMPLE": "10"})
    sampled = sum(1 for row in run.kernels() if row["flags"] & 0x400)
    check(25 <= sampled <= 35, f"{sampled} of 300 sampled with sample=10")


def case_overhead(build):
    """If the records alone cost more than the allowed overhead, the shim records some launches and only counts the others.
    None is missing. On a busy machine launches may be so slow that the records cost less, so one of three runs must show
    it."""
    counted, launches = 0, 400000  # enough to last until recording pauses
    for _ in range(3):
        run = Run(build, [str(launches), "burst"], {"WALLSHIM_OVERHEAD": "0.1%"})
        counted = sum(row["count"] for row in run.rows.get("loss", []) if row["reason"] == 30)
        others = run.lost() - counted
        check(launches <= len(run.kernels()) + counted + others <= launches + 10, f"{len(run.kernels())} kernels, {counted} counted")
        if counted:
            break
    check(counted > 5000, f"{counted} launches only counted")
    check("only counted, to keep --overhead" in " ".join(run.report.split()), run.report[:3000])
    run = Run(build, ["100000", "burst"], {"WALLSHIM_OVERHEAD": "100%"})
    check(not [row for row in run.rows.get("loss", []) if row["reason"] == 30], "nothing is left out within the share")


def case_queue(build):
    """With one hardware queue for all streams, the shim's events in one stream delay the other streams. The report
    must say so, unless no events are recorded."""
    one = {"CUDA_DEVICE_MAX_CONNECTIONS": "1", "WALLSHIM_ENV": "0"}
    for environment, said in ((one, True), ({**one, "WALLSHIM_BACKEND": "host"}, False), ({}, False)):
        report = Run(build, ["300"], environment).report
        check(report and ("delayed other streams" in " ".join(report.split())) == said, f"with {environment}: {report}")


def case_params(build):
    for setting, low, high in (("none", 0, 0), ("some", 64, 299), ("all", 300, 300)):
        run = Run(build, ["300"], {"WALLSHIM_PARAMS": setting})
        kept = sum(1 for row in run.kernels() if row["params"])
        check(low <= kept <= high, f"{kept} of 300 with params={setting}")
        # The program launches with five different durations as parameters. Equal parameter blocks are kept once.
        check(len(run.rows.get("params", [])) == (5 if kept else 0), "distinct blocks")


def case_range(build):
    run = Run(build, ["300", "range"], {"WALLSHIM_CAPTURE_RANGE": "profiler"})
    check(len(run.kernels()) == 100, f"{len(run.kernels())} of the 100 in the range")
    check(run.lost() >= 200, f"{run.lost()} counted outside the range")
    run = Run(build, ["300", "range"], {})
    check(len(run.kernels()) == 300, "without the option the range means nothing")


def case_delay(build):
    run = Run(build, ["300"], {"WALLSHIM_DELAY": "1h"})
    check(not run.kernels() and run.lost() >= 300, f"{len(run.kernels())} kernels, {run.lost()} counted")
    run = Run(build, ["2000"], {"WALLSHIM_DURATION": "20ms", "SIMGPU_LAUNCH_NS": "100000"})
    recorded = len(run.kernels())
    check(recorded < 2000 <= recorded + run.lost(), f"{recorded} kernels, {run.lost()} counted")


def case_size(build):
    run = Run(build, ["60000"], {"WALLSHIM_MAX_SIZE": "16K", "WALLSHIM_BACKEND": "host", "SIMGPU_LAUNCH_NS": "20000"})
    recorded = len(run.kernels())
    check(0 < recorded < 60000, f"{recorded} of 60000 recorded")
    check(recorded + run.lost() >= 60000, f"{recorded} recorded, {run.lost()} counted")
    check(run.size < 256 << 10, f"{run.size} bytes")


def case_full(build):
    run = Run(build, ["3000", "full"], {"WALLSHIM_BACKEND": "host"})
    unwritten = sum(row["count"] for row in run.rows.get("loss", []) if row["reason"] == 10)
    check(unwritten >= 1000 and len(run.kernels()) + unwritten >= 3000, f"{len(run.kernels())} kernels, {unwritten} lost")
    check("wallshim:" in run.errors, "nothing was said of it")


def case_events(build):
    """Launches as fast as a real driver's must always find a free event of the shim: there are enough at first, and the
    drain (the shim's thread that writes the trace) makes more before the pool is empty. On a busy machine the drain may be
    late, so the best of five runs counts. If few events are allowed, the report must give no verdict on the few launches
    with times, and say how many have none."""
    fast = {"SIMGPU_LAUNCH_NS": "2000", "SIMGPU_EVENT_RECORD_NS": "0", "WALLSHIM_EVENT_PLACEMENT": "shared"}
    dry = []
    for _ in range(5):
        run = Run(build, ["20000", "burst"], fast)
        check(len(run.kernels()) == 20000, f"{len(run.kernels())} kernels")
        dry.append(sum(row["count"] for row in run.rows.get("loss", []) if row["reason"] == 1))
        check(("not all timed" in run.report) == (0 < dry[-1] <= 1000), run.report[:2000])
        if dry[-1] <= 200:
            break
    check(min(dry) <= 200, f"of 20,000 launches these found no event: {dry}")
    run = Run(build, ["20000", "burst"], {**fast, "WALLSHIM_EVENTS": "64"})
    check(re.search(r"No verdict: too many operations have no device times: [\d,]+ of 20,000 \(", run.report), run.report[:2000])
    check(len(run.kernels()) == 20000, "all are there without times")


def case_bad(build):
    run = Run(build, ["100"], {"WALLSHIM_BACKEND": "magic"})
    check("WALLSHIM_BACKEND=magic is not understood" in run.errors, run.errors)
    check(len(run.kernels()) == 100, "and the default holds")
    run = Run(build, ["100"], {"WALLSHIM_BACKEND": "magic", "WALLSHIM_LOG": "quiet"})
    check(not run.errors, run.errors)


def case_quiet(build):
    run = Run(build, ["300"], {})
    others = [row for row in run.rows.get("loss", []) if row["reason"] != 1] # 1: no event was free, as above
    check(not run.errors and not others, f"with everything well: {run.errors}, {others} lost")


def case_capture(build):
    """The sample captures streams, while the shim records and while it does not. The shim must not ask the driver about a
    stream that it does not know: if the stream is captured, such a call ends the capture here, as on an H200."""
    build = os.path.abspath(build)
    command = [f"{ROOT}/tests/run_preloaded.sh", build, f"{build}/samples/probe", "capture"]
    with tempfile.TemporaryDirectory() as folder:
        for variables in ({}, {"WALLSHIM_CAPTURE_RANGE": "profiler"}, {"WALLSHIM_START": "off"},
                          {"WALLSHIM_BACKEND": "host", "WALLSHIM_CAPTURE_RANGE": "profiler"}):
            environment = {**os.environ, "SIMGPU_CAPTURE_STRICT": "1", "WALLSHIM_OUTPUT": f"{folder}/%p.wst", **variables}
            ran = subprocess.run(command, env=environment,
                                 capture_output=True, text=True, check=False)
            check(ran.returncode == 0 and ran.stdout.count(" captured") == 3, f"{variables}: {ran.stdout}{ran.stderr}")


cases.main(globals())
