"""Runs installed programs of other projects under the shim on the simulated GPU.

    real_programs.py BUILD ffmpeg|numpy|numba|openmp|hashcat|blender

Each program must run to its end with the same output as without the shim, and the report must contain its work. The
script prints the times with and without the shim; only the test's time limit bounds them.

ffmpeg uploads frames, scales them on the GPU and fetches them. numpy never uses CUDA and must run as without the
shim. numba's driver layer links PTX and launches it from threads. It runs on a driver of CUDA 12.2: it looks for
names with _v2 first, and in newer drivers some functions of these names take other arguments. The OpenMP offload
program is compiled here by clang, which needs the toolkit's ptxas. hashcat runs its benchmark, which needs the
toolkit's NVRTC. Blender lists its devices."""
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
FRAMES = 50
PYTHON = "/usr/bin/python3"


class Unavailable(Exception):
    """The reason why a program cannot run on this machine."""


def need_command(name):
    found = shutil.which(name)
    if not found:
        raise Unavailable(f"{name} is not installed")
    return found


def need_module(name):
    if subprocess.run([PYTHON, "-c", f"import {name}"], capture_output=True, check=False).returncode:
        raise Unavailable(f"python3-{name} is not installed")


def ffmpeg(_folder):
    need_command("ffmpeg")
    return ["ffmpeg", "-nostdin", "-v", "error", "-f", "lavfi", "-i", f"testsrc=duration={FRAMES // 25}:size=320x240:rate=25",
            "-vf", "format=yuv420p,hwupload_cuda,scale_cuda=160:120,hwdownload,format=yuv420p", "-f", "framemd5", "-"]


def numpy(_folder):
    need_module("numpy")
    return [PYTHON, "-c", "import numpy, os; a = numpy.arange(1e6).reshape(1000, 1000); "
            "print((a @ a.T).trace(), len(os.listdir('/proc/self/task')))"]


def numba(_folder):
    need_module("numba")
    return [PYTHON, f"{HERE}/clients/numba_driver.py"]


def openmp(folder):
    clang = need_command("clang")
    ptxas = shutil.which("ptxas") or "/usr/local/cuda/bin/ptxas"
    resources = subprocess.run([clang, "-print-resource-dir"], capture_output=True, text=True, check=True).stdout.strip()
    plugin = f"{os.path.dirname(os.path.dirname(resources))}/libomptarget.rtl.cuda.so"
    if not os.path.exists(plugin):
        raise Unavailable("this clang's libomptarget has no CUDA plugin: libomp-14-dev is not installed")
    if not os.path.exists(ptxas):
        raise Unavailable("ptxas of the CUDA toolkit is not installed")
    toolkit = os.path.dirname(os.path.dirname(os.path.realpath(ptxas)))
    done = subprocess.run([clang, "-O1", "-fopenmp", "-fopenmp-targets=nvptx64", "-Xopenmp-target", "-march=sm_75",
                           f"--cuda-path={toolkit}", "-Wno-unknown-cuda-version", f"{HERE}/clients/openmp_offload.c", "-o", f"{folder}/offload"], capture_output=True, text=True, check=False)
    if done.returncode:
        raise Unavailable(f"this clang cannot compile for this toolkit: {done.stderr.strip().splitlines()[-1]}")
    # Under a sanitizer, the sanitizer's library calls dlopen, which does not search the program's RUNPATH. So the
    # folder goes into LD_LIBRARY_PATH.
    os.environ["LD_LIBRARY_PATH"] = f"{os.path.dirname(plugin)}:{os.environ.get('LD_LIBRARY_PATH', '')}".rstrip(":")
    return [f"{folder}/offload"]


def hashcat(_folder):
    need_command("hashcat")
    # -D 2: GPUs only. OpenCL is ignored: it may be installed, but this test is about CUDA. Only one hashcat can run in
    # a session.
    return ["hashcat", "-b", "-m", "0", "-D", "2", "--backend-ignore-opencl", "--self-test-disable", "--runtime", "2",
            "--session", f"wallshim-{os.getpid()}"]


def blender(_folder):
    need_command("blender")
    return ["blender", "--background", "--factory-startup", "--python-exit-code", "1", "--python-expr",
            "import bpy; p = bpy.context.preferences.addons['cycles'].preferences; p.get_devices(); "
            "print(sorted((d.type, d.name) for d in p.devices))"]


def run(build, arguments, folder, switches):
    os.makedirs(folder)
    home = f"{os.path.dirname(folder)}/home"
    os.makedirs(home, exist_ok=True)
    began = time.monotonic()
    done = subprocess.run([f"{ROOT}/tests/run_preloaded.sh", *switches, build, *arguments], capture_output=True, text=True,
                          stdin=subprocess.DEVNULL, cwd=folder, timeout=280, check=False,
                          env={**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "HOME": home,
                               "XDG_DATA_HOME": home, "XDG_CACHE_HOME": home})
    print(f"{' '.join(switches) or 'with the shim'}: {time.monotonic() - began:.2f} s")
    return done.returncode, done.stdout, done.stderr


def kernels_of(build, traces):
    """How often each kernel, copy and memset ran, by name. On a busy machine some have no device times; these count
    too."""
    done = subprocess.run([f"{build}/tools/wallshim", "report", "--json", *traces], capture_output=True, check=True)
    kernels = {}
    for process in json.loads(done.stdout)["processes"]:
        for device in process["devices"]:
            for row in device["kernels"] + device["untimed_kernels"]:
                kernels[row["name"]] = kernels.get(row["name"], 0) + row["count"]
    print(kernels)
    return kernels


def check_ffmpeg(kernels, _output):
    copies = sum(count for name, count in kernels.items() if name.startswith("Memcpy"))
    scaling = sum(count for name, count in kernels.items() if not name.startswith("Mem"))
    # For each frame at least two kernels, a copy to the device and one from it.
    assert scaling >= 2 * FRAMES, f"{scaling} kernels for {FRAMES} frames"
    assert copies >= 2 * FRAMES, f"{copies} copies for {FRAMES} frames"


def check_numba(kernels, _output):
    # Four threads, and one more round after a reset of the context: see clients/numba_driver.py.
    assert kernels.get("saxpy") == 5 * 50 and kernels.get("vector_add") == 5, "not the launches that were made"


def check_openmp(kernels, output):
    assert "devices 1, copied 0" in output, f"not offloaded: {output}"
    loops = sum(count for name, count in kernels.items() if name.startswith("__omp_offloading"))
    assert loops == 2 * 50, f"{loops} kernels for 100 loops"


def check_hashcat(kernels, _output):
    assert any(name.startswith("m00000") for name in kernels), "none of hashcat's kernels"


def check_blender(_kernels, output):
    assert "'CUDA'" in output, f"Blender lists no CUDA device: {output}"


# name: (makes the command, checks the kernels and the output, switches of run_preloaded.sh, lines of the output that
# differ from run to run, whether there must be work on the device)
PROGRAMS = {
    "ffmpeg": (ffmpeg, check_ffmpeg, [], None, True),
    "numpy": (numpy, None, [], None, False),
    "numba": (numba, check_numba, ["--driver", "12.2"], None, True),
    "openmp": (openmp, check_openmp, [], None, True),
    "hashcat": (hashcat, check_hashcat, [], r"^(Speed\.#|Started:|Stopped:).*$", True),
    "blender": (blender, check_blender, [], None, False),
}


def check(build, name, folder):
    prepare, judge, switches, varies, works = PROGRAMS[name]
    command = prepare(folder)
    without = run(build, command, f"{folder}/without", ["--no-shim", *switches])
    if name == "hashcat" and "Failed to initialize NVIDIA RTC library" in without[1] + without[2]:
        raise Unavailable("hashcat finds no NVRTC of the CUDA toolkit")
    assert without[0] == 0, f"{name} fails by itself: {without}"
    with_shim = run(build, command, f"{folder}/with", switches)
    if varies:
        without, with_shim = ((code, re.sub(varies, "", output, flags=re.M), error) for code, output, error in (without, with_shim))
    assert with_shim == without, f"with the shim {with_shim}, without {without}"
    traces = glob.glob(f"{folder}/with/*.wst")
    if works:
        assert traces, "no trace was written"
    else:
        assert not os.listdir(f"{folder}/with"), "a program that did nothing on the device left a file"
    if judge:
        judge(kernels_of(build, traces) if traces else {}, without[1])


def main():
    build, name = os.path.abspath(sys.argv[1]), sys.argv[2]
    with tempfile.TemporaryDirectory() as folder:
        try:
            check(build, name, folder)
        except Unavailable as reason:
            print(f"skipped: {reason}")
            return 77
    return 0


if __name__ == "__main__":
    sys.exit(main())
