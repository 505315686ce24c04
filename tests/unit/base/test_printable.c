/* Tests of making foreign texts printable: which characters reach a terminal, and which are replaced. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/printable.h"

static void texts(void **state)
{
    (void)state;
    static const struct {
        const char *text, *shown;
    } rows[] = {
        { "", "" },
        { "train.py", "train.py" },
        { "a\033[2Jb\ac\td\n", "a?[2Jb?c?d?" },
        { "\177", "?" },
        { "a\302\233b", "a?b" }, /* the control character CSI as a single character */
        { "caf\303\251 \344\270\255 \360\237\230\200", "caf\303\251 \344\270\255 \360\237\230\200" },
        { "gnp\342\200\256exe", "gnp?exe" }, /* a character that makes text run from right to left */
        /* other characters that change the direction of text */
        { "a\342\201\246b\342\201\251\342\200\217\330\234", "a?b???" },
        { "a\342\200\213b\342\200\215\342\201\240c\357\273\277\302\255", "a?b??c??" }, /* characters of zero width */
        { "a\342\200\250b\342\200\251", "a?b?" },     /* line and paragraph separators */
        { "a\363\240\201\201b\357\270\217", "a?b?" }, /* tag, variation selector */
        { "\377\376a\200\303", "??a??" },
        { "\300\200 \340\200\200 \355\240\200 \364\220\200\200 \365", "?? ??? ??? ???? ?" }, /* not valid UTF-8 */
        { "\342\200", "??" },
        { "µs – …", "µs – …" },
    };
    char text[64];
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        snprintf(text, sizeof(text), "%s", rows[i].text);
        ws_make_printable(text);
        assert_string_equal(text, rows[i].shown);
    }
}

static void every_character_is_read_back(void **state)
{
    (void)state;
    for (uint32_t code = 1; code <= 0x10ffff; code++) {
        char text[5] = { 0 };
        uint32_t read = 0;
        size_t length = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
        static const unsigned char heads[] = { 0, 0, 0xc0, 0xe0, 0xf0 };
        for (size_t at = length; at-- > 0;)
            text[at] = (char)((at ? 0x80 : heads[length]) |
                              (at ? code >> 6 * (length - 1 - at) & 0x3f : code >> 6 * (length - 1)));
        bool surrogate = code >= 0xd800 && code < 0xe000;
        assert_int_equal(ws_character(text, &read), surrogate ? 0 : length);
        if (!surrogate)
            assert_int_equal(read, code);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts),
        cmocka_unit_test(every_character_is_read_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
