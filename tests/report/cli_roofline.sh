#!/bin/sh
# wallshim roofline: questions a person can check by hand.
wallshim=$(realpath "$1") make_demo=$(realpath "$2") source=$3
. "$source/tests/report/shell.sh"

expect 0 "$wallshim" roofline --op gemm --m 4096 --n 4096 --k 4096 --dtype fp16 --gpu h100
says out "ridge 295"
says out "compute-bound"
expect 0 "$wallshim" roofline --op pointwise --shape 32x2048x4096 --flops-per-element 10 --dtype fp16 --gpu h100
says out " 2.5 "
says out "0.85 %"
expect 0 "$wallshim" roofline --op pointwise --shape 32,2048,4096 --kernels 3 --dtype fp16 --gpu h100
says out "2.15 GB moved again; up to 3.00 times"
expect 0 "$wallshim" roofline --op attention --queries 8192 --gpu a100 --causal --json
python3 -c 'import json, sys; a = json.load(open("out")); assert a["variants"][1]["bytes"] < a["variants"][0]["bytes"]' ||
    fail "JSON"
expect 0 "$wallshim" roofline --list
says out "MI300X"

# A GPU that the table lacks, described in a file; the same for reports.
echo '{ "name": "mine", "gb_per_s": 1000, "tflops": { "bf16": 100 }, "source": "a guess" }' >mine.json
expect 0 "$wallshim" roofline --op gemm --m 4096 --n 4096 --k 4096 --gpu mine.json
says out "mine: 100 TFLOP/s bf16, 1 TB/s, ridge 100"
says out "a guess"
"$make_demo" demo.wst || fail "make_demo"
expect 0 "$wallshim" report --section roofline --gpu mine.json demo.wst
says out "ridge 100 FLOPs a byte, as told"
echo '{ "gb_per_s": 1000, "tflops": { "bf15": 100 } }' >wrong.json
for gpu in wrong.json nothing.json demo.wst; do
    expect 2 "$wallshim" report --gpu "$gpu" demo.wst
    one_line
done

# What is missing or wrong is said in one line.
for arguments in "" "--op gemm" "--op gemm --gpu h100" "--op gemm --gpu voodoo --m 1 --n 1 --k 1" "--op dance --gpu h100" \
    "--op gemm --gpu h100 --m 1 --n x --k 1" "--op pointwise --gpu h100 --shape 3x0" "--op gemm --gpu v100 --dtype fp4 --m 1 --n 1 --k 1" \
    "--op pointwise --gpu h100 --shape 3 --kernels 0" "--op attention --gpu h100 --queries 3 --keys 4 --causal" "trace.wst"; do
    expect 2 "$wallshim" roofline $arguments
    one_line
done
finish
