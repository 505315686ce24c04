/* Traces of several ranks merged into one file. Processes and devices have the same numbers on all ranks, so the
 * merging program writes a label before each number: "pid": "[TP01-DP00] 83". Each rank is read as if the file held
 * no other rank. */
#include <errno.h>
#include <string.h>

#include "base/minmax.h"
#include "input/input.h"
#include "input/kineto.h"

/* A merged file is assumed to have a label in its first PIECE bytes. If these bytes hold no label, the rest of the
 * file is not searched for labels. */
enum { PIECE = 64 * 1024, MOST_LABEL = 64, MOST_RANKS = 256 };

static size_t spaces_at(const char *at, const char *end)
{
    size_t count = 0;
    while (at + count < end && (at[count] == ' ' || at[count] == '\n'))
        count++;
    return count;
}

/* Returns the label "[TP01]" of "[TP01] 83", or an empty text if there is no label. */
static struct ws_text kineto_ranks_label_of(const char *text, size_t length)
{
    const char *close = length && *text == '[' ? memchr(text, ']', ws_min(length, MOST_LABEL)) : NULL;
    bool labels = close && close + 1 < text + length && close[1] == ' ';
    return (struct ws_text){ text, labels ? (uint32_t)(close + 1 - text) : 0 };
}

/* Adds to `labels` the label of each pid in a piece of the file: "[TP01]" of "pid": "[TP01] 83". Returns 0 or
 * -ENOMEM. */
static int kineto_ranks_find_in(const char *at, const char *end, struct ws_arena *texts, struct ws_intern *labels)
{
    static const char key[] = "\"pid\"";
    bool fresh;
    while (labels->items.count <= MOST_RANKS && (at = memmem(at, (size_t)(end - at), key, sizeof(key) - 1))) {
        at += sizeof(key) - 1;
        const char *value = at + spaces_at(at, end);
        value += value < end && *value == ':';
        value += spaces_at(value, end);
        if (value == end || *value != '"')
            continue;
        struct ws_text label = kineto_ranks_label_of(value + 1, (size_t)(end - value - 1));
        if (label.length && !ws_intern_text(labels, texts, label.data, label.length, &fresh))
            return -ENOMEM;
    }
    return 0;
}

/* Finds the labels in the file. Stops after MOST_RANKS + 1 labels, which are more than the importer supports. Returns
 * 0 or -errno. */
static int kineto_ranks_find(struct kineto_ranks *ranks)
{
    /* The end of a piece is searched again with the next piece, because a label may continue there. */
    char room[2 * MOST_LABEL + PIECE];
    size_t held = 0;
    ssize_t size;
    struct ws_input *input;
    int status = ws_input_open(&input, ranks->path);
    if (status)
        return status;
    do {
        size = ws_input_read(input, room + held, PIECE);
        const char *end = room + held + (size > 0 ? size : 0);
        status = size < 0 ? (int)size : kineto_ranks_find_in(room, end, &ranks->texts, &ranks->labels);
        held = (size_t)(end - room) < 2 * MOST_LABEL ? (size_t)(end - room) : 2 * MOST_LABEL;
        memmove(room, end - held, held);
    } while (size > 0 && !status && ranks->labels.items.count && ranks->labels.items.count <= MOST_RANKS);
    ws_input_close(input);
    return status;
}

size_t kineto_count_ranks(struct kineto_ranks *ranks)
{
    if (!ranks->looked && kineto_ranks_find(ranks))
        ranks->labels.items.count = 0; /* the error is reported when the file is read */
    ranks->looked = true;
    size_t count = ranks->labels.items.count;
    return count && count <= MOST_RANKS ? count : 1;
}

const struct ws_text *kineto_rank_label(struct kineto_ranks *ranks, size_t rank)
{
    size_t count = kineto_count_ranks(ranks);
    return count > 1 && rank < count ? ws_intern_item(&ranks->labels, (uint32_t)rank + 1) : NULL;
}

bool kineto_leave_label(const struct ws_text *wanted, const char **text, size_t *length)
{
    struct ws_text label = kineto_ranks_label_of(*text, *length);
    bool is_other =
        wanted->length && (label.length != wanted->length || memcmp(label.data, wanted->data, label.length) != 0);
    *text += label.length ? label.length + 1 : 0;
    *length -= label.length ? label.length + 1 : 0;
    return is_other;
}

void kineto_ranks_finish(struct kineto_ranks *ranks)
{
    ws_intern_finish(&ranks->labels);
    ws_arena_finish(&ranks->texts);
}
