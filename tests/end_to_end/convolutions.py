"""Tests convolutions, attention and products through cuDNN's older interface and its graphs. The report must have the
true FLOPs and bytes and count each call once. The program's output must be the same as without the shim.

    convolutions.py BUILD
"""
import collections
import json
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MASKED = "the trace does not say what masks or sequence lengths skip: counted in full, which is an upper limit"


def main():
    build = os.path.abspath(sys.argv[1])
    program = f"{build}/tests/programs/convolutions"
    # The program never destroys its handles, which a leak checker would report.
    libraries = {**os.environ, "LD_LIBRARY_PATH": f"{build}/tests/simgpu", "ASAN_OPTIONS": "detect_leaks=0"}
    alone = subprocess.run([program], env=libraries, check=True, capture_output=True, text=True).stdout
    with tempfile.TemporaryDirectory() as folder:
        trace, truth = f"{folder}/convolutions.wst", f"{folder}/truth"
        recorded = subprocess.run([f"{ROOT}/tests/run_preloaded.sh", build, program], check=True, text=True,
                                  capture_output=True, timeout=100,
                                  env={**os.environ, "WALLSHIM_OUTPUT": trace, "SIMGPU_CUDNN": truth}).stdout
        tool = f"{build}/tools/wallshim"
        report = json.loads(subprocess.run([tool, "report", "--json", "--top", "0", trace], check=True,
                                           capture_output=True, text=True).stdout)
        dump = subprocess.run([tool, "dump", trace], check=True, capture_output=True, text=True).stdout
        with open(truth, encoding="ascii") as lines:
            made = [line.split() for line in lines]
    assert recorded == alone, f"{recorded!r} with the shim, {alone!r} without"

    # The shim must leave out the second last execution, because it overrides the sizes of its plan.
    assert made[-2][0] == made[-1][0], made[-2:]
    del made[-2]
    flops, moved = collections.Counter(), collections.Counter()
    for name, work, size in made:
        flops[name] += float(work)
        moved[name] += float(size)
    device = report["processes"][0]["devices"][0]
    kernels = {kernel["name"]: kernel for kernel in device["kernels"]}
    assert len(flops) == 6, flops.keys()
    for name, expected in flops.items():
        roofline = kernels[name]["roofline"]
        assert roofline["source"] == "shape", kernels[name]
        assert roofline.get("flops", 0) == expected, f"{kernels[name]} has {expected} FLOPs"
        assert roofline["bytes"] == moved[name], f"{kernels[name]} moves {moved[name]} bytes"
        assert not roofline["inconsistent"], kernels[name]
        assert (roofline.get("note") == MASKED) == ("fprop_wgmma" in name), kernels[name]
    # A kernel that only prepares data for a convolution must not get the convolution's FLOPs.
    assert kernels["nchwToNhwcKernel"]["roofline"]["source"] != "shape", kernels["nchwToNhwcKernel"]

    # cuDNN calls cuBLASLt to multiply; such a call must not be counted as a product of the program's own.
    product, = device["roofline"]["products"]
    sizes = [product[key] for key in ("m", "n", "k", "batch", "count")]
    assert sizes == [384, 256, 512, 6, 10], product
    assert "cublasLtMatmul" not in re.findall(r'^label .*text="(\w+)"', dump, re.M), "counted twice"
    assert len(re.findall(r"^range ", dump, re.M)) == len(made) + product["count"], "a range for each call"
    print(f"{len(made)} calls of {len(flops)} kinds, {sum(flops.values()):.0f} FLOPs")


main()
