/* The order in which the rows of a tree are shown: a parent before its children, and among the children of a row
 * those with most time first. */
#ifndef WALLSHIM_REPORT_TREE_H
#define WALLSHIM_REPORT_TREE_H

#include <stdint.h>

#define WS_NO_PARENT UINT32_MAX

struct ws_tree_row {
    uint32_t row;   /* index of the row in `parents` */
    uint32_t depth; /* number of ancestors of the row; 0: the row has no parent */
    uint32_t rank;  /* index of the row in `largest`, but not below the rank of the row's parent */
};

/* parents[row]: the index of the row's parent, which is less than `row`; or WS_NO_PARENT. largest: the indices of all
 * rows, most time first. Fills `shown`, which has room for all rows. Returns 0 or -ENOMEM. */
int ws_tree_order(const uint32_t *parents, const uint32_t *largest, uint32_t count, struct ws_tree_row *shown);

#endif
