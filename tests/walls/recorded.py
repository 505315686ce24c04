"""A run of walls.c with the shim, and the true events of the run according to the simulated GPU."""
import csv
import glob
import json
import os
import statistics
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
EMBEDDING = "vectorized_gather_kernel"
WARM_UP = 7  # steps that are left out: the program's own warm-up, and the steps until the launch queue is full


def go_first():
    """Raises the priority of the process over other work on the machine, if that is allowed. Also raises the priority
    of its scheduling group, which Linux makes for each session (autogroup)."""
    try:
        os.nice(-15)
        with open("/proc/self/autogroup", "w", encoding="ascii") as file:
            file.write("-15")
    except OSError:
        pass


def read_truth(folder):
    rows = []
    for path in glob.glob(f"{folder}/truth-*"):
        with open(path, encoding="utf-8", newline="") as file:
            heading = file.readline().lstrip("#").rstrip("\n").split("\t")
            for row in csv.DictReader((line for line in file if not line.startswith("#")), heading, delimiter="\t"):
                if row["kind"] in ("kernel", "copy", "memset"):
                    rows.append({"device": int(row["device"]), "name": row["name"], "start": int(row["start_ns"]),
                                 "end": int(row["end_ns"])})
    return rows


def busy_ns(rows, begin=0):
    """The length of the union of the operations' intervals after `begin`."""
    total, until = 0, begin
    for row in sorted(rows, key=lambda row: row["start"]):
        total += max(0, row["end"] - max(until, row["start"]))
        until = max(until, row["end"])
    return total


class Run:
    """Records a run; `variant` is "with" or "without" (the wall). Traces and truths are left in the folder."""

    def __init__(self, build, folder, wall, variant, setting):
        os.makedirs(folder)
        words = [f"{name}={value}" for name, value in setting.items() if not name.isupper()]
        environment = {name: str(value) for name, value in setting.items() if name.isupper()}
        result = subprocess.run(
            [f"{ROOT}/tests/run_preloaded.sh", build, f"{build}/tests/walls/walls", wall, variant, *words],
            capture_output=True, text=True, timeout=120, check=False, preexec_fn=go_first, start_new_session=True,
            env={**os.environ, "SIMGPU_DEVICES": str(setting.get("ranks", 1)), "SIMGPU_COLLECTIVE_DATA": "0", **environment,
                 "SIMGPU_TRUTH": f"{folder}/truth-%p", "WALLSHIM_OUTPUT": f"{folder}/%r-%p.wst"})
        if result.returncode == 77:
            print(result.stdout.strip())
            sys.exit(77)
        assert result.returncode == 0, f"{wall} {variant}: status {result.returncode}: {result.stderr}"
        self.folder, self.truth = folder, read_truth(folder)
        said = sorted(map(json.loads, result.stdout.splitlines()), key=lambda rank: rank["rank"])
        self.ranks = [self._rank(rank) for rank in said]

    def _rank(self, said):
        embeddings = sorted(row["start"] for row in self.truth if row["device"] == said["rank"] and EMBEDDING in row["name"])
        # A step ends where the next embedding kernel begins: in the next step, or in an evaluation after the step.
        numbers = [number for _, number in said["steps"][WARM_UP:-1]]
        steps = [embeddings[number + 1] - embeddings[number] for number in numbers]
        host = said["steps"][-1][0] - said["steps"][WARM_UP][0]
        return {"warm": embeddings[numbers[0]], "steps": steps, "kept_waiting": said["cpu_wait_ns"] / host}

    def step_ns(self, average, but=None):
        """The length of a step on the median rank; rank `but` is left out."""
        return statistics.median(average(rank["steps"]) for number, rank in enumerate(self.ranks) if number != but)

    def kept_waiting(self):
        """The largest share of its time in which a rank was ready to run but had no processor, as the machine is shared."""
        return max(rank["kept_waiting"] for rank in self.ranks)

    def busy_share(self):
        """The share of time in which the first device was busy, after the warm-up."""
        begin, rows = self.ranks[0]["warm"], [row for row in self.truth if row["device"] == 0]
        return busy_ns(rows, begin) / (max(row["end"] for row in rows) - begin)
