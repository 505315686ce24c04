"""Reports on the recordings of a real GPU in samples/traces: real_traces.py WALLSHIM
The expected values come from other sources: the programs' own timing, their source code, and CUPTI."""
import glob
import json
import os

from foreign import run, run_tests, write

TRACES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "samples", "traces")


def trace(name):
    path, = glob.glob(os.path.join(TRACES, f"*-{name}.wst"))
    return path


def device_of(name):
    process, = json.loads(run("report", "--json", trace(name)).stdout)["processes"]
    device, = process["devices"]
    return device


def test_replays_of_a_graph():
    """Three eager steps for the capture, then 60 replays. The program timed them itself: 3.059 ms at the median."""
    device = device_of("gpt-graph")
    steady = [step for step in device["steps"] if step["kind"] == "steady"]
    assert 58 <= len(steady) <= 60, len(steady)
    assert abs(device["step_time"]["median_ns"] - 3.059e6) < 0.02e6, device["step_time"]
    assert sum(step["busy_ns"] for step in steady) > 0.98 * sum(step["length_ns"] for step in steady)
    page = run("report", trace("gpt-graph")).stdout
    for question, answer in (("3 matmuls", "likely no"), ("4 matmuls", "not known")):
        line, = [line for line in page.splitlines() if line.strip().startswith(question)]
        assert answer in line and "CUDA graphs" in line, line
    graph, = device["graphs"]
    # The program captures 729 operations. One by one they take about as long as a replay: kernels overlap little.
    assert graph["count"] == 60 and graph["nodes"] == sum(row["nodes"] for row in graph["kernels"]) == 729, graph
    assert graph["outside_ns"] == sum(row.get("outside_ns", 0) for row in graph["kernels"])
    assert 1 < graph["outside_ns"] / (graph["total_ns"] / 60) < 1.3, graph["outside_ns"]
    assert any(row.get("captured_in") == "Training.work (gpt.py:72)" for row in graph["kernels"])


def test_eager_training():
    """PyTorch cannot launch the short kernels of this small model as fast as they run."""
    device = device_of("gpt")
    assert device["wall"]["name"] == "overhead", device["wall"]
    steady = [step for step in device["steps"] if step["kind"] == "steady"]
    assert 56 <= len(steady) <= 60, len(steady)
    page = run("report", "--full", trace("gpt")).stdout
    # The lines of loss.backward(), of self.optimizer.step(), and one of the model. The text of lines is only shown where
    # samples/gpt.py has not changed since the recording, by its time of modification.
    for line in ("Training.work (gpt.py:71)", "Training.work (gpt.py:72)", "Block.forward (gpt.py:"):
        assert line in page, line


def test_peaks_that_cannot_be():
    """Kernels that are faster than the given peak raise doubt. A missing peak is named, not shown as 0 TFLOP/s."""
    for tflops, answer, roofs in (({"bf16": 989.4}, "no 25.5 % of 989.4 TFLOP/s bf16", "989.4 TFLOP/s bf16, 4.8 TB/s, ridge"),
                                  ({"bf16": 100}, "not known 253 % of 100 TFLOP/s bf16: impossible", "100 TFLOP/s bf16, 4.8"),
                                  ({"fp64": 34}, "not known no peak known for bf16", "no peak known for bf16, 4.8 TB/s, as told")):
        gpu = write({"name": "made up", "gb_per_s": 4800, "tflops": tflops, "source": "this test"}, "gpu.json")
        page = " ".join(run("report", "--gpu", gpu, trace("gpt")).stdout.split())
        assert f"4 matmuls ≥ 60 % peak? {answer}" in page, page
        page = " ".join(run("report", "--section", "roofline", "--gpu", gpu, trace("gpt")).stdout.split())
        assert f"roofs {roofs}" in page, page


def test_attached():
    device = device_of("attach")
    assert device["wall"]["name"] == "overhead", device["wall"]
    assert len(device["steps"]) > 50


def test_short_kernels():
    """Each of 300 steps of train_driver launches 20 kernels, of which four are `sgd_update`."""
    device = device_of("train-driver")
    assert sum(row["count"] for row in device["kernels"] if row["name"] == "sgd_update") == 1200
    assert device["wall"]["name"] == "overhead", device["wall"]


run_tests(globals())
