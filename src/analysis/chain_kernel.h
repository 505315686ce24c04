/* What chains have to know of one kernel: its part in them, and what its name, its grid and its parameters say of
 * the data it works on. */
#ifndef WALLSHIM_ANALYSIS_CHAIN_KERNEL_H
#define WALLSHIM_ANALYSIS_CHAIN_KERNEL_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/classify.h"
#include "model/model.h"

enum ws_chain_role {
    WS_CHAIN_ENDS,   /* no part of any chain */
    WS_CHAIN_PASSES, /* memsets, fills: they read nothing, and break nothing */
    WS_CHAIN_BELONGS,
};

/* Of PyTorch's kernels made by TensorIterator, by their names. All 0: it is none, or does not say. */
struct ws_iterator {
    uint32_t operands;      /* arrays, the output first */
    uint32_t element_bytes; /* of an element */
    uint32_t per_thread;    /* elements a thread sees to, at most */
};

enum ws_chain_role ws_chain_role(const struct ws_op_name *name, enum ws_kernel_class kernel_class);

struct ws_iterator ws_iterator_of(const char *name);

/* Bytes of one array as the grid has it: elements up to the end of the last block. 0: not known. */
uint64_t ws_iterator_bytes(const struct ws_iterator *iterator, const struct ws_shape *shape);

enum { WS_OPERANDS_MOST = 16 };

/* The addresses among a kernel's parameters. */
struct ws_operands {
    uint64_t address[WS_OPERANDS_MOST];
    uint32_t count;
    double bytes[WS_OPERANDS_MOST]; /* of each array; 0: not known */
    uint32_t ordered;               /* of this many it is known whether they are written or read; 0: of none */
    uint32_t written;               /* the first so many of them are, the others read */
    uint64_t elements;              /* of each array; 0: not known */
};

/* Returns false when the parameters were not kept. */
bool ws_operands_read(struct ws_operands *operands, const struct ws_process *process, uint32_t params,
                      const struct ws_iterator *iterator);

/* Between which of them data goes over: bit i stands for the place after kernel i. */
struct ws_chain_links {
    uint32_t shared;  /* an address is on both sides */
    uint32_t ordered; /* one is written before and read after */
};

struct ws_chain_links ws_operands_link(const struct ws_operands *operands, uint32_t count);

/* Bytes that the kernel at this place writes and a later one reads again, both ways; -1: not known. */
double ws_operands_again(const struct ws_operands *operands, uint32_t count, uint32_t place);

/* How long one kernel would take that does what they all do, lengths[] being theirs: each spends its time on its
 * arrays by their bytes, evenly where these are not known, and of these remain those that are read before any of them
 * writes them, and those that none reads after they were written last. 0 where the order of some kernel's arrays is
 * not known. */
double ws_operands_fused(const struct ws_operands *operands, const int64_t *lengths, uint32_t count);

#endif
