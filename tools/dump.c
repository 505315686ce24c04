#include <inttypes.h>
#include <jansson.h>
#include <string.h>

#include "command.h"
#include "input/source.h"
#include "traces.h"
#include "wire/columns.h"

static const struct tool_switch *dump_switches(size_t *count)
{
    static const struct tool_switch list[] = {
        { "family", 'f', "FAMILY", "only rows of this family: op, call, shape, function, stream …" },
        { "json", 0, NULL, "one JSON object a line" },
    };
    *count = sizeof(list) / sizeof(list[0]);
    return list;
}

static int64_t dump_number(const struct ws_column *column, const char *row)
{
    uint32_t narrow;
    int64_t wide;
    if (column->width == sizeof(narrow)) {
        memcpy(&narrow, row + column->offset, sizeof(narrow));
        return column->is_signed ? (int64_t)(int32_t)narrow : (int64_t)narrow;
    }
    memcpy(&wide, row + column->offset, sizeof(wide));
    return wide;
}

/* Prints a text in quotes. Quotes, backslashes and all bytes other than printable ASCII become \xNN. */
static void dump_print_text(const struct ws_text *text)
{
    putchar('"');
    for (uint32_t i = 0; i < text->length; i++) {
        unsigned char byte = (unsigned char)text->data[i];
        if (byte < 0x20 || byte >= 0x7f || byte == '"' || byte == '\\')
            printf("\\x%02x", byte);
        else
            putchar(byte);
    }
    putchar('"');
}

/* Prints a JSON string. JSON strings cannot hold arbitrary bytes, so each byte becomes the character with the same
 * code. */
static void print_json_text(const struct ws_text *text)
{
    putchar('"');
    for (uint32_t i = 0; i < text->length; i++) {
        unsigned char byte = (unsigned char)text->data[i];
        if (byte < 0x20 || byte >= 0x7f || byte == '"' || byte == '\\')
            printf("\\u%04x", byte);
        else
            putchar(byte);
    }
    putchar('"');
}

/* Returns the JSON key of a column. The column "family" needs another key: "family" is already the key of the row's
 * own family. */
static const char *json_key(const struct ws_column *column)
{
    return strcmp(column->name, "family") ? column->name : "call_family";
}

static void dump_print_row(const struct ws_layout *layout, const char *row, bool json)
{
    if (json)
        printf("{\"family\":\"%s\"", layout->name);
    else
        fputs(layout->name, stdout);
    for (size_t i = 0; i < layout->column_count; i++) {
        const struct ws_column *column = &layout->columns[i];
        const struct ws_text *text = (const struct ws_text *)(row + column->offset);
        printf(json ? ",\"%s\":" : " %s=", json ? json_key(column) : column->name);
        if (column->coding == WS_CODING_TEXT && json)
            print_json_text(text);
        else if (column->coding == WS_CODING_TEXT)
            dump_print_text(text);
        else if (column->is_signed || column->width == sizeof(uint32_t))
            printf("%" PRId64, dump_number(column, row));
        else
            printf("%" PRIu64, (uint64_t)dump_number(column, row));
    }
    fputs(json ? "}\n" : "\n", stdout);
}

/* Finds the family that --family names; WS_FAMILY_COUNT: all families. Returns 0, or TOOL_ERROR after a line on
 * stderr. */
static int chosen_family(const struct tool_arguments *arguments, uint32_t *family)
{
    const char *name = tool_value(arguments, "family");
    *family = WS_FAMILY_COUNT;
    if (!name)
        return 0;
    for (uint32_t i = 0; i < WS_FAMILY_COUNT; i++) {
        if (!strcmp(name, ws_family_name(i))) {
            *family = i;
            return 0;
        }
    }
    return tool_error("--family %s: no such family; wallshim info TRACE lists them", name);
}

static int dump(const struct tool_traces *traces, uint32_t family, bool json)
{
    char message[512];
    struct ws_source *source;
    struct ws_block block;
    int status;
    if (ws_source_open(&source, traces->files[0], traces->paths[0], message, sizeof(message)))
        return tool_error("%s", message);
    while ((status = ws_source_next(source, &block, message, sizeof(message))) > 0 && !ferror(stdout)) {
        const struct ws_layout *layout = ws_layout(block.family);
        if (!layout || (family != WS_FAMILY_COUNT && family != block.family))
            continue;
        for (uint32_t i = 0; i < block.count; i++)
            dump_print_row(layout, (const char *)block.rows + (size_t)i * layout->row_size, json);
    }
    ws_source_close(source);
    return status < 0 ? tool_error("%s", message) : TOOL_DONE;
}

static int dump_run(const struct tool_arguments *arguments)
{
    struct tool_traces traces;
    uint32_t family;
    int status = chosen_family(arguments, &family);
    if (!status)
        status = tool_find_trace(&traces, arguments);
    if (status)
        return status;
    status = dump(&traces, family, tool_value(arguments, "json") != NULL);
    tool_traces_finish(&traces);
    return status;
}

const struct tool_command tool_dump = {
    .name = "dump",
    .operands = "[TRACE]",
    .summary = "print every row of a trace",
    .text = "Prints the rows of a trace as they were recorded, in the order of the file, one on a line. FORMAT.md "
            "describes the columns.",
    .switches = dump_switches,
    .run = dump_run,
};
