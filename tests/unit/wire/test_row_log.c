/* Tests of wire/row_log, a ring buffer of rows. Rows are read as they were written, also around the end of the
 * memory, and damage is noticed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "record/record.h"
#include "wire/row_log.h"

enum { SIZE = 1024 };

static _Alignas(8) char memory[SIZE];
static struct ws_live_log log_of_rows;

static int empty_log(void **state)
{
    (void)state;
    memset(memory, 0, sizeof(memory));
    memset(&log_of_rows, 0, sizeof(log_of_rows));
    log_of_rows.size = SIZE;
    return 0;
}

static bool add(uint32_t number)
{
    char name[64];
    int length = snprintf(name, sizeof(name), "kernel_%0*u", (int)(number % 37), number);
    struct ws_function row = { .id = number, .name = { name, (uint32_t)length } };
    return ws_row_log_add(&log_of_rows, memory, WS_FAMILY_function, number, &row);
}

/* Asserts that the row at position *at is row `number`, and moves *at behind it. */
static void expect(uint64_t *at, uint32_t number)
{
    static _Alignas(8) char copy[SIZE];
    char name[64];
    struct ws_logged_row found = { .row = NULL };
    memcpy(copy, memory, SIZE);
    while (!found.row) {
        *at = ws_row_log_read(copy, SIZE, *at, log_of_rows.head, &found);
        assert_true(*at);
    }
    const struct ws_function *row = found.row;
    int length = snprintf(name, sizeof(name), "kernel_%0*u", (int)(number % 37), number);
    assert_int_equal(found.family, WS_FAMILY_function);
    assert_int_equal(found.number, number);
    assert_int_equal(row->id, number);
    assert_int_equal(row->name.length, length);
    assert_memory_equal(row->name.data, name, (size_t)length);
}

static void rows_come_out_as_they_went_in(void **state)
{
    uint64_t at = 0;
    (void)state;
    for (uint32_t number = 1; number <= 5000; number++) {
        assert_true(add(number));
        expect(&at, number);
        log_of_rows.tail = at;
    }
    assert_true(log_of_rows.head > 100 * SIZE);
}

static void a_full_log_takes_no_row(void **state)
{
    uint64_t at = 0;
    uint32_t count = 0;
    (void)state;
    while (add(count + 1))
        count++;
    assert_in_range(count, 5, 20);
    assert_true(log_of_rows.head <= SIZE);
    for (uint32_t number = 1; number <= count; number++)
        expect(&at, number);
    log_of_rows.tail = at;
    assert_true(add(count + 1));
    expect(&at, count + 1);
}

static void damage_is_noticed(void **state)
{
    static const uint32_t sizes[] = { 0, 4, 8, 12, 4096, UINT32_MAX };
    struct ws_logged_row row;
    (void)state;
    assert_true(add(1));
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        memcpy(memory, &sizes[i], sizeof(sizes[i]));
        assert_int_equal(ws_row_log_read(memory, SIZE, 0, log_of_rows.head, &row), 0);
    }
    assert_int_equal(ws_row_log_read(memory, SIZE, 8, 8, &row), 0);
    assert_int_equal(ws_row_log_read(memory, SIZE, 4, 4096, &row), 0);
}

static void texts_beyond_the_row_are_refused(void **state)
{
    struct ws_logged_row row;
    uint32_t length = 1 << 20;
    (void)state;
    assert_true(add(1));
    memcpy(memory + 16 + offsetof(struct ws_function, name) + offsetof(struct ws_text, length), &length, 4);
    assert_int_equal(ws_row_log_read(memory, SIZE, 0, log_of_rows.head, &row), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(rows_come_out_as_they_went_in, empty_log),
        cmocka_unit_test_setup(a_full_log_takes_no_row, empty_log),
        cmocka_unit_test_setup(damage_is_noticed, empty_log),
        cmocka_unit_test_setup(texts_beyond_the_row_are_refused, empty_log),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
