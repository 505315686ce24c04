/* Fuzz target: the input is rows of one or several processes (rows.h). The trace of these rows goes through every
 * exporter. */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>

#include "export/registry.h"
#include "rows_job.h"

enum { MESSAGE = 512 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void export_all(const struct rows_job *job, FILE *out)
{
    char message[MESSAGE];
    for (size_t i = 0; i < ws_export_format_count; i++) {
        const struct ws_model_options options = { .references_only = !ws_export_formats[i]->analysed };
        struct ws_model *model;
        ROWS_MUST(!ws_model_create(&model, job->names, job->count, &options, message, sizeof(message)));
        int status = ws_export_formats[i]->write(model, out, NULL, message, sizeof(message));
        ROWS_MUST(!status || status == -ENODATA); /* a format may have nothing to show */
        ws_model_destroy(model);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static FILE *out;
    struct rows_job job;
    if (!out)
        out = fopen("/dev/null", "w");
    rows_job_write(&job, data, size);
    export_all(&job, out);
    rows_job_remove(&job);
    return 0;
}
