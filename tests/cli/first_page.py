"""What the default page says, and what it leaves out: first_page.py WALLSHIM
Each test holds a case and a control, which differ in one thing."""
import json

from foreign import run, run_tests, write
from timeline import ADAM, ADD, GEMM, Timeline

NCCL = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL"


def lines_of(timeline, *switches):
    result = run("report", *switches, write(timeline.trace()))
    assert result.returncode == 0, result.stderr
    return result.stdout.split("\n")


def said(timeline, *switches):
    """The page as one line of words."""
    return " ".join(" ".join(lines_of(timeline, *switches)).split())


def advice_of(timeline):
    result = run("report", "--json", write(timeline.trace()))
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)["processes"][0]["devices"][0]["advice"]


def test_shares_name_what_they_are_of():
    """If communication runs during compute, the sum of all operations counts that time twice."""
    for begin, expected in ((2000, "share: of the 20.0 ms that all operations take one by one; they overlap, the GPU is busy "
                                   "for 12.0 ms; compute hides 80.0 % of the network's time"),
                            (10000, "share: of the 20.0 ms that all operations of the recording take")):
        made = Timeline()
        made.kernel(0, 10000, -20)
        made.kernel(begin, 10000, -10, name=NCCL, stream=9)
        assert expected in said(made), said(made)


def test_a_gpu_that_mostly_copies_is_not_busy():
    for copied, answer in ((6000, "no mostly copying: 100.0 %"), (4000, "yes 100.0 %")):
        made = Timeline()
        made.copy(0, copied, -20, "HtoD (Pinned -> Device)", 1 << 26)
        made.kernel(copied, 10000 - copied, -10)
        assert f"2 GPU busy ≥ 85 %? {answer}" in said(made), said(made)
        share = (10000 - copied) / 100
        assert f"3 matmuls ≥ 50 %? yes 100.0 % of {10 - copied / 1000:.2f} ms in compute kernels ({share:.1f} % of the recording)" \
            in said(made), said(made)


def test_a_profiler_that_slows_the_host_is_named():
    """The report names the profiler beside all times of the host. The first page names it if the device waited for the
    host."""
    page_says = "ms (at most: recording {} slowed the host)"
    section_says = "Host times are upper limits: the profiler recorded {}, which slows the host."
    for facts, by in (({}, None), ({"with_stack": 0, "record_shapes": 0}, None), ({"with_stack": 1}, "Python stacks"),
                      ({"record_shapes": True, "profile_memory": True}, "shapes of inputs and memory")):
        for gap in (0, 1000):
            made = Timeline()
            for number in range(10):
                if gap:
                    made.call("cudaStreamSynchronize", number * 2000 - 1500, 1490)
                made.kernel(number * (1000 + gap), 1000, number * (1000 + gap) - 9)
            path = write(made.trace(**facts))
            page = " ".join(run("report", path).stdout.split())
            assert ("slowed the host" in page) == bool(by and gap), page
            assert not (by and gap) or page_says.format(by) in page, page
            for section in ("launches", "gaps", "sync", "storms", "operators", "modules", "tree"):
                text = " ".join(run("report", "--section", section, path).stdout.split())
                assert ("Host times are upper limits" in text) == bool(by), (section, text)
                assert not by or section_says.format(by) in text, (section, text)
            text = run("report", "--section", "kernels", path).stdout
            assert "upper limits" not in text, text


def test_the_events_of_a_file_tell_what_slowed_the_host():
    """Tools that rewrite traces may drop the profiler's settings. Then the kinds of events show what was recorded."""
    for category, by in (("python_function", "Python stacks"), ("cpu_op", None)):
        made = Timeline()
        made.range("train.py(3): step", -30, 50, category)
        made.kernel(0, 1000, -20)
        text = run("report", "--section", "launches", write(made.trace())).stdout
        assert ("which slows the host" in text) == bool(by), text
        assert not by or by in text, text


def stepped(lengths, *names):
    """Marked steps in which the device always works."""
    made, at = Timeline(), 0
    for number, length in enumerate(lengths):
        made.step(number, at - 50, length)
        for place, name in enumerate(names or (GEMM,)):
            part = length // len(names or (GEMM,))
            made.kernel(at + place * part, part, at - 40 + place, 1, name)
        at += length
    return made


def test_few_steps_are_stable_only_if_alike():
    for longest, answer in ((13000, "no 4 marked steps, median 10.0 ms, p95 13.0 ms (+30.0 %)"),
                            (12000, "yes 4 marked steps, median 10.0 ms, p95 12.0 ms (+20.0 %)")):
        page = said(stepped([10000, 10000, longest, 10000, 10000]))
        assert f"1 stable within 25 %? {answer}" in page, page


def test_a_step_may_be_longer_than_the_device_worked():
    for begin, longer in ((20000, True), (30, False)):
        made = Timeline()
        made.step(1, 0, 30000)
        made.kernel(begin, 29000 - begin, begin - 10)
        made.kernel(29000, 900, 28000)
        assert ("(a step begins before, on the host)" in said(made)) == longer, said(made)


def test_the_legend_has_what_the_bar_shows():
    for gap, shown in ((100, False), (500, True)):
        made = Timeline()
        made.kernel(0, 10000, -20)
        made.kernel(10000 + gap, 10000, 10000 + gap - 5)
        legend, = (line for line in lines_of(made) if "█ compute" in line)
        assert ("░ overhead" in legend) == shown, legend


def test_names_are_cut_where_they_differ():
    made = Timeline()
    names = [f"{'a' * 60}_{middle}_{'z' * 60}" for middle in ("tile_64", "tile_128", "tile_64")]
    names[2] = names[2].replace("zzz", "_z_", 1)
    for place, name in enumerate(names):
        made.kernel(place * 100, 100, -50 + place, 1, name)
    rows = [line.split()[-1] for line in lines_of(made) if "aaaa" in line]
    assert len(rows) == 3 and len(set(rows)) == 3, rows
    assert any("128" in row for row in rows), rows


def late(name, category):
    """The host launches a kernel only every 200 µs, from a range of the program or an operator."""
    made = Timeline()
    for at in range(0, 40000, 200):
        made.range(name, at, 150, category)
        made.kernel(at + 110, 60, at + 100)
    return made


def test_operators_are_no_places():
    operator, own = late("aten::mm", "cpu_op"), late("forward", "user_annotation")
    assert any(row["where"].startswith("aten::mm") for row in advice_of(operator)), advice_of(operator)
    assert "at aten::mm" not in said(operator), said(operator)
    assert "; at forward" in said(own), said(own)


def test_operations_from_before_are_counted_once():
    made = Timeline()
    for at in range(5):
        made.from_before(100 + at, at * 1000, 900)
    for at in range(5, 15):
        made.kernel(at * 1000, 900, at * 1000 - 20)
    page = said(made)
    assert page.count("launched before the recording") == 1 and "5 of them launched before" in page, page
    assert "not recorded in full" not in page and "from before" not in page, page
    assert "from before 5 of 15 operations" in said(made, "--section", "verdict"), said(made, "--section", "verdict")


def test_small_savings_take_no_lines():
    """A gap of 1.5 % or of 5 % of a step. `--full` names both."""
    for gap, shown in ((150, False), (500, True)):
        made = Timeline()
        for step in range(8):
            at = 10000 * step
            made.step(step, at, 10000)
            made.kernel(at + gap, 10000 - gap, at + gap - 5)
            made.call("cudaStreamSynchronize", at + gap + 10, 9980)
        assert ("Nothing was found that would save 2 % or more." in said(made)) != shown, said(made)
        assert any(row["saving_ns"] > 100000 for row in advice_of(made)), advice_of(made)


def test_fsdp_offload_is_called_by_its_name():
    for name, expected in (("FSDP::pre_forward (shared)", "turn off FSDP's CPU offload"), ("forward", "keep on the GPU what fits")):
        made = Timeline()
        for at in range(0, 100000, 10000):
            made.range(name, at, 5000)
            made.copy(at + 100, 8000, at + 50, "HtoD (Pinned -> Device)", 1 << 26)
            made.kernel(at + 8200, 1500, at + 60)
        assert expected in said(made), said(made)


def test_a_decoder_reads_every_result():
    """The host waits for the device in every step. Only a training loop can read its results less often."""
    for name, trains in ((GEMM, False), (ADAM, True)):
        made = Timeline()
        for step in range(8):
            at = 10000 * step
            made.step(step, at, 10000)
            made.kernel(at + 3030, 3000, at + 3000)
            made.kernel(at + 6030, 500, at + 3010, name=name)
            made.call("cudaStreamSynchronize", at + 3020, 6980)
        texts = " ".join(row["text"] for row in advice_of(made))
        assert "wait for the GPU less often" in texts and ("every N steps" in texts) == trains, texts


def test_weights_of_few_bits_are_not_quantised_again():
    for name, wide in ((GEMM, True), ("matmul_bf16xmxfp4_128x256", False)):
        made = Timeline()
        for at in range(0, 20 * 60, 60):
            made.product(at, 60, at - 100, (32, 4096), (4096, 14336), name=name)
        page = said(made)
        assert "serve larger batches" in page and ("quantise 16-bit weights" in page) == wide, page


def test_a_batch_norm_of_cudnn_is_not_fused_by_hand():
    for name, library in (("void cudnn::bn_bw_1C11_kernel_new<float, float, float2, 512, true, 1>(float)", True), (ADD, False)):
        made = Timeline()
        for at in range(0, 4000, 400):
            made.kernel(at, 100, at - 300, 1, GEMM)
            for place, kernel in enumerate((ADD, name, ADD)):
                made.kernel(at + 100 + 100 * place, 100, at - 299 + place, 1, kernel, grid=[4096, 1, 1], block=[512, 1, 1])
        texts = [row["text"] for row in advice_of(made) if row["text"].startswith("fuse")]
        assert texts and all(("torch.compile can" in text) == library for text in texts), texts


run_tests(globals())
