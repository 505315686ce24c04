#!/bin/sh
# Tests folders with files that are not traces. No command may stop: it names each such file in one line, and reads the
# traces.
wallshim=$(realpath "$1") make_demo=$(realpath "$2") source=$3
. "$source/tests/support/shell.sh"

# processes COUNT: checks that the JSON report in the file `out` has so many processes.
processes() {
    python3 -c 'import json,sys; sys.exit(len(json.load(open("out"))["processes"]) != int(sys.argv[1]))' "$1" ||
        fail "not $1 processes"
}

"$make_demo" demo.wst || fail "make_demo"
mkdir foreign
expect 0 "$wallshim" export demo.wst -o exported.json
for rank in 0 1; do
    sed "1s/{/{\"distributedInfo\":{\"rank\":$rank,\"world_size\":2},/" exported.json >foreign/rank$rank.json
done
for text in '{"name":"a package","version":1}' '{}' '[]' '[1,2]' '["a"]' '{"traceEvents":3}' 'no JSON' '{"a":' ''; do
    printf '%s' "$text" >foreign/package.json
    expect 0 "$wallshim" report --json foreign
    one_line
    says err "left out: foreign/package.json: "
    processes 2
done

# If such a trace lacks a fact about a device, its JSON value is null, so that programs need not test for the key.
python3 -c 'import json
for process in json.load(open("out"))["processes"]:
    for device in process["devices"]:
        assert device["name"] is None and device["uuid"] is None, device["name"]' || fail "a name from nowhere"

# Every command that takes folders does the same.
expect 0 "$wallshim" report --full foreign
one_line
expect 0 "$wallshim" diff foreign foreign
[ "$(grep -c '^wallshim: left out: ' err)" -eq 2 ] || fail "diff: $(cat err)"
expect 0 "$wallshim" check --rule 'busy >= 0 %' foreign
one_line
expect 0 "$wallshim" export foreign -o both.json
one_line
expect 0 "$wallshim" import foreign -o imported
one_line
says err "left out: foreign/package.json: "
[ "$(ls imported)" = "rank0.wst
rank1.wst" ] || fail "imported: $(ls imported)"

# Broken traces of wallshim's own do not stop the report either.
: >imported/rank2.wst
echo "no trace" >imported/rank3.wst
expect 0 "$wallshim" report --json imported
[ "$(grep -c '^wallshim: left out: imported/rank[23].wst: ' err)" -eq 2 ] || fail "two left out: $(cat err)"
processes 2

# If no file is left to read, that is an error.
rm foreign/rank*.json
echo '{}' >foreign/other.json
for command in report "check --rule busy>=0" "export -o none.json" "import -o none"; do
    # shellcheck disable=SC2086 # the words of a command
    expect 2 "$wallshim" $command foreign
    says err "left out: foreign/other.json: "
    says err "left out: foreign/package.json: "
    tail -n 1 err | grep -q '^wallshim: none of the 2 traces can be read$' || fail "$command: $(cat err)"
done
[ -e none ] && fail "an empty folder left behind"
rm foreign/other.json
expect 2 "$wallshim" report foreign
one_line

# A file that the user names is not left out. If it cannot be read, that is an error.
expect 2 "$wallshim" report demo.wst foreign/package.json
one_line
grep -q 'left out' err && fail "a trace that was asked for is left out"
finish
