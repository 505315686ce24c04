/* Tests of which roofline class a kernel gets. */
#include "check.h"

#include "analysis/roofline/roofline_judge.c" // NOLINT(bugprone-suspicious-include)

/* A kernel seems to reach twice the GPU's memory bandwidth. Only a tenth of its launches have known work, and each of
 * these moves 100 MiB, more than the L2 cache holds. So the cache does not explain the rate. */
static void bytes_are_those_of_a_launch_with_known_work(void **state)
{
    const struct ws_gpu *gpu = ws_gpu_named("h100");
    double bytes = 100 * 1048576.0;
    int64_t launch = (int64_t)(bytes / gpu->bytes_per_ns / 2);
    struct ws_roofline_row row = { .count = 100,
                                   .total = 100 * launch,
                                   .known = 10 * launch,
                                   .known_count = 10,
                                   .bytes = 10 * bytes,
                                   .source = WS_WORK_SHAPE,
                                   .precision = WS_PRECISION_FP32 };
    (void)state;
    class_by_work(gpu, &row, WS_CLASS_COPY);
    assert_false(row.cached);
    assert_true(row.inconsistent);
    row.bytes /= 10; /* 10 MiB a launch fit into the cache, whatever the other launches take */
    row.known /= 10;
    class_by_work(gpu, &row, WS_CLASS_COPY);
    assert_true(row.cached);
    assert_false(row.inconsistent);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_are_those_of_a_launch_with_known_work),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
