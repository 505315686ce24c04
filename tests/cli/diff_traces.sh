#!/bin/sh
# Tests `wallshim diff` on recordings of real programs. With loader processes, the program has no input gaps any more.
wallshim=$(realpath "$1") source=$2
. "$source/tests/support/shell.sh"
traces=$given/traces
slow=$traces/resnet50-workers0.json.gz fast=$traces/resnet50-workers4.json.gz
[ -e "$slow" ] && [ -e "$fast" ] || { echo "skipped: no traces in $traces"; exit 77; }

expect 0 "$wallshim" diff "$slow" "$fast" --fail-on-regression 5
head -n 3 out >headline
says headline "input gaps −5"
expect 0 "$wallshim" diff "$slow" "$fast" --json
python3 "$source/tests/support/validate.py" "$source/docs/diff.schema.json" <out
[ $? -eq 1 ] && fail "not what the schema says"
python3 - <<'PYTHON' || fail "the figures"
import json
diff = json.load(open("out"))
assert diff["per"] == "step"
length, parts = diff["times"][0], diff["parts"]
assert length["name"] == "length" and not length["is_noise"]
assert parts[0]["name"] == "input" and not parts[0]["is_noise"]
assert abs(parts[0]["change_ns"]) > 0.9 * abs(length["change_ns"])
# The changes of the parts add up to the change of the step, except for rounding.
assert abs(sum(p["change_ns"] for p in parts) - length["change_ns"]) <= len(parts)
PYTHON

# `wallshim check` on each recording alone shows the same difference.
set -- --rule 'gaps.input < 5 ms' --rule 'gaps.input < 5 %' --rule 'wall.cause != input'
expect 1 "$wallshim" check "$slow" "$@"
[ "$(grep -c 'does not hold' out)" -eq 3 ] || fail "the loader is not seen"
expect 0 "$wallshim" check "$fast" "$@"

# In the other direction the change is a regression.
expect 1 "$wallshim" diff "$fast" "$slow" --fail-on-regression 5
one_line
expect 0 "$wallshim" diff "$fast" "$slow" --fail-on-regression 50

# Every kernel of two recordings is in the comparison, and their times add up.
for pair in "diff-control diff-test" "vllm-graphs h100-qwen"; do
    # shellcheck disable=SC2086
    set -- $pair
    expect 0 "$wallshim" diff "$traces/$1.json.gz" "$traces/$2.json.gz" --json --steps none
    python3 - "$given/reference/$1.json" "$given/reference/$2.json" <<'PYTHON' || fail "$1 against $2"
import json, sys
diff = json.load(open("out"))
for path, side in zip(sys.argv[1:], ("before", "after")):
    (reference,) = json.load(open(path)).values()
    rows = [k for k in diff["kernels"] if k[side]]
    assert sorted(k[side]["name"] for k in rows) == sorted(k["name"] for k in reference["kernels"]), side
    assert sum(k[side + "_ns"] for k in rows) == sum(k["sum_ns"] for k in reference["kernels"]), side
    assert diff["times"][0][side + "_ns"] == reference["span_ns"], side
    assert diff["times"][1][side + "_ns"] == reference["busy_union_ns"], side
PYTHON
done
# A ratio that is too large to print: one byte copied before, 771 MB after.
expect 0 "$wallshim" diff "$traces/h100-qwen.json.gz" "$traces/b200-eager.json.gz"
says out "× over 10000"
finish
