/* Tests of the simulated device's memory: how much there is, and the functions that allocate and map it. */
#include "simgpu.h"

static void memory_runs_out_and_comes_back(void **state)
{
    (void)state;
    size_t total, left, before;
    ws_CUdeviceptr pointer;
    succeeds(cuMemGetInfo_v2(&before, &total));
    fails(cuMemAlloc_v2(&pointer, total + 1), OUT_OF_MEMORY);
    fails(cuMemAlloc_v2(&pointer, 0), INVALID_VALUE);
    succeeds(cuMemAlloc_v2(&pointer, 64 << 20));
    succeeds(cuMemGetInfo_v2(&left, &total));
    assert_int_equal(before - left, 64 << 20);
    unsigned type;
    succeeds(cuPointerGetAttribute(&type, WS_CU_POINTER_ATTRIBUTE_MEMORY_TYPE, pointer + 5));
    assert_int_equal(type, WS_CU_MEMORYTYPE_DEVICE);
    char byte = 1;
    fails(cuMemcpyHtoD_v2(pointer + (64 << 20) - 1, &byte, 2), INVALID_VALUE);
    succeeds(cuMemFree_v2(pointer));
    fails(cuMemFree_v2(pointer), INVALID_VALUE);
    fails(cuPointerGetAttribute(&type, WS_CU_POINTER_ATTRIBUTE_MEMORY_TYPE, pointer), INVALID_VALUE);
    succeeds(cuMemGetInfo_v2(&left, &total));
    assert_int_equal(before, left);
}

static void memory_in_stream_order_and_by_hand(void **state)
{
    const struct simgpu_fixture *fixture = *state;
    ws_CUdeviceptr pointer, reserved;
    size_t bytes = 4 << 20, before, left, total;
    unsigned value;
    succeeds(cuMemGetInfo_v2(&before, &total));
    succeeds(cuMemAllocAsync(&pointer, bytes, fixture->stream));
    succeeds(cuMemsetD32Async(pointer, 7, bytes / 4, fixture->stream));
    succeeds(cuMemcpyDtoHAsync_v2(&value, pointer + bytes - 4, 4, fixture->stream));
    assert_int_equal(value, 7);
    succeeds(cuMemFreeAsync(pointer, fixture->stream));
    succeeds(cuStreamSynchronize(fixture->stream));
    succeeds(cuMemGetInfo_v2(&left, &total));
    assert_int_equal(before, left);

    ws_CUmemGenericAllocationHandle handle;
    ws_CUmemAllocationProp properties = { .type = WS_CU_MEM_ALLOCATION_TYPE_PINNED };
    properties.location.type = WS_CU_MEM_LOCATION_TYPE_DEVICE;
    ws_CUmemAccessDesc access = { properties.location, 3 };
    succeeds(cuMemAddressReserve(&reserved, 2 * bytes, 0, 0, 0));
    succeeds(cuMemCreate(&handle, bytes, &properties, 0));
    succeeds(cuMemMap(reserved, bytes, 0, handle, 0));
    succeeds(cuMemMap(reserved + bytes, bytes, 0, handle, 0));
    succeeds(cuMemSetAccess(reserved, bytes, &access, 1));
    succeeds(cuMemsetD32_v2(reserved, 11, bytes / 4));
    succeeds(cuMemcpyDtoH_v2(&value, reserved + bytes, 4)); /* the same memory, mapped at a second address */
    assert_int_equal(value, 11);
    succeeds(cuMemUnmap(reserved, bytes));
    succeeds(cuMemUnmap(reserved + bytes, bytes));
    succeeds(cuMemRelease(handle));
    succeeds(cuMemAddressFree(reserved, 2 * bytes));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, simgpu_setup, simgpu_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(memory_runs_out_and_comes_back),
        TEST(memory_in_stream_order_and_by_hand),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
