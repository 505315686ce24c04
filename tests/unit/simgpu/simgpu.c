#include "simgpu.h"

const char simgpu_ptx[] =
    "// what the tests launch\n"
    ".version 8.0\n.target sm_80\n.address_size 64\n"
    ".visible .global .align 4 .b8 table[64];\n"
    ".visible .entry spin(.param .u64 spin_param_0)\n{\n\tret;\n}\n"
    ".visible .entry fill_f32(.param .u64 a, .param .f32 b, .param .u32 c)\n{ ret; }\n"
    ".visible .entry vector_add(.param .u64 a, .param .u64 b, .param .u64 c, .param .u32 d)\n{ ret; }\n"
    ".visible .entry saxpy(.param .u64 a, .param .u64 b, .param .f32 c, .param .u32 d)\n{ ret; }\n"
    ".visible .entry illegal_address()\n{ ret; }\n"
    ".visible .entry own_kernel(.param .u64 a, .param .u32 b)\n{ ret; }\n"
    ".visible .entry unknown(\n  .param .align 8 .b8 block[24],\n  .param .u8 c, .param .u64 .ptr .global .align 16 "
    "d)\n"
    "{ .reg .b32 %r<2>; ret; }\n";

int simgpu_setup(void **state)
{
    static struct simgpu_fixture fixture;
    succeeds(cuInit(0));
    succeeds(cuCtxCreate_v2(&fixture.context, 0, 0));
    succeeds(cuModuleLoadData(&fixture.module, simgpu_ptx));
    succeeds(cuStreamCreate(&fixture.stream, WS_CU_STREAM_NON_BLOCKING));
    succeeds(cuStreamCreate(&fixture.other, WS_CU_STREAM_NON_BLOCKING));
    succeeds(cuMemAllocHost_v2((void **)&fixture.gate, sizeof(*fixture.gate)));
    *fixture.gate = 0;
    *state = &fixture;
    return 0;
}

int simgpu_teardown(void **state)
{
    struct simgpu_fixture *fixture = *state;
    simgpu_release(fixture); /* a test that failed may have left the streams held */
    succeeds(cuCtxDestroy_v2(fixture->context));
    return 0;
}

ws_CUfunction simgpu_function(const struct simgpu_fixture *fixture, const char *name)
{
    ws_CUfunction function;
    succeeds(cuModuleGetFunction(&function, fixture->module, name));
    return function;
}

void simgpu_spin(const struct simgpu_fixture *fixture, ws_CUstream stream, uint64_t ns)
{
    void *parameters[] = { &ns };
    succeeds(cuLaunchKernel(simgpu_function(fixture, "spin"), 1, 1, 1, 1, 1, 1, 0, stream, parameters, NULL));
}

void simgpu_hold(const struct simgpu_fixture *fixture, ws_CUstream stream)
{
    __atomic_store_n(fixture->gate, 0, __ATOMIC_SEQ_CST);
    succeeds(cuStreamWaitValue32_v2(stream, (ws_CUdeviceptr)fixture->gate, 1, 1));
}

void simgpu_release(const struct simgpu_fixture *fixture)
{
    __atomic_store_n(fixture->gate, 1, __ATOMIC_SEQ_CST);
}
