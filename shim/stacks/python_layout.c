#include "shim/stacks/python_layout.h"

#include <stddef.h>

enum { NONE = PYTHON_ABSENT };

/* The columns are the fields of struct python_layout, in their order. */
/* clang-format off */
static const struct python_layout layouts[] = {
    { 0x0308, NONE,  0, 24, 32, 24, NONE,  104, 1, NONE, 104, 112, 40, 120,   0, 48, 72, WS_LINES_LNOTAB },
    { 0x0309, NONE,  0, 24, 32, 24, NONE,  104, 1, NONE, 104, 112, 40, 120,   0, 48, 72, WS_LINES_LNOTAB },
    { 0x030a, NONE,  0, 24, 32, 24, NONE,   96, 2, NONE, 104, 112, 40, 120,   0, 48, 72, WS_LINES_RANGES },
    { 0x030b,   56,  8,  0, 32, 48,   56, NONE, 0, NONE, 112, 128, 72, 136, 184, 48, 72, WS_LINES_LOCATIONS },
    { 0x030c,   56,  0,  0,  0,  8,   56, NONE, 0,   70, 112, 128, 68, 136, 192, 40, 56, WS_LINES_LOCATIONS },
    { 0x030d, NONE,  0, 72,  0,  8,   56, NONE, 0,   70, 112, 128, 68, 136, 200, 40, 56, WS_LINES_LOCATIONS },
};
/* clang-format on */

const struct python_layout *python_layout(uint32_t version)
{
    for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++)
        if (layouts[i].version == version)
            return &layouts[i];
    return NULL;
}
