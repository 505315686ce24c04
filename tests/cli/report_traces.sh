#!/bin/sh
# Tests `wallshim report` on recordings of real programs: it must not mention trifles, and must give no verdict on too
# little evidence.
wallshim=$(realpath "$1") source=$2
. "$source/tests/support/shell.sh"
traces=$given/traces
[ -e "$traces/h100-qwen.json.gz" ] || { echo "skipped: no traces in $traces"; exit 77; }

# A saving of 7.7 of 49300 µs is not listed under "do first". Matrix products are judged if the sizes of most are known.
expect 0 "$wallshim" report --section verdict "$traces/h100-qwen.json.gz"
says out "do first"
says out "% of 989.4 TFLOP/s"
grep -q 'wait for the GPU less often' out && fail "advice that wins next to nothing"
expect 0 "$wallshim" report --section verdict "$traces/b200-eager.json.gz"
says out "wallshim cannot compute the FLOPs of most operators"

# No time in the table of devices is negative: time that was not recorded is subtracted from idle time only once.
expect 0 "$wallshim" report "$traces/sampled-2ranks"
grep -q "−" out && fail "a negative time"
says out "2 of 128 recorded"

# Two of eight ranks are late. The page shows all eight, and says why one is late in one place.
expect 0 "$wallshim" report "$traces/megatron-tp8"
says out "203 ms of it waiting for other ranks, 49.8 ms transferring"
says out "also late: rank 6"
says out "rank 7, GPU 7"
says out "rank 6, GPU 6, late"
[ "$(grep -c "rank 0 is idle" out)" -eq 1 ] || fail "why rank 0 is late is not said once"

# The report says "nearly all" instead of "10.7 ms of the 10.7 ms". Communication that compute hides is no part of the
# wall, but it is in the table.
expect 0 "$wallshim" report "$traces/vllm-decode.json.gz"
says out "bandwidth: nearly all of the 10.7 ms of the recording (99.8 %)"
expect 0 "$wallshim" report "$traces/cutlass-benchmark.sqlite"
says out "nearly all of it"
expect 0 "$wallshim" report "$traces/deepseek-v3-train.json.gz"
says out "compute hides 96.3 % of the network's time"

# If no advice on the first page shortens the wall (what takes most of the time), the page says so.
expect 0 "$wallshim" report "$traces/diff-control.json.gz"
says out "Against the wall itself only"
expect 0 "$wallshim" report "$traces/linear.json.gz"
grep -q "gainst the wall itself" out && fail "advice against the wall is not seen"

# The wall's kernels are listed by class, with times per step, as the wall has.
expect 0 "$wallshim" report "$traces/diff-test.json.gz"
says out "made of                 embedding 21.6 ms, copies within the device 13.7 ms"

# If compiled code launches kernel by kernel, replaying it as a graph can save all of its idle time.
expect 0 "$wallshim" report "$traces/xdit-sd35.json.gz"
says out "1  up to 350 ms a step (29.3 %): replay compiled code as CUDA graphs"

# If the wall is not the largest share, the verdict says why it is named first. Delays that are not the wall are named
# beside the wall.
expect 0 "$wallshim" report --section verdict "$traces/xdit-sd35.json.gz"
says out "named first"
expect 0 "$wallshim" report --section verdict "$traces/diff-control.json.gz"
says out "the wall                bandwidth: "
says out "beside it               communication: 14.4 ms (18.8 %)"
grep -q "named first" out && fail "a reason where none is needed"
expect 0 "$wallshim" report --section verdict "$traces/diff-test.json.gz"
says out "the wall                bandwidth: "
says out "copy less within the device"
# The first section and the roofline agree on the time with a known class, and on the time whose class only names
# suggest.
expect 0 "$wallshim" report --section verdict --section roofline "$traces/vllm-decode.json.gz"
says out "in matrix work that memory limits"
says out "memory-bound     9.43 ms   88.3 %"
expect 0 "$wallshim" report --section verdict --section roofline "$traces/vllm-graphs.json.gz"
says out "probably compute, by the names of kernels only"
says out "unknown           148 ms   94.8 %"

# The peaks of a GPU that the table lacks are not known, so there is no roofline table. The kernels' names still tell
# which cores computed.
zcat "$traces/linear.json.gz" | sed 's/NVIDIA GeForce RTX 2080 Ti/Test GPU/' >nameless.json
expect 0 "$wallshim" report --section roofline nameless.json
says out "give them with --gpu FILE.json"
says out "ordinary cores 100.0 %, by the names"
grep -q 'TFLOP/s' out && fail "a table without figures"
expect 0 "$wallshim" report --section roofline --gpu v100 nameless.json
rm nameless.json
says out "volta_sgemm_64x64_tn"

# One copy of 2 µs is not worth a warning.
expect 0 "$wallshim" report --section copies "$traces/megatron-tp8"
says out "Memcpy DtoH (Device -> Pageable)"
grep -q '!' out && fail "a warning of one short copy"
expect 0 "$wallshim" report --section copies "$traces/cutlass-benchmark.sqlite"
says out "! 4 copies use pageable host memory, for 361 ms"

# The report names columns that do not fit, because its other parts refer to them.
expect 0 "$wallshim" report --section chains "$traces/resnet50-workers0.json.gz"
says out "no room for evidence (--wide shows all)"
expect 0 "$wallshim" report --wide --section chains "$traces/resnet50-workers0.json.gz"
says out "evidence"
grep -q 'no room' out && fail "no room where there is"

# A gap behind a copy counts as waiting if the copy's call waited for the device. Then the copy is among the waits, too.
expect 0 "$wallshim" report --section sync --section gaps "$traces/b200-eager.json.gz"
says out "sync       122 µs"
says out "cudaMemcpyAsync"

# The time of the memory's peak is relative to the same origin as the times of gaps, not to the first allocation.
expect 0 "$wallshim" report --section memory "$traces/h100-qwen.json.gz"
says out "2.09 GB  46.4 ms"

# FLOPs are printed with units (GFLOPs), as bytes are.
expect 0 "$wallshim" report --top 0 --section roofline "$traces/resnet50-workers0.json.gz"
says out "at least 18.7 %: 520 GFLOPs in a step of 178 ms"
grep -E '[0-9]e[+-][0-9]' out && fail "powers of ten"

# The times of slow steps are relative to the same origin as the times of gaps. The report gives the reason why steps
# are unstable.
expect 0 "$wallshim" report --section steps "$traces/linear.json.gz"
says out "9  236 ms  59.3 ms"
says out "(stable: up to 25 %)"

# Chains whose fusion would save nothing are not counted among the rows that --top 0 would show. They are not counted
# among the kinds in the roofline either.
expect 0 "$wallshim" report --top 3 --section chains --section roofline "$traces/linear.json.gz"
says out "with 6 kinds"
says out "and 3 more; all together"
says out "and 1 more with nothing to win in a steady step"

# The report tells data that was not recorded from data that was zero. Allocator events have no length, so no time is
# given.
expect 0 "$wallshim" report --section memory "$traces/sampled-2ranks"
says out "None in the trace: PyTorch's profiler records its allocator with profile_memory=True."
expect 0 "$wallshim" report --section memory "$traces/resnet50-workers0.json.gz"
grep -q '0 ns' out && fail "time in calls of an allocator whose calls have none"

# Calls made by only one step in forty are not reported as 0.0 a step. Threads without names have numbers.
expect 0 "$wallshim" report --section memory "$traces/linear.json.gz"
grep -q '0\.0 times' out && fail "nothing, in every step"
expect 0 "$wallshim" report --section sync "$traces/vllm-graphs.json.gz"
grep -qE ' 851 +hipEventSynchronize' out || fail "the thread: $(cat out)"

# Ranges that a program set have a section, even if an old profiler recorded them as operators. If the program set none,
# the report mentions ranges only if that section is asked for.
expect 0 "$wallshim" report --full "$traces/resnet50-workers0.json.gz"
says out "Ranges of the program"
grep -q ' 1  70.6 ms  enumerate(DataLoader)#' out || fail "the loader: $(grep -A 9 'Ranges of' out)"
says out "PyTorch runs the backward pass on a thread"
expect 0 "$wallshim" report --full "$traces/h100-qwen.json.gz"
grep -q "Ranges of" out && fail "ranges where there are none"
expect 0 "$wallshim" report --section ranges "$traces/h100-qwen.json.gz"
says out "The trace holds no ranges that the program set"

# Equal layers of a model are shown as one block with its parts. The table has no more rows than --top allows, and no
# row without the rows above it in the tree.
expect 0 "$wallshim" report --section modules "$traces/h100-qwen.json.gz"
grep -qE ' 99\.3 % .* 24 .*  Qwen2DecoderLayer ×24$' out || fail "the layers: $(cat out)"
grep -qE '       Linear ×4$' out || fail "the parts of attention: $(cat out)"
expect 0 "$wallshim" report --section modules "$traces/xdit-sd35.json.gz"
[ "$(wc -l <out)" -le 29 ] || fail "$(wc -l <out) lines of modules"
grep -qE ' CLIPEncoderLayer \(44 in all\)$' out || fail "12 and 32 layers: $(cat out)"
says out "and 37 more modules"
expect 0 "$wallshim" report --section modules --top 4 "$traces/b200-eager.json.gz"
[ "$(sed -n 's/.*[0-9–] [nµm]*s  \( *[A-Z][A-Za-z]*\).*/\1/p' out | tr '\n' ,)" = "GptOssForCausalLM,  TransformerBlock,    MLPBlock,      FusedMoE," ] ||
    fail "the four rows with most time: $(cat out)"
expect 0 "$wallshim" report --section modules "$traces/linear.json.gz"
says out "The trace holds no modules."

# The first page of any trace is a page: at most 40 lines of 100 columns.
for trace in "$traces"/*.gz "$traces"/*.sqlite "$traces"/megatron-tp8 "$traces"/sampled-2ranks; do
    COLUMNS=100 expect 0 "$wallshim" report "$trace"
    [ "$(wc -l <out)" -le 40 ] || fail "$trace: $(wc -l <out) lines"
    python3 -c 'import sys; sys.exit(max(len(line) for line in open("out", encoding="utf-8").read().split("\n")) > 100)' ||
        fail "$trace: lines wider than 100"
    says out "Do first"
done

# No line ends in spaces, at any width.
for width in 60 100; do
    export COLUMNS="$width"
    expect 0 "$wallshim" report --full "$traces/vllm-graphs.json.gz"
    grep -n ' $' out && fail "spaces at the end of a line"
    expect 0 "$wallshim" report --section modules "$traces/xdit-sd35.json.gz"
    python3 -c "exit(max(len(line.rstrip()) for line in open('out')) > $width)" || fail "modules: wider than $width"
    expect 0 "$wallshim" report --section gaps "$traces/queue-1rank.json.gz"
    python3 -c "import sys; exit(max(len(line.rstrip()) for line in open('out')) > $width)" || fail "wider than $width"
    for section in roofline chains ranges; do
        expect 0 "$wallshim" report --section "$section" "$traces/diff-control.json.gz"
        python3 -c "exit(max(len(line.rstrip()) for line in open('out')) > $width)" || fail "$section: wider than $width"
    done
done
unset COLUMNS

# In a folder of unrelated recordings, report reads the newest and names the others. It reads the ranks of one job
# together, even if one ran longer than the others. It also reads together all files that are named one by one.
mkdir mixed
for name in resnet50-workers0 resnet50-workers4 b200-eager; do ln -s "$traces/$name.json.gz" mixed/; done
ln -s "$traces/sampled-2ranks/rank0.json.gz" "$traces/sampled-2ranks/rank1.json.gz" mixed/
expect 0 "$wallshim" report --json mixed
says err "recordings of 4 jobs; reading the newest, of "
says err ": mixed/b200-eager.json.gz"
says err "to read it: wallshim report mixed/rank0.json.gz mixed/rank1.json.gz"
python3 -c 'import json; processes = json.load(open("out"))["processes"]
assert [p["trace"] for p in processes] == ["mixed/b200-eager.json.gz"], processes' || fail "not the newest job alone"
rm mixed/b200-eager.json.gz
expect 0 "$wallshim" check mixed --rule 'busy < 60 %'
says err "recordings of 3 jobs"
says out "47.1 %" # busy share of the newest job, which has two ranks
expect 0 "$wallshim" report --json mixed/*
[ -s err ] && fail "a word on files that were named"
python3 -c 'import json; assert len(json.load(open("out"))["processes"]) == 4' || fail "not all that were named"
rm -r mixed
expect 0 "$wallshim" report --full "$traces/megatron-tp8"
[ -s err ] && fail "ranks of one job are told apart: $(cat err)"

# If a file was cut before its first kernel, the report says so, and the exit status too.
head -c 500000 "$traces/xdit-sd35.json.gz" >cut.json.gz
expect 2 "$wallshim" report --section verdict cut.json.gz
says out "No verdict: the file was cut"

# The report uses AMD's terms for AMD's chips. A rate that only the Infinity Cache makes possible is not called
# inconsistent.
expect 0 "$wallshim" report --full "$traces/xdit-sd35.json.gz"
says out "AMD Instinct MI300X, 304 CUs, 192 GiB, gfx94x"
grep -q "compute capability" out && fail "compute capability of an AMD GPU"
grep -q "inconsistent" out && fail "a kernel beyond the roofs of its GPU"

# An imported trace still knows its program.
expect 0 "$wallshim" import "$traces/resnet50-workers0.json.gz" -o imported.wst
expect 0 "$wallshim" info imported.wst
says out "program                   python"
[ "$(grep -c '^  pid ' out)" -eq 1 ] || fail "the process, not once"

# A comparison of two different GPUs is in doubt, and the report says so first.
expect 0 "$wallshim" diff "$traces/diff-control.json.gz" "$traces/diff-test.json.gz"
says out "in doubt        before ran on NVIDIA A100-PG509-200, after on Tesla V100-SXM2-16GB"
finish
