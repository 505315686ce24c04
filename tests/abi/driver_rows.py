#!/usr/bin/env python3
"""Writes the rows of the shim's tables as macro calls that the ABI tests can use.

    driver_rows.py OUTPUT PREPROCESSOR…

A row's version may be an expression, and cuda.h defines macros with the names of functions in the tables. So no
macro can compose the name of a row's typedef. This script composes it, from the preprocessor's output for the
tables alone.

    DRIVER_TYPE("symbol", PFN_base_vNNNN_flavour, (parameters))
    NCCL_TYPE(symbol, (parameters))
    CUBLAS_TYPE(symbol, (parameters))
    CUDNN_TYPE(symbol, (parameters))
"""
import re
import subprocess
import sys

SOURCE = """
#define DRIVER_ROW(symbol, base, since, flavour, family, parameters, arguments, before, after) \
    @driver symbol base since flavour parameters@
#define NCCL_ROW(symbol, parameters, arguments, before, after) @nccl symbol parameters@
#define CUBLAS_ROW(library, symbol, parameters, arguments, product) @cublas symbol parameters@
#include "shim/hook/driver_table.h"
#include "shim/hook/nccl_table.h"
#include "shim/hook/cublas_table.h"
#define CUDNN_ROW(part, symbol, parameters, ...) @cudnn symbol parameters@
#include "shim/hook/cudnn_table.h"
"""
SUFFIX = {"LEGACY": "", "PTSZ": "_ptsz", "PTDS": "_ptds"}
NUMBER = r"(\d+|\(\((\d+)\) < 7000 \? 7000 : \(\d+\)\))"


def rows(text):
    text = " ".join(text.split())
    for kind, body in re.findall(r"@(driver|nccl|cublas|cudnn) (.*?)@", text):
        if kind != "driver":
            symbol, parameters = body.split(" ", 1)
            yield f"{kind.upper()}_TYPE({symbol}, {parameters})"
            continue
        match = re.fullmatch(rf"(\w+) (\w+) {NUMBER} (LEGACY|PTSZ|PTDS) (\(.*\))", body)
        if not match:
            sys.exit(f"driver_rows.py: not understood: {body}")
        symbol, base, plain, twin, flavour, parameters = match.groups()
        since = max(7000, int(twin)) if twin else int(plain)
        yield f'DRIVER_TYPE("{symbol}", PFN_{base}_v{since}{SUFFIX[flavour]}, {parameters})'


def main():
    output, *preprocessor = sys.argv[1:]
    text = subprocess.run([*preprocessor, "-E", "-P", "-x", "c", "-"], input=SOURCE, text=True, check=True,
                          stdout=subprocess.PIPE).stdout
    found = list(rows(text))
    if not found:
        sys.exit("driver_rows.py: the tables hold no row")
    with open(output, "w", encoding="ascii") as file:
        file.write("\n".join(found) + "\n")


main()
