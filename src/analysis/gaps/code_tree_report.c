#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/gaps/code_tree.h"

enum { DEEPEST_INDENT = 24 }; /* functions with more callers than this are not indented further */

static void name_cell(struct ws_table *table, const struct ws_code_function *function, uint32_t depth)
{
    const char *file = function->file.data, *slash = memrchr(file, '/', function->file.length);
    const char *base = slash ? slash + 1 : file;
    ws_table_cell(table, "%*s%.*s (%.*s:%u)", (int)(2 * ws_min(depth, (uint32_t)DEEPEST_INDENT)), "",
                  (int)function->name.length, function->name.data, (int)(file + function->file.length - base), base,
                  function->line);
}

static void time_cells(struct ws_table *table, const struct ws_code_time *time, const struct ws_code_time *own)
{
    ws_table_time(table, time->device);
    ws_table_time(table, own->device);
    ws_table_time(table, time->idle);
    ws_table_time(table, time->host);
}

static void code_tree_print_table(struct ws_page *page, const struct ws_code_tree *tree)
{
    static const struct ws_table_column columns[] = {
        { "device", false, false }, { "own", false, WS_NARROW_LEAVE_OUT },   { "idle", false, false },
        { "host", false, false },   { "function", true, WS_NARROW_SHORTEN },
    };
    const struct ws_code_function *functions = tree->functions.data;
    size_t count = tree->functions.count;
    struct ws_table table;
    ws_table_init(&table, page, columns, sizeof(columns) / sizeof(columns[0]));
    for (size_t i = 0; i < count; i++) {
        const struct ws_code_function *function = &functions[tree->shown[i].row];
        if (tree->shown[i].rank >= ws_page_rows(page, count))
            continue;
        time_cells(&table, &function->whole, &function->own);
        name_cell(&table, function, tree->shown[i].depth);
    }
    if (tree->without.device || tree->without.idle || tree->without.host) {
        time_cells(&table, &tree->without, &tree->without);
        ws_table_cell(&table, tree->from_stacks ? "(no stack)" : "(outside)");
    }
    ws_table_finish(&table);
    ws_page_more(page, count, "function");
}

static uint64_t all_stacks(const struct ws_code_tree *tree)
{
    const struct ws_code_function *functions = tree->functions.data;
    uint64_t stacks = tree->without.stacks;
    for (size_t i = 0; i < tree->functions.count; i++)
        stacks += functions[i].own.stacks;
    return stacks;
}

void ws_code_tree_text(const struct ws_report *report, size_t subject, const void *memory, struct ws_page *page)
{
    const struct ws_code_tree *tree = memory;
    char count[WS_FORMAT_SIZE];
    (void)report;
    (void)subject;
    if (!tree->functions.count) {
        ws_page_text(page, "The trace shows no functions: record a Python program with --stacks some or all, or with "
                           "with_stack=True in torch.profiler.");
        return;
    }
    if (tree->from_stacks)
        ws_page_text(
            page,
            "An estimate from %s stacks, in the whole recording. \"device\": the launches of a kernel and grid "
            "share out their time evenly among those that have a stack. \"idle\": the device waited for this "
            "code. \"host\": a thread's time from one stack to the next.",
            ws_format_count(count, all_stacks(tree)));
    else
        ws_page_text(page,
                     "Work that the functions launched, in the whole recording. \"idle\": the device waited for "
                     "one of their launches. \"host\": time of threads in the function.");
    code_tree_print_table(page, tree);
    ws_page_text(page,
                 "Each row has its callees below it; \"own\" is without them. Functions of libraries count for the "
                 "function that called them.");
}

/* --- JSON --------------------------------------------------------------------------------------------- */

static int set_times(json_t *object, const struct ws_code_time *time)
{
    int status = ws_json_set(object, "host_ns", time->host);
    status |= ws_json_set(object, "device_ns", time->device);
    return status | ws_json_set(object, "idle_ns", time->idle);
}

static json_t *times_json(const struct ws_code_time *time)
{
    json_t *object = json_object();
    if (object && !set_times(object, time))
        return object;
    json_decref(object);
    return NULL;
}

static int set_text(json_t *object, const char *key, const struct ws_text *text)
{
    char *copy = strndup(text->data, text->length);
    int status = copy ? json_object_set_new(object, key, ws_json_text(copy)) : -ENOMEM;
    free(copy);
    return status;
}

/* Adds `function` to `list`. Sets *children to a new empty list, for the functions that `function` calls. */
static int add_json(const struct ws_code_function *function, bool from_stacks, json_t *list, json_t **children)
{
    json_t *object = json_object();
    *children = json_array();
    int status = set_text(object, "name", &function->name);
    status |= set_text(object, "file", &function->file);
    status |= ws_json_set(object, "line", function->line);
    status |= set_times(object, &function->whole);
    if (from_stacks)
        status |= ws_json_set(object, "stacks", (int64_t)function->whole.stacks);
    status |= json_object_set_new(object, "own", times_json(&function->own));
    status |= json_object_set_new(object, "children", *children);
    return status | json_array_append_new(list, object) ? -ENOMEM : 0;
}

int ws_code_tree_json(const struct ws_report *report, size_t subject, const void *memory, json_t *object)
{
    const struct ws_code_tree *tree = memory;
    const struct ws_code_function *functions = tree->functions.data;
    size_t count = tree->functions.count, rows = report->top && report->top < count ? report->top : count;
    (void)subject;
    if (!count)
        return 0;
    /* by index of a function: JSON list of the functions that it calls */
    json_t **lists = calloc(count + 1, sizeof(json_t *));
    json_t *top = json_array(), *code = json_object();
    int status = lists ? 0 : -ENOMEM;
    status |= json_object_set_new(object, "code", code);
    status |= json_object_set_new(code, "functions", top);
    status |= json_object_set_new(code, "estimated", json_boolean(tree->from_stacks));
    status |= json_object_set_new(code, "outside", times_json(&tree->without));
    for (size_t i = 0; i < count && !status; i++) {
        uint32_t row = tree->shown[i].row, parent = functions[row].parent;
        if (tree->shown[i].rank < rows)
            status = add_json(&functions[row], tree->from_stacks, parent == WS_NO_PARENT ? top : lists[parent],
                              &lists[row]);
    }
    free(lists);
    return status ? -ENOMEM : 0;
}
