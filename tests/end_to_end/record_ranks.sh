#!/usr/bin/env bash
# Two ranks run at the same time in one folder, each under its own `wallshim record`, as under `mpirun -n 2 wallshim
# record PROGRAM`. Each record must name only the trace that its own program wrote.
#
#   record_ranks.sh BUILD
set -euo pipefail
build=$(cd "$1" && pwd -P)
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)
wallshim=$build/tools/wallshim
[ -e "$build/shim/libwallshim.so" ] || {
    echo "skipped: the shim is not built"
    exit 77
}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
unset WALLSHIM_OUTPUT WALLSHIM_RECORDING

fail() {
    echo "FAIL: $*"
    exit 1
}

# record NAME COMMAND…: runs the command under its own `wallshim record` on the simulated GPU. Writes record's messages
# to NAME.err.
record() {
    local name=$1
    shift
    WALLSHIM_LIBRARY=$build/shim/libwallshim.so ASAN_OPTIONS=verify_asan_link_order=0 \
        "$here/../run_preloaded.sh" --no-shim "$build" "$wallshim" record "$@" 2>"$name.err" ||
        fail "$name: $(cat "$name.err")"
}

# A rank ends only when all ranks have written their traces. So each record finds all traces when it looks for new ones.
cat >rank.sh <<'SCRIPT'
"$@"
: >"done.$OMPI_COMM_WORLD_RANK"
for rank in 0 1; do
    for _ in $(seq 1000); do
        [ -e "done.$rank" ] && break
        sleep 0.02
    done
done
SCRIPT
for rank in 0 1; do
    OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_RANK=$rank \
        record "rank$rank" -o "rank%r-%p.wst" sh rank.sh "$build/tests/programs/hazard_threads" short &
done
wait %1 || exit 1
wait %2 || exit 1
for rank in 0 1; do
    [ "$(wc -l <"rank$rank.err")" -eq 1 ] || fail "not one line: $(cat "rank$rank.err")"
    trace=$(echo rank$rank-*.wst)
    grep -qx "wallshim: wrote $trace; next: wallshim report $trace" "rank$rank.err" || fail "$(cat "rank$rank.err")"
done

# A record whose command runs other records names the traces of all of them.
record outer -o "in-%p.wst" sh -c '"$@" && "$@"' sh "$wallshim" record "$build/tests/programs/hazard_threads" short
grep -q "wrote 2 traces" outer.err || fail "around two others: $(cat outer.err)"
[ "$(grep -c "wrote in-[0-9]*.wst; next" outer.err)" -eq 2 ] || fail "within another: $(cat outer.err)"
for trace in in-*.wst; do
    "$wallshim" info "$trace" >said
    grep -q "recording  *[0-9a-f]*/[0-9a-f]*$" said || fail "the name is not in the trace"
done
echo "each names its own"
