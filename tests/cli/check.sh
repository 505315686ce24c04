#!/bin/sh
# Tests `wallshim check` as a CI pipeline uses it: its output about rules, and its exit status.
wallshim=$(realpath "$1") make_demo=$(realpath "$2") source=$3
. "$source/tests/support/shell.sh"
"$make_demo" demo.wst || fail "make_demo"
"$make_demo" rank3.wst 3 || fail "make_demo"

# Four rules that hold; then three rules, one of which does not hold.
expect 0 "$wallshim" check demo.wst --rule 'busy >= 78 %' --rule 'busy<=0.79' -r 'busy_ns < 90 ms' -r 'wall == overhead'
[ "$(grep -c '^ *holds ' out)" -eq 4 ] || fail "not a line for each rule"
says out "78.8 %"
expect 1 "$wallshim" check demo.wst --rule 'busy >= 78 %' --rule 'kernels["gemm"].share > 0.5' --rule 'losses == 0'
says out "does not hold  kernels"
says out "39.9 %"

# With several devices, check names the device that breaks the rule.
expect 1 "$wallshim" check demo.wst rank3.wst --rule 'busy > 90 %'
says out "rank 3"
[ "$(grep -c 'does not hold' out)" -eq 2 ] || fail "not a line for each that breaks it"

# A rule about a figure that the trace lacks must not pass. A rule about an unknown figure must not pass either.
expect 2 "$wallshim" check demo.wst --rule 'busy > 1 %' --rule 'kernels["absent"].share < 1'
one_line
says out "not known"
expect 1 "$wallshim" check demo.wst --rule 'busy > 99 %' --rule 'kernels["absent"].share < 1'
expect 2 "$wallshim" check demo.wst --rule 'bussy > 1 %'
one_line
says err "nearest: busy"
expect 2 "$wallshim" check demo.wst --rule 'busy >= 80'
one_line
says err "80 %"
expect 2 "$wallshim" check demo.wst --rule 'busy > 1 % and idle < 3'
one_line
expect 2 "$wallshim" check demo.wst
one_line
expect 2 "$wallshim" check absent.wst --rule 'busy > 1 %'
one_line

expect 0 "$wallshim" check --list
says out "gaps.input"
COLUMNS=60 expect 0 "$wallshim" check --list
grep -q "…" out && fail "what figures are is shortened"
python3 -c 'import sys; sys.exit(max(map(len, open("out", encoding="utf-8").read().split("\n"))) > 60)' || fail "a list wider than 60"
for columns in 60 100; do
    COLUMNS=$columns expect 1 "$wallshim" check demo.wst rank3.wst --rule 'kernels[*].mean_ns < 1 us'
    python3 -c 'import sys; sys.exit(max(len(l) for l in open("out", encoding="utf-8").read().split("\n")) > int(sys.argv[1]))' \
        "$columns" || fail "lines wider than $columns"
done

# JSON output.
expect 2 "$wallshim" check --json demo.wst --rule 'busy > 1 %' --rule 'steps[60].length_ns < 1 s' --rule 'wall == overhead'
python3 -c 'import json; rules = json.load(open("out"))["rules"]
assert [r["outcome"] for r in rules] == ["holds", "not_known", "holds"]
assert abs(rules[0]["findings"][0]["value"] - 0.788) < 0.001' || fail "the outcomes in JSON"
for rule in 'busy > 1 %' 'copies[*].bytes > 1 kB' 'wall == compute' 'steps > 2' 'losses == 0'; do
    "$wallshim" check --json demo.wst rank3.wst --rule "$rule" >out 2>err
    python3 "$source/tests/support/validate.py" "$source/docs/check.schema.json" <out
    status=$?
    [ "$status" -eq 77 ] && exit 77
    [ "$status" -eq 0 ] || fail "$rule: not what the schema says"
done
finish
