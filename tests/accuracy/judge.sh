#!/usr/bin/env bash
# Tests judge.c, which must accept a right trace and notice each kind of wrong time.
#
#   judge.sh BUILD
set -euo pipefail
build=$(cd "$1" && pwd -P)
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)
limits=(--total-percent 40 --total-us 0.2 --busy-points 25 --inside-percent 95) # wide limits: other work may delay the run

[ -e "$build/shim/libwallshim.so" ] || {
    echo "skipped: the shim is not built"
    exit 77
}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
for attempt in 1 2 3 4 5; do # a long delay by other work on the machine makes the trace's times wrong
    rm -f "$folder"/*
    env SIMGPU_TRUTH="$folder/truth" WALLSHIM_OUTPUT="$folder/trace.wst" WALLSHIM_EVENT_PLACEMENT=pairs \
        "$here/../run_preloaded.sh" "$build" "$build/tests/programs/short_kernels" --kernels 200000,400000 --launches 1000
    ! "$build/tests/accuracy/judge" "${limits[@]}" "$folder/trace.wst" "$folder/truth" || break
    [ "$attempt" != 5 ]
done

# says PROGRAM TEXT: changes the truth by the awk program; the judge must then fail and print the text
says()
{
    awk -F'\t' -v OFS='\t' "\$5 == \"kernel\" { $1; \$9 = sprintf(\"%d\", \$9); \$10 = sprintf(\"%d\", \$10) } { print }" "$folder/truth" >"$folder/other"
    if "$build/tests/accuracy/judge" "${limits[@]}" "$folder/trace.wst" "$folder/other" >"$folder/said" ||
        ! grep -q "$2" "$folder/said"; then
        echo "not seen: $1"
        cat "$folder/said"
        exit 1
    fi
}
# shellcheck disable=SC2016 # awk's fields
{
    says '$10 = $9 + ($10 - $9) / 2' '^WRONG kernel_1_400000ns takes +'
    says '$10 = $9 + ($10 - $9) / 2' '^WRONG the busy share is off by +'
    says 'if (NR % 10 == 0) $9 += 60000' '^WRONG [89][0-9]\..* of the begins are inside'
    says 'if (NR % 10 == 0) $10 -= 60000' '^WRONG [89][0-9]\..* of the ends are inside'
}
