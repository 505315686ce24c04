/* Tests of what the collector finds out about processes that make no progress: for how long, and which rank has not
 * entered which collective. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "collector/hang.h"

enum { RANKS = 8 };

/* The parts of a progress report, as a process sends it to the collector. Tests fill them in. */
static struct ws_progress_head head;
static struct ws_progress_stream streams[2];
static struct ws_progress_comm comm;
static struct ws_progress_thread thread;
static uint8_t bytes[WS_PROGRESS_MAX];

static size_t build(void)
{
    uint8_t *at = bytes;
#define PUT(row, count)                          \
    do {                                         \
        memcpy(at, row, (count) * sizeof(*row)); \
        at += (count) * sizeof(*row);            \
    } while (0)
    PUT(&head, 1);
    PUT(streams, head.streams);
    PUT(&comm, head.comms);
    PUT(&thread, head.threads);
#undef PUT
    return (size_t)(at - bytes);
}

static int reset(void **state)
{
    (void)state;
    head = (struct ws_progress_head){ 0 };
    comm = (struct ws_progress_comm){ 0 };
    thread = (struct ws_progress_thread){ .tid = 7 };
    streams[0] = (struct ws_progress_stream){ .stream = 1, .device = 1, .waiting = 3, .correlation = 11 };
    streams[1] = (struct ws_progress_stream){ .stream = 2, .device = 2, .waiting = 1, .correlation = 12 };
    return 0;
}

static uint64_t stuck_at(struct progress *progress, uint64_t now)
{
    assert_true(progress_take(progress, bytes, build(), now));
    return progress_stuck_ms(progress);
}

static void what_waits_and_does_not_end_is_stuck(void **state)
{
    struct progress progress = { 0 };
    (void)state;
    assert_int_equal(stuck_at(&progress, 1000), 0);
    head.streams = 2;
    assert_int_equal(stuck_at(&progress, 2000), 0);
    assert_int_equal(stuck_at(&progress, 5000), 3000);
    streams[0].correlation++; /* one of the two devices makes progress */
    assert_int_equal(stuck_at(&progress, 6000), 4000);
    streams[1].correlation++;
    assert_int_equal(stuck_at(&progress, 7000), 1000); /* the first device has made no progress since 6000 */
    head.streams = 0;
    assert_int_equal(stuck_at(&progress, 9000), 0); /* no work is queued, so nothing is stuck */
    head.streams = 2;
    /* work is queued anew: the time without progress counts from now on */
    assert_int_equal(stuck_at(&progress, 20000), 0);
}

static void a_call_that_does_not_return_is_stuck(void **state)
{
    struct progress progress = { 0 };
    (void)state;
    head.threads = 1;
    thread.calls = 5;
    stuck_at(&progress, 1000);
    assert_int_equal(stuck_at(&progress, 4000), 3000);
    head.settled++; /* the work that the call waits for makes progress */
    assert_int_equal(stuck_at(&progress, 5000), 0);
    thread.calls++;
    assert_int_equal(stuck_at(&progress, 9000), 0);
    head.threads = 0;
    assert_int_equal(stuck_at(&progress, 10000), 0);
}

static void wrong_answers_are_refused(void **state)
{
    struct progress progress = { 0 };
    (void)state;
    head.streams = 2;
    size_t size = build();
    assert_false(progress_take(&progress, bytes, size - 1, 1));
    assert_false(progress_take(&progress, bytes, size + 1, 1));
    assert_false(progress_take(&progress, bytes, 3, 1));
    head.streams = WS_PROGRESS_STREAMS + 1;
    memcpy(bytes, &head, sizeof(head));
    assert_false(progress_take(&progress, bytes, sizeof(bytes), 1));
    assert_int_equal(progress.head.streams, 0);
    head.streams = 1;
    memset(streams[0].first.name, 'x', sizeof(streams[0].first.name));
    streams[0].device = UINT32_MAX;
    assert_true(progress_take(&progress, bytes, build(), 1));
    assert_int_equal(strlen(progress.streams[0].first.name), WS_PROGRESS_NAME - 1);
}

static struct recording ranks[RANKS];
static struct progress of_ranks[RANKS];
static struct job job;

/* Fills in eight ranks. The ranks whose bit in `outside` is set have ended collective 11; all other ranks are in
 * collective 12. */
static void make_ranks(unsigned outside)
{
    job = (struct job){ .name = "job" };
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        bool is_out = outside >> rank & 1;
        reset(NULL);
        head.comms = 1;
        comm = (struct ws_progress_comm){ .name_hash = 0xabc, .rank = rank, .size = RANKS, .entered = 12 - is_out };
        snprintf(comm.entered_op.name, sizeof(comm.entered_op.name), "ncclAllReduce");
        if (!is_out) {
            comm.open = 12;
            comm.open_op = comm.entered_op;
            comm.open_op.launched_ns = 5000 + rank;
            head.streams = 1;
        }
        ranks[rank] = (struct recording){ .next = job.recordings, .progress = &of_ranks[rank], .open = true };
        snprintf(ranks[rank].rank, sizeof(ranks[rank].rank), "%u", rank);
        job.recordings = &ranks[rank];
        of_ranks[rank] = (struct progress){ 0 };
        stuck_at(&of_ranks[rank], 1000);
        stuck_at(&of_ranks[rank], 9000);
    }
}

static void the_rank_that_is_missing_is_named(void **state)
{
    char text[300];
    (void)state;
    make_ranks(1 << 5);
    hang_summary(&job, text, sizeof(text));
    assert_string_equal(text,
                        "rank 5 is not in ncclAllReduce number 12 of communicator 0000000000000abc; 7 of 8 ranks "
                        "wait for it");
    for (unsigned rank = 0; rank < RANKS; rank++)
        assert_int_equal(hang_is_missing(&job, &ranks[rank]), rank == 5);
    make_ranks(1 << 5 | 1 << 2);
    hang_summary(&job, text, sizeof(text));
    assert_non_null(strstr(text, "are not in ncclAllReduce number 12"));
    assert_non_null(strstr(text, "6 of 8 ranks wait for them"));
    make_ranks(0);
    hang_summary(&job, text, sizeof(text));
    assert_non_null(strstr(text, "8 of 8 ranks are in ncclAllReduce number 12"));
    assert_false(hang_is_missing(&job, &ranks[5]));
}

static void a_device_that_does_not_move_is_named(void **state)
{
    char text[300];
    (void)state;
    make_ranks(0xff); /* all ranks are outside of collective 12, so no collective is open */
    head.comms = 0;
    head.streams = 1;
    snprintf(streams[0].first.name, sizeof(streams[0].first.name), "spin\nhang: all is well");
    stuck_at(&of_ranks[3], 10000);
    stuck_at(&of_ranks[3], 20000);
    hang_summary(&job, text, sizeof(text));
    assert_non_null(strstr(text, "rank 3: spin"));
    assert_null(strchr(text, '\n'));
}

static void the_text_has_every_process(void **state)
{
    (void)state;
    make_ranks(1 << 5);
    of_ranks[5].works = true;
    ranks[4].progress = NULL;
    char *text = hang_text(&job, "summary", 9500);
    assert_non_null(text);
    assert_int_equal(strncmp(text, "summary\n", 8), 0);
    assert_non_null(strstr(text, "it computes on the host"));
    assert_non_null(strstr(text, "it has never said how far it is"));
    unsigned processes = 0;
    for (const char *at = text; (at = strstr(at, "\nprocess ")); at++)
        processes++;
    assert_int_equal(processes, RANKS);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(what_waits_and_does_not_end_is_stuck, reset),
        cmocka_unit_test_setup(a_call_that_does_not_return_is_stuck, reset),
        cmocka_unit_test_setup(wrong_answers_are_refused, reset),
        cmocka_unit_test_setup(the_rank_that_is_missing_is_named, reset),
        cmocka_unit_test_setup(a_device_that_does_not_move_is_named, reset),
        cmocka_unit_test_setup(the_text_has_every_process, reset),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
