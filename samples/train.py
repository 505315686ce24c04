#!/usr/bin/env python3
"""Trains a small residual network on the GPU through ctypes; only the standard library is needed.

It is slow for known reasons, so that a profiler's verdict can be checked. The data loader takes --loader-ms a batch while
the GPU waits. --sync reads the loss back in every step. Without --fused each layer runs bias, GELU and dropout as three
kernels, and each kernel reads the output of the one before. The output of train.py depends only on the options."""
import argparse
import ctypes
import json
import random
import sys
import time
import zlib

from driver import COUNT, REAL, Driver, DriverError, NoDriver

DISTINCT_BATCHES = 4
DROP = 0.1
UNABLE = 77  # exit status if the machine lacks something that the sample needs


class Loader:
    """Returns batches of inputs and targets, after a delay of --loader-ms each."""

    def __init__(self, driver, options):
        source = random.Random(options.seed)
        self.delay = options.loader_ms / 1000
        count = options.batch * options.width
        self.batches = []
        for _ in range(DISTINCT_BATCHES):
            inputs = [source.uniform(-1, 1) for _ in range(count)]
            pair = []
            for values in (inputs, [0.5 * value * value for value in inputs]):
                memory = driver.pinned(count) if options.pinned else (REAL * count)()
                memory[:] = values
                pair.append(memory)
            self.batches.append(pair)

    def __call__(self, step):
        if self.delay:
            time.sleep(self.delay)
        return self.batches[step % len(self.batches)]


class Layer:
    """y = x + dropout(gelu(x · W + b)): its forward and backward pass, as lists of prepared launches."""

    def __init__(self, driver, options, source, inputs):
        rows, width = options.batch, options.width
        count, size = rows * width, width * width
        bound = width ** -0.5
        self.size, self.width = size, width
        self.weights = driver.floats(size, [source.uniform(-bound, bound) for _ in range(size)])
        self.bias = driver.floats(width)
        self.outputs = driver.floats(count)
        self.input_grad = driver.floats(count)
        before, product, active, dropped = (driver.floats(count) for _ in range(4))
        drop_grad, active_grad, product_grad = (driver.floats(count) for _ in range(3))
        weight_grad, bias_grad = driver.floats(size), driver.floats(width)
        n, columns = COUNT(count), COUNT(width)
        self.seed = COUNT(0)
        chance = REAL(DROP)

        self.forward = [driver.product("sgemm", rows, width, width, product, inputs, self.weights)]
        if options.fused:
            self.forward += [driver.pointwise("bias_gelu_dropout", count, dropped, before, product, self.bias, chance,
                                              self.seed, n, columns)]
        else:
            self.forward += [driver.pointwise("bias_add", count, before, product, self.bias, n, columns),
                             driver.pointwise("gelu", count, active, before, n),
                             driver.pointwise("dropout", count, dropped, active, chance, self.seed, n)]
        self.forward += [driver.pointwise("add_residual", count, self.outputs, dropped, inputs, n)]

        def backward(output_grad):
            return [driver.pointwise("dropout", count, drop_grad, output_grad, chance, self.seed, n),
                    driver.pointwise("gelu_grad", count, active_grad, before, drop_grad, n),
                    driver.product("sgemm_tn", width, width, rows, weight_grad, inputs, active_grad),
                    driver.pointwise("bias_grad", width, bias_grad, active_grad, COUNT(rows), columns),
                    driver.product("sgemm_nt", rows, width, width, product_grad, active_grad, self.weights),
                    driver.pointwise("add_residual", count, self.input_grad, product_grad, output_grad, n)]

        self.backward = backward
        rate = REAL(options.rate)
        self.update = [driver.pointwise("sgd_update", size, self.weights, weight_grad, rate, COUNT(size)),
                       driver.pointwise("sgd_update", width, self.bias, bias_grad, rate, COUNT(width))]


def train(driver, options):
    source = random.Random(options.seed + 1)
    count = options.batch * options.width
    inputs, targets, grad, loss = driver.floats(count), driver.floats(count), driver.floats(count), driver.floats(1)
    layers = []
    for _ in range(options.layers):
        layers.append(Layer(driver, options, source, layers[-1].outputs if layers else inputs))
    last, n = layers[-1].outputs, COUNT(count)
    launches = [launch for layer in layers for launch in layer.forward]
    launches += [driver.reduction("mse_loss", loss, last, targets, n),
                 driver.pointwise("mse_grad", count, grad, last, targets, n)]
    output_grad = grad
    for layer in reversed(layers):
        launches += layer.backward(output_grad)
        output_grad = layer.input_grad
    launches += [launch for layer in layers for launch in layer.update]

    loader = Loader(driver, options)
    stream = driver.stream()
    driver.call("cuCtxSynchronize")
    times = []
    for step in range(options.steps):
        began = time.perf_counter_ns()
        for address, values in zip((inputs, targets), loader(step)):
            driver.upload(address, values, stream)
        for number, layer in enumerate(layers):
            layer.seed.value = step * len(layers) + number
        for launch in launches:
            launch(stream)
        if options.sync:
            driver.synchronize(stream)
            value = driver.download(loss, 1)[0]
            if (step + 1) % options.every == 0:
                print(f"step {step + 1} loss {value:.6f}")
        times.append(time.perf_counter_ns() - began)
    driver.synchronize(stream)
    weights = b"".join(bytes(driver.download(layer.weights, layer.size)) for layer in layers)
    print(f"loss {driver.download(loss, 1)[0]:.6f} weights {zlib.crc32(weights):08x}")
    if options.timing:
        times.sort()
        print(json.dumps({"device": driver.name, "steps": options.steps, "median_step_ns": times[len(times) // 2],
                          "launches_per_step": len(launches)}), file=sys.stderr)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--width", type=int, default=64, help="size of every layer")
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--rate", type=float, default=5.0, help="learning rate")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--loader-ms", type=float, default=0, metavar="MS", help="time the data loader takes a batch")
    parser.add_argument("--sync", action="store_true", help="read the loss back in every step")
    parser.add_argument("--every", type=int, default=10, metavar="N", help="with --sync: print it every N steps")
    parser.add_argument("--fused", action="store_true", help="bias, GELU and dropout in one kernel")
    parser.add_argument("--pinned", action="store_true", help="batches in page-locked memory")
    parser.add_argument("--device", type=int, default=0)
    parser.add_argument("--timing", action="store_true", help="the median step time, as JSON on stderr")
    options = parser.parse_args()
    if min(options.steps, options.batch, options.width, options.layers, options.every) < 1:
        parser.error("counts must be positive")
    try:
        driver = Driver(options.device)
        train(driver, options)
        driver.close()
    except DriverError as error:
        print(f"train.py: {error}", file=sys.stderr)
        return UNABLE if isinstance(error, NoDriver) else 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
