/* Tests of the flight recorder, which keeps the last seconds of each trace in memory: what it keeps and drops, and
 * that a dump that it writes can be read as a whole trace. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "collector/flight.h"
#include "trace/reader.h"
#include "wire/encoder.h"

enum { ROWS = 50 };

static struct flight_memory memory;
static struct flight *flight;
static struct ws_encoder *encoder;
static uint64_t now;
static uint64_t number; /* correlation number of the latest operation */
static char path[64];

static int take(void *data, const void *bytes, size_t size)
{
    (void)data;
    return flight_add(flight, bytes, size, now);
}

static int set_up(void **state)
{
    const struct ws_encoder_options options = { .write = take };
    (void)state;
    memory = (struct flight_memory){ .window_ms = 1000, .each = 1 << 20, .limit = 4 << 20 };
    flight = flight_create(&memory);
    now = 10000;
    number = 0;
    snprintf(path, sizeof(path), "flight-%d.wst", (int)getpid());
    return flight && !ws_encoder_create(&encoder, &options) ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    ws_encoder_destroy(encoder);
    flight_destroy(flight);
    unlink(path);
    return memory.used || memory.first; /* fails if any memory is left */
}

static void add_name(uint32_t id)
{
    const struct ws_function row = { .id = id, .name = { "kernel", 6 } };
    assert_int_equal(ws_encoder_add(encoder, WS_FAMILY_function, &row), 0);
    assert_int_equal(ws_encoder_flush(encoder), 0);
}

/* Adds a frame of ROWS operations or of ROWS calls. */
static void add_rows(enum ws_family family)
{
    for (int i = 0; i < ROWS; i++) {
        const struct ws_op op = { .shape = 1, .thread = 1, .correlation = ++number };
        const struct ws_call call = { .function = 1, .thread = 1, .correlation = number };
        const void *row = family == WS_FAMILY_op ? (const void *)&op : &call;
        assert_int_equal(ws_encoder_add(encoder, family, row), 0);
    }
    assert_int_equal(ws_encoder_flush(encoder), 0);
}

struct found {
    unsigned ops, calls, functions, said;
    uint64_t first; /* correlation number of the first operation */
};

/* Writes a dump and reads it. */
static struct found dump(void)
{
    static const char *const say[] = { "flight", "some words", NULL };
    struct flight_view view;
    struct ws_reader *reader;
    struct ws_block block;
    struct found found = { 0 };
    char message[256];
    unlink(path);
    assert_int_equal(flight_look(flight, &view), 0);
    assert_int_equal(flight_write(&view, path, say), 0);
    flight_release(&view);
    assert_int_equal(ws_reader_open(&reader, path, message, sizeof(message)), 0);
    while (ws_reader_next(reader, &block) > 0) {
        if (block.family == WS_FAMILY_op && !found.ops)
            found.first = ((const struct ws_op *)block.rows)->correlation;
        found.ops += block.family == WS_FAMILY_op ? block.count : 0;
        found.calls += block.family == WS_FAMILY_call ? block.count : 0;
        found.functions += block.family == WS_FAMILY_function ? block.count : 0;
        found.said += block.family == WS_FAMILY_meta ? block.count : 0;
    }
    assert_false(ws_damage_any(ws_reader_damage(reader)));
    ws_reader_close(reader);
    return found;
}

static void the_window_stays_and_all_names(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 10; i++) {
        add_name(i + 1);
        add_rows(WS_FAMILY_op);
        now += 300;
    }
    struct found found = dump();
    assert_int_equal(found.functions, 10);
    assert_int_equal(found.ops, 4 * ROWS); /* the newest frame, and the frames up to 900 ms older */
    assert_int_equal(found.first, 6 * ROWS + 1);
    assert_int_equal(found.said, 1);
}

/* The age of rows is counted from the newest row of their family (operations, or calls). So if a process stops
 * launching, its last operations are kept although new calls arrive. */
static void what_stands_still_is_kept(void **state)
{
    (void)state;
    add_rows(WS_FAMILY_op);
    for (int i = 0; i < 10; i++) {
        now += 1000;
        add_rows(WS_FAMILY_call);
        flight_tick(flight);
    }
    struct found found = dump();
    assert_int_equal(found.ops, ROWS);
    assert_int_equal(found.calls, 2 * ROWS);
}

static void the_oldest_make_room(void **state)
{
    struct flight_view view;
    (void)state;
    memory.each = 4000;
    add_name(1);
    for (int i = 0; i < 100; i++) {
        now++;
        add_rows(WS_FAMILY_op);
        assert_true(flight->bytes <= memory.each);
    }
    assert_int_equal(flight_look(flight, &view), 0);
    assert_true(view.cut);
    flight_release(&view);
    struct found found = dump();
    assert_int_equal(found.functions, 1);
    assert_true(found.ops > 0 && found.ops < 100 * ROWS);
    assert_int_equal(found.first + found.ops, 100 * ROWS + 1); /* the newest operations were kept */
}

static void names_take_half_at_most(void **state)
{
    (void)state;
    memory.each = 4000;
    for (uint32_t i = 1; i <= 200; i++)
        add_name(i);
    assert_true(flight->unnamed > 0);
    assert_true(flight->dictionary_bytes <= memory.each / 2);
}

/* Parameters are dropped to make room for names. The dump then says that something is missing. */
static void parameters_make_room_for_names(void **state)
{
    (void)state;
    struct flight_view view;
    for (uint32_t id = 1; flight->dictionary_bytes < memory.each / 2 - 4096; id++) {
        const struct ws_params row = { .id = id };
        assert_int_equal(ws_encoder_add(encoder, WS_FAMILY_params, &row), 0);
        assert_int_equal(ws_encoder_flush(encoder), 0);
    }
    assert_int_equal(flight->unnamed, 0);
    for (uint32_t id = 1; !flight->unnamed; id++)
        add_name(id);
    assert_int_equal(flight_look(flight, &view), 0);
    assert_true(view.unnamed > 0);
    flight_release(&view);
}

/* If memory is short, the process with the most frames in memory loses its oldest ones. So one process cannot
 * displace the frames of others. */
static void the_largest_process_makes_room(void **state)
{
    struct flight *own = flight;
    (void)state;
    memory.each = 1 << 20;
    add_rows(WS_FAMILY_op);
    size_t small = flight->bytes;
    struct ws_encoder *other;
    const struct ws_encoder_options options = { .write = take };
    flight = flight_create(&memory);
    assert_int_equal(ws_encoder_create(&other, &options), 0);
    memory.limit = memory.used + 5000;
    struct ws_encoder *first = encoder;
    encoder = other;
    for (int i = 0; i < 100; i++)
        add_rows(WS_FAMILY_op);
    encoder = first;
    assert_true(memory.used <= memory.limit);
    assert_int_equal(own->bytes, small);
    ws_encoder_destroy(other);
    flight_destroy(flight);
    flight = own;
}

/* A dump is being written while new frames arrive and while the recorder is freed. The frames of the dump must
 * stay. */
static void a_view_keeps_its_frames(void **state)
{
    static const char *const say[] = { NULL };
    struct flight_view view;
    (void)state;
    add_rows(WS_FAMILY_op);
    assert_int_equal(flight_look(flight, &view), 0);
    now += 5000;
    add_rows(WS_FAMILY_op);
    flight_tick(flight);
    flight_destroy(flight);
    flight = NULL;
    assert_true(memory.used > 0);
    assert_int_equal(flight_write(&view, path, say), 0);
    flight_release(&view);
    assert_int_equal(memory.used, 0);
    assert_int_equal(flight_write(&view, path, say), -EEXIST);
}

static void before_the_header_there_is_nothing(void **state)
{
    struct flight_view view;
    struct flight *empty = flight_create(&memory);
    (void)state;
    assert_int_equal(flight_look(empty, &view), -ENODATA);
    flight_destroy(empty);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(the_window_stays_and_all_names), TEST(what_stands_still_is_kept),
        TEST(the_oldest_make_room),           TEST(names_take_half_at_most),
        TEST(parameters_make_room_for_names), TEST(the_largest_process_makes_room),
        TEST(a_view_keeps_its_frames),        TEST(before_the_header_there_is_nothing),
    };
#undef TEST
    return cmocka_run_group_tests(tests, NULL, NULL);
}
