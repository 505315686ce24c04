#!/usr/bin/env bash
# Runs a program with the shim of a build preloaded and the build's simulated GPU in place of the driver.
#
#   run_preloaded.sh [--no-shim] [--no-driver | --driver 12.2] [--before LIBRARY] [--after LIBRARY] BUILD COMMAND…
#
# --no-driver leaves out the simulated GPU. --driver uses a simulated driver that exports only the names of an older
# version. --before and --after preload one more library in front of the shim or behind it. If the shim was built with a
# sanitizer and the program was not, the sanitizer's library is preloaded before the shim: it is the one that the shim was
# linked with. Leaks are not looked for, since they would be the program's own.
set -euo pipefail

shim=1 driver=1 version= before= after=
while [ $# -gt 0 ]; do
    case $1 in
    --no-shim) shim= ;;
    --no-driver) driver= ;;
    --driver) version=${2-} && shift ;;
    --before) before=${2-} && shift ;;
    --after) after=${2-} && shift ;;
    *) break ;;
    esac
    shift
done
[ $# -ge 2 ] || {
    echo "usage: run_preloaded.sh [--no-shim] [--no-driver | --driver 12.2] [--before LIBRARY] [--after LIBRARY] BUILD COMMAND…" >&2
    exit 2
}
build=$(cd "$1" && pwd -P)
shift

simgpu=$build/tests/simgpu
library=$build/shim/libwallshim.so
sanitizer=$(ldd "$simgpu/libcuda.so.1" | sed -n 's,^[[:space:]]*lib[at]san[^ ]* => \([^ ]*\).*,\1,p')

# A preloaded sanitizer may crash in a Python that is not the system's, so the system's Python is used.
if [ -n "$sanitizer" ] && [ "$1" = python3 ] && [ -x /usr/bin/python3 ]; then
    shift
    set -- /usr/bin/python3 "$@"
fi

if [ -n "$version" ]; then
    export SIMGPU_DRIVER_VERSION=$version
    simgpu=$simgpu/driver_$version:$simgpu
fi

preload=$sanitizer
[ -z "$before" ] || preload=${preload:+$preload:}$before
[ -z "$shim" ] || preload=${preload:+$preload:}$library
[ -z "$after" ] || preload=${preload:+$preload:}$after

# The time at which the program begins, for callers that measure its run time.
[ -z "${BEGAN_FILE-}" ] || echo "$EPOCHREALTIME" >"$BEGAN_FILE"

exec env -u BEGAN_FILE \
    ${driver:+LD_LIBRARY_PATH="$simgpu${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"} \
    ASAN_OPTIONS="detect_leaks=0${ASAN_OPTIONS:+:$ASAN_OPTIONS}" \
    TSAN_OPTIONS="ignore_noninstrumented_modules=1${TSAN_OPTIONS:+:$TSAN_OPTIONS}" \
    ${preload:+LD_PRELOAD="$preload"} "$@"
