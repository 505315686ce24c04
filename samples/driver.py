"""Calls the CUDA driver through ctypes. Has the few calls that the samples need; errors raise DriverError."""
import ctypes
import os

KERNELS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "kernels.ptx")
STREAM_NON_BLOCKING = 1

POINTER = ctypes.c_uint64
COUNT = ctypes.c_uint32
REAL = ctypes.c_float


class DriverError(Exception):
    pass


class NoDriver(DriverError):
    """The machine has no CUDA driver, or no device that the driver can use."""


class Driver:
    """A context on one device, and the kernels of kernels.ptx in it."""

    def __init__(self, device=0):
        try:
            self.library = ctypes.CDLL("libcuda.so.1")
        except OSError as error:
            raise NoDriver(f"no CUDA driver: {error}") from None
        try:
            self.call("cuInit", ctypes.c_uint(0))
        except DriverError as error:
            raise NoDriver(error) from None
        self.device = ctypes.c_int()
        self.call("cuDeviceGet", ctypes.byref(self.device), ctypes.c_int(device))
        name = ctypes.create_string_buffer(256)
        self.call("cuDeviceGetName", name, ctypes.c_int(len(name)), self.device)
        self.name = name.value.decode()
        self.context = ctypes.c_void_p()
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(self.context), self.device)
        self.call("cuCtxSetCurrent", self.context)
        with open(KERNELS, "rb") as file:
            image = ctypes.create_string_buffer(file.read())
        self.module = ctypes.c_void_p()
        self.call("cuModuleLoadData", ctypes.byref(self.module), image)
        self.launch = self.library.cuLaunchKernel
        self.launch.argtypes = [ctypes.c_void_p] + [ctypes.c_uint] * 7 + [ctypes.c_void_p] * 3

    def call(self, name, *arguments):
        self.check(getattr(self.library, name)(*arguments), name)

    def check(self, status, name):
        if status:
            text = ctypes.c_char_p()
            self.library.cuGetErrorName(ctypes.c_int(status), ctypes.byref(text))
            raise DriverError(f"{name}: {text.value.decode() if text.value else status}")

    def stream(self, flags=STREAM_NON_BLOCKING):
        stream = ctypes.c_void_p()
        self.call("cuStreamCreate", ctypes.byref(stream), ctypes.c_uint(flags))
        return stream

    def synchronize(self, stream):
        self.call("cuStreamSynchronize", stream)

    def floats(self, count, values=None):
        """Device memory for count floats, filled with values or zeroes."""
        address = POINTER()
        self.call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(4 * count))
        if values is None:
            self.call("cuMemsetD32_v2", address, ctypes.c_uint(0), ctypes.c_size_t(count))
        else:
            self.call("cuMemcpyHtoD_v2", address, (REAL * count)(*values), ctypes.c_size_t(4 * count))
        return address

    def pinned(self, count):
        """Page-locked host memory for count floats."""
        address = ctypes.c_void_p()
        self.call("cuMemAllocHost_v2", ctypes.byref(address), ctypes.c_size_t(4 * count))
        return (REAL * count).from_address(address.value)

    def upload(self, address, values, stream):
        self.call("cuMemcpyHtoDAsync_v2", address, values, ctypes.c_size_t(ctypes.sizeof(values)), stream)

    def download(self, address, count):
        values = (REAL * count)()
        self.call("cuMemcpyDtoH_v2", values, address, ctypes.c_size_t(4 * count))
        return values

    def kernel(self, name, grid, block, *arguments):
        """Prepares a launch. Returns a function that launches the kernel into a given stream."""
        function = ctypes.c_void_p()
        self.call("cuModuleGetFunction", ctypes.byref(function), self.module, name.encode())
        pointers = (ctypes.c_void_p * len(arguments))(*[ctypes.addressof(argument) for argument in arguments])

        def run(stream, keep=arguments):
            status = self.launch(function, *grid, *block, 0, stream, pointers, None)
            if status:
                self.check(status, f"cuLaunchKernel({name})")

        return run

    def pointwise(self, name, count, *arguments):
        return self.kernel(name, ((count + 255) // 256, 1, 1), (256, 1, 1), *arguments)

    def product(self, name, m, n, k, *arguments):
        grid = ((n + 15) // 16, (m + 15) // 16, 1)
        return self.kernel(name, grid, (16, 16, 1), *arguments, COUNT(m), COUNT(n), COUNT(k))

    def reduction(self, name, *arguments):
        return self.kernel(name, (1, 1, 1), (256, 1, 1), *arguments)

    def close(self):
        self.call("cuDevicePrimaryCtxRelease_v2", self.device)
