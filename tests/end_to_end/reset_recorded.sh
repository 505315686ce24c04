#!/usr/bin/env bash
# reset_recorded.sh BUILD: the unit test of resets under load once more, with the shim. It must pass all the same, and what
# was recorded must be read.
set -euo pipefail
build=$1
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
"$here/../run_preloaded.sh" "$build" "$build/tests/unit/simgpu/test_simgpu_reset"
"$build/tools/wallshim" report ./*.wst >report.txt
grep -A4 '^What is missing' report.txt
