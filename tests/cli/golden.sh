#!/bin/sh
# Compares the report on a small trace, word for word, with the expected text and JSON in tests/golden. To store an
# intended change: golden.sh WALLSHIM MAKE_DEMO SOURCE --update
wallshim=$(realpath "$1") make_demo=$(realpath "$2") source=$3
. "$source/tests/support/shell.sh"
golden=$source/tests/golden

"$make_demo" demo.wst || fail "make_demo"
# Removes the size of the file, which depends on the encoder.
"$wallshim" report --full demo.wst | sed 's/^\(  trace  *demo.wst\), .*/\1/' >demo.txt
"$wallshim" report demo.wst >summary.txt
"$wallshim" report --json demo.wst >demo.json
# The section on ranges, which only traces of programs that set ranges have.
"$make_demo" ranges.wst --ranges || fail "make_demo --ranges"
"$wallshim" report --section ranges ranges.wst >ranges.txt
"$wallshim" report --section ranges --top 1 ranges.wst >>ranges.txt
"$wallshim" report --json ranges.wst | python3 -c 'import json, sys
device = json.load(sys.stdin)["processes"][0]["devices"][0]
json.dump({key: device[key] for key in ("ranges", "outside_ranges")}, sys.stdout, indent=2)
print()' >ranges.json
for file in summary.txt demo.txt demo.json ranges.txt ranges.json; do
    [ "$4" = --update ] && cp "$file" "$golden/$file"
    diff -u "$golden/$file" "$file" || fail "$file is not what it was"
done
finish
