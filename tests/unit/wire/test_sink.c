/* Tests of the sink that writes a trace to a file: on a disk that fills up, and if files of the same name exist. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "trace/reader.h"
#include "trace/writer.h"
#include "wire/sink.h"

static char folder[] = "sink-XXXXXX";
static char path[64];

static int set_up(void **state)
{
    (void)state;
    memset(folder + 5, 'X', 6);
    if (!mkdtemp(folder))
        return -1;
    snprintf(path, sizeof(path), "%s/trace.wst", folder);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    unlink(path);
    return rmdir(folder);
}

static off_t file_size(void)
{
    struct stat file;
    assert_int_equal(stat(path, &file), 0);
    return file.st_size;
}

static void what_exists_is_left_alone(void **state)
{
    (void)state;
    struct ws_file_sink sink;
    assert_int_equal(ws_file_sink_open(&sink, path), 0);
    assert_int_equal(ws_file_sink_write(&sink, "abc", 3), 0);
    assert_int_equal(ws_file_sink_close(&sink), 0);
    assert_int_equal(ws_file_sink_open(&sink, path), -EEXIST);
    assert_int_equal(file_size(), 3);

    char link[64];
    snprintf(link, sizeof(link), "%s/link.wst", folder);
    assert_int_equal(symlink("elsewhere", link), 0);
    assert_int_equal(ws_file_sink_open(&sink, link), -EEXIST);
    assert_int_equal(access("elsewhere", F_OK), -1);
    unlink(link);
    assert_int_equal(ws_file_sink_open(&sink, "/nowhere/trace.wst"), -ENOENT);
}

/* Limits files to `size` bytes: a write beyond the limit is cut short, and the next write fails. */
static void limit_files(rlim_t size)
{
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = size;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static void a_write_that_does_not_fit_leaves_nothing(void **state)
{
    (void)state;
    struct ws_file_sink sink;
    char bytes[1000] = { 0 };
    assert_int_equal(ws_file_sink_open(&sink, path), 0);
    assert_int_equal(ws_file_sink_write(&sink, bytes, 600), 0);
    limit_files(1000);
    assert_int_equal(ws_file_sink_write(&sink, bytes, 600), -EFBIG);
    assert_int_equal(file_size(), 600);
    assert_int_equal(ws_file_sink_write(&sink, bytes, 400), 0);
    assert_int_equal(ws_file_sink_write(&sink, bytes, 1), -EFBIG);
    limit_files(RLIM_INFINITY);
    assert_int_equal(ws_file_sink_write(&sink, bytes, 1000), 0);
    assert_int_equal(file_size(), 2000);
    assert_int_equal(ws_file_sink_close(&sink), 0);
}

/* A trace on a disk that is full for a while stays a valid trace. */
static void a_full_disk_leaves_a_valid_trace(void **state)
{
    (void)state;
    struct ws_writer *writer;
    assert_int_equal(ws_writer_create(&writer, path), 0);
    int failures = 0;
    for (uint64_t i = 0; i < 40000; i++) {
        if (i == 10000)
            limit_files((rlim_t)file_size() + 100);
        if (i == 20000)
            limit_files(RLIM_INFINITY);
        const struct ws_call call = { .correlation = i * i * 977, .address = i * 0x9e3779b97f4a7c15u };
        failures += ws_writer_add(writer, WS_FAMILY_call, &call) != 0;
    }
    assert_int_not_equal(failures, 0);
    assert_int_equal(ws_writer_close(writer), -EFBIG);

    struct ws_reader *reader;
    struct ws_block block;
    char message[256];
    uint32_t rows = 0;
    assert_int_equal(ws_reader_open(&reader, path, message, sizeof(message)), 0);
    while (ws_reader_next(reader, &block) == 1)
        rows += block.count;
    assert_false(ws_damage_any(ws_reader_damage(reader)));
    assert_in_range(rows, 20000, 39999);
    ws_reader_close(reader);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_exists_is_left_alone, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_write_that_does_not_fit_leaves_nothing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_full_disk_leaves_a_valid_trace, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
