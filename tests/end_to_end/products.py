"""Tests matrix products through cuBLAS and cuBLASLt: the report must have their true sizes, types and FLOPs, and the
program must compute the same results as without the shim.

    products.py BUILD
"""
import collections
import json
import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def main():
    build = os.path.abspath(sys.argv[1])
    program = f"{build}/tests/programs/products"
    # The program never destroys its handles, which a leak checker would report.
    libraries = {**os.environ, "LD_LIBRARY_PATH": f"{build}/tests/simgpu", "ASAN_OPTIONS": "detect_leaks=0"}
    alone = subprocess.run([program], env=libraries, check=True, capture_output=True, text=True).stdout
    with tempfile.TemporaryDirectory() as folder:
        trace, truth = f"{folder}/products.wst", f"{folder}/truth"
        recorded = subprocess.run([f"{ROOT}/tests/run_preloaded.sh", build, program], check=True, text=True,
                                  capture_output=True, timeout=100,
                                  env={**os.environ, "WALLSHIM_OUTPUT": trace, "SIMGPU_PRODUCTS": truth}).stdout
        report = json.loads(subprocess.run([f"{build}/tools/wallshim", "report", "--json", "--top", "0", trace],
                                           check=True, capture_output=True, text=True).stdout)
        shapes = subprocess.run([f"{build}/tools/wallshim", "dump", "--json", "--family", "shape", trace], check=True,
                                capture_output=True, text=True).stdout
        with open(truth, encoding="ascii") as lines:
            made = [line.split() for line in lines]
    assert recorded == alone, f"{recorded!r} with the shim, {alone!r} without"

    expected = collections.Counter(tuple(map(int, row[1:5])) for row in made)
    device = report["processes"][0]["devices"][0]
    found = collections.Counter()
    for product in device["roofline"]["products"]:
        found[(product["m"], product["n"], product["k"], product["batch"])] += product["count"]
    assert found == expected, f"{found - expected} too many, {expected - found} missing"

    flops = collections.Counter()
    for row in made:
        flops[row[0]] += float(row[5])
    for kernel in device["kernels"]:
        if kernel["name"] in flops:
            roofline = kernel["roofline"]
            assert roofline["source"] == "shape", kernel
            assert roofline["flops"] == flops[kernel["name"]], f"{kernel} has {flops[kernel['name']]} FLOPs"
            assert not roofline["inconsistent"] and roofline["class"] != "unknown", kernel
    # Products of two lengths (k) have the same kernel, grid and block. They are two shapes, each with its own times.
    inputs = collections.defaultdict(set)
    for row in map(json.loads, shapes.splitlines()):
        if row["inputs"]:
            inputs[tuple(value for key, value in row.items() if key not in ("id", "inputs"))].add(row["inputs"])
    assert max(map(len, inputs.values())) >= 2, inputs

    large = max(device["roofline"]["products"], key=lambda product: product["flops"])
    assert large["precision"] == "bf16", large
    roofline, wall = device["roofline"], device["wall"]
    expected_mfu = roofline["step_flops"] / (wall["step_ns"] / 1e9 * roofline["peak_flops_per_s"])
    assert abs(roofline["mfu"] / expected_mfu - 1) < 0.01, f"MFU {roofline['mfu']}, not {expected_mfu}"
    print(f"{len(made)} products of {len(expected)} sizes, MFU {device['roofline']['mfu']:.1%}")


main()
