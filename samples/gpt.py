#!/usr/bin/env python3
"""Trains a small GPT with PyTorch on text it makes up itself; needs PyTorch and a GPU.

The model runs eagerly by default. --compile compiles it, --graph captures the whole step into a CUDA graph. --profile
runs the training under torch.profiler and writes the kernels' times as JSON. scripts/gpu-verify compares these times with
those of a wallshim trace.
"""
import argparse
import json
import sys
import time

UNABLE = 77  # exit status if the machine lacks something that the sample needs

try:
    import torch
    from torch import nn
    from torch.nn import functional
except ImportError:
    print("gpt.py: PyTorch is not installed", file=sys.stderr)
    sys.exit(UNABLE)


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm_1, self.norm_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.mix, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.wide, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        batch, length, width = x.shape
        parts = self.mix(self.norm_1(x)).view(batch, length, 3, self.heads, width // self.heads)
        query, key, value = parts.permute(2, 0, 3, 1, 4)
        attended = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        x = x + self.out(attended.transpose(1, 2).reshape(batch, length, width))
        return x + self.narrow(functional.gelu(self.wide(self.norm_2(x))))


class Model(nn.Module):
    def __init__(self, options):
        super().__init__()
        self.tokens = nn.Embedding(options.words, options.width)
        self.places = nn.Parameter(torch.randn(options.length, options.width) * 0.02)
        self.blocks = nn.Sequential(*[Block(options.width, options.heads) for _ in range(options.layers)])
        self.norm = nn.LayerNorm(options.width)
        self.head = nn.Linear(options.width, options.words, bias=False)

    def forward(self, ids):
        return self.head(self.norm(self.blocks(self.tokens(ids) + self.places)))


class Training:
    def __init__(self, options):
        torch.manual_seed(options.seed)
        self.options = options
        self.model = Model(options).cuda()
        self.forward = torch.compile(self.model) if options.compile else self.model
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=3e-4, capturable=options.graph)
        shape = (options.batch, options.length + 1)
        self.data = [torch.randint(options.words, shape).pin_memory() for _ in range(4)]
        self.ids = torch.zeros(shape, dtype=torch.long, device="cuda")
        self.loss = None
        self.graph = None

    def work(self):
        with torch.autocast("cuda", dtype=torch.bfloat16):
            logits = self.forward(self.ids[:, :-1])
            loss = functional.cross_entropy(logits.flatten(0, 1), self.ids[:, 1:].flatten())
        loss.backward()
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=not self.options.graph)
        return loss

    def capture(self):
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(3):
                self.work()
        torch.cuda.current_stream().wait_stream(stream)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.loss = self.work()

    def step(self, number):
        time.sleep(self.options.loader_ms / 1000)
        self.ids.copy_(self.data[number % len(self.data)], non_blocking=True)
        if self.graph:
            self.graph.replay()
        else:
            self.loss = self.work().detach()
        if self.options.sync:
            self.loss.item()


def run(training, options):
    times = []
    for number in range(options.steps):
        began = time.perf_counter_ns()
        training.step(number)
        times.append(time.perf_counter_ns() - began)
    torch.cuda.synchronize()
    return times


def profiled(training, options):
    """Runs the steps under torch.profiler. Returns the steps' times in ns and {kernel name: [count, total ns]}."""
    activities = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
    with torch.profiler.profile(activities=activities) as profile:
        times = run(training, options)
    kernels = {}
    for event in profile.events():
        if event.device_type == torch.autograd.DeviceType.CUDA:
            row = kernels.setdefault(event.name, [0, 0])
            row[0] += 1
            row[1] += round(event.time_range.elapsed_us() * 1000)
    return times, kernels


def read_options(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--warm-up", type=int, default=10, help="steps before those that are timed")
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--length", type=int, default=256)
    parser.add_argument("--width", type=int, default=384)
    parser.add_argument("--heads", type=int, default=6)
    parser.add_argument("--layers", type=int, default=6)
    parser.add_argument("--words", type=int, default=8192)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--loader-ms", type=float, default=0)
    parser.add_argument("--sync", action="store_true", help="read the loss back in every step")
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--graph", action="store_true")
    parser.add_argument("--profile", metavar="FILE", help="run under torch.profiler; kernel times into FILE")
    parser.add_argument("--timing", action="store_true", help="step times, as JSON on stderr")
    return parser.parse_args(arguments)


def main():
    options = read_options()
    if not torch.cuda.is_available():
        print("gpt.py: PyTorch finds no GPU", file=sys.stderr)
        return UNABLE

    training = Training(options)
    if options.graph:
        training.capture()
    for number in range(options.warm_up):
        training.step(number)
    torch.cuda.synchronize()
    began = time.perf_counter_ns()
    if options.profile:
        times, kernels = profiled(training, options)
        with open(options.profile, "w", encoding="utf-8") as file:
            json.dump(kernels, file)
    else:
        times = run(training, options)
    elapsed = time.perf_counter_ns() - began
    print(f"loss {training.loss.item():.4f}")
    if options.timing:
        times.sort()
        print(json.dumps({"device": torch.cuda.get_device_name(), "steps": options.steps,
                          "median_step_ns": times[len(times) // 2], "mean_step_ns": elapsed // options.steps}),
              file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
