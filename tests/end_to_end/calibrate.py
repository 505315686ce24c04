"""Tests `wallshim calibrate` on the simulated GPU: it must find the true rates, and a report must use them if asked
to.

    calibrate.py BUILD rates|lacking|report|files
"""
import json
import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# The device takes some time to begin an operation, and measured times include it: at least DISPATCH_NS, and at most
# AFTER_EVENT_NS, if an event stands before the operation. RESOLUTION_NS is the resolution of events, and so the largest
# error of a measured time.
DISPATCH_NS, AFTER_EVENT_NS, RESOLUTION_NS = 930, 2160, 32
# On a busy machine the host may feed the device too slowly. So a rate that is too low is measured again.
ATTEMPTS = 4
# Enough device memory for all sizes. The copies move no data, to save host time.
MEMORY = {"SIMGPU_MEMORY": str(16 << 30), "SIMGPU_COPY_DATA": "0"}


class Place:
    """A scratch folder, which also stands for the folder of the user's calibrations."""

    def __init__(self, build, folder):
        self.build, self.folder = os.path.abspath(build), folder
        self.wallshim = f"{self.build}/tools/wallshim"
        self.environment = {**os.environ, "LD_LIBRARY_PATH": f"{self.build}/tests/simgpu", "XDG_DATA_HOME": folder,
                            "COLUMNS": "200", **MEMORY}
        self.gpus = f"{folder}/wallshim/gpus"

    def run(self, *arguments, status=0, **environment):
        done = subprocess.run([self.wallshim, *arguments], env={**self.environment, **environment}, capture_output=True,
                              text=True, timeout=200, check=False)
        assert done.returncode == status, f"{arguments} gave {done.returncode}: {done.stdout}{done.stderr}"
        if status:
            assert done.stderr.startswith("wallshim: ") and done.stderr.count("\n") == 1, done.stderr
            return done.stderr
        return done.stdout

    def calibrate(self, *arguments, **environment):
        calibration = json.loads(self.run("calibrate", "--json", "--seconds", "1", *arguments, **environment))
        validate("calibrate", calibration)
        return calibration

    def record(self):
        trace = f"{self.folder}/products.wst"
        subprocess.run([f"{ROOT}/tests/run_preloaded.sh", self.build, f"{self.build}/tests/programs/products"], check=True,
                       env={**os.environ, "WALLSHIM_OUTPUT": trace}, stdout=subprocess.DEVNULL, timeout=100)
        return trace


def validate(schema, document):
    done = subprocess.run([sys.executable, f"{ROOT}/tests/support/validate.py", f"{ROOT}/docs/{schema}.schema.json"],
                          input=json.dumps(document), capture_output=True, text=True, check=False)
    assert done.returncode in (0, 77), done.stdout + done.stderr


def true_times(truth, products):
    """{(what, size): (bytes or FLOPs, ns)} from the simulated GPU's list of what it ran. The shortest time belongs to the
    smallest size, and so on."""
    times, sizes = {}, {}
    with open(products, encoding="ascii") as lines:
        for kernel, m, *_, flops in map(str.split, lines):
            sizes.setdefault(kernel, {})[int(m)] = float(flops)
    durations = {}
    with open(truth, encoding="ascii") as lines:
        rows = [line.rstrip("\n").split("\t") for line in lines if not line.startswith("#")]
    for _, _, _, _, kind, name, _, _, start, end, size, _ in rows:
        if kind == "kernel":
            durations.setdefault(name, set()).add(int(end) - int(start))
        elif name == "DtoD":
            times[("copy", int(size))] = 2 * int(size), int(end) - int(start)
        elif kind == "memset":
            times[("write", int(size))] = int(size), int(end) - int(start)
    for name, lengths in durations.items():
        # A product of twice the size takes eight times as long. Times that differ by less than a factor of 2 belong to
        # one size.
        apart = [length for length in sorted(lengths) if not any(length / 2 < other < length for other in lengths)]
        assert len(apart) == len(sizes[name]), f"{name}: {lengths}, {sizes[name]}"
        for (size, flops), length in zip(sorted(sizes[name].items()), apart):
            times[(precision_of(name), size)] = flops, length
    return times


def precision_of(kernel):
    words = {"f64f64_f64": "fp64", "tf32f32": "tf32", "f32f32_f32f32": "fp32", "bf16bf16": "bf16", "f16f16": "fp16", "e4m3": "fp8",
             "i8i32": "int8"}
    return next(precision for word, precision in words.items() if word in kernel)


def check_rates(place, gpu, attempt):
    """Returns the rates that are lower than the resolution of events can explain. Fails if a rate is too high."""
    truth, products = f"{place.folder}/truth-{gpu}-{attempt}", f"{place.folder}/products-{gpu}-{attempt}"
    calibration = place.calibrate(SIMGPU_GPU=gpu, SIMGPU_TRUTH=truth, SIMGPU_PRODUCTS=products)
    times, slow = true_times(truth, products), []
    for row in calibration["measurements"]:
        work, length = times[(row["what"], row["size"])]
        assert row.get("gb_per_s", 0) > 0 or row["tflops"] > 0, row
        measured = work / (row["gb_per_s"] if "gb_per_s" in row else row["tflops"] * 1e3)
        assert measured > length + DISPATCH_NS - RESOLUTION_NS - 1, f"{row} took {measured} ns, truly {length}"
        if measured > length + AFTER_EVENT_NS + RESOLUTION_NS + 1:
            slow.append(f"{row['what']} took {measured:.0f} ns, truly {length}")
        peak = calibration["gb_per_s"] if row["what"] == "copy" else calibration["tflops"].get(row["what"])
        assert row["what"] == "write" or peak == row.get("gb_per_s", row.get("tflops")), row
    return calibration, slow


def rates(place):
    for gpu, precisions in (("H100", "fp64 fp32 tf32 fp16 bf16 fp8 int8"), ("A100", "fp64 fp32 tf32 fp16 bf16 int8"),
                            ("V100", "fp64 fp32 fp16")):
        for attempt in range(ATTEMPTS):
            calibration, slow = check_rates(place, gpu, attempt)
            if not slow:
                break
        assert not slow, slow
        assert sorted(calibration["tflops"]) == sorted(precisions.split()), calibration["tflops"]
        assert calibration["gb_per_s"] > 0 and calibration["source"].startswith("measured 2"), calibration
        print(gpu, f"{calibration['gb_per_s']:.0f} GB/s", calibration["tflops"])


def lacking(place):
    """calibrate names each precision that a device or its libraries lack, and gives no figure for it."""
    why = {row["what"]: row["why"] for row in place.calibrate(SIMGPU_GPU="V100")["not_measured"]}
    assert "CUBLAS_STATUS_NOT_SUPPORTED" in why["fp8"], why
    assert "compute capability 7.0" in why["tf32"] and "compute capability 7.0" in why["bf16"], why
    # The driver's folder has no cuBLAS. If the CUDA toolkit is installed, calibrate tries its cuBLAS, which cannot work
    # with the simulated driver.
    alone = f"{place.folder}/driver"
    os.makedirs(alone)
    os.symlink(f"{place.build}/tests/simgpu/libcuda.so.1", f"{alone}/libcuda.so.1")
    calibration = place.calibrate(LD_LIBRARY_PATH=alone)
    assert calibration["gb_per_s"] > 0 and not calibration["tflops"] and "blas" not in calibration, calibration
    assert all("libcublas" in row["why"] for row in calibration["not_measured"] if row["what"] != "fp4"), calibration
    assert "No GEMMs: " in place.run("calibrate", "--seconds", "1", LD_LIBRARY_PATH=alone)
    assert "no GPU" in place.run("calibrate", status=2, SIMGPU_DEVICES="0")
    assert "--device 3: there are 2" in place.run("calibrate", "--device", "3", status=2, SIMGPU_DEVICES="2")
    assert "memory" in place.run("calibrate", status=2, SIMGPU_MEMORY="100000000")
    place.run("calibrate", "trace.wst", status=2)


def files(place):
    """A second calibration replaces the file of the first; calibrate replaces no other file."""
    calibration = place.calibrate()
    name, = os.listdir(place.gpus)
    assert name == f"NVIDIA-H100-80GB-HBM3-{calibration['uuid']}.json", name
    with open(f"{place.gpus}/{name}", encoding="utf-8") as file:
        assert json.load(file) == calibration
    again = place.calibrate()
    assert os.listdir(place.gpus) == [name]
    with open(f"{place.gpus}/{name}", encoding="utf-8") as file:
        assert json.load(file) == again
    for text in ("{ \"gb_per_s\": 1000, \"tflops\": { \"bf16\": 100 } }", "mine"):
        with open(f"{place.folder}/mine.json", "w", encoding="utf-8") as file:
            file.write(text)
        assert "left alone" in place.run("calibrate", "-o", f"{place.folder}/mine.json", status=2)
        with open(f"{place.folder}/mine.json", encoding="utf-8") as file:
            assert file.read() == text
    assert "none/here.json: No such file" in place.run("calibrate", "-o", f"{place.folder}/none/here.json", status=2)
    place.run("calibrate", "--seconds", "1", "-o", f"{place.folder}/other.json")
    question = ("roofline", "--op", "gemm", "--m", "4096", "--n", "4096", "--k", "4096")
    for gpu in (f"{place.folder}/other.json", "calibrated"):
        assert "measured peak" in place.run(*question, "--gpu", gpu)
    assert "no GPU was calibrated yet" in place.run(*question, "--gpu", "calibrated", status=2, XDG_DATA_HOME=alone_in(place))
    place.calibrate(SIMGPU_GPU="A100")
    assert "2 GPUs are" in place.run(*question, "--gpu", "calibrated", status=2)


def alone_in(place):
    return f"{place.folder}/nobody"


def roofline_of(place, trace, gpu):
    report = json.loads(place.run("report", "--json", "--gpu", gpu, trace))
    validate("report", report)
    return report["processes"][0]["devices"][0]


def report(place):
    calibration, trace = place.calibrate(), place.record()
    assert "no calibration of NVIDIA H100" in place.run("report", "--gpu", "calibrated", trace, status=2,
                                                        XDG_DATA_HOME=alone_in(place))
    device = roofline_of(place, trace, "calibrated")
    roofline = device["roofline"]
    assert roofline["precision"] == "bf16" and roofline["peak_source"] == roofline["bandwidth_source"] == "measured"
    assert abs(roofline["peak_flops_per_s"] / (calibration["tflops"]["bf16"] * 1e12) - 1) < 1e-6, roofline
    assert abs(roofline["bytes_per_s"] / (calibration["gb_per_s"] * 1e9) - 1) < 1e-6, roofline
    assert roofline["calibrated"] == calibration["calibrated"][:10]
    sheet = roofline_of(place, trace, "h100")["roofline"]
    assert abs(roofline["mfu"] * roofline["peak_flops_per_s"] / (sheet["mfu"] * sheet["peak_flops_per_s"]) - 1) < 1e-6
    between = (roofline["mfu"] + sheet["mfu"]) / 2
    place.run("check", "--gpu", "calibrated", "--rule", f"mfu > {between}", trace)
    place.run("check", "--rule", f"mfu < {between}", trace)
    text = place.run("report", "--full", "--gpu", "calibrated", trace)
    peak = f"of measured peak {calibration['tflops']['bf16']:.4g} TFLOP/s bf16, calibrated {roofline['calibrated']}"
    assert peak in text and calibration["source"] in text, text

    # If a calibration lacks a precision, the report uses the data sheet's ceiling and says so. A calibration with
    # another UUID is used if the GPU's name is the same.
    name, = os.listdir(place.gpus)
    del calibration["tflops"]["bf16"]
    calibration["uuid"] = "GPU-of-another"
    with open(f"{place.gpus}/{name}", "w", encoding="utf-8") as file:
        json.dump(calibration, file)
    device = roofline_of(place, trace, "calibrated")
    roofline = device["roofline"]
    assert roofline["peak_source"] == "data_sheet" and roofline["bandwidth_source"] == "measured", roofline
    assert roofline["peak_flops_per_s"] == sheet["peak_flops_per_s"], roofline
    sources = {row["roofline"]["precision"]: row["roofline"]["peak_source"] for row in device["kernels"] if "roofline" in row
               and "of_compute" in row["roofline"]}
    assert sources["bf16"] == "data_sheet" and sources["fp16"] == sources["fp32"] == "measured", sources
    text = place.run("report", "--full", "--gpu", "calibrated", trace)
    assert "989.4 TFLOP/s bf16 of the data sheet, not calibrated" in text and "maybe not this one" in text, text
    assert "not measured" in text and "H100 architecture whitepaper" in text, text

    # A rate above a measured ceiling is consistent if it is below the data sheet's. A rate above a ceiling that the
    # user gave is inconsistent.
    calibration["tflops"]["bf16"] = 100
    with open(f"{place.gpus}/{name}", "w", encoding="utf-8") as file:
        json.dump(calibration, file)
    of_peak, inconsistent = bf16_of(roofline_of(place, trace, "calibrated"))
    assert of_peak > 1.1 and not inconsistent, (of_peak, inconsistent)
    del calibration["calibrated"]
    with open(f"{place.folder}/word.json", "w", encoding="utf-8") as file:
        json.dump(calibration, file)
    assert bf16_of(roofline_of(place, trace, f"{place.folder}/word.json")) == (of_peak, True)


def bf16_of(device):
    row = next(row["roofline"] for row in device["kernels"] if row.get("roofline", {}).get("precision") == "bf16")
    return row["of_compute"], row["inconsistent"]


def main():
    with tempfile.TemporaryDirectory() as folder:
        {"rates": rates, "lacking": lacking, "report": report, "files": files}[sys.argv[2]](Place(sys.argv[1], folder))


main()
