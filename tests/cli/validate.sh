#!/bin/sh
# Checks the output of `report --json` against docs/report.schema.json.
wallshim=$(realpath "$1") make_demo=$(realpath "$2") source=$3
. "$source/tests/support/shell.sh"
"$make_demo" demo.wst || fail "make_demo"
"$make_demo" ranges.wst --ranges || fail "make_demo --ranges"
head -c 3000 demo.wst >cut.wst
for traces in demo.wst cut.wst "demo.wst cut.wst" "--steps none demo.wst" ranges.wst "--steps none ranges.wst"; do
    # shellcheck disable=SC2086
    "$wallshim" report --json $traces >report.json || [ "$traces" = cut.wst ] || fail "report --json $traces"
    python3 "$source/tests/support/validate.py" "$source/docs/report.schema.json" <report.json
    status=$?
    [ "$status" -eq 77 ] && exit 77
    [ "$status" -eq 0 ] || fail "$traces"
done
finish
