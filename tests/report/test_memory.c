#include "check.h"

#include "analysis/memory.h"
#include "load.h"

enum { MB = 1000000 };

static struct story *begin(struct loaded *loaded)
{
    struct story *story = load_begin(loaded);
    story_device(story, 1, "GPU", 0, 0);
    story_device(story, 2, "GPU", 0, 0);
    story_stream(story, 1, 1);
    story_stream(story, 2, 2);
    story_thread(story, 1, 1, "main");
    return story;
}

static void call(struct story *story, const char *function, uint32_t context, uint64_t address, uint64_t bytes,
                 int64_t at)
{
    struct ws_call row = { .function = story_driver_function(story, function, WS_CALL_MEMORY),
                           .thread = 1,
                           .correlation = (uint64_t)1 << 40 | ++story->launches,
                           .host_begin = at,
                           .host_end = at + 100,
                           .context = context,
                           .address = address,
                           .bytes = bytes };
    story_add(story, WS_FAMILY_call, &row);
}

static const struct ws_track_memory *memory_of(const struct loaded *loaded, size_t track)
{
    return ws_report_result(loaded->report, &ws_analysis_memory, track);
}

static const struct ws_memory_use *pool(const struct loaded *loaded, enum ws_memory_pool pool)
{
    return &memory_of(loaded, 0)->pools[pool];
}

/* Out of order in the file, as the rows of several threads are. */
static void what_lives_at_most_is_found(void **state)
{
    struct loaded loaded;
    struct story *story = begin(&loaded);
    (void)state;
    call(story, "cuMemAlloc_v2", 1, 0x2000, 30 * MB, 2000);
    call(story, "cuMemAllocAsync", 1, 0x3000, 5 * MB, 3000);
    call(story, "cuMemAlloc_v2", 1, 0x1000, 10 * MB, 1000);
    call(story, "cuMemFree_v2", 1, 0x2000, 0, 4000);
    call(story, "cuMemFreeAsync", 1, 0x3000, 0, 5000);
    call(story, "cuMemAlloc_v2", 1, 0x2000, 20 * MB, 6000);  /* the same address again */
    call(story, "cuMemFree_v2", 1, 0x9000, 0, 7000);         /* taken before the recording */
    call(story, "cuMemAlloc_v2", 2, 0x2000, 100 * MB, 2000); /* on the other device */
    load_report(&loaded);
    const struct ws_memory_use *use = pool(&loaded, WS_MEMORY_DEVICE);
    assert_int_equal(use->peak, 45 * MB);
    assert_int_equal(use->peak_time, 3100);
    assert_int_equal(use->end, 30 * MB);
    assert_int_equal(use->all.takes, 4);
    assert_int_equal(use->all.gives, 3);
    assert_int_equal(use->all.waits, 2);
    assert_int_equal(use->all.time, 700);
    assert_int_equal(use->unmatched, 1);
    assert_int_equal(memory_of(&loaded, 1)->pools[WS_MEMORY_DEVICE].peak, 100 * MB);
    load_finish(&loaded);
}

static void host_memory_is_a_pool_of_its_own_and_virtual_memory_counts_once(void **state)
{
    struct loaded loaded;
    struct story *story = begin(&loaded);
    (void)state;
    call(story, "cuMemHostAlloc", 1, 0x1000, 3 * MB, 1000);
    call(story, "cuMemFreeHost", 1, 0x1000, 0, 2000);
    call(story, "cuMemAddressReserve", 1, 0x20000, 64 * MB, 3000);
    call(story, "cuMemCreate", 1, 0, 2 * MB, 4000);
    call(story, "cuMemMap", 1, 0x20000, 2 * MB, 5000);
    call(story, "cuMemUnmap", 1, 0x20000, 0, 6000);
    call(story, "cuMemAddressFree", 1, 0x20000, 64 * MB, 7000);
    load_report(&loaded);
    assert_int_equal(pool(&loaded, WS_MEMORY_PINNED)->peak, 3 * MB);
    assert_int_equal(pool(&loaded, WS_MEMORY_PINNED)->end, 0);
    assert_int_equal(pool(&loaded, WS_MEMORY_DEVICE)->peak, 2 * MB);
    assert_int_equal(pool(&loaded, WS_MEMORY_DEVICE)->all.takes, 1);
    assert_int_equal(pool(&loaded, WS_MEMORY_DEVICE)->end, 0);
    load_finish(&loaded);
}

static void the_timeline_has_a_bounded_number_of_points(void **state)
{
    struct loaded loaded;
    struct story *story = begin(&loaded);
    (void)state;
    for (int64_t i = 0; i < 1000; i++)
        call(story, "cuMemAlloc_v2", 1, 0x1000 + (uint64_t)i, MB, i * 1000);
    load_report(&loaded);
    const struct ws_memory_use *use = pool(&loaded, WS_MEMORY_DEVICE);
    for (size_t i = 1; i < WS_MEMORY_POINTS; i++)
        assert_true(use->most[i] > use->most[i - 1]);
    assert_int_equal(use->most[WS_MEMORY_POINTS - 1], (uint64_t)1000 * MB);
    load_finish(&loaded);
}

/* A step every millisecond, in each of which `count` buffers are taken and `kept` of them kept. */
static void write_steps(struct story *story, int count, int kept, const char *take, const char *give)
{
    uint64_t address = 0x100000;
    for (int64_t step = 0; step < 20; step++) {
        int64_t at = 100000 + step * 1000000;
        story_range(story, WS_RANGE_STEP, 1, "ProfilerStep", at - 10500, at + 80000);
        story_kernel(story, 1, "kernel", at, at + 500000);
        for (int i = 0; i < count; i++) {
            call(story, take, 1, ++address, MB, at + 1000 + i * 1000);
            if (i >= kept)
                call(story, give, 1, address, 0, at + 1500 + i * 1000);
        }
    }
    story_kernel(story, 1, "kernel", 20100000, 20100100);
}

static void what_steady_steps_take_is_counted(void **state)
{
    struct loaded loaded;
    struct story *story = begin(&loaded);
    (void)state;
    write_steps(story, 3, 0, "cuMemAlloc_v2", "cuMemFree_v2");
    load_report(&loaded);
    const struct ws_memory_calls *steady = &pool(&loaded, WS_MEMORY_DEVICE)->steady;
    assert_true(memory_of(&loaded, 0)->steps > 10);
    assert_int_equal(steady->takes, 3 * memory_of(&loaded, 0)->steps);
    assert_int_equal(steady->waits, 3 * memory_of(&loaded, 0)->steps);
    assert_int_equal(steady->wait_time, 300 * memory_of(&loaded, 0)->steps);
    assert_int_equal(memory_of(&loaded, 0)->growth, 0);
    load_finish(&loaded);
}

static void growth_from_step_to_step_is_told(void **state)
{
    struct loaded loaded;
    struct story *story = begin(&loaded);
    (void)state;
    write_steps(story, 3, 2, "cuMemAllocAsync", "cuMemFreeAsync");
    load_report(&loaded);
    assert_int_equal(memory_of(&loaded, 0)->growth, 2 * MB);
    assert_int_equal(pool(&loaded, WS_MEMORY_DEVICE)->steady.waits, 0);
    load_finish(&loaded);
}

static void what_cannot_be_is_left_out(void **state)
{
    struct loaded loaded;
    struct story *story = begin(&loaded);
    (void)state;
    for (uint64_t i = 1; i < 100; i++)
        call(story, "cuMemAlloc_v2", 1, i, (uint64_t)1 << 60, 1000);
    call(story, "cuMemAlloc_v2", 1, 0x1000, UINT64_MAX, 1000);
    call(story, "cudaMalloc", 1, 0, 0, 1000);
    call(story, "cuMemFree_v2", 1, 0, 0, 2000);
    load_report(&loaded);
    assert_true(pool(&loaded, WS_MEMORY_DEVICE)->peak <= (uint64_t)1 << 61);
    assert_true(pool(&loaded, WS_MEMORY_DEVICE)->unsized >= 97);
    assert_int_equal(pool(&loaded, WS_MEMORY_DEVICE)->unmatched, 0);
    load_finish(&loaded);
}

/* What a program asks for, however little, is its size; what another process took is nobody's here. */
static void the_smallest_allocations_have_sizes(void **state)
{
    struct loaded loaded;
    struct story *story = begin(&loaded);
    (void)state;
    for (uint64_t i = 0; i < 100; i++)
        call(story, "cuMemAlloc_v2", 1, 0x1000 * (i + 1), 1, 1000 + (int64_t)i);
    call(story, "cuMemAllocAsync", 1, 0x900000, 0, 2000);
    call(story, "cuMemHostAlloc", 1, 0x910000, 1, 2000);
    call(story, "cuMemPoolImportPointer", 1, 0x920000, 1, 2000);
    for (uint64_t i = 0; i < 100; i++)
        call(story, "cuMemFree_v2", 1, 0x1000 * (i + 1), 0, 3000 + (int64_t)i);
    call(story, "cuMemFreeAsync", 1, 0x900000, 0, 4000);
    call(story, "cuMemFreeHost", 1, 0x910000, 0, 4000);
    call(story, "cuMemFreeAsync", 1, 0x920000, 0, 4000);
    load_report(&loaded);
    const struct ws_memory_use *device = pool(&loaded, WS_MEMORY_DEVICE);
    assert_int_equal(device->unsized, 0);
    assert_int_equal(device->unmatched, 0);
    assert_int_equal(device->all.takes, 102);
    assert_int_equal(device->all.gives, 102);
    assert_int_equal(device->peak, 100);
    assert_int_equal(device->end, 0);
    assert_int_equal(pool(&loaded, WS_MEMORY_PINNED)->unsized, 0);
    assert_int_equal(pool(&loaded, WS_MEMORY_PINNED)->unmatched, 0);
    assert_int_equal(pool(&loaded, WS_MEMORY_PINNED)->peak, 1);
    load_finish(&loaded);
}

/* Of what was taken without a size it is known that it was taken. */
static void another_profiler_may_leave_sizes_out(void **state)
{
    struct loaded loaded;
    struct story *story = begin(&loaded);
    (void)state;
    story_meta(story, "import", "Nsight Systems");
    call(story, "cudaMalloc", 1, 0x1000, 0, 1000);
    call(story, "cudaMalloc", 1, 0x2000, 1, 1000);
    call(story, "cudaFree", 1, 0x1000, 0, 2000);
    call(story, "cudaFree", 1, 0x2000, 0, 2000);
    load_report(&loaded);
    assert_int_equal(pool(&loaded, WS_MEMORY_DEVICE)->unsized, 1);
    assert_int_equal(pool(&loaded, WS_MEMORY_DEVICE)->unmatched, 0);
    assert_int_equal(pool(&loaded, WS_MEMORY_DEVICE)->peak, 1);
    load_finish(&loaded);
}

/* The framework's allocator says how much it has handed out in all. */
static void what_the_framework_hands_out_is_taken_from_its_own_words(void **state)
{
    struct loaded loaded;
    struct story *story = begin(&loaded);
    (void)state;
    for (int64_t i = 1; i <= 3; i++) {
        struct ws_call row = { .function = story_driver_function(story, i < 3 ? "[memory] alloc" : "[memory] free",
                                                                 WS_CALL_MEMORY),
                               .thread = 1,
                               .host_begin = i * 1000,
                               .host_end = i * 1000,
                               .context = 1,
                               .address = i < 3 ? (uint64_t)i : 1,
                               .bytes = MB,
                               .object = (uint64_t)(i < 3 ? 50 + i : 51) * MB };
        story_add(story, WS_FAMILY_call, &row);
    }
    load_report(&loaded);
    assert_int_equal(pool(&loaded, WS_MEMORY_FRAMEWORK)->peak, 52 * MB);
    assert_int_equal(pool(&loaded, WS_MEMORY_FRAMEWORK)->end, 51 * MB);
    assert_int_equal(pool(&loaded, WS_MEMORY_DEVICE)->all.takes, 0);
    load_finish(&loaded);
}

static void what_is_taken_without_an_address_is_added_up(void **state)
{
    struct loaded loaded;
    struct story *story = begin(&loaded);
    (void)state;
    call(story, "[memory] alloc", 1, 0, 30 * MB, 1000);
    call(story, "[memory] free", 1, 0, 10 * MB, 2000);
    call(story, "[memory] alloc", 1, 0, 5 * MB, 3000);
    call(story, "[memory] free", 1, 0, 100 * MB, 4000);
    load_report(&loaded);
    assert_int_equal(pool(&loaded, WS_MEMORY_FRAMEWORK)->peak, 30 * MB);
    assert_int_equal(pool(&loaded, WS_MEMORY_FRAMEWORK)->end, 0);
    assert_int_equal(pool(&loaded, WS_MEMORY_FRAMEWORK)->unsized, 0);
    load_finish(&loaded);
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
