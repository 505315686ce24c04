"""Runs a training loop under the shim for minutes in each mode, and checks its memory.

The loop itself allocates nothing after its first steps, so any growth is the shim's: the resident memory at the end may
exceed that after a quarter of the time by GROWTH at most.
"""
import os
import subprocess
import sys
import tempfile
import time

GROWTH = 8 << 20
MODES = {"sampled": {}, "shared": {"WALLSHIM_EVENT_PLACEMENT": "shared"}, "pairs": {"WALLSHIM_EVENT_PLACEMENT": "pairs"}, "host": {"WALLSHIM_BACKEND": "host"},
         "burst": {"WALLSHIM_BURST": "100ms/1s"}}


def resident(pid):
    with open(f"/proc/{pid}/statm", encoding="utf-8") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def watch(root, mode, seconds, scratch):
    """Runs one mode. Returns what went wrong, or None."""
    trace = os.path.join(scratch, f"{mode}.wst")
    environment = {**os.environ, **MODES[mode], "WALLSHIM_OUTPUT": trace}
    command = [os.path.join(root, "tests", "run_preloaded.sh"), os.path.join(root, "build"), sys.executable,
               os.path.join(root, "samples", "train.py"), "--sync", "--steps", "1000000000"]
    with subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as child:
        began, sizes = time.monotonic(), []
        while time.monotonic() - began < seconds and child.poll() is None:
            time.sleep(1)
            sizes.append(resident(child.pid))
        if child.poll() is not None:
            return f"ended early with status {child.returncode}: {child.stderr.read()[-400:]}"
        child.terminate()
        _, error = child.communicate(timeout=60)
    settled, last = sizes[len(sizes) // 4], sizes[-1]
    report = subprocess.run([os.path.join(root, "build", "tools", "wallshim"), "info", trace], capture_output=True,
                            text=True, check=False)
    print(f"{mode}: resident {settled >> 20} MiB after a quarter, {last >> 20} MiB at the end; trace "
          f"{os.path.getsize(trace) >> 20} MiB; info ends with status {report.returncode}", flush=True)
    if report.returncode:
        return f"the trace cannot be read: {report.stderr.strip()}"
    if last - settled > GROWTH:
        return f"memory grew by {(last - settled) >> 10} KiB"
    return f"stderr: {error.strip()}" if error.strip() else None


def main():
    root, seconds = sys.argv[1], float(sys.argv[2]) * 60 / len(MODES)
    failed = {}
    with tempfile.TemporaryDirectory(prefix="wallshim-soak-") as scratch:
        for mode in MODES:
            problem = watch(root, mode, seconds, scratch)
            if problem:
                failed[mode] = problem
    for mode, problem in failed.items():
        print(f"{mode}: {problem}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
