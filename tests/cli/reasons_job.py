"""The reasons for which verdicts on real traces were wrong, as small traces: reasons_job.py WALLSHIM
Reasons 4 and 5: what was not recorded, and several ranks. reasons.py has the others, and says how these tests are
built."""
import json

from foreign import run, run_tests, write
from timeline import ADD, GEMM, H100, Timeline


def report(*files):
    result = run("report", "--json", *files)
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


def said(*files):
    """The default report as one line of words."""
    result = run("report", *files)
    assert result.returncode == 0, result.stderr
    return " ".join(result.stdout.split())


def device_of(file):
    return report(file)["processes"][0]["devices"][0]


def idle(device):
    """Idle time of the whole recording by cause, in µs."""
    return {row["cause"]: row["total_ns"] / 1000 for row in device["gap_causes"] if row["total_ns"]}


# ---- 4. what was not recorded

def waited_for(function):
    """Steps of 10 ms: a kernel of 4 ms, a call that launches nothing that the trace shows, and a wait of the host until
    the next step."""
    made = Timeline()
    for step in range(8):
        at = 10000 * step
        made.step(step, at, 10000)
        made.kernel(at + 30, 4000, at + 20)
        if function:
            made.call(function, at + 100, 10)
        made.call("cudaStreamSynchronize", at + 200, 9790)
    made.kernel(80030, 4000, 80020)
    return write(made.trace(), f"{function}.json")


def test_4_graphs_whose_kernels_are_missing():
    """The host waits for a CUDA graph whose kernels the trace lacks. Without the launch of the graph the device is idle
    while the host waits."""
    graph, control = waited_for("cudaGraphLaunch"), waited_for(None)
    device = device_of(graph)
    assert device["wall"]["parts"]["unrecorded"] > 5.9e6 and device["wall"]["parts"]["sync"] == 0, device["wall"]
    assert device["wall"]["name"] is None and "8 launches are in the trace without what they launched" in device["wall_reason"], device
    assert "8 launches are in the trace without what they launched" in said(graph), said(graph)
    device = device_of(control)
    assert device["wall"]["parts"]["sync"] > 5.9e6 and device["wall"]["parts"]["unrecorded"] == 0, device["wall"]
    assert (device["wall"]["name"], device["wall"]["cause"]) == ("overhead", "sync"), device["wall"]
    assert "without what they launched" not in said(control), said(control)


def graphs(missing):
    """Steps of 10 ms: a kernel, then a CUDA graph of nine kernels, of which the trace lacks the first ones."""
    made = Timeline()
    for step in range(8):
        at = 10000 * step
        made.step(step, at - 15000, 10000)
        made.kernel(at, 1000, at - 14990)
        made.call("cudaGraphLaunch", at - 14900, 30)
        for i in range(1 + missing, 10):
            made.kernel(at + 1000 * i, 999 if i == 9 else 1000)
    return write(made.trace())


def test_4_gaps_that_end_at_graphs():
    """The trace lacks six, two or none of the kernels of each graph. Six take more time than the wall."""
    device = device_of(graphs(6))
    assert device["wall"]["name"] is None and "are missing (8 graph launches)" in device["wall_reason"], device["wall_reason"]
    assert "Do first" not in said(graphs(6)) or "find out" not in said(graphs(6)), said(graphs(6))
    device = device_of(graphs(2))
    assert device["wall"]["name"] == "compute" and device["wall"]["parts"]["unrecorded"] == 2000000, device["wall"]
    assert "2.00 ms of an average step (20.0 %): the trace shows nothing that ran, although work was queued" in said(graphs(2)), said(graphs(2))
    device = device_of(graphs(0))
    assert device["wall"]["name"] == "compute" and device["wall"]["parts"]["unrecorded"] == 0, device["wall"]
    assert "work was queued" not in said(graphs(0)), said(graphs(0))


def test_4_a_sample_has_no_verdict():
    """The trace holds one in seven kernels and their calls, or all."""
    def sample(kept):
        made = Timeline()
        for i in range(0, 4000, kept):
            made.number = 1000 + 6 * i
            made.kernel(50 * i, 49, 40 * i - 100)
        return write(made.trace())
    device = device_of(sample(7))
    assert device["wall"]["name"] is None and "only a sample of the operations" in device["wall_reason"], device["wall_reason"]
    device = device_of(sample(1))
    assert device["wall"]["name"] == "compute" and "wall_reason" not in device, device["wall"]


def test_4_work_from_before_is_not_idle():
    """The first launches find the device busy with work from before the recording: they wait for 50 ms. In the control
    the host launches 50 ms later."""
    def begun(launch):
        made = Timeline()
        made.kernel(15, 5, 5, stream=8)
        for i in range(10):
            made.kernel(50000 + 1000 * i, 1000, launch + 10 * i)
        return write(made.trace())
    queued, late = device_of(begun(100)), device_of(begun(49890))
    assert (queued["idle_ns"], queued["unrecorded_ns"]) == (0, 49980000), queued["idle_ns"]
    assert queued["wall"]["name"] == "compute", queued["wall"]
    assert "the GPU still ran work from before the recording" in said(begun(100)), said(begun(100))
    assert (late["idle_ns"], late["unrecorded_ns"]) == (49980000, 0), late["idle_ns"]
    assert late["wall"]["name"] == "overhead", late["wall"]


def test_4_launches_without_operations_are_counted():
    """509 graphs whose kernels are missing, among 600 kernels. In the control the calls wait for an event."""
    def calls(function):
        made = Timeline()
        for i in range(600):
            made.kernel(100 * i, 99, 100 * i - 50)
            if i < 509:
                made.call(function, 100 * i - 40, 5)
        return write(made.trace())
    text = said(calls("cudaGraphLaunch"))
    assert "half recorded 509 launches without what they launched" in text, text
    text = said(calls("cudaStreamWaitEvent"))
    assert "half recorded" not in text and "without what" not in text, text


# ---- 5. several ranks

def job(compute, transfer=100, size=4000000, world=None, hosts=None, device=None, rounds=10):
    """A rank for each number in `compute`: the rank computes for so many µs, then joins an all-reduce of `size` bytes. The
    transfer begins when the last rank joins. Each round is a marked step. Returns the files of the ranks."""
    files, world = [], world or len(compute)
    length = max(compute) + transfer
    for rank, own in enumerate(compute):
        made = Timeline()
        for i in range(rounds):
            at = 1000 + length * i
            made.step(i, at - 950, length)
            made.kernel(at, own, at - 900)
            made.kernel(at + own, length - own, at - 890, name="ncclDevKernel_AllReduce_Sum_bf16_RING_LL(args)", stream=20,
                        **{"Collective name": "allreduce", "In msg nelems": size // 2, "Out msg nelems": size // 2,
                           "Group size": world, "dtype": "BFloat16", "Process Group Name": "0",
                           "Process Group Ranks": str(list(range(world)))})
        others = {"host_name": hosts[rank]} if hosts else {}
        content = made.trace(device, distributedInfo={"backend": "nccl", "rank": rank, "world_size": world}, **others)
        files.append(write(content, f"rank{rank}.json"))
    return files


def devices(files):
    return {int(process["meta"]["rank"]): process["devices"][0] for process in report(*files)["processes"]}


def test_5_the_rank_that_others_wait_for_is_shown():
    """Rank 2 computes 500 µs longer than the others. In the control it computes as long as they do."""
    late = job([400, 400, 900, 400])
    found = report(*late)
    assert [row["rank"] for row in found["ranks"] if row["straggler"]] == [2], found["ranks"]
    shown = said(*late)
    assert "others wait for rank 2, GPU 0 NVIDIA H100 80GB HBM3: 500 µs a step; " in shown, shown
    # 495 and not 500: counted from the first collective on, not from the begin of the first step.
    assert "rank 2 computes 495 µs a step longer than the others" in shown, shown
    assert shown.startswith("rank 2, GPU 0"), shown
    control = job([400] * 4)
    found = report(*control)
    assert not any(row["straggler"] for row in found["ranks"]), found["ranks"]
    assert "others wait for" not in said(*control), said(*control)


def test_5_a_page_has_room_for_eight_ranks():
    """The page says once why a rank is late, and says nothing of it if no rank is late."""
    for late in (900, 400):
        page = run("report", *job([late] + [400] * 7)).stdout
        assert len(page.split("\n")) <= 41 and all(f"  rank {rank}, GPU " in page for rank in range(8)), page
        assert page.count("longer than the others, with as many kernels") == (late == 900), page


def test_5_communication_is_waiting_plus_transfer():
    """Three ranks wait 500 µs for the late one, and transfer for 100 µs. The late rank, and all ranks of the control, only
    transfer."""
    for compute, waits in (([400, 400, 900, 400], [500, 500, 0, 500]), ([400] * 4, [0] * 4)):
        files = job(compute)
        found = devices(files)
        for rank, wait in enumerate(waits):
            row, = found[rank]["collectives"]
            assert (row["waited_ns"], row["transfer_ns"]) == (10000 * wait, 1000000), (rank, row)
            wall = found[rank]["wall"]
            assert wall["parts"]["exposed_communication"] == 1000 * (wait + 100), (rank, wall)
            assert wall["comm_waiting_ns"] == 1000 * wait, (rank, wall)


def test_5_waits_are_not_the_networks():
    """4 MB in 100 µs are 60 GB/s of bus bandwidth over four ranks, however long the ranks wait before."""
    for compute in ([400, 400, 900, 400], [400] * 4):
        for rank, device in devices(job(compute)).items():
            row, = device["collectives"]
            assert abs(row["transfer_bus_gb_per_s"] - 60) < 0.1, (rank, row)
            assert not any(piece["cause"] == "slow_link" for piece in device["advice"]), (rank, device["advice"])


def test_5_a_table_shows_all_ranks():
    """One line a rank: step, kernels, transfer, waiting, copies, idle, wall. A single rank needs no table."""
    lines = [line.split() for line in run("report", *job([400, 400, 900, 400])).stdout.splitlines()]
    header = next(line for line in lines if "waiting" in line and "transfer" in line)
    assert header == ["GPU", "step", "kernels", "transfer", "waiting", "copies", "idle", "wall"], header
    rows = [" ".join(line) for line in lines if line[:1] == ["rank"] and line[-1:] == ["%"]]
    victim = "1.00 ms 400 µs 100 µs 500 µs 0 ns 0 ns communication"
    assert len(rows) == 4 and all(victim in rows[rank] for rank in (0, 1, 3)), rows
    assert "late" in rows[2] and "1.00 ms 900 µs 100 µs 0 ns 0 ns 0 ns compute" in rows[2], rows
    assert "waiting" not in run("report", job([400], world=1)[0]).stdout


def test_5_ranks_that_were_not_recorded():
    """Two ranks of a job of two, four or eight were recorded. If some are missing, communication may wait for one of
    them. If most are missing, no rank is called late."""
    for world, late in ((2, [1]), (4, [1]), (8, [])):
        files = job([400, 900], world=world)
        found = report(*files)
        assert [row["rank"] for row in found["ranks"] if row["straggler"]] == late, (world, found["ranks"])
        text = said(*job([400, 400], 400, world=world))
        assert (f"2 of {world} recorded: communication may be waiting" in text) == (world > 2), text
        # Communication of 2 % of a step cannot change the verdict.
        text = said(*job([4900, 4900], 100, world=world))
        assert "communication may be waiting" not in text, text


def test_5_one_rank_alone_does_not_know_its_waits():
    """Without the other ranks, waiting and transfer are not told apart."""
    alone = devices(job([400, 900])[:1])[0]
    assert alone["wall"]["comm_waiting_ns"] is None, alone["wall"]
    assert devices(job([400, 900]))[0]["wall"]["comm_waiting_ns"] == 500000


def slow(device):
    """The first advice, if it names a slow link."""
    first = device["advice"][0] if device["advice"] else {"cause": None}
    return first["evidence"] if first["cause"] == "slow_link" else None


def test_5_a_slow_link_is_the_headline():
    """4 MB in 2 ms are 3 GB/s: less than a hundredth of NVLink. In 100 µs they are 60 GB/s."""
    for rank, device in devices(job([400] * 4, 2000, hosts=["a"] * 4)).items():
        assert device["wall"]["name"] == "communication", (rank, device["wall"])
        assert "3 GB/s of bus bandwidth, 0.7 % of the 450 GB/s of NVLink 4" in slow(device), (rank, device["advice"])
    assert not any(map(slow, devices(job([400] * 4, 100, hosts=["a"] * 4)).values()))


def test_5_a_link_is_held_against_what_it_can_do():
    """2.4 GB/s are too slow for NVLink, but not for PCIe or for a network card of each machine. A tenth of that is too
    slow for all of them."""
    l40s = {**H100, "name": "NVIDIA L40S", "computeMinor": 9, "computeMajor": 8, "numSms": 142}
    one, several = ["a"] * 4, ["a", "a", "b", "b"]
    for hosts, device, transfer, limit in ((one, None, 2500, "NVLink 4"), (one, l40s, 2500, None), (several, None, 2500, None),
                                           (one, l40s, 25000, "PCIe 4"), (several, None, 25000, "a network card of 400 Gbit/s")):
        for own in devices(job([400] * 4, transfer, hosts=hosts, device=device)).values():
            assert limit in slow(own) if limit else not slow(own), (hosts, device, transfer, own["advice"])


# ---- advice

def buffers(broadcast, pause=4000, in_forward=True, work_before=False, group="[0, 1, 2, 3]"):
    """Steps of 10 ms of a rank that broadcasts for `broadcast` µs, computes for `pause` µs, and then reduces in all ranks.
    work_before: a product runs before the broadcast."""
    made = Timeline()

    def collective(kernel, name, begin, length, launch, ranks):
        made.kernel(begin, length, launch, name=f"ncclDevKernel_{kernel}_RING_LL(args)", stream=20,
                    **{"Collective name": name, "In msg nelems": 1000, "Out msg nelems": 1000, "Group size": 4,
                       "dtype": "Float", "Process Group Name": ranks, "Process Group Ranks": ranks})

    for step in range(8):
        at = 10000 * step
        made.step(step, at, 10000)
        if in_forward:
            made.range("DistributedDataParallel.forward", at + 1, 300)
        made.kernel(at + 10, 10, at + 5, name=GEMM if work_before else ADD)
        if broadcast:
            collective("Broadcast", "broadcast", at + 20, broadcast, at + 10, group)
        made.kernel(at + 20 + broadcast, pause, at + 30)
        collective("AllReduce_Sum_f32", "allreduce", at + 20 + broadcast + pause, 1000, at + 40, "[0, 1, 2, 3]")
        made.kernel(at + 1020 + broadcast + pause, 8900 - broadcast - pause, at + 50)
    return write(made.trace(distributedInfo={"backend": "nccl", "rank": 0, "world_size": 4}))


def test_6_buffers_that_each_step_broadcasts():
    """The advice is certain if PyTorch's range names the broadcasts. It is a guess if only the all-reduces come late,
    because those of tensor parallelism come at once. No advice on broadcasts that take less than 1 % of a step, are of
    the model itself, or use another communicator."""
    certain = "do not broadcast the model's buffers in each step: DistributedDataParallel("
    guess = "set DistributedDataParallel(broadcast_buffers=False), if the broadcasts"
    for expected, case in ((certain, {}), (guess, {"in_forward": False}), (certain, {"pause": 100}),
                           (None, {"in_forward": False, "pause": 100}), (None, {"broadcast": 0}), (None, {"broadcast": 50}),
                           (None, {"work_before": True}), (None, {"group": "[0, 1]"})):
        file = buffers(**{"broadcast": 500, **case})
        found = [row for row in device_of(file)["advice"] if row["cause"] == "buffer_broadcasts"]
        assert bool(found) == bool(expected), (case, found)
        if expected:
            assert found[0]["text"].startswith(expected) and found[0]["saving_ns"] == 500000, (case, found)
            assert found[0]["evidence"].startswith("1 broadcast a step"), (case, found)


run_tests(globals())
