"""Tests that a set-user-ID program runs as without the shim, whatever its user puts into the shim's variables:
set_user_id.py BUILD

Otherwise the user could make the program load a library or write a file anywhere, with the rights of another user.
"""
import os
import shutil
import subprocess
import sys
import tempfile

import cases

NOBODY = 65534


def skip(why):
    print("skipped:", why)
    sys.exit(77)


def become_nobody():
    os.setgroups([])
    os.setgid(NOBODY)
    os.setuid(NOBODY)


def run(program, build, folder, **options):
    environment = {"WALLSHIM_OUTPUT": f"{folder}/trace.wst", "WALLSHIM_COUNTERS": "1", "WALLSHIM_SAMPLE": "many",
                   "WALLSHIM_CUPTI": f"{build}/tests/programs/libraries/own/libzstd.so.1"}
    done = subprocess.run([program], env=environment, cwd=folder, capture_output=True, text=True, check=False, timeout=120,
                          **options)
    return done, sorted(os.listdir(folder))


def main():
    build = os.path.abspath(sys.argv[1])
    program = f"{build}/tests/programs/hazard_secure"
    if cases.sanitized(program):
        skip("a sanitizer is no library for set-user-ID programs")
    if os.geteuid():
        skip("only root can make a program that takes root's rights")
    with tempfile.TemporaryDirectory() as top:
        os.chmod(top, 0o755)
        for name in ("plain", "set"):
            os.mkdir(f"{top}/{name}")
            os.chmod(f"{top}/{name}", 0o777)
        copy = shutil.copy(program, f"{top}/program")
        os.chmod(copy, 0o4755)

        done, files = run(program, build, f"{top}/plain")
        assert done.returncode == 0 and "more rights: 0" in done.stdout, done
        assert files == ["trace.wst"] and "is loaded" in done.stdout and "not understood" in done.stderr, (done, files)
        done, files = run(copy, build, f"{top}/set", preexec_fn=become_nobody)
        if "more rights: 0" in done.stdout:
            skip("programs take no rights from their file here")
        assert done.returncode == 0 and not files and not done.stderr, (done, files)
        assert done.stdout.splitlines() == ["more rights: 1", "refused: 0", "cuStreamSynchronize(gpu.stream): 0"], done
    return 0


sys.exit(main())
