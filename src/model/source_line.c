#include "model/source_line.h"

#include <stdio.h>
#include <string.h>

#include "model/own_code.h"
#include "model/ranges.h"

static const char *source_line_name_of(const struct ws_process *process, const struct ws_range *range)
{
    const struct ws_label *label = ws_entries_find(&process->labels, range->name);
    return label ? label->text.data : "";
}

/* Splits "PATH(LINE): FUNCTION", PyTorch's name for a range of a Python function. Returns false for other texts. */
static bool split_frame(const char *name, int *path_length, int *line, const char **function)
{
    const char *end = strstr(name, "): ");
    const char *open = end;
    while (open && open > name && *open != '(')
        open--;
    if (!end || open == name || *open != '(' || sscanf(open, "(%d)", line) != 1)
        return false;
    *path_length = (int)(open - name);
    *function = end + 3;
    return true;
}

enum { UNKNOWN, OWN, FOREIGN };

/* Returns whether the range is a Python function of the program itself. */
static bool is_own_frame(const struct ws_process *process, const struct ws_range *range, uint8_t *known)
{
    uint32_t place = ws_entries_place(&process->labels, range->name);
    uint8_t found = known && place != UINT32_MAX ? known[place] : UNKNOWN;
    if (found == UNKNOWN) {
        int length, line;
        const char *function, *name = source_line_name_of(process, range);
        found = split_frame(name, &length, &line, &function) && ws_is_own_file(name, (size_t)length) ? OWN : FOREIGN;
        if (known && place != UINT32_MAX)
            known[place] = found;
    }
    return found == OWN;
}

/* Returns the range that best shows what the thread was executing at a time, or WS_NO_RANGE. Sets *own to whether the
 * range is a Python function of the program. */
static uint32_t source_range(const struct ws_process *process, uint32_t thread, int64_t time, uint8_t *known,
                             bool *own)
{
    const struct ws_ranges *ranges = &process->ranges;
    uint32_t annotation = WS_NO_RANGE, operator= WS_NO_RANGE;
    for (uint32_t i = ws_ranges_at(ranges, thread, time); i != WS_NO_RANGE; i = ranges->parents[i]) {
        const struct ws_range *range = ws_range(ranges, i);
        *own = range->kind == WS_RANGE_PYTHON && is_own_frame(process, range, known);
        if (*own)
            return i;
        if (range->kind == WS_RANGE_ANNOTATION && annotation == WS_NO_RANGE)
            annotation = i;
        if (range->kind == WS_RANGE_OPERATOR)
            operator= i;
    }
    return annotation != WS_NO_RANGE ? annotation : operator;
}

struct ws_source ws_source_at(const struct ws_process *process, uint32_t thread, int64_t time, int64_t reach,
                              uint8_t *known)
{
    struct ws_source source = { WS_NO_RANGE, WS_NO_FRAME };
    bool own = false;
    if (process->ranges.rows.count)
        source.range = source_range(process, thread, time, known, &own);
    if (!own && process->stacks.rows.count)
        source.frame = ws_stacks_at(&process->stacks, thread, time, reach);
    bool is_named =
        source.range != WS_NO_RANGE && ws_range(&process->ranges, source.range)->kind != WS_RANGE_OPERATOR;
    if (!is_named && source.frame == WS_NO_FRAME)
        source.frame = ws_stacks_waiting(&process->stacks, thread, time);
    if (source.frame != WS_NO_FRAME)
        source.range = WS_NO_RANGE;
    return source;
}

/* The names that torch.compile gives to generated files, and to ranges around generated code, contain one of these
 * texts. */
static const char *const of_compiled[] = { "/torchinductor_", "CompiledFxGraph", "Torch-Compiled Region" };

static bool is_compiled(const char *name)
{
    for (size_t i = 0; i < sizeof(of_compiled) / sizeof(of_compiled[0]); i++)
        if (strstr(name, of_compiled[i]))
            return true;
    return false;
}

static bool range_is_compiled(const struct ws_process *process, uint32_t range)
{
    return is_compiled(source_line_name_of(process, ws_range(&process->ranges, range)));
}

bool ws_source_is_compiled(const struct ws_process *process, struct ws_source source)
{
    return source.range != WS_NO_RANGE && range_is_compiled(process, source.range);
}

/* Returns the innermost function of the program around a range in compiled code, or WS_NO_RANGE. Users know this
 * function, but not the generated file. */
static uint32_t caller_of_compiled(const struct ws_process *process, uint32_t place)
{
    const struct ws_ranges *ranges = &process->ranges;
    for (uint32_t i = ranges->parents[place]; i != WS_NO_RANGE; i = ranges->parents[i])
        if (ws_range(ranges, i)->kind == WS_RANGE_PYTHON && is_own_frame(process, ws_range(ranges, i), NULL) &&
            !range_is_compiled(process, i))
            return i;
    return WS_NO_RANGE;
}

static bool range_text(const struct ws_process *process, uint32_t place, char *text, size_t capacity)
{
    int length, line;
    const char *function;
    const struct ws_range *range = ws_range(&process->ranges, place);
    const char *name = source_line_name_of(process, range);
    uint32_t caller = is_compiled(name) ? caller_of_compiled(process, place) : WS_NO_RANGE;
    if (caller != WS_NO_RANGE) {
        size_t used = (size_t)snprintf(text, capacity, "compiled code in ");
        return used < capacity && range_text(process, caller, text + used, capacity - used);
    }
    if (range->kind != WS_RANGE_PYTHON || !split_frame(name, &length, &line, &function)) {
        snprintf(text, capacity, "%s", name);
        return *text != 0;
    }
    const char *slash = memrchr(name, '/', (size_t)length);
    const char *file = slash ? slash + 1 : name;
    snprintf(text, capacity, "%s (%.*s:%d)", function, (int)(name + length - file), file, line);
    return true;
}

bool ws_source_text(const struct ws_process *process, struct ws_source source, char *text, size_t capacity)
{
    *text = 0;
    if (source.frame != WS_NO_FRAME)
        ws_stacks_text(&process->stacks, source.frame, text, capacity);
    else if (source.range != WS_NO_RANGE)
        return range_text(process, source.range, text, capacity);
    return *text != 0;
}

/* For code that torch.compile generated, finds the program's function that called the generated code, as range_text
 * does. */
static bool place_of_range(const struct ws_process *process, uint32_t place, char *path, size_t capacity,
                           uint32_t *line)
{
    int length, number;
    const char *function;
    const struct ws_range *range = ws_range(&process->ranges, place);
    const char *name = source_line_name_of(process, range);
    uint32_t caller = is_compiled(name) ? caller_of_compiled(process, place) : WS_NO_RANGE;
    if (caller != WS_NO_RANGE)
        return place_of_range(process, caller, path, capacity, line);
    if (range->kind != WS_RANGE_PYTHON || !split_frame(name, &length, &number, &function) || number < 0 ||
        (size_t)length >= capacity)
        return false;
    snprintf(path, capacity, "%.*s", length, name);
    *line = (uint32_t)number;
    return true;
}

bool ws_source_place(const struct ws_process *process, struct ws_source source, char *path, size_t capacity,
                     uint32_t *line)
{
    if (source.frame != WS_NO_FRAME)
        return ws_stacks_line(&process->stacks, source.frame, path, capacity, line);
    return source.range != WS_NO_RANGE && place_of_range(process, source.range, path, capacity, line);
}

struct ws_source ws_source_find_op(const struct ws_process *process, size_t op)
{
    uint32_t thread = ws_op_thread(&process->ops, op);
    struct ws_source source = { WS_NO_RANGE, WS_NO_FRAME };
    if (thread)
        source = ws_source_at(process, thread, ws_op_host_begin(&process->ops, op), 0, NULL);
    uint32_t frame = WS_NO_FRAME;
    if (source.frame == WS_NO_FRAME)
        frame = ws_stacks_of_shape(&process->stacks, ws_process_shape(process, process->ops.shape[op])->row.id);
    return frame == WS_NO_FRAME ? source : (struct ws_source){ WS_NO_RANGE, frame };
}

bool ws_source_of_op(const struct ws_process *process, size_t op, char *text, size_t capacity)
{
    return ws_source_text(process, ws_source_find_op(process, op), text, capacity);
}
