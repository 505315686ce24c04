#!/usr/bin/env bash
# Checks on the simulated GPU, without the shim, that a sample computes the same result with and without its switches
# (fused kernels, a read-back in every step, a graph, communication that does not overlap).
#
#   samples_alone.sh BUILD SAMPLE
set -euo pipefail
build=$1
samples=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../samples" && pwd)
export SIMGPU_DEVICES=2

# same COMMAND… -- SWITCHES…: checks that the last line of output is the same with and without the switches
same()
{
    local command=()
    while [ "$1" != -- ]; do
        command+=("$1")
        shift
    done
    shift
    local plain switched
    plain=$("$samples/../tests/run_preloaded.sh" --no-shim "$build" "${command[@]}" | tail -n 1)
    switched=$("$samples/../tests/run_preloaded.sh" --no-shim "$build" "${command[@]}" "$@" | tail -n 1)
    echo "$plain"
    [ -n "$plain" ] && [ "$plain" = "$switched" ] || {
        echo "with $*: $switched"
        exit 1
    }
}

case $2 in
train)
    same python3 "$samples/train.py" --steps 10 -- --sync --fused --pinned
    ;;
train_driver)
    same "$build/samples/train_driver" --steps 10 -- --graph --sync
    ;;
ddp)
    same "$build/samples/ddp" --steps 10 -- --serial
    ;;
esac
