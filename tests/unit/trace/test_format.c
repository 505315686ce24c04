/* Tests that FORMAT.md agrees with the code: every family, column, type and coding, and the sizes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "wire/columns.h"
#include "wire/frame.h"

static char *document;

static int load_document(void **state)
{
    (void)state;
    FILE *file = fopen(PROJECT_FOLDER "/FORMAT.md", "r");
    if (!file)
        return -1;
    document = calloc(1, 1 << 18);
    size_t size = fread(document, 1, (1 << 18) - 1, file);
    fclose(file);
    return size ? 0 : -1;
}

static int free_document(void **state)
{
    (void)state;
    free(document);
    return 0;
}

#define TYPE_uint32_t "u32"
#define TYPE_int32_t "i32"
#define TYPE_uint64_t "u64"
#define TYPE_int64_t "i64"
#define ROW_INTEGER(type, name, coding) "| `" #name "` | " TYPE_##type " | " #coding " |",
#define ROW_TEXT(name) "| `" #name "` | text | TEXT |",
#define FAMILY_ROWS(family) { WS_COLUMNS_##family(ROW_INTEGER, ROW_TEXT) NULL },

static void every_family_is_described(void **state)
{
    (void)state;
    static const char *const rows[][WS_COLUMNS_MAX + 1] = { WS_FAMILIES(FAMILY_ROWS) };
    const char *at = document;
    for (uint32_t family = 0; family < WS_FAMILY_COUNT; family++) {
        char heading[64];
        snprintf(heading, sizeof(heading), "\n### %u `%s`\n", family, ws_family_name(family));
        at = strstr(at, heading);
        if (!at) {
            fail_msg("FORMAT.md lacks the heading of family %s", ws_family_name(family));
            return;
        }
        for (uint32_t i = 0; rows[family][i]; i++) {
            const char *row = strstr(at, rows[family][i]);
            const char *next = strstr(at + 1, "\n### ");
            if (!row || (next && row > next)) {
                fail_msg("FORMAT.md lacks this row of family %s: %s", ws_family_name(family), rows[family][i]);
                return;
            }
            at = row;
        }
        const char *next = strstr(at, "\n\n");
        at = next ? next : at + strlen(at);
    }
    assert_null(strstr(at, "\n### "));
}

static void versions_and_sizes_are_described(void **state)
{
    (void)state;
    char text[80];
    snprintf(text, sizeof(text), "\n| %d.%d | wallshim", WS_FORMAT_MAJOR, WS_FORMAT_MINOR);
    assert_non_null(strstr(document, text));
    snprintf(text, sizeof(text), "## File header, %d bytes", WS_FILE_HEADER_SIZE);
    assert_non_null(strstr(document, text));
    snprintf(text, sizeof(text), "A header of %d bytes", WS_FRAME_HEADER_SIZE);
    assert_non_null(strstr(document, text));
    snprintf(text, sizeof(text), "the last %d bytes", WS_TRAILER_SIZE);
    assert_non_null(strstr(document, text));
    snprintf(text, sizeof(text), "at most %d |", WS_FRAME_ROWS_MAX);
    assert_non_null(strstr(document, text));
}

static void every_coding_is_described(void **state)
{
    (void)state;
    static const char *const names[] = { "PLAIN", "DELTA", "LAST", "LENGTH", "GAP", "SLOTS", "TEXT" };
    _Static_assert(sizeof(names) / sizeof(names[0]) == WS_CODING_COUNT, "one name a coding");
    for (int i = 0; i < WS_CODING_COUNT; i++) {
        char row[40];
        snprintf(row, sizeof(row), "\n| %d | %s |", i, names[i]);
        assert_non_null(strstr(document, row));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_family_is_described),
        cmocka_unit_test(versions_and_sizes_are_described),
        cmocka_unit_test(every_coding_is_described),
    };
    return cmocka_run_group_tests(tests, load_document, free_document);
}
