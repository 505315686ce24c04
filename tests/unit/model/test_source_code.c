/* Tests of showing lines of the program's source code: which files are read, and what of a line is shown. */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"

#include "built.h"
#include "model/source_code.h"

static char folder[64], path[96];
static struct built built;
static const struct ws_process *process;

static void write_file(const char *name, const char *content, size_t size)
{
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true(file >= 0);
    assert_int_equal(write(file, content, size), (int)size);
    close(file);
}

/* Sets when the source file was last changed. The recording began at 2000 s. */
static void changed_at(long seconds, long ns)
{
    const struct timespec times[2] = { { seconds, ns }, { seconds, ns } };
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static int begin(void **state)
{
    struct builder *trace = built_begin_on(&built, "Test GPU", 1);
    (void)state;
    snprintf(folder, sizeof(folder), "/tmp/source-code-XXXXXX");
    assert_non_null(mkdtemp(folder));
    build_meta(trace, "start_realtime_ns", "2000000000500");
    build_kernel(trace, 1, "k", 0, 100);
    built_read(&built);
    process = ws_model_process(built.model, 0);
    return 0;
}

static int end(void **state)
{
    char command[96];
    (void)state;
    built_finish(&built);
    snprintf(command, sizeof(command), "rm -r %s", folder);
    return system(command);
}

static const char *line_of(const char *file, uint32_t line)
{
    static char text[WS_SOURCE_CODE];
    bool known = ws_source_code_at(process, file, line, text);
    assert_true(known == (*text != 0));
    return text;
}

static void expect(const char *content, uint32_t line, const char *text)
{
    write_file("a.py", content, strlen(content));
    changed_at(1000, 0);
    assert_string_equal(line_of(path, line), text);
}

static void a_line_is_shown_without_the_spaces_around_it(void **state)
{
    (void)state;
    expect("import x\n\n    for batch in loader:  \n", 1, "import x");
    expect("import x\n\n    for batch in loader:  \n", 2, "");
    expect("import x\n\n    for batch in loader:  \n", 3, "for batch in loader:");
    expect("import x\n\n    for batch in loader:  \n", 4, "");
    expect("\tlast\r\n", 1, "last");
    expect("no end", 1, "no end");
    expect("", 1, "");
    expect("a\tb", 1, "a b");
    expect("a", 0, "");
}

static void a_terminal_is_not_controlled(void **state)
{
    (void)state;
    expect("a\x1b[31mred\x07", 1, "a?[31mred?");
    expect("bad \xff utf-8", 1, "bad ? utf-8");
    expect("turned \xe2\x80\xae around", 1, "turned ? around");
    write_file("a.py", "a\0b\n", 4);
    changed_at(1000, 0);
    assert_string_equal(line_of(path, 1), "a b");
}

static void long_lines_are_cut_between_characters(void **state)
{
    char line[400];
    (void)state;
    for (size_t first = 0; first < 3; first++) {
        memset(line, 'a', first);
        for (size_t i = first; i + 3 < sizeof(line); i += 3)
            memcpy(line + i, "€", 4);
        write_file("a.py", line, strlen(line));
        changed_at(1000, 0);
        const char *text = line_of(path, 1);
        assert_null(strchr(text, '?'));
        assert_in_range(strlen(text), WS_SOURCE_CODE - 6, WS_SOURCE_CODE - 1);
        assert_string_equal(text + strlen(text) - 3, "…");
    }
}

static void changed_files_are_not_shown(void **state)
{
    (void)state;
    expect("x", 1, "x");
    changed_at(2000, 500);
    assert_string_equal(line_of(path, 1), "x");
    changed_at(2000, 501);
    assert_string_equal(line_of(path, 1), "");
    changed_at(2001, 0);
    assert_string_equal(line_of(path, 1), "");
}

static void only_source_files_are_read(void **state)
{
    char other[128];
    (void)state;
    assert_string_equal(line_of("/etc/passwd", 1), "");
    assert_string_equal(line_of("/nowhere/a.py", 1), "");
    assert_string_equal(line_of("a.py", 1), "");
    assert_string_equal(line_of("", 1), "");
    expect("x", 1, "x");
    snprintf(other, sizeof(other), "%s/pipe.py", folder);
    assert_int_equal(mkfifo(other, 0600), 0);
    assert_string_equal(line_of(other, 1), ""); /* reading a pipe must not wait for data */
    snprintf(other, sizeof(other), "%s/folder.py", folder);
    assert_int_equal(mkdir(other, 0700), 0);
    assert_string_equal(line_of(other, 1), "");
    assert_int_equal(truncate(path, (4 << 20) + 1), 0);
    changed_at(1000, 0);
    assert_string_equal(line_of(path, 1), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_is_shown_without_the_spaces_around_it),
        cmocka_unit_test(a_terminal_is_not_controlled),
        cmocka_unit_test(long_lines_are_cut_between_characters),
        cmocka_unit_test(changed_files_are_not_shown),
        cmocka_unit_test(only_source_files_are_read),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
