/* A kernel's name in a word or two: what a person would call it; or short enough for a table. */
#ifndef WALLSHIM_ANALYSIS_LABEL_H
#define WALLSHIM_ANALYSIS_LABEL_H

#include <stddef.h>

#include "analysis/page.h"
#include "model/model.h"

/* "gelu" for TensorIterator's wrapper around GeluCUDAKernelImpl, "vectorized_layer_norm" for
 * at::native::vectorized_layer_norm_kernel<…>(…), mangled or not. Cut to fit; never empty unless the name is. */
void ws_kernel_label(char *text, size_t capacity, const char *name);

/* For tables, where rows should be told apart: "gelu (vectorized_elementwise)", "softmax_warp_forward<float, 10>";
 * without return type, namespaces and parameters. Mangled names that cannot be demangled stay as they are. */
void ws_kernel_title(char *text, size_t capacity, const char *name);

/* As a page shows it: its title, on a wide page its name, demangled. Copies and memsets keep their names. */
void ws_kernel_shown(char *text, size_t capacity, const char *name, bool wide);

/* The next cell: a name as its page shows it. */
void ws_table_name(struct ws_table *table, const char *name);

/* The next cell: a thread's name and number, by its row's identifier. */
void ws_table_thread(struct ws_table *table, const struct ws_process *process, uint32_t id);

#endif
