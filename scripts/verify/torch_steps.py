#!/usr/bin/env python3
"""Step times of PyTorch programs, several in one process, because importing PyTorch takes longer than measuring them.

    torch_steps.py SAMPLES [--programs LIST] [--alternate] [--profiler] [--trace FILE] [--rounds N] [--steps N]

Programs: eager (batch 8), batch-1, compiled, graph (both of batch 1). SAMPLES is the folder of gpt.py. Each program warms
up, then runs N rounds of the same steps. Prints one JSON object: for each program the mean time of a step in ns in each
round, the processor time of each thread in a step, the number of steps, and the loss at the end.

--profiler runs each round under torch.profiler. --trace runs the last round of the first program under torch.profiler,
and writes what torch.profiler sees into FILE. --alternate profiles every second round only: the same process runs with
and without a profiler, so what differs from process to process does not matter. Without --profiler, --alternate is for
wallshim. The caller then runs this script under `wallshim record --capture-range profiler`, and the script turns the
recording on and off with torch.cuda.profiler. Ends with status 77 if there is no PyTorch or no GPU."""
import argparse
import json
import os
import sys
import time

UNABLE = 77
WARM_UP = 20
# Name → switches of gpt.py, and steps in a round. Runs with the same options make the same steps, so that their losses
# can be compared.
PROGRAMS = {"eager": ([], 150), "batch-1": (["--batch", "1"], 150), "compiled": (["--batch", "1", "--compile"], 400),
            "graph": (["--batch", "1", "--graph"], 600)}


def timed_steps(training, steps):
    """The mean time of a step in ns, the last wait included."""
    import torch
    torch.cuda.synchronize()
    began = time.perf_counter_ns()
    for number in range(steps):
        training.step(number)
    torch.cuda.synchronize()
    return (time.perf_counter_ns() - began) // steps


def thread_times():
    """The processor time of each thread so far, in ns."""
    times = {}
    for thread in os.listdir("/proc/self/task"):
        try:
            with open(f"/proc/self/task/{thread}/comm", encoding="utf-8") as file:
                name = file.read().strip()
            with open(f"/proc/self/task/{thread}/schedstat", encoding="utf-8") as file:
                times[f"{name} {thread}"] = int(file.read().split()[0])
        except OSError:  # the thread has ended
            pass
    return times


def profiled_steps(training, steps, path):
    import torch
    activities = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
    with torch.profiler.profile(activities=activities) as profile:
        took = timed_steps(training, steps)
    if path:
        profile.export_chrome_trace(path)
    return took


def run_round(training, steps, options, path, unprofiled):
    import torch
    if unprofiled or not (options.alternate or options.profiler or path):
        return timed_steps(training, steps)
    if options.profiler or path:
        return profiled_steps(training, steps, path)
    torch.cuda.profiler.start()
    took = timed_steps(training, steps)
    torch.cuda.profiler.stop()
    return took


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("samples")
    parser.add_argument("--alternate", action="store_true")
    parser.add_argument("--profiler", action="store_true")
    parser.add_argument("--trace", metavar="FILE")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, help="steps of a round")
    parser.add_argument("--programs", default=",".join(PROGRAMS), metavar="LIST", help="names, separated by commas")
    options = parser.parse_args()
    sys.path.insert(0, options.samples)
    try:
        import torch
        import gpt
    except (ImportError, SystemExit):
        return UNABLE
    if not torch.cuda.is_available():
        return UNABLE

    answer = {"device": torch.cuda.get_device_name(), "torch": torch.__version__, "programs": {}}
    for name in options.programs.split(","):
        switches, steps = PROGRAMS[name]
        steps = options.steps or steps
        own = gpt.read_options(switches)
        training = gpt.Training(own)
        if own.graph:
            training.capture()
        timed_steps(training, WARM_UP)
        rounds, before = [], thread_times()
        for number in range(options.rounds):
            path = options.trace if number == options.rounds - 1 and not answer["programs"] else None
            rounds.append(run_round(training, steps, options, path, options.alternate and not number % 2))
        threads = {thread: round((after - before.get(thread, 0)) / steps / options.rounds)
                   for thread, after in thread_times().items()}
        answer["programs"][name] = {"steps": steps, "step_ns": rounds, "loss": training.loss.item(),
                                    "thread_ns": {thread: spent for thread, spent in threads.items() if spent > 1000}}
    print(json.dumps(answer))
    return 0


if __name__ == "__main__":
    sys.exit(main())
