#include "report/tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/minmax.h"

/* Two links from a row of the tree to other rows, and the rank of the row. A link is the index of a row, or
 * WS_NO_PARENT if there is no such row. */
struct link {
    uint32_t child, next; /* the row's child with most time; the parent's child with the next most time */
    uint32_t rank;
};

/* Fills in the links of every row. One more entry after the last row stands for the parent of all rows that have no
 * parent. */
static void link_rows(const uint32_t *parents, const uint32_t *largest, uint32_t count, struct link *links)
{
    memset(links, 0xff, (count + (size_t)1) * sizeof(*links));
    for (uint32_t rank = count; rank-- > 0;) {
        uint32_t row = largest[rank];
        struct link *parent = &links[ws_min(parents[row], count)];
        links[row].rank = rank;
        links[row].next = parent->child;
        parent->child = row;
    }
    /* A child may have more time than its parent, for example if ranges overlap without being nested. The child then
     * gets the rank of its parent. */
    for (uint32_t row = 0; row < count; row++)
        if (parents[row] < row)
            links[row].rank = ws_max(links[row].rank, links[parents[row]].rank);
}

int ws_tree_order(const uint32_t *parents, const uint32_t *largest, uint32_t count, struct ws_tree_row *shown)
{
    struct link *links = malloc((count + (size_t)1) * sizeof(*links));
    if (!links)
        return -ENOMEM;
    link_rows(parents, largest, count, links);
    uint32_t at = links[count].child, depth = 0;
    while (at != WS_NO_PARENT) {
        *shown++ = (struct ws_tree_row){ at, depth, links[at].rank };
        if (links[at].child != WS_NO_PARENT) {
            at = links[at].child;
            depth++;
            continue;
        }
        for (; at != WS_NO_PARENT && links[at].next == WS_NO_PARENT; depth--)
            at = parents[at];
        at = at == WS_NO_PARENT ? at : links[at].next;
    }
    free(links);
    return 0;
}
