/* Checks whether a process can be attached to. `wallshim attach` gives up at the first check that returns WS_REFUSED,
 * before it changes the process. `wallshim doctor` shows what every check found. */
#ifndef WALLSHIM_ATTACH_CHECKS_H
#define WALLSHIM_ATTACH_CHECKS_H

#include <stddef.h>

#include "attach/memory.h"
#include "attach/process.h"

enum ws_finding { WS_FINE, WS_NOTE, WS_REFUSED };

struct ws_examined {
    const struct ws_process_facts *process;
    struct ws_mappings mappings; /* the process's mappings; an empty list if they cannot be read */
    int error;                   /* 0, or -errno if the mappings cannot be read */
    int socket;                  /* what ws_client_connect returned: >= 0: the process already has a shim */
};

struct ws_check {
    const char *name;
    /* Writes to `text` what the check found, and what the user can do about it. */
    enum ws_finding (*look)(const struct ws_examined *examined, char *text, size_t size);
};

extern const struct ws_check ws_checks[];
extern const size_t ws_check_count;

/* Finds the first reason why the process cannot be attached to. socket: what ws_client_connect has
 * returned for it. Returns 0: there is no such reason; or -EPERM or -ENOTSUP, with the reason in `why`. */
int ws_hindrance(const struct ws_process_facts *process, int socket, char *why, size_t size);

#endif
