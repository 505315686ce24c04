#!/usr/bin/env python3
"""An inference loop with PyTorch: one token a step through a small network, launched kernel by kernel or, with --graph,
as one CUDA graph a step; needs PyTorch and a GPU. Launches limit its speed without --graph, but not with --graph.
"""
import argparse
import json
import sys
import time

UNABLE = 77  # exit status if the machine lacks something that the sample needs

try:
    import torch
    from torch import nn
except ImportError:
    print("infer_graph.py: PyTorch is not installed", file=sys.stderr)
    sys.exit(UNABLE)


class Decoder(nn.Module):
    """Predicts the next token from the last token and a running state."""

    def __init__(self, words, width, layers):
        super().__init__()
        self.tokens = nn.Embedding(words, width)
        self.layers = nn.ModuleList(
            nn.Sequential(nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))
            for _ in range(layers))
        self.head = nn.Linear(width, words)

    def forward(self, ids, state):
        x = self.tokens(ids) + state
        for layer in self.layers:
            x = x + layer(x)
        state.copy_(torch.tanh(x))
        ids.copy_(self.head(x).argmax(-1))


@torch.inference_mode()
def decode(options):
    torch.manual_seed(options.seed)
    model = Decoder(options.words, options.width, options.layers).cuda().half().eval()
    ids = torch.zeros(options.batch, dtype=torch.long, device="cuda")
    state = torch.zeros(options.batch, options.width, dtype=torch.half, device="cuda")

    def work():
        model(ids, state)

    step = work
    if options.graph:
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(3):
                work()
        torch.cuda.current_stream().wait_stream(stream)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            work()
        step = graph.replay
    else:
        for _ in range(3):
            work()
    ids.zero_()
    state.zero_()
    torch.cuda.synchronize()

    checksum, times = 0, []
    for _ in range(options.steps):
        began = time.perf_counter_ns()
        step()
        if options.sync:
            checksum = (checksum * 31 + ids.sum().item()) % (1 << 32)
        times.append(time.perf_counter_ns() - began)
    torch.cuda.synchronize()
    checksum = (checksum * 31 + ids.sum().item()) % (1 << 32)
    return checksum, sorted(times)


def main():
    parser = argparse.ArgumentParser(description=" ".join(__doc__.split()))
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--width", type=int, default=512)
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--words", type=int, default=8192)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--graph", action="store_true", help="a CUDA graph a step")
    parser.add_argument("--sync", action="store_true", help="read every token back")
    parser.add_argument("--timing", action="store_true", help="step times, as JSON on stderr")
    options = parser.parse_args()
    if not torch.cuda.is_available():
        print("infer_graph.py: PyTorch finds no GPU", file=sys.stderr)
        return UNABLE
    checksum, times = decode(options)
    print(f"tokens {checksum:08x}")
    if options.timing:
        print(json.dumps({"device": torch.cuda.get_device_name(), "steps": options.steps,
                          "median_step_ns": times[len(times) // 2]}), file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
