/* Tests of how functions of the simulated driver are found, for several values of SIMGPU_DRIVER_VERSION. */
#include <dlfcn.h>

#include "simgpu.h"

static int driver_version;

static const struct look_up {
    const char *name;
    int version;
    uint64_t flags;
    const char *symbol; /* the symbol whose address must be found; NULL: none */
    int status, since;  /* the expected status; the first driver version with the symbol */
} look_ups[] = {
    { "cuMemAlloc", 3010, 0, "cuMemAlloc", 0, 0 },
    { "cuMemAlloc", 3020, 0, "cuMemAlloc_v2", 0, 0 },
    { "cuMemAlloc", 99000, 0, "cuMemAlloc_v2", 0, 0 },
    { "cuMemAlloc", 12000, 2, "cuMemAlloc_v2", 0, 0 },
    { "cuMemcpyHtoD", 3020, 2, "cuMemcpyHtoD_v2", 0, 0 },
    { "cuMemcpyHtoD", 7000, 2, "cuMemcpyHtoD_v2_ptds", 0, 0 },
    { "cuMemcpyHtoDAsync", 7000, 2, "cuMemcpyHtoDAsync_v2_ptsz", 0, 0 },
    { "cuLaunchKernel", 4000, 0, "cuLaunchKernel", 0, 0 },
    { "cuLaunchKernel", 7000, 1, "cuLaunchKernel", 0, 0 },
    { "cuLaunchKernel", 7000, 2, "cuLaunchKernel_ptsz", 0, 0 },
    { "cuLaunchKernel", 3000, 0, NULL, WS_CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT, 0 },
    { "cuGetProcAddress", 11030, 0, "cuGetProcAddress", 0, 0 },
    { "cuGetProcAddress", 12000, 0, "cuGetProcAddress_v2", 0, 12000 },
    { "cuFuncGetName", 12030, 0, "cuFuncGetName", 0, 12030 },
    { "cuCtxSynchronize", 13000, 0, "cuCtxSynchronize_v2", 0, 13000 },
    { "cuCtxSynchronize", 12000, 0, "cuCtxSynchronize", 0, 0 },
    { "cuMemAlloc_v2", 12000, 0, NULL, WS_CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND, 0 },
    { "cuLaunchKernel_ptsz", 12000, 0, NULL, WS_CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND, 0 },
    { "cuNothing", 12000, 0, NULL, WS_CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND, 0 },
    { "", 0, 0, NULL, WS_CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND, 0 },
};

static void every_look_up_gives_the_symbol_of_its_version(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(look_ups) / sizeof(look_ups[0]); i++) {
        const struct look_up *one = &look_ups[i];
        void *found = &found;
        int status = -1;
        ws_CUresult result = cuGetProcAddress_v2(one->name, &found, one->version, one->flags, &status);
        if (one->since > driver_version) {
            /* This driver version is older than the symbol: an earlier symbol of the same name is found, or none. */
            assert_true(!found || found != dlsym(RTLD_DEFAULT, one->symbol));
            continue;
        }
        assert_int_equal(result, one->symbol ? WS_CUDA_SUCCESS : WS_CUDA_ERROR_NOT_FOUND);
        assert_int_equal(status, one->status);
        assert_ptr_equal(found, one->symbol ? dlsym(RTLD_DEFAULT, one->symbol) : NULL);
        void *again = &again;
        assert_int_equal(cuGetProcAddress(one->name, &again, one->version, one->flags), result);
        assert_ptr_equal(again, found);
    }
}

static void newer_functions_refuse_to_work(void **state)
{
    (void)state;
    const char *name;
    ws_CUmodule module;
    ws_CUfunction function;
    ws_CUcontext context;
    succeeds(cuInit(0));
    succeeds(cuCtxCreate_v2(&context, 0, 0));
    succeeds(cuModuleLoadData(&module, simgpu_ptx));
    succeeds(cuModuleGetFunction(&function, module, "spin"));
    assert_int_equal(cuFuncGetName(&name, function),
                     driver_version >= 12030 ? WS_CUDA_SUCCESS : WS_CUDA_ERROR_NOT_SUPPORTED);
    succeeds(cuCtxDestroy_v2(context));
}

/* numba and other programs look up a name with _v2 first, and call it with the arguments of the function without _v2.
 * The added argument is then whatever its register holds. Drivers before CUDA 13.0 do not have these names. */
static void old_clients_find_names_that_are_newer(void **state)
{
    (void)state;
    ws_CUresult (*get_device)(int *, const void *), (*synchronize)(const void *);
    *(void **)&get_device = dlsym(RTLD_DEFAULT, "cuCtxGetDevice_v2");
    *(void **)&synchronize = dlsym(RTLD_DEFAULT, "cuCtxSynchronize_v2");
    static const char chance[4096];
    const void *const chances[] = { NULL, (void *)1, (void *)0x7ffffffffff0, chance };
    int device = -1;
    ws_CUcontext context;
    succeeds(cuInit(0));
    succeeds(cuCtxCreate_v2(&context, 0, 0));
    for (size_t i = 0; i < sizeof(chances) / sizeof(chances[0]); i++) {
        device = -1;
        succeeds(get_device(&device, chances[i]));
        assert_int_equal(device, 0);
        succeeds(synchronize(chances[i]));
    }
    succeeds(cuCtxPopCurrent_v2(&context));
    fails(get_device(&device, chance), INVALID_CONTEXT);
    fails(synchronize(chance), INVALID_CONTEXT);
    /* A driver that has the added argument accepts any valid context there, even if it is not current. */
    if (driver_version >= 13000) {
        succeeds(get_device(&device, context));
        succeeds(synchronize(context));
    }
    succeeds(cuCtxDestroy_v2(context));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_look_up_gives_the_symbol_of_its_version),
        cmocka_unit_test(newer_functions_refuse_to_work),
        cmocka_unit_test(old_clients_find_names_that_are_newer),
    };
    if (cuDriverGetVersion(&driver_version) != WS_CUDA_SUCCESS)
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
