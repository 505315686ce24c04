/* Facts about a kernel for the search for chains: its role in chains, and the arrays that the kernel works on. A
 * chain is a run of kernels that one fused kernel could replace (analysis/roofline/chains.h). These facts are read
 * from a kernel's name, grid and recorded parameters. */
#ifndef WALLSHIM_ANALYSIS_COST_CHAIN_KERNEL_H
#define WALLSHIM_ANALYSIS_COST_CHAIN_KERNEL_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/kernels/classify.h"
#include "model/model.h"

enum ws_chain_role {
    WS_CHAIN_ENDS, /* the kernel is not part of a chain; a chain ends before this kernel */
    /* the operation only fills memory (a memset or a fill kernel): it is not part of a chain, and does not end one */
    WS_CHAIN_PASSES,
    WS_CHAIN_BELONGS, /* the kernel can be part of a chain */
};

/* Facts about a TensorIterator kernel, read from its name. All fields are 0 for other kernels, and for names that do
 * not give these facts. */
struct ws_iterator {
    uint32_t operands; /* number of arrays, the output first */
    uint32_t element_bytes;
    uint32_t per_thread; /* maximum number of elements of an array that one thread works on; 0: not known */
};

enum ws_chain_role ws_chain_role(const struct ws_op_name *name, enum ws_kernel_class kernel_class);

struct ws_iterator ws_iterator_of(const char *name);

/* Bytes of one array if every thread of the grid works on `per_thread` elements. The figure is an upper limit,
 * because the last block may have threads without work. 0: not known. */
uint64_t ws_iterator_bytes(const struct ws_iterator *iterator, const struct ws_shape *shape);

enum { WS_OPERANDS_MOST = 16 };

/* The device addresses among a kernel's parameters. */
struct ws_operands {
    uint64_t address[WS_OPERANDS_MOST];
    uint32_t count;
    double bytes[WS_OPERANDS_MOST]; /* size of the array at each address; 0: not known */
    /* the first `ordered` addresses are arrays that the kernel is known to read or write */
    uint32_t ordered;
    uint32_t written;  /* the first `written` of these arrays are written, the other ones are read */
    uint64_t elements; /* number of elements of each array; 0: not known */
};

/* Reads the device addresses among the recorded parameters with the id `params`. Returns false if the trace does not
 * hold these parameters. */
bool ws_operands_read(struct ws_operands *operands, const struct ws_process *process, uint32_t params,
                      const struct ws_iterator *iterator);

/* The flow of data in a chain. Bit i stands for the boundary between kernels i and i + 1. */
struct ws_chain_links {
    uint32_t shared;  /* some kernel before the boundary and some kernel after it have an address in common */
    uint32_t ordered; /* some kernel before the boundary writes an address that some kernel after it reads */
};

struct ws_chain_links ws_operands_link(const struct ws_operands *operands, uint32_t count);

/* Returns the bytes that the kernel at index `place` writes and that a later kernel reads. Counts these bytes twice,
 * for the write and for the read. -1: not known. */
double ws_operands_again(const struct ws_operands *operands, uint32_t count, uint32_t place);

/* Estimates the time, in ns, of one fused kernel that does the work of all `count` kernels. lengths[] are the times
 * of the single kernels in ns. A kernel's time is divided among its arrays by their bytes, or evenly if the bytes are
 * not known. The fused kernel still moves two kinds of arrays: it reads once each array that a kernel reads before
 * any kernel writes it, and it writes each array that no later kernel reads or writes again. The estimate is the sum
 * of the times that were assigned to these arrays. Returns 0 if the arrays that the kernels read and write are not
 * known. */
double ws_operands_fused(const struct ws_operands *operands, const int64_t *lengths, uint32_t count);

#endif
