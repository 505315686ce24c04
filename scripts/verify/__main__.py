"""See scripts/gpu-verify, which starts this."""
import argparse
import datetime
import json
import os
import platform
import subprocess
import sys
import time

import device
import programs
import torch_compare
from runner import Runner

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def describe_machine(runner):
    """The driver's facts about the device. A child process asks for them, so that this process holds no context."""
    question = "import sys; sys.path.insert(0, sys.argv[1]); import driver; d = driver.Driver(); v = driver.ctypes.c_int();" \
               "d.call('cuDriverGetVersion', driver.ctypes.byref(v)); print(d.name, v.value, sep='\\n')"
    result = runner.run([sys.executable, "-c", question, os.path.join(ROOT, "samples")])
    if result.status:
        return None
    name, version = result.output.strip().splitlines()[-2:]
    commit = subprocess.run(["git", "-C", ROOT, "rev-parse", "HEAD"], capture_output=True, text=True, check=False)
    return {"gpu": name, "driver": int(version), "simulated": runner.simulated, "python": platform.python_version(),
            "kernel": platform.release(), "cores": os.cpu_count(), "libc": platform.libc_ver()[1],
            "commit": commit.stdout.strip(), "date": datetime.date.today().isoformat()}


def problems(results):
    """Describes each failure in words: results that changed, runs that failed, launches that are missing."""
    for row in results["programs"]["programs"]:
        if "failed" in row:
            yield f"{row['name']}: {row['failed']}"
        for mode, figures in row.get("modes", {}).items():
            if not figures["results_unchanged"]:
                yield f"{row['name']}: its results differ under {mode}"
    for row in results["kernels"]:
        for mode, figures in row.get("modes", {"": row}).items():
            if "failed" in figures:
                yield f"{row['kernel']} {row['size']} {mode}: {figures['failed']}"
    for row in results["counters"]:
        if "failed" in row or not row["results_unchanged"]:
            yield f"counters of {row['kernel']} {row['size']}: {row.get('failed', 'its results differ')}"
        elif abs(row.get("flops_of_expected", 1) - 1) > 0.05:
            yield f"counters of {row['kernel']} {row['size']}: {row['flops_of_expected']} of the FLOPs that it does"
    if "failed" in results["gates"]:
        yield f"gates: {results['gates']['failed']}"
    if "failed" in results["calibration"]:
        yield f"calibrate: {results['calibration']['failed']}"
    for name, figures in results["captures"].items():
        if not figures["results_unchanged"]:
            yield f"probe capture, {name}: {figures['first_change']}"
    for part in ("torch_kernels", "torch_slowdown"):
        if "failed" in results[part]:
            yield f"{part}: {results[part]['failed']}"
        for name, figures in results[part].items():
            if isinstance(figures, dict) and "failed" in figures:
                yield f"{part}, {name}: {figures['failed']}"
    if not results["torch_slowdown"].get("results_unchanged", True):
        yield "torch_slowdown: the losses differ between the profilers"


def print_summary(results):
    costs = results["costs"]
    print(f"\n{results['machine']['gpu']}, driver {results['machine']['driver']}"
          + (" (simulated: no figure below says anything of a real GPU)" if results["machine"]["simulated"] else ""))
    print("ceilings " + "  ".join(
        f"{row['what']} " + (f"{row['gb_per_s'] / 1e3:.3g} TB/s" if "gb_per_s" in row else f"{row['tflops']:.4g} TFLOP/s")
        for row in results["calibration"].get("measurements", [])))
    print("costs    " + "  ".join(f"{name.removesuffix('_ns')} {value:.0f} ns" for name, value in costs.items()
                                  if name.endswith("_ns")))
    gates = results["gates"]
    print("gates    " + (gates.get("skipped") or gates.get("failed") or f"{gates['gate_ns']:.0f} ns each; kernels of " + ", ".join(
        f"{row['ns']} ns: {row['kernel_ns']:.0f} (off by {row['off_ns']:+d})" for row in gates["kernels"])))
    for row in results["assumptions"]:
        if row["holds"] is not True:
            print(f"assumed  {row['name']} {row['assumed']}: " + (
                "not measured" if row["here"] is None else f"WRONG, it is {row['here']:.0f} here"))
    for row in results["counters"]:
        print(f"counters {row['kernel']} {row['size']}: " + (
            f"{row['flops_of_expected']:.2%} of its FLOPs, {row['bytes_of_expected']:.1%} of its bytes; {row['counted']} launches"
            if "flops_of_expected" in row else "; ".join(row["complaints"]) or "none read"))
    print("overlap  " + "  ".join(f"{mode} {value}" for mode, value in results["overlap"].items()))
    print(f"\n{'kernel':<20}{'launches':>9}{'alone':>12}{'queued':>12}"
          + "".join(f"{mode:>12}{'(timed)':>9}" for mode in ("sampled", "shared", "pairs")) + "  mean ns")
    for row in results["kernels"]:
        line = f"{row['kernel'] + ' ' + str(row['size']):<20}" + "".join(
            f"{row.get(key, 'failed'):>{width}}" for key, width in (("count", 9), ("pair_ns", 12), ("queued_ns", 12)))
        for mode in ("sampled", "shared", "pairs"):
            figures = row.get("modes", {}).get(mode, {})
            line += f"{figures.get('mean_ns', 'failed'):>12}{figures.get('timed', ''):>9}"
        print(line)
    print(f"\n{'program':<30}" + "".join(f"{mode:>10}" for mode in ("host", "sampled", "shared", "pairs", "burst")) + "  slower by")
    for row in results["programs"]["programs"]:
        cells = [row.get("modes", {}).get(mode, {}).get("slowdown") for mode in ("host", "sampled", "shared", "pairs", "burst")]
        print(f"{row['name']:<30}" + "".join(f"{'failed' if cell is None else f'{cell:.1%}':>10}" for cell in cells))
    print_torch(results)
    for row in results["programs"]["skipped"]:
        print(f"{row['name']:<30}  skipped: {row['why']}")


def print_torch(results):
    for name, row in results["torch_kernels"].items():
        if isinstance(row, dict) and "kernels" in row:
            print(f"\nPyTorch {name}: {row['kernels']} kernels take {row['total_of_cupti']:.1%} of CUPTI's time, "
                  f"{row['weighted_error']:.1%} off by kernel and shape; {row['begins_inside']:.1%} of begins and "
                  f"{row['ends_inside']:.1%} of ends are within their errors")
    for name, rows in results["torch_slowdown"].items():
        if isinstance(rows, dict) and "skipped" not in rows and "failed" not in rows:
            print(f"PyTorch under {name:<16}" + "  ".join(f"{program} {row['slowdown']:+.1%}" for program, row in rows.items()))


def main():
    parser = argparse.ArgumentParser(prog="scripts/gpu-verify")
    parser.add_argument("out", nargs="?", metavar="OUT", default=f"gpu-verify-{datetime.date.today().isoformat()}")
    parser.add_argument("--simulated", action="store_true", help="on the simulated GPU")
    parser.add_argument("--build", metavar="DIR")
    parser.add_argument("--minutes", type=float, default=7.5, help="time to keep within")
    options = parser.parse_args()

    out = os.path.abspath(options.out)
    os.makedirs(out, exist_ok=True)
    deadline = time.monotonic() + options.minutes * 60
    runner = Runner(ROOT, os.path.abspath(options.build), out, options.simulated, deadline)
    machine = describe_machine(runner)
    if not machine:
        print("gpu-verify: no usable CUDA driver here; --simulated shows it on the simulated GPU", file=sys.stderr)
        return 77
    results = {"version": 1, "machine": machine}
    for name, measure in (("calibration", device.calibrate), ("costs", device.measure_costs), ("gates", device.measure_gates),
                          ("kernels", device.measure_kernels), ("counters", device.read_counters),
                          ("overlap", device.measure_overlap), ("captures", device.check_captures),
                          ("torch_kernels", torch_compare.compare_kernels),
                          ("torch_slowdown", torch_compare.measure_slowdown)):
        print(f"== {name}", flush=True)
        results[name] = measure(runner)
    print("== programs", flush=True)
    results["programs"] = programs.measure(runner, runner.seconds_left - 20)
    results["assumptions"] = device.check_assumptions(results)
    results["problems"] = list(problems(results))
    with open(os.path.join(out, "results.json"), "w", encoding="utf-8") as file:
        json.dump(results, file, indent=1)
        file.write("\n")

    print_summary(results)
    for problem in results["problems"]:
        print(f"PROBLEM: {problem}")
    print(f"\nwritten to {out}")
    return 1 if results["problems"] else 0


if __name__ == "__main__":
    sys.exit(main())
