/* Asks the processes of all jobs for their progress, and reports each hang once. */
#ifndef WALLSHIM_COLLECTOR_HANG_WATCH_H
#define WALLSHIM_COLLECTOR_HANG_WATCH_H

struct clients;

/* To be called once a second. Does nothing unless clients->hang_ms is set. */
void hang_tick(struct clients *clients);

#endif
