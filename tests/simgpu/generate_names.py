#!/usr/bin/env python3
"""Turns driver_names.tsv into driver_names.h: one X-macro row and one version constant per exported name."""
import sys

FLAVOURS = {"-": "SIM_LEGACY", "ptsz": "SIM_PER_THREAD", "ptds": "SIM_PER_THREAD"}


def main(source, target):
    with open(source, encoding="ascii") as file:
        rows = [line.split() for line in file if line.strip()]
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
    main(sys.argv[1], sys.argv[2])
