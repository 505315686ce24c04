"""Tests a million gates in programs that do many other things at the same time. A gate is a wait that holds a stream
until a kernel and its two events are queued (shim/timing/gates.h).

    scripts/soak --gates [GATES] [--build FOLDER]

Runs tests/programs/gated until GATES launches (1,000,000) were measured behind gates. Every third run is stopped and
continued by signals at random times, and half of these runs are then killed. If a run was not killed, its output must
be the same as without the shim. No run may hang, and the trace of a killed run must be readable. Prints how long gates
held streams according to the simulated GPU; runs that were stopped are left out. A gate holds its stream for long where
the system runs other threads instead. How often that happens without the shim, to threads that work as long as a gate
holds a stream, is printed beside it: the floor."""
import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time

THREADS, SHAPES, PATIENCE_S = 3, 6000, 300
FLOOR_MOST = 0.03  # if threads are held up more often than this, the machine is too busy to tell
FLOORS_MOST = 2  # gates may hold streams for over 300 us so many times as often as threads are held up without the shim
FEW = 20         # so few long gates say nothing


def start(root, build, folder, seed, shim):
    """Starts the program. Without the shim, it measures the floor."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("WALLSHIM_")}
    environment |= {"SIMGPU_TRUTH": f"{folder}/truth", "SIMGPU_TRUTH_ROWS": "2000000", "WALLSHIM_OVERHEAD": "100%",
                    "WALLSHIM_OUTPUT": f"{folder}/trace.wst", "SIMGPU_EVENT_RECORD_NS": "1000",
                    **({} if shim else {"GATED_FLOOR": f"{folder}/floor"})}
    return subprocess.Popen([f"{root}/tests/run_preloaded.sh", *([] if shim else ["--no-shim"]), build,
                             f"{build}/tests/programs/gated", str(THREADS), str(SHAPES), str(seed)], env=environment,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def disturb(process, seed):
    """Stops and continues the program at random times. Kills it in half of the runs. Returns whether it was
    killed."""
    random_of = random.Random(seed)
    for _ in range(random_of.randrange(3, 12)):
        time.sleep(random_of.random() * 0.3)
        if process.poll() is not None:
            return False
        process.send_signal(signal.SIGSTOP)
        time.sleep(random_of.random() * 0.02)
        process.send_signal(signal.SIGCONT)
    if random_of.random() < 0.5 and process.poll() is None:
        process.kill()
        return True
    return False


def holds_of(folder):
    """How long each gate held its stream, ns."""
    with open(f"{folder}/truth", encoding="utf-8") as truth:
        rows = (line.split("\t") for line in truth if not line.startswith("#"))
        return [int(row[9]) - int(row[8]) for row in rows if row[4] == "wait_value"]


def run(root, build, seed, disturbed):
    """Runs the program once. Returns how long each gate held its stream, the floor (how often a thread worked as long as
    a gate holds a stream, and how often it was held up), and what went wrong."""
    with tempfile.TemporaryDirectory(prefix="wallshim-gates-") as folder:
        process = start(root, build, folder, seed, True)
        killed = disturbed and disturb(process, seed)
        try:
            said, error = process.communicate(timeout=PATIENCE_S)
        except subprocess.TimeoutExpired:
            process.kill()
            return [], (0, 0), "it does not end"
        if killed:
            info = subprocess.run([f"{build}/tools/wallshim", "report", "--json", f"{folder}/trace.wst"],
                                  capture_output=True, check=False)
            return [], (0, 0), f"the trace of a killed run: report ends with {info.returncode}" if info.returncode else None
        if process.returncode or error:
            return [], (0, 0), f"status {process.returncode}: {error[-400:]}"
        holds = holds_of(folder)
        process = start(root, build, folder, seed, False)
        without, error = process.communicate(timeout=PATIENCE_S)
        if process.returncode or error:
            return holds, (0, 0), f"without the shim: status {process.returncode}: {error[-400:]}"
        with open(f"{folder}/floor", encoding="utf-8") as file:
            floor = tuple(int(number) for number in file.read().split())
        return holds, floor, None if said == without else f"output {said!r} instead of {without!r}"


def main():
    parser = argparse.ArgumentParser(prog="scripts/soak --gates")
    parser.add_argument("root", help=argparse.SUPPRESS)
    parser.add_argument("gates", type=int, nargs="?", default=1000000)
    parser.add_argument("--build")
    arguments = parser.parse_args()
    build = os.path.abspath(arguments.build or f"{arguments.root}/build")
    gates, seed, failed, undisturbed, worked, held_up = 0, 0, 0, [], 0, 0
    while gates < arguments.gates:
        seed += 1
        disturbed = seed % 3 == 0
        holds, floor, problem = run(arguments.root, build, seed, disturbed)
        gates += len(holds)
        worked, held_up = worked + floor[0], held_up + floor[1]
        undisturbed += [] if disturbed else holds
        failed += bool(problem)
        if problem:
            print(f"seed {seed}: {problem}", flush=True)
        if failed > 5 or (seed >= 2 and not gates):
            break
    undisturbed.sort()
    if undisturbed:
        shares = ", ".join(f"{share} % of gates up to {undisturbed[min(int(len(undisturbed) * share / 100), len(undisturbed) - 1)] / 1e3:.1f} us"
                           for share in (50, 99, 99.9, 100))
        longer = sum(1 for hold in undisturbed if hold > 300000)
        floor = held_up / max(worked, 1)
        print(f"{gates} gates in {seed} runs; held: {shares}; {longer} of {len(undisturbed)} "
              f"({100 * longer / len(undisturbed):.3f} %) longer than 300 us; floor: {held_up} of {worked} "
              f"({100 * floor:.3f} %)")
        if floor > FLOOR_MOST:
            print("the machine is too busy to tell how long gates hold streams")
            failed += 1
        if longer > max(FEW, FLOORS_MOST * floor * len(undisturbed)):
            print("too many gates were held for longer than 300 us")
            failed += 1
    print(f"{failed} runs failed")
    return 1 if failed or gates < arguments.gates else 0


if __name__ == "__main__":
    sys.exit(main())
