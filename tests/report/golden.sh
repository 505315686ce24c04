#!/bin/sh
# The report on a small trace, word for word: expected text and JSON lie in tests/golden. To take over
# what has changed on purpose: golden.sh WALLSHIM MAKE_DEMO SOURCE --update
wallshim=$(realpath "$1") make_demo=$(realpath "$2") source=$3
. "$source/tests/report/shell.sh"
golden=$source/tests/golden

"$make_demo" demo.wst || fail "make_demo"
# The size of the file is the encoder's affair.
"$wallshim" report demo.wst | sed 's/^\(  trace  *demo.wst\), .*/\1/' >demo.txt
"$wallshim" report --json demo.wst >demo.json
for file in demo.txt demo.json; do
    [ "$4" = --update ] && cp "$file" "$golden/$file"
    diff -u "$golden/$file" "$file" || fail "$file is not what it was"
done
finish
