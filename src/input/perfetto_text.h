/* Internal to the reader of Perfetto traces: interned texts, and the arguments of events as JSON. */
#ifndef WALLSHIM_INPUT_PERFETTO_TEXT_H
#define WALLSHIM_INPUT_PERFETTO_TEXT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/arena.h"
#include "base/map.h"
#include "perfetto.pb-c.h"

/* The interned texts of a trace. The trace holds each text once, and events refer to it by packet sequence, kind and
 * number (iid). A structure filled with zeros holds no texts. */
struct perfetto_texts {
    struct ws_map places; /* hash of sequence, kind and number of a text → address of the text */
    struct ws_arena arena;
};

enum perfetto_interned {
    PERFETTO_CATEGORY = 1,
    PERFETTO_EVENT_NAME,
    PERFETTO_ANNOTATION_NAME,
    PERFETTO_STRING_VALUE
};

/* Stores the interned texts that a packet defines. Returns 0 or -ENOMEM. */
int perfetto_texts_add(struct perfetto_texts *texts, const Perfetto__TracePacket *packet);

/* Returns `text`. If `text` is NULL, returns the interned text, or "" if there is none. */
const char *perfetto_text(const struct perfetto_texts *texts, uint32_t sequence, enum perfetto_interned kind,
                          const char *text, uint64_t iid);

void perfetto_texts_finish(struct perfetto_texts *texts);

/* Writes a text as a JSON string. */
void perfetto_put_text(FILE *out, const char *text);

/* Returns the arguments of an event as a JSON object, which the caller frees. Returns NULL when memory runs out. */
char *perfetto_arguments(const struct perfetto_texts *texts, uint32_t sequence, const Perfetto__TrackEvent *event);

/* Returns whether the arguments belong to an event that ran on a device. */
bool perfetto_is_of_device(const char *arguments);

/* Returns the category that Kineto's JSON gives to an event with this name and these arguments. of_device tells
 * whether the event's track belongs to a device. */
const char *perfetto_category(const char *name, const char *arguments, bool of_device);

#endif
