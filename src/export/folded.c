/* Stacks in the format of flame graphs: a line for each different stack, with the outermost frame first and the
 * number of times that the stack was recorded. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "export/registry.h"
#include "export/stack_values.h"
#include "export/text_out.h"

/* Writes a text with other characters in place of semicolons and control characters, because in the output semicolons
 * separate frames and newlines separate stacks. */
static void put_word(struct ws_text_out *out, const char *text)
{
    char piece[2] = "";
    for (; *text; text++) {
        *piece = *text;
        if (*text == ';')
            *piece = ',';
        else if ((unsigned char)*text < ' ')
            *piece = ' ';
        ws_put(out, piece);
    }
}

static void put_frame(struct ws_text_out *out, const struct ws_stacks *stacks, uint32_t index)
{
    const struct ws_code *code = ws_stacks_code(stacks, index);
    ws_put(out, ";");
    put_word(out, code ? code->name.data : "?");
    ws_put(out, " (");
    put_word(out, code ? code->file.data : "?");
    /* Native code may have no line numbers; the frame is then written without one. */
    if (stacks->places[index].line || !code || code->coding != WS_LINES_GIVEN) {
        ws_put(out, ":");
        ws_put_unsigned(out, stacks->places[index].line);
    }
    ws_put(out, ")");
}

static void put_callers(struct ws_text_out *out, const struct ws_stacks *stacks, uint32_t index)
{
    uint32_t chain[WS_CHAIN_MOST];
    size_t depth = ws_frame_chain(stacks, index, chain);
    for (size_t i = 0; i < depth; i++)
        put_frame(out, stacks, chain[i]);
}

static void put_thread(struct ws_text_out *out, const struct ws_process *process, uint32_t id)
{
    const struct ws_thread *thread = ws_entries_find(&process->threads, id);
    const char *program = ws_process_meta(process, "program");
    put_word(out, program ? program : "?");
    ws_put(out, ";");
    put_word(out, thread ? thread->name.data : "?");
    ws_put(out, " ");
    ws_put_unsigned(out, thread ? thread->tid : 0);
}

/* For each thread of the process, writes each different stack, and how often it was recorded on this thread. The
 * process's rows of stacks are ordered by thread. */
static int put_rows(struct ws_text_out *out, const struct ws_process *process)
{
    const struct ws_stacks *stacks = &process->stacks;
    const struct ws_stack *rows = stacks->rows.data;
    size_t frames = stacks->frames.rows.count, from = 0;
    uint64_t *counts = calloc(frames + 1, sizeof(*counts));
    if (!counts)
        return -ENOMEM;
    for (size_t i = 0; i < stacks->rows.count; i++) {
        uint32_t frame = ws_entries_place(&stacks->frames, rows[i].frame);
        counts[frame < frames ? frame : frames]++;
        if (i + 1 < stacks->rows.count && rows[i + 1].thread == rows[i].thread)
            continue;
        for (size_t row = from; row <= i; row++) { /* in order of first appearance */
            uint32_t at = ws_entries_place(&stacks->frames, rows[row].frame);
            if (at >= frames || !counts[at])
                continue;
            put_thread(out, process, rows[i].thread);
            put_callers(out, stacks, at);
            ws_put(out, " ");
            ws_put_unsigned(out, counts[at]);
            ws_put(out, "\n");
            counts[at] = 0;
        }
        from = i + 1;
    }
    free(counts);
    return 0;
}

static int write_folded(const struct ws_model *model, FILE *file, const struct ws_model_options *options,
                        char *message, size_t capacity)
{
    (void)options;
    struct ws_text_out *out = malloc(sizeof(*out));
    int status = out ? 0 : -ENOMEM;
    bool any = false;
    if (out)
        ws_text_out_init(out, file);
    for (size_t i = 0; i < model->processes.count && !status; i++) {
        any |= ws_model_process(model, i)->stacks.rows.count > 0;
        status = put_rows(out, ws_model_process(model, i));
    }
    snprintf(message, capacity, "out of memory");
    if (!status) {
        status = ws_text_out_finish(out);
        snprintf(message, capacity, "cannot write everything: %s", strerror(-status));
    }
    if (!status && !any) {
        snprintf(message, capacity,
                 "the recording has no stacks: record a Python program with --stacks some or all, another one with "
                 "native");
        status = -ENODATA;
    }
    free(out);
    return status;
}

const struct ws_export_format ws_export_folded = {
    .name = "folded",
    .summary = "stacks for flame graphs (flamegraph.pl, speedscope), and how often each was taken",
    .suffix = ".folded",
    .write = write_folded,
};
