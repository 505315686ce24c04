/* Formats that traces can be turned into. Adding one means one file and its line in registry.c. */
#ifndef WALLSHIM_EXPORT_REGISTRY_H
#define WALLSHIM_EXPORT_REGISTRY_H

#include <stddef.h>
#include <stdio.h>

#include "model/model.h"

struct ws_export_format {
    const char *name;
    const char *summary;
    const char *suffix; /* of files that are taken to be meant for it: ".json" */

    /* Writes the traces to out, reading each a second time: the model holds what the rows refer to but
     * none of the rows (ws_model_options.references_only), so memory does not grow with them. Returns 0,
     * or -errno with one line in message. */
    int (*write)(const struct ws_model *model, FILE *out, const struct ws_model_options *options, char *message,
                 size_t capacity);
};

extern const struct ws_export_format *const ws_export_formats[];
extern const size_t ws_export_format_count;

/* NULL when there is none of that name. */
const struct ws_export_format *ws_export_find(const char *name);

/* The format whose suffix the file's name ends in, NULL when there is none. */
const struct ws_export_format *ws_export_find_by_file(const char *path);

extern const struct ws_export_format ws_export_chrome;

#endif
