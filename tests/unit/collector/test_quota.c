/* Tests of quotas on disk space: of the dumps and traces that a manifest lists, the oldest are removed first. No
 * other file is removed. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "collector/job.h"
#include "collector/quota.h"

enum { SIZE = 1000 };

static char folder[] = "quota-XXXXXX";
static struct jobs jobs;
static struct job *job;

static int set_up(void **state)
{
    (void)state;
    memset(folder + 6, 'X', 6);
    if (!mkdtemp(folder))
        return -1;
    jobs = (struct jobs){ .folder = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) };
    job = jobs.folder < 0 ? NULL : jobs_get(&jobs, "one", true);
    return job ? 0 : -1;
}

static int tear_down(void **state)
{
    char command[64];
    (void)state;
    jobs_finish(&jobs);
    close(jobs.folder);
    snprintf(command, sizeof(command), "rm -rf %s", folder);
    return system(command);
}

/* Makes a file of SIZE bytes, last written `second` seconds after 1970 began. */
static void put_file(const char *name, time_t second)
{
    const struct timespec times[2] = { { .tv_sec = second }, { .tv_sec = second } };
    int file = openat(job->folder, name, O_WRONLY | O_CREAT | O_EXCL, 0600);
    assert_true(file >= 0);
    assert_int_equal(ftruncate(file, SIZE), 0);
    assert_int_equal(futimens(file, times), 0);
    close(file);
}

static void put_dump(const char *name, time_t second)
{
    char path[128];
    struct job_event event;
    assert_int_equal(mkdirat(job->folder, name, 0700), 0);
    snprintf(path, sizeof(path), "%s/a.wst", name);
    put_file(path, second);
    job_event_init(&event, "request", "asked for");
    snprintf(event.folder, sizeof(event.folder), "%s", name);
    job_tell(job, &event);
}

static void put_trace(const char *name, time_t second)
{
    const struct identity process = { .pid = (pid_t)second };
    struct recording *recording;
    int file = job_add(job, &process, name, &recording);
    assert_true(file >= 0);
    close(file);
    assert_int_equal(unlinkat(job->folder, recording->file, 0), 0);
    put_file(recording->file, second);
    recording->bytes = SIZE;
}

static bool is_there(const char *name)
{
    return !faccessat(job->folder, name, F_OK, 0);
}

static void the_oldest_go_first(void **state)
{
    (void)state;
    put_dump("dump-1-request", 100);
    put_trace("second.wst", 200);
    put_dump("dump-3-hang", 300);
    put_trace("fourth.wst", 400);
    quota_keep(&(const struct quota){ .job_bytes = 4 * SIZE }, &jobs);
    assert_true(is_there("dump-1-request"));
    quota_keep(&(const struct quota){ .job_bytes = 3 * SIZE }, &jobs);
    assert_false(is_there("dump-1-request"));
    assert_true(is_there("second.wst"));
    quota_keep(&(const struct quota){ .all_bytes = SIZE }, &jobs);
    assert_false(is_there("second.wst") || is_there("dump-3-hang"));
    assert_true(is_there("fourth.wst"));
    assert_int_equal(job->removed_dumps, 2);
    assert_int_equal(job->removed_traces, 1);
    assert_int_equal(job->removed_bytes, 3 * SIZE);
    assert_string_equal(job->events[0].folder, "");
    /* The manifest contains the counts of removed files, so the counts are still right after the manifest is read
     * again. */
    jobs_finish(&jobs);
    jobs = (struct jobs){ .folder = jobs.folder };
    job = jobs_get(&jobs, "one", false);
    assert_int_equal(job->removed_dumps, 2);
}

/* The manifest has room for JOB_EVENTS_MAX dumps only. Older dumps in the folder count towards the quota all the
 * same. */
static void dumps_that_the_manifest_forgot_count(void **state)
{
    enum { DUMPS = JOB_EVENTS_MAX + 6 };
    char name[64];
    (void)state;
    for (int i = 0; i < DUMPS; i++) {
        snprintf(name, sizeof(name), "dump-20261126T0000%02dZ-request", i);
        put_dump(name, 100 + i);
    }
    put_file("dump-20261126T000000Z-request/notes.txt", 1);
    quota_keep(&(const struct quota){ .job_bytes = (DUMPS - 2) * SIZE }, &jobs);
    assert_false(is_there("dump-20261126T000000Z-request/a.wst"));
    assert_true(is_there("dump-20261126T000000Z-request/notes.txt"));
    assert_false(is_there("dump-20261126T000001Z-request"));
    assert_true(is_there("dump-20261126T000002Z-request/a.wst"));
    quota_keep(&(const struct quota){ .job_bytes = (DUMPS - 2) * SIZE }, &jobs);
    assert_int_equal(job->removed_dumps, 2);
}

static void what_is_not_ours_stays(void **state)
{
    (void)state;
    put_dump("dump-1-request", 100);
    put_file("dump-1-request/notes.txt", 100);
    put_file("dump-1-request/.hidden.wst", 100);
    assert_int_equal(mkdirat(job->folder, "dump-mine", 0700), 0);
    put_file("dump-mine/a.wst", 1);
    assert_int_equal(mkdirat(job->folder, "other", 0700), 0);
    put_file("other/a.wst", 1);
    assert_int_equal(mkdirat(jobs.folder, "outside", 0700), 0);
    /* The manifest was changed so that it lists other folders as dumps. These folders must not be removed. */
    static const char *const lies[] = { "other", "../outside", "dump-/../other", "dump-link", "." };
    assert_int_equal(symlinkat("other", job->folder, "dump-link"), 0);
    for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
        struct job_event event;
        job_event_init(&event, "request", "a lie");
        snprintf(event.folder, sizeof(event.folder), "%s", lies[i]);
        job_tell(job, &event);
    }
    quota_keep(&(const struct quota){ .job_bytes = 1 }, &jobs);
    assert_false(is_there("dump-1-request/a.wst"));
    assert_true(is_there("dump-1-request/notes.txt") && is_there("dump-1-request/.hidden.wst"));
    assert_true(is_there("dump-mine/a.wst") && is_there("other/a.wst"));
    assert_int_equal(job->removed_dumps, 1);
}

static void a_dump_that_is_written_stays(void **state)
{
    (void)state;
    put_dump("dump-1-request", 100);
    job->dumps = 1;
    quota_keep(&(const struct quota){ .age_ns = 1 }, &jobs);
    assert_true(is_there("dump-1-request/a.wst"));
    job->dumps = 0;
    quota_keep(&(const struct quota){ .age_ns = 1 }, &jobs);
    assert_false(is_there("dump-1-request"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_oldest_go_first, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_not_ours_stays, set_up, tear_down),
        cmocka_unit_test_setup_teardown(dumps_that_the_manifest_forgot_count, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_dump_that_is_written_stays, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
