#!/bin/sh
# Tests `wallshim report`, `info`, `dump` and `export` as a person uses them: their output on each stream, and their
# exit status.
wallshim=$(realpath "$1") make_demo=$(realpath "$2") source=$3
. "$source/tests/support/shell.sh"

# Without arguments, report reads the newest trace of the folder. The folder has no trace at first, then one, then a
# newer one.
expect 2 "$wallshim" report
one_line
says err "record one with"
says err "or name another profiler's"
"$make_demo" old.wst || fail "make_demo"
touch -d '2001-01-01' old.wst
"$make_demo" demo.wst || fail "make_demo"
expect 0 "$wallshim" report
says err "reading demo.wst"
says out "NVIDIA H100 80GB HBM3"

# An error is one line.
expect 2 "$wallshim" report absent.wst
one_line
says err "absent.wst"
echo "no trace at all" >junk.wst
expect 2 "$wallshim" report junk.wst
one_line
expect 2 "$wallshim" report demo.wst junk.wst
one_line
says err "nor the PyTorch profiler's JSON"
mv junk.wst junk.nsys-rep
expect 2 "$wallshim" report junk.nsys-rep
one_line
says err "nsys export --type sqlite"
: >junk.json
expect 2 "$wallshim" report junk.json
one_line
says err "junk.json: empty"
rm junk.nsys-rep junk.json
expect 2 "$wallshim" report --nonsense demo.wst
one_line
expect 2 "$wallshim" report --top many demo.wst
one_line
expect 2 "$wallshim" report --section nothing demo.wst
one_line
says err "there are verdict, overview,"
expect 2 "$wallshim" report --json --section kernels demo.wst
one_line
expect 2 "$wallshim" frobnicate
one_line
expect 2 "$wallshim"

# In a folder with wallshim's own traces, report does not read files of other profilers, and says so.
mkdir both
cp demo.wst both
expect 0 "$wallshim" report --full both
[ -s err ] && fail "something said of a folder of ours: $(cat err)"
echo '{}' >both/other.json
expect 0 "$wallshim" report --full both
one_line
says err "not the 1 *.json"
rm -r both

# Kernels have short labels. With --wide they have their whole names.
expect 0 "$wallshim" report --section kernels demo.wst
says out "gelu (vectorized_elementwise)"
expect 0 "$wallshim" report --section kernels --wide demo.wst
grep -qE "at::native::vectorized_elementwise_kernel|_ZN2at6native29vectorized_elementwise_kernel" out || fail "no whole name in $(cat out)"

mkdir empty
expect 2 "$wallshim" report empty
one_line

# Tests --section, --top and widths.
expect 0 "$wallshim" report --section kernels demo.wst
says out "Kernels, copies and memsets"
grep -q Overview out && fail "other sections than the one asked for"
# A section can also be named by a word of its heading, unless several headings have the word.
for section in wall "the wall" waited communication missing; do
    expect 0 "$wallshim" report --section "$section" demo.wst
    sed -n 2p out | grep -qi "$section" || fail "--section $section: $(head -n 3 out)"
    [ "$(grep -c '^[A-Z]' out)" -eq 1 ] || fail "--section $section printed several"
done
for section in "" co nothing; do
    expect 2 "$wallshim" report --section "$section" demo.wst
done
# Several sections are printed in the report's order, not in the order of the switches. A wrong name is an error before
# any section is printed.
expect 0 "$wallshim" report --section gaps -s wall --section=verdict demo.wst
[ "$(grep '^[A-Z]' out | cut -c 1-8)" = "The wall
Gaps" ] || fail "sections gaps and wall: $(grep '^[A-Z]' out)"
expect 2 "$wallshim" report --section gaps --section nothing demo.wst
one_line
says err "section nothing: no such section"
[ -s out ] && fail "a section shown in spite of another that is none"
expect 0 "$wallshim" report --section gaps --top 3 demo.wst
[ "$(grep -c 'Memcpy HtoD' out)" -eq 3 ] || fail "--top 3 gave other than 3 rows"
for columns in 60 80 100 200; do
    COLUMNS=$columns expect 0 "$wallshim" report --full demo.wst
    python3 -c 'import sys; sys.exit(max(len(l) for l in open("out", encoding="utf-8").read().split("\n")) > int(sys.argv[1]))' \
        "$columns" || fail "lines wider than $columns"
    # Notes and facts have no line break between a number and its unit.
    grep -A 1 '[0-9]$' out | grep -E '^ +(%|ns|µs|ms|s|kB|MB|GB)([ ,;:.)]|$)' && fail "a unit on a line of its own"
done
for columns in 60 80 100 200; do # the first page, which is shown by default
    COLUMNS=$columns expect 0 "$wallshim" report demo.wst
    python3 -c 'import sys; sys.exit(max(len(l) for l in open("out", encoding="utf-8").read().split("\n")) > int(sys.argv[1]))' \
        "$columns" || fail "lines of the first page wider than $columns"
    [ "$columns" -lt 100 ] || [ "$(wc -l <out)" -le 40 ] || fail "the first page has $(wc -l <out) lines"
done
says out "3 events not recorded"
says out "Do first"
says out "Heaviest GPU operations"
expect 0 "$wallshim" report --top 2 demo.wst
[ "$(sed '1,/Heaviest GPU operations/d;/^  share: /,$d' out | wc -l)" -eq 3 ] || fail "--top 2 gave other than 2 kernels: $(cat out)"
COLUMNS=60 expect 0 "$wallshim" report --section copies demo.wst
says out "Memcpy HtoD (Pag"
grep -q '^ *no room for .*blocking' out || fail "what was left out is not named"
grep -q 'total.*blocking' out && fail "narrow, and no column left out for the names"
expect 0 "$wallshim" report --full --wide demo.wst
says out "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1_execute_segment_k_off_kernel__5x_cublas"

# There is colour on a terminal only, and none if it is switched off.
expect 0 "$wallshim" report --full demo.wst
grep -q "$(printf '\033')" out && fail "colour in a file"
if command -v script >/dev/null; then
    TERM=xterm script -qec "$wallshim report --full demo.wst" /dev/null >out 2>err </dev/null
    grep -q "$(printf '\033')" out || fail "no colour on a terminal"
    TERM=xterm NO_COLOR=1 script -qec "$wallshim report --full demo.wst" /dev/null >out 2>err </dev/null
    grep -q "$(printf '\033')\[1m" out && fail "colour in spite of NO_COLOR"
fi

# Several traces, or a folder of traces, are reported as several processes.
expect 0 "$wallshim" report --json old.wst demo.wst
python3 -c 'import json,sys; sys.exit(len(json.load(open("out"))["processes"]) != 2)' || fail "not two processes"
expect 0 "$wallshim" report --json .
python3 -c 'import json,sys; sys.exit(len(json.load(open("out"))["processes"]) != 2)' || fail "not two processes"

# A trace that was cut short is read up to the cut, and the report says so. It is an error if what is left gives no
# verdict.
head -c 5000 demo.wst >cut.wst
expect 2 "$wallshim" report --full cut.wst
one_line
says err "cut.wst: cut or damaged, and what is left of it gives no verdict"
says out "the recording was not"
expect 0 "$wallshim" info cut.wst
says out "no footer"

# If there are steps, the saving of an advice is per step, and the report says so. Otherwise it is for the whole
# recording.
advice() {
    python3 - "$1" <<'PYTHON' || fail "what advice wins, with --steps $1"
import json, sys
per_step = sys.argv[1] != "none"
for device in json.load(open("out"))["processes"][0]["devices"]:
    assert device["advice"] and device["wall"]["per_step"] == per_step
    for advice in device["advice"]:
        assert advice["saving_ns"] > 0
        assert advice.get("saving_ns_per_step") == (advice["saving_ns"] if per_step else None), advice
    assert sum(advice["saving_ns"] for advice in device["advice"]) == device["wall"]["saving_ns"]
PYTHON
}
for steps in auto none; do
    expect 0 "$wallshim" report --json --steps "$steps" demo.wst
    advice "$steps"
done

# Tests the commands info and dump.
expect 0 "$wallshim" info demo.wst
says out "600  op"
says out "none"
expect 2 "$wallshim" info demo.wst old.wst
one_line
expect 0 "$wallshim" dump demo.wst
[ "$(grep -c '^op ' out)" -eq 600 ] || fail "dump shows other than 600 operations"
expect 0 "$wallshim" dump --json --family function demo.wst
python3 -c 'import json,sys; sys.exit(len({json.loads(l)["name"] for l in open("out")}) != 5)' || fail "dump --json"
expect 0 "$wallshim" dump --json demo.wst
python3 - <<'PYTHON' || fail "dump --json: keys"
import json
for line in open("out"):
    keys = [key for key, value in json.loads(line, object_pairs_hook=list)]
    assert keys[0] == "family" and len(keys) == len(set(keys)), line
    row = json.loads(line)
    assert row["family"] != "driver_function" or row["call_family"] > 0, line
PYTHON
expect 2 "$wallshim" dump --family nothing demo.wst
one_line

# A section counts the rows that it leaves out of its tables. --top sets how many of the longest gaps are shown.
"$wallshim" report --full --wide --all --top 0 demo.wst >whole
"$wallshim" report --full --wide --all --top 1 demo.wst >cut
python3 - <<'PYTHON' || fail "rows left out and not counted"
import re
def sections(file):
    found, name = {}, None
    for line in open(file):
        name = line.strip() if line[0].isalpha() else name
        found.setdefault(name, []).append(line)
    return found
whole, cut, said = sections("whole"), sections("cut"), 0
assert whole.keys() == cut.keys()
for name, lines in cut.items():
    more = [re.match(r"  and ([\d,]+) more", line) for line in lines]
    counts = [int(match.group(1).replace(",", "")) for match in more if match]
    left_out = len(whole[name]) - (len(lines) - len(counts))
    assert name == "Gaps" or left_out == sum(counts), f"{name}: {left_out} lines fewer, but of {counts} it is said"
    said += len(counts)
assert said >= 4, said
PYTHON

# export never overwrites a file, writes complete JSON, and draws an arrow from every launch to its work.
expect 0 "$wallshim" export --format chrome demo.wst -o demo.json
expect 2 "$wallshim" export --format chrome demo.wst -o demo.json
one_line
expect 2 "$wallshim" export --format papyrus demo.wst -o other.json
one_line
expect 2 "$wallshim" export --format chrome demo.wst
one_line
expect 2 "$wallshim" export demo.wst -o demo.txt
one_line
says err "give --format"
expect 0 "$wallshim" export demo.wst -o guessed.json
cmp -s guessed.json demo.json || fail "FILE.json is not taken for chrome"
"$make_demo" rank3.wst 3 || fail "make_demo"
expect 0 "$wallshim" export rank3.wst -o ranks.json
says ranks.json '"rank 3: python3"'
says ranks.json '"rank 3: GPU 0 NVIDIA H100 80GB HBM3"'
grep -q 'rank' demo.json && fail "a rank where there is none"
rm rank3.wst ranks.json guessed.json
expect 2 "$wallshim" export --format chrome absent.wst -o absent.json
[ -e absent.json ] && fail "an empty export left behind"
expect 0 "$wallshim" export --format chrome demo.wst -o -
cmp -s out demo.json || fail "-o - writes something else"
"$wallshim" report --wide --top 0 --section kernels demo.wst >wide.txt
python3 - <<'PYTHON' || fail "the exported events"
import json
events = json.load(open("demo.json"))["traceEvents"]
device = [e for e in events if e["ph"] == "X" and e["cat"] in ("kernel", "copy")]
begins = {e["id"] for e in events if e["ph"] == "s"}
ends = {e["id"] for e in events if e["ph"] == "f"}
assert len(device) == 600 and len(begins) == 600 and begins == ends
assert {e["tid"] for e in device} == {1, 2}
# Kernels have the names of a wide report. Their mangled names are in the arguments.
report = open("wide.txt").read()
names = {e["name"]: e["args"].get("mangled") for e in device}
[gelu] = [name for name in names if "GeluCUDAKernelImpl" in name]
assert len(names) > 3 and all(name in report for name in names), names
assert {name: mangled for name, mangled in names.items() if mangled} == (
    {} if gelu.startswith("_Z") else {gelu: names[gelu]}), names
assert (names[gelu] or gelu).startswith("_ZN2at6native29vectorized_elementwise_kernel"), names
PYTHON

# Output that cannot be written is an error.
if [ -w /dev/full ]; then
    "$wallshim" report --full demo.wst >/dev/full 2>err
    [ $? -eq 2 ] || fail "a full disk is no error"
fi

# Every command prints help.
expect 0 "$wallshim" --version
says out "wallshim "
expect 0 "$wallshim" --help
for command in record report diff check info dump export import; do
    says out "$command"
done
for command in record report diff check info dump export import; do
    expect 0 "$wallshim" $command --help
    says out "usage: wallshim $command"
done
# For a job with many devices, sections on devices show only the device that the job waits for; --all shows each.
mkdir job
for rank in 0 1 2; do cp demo.wst job/rank$rank.wst; done
sections() { grep -c '^What the GPU did' out; }
expect 0 "$wallshim" report --full job
[ "$(sections)" -eq 1 ] || fail "not one section of devices but $(sections)"
says out "  shown   "
grep -q 'GPU 0 *[0-9.]* ms' out || fail "names of GPUs that are all alike on every line of the verdict"
expect 0 "$wallshim" report --full --all job
[ "$(sections)" -eq 3 ] || fail "not three sections of devices but $(sections)"

# Copies of one rank's trace are not a job. The report names the rank that occurs twice, and counts the missing ranks.
expect 0 "$wallshim" report --section ranks job
says out "Rank 0 was recorded more than once"
says out "1 of 8 ranks were recorded"
says out "No collective was found on more than one of them."
expect 0 "$wallshim" report --section ranks demo.wst
says out "Only rank 0 of 8 was recorded"

# A report that shows one device says that the recording of another process was cut.
head -c "$(($(wc -c <demo.wst) - 30))" demo.wst >cut.wst
expect 0 "$wallshim" report --section losses demo.wst cut.wst
says out "1 other process is incomplete"
says out "1 without an end or damaged; --all shows each"
expect 0 "$wallshim" report --all --section losses demo.wst cut.wst
! grep -q "other process" out || fail "--all speaks of other processes"

# A folder of several jobs is no job itself. The error names each job on a line of its own, but no more than eight.
mkdir jobs
for number in 0 1 2 3 4 5 6 7 8 9; do
    mkdir jobs/job$number
    echo '{}' >jobs/job$number/manifest.json
done
expect 2 "$wallshim" report jobs
[ "$(wc -l <err)" -eq 10 ] || fail "not ten lines: $(cat err)"
[ "$(grep -c '^wallshim:   jobs/job[0-7]$' err)" -eq 8 ] || fail "not eight jobs: $(cat err)"
says err "jobs: this folder holds jobs"
says err "and 2 more"

# Runs the program in docs/ci.md that reads the JSON report.
sed -n 's/^    //; /^import json/,/advice\["where"\]/p' "$source/docs/ci.md" >snippet.py
cp demo.wst train.wst
PATH=$(dirname "$wallshim"):$PATH
export PATH
expect 0 python3 snippet.py
says out "NVIDIA H100 80GB HBM3 overhead"
says out "load input ahead"

finish
