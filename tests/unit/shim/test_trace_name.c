/* Tests of the names of trace files: no text from outside, such as the host's name, may lead out of the folder. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "shim/drain/trace_name.h"

static void parts(void **state)
{
    (void)state;
    static const struct {
        const char *pattern, *path;
        struct trace_name_parts parts;
    } rows[] = {
        { "%n-%p.wst", "python-42.wst", { "python", "h", "0", 42 } },
        { "/a/b/%h/%r-%%-%x%", "/a/b/node.x/7-%-x%", { "n", "node.x", "7", 1 } },
        { "%n.wst", "nginx: worker _etc_x.wst", { "nginx: worker /etc/x", "h", "0", 1 } },
        { "/t/%n/x", "/t/__/x", { "..", "h", "0", 1 } },
        { "/t/%h/x", "/t/___.._etc/x", { "n", "../../etc", "0", 1 } },
        { "/t/%r", "/t/__dev_shm", { "n", "h", "./dev/shm", 1 } },
        { "/t/%r%h/x", "/t/__/x", { "n", ".", ".", 1 } },
        { "../%n", "../a_b_c__", { "a\nb\033c\177/", "h", "0", 1 } },
        { "%n%r", "\xc3\xa9", { "\xc3\xa9", "h", "", 1 } },
    };
    char path[64];
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_true(trace_name_expand(rows[i].pattern, &rows[i].parts, path, sizeof(path)));
        assert_string_equal(path, rows[i].path);
    }
}

static void what_does_not_fit_is_refused(void **state)
{
    (void)state;
    static const struct trace_name_parts parts_of_it = { "program", "host", "0", 12345 };
    char path[64];
    assert_true(trace_name_expand("%n-%p", &parts_of_it, path, sizeof("program-12345")));
    assert_false(trace_name_expand("%n-%p", &parts_of_it, path, sizeof("program-12345") - 1));
    assert_true(trace_name_next("a.wst", 10, path, sizeof("a-10.wst")));
    assert_false(trace_name_next("a.wst", 10, path, sizeof("a-10.wst") - 1));
}

static void names_count_up(void **state)
{
    (void)state;
    static const struct {
        const char *path;
        unsigned attempt;
        const char *next;
    } rows[] = { { "/a/b.wst", 0, "/a/b.wst" },
                 { "/a/b.wst", 1, "/a/b-1.wst" },
                 { "/a/b.wst", 12, "/a/b-12.wst" },
                 { "/a.wst/b", 1, "/a.wst/b-1" },
                 { ".wst", 1, ".wst-1" } };
    char next[64];
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_true(trace_name_next(rows[i].path, rows[i].attempt, next, sizeof(next)));
        assert_string_equal(next, rows[i].next);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts),
        cmocka_unit_test(what_does_not_fit_is_refused),
        cmocka_unit_test(names_count_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
