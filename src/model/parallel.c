#include "model/parallel.h"

#include <pthread.h>
#include <stdbool.h>
#include <unistd.h>

enum { ROWS_LEAST = 1 << 18 }; /* minimum number of rows per part: enough work to outweigh the cost of a thread */

struct part {
    void (*run)(void *user, unsigned part);
    void *user;
    pthread_t thread;
    unsigned number;
    bool started;
};

unsigned ws_parallel_parts(size_t rows)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    size_t parts = cores > 1 ? (size_t)cores : 1;
    if (parts > WS_MOST_PARTS)
        parts = WS_MOST_PARTS;
    if (parts > rows / ROWS_LEAST)
        parts = rows / ROWS_LEAST;
    return parts ? (unsigned)parts : 1;
}

static void *run_part(void *user)
{
    const struct part *part = user;
    part->run(part->user, part->number);
    return NULL;
}

void ws_parallel(unsigned parts, void (*run)(void *user, unsigned part), void *user)
{
    struct part others[WS_MOST_PARTS];
    for (unsigned i = 1; i < parts; i++) {
        others[i] = (struct part){ .run = run, .user = user, .number = i };
        others[i].started = !pthread_create(&others[i].thread, NULL, run_part, &others[i]);
    }
    run(user, 0);
    for (unsigned i = 1; i < parts; i++) {
        if (others[i].started)
            pthread_join(others[i].thread, NULL);
        else
            run(user, i);
    }
}
