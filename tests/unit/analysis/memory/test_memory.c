#include "check.h"

#include "analysis/memory/memory.h"
#include "built.h"

enum { MB = 1000000 };

static struct builder *begin(struct built *built)
{
    struct builder *trace = built_begin(built);
    build_device(trace, 1, "GPU", 0, 0);
    build_device(trace, 2, "GPU", 0, 0);
    build_stream(trace, 1, 1);
    build_stream(trace, 2, 2);
    build_thread(trace, 1, 1, "main");
    return trace;
}

static void call(struct builder *trace, const char *function, uint32_t context, uint64_t address, uint64_t bytes,
                 int64_t at)
{
    build_call_row(
        trace, function, WS_CALL_MEMORY,
        &(struct ws_call){
            .host_begin = at, .host_end = at + 100, .context = context, .address = address, .bytes = bytes });
}

static const struct ws_track_memory *memory_of(const struct built *built, size_t track)
{
    return ws_report_result(built->report, &ws_analysis_memory, track);
}

static const struct ws_memory_use *pool(const struct built *built, enum ws_memory_pool pool)
{
    return &memory_of(built, 0)->pools[pool];
}

/* The rows of the file are not in the order of time, as may happen with several threads. */
static void what_lives_at_most_is_found(void **state)
{
    struct built built;
    struct builder *trace = begin(&built);
    (void)state;
    call(trace, "cuMemAlloc_v2", 1, 0x2000, 30 * MB, 2000);
    call(trace, "cuMemAllocAsync", 1, 0x3000, 5 * MB, 3000);
    call(trace, "cuMemAlloc_v2", 1, 0x1000, 10 * MB, 1000);
    call(trace, "cuMemFree_v2", 1, 0x2000, 0, 4000);
    call(trace, "cuMemFreeAsync", 1, 0x3000, 0, 5000);
    call(trace, "cuMemAlloc_v2", 1, 0x2000, 20 * MB, 6000); /* an address that was freed before */
    call(trace, "cuMemFree_v2", 1, 0x9000, 0, 7000);        /* freed memory that was allocated before the recording */
    call(trace, "cuMemAlloc_v2", 2, 0x2000, 100 * MB, 2000); /* the same address on the other device */
    built_report(&built);
    const struct ws_memory_use *use = pool(&built, WS_MEMORY_DEVICE);
    assert_int_equal(use->peak, 45 * MB);
    assert_int_equal(use->peak_time, 3100);
    assert_int_equal(use->end, 30 * MB);
    assert_int_equal(use->all.takes, 4);
    assert_int_equal(use->all.gives, 3);
    assert_int_equal(use->all.waits, 2);
    assert_int_equal(use->all.time, 700);
    assert_int_equal(use->unmatched, 1);
    assert_int_equal(memory_of(&built, 1)->pools[WS_MEMORY_DEVICE].peak, 100 * MB);
    built_finish(&built);
}

static void host_memory_is_a_pool_of_its_own_and_virtual_memory_counts_once(void **state)
{
    struct built built;
    struct builder *trace = begin(&built);
    (void)state;
    call(trace, "cuMemHostAlloc", 1, 0x1000, 3 * MB, 1000);
    call(trace, "cuMemFreeHost", 1, 0x1000, 0, 2000);
    call(trace, "cuMemAddressReserve", 1, 0x20000, 64 * MB, 3000);
    call(trace, "cuMemCreate", 1, 0, 2 * MB, 4000);
    call(trace, "cuMemMap", 1, 0x20000, 2 * MB, 5000);
    call(trace, "cuMemUnmap", 1, 0x20000, 0, 6000);
    call(trace, "cuMemAddressFree", 1, 0x20000, 64 * MB, 7000);
    built_report(&built);
    assert_int_equal(pool(&built, WS_MEMORY_PINNED)->peak, 3 * MB);
    assert_int_equal(pool(&built, WS_MEMORY_PINNED)->end, 0);
    assert_int_equal(pool(&built, WS_MEMORY_DEVICE)->peak, 2 * MB);
    assert_int_equal(pool(&built, WS_MEMORY_DEVICE)->all.takes, 1);
    assert_int_equal(pool(&built, WS_MEMORY_DEVICE)->end, 0);
    built_finish(&built);
}

static void the_timeline_has_a_bounded_number_of_points(void **state)
{
    struct built built;
    struct builder *trace = begin(&built);
    (void)state;
    for (int64_t i = 0; i < 1000; i++)
        call(trace, "cuMemAlloc_v2", 1, 0x1000 + (uint64_t)i, MB, i * 1000);
    built_report(&built);
    const struct ws_memory_use *use = pool(&built, WS_MEMORY_DEVICE);
    for (size_t i = 1; i < WS_MEMORY_POINTS; i++)
        assert_true(use->most[i] > use->most[i - 1]);
    assert_int_equal(use->most[WS_MEMORY_POINTS - 1], (uint64_t)1000 * MB);
    built_finish(&built);
}

/* Makes one step per millisecond. A step allocates `count` buffers and does not free `kept` of them. */
static void write_steps(struct builder *trace, int count, int kept, const char *take, const char *give)
{
    uint64_t address = 0x100000;
    for (int64_t step = 0; step < 20; step++) {
        int64_t at = 100000 + step * 1000000;
        build_range(trace, WS_RANGE_STEP, 1, "ProfilerStep", at - 10500, at + 80000);
        build_kernel(trace, 1, "kernel", at, at + 500000);
        for (int i = 0; i < count; i++) {
            call(trace, take, 1, ++address, MB, at + 1000 + i * 1000);
            if (i >= kept)
                call(trace, give, 1, address, 0, at + 1500 + i * 1000);
        }
    }
    build_kernel(trace, 1, "kernel", 20100000, 20100100);
}

static void what_steady_steps_take_is_counted(void **state)
{
    struct built built;
    struct builder *trace = begin(&built);
    (void)state;
    write_steps(trace, 3, 0, "cuMemAlloc_v2", "cuMemFree_v2");
    built_report(&built);
    const struct ws_memory_calls *steady = &pool(&built, WS_MEMORY_DEVICE)->steady;
    assert_true(memory_of(&built, 0)->steps > 10);
    assert_int_equal(steady->takes, 3 * memory_of(&built, 0)->steps);
    assert_int_equal(steady->waits, 3 * memory_of(&built, 0)->steps);
    assert_int_equal(steady->wait_time, 300 * memory_of(&built, 0)->steps);
    assert_int_equal(memory_of(&built, 0)->growth, 0);
    built_finish(&built);
}

static void growth_from_step_to_step_is_told(void **state)
{
    struct built built;
    struct builder *trace = begin(&built);
    (void)state;
    write_steps(trace, 3, 2, "cuMemAllocAsync", "cuMemFreeAsync");
    built_report(&built);
    assert_int_equal(memory_of(&built, 0)->growth, 2 * MB);
    assert_int_equal(pool(&built, WS_MEMORY_DEVICE)->steady.waits, 0);
    built_finish(&built);
}

static void what_cannot_be_is_left_out(void **state)
{
    struct built built;
    struct builder *trace = begin(&built);
    (void)state;
    for (uint64_t i = 1; i < 100; i++)
        call(trace, "cuMemAlloc_v2", 1, i, (uint64_t)1 << 60, 1000);
    call(trace, "cuMemAlloc_v2", 1, 0x1000, UINT64_MAX, 1000);
    call(trace, "cudaMalloc", 1, 0, 0, 1000);
    call(trace, "cuMemFree_v2", 1, 0, 0, 2000);
    built_report(&built);
    assert_true(pool(&built, WS_MEMORY_DEVICE)->peak <= (uint64_t)1 << 61);
    assert_true(pool(&built, WS_MEMORY_DEVICE)->unsized >= 97);
    assert_int_equal(pool(&built, WS_MEMORY_DEVICE)->unmatched, 0);
    built_finish(&built);
}

/* An allocation of 0 or 1 byte has a known size too. Memory imported from another process adds no bytes. */
static void the_smallest_allocations_have_sizes(void **state)
{
    struct built built;
    struct builder *trace = begin(&built);
    (void)state;
    for (uint64_t i = 0; i < 100; i++)
        call(trace, "cuMemAlloc_v2", 1, 0x1000 * (i + 1), 1, 1000 + (int64_t)i);
    call(trace, "cuMemAllocAsync", 1, 0x900000, 0, 2000);
    call(trace, "cuMemHostAlloc", 1, 0x910000, 1, 2000);
    call(trace, "cuMemPoolImportPointer", 1, 0x920000, 1, 2000);
    for (uint64_t i = 0; i < 100; i++)
        call(trace, "cuMemFree_v2", 1, 0x1000 * (i + 1), 0, 3000 + (int64_t)i);
    call(trace, "cuMemFreeAsync", 1, 0x900000, 0, 4000);
    call(trace, "cuMemFreeHost", 1, 0x910000, 0, 4000);
    call(trace, "cuMemFreeAsync", 1, 0x920000, 0, 4000);
    built_report(&built);
    const struct ws_memory_use *device = pool(&built, WS_MEMORY_DEVICE);
    assert_int_equal(device->unsized, 0);
    assert_int_equal(device->unmatched, 0);
    assert_int_equal(device->all.takes, 102);
    assert_int_equal(device->all.gives, 102);
    assert_int_equal(device->peak, 100);
    assert_int_equal(device->end, 0);
    assert_int_equal(pool(&built, WS_MEMORY_PINNED)->unsized, 0);
    assert_int_equal(pool(&built, WS_MEMORY_PINNED)->unmatched, 0);
    assert_int_equal(pool(&built, WS_MEMORY_PINNED)->peak, 1);
    built_finish(&built);
}

/* An allocation without a size still counts as an allocation. */
static void another_profiler_may_leave_sizes_out(void **state)
{
    struct built built;
    struct builder *trace = begin(&built);
    (void)state;
    build_meta(trace, "import", "Nsight Systems");
    call(trace, "cudaMalloc", 1, 0x1000, 0, 1000);
    call(trace, "cudaMalloc", 1, 0x2000, 1, 1000);
    call(trace, "cudaFree", 1, 0x1000, 0, 2000);
    call(trace, "cudaFree", 1, 0x2000, 0, 2000);
    built_report(&built);
    assert_int_equal(pool(&built, WS_MEMORY_DEVICE)->unsized, 1);
    assert_int_equal(pool(&built, WS_MEMORY_DEVICE)->unmatched, 0);
    assert_int_equal(pool(&built, WS_MEMORY_DEVICE)->peak, 1);
    built_finish(&built);
}

/* With each event, the framework's allocator reports how many bytes are handed out at that time. The analysis uses
 * this number. */
static void what_the_framework_hands_out_is_taken_from_its_own_words(void **state)
{
    struct built built;
    struct builder *trace = begin(&built);
    (void)state;
    for (int64_t i = 1; i <= 3; i++) {
        struct ws_call row = { .function = build_driver_function(trace, i < 3 ? "[memory] alloc" : "[memory] free",
                                                                 WS_CALL_MEMORY),
                               .thread = 1,
                               .host_begin = i * 1000,
                               .host_end = i * 1000,
                               .context = 1,
                               .address = i < 3 ? (uint64_t)i : 1,
                               .bytes = MB,
                               .object = (uint64_t)(i < 3 ? 50 + i : 51) * MB };
        build_row(trace, WS_FAMILY_call, &row);
    }
    built_report(&built);
    assert_int_equal(pool(&built, WS_MEMORY_FRAMEWORK)->peak, 52 * MB);
    assert_int_equal(pool(&built, WS_MEMORY_FRAMEWORK)->end, 51 * MB);
    assert_int_equal(pool(&built, WS_MEMORY_DEVICE)->all.takes, 0);
    built_finish(&built);
}

static void what_is_taken_without_an_address_is_added_up(void **state)
{
    struct built built;
    struct builder *trace = begin(&built);
    (void)state;
    call(trace, "[memory] alloc", 1, 0, 30 * MB, 1000);
    call(trace, "[memory] free", 1, 0, 10 * MB, 2000);
    call(trace, "[memory] alloc", 1, 0, 5 * MB, 3000);
    call(trace, "[memory] free", 1, 0, 100 * MB, 4000);
    built_report(&built);
    assert_int_equal(pool(&built, WS_MEMORY_FRAMEWORK)->peak, 30 * MB);
    assert_int_equal(pool(&built, WS_MEMORY_FRAMEWORK)->end, 0);
    assert_int_equal(pool(&built, WS_MEMORY_FRAMEWORK)->unsized, 0);
    built_finish(&built);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_lives_at_most_is_found),
        cmocka_unit_test(host_memory_is_a_pool_of_its_own_and_virtual_memory_counts_once),
        cmocka_unit_test(the_timeline_has_a_bounded_number_of_points),
        cmocka_unit_test(what_steady_steps_take_is_counted),
        cmocka_unit_test(growth_from_step_to_step_is_told),
        cmocka_unit_test(what_cannot_be_is_left_out),
        cmocka_unit_test(the_smallest_allocations_have_sizes),
        cmocka_unit_test(another_profiler_may_leave_sizes_out),
        cmocka_unit_test(what_the_framework_hands_out_is_taken_from_its_own_words),
        cmocka_unit_test(what_is_taken_without_an_address_is_added_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
