# Shared functions of the scripts in this folder. To be sourced, not run.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)

say() { printf '== %s\n' "$*"; }

fail() {
    printf '%s: %s\n' "${0##*/}" "$*" >&2
    exit 1
}

# python3 may be a wrapper that searches for the interpreter at each start (pyenv's takes longer than most tests'
# scripts). Search for it once.
if command -v python3 >/dev/null; then
    python3_found=$(python3 -c 'import sys; print(sys.executable)')
    [ "$python3_found" = "$(command -v python3)" ] || export PATH="${python3_found%/*}:$PATH"
fi

# Debian packages by purpose.
packages_build=(gcc libc6-dev meson ninja-build pkg-config libzstd-dev libxxhash-dev libjansson-dev libyajl-dev libsqlite3-dev zlib1g-dev libiberty-dev libdw-dev libarchive-dev libprotobuf-c-dev protobuf-c-compiler libuv1-dev libmicrohttpd-dev libssl-dev libzydis-dev libcmocka-dev python3)
packages_test=(git binutils gdb clang-format clang-tidy musl-tools procps python3-greenlet python3-jsonschema python3-numpy ffmpeg)
packages_clients=(hashcat python3-numba blender clang libomp-14-dev)
packages_prometheus=(prometheus)
packages_bench=(valgrind)
packages_cross=(binutils gcc-aarch64-linux-gnu libc6-dev-arm64-cross)
packages_fuzz=(clang libclang-rt-14-dev)

installed() { [ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]; }

# Installs the given packages that are missing. Prints nothing if none is missing.
need_packages()
{
    local name missing=() as_root=()
    command -v dpkg-query >/dev/null ||
        fail "not a Debian system: install packages like these yourself, then build with meson: $*"
    for name; do
        installed "$name" || missing+=("$name")
    done
    [ ${#missing[@]} -gt 0 ] || return 0
    if [ "$(id -u)" != 0 ]; then
        command -v sudo >/dev/null || fail "not root, and no sudo: run as root: apt-get install ${missing[*]}"
        as_root=(sudo)
    fi
    say "installing ${missing[*]}"
    local log quiet=(-qq -o Dpkg::Use-Pty=0)
    log=$(mktemp)
    if ! { "${as_root[@]}" apt-get "${quiet[@]}" update &&
        "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get "${quiet[@]}" install -y \
            --no-install-recommends "${missing[@]}"; } </dev/null >"$log" 2>&1; then
        cat "$log" >&2
        rm -f "$log"
        fail "could not install: ${missing[*]}"
    fi
    rm -f "$log"
}

# build_tree DIR [MESON OPTION…]: configures DIR if it is new or options are given, and builds it. Prints only errors.
build_tree()
{
    local directory=$1 log
    shift
    log=$(mktemp)
    if [ ! -f "$directory/build.ninja" ]; then
        set -- setup "$directory" "$root" "$@"
    elif [ $# -gt 0 ]; then
        set -- configure "$directory" "$@"
    fi
    if { [ $# -eq 0 ] || meson "$@"; } </dev/null >"$log" 2>&1 && ninja -C "$directory" </dev/null >>"$log" 2>&1; then
        rm -f "$log"
        return 0
    fi
    grep -v '^\[[0-9]*/[0-9]*\] [^F]*$' "$log" | tail -n 100 >&2
    rm -f "$log"
    fail "the build in $directory failed"
}

# Looks for a driver that initialises and has a device. If there is one, sets gpu_name; otherwise sets gpu_missing to
# the reason.
find_gpu()
{
    local answer
    answer=$(python3 - 2>/dev/null <<'PROBE'
import ctypes, sys
try:
    driver = ctypes.CDLL("libcuda.so.1")
except OSError:
    print("missing no driver")
    sys.exit()
status = driver.cuInit(0)
count = ctypes.c_int()
if status or driver.cuDeviceGetCount(ctypes.byref(count)) or not count.value:
    print(f"missing the driver answers {status or 'that there is no device'}")
else:
    device, name = ctypes.c_int(), ctypes.create_string_buffer(256)
    driver.cuDeviceGet(ctypes.byref(device), 0)
    driver.cuDeviceGetName(name, 256, device)
    print("found", name.value.decode())
PROBE
    ) || answer="missing the driver cannot be used"
    gpu_name=${answer#found }
    gpu_missing=${answer#missing }
    [ "${answer%% *}" = found ]
}

# use_simulated_gpu BUILD: programs started after this call use the simulated GPU of BUILD as their driver.
use_simulated_gpu()
{
    [ -e "$1/tests/simgpu/libcuda.so.1" ] || fail "the simulated GPU is not built in $1"
    export LD_LIBRARY_PATH="$1/tests/simgpu${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
}
