"""Checks the shim's records of graphs that a program describes to the real cuDNN. The program gets cuDNN's functions
by linking or by look-up.

    cudnn_graph.py BUILD PROGRAM LIBCUDNN
"""
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
GRAPHS = [
    "cudnnBackendExecute matmul",
    "c10::Half[2,64,128] c10::Half[2,128,256] c10::Half[2,64,256] Scalar=False compute_32f",
    "cudnnBackendExecute convolution_forward",
    "c10::Half[8,32,28,28] c10::Half[64,32,3,3] c10::Half[8,64,28,28] Scalar=False compute_32f",
]


def main():
    build, program, library = (os.path.abspath(path) for path in sys.argv[1:4])
    if not os.path.exists(library):
        print(f"skipped: no {library}")
        return 77
    for how in ("linked", "look-up"):
        with tempfile.TemporaryDirectory() as folder:
            trace = f"{folder}/graph.wst"
            done = subprocess.run([f"{ROOT}/tests/run_preloaded.sh", build, program, library, how], text=True,
                                  capture_output=True, timeout=100, env={**os.environ, "WALLSHIM_OUTPUT": trace})
            if done.returncode == 77:
                print(done.stdout)
                return 77
            assert done.returncode == 0, done
            dump = subprocess.run([f"{build}/tools/wallshim", "dump", trace], check=True, capture_output=True,
                                  text=True).stdout
        labels = re.findall(r'^label .*text="(.*)"$', dump, re.M)
        assert labels == GRAPHS, f"{how}: {labels}"
        print(f"{how}: {done.stdout.strip()}, {len(labels) // 2} graphs understood")
    return 0


sys.exit(main())
