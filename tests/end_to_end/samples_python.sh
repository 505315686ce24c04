#!/usr/bin/env bash
# Checks that every Python sample compiles. Without a CUDA driver and torch, a sample must say so in one line and exit
# with status 77.
set -euo pipefail
samples=$1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cp "$samples"/*.py "$samples/kernels.ptx" "$scratch"

for sample in "$scratch"/*.py; do
    python3 -W error -m py_compile "$sample"
done

# Puts a broken torch module and a broken libcuda.so.1 in front of the real ones, so that neither can be loaded.
mkdir "$scratch/torch"
echo 'raise ImportError("hidden")' >"$scratch/torch/__init__.py"
echo 'not a library' >"$scratch/libcuda.so.1"
for sample in train gpt infer_graph; do
    status=0
    LD_LIBRARY_PATH=$scratch python3 "$scratch/$sample.py" >"$scratch/out" 2>"$scratch/err" || status=$?
    if [ "$status" != 77 ] || [ -s "$scratch/out" ] || [ "$(wc -l <"$scratch/err")" != 1 ]; then
        echo "$sample.py: status $status"
        cat "$scratch/out" "$scratch/err"
        exit 1
    fi
done
