/* The name of a trace, made from the pattern in --output. */
#ifndef WALLSHIM_SHIM_DRAIN_TRACE_NAME_H
#define WALLSHIM_SHIM_DRAIN_TRACE_NAME_H

#include <stdbool.h>
#include <stddef.h>

struct trace_name_parts {
    const char *program, *host, *rank; /* not chosen by the shim: they may contain any character */
    int pid;
};

/* Expands %n (program) %p (process id) %h (host) %r (rank) %%. In the parts, slashes, control characters and leading
 * dots become '_', so that the parts cannot lead to another folder. Returns false if the result does not fit. */
bool trace_name_expand(const char *pattern, const struct trace_name_parts *parts, char *path, size_t capacity);

/* The name to try at this attempt (0, 1, 2 …) if all earlier names exist already: "NAME.wst", "NAME-1.wst",
 * "NAME-2.wst" … Returns false if the name does not fit. */
bool trace_name_next(const char *path, unsigned attempt, char *next, size_t capacity);

#endif
