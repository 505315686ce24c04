/* A descriptor table that only threads of ours use. So nothing that the program does to its descriptors affects our
 * descriptors, and the program's table contains no descriptor of ours. */
#ifndef WALLSHIM_SHIM_DRAIN_OWN_TABLE_H
#define WALLSHIM_SHIM_DRAIN_OWN_TABLE_H

#include <stdbool.h>

/* Gives the calling thread an empty descriptor table of its own. It is empty, because a copy of the program's table
 * would keep the program's pipes and sockets open. Returns false on failure: the thread goes on sharing the program's
 * table. */
bool own_table_take(void);

#endif
