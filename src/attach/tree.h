/* A process and all its descendants. */
#ifndef WALLSHIM_ATTACH_TREE_H
#define WALLSHIM_ATTACH_TREE_H

#include "base/vector.h"

/* Appends to `pids`, a vector of int, the process `root` and its descendants, in the order of their ids. A process
 * whose parent has ended is not found, because the kernel has given it another parent. Returns 0; -ESRCH: there is
 * no such process; -ENOMEM; or -errno. */
int ws_process_tree(int root, struct ws_vector *pids);

#endif
