/* The formats that traces can be exported to. To add a format, add a source file that defines it, and a line in
 * registry.c. */
#ifndef WALLSHIM_EXPORT_REGISTRY_H
#define WALLSHIM_EXPORT_REGISTRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "model/model.h"

struct ws_export_format {
    const char *name;
    const char *summary;
    const char *suffix; /* suffix of file names that select the format: ".json" */

    /* true: the model holds all operations, so that write() can analyse them. false: the model lacks operations,
     * calls, collectives and ranges (ws_model_options.references_only). If write() needs these rows, it reads each
     * trace a second time, so that memory does not grow with the number of rows. */
    bool analysed;

    /* Writes the traces to out. Returns 0, or -errno with one line in message. */
    int (*write)(const struct ws_model *model, FILE *out, const struct ws_model_options *options, char *message,
                 size_t capacity);
};

extern const struct ws_export_format *const ws_export_formats[];
extern const size_t ws_export_format_count;

/* Returns the format with this name, or NULL if there is none. */
const struct ws_export_format *ws_export_find(const char *name);

/* Returns the format whose suffix is the end of the file name, or NULL if there is none. */
const struct ws_export_format *ws_export_find_by_file(const char *path);

extern const struct ws_export_format ws_export_chrome, ws_export_folded, ws_export_pprof, ws_export_speedscope;

#endif
