/* Finds the enum kineto_key of a field's name, by a hash table. */
#include <string.h>

#include "input/kineto.h"

enum { SLOTS = 256 };

struct slot {
    const char *text;
    uint8_t length, key;
};

static struct slot slots[SLOTS];

static unsigned place_of(const char *text, size_t length)
{
    return ((unsigned)length * 31 + (unsigned char)text[0] * 7 + (unsigned char)text[length - 1] * 13 +
            (unsigned char)text[length / 2]) %
           SLOTS;
}

void kineto_fill_keys(void)
{
    static const char *const texts[] = { NULL,
#define TEXT(id, text) text,
                                         KINETO_KEYS(TEXT)
#undef TEXT
    };
    if (slots[place_of(texts[1], strlen(texts[1]))].text)
        return;
    for (unsigned key = 1; key < KINETO_KEY_COUNT; key++) {
        size_t length = strlen(texts[key]);
        unsigned at = place_of(texts[key], length);
        while (slots[at].text)
            at = (at + 1) % SLOTS;
        slots[at] = (struct slot){ texts[key], (uint8_t)length, (uint8_t)key };
    }
}

enum kineto_key kineto_find_key(const char *text, size_t length)
{
    if (!length)
        return KINETO_NONE;
    for (unsigned at = place_of(text, length); slots[at].text; at = (at + 1) % SLOTS)
        if (slots[at].length == length && !memcmp(slots[at].text, text, length))
            return (enum kineto_key)slots[at].key;
    return KINETO_NONE;
}
