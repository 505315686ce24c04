#!/usr/bin/env bash
# Records a run on the simulated GPU and compares the trace with the operations that truly ran.
#
#   accuracy.sh BUILD OPERATIONS mixed|long|pageable[,LIVES] VARIABLE=VALUE,… [OPTION OF THE CHECKER…]
#
# A build with sanitizers gets a fifth of the operations.
set -euo pipefail
build=$(cd "$1" && pwd -P)
operations=$2
IFS=, read -ra kernels <<<"$3"
IFS=, read -ra settings <<<"$4"
shift 4
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)

[ -e "$build/shim/libwallshim.so" ] || {
    echo "skipped: the shim is not built"
    exit 77
}
if ldd "$build/tests/simgpu/libcuda.so.1" | grep -qE 'lib(asan|tsan)'; then
    operations=$((operations / 5))
    set -- --untimed-percent 100 "$@" # so much time passes between launch and event that the event cannot time the kernel
fi

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
env SIMGPU_DEVICES=2 SIMGPU_TRUTH="$folder/truth" WALLSHIM_OUTPUT="$folder/trace.wst" "${settings[@]}" \
    "$here/../run_preloaded.sh" "$build" "$build/tests/programs/accuracy" "$operations" "${kernels[@]}"
"$build/tests/accuracy/check" "$@" "$folder/trace.wst" "$folder/truth"
[ "${#kernels[@]}" -gt 1 ] || exit 0

# The checker must notice even one operation whose stream differs between the truth and the trace.
awk -F'\t' -v OFS='\t' '{ lines[NR] = $0 } $5 == "kernel" { first = first ? first : $4; last = NR }
    END { for (i = 1; i <= NR; i++) { $0 = lines[i]; if (i == last) $4 = first; print } }' \
    "$folder/truth" >"$folder/other"
if "$build/tests/accuracy/check" "$@" "$folder/trace.wst" "$folder/other" >"$folder/said"; then
    echo "an operation in another life is not seen"
    exit 1
fi
grep -q 'stream .* of the trace has operations of streams' "$folder/said" || {
    cat "$folder/said"
    exit 1
}
