#include <math.h>
#include <string.h>

#include "analysis/kernels/label.h"
#include "compare/compare.h"
#include "compare/name_difference.h"

/* The headline names at most HEADLINE_PARTS parts of a step. It names only parts that change by at least
 * 1/HEADLINE_LIMIT of the step. */
enum { HEADLINE_PARTS = 3, HEADLINE_LIMIT = 100 };

/* If the numbers of kernels per step on the two sides differ by more than this factor, the report warns that the
 * steps may be different parts of the program. */
enum { DIFFERENT_STEPS = 2 };

/* Writes a change with its sign: "+9.80 ms", "−54.2 ms". */
static const char *format_change(char text[WS_FORMAT_SIZE], double change)
{
    char time[WS_FORMAT_SIZE];
    snprintf(text, WS_FORMAT_SIZE, "%s%.30s",
             change < 0   ? "−"
             : change > 0 ? "+"
                          : "",
             ws_format_time(time, ws_change_ns(fabs(change))));
    return text;
}

/* If a value grew by at least this factor, the table says "× over 10000". The times in the same row show the exact
 * change. */
enum { MOST_TIMES = 10000 };

static const char *format_relative(char text[WS_FORMAT_SIZE], double before, double after)
{
    double percent = before > 0 ? 100 * (after - before) / before : 0;
    if (before <= 0 && after <= 0)
        *text = 0;
    else if (before <= 0)
        snprintf(text, WS_FORMAT_SIZE, "new");
    else if (after <= 0)
        snprintf(text, WS_FORMAT_SIZE, "gone");
    else if (after >= before * MOST_TIMES)
        snprintf(text, WS_FORMAT_SIZE, "× over %d", MOST_TIMES);
    else if (percent >= 1000)
        snprintf(text, WS_FORMAT_SIZE, "× %.0f", after / before);
    else
        snprintf(text, WS_FORMAT_SIZE, "%s%.1f %%",
                 percent <= -0.05  ? "−"
                 : percent >= 0.05 ? "+"
                                   : "",
                 fabs(percent));
    return text;
}

static const struct ws_change *changes_of(const struct ws_comparison *comparison, enum ws_change_group group,
                                          size_t *count)
{
    *count = comparison->begins[group + 1] - comparison->begins[group];
    return (const struct ws_change *)comparison->changes.data + comparison->begins[group];
}

/* --- the headline ------------------------------------------------------------------------------ */

/* Prints "step 176 ms → 136 ms (−22.6 %): input gaps −54.2 ms, launch gaps +12.4 ms". */
static void print_headline(const struct ws_comparison *comparison, struct ws_page *page)
{
    const struct ws_change *total = ws_comparison_total(comparison);
    char before[WS_FORMAT_SIZE], after[WS_FORMAT_SIZE], relative[WS_FORMAT_SIZE], part[WS_FORMAT_SIZE];
    char parts[400] = "";
    size_t count, shown = 0;
    const struct ws_change *list = changes_of(comparison, WS_CHANGE_PART, &count);
    for (size_t i = 0; i < count && shown < HEADLINE_PARTS; i++) {
        double change = list[i].after - list[i].before;
        if (fabs(change) * HEADLINE_LIMIT < total->before || ws_change_is_noise(&list[i]))
            continue;
        size_t used = strlen(parts);
        snprintf(parts + used, sizeof(parts) - used, "%s%s %s", shown++ ? ", " : ": ", list[i].label,
                 format_change(part, change));
    }
    const char *doubt =
        comparison->sampling == WS_PER_STEP ? ", within the spread of the steps" : ", within the errors of the times";
    ws_page_text(
        page, "%s%s %s → %s (%s)%s%s", ws_comparison_is_partial(comparison) ? "only what was recorded: " : "",
        total->label, ws_format_time(before, ws_change_ns(total->before)),
        ws_format_time(after, ws_change_ns(total->after)),
        total->before > 0 || total->after > 0 ? format_relative(relative, total->before, total->after) : "0.0 %",
        ws_change_is_noise(total) ? doubt : "", parts);
}

/* --- the sides --------------------------------------------------------------------------------- */

static void print_side(const struct ws_comparison *comparison, const struct ws_report_side *side, const char *label,
                       struct ws_page *page)
{
    const struct ws_samples *samples = &side->per[comparison->sampling];
    const char *const *traces = side->traces.data;
    size_t left_out = side->running - samples->devices;
    char count[WS_FORMAT_SIZE], window[WS_WINDOW_TEXT];
    ws_page_fact(page, label, "%s%s", side->traces.count ? traces[0] : "",
                 side->traces.count > 1 ? " and others" : "");
    ws_page_fact(page, "", "%zu process%s, %zu GPU%s%s%s", side->traces.count, side->traces.count == 1 ? "" : "es",
                 samples->devices, samples->devices == 1 ? "" : "s", *side->gpu ? " " : "", side->gpu);
    if (side->has_window)
        ws_page_fact(page, "", "only what was %s", ws_report_window_text(&side->window, window));
    if (comparison->sampling == WS_PER_STEP)
        ws_page_fact(page, "", "%s steady step%s, %s%s%s", ws_format_count(count, samples->count),
                     samples->count == 1 ? "" : "s",
                     !strcmp(side->source, "marked")  ? "marked by the program"
                     : !strcmp(side->source, "found") ? "found in the order of operations"
                                                      : "some marked, some found",
                     *side->steps ? ": " : "", side->steps);
    if (*side->wall)
        ws_page_fact(page, "", "the wall: %s", side->wall);
    if (left_out)
        ws_page_fact(page, "", "%zu GPU%s without steps left out", left_out, left_out == 1 ? "" : "s");
    if (side->untimed)
        ws_page_fact(page, "", "%s operations have no device times and are in no figure",
                     ws_format_count(count, side->untimed));
    if (side->counted)
        ws_page_fact(page, "", "%s call%s only counted, in pauses to keep --overhead, and in no figure",
                     ws_format_count(count, side->counted), side->counted == 1 ? "" : "s");
    if (side->cut)
        ws_page_fact(page, "", "%zu trace%s not whole: what was cut off is in no figure", side->cut,
                     side->cut == 1 ? " is" : "s are");
    if (side->lost)
        ws_page_fact(page, "", "%s event%s not recorded in full (wallshim report --section losses)",
                     ws_format_count(count, side->lost), side->lost == 1 ? "" : "s");
}

/* Warns if the steps of the two recordings seem to be different parts of the program, which makes the comparison
 * nearly meaningless. This can happen if wallshim found the steps itself, or if the program's step markers were
 * moved. */
static void print_doubt(const struct ws_comparison *comparison, struct ws_page *page)
{
    const struct ws_samples *before = &comparison->before->per[WS_PER_STEP];
    const struct ws_samples *after = &comparison->after->per[WS_PER_STEP];
    double first = before->amounts[WS_AMOUNT_KERNELS].sum / (double)before->count;
    double second = after->amounts[WS_AMOUNT_KERNELS].sum / (double)after->count;
    if (first > DIFFERENT_STEPS * second || second > DIFFERENT_STEPS * first)
        ws_page_fact(page, "in doubt",
                     "a step has %.0f kernels before and %.0f after: is it the same step? --steps says "
                     "where to take them from",
                     first, second);
}

static const char *compared_by(const struct ws_comparison *comparison)
{
    if (comparison->sampling == WS_PER_RECORDING)
        return "times of the whole recording of a GPU, since not both have steps: valid only where both did the "
               "same work";
    if (comparison->before->per[WS_PER_STEP].count + comparison->after->per[WS_PER_STEP].count == 2)
        return "times of the one steady step of each: the spread of steps is not known";
    return "times of a steady step of a GPU, on average";
}

static void print_sides(const struct ws_comparison *comparison, struct ws_page *page)
{
    print_side(comparison, comparison->before, "before", page);
    print_side(comparison, comparison->after, "after", page);
    ws_page_fact(page, "compared", "%s", compared_by(comparison));
    if (*comparison->before->gpu && *comparison->after->gpu &&
        strcmp(comparison->before->gpu, comparison->after->gpu) != 0)
        ws_page_fact(page, "in doubt", "before ran on %s, after on %s: the GPU alone may explain the change",
                     comparison->before->gpu, comparison->after->gpu);
    if (ws_comparison_is_unequal(comparison))
        ws_page_fact(
            page, "in doubt",
            "recorded with --event-placement %s before and %s after: their costs differ, and are part of the change",
            comparison->before->placement, comparison->after->placement);
    if (comparison->sampling == WS_PER_STEP)
        print_doubt(comparison, page);
}

/* --- tables ------------------------------------------------------------------------------------ */

typedef void (*put_row)(struct ws_table *table, const struct ws_comparison *comparison,
                        const struct ws_change *change);

static void put_change(struct ws_table *table, const struct ws_change *change)
{
    char text[WS_FORMAT_SIZE];
    ws_table_cell(table, "%s", format_relative(text, change->before, change->after));
    ws_table_cell(table, "%s", ws_change_is_noise(change) ? "≈" : "");
}

static void put_times(struct ws_table *table, const struct ws_change *change)
{
    char text[WS_FORMAT_SIZE];
    ws_table_time(table, ws_change_ns(change->before));
    ws_table_time(table, ws_change_ns(change->after));
    ws_table_cell(table, "%s", format_change(text, change->after - change->before));
    put_change(table, change);
}

static void put_named(struct ws_table *table, const struct ws_comparison *comparison, const struct ws_change *change)
{
    (void)comparison;
    put_times(table, change);
    ws_table_cell(table, "%s", change->label);
}

static void put_line(struct ws_table *table, const struct ws_comparison *comparison, const struct ws_change *change)
{
    (void)comparison;
    put_times(table, change);
    ws_table_cell(table, "%s", change->key);
    ws_table_cell(table, "%s", *change->label ? change->label : "?");
}

/* Adds a cell with the count. A count below 100 that is not whole gets one decimal. */
static void put_count(struct ws_table *table, double count)
{
    char text[WS_FORMAT_SIZE];
    if (count >= 100 || count == floor(count))
        ws_table_cell(table, "%s", ws_format_count(text, (uint64_t)ws_change_ns(count)));
    else
        ws_table_cell(table, "%.1f", count);
}

static void put_amount(struct ws_table *table, const struct ws_comparison *comparison, const struct ws_change *change)
{
    const double values[] = { change->before, change->after };
    (void)comparison;
    for (size_t i = 0; i < 2; i++) {
        if (!strcmp(change->unit, "bytes"))
            ws_table_bytes(table, (uint64_t)ws_change_ns(values[i]));
        else
            put_count(table, values[i]);
    }
    put_change(table, change);
    ws_table_cell(table, "%s", change->label);
}

/* Returns the number of calls per step or per recording, or 0 if there are none. */
static double calls_of(const struct ws_comparison *comparison, const struct ws_report_side *side,
                       const struct ws_repeated *repeated)
{
    return repeated ? repeated[comparison->sampling].count / (double)side->per[comparison->sampling].count : 0;
}

/* Prints a kernel's title, which is a short form of its name. If the kernel `like` has the same title, also prints
 * the part of the name that differs. */
static void text_put_name(struct ws_table *table, const char *name, const char *like)
{
    char text[4200];
    if (like && !table->page->wide)
        ws_table_cell(table, "%s", ws_name_difference(text, sizeof(text), name, like));
    else
        ws_table_name(table, name);
}

static void put_kernel(struct ws_table *table, const struct ws_comparison *comparison, const struct ws_change *change)
{
    const struct ws_pair *pair = change->pair;
    put_times(table, change);
    put_count(table, calls_of(comparison, comparison->before, pair->before ? pair->before->per : NULL));
    put_count(table, calls_of(comparison, comparison->after, pair->after ? pair->after->per : NULL));
    ws_table_cell(table, "%s", ws_sample_class_name(pair->either->class));
    ws_table_cell(table, "%s", pair->match == WS_PAIRED_BY_NAME || pair->match == WS_UNPAIRED ? "" : "*");
    text_put_name(table, change->label, change->like);
}

static void put_rate(struct ws_table *table, double rate)
{
    if (rate > 0)
        ws_table_cell(table, "%.2f GB/s", rate);
    else
        ws_table_cell(table, "?");
}

static void text_put_collective(struct ws_table *table, const struct ws_comparison *comparison,
                                const struct ws_change *change)
{
    const struct ws_report_side_collective *before = change->collectives[0], *after = change->collectives[1];
    uint32_t ranks = before ? before->ranks : after ? after->ranks : 0;
    put_times(table, change);
    put_count(table, calls_of(comparison, comparison->before, before ? before->per : NULL));
    put_count(table, calls_of(comparison, comparison->after, after ? after->per : NULL));
    put_rate(table, ws_change_bus_rate(comparison, before));
    put_rate(table, ws_change_bus_rate(comparison, after));
    if (ranks)
        ws_table_cell(table, "%s of %u", change->label, ranks);
    else
        ws_table_cell(table, "%s", change->label);
}

static bool is_paired(const struct ws_change *change)
{
    return change->pair->match != WS_UNPAIRED;
}

static bool is_unpaired(const struct ws_change *change)
{
    return !is_paired(change);
}

static bool is_guessed(const struct ws_change *change)
{
    return is_paired(change) && change->pair->match != WS_PAIRED_BY_NAME;
}

/* Adds a row for two kernels that were matched although their names differ, with the reason. */
static void put_guess(struct ws_table *table, const struct ws_comparison *comparison, const struct ws_change *change)
{
    static const char *const because[WS_PAIRING_COUNT] = {
        [WS_PAIRED_BY_NUMBERS] = "names differ in numbers",
        [WS_PAIRED_BY_STEM] = "names differ in arguments",
        [WS_PAIRED_BY_SHAPE] = "same class, grid and count",
    };
    (void)comparison;
    text_put_name(table, change->pair->before->name, change->pair->after->name);
    text_put_name(table, change->pair->after->name, change->pair->before->name);
    ws_table_cell(table, "%s", because[change->pair->match]);
}

/* clang-format off */
#define TIMES { "before", false, 0 }, { "after", false, 0 }, { "change", false, 0 }, \
              { "", false, WS_NARROW_LEAVE_OUT }, { "", true, 0 }
#define NAME(title) { title, true, WS_NARROW_SHORTEN }
static const struct ws_table_column
    named_columns[] = { TIMES, NAME("") },
    line_columns[] = { TIMES, { "cause", true, 0 }, NAME("line or call") },
    kernel_columns[] = { TIMES, { "count", false, WS_NARROW_LEAVE_OUT }, { "now", false, WS_NARROW_LEAVE_OUT },
                         { "class", true, WS_NARROW_LEAVE_OUT }, { "", true, 0 }, NAME("name") },
    collective_columns[] = { TIMES, { "calls", false, WS_NARROW_LEAVE_OUT }, { "now", false, WS_NARROW_LEAVE_OUT },
                             { "bus", false, WS_NARROW_LEAVE_OUT }, { "now", false, WS_NARROW_LEAVE_OUT },
                             NAME("operation") },
    guess_columns[] = { NAME("was"), NAME("is"), { "because", true, 0 } },
    amount_columns[] = { { "before", false, 0 }, { "after", false, 0 }, { "", false, 0 }, { "", true, 0 }, NAME("") };
#undef TIMES
#undef NAME
/* clang-format on */

#define COLUMNS(list) list, sizeof(list) / sizeof(list[0])
static const struct section {
    const char *title;
    const struct ws_table_column *columns;
    size_t column_count;
    put_row put;
    bool (*wants)(const struct ws_change *change); /* whether to print the change; NULL: print all */
    enum ws_change_group group;
} sections[] = {
    { "Parts", COLUMNS(named_columns), put_named, NULL, WS_CHANGE_PART },
    { "In all (these overlap)", COLUMNS(named_columns), put_named, NULL, WS_CHANGE_TIME },
    { "Gaps by line or call", COLUMNS(line_columns), put_line, NULL, WS_CHANGE_LINE },
    { "Operations by class", COLUMNS(named_columns), put_named, NULL, WS_CHANGE_CLASS },
    { "Kernels, copies and memsets", COLUMNS(kernel_columns), put_kernel, is_paired, WS_CHANGE_KERNEL },
    { "Matched by likeness, marked *", COLUMNS(guess_columns), put_guess, is_guessed, WS_CHANGE_KERNEL },
    { "Appeared and vanished", COLUMNS(kernel_columns), put_kernel, is_unpaired, WS_CHANGE_KERNEL },
    { "Collectives", COLUMNS(collective_columns), text_put_collective, NULL, WS_CHANGE_COLLECTIVE },
    { "Amounts", COLUMNS(amount_columns), put_amount, NULL, WS_CHANGE_AMOUNT },
};
#undef COLUMNS

static void text_print_section(const struct ws_comparison *comparison, const struct section *section,
                               struct ws_page *page)
{
    size_t count, shown = 0, left = 0;
    const struct ws_change *list = changes_of(comparison, section->group, &count);
    double change = 0;
    char time[WS_FORMAT_SIZE];
    struct ws_table table;
    ws_table_init(&table, page, section->columns, section->column_count);
    for (size_t i = 0; i < count; i++) {
        if (section->wants && !section->wants(&list[i]))
            continue;
        if (page->top && shown == page->top) {
            left++;
            change += list[i].after - list[i].before;
            continue;
        }
        shown++;
        section->put(&table, comparison, &list[i]);
    }
    if (shown)
        ws_page_heading(page, section->title, NULL);
    ws_table_finish(&table);
    if (left)
        ws_page_text(page, "and %zu more with %s in all (--top 0 shows them)", left, format_change(time, change));
}

void ws_comparison_print(const struct ws_comparison *comparison, struct ws_page *page)
{
    ws_page_heading(page, "What changed", NULL);
    print_headline(comparison, page);
    fputc('\n', page->out);
    print_sides(comparison, page);
    for (size_t i = 0; i < sizeof(sections) / sizeof(sections[0]); i++)
        text_print_section(comparison, &sections[i], page);
    fputc('\n', page->out);
    ws_page_text(page, "≈ within %sthe errors of the times: perhaps no change.",
                 comparison->sampling == WS_PER_STEP ? "the spread of the steps and " : "");
}
