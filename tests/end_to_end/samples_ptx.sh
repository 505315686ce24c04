#!/usr/bin/env bash
# Checks that kernels.ptx assembles for real GPUs, and has every kernel of kernels.cu. Skipped without ptxas.
set -euo pipefail
samples=$1
PATH=$PATH:/usr/local/cuda/bin
command -v ptxas >/dev/null || {
    echo "ptxas is not installed"
    exit 77
}
for architecture in sm_80 sm_90; do
    ptxas -arch=$architecture -o /dev/null "$samples/kernels.ptx"
done
diff <(sed -n 's/^__global__ void \([a-z0-9_]*\)(.*/\1/p' "$samples/kernels.cu" | sort) \
    <(sed -n 's/^\.visible \.entry \([a-z0-9_]*\)(.*/\1/p' "$samples/kernels.ptx" | sort)
