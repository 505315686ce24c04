/* Tests of splitting the name of a range into the part that all its iterations share and the number of the
 * iteration. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "record/range_name.h"

static const struct {
    const char *text;
    enum ws_range_kind kind;
    const char *shared; /* the part of the name that all iterations share; NULL: the whole text */
    uint64_t number;
} names[] = {
    { "aten::mm, seq = 3, op_id = 41, sizes = [[2, 3], [3, 4]]", WS_RANGE_OPERATOR, "aten::mm", 0 },
    { "aten::mm, op_id = 41, seq = 3", WS_RANGE_OPERATOR, "aten::mm", 0 },
    { "ncclAllReduce", WS_RANGE_COMMUNICATION, NULL, 0 },
    { "ncclAllReduce2", WS_RANGE_ANNOTATION, NULL, 0 },
    { "ProfilerStep#12", WS_RANGE_STEP, "ProfilerStep", 12 },
    { "train_iteration#7", WS_RANGE_STEP, "train_iteration", 7 },
    { "layer#7", WS_RANGE_ANNOTATION, NULL, 0 },
    { "step 12", WS_RANGE_ANNOTATION, "step", 12 },
    { "Iter: 3", WS_RANGE_ANNOTATION, "Iter", 3 },
    { "train_batch=0", WS_RANGE_ANNOTATION, "train_batch", 0 },
    { "epoch 3 step 12", WS_RANGE_ANNOTATION, "epoch 3 step", 12 },
    { "micro-batch 3", WS_RANGE_ANNOTATION, NULL, 0 },
    { "encoder.block.14", WS_RANGE_ANNOTATION, NULL, 0 },
    { "step", WS_RANGE_ANNOTATION, NULL, 0 },
    { "12", WS_RANGE_ANNOTATION, NULL, 0 },
    { "#12", WS_RANGE_ANNOTATION, NULL, 0 },
    { "", WS_RANGE_ANNOTATION, NULL, 0 },
    { "step 123456789012345678", WS_RANGE_ANNOTATION, "step", 123456789012345678 },
    { "step 1234567890123456789", WS_RANGE_ANNOTATION, NULL, 0 },
    /* The names of inference servers keep their numbers, which are not those of iterations. */
    { "execute_context_2(512)_generation_30(30)", WS_RANGE_ANNOTATION, NULL, 0 },
    { "step[DECODE bs=32]", WS_RANGE_ANNOTATION, NULL, 0 },
    { "[Executor] _forward_step 7: 2 ctx reqs, 30 gen reqs", WS_RANGE_ANNOTATION, NULL, 0 },
};

static void names_are_read(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        struct ws_range_name name = ws_range_name_read(names[i].text, strlen(names[i].text));
        uint64_t number = 5;
        print_message("%s\n", names[i].text);
        assert_int_equal(name.kind, names[i].kind);
        assert_int_equal(name.length, strlen(names[i].shared ? names[i].shared : names[i].text));
        assert_int_equal(name.number, names[i].number);
        assert_int_equal(ws_range_is_step(names[i].text, strlen(names[i].text), &number),
                         names[i].kind == WS_RANGE_STEP);
        assert_int_equal(number, names[i].kind == WS_RANGE_STEP ? names[i].number : 5);
    }
}

static void iterations_are_known_by_name(void **state)
{
    static const char *const yes[] = { "step", "train step", "Iteration", "minibatch", "decode_step" };
    static const char *const no[] = { "forward", "epoch", "microbatch", "optimizer step", "scheduler.step",
                                      "steps",   "" };
    (void)state;
    for (size_t i = 0; i < sizeof(yes) / sizeof(yes[0]); i++)
        assert_true(ws_range_names_iteration(yes[i], strlen(yes[i])));
    for (size_t i = 0; i < sizeof(no) / sizeof(no[0]); i++)
        assert_false(ws_range_names_iteration(no[i], strlen(no[i])));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_read),
        cmocka_unit_test(iterations_are_known_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
