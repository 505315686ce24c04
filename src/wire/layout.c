#include <string.h>

#include "wire/columns.h"

/* LAYOUT defines one function per family. The function expands the family's list of columns three times: into an
 * enumeration of the columns' indices (column_NAME), into the table of columns, and into the number of TEXT columns.
 * The CODING_ macros use the indices. The enumeration is local, because several families have columns of the same
 * name. */

#define INDEX_INTEGER(type, name, coding) column_##name,
#define INDEX_TEXT(name) column_##name,

#define NO_TEXT(type, name, coding)
#define ONE_TEXT(name) +1

#define CODING_PLAIN .coding = WS_CODING_PLAIN
#define CODING_DELTA .coding = WS_CODING_DELTA
#define CODING_KEY .coding = WS_CODING_SLOTS
#define CODING_THREAD .coding = WS_CODING_LAST, .key = column_thread
#define CODING_FIRST .coding = WS_CODING_LAST, .key = 0
#define CODING_LENGTH(start) .coding = WS_CODING_LENGTH, .base = column_##start, .key = 0
#define CODING_GAP(end, by) .coding = WS_CODING_GAP, .base = column_##end, .key = 0, .group = column_##by
#define CODING_STREAM_GAP(end) \
    .coding = WS_CODING_GAP, .base = column_##end, .key = 0, .group = column_shape, .grouped = true

#define TABLE_INTEGER(type, member, how) \
    { .name = #member,                   \
      .offset = offsetof(row, member),   \
      .width = sizeof(type),             \
      .is_signed = (type)-1 < (type)1,   \
      CODING_##how },
#define TABLE_TEXT(member) \
    { .name = #member, .offset = offsetof(row, member), .width = sizeof(struct ws_text), .coding = WS_CODING_TEXT },

#define LAYOUT(family)                                                                                    \
    static const struct ws_layout *layout_##family(void)                                                  \
    {                                                                                                     \
        typedef struct ws_##family row;                                                                   \
        enum { WS_COLUMNS_##family(INDEX_INTEGER, INDEX_TEXT) count_of_columns };                         \
        static const struct ws_column columns[] = { WS_COLUMNS_##family(TABLE_INTEGER, TABLE_TEXT) };     \
        static const struct ws_layout layout = { #family, columns, count_of_columns,                      \
                                                 0 WS_COLUMNS_##family(NO_TEXT, ONE_TEXT), sizeof(row) }; \
        _Static_assert((int)count_of_columns <= (int)WS_COLUMNS_MAX, "raise WS_COLUMNS_MAX");             \
        return &layout;                                                                                   \
    }
WS_FAMILIES(LAYOUT)

const struct ws_layout *ws_layout(uint32_t family)
{
    switch (family) {
#define CASE(family)         \
    case WS_FAMILY_##family: \
        return layout_##family();
        WS_FAMILIES(CASE)
#undef CASE
    default:
        return NULL;
    }
}
