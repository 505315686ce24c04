#!/usr/bin/env python3
"""Turns driver_names.tsv into driver_names.h: one X-macro row and one version constant per exported name. With
--names-until VERSION, turns it into a linker version script that exports no name newer than VERSION."""
import sys

FLAVOURS = {"-": "SIM_LEGACY", "ptsz": "SIM_PER_THREAD", "ptds": "SIM_PER_THREAD"}


def read(source):
    with open(source, encoding="ascii") as file:
        return [line.split() for line in file if line.strip()]


def write_script(last, source, target):
    newer = [symbol for symbol, _, version, _ in read(source) if int(version) > int(last)]
    with open(target, "w", encoding="ascii") as out:
        out.write("{ global: cu*; simgpu*; local: " + " ".join(symbol + ";" for symbol in newer) + " *; };\n")


def main(source, target):
    rows = read(source)
    with open(target, "w", encoding="ascii") as out:
        out.write("/* Made from driver_names.tsv by generate_names.py. X(symbol, base, version, flavour) */\n")
        out.write("#define SIM_DRIVER_NAMES(X) \\\n")
        for symbol, base, version, flavour in rows:
            out.write(f"    X({symbol}, {base}, {version}, {FLAVOURS[flavour]}) \\\n")
        out.write("\n\nenum {\n")
        for symbol, _, version, _ in rows:
            out.write(f"    SIM_VERSION_{symbol} = {version},\n")
        out.write("};\n")


if __name__ == "__main__":
    if sys.argv[1] == "--names-until":
        write_script(*sys.argv[2:])
    else:
        main(*sys.argv[1:])
