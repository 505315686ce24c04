/* Tests of the errors of kernels' total times. */
#include "check.h"

#include "analysis/kernels/kernels.h"
#include "built.h"

enum {
    LAUNCHES = 1000,
    LENGTH = 2000,
    PERIOD = 10000,
    ERROR = 4000,
    COMPUTED = WS_TIME_INFERRED | WS_TIME_INFERRED << 2
};

/* Launches of 2 us. One in `measured` is measured exactly; all others have computed times with an error of 4 us each.
 */
static void launch_all(struct builder *trace, const char *kernel, int measured)
{
    for (int i = 0; i < LAUNCHES; i++) {
        bool computed = i % measured != 0;
        build_launch(trace, &(struct launch){ .kernel = kernel,
                                              .stream = 1,
                                              .begin = (int64_t)i * PERIOD,
                                              .end = (int64_t)i * PERIOD + LENGTH,
                                              .error = computed ? ERROR : 0,
                                              .flags = computed ? COMPUTED : 0 });
    }
}

static struct ws_kernel_row row_of(const char *placement, int measured)
{
    struct built built;
    struct builder *trace = built_begin_on(&built, "Test GPU", 4);
    if (placement)
        build_meta(trace, "marks", placement);
    launch_all(trace, "kernel", measured);
    built_report(&built);
    const struct ws_track_kernels *kernels = ws_report_result(built.report, &ws_analysis_kernels, 0);
    assert_int_equal(kernels->rows.count, 1);
    struct ws_kernel_row row = *(const struct ws_kernel_row *)kernels->rows.data;
    built_finish(&built);
    assert_int_equal(row.total, (int64_t)LAUNCHES * LENGTH);
    return row;
}

/* Twenty measured launches took the same time, so the mean is known to 0.1 us (kernels/lengths.h). */
static void measured_launches_tell_the_error_of_the_total(void **state)
{
    (void)state;
    assert_in_range(row_of("sampled", 50).error, 950 * 100, 1000 * 101);
    assert_in_range(row_of(NULL, 50).error, 950 * 100, 1000 * 101);
}

/* Without measured launches the errors of starts and ends add up. So they do where each launch has events of its own:
 * these errors do not cancel out. */
static void otherwise_single_errors_add_up(void **state)
{
    (void)state;
    assert_in_range(row_of("sampled", LAUNCHES).error, 990 * 4000, 1000 * 2 * 4000);
    assert_in_range(row_of("pairs", 50).error, 970 * 4000, 1000 * 2 * 4000);
    assert_in_range(row_of("marks", 50).error, 970 * 4000, 1000 * 2 * 4000);
}

/* The table has a column of errors only if one of them matters. */
static void errors_are_shown_where_they_matter(void **state)
{
    (void)state;
    for (int matters = 0; matters < 2; matters++) {
        struct built built;
        char *text;
        size_t size;
        launch_all(built_begin_on(&built, "Test GPU", 4), "kernel", matters ? LAUNCHES : 1);
        built_report(&built);
        struct ws_page page = { .out = open_memstream(&text, &size), .width = 100 };
        ws_kernels_text(built.report, 0, ws_report_result(built.report, &ws_analysis_kernels, 0), &page);
        fclose(page.out);
        assert_int_equal(strstr(text, "±") != NULL, matters);
        free(text);
        built_finish(&built);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(measured_launches_tell_the_error_of_the_total),
        cmocka_unit_test(otherwise_single_errors_add_up),
        cmocka_unit_test(errors_are_shown_where_they_matter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
