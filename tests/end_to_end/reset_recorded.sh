#!/usr/bin/env bash
# reset_recorded.sh BUILD: runs the unit test of resets under load with the shim. The test must pass, and its traces
# must be readable.
set -euo pipefail
build=$1
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
"$here/../run_preloaded.sh" "$build" "$build/tests/unit/simgpu/test_simgpu_reset"
"$build/tools/wallshim" report --full ./*.wst >report.txt
grep -A4 '^What is missing' report.txt
