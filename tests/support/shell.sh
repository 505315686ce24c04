# Tests of the command line include this file. It makes an empty working folder, and defines functions that print one line
# for each failure.
failures=0
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 99
# The folder with traces of other profilers. They are not in the repository, but in shared/ beside it, or in the folder
# WALLSHIM_GIVEN.
given=${WALLSHIM_GIVEN-$source/../shared}
unset WALLSHIM_OUTPUT WALLSHIM_LIBRARY COLUMNS NO_COLOR LD_PRELOAD

fail() {
    echo "FAIL: $*"
    failures=$((failures + 1))
}

# expect STATUS COMMAND…: runs the command, which must exit with this status. Its output goes to the files out and err.
expect() {
    wanted=$1
    shift
    "$@" >out 2>err
    status=$?
    [ "$status" -eq "$wanted" ] || fail "$* gave $status, not $wanted: $(head -n 3 err)"
}

# says FILE TEXT: fails unless the file contains the text.
says() {
    grep -qF -- "$2" "$1" || fail "no \"$2\" in $1: $(head -n 3 "$1")"
}

# one_line: fails unless the file err is one line that begins with "wallshim: ".
one_line() {
    [ "$(wc -l <err)" -eq 1 ] || fail "not one line of error: $(cat err)"
    grep -q '^wallshim: ' err || fail "error without our name: $(cat err)"
}

finish() {
    [ "$failures" -eq 0 ] && echo "all as expected"
    exit $((failures > 0))
}
