#include "export/registry.h"

#include <string.h>

/* If a file name ends with the suffixes of two formats, the format that comes first in this list is used. */
const struct ws_export_format *const ws_export_formats[] = { &ws_export_speedscope, &ws_export_chrome,
                                                             &ws_export_folded, &ws_export_pprof };
const size_t ws_export_format_count = sizeof(ws_export_formats) / sizeof(ws_export_formats[0]);

const struct ws_export_format *ws_export_find(const char *name)
{
    for (size_t i = 0; i < ws_export_format_count; i++)
        if (!strcmp(name, ws_export_formats[i]->name))
            return ws_export_formats[i];
    return NULL;
}

const struct ws_export_format *ws_export_find_by_file(const char *path)
{
    size_t length = strlen(path);
    for (size_t i = 0; i < ws_export_format_count; i++) {
        size_t suffix = strlen(ws_export_formats[i]->suffix);
        if (length > suffix && !strcmp(path + length - suffix, ws_export_formats[i]->suffix))
            return ws_export_formats[i];
    }
    return NULL;
}
