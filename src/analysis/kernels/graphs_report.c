#include "analysis/kernels/graphs.h"

#include <errno.h>

#include "analysis/kernels/classify.h"
#include "analysis/kernels/label.h"

static const struct ws_process *graphs_process_of(const struct ws_report *report, size_t subject)
{
    return ws_model_process(report->model, ws_model_track(report->model, subject)->process);
}

static void place_text(const struct ws_process *process, uint32_t place, char *text, size_t capacity)
{
    *text = 0;
    if (place != WS_NO_FRAME)
        ws_stacks_text(&process->stacks, place, text, capacity);
}

/* Prints the share of the nodes' time that each class of kernels takes, largest share first. Classes below 1 % are
 * counted together. */
static void print_classes(const struct ws_report *report, const struct ws_graph *graph, struct ws_page *page)
{
    const struct ws_graph_kernel *kernels = graph->kernels.data;
    int64_t of_class[WS_CLASS_COUNT] = { 0 };
    char text[512] = "", share[WS_FORMAT_SIZE];
    size_t used = 0;
    int64_t rest = graph->outside;
    for (size_t i = 0; i < graph->kernels.count; i++)
        of_class[ws_report_class(report, kernels[i].name)] += kernels[i].outside;
    for (unsigned listed = 0; listed < WS_CLASS_COUNT; listed++) {
        unsigned most = 0;
        for (unsigned one = 1; one < WS_CLASS_COUNT; one++)
            if (of_class[one] > of_class[most])
                most = one;
        if (of_class[most] < graph->outside / 100 || !of_class[most])
            break;
        used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s %s", used ? ", " : "",
                                 ws_kernel_class_name(most), ws_format_share(share, of_class[most], graph->outside));
        rest -= of_class[most];
        of_class[most] = 0;
    }
    ws_page_text(page, "By class: %s%s%s.", text, rest > 0 ? ", rest " : "",
                 rest > 0 ? ws_format_share(share, rest, graph->outside) : "");
}

static void print_kernels(const struct ws_report *report, size_t subject, const struct ws_graph *graph,
                          struct ws_page *page)
{
    static const struct ws_table_column columns[] = {
        { "outside", false, false },
        { "share", false, false },
        { "nodes", false, false },
        { "name", true, true },
        { "captured in", true, WS_NARROW_LEAVE_OUT },
    };
    const struct ws_graph_kernel *kernels = graph->kernels.data;
    char share[WS_FORMAT_SIZE], place[512];
    struct ws_table table;
    ws_table_init(&table, page, columns, sizeof(columns) / sizeof(columns[0]));
    size_t shown = ws_page_rows(page, graph->kernels.count);
    for (size_t i = 0; i < shown; i++) {
        place_text(graphs_process_of(report, subject), kernels[i].place, place, sizeof(place));
        if (kernels[i].timed) {
            ws_table_time(&table, kernels[i].outside);
            ws_table_cell(&table, "%s", ws_format_share(share, kernels[i].outside, graph->outside));
        } else {
            ws_table_cell(&table, "not known");
            ws_table_cell(&table, "%s", "");
        }
        ws_table_count(&table, kernels[i].nodes);
        ws_table_name(&table, ws_model_name(report->model, kernels[i].name)->text);
        ws_table_cell(&table, "%s", place);
    }
    ws_table_finish(&table);
    ws_page_more(page, graph->kernels.count, "kernel");
}

void ws_graphs_text(const struct ws_report *report, size_t subject, const void *memory, struct ws_page *page)
{
    const struct ws_track_graphs *result = memory;
    const struct ws_graph *graphs = result->graphs.data;
    char launches[WS_FORMAT_SIZE], mean[WS_FORMAT_SIZE], nodes[WS_FORMAT_SIZE], outside[WS_FORMAT_SIZE];
    if (!result->graphs.count)
        ws_page_text(page, "None.");
    for (size_t i = 0; i < ws_page_rows(page, result->graphs.count); i++) {
        ws_format_count(launches, graphs[i].launches);
        ws_format_time(mean, graphs[i].total / (int64_t)graphs[i].launches);
        ws_format_count(nodes, graphs[i].nodes);
        ws_format_time(outside, graphs[i].outside);
        if (!graphs[i].nodes)
            ws_page_text(page, "%s: launched %s times, %s each. Its nodes are not known.",
                         ws_model_name(report->model, graphs[i].name)->text, launches, mean);
        else if (!graphs[i].timed)
            ws_page_text(page, "%s: launched %s times, %s each, %s nodes. None of its kernels ran outside of it.",
                         ws_model_name(report->model, graphs[i].name)->text, launches, mean, nodes);
        else
            ws_page_text(page, "%s: launched %s times, %s each. Launched one by one, its %s nodes take %s%s.",
                         ws_model_name(report->model, graphs[i].name)->text, launches, mean, nodes, outside,
                         graphs[i].timed < graphs[i].nodes ? " (those that the program did launch so)" : "");
        if (graphs[i].timed)
            print_classes(report, &graphs[i], page);
        if (graphs[i].nodes)
            print_kernels(report, subject, &graphs[i], page);
    }
    ws_page_more(page, result->graphs.count, "graph");
    if (result->graphs.count)
        ws_page_text(page, "outside: inferred from the mean time of the same kernels, with the same grid and block, "
                           "where the program launched them one by one.");
}

static json_t *kernel_json(const struct ws_report *report, size_t subject, const struct ws_graph_kernel *kernel)
{
    char place[512];
    json_t *row = json_object();
    int status = json_object_set_new(row, "name", ws_json_text(ws_model_name(report->model, kernel->name)->text));
    status |= ws_json_set(row, "nodes", (int64_t)kernel->nodes);
    if (kernel->timed)
        status |= ws_json_set(row, "outside_ns", kernel->outside);
    place_text(graphs_process_of(report, subject), kernel->place, place, sizeof(place));
    if (*place)
        status |= json_object_set_new(row, "captured_in", ws_json_text(place));
    if (status) {
        json_decref(row);
        return NULL;
    }
    return row;
}

int ws_graphs_json(const struct ws_report *report, size_t subject, const void *memory, json_t *object)
{
    const struct ws_track_graphs *result = memory;
    const struct ws_graph *graphs = result->graphs.data;
    if (!result->graphs.count)
        return 0;
    json_t *list = json_array();
    int status = json_object_set_new(object, "graphs", list);
    for (size_t i = 0; i < result->graphs.count && !status; i++) {
        const struct ws_graph_kernel *kernels = graphs[i].kernels.data;
        json_t *row = json_object(), *rows = json_array();
        status |= json_object_set_new(row, "name", ws_json_text(ws_model_name(report->model, graphs[i].name)->text));
        status |= ws_json_set(row, "count", (int64_t)graphs[i].launches);
        status |= ws_json_set(row, "total_ns", graphs[i].total);
        status |= ws_json_set(row, "nodes", (int64_t)graphs[i].nodes);
        if (graphs[i].timed)
            status |= ws_json_set(row, "outside_ns", graphs[i].outside);
        for (size_t kernel = 0; kernel < graphs[i].kernels.count; kernel++)
            status |= json_array_append_new(rows, kernel_json(report, subject, &kernels[kernel]));
        status |= json_object_set_new(row, "kernels", rows);
        status |= json_array_append_new(list, row);
    }
    return status ? -ENOMEM : 0;
}
