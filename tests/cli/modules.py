"""The tree of modules as it is printed: modules.py WALLSHIM"""
import re

import kineto
from foreign import report, run, run_tests, write
from kineto import event, trace

MAIN, AUTOGRAD = 100, 101


def module(name, begin, length, thread=MAIN):
    return event("python_function", f"nn.Module: {name}", begin, length, tid=thread)


def launched(number, begin, length, thread=MAIN):
    """A kernel of this length, and its launch at the begin."""
    return [event("cuda_runtime", "cudaLaunchKernel", begin, 1, {"correlation": number}, tid=thread),
            {**kineto.KERNEL, "ts": 1000 + begin, "dur": length, "args": {**kineto.KERNEL["args"], "correlation": number}}]


def forward_and_backward():
    return [module("Model_0", 10, 80), module("Layer_0", 15, 20), module("Layer_1", 40, 20), *launched(1, 20, 50),
            *launched(2, 45, 30),
            event("cpu_op", "autograd::engine::evaluate_function: AddmmBackward0", 200, 30, tid=AUTOGRAD),
            *launched(3, 210, 100, AUTOGRAD), *launched(4, 400, 15), launched(5, 500, 5)[1]]


def table(*events):
    """The lines of the table, without its text: (device, own, module)."""
    shown = run("report", "--section", "modules", "--steps", "none", write(trace(*events)))
    assert not shown.returncode, shown.stderr
    found = re.findall(r"^ +(\S+ [nµm]?s) +\S+ % +(\S+ [nµm]?s) +\S+ +(?:–|\S+ [nµm]?s)  (.*)$", shown.stdout, re.M)
    return found, shown.stdout


def test_the_lines_add_up():
    lines, text = table(*forward_and_backward())
    assert lines == [("100 µs", "100 µs", "backward (no module)"), ("80.0 µs", "0 ns", "Model"),
                     ("80.0 µs", "80.0 µs", "  Layer ×2"), ("15.0 µs", "15.0 µs", "(no module)"),
                     ("5.00 µs", "5.00 µs", "(launch not in the trace)")], text
    assert "of 200 µs of work in all" in text, text


def test_backward_without_modules_is_no_tree():
    lines, text = table(*(e for e in forward_and_backward() if e["cat"] != "python_function"))
    assert not lines and "The trace holds no modules." in text, text
    file = write(trace(*(e for e in forward_and_backward() if e["cat"] != "python_function")))
    assert "modules" not in report(file)[0]["devices"][0]
    assert "Modules of the model" not in run("report", "--full", file).stdout


def test_modules_outside_the_steps_are_counted_below():
    events = [module("Check_0", 10, 400), *launched(99, 20, 900)]
    for i in range(1, 7):
        events += [event("user_annotation", f"ProfilerStep#{i}", 3000 * i, 2990), module("Model_0", 3000 * i + 100, 200),
                   *launched(i, 3000 * i + 150, 100)]
    shown = run("report", "--section", "modules", write(trace(*events))).stdout
    assert "per steady step on average" in shown, shown
    assert re.search(r"^ +100 µs +100\.0 % +100 µs +1 +200 µs +Model$", shown, re.M), shown
    assert "Check" not in shown and "1 more module runs only outside the steady steps." in shown, shown


run_tests(globals())
