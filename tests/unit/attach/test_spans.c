/* Tests of reading and writing many patches at once, in the memory of this process. */
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "check.h"

#include "attach/spans.h"

enum { PAGES = 8, PAGE = 4096 };

static uint8_t *code; /* code that this process cannot write */
static int memory;

static uint8_t byte_at(size_t offset)
{
    return (uint8_t)(offset * 7 + offset / 251);
}

static int make_code(void **state)
{
    (void)state;
    code = mmap(NULL, PAGES * (size_t)PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(code, MAP_FAILED);
    for (size_t i = 0; i < PAGES * (size_t)PAGE; i++)
        code[i] = byte_at(i);
    assert_int_equal(mprotect(code, PAGES * (size_t)PAGE, PROT_READ | PROT_EXEC), 0);
    memory = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
    return memory < 0;
}

static int drop_code(void **state)
{
    (void)state;
    close(memory);
    return munmap(code, PAGES * (size_t)PAGE);
}

static struct ws_late_patch patch_at(size_t offset)
{
    struct ws_late_patch patch = { .begin = (uintptr_t)code + offset, .end = (uintptr_t)code + offset + 8 };
    for (size_t i = 0; i < WS_LATE_JUMP; i++)
        patch.original[i] = byte_at(offset + i);
    memset(patch.jump, 0xe9, WS_LATE_JUMP);
    return patch;
}

/* Checks every byte: only the places of the patches have changed. */
static void check_code(const size_t *offsets, size_t count, bool jumps)
{
    for (size_t i = 0; i < PAGES * (size_t)PAGE; i++) {
        bool is_jump = false;
        for (size_t k = 0; k < count; k++)
            is_jump |= i >= offsets[k] && i < offsets[k] + WS_LATE_JUMP;
        assert_int_equal(code[i], is_jump && jumps ? 0xe9 : byte_at(i));
    }
}

static void patches_share_spans(void **state)
{
    /* the patches are adjacent, cross the end of a page, or are more than a page apart */
    static const size_t offsets[] = { 9000, 10, 15, 4094, 500, 30000, 8999 - WS_LATE_JUMP };
    enum { COUNT = sizeof(offsets) / sizeof(offsets[0]) };
    struct ws_late_patch patches[COUNT];
    struct ws_spans spans;
    (void)state;
    for (size_t i = 0; i < COUNT; i++)
        patches[i] = patch_at(offsets[i]);
    assert_int_equal(ws_spans_make(patches, COUNT, &spans), 0);
    assert_int_equal(spans.count, 3); /* the spans begin at 10, 8994 and 30000 */
    assert_int_equal(ws_spans_touch(&spans, getpid(), memory), 0);
    check_code(offsets, COUNT, false);
    assert_int_equal(ws_spans_read(&spans, getpid(), memory), 0);
    assert_int_equal(ws_spans_write(&spans, memory, true), 0);
    check_code(offsets, COUNT, true);
    assert_int_equal(ws_spans_write(&spans, memory, false), 0);
    check_code(offsets, COUNT, false);
    ws_spans_finish(&spans);
}

static void changed_code_is_left_alone(void **state)
{
    struct ws_late_patch patches[] = { patch_at(100), patch_at(200) };
    struct ws_spans spans;
    (void)state;
    patches[1].original[WS_LATE_JUMP - 1]++;
    assert_int_equal(ws_spans_make(patches, 2, &spans), 0);
    assert_int_equal(ws_spans_read(&spans, getpid(), memory), -EBUSY);
    check_code(NULL, 0, true);
    ws_spans_finish(&spans);
}

static void senseless_patches_are_refused(void **state)
{
    struct ws_late_patch overlapping[] = { patch_at(100), patch_at(104) }, nowhere = { .begin = 64 };
    struct ws_spans spans;
    (void)state;
    assert_int_equal(ws_spans_make(overlapping, 2, &spans), -EFAULT);
    ws_spans_finish(&spans);
    assert_int_equal(ws_spans_make(&nowhere, 1, &spans), 0);
    assert_int_equal(ws_spans_read(&spans, getpid(), memory), -EIO);
    ws_spans_finish(&spans);
    assert_int_equal(ws_spans_make(NULL, 0, &spans), 0);
    assert_int_equal(ws_spans_read(&spans, getpid(), memory), 0);
    assert_int_equal(ws_spans_write(&spans, memory, true), 0);
    ws_spans_finish(&spans);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(patches_share_spans, make_code, drop_code),
        cmocka_unit_test_setup_teardown(changed_code_is_left_alone, make_code, drop_code),
        cmocka_unit_test_setup_teardown(senseless_patches_are_refused, make_code, drop_code),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
