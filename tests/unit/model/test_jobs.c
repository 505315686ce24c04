#include "check.h"

#include "model/jobs.h"
#include "built.h"

static const int64_t second = 1000000000;

/* The metadata of a recording; NULL: the recording lacks this entry. Times are in seconds of CLOCK_REALTIME. */
struct recording {
    const char *program, *command, *host, *rank, *world, *job, *pid, *parent, *file, *together;
    int64_t from, to;
    uint64_t communicator;
    bool timeless;
};

static void record(struct builder *trace, const struct recording *recording)
{
    build_meta(trace, "program", recording->program);
    build_meta(trace, "command_line", recording->command);
    build_meta(trace, "host", recording->host);
    build_meta(trace, "rank", recording->rank);
    build_meta(trace, "env.WORLD_SIZE", recording->world);
    build_meta(trace, "env.RANK", recording->world ? recording->rank : NULL);
    build_meta(trace, "env.SLURM_JOB_ID", recording->job);
    build_meta(trace, "pid", recording->pid);
    build_meta(trace, "parent_pid", recording->parent);
    build_meta(trace, "import_file", recording->file);
    build_meta(trace, "together", recording->together);
    if (!recording->timeless) {
        build_meta(trace, "start_monotonic_ns", "1000000000"); /* the two clocks differ by 4 s */
        build_meta(trace, "start_realtime_ns", "5000000000");
    }
    build_device(trace, 1, "Test GPU", 0, 100);
    build_stream(trace, 1, 1);
    build_thread(trace, 1, 100, "main");
    if (recording->communicator)
        build_comm(trace, 1, 0, 2, recording->communicator);
    build_call(trace, "cuInit", WS_CALL_OTHER, (recording->from - 4) * second, (recording->from - 4) * second + 1);
    build_kernel(trace, 1, "kernel", (recording->to - 4) * second - 1, (recording->to - 4) * second);
    build_stream(trace, 2, 9);
    /* a shape that belongs to no device and is never used */
    build_shape(trace, &(struct ws_shape){ .kind = WS_OP_KERNEL, .stream = 2 });
}

static void load(struct built *built, const struct recording *recordings, size_t count)
{
    *built = (struct built){ 0 };
    for (size_t i = 0; i < count; i++)
        record(built_add(built), &recordings[i]);
    built_read(built);
}

/* Asserts which recordings belong to one job, with one letter per recording: in "aab" the third recording is of
 * another job. */
static void expect(const struct recording *recordings, const char *jobs)
{
    struct built built;
    uint32_t found[BUILT_MOST];
    size_t count = strlen(jobs);
    load(&built, recordings, count);
    int most = ws_jobs_find(built.model, found);
    for (size_t i = 0; i < count; i++) {
        if (found[i] != (uint32_t)(jobs[i] - 'a'))
            fail_msg("expected %s, but recording %zu is of job %c", jobs, i, 'a' + (int)found[i]);
        assert_true((int)found[i] < most);
    }
    built_finish(&built);
}

#define EXPECT(jobs, ...) expect((const struct recording[]){ __VA_ARGS__ }, jobs)

static void one_after_the_other_are_two_jobs(void **state)
{
    (void)state;
    EXPECT("ab", { .program = "python3", .from = 10, .to = 20 }, { .program = "python3", .from = 21, .to = 30 });
    EXPECT("aa", { .program = "python3", .from = 10, .to = 20 }, { .program = "python3", .from = 19, .to = 30 });
    /* Without times, these two recordings are not one job. */
    EXPECT("ab", { .program = "python3", .from = 10, .to = 20, .timeless = true },
           { .program = "python3", .from = 10, .to = 20, .timeless = true });
}

static void attached_together_is_one_job(void **state)
{
    (void)state;
    EXPECT("aab", { .program = "engine", .together = "x", .from = 10, .to = 12 },
           { .program = "worker", .together = "x", .from = 14, .to = 15 },
           { .program = "worker", .together = "y", .from = 14, .to = 15 });
}

static void programs_tell_jobs_apart(void **state)
{
    (void)state;
    EXPECT("ab", { .program = "train", .from = 10, .to = 20 }, { .program = "serve", .from = 10, .to = 20 });
    EXPECT("aab", { .program = "python3", .command = "python3 -u train.py --local_rank=0", .from = 10, .to = 20 },
           { .program = "python3", .command = "python3 -u train.py --local_rank=1", .from = 10, .to = 20 },
           { .program = "python3", .command = "python3 -u serve.py", .from = 10, .to = 20 });
    EXPECT("aab", { .program = "server", .host = "here", .pid = "7", .parent = "1", .from = 10, .to = 20 },
           { .program = "worker", .host = "here", .pid = "8", .parent = "7", .from = 11, .to = 20 },
           { .program = "worker", .host = "there", .pid = "8", .parent = "7", .from = 30, .to = 40 });
}

/* The processes of one file stay one job, even if an earlier recording has the same rank as one of them. */
static void processes_of_one_file_are_one_job(void **state)
{
    (void)state;
    EXPECT("aaa", { .program = "a", .rank = "0", .world = "2", .from = 10, .to = 20 },
           { .program = "a", .rank = "1", .world = "2", .file = "one.sqlite", .from = 10, .to = 20 },
           { .program = "a", .rank = "0", .world = "2", .file = "one.sqlite", .from = 10, .to = 20 });
    EXPECT("aab", { .program = "a", .rank = "0", .world = "2", .from = 10, .to = 20 },
           { .program = "a", .rank = "1", .world = "2", .file = "one.sqlite", .from = 10, .to = 20 },
           { .program = "a", .rank = "0", .world = "2", .file = "other.sqlite", .from = 10, .to = 20 });
}

static void ranks_are_one_job(void **state)
{
    (void)state;
    EXPECT("aaab", { .program = "a:0", .rank = "0", .world = "4", .from = 10, .to = 20 },
           { .program = "a:1", .rank = "1", .world = "4", .from = 30, .to = 40 },
           { .program = "a:2", .rank = "2", .world = "4", .from = 10, .to = 20 },
           /* belongs to a later run of the program */
           { .program = "a:3", .rank = "3", .world = "4", .from = 500, .to = 520 });
    EXPECT("ab", { .program = "a", .rank = "0", .world = "4", .from = 10, .to = 20 },
           { .program = "a", .rank = "1", .world = "8", .from = 10, .to = 20 });
    EXPECT("ab", { .program = "a", .rank = "3", .world = "4", .from = 10, .to = 20 },
           { .program = "a", .rank = "3", .world = "4", .from = 10, .to = 20 });
    /* A process that no launcher started is recorded as rank 0, too. */
    EXPECT("aa", { .program = "a", .rank = "0", .from = 10, .to = 20 },
           { .program = "a", .rank = "0", .from = 10, .to = 20 });
}

static void ids_and_communicators_tie(void **state)
{
    (void)state;
    EXPECT("aaba", { .program = "a", .job = "17", .from = 10, .to = 20 },
           { .program = "b", .job = "17", .from = 10, .to = 20 },
           { .program = "a", .job = "18", .from = 10, .to = 20 }, { .program = "a", .from = 10, .to = 20 });
    EXPECT("aab", { .program = "a", .communicator = 77, .from = 10, .to = 20 },
           { .program = "b", .communicator = 77, .from = 10, .to = 20 },
           { .program = "c", .communicator = 78, .from = 10, .to = 20 });
}

/* One recording may link others into one job. The recording that links them may come after them in the folder. */
static void the_order_does_not_matter(void **state)
{
    (void)state;
    EXPECT("aba", { .program = "a", .from = 10, .to = 20 }, { .program = "x", .from = 10, .to = 20 },
           { .program = "a", .from = 15, .to = 30 });
    EXPECT("aaa", { .program = "a", .from = 10, .to = 20 },
           { .program = "b", .host = "h", .pid = "9", .parent = "8", .from = 12, .to = 20 },
           { .program = "a", .host = "h", .pid = "8", .parent = "1", .from = 10, .to = 20 });
}

static void the_others_are_dropped_with_their_tracks(void **state)
{
    static const struct recording recordings[] = { { .program = "a", .from = 10, .to = 20 },
                                                   { .program = "b", .from = 10, .to = 20 },
                                                   { .program = "c", .from = 10, .to = 20 },
                                                   { .program = "b", .from = 10, .to = 20 } };
    struct built built;
    uint32_t jobs[BUILT_MOST];
    (void)state;
    load(&built, recordings, 4);
    struct ws_model *model = built.model;
    assert_int_equal(ws_jobs_find(model, jobs), 3);
    ws_model_keep(model, jobs, jobs[1]);
    assert_int_equal(model->processes.count, 2);
    assert_int_equal(model->tracks.count, 2);
    for (size_t i = 0; i < 2; i++) {
        const struct ws_process *process = ws_model_process(model, i);
        const struct ws_track *track = ws_model_track(model, i);
        assert_string_equal(process->path, built.paths[1 + 2 * i]);
        assert_int_equal(process->first_track, i);
        assert_int_equal(track->process, i);
        for (size_t shape = 0; shape < process->shapes.count; shape++)
            assert_int_equal(ws_process_shape(process, shape)->track,
                             shape == process->ops.shape[track->order[0]] ? i : WS_NOWHERE);
        assert_string_equal(ws_track_device(model, track)->name.data, "Test GPU");
    }
    built_finish(&built);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_after_the_other_are_two_jobs),
        cmocka_unit_test(attached_together_is_one_job),
        cmocka_unit_test(programs_tell_jobs_apart),
        cmocka_unit_test(processes_of_one_file_are_one_job),
        cmocka_unit_test(ranks_are_one_job),
        cmocka_unit_test(ids_and_communicators_tie),
        cmocka_unit_test(the_order_does_not_matter),
        cmocka_unit_test(the_others_are_dropped_with_their_tracks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
