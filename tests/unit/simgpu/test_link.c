/* Tests of images that are linked at run time by cuLink*, called as hashcat and numba call it. */
#include <unistd.h>

#include "simgpu.h"

enum { CUBIN, PTX, FATBIN, OBJECT, LIBRARY };
enum { INFO_LOG = 3, INFO_LOG_BYTES, ERROR_LOG, ERROR_LOG_BYTES };

static const char first[] = ".version 8.0\n.target sm_80\n"
                            ".visible .global .align 4 .b8 table[40];\n"
                            ".visible .entry scale(.param .u64 a, .param .u32 b) { ret; }\n";
static const char second[] = ".version 8.0\n.target sm_80\n"
                             ".extern .global .align 4 .b8 table[40];\n"
                             ".visible .const .align 4 .b8 other[8];\n"
                             ".visible .entry fill_f32(.param .u64 a, .param .f32 b, .param .u32 c) { ret; }\n"
                             ".visible .entry nothing() { ret; }\n";

static ws_CUlinkState begin(void)
{
    ws_CUlinkState state;
    succeeds(cuLinkCreate_v2(0, NULL, NULL, &state));
    return state;
}

static void add_ptx(ws_CUlinkState state, const char *ptx)
{
    succeeds(cuLinkAddData_v2(state, PTX, (void *)ptx, strlen(ptx) + 1, "a part", 0, NULL, NULL));
}

static void has_function(ws_CUmodule module, const char *name, unsigned parameters, size_t last_offset,
                         size_t last_size)
{
    ws_CUfunction function;
    size_t offset, size;
    succeeds(cuModuleGetFunction(&function, module, name));
    if (parameters) {
        succeeds(cuFuncGetParamInfo(function, parameters - 1, &offset, &size));
        assert_int_equal(offset, last_offset);
        assert_int_equal(size, last_size);
    }
    fails(cuFuncGetParamInfo(function, parameters, &offset, &size), INVALID_VALUE);
}

static void has_global(ws_CUmodule module, const char *name, size_t wanted)
{
    ws_CUdeviceptr address;
    size_t bytes;
    succeeds(cuModuleGetGlobal_v2(&address, &bytes, module, name));
    assert_int_equal(bytes, wanted);
}

static void holds_both_parts(const void *image)
{
    ws_CUmodule module;
    succeeds(cuModuleLoadData(&module, image));
    has_function(module, "scale", 2, 8, 4);
    has_function(module, "fill_f32", 3, 12, 4);
    has_function(module, "nothing", 0, 0, 0);
    has_global(module, "table", 40);
    has_global(module, "other", 8);
    succeeds(cuModuleUnload(module));
}

static void two_parts_make_one_image(void **state)
{
    (void)state;
    ws_CUlinkState link = begin();
    void *image;
    size_t bytes;
    add_ptx(link, first);
    add_ptx(link, second);
    succeeds(cuLinkComplete(link, &image, &bytes));
    holds_both_parts(image);
    /* Like hashcat, copies the image's bytes and uses the copy after the linker is destroyed. */
    void *kept = malloc(bytes);
    assert_non_null(kept);
    memcpy(kept, image, bytes);
    succeeds(cuLinkDestroy(link));
    holds_both_parts(kept);
    /* A linked image can be given to a linker again. */
    link = begin();
    succeeds(cuLinkAddData_v2(link, CUBIN, kept, bytes, NULL, 0, NULL, NULL));
    succeeds(cuLinkComplete(link, &image, NULL));
    holds_both_parts(image);
    succeeds(cuLinkDestroy(link));
    free(kept);
}

static void what_was_linked_computes(void **state)
{
    const struct simgpu_fixture *fixture = *state;
    ws_CUlinkState link = begin();
    ws_CUmodule module;
    ws_CUfunction function;
    ws_CUdeviceptr memory;
    void *image;
    float value = 5, found[16];
    unsigned count = 16;
    void *parameters[] = { &memory, &value, &count };
    add_ptx(link, second);
    succeeds(cuLinkComplete(link, &image, NULL));
    succeeds(cuModuleLoadData(&module, image));
    succeeds(cuLinkDestroy(link));
    succeeds(cuModuleGetFunction(&function, module, "fill_f32"));
    succeeds(cuMemAlloc_v2(&memory, sizeof(found)));
    succeeds(cuLaunchKernel(function, 1, 1, 1, 16, 1, 1, 0, fixture->stream, parameters, NULL));
    succeeds(cuStreamSynchronize(fixture->stream));
    succeeds(cuMemcpyDtoH_v2(found, memory, sizeof(found)));
    for (unsigned i = 0; i < count; i++)
        assert_true(found[i] == 5);
}

static void files_are_parts_too(void **state)
{
    (void)state;
    char path[] = "/tmp/simgpu_link_XXXXXX";
    void *image;
    int file = mkstemp(path);
    assert_true(file >= 0);
    assert_int_equal(write(file, first, sizeof(first) - 1), sizeof(first) - 1);
    close(file);
    ws_CUlinkState link = begin();
    succeeds(cuLinkAddFile_v2(link, PTX, path, 0, NULL, NULL));
    unlink(path);
    fails(cuLinkAddFile_v2(link, PTX, path, 0, NULL, NULL), FILE_NOT_FOUND);
    add_ptx(link, second);
    succeeds(cuLinkComplete(link, &image, NULL));
    holds_both_parts(image);
    succeeds(cuLinkDestroy(link));
}

/* CUDA 5.5 has these functions without the suffix _v2. dlsym still finds them by the names without it. */
static void the_first_names_do_the_same(void **state)
{
    (void)state;
    ws_CUlinkState link;
    void *image;
    size_t bytes;
    succeeds(cuLinkCreate(0, NULL, NULL, &link));
    succeeds(cuLinkAddData(link, PTX, (void *)first, sizeof(first), "first", 0, NULL, NULL));
    succeeds(cuLinkAddData(link, PTX, (void *)second, sizeof(second), "second", 0, NULL, NULL));
    succeeds(cuLinkComplete(link, &image, &bytes));
    holds_both_parts(image);
    succeeds(cuLinkDestroy(link));
}

/* If the text's size is given, the text need not end with a 0 byte. */
static void a_size_is_believed(void **state)
{
    (void)state;
    char text[sizeof(first) + 64];
    void *image;
    memset(text, '(', sizeof(text));
    memcpy(text, first, sizeof(first) - 1);
    ws_CUlinkState link = begin();
    succeeds(cuLinkAddData_v2(link, PTX, text, sizeof(first) - 1, NULL, 0, NULL, NULL));
    add_ptx(link, second);
    succeeds(cuLinkComplete(link, &image, NULL));
    holds_both_parts(image);
    succeeds(cuLinkDestroy(link));
}

static void logs_are_ended_and_counted(void **state)
{
    (void)state;
    char info[64], error[64];
    int options[] = { INFO_LOG, INFO_LOG_BYTES, ERROR_LOG, ERROR_LOG_BYTES };
    void *values[] = { info, (void *)sizeof(info), error, (void *)sizeof(error) };
    ws_CUlinkState link;
    void *image;
    memset(info, 'x', sizeof(info));
    memset(error, 'x', sizeof(error));
    succeeds(cuLinkCreate_v2(4, options, values, &link));
    fails(cuLinkAddData_v2(link, PTX, (void *)"no such thing", 14, "broken", 0, NULL, NULL), INVALID_PTX);
    assert_int_equal((size_t)values[3], strlen(error));
    assert_true(strlen(error) > 0 && strlen(error) < sizeof(error));
    add_ptx(link, first);
    succeeds(cuLinkComplete(link, &image, NULL));
    assert_int_equal((size_t)values[1], strlen(info));
    succeeds(cuLinkDestroy(link));
}

static void misuse_is_refused(void **state)
{
    (void)state;
    static char nonsense[256] = "nonsense";
    ws_CUlinkState link = begin();
    void *image;
    ws_CUcontext context;
    fails(cuLinkCreate_v2(1, NULL, NULL, &link), INVALID_VALUE);
    fails(cuLinkCreate_v2(0, NULL, NULL, NULL), INVALID_VALUE);
    fails(cuLinkAddData_v2(link, PTX, NULL, 1, NULL, 0, NULL, NULL), INVALID_VALUE);
    fails(cuLinkAddData_v2(link, 6, nonsense, sizeof(nonsense), NULL, 0, NULL, NULL), INVALID_VALUE);
    fails(cuLinkAddData_v2(link, CUBIN, nonsense, sizeof(nonsense), NULL, 0, NULL, NULL), INVALID_IMAGE);
    fails(cuLinkAddData_v2(link, FATBIN, nonsense, sizeof(nonsense), NULL, 0, NULL, NULL), INVALID_IMAGE);
    fails(cuLinkAddData_v2(link, OBJECT, nonsense, sizeof(nonsense), NULL, 0, NULL, NULL), INVALID_IMAGE);
    fails(cuLinkAddData_v2(link, LIBRARY, nonsense, sizeof(nonsense), NULL, 0, NULL, NULL), INVALID_IMAGE);
    fails(cuLinkComplete(link, NULL, NULL), INVALID_VALUE);
    succeeds(cuLinkDestroy(link));
    fails(cuLinkComplete(link, &image, NULL), INVALID_HANDLE);
    fails(cuLinkDestroy(link), INVALID_HANDLE);
    succeeds(cuCtxPopCurrent_v2(&context));
    fails(cuLinkCreate_v2(0, NULL, NULL, &link), INVALID_CONTEXT);
    succeeds(cuCtxPushCurrent_v2(context));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, simgpu_setup, simgpu_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(two_parts_make_one_image),    TEST(what_was_linked_computes), TEST(files_are_parts_too),
        TEST(the_first_names_do_the_same), TEST(a_size_is_believed),       TEST(logs_are_ended_and_counted),
        TEST(misuse_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
