#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "check/evaluate.h"
#include "check/figure.h"
#include "reports.h"

enum { JSON_VERSION = 1, TOP = 20 /* most rows of a table, as in report --json */ };

static const struct tool_switch *check_switches(size_t *count)
{
    static const struct tool_switch list[] = {
        { "rule", 'r', "RULE", "what must hold, such as 'busy >= 80 %'; may be given several times" },
        { "list", 'l', NULL, "list the figures that have names" },
        { "json", 0, NULL, "the result as JSON, described by check.schema.json" },
        TOOL_WINDOW_SWITCHES,
        TOOL_GPU_SWITCH,
        { "wide", 'w', NULL, "print whole names and all columns, even in long lines" },
    };
    *count = sizeof(list) / sizeof(list[0]);
    return list;
}

/* Descriptions are wrapped, not shortened: two shortened descriptions may look the same. */
static int list_figures(const struct tool_arguments *arguments)
{
    struct ws_page page = tool_page(arguments, 0);
    for (size_t i = 0; i < ws_figure_count; i++)
        if (strlen(ws_figures[i].name) > page.label)
            page.label = strlen(ws_figures[i].name);
    ws_page_fact(&page, "figure", "unit");
    for (size_t i = 0; i < ws_figure_count; i++) {
        const struct ws_figure *figure = &ws_figures[i];
        char unit[32];
        snprintf(unit, sizeof(unit), "%s%s", ws_unit_name(figure->unit),
                 figure->of && figure->unit == WS_UNIT_TIME ? ", share" : "");
        ws_page_fact(&page, figure->name, "%-11s  %s", unit, figure->what);
    }
    fputc('\n', stdout);
    ws_page_text(&page, "Every other key of the JSON report is a figure too: kernels[\"gemm\"].share, "
                        "copies[0].bytes, launches.count.");
    return TOOL_DONE;
}

/* --- text ---------------------------------------------------------------------------------------- */

/* Does the report have several devices or processes? If so, each finding (the result of a rule for one device) is
 * printed with its device and process. */
static bool has_several(const json_t *report)
{
    size_t index, devices = 0;
    json_t *process;
    json_array_foreach(json_object_get(report, "processes"), index, process) devices +=
        json_array_size(json_object_get(process, "devices"));
    return devices > 1 || json_array_size(json_object_get(report, "processes")) > 1;
}

/* Writes "GPU 0 NVIDIA H100, rank 3, ncclDevKernel…", as much of it as is needed to tell findings apart. */
static void where(const struct ws_finding *finding, bool several, char *text, size_t capacity)
{
    const json_t *device = json_object_get(finding->device, "device");
    const char *name = json_string_value(json_object_get(finding->device, "name"));
    const char *rank = json_string_value(json_object_get(json_object_get(finding->process, "meta"), "rank"));
    const char *trace = json_string_value(json_object_get(finding->process, "trace"));
    size_t used = 0;
    *text = 0;
    if (several && json_is_integer(device))
        used += (size_t)snprintf(text, capacity, "GPU %d%s%.60s", (int)json_integer_value(device), name ? " " : "",
                                 name ? name : "");
    else if (several && finding->device)
        used += (size_t)snprintf(text, capacity, "GPU not known");
    if (several && finding->process && (rank || trace))
        used += (size_t)snprintf(text + used, capacity - used, "%s%s%.100s", used ? ", " : "", rank ? "rank " : "",
                                 rank ? rank : trace);
    if (finding->value.row)
        snprintf(text + used, capacity - used, "%s%.200s", used ? ", " : "", finding->value.row);
}

static void put_figure(struct ws_table *table, const struct ws_finding *finding)
{
    const struct ws_found *value = &finding->value;
    char text[WS_FORMAT_SIZE], error[WS_FORMAT_SIZE];
    if (finding->outcome == WS_NOT_KNOWN)
        ws_table_cell(table, "%s", finding->why);
    else if (value->unit == WS_UNIT_TEXT)
        ws_table_cell(table, "%s", value->text);
    else if (value->unit == WS_UNIT_TIME)
        ws_table_cell(table, "%s", ws_format_time(text, (int64_t)value->number));
    else if (value->unit == WS_UNIT_BYTES)
        ws_table_cell(table, "%s", ws_format_bytes(text, value->number > 0 ? (uint64_t)value->number : 0));
    else if (value->unit != WS_UNIT_SHARE)
        ws_table_cell(table, "%.12g", value->number);
    else if (finding->within_error)
        ws_table_cell(table, "%.1f %% ± %s", value->number * 100,
                      ws_format_share(error, (int64_t)(finding->error * 1e6), 1000000));
    else
        ws_table_cell(table, "%.1f %%", value->number * 100);
}

/* Returns the distance of the finding's value from the rule's limit. For a rule that holds, only the finding with the
 * smallest distance is shown. */
static double check_distance(const struct ws_rule *rule, const struct ws_finding *finding)
{
    double far = finding->value.number - rule->value.number;
    return far < 0 ? -far : far;
}

static size_t nearest_finding(const struct ws_rule *rule, const struct ws_judgement *judgement)
{
    const struct ws_finding *findings = judgement->findings.data;
    size_t nearest = 0;
    for (size_t i = 1; i < judgement->findings.count; i++)
        if (check_distance(rule, &findings[i]) < check_distance(rule, &findings[nearest]))
            nearest = i;
    return nearest;
}

static void put_row(struct ws_table *table, const char *text, const struct ws_finding *finding, bool several)
{
    static const char *const names[] = {
        [WS_HOLDS] = "holds", [WS_NOT_KNOWN] = "not known", [WS_BROKEN] = "does not hold"
    };
    char place[400];
    where(finding, several, place, sizeof(place));
    ws_table_cell(table, "%s", names[finding->outcome]);
    ws_table_cell(table, "%s", text);
    put_figure(table, finding);
    ws_table_cell(table, "%s", place);
}

/* Prints one line for a rule that holds. Else prints one line for each finding (for one device, or one kernel or
 * other row of a report's table) that has the rule's outcome. */
static void put_rule(struct ws_table *table, const char *text, const struct ws_rule *rule,
                     const struct ws_judgement *judgement, bool several)
{
    const struct ws_finding *findings = judgement->findings.data;
    if (judgement->outcome == WS_HOLDS) {
        put_row(table, text, &findings[nearest_finding(rule, judgement)], several);
        return;
    }
    for (size_t i = 0; i < judgement->findings.count; i++)
        if (findings[i].outcome == judgement->outcome)
            put_row(table, text, &findings[i], several);
}

/* --- JSON ---------------------------------------------------------------------------------------- */

/* Times and bytes are integers, because reals are written with only nine digits. */
static json_t *number_json(const struct ws_found *value)
{
    bool whole = value->unit == WS_UNIT_TIME || value->unit == WS_UNIT_BYTES;
    return whole && value->number > -9e18 && value->number < 9e18 ? json_integer((json_int_t)value->number)
                                                                  : json_real(value->number);
}

static json_t *finding_json(const struct ws_finding *finding)
{
    json_t *object = json_object(), *value = NULL;
    const json_t *trace = json_object_get(finding->process, "trace");
    const json_t *device = json_object_get(finding->device, "device");
    int status = json_object_set_new(object, "outcome", json_string(ws_outcome_name(finding->outcome)));
    if (trace)
        status |= json_object_set(object, "trace", (json_t *)trace);
    if (device)
        status |= json_object_set(object, "device", (json_t *)device);
    if (finding->value.row)
        status |= json_object_set_new(object, "row", ws_json_text(finding->value.row));
    if (finding->outcome == WS_NOT_KNOWN)
        status |= json_object_set_new(object, "reason", ws_json_text(finding->why));
    else
        value =
            finding->value.unit == WS_UNIT_TEXT ? ws_json_text(finding->value.text) : number_json(&finding->value);
    if (value)
        status |= json_object_set_new(object, "value", value);
    if (finding->error > 0)
        status |= json_object_set_new(object, "error", json_real(finding->error));
    if (finding->outcome != WS_NOT_KNOWN && finding->error > 0)
        status |= json_object_set_new(object, "within_error", json_boolean(finding->within_error));
    if (!status)
        return object;
    json_decref(object);
    return NULL;
}

static json_t *rule_json(const char *text, const struct ws_judgement *judgement)
{
    static const char *const units[] = { [WS_UNIT_NONE] = "number",
                                         [WS_UNIT_SHARE] = "share",
                                         [WS_UNIT_TIME] = "ns",
                                         [WS_UNIT_BYTES] = "bytes",
                                         [WS_UNIT_TEXT] = "word" };
    const struct ws_finding *findings = judgement->findings.data;
    json_t *object = json_object(), *list = json_array();
    int status = json_object_set_new(object, "rule", ws_json_text(text));
    status |= json_object_set_new(object, "outcome", json_string(ws_outcome_name(judgement->outcome)));
    status |= json_object_set_new(object, "findings", list);
    for (size_t i = 0; i < judgement->findings.count && !status; i++) {
        if (findings[i].outcome != WS_NOT_KNOWN)
            status |= json_object_set_new(object, "unit", json_string(units[findings[i].value.unit]));
        status |= json_array_append_new(list, finding_json(&findings[i]));
    }
    if (!status)
        return object;
    json_decref(object);
    return NULL;
}

/* --- the command ------------------------------------------------------------------------------- */

struct checks {
    const struct tool_arguments *arguments;
    size_t count;
    struct ws_rule rules[TOOL_REPEATED];
    struct ws_judgement judgements[TOOL_REPEATED];
};

static int parse_rules(struct checks *checks)
{
    char message[256];
    for (size_t i = 0; i < checks->arguments->repeated_count; i++) {
        const char *text = checks->arguments->repeated[i];
        int status = ws_rule_parse(&checks->rules[checks->count++], text, message, sizeof(message));
        if (status)
            return tool_error("--rule %s: %s", text, status == -ENOMEM ? "out of memory" : message);
    }
    return 0;
}

static int check_evaluate(struct checks *checks, const json_t *report, enum ws_outcome *outcome)
{
    char message[256];
    *outcome = WS_HOLDS;
    for (size_t i = 0; i < checks->count; i++) {
        int status = ws_rule_evaluate(&checks->rules[i], report, &checks->judgements[i], message, sizeof(message));
        if (status)
            return tool_error("--rule %s: %s", checks->arguments->repeated[i],
                              status == -ENOMEM ? "out of memory" : message);
        if (checks->judgements[i].outcome > *outcome)
            *outcome = checks->judgements[i].outcome;
    }
    return 0;
}

static void check_print_text(const struct checks *checks, const json_t *report)
{
    static const struct ws_table_column columns[] = { { "outcome", true, 0 },
                                                      { "rule", true, WS_NARROW_SHORTEN },
                                                      { "figure", true, WS_NARROW_SHORTEN },
                                                      { "", true, WS_NARROW_SHORTEN } };
    struct ws_page page = tool_page(checks->arguments, 0);
    struct ws_table table;
    bool several = has_several(report);
    ws_table_init(&table, &page, columns, sizeof(columns) / sizeof(columns[0]));
    for (size_t i = 0; i < checks->count; i++)
        put_rule(&table, checks->arguments->repeated[i], &checks->rules[i], &checks->judgements[i], several);
    ws_table_finish(&table);
}

static int check_print_json(const struct checks *checks, const json_t *report, enum ws_outcome outcome)
{
    json_t *root = json_object(), *rules = json_array(), *window = json_object_get(report, "window");
    int status = json_object_set_new(root, "schema", json_string("wallshim-check"));
    status |= json_object_set_new(root, "version", json_integer(JSON_VERSION));
    status |= json_object_set_new(root, "outcome", json_string(ws_outcome_name(outcome)));
    if (window)
        status |= json_object_set(root, "window", window);
    status |= json_object_set_new(root, "rules", rules);
    for (size_t i = 0; i < checks->count && !status; i++)
        status = json_array_append_new(rules, rule_json(checks->arguments->repeated[i], &checks->judgements[i]));
    if (!status)
        return tool_print_json(root);
    json_decref(root);
    return tool_error("out of memory");
}

static int check_report(struct checks *checks, const json_t *report)
{
    enum ws_outcome outcome;
    if (!report)
        return tool_error("out of memory");
    int status = check_evaluate(checks, report, &outcome);
    if (status)
        return status;
    if (!tool_value(checks->arguments, "json"))
        check_print_text(checks, report);
    else if (check_print_json(checks, report, outcome))
        return TOOL_ERROR;
    fflush(stdout); /* so that standard output comes before the lines on stderr */
    if (outcome == WS_NOT_KNOWN)
        return tool_error("a rule needs a figure that the trace does not have");
    return outcome == WS_BROKEN ? TOOL_RULE_BROKEN : TOOL_DONE;
}

static int check_traces(struct checks *checks)
{
    struct tool_traces traces;
    struct tool_loaded loaded;
    struct ws_report_options wanted = { .top = TOP };
    if (!checks->count)
        return tool_error("check: needs --rule RULE; see wallshim check --list");
    struct tool_window window;
    struct tool_gpu gpu;
    if (tool_window_init(&window, checks->arguments) || tool_gpu_init(&gpu, checks->arguments))
        return TOOL_ERROR;
    wanted.gpu = gpu.gpu;
    wanted.calibrations = gpu.calibrations;
    int status = tool_find_traces(&traces, checks->arguments);
    if (status) {
        tool_gpu_finish(&gpu);
        return status;
    }
    status = tool_load(&loaded, &traces, &window, &wanted);
    if (!status) {
        json_t *report = ws_report_json(loaded.report);
        status = check_report(checks, report);
        status = status ? status : tool_judge_rest(&loaded);
        json_decref(report);
    }
    tool_unload(&loaded);
    tool_traces_finish(&traces);
    tool_gpu_finish(&gpu);
    return status;
}

static int check_run(const struct tool_arguments *arguments)
{
    if (tool_value(arguments, "list"))
        return list_figures(arguments);
    struct checks *checks = calloc(1, sizeof(*checks));
    if (!checks)
        return tool_error("out of memory");
    checks->arguments = arguments;
    int status = parse_rules(checks);
    status = status ? status : check_traces(checks);
    for (size_t i = 0; i < checks->count; i++) {
        ws_rule_finish(&checks->rules[i]);
        ws_judgement_finish(&checks->judgements[i]);
    }
    free(checks);
    return status;
}

const struct tool_command tool_check = {
    .name = "check",
    .operands = "[TRACE…]",
    .summary = "say whether rules on a trace's figures hold",
    .text =
        "Says whether rules hold, such as 'busy >= 80 %', 'step_time.p95 < 45 ms', 'wall != overhead' or "
        "'kernels[\"gemm\"].share > 0.5'. A rule compares one figure with one value, by < <= > >= == or !=. It "
        "must hold for every device that has the figure. Each device that breaks it is named.\n"
        "Figures are those of --list, and every key of the JSON report: first the keys of a device, then those of "
        "a process. Keys within keys are joined by dots. In a list, [N] is one item, [*] is each item, and "
        "[\"TEXT\"] is all rows of that class, or with TEXT in their name, taken together.\n"
        "Times take ns, us, ms or s; sizes take B, kB, MB, GB, TB or KiB to TiB; shares take %. A ± marks a share "
        "that the errors of the times could move to the other side of the value. The share itself decides.\n"
        "Of a folder with several jobs the newest is checked. wallshim report --help says what a trace can be.\n"
        "Exit status: 0 every rule holds; 1 a rule does not hold; 2 a rule is wrong, or the trace does not have "
        "its figure, or is cut and what is left gives no verdict.",
    .switches = check_switches,
    .repeats = "rule",
    .run = check_run,
};
