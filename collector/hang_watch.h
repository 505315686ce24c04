/* Asks the processes of all jobs how far they are, and says once when a job hangs. */
#ifndef WALLSHIM_COLLECTOR_HANG_WATCH_H
#define WALLSHIM_COLLECTOR_HANG_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct client;
struct clients;

/* To be called once a second. Does nothing unless clients->hang_ms is set. */
void hang_tick(struct clients *clients);

/* Takes an answer of a client. Returns false if it is wrong, or nobody asked. */
bool hang_answer(struct client *client, const uint8_t *bytes, size_t size);

#endif
