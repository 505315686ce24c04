/* Shortens a kernel's name: to a label of one or two words, or to a title for a table. */
#ifndef WALLSHIM_ANALYSIS_KERNELS_LABEL_H
#define WALLSHIM_ANALYSIS_KERNELS_LABEL_H

#include <stddef.h>

#include "model/model.h"
#include "report/page.h"

/* Writes a short label: "gelu" for TensorIterator's wrapper around GeluCUDAKernelImpl, "vectorized_layer_norm" for
 * at::native::vectorized_layer_norm_kernel<…>(…). The name may be mangled. A label longer than `capacity` allows is
 * cut. The label is empty only if the name is empty. */
void ws_kernel_label(char *text, size_t capacity, const char *name);

/* Writes a title for tables, long enough to tell rows apart: "gelu (vectorized_elementwise)",
 * "softmax_warp_forward<float, 10>". A title has no return type, namespaces or parameters. A mangled name that cannot
 * be demangled stays as it is. */
void ws_kernel_title(char *text, size_t capacity, const char *name);

/* Writes the name as a page of the report shows it: the title (ws_kernel_title), or the whole demangled name if the
 * page is wide. Copies and memsets keep their names. */
void ws_kernel_shown(char *text, size_t capacity, const char *name, bool wide);

/* Adds a cell with the name as ws_kernel_shown writes it for the table's page. */
void ws_table_name(struct ws_table *table, const char *name);

/* Adds a cell with the name and the operating system's number of the thread with this id. */
void ws_table_thread(struct ws_table *table, const struct ws_process *process, uint32_t id);

#endif
