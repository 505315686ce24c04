#!/bin/sh
# Tests `wallshim roofline` with questions whose answers a person can check by hand.
wallshim=$(realpath "$1") make_demo=$(realpath "$2") source=$3
. "$source/tests/support/shell.sh"

expect 0 "$wallshim" roofline --op gemm --m 4096 --n 4096 --k 4096 --dtype fp16 --gpu h100
says out "ridge 295"
says out "compute-bound"
says out "137 GFLOPs"
expect 0 "$wallshim" roofline --list
says out "10000"
grep -E '[0-9]e[+-]?[0-9]' out && fail "powers of ten"
expect 0 "$wallshim" roofline --op pointwise --shape 32x2048x4096 --flops-per-element 10 --dtype fp16 --gpu h100
says out " 2.5 "
says out "0.85 %"
expect 0 "$wallshim" roofline --op pointwise --shape 32,2048,4096 --kernels 3 --dtype fp16 --gpu h100
says out "2.15 GB moved again; up to 3.00 times"
expect 0 "$wallshim" roofline --op attention --queries 8192 --gpu a100 --causal --json
python3 -c 'import json, sys; a = json.load(open("out")); assert a["variants"][1]["bytes"] < a["variants"][0]["bytes"]' ||
    fail "JSON"
expect 0 "$wallshim" roofline --op attention --queries 4096 --heads 32 --gpu h100 --dtype float16
says out "standard"
says out "21.01 %"
# Standard attention computes the whole matrix of scores and masks half of it: it moves (16 + 0.25) GiB at 3.35 TB/s.
# The fused kernel takes half of the 1.11 ms that all products take.
expect 0 "$wallshim" roofline --op attention --queries 8192 --heads 32 --causal --gpu h100
says out "5.21 ms"
says out "556 µs"
says out "up to 9.37 times as fast"
COLUMNS=60 expect 0 "$wallshim" roofline --op attention --queries 8192 --heads 32 --causal --gpu h100
grep -qx "  question        attention of 8192 × 8192, 32 heads of 128," out || fail "a question wider than the terminal"
# Tensor cores do no pointwise work. The ordinary cores have 66.9 × 2 TFLOP/s.
expect 0 "$wallshim" roofline --op pointwise --shape 32,2048,4096 --flops-per-element 100 --kernels 5 --gpu h100
says out "ordinary ones: tensor cores run only GEMMs. 133.8 TFLOP/s, ridge 40"
says out "4 launches saved"
# Sizes and precisions that keep products from tensor cores.
expect 0 "$wallshim" roofline --op gemm -m 4096 -n 50257 -k 768 --gpu h100 --dtype torch.half
says out "4096 × 50264 × 768"
expect 0 "$wallshim" roofline --op gemm -m 4096 -n 50257 -k 768 --gpu h100 --dtype float32
says out "tf32 on tensor cores"
expect 0 "$wallshim" roofline --op gemm -m 1 -n 50257 -k 768 --gpu h100
grep -q "sizes" out && fail "padding for a vector"
expect 0 "$wallshim" roofline --list
says out "MI300X"

# A file may describe a GPU that the table lacks. Reports accept the same file.
echo '{ "name": "mine", "gb_per_s": 1000, "tflops": { "bf16": 100 }, "source": "a guess" }' >mine.json
expect 0 "$wallshim" roofline --op gemm --m 4096 --n 4096 --k 4096 --gpu mine.json
says out "mine: 100 TFLOP/s bf16, 1 TB/s, ridge 100"
says out "a guess"
"$make_demo" demo.wst || fail "make_demo"
expect 0 "$wallshim" report --section roofline --gpu mine.json demo.wst
says out "ridge 100 FLOPs a byte, as told"
# The name of the GPU and the name of its file need not be UTF-8.
file=$(printf 'n\377.json')
{ printf '{ "gb_per_s": 1000, "tflops": { "bf16": 100 }, "name": "'; printf 'ä%.0s' $(seq 400); echo '" }'; } >"$file"
expect 0 "$wallshim" roofline --op gemm --m 4096 --n 4096 --k 4096 --gpu "$file" --json
expect 0 "$wallshim" report --gpu "$file" --json demo.wst
python3 -c 'import json; json.load(open("out"))' || fail "JSON"
echo '{ "gb_per_s": 1000, "tflops": { "bf15": 100 } }' >wrong.json
for gpu in wrong.json nothing.json demo.wst; do
    expect 2 "$wallshim" report --gpu "$gpu" demo.wst
    one_line
done

# If an argument is missing or wrong, the error is one line.
for arguments in "" "--op gemm" "--op gemm --gpu h100" "--op gemm --gpu voodoo --m 1 --n 1 --k 1" "--op dance --gpu h100" \
    "--op gemm --gpu h100 --m 1 --n x --k 1" "--op pointwise --gpu h100 --shape 3x0" "--op gemm --gpu v100 --dtype fp4 --m 1 --n 1 --k 1" \
    "--op pointwise --gpu h100 --shape 3 --kernels 0" "--op pointwise --gpu h100 --shape 3.5" "--op gemm --gpu h100 --m 0 --n 1 --k 1" \
    "--op gemm --gpu h100 --m 1.5 --n 1 --k 1" "--op attention --gpu h100 --queries 8 --heads 0" "gemm" "--op attention --gpu h100 --queries 3 --keys 4 --causal" "trace.wst"; do
    expect 2 "$wallshim" roofline $arguments
    one_line
done
# The list of GPUs fits the terminal; --wide shows the whole sources of its figures.
for columns in 60 80 200; do
    COLUMNS=$columns expect 0 "$wallshim" roofline --list
    python3 -c 'import sys; sys.exit(max(map(len, open("out", encoding="utf-8").read().split("\n"))) > int(sys.argv[1]))' \
        "$columns" || fail "a list wider than $columns"
    says out "H100 PCIe"
done
COLUMNS=60 expect 0 "$wallshim" roofline --list --wide
says out "NVIDIA Blackwell architecture technical brief, HGX B200, halved from sparse"
finish
