/* Tests of a job's folder: the manifest (the list of the job's files) is read back, a trace file is continued behind
 * its last whole unit (header or frame), and nothing is overwritten. */
#include <errno.h>
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
#include "small_trace.h"

static char folder[] = "job-XXXXXX";
static struct jobs jobs;

static int set_up(void **state)
{
    (void)state;
    memset(folder + 4, 'X', 6);
    if (!mkdtemp(folder))
        return -1;
    jobs = (struct jobs){ .folder = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) };
    return jobs.folder < 0 ? -1 : 0;
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

static void start_again(void)
{
    jobs_write(&jobs);
    jobs_finish(&jobs);
    jobs = (struct jobs){ .folder = jobs.folder };
}

static const struct identity process = { .pid = 12, .start_time = 345, .stream = UINT64_MAX, .boot_id = "boot" };

static void a_manifest_comes_back(void **state)
{
    (void)state;
    struct recording *recording;
    assert_null(jobs_get(&jobs, "one", false));
    struct job *job = jobs_get(&jobs, "one", true);
    int file = job_add(job, &process, "../a.wst", &recording);
    assert_true(file >= 0);
    close(file);
    recording->uid = 7;
    recording->bytes = 8;
    strcpy(recording->rank, "3");
    strcpy(recording->host, "\xff not UTF-8");
    job->changed = true;
    start_again();
    job = jobs_get(&jobs, "one", false);
    assert_non_null(job);
    recording = job_find(job, &process);
    assert_non_null(recording);
    assert_string_equal(recording->file, "a.wst");
    assert_string_equal(recording->rank, "3");
    assert_string_equal(recording->ended, "the collector ended first");
    assert_int_equal(recording->uid, 7);
    assert_int_equal(recording->bytes, 8);
    struct identity other = process;
    other.stream--;
    assert_null(job_find(job, &other));
    other = process;
    other.start_time--;
    assert_null(job_find(job, &other));
    other = process;
    *other.boot_id = 'x';
    assert_null(job_find(job, &other));
}

static void a_file_goes_on_behind_its_last_whole_unit(void **state)
{
    (void)state;
    struct small_trace trace = { 0 };
    struct stream_memory memory = { .limit = 1 << 26 };
    struct stream stream;
    struct stat about;
    struct recording *recording;
    small_trace_create(&trace, 16, 2, true, true);
    struct job *job = jobs_get(&jobs, "one", true);
    int file = job_add(job, &process, "a.wst", &recording);
    const struct small_piece *last = &trace.pieces[5];
    assert_int_equal(write(file, trace.bytes, last->offset + last->size - 3), last->offset + last->size - 3);
    close(file);
    stream_init(&stream, &memory);
    file = job_reopen(job, recording, &stream);
    assert_true(file >= 0);
    assert_false(stream.begun);
    assert_int_equal(job_read_on(file, &stream), 0);
    assert_int_equal(stream.taken, last->offset);
    assert_int_equal(stream.size, 0);
    /* The file is not cut at first. It is cut only when the client is known to continue behind the last whole
     * unit. */
    assert_int_equal(fstat(file, &about), 0);
    assert_int_equal(about.st_size, last->offset + last->size - 3);
    assert_int_equal(job_trim(file, &stream), 0);
    assert_int_equal(fstat(file, &about), 0);
    assert_int_equal(about.st_size, last->offset);
    /* If the collector itself received the last client's data, it knows the file's whole units and need not read the
     * file. */
    recording->stream = stream;
    close(file);
    file = job_reopen(job, recording, &stream);
    assert_true(stream.begun);
    assert_int_equal(stream.taken, last->offset);
    /* Meanwhile the file has become shorter, so the collector must read it again. */
    assert_int_equal(ftruncate(file, 100), 0);
    close(file);
    stream_init(&stream, &memory);
    file = job_reopen(job, recording, &stream);
    assert_false(stream.begun);
    close(file);
    stream_finish(&stream);
    small_trace_destroy(&trace);
}

static void nothing_is_overwritten_or_followed(void **state)
{
    (void)state;
    struct recording *recording;
    struct stream_memory memory = { .limit = 1 << 20 };
    struct stream stream;
    struct job *job = jobs_get(&jobs, "one", true);
    assert_int_equal(symlinkat("../victim", job->folder, "a.wst"), 0);
    int file = job_add(job, &process, "a.wst", &recording);
    assert_string_equal(recording->file, "a-1.wst");
    close(file);
    /* A manifest that somebody else wrote must not make the collector open other files. */
    stream_init(&stream, &memory);
    strcpy(recording->file, "a.wst");
    assert_int_equal(job_reopen(job, recording, &stream), -ENOENT);
    strcpy(recording->file, "../x.wst");
    assert_int_equal(job_reopen(job, recording, &stream), -ENOENT);
    assert_int_equal(symlinkat(".", jobs.folder, "two"), 0);
    assert_null(jobs_get(&jobs, "two", true));
}

static void a_process_has_few_files(void **state)
{
    (void)state;
    struct recording *recording;
    struct identity identity = process;
    struct job *job = jobs_get(&jobs, "one", true);
    int file = 0, count = 0;
    for (; file >= 0 && count < 100; count++) {
        identity.stream = (uint64_t)count;
        file = job_add(job, &identity, "a.wst", &recording);
        if (file >= 0)
            close(file);
    }
    assert_int_equal(file, -EDQUOT);
    assert_int_equal(count, 17);
}

static void a_manifest_that_is_none_is_left_out(void **state)
{
    (void)state;
    static const char *const texts[] = { "", "{", "[]", "{\"clients\": 3}", "{\"clients\": [3, {\"file\": {}}]}" };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        char name[16];
        snprintf(name, sizeof(name), "job%zu", i);
        assert_int_equal(mkdirat(jobs.folder, name, 0700), 0);
        int at = openat(jobs.folder, name, O_RDONLY | O_DIRECTORY);
        int file = openat(at, "manifest.json", O_WRONLY | O_CREAT, 0600);
        assert_int_equal(write(file, texts[i], strlen(texts[i])), strlen(texts[i]));
        close(file);
        close(at);
        struct job *job = jobs_get(&jobs, name, false);
        assert_non_null(job);
        assert_null(job_find(job, &process));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_manifest_comes_back, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_file_goes_on_behind_its_last_whole_unit, set_up, tear_down),
        cmocka_unit_test_setup_teardown(nothing_is_overwritten_or_followed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_process_has_few_files, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_manifest_that_is_none_is_left_out, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
