#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#include "base/hash.h"
#include "base/map.h"
#include "report/page.h"
#include "command.h"
#include "input/source.h"
#include "traces.h"
#include "wire/columns.h"

static const struct tool_switch *info_switches(size_t *count)
{
    *count = 0;
    return NULL;
}

struct summary {
    uint64_t rows[WS_FAMILY_COUNT];
    uint64_t blocks;
    /* Earliest and latest host time, in ns, in the rows of all families but `clock` and `loss`. first > last: there
     * is no row with a host time. */
    int64_t first, last;
    bool foreign; /* another profiler wrote the file, so its size says nothing about bytes per row */
};

/* Prints the keys of the table `meta` with their values, each key only once: a file may hold several rows with the
 * same key. */
static void print_meta(struct ws_page *page, struct ws_map *printed, const struct ws_block *block)
{
    const struct ws_meta *rows = block->rows;
    for (uint32_t i = 0; i < block->count; i++) {
        uint64_t *before = ws_map_put(printed, ws_hash_key(rows[i].key.data, rows[i].key.length));
        if (before && (*before)++)
            continue;
        char key[64];
        snprintf(key, sizeof(key), "%.*s", (int)rows[i].key.length, rows[i].key.data);
        ws_page_fact(page, key, "%.*s", (int)rows[i].value.length, rows[i].value.data);
    }
}

static void info_add_block(struct summary *summary, const struct ws_block *block)
{
    const struct ws_layout *layout = ws_layout(block->family);
    int64_t first, last;
    summary->blocks++;
    if (!layout)
        return;
    summary->rows[block->family] += block->count;
    ws_columns_host_range(layout, block->rows, block->count, &first, &last);
    if (first > last || block->family == WS_FAMILY_clock || block->family == WS_FAMILY_loss)
        return;
    if (first < summary->first)
        summary->first = first;
    if (last > summary->last)
        summary->last = last;
}

static void info_print_damage(struct ws_page *page, const struct ws_damage *damage)
{
    if (!ws_damage_any(damage)) {
        ws_page_fact(page, "damage", "none");
        return;
    }
    uint64_t rows = 0;
    for (size_t i = 0; i < WS_FAMILY_COUNT; i++)
        rows += damage->lost_rows[i];
    ws_page_fact(page, "damage",
                 "%" PRIu64 " blocks lost (%" PRIu64 " rows or more), %" PRIu64 " bytes not readable, %" PRIu64
                 " bytes of an unfinished block%s",
                 damage->lost_frames, rows, damage->lost_bytes, damage->torn_bytes,
                 damage->no_footer ? ", no footer" : "");
}

static void print_summary(struct ws_page *page, const struct summary *summary, const char *path)
{
    static const struct ws_table_column columns[] = { { "rows", false, false }, { "family", true, false } };
    struct ws_table table;
    struct stat file;
    char text[WS_FORMAT_SIZE];
    uint64_t bytes = stat(path, &file) ? 0 : (uint64_t)file.st_size;
    uint64_t rows = summary->rows[WS_FAMILY_op] + summary->rows[WS_FAMILY_call] + summary->rows[WS_FAMILY_collective];
    if (summary->foreign)
        ws_page_fact(page, "size", "%s", ws_format_bytes(text, bytes));
    else
        ws_page_fact(page, "size", "%s in %" PRIu64 " blocks", ws_format_bytes(text, bytes), summary->blocks);
    if (rows && !summary->foreign)
        ws_page_fact(page, "", "%.2f bytes for each operation and call", (double)bytes / (double)rows);
    if (summary->first <= summary->last)
        ws_page_fact(page, "host time", "%" PRId64 " to %" PRId64 " ns, %s", summary->first, summary->last,
                     ws_format_time(text, summary->last - summary->first));
    fputc('\n', page->out);
    ws_table_init(&table, page, columns, sizeof(columns) / sizeof(columns[0]));
    for (uint32_t i = 0; i < WS_FAMILY_COUNT; i++) {
        if (!summary->rows[i])
            continue;
        ws_table_count(&table, summary->rows[i]);
        ws_table_cell(&table, "%s", ws_family_name(i));
    }
    ws_table_finish(&table);
}

static int info_show(const char *name, const char *path)
{
    struct ws_page page = { .out = stdout, .width = 100, .wide = true, .label = 24 };
    struct summary summary = { .first = INT64_MAX, .last = INT64_MIN };
    struct ws_map printed = { 0 };
    struct ws_source *source;
    struct ws_block block;
    char message[512];
    int status;
    if (ws_source_open(&source, path, name, message, sizeof(message)))
        return tool_error("%s", message);
    summary.foreign = ws_source_is_foreign(source);
    ws_page_fact(&page, "trace", "%s", name);
    while ((status = ws_source_next(source, &block, message, sizeof(message))) > 0) {
        if (block.family == WS_FAMILY_meta)
            print_meta(&page, &printed, &block);
        info_add_block(&summary, &block);
    }
    ws_map_finish(&printed);
    print_summary(&page, &summary, path);
    fputc('\n', stdout);
    info_print_damage(&page, ws_source_damage(source));
    ws_source_close(source);
    return status < 0 ? tool_error("%s", message) : TOOL_DONE;
}

static int info_run(const struct tool_arguments *arguments)
{
    struct tool_traces traces;
    int status = tool_find_trace(&traces, arguments);
    if (status)
        return status;
    status = info_show(traces.paths[0], traces.files[0]);
    tool_traces_finish(&traces);
    return status;
}

const struct tool_command tool_info = {
    .name = "info",
    .operands = "[TRACE]",
    .summary = "say what a trace holds",
    .text = "Prints what was recorded, how many rows each family has, the time they span, and whether the file is "
            "complete.",
    .switches = info_switches,
    .run = info_run,
};
