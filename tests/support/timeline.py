"""Kineto traces for tests of verdicts: a test says when the host called and when the device worked. Times are in µs."""
from kineto import event, trace

H100 = {"id": 0, "name": "NVIDIA H100 80GB HBM3", "totalGlobalMem": 85028175872, "computeMajor": 9, "computeMinor": 0,
        "numSms": 132}
GEMM = "nvjet_tst_128x256_64x4_1x2_h_bz_coopA_TNT"
ADD = "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float> >()"
ADAM = "void at::native::multi_tensor_apply_kernel<at::native::FusedAdamMathFunctor<float> >()"


class Timeline:
    """A trace that grows. Each call has a correlation id of its own, in the order in which the test adds the calls. An
    operation on the device has the id of the call that launched it."""

    def __init__(self, first_id=1000):
        self.events, self.number = [], first_id

    def range(self, name, begin, length, category="user_annotation", arguments=None):
        self.events.append(event(category, name, begin, length, arguments))

    def call(self, name, begin, length):
        """Adds a call, but no operation on the device."""
        self.number += 1
        self.events.append(event("cuda_runtime", name, begin, length, {"correlation": self.number}))

    def kernel(self, begin, length, launch=None, took=5, name=GEMM, stream=7, function="cudaLaunchKernel", category="kernel",
               **arguments):
        """Adds a kernel or copy, and the call that launched it at time `launch`. None: adds no call; the kernel has the id of
        the latest call."""
        if launch is not None:
            self.call(function, launch, took)
        arguments = {"device": 0, "context": 1, "stream": stream, "correlation": self.number, **arguments}
        self.events.append(event(category, name, begin, length, arguments, pid=0, tid=stream))

    def from_before(self, number, begin, length, stream=7):
        """Adds a kernel that was launched before the recording began: its id is smaller than those of all calls."""
        arguments = {"device": 0, "context": 1, "stream": stream, "correlation": number}
        self.events.append(event("kernel", GEMM, begin, length, arguments, pid=0, tid=stream))

    def copy(self, begin, length, launch, kind, size, took=5):
        """Adds a copy. kind: its direction and kinds of memory, such as "HtoD (Pinned -> Device)"."""
        self.kernel(begin, length, launch, took, f"Memcpy {kind}", 7, "cudaMemcpyAsync", "gpu_memcpy", bytes=size)

    def product(self, begin, length, launch, left, right, operator="aten::mm", name=GEMM):
        """A kernel that an operator launched, with the sizes of its inputs."""
        self.range(operator, launch - 2, 10, "cpu_op",
                   {"Input type": ["c10::BFloat16"] * 2, "Input Dims": [list(left), list(right)]})
        self.kernel(begin, length, launch, name=name)

    def step(self, number, begin, length):
        self.range(f"ProfilerStep#{number}", begin, length)

    def trace(self, device=None, **others):
        return trace(*self.events, deviceProperties=[device or H100], **others)
