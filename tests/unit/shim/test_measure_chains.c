/* Tests of shim/calls/measure, for kernels whose launches take very different times, and for streams that several
 * threads use. */
#include "measured_thread.h"

/* Where a launch can have no event before it, its sample is postponed to the shape's next launch, and an anchor is
 * none the less made. */
static void a_sample_without_begin_is_postponed(void **state)
{
    (void)state;
    wanted = WANT_FEW_SAMPLES;
    stream.anchor_due = UINT64_MAX;
    shape = (struct shape_entry){ .until_sample = 1, .sample_gap = MEASURE_EARLY_GAP };
    for (int i = 0; i < 3; i++) {
        assert_int_equal(measure_of_launch(thread, &stream, &shape, MILLION), MEASURE_PAIR);
        assert_int_equal(measure_without_begin(thread, &shape), MEASURE_NOTHING);
        assert_int_equal(shape.sample_gap, MEASURE_EARLY_GAP);
    }
    stream.anchor_due = 0;
    assert_int_equal(measure_of_launch(thread, &stream, &shape, MILLION), MEASURE_END); /* it is the anchor's turn */
    assert_int_equal(measure_without_begin(thread, &shape), MEASURE_END);
}

/* A chain is a sample, or an end, and twelve more measured ends. There is none in a stream that several threads use,
 * and a second user ends one. A sample of another kernel that is due goes before. */
static void a_chain_follows_a_sample(void **state)
{
    (void)state;
    struct shape_entry usual = { .until_sample = 1 };
    for (int i = 0; i < 3; i++) {
        wanted = WANT_ENDS;
        *thread = (struct shim_thread){ .number = 1 };
        stream = (struct shim_stream){ .user = i == 1 ? STREAM_SHARED : 1, .anchor_due = UINT64_MAX };
        shape = (struct shape_entry){ .until_sample = 1, .sample_gap = MEASURE_EARLY_GAP };
        assert_int_equal(measure_of_launch(thread, &stream, &shape, MILLION), MEASURE_PAIR);
        for (int k = 0; k < 20; k++) {
            thread->measure = MEASURE_END;
            measure_was_paid(thread, &stream, MILLION, COST);
            if (i == 2 && k == 4) {
                wanted = WANT_FIRST_SAMPLES;
                assert_int_equal(measure_of_launch(thread, &stream, &usual, MILLION - 1), MEASURE_PAIR);
                wanted = WANT_ENDS;
                stream.user = STREAM_SHARED;
            }
            bool goes_on = i == 0 ? k < CHAIN : i == 2 && k < 4;
            assert_int_equal(measure_of_launch(thread, &stream, &shape, MILLION),
                             goes_on ? MEASURE_END : MEASURE_NOTHING);
        }
    }
}

/* Kernels whose launches differ much are sampled more often, but within the same permitted share of time. If ends are
 * enough, there are many of them. */
static void what_varies_is_sampled_more_often(void **state)
{
    (void)state;
    static const enum samples_wanted wishes[] = { WANT_FIRST_SAMPLES, WANT_MANY_SAMPLES, WANT_ENDS };
    unsigned samples[3];
    for (int i = 0; i < 3; i++) {
        struct counts counts = { .now = MILLION };
        *thread = (struct shim_thread){ 0 };
        stream.anchor_due = UINT64_MAX;
        shape = (struct shape_entry){ .until_sample = 2 };
        wanted = wishes[i];
        for (int k = 0; k < 1000; k++) {
            launch(&counts, 10, 50000, i == 2 ? COST / 3 : COST);
            if (!stream.chain)
                stream.anchor_due = UINT64_MAX; /* no anchors */
        }
        samples[i] = counts.samples + counts.anchors;
        assert_true((double)counts.took <= (double)(counts.now - MILLION) * 0.02 + 20 * COST);
    }
    assert_true(samples[0] > 40 && samples[1] > 4 * samples[0] && samples[2] > samples[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_sample_without_begin_is_postponed, begin_anew, end),
        cmocka_unit_test_setup_teardown(a_chain_follows_a_sample, begin_anew, end),
        cmocka_unit_test_setup_teardown(what_varies_is_sampled_more_often, begin_anew, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
