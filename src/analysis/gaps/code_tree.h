/* Time by function of the program's source code, as a tree of callers and callees.
 *
 * Recordings of wallshim may have stacks, which were recorded at some calls. Figures from stacks are estimates
 * (code_times.h) for the whole recording. Traces of the PyTorch profiler with Python functions (with_stack=True) have
 * a range for each call of a function. Figures from these ranges are exact (range_sums.h).
 *
 * A row of the tree stands for one function and one path of callers. Functions of libraries have no rows: their time
 * counts for the function of the program that called them. In a stack without functions of the program, the library's
 * functions have rows. */
#ifndef WALLSHIM_ANALYSIS_GAPS_CODE_TREE_H
#define WALLSHIM_ANALYSIS_GAPS_CODE_TREE_H

#include "analysis/gaps/code_times.h"
#include "analysis/steps/range_sums.h"
#include "base/vector.h"
#include "report/tree.h"

/* A function of the tree. `name` and `file` point into texts of the model, and need not end with a zero byte. */
struct ws_code_function {
    struct ws_text name, file;
    uint32_t line; /* the function's first line; 0: not known */
    /* index of the caller in ws_code_tree.functions, which is lower than this function's index; WS_NO_PARENT: no
     * caller */
    uint32_t parent;
    /* number of callers in the path to this function, set only if the tree comes from stacks. A path in the tree has
     * at most WS_RANGES_DEEPEST callers. The time of functions further down counts for the last function of the
     * path */
    uint32_t depth;
    struct ws_code_time own;   /* time of the function without the functions that it calls */
    struct ws_code_time whole; /* time of the function with the functions that it calls */
};

struct ws_code_tree {
    struct ws_vector functions;  /* struct ws_code_function; empty: the trace shows no functions */
    struct ws_tree_row *shown;   /* the functions in the order of the report; functions.count entries */
    struct ws_code_time without; /* time that belongs to no function: without a stack, or outside all functions */
    bool from_stacks;
};

extern const struct ws_analysis ws_analysis_code_tree;

/* defined in code_tree_report.c */
void ws_code_tree_text(const struct ws_report *report, size_t subject, const void *result, struct ws_page *page);
int ws_code_tree_json(const struct ws_report *report, size_t subject, const void *result, json_t *object);

#endif
