#include "model/native_frames.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/salted.h"
#include "model/own_code.h"

struct module {
    struct ws_symbols *symbols;
    bool was_opened, is_own;
};

/* A function that contains an address, and the line of the address. */
struct native_line {
    uint32_t code, line;
};

/* The functions at an address (several if functions were inlined): a range of resolver.lines, innermost function
 * first. */
struct native_place {
    uint32_t first, count;
};

struct resolver {
    struct ws_stacks *stacks;
    struct ws_arena *texts;
    struct module *modules;   /* one element for each row of stacks->codes that comes from the trace */
    size_t module_count;      /* number of rows that come from the trace; the resolver adds its rows after these */
    struct ws_map places;     /* index of a module and offset in the module → 1 + index in `found` */
    struct ws_vector found;   /* elements: struct native_place */
    struct ws_vector lines;   /* elements: struct native_line */
    struct ws_map functions;  /* name and file of a function → id of its row in stacks->codes */
    uint32_t last_code;       /* highest id in stacks->codes */
    struct ws_entries frames; /* the frames that will replace stacks->frames */
};

static const struct ws_code *native_code_at(const struct ws_stacks *stacks, size_t index)
{
    return (const struct ws_code *)stacks->codes.rows.data + index;
}

/* --- functions ----------------------------------------------------------------------------------- */

static struct ws_text text_of(const char *text)
{
    return (struct ws_text){ text, (uint32_t)strlen(text) };
}

/* Returns the id of the function's row in stacks->codes. Adds the row if it is missing. Returns 0 if memory runs out.
 */
static uint32_t function_code(struct resolver *resolver, const char *name, const char *file, uint32_t first_line)
{
    const uint64_t parts[] = { ws_salted_key(name, strlen(name)), ws_salted_key(file, strlen(file)) };
    uint64_t *id = ws_map_put(&resolver->functions, ws_salted_key(parts, sizeof(parts)));
    if (!id || *id)
        return id ? (uint32_t)*id : 0;
    struct ws_code row = { .id = resolver->last_code + 1,
                           .first_line = first_line,
                           .coding = WS_LINES_GIVEN,
                           .name = text_of(name),
                           .file = text_of(file) };
    if (!row.id || ws_entries_put(&resolver->stacks->codes, resolver->texts, &row))
        return 0;
    *id = resolver->last_code = row.id;
    return row.id;
}

static bool add_line(struct resolver *resolver, const char *name, const char *file, uint32_t first_line,
                     uint32_t line)
{
    uint32_t code = function_code(resolver, name, file, first_line);
    struct native_line *added = code ? ws_vector_push(&resolver->lines) : NULL;
    if (added)
        *added = (struct native_line){ code, line };
    return added != NULL;
}

static void note_lack(struct ws_stacks *stacks, const struct ws_code *code, enum ws_symbols_lack lack)
{
    if (!stacks->unnamed++) {
        stacks->unnamed_module = code->file.data;
        stacks->unnamed_why = lack;
    }
}

static struct module *open_module(struct resolver *resolver, size_t index)
{
    struct module *module = &resolver->modules[index];
    const struct ws_code *code = native_code_at(resolver->stacks, index);
    enum ws_symbols_lack lack;
    if (module->was_opened)
        return module;
    module->was_opened = true;
    module->is_own = ws_is_own_module(code->file.data, code->file.length);
    module->symbols = ws_symbols_open(code->file.data, code->lines.data, code->lines.length, &lack);
    if (!module->symbols && module->is_own)
        note_lack(resolver->stacks, code, lack);
    return module;
}

/* Appends the functions at the address to resolver->lines. Reads source lines only for the program's own modules.
 * Reading the lines of libraries would take long, because libraries have much debugging information, and users rarely
 * edit libraries. */
static bool name_address(struct resolver *resolver, size_t index, uint32_t offset)
{
    struct ws_symbol symbols[WS_SYMBOLS_INLINED_MOST];
    struct module *module = open_module(resolver, index);
    unsigned count = module->symbols ? ws_symbols_at(module->symbols, offset, module->is_own, symbols) : 0;
    const struct ws_code *code = native_code_at(resolver->stacks, index);
    const char *file = code->file.data; /* stays valid when rows are added, unlike `code` */
    char name[256];
    snprintf(name, sizeof(name), "%.200s+0x%x", code->name.data, offset);
    if (!count)
        return add_line(resolver, name, file, 0, 0);
    for (unsigned i = 0; i < count; i++) {
        resolver->stacks->has_native_lines |= symbols[i].line > 0;
        if (!add_line(resolver, symbols[i].name, symbols[i].file ? symbols[i].file : file, symbols[i].first_line,
                      symbols[i].line))
            return false;
    }
    return true;
}

/* Returns the functions at the address, or NULL if memory runs out. */
static const struct native_place *place_at(struct resolver *resolver, size_t index, uint32_t offset)
{
    const uint64_t numbers[] = { index, offset };
    uint64_t *place = ws_map_put(&resolver->places, ws_salted_key(numbers, sizeof(numbers)));
    if (!place)
        return NULL;
    if (!*place) {
        struct native_place added = { .first = (uint32_t)resolver->lines.count };
        if (!name_address(resolver, index, offset))
            return NULL;
        added.count = (uint32_t)resolver->lines.count - added.first;
        struct native_place *to = ws_vector_push(&resolver->found);
        if (!to)
            return NULL;
        *to = added;
        *place = resolver->found.count;
    }
    return (const struct native_place *)resolver->found.data + (*place - 1);
}

/* --- frames ---------------------------------------------------------------------------------------- */

/* Returns the id of the new frame, or 0 if memory runs out. */
static uint32_t add_frame(struct resolver *resolver, uint32_t caller, uint32_t code, uint32_t offset)
{
    struct ws_frame row = {
        .id = (uint32_t)resolver->frames.rows.count + 1, .caller = caller, .code = code, .offset = offset
    };
    return ws_entries_put(&resolver->frames, resolver->texts, &row) ? 0 : row.id;
}

/* Adds the new frames that replace an old frame: several if functions were inlined. Returns the id of the innermost
 * new frame, or 0 if memory runs out. */
static uint32_t replace_frame(struct resolver *resolver, const struct ws_frame *frame, uint32_t caller)
{
    uint32_t index = ws_entries_place(&resolver->stacks->codes, frame->code);
    if (index >= resolver->module_count || native_code_at(resolver->stacks, index)->coding != WS_LINES_MODULE)
        return add_frame(resolver, caller, frame->code, frame->offset);
    const struct native_place *place = place_at(resolver, index, frame->offset);
    const struct native_line *lines = resolver->lines.data;
    for (uint32_t i = place ? place->count : 0; i--;) {
        const struct native_line *line = &lines[place->first + i];
        caller = add_frame(resolver, caller, line->code, line->line);
        if (!caller)
            return 0;
    }
    return place ? caller : 0;
}

/* Replaces all frames. A caller's frame comes before the frames of the functions that it called. So the caller's new
 * id is already known when those frames are replaced. */
static int replace_frames(struct resolver *resolver)
{
    struct ws_stacks *stacks = resolver->stacks;
    size_t count = stacks->frames.rows.count;
    uint32_t *ids = calloc(count + 1, sizeof(*ids));
    int status = ids ? 0 : -ENOMEM;
    for (size_t i = 0; i < count && !status; i++) {
        const struct ws_frame *frame = (const struct ws_frame *)stacks->frames.rows.data + i;
        uint32_t caller = frame->caller ? ws_entries_place(&stacks->frames, frame->caller) : WS_NO_FRAME;
        ids[i] = replace_frame(resolver, frame, caller < i ? ids[caller] : 0);
        status = ids[i] ? 0 : -ENOMEM;
    }
    struct ws_stack *rows = stacks->rows.data;
    for (size_t i = 0; i < stacks->rows.count && !status; i++) {
        uint32_t place = ws_entries_place(&stacks->frames, rows[i].frame);
        rows[i].frame = place < count ? ids[place] : 0;
    }
    if (!status) {
        ws_entries_finish(&stacks->frames);
        stacks->frames = resolver->frames;
        ws_entries_init(&resolver->frames, WS_FAMILY_frame);
    }
    free(ids);
    return status;
}

int ws_native_frames(struct ws_stacks *stacks, struct ws_arena *texts)
{
    struct resolver resolver = { .stacks = stacks,
                                 .texts = texts,
                                 .module_count = stacks->codes.rows.count,
                                 .found = WS_VECTOR(struct native_place),
                                 .lines = WS_VECTOR(struct native_line) };
    bool any = false;
    for (size_t i = 0; i < resolver.module_count; i++) {
        const struct ws_code *code = native_code_at(stacks, i);
        any |= code->coding == WS_LINES_MODULE;
        resolver.last_code = code->id > resolver.last_code ? code->id : resolver.last_code;
    }
    if (!any)
        return 0;
    ws_entries_init(&resolver.frames, WS_FAMILY_frame);
    resolver.modules = calloc(resolver.module_count, sizeof(*resolver.modules));
    int status = resolver.modules ? replace_frames(&resolver) : -ENOMEM;
    for (size_t i = 0; i < resolver.module_count && resolver.modules; i++)
        ws_symbols_close(resolver.modules[i].symbols);
    free(resolver.modules);
    ws_entries_finish(&resolver.frames);
    ws_vector_finish(&resolver.found);
    ws_vector_finish(&resolver.lines);
    ws_map_finish(&resolver.places);
    ws_map_finish(&resolver.functions);
    return status;
}

bool ws_native_lacks(const struct ws_stacks *stacks, char *text, size_t capacity)
{
    static const char *const why[] = {
        [WS_SYMBOLS_FOUND] = "",
        [WS_SYMBOLS_NO_FILE] = "there is no such file here",
        [WS_SYMBOLS_OTHER_FILE] = "the file has changed since the recording",
        [WS_SYMBOLS_NO_ID] = "it has no build id",
        [WS_SYMBOLS_NOT_BUILT] = "wallshim was built without elfutils",
    };
    if (!stacks->unnamed)
        return false;
    snprintf(text, capacity, "Functions of %s have no names: %s.", stacks->unnamed_module, why[stacks->unnamed_why]);
    return true;
}
