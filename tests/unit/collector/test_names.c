/* Tests of making file names from a client's texts: a name must not contain a path. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "collector/names.h"

static void texts_become_names(void **state)
{
    (void)state;
    static const struct {
        const char *text, *ending, *name;
    } rows[] = {
        { "train-12.wst", ".wst", "train-12.wst" },
        { "train", ".wst", "train.wst" },
        { "../../etc/passwd", ".wst", "passwd.wst" },
        { "/", ".wst", "otherwise.wst" },
        { "", "", "otherwise" },
        { ".wst", ".wst", "_wst.wst" },
        { "..", "", "_." },
        { ".hidden", ".wst", "_hidden.wst" },
        { "a b\n\x1b\xff.wst", ".wst", "a_b___.wst" },
    };
    char name[NAME_SIZE];
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        name_make_safe(rows[i].text, "otherwise", rows[i].ending, name);
        assert_string_equal(name, rows[i].name);
        assert_true(name_is_safe(name));
    }
}

static void long_texts_are_cut(void **state)
{
    (void)state;
    char text[1000], name[NAME_SIZE];
    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = 0;
    name_make_safe(text, "otherwise", ".wst", name);
    assert_in_range(strlen(name), 100, NAME_SIZE - 10);
    assert_string_equal(name + strlen(name) - 4, ".wst");
}

static void what_is_no_name_is_noticed(void **state)
{
    (void)state;
    static const char *const wrong[] = { "", ".", "..", ".a", "a/b", "/a", "a b", "a\n", "\x7f" };
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        assert_false(name_is_safe(wrong[i]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_become_names),
        cmocka_unit_test(long_texts_are_cut),
        cmocka_unit_test(what_is_no_name_is_noticed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
