"""Compares the report with the labels that tests/programs/labelled.c prints for its kernels: which wall limits each
kernel, its FLOPs, and its bytes within 5 %. If a kernel's parameters tell neither FLOPs nor bytes, the report must
claim neither.

    labelled.py BUILD
"""
import json
import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def check(kernel, label, failures):
    row = kernel["roofline"]
    holds, launches, count = label[1], int(label[2]), kernel["count"]
    byte_count, flops = float(label[3]) * count, float(label[4]) * count
    if not launches / 2 <= count <= launches: # on a busy machine the shim may lose the times of some launches
        failures.append(f"{count} of {launches} launches have times")
    if row["class"] != holds:
        failures.append(f"{row['class']}, not {holds}")
    if not byte_count:
        if row["source"] != ("none" if holds == "unknown" else "name") or "bytes" in row or "flops" in row:
            failures.append(f"claims more than its name says: {row}")
        return
    if abs(row.get("bytes", 0) / byte_count - 1) > 0.05:
        failures.append(f"{row.get('bytes')} bytes, not {byte_count:.0f}")
    if row.get("flops", 0) != flops:
        failures.append(f"{row.get('flops')} FLOPs, not {flops:.0f}")
    if row["known_ns"] != kernel["total_ns"] or row["inconsistent"]:
        failures.append(f"not known of all, or inconsistent: {row}")
    if row["source"] != ("shape" if "gemm" in label[0] else "arguments"):
        failures.append(f"source {row['source']}")
    if row["source"] == "arguments" and (count <= 64) == ("note" in row):
        failures.append(f"{count} launches, but the note is {row.get('note')}")


def bytes_of(labels, part):
    label, = (label for name, label in labels.items() if part in name)
    return float(label[3])


def check_chain(chains, first, expected):
    """Checks the chain that begins with the kernel `first`: the bytes that one kernel writes and the next one reads."""
    # On a busy machine a launch may lose its times. Then the kernels around it form a chain of their own.
    chain = max((chain for chain in chains if first in chain["kernels"][0]), key=lambda chain: chain["count"], default=None)
    if not chain:
        return [f"no chain begins with {first}"]
    expected *= chain["count"]
    if chain["bytes_source"] != "arguments" or abs(chain["bytes_again"] / expected - 1) > 0.05:
        return [f"{first}: {chain['bytes_again']} bytes again by {chain['bytes_source']}, not {expected:.0f}"]
    return []


def check_chains(chains, labels):
    # gelu, scale, add, mul, gelu's backward: four arrays pass from one kernel to the next. softmax's backward, sum,
    # add, cast: sum reads a whole array, add reads almost nothing of sum's result, cast reads half of what add wrote.
    cast_reads = bytes_of(labels, "WithCast") / 3
    return check_chain(chains, "GeluCUDA", 4 * bytes_of(labels, "18GeluCUDA")) + \
        check_chain(chains, "cunn_SoftMaxBackward", 2 * bytes_of(labels, "reduce_kernel") + 2 * cast_reads)


def check_images(dump):
    """The trace must keep images of exactly those parameter structures that a report can read."""
    rows = [json.loads(line) for line in dump.splitlines()]
    names = {row["id"]: row["name"] for row in rows if row["family"] == "function"}
    readable = ("gpu_kernel_impl", "ReduceOp", "multi_tensor_apply", "Flash_kernel_traits")
    return [f"{names[row['function']]}: {len(row['structures'])} characters of structures" for row in rows
            if row["family"] == "params"
            and bool(row["structures"]) != any(mark in names[row["function"]] for mark in readable)]


def main():
    build = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        trace = f"{folder}/labelled.wst"
        labels = subprocess.run([f"{ROOT}/tests/run_preloaded.sh", build, f"{build}/tests/programs/labelled"], check=True,
                                text=True, capture_output=True, timeout=100,
                                env={**os.environ, "WALLSHIM_OUTPUT": trace, "WALLSHIM_EVENT_PLACEMENT": "pairs"}).stdout
        report = json.loads(subprocess.run([f"{build}/tools/wallshim", "report", "--json", "--top", "0", trace],
                                           check=True, capture_output=True, text=True).stdout)
        dump = subprocess.run([f"{build}/tools/wallshim", "dump", "--json", trace], check=True, capture_output=True,
                              text=True).stdout
    labels = {line.split("\t")[0]: line.split("\t") for line in labels.splitlines()}
    device = report["processes"][0]["devices"][0]
    kernels = {kernel["name"]: kernel for kernel in device["kernels"]}
    assert labels.keys() <= kernels.keys(), labels.keys() - kernels.keys()
    assert all("roofline" not in kernel for name, kernel in kernels.items() if name not in labels), kernels.keys()
    failures = check_chains(device["chains"], labels) + check_images(dump)
    for name, label in labels.items():
        found = []
        check(kernels[name], label, found)
        failures += [f"{name}: {failure}" for failure in found]
    for failure in failures:
        print("FAIL:", failure)
    print(f"{len(labels)} kernels with a label; lost: {report['processes'][0]['losses']}")
    return 1 if failures else 0


sys.exit(main())
