"""Programs nobody here wrote, as their packages install them, under the shim on the simulated GPU.

    real_programs.py BUILD ffmpeg|numpy

ffmpeg uploads frames, scales them on the GPU and fetches them: it must run to its end with the same output as without
the shim, and its kernels and copies must be in the report. numpy never touches CUDA: it must not notice.
"""
import glob
import json
import os
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FRAMES = 50
FFMPEG = ["ffmpeg", "-nostdin", "-v", "error", "-f", "lavfi", "-i", f"testsrc=duration={FRAMES // 25}:size=320x240:rate=25",
          "-vf", "format=yuv420p,hwupload_cuda,scale_cuda=160:120,hwdownload,format=yuv420p", "-f", "framemd5", "-"]
NUMPY = ["/usr/bin/python3", "-c", "import numpy, os; a = numpy.arange(1e6).reshape(1000, 1000); "
         "print((a @ a.T).trace(), len(os.listdir('/proc/self/task')))"]


def run(build, arguments, folder, shim):
    os.makedirs(folder)
    switches = [] if shim else ["--no-shim"]
    done = subprocess.run([f"{ROOT}/tests/run_preloaded.sh", *switches, build, *arguments], capture_output=True, text=True,
                          cwd=folder, timeout=120, check=False, env={**os.environ, "OMP_NUM_THREADS": "1",
                                                                     "OPENBLAS_NUM_THREADS": "1"})
    return done.returncode, done.stdout, done.stderr


def report(build, traces):
    done = subprocess.run([f"{build}/tools/wallshim", "report", "--json", *traces], capture_output=True, check=True)
    return json.loads(done.stdout)


def check_ffmpeg(build, folder, without, with_shim):
    assert without[0] == 0, f"ffmpeg fails by itself: {without}"
    assert with_shim == without, f"with the shim {with_shim}, without {without}"
    traces = glob.glob(f"{folder}/with/*.wst")
    assert traces, "no trace was written"
    kernels = {}
    for process in report(build, traces)["processes"]:
        for device in process["devices"]:
            for row in device["kernels"]:
                kernels[row["name"]] = kernels.get(row["name"], 0) + row["count"]
    print(kernels)
    copies = sum(count for name, count in kernels.items() if name.startswith("Memcpy"))
    scaling = sum(count for name, count in kernels.items() if not name.startswith("Mem"))
    # Two planes sets of kernels a frame at the least, and a copy in and one out.
    assert scaling >= 2 * FRAMES, f"{scaling} kernels for {FRAMES} frames"
    assert copies >= 2 * FRAMES, f"{copies} copies for {FRAMES} frames"


def check_numpy(_build, folder, without, with_shim):
    assert without[0] == 0, f"numpy fails by itself: {without}"
    assert with_shim == without, f"with the shim {with_shim}, without {without}"
    assert not os.listdir(f"{folder}/with"), "a program without CUDA left a file"


def main():
    build, name = sys.argv[1:3]
    command, check = {"ffmpeg": (FFMPEG, check_ffmpeg), "numpy": (NUMPY, check_numpy)}[name]
    if name == "ffmpeg" and not shutil.which("ffmpeg"):
        print("skipped: ffmpeg is not installed")
        return 77
    if name == "numpy" and subprocess.run(["/usr/bin/python3", "-c", "import numpy"], capture_output=True, check=False).returncode:
        print("skipped: python3-numpy is not installed")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        check(build, folder, run(build, command, f"{folder}/without", False), run(build, command, f"{folder}/with", True))
    return 0


sys.exit(main())
