#!/usr/bin/env python3
"""Checks which libraries libwallshim.so needs and which symbols it exports: shim_file.py LIBRARY ROWS

The library must need only libc. It must export only the names of the wrapper tables, dlsym, _exit, _Exit, NVTX's entry
points, and two names by which `wallshim attach` finds the shim. It must bind no symbol of a glibc newer than 2.31, so
that it loads in old containers. ROWS holds the tables as tests/abi/driver_rows.py writes them.
"""
import os
import re
import shutil
import subprocess
import sys

NEWEST_GLIBC = (2, 31)


def readelf(library, *options):
    return subprocess.run(["readelf", "-W", *options, library], stdout=subprocess.PIPE, text=True, check=True).stdout


def main():
    library, rows = sys.argv[1:]
    if not shutil.which("readelf"):
        print("skipped: readelf is not installed")
        return 77
    if not os.path.exists(library):
        print("skipped: the shim is not built")
        return 77
    wrong = []
    beside = {"dlsym", "_exit", "_Exit", "InitializeInjectionNvtx", "InitializeInjectionNvtx2", "wallshim_attach",
              "wallshim_late_version"}

    needed = re.findall(r"\(NEEDED\).*\[(.*)\]", readelf(library, "-d"))
    if any(re.match(r"lib[atu][a-z]*san", name) for name in needed):
        print("skipped: this one is built with sanitizers, which need and export what they will")
        return 77
    # Older C libraries have separate libdl and libpthread. With this machine's C library the shim must need only libc.
    if needed != ["libc.so.6"]:
        wrong.append(f"needs {needed}, should need libc.so.6 alone")
    if "TEXTREL" in readelf(library, "-d"):
        wrong.append("has text relocations")
    if re.search(r"GNU_STACK.* RWE ", readelf(library, "-l")):
        wrong.append("asks for an executable stack")

    with open(rows, encoding="ascii") as file:
        text = file.read()
    tabled = set(re.findall(r'^DRIVER_TYPE\("(\w+)"', text, re.M)) | set(re.findall(r"^(?:NCCL|CUBLAS|CUDNN)_TYPE\((\w+)", text, re.M))
    exported, bound = set(), {}
    for line in readelf(library, "--dyn-syms").splitlines():
        fields = line.split()
        if len(fields) < 8 or not fields[0].rstrip(":").isdigit():
            continue
        name, _, version = fields[7].partition("@")
        # Skip sections, and the symbol that only names the shim's symbol version.
        if fields[6] == "ABS" or fields[3] == "SECTION":
            continue
        if fields[6] != "UND":
            exported.add(name)
            # dlsym without a version must not find the shim's wrappers, so the wrappers have a hidden version ("@", not
            # "@@"). Exports that are not in the tables have no version. Wrappers of cuBLAS and cuDNN have the versions
            # of those libraries, to which programs are bound.
            library = "libcublasLt" if name.startswith("cublasLt") else "libcublas"
            of_library = (name.startswith("cublas") and re.fullmatch(rf"{library}\.so\.1[123]", version) or
                          name.startswith("cudnn") and re.fullmatch(r"libcudnn(\.so\.8|(_graph|_ops|_cnn)?\.so\.9)", version))
            allowed = version == ("" if name in beside else "WALLSHIM")
            # A library that is preloaded before the shim may look up the next dlsym by its version in libc.
            if name == "dlsym":
                allowed = re.fullmatch(r"@?GLIBC_2\.\d+(\.\d+)?", version)
            if not allowed and not of_library:
                wrong.append(f"exports {name} as {version or 'no version'}: a look-up would find it without a driver")
        elif version:
            bound[name] = version.lstrip("@")
    if not bound:
        wrong.append("binds no versioned symbol at all: is this the right file?")
    for name in sorted(tabled | beside):
        if name not in exported:
            wrong.append(f"does not export {name}")
    for name in sorted(exported - tabled - beside):
        wrong.append(f"exports {name}, which is not in the tables")
    for name, version in sorted(bound.items()):
        number = re.fullmatch(r"GLIBC_(\d+)\.(\d+)(?:\.\d+)?", version)
        if not number or (int(number[1]), int(number[2])) > NEWEST_GLIBC:
            wrong.append(f"binds {name}@{version}")

    for line in wrong:
        print("WRONG", line)
    print(f"needs {needed}; exports {len(exported)} names; binds {len(bound)}, the newest "
          f"{max(bound.values(), key=lambda v: [int(n) for n in re.findall(r'[0-9]+', v)], default='none')}")
    return 1 if wrong else 0


sys.exit(main())
