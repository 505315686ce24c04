"""The reasons for which verdicts on real traces were wrong, as small traces: reasons.py WALLSHIM
Reasons 1 to 3: late host or queued work; walls (what takes most of a step) by roofline; steps as the program has them.
reasons_job.py has the others. Each test holds a case in which a simple rule gives a wrong answer, and a control in which
the rule is right. Case and control differ in one thing."""
import json

from foreign import run, run_tests, write
from timeline import ADAM, ADD, GEMM, Timeline


def device_of(timeline, *switches):
    result = run("report", "--json", *switches, write(timeline.trace()))
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)["processes"][0]["devices"][0]


def said(timeline, *switches):
    """The default report, or the sections asked for, as one line of words."""
    result = run("report", *switches, write(timeline.trace()))
    assert result.returncode == 0, result.stderr
    return " ".join(result.stdout.split())


def wall_of(device):
    return device["wall"]["name"], device["wall"]["cause"]


def idle(device):
    """Idle time of the whole recording by cause, in µs."""
    return {row["cause"]: row["total_ns"] / 1000 for row in device["gap_causes"] if row["total_ns"]}


# ---- 1. late host or queued work

def gaps_of_5_ms(launch, took, name=GEMM):
    """Eleven kernels of 5 ms, with gaps of 5 ms between them. Each kernel after a gap is launched at `launch`, counted
    from the begin of that gap."""
    made = Timeline()
    made.kernel(0, 5000, -20)
    for gap in range(5000, 100000, 10000):
        made.kernel(gap + 5000, 5000, gap + launch, took, name.format(gap))
    return made


def test_1_time_after_the_call_returned_is_not_the_hosts():
    """The same device times: the call came 2 ms before the gap, or at the gap's end."""
    queued, late = gaps_of_5_ms(-2000, 5), gaps_of_5_ms(4990, 5)
    assert idle(device_of(queued)) == {"unrecorded": 50000}, idle(device_of(queued))
    device = device_of(late)
    assert "unrecorded" not in idle(device) and sum(idle(device).values()) == 50000, idle(device)
    assert wall_of(device)[0] == "overhead", device["wall"]


def test_1_a_gap_is_split_at_the_calls_return():
    """The call comes in the middle of the gap. Only the first half is the host's."""
    half, late = idle(device_of(gaps_of_5_ms(2495, 5))), idle(device_of(gaps_of_5_ms(4990, 5)))
    assert half["unrecorded"] == 25000 and sum(half.values()) == 50000, half
    assert "unrecorded" not in late, late


def test_1_a_dependency_is_not_the_hosts():
    """A kernel begins 10 µs after a collective on another stream has ended. The kernel was launched long before, or in
    these 10 µs."""
    def after(launch):
        made = Timeline()
        for at in range(0, 100000, 10000):
            made.kernel(at, 4990, at - 30)
            made.kernel(at + 4995, 4990, at - 20, name="ncclDevKernel_AllReduce_Sum_bf16_RING_LL(args)", stream=20)
            made.kernel(at + 9995, 4, at + launch)
        return idle(device_of(made))
    early, late = after(-10), after(9985)
    # The gap of 5 µs before the collective is communication in both.
    assert (early["communication"], early.get("launch", 0)) == (150, 0), early
    assert (late["communication"], late["launch"]) == (50, 100), late


def test_1_time_inside_the_call_is_the_hosts():
    """The call begins 2 ms before the gap. It returns at once, or when the kernel begins."""
    inside, returned = device_of(gaps_of_5_ms(-2000, 6995)), device_of(gaps_of_5_ms(-2000, 5))
    assert idle(inside) == {"launch": 50000}, idle(inside)
    assert wall_of(inside) == ("overhead", "launch"), inside["wall"]
    line = inside["gap_causes"][0]["lines"][0]
    assert line["function"] == "cudaLaunchKernel", line
    assert "mostly in calls of cudaLaunchKernel, 7.00 ms each" in said(gaps_of_5_ms(-2000, 6995))
    assert "in calls of cudaLaunchKernel" not in said(gaps_of_5_ms(-2000, 5))
    assert "launch" not in idle(returned), idle(returned)


def test_1_a_first_launch_loads_a_module():
    """Calls of 7 ms. Each kernel is launched for the first time, or is one that has run before."""
    first, again = gaps_of_5_ms(-2000, 6995, "kernel_{}"), gaps_of_5_ms(-2000, 6995)
    device = device_of(first)
    assert idle(device) == {"allocation": 50000}, idle(device)
    assert device["wall"]["first_calls_ns"] == 49950000 and wall_of(device)[0] != "overhead", device["wall"]
    assert wall_of(device_of(again)) == ("overhead", "launch")


def test_1_an_allocation_that_blocks_is_named():
    """The host calls cudaMalloc in each gap. It takes 4.9 ms, or 5 µs."""
    def allocating(took):
        made = gaps_of_5_ms(4990, 5)
        for gap in range(5000, 100000, 10000):
            made.call("cudaMalloc", gap + 10, took)
        return made
    device = device_of(allocating(4900))
    assert wall_of(device) == ("overhead", "allocation"), device["wall"]
    assert device["gap_causes"][0]["lines"][0]["function"] == "cudaMalloc", device["gap_causes"][0]
    assert "mostly in calls of cudaMalloc, 4.90 ms each" in said(allocating(4900))
    assert "allocation" not in idle(device_of(allocating(5)))


def test_1_a_call_is_named_only_if_it_takes_most_of_the_gap():
    """One call of cudaMalloc of 1.3 ms in a gap of 5 ms, or of 4.9 ms. Both are long enough to be the cause."""
    for took, named in ((1300, False), (4900, True)):
        made = gaps_of_5_ms(4990, 5)
        for gap in range(5000, 100000, 10000):
            made.call("cudaMalloc", gap + 10, took)
        assert wall_of(device_of(made)) == ("overhead", "allocation")
        assert ("mostly in calls of cudaMalloc" in said(made)) == named, said(made)


# ---- 2. walls by roofline, not by name

H100_MM = (4096, 14336)  # weights of a matrix product


def products(left, right, length, **others):
    """Twenty products, one after another."""
    made = Timeline()
    for i in range(20):
        made.product(i * length, length, i * length - 50, left, right, **others)
    return made


def test_2_few_rows_are_bandwidth():
    few, many = device_of(products((32, 4096), H100_MM, 60)), device_of(products((4096, 4096), H100_MM, 700))
    assert wall_of(few) == ("bandwidth", "matmul") and not few["wall"]["by_names"], few["wall"]
    assert wall_of(many) == ("compute", "matmul") and not many["wall"]["by_names"], many["wall"]


def attention(head):
    """Four layers of attention: a product, a softmax and a product. Products take 7 of 10 ms."""
    made, heads, tokens = Timeline(), 96, 3137
    scores = (heads, tokens, tokens)
    for at in range(0, 40000, 10000):
        made.product(at, 3500, at - 50, (heads, tokens, head), (heads, head, tokens), "aten::bmm")
        made.product(at + 3500, 3000, at - 30, scores, scores, "aten::_softmax", "void cunn_SoftMaxForward<8, float>()")
        made.product(at + 6500, 3500, at - 10, scores, (heads, tokens, head), "aten::bmm")
    return made


def test_2_unfused_attention_is_bandwidth():
    """Heads of 64 elements, or of 1,024. The products of wide heads compute more than they move."""
    narrow, wide = device_of(attention(64)), device_of(attention(1024))
    assert wall_of(narrow) == ("bandwidth", "matmul"), narrow["wall"]
    assert any("replace attention" in piece["text"] for piece in narrow["advice"]), narrow["advice"]
    assert wall_of(wide) == ("compute", "matmul"), wide["wall"]


def test_2_attention_needs_scores():
    """The control of the advice to replace attention: the second product does not read the scores."""
    made, other = attention(64), Timeline()
    other.events = [{**one, "args": {**one["args"], "Input Dims": [[96, 3137, 512], [96, 512, 64]]}}
                    if one.get("args", {}).get("Input Dims", [0])[-1] == [96, 3137, 64] else one for one in made.events]
    assert len(device_of(made)["unfused_attention"]) == 1
    device = device_of(other)
    assert not device["unfused_attention"], device["unfused_attention"]
    assert not any("replace attention" in piece["text"] for piece in device["advice"]), device["advice"]


def test_2_copies_within_the_device_are_bandwidth():
    def copying(kind):
        made = Timeline()
        for at in range(0, 100000, 10000):
            made.product(at, 4000, at - 50, (4096, 4096), H100_MM)
            made.copy(at + 4000, 6000, at - 20, kind, 6000000)
        return device_of(made)
    inside, across = copying("DtoD (Device -> Device)"), copying("HtoD (Pinned -> Device)")
    assert wall_of(inside) == ("bandwidth", "device_copies"), inside["wall"]
    assert wall_of(across) == ("overhead", "exposed_memory"), across["wall"]


def unsized(sized):
    """Twenty products. The trace holds the sizes of the first `sized` products only."""
    made = Timeline()
    for i in range(20):
        if i < sized:
            made.product(i * 700, 700, i * 700 - 50, (4096, 4096), H100_MM)
        else:
            made.kernel(i * 700, 700, i * 700 - 50)
    return made


def test_2_what_has_no_class_is_not_known():
    for sized in (0, 5):
        wall = device_of(unsized(sized))["wall"]
        assert wall["name"] == "compute" and wall["by_names"], wall
        unknown = (20 - sized) * 700000
        assert (wall["by_class"]["not_known_ns"], wall["by_class"]["names_suggest_compute_ns"]) == (unknown, unknown), wall
        text = said(unsized(sized), "--section", "verdict")
        assert f"not known {100 - 5 * sized}.0 %, where names suggest compute" in text, text
        assert "the wall probably compute, by the names of kernels only: " in text, text
    wall = device_of(unsized(20))["wall"]
    assert wall["name"] == "compute" and not wall["by_names"] and wall["by_class"]["not_known_ns"] == 0, wall
    text = said(unsized(20), "--section", "verdict")
    assert "names suggest" not in text and "names of kernels" not in text, text


def test_2_both_sections_agree():
    """Kernels of each class side by side: the first section and the roofline's section give the same times."""
    made, at = Timeline(), 0
    for i in range(10):
        made.product(at, 60, at - 50, (32, 4096), H100_MM, name="nvjet_tst_64x32_64x16_4x2_h_bz_TNT")
        made.product(at + 60, 700, at - 40, (4096, 4096), H100_MM)
        made.kernel(at + 760, 240, at - 20, name=ADD)
        made.kernel(at + 1000, 100, at - 10, name=f"some_kernel_{i}")
        at += 1100
    device = device_of(made)
    first, roofline = device["wall"]["by_class"], device["roofline"]["step_time_by_class"]
    assert (first["compute_ns"], roofline["compute-bound"]) == (7000000, 7000000), (first, roofline)
    assert (first["bandwidth_ns"], roofline["memory-bound"]) == (3000000, 3000000), (first, roofline)
    assert (first["not_known_ns"], roofline["unknown"]) == (1000000, 1000000), (first, roofline)


# ---- 3. steps as the program has them

def prepared(ahead):
    """Steps of 10 ms. The host works for 5 ms, then copies a batch and launches a kernel. The device computes for 5 ms,
    or, if the host is `ahead` by a step, for all 10 ms."""
    made = Timeline()
    for step in range(8):
        host = 10000 * step
        device = host + (15030 if ahead else 5030)
        made.step(step, host, 10000)
        made.range("train.py(12): load_video", host + 10, 4980, "python_function")
        made.copy(device - 20, 15, host + 5000, "HtoD (Pinned -> Device)", 1 << 20)
        made.kernel(device, 9970 if ahead else 4970, host + 5010)
    return made


def test_3_work_before_the_first_operation_is_in_the_step():
    """Preparation of 5 ms is the wall if the device waits for it. It is not if the device still works meanwhile."""
    device = device_of(prepared(False))
    assert wall_of(device) == ("overhead", "input"), device["wall"]
    assert abs(device["wall"]["step_ns"] - 10e6) < 1e4 and abs(device["wall"]["parts"]["input"] - 5e6) < 5e4, device["wall"]
    assert abs(device["step_time"]["busy_ns"]["median"] - 5e6) < 5e4, device["step_time"]
    ahead = device_of(prepared(True))
    assert wall_of(ahead) == ("compute", "matmul") and ahead["wall"]["parts"]["input"] == 0, ahead["wall"]
    assert abs(ahead["wall"]["step_ns"] - 10e6) < 5e4, ahead["wall"]


def test_3_a_single_step_begins_at_its_marker():
    """One step: half of it is preparation, with and without a marker."""
    def one(marked):
        made = Timeline()
        if marked:
            made.step(0, 0, 10000)
        made.range("train.py(12): load_video", 10, 4980, "python_function")
        made.copy(5010, 15, 5000, "HtoD (Pinned -> Device)", 1 << 20)
        made.kernel(5030, 4970, 5010)
        return made
    device = device_of(one(True))
    assert wall_of(device) == ("overhead", "input") and device["wall"]["step_ns"] == 10000000, device["wall"]
    assert "only one step, 10.0 ms" in said(one(True)), said(one(True))
    device = device_of(one(False))
    assert device["wall"]["name"] == "compute" and not device["wall"]["per_step"], device["wall"]


def test_3_work_from_before_is_not_the_steps():
    """The device first works for 20 ms on kernels that were launched before the recording. The step's own kernels take
    10 ms. In the control the step launches all of these kernels."""
    def step(before):
        made = Timeline()
        made.step(0, 0, 35000)
        for i in range(20):
            if before:
                made.from_before(1 + i, 1000 * i, 1000)
            else:
                made.kernel(1000 * i + 1000, 1000, 10 + 10 * i)
        for i in range(10):
            made.kernel(20000 + 1000 * (i + (not before)), 1000, 1000 + 10 * i)
        return device_of(made)
    before, own = step(True), step(False)
    assert before["steps"][0]["operations"] == 10 and before["steps"][0]["busy_ns"] == 10000000, before["steps"]
    assert before["steps"][0]["length_ns"] == 15000000, before["steps"]
    assert own["steps"][0]["operations"] == 30 and own["steps"][0]["busy_ns"] == 30000000, own["steps"]
    assert own["steps"][0]["length_ns"] == 35000000, own["steps"]


def test_3_work_launched_in_an_earlier_step_is_that_steps():
    """The device lags behind the markers by 15 ms, or by 0.1 ms. Each step has its own kernels: one more than the step
    before. The first step takes no work from before, the last one loses none."""
    for lag in (15000, 100):
        made = Timeline()
        for step in range(6):
            made.step(step, 10000 * step, 10000)
            for i in range(4 + step):
                made.kernel(10000 * step + lag + 1000 * i, 1000, 10000 * step + 10 * i)
        steps = device_of(made)["steps"]
        assert [row["operations"] for row in steps] == [4, 5, 6, 7, 8, 9], (lag, steps)
        assert [row["busy_ns"] for row in steps] == [1000000 * (4 + step) for step in range(6)], (lag, steps)


def blocks(name, count, period=8):
    """Blocks of 10 ms. Each copies from the host, so each looks like an iteration. `name` is the name of a range around
    each block."""
    made = Timeline()
    for i in range(count):
        host = 10000 * i + 5000 * (i // period)
        if name:
            made.range(name.format(i % period, i), host, 9000)
        made.copy(host + 100, 2000, host + 20, "HtoD (Pinned -> Device)", 1 << 20)
        for kernel in range(3):
            made.kernel(host + 2100 + 2000 * kernel, 2000, host + 40 + 20 * kernel, name=("a", "b", "c")[kernel])
    return made


def test_3_a_layer_is_no_step():
    """Ranges with the number of a layer, and ranges with the number of an iteration."""
    time = device_of(blocks("layers.{0}.mlp", 32))["step_time"]
    assert (time["source"], time["sure"], time["median_ns"]) == ("found", "confirmed", 85000000), time
    for name in ("batch {1}", "forward", None):
        time = device_of(blocks(name, 32))["step_time"]
        assert (time["source"], time["median_ns"]) == ("found", 10000000), (name, time)
        assert time["sure"] == ("confirmed" if name == "forward" else "likely"), (name, time)


def test_3_layers_without_an_iteration_are_no_steps():
    """Thirty layers of one iteration, and the same ranges with the numbers of iterations."""
    time = device_of(blocks("layers.{0}.mlp", 30, 32))["step_time"]
    assert time["source"] == "none" and "parts of an iteration" in time["why_none"], time
    assert device_of(blocks("batch {0}", 30, 32))["step_time"]["median_ns"] == 10000000


def test_3_found_steps_say_how_sure():
    """The same kernels again and again, without ranges. A step that updates the model is likely an iteration."""
    def kernels(last):
        made, at = Timeline(), 1000
        for _ in range(20):
            for _ in range(8):
                made.kernel(at, 150, at - 50, name="sgemm_nt")
                made.kernel(at + 150, 40, at - 40, name="softmax")
                at += 200
            made.kernel(at, 30, at - 30, name=last)
            at += 400
        return made
    for last, sure in (("layer_norm_kernel", "doubtful"), (ADAM, "likely")):
        time = device_of(kernels(last))["step_time"]
        assert (time["source"], time["sure"], time["median_ns"]) == ("found", sure, 2000000), time
        assert ("steps found (doubtful)" in said(kernels(last))) == (sure == "doubtful"), said(kernels(last))
        assert f"how sure {sure}: " in said(kernels(last), "--section", "steps"), said(kernels(last), "--section", "steps")


def test_3_few_steps_give_figures():
    """One or two steps have figures, and the report says that they are few. Eight steps are judged."""
    for count in (1, 2, 8):
        made = Timeline()
        for step in range(count):
            made.step(step, 10000 * step, 10000)
            made.kernel(10000 * step + 1000, 8000, 10000 * step + 990)
        time = device_of(made)["step_time"]
        assert time["median_ns"] == 10000000 and time["steady"] >= min(count, 2), time
        assert (time["stable"] is None) == (count < 3), time
        few = {1: "only one step, 10.0 ms", 2: "too few steps: 2, median 10.0 ms"}
        for number, words in few.items():
            assert (words in said(made)) == (count == number), said(made)


run_tests(globals())
