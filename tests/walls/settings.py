"""The walls: the expected report for each, and the settings in which each is tested. walls.c explains the settings.
Names in capitals are environment variables."""

SMALL = {"layers": 2, "tokens": 1024, "dispatch_ns": 500}  # a step of about 1 ms
LARGE = {"layers": 3, "hidden": 2048}  # a step of about 10 ms
TINY = {"layers": 24, "hidden": 256, "tokens": 128, "vocabulary": 1024, "inference": 1}  # a few hundred short kernels
MANY = {"layers": 8, "hidden": 2048, "tokens": 2048, "dispatch_ns": 500, "steps": 24}  # gradients in eight pieces
WIDE = {"layers": 3, "tokens": 16384, "hidden": 256, "vocabulary": 1024}  # moves much, computes little
DECODING = {"inference": 1, "tokens": 1, "hidden": 8192, "vocabulary": 32768}  # products of a matrix and a vector

# wall: (verdict, causes that the first piece of advice may have, settings)
WALLS = {
    "input": ("overhead", ["input"], [
        {"wait_us": 8000},
        {"wait_us": 12000, "background": 1, "host_jitter": 20, "prefetch": 1},
        {"wait_us": 3000, "busy": 1, "pinned": 0, "batch_bytes": 2000000, **SMALL},
        {"wait_us": 6000, "pinned": 0, "batch_bytes": 4000000, "host_jitter": 15, "device_jitter": 8, "steps": 30},
        {"wait_us": 20000, **LARGE, "steps": 25, "background": 1, "host_jitter": 5},
        {"wait_us": 9000, "eval_every": 12, "steps": 50, "warmup": 5, "seed": 7},
        {"wait_us": 9000, "background": 1, "host_jitter": 70, "layers": 3, "steps": 60, "seed": 11},  # waits that vary
    ]),
    "sync": ("overhead", ["sync"], [
        {"count": 2, "after_us": 160, **SMALL},
        {"count": 1, "after_us": 350, "way": 3, **SMALL, "steps": 60},
        {"count": 4, "after_us": 250, "way": 1, "layers": 4, "tokens": 2048, "dispatch_ns": 1000, "host_jitter": 20},
        {"count": 3, "after_us": 800, "way": 2, "layers": 3, "device_jitter": 8, "prefetch": 1},
        {"count": 2, "after_us": 750, "way": 3, "layers": 2, "eval_every": 15, "steps": 45, "seed": 3},
    ]),
    "launch": ("overhead", ["launch"], [
        {**TINY, "dispatch_ns": 6000},
        {**TINY, "dispatch_ns": 8000, "host_jitter": 20},
        {**TINY, "dispatch_ns": 10000, "layers": 12, "hidden": 384, "steps": 60},
        {**TINY, "dispatch_ns": 7000, "inference": 0, "layers": 6, "device_jitter": 10},
        {**TINY, "dispatch_ns": 9000, "tokens": 256, "layers": 16, "seed": 5, "log_every": 4},
        {"layers": 3, "tokens": 1024, "dispatch_ns": 40000, "steps": 30},  # kernels of 15 µs, and a slower host
    ]),
    "allocation": ("overhead", ["allocation"], [
        {"count": 2, "SIMGPU_ALLOCATE_NS": 200000, **SMALL},
        {"count": 2, "SIMGPU_ALLOCATE_NS": 100000, "bytes": 4194304, "after_us": 50, **SMALL, "steps": 60},
        {"count": 4, "SIMGPU_ALLOCATE_NS": 250000, "layers": 4, "tokens": 2048, "host_jitter": 20},
        {"count": 3, "SIMGPU_ALLOCATE_NS": 400000, "bytes": 134217728, "layers": 3, "device_jitter": 8},
        {"count": 2, "SIMGPU_ALLOCATE_NS": 500000, "layers": 2, "eval_every": 15, "steps": 45, "seed": 3},
        {"count": 2, "way": 1, "SIMGPU_ALLOCATE_NS": 300000, "bytes": 1048576, **SMALL},
        {"count": 1, "way": 2, "SIMGPU_MODULE_NS": 4000000, "layers": 2, "host_jitter": 15},
    ]),
    "communication": ("communication", ["exposed_communication"], [
        {"ranks": 2, **MANY, "SIMGPU_LINK_GB_S": 120},
        {"ranks": 2, **MANY, "SIMGPU_LINK_GB_S": 140, "same_stream": 1, "device_jitter": 6},
        {"ranks": 2, **MANY, "layers": 12, "SIMGPU_LINK_GB_S": 130, "steps": 18},
        {"ranks": 3, **MANY, "SIMGPU_LINK_GB_S": 200, "host_jitter": 20},
        {"ranks": 2, **MANY, "layers": 10, "SIMGPU_LINK_GB_S": 110, "eval_every": 8, "seed": 9},
        # The communication takes too long to be hidden behind computing.
        {"ranks": 3, **MANY, "layers": 11, "SIMGPU_LINK_GB_S": 90, "same_stream": 1, "steps": 18},
        {"ranks": 2, **MANY, "SIMGPU_LINK_GB_S": 30},
    ]),
    "straggler": ("communication", ["straggler"], [
        {"ranks": 2, **MANY, "SIMGPU_LINK_GB_S": 300, "slow_rank": 1, "slow_percent": 50},
        {"ranks": 3, **MANY, "SIMGPU_LINK_GB_S": 450, "slow_rank": 0, "slow_percent": 80},
        {"ranks": 2, **MANY, "SIMGPU_LINK_GB_S": 400, "slow_rank": 1, "slow_us": 22000, "host_jitter": 20},
        {"ranks": 4, **MANY, "SIMGPU_LINK_GB_S": 450, "slow_rank": 2, "slow_percent": 60, "steps": 18},
        {"ranks": 2, **MANY, "layers": 6, "SIMGPU_LINK_GB_S": 300, "slow_rank": 0, "slow_us": 20000, "eval_every": 10,
         "device_jitter": 6},
        {"ranks": 3, **MANY, "layers": 6, "SIMGPU_LINK_GB_S": 300, "slow_rank": 2, "slow_us": 18000, "host_jitter": 60, "seed": 13},
    ]),
    "chain": ("bandwidth", ["fusion"], [
        {"length": 12, **WIDE},
        {"length": 16, **WIDE, "host_jitter": 20, "steps": 30},
        {"length": 10, **WIDE, "tokens": 32768, "hidden": 128, "device_jitter": 8},
        {"length": 14, **WIDE, "layers": 5, "bytes_percent": 75, "steps": 30},
        {"length": 20, **WIDE, "layers": 2, "eval_every": 9, "seed": 4},
    ]),
    "mixed": ("overhead", ["input", "sync"], [  # two walls that overlap in time: removing only one saves less
        {"wait_us": 1500, "count": 2, "after_us": 150, **SMALL},
        {"wait_us": 5000, "count": 2, "after_us": 600, "way": 3, "layers": 3, "host_jitter": 20},
        {"wait_us": 4000, "background": 1, "count": 3, "after_us": 90, "way": 2, **SMALL, "device_jitter": 8},
        {"wait_us": 800, "busy": 1, "pinned": 0, "count": 2, "after_us": 150, **SMALL, "steps": 60},
        {"wait_us": 10000, "count": 2, "after_us": 1400, "way": 1, "eval_every": 15, "seed": 6},
        {"wait_us": 9000, "background": 1, "count": 3, "after_us": 500, "tokens": 2048, "host_jitter": 40, "steps": 60, "seed": 12},
    ]),
    "compute": ("compute", [], [
        {},
        {**LARGE, "steps": 25},
        {"layers": 6, "tokens": 2048, "hidden": 2048, "steps": 25, "host_jitter": 20, "prefetch": 1},
        {"layers": 2, "hidden": 4096, "tokens": 2048, "steps": 20, "device_jitter": 8},
        {"flops_percent": 80, **LARGE, "steps": 30, "eval_every": 10, "seed": 2},
        {"layers": 5, "hidden": 2048, "tokens": 2048, "steps": 30, "log_every": 4, "eval_every": 11, "prefetch": 1},
    ]),
    "bandwidth": ("bandwidth", [], [
        {"table_millions": 300, **SMALL},
        {"table_millions": 500, "layers": 3, "tokens": 2048, "steps": 25, "host_jitter": 20},
        {"table_millions": 800, "steps": 20, "device_jitter": 8, "bytes_percent": 75},
        {**DECODING, "layers": 4, "steps": 30},
        {**DECODING, "hidden": 6144, "layers": 8, "eval_every": 20},
    ]),
}
