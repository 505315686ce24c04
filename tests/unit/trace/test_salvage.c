/* Tests of trace/salvage. A process was killed, and its trace is completed from its live memory (shared memory with
 * the rows that the file may lack). */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "live_image.h"
#include "record/live.h"
#include "trace/reader.h"
#include "trace/salvage.h"

struct found {
    unsigned ops, untimed, calls, functions, stated_untimed, stated_dry, stated_lost, stated_nested;
    uint64_t correlations; /* bit n: the operation with correlation n was read */
    bool killed, left, whole;
};

static char path[64];

static int make_path(void **state)
{
    (void)state;
    snprintf(path, sizeof(path), "/tmp/salvage-%d.wst", (int)getpid());
    return 0;
}

static int remove_path(void **state)
{
    (void)state;
    return unlink(path);
}

static void count_op(struct found *found, const struct ws_op *op)
{
    uint64_t bit = UINT64_C(1) << (op->correlation & 63);
    assert_false(found->correlations & bit);
    found->correlations |= bit;
    found->ops++;
    found->untimed += !op->end;
}

static void count_row(struct found *found, const struct ws_block *block, uint32_t i)
{
    const struct ws_loss *loss = (const struct ws_loss *)block->rows + i;
    const struct ws_meta *meta = (const struct ws_meta *)block->rows + i;
    switch (block->family) {
    case WS_FAMILY_op:
        count_op(found, (const struct ws_op *)block->rows + i);
        break;
    case WS_FAMILY_call:
        found->calls++;
        break;
    case WS_FAMILY_function:
        found->functions++;
        break;
    case WS_FAMILY_loss:
        found->stated_dry += loss->reason == WS_LOSS_POOL_DRY ? (unsigned)loss->count : 0;
        found->stated_untimed += loss->reason == WS_LOSS_UNTIMED_AT_EXIT ? (unsigned)loss->count : 0;
        found->stated_lost += loss->reason == WS_LOSS_RING_FULL ? (unsigned)loss->count : 0;
        found->stated_nested += loss->reason == WS_LOSS_NESTED ? (unsigned)loss->count : 0;
        break;
    case WS_FAMILY_meta:
        found->killed |= meta->value.length == 6 && !memcmp(meta->value.data, "killed", 6);
        found->left |= meta->value.length == 12 && !memcmp(meta->value.data, "without exit", 12);
        break;
    default:
        break;
    }
}

static struct found read_trace(void)
{
    struct ws_reader *reader;
    struct ws_block block;
    struct found found = { 0 };
    char message[256];
    assert_int_equal(ws_reader_open(&reader, path, message, sizeof(message)), 0);
    while (ws_reader_next(reader, &block) > 0)
        for (uint32_t i = 0; i < block.count; i++)
            count_row(&found, &block, i);
    found.whole = !ws_damage_any(ws_reader_damage(reader));
    ws_reader_close(reader);
    return found;
}

static void expect_all(const struct ws_salvaged *salvaged)
{
    struct found found = read_trace();
    assert_true(found.whole);
    assert_true(found.killed);
    assert_int_equal(found.ops, LIVE_ALL);
    assert_int_equal(found.untimed, LIVE_UNTIMED + LIVE_DRY);
    assert_int_equal(found.stated_dry, LIVE_DRY);
    assert_int_equal(found.stated_untimed, LIVE_UNTIMED);
    assert_int_equal(found.stated_lost, LIVE_RING_LOST);
    assert_int_equal(found.stated_nested, LIVE_NESTED);
    assert_int_equal(found.calls, LIVE_CALLS);
    assert_int_equal(found.functions, LIVE_KERNELS);
    assert_int_equal(salvaged->untimed, LIVE_UNTIMED);
    assert_int_equal(salvaged->lost, LIVE_RING_LOST + LIVE_NESTED);
}

static void all_is_saved_once(void **state)
{
    struct ws_salvaged salvaged;
    (void)state;
    int memory = live_image_make(path, false);
    assert_true(ws_salvage_is_due(memory));
    assert_int_equal(ws_salvage(memory, path, &salvaged), 0);
    expect_all(&salvaged);
    close(memory);
}

static void bytes_that_the_collector_lacks_come_first(void **state)
{
    struct ws_salvaged salvaged;
    (void)state;
    int memory = live_image_make(path, true);
    assert_int_equal(ws_salvage(memory, path, &salvaged), 0);
    expect_all(&salvaged);
    close(memory);
}

static void put(int memory, size_t offset, uint64_t value)
{
    assert_int_equal(pwrite(memory, &value, sizeof(value), (off_t)offset), sizeof(value));
}

static void a_program_that_left_was_not_killed(void **state)
{
    struct ws_salvaged salvaged;
    uint32_t one = 1;
    (void)state;
    int memory = live_image_make(path, false);
    assert_int_equal(pwrite(memory, &one, sizeof(one), offsetof(struct ws_live, left)), sizeof(one));
    assert_int_equal(ws_salvage(memory, path, &salvaged), 0);
    struct found found = read_trace();
    assert_true(found.left && !found.killed && salvaged.left);
    assert_int_equal(found.ops, LIVE_ALL);
    close(memory);
}

static void a_trace_that_was_not_begun_is_said_so(void **state)
{
    struct ws_salvaged salvaged;
    uint32_t first = 0;
    (void)state;
    int memory = live_image_make(path, false);
    put(memory, offsetof(struct ws_live, flush[0].bytes), 0);
    put(memory, offsetof(struct ws_live, flush[1].bytes), 0);
    assert_int_equal(pwrite(memory, &first, sizeof(first), offsetof(struct ws_live, file_id)), sizeof(first));
    assert_int_equal(truncate(path, 0), 0);
    assert_int_equal(ws_salvage(memory, path, &salvaged), -ENOMSG);
    close(memory);
}

static void a_trace_that_has_ended_is_left_alone(void **state)
{
    struct ws_salvaged salvaged;
    uint32_t one = 1;
    (void)state;
    int memory = live_image_make(path, false);
    assert_int_equal(pwrite(memory, &one, sizeof(one), offsetof(struct ws_live, ended)), sizeof(one));
    assert_false(ws_salvage_is_due(memory));
    assert_int_equal(ws_salvage(memory, path, &salvaged), 0);
    assert_int_equal(read_trace().ops, LIVE_FLUSHED + LIVE_JOURNAL);
    close(memory);
}

static void other_memory_is_refused(void **state)
{
    struct ws_salvaged salvaged;
    (void)state;
    int memory = live_image_make(path, false);
    put(memory, offsetof(struct ws_live, row_size), 1);
    assert_int_equal(ws_salvage(memory, path, &salvaged), -EPROTO);
    put(memory, 0, 1);
    assert_int_equal(ws_salvage(memory, path, &salvaged), -EBADMSG);
    assert_int_equal(ftruncate(memory, 10), 0);
    assert_int_equal(ws_salvage(memory, path, &salvaged), -EBADMSG);
    assert_int_equal(read_trace().ops, LIVE_FLUSHED + LIVE_JOURNAL);
    close(memory);
}

static void a_trace_that_lacks_bytes_is_left_alone(void **state)
{
    struct ws_salvaged salvaged;
    (void)state;
    int memory = live_image_make(path, false);
    assert_int_equal(truncate(path, 200), 0);
    assert_int_equal(ws_salvage(memory, path, &salvaged), -ENODATA);
    close(memory);
}

static int image_without_flush(void)
{
    struct ws_live_flush none[2] = { 0 };
    int memory = live_image_make(path, false);
    assert_int_equal(pwrite(memory, none, sizeof(none), offsetof(struct ws_live, flush)), sizeof(none));
    return memory;
}

/* The process was killed while its first rows were being written. The live memory has all of these rows, and their
 * names. */
static void all_is_saved_before_the_first_flush(void **state)
{
    struct ws_salvaged salvaged;
    (void)state;
    int memory = image_without_flush();
    assert_int_equal(ws_salvage(memory, path, &salvaged), 0);
    struct found found = read_trace();
    assert_true(found.whole && found.killed);
    /* in a real program, the journal (log of the rows since the last flush) would hold the other LIVE_FLUSHED
     * operations */
    assert_int_equal(found.ops, LIVE_ALL - LIVE_FLUSHED);
    assert_int_equal(found.functions, LIVE_KERNELS);
    close(memory);
}

/* The process was killed before its trace had begun. Nothing in its live memory can be used, because the memory does
 * not say to which trace it belongs. */
static void before_the_trace_begins_there_is_nothing(void **state)
{
    struct ws_salvaged salvaged;
    (void)state;
    int memory = image_without_flush();
    put(memory, offsetof(struct ws_live, file_id), 0);
    assert_int_equal(ws_salvage(memory, path, &salvaged), -ENOMSG);
    assert_int_equal(read_trace().ops, LIVE_FLUSHED + LIVE_JOURNAL);
    close(memory);
}

/* The trace was removed, and another trace got its name. The other trace must not be changed. */
static void another_trace_is_left_alone(void **state)
{
    struct ws_salvaged salvaged;
    (void)state;
    int older = live_image_make(path, false);
    close(live_image_make(path, false));
    assert_int_equal(ws_salvage(older, path, &salvaged), -ESTALE);
    assert_int_equal(read_trace().ops, LIVE_FLUSHED + LIVE_JOURNAL);
    close(older);
}

/* If a ring is damaged, only what the ring held is lost. The rest is saved, and the damage is reported. */
static void a_damaged_ring_costs_no_more_than_itself(void **state)
{
    struct ws_salvaged salvaged;
    (void)state;
    int memory = live_image_make(path, false);
    put(memory,
        offsetof(struct ws_live, parts) + 5 * sizeof(struct ws_live_part) + offsetof(struct ws_live_part, slots_size),
        3 * 64);
    assert_int_equal(ws_salvage(memory, path, &salvaged), 0);
    struct found found = read_trace();
    assert_true(found.whole);
    assert_int_equal(found.ops, LIVE_FLUSHED + LIVE_JOURNAL + LIVE_WAITING - 1);
    close(memory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(all_is_saved_once, make_path, remove_path),
        cmocka_unit_test_setup_teardown(bytes_that_the_collector_lacks_come_first, make_path, remove_path),
        cmocka_unit_test_setup_teardown(a_program_that_left_was_not_killed, make_path, remove_path),
        cmocka_unit_test_setup_teardown(a_trace_that_was_not_begun_is_said_so, make_path, remove_path),
        cmocka_unit_test_setup_teardown(a_trace_that_has_ended_is_left_alone, make_path, remove_path),
        cmocka_unit_test_setup_teardown(other_memory_is_refused, make_path, remove_path),
        cmocka_unit_test_setup_teardown(a_trace_that_lacks_bytes_is_left_alone, make_path, remove_path),
        cmocka_unit_test_setup_teardown(all_is_saved_before_the_first_flush, make_path, remove_path),
        cmocka_unit_test_setup_teardown(before_the_trace_begins_there_is_nothing, make_path, remove_path),
        cmocka_unit_test_setup_teardown(another_trace_is_left_alone, make_path, remove_path),
        cmocka_unit_test_setup_teardown(a_damaged_ring_costs_no_more_than_itself, make_path, remove_path),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
