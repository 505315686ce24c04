#!/bin/sh
# Tests `wallshim diff` as a person and a CI pipeline use it: its output and its exit status.
wallshim=$(realpath "$1") make_demo=$(realpath "$2") source=$3
. "$source/tests/support/shell.sh"
"$make_demo" before.wst || fail "make_demo"
mkdir after && "$make_demo" after/rank0.wst 0 && "$make_demo" after/rank1.wst 1 || fail "make_demo"

# A trace compared with itself: nothing changed, and no kernel appeared.
expect 0 "$wallshim" diff before.wst before.wst --fail-on-regression 0
says out "What changed"
says out "(0.0 %)"
grep -q "Appeared" out && fail "kernels appeared out of nothing"

# A folder is a job of several processes. The figures are those of one device.
expect 0 "$wallshim" diff before.wst after
says out "2 processes, 2 GPUs"
says out "58.72 GB/s  58.72 GB/s  all-reduce of 8"
says out "4.19 MB  4.19 MB"
says out "(0.0 %)"

# An error is one line.
expect 2 "$wallshim" diff before.wst
one_line
expect 2 "$wallshim" diff before.wst absent.wst
one_line
expect 2 "$wallshim" diff before.wst after --fail-on-regression much
one_line
expect 2 "$wallshim" diff before.wst after --fail-on-regression -1
one_line

for columns in 60 80 100; do
    COLUMNS=$columns expect 0 "$wallshim" diff before.wst after
    python3 -c 'import sys; sys.exit(max(len(l) for l in open("out", encoding="utf-8").read().split("\n")) > int(sys.argv[1]))' \
        "$columns" || fail "lines wider than $columns"
done
expect 0 "$wallshim" diff before.wst after --top 2
says out "more with"
expect 0 "$wallshim" diff before.wst after --wide
says out "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1_execute_segment_k_off_kernel__5x_cublas"

expect 0 "$wallshim" diff before.wst after --json
python3 "$source/tests/support/validate.py" "$source/docs/diff.schema.json" <out
status=$?
[ "$status" -eq 77 ] && exit 77
[ "$status" -eq 0 ] || fail "not what the schema says"
finish
