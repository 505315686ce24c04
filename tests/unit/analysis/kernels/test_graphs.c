/* Tests what reports tell about the kernels in CUDA graphs: their times outside of the graph, and the lines at which
 * they were captured. */
#include "check.h"

#include "analysis/kernels/graphs.h"
#include "built.h"

static const int64_t us = 1000;

enum { GRAPH = 7, MODEL = 1, HEAD }; /* GRAPH: an executable graph; MODEL, HEAD: frames of the program */

static void build_line(struct builder *trace, uint32_t frame, const char *function, uint32_t line)
{
    static const char file[] = "/home/me/train.py";
    build_row(trace, WS_FAMILY_code,
              &(struct ws_code){ .id = frame,
                                 .first_line = line,
                                 .name = { function, (uint32_t)strlen(function) },
                                 .file = { file, sizeof(file) - 1 } });
    build_row(trace, WS_FAMILY_frame, &(struct ws_frame){ .id = frame, .code = frame });
}

/* Adds a launch that is captured at `frame` and does not run. */
static void capture(struct builder *trace, const char *kernel, uint32_t frame, int64_t host)
{
    uint32_t shape = build_launch(
        trace,
        &(struct launch){
            .kernel = kernel, .stream = 2, .host_begin = host, .host_end = host + us, .flags = WS_OP_CAPTURED });
    build_row(trace, WS_FAMILY_stack,
              &(struct ws_stack){ .frame = frame, .thread = 1, .host_ns = host, .shape = shape });
}

static void node(struct builder *trace, uint32_t index, const char *kernel, bool enabled)
{
    struct ws_shape shape = {
        .kind = WS_OP_KERNEL, .grid_x = 64, .grid_y = 1, .grid_z = 1, .block_x = 256, .block_y = 1, .block_z = 1
    };
    shape.function = build_function(trace, kernel);
    build_row(trace, WS_FAMILY_graph_node,
              &(struct ws_graph_node){
                  .graph = GRAPH, .index = index, .shape = build_shape(trace, &shape), .enabled = enabled });
}

static void replay(struct builder *trace, int64_t begin, int64_t end)
{
    uint32_t shape = build_shape(trace, &(struct ws_shape){ .kind = WS_OP_GRAPH, .stream = 1, .function = GRAPH });
    struct ws_op op = build_op_of(trace, shape, begin, end);
    build_row(trace, WS_FAMILY_op, &op);
}

static const struct ws_graph *graph_of(const struct built *built)
{
    const struct ws_track_graphs *result = built_result(built, &ws_analysis_graphs, 0);
    assert_int_equal(result->graphs.count, 1);
    return result->graphs.data;
}

static void check_kernel(const struct built *built, size_t index, const char *name, uint64_t nodes, int64_t outside,
                         const char *line)
{
    const struct ws_graph_kernel *kernel = (const struct ws_graph_kernel *)graph_of(built)->kernels.data + index;
    char text[256] = "";
    assert_true(index < graph_of(built)->kernels.count);
    assert_string_equal(ws_model_name(built->model, kernel->name)->text, name);
    assert_int_equal(kernel->nodes, nodes);
    assert_int_equal(kernel->outside, outside);
    if (kernel->place != WS_NO_FRAME)
        ws_stacks_text(&ws_model_process(built->model, 0)->stacks, kernel->place, text, sizeof(text));
    assert_string_equal(text, line);
}

static struct builder *begin(struct built *built)
{
    struct builder *trace = built_begin_on(built, "Test GPU", 2);
    build_thread(trace, 1, 77, "python3");
    build_line(trace, MODEL, "forward", 12);
    build_line(trace, HEAD, "head", 30);
    return trace;
}

/* The same kernel was captured at two lines. The order of the nodes tells which node is of which line. */
static void nodes_have_times_and_lines(void **state)
{
    struct built built;
    struct builder *trace = begin(&built);
    (void)state;
    build_kernel(trace, 1, "gemm", 100 * us, 130 * us);
    build_kernel(trace, 1, "gemm", 140 * us, 180 * us);
    build_kernel(trace, 2, "gelu", 200 * us, 205 * us);
    capture(trace, "other", MODEL, 290 * us); /* a capture for a graph that was not launched */
    capture(trace, "gemm", MODEL, 300 * us);
    capture(trace, "gelu", MODEL, 310 * us);
    capture(trace, "gemm", HEAD, 320 * us);
    capture(trace, "rare", HEAD, 330 * us);
    node(trace, 0, "gemm", true);
    node(trace, 1, "gelu", true);
    node(trace, 2, "gemm", true);
    node(trace, 3, "rare", true);
    replay(trace, 400 * us, 470 * us);
    replay(trace, 500 * us, 580 * us);
    built_report(&built);
    const struct ws_graph *graph = graph_of(&built);
    assert_int_equal(graph->launches, 2);
    assert_int_equal(graph->total, 150 * us);
    assert_int_equal(graph->nodes, 4);
    assert_int_equal(graph->timed, 3);
    assert_int_equal(graph->outside, 75 * us);
    assert_int_equal(graph->kernels.count, 4);
    check_kernel(&built, 0, "gemm", 1, 35 * us, "forward (train.py:12)");
    check_kernel(&built, 1, "gemm", 1, 35 * us, "head (train.py:30)");
    check_kernel(&built, 2, "gelu", 1, 5 * us, "forward (train.py:12)");
    check_kernel(&built, 3, "rare", 1, 0, "head (train.py:30)");
    double share;
    assert_true(ws_graphs_matmul_share(built.report, 0, &share));
    assert_true(share > 0.93 && share < 0.94); /* the gemm nodes take 70 of 75 µs */
    char *text = built_text(&built, "graphs", false);
    assert_non_null(
        strstr(text, "launched 2 times, 75.0 µs each. Launched one by one, its 4 nodes take 75.0 µs (those"));
    free(text);
    built_print(&built);
    built_finish(&built);
}

/* If the nodes have another order than the captured launches, a kernel's line is that of any capture of it. */
static void a_line_is_known_without_the_order(void **state)
{
    struct built built;
    struct builder *trace = begin(&built);
    (void)state;
    build_kernel(trace, 1, "gemm", 100 * us, 130 * us);
    capture(trace, "gelu", MODEL, 310 * us);
    capture(trace, "gemm", HEAD, 320 * us);
    node(trace, 0, "gemm", true);
    node(trace, 1, "gelu", true);
    node(trace, 2, "gemm", false); /* a disabled node does not run */
    node(trace, 3, "gemm", true);
    replay(trace, 400 * us, 470 * us);
    built_report(&built);
    double share;
    assert_int_equal(graph_of(&built)->nodes, 3);
    assert_true(ws_graphs_matmul_share(built.report, 0, &share) && share == 1);
    check_kernel(&built, 0, "gemm", 2, 60 * us, "head (train.py:30)");
    check_kernel(&built, 1, "gelu", 1, 0, "forward (train.py:12)");
    built_finish(&built);
}

/* If most of a graph's kernels did not also run outside of the graph, the share of matrix work in the graph is not
 * known. */
static void few_times_tell_nothing_of_the_whole(void **state)
{
    struct built built;
    struct builder *trace = begin(&built);
    double share;
    (void)state;
    build_kernel(trace, 1, "gemm", 100 * us, 130 * us);
    node(trace, 0, "gemm", true);
    node(trace, 1, "other", true);
    replay(trace, 400 * us, 470 * us);
    built_report(&built);
    assert_int_equal(graph_of(&built)->timed, 1);
    assert_false(ws_graphs_matmul_share(built.report, 0, &share));
    built_finish(&built);
}

/* A kernel's time outside of the graph tells nothing about the graph, if it is far from the graph's own time. */
static void times_outside_must_fit_the_graph(void **state)
{
    /* in µs; the graph takes 70 µs */
    static const int64_t lengths[] = { 10, 70, 150, 70 }, errors[] = { 0, 1, 1, 18 };
    (void)state;
    for (int i = 0; i < 4; i++) {
        struct built built;
        struct builder *trace = begin(&built);
        double share;
        build_launch(trace, &(struct launch){ .kernel = "gemm",
                                              .begin = 100 * us,
                                              .end = (100 + lengths[i]) * us,
                                              .error = (uint32_t)(errors[i] * us) });
        node(trace, 0, "gemm", true);
        replay(trace, 400 * us, 470 * us);
        built_report(&built);
        assert_int_equal(ws_graphs_matmul_share(built.report, 0, &share), i == 1);
        built_finish(&built);
    }
}

static void graphs_without_nodes_have_no_section(void **state)
{
    struct built built;
    struct builder *trace = begin(&built);
    (void)state;
    replay(trace, 400 * us, 470 * us);
    built_report(&built);
    assert_int_equal(((const struct ws_track_graphs *)built_result(&built, &ws_analysis_graphs, 0))->graphs.count, 0);
    built_finish(&built);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nodes_have_times_and_lines),           cmocka_unit_test(a_line_is_known_without_the_order),
        cmocka_unit_test(few_times_tell_nothing_of_the_whole),  cmocka_unit_test(times_outside_must_fit_the_graph),
        cmocka_unit_test(graphs_without_nodes_have_no_section),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
