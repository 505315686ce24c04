/* What is known of one kernel for finding chains: runs of kernels that one fused kernel could replace
 * (analysis/roofline/chains.h). It is the kernel's role, and the arrays that it works on, as its name, grid and
 * parameters give them.
 */
#ifndef WALLSHIM_ANALYSIS_COST_CHAIN_KERNEL_H
#define WALLSHIM_ANALYSIS_COST_CHAIN_KERNEL_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/kernels/classify.h"
#include "model/model.h"

enum ws_chain_role {
    WS_CHAIN_ENDS,    /* belongs to no chain and ends one */
    WS_CHAIN_PASSES,  /* memsets and fills: they read nothing and do not end a chain */
    WS_CHAIN_BELONGS, /* part of a chain */
};

/* What the name of a TensorIterator kernel says. All 0: another kernel, or the name says nothing. */
struct ws_iterator {
    uint32_t operands; /* number of arrays, the output first */
    uint32_t element_bytes;
    uint32_t per_thread; /* most elements per thread */
};

enum ws_chain_role ws_chain_role(const struct ws_op_name *name, enum ws_kernel_class kernel_class);

struct ws_iterator ws_iterator_of(const char *name);

/* Bytes of one array as the grid implies them, up to the end of the last block. 0: not known. */
uint64_t ws_iterator_bytes(const struct ws_iterator *iterator, const struct ws_shape *shape);

enum { WS_OPERANDS_MOST = 16 };

/* The device addresses among a kernel's parameters. */
struct ws_operands {
    uint64_t address[WS_OPERANDS_MOST];
    uint32_t count;
    double bytes[WS_OPERANDS_MOST]; /* of each array; 0: not known */
    uint32_t ordered;               /* for the first `ordered` arrays it is known whether they are read or written */
    uint32_t written;               /* the first `written` arrays are written, the other ordered ones read */
    uint64_t elements;              /* per array; 0: not known */
};

/* Returns false if the parameters were not recorded. */
bool ws_operands_read(struct ws_operands *operands, const struct ws_process *process, uint32_t params,
                      const struct ws_iterator *iterator);

/* Where data passes from one kernel to the next: bit i stands for the boundary after kernel i. */
struct ws_chain_links {
    uint32_t shared;  /* an address occurs on both sides */
    uint32_t ordered; /* an address is written before and read after */
};

struct ws_chain_links ws_operands_link(const struct ws_operands *operands, uint32_t count);

/* Bytes that the kernel at `place` writes and a later kernel reads again. Counts both the write and the read.
 * -1: not known. */
double ws_operands_again(const struct ws_operands *operands, uint32_t count, uint32_t place);

/* The time, in ns, of one fused kernel that does the work of all; lengths[] are the kernels' own times in ns. A
 * kernel's time is divided among its arrays by their bytes, or evenly if these are not known. The fused kernel
 * reads the arrays that are read before any kernel writes them, and writes those that no kernel reads after the
 * last write. 0 if it is not known which arrays a kernel reads and which it writes. */
double ws_operands_fused(const struct ws_operands *operands, const int64_t *lengths, uint32_t count);

#endif
