/* The name of a trace, made from the pattern in --output. */
#ifndef WALLSHIM_SHIM_DRAIN_TRACE_NAME_H
#define WALLSHIM_SHIM_DRAIN_TRACE_NAME_H

#include <stdbool.h>
#include <stddef.h>

struct trace_name_parts {
    /* these texts may contain any character, because the shim does not choose them */
    const char *program, *host, *rank;
    int pid;
};

/* Expands %n (program) %p (process id) %h (host) %r (rank) %% in the pattern. In the names that are put in, slashes,
 * control characters and leading dots become '_', so that no name can lead to another folder. Returns false if the
 * result does not fit. */
bool trace_name_expand(const char *pattern, const struct trace_name_parts *parts, char *path, size_t capacity);

/* Makes the file's name for this attempt: "NAME.wst" for attempt 0, "NAME-1.wst" for 1, "NAME-2.wst" for 2 … The next
 * attempt is made if a file with the name of the last one exists already. Returns false if the name does not fit. */
bool trace_name_next(const char *path, unsigned attempt, char *next, size_t capacity);

#endif
