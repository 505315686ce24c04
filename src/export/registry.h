/* The formats that traces can be exported to. A new format is a new file and its line in registry.c. */
#ifndef WALLSHIM_EXPORT_REGISTRY_H
#define WALLSHIM_EXPORT_REGISTRY_H

#include <stddef.h>
#include <stdio.h>

#include "model/model.h"

struct ws_export_format {
    const char *name;
    const char *summary;
    const char *suffix; /* suffix of file names that select the format: ".json" */

    /* Writes the traces to out. It reads each trace a second time, because the model holds only what the rows
     * refer to (ws_model_options.references_only). Memory therefore does not grow with the rows. Returns 0, or
     * -errno with one line in message. */
    int (*write)(const struct ws_model *model, FILE *out, const struct ws_model_options *options, char *message,
                 size_t capacity);
};

extern const struct ws_export_format *const ws_export_formats[];
extern const size_t ws_export_format_count;

/* NULL if there is no format of this name. */
const struct ws_export_format *ws_export_find(const char *name);

/* The format whose suffix the file name ends in; NULL: none. */
const struct ws_export_format *ws_export_find_by_file(const char *path);

extern const struct ws_export_format ws_export_chrome;

#endif
